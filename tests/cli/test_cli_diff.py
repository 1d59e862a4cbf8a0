"""`diagnose diff`: what is new, gone and still there."""

from __future__ import annotations

import json

import crash_logs
import json_schemas
import pytest

from diagnoser.cli.main import run


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crashes = {
        "width.log": crash_logs.running_crash("ValueError: width 7 is odd"),
        "later.log": ["INFO noise"] * 3 + crash_logs.running_crash("ValueError: width 9 is odd", ranks=(0,)),
        "both.log": crash_logs.startup_crash("ValueError: width 7 is odd")
        + crash_logs.startup_crash("KeyError: 'gate'"),
        "gate.log": crash_logs.startup_crash("KeyError: 'gate'"),
        "mooncake.log": crash_logs.running_crash("AssertionError: mooncake connector metadata size mismatch"),
        "fine.log": crash_logs.healthy_server(),
    }
    for name, lines in crashes.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def shown(capsys, *arguments):
    """Exit status and output."""
    status = run(["diff", *arguments])
    found = capsys.readouterr()
    assert found.err == ""
    return status, found.out


def sides(capsys, *arguments):
    """Exit status and the root messages of what is new, gone and the same."""
    status, out = shown(capsys, "-f", "json", *arguments)
    found = json.loads(out)
    assert json_schemas.problems(found) == []
    return status, [[incident["root"]["message"] for incident in found[key]] for key in ("new", "gone", "same")]


def test_a_fix_that_worked(logs, capsys):
    status, out = shown(capsys, "mooncake.log", "fine.log")

    assert status == 0
    assert out.splitlines()[:4] == [
        "mooncake.log (diagnosed) -> fine.log (shutdown): 0 new, 1 gone, 0 still there",
        "",
        "Gone",
        next(
            line for line in out.splitlines() if line.startswith("  - mooncake.log:3: AssertionError in Worker_TP1: ")
        ),
    ]
    assert "[mooncake-metadata-size-mismatch]" in out


def test_new_incidents_are_status_1(logs, capsys):
    assert sides(capsys, "fine.log", "width.log") == (1, [["width 7 is odd"], [], []])
    assert sides(capsys, "gate.log", "both.log")[0] == 1


def test_the_same_failure_elsewhere_and_with_other_numbers_is_the_same(logs, capsys):
    assert sides(capsys, "width.log", "later.log") == (0, [[], [], ["width 9 is odd"]])


def test_several_incidents(logs, capsys):
    assert sides(capsys, "both.log", "gate.log") == (0, [[], ["width 7 is odd"], ["'gate'"]])


def test_reports_in_json_are_taken_as_they_are(logs, capsys):
    for name in ("both", "gate"):
        assert run(["-f", "json", "-o", f"{name}.json", f"{name}.log"]) == 3
    capsys.readouterr()

    assert sides(capsys, "both.json", "gate.json") == sides(capsys, "both.log", "gate.log")
    assert sides(capsys, "both.json", "gate.log") == sides(capsys, "both.log", "gate.json")


def test_a_log_of_json_lines_is_a_log(logs, capsys):
    lines = [json.dumps({"level": "ERROR", "message": line}) for line in crash_logs.startup_crash("KeyError: 'gate'")]
    (logs / "lines.log").write_text("\n".join(lines) + "\n")

    assert sides(capsys, "fine.log", "lines.log")[0] == 1


def test_the_result_can_go_to_a_file(logs, capsys):
    assert shown(capsys, "-f", "json", "-o", "diff.json", "width.log", "fine.log") == (0, "")
    found = json.loads((logs / "diff.json").read_text())
    assert (found["schema"], found["after"]) == (
        "diagnoser.diff/1",
        {"name": "fine.log", "verdict": "shutdown", "incidents": 0},
    )


def test_control_sequences_of_a_report_do_not_reach_the_terminal(logs, capsys):
    run(["-f", "json", "-o", "width.json", "width.log"])
    report = json.loads((logs / "width.json").read_text())
    report["incidents"][0]["root"]["type"] = "Value\x1b]0;title\x07Error\n+ fake"
    (logs / "width.json").write_text(json.dumps(report))
    capsys.readouterr()
    _, out = shown(capsys, "fine.log", "width.json")

    assert "\x1b" not in out
    assert out.count("\n") == 4


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"schema": "diagnoser.report/1", "incidents": [', "a report that is no valid JSON"),
        ('{"schema": "diagnoser.report/1"}', "a report without incidents (expected what --format json writes)"),
        *(
            (
                f'{{"schema": "diagnoser.report/1", "verdict": "unknown", "incidents": [{incident}]}}',
                "incident 1 lacks keys that it needs (expected what --format json writes)",
            )
            for incident in (
                "3",
                "{}",
                '{"fingerprint": "f", "impact": "crash", "root": {"kind": "exit"}, "diagnoses": []}',
                '{"fingerprint": "f", "impact": "crash", "root": null, "diagnoses": [{}]}',
            )
        ),
    ],
)
def test_damaged_reports_are_refused(logs, capsys, content, problem):
    (logs / "bad.json").write_text(content)
    assert run(["diff", "bad.json", "fine.log"]) == 2
    assert problem in capsys.readouterr().err


def test_a_missing_side_is_an_error(logs, capsys):
    assert run(["diff", "fine.log", "missing.log"]) == 2
    assert capsys.readouterr().err == "diagnose: missing.log: No such file or directory\n"
