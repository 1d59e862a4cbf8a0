"""What a small log must not pay for at each start; the figures are in docs/performance.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOG = """\
INFO 03-14 10:20:30 [api_server.py:120] vLLM API server version 0.11.0
(EngineCore pid=4100) ERROR 03-14 10:20:31 [core.py:700] EngineCore failed to start.
(EngineCore pid=4100) ERROR 03-14 10:20:31 [core.py:700] Traceback (most recent call last):
(EngineCore pid=4100) ERROR 03-14 10:20:31 [core.py:700]   File "/opt/venv/vllm/config.py", line 12, in check
(EngineCore pid=4100) ERROR 03-14 10:20:31 [core.py:700]     assert heads % ranks == 0
(EngineCore pid=4100) ERROR 03-14 10:20:31 [core.py:700] AssertionError: 14 heads over 4 ranks
"""
SCRIPT = """\
import builtins, sys
texts, compiled = [], builtins.compile
def watched(source, *rest, **options):
    if isinstance(source, str):
        texts.append(source)
    return compiled(source, *rest, **options)
builtins.compile = watched
before = set(sys.modules)
from diagnoser.cli.main import run
from diagnoser import precompiled
status = run(sys.argv[1:])
print("TEXTS", texts)
print("PATTERNS", len(precompiled._new))
print("MODULES", *sorted(set(sys.modules) - before))
sys.exit(status)
"""


@pytest.fixture(scope="module")
def second_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("start")
    (folder / "crash.log").write_text(LOG)
    for _ in range(2):  # the first run fills the cache
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, "crash.log"],
            cwd=folder,
            env={"DIAGNOSER_CACHE": str(folder / "cache"), "PATH": "/usr/bin", "PYTHONPATH": _package()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (1, 3), done.stderr
    return {line.split()[0]: line.partition(" ")[2] for line in done.stdout.splitlines()[-3:]}


def _package() -> str:
    import diagnoser

    return str(Path(diagnoser.__file__).parent.parent)


def test_no_type_is_compiled_from_text(second_run: dict[str, str]) -> None:
    assert second_run["TEXTS"] == "[]"


def test_the_second_run_compiles_no_pattern(second_run: dict[str, str]) -> None:
    assert second_run["PATTERNS"] == "0"


def test_no_large_module_is_loaded(second_run: dict[str, str]) -> None:
    loaded = set(second_run["MODULES"].split())
    unwanted = {
        "ahocorasick_rs", "ast", "asyncio", "click", "dataclasses", "datetime", "email", "hashlib", "inspect", "isal",
        "jinja2", "json", "logging", "pathlib", "regex", "shutil", "socket", "subprocess", "tempfile", "threading",
        "tomllib", "traceback", "urllib", "uuid", "yaml", "zstandard",
    }  # fmt: skip
    assert loaded & unwanted == set()
