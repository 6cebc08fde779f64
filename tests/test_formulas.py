"""Elementwise text: which ops it becomes, what is one op, what is refused; nothing in it is ever run."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.descriptors.formulas import names_in, read_formula
from perfmodel.graph.functions import FUNCTIONS

N = pm.dims("n")
SPRUNG: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def armed() -> Iterator[None]:
    """A builtin that leaves a trace when text is evaluated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "trap", lambda *args: SPRUNG.append("trap"), raising=False)
        yield


def functions(text: str, **more: object) -> list[str]:
    """The function of each op that an expression becomes, in order."""
    return [op.function for op in pm.elementwise(text, 8, **more).ops]


def test_names_come_in_order_of_first_use() -> None:
    """Variables, each once; functions are no variables, even where a variable has their name."""
    assert names_in("relu(x*w + b) - w") == ("x", "w", "b")
    assert names_in("exp(exp)") == ("exp",)
    assert names_in("2 + 3") == ()


@pytest.mark.parametrize(("text", "made"), [
    ("x + y", ["add"]), ("x - y", ["sub"]), ("x * y", ["mul"]), ("x / y", ["div"]), ("-x", ["neg"]),
    ("x < y", ["less"]), ("x <= y", ["less_equal"]), ("x > y", ["greater"]), ("x >= y", ["greater_equal"]),
    ("x == y", ["equal"]), ("x != y", ["not_equal"]), ("max(x, y)", ["max"]), ("maximum(x, y)", ["max"]),
    ("min(x, y)", ["min"]), ("minimum(x, y)", ["min"]), ("where(x, y, 0)", ["where"]), ("+x + y", ["add"]),
    ("relu(x*w + b)", ["mul", "add", "relu"]), ("2*x + 1", ["mul", "add"]), ("x ** 0.5", ["sqrt"]),
    ("x ** y", ["pow"]), ("2 ** x", ["pow"]), ("x ** -1", ["pow"]), ("x ** 65", ["pow"]),
])  # fmt: skip
def test_an_expression_becomes_these_ops(text: str, made: list[str]) -> None:
    """Each operator, and each function, is one op."""
    assert functions(text) == made


@pytest.mark.parametrize(("power", "made"), [
    (2, ["square"]),
    (3, ["square", "mul"]),  # x^2, then x^2 * x
    (4, ["square", "square"]),
    (5, ["square", "square", "mul"]),
    (7, ["square", "mul", "square", "mul"]),  # 7 = 2 * 3 + 1, 3 = 2 * 1 + 1
    (64, ["square"] * 6),
])  # fmt: skip
def test_whole_powers_are_repeated_squares(power: int, made: list[str]) -> None:
    """A whole power up to 64 costs squares and multiplies, no special operation."""
    assert functions(f"x ** {power}") == made


def test_equal_subexpressions_are_one_op() -> None:
    """x*y is made once and used three times, so it is one kernel of three that read or write it."""
    assert functions("x*y + x*y") == ["mul", "add"]
    assert functions("exp(x*y) / (x*y)") == ["mul", "exp", "div"]
    assert functions("x*y + y*x") == ["mul", "mul", "add"]  # equal as written, not as algebra


def test_the_figures_of_two_textbook_chains() -> None:
    """sin^2 + cos^2 moves 11 n elements in 5 kernels and 2 n fused; relu(x*w + b) 8 n in 3 and 4 n fused."""
    circle = pm.elementwise("sin(x)**2 + cos(x)**2", N)
    assert len(circle.kernels) == 5
    assert circle.elements_read == 6 * N  # sin and cos read x, the squares one each, the sum two
    assert circle.elements_written == 5 * N  # one for each kernel
    assert pm.fuse(circle).elements_read == pm.fuse(circle).elements_written == N  # x in, y out
    line = pm.elementwise("relu(x*w + b)", N)
    assert len(line.kernels) == 3
    assert line.elements_read + line.elements_written == (2 + 1) * N + (2 + 1) * N + (1 + 1) * N
    assert pm.fuse(line).elements_read + pm.fuse(line).elements_written == 3 * N + N  # x, w, b in, y out


def test_numbers_are_folded_and_cost_nothing() -> None:
    """Arithmetic of numbers is done while reading: 2*3 - 1 is the number 5."""
    assert functions("x * (2*3 - 1)") == ["mul"]
    assert pm.elementwise("x * (2*3 - 1)", 8).bytes_read == 2 * 8  # x alone


def test_named_scalars_are_no_vectors() -> None:
    """A scalar is an argument of the kernel: no tensor, no traffic; one name may stand alone."""
    p = pm.elementwise("alpha*x + y", N, scalars=("alpha",))
    assert [item.name for item in p.inputs] == ["x", "y"]
    assert pm.fuse(p).elements_read == 2 * N
    assert pm.elementwise("alpha*x + y", N, scalars="alpha") == p


def test_every_function_of_the_table_can_be_written() -> None:
    """Each elementary function reads as many arguments as it has and becomes one op of its name."""
    for name, known in FUNCTIONS.items():
        text = f"{name}({', '.join('abc'[: known.arity])})"
        assert functions(text) == [name]


@pytest.mark.parametrize(("text", "said"), [
    ("", "empty"),
    ("x +", "character"),
    ("x", "computes nothing"),
    ("+x", "computes nothing"),
    ("3", "no vector"),
    ("1 + 2", "no vector"),
    ("foo(x)", "no function 'foo'"),
    ("expp(x)", "did you mean 'exp'"),
    ("exp(x, y)", "exp takes 1 arguments, got 2"),
    ("where(x, y)", "where takes 3 arguments, got 2"),
    ("exp(x=y)", "not allowed"),
    ("exp(*x)", "not allowed"),
    ("x < y < z", "not allowed"),
    ("x // y", "not allowed"),
    ("x % y", "not allowed"),
    ("x @ y", "not allowed"),
    ("x and y", "not allowed"),
    ("not x", "not allowed"),
    ("x if y else z", "not allowed"),
    ("x.y", "not allowed"),
    ("x[0]", "not allowed"),
    ("[x]", "not allowed"),
    ("lambda: x", "not allowed"),
    ("(y := x + 1)", "not allowed"),
    ("f'{x}'", "not allowed"),
    ("x + 'a'", "not allowed"),
    ("x + 1j", "not allowed"),
    ("x + True", "not allowed"),
    ("x + None", "not allowed"),
    ("x + 1e400", "finite"),
    ("x * (1 / 0)", "division by zero"),
    ("x * (1e308 * 10)", "finite"),
    ("x * exp(2)", "scalars alone"),
    ("x * 9 ** 9 ** 9", "scalars alone"),
    ("x; y", "character"),
    ("x = y", "character"),
    ("x\ny", "character"),
])  # fmt: skip
def test_what_is_not_allowed_is_said(text: str, said: str) -> None:
    """Everything else is refused with the piece and the rule."""
    with pytest.raises(pm.PerfModelError, match=said.replace("(", r"\(")):
        pm.elementwise(text, 8)


def test_a_missing_tensor_is_named() -> None:
    """Over tensors given by name, one that is missing brings those that there are."""
    x = pm.tensor("x", {"i": 8})
    with pytest.raises(pm.ExpressionError, match=r"no tensor 'weight'; there are x, weigh.*did you mean 'weigh'"):
        read_formula("x * weight", {"x": x, "weigh": x})


@pytest.mark.parametrize("text", [
    "trap()", "x + trap()", "trap() * x", "exp(trap())", "trap(x)", "(lambda: trap())()", "[trap() for _ in (1,)]",
    "f'{trap()}'", "x if trap() else x", "x[trap()]", "trap.__call__()", "(y := trap())", "{trap(): x}", "x and trap()",
    "exp(*trap())", "exp(x, **trap())", "eval('trap()')", "exec('trap()')", "getattr(trap, '__call__')()",
    "__import__('builtins').trap()", "x.__class__.__mro__", "x ** trap()", "not trap()", "await trap()", "x, trap()",
])  # fmt: skip
def test_code_is_refused_and_never_run(text: str) -> None:
    """Attempts at code are refused; had any been evaluated, the trap in builtins would have sprung."""
    with pytest.raises(pm.PerfModelError):
        pm.elementwise(text, 8)
    with pytest.raises(pm.PerfModelError):
        read(text)
    assert SPRUNG == []


def read(text: str) -> None:
    """The reader below elementwise, on tensors for every name."""
    read_formula(text, {name: pm.tensor("x", {"i": 8}) for name in ("x", "y")})


def test_the_trap_springs() -> None:
    """Evaluating the text would be seen: the two tests beside this one can fail."""
    eval("trap()")  # noqa: S307  # what the library must never do
    assert SPRUNG.pop() == "trap"
    assert SPRUNG == []


@pytest.mark.parametrize("text", ["-" * 5000 + "x", "(" * 500 + "x" + ")" * 500, "exp(" * 3000 + "x" + ")" * 3000,
                                  "x" + "+x" * 4000])  # fmt: skip
def test_depth_is_read_or_refused(text: str) -> None:
    """Deep nesting ends in a program or in an error of ours, never in a RecursionError."""
    try:
        made = pm.elementwise(text, 8)
    except pm.ExpressionError:
        return
    assert isinstance(made, pm.Program)


PIECES = st.sampled_from(
    ["x", "y", "alpha", "exp", "max", "where", "(", ")", ",", "+", "-", "*", "**", "/", "<", "==", ".", "[", "]", "2",
     "0", "0.5", "1e400", "'", '"', "lambda", ":", "if", "else", "and", "not", "\n", "\t", "\\", "\x00", "é", "_", "=",
     "trap", "trap()", "import", "__", "True", "None", "@", "%", ";", "#"]
)  # fmt: skip


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES).map(" ".join)))
def test_any_text_is_a_program_or_our_error(text: str) -> None:
    """Random text, and random texts of the expressions' own pieces: a program, or an error of ours."""
    try:
        made = pm.elementwise(text, 8)
    except pm.PerfModelError:
        made = None
    assert made is None or made.bytes_written > 0
    assert SPRUNG == []


GRAMMAR = st.recursive(
    st.sampled_from(["x", "y", "2", "0.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "<"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["exp", "relu", "sqrt", "-"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(GRAMMAR)
def test_a_program_moves_what_its_ops_name(text: str) -> None:
    """One op a kernel: it reads each of its different tensors once and writes one, n elements each."""
    try:
        p = pm.elementwise(text, N)
    except pm.ExpressionError:
        return  # no vector, no operation, or a function of numbers alone
    reads = [len({access.tensor.name for access in op.reads}) for op in p.ops]
    assert p.elements_read == sum(reads) * N
    assert p.elements_written == len(p.ops) * N
    assert pm.fuse(p).elements_read == len(p.inputs) * N
    assert pm.fuse(p).elements_written == N
