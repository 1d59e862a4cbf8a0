"""What carries Mooncake's data: transport, RDMA devices, the container's rights, the package, and proxies."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.addresses import targets
from diagnoser.preflight.case import NO_HOST, Case
from diagnoser.preflight.checks.kv_transfer import extra_of, names_of
from diagnoser.preflight.checks.mooncake import uses_mooncake
from diagnoser.preflight.findings import error, ok, skipped, warning


def check_transport(case: Case) -> Iterator[Finding]:
    """mooncake_protocol of the connector; the wheels on PyPI only log it."""
    if "MooncakeConnector" not in names_of(case.deployment.kv_transfer):
        return
    name = "mooncake-transport"
    protocol = extra_of(case.deployment.kv_transfer, "MooncakeConnector").get("mooncake_protocol", "rdma")
    forced = case.deployment.environ("MC_FORCE_TCP")
    inputs = {"mooncake_protocol": protocol, "MC_FORCE_TCP": forced}
    devices = case.host.rdma_devices if case.host is not None else None
    if protocol not in ("tcp", "rdma"):
        yield warning(
            name,
            "mooncake-protocol-unsupported",
            f"mooncake_protocol {protocol!r} is not one of tcp and rdma",
            "The wheels on PyPI ignore it: they use RDMA where they find a card, and TCP elsewhere. Only builds for "
            "other "
            "hardware look at it.",
            inputs,
            ["Use tcp or rdma; MC_FORCE_TCP=1 is what forces TCP."],
        )
    elif protocol == "rdma" and devices == () and not forced:
        yield warning(
            name,
            "mooncake-rdma-device-unusable",
            "RDMA is asked for, and this host has no RDMA device: Mooncake will use TCP without saying so",
            "/sys/class/infiniband is empty here. That works, and is slower.",
            inputs,
            [Remedy("See which devices there are.", "ls /sys/class/infiniband /dev/infiniband")],
        )
    elif protocol == "tcp" and devices and not forced:
        yield warning(
            name,
            None,
            "mooncake_protocol tcp does not keep Mooncake from using RDMA",
            "The wheels on PyPI take RDMA wherever they find a card.",
            inputs,
            [Remedy("To force TCP, on both sides:", "export MC_FORCE_TCP=1")],
        )


def check_devices(case: Case) -> Iterator[Finding]:
    """RDMA device names that this host must have."""
    names = [str(extra_of(case.deployment.kv_transfer, "MooncakeConnector").get("device_name") or "")]
    if case.store is not None and case.store.values is not None:
        names.append(str(case.store.values.get("device_name") or ""))
    wanted = {part.strip() for text in names for part in text.split(",") if part.strip()}
    if not wanted or any("{" in part for part in wanted):
        return
    name = "mooncake-devices"
    if case.host is None or case.host.rdma_devices is None:
        yield skipped(name, f"RDMA devices {', '.join(sorted(wanted))}", NO_HOST)
        return
    absent = sorted(wanted - set(case.host.rdma_devices))
    inputs = {"device_name": sorted(wanted), "devices here": case.host.rdma_devices or "none"}
    if absent:
        yield error(
            name,
            "mooncake-rdma-device-unusable",
            f"This host has no RDMA device {', '.join(absent)}",
            "device_name has to name devices of every node; leave it empty to use all.",
            inputs,
            [Remedy("See which devices there are.", "ibv_devinfo | grep -E 'hca_id|state'")],
        )
    else:
        yield ok(name, f"RDMA devices {', '.join(sorted(wanted))} exist", inputs)


def check_container(case: Case) -> Iterator[Finding]:
    """RDMA from inside a container: the manifest has to hand in devices and the right to lock memory."""
    container = case.deployment.container
    if container is None or container.privileged or not uses_mooncake(case) or not _wants_rdma(case):
        return
    lacking = []
    if not container.devices:
        lacking.append("the RDMA devices (/dev/infiniband, or an rdma/… resource)")
    locked = container.memlock_unlimited or any(
        cap.upper().removeprefix("CAP_") == "IPC_LOCK" for cap in container.capabilities
    )
    if not locked:
        lacking.append("the right to lock memory (capability IPC_LOCK, or ulimit memlock)")
    if lacking:
        yield warning(
            "mooncake-container",
            "mooncake-rdma-register-locked-memory"
            if len(lacking) == 1 and not locked
            else "mooncake-rdma-device-unusable",
            f"The container is not given {' nor '.join(lacking)}",
            "RDMA is asked for. Without them Mooncake falls back to TCP, or fails to register memory.",
            {"capabilities": container.capabilities, "devices": container.devices},
        )


def _wants_rdma(case: Case) -> bool:
    extra = extra_of(case.deployment.kv_transfer, "MooncakeConnector")
    if "MooncakeConnector" in names_of(case.deployment.kv_transfer) and "mooncake_protocol" in extra:
        return bool(extra["mooncake_protocol"] == "rdma")
    values = case.store.values if case.store is not None else None
    return values is not None and bool(values.get("protocol", "rdma") == "rdma")


def check_package(case: Case) -> Iterator[Finding]:
    """Exactly one Mooncake wheel, of the right CUDA version."""
    if not uses_mooncake(case):
        return
    name = "mooncake-package"
    if case.host is None:
        yield skipped(name, "The Mooncake package", NO_HOST)
        return
    wheels = sorted(package for package in case.host.versions if package.startswith("mooncake-transfer-engine"))
    inputs = {package: case.host.versions[package] for package in wheels}
    if not wheels and not case.host.mooncake_importable:
        yield error(
            name,
            "mooncake-package-not-importable",
            "Mooncake is not installed here",
            "The connector imports mooncake.engine in every worker.",
            inputs,
            [Remedy("Install the wheel for this CUDA version.", "pip install mooncake-transfer-engine")],
        )
    elif len(wheels) > 1:
        yield error(
            name,
            "mooncake-package-not-importable",
            f"{len(wheels)} Mooncake wheels are installed over each other",
            "They hold the same files for different hardware; the last one installed wins, in parts.",
            inputs,
            [Remedy("Keep one.", f"pip uninstall -y {' '.join(wheels)} && pip install {wheels[0]}")],
        )
    else:
        yield ok(name, f"Mooncake is installed ({', '.join(wheels) or 'from source'})", inputs)


def check_proxy(case: Case) -> Iterator[Finding]:
    """An HTTP metadata server behind a proxy variable."""
    values = case.store.values if case.store is not None else None
    server = str((values or {}).get("metadata_server") or "")
    if not server.startswith("http://"):
        return
    environment = case.deployment.environment
    proxy = environment.get("http_proxy") or environment.get("HTTP_PROXY")
    hosts = targets(server, 80)
    if not proxy or not hosts:
        return
    spared = (environment.get("no_proxy") or environment.get("NO_PROXY") or "").split(",")
    host = hosts[0].host
    if not any(part.strip() and (part.strip() == "*" or host.endswith(part.strip().lstrip("*."))) for part in spared):
        yield warning(
            "mooncake-proxy",
            "mooncake-metadata-server-unreachable",
            f"http_proxy is set, and no_proxy does not spare the metadata server {host}",
            "Mooncake's HTTP client goes through the proxy, which seldom knows hosts of the cluster.",
            {"http_proxy": "set", "metadata_server": server},
            [Remedy("Spare it.", f"export no_proxy={quote(host)}")],
        )


def check_gpu_registration(case: Case) -> Iterator[Finding]:
    """GPU memory can be registered through nvidia-peermem, or through dma-buf where card and driver know it."""
    host = case.host
    if host is None or not host.rdma_devices or not host.gpus or not uses_mooncake(case) or not _wants_rdma(case):
        return
    if host.peer_memory is False:
        yield warning(
            "mooncake-gpu-registration",
            "mooncake-rdma-register-gpu-memory",
            "The kernel module nvidia_peermem is not loaded",
            "Registering GPU memory with an RDMA card needs it, unless card and driver support dma-buf.",
            {"RDMA devices": host.rdma_devices},
            [Remedy("Load it.", "modprobe nvidia-peermem", "lsmod | grep nvidia_peermem")],
        )


CHECKS = (
    check_transport,
    check_devices,
    check_container,
    check_package,
    check_proxy,
    check_gpu_registration,
)
