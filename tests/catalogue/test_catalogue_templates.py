"""Rule texts: filled from data, the same on both paths, harmless whatever the rule or the log says."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.catalogue.filters import FILTERS
from diagnoser.catalogue.sandbox import BUILTIN_FILTERS
from diagnoser.catalogue.templates import render, render_fully, simple_parts

VALUES: dict[str, Any] = {
    "heads": "12",
    "big": "262,144",
    "name": "it's $(here)",
    "evil": "{{ 7 * 7 }}{% for x in y %}",
    "empty": "",
    "facts": {"model": "/srv/models/m", "tp": 3, "util": 0.92, "eager": False, "items": "a fact", "env.X": "1"},
    "failure": {"type": "ValueError", "message": "", "process": "Worker_TP1", "host": "", "rank": 1, "pid": 7},
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain { text } %", "plain { text } %"),
        ("{{ heads }} heads", "12 heads"),
        ("{{heads|divisors|list_join}}", "1, 2, 3, 4, 6 or 12"),
        ("{{ facts.model }} on {{ facts.tp }}", "/srv/models/m on 3"),
        ("{{ facts.items }}", "a fact"),
        ("{{ facts['env.X'] }}", "1"),
        ("{{ failure.process }}", "Worker_TP1"),
        ("{{ nothing }}", None),
        ("{{ facts.nothing }}", None),
        ("{{ facts.nothing.more }}", None),
        ("{{ heads.nothing }}", None),
        ("{% if nothing %}x{{ nothing }}{% endif %}y", "y"),
        ("{% if facts.nothing %}x{% elif facts.tp %}TP {{ facts.tp }}{% else %}z{% endif %}", "TP 3"),
        ("{% if not facts.eager and heads %}a{% endif %}{% if facts.eager or nothing %}b{% endif %}", "a"),
        ("{% if empty %}a{% else %}b{% endif %}", "b"),
        ("{{ empty }}|", "|"),
        ("{{ big | int + 1 }}", "262145"),
        ("{{ name | int }}", None),
        ("{{ facts.util | round(1) }}", "0.9"),
        ("{{ facts.util * 100 }}", "92"),
        ("{{ (heads | int) / 0 }}", None),
        ("{{ facts.nothing | default(4) }}", "4"),
        ("{{ 's' if heads == '1' }}|", "|"),
        ("{{ 's' if heads == '12' }}|", "s|"),
        ("{{ heads ~ '/' ~ facts.tp }}", "12/3"),
        ("{% for n in heads | divisors | at_most(4) %}{{ n }}{{ ' ' if not loop.last }}{% endfor %}", "1 2 3 4"),
        ("{% set half = (heads | int) // 2 %}{{ half }}", "6"),
        ("{{ [heads | int, 20] | max }} {{ min(3, 4) }}", "20 3"),
        ("{% if facts.tp is version('>=2') %}a{% endif %}{% if facts.nothing is version('>=2') %}b{% endif %}", "a"),
        ("{{ valid_tp(heads, 4) | list_join }}", "1, 2, 4 or 12"),
        ("{# a note #}x", "x"),
        ("x {{ broken", None),
        ("{% if x %}never closed", None),
        ("{% endif %}", None),
        ("{{ heads | nonsense }}", None),
        ("a\r\n{{ heads }}", "a\n12"),
        ("{{ evil }}", "{{ 7 * 7 }}{% for x in y %}"),
        ("{{ evil | shq }}", "'{{ 7 * 7 }}{% for x in y %}'"),
        ("{{ none }}", None),
        ("{{ true }}", "True"),
    ],
)
def test_texts(text: str, filled: str | None) -> None:
    assert render(text, VALUES) == filled
    if "{{" in text or "{%" in text or "{#" in text:
        assert render_fully(text, VALUES) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("vllm serve {{ facts.model }} -tp {{ heads }}", "vllm serve /srv/models/m -tp 12"),
        ("echo {{ name }}", None),
        ("echo {{ name | shq }}", "echo 'it'\"'\"'s $(here)'"),
        ("echo {{ empty | shq }}", "echo ''"),
        ("echo {{ empty }}", None),
        ("echo {{ facts.util }}", "echo 0.92"),
        ("echo {{ heads | divisors | join(',') }}", "echo 1,2,3,4,6,12"),
        ("echo {{ heads | divisors | list_join }}", None),
        ("{% if heads %}a{% endif %} {{ facts.tp * 2 }}", "a 6"),
        ("{{ (facts.model ~ '/x') | shq }}", "/srv/models/m/x"),
        ("{{ 'x y' if nothing }}z", "z"),
    ],
)
def test_commands_hold_only_quoted_or_harmless_values(text: str, filled: str | None) -> None:
    assert render(text, VALUES, command=True) == filled
    assert render_fully(text, VALUES, command=True) == filled


ATTACKS = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ facts.__class__ }}",
    "{{ facts.keys() }}",
    "{{ facts['__class__'] }}",
    "{{ heads.format }}",
    "{{ heads.format(facts) }}",
    "{{ '%s' % heads }}",
    "{{ '%999999999d' % 1 }}",
    "{{ 'x' * 999999999 }}",
    "{{ [1] * 999999999 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 999999999999999999999 * 999999999999999999999 }}",
    "{{ range(999999999) | list }}",
    "{% for a in range(2000) %}{% for b in range(2000) %}x{% endfor %}{% endfor %}",
    "{% for a in range(1500) %}{{ 'x' }}{% endfor %}{% for a in range(1500) %}{% endfor %}",
    "{% for x in facts recursive %}{{ loop(facts) }}{% endfor %}",
    "{% for x in [1] %}{{ loop.cycle }}{% endfor %}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
    "{% filter upper %}x{% endfilter %}",
    "{% call range(3) %}{% endcall %}",
    "{% block x %}{% endblock %}",
    "{{ self }}",
    "{{ self._TemplateReference__context }}",
    "{{ range }}",
    "{{ lipsum }}",
    "{{ cycler }}",
    "{{ namespace(a=1) }}",
    "{{ dict(a=1) }}",
    "{{ heads | attr('__class__') }}",
    "{{ heads | map('upper') }}",
    "{{ heads | format }}",
    "{{ heads | center(999999999) }}",
    "{{ heads | tojson }}",
    "{{ heads | replace('1', 'x') }}",
    "{{ (heads | divisors)(1) }}",
    "{{ range(*[1, 2]) }}",
    "{{ heads | round(**facts) }}",
    "{{ facts | items }}",
    "{{ facts }}",
    "{{ failure }}",
    "{% set a = name ~ name %}" + "".join("{% set a = a ~ a %}" for _ in range(60)) + "{{ a }}",
    "{% set a = name + name %}" + "".join("{% set a = a + a %}" for _ in range(60)) + "{{ a }}",
    "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
    "{{ " + "-" * 5000 + "1 }}",
    "{{ 1" + " + 1" * 3000 + " }}",
    "x" * 9000 + "{{ heads }}",
    "{{ heads | int(default=(9).__class__) }}",
    "{% set heads.x = 1 %}",
    "{{ [heads] | sort(attribute='__class__') | first.__class__ }}",
    "{{ [facts] | sum(attribute='__class__') }}",
    "{% for x in range(8e887) %}{% endfor %}",
    "{{ -1e400 | abs }}",
    "{{ heads[9e999] }}",
    "{{ heads | divisors | list_join(3) }}",
    "{{ heads | divisors | list_join(heads | int) }}",
]


ARGUMENTS = (
    "",
    "(s)",
    "(n)",
    "(many)",
    "(plan)",
    "(nothing)",
    "(s, n)",
    "(n, s, many)",
    "(huge)",
    "(s=1)",
    "(default=many)",
)


@pytest.mark.parametrize("name", [*BUILTIN_FILTERS, *FILTERS])
def test_a_filter_copes_with_any_kind_of_value(name: str) -> None:
    values = {"s": "a b", "n": 14, "f": 1.5, "many": [1, "x"], "plan": {"a": 1}, "huge": 10**30, "none": None}
    for value in (*values, "nothing"):
        for argument in ARGUMENTS:
            for fill in (render, render_fully):
                filled = fill(f"{{{{ {value} | {name}{argument} }}}}", values)
                assert filled is None or isinstance(filled, str)


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_of_a_rule_text_come_to_nothing(text: str) -> None:
    start = time.perf_counter()
    for command in (False, True):
        assert render(text, VALUES, command=command) is None
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    "value",
    ["-rf", "--evil", "a\nb", "a\x1b[31m", "\u202eabc", "x" * 5000],
)
def test_values_that_quoting_does_not_tame_drop_the_command(value: str) -> None:
    assert render("rm {{ x | shq }}", {"x": value}, command=True) is None
    assert render("rm {{ x }}", {"x": value}, command=True) is None


@given(st.text(min_size=1, max_size=60))
def test_a_quoted_value_is_one_word_to_a_shell(value: str) -> None:
    import shlex

    filled = render("run {{ x | shq }} end", {"x": value}, command=True)

    assert filled is None or shlex.split(filled) == ["run", value, "end"]
    assert filled is not None or not value.isprintable() or value.startswith("-")


def test_a_quoted_value_survives_a_real_shell() -> None:
    for value in ("a b", "$(echo x)", "`echo x`", "'; echo x; '", '"$HOME"', "a'b\"c\\", "*", "~", "#x", "é 中"):
        filled = render("printf %s {{ x | shq }}", {"x": value}, command=True)
        assert filled is not None
        assert subprocess.run(["sh", "-c", filled], capture_output=True, text=True, check=True).stdout == value


NAMES = st.sampled_from(["heads", "big", "name", "evil", "empty", "nothing", "facts.model", "facts.tp", "facts.nothing", "facts.eager", "facts.util", "facts.a.b", "facts.items"])  # fmt: skip
FILTER_NAMES = st.lists(st.sampled_from(["shq", "int", "float", "round", "divisors", "gib", "list_join", "truncate", "nonsense"]), max_size=2)  # fmt: skip
OUTPUTS = st.builds(lambda name, filters: "{{ " + " | ".join([name, *filters]) + " }}", NAMES, FILTER_NAMES)
TERMS = st.builds(lambda negated, name: ("not " if negated else "") + name, st.booleans(), NAMES)
TESTS = st.builds(lambda first, rest: first + "".join(rest), TERMS, st.lists(st.builds("{} {}".format, st.sampled_from([" and", " or"]), TERMS), max_size=2))  # fmt: skip
WORDS = st.sampled_from(["a", " b\n", "{", "}}", "%}", "", "{ {", "é", "\t", "'"])
PIECES = st.recursive(
    st.one_of(WORDS, OUTPUTS),
    lambda inner: st.builds(
        lambda test, body, branches, tail: (
            f"{{% if {test} %}}{''.join(body)}"
            + "".join(f"{{%elif {t}%}}{b}" for t, b in branches)
            + (f"{{% else %}}{tail}" if tail is not None else "")
            + "{% endif %}"
        ),
        TESTS,
        st.lists(inner, max_size=3),
        st.lists(st.tuples(TESTS, inner), max_size=2),
        st.none() | inner,
    ),
    max_leaves=8,
)
TEMPLATES = st.lists(PIECES, max_size=5).map("".join)


@settings(max_examples=120, deadline=None)
@given(text=TEMPLATES, command=st.booleans())
def test_the_short_way_and_the_full_engine_agree(text: str, command: bool) -> None:
    full = render_fully(text, VALUES, command=command) if any(o in text for o in ("{{", "{%", "{#")) else text

    assert render(text, VALUES, command=command) == full


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from("{}%#| abif.ndelsh'\"()0_-\n"), max_size=40))
def test_any_text_is_filled_alike_or_not_at_all(text: str) -> None:
    full = render_fully(text, {"a": "1"}) if any(o in text for o in ("{{", "{%", "{#")) else text

    assert render(text, {"a": "1"}) == full


def test_simple_texts_do_not_load_the_engine() -> None:
    code = (
        "import sys; from diagnoser.catalogue.templates import render\n"
        "assert render('{% if a %}{{ a | shq }}{% endif %} {{ facts.b }}', {'a': 'x y', 'facts': {'b': 1}}) == \"'x y' 1\"\n"
        "assert 'jinja2' not in sys.modules"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_takes_the_full_engine() -> None:
    assert simple_parts("{{ a }} {% if b.c %}{{ d | shq }}{% endif %}") is not None
    assert all(
        simple_parts(text) is None
        for text in ("{{ a + 1 }}", "{{ a | round(1) }}", "{{- a }}", "{% if a > 1 %}{% endif %}")
    )
