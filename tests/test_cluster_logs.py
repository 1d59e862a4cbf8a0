"""Kinds of logs that deployments of several processes leave, each told from what it is most easily taken for."""

from __future__ import annotations

import textwrap

import pytest
from whole_logs import report_of


def told(log: str):
    """The verdict, the root's type and message, and the rule of a log."""
    report = report_of(textwrap.dedent(log).lstrip("\n"))
    if not report.incidents:
        return (report.verdict,)
    incident = report.incidents[0]
    root = incident.root
    rule = incident.diagnoses[0].rule if incident.diagnoses else None
    return report.verdict, root.type, root.message.split("\n")[0], rule


PEER_LOST = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [192.0.2.14]:39075"


def test_a_quoted_consequence_of_another_host_s_death_is_not_the_cause():
    log = f"""
        (EngineCore_1 pid=411) ERROR 03-14 10:20:30 [core.py:588] EngineCore encountered a fatal error.
        (EngineCore_1 pid=411) ERROR 03-14 10:20:30 [core.py:588] Traceback (most recent call last):
        (EngineCore_1 pid=411) ERROR 03-14 10:20:30 [core.py:588]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/executor/multiproc_executor.py", line 202, in get_response
        (EngineCore_1 pid=411) ERROR 03-14 10:20:30 [core.py:588]     raise RuntimeError(
        (EngineCore_1 pid=411) ERROR 03-14 10:20:30 [core.py:588] RuntimeError: Worker failed with error '{PEER_LOST}', please check the stack trace above for the root cause
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert report.verdict == "incomplete"
    assert any("192.0.2.14" in step for step in report.incidents[0].fetch)


def test_a_quoted_text_that_a_rule_on_any_text_would_take_keeps_its_own_rule():
    log = """
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] EngineCore encountered a fatal error.
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] Traceback (most recent call last):
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/executor/multiproc_executor.py", line 202, in get_response
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588]     raise RuntimeError(
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] RuntimeError: Worker failed with error 'the acme table is empty', please check the stack trace above for the root cause
    """
    assert told(log) == ("unknown", None, "the acme table is empty", None)


def test_a_traceback_that_breaks_off_after_a_whole_wrapper_is_its_second_print():
    log = """
        RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)
        2025-03-14T10:20:30.833Z ERROR core.run_engine_core: EngineCore failed to start.
        Traceback (most recent call last):
          File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 491, in run_engine_core
            engine_core = EngineCoreProc(*args, **kwargs)
          File "/opt/venv/lib/python3.12/site-packages/vllm/v1/executor/multiproc_executor.py", line 422, in wait_for_ready
            raise e from None
        Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.
        Process EngineCore_0:
        Traceback (most recent call last):
          File "/usr/lib/python3.12/multiprocessing/process.py", line 314, in _bootstrap
            self.run()
    """
    verdict, kind, message, rule = told(log)

    assert (verdict, kind, rule) == ("incomplete", "RuntimeError", None)
    assert message.startswith("NCCL error: unhandled system error")


def test_a_torn_traceback_of_a_deeper_process_stays_the_root():
    log = """
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] EngineCore failed to start.
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] Traceback (most recent call last):
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/executor/multiproc_executor.py", line 422, in wait_for_ready
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588]     raise e from None
        (EngineCore_0 pid=411) ERROR 03-14 10:20:30 [core.py:588] Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.
        (Worker_TP1 pid=422) ERROR 03-14 10:20:31 [multiproc_executor.py:870] WorkerProc failed to start.
        (Worker_TP1 pid=422) ERROR 03-14 10:20:31 [multiproc_executor.py:870] Traceback (most recent call last):
        (Worker_TP1 pid=422) ERROR 03-14 10:20:31 [multiproc_executor.py:870]   File "/opt/venv/lib/python3.12/site-packages/acme/plugin.py", line 7, in load
        (Worker_TP1 pid=422) ERROR 03-14 10:20:31 [multiproc_executor.py:870]     self.table = read(path)
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert (report.verdict, report.incidents[0].root.speaker.name) == ("unknown", "Worker_TP1")


def test_what_the_launcher_says_of_a_child_is_not_nearer_than_the_child():
    log = """
        [2025-03-14 10:20:30 TP2] Scheduler hit an exception: Traceback (most recent call last):
          File "/sgl-workspace/sglang/python/sglang/srt/distributed/device_communicators/pynccl_wrapper.py", line 329, in NCCL_CHECK
            raise RuntimeError(f"NCCL error: {error_str}")
        RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)

        [2025-03-14 10:20:31] Received sigquit from a child process. It usually means the child failed.
    """
    verdict, kind, message, _ = told(log)

    assert (verdict, kind, message[:10]) == ("incomplete", "RuntimeError", "NCCL error")


@pytest.mark.parametrize("name", ["NCCL", "HCCL"])
def test_the_abort_of_a_watchdog_is_no_cause(name):
    log = f"""
        terminate called after throwing an instance of 'c10::DistBackendError'
          what():  [Rank 1] {name} watchdog thread terminated with exception: [Rank 1] Watchdog caught collective operation timeout: Work{name}(SeqNum=2, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600059 milliseconds before timing out.
        Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroup{name}.cpp:632 (most recent call first):
        frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f in libc10.so)
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert (report.verdict, report.incidents[0].impact, report.incidents[0].diagnoses) == ("incomplete", "hang", ())


def test_a_failed_assertion_of_c_code_is_named():
    log = """
        python3: /srv/build/ring/src/ring_task.cpp:71: void ring::Task::advance(): Assertion `state_ != kIdle' failed.
        Aborted (core dumped)
    """
    verdict, _, message, rule = told(log)

    assert (verdict, rule) == ("diagnosed", "process-abort")
    assert "state_ != kIdle" in message


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("Decode instance could be dead, remote mooncake session 192.0.2.18:16121 is not alive", "incomplete"),
        ("Request 7261 timed out after 300.0s in KVPoll.Bootstrapping", "incomplete"),
        ("Aborted by AbortReq.", "healthy"),
    ],
)
def test_a_request_of_sglang_that_was_not_transferred_points_to_the_other_side(reason, verdict):
    log = f"""
        [2025-03-14 10:20:29 TP3] Prefill batch. #new-seq: 1, #new-token: 4, #cached-token: 0, #inflight-req: 0
        [2025-03-14 10:20:30 TP3] Prefill transfer failed for request rank=3 req.rid='a1' req.bootstrap_room=7261 with exception KVTransferError(bootstrap_room=7261): {reason}
        [2025-03-14 10:20:31] INFO:     192.0.2.7:41000 - "POST /generate HTTP/1.1" 200 OK
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert report.verdict == verdict
    assert ("192.0.2.18" in str(report.incidents)) == ("192.0.2.18" in reason)


def test_a_failed_transfer_without_its_native_line_asks_for_that_line():
    log = "(Worker_TP1 pid=42) ERROR 03-14 10:20:30 [mooncake_connector.py:760] Sending to 192.0.2.9:15002 failed (ret=-1)"
    report = report_of(log)
    fetch = report.incidents[0].fetch

    assert (report.verdict, report.incidents[0].impact) == ("incomplete", "requests")
    assert "192.0.2.9" in fetch[0]
    assert "glog" in fetch[1]


def test_the_box_of_torchrun_is_read_without_its_frame():
    log = """
        Root Cause (first observed failure):
        [0]:
          time      : 2025-03-14_10:20:30
          host      : node-a.example
          rank      : 5 (local_rank: 1)
          exitcode  : 1 (pid: 69812)
          error_file: <N/A>
          traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
        ============================================================
    """
    verdict, kind, message, _ = told(log)

    assert (verdict, kind) == ("incomplete", "exit code 1")
    assert "rank 5" in message


def test_few_lines_of_a_consequence_are_not_called_healthy():
    log = """
        DeepEP timeout check failed: rank = 6, thread = 0, value = 0)
        DeepEP timeout check failed: rank = 2, thread = 5, value = 1024)
    """
    assert told(log)[0] == "incomplete"


def test_a_wait_for_ray_counts_when_the_log_ends_with_it():
    wait = "(EngineCore pid=84) INFO 03-14 10:2{}:30 [ray_utils.py:464] Waiting for creating a placement group of specs for {} seconds. specs=[{{'GPU': 1.0}}].\n"
    waits = "".join(wait.format(at, seconds) for at, seconds in enumerate((10, 30, 70, 150)))
    on = "(EngineCore pid=84) INFO 03-14 10:25:30 [core.py:116] Initializing a V1 LLM engine (v0.26.0)\n" * 5

    assert told(waits)[0] == "diagnosed"
    assert told(waits + on) == ("healthy",)


def test_a_line_that_a_rule_explains_beats_the_torn_traceback_behind_it():
    log = """
        ERROR 03-14 10:20:30 [core.py:396] The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.
        Process EngineCore_0:
        Traceback (most recent call last):
          File "/usr/lib/python3.12/multiprocessing/process.py", line 314, in _bootstrap
            self.run()
    """
    assert told(log)[-1] == "ray-worker-process-died"


def test_a_watchdog_that_ends_its_process_is_not_a_process_that_vanished():
    log = """
        (raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker.
        (RayWorker pid=91) [E ProcessGroupNCCL.cpp:474] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800305 milliseconds before timing out.
        (RayWorker pid=91) [E ProcessGroupNCCL.cpp:494] To avoid data inconsistency, we are taking the entire process down.
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert (report.verdict, report.incidents[0].impact) == ("incomplete", "hang")


def test_a_line_of_ray_with_spaces_for_its_tab_is_no_part_of_the_exception_before_it():
    log = """
        (EngineCore_0 pid=411) Traceback (most recent call last):
        (EngineCore_0 pid=411)   File "/opt/venv/lib/python3.12/site-packages/nixl/_api.py", line 266, in register_memory
        (EngineCore_0 pid=411)     self.agent.registerMem(reg_descs, handle_list)
        (EngineCore_0 pid=411) nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND
        (EngineCore_0 pid=411) 2025-03-14 10:20:30,523       ERROR worker.py:427 -- Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): ray::RayWorkerWrapper.execute_method() (pid=533)
    """
    assert told(log)[1:3] == ("nixl._bindings.nixlBackendError", "NIXL_ERR_BACKEND")


def one_side(of, died_at, frame, error, pid):
    """The log of one of a prefill and a decode server."""
    head = f"(Worker_TP0 pid={pid + 2}) ERROR 03-14 {died_at} [multiproc_executor.py:870]"
    lines = (
        f"(APIServer pid={pid}) INFO 03-14 10:00:30 [api_server.py:1971] vLLM API server version 0.20.0",
        f"(EngineCore_DP0 pid={pid + 1}) INFO 03-14 10:00:44 [factory.py:64] Creating v1 connector with name: {of}",
        f"(APIServer pid={pid}) INFO:     Application startup complete.",
        f'(APIServer pid={pid}) INFO:     192.0.2.7:41020 - "POST /v1/completions HTTP/1.1" 200 OK',
        f"{head} WorkerProc hit an exception.",
        f"{head} Traceback (most recent call last):",
        f"{head}   {frame}",
        f"{head}     output = self.step()",
        f"{head} {error}",
    )
    return "\n".join(lines) + "\n"


OUT_OF_MEMORY = (
    'File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2517, in execute_model',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.",
)
DISCONNECT = (
    'File "/opt/venv/lib/python3.12/site-packages/nixl/_api.py", line 500, in check_xfer_state',
    "nixl._bindings.nixlRemoteDisconnectError: NIXL_ERR_REMOTE_DISCONNECT",
)


@pytest.mark.parametrize("names", [("decode.log", "prefill.log"), ("a.log", "b.log"), ("b.log", "a.log")])
@pytest.mark.parametrize(("second", "roots"), [("32", 1), ("30", 1), ("29", 1), ("10", 2)])
def test_of_a_pair_the_side_that_died_of_its_own_goes_before_the_one_that_lost_it(names, second, roots):
    decode, prefill = names
    logs = {
        decode: one_side("NixlConnector", f"10:20:{second}", *DISCONNECT, pid=200),
        prefill: one_side("NixlConnector", "10:20:30", *OUT_OF_MEMORY, pid=100),
    }
    report = report_of(logs)

    assert len(report.incidents) == roots
    assert {incident.root.source for incident in report.incidents} == ({prefill} if roots == 1 else {decode, prefill})


CALM_CLUSTERS = {
    "Ray's end of a job": """
        2025-03-14 10:00:30,697	INFO worker.py:2038 -- Started a local Ray instance.
        (raylet) [2025-03-14 10:04:57,756 E 328 328] (raylet) logging.cc:108: *** SIGTERM received at time=1741947630 on cpu 3 ***
    """,
    "a head that came late": """
        [2025-03-14 10:00:31,123 W 94 95] gcs_rpc_client.h:155: Failed to connect to GCS at address 10.20.0.7:6379 within 5 seconds.
        2025-03-14 10:00:36,697	INFO worker.py:1832 -- Connected to Ray cluster. View the dashboard at 10.20.0.7:8265
    """,
    "a start-up probe before the model is loaded": """
        2m          Normal    Started     pod/vllm-0        Started container vllm
        1m          Warning   Unhealthy   pod/vllm-0        Startup probe failed: Get "http://10.20.0.9:8000/health": dial tcp 10.20.0.9:8000: connect: connection refused
    """,
    "a port that came back": """
        [2025-03-14 10:00:23] node-a:311:405 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_3:1 Got async error event: port active
    """,
    "a prefill server that left with nothing under way": """
        [2025-03-14 10:05:00 TP0] Losing connection with prefill instance (bootstrap_addr: 10.20.0.8:8998), 0 transfers affected
    """,
    "a process that was asked to end": """
        The command was killed by SIGTERM: it exited with code 143.
    """,
}


@pytest.mark.parametrize("name", CALM_CLUSTERS)
def test_what_clusters_say_while_all_is_well_is_no_failure(name):
    assert told(CALM_CLUSTERS[name]) == ("healthy",)


def test_a_traceback_whose_first_frame_lost_its_line_is_read_all_the_same():
    head = "(EngineCore_0 pid=271) ERROR 03-14 10:20:30 [core.py:686]"
    log = f"""
        {head} EngineCore encountered a fatal error.
        {head} Traceback (most recent call last):
        {head}     engine_core.run_busy_loop()
        {head}   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 259, in execute_model
        {head}     raise error
        {head} KeyError: 'slot'
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))
    root = report.incidents[0].root

    assert (root.type, root.message, root.frame.function) == ("KeyError", "'slot'", "execute_model")


def test_what_an_abort_says_of_the_network_goes_before_the_abort():
    log = """
        terminate called after throwing an instance of 'std::runtime_error'
          what():  NCCL error: remote process exited or there was a network error, NCCL version 2.14.3
        Last error:
        NCCL WARN NET/IB : Got completion from peer 192.0.2.9<39138> with error 12, opcode 0, len 0, vendor err 129
    """
    one_line = " ".join(textwrap.dedent(log).split()) + "\n"

    assert told(one_line)[-1] == "network-nccl-ib-path-broken"


def test_a_store_that_could_not_be_joined_is_not_one_that_was_lost_while_serving():
    log = """
        E20250314 10:20:30.129794 58058 master_client.cpp:146] RPC call failed: Connection timed out
        E20250314 10:20:30.129853 56431 client.cpp:1431] mount_segment_to_master_failed base=0x12c200000000 size=60000000000, error=RPC_FAIL
        E20250314 10:20:30.129913 56431 pybind_client.cpp:233] Failed to mount segment: RPC_FAIL
        ERROR 03-14 10:20:30 [mooncake_store.py:65] Initialize mooncake failed.
    """
    assert told(log)[-1] == "mooncake-master-unreachable"


def test_the_innermost_report_says_first_what_to_fetch():
    log = """
        ERROR 03-14 10:20:30 worker_base.py:382] Error executing method init_device. This might cause deadlock in distributed execution.
        ERROR 03-14 10:20:30 worker_base.py:382] Traceback (most recent call last):
        ERROR 03-14 10:20:30 worker_base.py:382]   File "/opt/venv/lib/python3.12/site-packages/vllm/distributed/device_communicators/pynccl_wrapper.py", line 256, in NCCL_CHECK
        ERROR 03-14 10:20:30 worker_base.py:382]     raise RuntimeError(f"NCCL error: {error_str}")
        ERROR 03-14 10:20:30 worker_base.py:382] RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)
        (RayWorkerWrapper pid=118, ip=192.0.2.94) ERROR 03-14 10:20:30 worker_base.py:382] Error executing method init_device. This might cause deadlock in distributed execution. [repeated 6x across cluster]
    """
    report = report_of(textwrap.dedent(log).lstrip("\n"))

    assert "NCCL WARN" in report.incidents[0].fetch[0]


def test_a_spawned_child_is_the_root_and_not_its_spawner():
    log = """\
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/torch/multiprocessing/spawn.py", line 215, in join
    raise ProcessRaisedException(msg, error_index, failed_process.pid)
torch.multiprocessing.spawn.ProcessRaisedException:\x20

-- Process 2 terminated with the following error:
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/torch/multiprocessing/spawn.py", line 90, in _wrap
    fn(i, *args)
  File "/srv/acme/run.py", line 174, in main
    raise KeyError("slot")
KeyError: 'slot'
"""
    assert told(log)[1:3] == ("KeyError", "'slot'")


def test_llvm_that_gives_up_is_the_root_of_the_death():
    log = """\
INFO 03-14 10:20:24 [engine.py:310] Added request cmpl-0a1b2c3d.
LLVM ERROR: Failed to compute parent layout for slice layout.
ERROR 03-14 10:20:30 [client.py:305] RuntimeError('Engine process (pid 4100) died.')
"""
    assert told(log) == (
        "diagnosed",
        None,
        "LLVM ERROR: Failed to compute parent layout for slice layout.",
        "compile-llvm-gave-up",
    )


def test_a_timeout_of_deepep_s_kernels_leads_to_the_other_ranks():
    log = """\
DeepEP dispatch NVL receiver timeout, channel: 6, RDMA: 0, nvl: 0, src NVL: 5, head: 315, tail: 315
terminate called after throwing an instance of 'EPException'
  what():  Failed: CUDA error /srv/build/DeepEP/csrc/deep_ep.cpp:83 'unspecified launch failure'
"""
    assert told(log)[0] == "incomplete"


def test_a_proxy_s_error_leads_to_the_server_behind_it():
    log = """\
Error occurred in disagg prefill proxy server - /chat/completions endpoint
Traceback (most recent call last):
  File "/srv/pd/load_balance_proxy_server_example.py", line 566, in send_request_to_service
    response.raise_for_status()
  File "/opt/venv/lib/python3.12/site-packages/httpx/_models.py", line 829, in raise_for_status
    raise HTTPStatusError(message, request=request, response=self)
httpx.HTTPStatusError: Server error '500 Internal Server Error' for url 'http://10.20.0.5:8100/v1/chat/completions'
"""
    report = report_of(log)
    assert (report.verdict, report.incidents[0].impact) == ("incomplete", "requests")
    served = log + 'INFO:     192.0.2.7:57572 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error\n'
    assert report_of(served).verdict == "incomplete"


def test_the_box_of_torchrun_after_a_watchdog_is_a_consequence():
    log = """\
[rank1]:[E310 03:04:11.061727749 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=80, NumelOut=80, Timeout(ms)=600000) ran for 600096 milliseconds before timing out.
[rank1]:[E310 03:05:11.145572903 ProcessGroupNCCL.cpp:758] [Rank 1] To avoid data inconsistency, we are taking the entire process down.
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
========================================================
acme.train FAILED
--------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
--------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-03-10_03:05:11
  host      : node-a
  rank      : 1 (local_rank: 1)
  exitcode  : -6 (pid: 4242)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 4242
========================================================
"""
    report = report_of(log)
    assert (report.verdict, report.incidents[0].impact) == ("incomplete", "hang")
    without = log[log.index("torch.distributed.elastic") :]
    assert report_of(without).incidents[0].diagnoses[0].rule == "process-abort"


def test_a_warning_of_a_native_header_file_explains_the_transfer_that_failed():
    log = """\
(APIServer pid=411) INFO:     192.0.2.7:51100 - "POST /v1/completions HTTP/1.1" 200 OK
W0314 10:20:18.000001   455 tcp_transport_lane_impl.h:1330] TCP lane queue-full rejection count: 1
W0314 10:20:18.000512   455 tcp_transport_lane_impl.h:1330] TCP lane queue-full rejection count: 512
"""
    failed = (
        "(Worker_TP0 pid=555) ERROR 03-14 10:20:18 [mooncake_connector.py:1877] pulling kv_caches for "
        "['cmpl-5d0c'] failed: Mooncake transfer engine returned -1\n"
    )
    report = report_of(log + failed)
    assert (report.verdict, report.incidents[0].impact) == ("diagnosed", "requests")
    assert report.incidents[0].diagnoses[0].rule == "mooncake-tcp-queue-full"
    assert report_of(log.splitlines(keepends=True)[0] + failed).verdict == "incomplete"
