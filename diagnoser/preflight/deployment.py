"""`Deployment`: one vLLM instance as it is going to be started, whatever the form it was given in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from diagnoser.model import Report
from diagnoser.preflight.numbers import BEYOND, whole
from diagnoser.records import NamedTuple

Platform = Literal["cuda", "rocm", "cpu", "xpu", "npu", "tpu"]
PLATFORMS: tuple[Platform, ...] = ("cuda", "rocm", "cpu", "xpu", "npu", "tpu")


class OptionProblem(NamedTuple):
    """An option that can't be taken as it stands."""

    kind: Literal["unknown", "value", "json", "missing-value", "file"]
    option: str
    """As written, for example `--tensor-paralel-size`."""
    value: str = ""
    problem: str = ""
    suggestion: str = ""
    """The option that was probably meant, or what is expected."""


class Container(NamedTuple):
    """What a manifest or `docker run` says about the container."""

    shm_bytes: int | None = None
    """Size of /dev/shm; None when nothing sets it."""
    host_ipc: bool = False
    host_network: bool = False
    privileged: bool = False
    capabilities: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    memory_limit: int | None = None
    memlock_unlimited: bool | None = None
    service_links: bool | None = None
    """Kubernetes: whether the pod gets the variables of services in its namespace."""
    services: tuple[str, ...] = ()
    """Names of Kubernetes services in the same files."""
    kind: str = "docker"


class Deployment(NamedTuple):
    """One vLLM instance. What nobody stated is absent, and a property then gives vLLM's default."""

    origin: str
    """Where it was read, in words: `the command line`, `compose.yaml, service decode`."""
    model: str | None = None
    options: Mapping[str, Any] = {}
    """By long name with underscores; whole numbers, numbers, texts, booleans, lists and objects."""
    environment: Mapping[str, str] = {}
    environment_known: bool = False
    """True when the environment that the instance will have is known, so that a variable's absence means something."""
    problems: tuple[OptionProblem, ...] = ()
    vllm_version: str | None = None
    mooncake_version: str | None = None
    platform: Platform | None = None
    devices: int | None = None
    """Accelerators that the instance can see."""
    device_memory: int | None = None
    """Bytes of one accelerator."""
    container: Container | None = None
    entrypoint: str = "vllm serve"
    log: Report | None = None
    """The report of the log that states this deployment."""

    def whole(self, name: str, default: int) -> int:
        """A whole number; the default where it was not stated or is unusable."""
        value = self.options.get(name)
        found = whole(value) if isinstance(value, int) else None
        return found if found is not None else default

    def number(self, name: str, default: float) -> float:
        """A number; the default where it was not stated or is unusable."""
        value = self.options.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < BEYOND:
            return default
        return float(value)

    def text(self, name: str) -> str | None:
        """A text; None where it was not stated."""
        value = self.options.get(name)
        return value if isinstance(value, str) else None

    def flag(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self.options.get(name)
        return value if isinstance(value, bool) else default

    def table(self, name: str) -> dict[str, Any]:
        """A JSON object; empty where it was not stated."""
        value = self.options.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def tp(self) -> int:
        """Tensor-parallel size."""
        return max(self.whole("tensor_parallel_size", 1), 1)

    @property
    def pp(self) -> int:
        """Pipeline-parallel size."""
        return max(self.whole("pipeline_parallel_size", 1), 1)

    @property
    def dp(self) -> int:
        """Data-parallel size."""
        return max(self.whole("data_parallel_size", 1), 1)

    @property
    def pcp(self) -> int:
        """Prefill-context-parallel size."""
        return max(self.whole("prefill_context_parallel_size", 1), 1)

    @property
    def dcp(self) -> int:
        """Decode-context-parallel size; its ranks are tensor-parallel ranks."""
        return max(self.whole("decode_context_parallel_size", 1), 1)

    @property
    def local_dp(self) -> int:
        """Data-parallel ranks on this node."""
        return max(self.whole("data_parallel_size_local", self.dp), 1)

    @property
    def expert_parallel(self) -> bool:
        """Whether whole experts are given to ranks."""
        return self.flag("enable_expert_parallel")

    @property
    def ep(self) -> int:
        """Ranks that share the experts; 1 without expert parallelism (vLLM: FusedMoEParallelConfig.make)."""
        return self.tp * self.dp * self.pcp if self.expert_parallel else 1

    @property
    def moe_tp(self) -> int:
        """Ranks over which the width of each expert is cut; data-parallel ranks count."""
        return 1 if self.ep > 1 else self.tp * self.dp * self.pcp

    @property
    def eplb(self) -> bool:
        """Expert-parallel load balancing."""
        return self.flag("enable_eplb")

    @property
    def redundant_experts(self) -> int:
        """Further copies of experts that EPLB may place."""
        value = self.table("eplb_config").get("num_redundant_experts", self.options.get("num_redundant_experts", 0))
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    @property
    def local_world_size(self) -> int:
        """Processes with an accelerator on this node, as far as one node holds everything."""
        nodes = max(self.whole("nnodes", 1), 1)
        return max(self.tp * self.pp * self.pcp // nodes, 1) * self.local_dp

    @property
    def kv_transfer(self) -> dict[str, Any]:
        """`--kv-transfer-config`; empty without one."""
        return self.table("kv_transfer_config")

    @property
    def parallel_inputs(self) -> dict[str, object]:
        """The parallel sizes, for `Finding.inputs`."""
        sizes: dict[str, object] = {"TP": self.tp}
        for name, value in (("PP", self.pp), ("DP", self.dp), ("PCP", self.pcp), ("DCP", self.dcp)):
            if value > 1:
                sizes[name] = value
        if self.expert_parallel:
            sizes["EP"] = self.ep
        return sizes

    def environ(self, name: str) -> str | None:
        """An environment variable of the instance."""
        return self.environment.get(name)
