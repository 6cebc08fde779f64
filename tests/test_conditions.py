"""Conditions from sympy and from text: read alike by solve and suggest, joined, and refused by name."""

from __future__ import annotations

import math
from typing import Any

import pytest
import sympy
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel import ExpressionError, PerfModelError, SolveError, dims, matmul, reals, solve
from perfmodel.expressions.conditions import condition_of, relation_of
from perfmodel.suggesting.conditions import conditions_of

n = dims("n")
b = reals("b")
H100 = pm.machine("h100-sxm")
SQUARE = matmul(n, n, n)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("n <= 0.3e2", "n <= 30"),
        ("-n + 3 < 0", "n >= 4"),
        ("max(n, 7) == 7", "n <= 7"),
        ("ceil(n/4) <= 2", "n <= 8"),
        ("n**2 > 99", "n >= 10"),
        ("1/(n - 5) >= 0.1", "6 <= n <= 15"),  # a pole at 5, not a root
        ("min(n, 9) >= 10", "no whole number"),
    ],
)
def test_text_is_read_as_python_writes_it(text: str, answer: str) -> None:
    assert solve(text, "n").answer.startswith(answer)


@pytest.mark.parametrize(
    "text",
    ["", "n", "n = 3", "n is 3", "n in (3, 4)", "n <= 3 if n else 4", "(n <= 3) + 1 <= 4", "not n", "n <= 3 and n",
     "n <= x.y", "n <= f(3)", "n <= 'a'", "n <= True", "n <= 1/0", "n >= 1e999",
     "n <= 10**99999999", "((((10**16)**16)**16)**16)**16 <= n", "n" + "+n" * 6000 + " <= 3", "[n] <= 3",
     "n <= lambda: 3", "n @ n <= 3", "n <= max(3, key=n)", "(n + 1)**64**64 <= 3"],
)  # fmt: skip
def test_text_that_is_no_comparison_is_refused(text: str) -> None:
    with pytest.raises(PerfModelError):
        solve(text, "n")


def test_two_symbols_of_one_name_are_refused() -> None:
    """n from dims and a plain n are different: one would silently stay."""
    with pytest.raises(PerfModelError, match="different symbols of the name 'n'"):
        solve(n * sympy.Symbol("n") <= 9, "n")


def test_powers_have_a_limit() -> None:
    with pytest.raises(PerfModelError, match="a power above 64"):
        solve(sympy.Le((n + 1) ** 70, 10, evaluate=False), n)


def test_floats_are_the_decimals_that_are_written() -> None:
    assert relation_of(reals("r") <= 0.1).right == sympy.Rational(1, 10)


ATOMS = st.sampled_from(
    ["n < 7", "n >= 20", "n % 4 == 0", "n == 9", "n != 12", "5 <= n < 17", "n*n > 130", "3*n <= 40", "n/3 >= 4.5",
     "ceil(n/8) == 2", "n // 5 > 1", "max(n, 6) != 6", "2 < ceil_div(n, 4)", "1.5*n < 30"]
)  # fmt: skip
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda each: f"({each[0]}) {each[1]} ({each[2]})"),
        inner.map(lambda each: f"not ({each})"),
    ),
    max_leaves=5,
)
MEANT = {"ceil": math.ceil, "floor": math.floor, "max": max, "min": min, "ceil_div": lambda a, b: -(-a // b)}


def within(intervals: Any, value: int) -> bool:
    return any(first <= value and (last is None or value <= last) for first, last in intervals)


@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
def test_solve_and_suggest_mean_what_python_means(text: str) -> None:
    """Whatever is joined by and, or, not: the values that each keeps are those for which Python says true."""
    import numpy

    expected = [value for value in range(1, 41) if eval(text, dict(MEANT), {"n": value})]  # noqa: S307
    assert [value for value in range(1, 41) if within(solve(text, n, within=(1, 40)).intervals, value)] == expected
    sizes = {"n": numpy.arange(1, 41)}
    kept = numpy.logical_and.reduce([each.holds(sizes) for each in conditions_of(text, ["n"])])
    assert sizes["n"][kept].tolist() == expected


def test_conditions_of_reals_join_with_their_ends() -> None:
    """b > 3 leaves 3 out, b <= 10 holds 10, and 5 is taken out between them."""
    found = solve((b > 3) & (b <= 10) & sympy.Ne(b, 5), b)
    assert found.expression == sympy.Or(sympy.And(b > 3, b < 5), sympy.And(b > 5, b <= 10))
    assert solve("b >= 3 and b <= 3 or b > 7", b).intervals == ((3, 3), (7, sympy.oo))
    assert not solve("b > 3 and b < 3", b)
    assert solve("b > 0.5 and 4 < 3", b).reason.startswith("no value satisfies all of it: b > 1/2 where")


def test_other_symbols_stay_in_the_answer() -> None:
    m = dims("m")
    assert solve("n > 3*m and n < 100", n).expression == sympy.And(n > 3 * m, n <= 99)
    assert solve("not n > 3*m", n).expression == (n <= 3 * m)


def test_a_program_is_asked_several_things_at_once() -> None:
    """6 n^2 bytes fit 80 GiB up to 119651; the least multiple of 128 that is bound by compute, in the budget."""
    found = solve(SQUARE, "h100-sxm", n, where="memory_bytes <= capacity_bytes and units == 132 and n != 1")
    assert found.intervals == ((2, 119651),)
    found = solve(SQUARE, H100, n, where=["n % 128 == 0", "intensity >= 295", n <= 1100])
    assert found.intervals == ((896, 896), (1024, 1024))  # 2 n^3 / (6 n^2) = n/3 >= 295 from 885 on
    assert found.how == "closed form in residue classes and closed form"


def test_conditions_on_times_join_others_of_real_estimates() -> None:
    """What names no time is solved by its formula; the range is that of the estimates."""
    found = solve(SQUARE, H100, n, where="time_s <= 1e-4 and n % 512 == 0", effects="real", within=(1, 4096))
    held = [s for s in range(512, 4097, 512) if pm.estimate(SQUARE.at(n=s), H100).time_s <= 1e-4]
    assert [first for first, _ in found.intervals] == held
    assert found.searched == (1, 4096)


def test_values_of_a_list_are_asked_alone() -> None:
    assert solve("n % 64 == 0 and not n == 128", n, within=[64, 128, 150, 192]).intervals == ((64, 64), (192, 192))
    with pytest.raises(SolveError, match="no value satisfies all of it"):
        int(solve("n % 64 == 0 and n < 64", n, within=range(1, 512)))


def test_bits_are_asked_several_things() -> None:
    """8x64 + 64x64 + 8x64 = 5120 values: 640 bytes a bit."""
    found = solve(matmul(8, 64, 64), "bits", where="3000 <= bytes <= 10000")
    assert found.intervals == ((5, 15),)


@pytest.mark.parametrize("verb", ["solve", "suggest"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flosp <= 3", "where: no quantity 'flosp' (did you mean 'flops'?); there are"),
        ("n.real <= 3", "where = 'n.real <= 3': 'n.real' is not allowed in a condition; write names, numbers, + - * /"),
        ("n", "where = 'n': cannot read 'n'; expected comparisons such as"),
        ("n <= sqrt(3)", "no function 'sqrt'; there are ceil, floor, ceil_div, min, max"),
        ("n <= nan", "nan is no number to compare with"),
        ("n <= 1/0", "1 divided by zero"),
        ("n <= 2**65", "by an int from 0 to 64"),
        ("n <= 1e300", "a number beyond 2^256"),
        ("n <=", "invalid syntax at character"),
        ("", "the text is empty"),
        ("n is 3", "cannot read 'n is 3'"),
        ("n <= bytes/(flops - flops)", "divided by zero"),
    ],
)
def test_both_refuse_in_the_same_words(verb: str, text: str, said: str) -> None:
    """The verb stands in front; the rest is the same."""
    ask = {"solve": lambda: solve(SQUARE, H100, n, where=text),
           "suggest": lambda: pm.suggest(SQUARE, H100, where=text, n=64)}[verb]  # fmt: skip
    with pytest.raises(ExpressionError) as error:
        ask()
    assert str(error.value).startswith(f"{verb}: where")
    assert said in str(error.value)


def test_suggest_names_facts_of_every_machine_and_no_times() -> None:
    """6 n^2 bytes fit 6 * 1000^2 up to n = 1000: the smaller of two machines decides."""
    smaller = H100.replace(capacity_bytes=6 * 1000**2)
    found = pm.suggest(SQUARE, [H100, smaller], where="memory_bytes <= capacity_bytes", n=1000)
    assert found.allowed == 1000 - 950 + 1
    assert pm.suggest(SQUARE, H100, where=[sympy.Eq(n % 8, 0), n >= 1001], n=1000).allowed == 6  # 1008 .. 1048
    with pytest.raises(ExpressionError, match=r"suggest: where: time_s, flops_per_s, .* asks of times"):
        pm.suggest(SQUARE, H100, where="time_s <= 1", n=1000)
    with pytest.raises(PerfModelError, match=r"suggest: .* lists no tdp_w"):
        pm.suggest(SQUARE, pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e12), where="tdp_w <= 300", n=64)


def test_functions_are_for_arrays() -> None:
    with pytest.raises(ExpressionError, match="solve needs a formula, and a function has none"):
        solve(SQUARE, n, where=lambda n: n > 3)


def test_what_is_always_so_is_no_question() -> None:
    for given_ in (True, sympy.true, [sympy.false]):
        with pytest.raises(ExpressionError, match="is always"):
            condition_of(given_)
    for given_ in (None, 3, [], {}, object()):
        with pytest.raises(ExpressionError, match="expected comparisons"):
            condition_of(given_)


def test_a_word_with_a_unit_is_a_quantity_or_refused() -> None:
    """What a level of the chip holds is a fact; a quantity that there is not becomes no symbol, a parameter may."""
    tiled = pm.tile(pm.matmul(4096, 4096, 4096), m="t", n="t")
    held = pm.solve(tiled, "h100-sxm", "t", where="footprint_bytes <= shared_bytes")
    room = pm.machine("h100-sxm").level("shared").capacity_bytes
    assert tiled.at(t=held.most).footprint_bytes <= room < tiled.at(t=held.most + 1).footprint_bytes
    for word in ("spare_bytes", "bytes_of_flops", "shared_byte"):
        with pytest.raises(pm.ExpressionError, match=f"no quantity '{word}'.*; there are .*shared_bytes"):
            pm.solve(tiled, "h100-sxm", "t", where=f"footprint_bytes <= {word}")
    with pytest.raises(pm.MachineError, match="tpu-v5e lists no shared_bytes; its on-chip levels are vmem"):
        pm.solve(tiled, "tpu-v5e", "t", where="footprint_bytes <= shared_bytes")
    plain = pm.solve(pm.matmul("n", 64, 64), "n", where="bytes <= budget")
    assert {each.name for each in plain.expression.free_symbols} == {"n", "budget"}
    found = pm.suggest(pm.tile(pm.matmul(4096, 4096, 4096), m="t", n="t"), "h100-sxm", t=[8, 16, 24, 32],
                       where="footprint_bytes <= shared_bytes")  # fmt: skip
    assert {row.sizes["t"] for row in found.rows} == {t for t in (8, 16, 24, 32) if t <= held.most}
