"""``solve``: thresholds of programs on machines, exact over whole numbers, with their formulas and their reasons."""

from __future__ import annotations

import pickle

import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel import (
    ExpressionError,
    Machine,
    SolveError,
    attention,
    dims,
    estimate,
    fits,
    fuse,
    gemv,
    machine,
    matmul,
    pad,
    reals,
    solve,
    tile,
)

n, m, k, B = dims("n m k B")
CHIP = Machine(peak=100e12, bandwidth_bytes_per_s=1e12, capacity_bytes=8 * 10**9, name="even")


def test_a_square_product_is_bound_by_compute_from_886_on_an_h100() -> None:
    found = solve(matmul(n, n, n), "h100-sxm", n, bound="compute")
    # 2 n^3 / 989.4e12 >= 6 n^2 / 3.35232e12, so n >= 3 * 989.4 / 3.35232 = 885.4
    assert int(found) == found.least == 886
    assert found.values == (sympy.Rational(3 * 9894, 10) / sympy.Rational("3.35232"),)
    assert found.expression == sympy.Ge(n, 886)
    assert [estimate(matmul(s, s, s), "h100-sxm", effects="ideal").bound for s in (885, 886)] == ["memory", "compute"]


def test_the_largest_that_fits_is_exact() -> None:
    found = solve(matmul(n, n, n), CHIP, n, fits=True)
    most = found.most
    assert 6 * most**2 <= 8 * 10**9 < 6 * (most + 1) ** 2  # three matrices of two bytes
    assert fits(matmul(most, most, most), CHIP)
    assert not fits(matmul(most + 1, most + 1, most + 1), CHIP)


def test_a_label_that_holds_an_int_may_be_asked_for() -> None:
    found = solve(matmul(8, 8192, 8192), "h100-sxm", "m", bound="compute")
    assert int(found) == int(solve(matmul(m, 8192, 8192), "h100-sxm", m, bound="compute"))


@pytest.mark.parametrize("size", [64, 512, 8192])
def test_a_threshold_is_where_the_estimate_turns(size: int) -> None:
    found = solve(matmul(B, size, size), "a100-sxm-80gb", B, bound="compute")
    if not found:
        assert estimate(matmul(10**9, size, size), "a100-sxm-80gb", effects="ideal").bound == "memory"
        return
    turns = [
        estimate(matmul(b, size, size), "a100-sxm-80gb", effects="ideal").bound for b in (found.least - 1, found.least)
    ]
    assert turns == ["memory", "compute"]


def test_other_symbols_stay_in_the_answer() -> None:
    bandwidth = reals("bandwidth")
    chip = CHIP.replace(bandwidth_bytes_per_s=bandwidth)
    found = solve(matmul(n, n, n), chip, bandwidth, bound="compute")
    # 2 n^3 / 1e14 >= 6 n^2 / bandwidth
    assert found.expression == sympy.Ge(bandwidth, 3 * 10**14 / n)
    assert "bandwidth \\geq" in found.latex
    assert found.intervals == ()
    with pytest.raises(SolveError, match="the answer is the formula"):
        _ = found.least


def test_a_factor_of_unknown_sign_makes_a_case() -> None:
    found = solve(gemv(k, k, batch=B), CHIP, B, bound="compute")
    # 2 B k^2 / 100e12 >= 2 (k^2 + 2 B k) / 1e12, so B (k - 200) >= 100 k: only where k > 200
    assert found.expression.subs({k: 300, B: 300}) == sympy.true
    assert found.expression.subs({k: 300, B: 299}) == sympy.false
    assert found.expression.subs({k: 200, B: 10**9}) == sympy.false


def test_a_rate_is_solved_for_as_a_real() -> None:
    peak = reals("peak")
    chip = Machine(peak=peak, bandwidth_bytes_per_s=1e12, name="x")
    found = solve(matmul(4096, 4096, 4096), chip, peak, where="time_s <= 1e-3")
    assert found.intervals == ((2 * 4096**3 * 1000, sympy.oo),)
    assert float(found) == 2 * 4096**3 * 1000


def test_a_tile_is_solved_for() -> None:
    size = dims("T")
    tiled = tile(matmul(4096, 4096, 4096), m=size, n=size)
    found = solve(tiled, size, where="bytes_read <= 1e9")
    # 2 * 4096^2 * 2 * ceil(4096 / T) bytes
    assert found.method == "monotone search"
    least = found.least
    reads = [2 * 2 * 4096**2 * -(-4096 // t) for t in (least - 1, least)]
    assert reads[0] > 1e9 >= reads[1]


def test_several_kernels_are_bound_by_the_larger_share() -> None:
    staged = fuse(attention(n, n, 128, heads=8), by="stage")
    chip = Machine(peak=1e12, bandwidth_bytes_per_s=1e12, name="slow")
    found = solve(staged, chip, n, bound="compute")
    assert found
    turns = [estimate(staged.at(n=s), chip, effects="ideal").bound for s in (max(1, found.least - 1), found.least)]
    assert turns[1] == "compute"
    assert found.least == 1 or turns[0] == "memory"


def test_all_crossings_are_returned() -> None:
    found = solve("n*n - 10*n + 21 >= 0", "n")
    assert found.values == (3, 7)
    assert found.intervals == ((1, 3), (7, None))


def test_two_programs_are_equal_where_their_formulas_are() -> None:
    found = solve(sympy.Eq(attention(n, n, 128).macs, matmul(n, 4096, 4096).macs), n)
    assert found.values == (4096 * 4096 // (2 * 128),)  # 2 * 128 n^2 = 4096^2 n
    assert found.intervals == ((65536, 65536),)


def test_no_solution_says_why() -> None:
    found = solve(matmul(n, 64, 64), "h100-sxm", n, bound="compute")
    assert not found
    assert found.reason.startswith("no whole number satisfies")
    with pytest.raises(SolveError, match="no whole number satisfies"):
        int(found)


def test_ceilings_are_searched_and_the_search_is_named() -> None:
    padded = pad(matmul(n, n, n), n=64)
    found = solve(padded, n, where="bytes <= 1e9")
    assert found.method == "monotone search"
    most = found.most
    assert padded.at(n=most).bytes <= 1e9 < padded.at(n=most + 1).bytes
    steps = solve("n == 64*ceil(n/64)", "n", within=(1, 200))
    assert (steps.method, steps.searched) == ("exhaustive search", (1, 200))
    assert steps.intervals == ((64, 64), (128, 128), (192, 192))


@given(st.integers(1, 60), st.integers(-400, 400), st.integers(-400, 400))
def test_closed_form_is_what_trying_finds(a: int, b: int, c: int) -> None:
    """The quadratic a n^2 + b n + c <= 0, tried at each n."""
    found = solve(sympy.Le(a * n**2 + b * n + c, 0, evaluate=False), n, within=(1, 500))
    tried = [s for s in range(1, 501) if a * s**2 + b * s + c <= 0]
    held = [s for first, last in found.intervals for s in range(first, last + 1)]
    assert held == tried


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 40))
def test_pieces_are_what_trying_finds(a: int, b: int, c: int) -> None:
    """max(a n, n^2) + min(b, n) <= c n + 200, tried at each n."""
    relation = sympy.Le(sympy.Max(a * n, n**2) + sympy.Min(b, n), c * n + 200)
    found = solve(relation, n, within=(1, 400))
    tried = [s for s in range(1, 401) if max(a * s, s * s) + min(b, s) <= c * s + 200]
    assert found.method == "closed form"
    assert [s for first, last in found.intervals for s in range(first, last + 1)] == tried


@given(st.integers(2, 64), st.integers(1, 5000))
def test_bisection_is_what_trying_finds(block: int, limit: int) -> None:
    relation = sympy.Le(n * block * sympy.ceiling(n / block), limit, evaluate=False)
    found = solve(relation, n)
    tried = [s for s in range(1, 200) if s * block * -(-s // block) <= limit]
    held = [] if not found.intervals else list(range(found.intervals[0][0], found.intervals[0][1] + 1))
    assert held == tried


def test_bits_are_whole_numbers_of_formats() -> None:
    chip = Machine(peak=1e12, bandwidth_bytes_per_s=1e12, capacity_bytes=2 * 10**6, name="small")
    found = solve(gemv(1000, 2000), chip, "W.bits", fits=True)
    most = found.most
    rest = 2 * (1000 + 2000)  # x and y in bf16
    assert 2_000_000 * most / 8 + rest <= 2 * 10**6 < 2_000_000 * (most + 1) / 8 + rest


def test_real_estimates_are_tried_one_by_one() -> None:
    found = solve(matmul(n, 4096, 4096), "h100-sxm", n, where="time_s <= 200e-6", effects="real", within=(1, 8192))
    assert found.method == "exhaustive search"
    most = found.intervals[0][1]
    assert estimate(matmul(most, 4096, 4096), "h100-sxm").time_s <= 200e-6
    assert estimate(matmul(most + 1, 4096, 4096), "h100-sxm").time_s > 200e-6


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(matmul(n, n, n), "h100-sxm", "q", bound="compute"), "'q' does not occur"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n), "ask one thing"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, bound="compute", fits=True), "ask one thing"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, bound="computer"), "expected 'compute' or 'memory'"),
        (lambda: solve(matmul(n, n, n), n, bound="compute"), "ask about a machine"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="n + 3"), "expected comparisons"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="times <= 3"), "did you mean 'time_s'"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="__import__('os') <= 3"), "not allowed"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="n ** 99999 <= 3"), "by an int from 0 to 64"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="bytes <= 1e9", within=()), "no value"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="bytes <= 1e9", within=(0, 4)), "sizes are 1"),
        (lambda: solve(matmul(n, n, n), "h100-sxm", n, where="bytes <= 1e9", within=[1.5]), "whole numbers"),
        (lambda: solve(matmul(8, 8, 8), "h100-sxm", "m", where="capacity_bytes >= 3"), "whatever it is"),
        (lambda: solve(3, n), "or a relation with the unknown alone"),
        (lambda: solve(sympy.true, n), "always true"),
        (lambda: solve(matmul(n, n, n), CHIP, 3, bound="compute"), "a symbol or its name"),
        (lambda: solve(n**2 <= 3, n, n), "a relation with the unknown alone"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(asked, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        asked()


def test_a_solution_is_a_value_that_shows_its_working() -> None:
    found = solve(matmul(n, n, n), "h100-sxm", n, bound="compute")
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert "method    closed form" in found.explain()
    assert found.to_dict()["intervals"] == [[886, None]]
    assert machine("h100-sxm").name in repr(found)


@pytest.mark.parametrize("size", [7, 100, 997, 4096, 12345])
@pytest.mark.parametrize("sign", ["<=", ">=", "==", "<", ">"])
def test_a_time_given_back_leads_to_its_size(size: int, sign: str) -> None:
    """A time is a float, rounded: the size that it came from counts as equal, however the condition is solved."""
    for program in (matmul(n, 512, 512), pad(matmul(n, 512, 512), m=64)):
        time = estimate(program.at(n=size), "h100-sxm", effects="ideal").time_s
        found = solve(program, "h100-sxm", n, where=f"time_s {sign} {time!r}", within=(1, 20_000))
        held = any(first <= size and (last is None or size <= last) for first, last in found.intervals)
        assert held == ("=" in sign)


@pytest.mark.parametrize("word", ["inf", "nan", "Infinity", "NaN", "1e999"])
def test_what_is_no_number_is_refused(word: str) -> None:
    with pytest.raises(ExpressionError, match="no number to compare with"):
        solve(matmul(n, n, n), "h100-sxm", n, where=f"time_s <= {word}")


@pytest.mark.parametrize("effects", ["ideal", "real"])
def test_a_word_beside_no_unknown_lists_the_quantities(effects: str) -> None:
    with pytest.raises(ExpressionError, match="no quantity 'foo'; there are flops, macs"):
        solve(matmul(n, n, n), "h100-sxm", n, where="foo <= 3", effects=effects)


def test_remainders_and_floors_are_read() -> None:
    """As suggest reads them."""
    assert solve("n % 4 == 1", n, within=(1, 10)).intervals == ((1, 1), (5, 5), (9, 9))
    assert solve("n // 4 == 1", n, within=(1, 10)).intervals == ((4, 7),)


def test_no_value_within_a_range_names_the_range() -> None:
    """Not all whole numbers were asked of."""
    assert solve("n >= 200", n, within=range(1, 100)).reason.startswith("no value of 1 .. 99")


def test_an_answer_of_many_intervals_is_a_relation() -> None:
    """1000 pairs of sevens, without sympy's ordering: the relation has each."""
    found = solve("ceil(n/7)*7 - n <= 1", n, within=(1, 7000))
    assert len(found.intervals) == 1000
    assert [bool(found.expression.subs(n, value)) for value in (5, 6, 7, 8, 6999, 7000)] == [
        False, True, True, False, True, True,
    ]  # fmt: skip


def test_an_unknown_that_cancels_is_every_value_or_none() -> None:
    """A program moves as many bytes as itself, and never fewer."""
    program = matmul("n", "n", "n")
    for sign, holds in (("<=", True), ("==", True), ("<", False)):
        found = solve(program, "n", where=f"bytes {sign} beside_bytes", beside=program)
        assert found.intervals == (((1, None),) if holds else ())
        assert holds or "n cancels" in repr(found)
    with pytest.raises(SolveError, match="does not occur"):
        solve("3 < 4", "n")
