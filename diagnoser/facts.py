"""What the log says about the deployment: versions, model, sizes, flags, each with the line that says it.

    (EngineCore pid=7) INFO 03-14 10:20:30 [core.py:133] Initializing a V1 LLM engine (v0.21.0) with config: model=…

The first statement of a fact wins, except that the engine's resolved configuration outranks the flags that were
given. Sources of the line shapes: vLLM 0.6 to 0.32 and its `collect_env.py`, torch 2, Ray 2.x, Mooncake 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import Fact, Facts, LogRecord

_PAIR = lazy(r"(?<!\w)(?P<name>[a-z_]\w{0,80})=(?P<value>'[^']*'|\"[^\"]*\"|[^,\s()\[\]{}]+)")
_ARG = lazy(r"'(?P<name>[a-z_]\w*)': (?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,\s{}\[\]]+)")
_CONFIG_NAMES = {
    "model": "model",
    "tokenizer": "tokenizer",
    "dtype": "dtype",
    "max_seq_len": "max_model_len",
    "load_format": "load_format",
    "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "quantization": "quantization",
    "enforce_eager": "enforce_eager",
    "kv_cache_dtype": "kv_cache_dtype",
    "device_config": "device",
    "served_model_name": "served_model_name",
    "trust_remote_code": "trust_remote_code",
    "enable_prefix_caching": "enable_prefix_caching",
    "decode_context_parallel_size": "decode_context_parallel_size",
    "revision": "revision",
    "seed": "seed",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "speculative_config": "speculative_config",
}
_RENAMED = {"model_tag": "model", "max_seq_len": "max_model_len", "distributed_executor_backend": "distributed_backend"}
_KV = lazy(
    r"['\"]?(?P<name>kv_connector|kv_role|kv_parallel_size|kv_rank|kv_buffer_device|engine_id)['\"]?\s*[:=]\s*['\"]?(?P<value>[\w./:\-]+)"
)


def _text(value: str) -> str | int | float | bool | None:
    """The value in its own type; None for Python's None."""
    if value[:1] in "'\"" and value[-1:] == value[:1]:
        return value[1:-1]
    if value in ("None", "null", "auto") and value != "auto":
        return None
    if value in ("True", "False"):
        return value == "True"
    digits = value.removeprefix("-")
    if digits.isdecimal() and digits.isascii() and len(digits) < 19:
        return int(value)
    whole, dot, fraction = digits.partition(".")
    if dot and (whole + fraction).isdecimal() and digits.isascii() and len(digits) < 37:
        return float(value)
    return value.removeprefix("torch.")


_SIMPLE: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, needle, lazy(pattern))
    for name, needle, pattern in (
        ("vllm_version", "server version ", r"vLLM (?:API )?server version (?P<v>\d[\w.+\-]*)"),
        ("vllm_version", "LLM engine (v", r"Initializing an? (?:V[01] )?LLM engine \(v(?P<v>\d[\w.+\-]*)\)"),
        ("vllm_version", " version ", r"^[^\w]*  ?version (?P<v>\d[\w.+\-]*)\s*$"),
        ("mooncake_version", "ooncake", r"[Mm]ooncake(?:[- ]transfer[- ]engine)?[^\n]{0,20} version:? (?P<v>\d[\w.]*)"),
        ("architecture", "Resolved architecture", r"Resolved architecture: (?P<v>\w+)"),
        ("max_model_len", "Using max model len", r"Using max model len (?P<v>\d+)"),
        ("world_size", "world_size=", r"\bworld_size=(?P<v>\d+) rank="),
        ("world_size", "in world size", r"rank \d+ in world size (?P<v>\d+) is assigned"),
        ("distributed_backend", "distributed_init_method=", r"distributed_init_method=\S{1,300} backend=(?P<v>\w+)"),
        ("expert_parallel_size", "EP rank", r"EP rank \d+/(?P<v>\d+)"),
        ("kv_cache_tokens", "GPU KV cache size", r"GPU KV cache size: (?P<v>[\d,]+) tokens"),
        ("kv_cache_gib", "Available KV cache", r"Available KV cache memory: (?P<v>-?[\d.]+) GiB"),
        ("attention_backend", " backend", r"^Using (?P<v>\w+(?: SDPA)?) (?:attention )?backend\b"),
        ("ray_version", "ay version", r"[Rr]ay version:? (?P<v>\d+\.\d+\.\d[\w.]*)"),
        ("nccl_version", "NCCL version", r"NCCL version (?P<v>\d+\.\d[\w.+]*)"),
        ("nccl_version", "using nccl==", r"vLLM is using nccl==(?P<v>[\d.]+)"),
        ("torch_version", "orch version", r"(?:PyTorch|torch) version:? (?P<v>\d+\.\d[\w.+]*)"),
        ("cuda_version", "CUDA version", r"CUDA version:? (?P<v>\d+\.\d+)"),
        ("driver_version", "river version", r"[Dd]river version:? (?P<v>\d+\.\d[\d.]*)"),
        ("python_version", "ython version", r"[Pp]ython version:? (?P<v>3\.\d+(?:\.\d+)?)"),
        ("gpu_memory_gib", "total capacity of", r"GPU \d+ has a total capacity of (?P<v>[\d.]+) GiB"),
        ("gpu_memory_gib", "ree memory on device", r"Free memory on device (?:cuda:\d+ )?\([\d.]+/(?P<v>[\d.]+) GiB\)"),
        ("gpu_memory_gib", "total_gpu_memory (", r"total_gpu_memory \((?P<v>[\d.]+) ?GiB\) x gpu_memory_utilization"),
        ("gpu_name", "of compute capability", r"Found GPU\d+ (?P<v>\S.{0,60}?) which is of compute capability"),
        ("gpu_name", "with CUDA capability", r"(?P<v>NVIDIA \S.{0,60}?) with CUDA capability sm_\d+ is not compatible"),
        ("gpu_name", "GPU has compute capability", r"Your (?P<v>\S.{0,60}?) GPU has compute capability \d"),
        ("gpu_name", "GPU 0: ", r"^(?:\[\w+\] )?GPU 0: (?P<v>NVIDIA [\w ./-]{1,60}?)(?: \(UUID|\s*$)"),
        ("transformers_version", "transformers==", r"^\[(?:pip3|conda)\] transformers==(?P<v>\d[\w.+\-]*)"),
        ("api_server_count", "API server processes", r"Started (?P<v>\d+) API server processes"),
        ("node_rank", "node_rank=", r"\bnode_rank=(?P<v>\d+)"),
        (
            "command",
            "vllm",
            r"^(?:\+ |\$ )?(?P<v>(?:\S*/)?(?:vllm serve|python3? -m vllm\.entrypoints\S*) .+)$",
        ),
    )
)
"""Name of the fact, a text that its line holds, and the pattern that reads it."""
_CONFIG, _ARGUMENTS, _NAMESPACE = "with config: ", "non-default args: ", "args: Namespace("
_NEEDLES = (_CONFIG, _ARGUMENTS, _NAMESPACE, *(needle for _, needle, _ in _SIMPLE))
"""Texts of which a line that states a fact holds one."""


class FactReader:
    """Collects facts from records; `facts` is complete when the input ends."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self._resolved: set[str] = set()

    def feed_all(self, records: Sequence[LogRecord]) -> bool:
        """Looks at the records of a block; True when they state a fact, be it known already or not."""
        if len(records) > 1:
            text = "\n".join([record.body for record in records])
            if not any(needle in text for needle in _NEEDLES):
                return False
        stated = [self.feed(record) for record in records]  # all of them, even if the first states one
        return any(stated)

    def feed(self, record: LogRecord) -> bool:
        """Looks at one record, cheaply where it states nothing; True when it may state a fact."""
        body = record.body
        stated = False
        if _CONFIG in body and "Initializing a" in body:
            stated = True
            self._config(body.split(_CONFIG, 1)[1], record)
        if _ARGUMENTS in body:
            stated = True
            self._arguments(body.split(_ARGUMENTS, 1)[1], record)
        elif _NAMESPACE in body:
            stated = True
            self._namespace(body.split(_NAMESPACE, 1)[1], record)
        for name, needle, pattern in _SIMPLE:
            found = pattern.search(body) if needle in body else None
            if found:
                stated, value = True, found["v"]
                self._set(
                    name, _text(value.replace(",", "") if name == "kv_cache_tokens" else value.rstrip(".,")), record
                )
        return stated

    def _set(
        self, name: str, value: str | int | float | bool | None, record: LogRecord, *, resolved: bool = False
    ) -> None:
        if value is None or (name in self.facts and (not resolved or name in self._resolved)):
            return
        if resolved:
            self._resolved.add(name)
        self.facts[name] = Fact(value if not isinstance(value, str) else value[:4096], record.source, record.line)

    def _config(self, text: str, record: LogRecord) -> None:
        for found in _PAIR.finditer(_top_level(text)):
            name = _CONFIG_NAMES.get(found["name"])
            if name:
                self._set(name, _text(found["value"]), record, resolved=True)
        self._transfer(text, record)

    def _arguments(self, text: str, record: LogRecord) -> None:
        self._set("non_default_args", text.strip(), record)
        for found in _ARG.finditer(text):
            name = _RENAMED.get(found["name"], found["name"])
            if name.startswith("kv_") and name not in ("kv_cache_dtype",):
                continue
            if name in ("model", "max_model_len") or name not in self.facts:
                self._set(name, _text(found["value"]), record)
        self._transfer(text, record)

    def _namespace(self, text: str, record: LogRecord) -> None:
        wanted = set(_CONFIG_NAMES.values()) | {
            "gpu_memory_utilization",
            "max_num_seqs",
            "max_num_batched_tokens",
            "block_size",
            "enable_expert_parallel",
            "host",
            "port",
            "swap_space",
        }
        for found in _PAIR.finditer(text):
            name = _RENAMED.get(found["name"], found["name"])
            if name in wanted:
                self._set(name, _text(found["value"]), record)
        self._transfer(text, record)

    def _transfer(self, text: str, record: LogRecord) -> None:
        at = text.find("kv_transfer_config")
        if at < 0:
            at = text.find("KVTransferConfig(")
        if at < 0:
            return
        part = text[at : at + 4000]
        for found in _KV.finditer(part):
            self._set(found["name"], found["value"], record)


def _top_level(text: str) -> str:
    """The text without what stands inside brackets, so that a nested `model=` is not taken for the model."""
    kept: list[str] = []
    depth = 0
    quote = ""
    for character in text[:20_000]:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"" and depth == 0:
            quote = character
        elif character in "([{":
            depth += 1
            continue
        elif character in ")]}":
            depth = max(depth - 1, 0)
            continue
        if depth == 0:
            kept.append(character)
    return "".join(kept)


def values(facts: Facts) -> dict[str, str | int | float | bool]:
    """Names and bare values, for templates."""
    return {name: fact.value for name, fact in facts.items()}
