"""Masks in symbols: formulas that bind to the very count of the concrete mask, and stay small."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings, strategies as st

from perfmodel.expressions import Size, bind, dims, remainder
from perfmodel.graph.masks import Mask, banded, causal, chunked

n, p, q, kv, w, c, a, b = dims("n p q kv w c a b")
ALIGNMENTS = st.sampled_from(["end", "start"])
EXTENTS = st.integers(1, 40)

MASKS = [
    causal(window=w, chunk=c),
    causal(window=w),
    causal(chunk=c),
    causal(),
    chunked("q", "kv", c),
    banded("q", "kv", a, b),
    banded("q", "kv", None, b),
    banded("q", "kv", a, None),
    banded("q", "kv", 3, 5),
    Mask("q", "kv", a, b, c),
    Mask("q", "kv", a, None, c),
    Mask("q", "kv", w - 1, w - 1, 7),
    Mask("q", "kv", c - 1, 0, c),  # as long as the chunk: the window is idle
    Mask("q", "kv", n, 0),  # the window is an extent
    Mask("q", "kv"),
]
EXTENTS_IN_SYMBOLS = [(q, kv), (n, n), (q, q + p), (kv + p, kv), (n, 24), (5, n), (1, n), (n, 1), (2 * n, 3 * n)]


@pytest.mark.parametrize(("queries", "keys"), EXTENTS_IN_SYMBOLS, ids=str)
@settings(max_examples=40)  # for each of the nine extents
@given(data=st.data())
def test_a_formula_bound_to_ints_is_the_count_of_those_ints(queries: Size, keys: Size, data: st.DataObject) -> None:
    """Symbols anywhere (extents, window, chunk, reaches): xreplace gives the very int of the concrete mask."""
    align = data.draw(ALIGNMENTS)
    drawn = data.draw(st.sampled_from(MASKS))
    mask = Mask("q", "kv", drawn.left, drawn.right, drawn.chunk, align)
    values = {symbol: data.draw(st.integers(1, 30)) for symbol in (n, p, q, kv, w, c, a, b)}
    concrete = counts(mask.bound(values), bind(queries, values), bind(keys, values))
    bound = [bind(formula, values) for formula in counts(mask, queries, keys)]
    assert bound == concrete
    assert all(type(value) is int for value in bound)


def counts(mask: Mask, queries: Size, keys: Size) -> list[Size]:
    """Pairs, and both ends of the hull of the rows and of that of the keys."""
    return [mask.pairs(queries, keys), *mask.rows(queries, keys), *mask.columns(queries, keys)]


@settings(max_examples=10)  # sympy takes its time to order half-bound Max and Min
@given(values=st.fixed_dictionaries({q: EXTENTS, kv: EXTENTS, w: EXTENTS, c: EXTENTS}), align=ALIGNMENTS)
def test_binding_in_two_steps_is_binding_at_once(values: dict[sympy.Symbol, int], align: str) -> None:
    """A half-bound formula still counts exactly."""
    pairs = causal(window=w, chunk=c, align=align).pairs(q, kv)
    half = bind(pairs, {q: values[q], c: values[c]})
    assert bind(half, {kv: values[kv], w: values[w]}) == bind(pairs, values)


def test_equal_extents_give_plain_polynomials() -> None:
    """Causal over n by n is n (n + 1) / 2 from either end, to the letter, and everything is n^2."""
    assert causal().pairs(n, n) == n * (n + 1) / 2 == causal(align="start").pairs(n, n)
    assert Mask("q", "kv").pairs(n, n) == n**2
    assert not causal(chunk=c).pairs(n, n).atoms(sympy.Max, sympy.Min, sympy.Piecewise)


def test_new_rows_after_p_old_ones_give_a_plain_polynomial() -> None:
    """q rows after p keys see p + 1 up to p + q keys: a trapezium, without Max."""
    assert causal().pairs(q, q + p) == q * (2 * p + q + 1) / 2


def test_one_row_sees_the_keys_of_its_window() -> None:
    """Decoding one token: all keys, or those of the window, and one Max for where they end."""
    assert causal().pairs(1, n) == n
    assert bind(causal(window=128).pairs(1, n), {n: 4096}) == 128
    assert len(causal(window=128).pairs(1, n).atoms(sympy.Max)) == 1


def test_formulas_stay_small() -> None:
    """One Max a corner that the symbols leave open: the rows before the keys, and the window's end on either side."""
    assert causal().pairs(q, kv).atoms(sympy.Max) == {sympy.Max(0, kv - q)}
    assert causal(window=w).pairs(n, n).atoms(sympy.Max) == {sympy.Max(0, n - w)}
    ends = {sympy.Max(0, kv - q), sympy.Max(0, kv - w), sympy.Max(0, kv - q - w)}
    assert causal(window=w).pairs(q, kv).atoms(sympy.Max) == ends


def test_chunks_are_whole_squares_and_a_ragged_one() -> None:
    """n / c squares of c and one of what is left; causal ones from q to kv need no Min."""
    assert chunked("q", "kv", c).pairs(n, n) == c**2 * sympy.floor(n / c) + remainder(n, c) ** 2
    assert not causal(chunk=c).pairs(q, kv).atoms(sympy.Min)
    more_rows = chunked("q", "kv", c, "start").pairs(kv + p, kv)
    assert more_rows.atoms(sympy.floor) == {sympy.floor(kv / c)}  # the keys end first: their chunks count
    ragged = causal(chunk=c, align="start").pairs(q, kv).atoms(sympy.Min)
    assert ragged
    assert all(rest.is_nonnegative for rest in ragged)  # so no Max(0, Min(...)) around them


def test_hulls_are_plain_where_the_longer_side_is_known() -> None:
    """No Min of a chunk's end and an extent that the chunk cannot cut."""
    mask = chunked("q", "kv", c, "start")
    assert (mask.rows(n, n), mask.columns(n, n)) == ((0, n), (0, n))
    assert mask.rows(q, q + p) == (0, q)
    assert mask.columns(kv + p, kv) == (0, kv)


def test_an_idle_window_leaves_no_trace() -> None:
    """A window as long as the chunk counts as the chunk alone, also in symbols."""
    assert causal(window=c, chunk=c).pairs(n, n) == causal(chunk=c).pairs(n, n)
    assert causal(window=1, chunk=1).pairs(9, 9) == 9
