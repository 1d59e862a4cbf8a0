"""Every attack of `attacks.json`, standing in a log, through every kind of input and into every format."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import shlex
import sys
import tarfile
import threading
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import crash_logs
import html5lib
import pytest
from hostile.invariants import check_rendered, validator

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue
from diagnoser.model import Report
from diagnoser.pipeline import analyse
from diagnoser.sources import open_sources

BAD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\U000e0000-\U000e0fff]"
)


def log_with(attack: str) -> str:
    """A crash in which the attack is in the message, a path, a function, source text, arguments and other records."""
    # Python prints a path between quotation marks as it is: one that holds some, or a line end, has no end.
    place = "".join(char for char in attack if char.isprintable() and char != '"')[:200]
    frames = ((f"/opt/venv/{place}/a.py", 7, f"f{place}", f"assert {place}"), *crash_logs.WORKER_FRAMES)
    log = crash_logs.prefixed("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"])
    arguments = f"non-default args: {{'model': {attack!r}, 'port': '{attack}', 'tensor_parallel_size': 2}}"
    log += crash_logs.prefixed("APIServer", 10, "INFO", "utils.py:233", [arguments])
    log += crash_logs.prefixed("APIServer", 10, "WARNING", "a.py:1", [f"said: {attack}"])
    worker = ["WorkerProc hit an exception.", *crash_logs.traceback(frames, f"ValueError: bad value {attack} here")]
    log += crash_logs.prefixed("Worker_TP1", 101, "ERROR", "multiproc_executor.py:1007", worker)
    log += crash_logs.running_crash("ValueError: unused", ranks=(), quoted=f"bad value {attack} here")
    return "\n".join(log) + "\n"


def test_the_list_is_long_enough(request: pytest.FixtureRequest) -> None:
    from hostile.conftest import ATTACKS

    assert len(ATTACKS) >= 60


@cache
def plain(kind: str) -> dict[str, str]:
    report = diagnose(log_with("harmless"))
    return check_rendered(report)


def test_attack_reaches_no_format(attack: str, catalogue: Catalogue) -> None:
    report = diagnose(log_with(attack), catalogue=catalogue)
    shown = check_rendered(report, twice=False)

    assert report.incidents
    for name, text in shown.items():
        assert BAD.findall(text) == [], name
        assert "49" not in text or "49" in log_with(attack)
    assert list(validator().iter_errors(json.loads(shown["json"]))) == []
    assert html_elements(shown["html"]) <= html_elements(plain("")["html"]) | {
        "p",
        "code",
        "br",
        "details",
        "summary",
        "li",
        "ul",
        "ol",
    }
    assert ElementTree.fromstring(shown["junit"].encode()).tag == "testsuites"
    assert github_commands(shown["github"]) <= {"error", "warning", "notice", "group", "stop-commands", "endgroup"}
    assert "root:x:0" not in shown["json"]


def html_elements(page: str) -> set[str]:
    """Names of the page's elements; fails on handlers, styles and addresses that run something."""
    tree = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False).parse(page)
    found = set()
    for element in tree.iter():
        if isinstance(element.tag, str):
            found.add(element.tag)
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                assert name not in ("href", "src", "action") or value.startswith(("#", "https://", "http://"))
    return found


def github_commands(text: str) -> set[str]:
    """What the runner would obey."""
    obeyed: set[str] = set()
    mark = None
    for line in re.split(r"[\r\n]+", text):
        found = re.match(r"\s*::([\w-]+)[^:]*::(.*)", line)
        if mark is not None:
            mark = None if found and found[1] == mark else mark
        elif found:
            obeyed.add(found[1])
            mark = found[2].strip() if found[1] == "stop-commands" else None
        elif "##[" in line or "##vso[" in line:
            obeyed.add(line)
    assert mark is None
    return obeyed


class Everything(dict[str, Any]):
    """Has the same value under every name."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> Any:
        return self.value


@cache
def commands(catalogue: Catalogue) -> tuple[tuple[str, str], ...]:
    return tuple(
        (rule.id, step.run)
        for rule in catalogue.rules.values()
        for step in rule.remedies
        if step.run and "{{" in step.run
    )


def words(command: str) -> list[str]:
    """The words and operators of a command line, as a shell reads them."""
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    return list(reader)


def filled_with(value: str, text: str) -> str | None:
    from diagnoser.catalogue.templates import render

    names = frozenset(re.findall(r"[a-z_]\w*", text)) - {
        "facts",
        "failure",
        "shq",
        "int",
        "default",
        "if",
        "else",
        "endif",
    }
    variables = dict.fromkeys(names, value) | {"facts": Everything(value), "failure": Everything(value)}
    return render(text, variables, command=True)


def test_commands_hold_no_more_words_than_they_should(attack: str, catalogue: Catalogue) -> None:
    """Every command of every rule, each value in it an attack: it stays inside its word, or the command is dropped."""
    for rule, text in commands(catalogue):
        filled = filled_with(attack, text)
        if filled is None or not attack.strip("0123456789"):
            continue
        shown = words(filled)
        if any(attack in word for word in (filled, *shown)):  # a rule may also do without the value
            expected = [word.replace("harmless", attack) for word in words(filled_with("harmless", text) or "")]
            assert shown == expected, (rule, filled)


# Kinds of input. Each is given the text and a folder and gives what `open_sources` is to read.


def as_tar(data: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        info = tarfile.TarInfo("../../x/worker.log")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def as_zip(data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("/abs/worker.log", data)
    return stream.getvalue()


def as_zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return bytes(zstd.compress(data))


def collected(wrap: Callable[[str], str]) -> Callable[[bytes], bytes]:
    def convert(data: bytes) -> bytes:
        lines = data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
        return "".join(wrap(line) + "\n" for line in lines).encode("utf-8", "surrogateescape")

    return convert


FILES: dict[str, Callable[[bytes], bytes]] = {
    "a.log": bytes,
    "a.log.gz": gzip.compress,
    "a.log.bz2": bz2.compress,
    "a.log.xz": lzma.compress,
    "a.log.zst": as_zstd,
    "a.tar": as_tar,
    "a.tgz": lambda data: gzip.compress(as_tar(data)),
    "a.zip": as_zip,
    "crlf.log": lambda data: data.replace(b"\n", b"\r\n"),
    "bom.log": lambda data: b"\xef\xbb\xbf" + data,
    "cri.log": collected(lambda line: f"2025-03-14T10:20:30.123456789Z stderr F {line}"),
    "kubectl.log": collected(lambda line: f"[pod/vllm-0/main] {line}"),
    "syslog.log": collected(lambda line: f"Mar 14 10:20:30 host-a vllm[77]: {line}"),
    "compose.log": collected(lambda line: f"vllm-1  | {line}"),
    "stamped.log": collected(lambda line: f"2025-03-14T10:20:30.216Z {line}"),
    "docker.log": collected(
        lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-03-14T10:20:30Z"})
    ),
    "journal.log": collected(lambda line: json.dumps({"MESSAGE": line, "_PID": "77", "SYSLOG_IDENTIFIER": "vllm"})),
}


@pytest.mark.parametrize("form", FILES)
def test_attack_in_every_kind_of_file(form: str, tmp_path: Path, catalogue: Catalogue) -> None:
    from hostile.conftest import ATTACKS

    for name, attack in ATTACKS.items():
        text = log_with(attack).encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
        path = tmp_path / form
        path.write_bytes(FILES[form](text))
        report = read([str(path)], catalogue)
        assert report.incidents, (form, name)
        root = report.incidents[0].root
        assert root.type == "ValueError" or "Traceback" in attack, (form, name, root)
        check_rendered(report, ("json",), twice=False)


def read(paths: list[str], catalogue: Catalogue, stdin: Any = None) -> Report:
    sources, errors = open_sources(paths, stdin=stdin)
    assert errors == []
    return analyse(sources, catalogue)


def test_attack_through_a_pipe(attack: str, catalogue: Catalogue) -> None:
    data = log_with(attack).encode("utf-8", "replace")
    receiver, sender = os.pipe()

    def feed() -> None:
        with os.fdopen(sender, "wb") as stream:
            stream.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    with os.fdopen(receiver, "rb") as stream:
        report = read(["-"], catalogue, stream)
    thread.join()

    assert report.incidents[0].root.type == "ValueError" or "Traceback" in attack


def test_attack_as_lines_and_as_bytes_says_the_same(attack: str, catalogue: Catalogue) -> None:
    text = log_with(attack)

    def lines() -> Iterator[str]:
        yield from text.split("\n")[:-1]

    reports = [diagnose(source, catalogue=catalogue) for source in (text, text.encode("utf-8", "replace"), lines())]
    assert len({check_rendered(report, ("json",), twice=False)["json"] for report in reports}) == 1


def test_attack_as_the_name_of_a_file(attack: str, tmp_path: Path, catalogue: Catalogue) -> None:
    name = attack.replace("/", "_").replace("\x00", "")[:100].encode("utf-8", "replace").decode() + ".log"
    path = tmp_path / name
    path.write_text("\n".join(crash_logs.running_crash("ValueError: width 7 is odd")) + "\n")
    sources, errors = open_sources([str(tmp_path)])
    if name.startswith(".") or not sources:
        return
    shown = check_rendered(analyse(sources, catalogue), twice=False)

    assert errors == []
    for text in shown.values():
        assert BAD.findall(text) == []


def test_attack_as_a_name_inside_an_archive(attack: str, tmp_path: Path, catalogue: Catalogue) -> None:
    data = "\n".join(crash_logs.running_crash("ValueError: width 7 is odd")).encode()
    path = tmp_path / "bundle.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(f"x/{attack.encode('utf-8', 'replace').decode()}/worker.log".replace("\x00", ""))
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    shown = check_rendered(read([str(path)], catalogue), twice=False)

    for text in shown.values():
        assert BAD.findall(text) == []
