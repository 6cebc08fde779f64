"""Text to sizes: valid text means what Python means by it, and no text is ever run."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import HealthCheck, example, given, settings, strategies as st

import perfmodel as pm
from perfmodel.errors import ExpressionError, PerfModelError
from perfmodel.expressions import (
    bind,
    ceil_div,
    dims,
    floor_div,
    largest,
    parse_size,
    parse_tree,
    product,
    remainder,
    size,
    smallest,
    total,
)  # fmt: skip
from perfmodel.reading import describe

m, n = dims("m n")

READABLE = {
    "3*m": 3 * m,
    " m ": m,
    "m\n": m,
    "m*(n + 2)": m * (n + 2),
    "-3 + m": m - 3,
    "m/2*2": m,
    "m//128": size("floor(m/128)"),
    "ceil(m/128)": ceil_div(m, 128),
    "ceil_div(m, 128)": ceil_div(m, 128),
    "max(m, 1)": m,
    "1e9": 10**9,
    "1_000": 1000,
    "0x10": 16,
    "2**64 // 2**60": 16,
    "7/2*2": 7,
    "2**(4/2)": 4,
    "9 % 4": 1,
    "min(4)": 4,
    "m**64": m**64,
    "m # a remark": m,
}

CODE = [
    "__import__('os').system('echo hacked')",
    "__import__('os')",
    "eval('1')",
    "exec('x = 1')",
    "open('/etc/passwd')",
    "print(1)",
    "lambda: 1",
    "(lambda x: x)(1)",
    "m.__class__",
    "m.__class__.__bases__[0].__subclasses__()",
    "().__class__",
    "f'{m}'",
    "f'{__import__(\"os\")}'",
    "(x := 3)",
    "[m for m in (1, 2)]",
    "{1: 2}",
    "{1}",
    "m[0]",
    "max(*m)",
    "max(m, key=n)",
    "max(**m)",
    "m if n else 1",
    "m and n",
    "not m",
    "m < n",
    "m == n",
    "~m",
    "+m",
    "m @ n",
    "m << 2",
    "m | n",
    "yield",
    "await m",
    "'3'",
    "b'3'",
    "True",
    "None",
    "...",
    "1j",
    "0.5*m",
    "1e400",
    "sin(m)",
    "Symbol('m')",
    "ceil(m, 2)",
    "floor()",
    "max()",
    "ceil_div(m)",
    "(m, n)",
    "m, n",
    "m ** n",
    "m ** -1",
    "m ** 0.5",
    "2 ** 65",
]

BROKEN = ["", "   ", "m +", "m n", "3m", "(m", "m)", "m = 3", "import os", "m;n", "m\x00", "\ud800", "\u221e", "\u00b2"]

HUGE = [
    "9**9**9",
    "10**64 * 10**64",
    "9" * 5000,
    "m" * 20_000,
    "(" * 5000 + "1" + ")" * 5000,
    "-" * 9000 + "1",
    "+".join("1" * 5000),
    "**".join("2" * 3000),
    "f(" * 3000 + "1" + ")" * 3000,
    "(2*" * 20 + "m" + ")**64" * 20,
    "(1 + " * 20 + "m" + ")**64" * 20,
    "m/(1 + " * 60 + "n" + ")" * 60,
    "ceil(1 + m*" * 60 + "n" + ")" * 60,
    "*".join(f"(x{i} + 1)" for i in range(500)),
    "max(" + ", ".join(f"x{i}" for i in range(100)) + ")",
]


@pytest.mark.parametrize("text", READABLE)
def test_valid_text_is_the_size_that_it_writes(text: str) -> None:
    """Numbers become ints, names the symbols of dims."""
    found = parse_size(text)
    assert found == READABLE[text]
    assert isinstance(found, int) == isinstance(READABLE[text], int)


@pytest.mark.parametrize("text", CODE)
def test_anything_but_arithmetic_is_refused(text: str) -> None:
    """Calls, attributes, lambdas, f-strings, comparisons: an error that names the field and shows the text."""
    with pytest.raises(ExpressionError, match=r"^batch = "):
        parse_size(text, "batch")


@pytest.mark.parametrize("text", BROKEN, ids=repr)
def test_broken_text_is_refused(text: str) -> None:
    """What Python itself cannot read is our error, not a SyntaxError."""
    with pytest.raises(ExpressionError, match=r"^batch"):
        parse_size(text, "batch")


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:12])
def test_text_that_would_take_for_ever_is_refused_at_once(text: str) -> None:
    """Towers of powers, deep nests and long chains, in a short message."""
    with pytest.raises(ExpressionError) as caught:
        parse_size(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", [None, 3, b"m", ["m"]])
def test_what_is_not_text_is_refused(value: Any) -> None:
    """Both readers say what they were given."""
    for reader in (parse_size, parse_tree):
        with pytest.raises(ExpressionError, match=f"got {type(value).__name__}"):
            reader(value, "size")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("m +", "character"),
        ("m/0", "zero"),
        ("m//(n - n)", "zero"),
        ("m % 0", "zero"),
        ("ciel(m)", "did you mean 'ceil'"),
        ("ceil(m, n)", "1 arguments, not 2"),
        ("m*0.5", "0.5"),
        ("m*n.T", "n.T"),
        ("m**n", "an int from 0 to 64"),
        ("2**300", "64"),
    ],
)
def test_the_message_points_at_what_is_wrong(text: str, said: str) -> None:
    """The piece, the place or the rule stands in it."""
    with pytest.raises(ExpressionError, match=said.replace("(", r"\(").replace("**", r"\*\*")):
        parse_size(text)


def test_a_name_is_never_looked_up() -> None:
    """Names of Python's own functions are symbols like any other."""
    assert parse_size("__import__*eval") == dims("__import__") * dims("eval")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run: calls of a function that only text mentions, and of the shell."""
    found: list[str] = []
    monkeypatch.setattr(builtins, "canary", lambda *args: found.append("canary"), raising=False)
    monkeypatch.setattr(os, "system", found.append)
    return found


def test_the_canary_sings_when_text_is_run(runs: list[str]) -> None:
    """The trap of the next test works: sympy's own reader runs what it is given."""
    sympy.sympify("__import__('builtins').canary()")
    assert runs == ["canary"]


PIECES = st.sampled_from(
    [
        *(
            "m",
            "n",
            "0",
            "1",
            "2",
            "64",
            "1e3",
            "0.5",
            "0x1f",
            "0777",
            "1j",
            "1e400",
            "10**10",
            "9**9**9",
            "'a'",
            "True",
        ),
        *("**", "*", "/", "//", "%", "+", "-", "(", ")", ",", "@", "~", "==", "<", ":=", "=", "#", "$", ";", "..."),
        *("ceil(", "max(", "min(", "floor(", "ceil_div(", "lambda:", "f'{m}'", "if", "else", "not", "await", "yield"),
        *("__import__('os').system('true')", "canary()", "canary(m)", "eval('canary()')", ".x", "[0]", "__class__"),
        *("\u00e9", "\ufb01", "\u00b2", "\\d", "\x00", "\ud800", "\n", "\t", "  "),
    ]
)
RANDOM_TEXT = (
    st.text(max_size=40) | st.lists(PIECES, max_size=12).map("".join) | st.lists(PIECES, max_size=12).map(" ".join)
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=RANDOM_TEXT)
@example(text="__import__('os').system('true')")
@example(text="canary()")
@example(text="(" * 90 + "m" + ")" * 90)
def test_random_text_gives_a_size_or_our_error(runs: list[str], text: str) -> None:
    """No exception of another kind leaves the reader, and nothing is run."""
    for reader in (parse_size, size, lambda given: parse_tree(given, "size")):
        with contextlib.suppress(PerfModelError):
            assert isinstance(reader(text), int | sympy.Expr | ast.expr)
    assert runs == []


def python_ceil_div(a: int, b: int) -> int:
    return -(-a // b)


CALLS: dict[str, Callable[..., int]] = {"max": max, "min": min, "ceil_div": python_ceil_div}
NAMES = {"m": 37, "n": 1793}


def joined(texts: tuple[str, str, str]) -> str:
    left, op, right = texts
    return f"{op}({left}, {right})" if op in CALLS else f"({left} {op} {right})"


LEAVES = st.sampled_from([*NAMES, *map(str, range(10)), "128", "1793", "1_000"])
OPS = st.sampled_from(["+", "-", "*", "//", "%", *CALLS])
ARITHMETIC = st.recursive(
    LEAVES | LEAVES.map("({})**3".format),
    lambda inner: st.tuples(inner, OPS, inner).map(joined) | inner.map("-({})".format),
    max_leaves=8,
)


@settings(max_examples=150)
@given(ARITHMETIC)
def test_valid_text_equals_python_s_own_arithmetic(text: str) -> None:
    """With the names bound after reading, the size is what Python gets for the same text."""
    try:
        expected = eval(text, {"__builtins__": {}}, {**CALLS, **NAMES})  # noqa: S307  # text made by this test
    except ZeroDivisionError:
        with contextlib.suppress(PerfModelError):  # 0 // (m // n) is 0 before n is known to be larger
            bind(parse_size(text), {m: 37, n: 1793})
    else:
        assert bind(parse_size(text), {m: 37, n: 1793}) == expected


PRINTED = [
    pm.tile(pm.matmul("m", "n", "k"), m=128, n=64),
    pm.fuse(pm.attention("n", "n", 64, causal=True)),
    pm.tile(pm.fuse(pm.attention("n", "n", 64, causal=True)), grid={"q": 128}, stream={"kv": 64}),
    pm.attention("q", "kv", 64, causal=True, window=128),
    pm.cast(pm.matmul("m", "n", "k"), "mxfp4"),
    pm.tile(pm.conv2d(height="h", width="h", c_in="c", c_out=8, padding=1), p=8, q=8),
    pm.tile(pm.matmul("m", "n", "k"), grid={"m": "tm", "n": "tn"}),
    pm.pad(pm.softmax("m", "n"), n=64),
    pm.split(pm.matmul("m", "n", "k"), k=4),
    pm.grad(pm.rmsnorm("m", "n")),
]


@pytest.mark.parametrize("program", PRINTED, ids=lambda p: p.name)
@pytest.mark.parametrize("count", ["flops", "bytes", "issued_flops", "intensity", "footprint_bytes", "memory_bytes"])
def test_a_printed_formula_is_read_as_itself(program: pm.Program, count: str) -> None:
    """What the library prints can be typed: str and back is the same formula, ceiling, Min and Max with it."""
    formula = getattr(program, count)
    assert parse_size(str(formula)) == formula


@given(st.recursive(
    st.sampled_from([m, n]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from([ceil_div, floor_div, remainder]), inner,
                  st.integers(2, 9)).map(lambda given: given[0](given[1], given[2])),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: product([*parts, 6])),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: total([*parts, 1])),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: largest(*parts)),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: smallest(*parts)),
    ),
    max_leaves=6,
))  # fmt: skip
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_size_is_read_as_it_is_printed(formula: Any) -> None:
    """Ceilings, floors, remainders, products of sums, Min and Max, nested: what is read means what was printed."""
    assert parse_size(str(formula)) == formula


def test_a_text_size_takes_the_printed_spellings() -> None:
    """matmul("512*ceiling(n/128)", ...) is what "512*ceil(n/128)" is; a description in one text too."""
    for printed, typed in (("ceiling(n/128)", "ceil(n/128)"), ("Min(n, m)", "min(n, m)"), ("Max(n, m)", "max(n, m)"),
                           ("Mod(n, 7) + 1", "n % 7 + 1"), ("floor(n/8) + 1", "n//8 + 1")):  # fmt: skip
        assert pm.matmul(f"512*({printed})", 8, 8) == pm.matmul(f"512*({typed})", 8, 8)
        assert describe(f"matmul({printed}, 8, 8)") == pm.matmul(typed, 8, 8)
