"""Python tracebacks in the shapes that logs print them in."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser import diagnose
from diagnoser.parsers.lines import Line
from diagnoser.parsers.python import parse, parse_headless


def chains(text: str):
    return parse([Line(body, number) for number, body in enumerate(textwrap.dedent(text).strip("\n").split("\n"), 1)])


def only(text: str):
    found = chains(text)
    assert len(found) == 1
    return found[0].exceptions


def test_markers_and_elisions_are_not_source_text():
    (error,) = only("""
        Traceback (most recent call last):
          File "/opt/venv/lib/python3.13/site-packages/vllm/a.py", line 3, in f
            g(
            ~^
                first,
                ^^^^^^
            ...<3 lines>...
                last)
                ^^^^^
          File "/opt/venv/lib/python3.13/site-packages/vllm/a.py", line 9, in g
            assert x == 1
                   ^^^^^^
        AssertionError
        """)

    assert [(frame.line, frame.function, frame.code) for frame in error.frames] == [
        (3, "f", "g(\nfirst,\nlast)"),
        (9, "g", "assert x == 1"),
    ]
    assert (error.type, error.message) == ("AssertionError", "")


def test_cause_and_context_are_told_apart():
    first, second, third = only("""
        Traceback (most recent call last):
          File "a.py", line 1, in f
            open(path)
        FileNotFoundError: [Errno 2] No such file or directory: 'x'

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "a.py", line 4, in g
            raise ValueError("no config") from error
        ValueError: no config

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "a.py", line 9, in h
            clean_up()
        KeyError: 'x'
        """)

    assert [first.link, second.link, third.link] == ["cause", "context", None]
    assert [item.short_type for item in (first, second, third)] == ["FileNotFoundError", "ValueError", "KeyError"]


def test_a_note_that_repeats_the_traceback_is_dropped():
    assert (
        len(
            only("""
        Traceback (most recent call last):
          File "a.py", line 1, in f
            g()
        ValueError: boom
        Traceback (most recent call last):
          File "a.py", line 1, in f
            g()
        ValueError: boom
        """)
        )
        == 1
    )


def test_recursion_keeps_the_message():
    (error,) = only("""
        Traceback (most recent call last):
          File "a.py", line 2, in f
            f()
          File "a.py", line 2, in f
            f()
          [Previous line repeated 990 more times]
        RecursionError: maximum recursion depth exceeded
        """)

    assert (error.type, error.message, len(error.frames)) == ("RecursionError", "maximum recursion depth exceeded", 2)


def test_group_yields_its_members_before_itself():
    member, other, group = only("""
          + Exception Group Traceback (most recent call last):
          |   File "a.py", line 3, in main
          |     async with TaskGroup() as group:
          | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
          +-+---------------- 1 ----------------
            | Traceback (most recent call last):
            |   File "a.py", line 10, in pull
            |     raise ValueError("block 7 is gone")
            | ValueError: block 7 is gone
            +---------------- 2 ----------------
            | Traceback (most recent call last):
            |   File "a.py", line 20, in push
            |     raise TypeError("no")
            | TypeError: no
            +------------------------------------
        """)

    assert [(item.type, item.message) for item in (member, other)] == [
        ("ValueError", "block 7 is gone"),
        ("TypeError", "no"),
    ]
    assert member.frames[-1].function == "pull"
    assert group.type == "ExceptionGroup"


def test_header_at_the_end_of_a_line_keeps_the_text_before_it():
    (chain,) = chains("""
        Exception in worker VllmWorkerProcess while processing method init_device: boom, Traceback (most recent call last):
          File "a.py", line 1, in init_device
            check()
        RuntimeError: boom
        """)

    assert chain.header == "Exception in worker VllmWorkerProcess while processing method init_device: boom"


def test_ray_task_error_is_taken_apart_into_both_halves():
    inner, outer = only("""
        Traceback (most recent call last):
          File "driver.py", line 25, in rpc
            return ray.get(refs)
        ray.exceptions.RayTaskError(AssertionError): ray::RayWorkerWrapper.execute_method() (pid=91, ip=192.0.2.7, actor_id=ab12, repr=<x>)
                   ^^^^^^^^^^^^
          File "/opt/venv/lib/python3.12/site-packages/vllm/worker.py", line 42, in execute_method
            return getattr(self, method)()
          File "/opt/venv/lib/python3.12/site-packages/vllm/model.py", line 11, in check
            assert a == b, "width"
        AssertionError: width
        """)

    assert (inner.type, inner.message, inner.link) == ("AssertionError", "width", "wraps")
    assert (inner.process.name, inner.process.pid, inner.process.host, inner.process.role) == (
        "RayWorkerWrapper",
        91,
        "192.0.2.7",
        "Worker",
    )
    assert [frame.function for frame in inner.frames] == ["execute_method", "check"]
    assert outer.type == "ray.exceptions.RayTaskError(AssertionError)"


def test_lost_indentation_is_read_all_the_same():
    (error,) = only("""
        Traceback (most recent call last):
        File "/opt/app/a.py", line 3, in f
        g(x)
        File "/opt/app/a.py", line 9, in g
        raise ValueError("bad block")
        ValueError: bad block
        """)

    assert [frame.code for frame in error.frames] == ["g(x)", 'raise ValueError("bad block")']
    assert (error.type, error.message) == ("ValueError", "bad block")


def test_escaped_newlines_in_a_repr_are_unfolded():
    (error,) = only(r"""
        result = "Traceback (most recent call last):\n  File \"/opt/a.py\", line 3, in f\n    g()\nKeyError: 'slot'\n"
        """)

    assert (error.type, error.frames[-1].function) == ("KeyError", "f")


def test_source_text_that_looks_like_a_traceback_stays_source_text():
    (error,) = only(r"""
        Traceback (most recent call last):
          File "a.py", line 3, in f
            raise RuntimeError("bad:\n  File \"made_up.py\", line 1, in nowhere")
        RuntimeError: bad:
          File "made_up.py", line 1, in nowhere
        """)

    assert error.message == 'bad:\n  File "made_up.py", line 1, in nowhere'
    assert [frame.path for frame in error.frames] == ["a.py"]


def test_a_traceback_without_its_head_still_names_the_error():
    text = '    self.check()\n  File "/opt/a.py", line 9, in check\n    assert ready\nAssertionError: not ready'
    (chain,) = parse_headless([Line(body, number) for number, body in enumerate(text.split("\n")[1:], 1)])

    assert (chain.exceptions[0].type, chain.exceptions[0].message) == ("AssertionError", "not ready")


def test_a_traceback_without_its_tail_keeps_its_frames():
    (error,) = only("""
        Traceback (most recent call last):
          File "a.py", line 3, in f
            g()
          File "a.py", line 9, in g
        """)

    assert (error.type, [frame.function for frame in error.frames]) == (None, ["f", "g"])


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "torch.OutOfMemoryError",
            "CUDA out of memory. Tried to allocate 2.00 GiB.",
        ),
        ("KeyError: 'layers.0.weight'", "KeyError", "'layers.0.weight'"),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
            "pydantic_core._pydantic_core.ValidationError",
            "1 validation error for ModelConfig",
        ),
        ("SystemExit: 1", "SystemExit", "1"),
        ("zmq.error.Again", "zmq.error.Again", ""),
        ("KeyboardInterrupt", "KeyboardInterrupt", ""),
    ],
)
def test_exception_lines(line, kind, message):
    (error,) = only(f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n{line}')

    assert (error.type, error.message) == (kind, message)


NAMES = st.from_regex(r"[A-Z][a-z]{1,8}(Error|Exception)", fullmatch=True)
TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60).map(str.strip)
FRAMES = st.lists(
    st.tuples(
        st.from_regex(r"/opt/[a-z]{1,8}\.py", fullmatch=True),
        st.integers(1, 9999),
        st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(NAMES, TEXT, FRAMES)
def test_what_python_prints_is_read_back(name, message, frames):
    lines = ["Traceback (most recent call last):"]
    for path, number, function in frames:
        lines += [f'  File "{path}", line {number}, in {function}', "    call(here)"]
    lines.append(f"{name}: {message}" if message else name)
    (chain,) = parse([Line(body, number) for number, body in enumerate(lines, 1)])
    (error,) = chain.exceptions

    assert (error.type, error.message) == (name, message)
    assert [(frame.path, frame.line, frame.function) for frame in error.frames] == frames


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=30))
def test_no_text_makes_the_parser_fail(bodies):
    parse([Line(body, number) for number, body in enumerate(["Traceback (most recent call last):", *bodies], 1)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "Traceback (most recent call last):",
                '  File "a.py", line 1, in f',
                "    code",
                "    ^^^^",
                "ValueError: x",
                "",
                "  | ",
                "  + Exception Group Traceback (most recent call last):",
                "  +-+---------------- 1 ----------------",
                "Process EngineCore:",
                "The above exception was the direct cause of the following exception:",
                "During handling of the above exception, another exception occurred:",
                "ray.exceptions.RayTaskError(ValueError): ray::A.f() (pid=1, ip=192.0.2.1)",
                "usage: vllm [-h]",
                "[Previous line repeated 3 more times]",
                "INFO:     Shutting down",
                "(Worker_TP0 pid=7) ERROR 03-14 10:20:30 [a.py:1] boom",
                "Fatal Python error: Segmentation fault",
                "*** SIGSEGV received at time=1 on cpu 3 ***",
            ]
        ),
        max_size=40,
    )
)
def test_no_arrangement_of_lines_makes_the_pipeline_fail(lines):
    report = diagnose("\n".join(lines), redact=False)

    assert report.verdict in ("healthy", "shutdown", "diagnosed", "unknown", "incomplete")
    for incident in report.incidents:
        assert 1 <= incident.root.line <= len(lines)


def test_a_traceback_as_message_is_the_inner_error():
    inner, outer = only("""
        Traceback (most recent call last):
          File "serve.py", line 3, in call
            raise RuntimeError(traceback.format_exc()) from None
        RuntimeError: Traceback (most recent call last):
          File "model.py", line 9, in load
            raise ValueError("bad shard")
        ValueError: bad shard
        """)

    assert (inner.type, inner.message, inner.link) == ("ValueError", "bad shard", "wraps")
    assert (outer.type, outer.frames[-1].function) == ("RuntimeError", "call")


@pytest.mark.parametrize("rule", ["-" * 75 + "\n", ""])
@pytest.mark.parametrize(
    ("cell", "frame"),
    [
        (
            "Cell In[13], line 4",
            "File ~/envs/demo/lib/python3.12/site-packages/vllm/models/lake.py:415, in Lake.load(self)",
        ),
        (
            "Input In [2], in <cell line: 1>()",
            "File /opt/venv/lib/python3.12/site-packages/vllm/models/lake.py:415, in Lake.load(self)",
        ),
        (
            "<ipython-input-3-0a1b> in <module>",
            "/opt/venv/lib/python3.12/site-packages/vllm/models/lake.py in load(self)",
        ),
    ],
)
def test_a_traceback_of_a_notebook_is_read(rule, cell, frame):
    text = (
        f"{rule}KeyError                                  Traceback (most recent call last)\n"
        f"{cell}\n      1 model = 'demo'\n----> 4 llm = LLM(model)\n      5 print(llm)\n\n"
        f"{frame}\n    414         continue\n--> 415     param = params[name]\n    416     use(param)\n\n"
        "KeyError: 'layers.0.lake.weight'\n"
    )
    (incident,) = diagnose(text).incidents
    root = incident.root
    error = root.exceptions[root.primary]
    assert (error.type, error.message, error.frame.line, error.frame.function, error.frame.code) == (
        "KeyError",
        "'layers.0.lake.weight'",
        415,
        "load",
        "param = params[name]",
    )


def test_a_traceback_of_a_notebook_may_have_one_line_of_code():
    text = (
        "TypeError                                 Traceback (most recent call last)\n"
        "Cell In[40], line 1\n----> 1 arguments = vllm.EngineArgs(model='demo', lake='x')\n\n"
        "TypeError: __init__() got an unexpected keyword argument 'lake'\n"
    )
    (incident,) = diagnose(text).incidents
    assert [item.rule for item in incident.diagnoses] == ["config-cli-argument-invalid"]


def test_the_inner_exception_of_a_chain_may_have_lost_its_header():
    inner, outer = only("""
          File "/opt/venv/lib/python3.10/site-packages/lake/interface.py", line 10, in <module>
            import lake_cuda
        ImportError: lake_cuda.so: undefined symbol: _ZN4lake4callEi

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "/srv/jobs/train.py", line 199, in <module>
            train()
        RuntimeError: Failed to import lake
        """)

    assert (inner.type, inner.frame.line, inner.link) == ("ImportError", 10, "cause")
    assert outer.type == "RuntimeError"


def test_a_second_print_that_is_cut_off_does_not_hide_the_first():
    known = "ERROR 07-28 15:07:22 [core.py:632] RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    text = (
        "ERROR 07-28 15:07:22 [core.py:632]     _ = torch.zeros(1, device=device)\n" + known + "Process EngineCore_0:\n"
        'Traceback (most recent call last):\n  File "/usr/lib/python3.12/multiprocessing/process.py", line 108, in run\n'
        "    self._target(*self._args, **self._kwargs)\n"
        '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 636, in run_engine_core\n    raise e\n'
    )
    (incident,) = diagnose(text).incidents
    root = incident.root
    assert root.exceptions[root.primary].type == "RuntimeError"
    assert incident.diagnoses[0].rule == "cuda-no-kernel-image"


def test_a_traceback_that_is_cut_off_before_others_stays_the_root_of_its_process():
    text = (
        "(EngineCore pid=7) Process EngineCore:\n(EngineCore pid=7) Traceback (most recent call last):\n"
        '(EngineCore pid=7)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 9, in run\n'
        "(EngineCore pid=7)     raise e\n"
        "(APIServer pid=3) OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use\n"
    )
    (incident,) = diagnose(text).incidents
    assert incident.root.process.role == "EngineCore"
