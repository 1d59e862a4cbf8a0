"""`kubectl diagnose POD`, with a stand-in that replays what a cluster answered."""

from __future__ import annotations

import json
import subprocess
import sys

import crash_logs as logs
import live_helpers as live
import pytest

STAND_IN = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
words = [word for word in sys.argv[1:] if not word.startswith("--namespace") and not word.startswith("--context")]
with open(folder / "calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
answers = json.loads((folder / "answers.json").read_text())
answer = answers.get(" ".join(words))
if answer is None:
    print("Error from server (NotFound): " + " ".join(words), file=sys.stderr)
    sys.exit(1)
sys.stdout.write(answer if isinstance(answer, str) else json.dumps(answer))
"""


def terminated(reason, code, finished="2025-03-14T10:20:32Z", **more):
    return {
        "terminated": {
            "reason": reason,
            "exitCode": code,
            "startedAt": "2025-03-14T10:00:00Z",
            "finishedAt": finished,
            **more,
        }
    }


RUNNING = {"running": {"startedAt": "2025-03-14T10:21:00Z"}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}


def container(name, state, last=None, restarts=0):
    return {"name": name, "state": state, "lastState": last or {}, "restartCount": restarts}


def pod(*containers, name="vllm-0", phase="Running", **status):
    return {
        "kind": "Pod", "metadata": {"name": name, "namespace": "serving"},
        "status": {"phase": phase, "containerStatuses": list(containers), **status},
    }  # fmt: skip


def event(reason, message, when="2025-03-14T10:20:31Z", kind="Warning"):
    return {"type": kind, "reason": reason, "message": message, "lastTimestamp": when}


def text(lines):
    return "".join(f"{line}\n" for line in lines)


CRASH = text(logs.running_crash("ValueError: width 7 is odd"))
FINE = text(line.replace("10:20:30", "10:21:30") for line in logs.healthy_server()[:3])


@pytest.fixture
def cluster(tmp_path):
    """Runs the plugin against the answers; returns its status, the report and the complaints."""

    def ask(answers, *arguments, events=()):
        stand_in = tmp_path / "kubectl"
        stand_in.write_text(STAND_IN.format(python=sys.executable))
        stand_in.chmod(0o755)
        for name in {name.rpartition("/")[2] for name in arguments if not name.startswith("-")} | {"vllm-0"}:
            key = f"get events --field-selector involvedObject.name={name} -o json"
            answers = {key: {"items": list(events)}, **answers}
        (tmp_path / "answers.json").write_text(json.dumps(answers))
        command = live.tool("kubectl", *arguments, "-f", "json")
        done = subprocess.run(
            command, capture_output=True, timeout=60, check=False, env=live.environment(KUBECTL=str(stand_in))
        )
        report = json.loads(done.stdout) if done.stdout else None
        return done.returncode, report, done.stderr.decode()

    ask.calls = lambda: (tmp_path / "calls").read_text().splitlines()
    return ask


def one(cluster, answers, *arguments, **more):
    """The incident of a pod that has one."""
    status, report, complaints = cluster(answers, *(arguments or ("vllm-0",)), **more)
    assert complaints == ""
    return report["incidents"][0], status, report


def test_the_crash_of_the_container_before_is_found(cluster):
    incident, status, report = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(container("vllm", RUNNING, terminated("Error", 1), 1)),
            "logs vllm-0 -c vllm --previous": CRASH,
            "logs vllm-0 -c vllm": FINE,
        },
        "vllm-0", "-n", "serving", "--context", "prod",
    )  # fmt: skip

    assert (incident["root"]["message"], incident["root"]["source"]) == ("width 7 is odd", "vllm-0/vllm (previous)")
    assert (incident["root"]["process"]["pod"], incident["root"]["process"]["container"]) == ("vllm-0", "vllm")
    assert (status, len(report["incidents"])) == (3, 1)
    assert all(call.startswith("--namespace=serving --context=prod ") for call in cluster.calls())


def test_rules_that_are_broken_are_status_2(cluster, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rule.toml").write_text("id = ")
    answers = {
        "get pod/vllm-0 -o json": pod(container("vllm", RUNNING, terminated("Error", 1), 1)),
        "logs vllm-0 -c vllm --previous": CRASH,
        "logs vllm-0 -c vllm": FINE,
    }
    status, report, complaints = cluster(answers, "vllm-0", "--rules", str(tmp_path / "mine"))

    assert (status, len(report["incidents"])) == (2, 1)
    assert complaints.startswith("diagnose: rule skipped: ")


def test_memory_that_ran_out_is_read_from_the_last_state(cluster):
    incident, status, _ = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(container("vllm", BACK_OFF, terminated("OOMKilled", 137), 4)),
            "logs vllm-0 -c vllm --previous": text(logs.healthy_server()[:-1]),
        },
        events=[event("BackOff", "Back-off restarting failed container vllm in pod vllm-0")],
    )

    assert (incident["diagnoses"][0]["rule"], incident["diagnoses"][0]["confidence"]) == (
        "process-oom-killed",
        "certain",
    )
    assert incident["diagnoses"][0]["evidence"][0] == {
        "source": "vllm-0/vllm (state)",
        "line": 1,
        "text": "Last State: Terminated, Reason: OOMKilled, Exit Code: 137",
    }
    assert status == 1


def test_a_failure_in_the_log_is_not_blamed_on_the_state(cluster):
    incident, _, _ = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(container("vllm", BACK_OFF, terminated("Error", 137), 1)),
            "logs vllm-0 -c vllm --previous": CRASH,
        },
    )

    assert incident["root"]["message"] == "width 7 is odd"


def test_a_probe_that_killed_a_slow_start(cluster):
    incident, _, _ = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(container("vllm", RUNNING, terminated("Error", 137), 1)),
            "logs vllm-0 -c vllm --previous": text(logs.healthy_server()[:1]),
            "logs vllm-0 -c vllm": text(logs.healthy_server()[:1]),
        },
        events=[
            event("Unhealthy", "Liveness probe failed: dial tcp 10.20.0.9:8000: connect: connection refused"),
            event("Killing", "Container vllm failed liveness probe, will be restarted", kind="Normal"),
            event("Pulled", "Container image already present on machine", kind="Normal"),
        ],
    )

    assert incident["diagnoses"][0]["rule"] == "process-probe-killed"


def test_an_end_that_nothing_explains_is_told_with_its_message(cluster):
    incident, status, report = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(
                container("vllm", BACK_OFF, terminated("Error", 1, message="licence expired"), 1)
            ),
            "logs vllm-0 -c vllm --previous": "starting\n",
        },
    )

    assert (report["verdict"], status) == ("unknown", 3)
    assert incident["root"]["message"] == (
        "Container vllm ended with exit code 1 (Error).\nIts termination message:\n  licence expired"
    )
    assert report["coverage"]["notes"][0].startswith("Container vllm of vllm-0 waits (CrashLoopBackOff: back-off 5m0s")


def test_all_containers_are_read(cluster):
    answers = {
        "get pod/vllm-0 -o json": pod(
            container("vllm", RUNNING), container("proxy", RUNNING),
            initContainerStatuses=[container("download", terminated("Completed", 0))],
        ),
        "logs vllm-0 -c download": "done\n",
        "logs vllm-0 -c vllm": CRASH,
        "logs vllm-0 -c proxy": "ready\n",
    }  # fmt: skip
    _, _, report = one(cluster, answers)
    assert [source["name"] for source in report["sources"]] == ["vllm-0/download", "vllm-0/vllm", "vllm-0/proxy"]
    status, report, _ = cluster(answers, "vllm-0", "-c", "proxy")
    assert ([source["name"] for source in report["sources"]], status) == (["vllm-0/proxy"], 0)


def test_pods_of_a_workload_and_of_a_selector_are_one_deployment(cluster):
    lost = "RuntimeError: [../gloo/transport/tcp/pair.cc:544] Connection closed by peer [10.20.0.2]:41234"
    pods = {"items": [pod(container("vllm", RUNNING)), pod(container("vllm", RUNNING), name="vllm-1")]}
    answers = {
        "get deploy/vllm -o json": {"kind": "Deployment", "spec": {"selector": {"matchLabels": {"app": "vllm"}}}},
        "get pods -l app=vllm -o json": pods,
        "logs vllm-0 -c vllm": text(
            logs.prefixed(
                "Worker_TP0",
                100,
                "ERROR",
                "multiproc_executor.py:1007",
                ["WorkerProc hit an exception.", *logs.traceback(logs.WORKER_FRAMES, lost)],
                time="03-14 10:20:31",
            )
        ),
        "logs vllm-1 -c vllm": text(
            logs.prefixed(
                "Worker_TP1",
                101,
                "ERROR",
                "multiproc_executor.py:1007",
                ["WorkerProc hit an exception.", *logs.traceback(logs.WORKER_FRAMES, "ValueError: width 7 is odd")],
            )
        ),
        "get events --field-selector involvedObject.name=vllm-1 -o json": {"items": []},
    }
    for arguments in (("deploy/vllm",), ("-l", "app=vllm"), ("deploy/vllm", "-l", "app=vllm")):
        incident, _, report = one(cluster, answers, *arguments)
        assert (len(report["incidents"]), incident["root"]["process"]["pod"]) == (1, "vllm-1")


def test_a_pod_that_cannot_start_is_no_healthy_pod(cluster):
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    }
    answers = {"get pod/vllm-0 -o json": pod(phase="Pending", conditions=[unscheduled])}
    status, report, _ = cluster(answers, "vllm-0", events=[event("FailedScheduling", "0/3 nodes are available")])

    assert (status, report["incidents"]) == (3, [])
    assert report["coverage"]["notes"][0] == (
        "vllm-0 is Pending: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    )


def test_an_image_that_cannot_be_pulled(cluster):
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "registry.example/vllm:1"'}}
    status, report, _ = cluster({"get pod/vllm-0 -o json": pod(container("vllm", waiting), phase="Pending")}, "vllm-0")

    assert status == 3
    assert report["coverage"]["notes"][0].startswith(
        'Container vllm of vllm-0 waits (ImagePullBackOff: Back-off pulling image "registry.'
    )


def test_a_log_that_is_gone_is_noted_and_the_rest_is_read(cluster):
    incident, _, report = one(
        cluster,
        {
            "get pod/vllm-0 -o json": pod(container("vllm", RUNNING, terminated("Error", 1), 1)),
            "logs vllm-0 -c vllm": CRASH,
        },
    )

    assert incident["root"]["source"] == "vllm-0/vllm"
    assert any("logs vllm-0 -c vllm --previous" in note and "NotFound" in note for note in report["coverage"]["notes"])


def test_events_that_may_not_be_read_are_told_of(cluster):
    answers = {
        "get pod/vllm-0 -o json": pod(container("vllm", RUNNING)),
        "get events --field-selector involvedObject.name=vllm-0 -o json": None,
        "logs vllm-0 -c vllm": CRASH,
    }
    status, report, complaints = cluster(answers, "vllm-0")

    assert (status, report["incidents"][0]["root"]["message"]) == (3, "width 7 is odd")
    assert complaints.startswith("diagnose: events of vllm-0: Error from server (NotFound)")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("missing",), "diagnose: kubectl: Error from server (NotFound): get pod/missing -o json"),
        (("-l", "app=none"), "diagnose: app=none: no pods found"),
        (("node/a",), "diagnose: node/a: a Node has no pods of its own (expected a pod or a workload)"),
        ((), "Error: name a pod, or choose pods with -l"),
    ],
)
def test_what_cannot_be_asked_is_refused(cluster, arguments, complaint):
    answers = {"get pods -l app=none -o json": {"items": []}, "get node/a -o json": {"kind": "Node"}}
    status, report, complaints = cluster(answers, *arguments)

    assert (status, report) == (2, None)
    assert complaint in complaints


def test_without_kubectl_there_is_one_clear_sentence():
    done = subprocess.run(
        live.tool("kubectl", "vllm-0"), capture_output=True, timeout=60, check=False,
        env=live.environment(KUBECTL="/nonexistent/kubectl"),
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr == b"diagnose: /nonexistent/kubectl was not found; it is needed to reach the cluster\n"


def test_the_entry_point_is_the_plugin(monkeypatch, capsys):
    from diagnoser.__main__ import kubectl

    monkeypatch.setattr(sys, "argv", ["kubectl-diagnose", "--help"])
    with pytest.raises(SystemExit) as left:
        kubectl()

    assert left.value.code == 0
    assert "Diagnose pods" in capsys.readouterr().out
