"""`MooncakeConfig`: a Mooncake configuration that a service or a test can validate before it starts anything.

    config = MooncakeConfig.from_file("/etc/mooncake.json").autofill()
    assert_mooncake_ready(config, peer=MooncakeConfig.from_file("/etc/mooncake-decode.json"))

Raises PreflightError with every problem instead of one bare assertion.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diagnoser.errors import InputError, PreflightError
from diagnoser.preflight import mooncake_rules
from diagnoser.preflight.addresses import P2P
from diagnoser.preflight.mooncake_problem import Reader
from diagnoser.preflight.numbers import whole
from diagnoser.preflight.reading import read_json_object

_ALIASES = {
    "local_hostname": "hostname",
    "hostname": "hostname",
    "host": "hostname",
    "metadata_server": "metadata_server",
    "metadata_size": "metadata_size",
    "protocol": "backend",
    "backend": "backend",
    "master_server_address": "master_server_address",
    "device_name": "device_name",
    "global_segment_size": "global_segment_size",
    "local_buffer_size": "local_buffer_size",
    "mode": "mode",
}
_STORE_KEYS = ("master_server_address", "global_segment_size", "local_buffer_size", "mode")


@dataclass
class MooncakeConfig:
    """One side's Mooncake settings.

    `metadata_size` is for deployments whose own connector states one; neither vLLM nor Mooncake has such a setting,
    and it is compared only where both sides give it. `reader` says whose rules apply (see `mooncake_problem`).
    """

    hostname: str | None = None
    metadata_server: str | None = None
    metadata_size: int | None = None
    backend: str | None = None
    """The transport: `tcp` or `rdma`."""
    master_server_address: str | None = None
    device_name: str = ""
    global_segment_size: int | str | None = None
    local_buffer_size: int | str | None = None
    mode: str | None = None
    reader: Reader = "engine"
    extra: dict[str, Any] = field(default_factory=dict)
    """Keys that were given and have no field here."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], reader: Reader | None = None) -> MooncakeConfig:
        """From parsed JSON; without `reader`, keys of the store choose Mooncake's own loader."""
        chosen: Reader = reader or ("mooncake" if any(key in values for key in _STORE_KEYS) else "engine")
        config = cls(reader=chosen)
        for key, value in values.items():
            name = _ALIASES.get(key)
            if name is None:
                config.extra[key] = value
            else:
                setattr(config, name, value)
        return config

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], reader: Reader | None = None) -> MooncakeConfig:
        """From a JSON file.

        Raises InputError when it can't be read, with line and column where the JSON breaks.
        """
        return cls.from_mapping(read_json_object(os.fspath(path), "Mooncake's settings"), reader)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> MooncakeConfig:
        """As Mooncake reads the environment: the file of MOONCAKE_CONFIG_PATH, or the MOONCAKE_* variables.

        Raises InputError for a file that can't be read, and when neither is set.
        """
        variables = os.environ if environment is None else environment
        path = variables.get("MOONCAKE_CONFIG_PATH")
        if path:
            return cls.from_file(path)
        names = {
            "MOONCAKE_LOCAL_HOSTNAME": "local_hostname",
            "MOONCAKE_TE_META_DATA_SERVER": "metadata_server",
            "MOONCAKE_METADATA_SERVER": "metadata_server",
            "MOONCAKE_MASTER": "master_server_address",
            "MOONCAKE_PROTOCOL": "protocol",
            "MOONCAKE_DEVICE": "device_name",
            "MOONCAKE_GLOBAL_SEGMENT_SIZE": "global_segment_size",
            "MOONCAKE_LOCAL_BUFFER_SIZE": "local_buffer_size",
        }
        values = {key: variables[name] for name, key in names.items() if variables.get(name)}
        if not values:
            raise InputError(
                "the environment", "no Mooncake setting is there", expected="MOONCAKE_CONFIG_PATH or MOONCAKE_MASTER"
            )
        return cls.from_mapping(values)

    def autofill(self, environment: Mapping[str, str] | None = None) -> MooncakeConfig:
        """Fills in the host name where it is missing, as vLLM would find its address; returns itself.

        In this order: VLLM_HOST_IP, MOONCAKE_LOCAL_HOSTNAME, the address of the default route, the host's name. The
        route is looked up without sending anything.
        """
        variables = os.environ if environment is None else environment
        if not self.hostname:
            self.hostname = (
                variables.get("VLLM_HOST_IP")
                or variables.get("MOONCAKE_LOCAL_HOSTNAME")
                or _route_address()
                or _host_name()
            )
        if not self.backend and variables.get("MOONCAKE_PROTOCOL"):
            self.backend = variables["MOONCAKE_PROTOCOL"]
        return self

    def problems(self) -> tuple[str, ...]:
        """Everything that would keep this side from working; empty when it is fine."""
        values = self._values()
        found = [
            f"{problem.text}. {problem.why}".rstrip(". ") + "."
            for problem in mooncake_rules.all_problems(values, self.reader)
            if problem.severe
        ]
        if self.metadata_size is not None and (whole(self.metadata_size) or 0) <= 0:
            found.append(f"metadata_size is {self.metadata_size!r}, expected a positive whole number.")
        return tuple(found)

    def validate(self) -> MooncakeConfig:
        """Returns itself; raises PreflightError with every problem."""
        found = self.problems()
        if found:
            raise PreflightError(found)
        return self

    def differences(self, peer: MooncakeConfig) -> tuple[str, ...]:
        """What keeps the two sides from exchanging KV caches; empty when they fit."""
        found: list[str] = []
        if None not in (self.metadata_size, peer.metadata_size) and self.metadata_size != peer.metadata_size:
            found.append(f"metadata_size differs: {self.metadata_size} here, {peer.metadata_size} on the peer.")
        mine, theirs = str(self.backend or "").lower(), str(peer.backend or "").lower()
        if mine and theirs and mine != theirs:
            found.append(f"The transport (backend) differs: {mine} here, {theirs} on the peer.")
        p2p = P2P
        if self.metadata_server and peer.metadata_server and self.metadata_server != peer.metadata_server:
            if p2p in (self.metadata_server, peer.metadata_server):
                found.append(f"One side uses {p2p} and the other {self._other_server(peer)}.")
            else:
                found.append(
                    f"The metadata servers differ: {self.metadata_server} here, {peer.metadata_server} on the peer."
                )
        if self.hostname and self.hostname == peer.hostname and ":" in str(self.hostname):
            found.append(f"Both sides register under the same name and port, {self.hostname}.")
        return tuple(found)

    def compatible_with(self, peer: MooncakeConfig) -> bool:
        """Whether both sides can exchange KV caches; `differences` says why not."""
        return not self.differences(peer)

    def _other_server(self, peer: MooncakeConfig) -> str:
        servers = (self.metadata_server, peer.metadata_server)
        return next(str(server) for server in servers if server != P2P)

    def _values(self) -> dict[str, Any]:
        given = {
            "local_hostname": self.hostname,
            "metadata_server": self.metadata_server,
            "master_server_address": self.master_server_address,
            "protocol": self.backend,
            "device_name": self.device_name,
            "global_segment_size": self.global_segment_size,
            "local_buffer_size": self.local_buffer_size,
            "mode": self.mode,
        }
        return {key: value for key, value in {**self.extra, **given}.items() if value is not None}


def assert_mooncake_ready(config: MooncakeConfig, peer: MooncakeConfig | None = None) -> None:
    """Raises PreflightError with everything that is wrong on this side, on the peer's, and between them."""
    found = list(config.problems())
    if peer is not None:
        found += [f"Peer: {problem}" for problem in peer.problems()]
        found += config.differences(peer)
    if found:
        raise PreflightError(found)


def _route_address() -> str | None:
    """The address that the default route would use; a datagram socket only asks the routing table."""
    import socket

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 80))
            address = str(probe.getsockname()[0])
    except OSError:
        return None
    return address if address != "0.0.0.0" else None


def _host_name() -> str:
    import socket

    return socket.gethostname()
