"""Facts of the deployment, each with the line that says it."""

from __future__ import annotations

import pytest

from diagnoser.facts import FactReader, values
from diagnoser.model import LogRecord


def facts_of(*bodies):
    reader = FactReader()
    for number, body in enumerate(bodies, 1):
        reader.feed(LogRecord(body, "server.log", number))
    return reader.facts


ENGINE = (
    "Initializing a V1 LLM engine (v0.21.0) with config: model='/srv/models/heron', speculative_config=None, tokenizer='/srv/models/heron', "
    "dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=4, pipeline_parallel_size=1, quantization=None, enforce_eager=False, "
    "kv_cache_dtype=auto, observability_config=ObservabilityConfig(model='other', tensor_parallel_size=99), seed=0"
)
ARGUMENTS = (
    "non-default args: {'model_tag': 'heron', 'port': 8000, 'model': 'heron', 'tensor_parallel_size': 8, 'gpu_memory_utilization': 0.92, "
    "'kv_transfer_config': KVTransferConfig(kv_connector='MooncakeConnector', engine_id='abc', kv_role='kv_producer')}"
)


def test_the_engines_configuration_is_read_without_what_is_nested_in_it():
    found = values(facts_of(ENGINE))

    assert found["model"] == "/srv/models/heron"
    assert found["tensor_parallel_size"] == 4
    assert found["dtype"] == "bfloat16"
    assert found["max_model_len"] == 8192
    assert found["enforce_eager"] is False
    assert "quantization" not in found


def test_the_resolved_configuration_outranks_the_flags():
    found = facts_of(ARGUMENTS, ENGINE)

    assert (found["tensor_parallel_size"].value, found["tensor_parallel_size"].line) == (4, 2)
    assert (found["gpu_memory_utilization"].value, found["gpu_memory_utilization"].line) == (0.92, 1)


def test_the_transfer_configuration_is_read_out_of_the_flags():
    found = values(facts_of(ARGUMENTS))

    assert (found["kv_connector"], found["kv_role"]) == ("MooncakeConnector", "kv_producer")


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ("vLLM API server version 0.10.2", "vllm_version", "0.10.2"),
        (" ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0", "vllm_version", "0.32.0"),
        ("Resolved architecture: LlamaForCausalLM", "architecture", "LlamaForCausalLM"),
        ("world_size=3 rank=1 local_rank=1 distributed_init_method=tcp://127.0.0.1:4711 backend=nccl", "world_size", 3),
        ("world_size=3 rank=1 local_rank=1 distributed_init_method=tcp://127.0.0.1:4711 backend=nccl", "distributed_backend", "nccl"),
        ("GPU KV cache size: 1,234,560 tokens", "kv_cache_tokens", 1234560),
        ("Available KV cache memory: -1.05 GiB", "kv_cache_gib", -1.05),
        ("vLLM is using nccl==2.27.3", "nccl_version", "2.27.3"),
        ("Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.25 GiB of which 1.02 GiB is free.", "gpu_memory_gib", 79.25),
        ("ValueError: Free memory on device (10.5/23.53 GiB) on startup is less than desired", "gpu_memory_gib", 23.53),
        ("ValueError: Free memory on device cuda:0 (3.22/4.0 GiB) on startup is less than desired", "gpu_memory_gib", 4.0),
        ("the current vLLM instance can use total_gpu_memory (23.53GiB) x gpu_memory_utilization (0.90)", "gpu_memory_gib", 23.53),
        ("Found GPU1 Tesla V100-SXM2-32GB which is of compute capability (CC) 7.0.", "gpu_name", "Tesla V100-SXM2-32GB"),
        ("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with", "gpu_name", "NVIDIA GeForce RTX 5090"),
        ("Bfloat16 is only supported on GPUs of 8.0. Your Tesla T4 GPU has compute capability 7.5.", "gpu_name", "Tesla T4"),
        ("GPU 0: NVIDIA A100-SXM4-80GB", "gpu_name", "NVIDIA A100-SXM4-80GB"),
        ("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0c1e)", "gpu_name", "NVIDIA A100-SXM4-80GB"),
        ("[pip3] transformers==5.8.0", "transformers_version", "5.8.0"),
    ],
)
def test_single_lines(body, name, value):
    assert facts_of(body)[name].value == value
