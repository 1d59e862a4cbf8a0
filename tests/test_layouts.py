"""Folders and bundles as they lie on a node: small trees of the real shape, the right root in each."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile

import crash_logs as logs
import pytest

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue

CATALOGUE = Catalogue.load()
UID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
CRASH = logs.running_crash("ValueError: width 7 is odd")
WORKER = [line for line in CRASH if line.startswith("(Worker_TP1")]
SERVER = [line for line in CRASH if not line.startswith("(Worker_TP1")]
RESTARTED = [line.replace("10:20:30", "10:21:30") for line in logs.healthy_server()[:3]]
TRACE = logs.traceback(logs.WORKER_FRAMES, "ValueError: width 7 is odd")


def cri(lines, stream="stdout", time="10:20"):
    return [f"2025-03-14T{time}:{30 + n / 1000:012.9f}Z {stream} F {line}" for n, line in enumerate(lines)]


def text(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def write(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else text(data))
    return folder


def report_of(path):
    return diagnose(path, catalogue=CATALOGUE, redact=False)


def check(report, **process):
    """One incident whose root is the worker's error; its process has at least the given parts."""
    root = report.incidents[0].root
    assert [(item.root.type, item.root.message) for item in report.incidents] == [("ValueError", "width 7 is odd")]
    assert {name: getattr(root.speaker, name) for name in process} == process
    return root


KUBELET = {
    f"serving_vllm-0_{UID}/vllm/0.log": cri(CRASH),
    f"serving_vllm-0_{UID}/vllm/1.log": cri(RESTARTED, time="10:21"),
    f"serving_vllm-0_{UID}/proxy/0.log": cri(["[2025-03-14] upstream ready"] * 3),
    f"serving_other-7_{UID}/app/0.log": cri(["INFO fine"] * 5),
}


def test_kubelet_folder(tmp_path):
    root = check(report_of(write(tmp_path / "pods", KUBELET)), pod="vllm-0", container="vllm", name="Worker_TP1")

    assert root.source.endswith("/vllm/0.log")


def test_kubelet_folder_with_rotated_and_packed_pieces(tmp_path):
    cut = CRASH.index(WORKER[-1]) + 1
    files = {
        f"serving_vllm-0_{UID}/vllm/0.log.20250314-102030.gz": gzip.compress(text(cri(CRASH[:cut]))),
        f"serving_vllm-0_{UID}/vllm/0.log": cri(CRASH[cut:]),
    }
    root = check(report_of(write(tmp_path / "pods", files)), pod="vllm-0", container="vllm")

    assert root.source.endswith(".gz")


def test_links_of_the_kubelet(tmp_path):
    name = f"vllm-0_serving_vllm-{'0' * 64}.log"
    check(report_of(write(tmp_path / "containers", {name: cri(CRASH)})), pod="vllm-0", container="vllm")


HEX = "0123456789abcdef01234567"
RAY = {
    f"worker-{HEX}{HEX}{HEX}-01000000-4021.err": [":actor_name:RayWorkerWrapper", *TRACE],
    f"worker-{HEX}{HEX}{HEX}-01000000-4021.out": [":actor_name:RayWorkerWrapper", "loading"],
    f"worker-{HEX}{HEX}{HEX}-01000000-4022.out": [":actor_name:RayWorkerWrapper", "loading"],
    "raylet.out": ["[2025-03-14 10:20:31,123 I 77 77] (raylet) node_manager.cc:525: Raylet is up"],
    "gcs_server.out": ["[2025-03-14 10:20:01,123 I 66 66] (gcs_server) gcs_server_main.cc:50: up"],
    "dashboard.log": ["2025-03-14 10:20:01,123\tINFO head.py:239 -- Starting dashboard"],
    "monitor.log": ["2025-03-14 10:20:01,123\tINFO monitor.py:690 -- Starting monitor"],
    "events/event_GCS.log": [],
}


def test_ray_session(tmp_path):
    root = check(report_of(write(tmp_path / "session_latest" / "logs", RAY)), pid=4021)

    assert root.source.endswith("-4021.err")


TORCHRUN = {
    "run_x/attempt_0/0/stdout.log": ["step 1", "step 2"],
    "run_x/attempt_0/0/stderr.log": [
        "[rank0]:[W314 10:20:30.123456 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=71, addr=[node-a]:41234, remote=[node-a]:29500): Connection reset by peer"
    ],
    "run_x/attempt_0/1/stdout.log": ["step 1", "step 2"],
    "run_x/attempt_0/1/stderr.log": TRACE,
}


def test_torchrun_folder(tmp_path):
    root = check(report_of(write(tmp_path, TORCHRUN)), ranks=(("rank", 1),))

    assert root.source.endswith("attempt_0/1/stderr.log")


@pytest.mark.parametrize("form", ["short", "json", "export"])
def test_journal_of_systemd(tmp_path, form):
    lines = [line for line in CRASH if line.strip()]
    if form == "short":
        data = text(f"Mar 14 10:20:30 node-a vllm[4021]: {line}" for line in lines)
    elif form == "json":
        fields = {"_HOSTNAME": "node-a", "SYSLOG_IDENTIFIER": "vllm", "_PID": "4021", "PRIORITY": "6"}
        data = text(json.dumps({**fields, "MESSAGE": line}) for line in lines)
    else:
        entries = [
            "\n".join(
                [
                    "__CURSOR=s=0", f"__REALTIME_TIMESTAMP={1741947630000000 + n}", "_TRANSPORT=stdout",
                    "_HOSTNAME=node-a", "SYSLOG_IDENTIFIER=vllm", "_PID=4021", f"MESSAGE={line}", "",
                ]
            )
            for n, line in enumerate(lines)
        ]  # fmt: skip
        data = text(entries)
    check(report_of(write(tmp_path, {"journal.log": data}) / "journal.log"), host="node-a", name="Worker_TP1")


def test_rotated_files_are_read_oldest_first(tmp_path):
    third = len(CRASH) // 3
    files = {
        "server.log.2.gz": gzip.compress(text(CRASH[:third])),
        "server.log.1": CRASH[third : 2 * third],
        "server.log": CRASH[2 * third :],
    }
    report = report_of(write(tmp_path, files))
    check(report, name="Worker_TP1")

    assert [source.name.rpartition("/")[2] for source in report.sources] == [
        "server.log.2.gz",
        "server.log.1",
        "server.log",
    ]


def packed_tar(files) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in files.items():
            content = data if isinstance(data, bytes) else text(data)
            info = tarfile.TarInfo(f"bundle/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def packed_zip(files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"bundle/{name}", data if isinstance(data, bytes) else text(data))
    return stream.getvalue()


@pytest.mark.parametrize(("name", "pack"), [("bundle.tar.gz", packed_tar), ("bundle.zip", packed_zip)])
def test_support_bundles(tmp_path, name, pack):
    files = {
        "cluster-resources/nodes.json": b"{}",
        "node-a/pods.txt": ["NAME READY"],
        **{f"node-a/var/log/pods/{path}": data for path, data in KUBELET.items()},
        "node-b/image.png": b"\x89PNG\r\n\x1a\n\0\0",
    }
    bundle = tmp_path / name
    bundle.write_bytes(pack(files))
    root = check(report_of(bundle), pod="vllm-0", container="vllm")

    assert root.source == f"{bundle}!bundle/node-a/var/log/pods/serving_vllm-0_{UID}/vllm/0.log"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_out_and_err_of_sixteen_ranks_on_two_hosts(tmp_path):
    lost = "RuntimeError: [../gloo/transport/tcp/pair.cc:544] Connection closed by peer [10.20.0.2]:41234"
    files = {}
    for rank in range(16):
        host = f"node{rank // 8}"
        last = "ValueError: width 7 is odd" if rank == 11 else lost
        files[f"{host}/rank{rank}.out"] = ["step 1"]
        files[f"{host}/rank{rank}.err"] = logs.traceback(logs.WORKER_FRAMES, last)
    root = check(report_of(write(tmp_path, files)), ranks=(("rank", 11),))

    assert root.source.endswith("node1/rank11.err")
