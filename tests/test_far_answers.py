"""No answer is false, however far: each is tried in exact ints around its ends, at powers of two to 2^90, and between.

The relations are random trees of sums, products, powers, ceilings, remainders, the larger and the smaller of two, with
numbers to 10^20. The oracle reads the trees itself, in Python's ints.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel import SolveError, dims, matmul, solve, tile
from perfmodel.expressions import ceil_div, largest, remainder, smallest

n = dims("n")
SIGNS = {
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "==": lambda left, right: left == right,
}
RELATIONS = {"<=": sympy.Le, ">=": sympy.Ge, "<": sympy.Lt, ">": sympy.Gt, "==": sympy.Eq}
IN_INTS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "max": max,
    "min": min,
    "ceil": lambda a, b: -(-a // b),
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}
IN_SYMBOLS = IN_INTS | {
    "max": largest,
    "min": smallest,
    "ceil": ceil_div,
    "%": remainder,
}
NUMBERS = st.one_of(st.integers(1, 12), st.integers(1, 5000), st.sampled_from([10**9, 10**14, 10**20, 2**52]))
DIVISORS = st.sampled_from([2, 3, 4, 5, 8, 12, 128])


def _grown(inner: Any) -> Any:
    two = [st.tuples(st.just(sign), inner, inner) for sign in ("+", "+", "*", "max", "min", "-")]
    rounds = [st.tuples(st.just(sign), inner, DIVISORS) for sign in ("ceil", "%")]
    return st.one_of(*two, *rounds, st.tuples(st.just("**"), st.just("n"), st.integers(2, 3)))


TREES = st.recursive(st.one_of(st.just("n"), st.just("n"), NUMBERS), _grown, max_leaves=6)


def read(tree: Any, at: Any, signs: Any) -> Any:
    if tree == "n":
        return at
    if isinstance(tree, int):
        return tree
    sign, *sides = tree
    return signs[sign](*[read(each, at, signs) for each in sides])


def claims(found: Any, value: int) -> bool:
    if found.runs:
        return any(run.has(value) for run in found.runs)
    return any(first <= value and (last is None or value <= last) for first, last in found.intervals)


def points(found: Any) -> list[int]:
    """Where an answer is tried: its ends and their neighbours, powers of two and theirs, and numbers of any size."""
    runs = found.pattern[:40] + found.pattern[-40:]
    ends = [end for run in runs for end in (run.first, run.last) if end is not None]
    ends += [run.first + step for run in runs for step in (run.period, 2 * run.period, 7 * run.period + 3)]
    beside = [end + step for end in [*ends, *(2**k for k in range(91))] for step in (-2, -1, 0, 1, 2)]
    chance = random.Random(7)
    drawn = [chance.randrange(1, 2 ** chance.randrange(1, 91)) for _ in range(100)]
    known = found.unknown_beyond
    return [each for each in (*range(1, 200), *beside, *drawn) if each >= 1 and (known is None or each <= known)]


@given(TREES, st.sampled_from(sorted(SIGNS)), TREES)
@settings(max_examples=60)
def test_what_is_claimed_is_so(left: Any, sign: str, right: Any) -> None:
    sides = [sympy.sympify(read(tree, n, IN_SYMBOLS)) for tree in (left, right)]
    if not (sides[0] - sides[1]).has(n):
        return
    try:
        found = solve(RELATIONS[sign](*sides, evaluate=False), n)
    except SolveError as error:  # numbers beyond what a search holds
        assert "within=" in str(error)  # noqa: PT017
        return
    for value in points(found):
        expected = SIGNS[sign](*[read(tree, value, IN_INTS) for tree in (left, right)])
        assert claims(found, value) == expected, (str(found), value)


@pytest.mark.parametrize(
    ("relation", "answer"),
    [
        (sympy.Le(sympy.ceiling(n / 128), 10**14), f"n <= {128 * 10**14}"),
        (sympy.Ge(sympy.ceiling(n / 128), 10**16), f"n >= {128 * (10**16 - 1) + 1}"),
        (sympy.Le(sympy.ceiling(n / 128), 2**200), f"n <= {128 * 2**200}"),
        (sympy.Le(20 * n**2, 5120 * n * sympy.ceiling(n / 128)), "every n"),  # 20 n * 256 * n/128 is the least of it
        (sympy.Ge(sympy.Mod(n, 4) * n, 10**15), None),
    ],
)
def test_edges_beyond_what_floats_count(relation: Any, answer: str | None) -> None:
    found = solve(relation, n)
    assert found.unknown_beyond is None
    assert answer in (None, found.answer)
    for value in points(found):
        assert claims(found, value) == bool(relation.xreplace({n: sympy.Integer(value)}))


def test_an_edge_lies_between_two_numbers_that_are_tried() -> None:
    """n ceil(n/128) <= 10^30, and the bytes of a tiled product: both sides of each edge in exact ints."""
    most = solve(sympy.Le(n * sympy.ceiling(n / 128), 10**30), n).most
    assert most * -(-most // 128) <= 10**30 < (most + 1) * -(-(most + 1) // 128)
    tiled = tile(matmul(n, n, n), m=128, n=128)
    most = solve(tiled, n, where="bytes <= 1e60").most
    read = [2 * 2 * size**2 * -(-size // 128) + 2 * size**2 for size in (most, most + 1)]  # A and B once a block, C
    assert read[0] <= 10**60 < read[1]


def test_a_search_claims_what_it_searched() -> None:
    """Of 3000017 classes, each its own formula, none is looked at; 2^20 values are."""
    found = solve(sympy.Ge(n * remainder(n, 3_000_017), n**2), n)
    assert (found.searched, found.unknown_beyond, found.most) == ((1, 2**20), 2**20, None)
    assert found.answer == "n <= 1048576 in 1 .. 1048576; beyond it nothing is claimed"
    assert found.to_dict()["unknown_beyond"] == 2**20
    none = solve("n % 3000017 == 0 and n > 5", n)
    assert not none
    assert none.answer.endswith("beyond it nothing is claimed")
    with pytest.raises(SolveError, match="beyond it nothing is claimed"):
        _ = none.least
    assert solve("n % 3000017 == 0 and n <= 1000", n).unknown_beyond is None
    joint = solve("n % 3000017 == 0 or n > 2000000", n)  # what holds beyond all doubt starts past the search
    assert joint.unknown_beyond == 2**20


@pytest.mark.parametrize(
    ("condition", "meant", "answer", "least", "most"),
    [
        ("n % 2 == 0 and n % 3 == 0", lambda x: x % 6 == 0, "n % 6 == 0", 6, None),
        ("n % 2 == 0 or n % 3 == 0", lambda x: x % 2 == 0 or x % 3 == 0, "n % 6 == 0 or 2 <= n % 6 <= 4", 2, None),
        (
            "n % 3 == 0 and n <= 10**9",
            lambda x: x % 3 == 0 and x <= 10**9,
            "n % 3 == 0 and n <= 999999999",
            3,
            999_999_999,
        ),
        ("not n % 8 == 0 and n > 100", lambda x: x % 8 and x > 100, "n % 8 >= 1 and n >= 101", 101, None),
        ("n == 64*ceil(n/64)", lambda x: x % 64 == 0, "n % 64 == 0", 64, None),
        ("n % 4 == 0 and n != 8", lambda x: x % 4 == 0 and x != 8, "n = 4 or n % 4 == 0 and n >= 12", 4, None),
        (
            "n % 8 == 0 and n <= 40",
            lambda x: x % 8 == 0 and x <= 40,
            "n = 8 or n = 16 or n = 24 or n = 32 or n = 40",
            8,
            40,
        ),
    ],
)
def test_what_repeats_is_told_by_its_period(
    condition: str, meant: Callable[[int], bool], answer: str, least: int, most: int | None
) -> None:
    found = solve(condition, n)
    assert (found.answer, int(found), found.most) == (answer, least, most)
    assert len(found.intervals) <= 1000
    for value in (*range(1, 300), 10**9, 10**9 + 1, 6 * 10**20):
        assert claims(found, value) == bool(meant(value))
        assert (found.expression.xreplace({n: sympy.Integer(value)}) == sympy.true) == bool(meant(value))


def test_a_period_too_long_to_tell_is_refused() -> None:
    with pytest.raises(SolveError, match="repeats every 1041537223 values; within="):
        solve("n % 1009 == 0 and n % 1013 == 0 and n % 1019 == 0", n)


def test_a_reason_gives_the_crossing_and_the_numbers_around_it() -> None:
    """6 n^2 = 8200 n at 4100/3; 30^2 and 31^2 are the squares around 924."""
    said = solve(sympy.Eq(6 * n**2, 8200 * n), n).reason
    assert "4100/3 = 1366.67" in said
    assert f"{6 * 1366**2} against {8200 * 1366} at 1366" in said
    said = solve(sympy.Eq(sympy.ceiling(n / 128) ** 2, 924), n).reason
    assert said.endswith("900 against 924 at n = 3840 and 961 against 924 at n = 3841")


def test_signs_tell_what_never_and_what_always_holds() -> None:
    """Every coefficient is negative: no sizes make one token's attention bound by compute."""
    step = pm.attention(q=1, kv="s", d=128, heads=8, batch="b")
    never, always = (solve(step, "h100-sxm", "b", bound=bound) for bound in ("compute", "memory"))
    assert not never
    assert never.reason.startswith("it never holds: whatever b and s are")
    assert always.answer == "every b"


@given(*[st.integers(1, 60)] * 4, st.sampled_from(sorted(SIGNS)))
@settings(max_examples=30)
def test_a_case_for_each_sign_of_a_factor(n_is: int, m_is: int, k_is: int, least: int, sign: str) -> None:
    """m n - k n + m - least against 0: where m = k too."""
    m, k = dims("m k")
    left = m * n - k * n + m - least
    found = solve(RELATIONS[sign](left, 0, evaluate=False), n).expression
    expected = SIGNS[sign](m_is * n_is - k_is * n_is + m_is - least, 0)
    assert bool(found.subs({m: m_is, k: k_is, n: n_is})) == expected


def test_formulas_have_no_needless_signs() -> None:
    peak, rate = pm.reals("P W")
    chip = pm.Machine(peak=peak, bandwidth_bytes_per_s=rate, name="x")
    found = solve(pm.gemv(4096, 4096, batch="b"), chip, "b", bound="compute")
    # 2 * 4096^2 b / P >= 2 (4096^2 + 2 * 4096 b) / W, so b (2048 W - P) >= 2048 P
    assert found.answer == "b >= 2048*P/(2048*W - P) where P < 2048*W"
    assert found.latex == r"b \geq \frac{2048 P}{2048 W - P} \text{ where } P < 2048 W"
    other = solve(pm.gemv(4096, 4096, batch="b"), chip, "b", bound="memory")
    assert other.answer == "b < 2048*P/(2048*W - P) where P < 2048*W, or every b where P >= 2048*W"


def test_bits_are_echoed_as_they_were_asked_for() -> None:
    """What is shown asks the same again."""
    found = solve(pm.gemv(512, 1024), "h100-sxm", "W.bits", fits=True)
    assert "'W.bits', fits=True" in repr(found)
    assert found.answer == "W.bits <= 64"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(n**2 <= 80, n, beside=matmul(n, n, n)), "a relation stands alone"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, bound="compute", beside=matmul(n, n, 4)), "bound= asks nothing"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, fits=True, beside=matmul(n, n, 4)), "fits= asks nothing"),
        (lambda: solve(matmul(n, n, n), n, where="bytes <= 3", beside=matmul(n, n, 4)), "where= asks nothing"),
        (
            lambda: solve(pm.elementwise("x + 1", 64), "h100-sxm", "peak", where="time_s <= 1"),
            "nothing on a matrix unit",
        ),
    ],
)
def test_what_would_be_ignored_is_refused(asked: Any, message: str) -> None:
    with pytest.raises(SolveError, match=message):
        asked()


def test_help_names_the_ends_of_an_answer() -> None:
    for shown in (solve.__doc__, pm.Solution.__doc__):
        assert all(word in str(shown) for word in ("least", "most", "intervals", "int()"))


def test_squares_of_large_numbers_have_roots_too() -> None:
    """4503599627369627 is no prime, which sympy's factors of its square say once with an error of their own."""
    square = (2**52 - 869) * (2**52 - 869)
    most = solve(sympy.Le(n**3, square), n).most
    assert most**3 <= square < (most + 1) ** 3


def test_a_root_just_above_a_whole_number_is_not_below_it() -> None:
    """n + 1 < n (n - 10^14) from 10^14 + 2 on; its root is 10^14 + 1 and 10^-14 more."""
    assert solve(n + 1 < n * (n - 10**14), n).intervals == ((10**14 + 2, None),)
