"""What each key of a condition means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from catalogue_helpers import exception_failure, record_failure

from diagnoser.catalogue import Catalogue, LogHit, RecordHit
from diagnoser.model import Evidence, ExceptionInfo, Fact, Failure, Frame, LogRecord, Match, Process

Maker = Callable[..., Catalogue]
WORKER = Process("Worker_TP1", "Worker", 4242)


def ids(matches: list[Match]) -> list[str]:
    return [match.rule for match in matches]


@pytest.mark.parametrize(
    ("pattern", "printed", "holds"),
    [
        ("AssertionError", "AssertionError", True),
        ("AssertionError", "builtins.AssertionError", True),
        ("AssertionError", "MyAssertionError", False),
        ("AssertionError", "AssertionErrors", False),
        ("ValueError|RuntimeError", "RuntimeError", True),
        (r"zmq\.error\.ZMQError", "zmq.error.ZMQError", True),
        ("zmq.error.ZMQError", "zmq.error.ZMQError", True),
        (r"zmq\.error\.ZMQError", "other.ZMQError", False),
        (r"zmq\.error\.ZMQError", "ZMQError", False),
        (r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError", "torch.OutOfMemoryError", True),
        (r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError", "torch.cuda.OutOfMemoryError", True),
        (r".*ValidationError", "pydantic_core._pydantic_core.ValidationError", True),
        (r".*ValidationError", "ValueError", False),
        (r"\w+Error", "torch.SomeError", True),
    ],
)
def test_exception_is_the_whole_name_with_or_without_its_module(
    make_catalogue: Maker, pattern: str, printed: str, holds: bool
) -> None:
    catalogue = make_catalogue({"a-rule": f"[[match]]\nexception = '{pattern}'\nmessage = 'boom'"})

    found = catalogue.match(exception_failure(printed, "boom"), {}, {})

    assert ids(found) == (["a-rule"] if holds else [])


def test_a_quoted_name_may_lack_its_module_and_lowers_the_confidence(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nconfidence='certain'\nexception='zmq.error.ZMQError'\nmessage='in use'"})

    found = catalogue.match(exception_failure("ZMQError", "Address in use", quoted=True), {}, {})

    assert [(match.rule, match.confidence) for match in found] == [("a-rule", "likely")]


def test_possible_stays_possible_when_lowered(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nconfidence='possible'\nexception='KeyError'\nmessage='in use'"})

    found = catalogue.match(exception_failure("KeyError", "in use", quoted=True), {}, {})

    assert [match.confidence for match in found] == ["possible"]


@pytest.mark.parametrize(
    ("key", "holds"),
    [
        (r"message = 'wants (?P<n>\d+) slots'", True),
        ("message = '^slots'", False),
        ("message = '(?i)WANTS'", True),
        ("code = 'heads % size == 0'", True),
        ("code = 'heads % size == 1'", False),
        (r"frame = 'vllm/a\.py:load$'", True),
        (r"frame = '^/opt/venv/lib.*:load$'", True),
        (r"frame = 'run\.py:run_worker'", False),
        (r"any_frame = 'run\.py:run_worker$'", True),
        (r"any_frame = ':run$'", False),
        ("fact = { tensor_parallel_size = '>1' }\nmessage = 'slots'", True),
        ("fact = { tensor_parallel_size = '>3' }\nmessage = 'slots'", False),
        ("fact = { not_stated = '1' }\nmessage = 'slots'", False),
        ("not = { message = 'slots' }\nmessage = 'wants'", False),
        ("not = { message = 'wheels' }\nmessage = 'wants'", True),
        ("not = { exception = 'ValueError' }\nmessage = 'wants'", False),
        ("not = { any_frame = 'run_worker' }\nmessage = 'wants'", False),
        ("not = { code = 'size' }\nmessage = 'wants'", False),
        ("not = { fact = { tensor_parallel_size = 3 } }\nmessage = 'wants'", False),
        ("not = { message = 'wheels', frame = ':load$' }\nmessage = 'wants'", False),
    ],
)
def test_each_key_looks_at_its_own_text(make_catalogue: Maker, key: str, holds: bool) -> None:
    catalogue = make_catalogue({"a-rule": f"[[match]]\n{key}"})
    failure = exception_failure("ValueError", "pool wants 96 slots", code="assert heads % size == 0")

    found = catalogue.match(failure, {"tensor_parallel_size": Fact(3, "worker.log", 2)}, {})

    assert ids(found) == (["a-rule"] if holds else [])


def test_captures_come_from_all_keys_and_the_message_wins(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {"a-rule": "[[match]]\nmessage = 'wants (?P<n>\\d+)(?P<never>x)?'\ncode = 'assert (?P<n>\\w+) % (?P<size>\\w+)'"}
    )

    found = catalogue.match(exception_failure("ValueError", "wants 96 slots", code="assert heads % tp == 0"), {}, {})

    assert [match.captures for match in found] == [(("n", "96"), ("size", "tp"))]


def test_evidence_names_the_lines_that_the_keys_held_on(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {"a-rule": "[[match]]\nmessage = 'second'\ncode = 'tp'\nany_frame = 'run_worker'\nfact = { size = 3 }"}
    )
    failure = exception_failure("ValueError", "first\nsecond line", code="assert heads % tp == 0")

    found = catalogue.match(failure, {"size": Fact(3, "api.log", 2)}, {})

    assert [match.evidence for match in found] == [
        (
            Evidence("worker.log", 15, "second line"),
            Evidence("worker.log", 13, "assert heads % tp == 0"),
            Evidence("worker.log", 11, 'File "/opt/venv/lib/python3.12/site-packages/vllm/run.py", line 7, in run_worker'),
            Evidence("api.log", 2, "size = 3"),
        )
    ]


def test_records_say_on_which_line_evidence_stands(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nmessage = 'second'"})
    records = [LogRecord("ValueError: first", "other.log", 40), LogRecord("second line", "other.log", 47)]

    found = catalogue.match(exception_failure("ValueError", "first\nsecond line"), {}, {}, records=records)

    assert [match.evidence for match in found] == [(Evidence("other.log", 47, "second line"),)]


def test_each_exception_of_a_chain_is_tried_with_its_own_frames(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {
            "inner": "[[match]]\nexception = 'KeyError'\nany_frame = ':look_up$'",
            "mixed": "[[match]]\nexception = 'RuntimeError'\nany_frame = ':look_up$'",
            "outer": "[[match]]\nexception = 'RuntimeError'\nmessage = 'start'",
        }
    )
    chain = (
        ExceptionInfo("KeyError", "'x'", (Frame("/srv/a.py", 1, "look_up", None, 3),), link="cause", line=4, end_line=4),
        ExceptionInfo("RuntimeError", "can't start", (Frame("/srv/b.py", 1, "start", None, 7),), line=8, end_line=8),
    )
    failure = Failure("exception", WORKER, "worker.log", 1, 8, exceptions=chain)

    found = catalogue.match(failure, {}, {})

    assert {(match.rule, match.exception) for match in found} == {("inner", 0), ("outer", 1)}


def test_a_lone_log_condition_is_about_the_record(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nlog = 'hostname is (?P<what>\\w+)'"})

    found = catalogue.match(record_failure("client.cpp:7] first\nlocal hostname is empty"), {}, {})

    assert found == [
        Match(
            "a-rule", "cause", "certain", (("what", "empty"),), (Evidence("worker.log", 11, "local hostname is empty"),), None
        )
    ]  # fmt: skip


def test_a_lone_log_condition_sees_the_header_but_not_the_traceback(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nlog = 'out of slots'"})
    below = exception_failure("ValueError", "out of slots")

    assert ids(catalogue.match(below, {}, {})) == []
    assert ids(catalogue.match(below._replace(header="Worker is out of slots."), {}, {})) == ["a-rule"]


def test_a_failure_without_exceptions_has_name_and_text(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nexception = 'SIGSEGV'\nmessage = 'libacme'\nany_frame = 'crunch'"})
    failure = Failure(
        "native", WORKER, "worker.log", 3, 9, text="Segfault\nin libacme.so", name="SIGSEGV",
        native_frames=(Frame("libacme.so", None, "crunch", None, 5),),
    )  # fmt: skip

    found = catalogue.match(failure, {}, {})

    assert [(match.rule, match.exception, match.evidence[0]) for match in found] == [
        ("a-rule", None, Evidence("worker.log", 4, "in libacme.so"))
    ]


OTHER = Process("Worker_TP2", "Worker", 4243)


@pytest.mark.parametrize(
    ("near", "process", "order", "holds"),
    [
        ("process", WORKER, 3, True),
        ("process", WORKER, 5, True),
        ("process", WORKER, 6, False),
        ("process", OTHER, 3, False),
        ("process", Process(), 3, True),
        ("process", Process("Worker_TP1"), 3, True),
        ("anywhere", OTHER, 9, True),
    ],
)
def test_log_beside_other_keys_is_context(
    make_catalogue: Maker, near: str, process: Process, order: int, holds: bool
) -> None:
    catalogue = make_catalogue(
        {"a-rule": f"[[match]]\nexception = 'KeyError'\nlog = 'loading (?P<model>\\S+)'\nnear = '{near}'"}
    )
    record = LogRecord("Now loading /srv/models/m", "worker.log", 4, process)
    hits = {hit: [RecordHit(record, order)] for hit in catalogue.scan(record.body)}

    found = catalogue.match(exception_failure("KeyError", "'x'"), {}, hits)

    assert [match.captures for match in found] == ([(("model", "/srv/models/m"),)] if holds else [])
    assert all(Evidence("worker.log", 4, record.body) in match.evidence for match in found)


def test_context_in_a_later_line_of_a_record_is_found_with_its_line(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nexception = 'KeyError'\nlog = 'loading (?P<model>\\S+)'"})
    text = "Getting ready\nloading m1"
    hit = RecordHit(LogRecord("Getting ready", "worker.log", 4, WORKER), 3, text)

    found = catalogue.match(exception_failure("KeyError", "'x'"), {}, {LogHit("a-rule", 0): [hit]})

    assert [(match.captures, match.evidence[-1]) for match in found] == [
        ((("model", "m1"),), Evidence("worker.log", 5, "loading m1"))
    ]


@pytest.mark.parametrize(
    ("process", "order", "holds"), [(WORKER, 3, False), (WORKER, 9, False), (OTHER, 3, True), (None, 0, True)]
)
def test_a_log_inside_not_looks_at_the_same_process_at_any_time(
    make_catalogue: Maker, process: Process | None, order: int, holds: bool
) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nexception = 'KeyError'\nnot = { log = 'service ready' }"})
    record = LogRecord("service ready now", "worker.log", 4, process or WORKER)
    hits = {hit: [RecordHit(record, order)] for hit in catalogue.scan(record.body)} if process else {}

    assert ids(catalogue.match(exception_failure("KeyError", "'x'"), {}, hits)) == (["a-rule"] if holds else [])


def test_a_log_inside_not_of_a_lone_log_looks_at_the_record_itself(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nlog = 'Duplicate key'\nnot = { log = 'republish' }"})

    assert ids(catalogue.match(record_failure("Duplicate key x"), {}, {})) == ["a-rule"]
    assert ids(catalogue.match(record_failure("Duplicate key x, republish"), {}, {})) == []


@pytest.mark.parametrize(
    ("stated", "holds"),
    [({}, True), ({"vllm_version": "0.20.1"}, True), ({"vllm_version": "0.21.0"}, False), ({"vllm_version": "unknown"}, True)],
)
def test_a_version_outside_the_range_excludes_and_an_unknown_one_does_not(
    make_catalogue: Maker, stated: dict[str, str], holds: bool
) -> None:
    body = "[applies]\nvllm = '>=0.6,<0.21'\n[[match]]\nexception = 'KeyError'\nmessage = 'pool'"
    catalogue = make_catalogue({"a-rule": body})
    facts = {name: Fact(value, "a.log", 1) for name, value in stated.items()}

    assert ids(catalogue.match(exception_failure("KeyError", "pool"), facts, {})) == (["a-rule"] if holds else [])


@pytest.mark.parametrize(("stated", "confidence"), [("0.20.9", "certain"), ("0.21.1", "likely"), ("0.22.0", "likely")])
def test_a_version_that_has_the_fix_lowers_the_confidence(make_catalogue: Maker, stated: str, confidence: str) -> None:
    catalogue = make_catalogue({"a-rule": "[applies]\nfixed_in = '0.21.1'\n[[match]]\nexception = 'KeyError'\nmessage = 'pool'"})

    found = catalogue.match(exception_failure("KeyError", "pool"), {"vllm_version": Fact(stated, "a.log", 1)}, {})

    assert [match.confidence for match in found] == [confidence]


def test_order_is_confidence_then_specificity_then_id(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {
            "d-possible": "[[match]]\nconfidence = 'possible'\nexception = 'KeyError'\nmessage = 'pool is gone'",
            "c-specific": "[[match]]\nexception = 'KeyError'\nmessage = 'pool'\ncode = 'pool'",
            "b-longer": "[[match]]\nexception = 'KeyError'\nmessage = 'pool is gone'",
            "a-short": "[[match]]\nexception = 'KeyError'\nmessage = 'pool'",
            "e-short": "[[match]]\nexception = 'KeyError'\nmessage = 'gone'",
        }
    )

    found = catalogue.match(exception_failure("KeyError", "pool is gone", code="pool()"), {}, {})

    assert ids(found) == ["c-specific", "b-longer", "a-short", "e-short", "d-possible"]


def test_what_is_outranked_stands_behind_what_outranks_it(make_catalogue: Maker) -> None:
    body = "[[match]]\nconfidence = '{}'\nexception = 'KeyError'\nmessage = 'pool'"
    catalogue = make_catalogue(
        {"a-general": body.format("certain"), "b-special": body.format("possible"), "c-more": body.format("likely")},
        extra={"b-special": "outranks = ['c-more']\n", "c-more": "outranks = ['a-general']\n"},
    )

    assert ids(catalogue.match(exception_failure("KeyError", "pool"), {}, {})) == ["b-special", "c-more", "a-general"]


def test_rules_that_outrank_each_other_keep_their_order(make_catalogue: Maker) -> None:
    body = "[[match]]\nexception = 'KeyError'\nmessage = 'pool'"
    catalogue = make_catalogue(
        {"a-one": body, "b-two": body}, extra={"a-one": "outranks = ['b-two']\n", "b-two": "outranks = ['a-one']\n"}
    )

    assert ids(catalogue.match(exception_failure("KeyError", "pool"), {}, {})) == ["a-one", "b-two"]


def test_the_best_alternative_of_a_rule_is_taken(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {
            "a-rule": "[[match]]\nconfidence = 'possible'\nexception = 'KeyError'\nmessage = 'pool'\n"
            "[[match]]\nconfidence = 'certain'\nexception = 'KeyError'\nmessage = 'gone'"
        }
    )

    found = catalogue.match(exception_failure("KeyError", "pool gone"), {}, {})

    assert [(match.rule, match.confidence) for match in found] == [("a-rule", "certain")]


def test_a_pattern_that_runs_out_of_time_counts_as_not_found(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nexception = 'KeyError'\nmessage = '(?:a+)+(?:b+)+$|pool'"})

    found = catalogue.match(exception_failure("KeyError", "a" * 5000 + "!" + "pool"), {}, {})

    assert ids(found) == []
    assert list(catalogue.timeouts.values()) == [1]


def test_a_very_deep_traceback_is_looked_at_from_both_ends(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a-rule": "[[match]]\nexception = 'RecursionError'\nany_frame = ':outermost$'"})
    frames = (
        Frame("/srv/a.py", 1, "outermost", None, 1),
        *(Frame("/srv/b.py", number, f"f{number}", None, number) for number in range(20_000)),
    )
    info = ExceptionInfo("RecursionError", "too deep", frames, line=9, end_line=9)

    found = catalogue.match(Failure("exception", WORKER, "a.log", 1, 9, exceptions=(info,)), {}, {})

    assert ids(found) == ["a-rule"]


def test_stands_alone_tells_failures_from_context(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {
            "alone": "[[match]]\nlog = 'pool lost'",
            "beside": "[[match]]\nexception = 'KeyError'\nlog = 'pool lost'\nnot = { log = 'pool lost twice' }",
        }
    )

    hits = {hit: catalogue.stands_alone(hit) for hit in catalogue.scan("the pool lost twice")}

    assert hits == {LogHit("alone", 0): True, LogHit("beside", 0): False, LogHit("beside", -1): False}


def test_matching_is_the_same_whatever_order_rules_are_read_in(make_catalogue: Maker, tmp_path: Any) -> None:
    bodies = {f"rule-{letter}": "[[match]]\nexception = 'KeyError'\nmessage = 'pool'" for letter in "dbca"}
    failure = exception_failure("KeyError", "pool")

    assert ids(make_catalogue(bodies).match(failure, {}, {})) == ["rule-a", "rule-b", "rule-c", "rule-d"]
