"""Finds the command that starts vLLM in words, in a `docker run` line and in a shell script.

    export MOONCAKE_CONFIG_PATH=/etc/mooncake.json
    VLLM_HOST_IP=192.0.2.10 exec vllm serve /srv/models/m \\
        --tensor-parallel-size ${TP:-8}

Only what stands in the text is read: nothing is run, and a variable that the script does not set is taken from the
given environment or left as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from diagnoser.preflight.deployment import Container
from diagnoser.records import NamedTuple

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^{}]*))?\})")
_IMAGE = re.compile(r"(?:^|/)vllm(?:-openai|-cpu|-ascend|-rocm)?(?:-[\w.-]+)?(?::(?P<tag>[\w.-]+))?(?:@sha256:\w+)?$")
_IMAGE_WORDS = re.compile(r"vllm[-/](?:openai|cpu|ascend|rocm|tpu)|/vllm(?::|$)")
_TAG_VERSION = re.compile(r"^v?(\d+\.\d+(?:\.\d+)?(?:rc\d+)?(?:\.post\d+)?)")
_MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "vllm.entrypoints.launchers")
_REDIRECTION = re.compile(r"(?<=\s)(?:\d|&)?(?:>>?|<)\s*(?:&\d|[^\s;&|<>'\"]+)(?=\s|[;&|]|$)")
_SCRIPT_FLAG = re.compile(r"-[a-z]*c")
_SEPARATORS = frozenset((";", "&&", "||", "|", "&", "(", ")", "|&", ";;", "{", "}"))


class Launch(NamedTuple):
    """A vLLM command that was found."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = {}
    served: bool = True
    """True for `vllm serve`, whose first bare word is the model."""
    line: int | None = None
    container: Container | None = None
    image_version: str | None = None
    entrypoint: str = "vllm serve"


def find_launch(words: Sequence[str]) -> Launch | None:
    """The vLLM command in the words of one command line; None when they hold none."""
    environment: dict[str, str] = {}
    for position, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        rest = list(words[position + 1 :])
        if name == "vllm" and rest[:1] == ["serve"]:
            return Launch(tuple(rest[1:]), environment)
        if word == "-m" and rest and rest[0].startswith(_MODULES):
            return Launch(tuple(rest[1:]), environment, served=False, entrypoint=f"python -m {rest[0]}")
        if word == "-m" and rest[:2] in (["vllm.entrypoints.cli.main", "serve"], ["vllm", "serve"]):
            return Launch(tuple(rest[2:]), environment)
        if name in ("docker", "podman", "nerdctl") and rest[:1] == ["run"]:
            return _container_launch(rest[1:], environment)
        if name in ("sh", "bash", "zsh"):
            at = next((number for number, flag in enumerate(rest[:3]) if _SCRIPT_FLAG.fullmatch(flag)), None)
            if at is not None:
                return _inner(rest[at + 1 : at + 2], environment)
        if found := _ASSIGNMENT.fullmatch(word):
            environment[found[1]] = found[2]
    return None


def _inner(script: Sequence[str], environment: Mapping[str, str]) -> Launch | None:
    for launch in find_in_script(script[0], environment) if script else ():
        return launch._replace(environment={**environment, **launch.environment})
    return None


def is_image(name: str) -> bool:
    """Whether a container image is one of vLLM's, whose entry point is the server."""
    return bool(_IMAGE.search(name) or _IMAGE_WORDS.search(name))


def image_version(name: str) -> str | None:
    """The vLLM release that an image's tag states."""
    found = _IMAGE.search(name)
    tag = found["tag"] if found else name.rpartition(":")[2]
    version = _TAG_VERSION.match(tag or "")
    return version[1] if version else None


def _container_launch(words: list[str], outside: Mapping[str, str]) -> Launch | None:
    """The launch inside `docker run [options] IMAGE [arguments]`."""
    from diagnoser.preflight.numbers import size

    environment = dict(outside)
    shm: int | None = None
    settings: dict[str, list[str]] = {}
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        option, equals, attached = word.partition("=")
        if option in ("-e", "--env", "--shm-size", "--ipc", "--network", "--net", "--cap-add", "--device", "--ulimit"):
            value = attached if equals else (words[position + 1] if position + 1 < len(words) else "")
            settings.setdefault(option, []).append(value)
        elif word == "--privileged":
            settings["--privileged"] = [""]
        elif is_image(word) and not before.startswith(("-e", "-v", "--name", "--env", "--volume")):
            for pair in (*settings.get("-e", ()), *settings.get("--env", ())):
                name, equals, value = pair.partition("=")
                if equals:
                    environment[name] = value
            shm = size(settings["--shm-size"][-1]) if "--shm-size" in settings else None
            container = Container(
                shm,
                "host" in settings.get("--ipc", ()),
                "host" in (*settings.get("--network", ()), *settings.get("--net", ())),
                "--privileged" in settings,
                tuple(settings.get("--cap-add", ())),
                tuple(settings.get("--device", ())),
                memlock_unlimited=any(value.startswith("memlock=-1") for value in settings.get("--ulimit", ())) or None,
            )
            rest = words[position + 1 :]
            inner = find_launch(rest)
            launch = inner or Launch(tuple(rest), served=False, entrypoint="the image's entry point")
            return launch._replace(
                environment={**environment, **launch.environment},
                container=container,
                image_version=image_version(word),
            )
    return None


def find_in_script(text: str, environment: Mapping[str, str] | None = None) -> Iterator[Launch]:
    """Every vLLM command of a shell script, with the variables that are set by then."""
    outside = dict(environment or {})
    variables = dict(outside)
    exported: dict[str, str] = {}
    for number, line in _logical_lines(text):
        for words in _commands(line):
            words = [_expanded(word, variables) for word in words]
            while words and words[0] in ("export", "declare", "readonly", "local", "-x"):
                words = words[1:]
            assigned = [_ASSIGNMENT.fullmatch(word) for word in words]
            if words and all(assigned):
                pairs = {found[1]: found[2] for found in assigned if found}
                variables.update(pairs)
                exported.update(pairs)
                continue
            launch = find_launch(words)
            if launch is not None:
                yield launch._replace(environment={**exported, **launch.environment}, line=number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined; the number is that of the first."""
    start, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.rstrip()
        if not parts and bare.lstrip().startswith("#"):
            continue
        start = start if parts else number
        if bare.endswith("\\") and not bare.endswith("\\\\"):
            parts.append(bare[:-1])
            continue
        joined = " ".join((*parts, bare))
        if _open_quote(joined):
            parts = [joined]
            continue
        parts = []
        if joined.strip():
            yield start, joined
    if parts:
        yield start, " ".join(parts)


def _open_quote(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def _commands(line: str) -> Iterator[list[str]]:
    """The words of each command in a line."""
    lexer = shlex.shlex(_REDIRECTION.sub(" ", line), posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    try:
        for word in lexer:
            if word in _SEPARATORS:
                if words:
                    yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # an open quote at the end of the file
        pass
    if words:
        yield words


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if variables.get(name):
            return variables[name]
        return found[3] if found[3] is not None else found[0]

    return _VARIABLE.sub(value, word)
