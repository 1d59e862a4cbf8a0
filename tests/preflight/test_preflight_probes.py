"""Probes against real servers on the loopback: up, down, slow, and answering nonsense.

etcd and Redis come from Debian's packages (etcd-server, redis-server); their tests say so when they are missing.
"""

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from preflight_models import case_of, rules_of

from diagnoser.preflight import probing
from diagnoser.preflight.addresses import HostPort, host_port, is_any, is_loopback, split_url, targets
from diagnoser.preflight.case import StoreFile
from diagnoser.preflight.probes import probe_case

TIMEOUT = 0.5
STARTUP = 15


@contextlib.contextmanager
def serving(handle):
    """A server on the loopback whose `handle(connection)` answers each connection; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()
        server.settimeout(0.05)

        def accept():
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(2)
                    handle(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield HostPort("127.0.0.1", server.getsockname()[1])
        stop.set()
        thread.join(timeout=5)


def answering(answer, *, delay=0.0):
    def handle(connection):
        connection.recv(4096)
        time.sleep(delay)
        if answer is not None:
            connection.sendall(answer)

    return handle


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def metadata_server():
    """An HTTP metadata server as Mooncake's: 404 for keys that nobody set."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.path.startswith("/metadata?key=")
            self.send_response(404 if known else 500)
            self.end_headers()
            self.wfile.write(b"metadata not found")

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield HostPort("127.0.0.1", server.server_address[1])
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


@contextlib.contextmanager
def running(command, ready):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + STARTUP
        while time.monotonic() < end and ready().outcome != "up":
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def redis_server(tmp_path):
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed (Debian package redis-server)")
    target = HostPort("127.0.0.1", free_port())
    command = [binary, "--port", str(target.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with running(command, lambda: probing.redis(target, TIMEOUT)):
        yield target


@pytest.fixture
def etcd_server(tmp_path):
    binary = shutil.which("etcd")
    if binary is None:
        pytest.skip("etcd is not installed (Debian package etcd-server)")
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    target = HostPort("127.0.0.1", int(client.rpartition(":")[2]))
    command = [binary, "--data-dir", str(tmp_path), "--name", "t", "--listen-client-urls", client]
    command += ["--advertise-client-urls", client, "--listen-peer-urls", peer]
    command += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"t={peer}"]
    with running(command, lambda: probing.etcd(target, TIMEOUT)):
        yield target


def test_an_http_metadata_server_that_is_up(metadata_server):
    result = probing.http(metadata_server, "/metadata?key=x", TIMEOUT, expect=(200, 400, 404))

    assert (result.outcome, result.detail) == ("up", "status 404")
    assert result.contacted == f"HTTP http://127.0.0.1:{metadata_server.port}/metadata?key=x"


def test_an_http_server_of_another_kind(metadata_server):
    result = probing.http(metadata_server, "/other", TIMEOUT, expect=(200, 404))

    assert (result.outcome, result.detail) == ("nonsense", "it answered with status 500")


def test_redis_that_is_up(redis_server):
    assert probing.redis(redis_server, TIMEOUT)._replace(seconds=0).outcome == "up"


def test_redis_where_etcd_was_expected(redis_server):
    assert probing.etcd(redis_server, TIMEOUT).outcome == "nonsense"


def test_etcd_that_is_up(etcd_server):
    result = probing.etcd(etcd_server, TIMEOUT)

    assert result.outcome == "up"
    assert "etcdserver" in result.detail


def test_etcd_where_redis_was_expected(etcd_server):
    assert probing.redis(etcd_server, TIMEOUT).outcome == "nonsense"


PROBES = [probing.tcp, probing.redis, probing.etcd, lambda target, timeout: probing.http(target, "/", timeout)]


@pytest.mark.parametrize("probe", PROBES, ids=["tcp", "redis", "etcd", "http"])
def test_nothing_listens(probe):
    assert probe(HostPort("127.0.0.1", free_port()), TIMEOUT).outcome == "refused"


@pytest.mark.parametrize("probe", PROBES, ids=["tcp", "redis", "etcd", "http"])
def test_a_name_that_does_not_resolve(probe):
    assert probe(HostPort("no-such-host.invalid", 80), TIMEOUT).outcome == "unresolved"


@pytest.mark.parametrize("probe", PROBES[1:], ids=["redis", "etcd", "http"])
def test_a_server_that_is_too_slow_costs_no_more_than_the_time_out(probe):
    with serving(answering(b"+PONG\r\n", delay=1.5)) as target:
        started = time.monotonic()
        result = probe(target, 0.3)

    assert result.outcome == "timeout"
    assert time.monotonic() - started < 6
    assert result.seconds < 1.2


@pytest.mark.parametrize("probe", PROBES[1:], ids=["redis", "etcd", "http"])
def test_a_server_that_trickles_is_given_up_too(probe):
    def trickle(connection):
        for _ in range(20):
            connection.sendall(b"x")
            time.sleep(0.1)

    with serving(trickle) as target:
        started = time.monotonic()
        result = probe(target, 0.4)
        took = time.monotonic() - started

    assert result.outcome == "nonsense"
    assert took < 1.5


NONSENSE = [b"\x00\xff\x00garbage\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"-ERR unknown\r\n", b"HTTP/1.1 abc\r\n\r\n", None]


@pytest.mark.parametrize("answer", NONSENSE)
@pytest.mark.parametrize("probe", PROBES[1:], ids=["redis", "etcd", "http"])
def test_a_server_that_answers_nonsense(probe, answer):
    with serving(answering(answer)) as target:
        assert probe(target, TIMEOUT).outcome == "nonsense"


def test_an_answer_without_end_is_cut():
    def flood(connection):
        for _ in range(400):
            connection.sendall(b"x" * 4096)

    with serving(flood) as target:
        assert probing.etcd(target, 2.0).outcome == "nonsense"


def test_redis_that_wants_a_password_is_up():
    with serving(answering(b"-NOAUTH Authentication required.\r\n")) as target:
        assert probing.redis(target, TIMEOUT).outcome == "up"


def store_case(values):
    case = case_of(None)
    return case._replace(store=StoreFile("mooncake.json", values))


def test_every_address_of_a_settings_file_is_probed_and_named(metadata_server):
    master = HostPort("127.0.0.1", free_port())
    values = {
        "metadata_server": f"http://127.0.0.1:{metadata_server.port}/metadata",
        "master_server_address": f"127.0.0.1:{master.port}",
        "local_hostname": "localhost",
    }

    found = list(probe_case(store_case(values), TIMEOUT))

    assert [(finding.check, finding.status) for finding in found] == [
        ("probe-metadata-server", "ok"),
        ("probe-master", "error"),
        ("probe-host-name", "ok"),
    ]
    contacted = [dict(finding.inputs)["contacted"] for finding in found]
    assert contacted == [
        f"HTTP http://127.0.0.1:{metadata_server.port}/metadata?key=diagnoser-check",
        f"TCP 127.0.0.1:{master.port}",
        "DNS localhost",
    ]


def test_a_p2p_configuration_contacts_nobody():
    assert list(probe_case(store_case({"metadata_server": "P2PHANDSHAKE"}), TIMEOUT)) == []


def test_etcd_and_redis_addresses_are_asked_in_their_own_way(etcd_server, redis_server):
    for url, status in (
        (f"etcd://127.0.0.1:{etcd_server.port}", "ok"),
        (f"127.0.0.1:{etcd_server.port}", "ok"),
        (f"redis://127.0.0.1:{redis_server.port}", "ok"),
        (f"etcd://127.0.0.1:{redis_server.port}", "error"),
    ):
        assert [finding.status for finding in probe_case(store_case({"metadata_server": url}), TIMEOUT)] == [status]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"metadata_server": "http://127.0.0.1:{port}/metadata"}, "mooncake-metadata-server-unreachable"),
        ({"metadata_server": "etcd://127.0.0.1:{port}"}, "mooncake-metadata-server-unreachable"),
        ({"metadata_server": "http://no-such-host.invalid:80/metadata"}, "mooncake-metadata-server-unreachable"),
        ({"master_server_address": "127.0.0.1:{port}"}, "mooncake-master-unreachable"),
        ({"master_server_address": "etcd://127.0.0.1:{port}"}, "mooncake-ha-backend-unreachable"),
        ({"local_hostname": "no-such-host.invalid"}, "mooncake-peer-name-unresolvable"),
    ],
)
def test_what_does_not_answer_is_an_error_with_the_rule_of_its_crash(values, rule):
    port = free_port()
    values = {key: value.replace("{port}", str(port)) for key, value in values.items()}

    assert rules_of(list(probe_case(store_case(values), TIMEOUT))) == {rule}


def test_the_bootstrap_server_is_asked():
    extra = {"bootstrap_server_address": f"127.0.0.1:{free_port()}"}
    case = case_of(None)
    options = {
        "kv_transfer_config": {
            "kv_connector": "MooncakeConnector",
            "kv_role": "kv_consumer",
            "kv_connector_extra_config": extra,
        }
    }
    case = case._replace(deployment=case.deployment._replace(options=options))

    assert rules_of(list(probe_case(case, TIMEOUT))) == {"mooncake-bootstrap-query-failed"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host:80", HostPort("host", 80)),
        ("[::1]:80", HostPort("::1", 80)),
        ("host", None),
        ("host:0", None),
        ("host:70000", None),
        ("http://host:80", None),
        ("a b:80", None),
    ],
)
def test_host_and_port(text, expected):
    assert host_port(text) == expected


def test_the_targets_of_urls():
    assert targets("http://h:8080/metadata", 80) == [HostPort("h", 8080)]
    assert targets("http://h/metadata", 80) == [HostPort("h", 80)]
    assert targets("etcd://a:1;b,http://c:3", 2379) == [HostPort("a", 1), HostPort("b", 2379), HostPort("c", 3)]
    assert targets("redis://user:secret@h:6379", 6379) == [HostPort("h", 6379)]
    assert split_url("HTTP://h") == ("http", "h")
    assert split_url("h:80") is None


def test_addresses_that_only_this_host_knows():
    assert [is_loopback(host) for host in ("localhost", "127.1.2.3", "::1", "192.0.2.1")] == [True, True, True, False]
    assert [is_any(host) for host in ("0.0.0.0", "::", "[::]", "192.0.2.1")] == [True, True, True, False]
