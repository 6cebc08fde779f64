"""Lower bounds on what a contraction moves: the constants of the sources, and the laws that any bound obeys."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import assume, given, settings, strategies as st

import perfmodel as pm
from perfmodel.bounds.rounding import below
from perfmodel.graph import contracted

M, m, n, k, q = pm.dims("M m n k q")


def mttkrp(size: Any, rank: Any) -> pm.Program:
    """Y[k, r] = sum over i and j of X[i, j, k] A[i, r] B[j, r]."""
    x = pm.tensor("X", {"i": size, "j": size, "k": size})
    a, b = pm.tensor("A", {"i": size, "r": rank}), pm.tensor("B", {"j": size, "r": rank})
    return pm.program(pm.einsum("ijk,ir,jr->kr", x, a, b).named("Y"), name="mttkrp")


def test_a_matmul_moves_at_least_two_mnk_over_the_root_less_two_m() -> None:
    """The constant of Smith, Lowery, Langou and van de Geijn (2019), beside reading A and B and writing C once."""
    bound = pm.io_lower_bound(pm.matmul(m, n, k), capacity_elements=M)
    assert bound.sigma == Fraction(3, 2)
    assert bound.exponents == {"A": Fraction(1, 2), "B": Fraction(1, 2), "C": Fraction(1, 2)}
    assert bound.leading == 2 * m * n * k / sympy.sqrt(M)
    assert bound.derived == 2 * m * n * k / sympy.sqrt(M) - 2 * M
    assert bound.compulsory == m * k + k * n + m * n
    assert set(bound.expression.args) == {bound.derived, bound.compulsory}


def test_mttkrp_of_a_three_way_tensor_has_coefficient_three() -> None:
    """sigma = 5/3: (2/3)^(2/3) / ((2/3)^(2/3) (1/3)^(3/3)) = 3, less M / (2/3)."""
    bound = pm.io_lower_bound(mttkrp(n, q), capacity_elements=M)
    assert bound.sigma == Fraction(5, 3)
    assert bound.coefficient == 3
    assert bound.derived == 3 * n**3 * q / M ** sympy.Rational(2, 3) - 3 * M / 2


def test_where_one_array_has_every_label_only_what_is_compulsory_moves() -> None:
    """A matrix times a vector: sigma = 1, and the matrix, both vectors once."""
    bound = pm.io_lower_bound(pm.gemv(n, k), capacity_elements=M)
    assert bound.sigma == 1
    assert bound.expression == bound.leading == n * k + n + k


def test_a_label_of_extent_one_is_no_label() -> None:
    """A matmul of one column is a matrix times a vector; of one point, three elements."""
    assert pm.io_lower_bound(pm.matmul(64, 1, 64), 4).elements == 64 * 64 + 2 * 64
    assert pm.io_lower_bound(pm.matmul(1, 1, 1), 4).elements == 3


def test_numbers_are_exact_where_they_are_whole_and_never_above_the_bound() -> None:
    """M = 1024 has a whole root; M = 57344 = 64^2 * 14 has none."""
    p = pm.matmul(4096, 4096, 4096)
    whole = pm.io_lower_bound(p, capacity_elements=1024).elements
    assert type(whole) is int
    assert whole == 2 * 4096**3 // 32 - 2 * 1024
    broken = pm.io_lower_bound(p, capacity_elements=57344).elements
    # (bound + 2 M)^2 M <= 4 n^6, in integers of the float's own value
    assert (Fraction(broken) + 2 * 57344) ** 2 * 57344 <= 4 * 4096**6
    assert (Fraction(math.nextafter(broken, math.inf)) + 2 * 57344) ** 2 * 57344 > 4 * 4096**6


@given(st.fractions(min_value=-1000, max_value=1000), st.integers(2, 60))
def test_a_float_below_a_number_is_the_nearest_one(value: Fraction, root: int) -> None:
    """Not above it, and the next float is."""
    assume(value.denominator != 1)
    found = below(sympy.Rational(value.numerator, value.denominator))
    assert Fraction(found) <= value < Fraction(math.nextafter(found, math.inf))
    assert Fraction(below(sympy.sqrt(root))) ** 2 <= root


def test_symbols_bound_later_give_what_numbers_give() -> None:
    """at() binds sizes and capacity alike."""
    bound = pm.io_lower_bound(mttkrp(n, q), capacity_elements=M)
    assert bound.at(n=64, q=64, M=512) == pm.io_lower_bound(mttkrp(64, 64), capacity_elements=512)
    assert bound.at({n: 64}).at(q=64).at({M: 512}).elements == pm.io_lower_bound(mttkrp(64, 64), 512).elements
    assert bound.at(n=64, q=64, M=512).elements == 3 * 64**3 * 64 // 64 - 3 * 512 // 2  # 512^(2/3) = 64


@pytest.mark.parametrize("values", [{"z": 4}, {}])
def test_a_value_for_nothing_is_refused(values: dict[str, int]) -> None:
    """A name that the bound has not, or none at all."""
    with pytest.raises(pm.LabelError):
        pm.io_lower_bound(pm.matmul(m, n, k)).at(values)


def test_the_constant_is_the_best_over_segments() -> None:
    """max over T of T |V| / ((M + T)^sigma prod (s_j / sigma)^s_j), found by trying T, is the leading term."""
    for program in (pm.matmul(64, 64, 64), mttkrp(64, 64)):
        bound = pm.io_lower_bound(program, capacity_elements=256)
        sigma, shares = float(bound.sigma), [float(s) for s in bound.exponents.values()]
        per_segment = math.prod([(s / sigma) ** s for s in shares])
        tried = [t * bound.points / ((256 + t) ** sigma * per_segment) for t in range(1, 2000)]
        assert max(tried) == pytest.approx(float(bound.leading), rel=1e-9)


def test_the_most_intense_matmul_follows_from_the_leading_term() -> None:
    """2 n^3 FLOPs over 2 n^3 / sqrt(M) elements: sqrt(M) a byte of the narrowest format."""
    bound = pm.io_lower_bound(pm.matmul(n, n, n, dtype="fp32"), capacity_elements=M)
    assert bound.intensity_limit == sympy.sqrt(M) / 4


def test_a_bound_is_a_value_with_words() -> None:
    """repr, explanation, plain data, equality, hash and pickling."""
    bound = pm.io_lower_bound(pm.matmul(m, n, k), capacity_elements=M)
    assert pickle.loads(pickle.dumps(bound)) == bound == pm.io_lower_bound(pm.matmul(m, n, k))
    assert hash(bound) == hash(pm.io_lower_bound(pm.matmul(m, n, k)))
    assert bound != pm.io_lower_bound(pm.matmul(m, n, k), capacity_elements=64)
    assert "sigma 3/2" in repr(bound)
    assert "2 k m n / sqrt(M) - 2 M" in bound.explain().replace("m n k", "k m n")
    assert bound.to_dict()["exponents"] == {"A": "1/2", "B": "1/2", "C": "1/2"}
    assert bound._repr_latex_().startswith("$")
    assert "<pre>" in bound._repr_html_()
    assert all(text in bound.explain() for text in bound.assumptions)


def test_the_explanation_of_numbers_has_its_figures() -> None:
    """2 * 64^3 / 8 - 2 * 64 for 64^3 points through 64 elements."""
    text = pm.io_lower_bound(pm.matmul(64, 64, 64), capacity_elements=64).explain()
    assert f"{2 * 64**3 // 8 - 2 * 64:,}" in text
    assert f"{64**3:,}" in text


# ---------------------------------------------------------------------------- laws


@st.composite
def contractions(draw: st.DrawFn) -> pm.Program:
    """Two or three operands over two to four labels, some labels kept."""
    labels = "abcd"[: draw(st.integers(2, 4))]
    sizes = {label: draw(st.integers(1, 9)) for label in labels}
    kinds = st.lists(st.sampled_from(labels), min_size=1, max_size=3, unique=True)
    operands = draw(st.lists(kinds, min_size=2, max_size=3))
    tensors = [pm.tensor(f"x{place}", {c: sizes[c] for c in found}) for place, found in enumerate(operands)]
    touched = sorted({label for found in operands for label in found})
    kept = [label for label in touched if draw(st.booleans())]
    program = pm.program(contracted(tensors, tuple(kept)).named("y"))
    assume([op.kind for op in program.ops] == ["contract"])  # products that sum over nothing are maps
    return program


@st.composite
def tilings(draw: st.DrawFn, program: pm.Program) -> pm.Program:
    """Some labels in the grid, some streamed, some whole; the output spilled where it can be."""
    labels = draw(st.permutations(list(program.labels)))
    places = [draw(st.sampled_from(["grid", "stream", "whole"])) for _ in labels]
    sizes = {label: draw(st.integers(1, 5)) for label in labels}
    cut = {
        way: {label: sizes[label] for label, place in zip(labels, places, strict=True) if place == way}
        for way in ("grid", "stream")
    }
    assume(cut["grid"] or cut["stream"])
    spill = ["y"] if draw(st.booleans()) else []
    try:
        return pm.tile(program, **cut, spill=spill)
    except pm.PerfModelError:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_tiling_moves_less_than_the_bound_at_what_it_holds(data: st.DataObject) -> None:
    """Random contractions, random tilings: elements moved, counted by the traffic rule, over the bound."""
    program = data.draw(contractions())
    tiled = data.draw(tilings(program))
    try:
        gap = pm.io_lower_bound(program).against(tiled)
    except pm.TransformError as refusal:  # a spill that no loop needs is refused when it is counted
        assume("spilled" not in str(refusal))
        raise
    assert gap.moved >= gap.bound.elements >= gap.bound.compulsory > 0
    assert gap.ratio >= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(24, 40), st.integers(2, 5), st.integers(2, 5), st.sampled_from(["matmul", "mttkrp"]))
def test_small_tiles_of_large_products_stay_above_the_derived_part(size: int, a: int, b: int, kind: str) -> None:
    """Where little is held the derived part decides, not what is compulsory."""
    if kind == "matmul":
        program, cuts = pm.matmul(size, size, size), {"grid": {"m": a, "n": b}, "stream": {"k": 1}}
    else:
        program, cuts = mttkrp(size, 4 * size), {"grid": {"k": a, "r": b}, "stream": {"i": 2, "j": 2}}
    gap = pm.io_lower_bound(program).against(pm.tile(program, **cuts))
    assert gap.bound.elements > gap.bound.compulsory
    assert gap.moved > gap.bound.elements


@settings(max_examples=60, deadline=None)
@given(contractions(), st.integers(1, 400), st.integers(0, 400))
def test_a_larger_memory_never_has_a_larger_bound(program: pm.Program, small: int, more: int) -> None:
    """The bound falls with M, and never below what is compulsory."""
    least = pm.io_lower_bound(program, capacity_elements=small)
    less = pm.io_lower_bound(program, capacity_elements=small + more)
    assert least.elements >= less.elements >= less.compulsory
    assert less.compulsory == program.elements_read + program.elements_written


@settings(max_examples=60, deadline=None)
@given(contractions(), st.integers(1, 400))
def test_symbols_and_numbers_agree(program: pm.Program, capacity: int) -> None:
    """The formula at a capacity, evaluated, is the number."""
    formula = pm.io_lower_bound(program, capacity_elements=M).expression.xreplace({M: sympy.Integer(capacity)})
    assert float(formula) == pytest.approx(float(pm.io_lower_bound(program, capacity).elements), rel=1e-12)


def test_square_tiles_of_a_matmul_come_within_a_few_percent() -> None:
    """T x T of C held and one column and row at a time: n^3 (2 / T) + n^2 moved, T^2 + 2 T held."""
    p = pm.matmul(4096, 4096, 4096)
    gap = pm.io_lower_bound(p).against(pm.tile(p, grid={"m": 128, "n": 128}, stream={"k": 1}))
    assert gap.held == 128 * 128 + 2 * 128
    assert gap.moved == 2 * 4096**3 // 128 + 4096**2
    assert 1 < gap.ratio < 1.03
    assert pickle.loads(pickle.dumps(gap)) == gap
    assert gap.to_dict()["held"] == gap.held
    assert "times the bound" in repr(gap)
    assert "times the bound" in gap._repr_html_()


def test_a_tiling_in_symbols_stands_beside_a_bound_in_symbols() -> None:
    """Bound to sizes, the formula of the ratio is the number."""
    t = pm.dims("t")
    p = pm.matmul(n, n, n)
    gap = pm.io_lower_bound(p).against(pm.tile(p, grid={"m": t, "n": t}, stream={"k": 1}))
    assert gap.held == t**2 + 2 * t
    p = pm.matmul(256, 256, 256)
    number = pm.io_lower_bound(p).against(pm.tile(p, grid={"m": 16, "n": 16}, stream={"k": 1})).ratio
    values = {n: sympy.Integer(256), t: sympy.Integer(16)}
    assert float(gap.ratio.xreplace(values)) == pytest.approx(number, rel=1e-12)


def test_another_program_is_not_set_beside_a_bound() -> None:
    """Other sizes or another op are refused."""
    with pytest.raises(pm.TransformError, match="staged in another way"):
        pm.io_lower_bound(pm.matmul(8, 8, 8)).against(pm.matmul(8, 8, 9))
