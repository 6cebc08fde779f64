"""Counts of tiles in symbols, at random sizes that their assumptions allow, are those of the program bound there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.expressions import bind, dimension

COUNTS = ("flops", "issued_flops", "bytes_read", "bytes_written", "footprint_bytes", "memory_bytes")
x = pm.tensor("x", {"m": "m", "n": "n"})
PROGRAMS = {
    "matmul": pm.matmul("m", "n", "k"),
    "exp": pm.program(pm.exp(x)),
    "exp of a sum": pm.fuse(pm.program(pm.exp(pm.sum(x, "n")))),
    "mean": pm.fuse(pm.program(pm.mean(x, "n") * 2)),
    "centred": pm.fuse(pm.program(x - pm.mean(x, "n"))),
    "softmax": pm.fuse(pm.softmax("m", "n")),
}
LEVELS = ("registers", "shared", "l2")


def counts(p: pm.Program) -> dict[str, Any]:
    """All counts of a program, and what its levels serve."""
    found = {name: getattr(p, name) for name in COUNTS} | p.flops_by_unit
    for level in p.counted[0].levels:
        found |= {f"{level} {row[1]} {row[2]}": row[4] for row in p.traffic(level).rows}
    return found


def cuts(labels: list[str]) -> st.SearchStrategy[list[tuple[str, bool, int]]]:
    """Some labels in some order, each in the grid or not, by some tile."""
    size = st.sampled_from([1, 2, 3, 4, 8])
    some = st.lists(st.sampled_from(labels), min_size=1, max_size=len(labels), unique=True)
    return some.flatmap(
        lambda chosen: st.tuples(*[st.tuples(st.just(one), st.booleans(), size) for one in chosen])
    ).map(list)


def tiled(p: pm.Program, levels: list[list[tuple[str, bool, int]]], buffers: int, atomic: bool) -> pm.Program | None:
    """The program in tiles, the innermost first; None where that is refused."""
    for place, level in enumerate(levels):
        grid = {label: size for label, inside, size in level if inside}
        stream = {label: size for label, inside, size in level if not inside}
        adding = [label for label in grid if atomic and label in ("n", "k")] if place == len(levels) - 1 else []
        try:
            p = pm.tile(p, grid=grid, stream=stream, level=LEVELS[place], buffers=buffers, atomic=adding)
            p.assumptions  # noqa: B018 (what has no formula in symbols is refused)
        except pm.PerfModelError:
            return None
    return p


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("depth", [1, 2, 3])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_formulas_are_the_counts_where_their_assumptions_hold(name: str, depth: int, data: st.DataObject) -> None:
    """One level, two and three; in blocks that combine in memory, too. No formula holds a symbol of its own."""
    labels = [label for label in PROGRAMS[name].labels if label in ("m", "n", "k")]
    levels = data.draw(st.lists(cuts(labels), min_size=depth, max_size=depth))
    p = tiled(PROGRAMS[name], levels, data.draw(st.sampled_from([1, 2])), data.draw(st.booleans()))
    for sizes in data.draw(st.lists(st.tuples(*[st.integers(1, 20)] * len(labels)), min_size=4, max_size=4)):
        given_sizes = dict(zip(labels, sizes, strict=True))
        values = {dimension(label): size for label, size in given_sizes.items()}
        if p is not None and all(bool(relation.subs(values)) for relation in p.assumptions):
            bound = counts(p.at(given_sizes))
            assert {key: bind(formula, values) for key, formula in counts(p).items()} == bound


def test_one_block_that_combines_with_none_is_no_case_of_the_formula() -> None:
    """Of 3 of k in blocks of 3 there is one, which stores C without zeros before."""
    p = pm.tile(pm.matmul("m", "n", "k", dtype="fp32"), grid={"k": 3}, atomic=["k"])
    assert p.assumptions == (pm.dims("k") > 3,)
    assert p.at(m=4, n=2, k=3).bytes_written == 4 * 2 * 4
    n = pm.dims("n")
    assert (n > 128) in pm.recipes.flash_attention_backward("n", "n", 64).assumptions


def test_an_uncut_reduction_inside_an_outer_block_is_cut_by_the_inner_ones() -> None:
    """Blocks of 2 of n each make all of the mean; the blocks of 3 inside them repeat it as often as 3 goes into n."""
    p = pm.tile(pm.tile(PROGRAMS["mean"], grid={"n": 3}, level="registers"), grid={"n": 2})
    assert p.assumptions == (pm.dims("n") >= 2, pm.dims("n") >= 3)
    assert bind(p.flops, {dimension("m"): 11, dimension("n"): 5}) == p.at(m=11, n=5).flops


def test_the_largest_kind_of_tile_may_depend_on_a_symbol() -> None:
    """A mean over n is held for all m, with 4 of x; the difference is made 4 at a time, from x and the mean."""
    p = pm.tile(PROGRAMS["centred"], stream={"n": 4, "m": 4}, level="shared")
    p = pm.tile(p, stream={"n": 1}, level="l2")
    m = pm.dims("m")
    assert bind(p.footprint_bytes, {m: 14}) == max((4 + 14) * 2, 3 * 4 * 2) == p.at(m=14, n=8).footprint_bytes
    assert [row[2] for row in p.footprint().rows if row[1] == "shared"] == ["most"]


def test_a_tile_larger_than_its_label_is_issued_whole() -> None:
    """2 rows in tiles of 3: no loop, and 3 rows are issued; a formula says the same where m >= 3."""
    p = pm.tile(pm.matmul(2, 4, 3), m=3)
    assert (p.bytes, p.issued_flops) == (pm.matmul(2, 4, 3).bytes, 2 * 3 * 4 * 3)
    assert bind(pm.tile(pm.matmul("m", 4, 3), m=3).issued_flops, {dimension("m"): 2}) == p.issued_flops
