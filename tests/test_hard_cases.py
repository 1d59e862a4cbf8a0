"""Twenty ways to be wrong, each tried in the formats of several releases, and what must never change an answer.

The numbers are those of the classes: 1 bare asserts, 2 a root on a silent rank, 3 wrappers that quote an echo, 4 deaths
by exit code, 5 EngineDeadError without a crash, 7 noise beside the root, 10 the direction of chains, 13 native stacks,
14 wrappers of another kind, 15 failures that kill nothing, 16 roots that are in no log, 18 quotes in quotes,
20 many processes in many formats. The remaining ones are whole logs under `samples/`.
"""

from __future__ import annotations

import itertools
import json
import random
import re

import pytest
from expectations import shortfalls
from release_logs import BROKEN, ENGINE, NCCL, PLUGIN, RELEASES, RUNNING, WAITING, ReleaseLog, chained, frame, traceback
from whole_logs import BUSY, CALM, SAMPLES, gist, lines_of, report_of, sample_expectation, sample_logs

VERSIONS = list(RELEASES)
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def root_of(log):
    report = report_of(log.text())
    assert len(report.incidents) == 1
    return report.incidents[0].root


def said(root):
    return (root.type, root.message, root.speaker.name)


@pytest.mark.parametrize("version", VERSIONS)
def test_1_a_bare_assert_is_found_under_wrappers_that_quote_nothing(version):
    log = (
        ReleaseLog(version).starting().worker_cannot_start(1, "AssertionError").worker_cannot_start(0, "AssertionError")
    )
    report = report_of(log.engine_cannot_start().front_end_cannot_start().text())
    root = report.incidents[0].root

    assert (root.type, root.message, root.frame.code) == ("AssertionError", "", "assert self.width % tp_size == 0")
    assert [root.speaker.ranks[0][1], report.incidents[0].also_on[0].ranks[0][1]] == [1, 0]
    assert report.incidents[0].impact == "startup"


@pytest.mark.parametrize("version", VERSIONS)
def test_2_a_time_out_does_not_hide_the_rank_that_never_replied(version):
    log = ReleaseLog(version).serving().worker_fails(1, "ValueError: rank 1: NaN in activations").passes(15)
    log.bare(BUSY, BUSY).engine_times_out().front_end_follows()

    assert said(root_of(log))[:2] == ("ValueError", "rank 1: NaN in activations")


@pytest.mark.parametrize("version", ["0.10.2", "0.16.0", "0.32.0"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_3_what_the_other_ranks_say_never_wins_in_any_order(version, order):
    texts = {0: BROKEN, 1: "ValueError: bad scale in layer 3", 2: "RuntimeError: cancelled", 3: NCCL}
    log = ReleaseLog(version, ranks=4).serving()
    for rank in order:
        log.worker_fails(rank, texts[rank], RUNNING if rank == 1 else WAITING).passes(1)
    log.engine_quotes(texts[order[-1]].split(": ", 1)[1]).front_end_follows()

    assert said(root_of(log))[:2] == ("ValueError", "bad scale in layer 3")


@pytest.mark.parametrize("version", ["0.10.2", "0.16.0"])
def test_3_the_root_may_come_after_all_its_consequences(version):
    log = ReleaseLog(version).serving().worker_fails(0, BROKEN, WAITING)
    log.engine_quotes(BROKEN.split(": ", 1)[1]).front_end_follows().worker_fails(1, "AssertionError")

    assert said(root_of(log)) == ("AssertionError", "", "Worker_TP1")


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("-4", ["process-illegal-instruction"]),
        ("-6", ["process-abort"]),
        ("-7", ["process-bus-error"]),
        ("-9", ["process-sigkill"]),
        ("-11", ["process-segfault"]),
        ("7", ["process-nonzero-exit"]),
        ("None", ["process-nonzero-exit"]),
        ("0", []),
        ("1", []),
        ("-15", []),
    ],
)
@pytest.mark.parametrize("version", ["0.26.0", "0.32.0"])
def test_4_an_exit_code_names_its_signal_and_is_never_certain(version, code, rules):
    report = report_of(ReleaseLog(version).serving().worker_dies(1, code).executor_failed().front_end_follows().text())
    incident = report.incidents[0]

    assert [diagnosis.rule for diagnosis in incident.diagnoses][:1] == rules
    assert "certain" not in {diagnosis.confidence for diagnosis in incident.diagnoses}
    assert f"exit code: {code}" in incident.root.message
    assert bool(incident.fetch) == (code in ("0", "1", "-15", "None"))


@pytest.mark.parametrize("version", ["0.10.2", "0.12.0", "0.16.0", "0.21.0"])
def test_4_a_death_without_a_code_is_only_possible_and_asks_for_more(version):
    incident = report_of(
        ReleaseLog(version).serving().worker_dies(1, "").executor_failed().front_end_follows().text()
    ).incidents[0]

    assert {diagnosis.confidence for diagnosis in incident.diagnoses} <= {"possible"}
    assert incident.fetch


@pytest.mark.parametrize("code", ["0", "None", "-15", "1"])
def test_4_a_death_after_a_traceback_is_a_consequence(code):
    log = (
        ReleaseLog("0.26.0").serving().worker_fails(0, "KeyError: 'slot'").engine_quotes("'slot'").worker_dies(0, code)
    )

    assert said(root_of(log.front_end_follows())) == ("KeyError", "'slot'", "Worker_TP0")


@pytest.mark.parametrize("version", VERSIONS)
def test_5_after_an_order_to_stop_engine_dead_error_means_nothing(version):
    report = report_of(ReleaseLog(version).serving().told_to_stop().worker_dies(0, "-15").front_end_follows().text())

    assert (report.verdict, report.incidents) == ("shutdown", ())


@pytest.mark.parametrize("version", VERSIONS)
def test_5_before_an_order_to_stop_it_means_something(version):
    incident = report_of(ReleaseLog(version).serving().front_end_follows().told_to_stop().text()).incidents[0]

    assert {diagnosis.confidence for diagnosis in incident.diagnoses} <= {"possible"}
    assert incident.fetch


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("before", [True, False])
def test_7_noise_from_destructors_is_not_taken_for_the_root(version, before):
    lost = frame("vllm/renderers/base.py", 88, "__del__", "self.async_zmq_ctx.destroy()")
    noise = [
        "Exception ignored in: <function Renderer.__del__ at 0x7f1e2c3d40>",
        *traceback((lost,), "AttributeError: 'Renderer' object has no attribute 'async_zmq_ctx'"),
    ]
    log = ReleaseLog(version).starting()
    if before:
        log.raw(1, *noise)
    log.worker_cannot_start(1, "AssertionError")
    if not before:
        log.raw(1, *noise)
    log.engine_cannot_start().raw("core", *noise).front_end_cannot_start()

    assert root_of(log).type == "AssertionError"


@pytest.mark.parametrize("sentence", [CAUSE, CONTEXT])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("depth", [2, 10])
def test_10_the_first_of_a_chain_is_the_root_whichever_the_wrapper_quotes(version, sentence, depth):
    links = [
        traceback((*RUNNING[:2], frame(PLUGIN, n, f"step{n}", "go()")), f"ValueError: link {n}") for n in range(depth)
    ]
    log = ReleaseLog(version).serving().worker_fails(0, "", block=chained(*links, sentence=sentence))
    root = root_of(log.engine_quotes(f"link {depth - 1}").front_end_follows())

    assert (root.message, root.frame.function) == ("link 0", "step0")


SEGFAULT = [
    "!!!!!!! Segfault encountered !!!!!!!",
    '  File "<unknown>", line 0, in c10::FatalSignalHandler::fatalSignalHandler(int, siginfo_t*, void*)',
    '  File "/src/csrc/acme/kernel.cpp", line 242, in acme_kernel<float>',
    '  File "<unknown>", line 0, in _PyEval_EvalFrameDefault',
    "",
]
FAULTHANDLER = [
    "Fatal Python error: Segmentation fault",
    "",
    "Current thread 0x00007f1 (most recent call first):",
    f'  File "{PLUGIN}", line 11 in acme_kernel',
    "",
    "Extension modules: numpy, torch._C (total: 211)",
]


@pytest.mark.parametrize("dump", [SEGFAULT, FAULTHANDLER])
@pytest.mark.parametrize("version", ["0.21.0", "0.26.0", "0.32.0"])
def test_13_a_native_stack_is_the_root_of_the_death_that_follows(version, dump):
    root = root_of(
        ReleaseLog(version).serving().bare(*dump).worker_dies(1, "-11").executor_failed().front_end_follows()
    )

    assert (root.kind, root.type) == ("signal", "SIGSEGV")
    assert any("acme_kernel" in (entry.function or "") for entry in root.frames)


@pytest.mark.parametrize("version", VERSIONS)
def test_13_a_device_assert_outranks_the_cuda_error_that_reports_it(version):
    lines = [
        f"/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:93: operator(): block: [{block},0,0], thread: [{thread},0,0] "
        "Assertion `-sizes[i] <= index && index < sizes[i]` failed."
        for block in range(3)
        for thread in range(8)
    ]
    text = "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."
    log = ReleaseLog(version).serving().bare(*lines)
    for rank in (1, 0):
        log.worker_fails(rank, f"torch.AcceleratorError: {text}")
    root = root_of(log.engine_quotes(text).front_end_follows())

    assert root.kind == "native"
    assert "Assertion `-sizes[i] <= index" in root.message


@pytest.mark.parametrize("version", VERSIONS)
def test_14_an_engine_that_dies_of_a_key_error_does_not_hide_the_pipeline_rank(version):
    log = ReleaseLog(version, role="PP").serving().worker_fails(0, "AssertionError").passes(2)
    log.engine_fails(traceback(ENGINE, "KeyError: 'cmpl-7b0c41aa-0'")).front_end_follows()

    assert said(root_of(log))[:2] == ("AssertionError", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_14_an_engine_can_be_the_root_itself(version):
    scheduler = frame("vllm/v1/core/sched/scheduler.py", 511, "schedule", "assert num_new_tokens > 0")
    log = ReleaseLog(version).serving().engine_fails(traceback((*ENGINE, scheduler), "AssertionError"))

    assert said(root_of(log.front_end_follows())) == ("AssertionError", "", RELEASES[version].engine)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("status", "words"), [(400, "Bad Request"), (404, "Not Found"), (401, "Unauthorized")])
def test_15_what_clients_do_wrong_is_no_incident(version, status, words):
    report = report_of(ReleaseLog(version).serving().answers(status, words).answers(200, "OK").text())

    assert (report.verdict, report.incidents) == ("healthy", ())


def test_15_a_failed_transfer_is_an_incident_of_requests_when_the_server_lives():
    log = ReleaseLog("0.32.0").serving()
    text = "pulling kv_caches for ['cmpl-94d9-0'] failed: Mooncake KV region length mismatch for homogeneous TP at region 0: local=16384, remote=32768."
    log.record(0, "ERROR", "mooncake_connector.py:2405", text).answers(500, "Internal Server Error").answers(200, "OK")
    report = report_of(log.text())

    assert (report.incidents[0].impact, report.incidents[0].diagnoses[0].rule) == (
        "requests",
        "mooncake-kv-region-mismatch",
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kept", [("api",), ("core",), ("api", "core")])
@pytest.mark.parametrize("start", [True, False])
def test_16_wrappers_alone_allow_a_guess_at_most_and_say_what_to_fetch(version, kept, start):
    log = ReleaseLog(version)
    if start:
        log.starting()
        if "core" in kept:
            log.engine_cannot_start()
        if "api" in kept:
            log.front_end_cannot_start()
    else:
        log.serving()
        if "core" in kept:
            log.engine_quotes("")
        if "api" in kept:
            log.front_end_follows()
    incident = report_of(log.text()).incidents[0]

    assert {diagnosis.confidence for diagnosis in incident.diagnoses} <= {"possible"}
    assert incident.fetch


@pytest.mark.parametrize("version", VERSIONS)
def test_18_a_message_may_hold_quotes_tracebacks_and_wrappers(version):
    text = (
        "the adapter said: 'bad \"layout\"'\n"
        '  File "/tmp/fake.py", line 3, in nowhere\n'
        '    raise KeyError("not the root")\n'
        "AssertionError: this line is text, too\n"
        "Worker failed with error 'nested', please check\n"
        "end of the report"
    )
    log = ReleaseLog(version).serving().worker_fails(0, f"acme_layers.errors.LayoutError: {text}").engine_quotes(text)

    assert said(root_of(log.front_end_follows()))[:2] == ("acme_layers.errors.LayoutError", text)


# What must never change an answer, tried on every whole log.

RECORD = re.compile(
    r"^(?P<names>(?:(?:\x1b\[[0-9;]*m)?\([^()]* pid=\d+[^)]*\)(?:\x1b\[[0-9;]*m)? )*)(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"(?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[(?P<site>[^\]:]+:\d+)\] (?P<text>.*?)\r?$"
)
SINGLE = [name for name in SAMPLES if len(sample_logs(name)) == 1]
CRASHES = [
    name
    for name in SINGLE
    if sample_expectation(name).get("impact") != "requests" and not sample_expectation(name).get("fetch")
]
IN_RECORDS = [
    name
    for name in CRASHES
    if name not in ("many-processes-many-formats", "docker-compose", "kubernetes-cri", "json-logging")
    and sum(bool(RECORD.match(line)) for line in lines_of(next(iter(sample_logs(name).values())))) > 25
]


def sample_lines(name):
    return lines_of(next(iter(sample_logs(name).values())))


def failed_in_a_worker(name):
    return str(sample_expectation(name).get("root", {}).get("process", "")).startswith("Worker")


def certain(report):
    return {
        diagnosis.rule
        for incident in report.incidents
        for diagnosis in incident.diagnoses
        if diagnosis.confidence == "certain"
    }


def answer(report):
    """What other lines around a failure, or another way to print it, may not change."""
    return [
        (incident["fingerprint"], incident["impact"], incident["diagnoses"], incident["also_on"])
        for incident in gist(report)[1]
    ]


def aftermath():
    """Everything that may follow from a crash, from ranks that the samples do not have."""
    log = ReleaseLog("0.26.0", ranks=8, minute=59)
    log.worker_fails(5, BROKEN, WAITING).worker_fails(6, NCCL, WAITING).worker_fails(
        7, "RuntimeError: cancelled", WAITING
    )
    log.bare(
        "[rank3]:[E314 10:59:01.123456 ProcessGroupNCCL.cpp:695] [Rank 3] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=911, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.",
        "nanobind: leaked 4 instances!",
    )
    log.worker_dies(3, "None").worker_dies(4, "0")
    for _ in range(20):
        log.front_end_follows()
    log.record(2, "WARNING", "multiproc_executor.py:922", "WorkerProc was terminated")
    return log.lines


@pytest.mark.parametrize("name", CRASHES)
def test_later_consequences_never_change_the_root(name):
    before, after = report_of(sample_lines(name)), report_of(sample_lines(name) + aftermath())

    assert [incident.fingerprint for incident in after.incidents] == [
        incident.fingerprint for incident in before.incidents
    ]


# On a CPU the same message has another cause; only the first lines of the log tell that it is one.
KNOWN_BY_THE_START = {"cpu-told-to-raise-gpu-memory": {"memory-no-kv-cache-blocks"}}


@pytest.mark.parametrize("name", SINGLE)
def test_a_cut_log_is_never_certain_of_anything_else(name):
    lines = sample_lines(name)
    allowed = certain(report_of(lines)) | KNOWN_BY_THE_START.get(name, set())

    for percent in range(10, 100, 10):
        at = len(lines) * percent // 100
        assert certain(report_of(lines[:at])) <= allowed
        assert certain(report_of(lines[at:])) <= allowed


@pytest.mark.parametrize("name", SINGLE)
def test_a_log_that_ends_before_the_root_is_never_certain(name):
    lines = sample_lines(name)
    root = report_of(lines).incidents[0].root

    assert certain(report_of(lines[: root.line - 1])) == set()


@pytest.mark.parametrize("name", [name for name in IN_RECORDS if failed_in_a_worker(name)])
def test_without_the_block_of_the_process_that_failed_nothing_is_certain(name):
    lines = sample_lines(name)
    incidents = report_of(lines).incidents
    speakers = [process for incident in incidents for process in (incident.root.speaker, *incident.also_on)]
    names = {process.name for process in speakers if process.name}
    left = [line for line in lines if not any(f"({failed} pid=" in line for failed in names)]

    assert certain(report_of(left)) == set()


# Where the prefixes of two workers pile up, the line without one is told by standing next to them alone.
@pytest.mark.parametrize("name", [name for name in CRASHES if name != "v0.10.2-prefixes-pile-up"])
@pytest.mark.parametrize("seed", [1, 2])
def test_healthy_lines_of_another_process_change_nothing(name, seed):
    chooser = random.Random(seed)
    calm = [
        "(APIServer pid=4099) INFO 03-14 10:22:51 [serving_models.py:162] Listing models",
        'INFO:     192.0.2.7:41020 - "GET /health HTTP/1.1" 200 OK',
        'INFO:     192.0.2.7:41020 - "GET /metrics HTTP/1.1" 200 OK',
    ]
    mixed = []
    for line in sample_lines(name):
        if chooser.random() < 0.25:
            mixed.append(chooser.choice(calm))
        mixed.append(line)

    assert answer(report_of(mixed)) == answer(report_of(sample_lines(name)))


def writer(line):
    """The process that a record names, None for other lines."""
    names = re.findall(r"\((\w[\w =]*?) pid=(\d+)", line[:400]) if RECORD.match(line) else []
    return names[-1] if names else None


@pytest.mark.parametrize("name", IN_RECORDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_between_workers_does_not_matter(name, seed):
    chooser = random.Random(seed)
    mixed, stretch = [], {}
    for line in [*sample_lines(name), ""]:
        who = writer(line)
        if who is not None and "Worker" in who[0]:
            stretch.setdefault(who[1], []).append(line)
            continue
        queues = list(stretch.values())
        while any(queues):
            mixed.append(chooser.choice([queue for queue in queues if queue]).pop(0))
        stretch = {}
        mixed.append(line)
    plain, shuffled = report_of(sample_lines(name)), report_of(mixed)

    assert [incident.fingerprint for incident in shuffled.incidents] == [
        incident.fingerprint for incident in plain.incidents
    ]
    assert shortfalls(shuffled, without_names(sample_expectation(name))) == []


def without_names(expected):
    """Which of two equal failures came first is up to the order."""
    root = {key: value for key, value in expected.get("root", {}).items() if key != "process"}
    return {key: value for key, value in expected.items() if key != "also_on"} | {"root": root}


@pytest.mark.parametrize("name", IN_RECORDS)
def test_a_restart_that_fails_again_is_a_second_incident_with_the_same_answer(name):
    lines = sample_lines(name)
    once, twice = report_of(lines), report_of(lines + lines)

    assert answer(twice) == answer(once) * 2


def older(line):
    """Without the bracket before the site, as before 0.8.5."""
    return RECORD.sub(r"\g<names>\g<level> \g<time> \g<site>] \g<text>", line)


def nested(line):
    """Behind the prefix of the process that forked this one."""
    return f"\x1b[1;36m(APIServer pid=1)\x1b[0;0m {line}" if line.startswith(("(Engine", "(Worker")) else line


def at_debug(line):
    """With the path that the log level DEBUG shows."""
    return RECORD.sub(r"\g<names>\g<level> \g<time> [v1/engine/\g<site>] \g<text>", line)


def named(line):
    """Behind the text of VLLM_LOGGING_PREFIX."""
    return RECORD.sub(r"\g<names>[acme-llm] \g<level> \g<time> [\g<site>] \g<text>", line)


def undated(line):
    """Without time and site."""
    return RECORD.sub(r"\g<names>\g<level> \g<text>", line) if line.startswith(("(", "\x1b")) else line


def coloured(line):
    """As a terminal shows it."""
    return RECORD.sub(
        "\\g<names>\x1b[31m\\g<level>\x1b[0m \x1b[90m\\g<time>\x1b[0m \x1b[90m[\\g<site>]\x1b[0m \\g<text>\r", line
    )


def damaged(line):
    """Colours whose escape character became text."""
    return coloured(line).replace("\x1b", "^[").rstrip("\r")


def quoted(line):
    """Quoted in a mail."""
    return f"> {line}".rstrip("\r")


def indented(line):
    """Indented in a comment."""
    return f"    {line}".rstrip("\r")


@pytest.mark.parametrize("change", [older, nested, at_debug, named, coloured, damaged, quoted, indented])
@pytest.mark.parametrize("name", IN_RECORDS)
def test_20_the_same_crash_in_another_notation_has_the_same_answer(name, change):
    lines = sample_lines(name)

    assert answer(report_of([change(line) for line in lines])) == answer(report_of(lines))


@pytest.mark.parametrize("name", IN_RECORDS)
def test_20_records_without_time_and_site_have_the_same_first_cause(name):
    # Two records of one process that follow each other can't be told apart then, so messages may run together.
    lines = sample_lines(name)
    plain, changed = report_of(lines), report_of([undated(line) for line in lines])

    assert gist(changed)[1][0]["diagnoses"][:1] == gist(plain)[1][0]["diagnoses"][:1]


def test_20_json_records_say_the_same_as_text():
    log = ReleaseLog("0.32.0").serving().worker_fails(1, "ValueError: page table is empty")
    log.engine_quotes("page table is empty").front_end_follows()
    records: list[dict[str, object]] = []
    objects = []
    for line in log.lines:
        found = RECORD.match(line)
        if found is None:
            objects.append(line)
            continue
        name, pid = re.findall(r"\((\w+) pid=(\d+)", line)[-1]
        site, number = found["site"].split(":")
        if (
            records
            and found["level"] == "ERROR"
            and records[-1]["lineno"] == int(number)
            and records[-1]["process"] == int(pid)
        ):
            records[-1]["exc_info"] = (str(records[-1].get("exc_info", "")) + "\n" + found["text"]).lstrip("\n")
            continue
        records.append({
            "asctime": f"2026-{found['time']},911", "levelname": found["level"], "name": "vllm", "process": int(pid),
            "filename": site, "lineno": int(number), "message": found["text"], "vllm_process_name": name,
        })  # fmt: skip
        objects.append(records[-1])
    lines = [item if isinstance(item, str) else json.dumps(item) for item in objects]

    assert answer(report_of(lines)) == answer(report_of(log.lines))


@pytest.mark.parametrize("name", IN_RECORDS)
@pytest.mark.parametrize("reverse", [False, True])
def test_20_one_log_a_process_says_the_same_as_one_log_for_all(name, reverse):
    files, last = {}, "bare"
    for line in sample_lines(name):
        found = re.findall(r"\((\w[\w =]*?) pid=(\d+)", line[:400]) if line.startswith(("(", "\x1b")) else []
        last = found[-1][1] if found else last
        files.setdefault(f"{last}.log", []).append(line)
    texts = {file: "\n".join(lines) + "\n" for file, lines in sorted(files.items(), reverse=reverse)}

    assert [entry[:3] for entry in answer(report_of(texts))] == [
        entry[:3] for entry in answer(report_of(sample_lines(name)))
    ]


def test_a_log_of_healthy_lines_alone_is_healthy():
    assert report_of([CALM, BUSY] * 500).verdict == "healthy"


def test_an_excerpt_of_a_few_lines_is_answered_by_the_warning_that_a_rule_explains():
    line = "node-b:240:240 [6] misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to 192.0.2.4<56849> returned 113(No route to host)"
    report = report_of([line])

    assert report.incidents[0].diagnoses[0].rule == "network-nccl-connect-failed"
    assert report_of([line, *ReleaseLog("0.26.0").serving().lines]).incidents == ()


@pytest.mark.parametrize("name", ["sglang-scheduler", "torchrun-rank-1", "v0.8.5-offline-rank-prefix"])
@pytest.mark.parametrize(
    "change", [lambda line: [line, ""], lambda line: [line.replace("    ", "\t")]], ids=["double-spaced", "tabs"]
)
def test_20_a_paste_that_was_double_spaced_or_given_tabs_has_the_same_root(name, change):
    report = report_of([part for line in sample_lines(name) for part in change(line)])
    expected = {"root": sample_expectation(name)["root"], "rule": sample_expectation(name)["rule"]}

    assert shortfalls(report, expected) == []


def test_20_a_blank_line_does_not_part_a_record_from_its_traceback():
    name = "middleware-fails-server-lives"
    report = report_of([part for line in sample_lines(name) for part in (line, "")])

    assert shortfalls(report, sample_expectation(name)) == []


@pytest.mark.parametrize("width", [100, 120, 140])
@pytest.mark.parametrize("name", IN_RECORDS)
def test_20_a_log_cut_at_some_width_is_never_certain_of_anything_else(name, width):
    lines = sample_lines(name)
    allowed = certain(report_of(lines)) | KNOWN_BY_THE_START.get(name, set())

    assert certain(report_of([line[:width] for line in lines])) <= allowed
