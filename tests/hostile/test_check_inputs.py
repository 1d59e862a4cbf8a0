"""Configuration files of `check` that hold anything: a finding or an error of our own, never another exception."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hostile.invariants import check_rendered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnoser import check
from diagnoser.errors import DiagnoserError

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        1,
        7,
        10**30,
        1e308,
        float("inf"),
        float("nan"),
        "",
        "x" * 5_000,
        "\x1b]0;x\x07",
        "{{ 7 * 7 }}",
    ),
    *("$(id)", "99999999999999999999g", "1e999", "192.0.2.1:99999999", "[::1]:x", "http://" + "a" * 3_000, "\ud800"),
    *([], {}, [[], [[]]], {"a": {"b": [1]}}),
)
MODEL = (
    "model_type", "architectures", "num_attention_heads", "num_key_value_heads", "hidden_size", "num_hidden_layers",
    "num_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "intermediate_size", "vocab_size",
    "quantization_config", "max_position_embeddings", "head_dim", "torch_dtype", "rope_scaling", "text_config",
    "kv_lora_rank", "qk_rope_head_dim", "tie_word_embeddings",
)  # fmt: skip
MOONCAKE = (
    "local_hostname", "metadata_server", "protocol", "device_name", "master_server_address", "global_segment_size",
    "local_buffer_size", "replica_num",
)  # fmt: skip


def anything(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields, each with any of the values."""
    return st.randoms(use_true_random=False).map(lambda chooser: some(names, chooser))


def some(names: tuple[str, ...], chooser: random.Random) -> dict[str, Any]:
    return {name: chooser.choice(VALUES) for name in chooser.sample(names, chooser.randint(1, len(names)))}


def checked(*arguments: str) -> None:
    try:
        report = check(*arguments)
    except DiagnoserError:
        return
    check_rendered(report, ("json", "text"), twice=False)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(anything(MODEL), st.sampled_from(["0", "1", "3", "8", "1000000000"]))
def test_any_model_configuration(fields: dict[str, Any], size: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(fields))
        checked("--model", folder, "--tp", size)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(anything(MOONCAKE))
def test_any_mooncake_configuration(fields: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mooncake.json")
        path.write_text(json.dumps(fields))
        checked("--mooncake", str(path))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"{",
        b"null",
        b"1e999",
        b"9" * 10_000,
        b'"' + b"x" * 100_000,
    ],
)
def test_files_that_are_no_configuration(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(text)
    (tmp_path / "mooncake.json").write_bytes(text)
    checked("--model", str(tmp_path), "--tp", "3")
    checked("--mooncake", str(tmp_path / "mooncake.json"))


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a, *a]\n",
        "a: &a ['x']\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
        "!!python/object/apply:os.system ['touch owned']\n",
        "services:\n  vllm:\n    image: vllm/vllm-openai\n    command: !!python/name:os.system\n",
        "services: {vllm: {image: vllm/vllm-openai, command: [--model, $(id), --tensor-parallel-size, '"
        + "9" * 50
        + "']}}\n",
        "[" * 5_000,
        "a: " * 2_000,
        "\t\0",
    ],
)
def test_manifests_that_try_more(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compose.yaml").write_text(text)
    for option in ("--compose", "--kubernetes", "--manifest"):
        checked(option, "compose.yaml")
    checked("compose.yaml")

    assert [path.name for path in tmp_path.iterdir()] == ["compose.yaml"]
