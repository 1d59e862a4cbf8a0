"""Secrets leave every text of a report, what the diagnosis needs stays."""

import string
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.model import (
    Diagnosis,
    Evidence,
    ExceptionInfo,
    Fact,
    Failure,
    Frame,
    Incident,
    Process,
    Report,
    ToolInfo,
)
from diagnoser.redaction import Redactor, redact
from diagnoser.redaction.hosts import Hosts
from diagnoser.redaction.tokens import find_secrets

HF = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"
OPENAI = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0"
GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJpbnZlbnRlZCJ9.c2lnbmF0dXJlLWhlcmU"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEinvented0123456789\n-----END RSA PRIVATE KEY-----"


def clean(text: str, code: bool = False) -> str:
    return Redactor().text(text, code)


def test_tokens_are_known_by_their_shape() -> None:
    cases = {
        f"token {HF} refused": "token [redacted:hf-token:1] refused",
        f"{OPENAI} is wrong": "[redacted:api-key:1] is wrong",
        "nvapi-" + "0123456789abcdefghij_-XYZ": "[redacted:api-key:1]",
        "id AKIA" + "IOSFODNN7EXAMPLE.": "id [redacted:aws-key:1].",
        "AIza" + "SyA0123456789abcdefghijklmnopqrstuv": "[redacted:gcp-key:1]",
        "abc8Q~" + "0123456789abcdefghijABCDEFGHIJ0123": "[redacted:azure-key:1]",
        f"clone with {GITHUB}": "clone with [redacted:github-token:1]",
        "github_pat_" + "0123456789abcdefghijAB_xyz": "[redacted:github-token:1]",
        "glpat-" + "0123456789abcdefghij": "[redacted:gitlab-token:1]",
        "xoxb-" + "123456789012-abcdefghijkl": "[redacted:slack-token:1]",
        "https://hooks.slack.com/services/" + "T00000000/B00000000/abcdefghij": (
            "https://hooks.slack.com/services/[redacted:slack-token:1]"
        ),
        f"got {JWT}, expired": "got [redacted:jwt:1], expired",
        KEY: "[redacted:private-key:1]",
        KEY.split("-----END")[0] + "and the rest is cut": "[redacted:private-key:1]",
    }

    assert {text: clean(text) for text in cases} == cases


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--api-key s3cr3t-value --port 8000", "--api-key [redacted:key:1] --port 8000"),
        ("--api-key=hunter --port 8000", "--api-key=[redacted:key:1] --port 8000"),
        ("['--api-key', 's3cr3t', '--port']", "['--api-key', '[redacted:key:1]', '--port']"),
        (
            "args: {'api_key': ['one1', 'two2'], 'port': 8000}",
            "args: {'api_key': ['[redacted:key:1]', '[redacted:key:2]'], 'port': 8000}",
        ),
        ("api_key='s3cr3t', model='m'", "api_key='[redacted:key:1]', model='m'"),
        ('{"apiKey": "s3cr3t"}', '{"apiKey": "[redacted:key:1]"}'),
        (r"{\"api_key\": \"s3cr3t\"}", r"{\"api_key\": \"[redacted:key:1]\"}"),
        ("HF_TOKEN=abc export", "HF_TOKEN=[redacted:token:1] export"),
        ("HUGGING_FACE_HUB_TOKEN: abcdef", "HUGGING_FACE_HUB_TOKEN: [redacted:token:1]"),
        ("DB_PASS=swordfish", "DB_PASS=[redacted:password:1]"),
        ("MY_SERVICE_TOKEN=a1b2c3d4e5f6g7h8i9", "MY_SERVICE_TOKEN=[redacted:token:1]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=[redacted:key:1]"),
        ("password: hunter2\nport: 1", "password: [redacted:password:1]\nport: 1"),
        ("password: hunter", "password: [redacted:password:1]"),
        ("AccountName=x;AccountKey=abc+def==;End=1", "AccountName=x;AccountKey=[redacted:key:1];End=1"),
        ("redis://:pa:ss@cache:6379/0", "redis://:[redacted:url-password:1]@cache:6379/0"),
        ("https://bob:pw@host/path", "https://bob:[redacted:url-password:1]@host/path"),
        ("https://a1b2c3d4e5f6g7h8i9@host/x.git", "https://[redacted:url-password:1]@host/x.git"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted:authorization:1]"),
        ("-H 'Authorization: Basic dXNlcjpwdw=='", "-H 'Authorization: Basic [redacted:authorization:1]'"),
        ("{'authorization': 'Bearer abc', 'x': 1}", "{'authorization': 'Bearer [redacted:authorization:1]', 'x': 1}"),
        ("(b'authorization', b'Bearer abc')", "(b'authorization', b'Bearer [redacted:authorization:1]')"),
        ("sent Bearer abcdefghijklmnop1", "sent Bearer [redacted:authorization:1]"),
        ("Cookie: sid=abc; theme=dark", "Cookie: [redacted:cookie:1]"),
        ("'cookie': 'sid=abc'", "'cookie': '[redacted:cookie:1]'"),
        ("Set-Cookie: sid=abc; Path=/", "Set-Cookie: [redacted:cookie:1]"),
        ("GET /x?sig=a1b2c3d4e5f6g7h8i9%3D&se=1", "GET /x?sig=[redacted:secret:1]&se=1"),
        ("X-Amz-Signature=0123456789abcdef&X", "X-Amz-Signature=[redacted:secret:1]&X"),
        ("api_key = 'never closed and more", "api_key = '[redacted:key:1] closed and more"),
    ],
)
def test_values_are_known_by_the_name_before_them(text: str, expected: str) -> None:
    assert expected == clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=2048, token_ids=[1, 2, 3], num_tokens: 128, max_num_batched_tokens=8192",
        "tokenizer='example-org/Example-8B-Instruct', tokenizer_mode=auto, skip_tokenizer_init=False",
        "bos_token='<|begin_of_text|>', eos_token: </s>, pad_token=<pad>, next_token=Paris",
        "KeyError: 'token'",
        "KeyError: 'api_key'",
        "metadata key: mooncake/ram/10.20.1.7:15428 not found",
        "GET /metadata?key=mooncake/ram/10.20.1.7:15428",
        "torch.compile cache key: 3f1c2a9b8d7e6f5a4b3c2d1e0f9a8b7c",
        "sha256:9f2c4e61d0b7a3859f2c4e61d0b7a3859f2c4e61d0b7a3859f2c4e61d0b7a385",
        "shapes torch.Size([4096, 128256]) and [1, 8, 128]",
        "num_key_value_heads=8, key_cache.shape=(2, 16), query_key_value.weight",
        "model org/disk-optimized-task-model-v2, vllm 0.11.0rc2+cu128, sk-learn-like-name-without-number",
        "api_key=None, hf_token=None, VLLM_API_KEY=EMPTY, password=***, token=$HF_TOKEN",
        "api_key=args.api_key, token=self.token, password=get_password()",
        "api_key: Optional[str] = None",
        "argument --api-key: expected at least one argument",
        "Pass --hf-token to download gated models; password: must not be empty",
        "the pass=2 of the compiler, pass: fusion",
        "PWD=/srv/models OLDPWD=/root",
        "design: config, signal=9, assign = x",
        "request chatcmpl-5f1c0a9b8d7e6f5a4b3c2d1e0f9a8b7c finished",
        "cookie: none was sent",
        "see https://docs.vllm.ai/en/latest/@user and git@example.org:x/y.git",
        "Authorization: required",
    ],
)
def test_what_the_diagnosis_needs_stays(text: str) -> None:
    assert text == clean(text)


def test_unquoted_values_in_code_are_names_of_variables() -> None:
    assert clean("client = Client(api_key=key, token=token)", code=True) == "client = Client(api_key=key, token=token)"
    assert clean("Client(api_key='abc')", code=True) == "Client(api_key='[redacted:key:1]')"


def report_with(*texts: str) -> Report:
    frame = Frame("/home/dana/app.py", 3, "f", f"connect(token='{HF}')")
    root = Failure(
        "exception",
        Process(name="Worker_TP0", host="node-a"),
        "worker.log",
        1,
        2,
        exceptions=(ExceptionInfo("ValueError", texts[0], (frame,)),),
    )
    diagnosis = Diagnosis(
        "rule-a",
        "title",
        "config",
        "certain",
        "cause",
        captures=(("api_key", "s3cr3t"), ("size", "8")),
        evidence=tuple(Evidence("worker.log", 1, text) for text in texts),
    )
    return Report(
        "diagnosed",
        "summary",
        ToolInfo("0"),
        facts=(("hf_token", Fact("plain-word", "worker.log", 1)), ("port", Fact(8000, "worker.log", 1))),
        incidents=(Incident(root, "crash", "00", diagnoses=(diagnosis,)),),
    )


def test_every_text_of_a_report_is_looked_through() -> None:
    report = redact(report_with(f"401 for {HF}", "--api-key longsecret99", "the value longsecret99 again"))
    incident = report.incidents[0]

    assert incident.root.message == "401 for [redacted:hf-token:1]"
    assert incident.root.frames[0].code == "connect(token='[redacted:hf-token:1]')"
    assert [item.text for item in incident.diagnoses[0].evidence] == [
        "401 for [redacted:hf-token:1]",
        "--api-key [redacted:key:1]",
        "the value [redacted:key:1] again",
    ]
    assert incident.diagnoses[0].captures == (("api_key", "[redacted:secret:2]"), ("size", "8"))
    assert (
        ("hf_token", Fact("[redacted:secret:1]", "worker.log", 1)),
        ("port", Fact(8000, "worker.log", 1)),
    ) == report.facts
    assert report.redactions == (("hf-token", 1), ("key", 1), ("secret", 2))


def test_a_report_without_secrets_is_the_same_object() -> None:
    report = redact(report_with(HF))
    again = redact(report._replace(redactions=()))

    assert again is not report
    assert again == report._replace(redactions=())


def test_hosts_are_kept_unless_asked_for() -> None:
    text = "10.20.1.7 and node-a.cluster.local"

    assert text == redact(report_with(text)).incidents[0].root.message


def test_hosts_pods_addresses_and_users() -> None:
    report = redact(report_with("http://10.20.1.7:8998 on node-a, again 10.20.1.7, local_hostname=node-b"), hosts=True)
    root = report.incidents[0].root

    assert root.message == (
        "http://[redacted:ip:1]:8998 on [redacted:host:1], again [redacted:ip:1], local_hostname=[redacted:host:2]"
    )
    assert root.process.host == "[redacted:host:1]"
    assert root.frames[0].path == "/home/[redacted:user:1]/app.py"


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:8000, 0.0.0.0, ::1 and localhost",
        "nvidia-cudnn-cu12==9.1.0.70, driver 550.54.15.1, version 1.2.3.4",
        "tcp://localhost:5555 https://huggingface.co/org/model https://docs.vllm.ai/x",
        "c10::Error at 12:30:45, std::vector<int>, torch::jit",
        "hostname: None, host=args.host(",
    ],
)
def test_what_only_looks_like_a_host_stays(text: str) -> None:
    found = Hosts({})

    assert found.find(text) == []


def test_ipv6() -> None:
    assert ["peer [fd00:10::a1]:8998"[s.start : s.end] for s in Hosts({}).find("peer [fd00:10::a1]:8998")] == [
        "fd00:10::a1"
    ]


def test_redacting_twice_changes_nothing() -> None:
    once = redact(
        report_with(f"Authorization: Bearer abc, api_key={OPENAI} http://10.20.1.7/", "password: hunter2"), hosts=True
    )
    twice = redact(once, hosts=True)

    assert once._replace(redactions=()) == twice._replace(redactions=())


@given(st.text(alphabet=string.printable, max_size=300))
def test_spans_are_ordered_and_inside_the_text(text: str) -> None:
    spans = [*find_secrets(text), *find_secrets(text + KEY + text)]

    assert all(0 <= span.start < span.end for span in spans)
    first = find_secrets(text)
    assert all(before.end <= after.start for before, after in pairwise(first))


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_token_is_found_wherever_it_stands(before: str, after: str) -> None:
    assert HF not in clean(f"{before} {HF} {after}")


@pytest.mark.parametrize(
    "piece",
    [
        "token='",
        "key_",
        'api_key="',
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "cookie: a",
        "::",
        "1.2.",
        "authorization: ",
        "=",
        "a",
    ],
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def took(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.perf_counter()
        find_secrets(text)
        Hosts({"node-a": "host"}).find(text)
        return time.perf_counter() - started

    small = max(took(20_000), 0.002)

    assert took(200_000) < 60 * small
