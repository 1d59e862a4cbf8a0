"""`diagnose check` from the outside: inputs, exit status, formats, and errors that say what was expected."""

import json

import pytest
from preflight_models import FP8, LLAMA_8B, QWEN3_30B

import diagnoser
from diagnoser.cli.main import run as command_line
from diagnoser.errors import InputError, UsageError
from diagnoser.model import Diagnosis, ExceptionInfo, Fact, Failure, Incident, Process, Remedy, Report, ToolInfo
from diagnoser.preflight import check

TRANSFER = '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA_8B))
    return folder


@pytest.fixture
def dense(model):
    """Arguments that check the model alone."""
    return ["--not-here", "--model-config", str(model), "--devices", "8", "--device-memory", "80GiB"]


def errors(*arguments, read_log=None):
    return {finding.rule for finding in check(list(arguments), read_log).findings if finding.status == "error"}


def test_the_launch_line_is_checked(dense):
    assert errors(*dense, "--", "vllm", "serve", "m", "-tp", "8", "--max-model-len", "8k") == set()
    assert errors(*dense, "--", "vllm", "serve", "m", "-tp", "7") == {
        "parallel-attention-heads-not-divisible",
        "parallel-kv-heads-not-divisible",
        "parallel-vocabulary-not-divisible",
    }


def test_a_launch_line_in_one_word_is_read_too(dense):
    assert "parallel-attention-heads-not-divisible" in errors(*dense, "--", "VLLM_PORT=1 vllm serve m -tp 7")


def test_options_of_the_check_stand_for_those_of_the_launch(dense):
    assert "parallel-attention-heads-not-divisible" in errors(*dense, "--tp", "7")
    assert "parallel-context-parallel-invalid" in errors(*dense, "--tp", "8", "--dcp", "3")
    assert "parallel-pipeline-more-stages-than-layers" in errors(*dense, "--pp", "40")
    assert "config-max-model-len-above-derived" in errors(*dense, "--max-model-len", "200k")


def test_a_model_folder_named_by_the_launch_is_read(model):
    found = errors(
        "--not-here", "--", "vllm", "serve", str(model), "--skip-tokenizer-init", "--load-format", "dummy", "-tp", "3"
    )

    assert "parallel-attention-heads-not-divisible" in found


def test_a_model_folder_that_lacks_things_is_told_so(model):
    assert errors("--not-here", "--", "vllm", "serve", str(model)) == {
        "model-tokenizer-unavailable",
        "model-weights-missing",
    }


def test_a_broken_config_of_the_launched_model_is_a_finding(model):
    (model / "config.json").write_text('{"a": 1,,}')

    (finding,) = [
        found
        for found in check(
            ["--not-here", "--", "vllm", "serve", str(model), "--load-format", "dummy", "--skip-tokenizer-init"]
        ).findings
        if found.status == "error"
    ]
    assert finding.rule == "model-config-unreadable"
    assert "config.json:1: not valid JSON" in finding.message


def test_hf_overrides_change_the_shape(dense):
    assert errors(*dense, "--", "vllm", "serve", "m", "-tp", "8", "--hf-overrides", '{"num_attention_heads": 36}') >= {
        "parallel-attention-heads-not-divisible"
    }


def test_a_script_is_checked(tmp_path, model):
    script = tmp_path / "serve.sh"
    script.write_text(
        f"#!/bin/sh\nexport VLLM_PP_LAYER_PARTITION=1,2\nexec vllm serve {model} -pp 2 --load-format dummy --skip-tokenizer-init\n"
    )

    assert errors("--not-here", str(script)) == {"parallel-pipeline-partition-invalid"}


def test_the_two_services_of_a_compose_file_are_compared(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text(
        "services:\n"
        "  prefill:\n    image: vllm/vllm-openai:v0.11.0\n    shm_size: 8gb\n"
        '    command: [--model, m, --block-size, \'16\', --kv-transfer-config, \'{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}\']\n'
        "  decode:\n    image: vllm/vllm-openai:v0.11.2\n    shm_size: 8gb\n"
        '    command: [--model, m, --block-size, \'32\', --kv-transfer-config, \'{"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}\']\n'
    )

    assert errors("--not-here", str(path)) == {"mooncake-kv-region-mismatch", "mooncake-version-mismatch"}


def test_files_without_a_launch_are_refused_or_passed_over(tmp_path):
    path = tmp_path / "other.yaml"
    path.write_text("a: 1\n")

    with pytest.raises(InputError, match="no vLLM launch was found"):
        check([str(path)])
    report = check(["--if-found", str(path)])
    assert (report.findings, report.verdict, report.exit_code) == ((), "healthy", 0)
    assert report.summary == "There was nothing to check."


def test_an_env_file_and_variables_reach_the_checks(tmp_path, dense):
    path = tmp_path / "serve.env"
    path.write_text("VLLM_PORT=tcp://10.20.0.1:80\n")

    assert "network-vllm-port-is-uri" in errors(*dense, "--env-file", str(path), "--", "vllm", "serve", "m")
    assert "network-vllm-port-is-uri" not in errors(
        *dense, "--env-file", str(path), "--env", "VLLM_PORT=8100", "--", "vllm", "serve", "m"
    )


def test_a_mooncake_file_is_checked_alone(tmp_path):
    path = tmp_path / "mooncake.json"
    path.write_text(json.dumps({"metadata_server": "", "master_server_address": "m:50051"}))

    report = check(["--mooncake-config", str(path), "--loader", "vllm"])

    assert {finding.rule for finding in report.findings if finding.status == "error"} == {
        "mooncake-metadata-server-missing"
    }
    assert {finding.check.split("-")[0] for finding in report.findings} == {"mooncake"}


def test_sides_may_be_files_of_several_kinds(tmp_path):
    script = tmp_path / "prefill.sh"
    script.write_text(f"vllm serve m -tp 2 --block-size 16 --kv-transfer-config '{TRANSFER}'\n")
    settings = tmp_path / "decode.yaml"
    settings.write_text(
        f"model: m\ntensor-parallel-size: 4\nblock-size: 32\nkv-transfer-config: {TRANSFER.replace('producer', 'consumer')}\n"
    )

    found = errors("--not-here", "--only", "pair", "--prefill", str(script), "--decode", str(settings))

    assert found == {"mooncake-kv-region-mismatch"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "nothing to check"),
        (["--here", "--not-here", "--tp", "2"], "contradict each other"),
        (["--prefill", "{}"], "--decode is missing"),
        (["--", "ls", "-l"], "does not start vLLM"),
        (["--env", "A", "--tp", "2"], "is not NAME=VALUE"),
        (["--device-memory", "much", "--tp", "2"], "is no size such as 80GiB"),
        (["--only", "moon", "--tp", "2"], "there is no subject 'moon'"),
        (["--tp", "two"], "invalid int value: 'two'"),
        (["--platform", "vax", "--tp", "2"], "invalid choice: 'vax'"),
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--timeout", "0", "--probe", "--tp", "2"], "has to be above 0"),
        (["--max-model-len", "long"], "is not a whole number"),
        (["--from-log", "a.log"], "needs a reader of logs"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_in_words(arguments, problem):
    with pytest.raises(UsageError) as failure:
        check(arguments)

    assert problem in str(failure.value)
    assert failure.value.exit_code == 2


BROKEN = '{\n  "a": 1,,\n}'


@pytest.mark.parametrize(
    ("name", "content", "arguments", "problem"),
    [
        ("x", None, ["--model-config", "{path}"], "x: there is no such file (expected a file that can be read)"),
        ("x.json", BROKEN, ["--model-config", "{path}"], "x.json:2: not valid JSON: "),
        (
            "x.json",
            "[]",
            ["--model-config", "{path}"],
            "x.json: holds a list (expected a JSON object, the config.json of a model)",
        ),
        ("x.json", BROKEN, ["--mooncake-config", "{path}"], "x.json:2: not valid JSON: "),
        ("x.json", BROKEN, ["--prefill", "{path}", "--decode", "{path}"], "x.json:2: not valid JSON: "),
        ("x.json", BROKEN, ["--kv-transfer-config", "{path}"], "x.json:2: not valid JSON: "),
        ("x.yaml", "a: [1\nb: 2", ["{path}"], "x.yaml:2: not valid YAML: "),
        (
            "x.json",
            '{"tensor_paralel_size": 2}',
            ["--prefill", "{path}", "--decode", "{path}"],
            "x.json: unknown key 'tensor_paralel_size' (expected tensor_parallel_size",
        ),
        (
            "x.json",
            '{"tensor_parallel_size": "two"}',
            ["--prefill", "{path}", "--decode", "{path}"],
            "tensor_parallel_size is 'two': is not a whole number",
        ),
        ("x.env", "nonsense", ["--env-file", "{path}", "--tp", "2"], "x.env:1: not an environment variable"),
        ("x.sh", "echo hello\n", ["{path}"], "x.sh: no vLLM launch was found in it"),
    ],
)
def test_an_input_that_cannot_be_read_is_refused_with_its_place(tmp_path, name, content, arguments, problem):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)

    with pytest.raises(InputError) as failure:
        check([argument.replace("{path}", str(path)) for argument in arguments])

    assert problem in str(failure.value)
    assert failure.value.exit_code == 2


def test_a_folder_without_config_json_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the folder has no config\.json"):
        check(["--model-config", str(tmp_path)])


def test_the_public_function_is_the_same_check(dense):
    report = diagnoser.check(*dense, "--tp", "7")

    assert report.verdict == "diagnosed"
    assert report.exit_code == 1
    assert report.summary == (
        "This configuration would fail: 32 attention heads do not divide over 7 tensor-parallel ranks. (3 errors in all.)"
    )


def test_a_clean_check_is_healthy(dense):
    report = check([*dense, "--tp", "8", "--max-model-len", "8192"])

    assert (report.verdict, report.exit_code) == ("healthy", 0)
    assert report.summary.startswith("No check found an error")


def test_strict_takes_warnings_for_errors(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**QWEN3_30B, "quantization_config": FP8}))
    arguments = ["--not-here", "--model-config", str(config), "--tp", "8", "--only", "quantization"]

    assert check(arguments).exit_code == 0
    assert check([*arguments, "--strict"]).exit_code == 1


def test_only_takes_a_subject_with_its_parts(dense):
    found = {finding.check.split("-")[0] for finding in check([*dense, "--tp", "8", "--only", "parallel"]).findings}

    assert found == {"parallel"}


def lines(capsys, *arguments):
    code = command_line(["check", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_command_exits_with_0_1_and_2(capsys, dense, tmp_path):
    assert lines(capsys, *dense, "--tp", "8", "--max-model-len", "8k")[0] == 0
    assert lines(capsys, *dense, "--tp", "7")[0] == 1
    assert lines(capsys, "--model-config", str(tmp_path))[0] == 2
    assert lines(capsys)[0] == 2
    assert lines(capsys, "--bogus")[0] == 2


def test_words_after_two_dashes_belong_to_the_launch(capsys, dense):
    code, out, _ = lines(capsys, *dense, "--", "vllm", "serve", "m", "--tensor-parallel-size", "7", "--format", "x")

    assert code == 1
    assert "vLLM" in out


@pytest.mark.parametrize(
    ("form", "sign"),
    [
        ("text", "error    32 attention heads do not divide over 7"),
        ("markdown", "## error: 32 attention heads"),
        ("github", "::error title=32 attention heads"),
        ("junit", '<failure type="parallel-attention-heads-not-divisible"'),
        ("html", "32 attention heads do not divide over 7"),
    ],
)
def test_every_format_shows_the_findings(capsys, dense, form, sign):
    _, out, _ = lines(capsys, *dense, "--tp", "7", "--format", form)

    assert sign in out


def test_json_carries_every_part_of_a_finding(capsys, dense):
    _, out, _ = lines(
        capsys,
        *dense,
        "--model",
        "m",
        "--tp",
        "7",
        "--format",
        "json",
        "--runbook-url",
        "https://runbooks.example.com/{rule}",
    )
    report = json.loads(out)
    (finding,) = [item for item in report["findings"] if item["check"] == "parallel-attention-heads"]

    assert report["verdict"] == "diagnosed"
    assert finding["status"] == "error"
    assert finding["rule"] == "parallel-attention-heads-not-divisible"
    assert finding["runbook"] == "https://runbooks.example.com/parallel-attention-heads-not-divisible"
    assert finding["inputs"] == {"num_attention_heads": "32", "TP": "7"}
    assert finding["suggestions"][0]["run"] == "vllm serve m --tensor-parallel-size 4"


def test_ignored_rules_and_checks_are_left_out(capsys, dense):
    arguments = [*dense, "--tp", "8", "--pp", "33", "--max-model-len", "8k", "--devices", "500"]

    assert lines(capsys, *arguments)[0] == 1
    code, _, err = lines(capsys, *arguments, "--ignore", "parallel-pipeline-more-stages-than-layers")
    assert (code, err) == (0, "diagnose: 1 ignored finding\n")
    assert lines(capsys, *arguments, "--ignore", "parallel-pipeline")[0] == 0


def test_secrets_of_a_launch_line_are_not_shown(capsys, dense):
    _, out, _ = lines(
        capsys,
        *dense,
        "-v",
        "--",
        "vllm",
        "serve",
        "m",
        "-tp",
        "7",
        "--api-key",
        "sk-0123456789abcdefghij",
        "--hf-token",
        "hf_ABCDEFGHIJKLMNOPQRSTUVWX",
    )

    assert "0123456789" not in out
    assert "ABCDEFGH" not in out


LOG = """\
(APIServer pid=11) INFO 03-14 10:20:30 [api_utils.py:286] non-default args: {'model_tag': 'example-org/Example', 'model': 'example-org/Example', 'tensor_parallel_size': 3, 'kv_transfer_config': KVTransferConfig(kv_connector='NoSuchConnector', kv_role='kv_both')}
(EngineCore pid=12) INFO 03-14 10:20:31 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='example-org/Example', tensor_parallel_size=3, device_config=cuda
"""


def test_a_log_states_a_configuration(capsys, tmp_path):
    path = tmp_path / "worker.log"
    path.write_text(LOG)

    code, out, _ = lines(capsys, "--from-log", str(path), "--format", "json")
    found = {(item["check"], item["rule"]) for item in json.loads(out)["findings"] if item["status"] == "error"}

    assert code == 1
    assert found == {("kv-transfer-connector", "kv-transfer-connector-not-loadable")}


def test_a_log_with_the_models_config_gives_the_shape_checks(capsys, tmp_path, model):
    path = tmp_path / "worker.log"
    path.write_text(LOG)

    _, out, _ = lines(capsys, "--from-log", str(path), "--model-config", str(model), "--format", "json")

    assert "parallel-attention-heads-not-divisible" in out


def log_report(confidence="certain", checkable=True, severity="config"):
    diagnosis = Diagnosis(
        "parallel-kv-heads-not-divisible",
        "KV heads do not fit",
        severity,
        confidence,
        "Eight heads, three ranks.",
        (("tp", "3"),),
        remedies=(Remedy("Use 2."),),
        check="diagnose check --from-log a.log" if checkable else None,
    )
    root = Failure("exception", Process("Worker_TP1"), "a.log", 9, 12, exceptions=(ExceptionInfo("AssertionError"),))
    incident = Incident(root, "startup", "0123", diagnoses=(diagnosis,))
    facts = (("model", Fact("m", "a.log", 1)), ("tensor_parallel_size", Fact(3, "a.log", 1)))
    return Report("diagnosed", "", ToolInfo("0"), facts=facts, incidents=(incident,))


def test_the_sides_may_be_logs(tmp_path):
    reports = {}
    for side, tp in (("prefill", 2), ("decode", 3)):
        path = tmp_path / f"{side}.log"
        path.write_text("log")
        printed = f"{{'tensor_parallel_size': {tp}, 'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_both')}}"
        facts = (("non_default_args", Fact(printed, str(path), 1)), ("vllm_version", Fact("0.32.0", str(path), 1)))
        reports[str(path)] = Report("healthy", "", ToolInfo("0"), facts=facts)
    prefill, decode = reports

    assert errors("--only", "pair", "--prefill", prefill, "--decode", decode, read_log=reports.get) == {
        "kv-transfer-peers-incompatible"
    }


def test_what_a_log_proves_is_an_error_with_its_remedies():
    report = check(["--from-log", "a.log"], lambda path: log_report())
    (finding,) = [found for found in report.findings if found.check == "log-diagnosis"]

    assert finding.status == "error"
    assert finding.rule == "parallel-kv-heads-not-divisible"
    assert finding.title == "This configuration already failed: KV heads do not fit"
    assert ("log", "a.log:9") in finding.inputs
    assert finding.suggestions == (Remedy("Use 2."),)


@pytest.mark.parametrize(
    "report",
    [log_report("possible"), log_report(checkable=False), log_report(severity="hardware")],
    ids=["possible only", "no check", "hardware"],
)
def test_what_a_log_does_not_prove_is_no_error(report):
    found = check(["--from-log", "a.log"], lambda path: report).findings

    assert [finding.status for finding in found if finding.check == "log-diagnosis"] == ["ok"]


def test_a_cause_that_is_only_likely_says_so():
    found = check(["--from-log", "a.log"], lambda path: log_report("likely")).findings

    assert "already failed (likely)" in next(item.title for item in found if item.check == "log-diagnosis")


PARSERS = [
    ("--tensor-parallel-size 0", {"config-cli-argument-invalid"}),
    ("--tool-call-parser hermes --enable-auto-tool-choice", set()),
    ("--tool-call-parser nosuchparser", {"config-parser-or-template-unknown"}),
    ("--tool-call-parser mine --tool-parser-plugin /srv/p.py", set()),
    ("--enable-auto-tool-choice", {"config-parser-or-template-unknown"}),
    ("--reasoning-parser qwen3", set()),
    ("--distributed-executor-backend foo", {"parallel-executor-backend-unknown"}),
    ("--distributed-executor-backend my.package.Executor", set()),
    ("--quantization nosuch", {"quantization-method-unknown"}),
    ("--quantization awq", {"quantization-method-mismatch"}),
    ("--quantization fp8", set()),
    ("--quantization fp8 --dtype float32", {"quantization-dtype-unsupported"}),
    ("--max-num-batched-tokens 8 --max-num-seqs 16", {"config-batched-tokens-too-small"}),
    ("--max-num-batched-tokens 2048 --no-enable-chunked-prefill", {"config-batched-tokens-too-small"}),
    ("--max-num-batched-tokens 2048", set()),
    (
        "--data-parallel-size 2 --data-parallel-size-local 4",
        {"parallel-dp-launch-options-invalid", "parallel-world-size-exceeds-gpus"},
    ),
    ("--expert-placement-strategy random", {"moe-expert-placement-invalid"}),
    ("--max-model-len 200000", {"config-max-model-len-above-derived"}),
    ("--kv-transfer-config {'kv_role':", {"kv-transfer-json-invalid"}),
]


@pytest.mark.parametrize(("options", "expected"), PARSERS)
def test_options_of_the_launch_line(model, options, expected):
    arguments = ["--not-here", "--model-config", str(model), "--devices", "2", "--device-memory", "200GiB"]

    assert errors(*arguments, "--", "vllm", "serve", "m", *options.split()) == expected


@pytest.mark.parametrize(
    ("change", "options", "platform", "expected"),
    [
        (
            {"architectures": ["FooForCausalLM"], "auto_map": {"AutoConfig": "c.C"}},
            "",
            "cuda",
            {"model-custom-code-not-trusted"},
        ),
        (
            {"architectures": ["FooForCausalLM"], "auto_map": {"AutoConfig": "c.C"}},
            "--trust-remote-code",
            "cuda",
            set(),
        ),
        ({"architectures": ["FooForCausalLM"]}, "", "cuda", set()),
        ({"head_dim": 48}, "", "cpu", {"model-head-size-unsupported"}),
        ({"model_type": "gemma2"}, "--dtype half", "cuda", {"model-float16-unsupported"}),
        ({"num_attention_heads": 0}, "", "cuda", {"model-config-values-inconsistent"}),
        ({"hidden_size": 4100}, "", "cuda", {"model-config-values-inconsistent"}),
    ],
)
def test_what_config_json_says_of_the_model(tmp_path, change, options, platform, expected):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA_8B, **change}))
    arguments = ["--not-here", "--model-config", str(path), "--platform", platform, "--only", "model"]
    arguments += ["--vllm-version", "0.32.0"]

    assert errors(*arguments, "--", "vllm", "serve", "m", *options.split()) == expected


def test_custom_code_is_only_a_warning_where_the_release_may_know_the_architecture(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA_8B, "architectures": ["FooForCausalLM"], "auto_map": {"AutoConfig": "c.C"}}))
    report = check(["--not-here", "--model-config", str(path), "--only", "model"])

    assert [finding.rule for finding in report.findings if finding.status == "warning"] == [
        "model-custom-code-not-trusted"
    ]


def test_offline_mode_without_the_model_in_the_cache(tmp_path):
    arguments = ["--here", "--only", "model", "--env", "HF_HUB_OFFLINE=1", "--env", f"HF_HUB_CACHE={tmp_path}"]
    launch = ["--", "vllm", "serve", "example-org/Example"]

    assert errors(*arguments, *launch) == {"hub-offline-and-not-cached"}
    snapshot = tmp_path / "models--example-org--Example" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps(LLAMA_8B))
    assert errors(*arguments, *launch) == set()


def safetensors(path, weights, *, cut=0):
    header, at = {}, 0
    for name, shape in weights.items():
        size = 2
        for number in shape:
            size *= number
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * (at - cut))


TINY = {
    **LLAMA_8B,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "vocab_size": 64,
}
WHOLE = {
    "model.embed_tokens.weight": [64, 8],
    "model.layers.0.input_layernorm.weight": [8],
    "model.layers.0.post_attention_layernorm.weight": [8],
    "model.layers.0.self_attn.o_proj.weight": [8, 8],
    "model.layers.0.mlp.down_proj.weight": [8, 16],
}


@pytest.mark.parametrize(
    ("change", "cut", "error", "warning"),
    [
        ({}, 0, set(), set()),
        ({"model.layers.0.mlp.down_proj.weight": [8, 12]}, 0, {"model-weight-shape-mismatch"}, set()),
        ({"model.embed_tokens.weight": [65, 8]}, 0, {"model-weight-shape-mismatch"}, set()),
        ({"model.layers.0.self_attn.q_projection.weight": [8, 8]}, 0, {"model-weight-name-unknown"}, set()),
        ({"model.layers.0.mlp.down_proj.weight": None}, 0, set(), {"model-weights-not-initialised"}),
        ({}, 10, {"model-weights-corrupt"}, set()),
        ({"model.layers.0.self_attn.rotary_emb.inv_freq": [4]}, 0, set(), set()),
    ],
)
def test_weights_are_held_against_config_json(tmp_path, change, cut, error, warning):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    (tmp_path / "tokenizer.json").write_text("{}")
    weights = {name: shape for name, shape in {**WHOLE, **change}.items() if shape}
    safetensors(tmp_path / "model.safetensors", weights, cut=cut)

    found = check(["--not-here", "--only", "model", "--", "vllm", "serve", str(tmp_path)]).findings

    assert {finding.rule for finding in found if finding.status == "error"} == error
    assert {finding.rule for finding in found if finding.status == "warning"} == warning


def test_experts_in_the_weights_are_counted(tmp_path):
    config = {**TINY, "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 4}
    (tmp_path / "config.json").write_text(json.dumps({**config, "moe_intermediate_size": 4, "num_experts_per_tok": 1}))
    (tmp_path / "tokenizer.json").write_text("{}")
    weights = {f"model.layers.0.mlp.experts.{expert}.up_proj.weight": [4, 8] for expert in range(8)}
    safetensors(tmp_path / "model.safetensors", weights)

    assert errors("--not-here", "--only", "model", "--", "vllm", "serve", str(tmp_path)) == {
        "moe-checkpoint-key-missing"
    }


def test_a_pointer_and_an_incomplete_index_are_seen(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "a.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}'
    )

    assert errors("--not-here", "--only", "model", "--", "vllm", "serve", str(tmp_path)) == {
        "model-weights-corrupt",
        "model-weights-missing",
    }


SPECULATIVE = [
    ({"method": "ngram", "num_speculative_tokens": 3}, set()),
    ({"method": "mtp", "num_speculative_tokens": 1}, set()),
    ({"method": "eagle3", "model": "example-org/Draft", "num_speculative_tokens": 3}, set()),
    ({"method": "ngram"}, {"model-speculative-config-invalid"}),
    ({"method": "eagle3", "num_speculative_tokens": 3}, {"model-speculative-config-invalid"}),
    ({"num_speculative_tokens": 3}, {"model-speculative-config-invalid"}),
    ({"method": "mtp", "num_speculative_tokens": 0}, {"model-speculative-config-invalid"}),
    (
        {"model": "d", "num_speculative_tokens": 2, "draft_tensor_parallel_size": 3},
        {"model-speculative-config-invalid"},
    ),
    ({"model": "d", "num_speculative_tokens": 2, "tensor_parallel_size": 2}, {"model-speculative-config-invalid"}),
]


@pytest.mark.parametrize(("settings", "expected"), SPECULATIVE)
def test_speculative_decoding(settings, expected):
    launch = ["--", "vllm", "serve", "m", "-tp", "4", "--speculative-config", json.dumps(settings)]

    assert errors("--not-here", "--only", "model", *launch) == expected


@pytest.mark.parametrize(
    ("rank", "options", "expected"),
    [(16, [], set()), (64, [], {"model-lora-adapter-rejected"}), (64, ["--max-lora-rank", "64"], set())],
)
def test_an_adapters_rank(tmp_path, rank, options, expected):
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": rank}))
    launch = ["--", "vllm", "serve", "m", "--enable-lora", "--lora-modules", f"a={tmp_path}", *options]

    assert errors("--not-here", "--only", "model", *launch) == expected


def test_nodes_hold_the_same_number_of_ranks():
    assert "parallel-world-size-inconsistent" in errors(
        "--not-here", "--", "vllm", "serve", "m", "-tp", "8", "--nnodes", "3"
    )
    assert "parallel-world-size-inconsistent" not in errors(
        "--not-here", "--", "vllm", "serve", "m", "-tp", "8", "--nnodes", "2"
    )


def test_cpu_ranks_need_cores_of_their_own(model):
    arguments = ["--not-here", "--model-config", str(model), "--platform", "cpu", "--tp", "2"]

    assert "parallel-cpu-bind-list-mismatch" in errors(*arguments, "--env", "VLLM_CPU_OMP_THREADS_BIND=0-1")
    assert "parallel-cpu-bind-list-mismatch" not in errors(*arguments, "--env", "VLLM_CPU_OMP_THREADS_BIND=0-1|2-3")
