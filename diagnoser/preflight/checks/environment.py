"""The serving machine or container: shared memory, limits, folders, compiler, GPUs and their driver."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import GIB, MIB, gib
from diagnoser.preflight.versions import compare


def check_shared_memory(case: Case) -> Iterator[Finding]:
    """vLLM's message queues and NCCL live in /dev/shm when several ranks share a host."""
    deployment, container, name = case.deployment, case.deployment.container, "environment-shm"
    ranks = deployment.local_world_size
    if ranks < 2:
        return
    shm = container.shm_bytes if container is not None else (case.host.shm_bytes if case.host is not None else None)
    inputs = {"ranks on this node": ranks, "/dev/shm": gib(shm) if shm is not None else None}
    if container is not None and (container.host_ipc or (container.privileged and shm is None and container.host_ipc)):
        yield ok(name, "The container shares the host's /dev/shm", inputs)
        return
    if container is not None and shm is None:
        yield error(
            name,
            "process-shm-too-small",
            f"The container sets no size for /dev/shm, so it has 64 MiB for {ranks} ranks",
            "The queue between engine and workers alone needs more; NCCL then fails with a bus error or a failed mmap.",
            {**inputs, "container": container.kind},
            [_more_shm(container.kind)],
        )
        return
    if shm is None:
        yield skipped(name, f"/dev/shm for {ranks} ranks", NO_HOST)
        return
    wanted = 256 * MIB * ranks
    if shm < 128 * MIB:
        yield error(
            name,
            "process-shm-too-small",
            f"/dev/shm has {gib(shm)} for {ranks} ranks",
            "The queue between engine and workers alone needs more.",
            inputs,
            [_more_shm(container.kind if container is not None else "docker")],
        )
    elif shm < wanted:
        yield warning(
            name,
            "process-shm-too-small",
            f"/dev/shm has {gib(shm)} for {ranks} ranks; {gib(wanted)} would be on the safe side",
            "Large messages between engine and workers, and NCCL inside the host, use it.",
            inputs,
            [_more_shm(container.kind if container is not None else "docker")],
        )
    else:
        yield ok(name, f"/dev/shm has {gib(shm)} for {ranks} ranks", inputs)


def _more_shm(kind: str) -> Remedy:
    how = {
        "kubernetes": "Mount an emptyDir with medium: Memory (and a sizeLimit such as 8Gi) at /dev/shm.",
        "compose": "Add `shm_size: 8gb` or `ipc: host` to the service.",
    }.get(kind, "Start the container with --shm-size 8g or --ipc=host.")
    return Remedy(how, verify="df -h /dev/shm")


def check_limits(case: Case) -> Iterator[Finding]:
    """Open files and locked memory."""
    if case.host is None:
        return
    files = case.host.open_files
    if files is not None and files < 4096:
        yield warning(
            "environment-open-files",
            "process-os-limit",
            f"Only {files} files may be open at once",
            "Every request holds a connection, and vLLM asks for 65,535.",
            {"ulimit -n": files},
            [Remedy("Raise the limit.", "ulimit -n 65535")],
        )
    elif files is not None:
        yield ok("environment-open-files", f"{files} files may be open at once")
    locked = case.host.locked_memory
    if locked is None or not case.host.rdma_devices:
        return
    inputs = {
        "ulimit -l": "unlimited" if locked == -1 else f"{locked // 1024} KiB",
        "RDMA devices": case.host.rdma_devices,
    }
    if locked != -1 and locked < GIB:
        mooncake = "Mooncake" in str(case.deployment.kv_transfer)
        yield warning(
            "environment-locked-memory",
            "mooncake-rdma-register-locked-memory" if mooncake else "network-nccl-locked-memory",
            f"Only {gib(locked)} of memory may be locked, and there are RDMA devices",
            "Memory has to be locked to be registered with the card.",
            inputs,
            [Remedy("Lift the limit (docker: --ulimit memlock=-1).", "ulimit -l unlimited")],
        )
    else:
        yield ok("environment-locked-memory", "Enough memory may be locked", inputs)


def check_folders(case: Case) -> Iterator[Finding]:
    """Home and cache are written to; the user has a name."""
    host = case.host
    if host is None:
        return
    name = "environment-folders"
    if host.home_writable is False:
        yield warning(
            name,
            "process-container-user",
            f"The home folder {host.home} can't be written to",
            "vLLM, Triton and FlashInfer keep compiled code below it.",
            {"HOME": host.home},
            [Remedy("Give a folder that can be written to.", "export HOME=/tmp/home && mkdir -p $HOME")],
        )
    if host.cache_writable is False:
        yield error(
            name,
            "hub-cache-not-writable",
            f"The model cache {host.cache} can't be written to",
            "Downloads fail there.",
            {"cache": host.cache},
            ["Mount it writable, or set HF_HOME to another folder."],
        )
    if host.user is None:
        yield warning(
            name,
            "process-container-user",
            "This user id has no name in /etc/passwd",
            "torch asks for the user's name and fails; it happens with --user and with OpenShift.",
            {},
            [Remedy("Give names for it.", "export USER=vllm LOGNAME=vllm HOME=/tmp")],
        )
    if host.cache_free is not None and host.cache_free < 20 * GIB:
        yield warning(
            name,
            "hub-disk-full",
            f"{gib(host.cache_free)} are free where models are kept",
            "Most models are larger.",
            {"cache": host.cache},
        )
    if host.home_writable and host.cache_writable:
        yield ok(name, "Home and cache can be written to", {"HOME": host.home, "cache": host.cache})


def check_compiler(case: Case) -> Iterator[Finding]:
    """Triton and torch.compile build code at start."""
    host = case.host
    if host is None or case.deployment.platform in ("tpu",):
        return
    eager = case.deployment.flag("enforce_eager")
    make = warning if eager or case.deployment.platform == "cpu" else error
    if host.compiler is None:
        yield make(
            "environment-compiler",
            "compile-c-compiler-missing",
            "There is no C compiler",
            "Triton compiles a small launcher for every kernel, and torch.compile compiles for the CPU.",
            {"PATH": "cc, gcc and clang are not on it"},
            [Remedy("Install one.", "apt-get install -y gcc g++")],
        )
    else:
        yield ok("environment-compiler", f"The C compiler is {host.compiler}")
    if host.gpus and host.versions and "torch" in host.versions and "triton" not in host.modules:
        yield make(
            "environment-triton",
            "compile-triton-missing",
            "Triton is not installed, and there are NVIDIA GPUs",
            "torch.compile and many kernels of vLLM are written in it.",
            {"torch": host.versions["torch"]},
            [Remedy("Install the one that goes with torch.", "pip install triton")],
        )
    if host.python_headers is False:
        yield make(
            "environment-headers",
            "compile-python-headers-missing",
            f"The headers of Python {host.python} are missing",
            "Triton's launcher includes Python.h.",
            {"python": host.python},
            [Remedy("Install them.", f"apt-get install -y python{'.'.join(host.python.split('.')[:2])}-dev")],
        )


def check_gpus(case: Case) -> Iterator[Finding]:
    """GPUs and the driver, where nvidia-smi answers."""
    host = case.host
    if host is None or case.deployment.platform not in (None, "cuda"):
        return
    if host.gpus is None:
        yield skipped("environment-gpus", "GPUs and driver", "nvidia-smi on this machine")
        return
    if not host.gpus:
        yield error(
            "environment-gpus",
            "cuda-no-gpu-visible",
            "nvidia-smi lists no GPU",
            "The driver is there and shows this process no device.",
            {"driver": host.driver},
            [Remedy("In a container, hand in the GPUs.", "docker run --gpus all …")],
        )
        return
    yield ok("environment-gpus", f"{len(host.gpus)} x {host.gpus[0].name}, driver {host.driver}")
    torch = host.versions.get("torch", "")
    built = torch.partition("+cu")[2][:3]
    if built.isdigit() and host.driver_cuda:
        wanted = f"{built[:-1]}.{built[-1]}"
        inputs = {"torch": torch, "driver": host.driver, "newest CUDA of the driver": host.driver_cuda}
        if compare(wanted.split(".")[0], host.driver_cuda.split(".")[0]) == 1:
            yield error(
                "environment-driver",
                "cuda-driver-too-old",
                f"torch was built for CUDA {wanted}, and the driver supports {host.driver_cuda} at most",
                "A newer major version of CUDA needs a newer driver.",
                inputs,
                ["Update the driver, or install the wheels for an older CUDA."],
            )
        else:
            yield ok("environment-driver", f"The driver supports CUDA {wanted}", inputs)
    if case.deployment.text("dtype") == "bfloat16":
        old = [gpu for gpu in host.gpus if gpu.capability and float(gpu.capability) < 8.0]
        if old:
            yield error(
                "environment-bfloat16",
                "cuda-bf16-unsupported",
                f"{old[0].name} (compute capability {old[0].capability}) can't compute in bfloat16",
                "It needs 8.0 or later.",
                {"capability": old[0].capability},
                ["Use --dtype half."],
            )


CHECKS = (
    check_shared_memory,
    check_limits,
    check_folders,
    check_compiler,
    check_gpus,
)
