"""Reports built by hand, one of each kind that a reader can meet."""

from diagnoser.model import (
    ChainLink,
    Coverage,
    Diagnosis,
    Evidence,
    ExceptionInfo,
    Fact,
    Failure,
    Finding,
    Frame,
    Incident,
    Process,
    Reference,
    Remedy,
    Report,
    RunnerUp,
    SourceInfo,
    Symptom,
    TimelineEntry,
    ToolInfo,
)

TOOL = ToolInfo(version="0.1.0", rules=212, catalogue="sha256:3f1c2a")
PACKAGES = "/opt/venv/lib/python3.12/site-packages"
API = Process(name="APIServer", role="APIServer", pid=22790)
ENGINE = Process(name="EngineCore_DP0", role="EngineCore", pid=22954, ranks=(("dp", 0),))


def worker(rank: int, **more: object) -> Process:
    return Process(name=f"Worker_TP{rank}", role="Worker", pid=23010 + rank, ranks=(("tp", rank),), **more)  # type: ignore[arg-type]


def _frames() -> tuple[Frame, ...]:
    entries = [
        ("vllm/v1/executor/multiproc_executor.py", 597, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
        ("vllm/v1/executor/multiproc_executor.py", 437, "__init__", "self.worker.load_model()"),
        ("vllm/v1/worker/gpu_worker.py", 254, "load_model", "self.model_runner.load_model(eep_scale_up=eep_scale_up)"),
        ("vllm/v1/worker/gpu_model_runner.py", 2604, "load_model", "self.model = model_loader.load_model("),
        ("vllm/model_executor/model_loader/base_loader.py", 49, "load_model", "model = initialize_model("),
        ("torch/nn/modules/module.py", 1773, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)"),
        (
            "vllm/model_executor/models/llama.py",
            302,
            "__init__",
            "self.start_layer, self.end_layer, self.layers = make_layers(",
        ),
        ("vllm/model_executor/models/llama.py", 151, "__init__", "assert self.total_num_kv_heads % tp_size == 0"),
    ]
    return tuple(
        Frame(f"{PACKAGES}/{path}", line, function, code, log_line=128 + 3 * index)
        for index, (path, line, function, code) in enumerate(entries)
    )


FACTS = (
    ("vllm_version", Fact("0.11.0", "worker.log", 21)),
    ("model", Fact("example-org/Example-8B-Instruct", "worker.log", 22)),
    ("tensor_parallel_size", Fact(3, "worker.log", 22)),
    ("dtype", Fact("bfloat16", "worker.log", 22)),
    ("max_model_len", Fact(8192, "worker.log", 22)),
    ("enforce_eager", Fact(False, "worker.log", 22)),
    ("command_line", Fact("vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 3", "worker.log", 3)),
)
SOURCES = (SourceInfo("worker.log", 913, 81234, ("vllm",)),)

KV_HEADS = Diagnosis(
    rule="parallel-kv-heads-not-divisible",
    title="KV heads do not divide across the tensor-parallel ranks",
    severity="config",
    confidence="certain",
    cause="The model has 8 key/value heads and the deployment asks for 3 tensor-parallel ranks. Each rank has to hold "
    "the same number of heads, and 8 is not a multiple of 3, so the model's attention layer refuses to be built.",
    captures=(("total_num_kv_heads", "8"), ("tp_size", "3")),
    evidence=(
        Evidence("worker.log", 170, "assert self.total_num_kv_heads % tp_size == 0"),
        Evidence(
            "worker.log",
            22,
            "Initializing a V1 LLM engine (v0.11.0) with config: model='example-org/Example-8B-Instruct', "
            "tensor_parallel_size=3, pipeline_parallel_size=1",
        ),
    ),
    remedies=(
        Remedy(
            "Use a tensor-parallel size that divides 8: 1, 2, 4 or 8.",
            run="vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 2",
            verify="The log shows `Application startup complete`.",
            why="Two GPUs hold this model in bfloat16; a third one can serve a second replica.",
        ),
        Remedy(
            "If all three GPUs must serve one replica, split the layers instead of the heads.",
            run="vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 1 --pipeline-parallel-size 3",
        ),
    ),
    references=(
        Reference("Parallelism and scaling", "https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html"),
    ),
    runbook="docs/runbooks/parallel-kv-heads-not-divisible.md",
    check="diagnose check --model example-org/Example-8B-Instruct --tensor-parallel-size 3",
)


def _kv_heads_incident() -> Incident:
    root = Failure(
        kind="exception",
        process=worker(1),
        source="worker.log",
        line=126,
        end_line=171,
        time="10-02 03:12:41",
        level="ERROR",
        site="multiproc_executor.py:597",
        header="WorkerProc failed to start.",
        exceptions=(ExceptionInfo("AssertionError", "", _frames(), line=171, end_line=171),),
        fingerprint="9f2c4e61d0b7a385",
    )
    return Incident(
        root=root,
        impact="startup",
        fingerprint="9f2c4e61d0b7a385",
        chain=(
            ChainLink(
                "wraps",
                "RuntimeError",
                "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}",
                API,
                "worker.log",
                301,
                "vllm-engine-core-init-failed",
            ),
            ChainLink(
                "wraps",
                "Exception",
                "WorkerProc initialization failed due to an exception in a background "
                "process. See stack trace for root cause.",
                ENGINE,
                "worker.log",
                208,
                "vllm-worker-init-failed",
            ),
        ),
        symptoms=(
            Symptom(
                "DistBackendError",
                "NCCL error: remote process exited or there was a network error",
                worker(0),
                "worker.log",
                180,
                1,
                "nccl-remote-process-exited",
            ),
            Symptom(
                "DistBackendError",
                "NCCL error: remote process exited or there was a network error",
                worker(2),
                "worker.log",
                184,
                1,
                "nccl-remote-process-exited",
            ),
        ),
        also_on=(worker(0), worker(2)),
        reasons=(
            "RuntimeError in APIServer and Exception in EngineCore_DP0 only report what failed below them.",
            "Worker_TP1 is the deepest process that failed, and the first of its kind to do so.",
            "Worker_TP0 and Worker_TP2 failed with the same assertion.",
        ),
        timeline=(
            TimelineEntry("10-02 03:12:30", API, "vLLM 0.11.0 starts", "worker.log", 21, "fact"),
            TimelineEntry("10-02 03:12:41", worker(1), "AssertionError", "worker.log", 126, "root"),
            TimelineEntry("10-02 03:12:41", worker(0), "AssertionError", "worker.log", 131, "copy"),
            TimelineEntry("10-02 03:12:42", worker(2), "AssertionError", "worker.log", 140, "copy"),
            TimelineEntry("10-02 03:12:42", worker(0), "DistBackendError", "worker.log", 180, "symptom"),
            TimelineEntry(
                "10-02 03:12:43", ENGINE, "Exception: WorkerProc initialization failed", "worker.log", 208, "wrapper"
            ),
            TimelineEntry(
                "10-02 03:12:44", API, "RuntimeError: Engine core initialization failed", "worker.log", 301, "wrapper"
            ),
        ),
        runners_up=(
            RunnerUp(
                "DistBackendError",
                "NCCL error: remote process exited or there was a network error",
                worker(0),
                "worker.log",
                180,
                "It names the death of another process, so it can't be the first failure.",
            ),
        ),
        diagnoses=(KV_HEADS,),
    )


def diagnosed() -> Report:
    """A start-up crash on three tensor-parallel ranks that one rule explains for certain."""
    return Report(
        verdict="diagnosed",
        summary="KV heads do not divide across the tensor-parallel ranks: AssertionError in Worker_TP1.",
        tool=TOOL,
        sources=SOURCES,
        coverage=Coverage(lines_read=913),
        facts=FACTS,
        incidents=(_kv_heads_incident(),),
    )


def unknown() -> Report:
    """A crash while serving that no rule explains, with a Python cause chain inside one process."""
    frames = (
        Frame(f"{PACKAGES}/vllm/v1/engine/core.py", 710, "run_engine_core", "engine_core.run_busy_loop()", 411),
        Frame(f"{PACKAGES}/vllm/v1/engine/core.py", 298, "step", "scheduler_output = self.scheduler.schedule()", 413),
        Frame(
            f"{PACKAGES}/vllm/v1/core/sched/scheduler.py",
            377,
            "schedule",
            "new_blocks = self.kv_cache_manager.allocate_slots(",
            415,
        ),
        Frame("/usr/lib/python3.12/functools.py", 995, "wrapper", "return function(*args)", 417),
        Frame("/srv/plugins/our_scheduler/budget.py", 88, "next_budget", "return self._budgets[request.priority]", 419),
    )
    root = Failure(
        kind="exception",
        process=ENGINE,
        source="engine.log.zst",
        line=410,
        end_line=421,
        time="2026-02-11T09:30:05Z",
        header="EngineCore encountered a fatal error.",
        exceptions=(ExceptionInfo("KeyError", "-7", frames, ("request was chat-5f1c",), line=420, end_line=421),),
    )
    incident = Incident(
        root=root,
        impact="crash",
        fingerprint="00aa11bb22cc33dd",
        chain=(
            ChainLink(
                "wraps",
                "EngineDeadError",
                "EngineCore encountered an issue. See stack trace (above) for the root cause.",
                API,
                "engine.log.zst",
                440,
                "vllm-engine-dead",
            ),
        ),
        symptoms=(
            Symptom(
                "EngineDeadError",
                "EngineCore encountered an issue. See stack trace (above) for the root cause.",
                API,
                "engine.log.zst",
                440,
                41340,
                "vllm-engine-dead",
            ),
        ),
        reasons=("It is the only failure that is neither a wrapper nor a consequence.",),
    )
    return Report(
        verdict="unknown",
        summary="KeyError in EngineCore_DP0; no rule explains it.",
        tool=TOOL,
        sources=(SourceInfo("engine.log.zst", None, 512_000_000, ("vllm",)),),
        coverage=Coverage(
            lines_read=41_812, lines_skipped=None, notes=("41,339 equal tracebacks were counted, not kept.",)
        ),
        facts=FACTS[:3],
        incidents=(incident,),
    )


def incomplete() -> Report:
    """A worker that was killed from outside and whose own log is not in the input."""
    root = Failure(
        kind="exit",
        process=ENGINE,
        source="pod.log",
        line=95,
        end_line=95,
        time="03:40:10",
        name="exit code -9",
        text="Worker proc Worker_TP3 died unexpectedly with exit code -9, shutting down executor.",
    )
    incident = Incident(
        root=root,
        impact="crash",
        fingerprint="7766554433221100",
        symptoms=(
            Symptom("EngineDeadError", "EngineCore encountered an issue.", API, "pod.log", 131, 12, "vllm-engine-dead"),
        ),
        reasons=("Exit code -9 means that something outside the process killed it; its own log says nothing.",),
        incomplete=True,
        fetch=(
            "The kernel log of the node for the minute before 03:40:10: `dmesg --ctime | grep -i 'killed process'`.",
            "The reason the container stopped: `kubectl describe pod vllm-0`, part `Last State`.",
        ),
    )
    return Report(
        verdict="incomplete",
        summary="Worker_TP3 was killed from outside; why is not in this log.",
        tool=TOOL,
        sources=(SourceInfo("pod.log", 131, 15_330, ("cri", "vllm")),),
        coverage=Coverage(lines_read=131, lines_cut=1, undecodable_bytes=3),
        facts=FACTS[:2],
        incidents=(incident,),
    )


def healthy() -> Report:
    """A log without a failure."""
    return Report(
        verdict="healthy",
        summary="No failure found.",
        tool=TOOL,
        sources=SOURCES,
        coverage=Coverage(lines_read=40, lines_skipped=120_873),
        facts=FACTS[:3],
    )


def shutdown() -> Report:
    """A server that was told to stop."""
    return Report(
        verdict="shutdown",
        summary="The server was stopped by SIGTERM; nothing failed.",
        tool=TOOL,
        sources=SOURCES,
        coverage=Coverage(lines_read=52),
        facts=FACTS[:3],
    )


def requests() -> Report:
    """A server that stays up while its requests fail, explained by a rule that is only likely."""
    process = Process(
        name="EngineCore_DP0", role="EngineCore", pid=411, host="node-b", pod="decode-0", container="vllm"
    )
    root = Failure(
        kind="message",
        process=process,
        source="decode.log",
        line=801,
        end_line=801,
        time="I0211 09:30:05.120",
        site="transfer_engine.cpp:233",
        text="Failed to open segment 10.20.1.7:15428: metadata not found",
    )
    diagnosis = Diagnosis(
        rule="mooncake-segment-not-found",
        title="The prefill instance is not registered in the metadata server",
        severity="environment",
        confidence="likely",
        cause="The decode instance asked the metadata server for the segment 10.20.1.7:15428, which it does not hold.",
        evidence=(Evidence("decode.log", 801, "Failed to open segment 10.20.1.7:15428: metadata not found"),),
        remedies=(
            Remedy(
                "Check that the prefill instance runs and is registered.",
                run="curl -s 'http://10.20.1.2:8080/metadata?key=mooncake/ram/10.20.1.7:15428'",
                verify="The answer is a JSON object, not `404`.",
            ),
        ),
    )
    incident = Incident(
        root=root,
        impact="requests",
        fingerprint="abcdef0123456789",
        symptoms=(
            Symptom(
                None, "KV transfer failed for request cmpl-1", process, "decode.log", 803, 93, "kv-transfer-failed"
            ),
        ),
        reasons=("The line of the transfer engine stands directly before the first failed request.",),
        diagnoses=(diagnosis,),
    )
    return Report(
        verdict="diagnosed",
        summary="The prefill instance is not registered in the metadata server (likely).",
        tool=TOOL,
        sources=(SourceInfo("decode.log", 2_004, 300_211, ("glog", "vllm")),),
        coverage=Coverage(lines_read=2_004),
        incidents=(incident,),
    )


def native() -> Report:
    """A segmentation fault with a faulthandler dump, written by an unnamed process."""
    frames = (
        Frame("/usr/lib/python3.12/threading.py", 1012, "run"),
        Frame(f"{PACKAGES}/vllm/distributed/device_communicators/shm_broadcast.py", 405, "acquire_read"),
    )
    root = Failure(
        kind="native",
        process=Process(),
        source="<stdin>",
        line=7,
        end_line=19,
        name="SIGSEGV",
        text="Fatal Python error: Segmentation fault",
        native_frames=frames,
    )
    return Report(
        verdict="unknown",
        summary="Segmentation fault; no rule explains it.",
        tool=TOOL,
        sources=(SourceInfo("<stdin>", 19, 1_020),),
        coverage=Coverage(lines_read=19),
        incidents=(Incident(root=root, impact="crash", fingerprint="1234123412341234"),),
    )


def two_incidents() -> Report:
    """A start-up crash, and after a restart an unknown one."""
    return diagnosed()._replace(
        summary="2 incidents; the first: KV heads do not divide across the tensor-parallel ranks.",
        incidents=(*diagnosed().incidents, *unknown().incidents),
    )


def many_workers(count: int = 1000) -> Report:
    """One incident in which `count` workers take part, each with symptoms and timeline entries."""
    incident = _kv_heads_incident()
    others = [worker(rank, host=f"node-{rank // 8:03}") for rank in range(count)]
    return diagnosed()._replace(
        incidents=(
            incident._replace(
                also_on=tuple(others[2:]),
                symptoms=tuple(
                    Symptom(
                        "DistBackendError",
                        f"NCCL error on rank {rank}: remote process exited",
                        process,
                        "worker.log",
                        400 + rank,
                        40,
                        "nccl-remote-process-exited",
                    )
                    for rank, process in enumerate(others)
                ),
                timeline=incident.timeline
                + tuple(
                    TimelineEntry(
                        "10-02 03:12:45",
                        process,
                        f"DistBackendError: NCCL error on rank {rank}",
                        "worker.log",
                        400 + rank,
                    )
                    for rank, process in enumerate(others)
                ),
                runners_up=incident.runners_up * 50,
            ),
        ),
    )


def findings() -> Report:
    """What `diagnose check` reports: one finding of each status."""
    return Report(
        verdict="diagnosed",
        summary="This configuration would fail: 1 error, 1 warning.",
        tool=TOOL,
        findings=(
            Finding("ok", "dtype", "The GPU supports bfloat16", inputs=(("dtype", "bfloat16"),)),
            Finding(
                "error",
                "kv-heads",
                "KV heads do not divide across the tensor-parallel ranks",
                rule="parallel-kv-heads-not-divisible",
                message="8 key/value heads can't be shared by 3 ranks.",
                inputs=(("num_key_value_heads", "8"), ("tensor_parallel_size", "3")),
                suggestions=(
                    Remedy(
                        "Use 1, 2, 4 or 8.", run="vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 2"
                    ),
                ),
                runbook="docs/runbooks/parallel-kv-heads-not-divisible.md",
            ),
            Finding(
                "warning",
                "mooncake-protocol",
                "RDMA is asked for, but no device is named",
                message="Mooncake then takes the first device it finds.",
                inputs=(("protocol", "rdma"),),
            ),
            Finding(
                "skipped", "gpu-memory", "Does the model fit?", missing="the size of the GPU's memory (--gpu-memory)"
            ),
        ),
    )


SAMPLES = {
    function.__name__: function
    for function in (
        diagnosed,
        unknown,
        incomplete,
        healthy,
        shutdown,
        requests,
        native,
        two_incidents,
        findings,
        many_workers,
    )
}
"""Name of each kind of report and the function that makes it."""
