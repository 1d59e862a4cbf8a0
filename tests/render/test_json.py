"""The JSON report follows its schema, says everything, and harms no reader."""

import json

import json_schemas
import jsonschema
import pytest
from report_samples import SAMPLES, diagnosed

from diagnoser.model import ExceptionInfo, Fact
from diagnoser.render import RenderOptions, render


@pytest.mark.parametrize("name", SAMPLES)
def test_every_report_follows_the_schema_and_every_key_is_described(name: str) -> None:
    assert json_schemas.problems(json.loads(render(SAMPLES[name](), "json"))) == []


@pytest.mark.parametrize("name", json_schemas.NAMES)
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schemas.read(name))


def test_what_a_comparison_takes_over_from_reports_is_the_same_in_both_schemas() -> None:
    report, diff = json_schemas.read("report"), json_schemas.read("diff")
    whole, brief = report["$defs"], diff["$defs"]
    compared = brief["compared"]["properties"]

    assert brief["process"] == whole["process"]
    assert diff["properties"]["after"]["properties"]["verdict"] == report["properties"]["verdict"]
    assert {key: whole["incident"]["properties"][key] for key in ("fingerprint", "impact")}.items() <= compared.items()
    for part, origin in ((compared["root"], "root"), (brief["answer"], "diagnosis")):
        assert {key: whole[origin]["properties"][key] for key in part["properties"]} == part["properties"]


def test_the_contract_key_by_key() -> None:
    report = json.loads(render(diagnosed(), "json"))
    incident = report["incidents"][0]
    root = incident["root"]

    assert list(report)[:9] == [
        "schema", "tool", "verdict", "summary", "sources", "coverage", "facts", "incidents", "findings",
    ]  # fmt: skip
    assert report["schema"] == "diagnoser.report/1"
    assert report["sources"] == [{"name": "worker.log", "lines": 913, "bytes": 81234, "formats": ["vllm"]}]
    assert report["facts"]["tensor_parallel_size"] == {"value": 3, "source": "worker.log", "line": 22}
    assert (root["kind"], root["type"], root["message"]) == ("exception", "AssertionError", "")
    assert root["frame"] == {
        "file": "vllm/model_executor/models/llama.py",
        "path": "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/llama.py",
        "line": 151,
        "function": "__init__",
        "code": "assert self.total_num_kv_heads % tp_size == 0",
        "log_line": 149,
    }
    assert root["frames"][-1] == root["frame"]
    assert root["process"] == {
        "name": "Worker_TP1", "role": "Worker", "pid": 23011, "host": None, "pod": None, "container": None,
        "ranks": {"tp": 1},
    }  # fmt: skip
    assert [process["name"] for process in incident["also_on"]] == ["Worker_TP0", "Worker_TP2"]
    assert [(link["link"], link["type"], link["line"]) for link in incident["chain"]] == [
        ("wraps", "RuntimeError", 301),
        ("wraps", "Exception", 208),
    ]
    assert incident["diagnoses"][0]["captures"] == {"total_num_kv_heads": "8", "tp_size": "3"}
    assert incident["timeline"][1] == {
        "time": "10-02 03:12:41", "process": "Worker_TP1", "what": "AssertionError", "source": "worker.log",
        "line": 126, "kind": "root",
    }  # fmt: skip


def test_the_root_is_the_primary_exception_and_its_process() -> None:
    from report_samples import ENGINE

    report = diagnosed()
    incident = report.incidents[0]
    inner = ExceptionInfo("ValueError", "inner", link="cause", process=ENGINE)
    root = incident.root._replace(exceptions=(inner, ExceptionInfo("RuntimeError", "outer")), primary=0)
    shown = json.loads(render(report._replace(incidents=(incident._replace(root=root),)), "json"))["incidents"][0][
        "root"
    ]

    assert (shown["type"], shown["message"], shown["process"]["name"], shown["frame"]) == (
        "ValueError", "inner", "EngineCore_DP0", None,
    )  # fmt: skip


def test_text_is_kept_but_no_control_character_or_override_is_raw() -> None:
    hostile = "a\x1b]0;title\x07\x9b31m\u202eb\u2066\ud800\u2028\U000e0041\x7f</script>語"
    text = render(diagnosed()._replace(summary=hostile), "json")

    assert json.loads(text)["summary"] == hostile
    assert text.encode("utf-8")
    assert "語" in text
    assert [char for char in text if ord(char) < 32 and char != "\n"] == []
    assert [char for char in text if 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066\u2028\U000e0041"] == []


def test_numbers_that_json_does_not_have_become_text() -> None:
    report = diagnosed()._replace(facts=(("a", Fact(float("nan"), "x", 1)), ("b", Fact(float("inf"), "x", 1))))

    assert [fact["value"] for fact in json.loads(render(report, "json"))["facts"].values()] == ["nan", "inf"]


def test_options_change_nothing() -> None:
    assert render(diagnosed(), "json") == render(
        diagnosed(), "json", RenderOptions(width=10, color=True, verbosity=1, unicode=False)
    )
