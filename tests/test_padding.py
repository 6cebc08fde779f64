"""``pad``: what grows and what does not, values and counts by running it, and what is refused."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import (
    arrays_of,
    assert_counts_as_it_runs,
    assert_same_values,
    cuts,
    evaluated,
    hulls,
    loads,
    simulated,
    tiled,
)
from strategies import programs, recipes, staged

import perfmodel as pm
from perfmodel.graph import mapped
from perfmodel.simulation.tallying import count_differences

LAW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
REFUSED = ("lies under a mask", "rolled around its end")


# figures


def test_useful_work_stays_and_issued_work_grows() -> None:
    """100 columns run to 2 * 64; useful multiply-adds are those of 100."""
    p = pm.pad(pm.matmul(100, 100, 100), n=64)
    assert (p.flops, p.macs) == (2 * 100 * 100 * 100, 100 * 100 * 100)
    assert p.issued_flops == 2 * 100 * (2 * 64) * 100


def test_tensors_grow_where_the_label_measures_them() -> None:
    """B and C have the label n, A has not."""
    p = pm.pad(pm.matmul(100, 100, 100, dtype="fp32"), n=64)
    extents = {name: tensor.extents for name, tensor in p.tensors.items()}
    assert extents == {"A": (1, 100, 100), "B": (1, 100, 128), "C": (1, 100, 128)}
    assert p.elements_read == 100 * 100 + 100 * 128
    assert p.bytes_written == 4 * 100 * 128
    assert p.memory_bytes == 4 * (100 * 100 + 2 * 100 * 128)


def test_formulas_are_exact_for_any_size() -> None:
    """ceil(n / 64) * 64 columns are stored, n are worth something."""
    m, n, k = pm.dims("m n k")
    p = pm.pad(pm.matmul(m, n, k), n=64)
    columns = 64 * pm.ceil_div(n, 64)
    assert p.outputs[0].extents == (1, m, columns)
    assert p.flops == 2 * m * n * k
    assert p.issued_flops == 2 * m * columns * k
    assert p.elements_read == m * k + k * columns
    assert p.at(m=3, n=65, k=5).elements_written == 3 * 128


def test_a_multiple_may_be_a_formula() -> None:
    """To a multiple of t, whatever t is."""
    n, t = pm.dims("n t")
    p = pm.pad(pm.matmul(4, n, 4), n=t)
    assert p.issued_flops == 2 * 4 * 4 * t * pm.ceil_div(n, t)
    assert p.at(n=10, t=4).issued_flops == 2 * 4 * 4 * 12


def test_a_multiple_that_divides_changes_nothing() -> None:
    """128 is two times 64 already, and a padded label is at its multiple."""
    p = pm.matmul(128, 128, 128)
    assert pm.pad(p, n=64) == p
    once = pm.pad(pm.matmul("m", "n", "k"), n=64)
    assert once != pm.matmul("m", "n", "k")
    assert pm.pad(once, n=64) == pm.pad(once, n=32) == once


def test_a_padded_label_can_be_padded_further() -> None:
    """100 to 2 * 64 to 3 * 48; the values still end at 100."""
    p = pm.pad(pm.pad(pm.matmul(4, 100, 4), n=64), n=48)
    assert p.labels["n"] == 3 * 48
    assert (p.flops, p.issued_flops) == (2 * 4 * 100 * 4, 2 * 4 * (3 * 48) * 4)


def test_several_labels_at_once_are_as_one_after_another() -> None:
    """The order does not matter."""
    p = pm.matmul(5, 6, 7)
    assert pm.pad(p, m=4, k=4) == pm.pad(pm.pad(p, k=4), m=4)
    assert pm.pad(p, m=4, k=4).issued_flops == 2 * 8 * 6 * 8


def test_a_mean_divides_by_the_points_that_there_are() -> None:
    """10 values in a row of 16: useful are 10 additions and a division, issued 16 of them."""
    p = pm.pad(pm.program(pm.mean(pm.tensor("x", {"m": 3, "n": 10}), "n")), n=16, m=4)
    assert p.flops == 3 * (10 + 1)
    assert p.issued_flops == 4 * (16 + 1)
    arrays = arrays_of(p.parent or p)
    np.testing.assert_allclose(pm.simulate(p, arrays).values["mean"], arrays["x"].mean(axis=1))


def test_a_maximum_of_negative_values_is_not_the_zero_of_the_padding() -> None:
    """Padding holds zeros, which a maximum leaves out."""
    p = pm.pad(pm.program(pm.max(pm.tensor("x", {"m": 2, "n": 3}), "n")), n=4)
    run = pm.simulate(p, {"x": -np.ones((2, 3))})
    assert run.values["max"].tolist() == [-1, -1]
    assert run.counts.loads["x"] == 2 * 4


def test_attention_pads_its_head_dimension_under_a_mask() -> None:
    """Causal pairs are as they were; 80 runs to 128 in Q and K alone."""
    p = pm.attention(16, 16, 80, causal=True)
    padded = pm.pad(p, d=64)
    assert padded.flops == p.flops
    assert padded.elements_read - p.elements_read == 2 * 16 * 48
    assert pm.check(padded)


def test_labels_that_measure_one_axis_go_together() -> None:
    """x is read along i and along j: padding i pads j."""
    x = pm.tensor("x", {"i": 6})
    p = pm.pad(pm.program(pm.einsum("i,j->ij", x, x)), i=4)
    assert p.labels == {"i": 8, "j": 8}
    assert p.flops == 6 * 6


def test_tiles_run_over_the_padding() -> None:
    """100 columns in tiles of 64: padded, the second tile moves all of its 64."""
    plain, padded = [pm.tile(p, n=64) for p in (pm.matmul(10, 100, 10), pm.pad(pm.matmul(10, 100, 10), n=64))]
    assert loads(plain) == {"A": 2 * 10 * 10, "B": 10 * 100}
    assert loads(padded) == {"A": 2 * 10 * 10, "B": 10 * 128}
    assert (padded.flops, padded.issued_flops) == (plain.flops, plain.issued_flops)


# convolutions


@pytest.mark.parametrize("labels", [{"p": 4}, {"q": 3, "f": 4}, {"c": 4}, {"r": 4}, {"batch": 2}], ids=str)
@pytest.mark.parametrize("spacing", [{}, {"padding": 1, "stride": 2}, {"padding": 2, "dilation": 2}], ids=str)
def test_convolutions_can_be_padded(labels: dict[str, int], spacing: dict[str, int]) -> None:
    """Windows past the last one read what there is, and write zeros that are cut off."""
    p = pm.conv2d(height=7, width=7, c_in=3, c_out=5, kernel=3, **spacing)
    padded = pm.pad(p, **labels)
    arrays = arrays_of(p)
    before = simulated(p, arrays)
    for cut in (padded, pm.tile(padded, p=2, q=2), pm.tile(padded, f=3, stream={"c": 2})):
        run = simulated(cut, arrays)
        assert_same_values(run, before)
        assert_counts_as_it_runs(cut, run)


def test_channels_to_a_multiple_of_8() -> None:
    """3 channels run to 8: x and w grow, the multiply-adds that count are those of 3."""
    p = pm.pad(pm.conv2d(height=8, width=8, c_in=3, c_out=16, kernel=3, padding=1), c=8)
    assert p.macs == 8 * 8 * 16 * 9 * 3
    assert p.issued_flops == 2 * 8 * 8 * 16 * 9 * 8
    assert p.elements_read == 8 * 8 * 8 + 16 * 8 * 9


def test_a_padded_map_between_convolutions_reads_as_zeros() -> None:
    """The second convolution looks past the end of the first one's values: at zeros, padded or not."""
    x = pm.tensor("x", {"h": 7})
    first = pm.einsum("pr,r->p", pm.window(x, "h", "p", "r", 3), pm.tensor("v", {"r": 3}))
    wide = pm.window(pm.exp(first), "p", "o", "s", 3, padding=1)
    p = pm.program(pm.einsum("os,s->o", wide, pm.tensor("w", {"s": 3})))
    assert pm.pad(p, p=4).labels["p"] == 8
    assert pm.check(pm.pad(p, p=4))
    assert pm.check(pm.tile(pm.fuse(pm.pad(p, p=4)), o=2))


# what else is done with a padded program


def test_binding_gives_the_program_padded_in_numbers() -> None:
    """pad and at commute; where the size is a multiple there is no padding left."""
    p = pm.pad(pm.matmul("m", "n", "k"), n=64)
    assert p.at(m=3, n=100, k=5) == pm.pad(pm.matmul(3, 100, 5), n=64)
    assert p.at(m=3, n=128, k=5) == pm.matmul(3, 128, 5)


def test_resizing_a_label_pads_it_anew() -> None:
    """at(n=130) is the size of what is worth something: it runs to 3 * 64."""
    p = pm.pad(pm.matmul(4, 100, 4), n=64).at(n=130)
    assert p == pm.pad(pm.matmul(4, 130, 4), n=64)
    assert p.labels["n"] == 3 * 64


def test_the_history_and_the_explanation_say_it() -> None:
    """The step as it was called, and what it changed."""
    p = pm.pad(pm.matmul(100, 100, 100), n=64)
    assert p.history == ("matmul", "pad(n=64)")
    assert "pad(n=64): work unchanged; issued 2 MFLOP -> 2.56 MFLOP; bytes 60 kB -> 71.2 kB" in p.explain()
    assert pm.pad(p, only="matmul", m=64).history[-1] == "pad(m=64, only='matmul')"


def test_a_padded_program_can_be_pickled_and_compared() -> None:
    """It is a value."""
    p = pm.pad(pm.matmul(4, "n", 4), n=64)
    assert pickle.loads(pickle.dumps(p)) == p


def test_casting_fusing_and_renaming_keep_the_padding() -> None:
    """Each of them changes something else: 9 columns stay 9 of 16."""
    p = pm.pad(pm.softmax(4, 9), n=16)
    for q in (pm.fuse(p), pm.cast(p, "fp32"), pm.sequence(pm.softmax(4, 9), p)):
        assert q.flops == (2 if q.name == "softmax_softmax" else 1) * pm.softmax(4, 9).flops
    assert pm.pad(pm.fuse(pm.softmax(4, 9)), n=16) == pm.fuse(p)


def test_runs_hand_on_what_is_padded() -> None:
    """C becomes A three times over: padding the columns of one pads the other."""
    p = pm.pad(pm.matmul(4, 10, 10).repeat(3, carry={"C": "A"}), n=4)
    assert (p.labels["n"], p.labels["k"]) == (12, 12)
    assert p.flops == 3 * 2 * 4 * 10 * 10
    assert pm.check(p)
    assert p.at(n=20).labels["k"] == 20


def test_padded_values_round_as_the_formats_say() -> None:
    """Zeros round to zeros, and a mean's points are those that there are."""
    for p in (pm.matmul(10, 10, 10), pm.fuse(pm.layernorm(7, 10))):
        assert pm.check(pm.pad(p, m=4, n=4), rounding=True)


def test_tiles_inside_tiles_of_padded_labels() -> None:
    """100 x 300 run to 128 x 320 in blocks of 64; the useful work is that of 100 x 300."""
    p = pm.pad(pm.matmul(100, 300, 8), m=64, n=64)
    p = pm.tile(pm.tile(p, m=128, n=128, level="l2"), m=64, n=64)
    assert p.flops == 2 * 100 * 300 * 8
    assert p.issued_flops == 2 * 128 * 320 * 8
    assert pm.check(p)
    symbolic = pm.tile(pm.pad(pm.matmul("m", "n", "k"), n=64), n=128, level="l2")
    with pytest.raises(pm.DimensionError, match="padding ends, are counted at given sizes"):
        pm.tile(symbolic, n=64)


def test_the_best_tiles_of_a_padded_program_are_those_of_its_padded_size() -> None:
    """Rows and columns run to 128. In tiles of 128 x 64 A is read twice, B once, C written: bf16."""
    found = pm.best_tiles(pm.pad(pm.matmul(100, 100, 100), m=64, n=64), capacity_bytes=30_000)
    assert (found.tiles["m"], found.tiles["n"]) == (128, 64)
    assert found.bytes == 2 * (2 * 128 * 100 + 100 * 128 + 128 * 128)


# what is refused


def test_a_label_under_a_mask_is_refused() -> None:
    """The keys of a causal mask end where the rows do."""
    p = pm.attention(10, 10, 8, causal=True)
    for label in ("q", "kv"):
        with pytest.raises(pm.TransformError, match=f"pad: '{label}' lies under a mask \\(causal\\) in op 'scores'"):
            pm.pad(p, **{label: 8})


def test_a_rolled_axis_is_refused() -> None:
    """What wraps around the end would find padding there."""
    x = pm.tensor("x", {"d": 6})
    with pytest.raises(pm.TransformError, match=r"op 'add' reads 'x' rolled around its end along 'd'"):
        pm.pad(pm.program(x + x.roll("d", 3)), d=4)


def test_a_kernel_that_is_left_out_has_to_do_without_the_label() -> None:
    """sub reads x and the maximum along n too; a kernel apart is none of its business."""
    p = pm.softmax(4, 9)
    with pytest.raises(pm.TransformError, match="kernel 'sub' runs over 'n' too, and is not selected"):
        pm.pad(p, only="max", n=4)
    two = pm.sequence(pm.matmul(5, 6, 7), pm.softmax(4, 9))
    some = pm.pad(two, only="matmul", n=4)
    assert (some.labels["n"], some.labels["n_2"]) == (8, 9)
    x = pm.exp(pm.tensor("x", {"i": 6}))
    seen = pm.program(mapped("relu", pm.window(x, "i", "o", "t", 2)))
    with pytest.raises(pm.TransformError, match="kernel 'relu' reads a tensor that grows with 'i' too"):
        pm.pad(seen, only="exp", i=4)


def test_a_tiled_kernel_is_refused() -> None:
    """Tiles are found from the sizes that there are."""
    with pytest.raises(pm.TransformError, match="kernel 'matmul' is tiled; pad first, then tile"):
        pm.pad(pm.tile(pm.matmul(10, 10, 10), m=4), m=4)


def test_a_symbol_is_told_from_a_label() -> None:
    """As tile does."""
    with pytest.raises(
        pm.LabelError, match=r"b is the symbol that measures m: pm.pad\(p, m=64\) pads it, p.at\(b=64\)"
    ):
        pm.pad(pm.matmul("b", 8, 8), b=64)
    with pytest.raises(pm.LabelError, match="no label 'keys'"):
        pm.pad(pm.attention(4, 4, 4), keys=8)


@pytest.mark.parametrize("multiple", [0, -4, 2.5, "x y", None, True])
def test_a_multiple_is_a_size(multiple: Any) -> None:
    """Nothing else gives a number."""
    with pytest.raises(pm.PerfModelError, match="pad: n"):
        pm.pad(pm.matmul(8, 8, 8), n=multiple)


def test_nothing_to_pad_is_refused() -> None:
    """Some label has to be given, of a program, and one axis has one multiple."""
    with pytest.raises(pm.TransformError, match="pad: no label given"):
        pm.pad(pm.matmul(8, 8, 8))
    with pytest.raises(pm.TransformError, match="pad: expected a program, got 3"):
        pm.pad(3, n=4)  # type: ignore[arg-type]
    x = pm.tensor("x", {"i": 6})
    with pytest.raises(pm.LabelError, match=r"i, j measure the same axis, .* got i=4, j=5"):
        pm.pad(pm.program(pm.einsum("i,j->ij", x, x)), i=4, j=5)


def test_what_is_joined_has_to_be_padded_alike() -> None:
    """100 of 128 columns cannot become 128 that all count."""
    padded, whole = pm.pad(pm.matmul(4, 100, 4), n=64), pm.matmul(4, 4, 128)
    with pytest.raises(pm.DimensionError, match="sequence: 'C' and 'A' are padded differently"):
        pm.sequence(padded, whole, join={"C": "A"})
    both = pm.sequence(padded, pm.pad(pm.matmul(4, 4, 100), k=64), join={"C": "A"})
    assert both == pm.pad(pm.sequence(pm.matmul(4, 100, 4), pm.matmul(4, 4, 100), join={"C": "A"}), n=64)


def test_what_is_carried_has_to_be_padded_alike() -> None:
    """Both ends reach 128, but one of them holds 120 values and the other 100."""
    p = pm.pad(pm.matmul(4, 120, 100), n=64, k=64)
    with pytest.raises(pm.DimensionError, match="repeat: 'C' and 'A' are padded differently"):
        p.repeat(3, carry={"C": "A"})


def test_arrays_are_those_of_the_program_before_padding() -> None:
    """A padded array is not what simulate expects."""
    p = pm.pad(pm.matmul(2, 3, 2), n=4)
    with pytest.raises(pm.DimensionError, match=r"'B' has shape \(1, 2, 4\); its axes .* are \(1, 2, 3\)"):
        pm.simulate(p, {"A": np.ones((1, 2, 2)), "B": np.ones((1, 2, 4))})
    assert pm.simulate(p, arrays_of(pm.matmul(2, 3, 2))).values["C"].shape == (1, 2, 3)


# laws


@st.composite
def paddings(draw: DrawFn, program: pm.Program) -> list[tuple[str, int]]:
    """Labels and multiples, one after another."""
    steps = st.tuples(st.sampled_from(list(program.labels)), st.integers(1, 5))
    return draw(st.lists(steps, min_size=1, max_size=4)) if program.labels else []


def padded(program: pm.Program, steps: list[tuple[str, int]]) -> pm.Program:
    """The program with each step done that is not refused for a known reason."""
    for label, multiple in steps:
        try:
            program = pm.pad(program, **{label: multiple})
        except pm.TransformError as error:
            if not any(reason in str(error) for reason in REFUSED):
                raise
    return program


@LAW
@given(st.data())
def test_padding_changes_no_value_and_no_useful_work(data: st.DataObject) -> None:
    """FLOPs, multiply-adds and values are the same; what is issued and moved does not fall; counts are exact."""
    program = data.draw(staged())
    steps = data.draw(paddings(program))
    p = padded(program, steps)
    assert (p.flops_by_unit, p.macs) == (program.flops_by_unit, program.macs)
    assert p.issued_flops >= max(program.issued_flops, p.flops)
    assert p.bytes >= program.bytes
    arrays = arrays_of(program)
    run = simulated(p, arrays)
    assert_same_values(run, simulated(program, arrays))
    if not hulls(p):
        assert_counts_as_it_runs(p, run)


@LAW
@given(st.data())
def test_padding_twice_is_padding_once(data: st.DataObject) -> None:
    """The last multiple of each label divides it already."""
    program = data.draw(staged())
    for step in data.draw(paddings(program)):
        program = padded(program, [step])
        assert padded(program, [step]) == program


@LAW
@given(st.data())
def test_a_padded_program_tiled_counts_as_it_runs(data: st.DataObject) -> None:
    """Tiles of any kind over padded labels: counts exact, values those of the program that was described."""
    program = data.draw(staged())
    p = padded(program, data.draw(paddings(program)))
    cut = tiled(p, data.draw(cuts(p)))
    arrays = arrays_of(program)
    run = simulated(cut, arrays)
    assert_counts_as_it_runs(cut, run)
    assert_same_values(run, simulated(program, arrays))
    assert cut.issued_flops >= cut.flops


@LAW
@given(st.data())
def test_a_padded_program_in_nested_tiles_counts_as_it_runs(data: st.DataObject) -> None:
    """Two levels of tiles: what each asks of the next, and the work, are those of the run."""
    program = data.draw(staged(programs(steps=4)))
    p = cut = padded(program, data.draw(paddings(program)))
    for level in ("l2", "shared"):
        for name, grid, stream in data.draw(cuts(p)):
            with contextlib.suppress(pm.TransformError, pm.DimensionError):
                cut = pm.tile(cut, grid=grid, stream=stream, only=name, level=level)
    arrays = arrays_of(program)
    run = simulated(cut, arrays)
    assert_same_values(run, simulated(program, arrays))
    if not hulls(cut):
        assert count_differences(cut, run.levels) == []


@LAW
@given(st.data())
def test_padding_symbols_and_binding_them_is_padding_numbers(data: st.DataObject) -> None:
    """The same program, and the formulas give its counts."""
    recipe = data.draw(recipes(verbs=("map", "reduce", "contract", "rename", "input")))
    program, symbolic = pm.fuse(recipe.program()), pm.fuse(recipe.symbolic())
    steps = data.draw(paddings(program))
    expected, formulas = padded(program, steps), padded(symbolic, steps)
    assert formulas.at({s: n for s, n in recipe.values.items() if s in formulas.symbols}) == expected
    counts = ("flops", "issued_flops", "elements_read", "elements_written")
    assert [evaluated(getattr(formulas, name), recipe.values) for name in counts] == [
        getattr(expected, name) for name in counts
    ]


def test_check_really_pads_at_its_small_sizes() -> None:
    """A multiple of 64 becomes one that pads the small extent too: 4 runs to 6, 3 taps to 4."""
    p = pm.pad(pm.conv2d(height=9, width=9, c_in=70, c_out=4, kernel=3), c=64, r=8)
    found = pm.check(p)
    assert found
    assert (found.sizes["c"], found.sizes["r"]) == (4, 3)
    assert pm.check(p, {"c": 6})  # 6 is a multiple of 3, so it is padded to one of 4
    assert pm.check(pm.tile(pm.pad(pm.matmul("m", "n", "k"), m=64, k=48), m=128, stream={"k": 32}))


@pytest.mark.parametrize("label", ["p", "q", "r", "s", "c"])
def test_labels_that_scatter_are_not_padded(label: str) -> None:
    """A pooling's gradient adds into places that its windows name."""
    backward = pm.grad(pm.pool2d(height=4, width=4, channels=1, kernel=2, stride=2))
    with pytest.raises(pm.TransformError, match="adds into places that windows or look-ups name"):
        pm.pad(backward, **{label: 3})


@pytest.mark.parametrize("size", range(7, 14))
def test_a_multiple_that_divides_now_is_kept_for_other_sizes(size: int) -> None:
    """8 is 2 * 4 and stays 8; taken to another size, the label runs to its multiple after all, and back."""
    p = pm.pad(pm.matmul(8, 3, 5), m=4)
    assert p.at(m=size) == pm.pad(pm.matmul(size, 3, 5), m=4)
    assert p.at(m=size).at(m=12).at(m=size) == p.at(m=size)
    assert pm.pad(pm.matmul("m", 3, 5), m=4).at(m=8).at(m=size) == p.at(m=size)
    assert pm.tile(p, m=4).at(m=size).kernels == pm.tile(pm.pad(pm.matmul(size, 3, 5), m=4), m=4).kernels


def test_a_multiple_of_a_symbol_is_bound_with_it() -> None:
    """4 t is a multiple of t; with t = 3, 13 runs to 15."""
    p = pm.pad(pm.matmul(4 * pm.dims("t"), 3, 5), m="t").at(t=3)
    assert (p.labels["m"], p.at(m=13).labels["m"]) == (12, 15)


def test_what_can_be_padded_no_more_forgets_its_multiple() -> None:
    """Parts of k end where k does: 8 in 2 parts, and 12 in 2 parts, whatever multiple was asked for."""
    p = pm.split(pm.pad(pm.matmul(8, 8, 8), k=4, m=4), k=2)
    assert (p.at(m=10).labels["m"], p.at(m=10).labels["k"]) == (12, 4)
    causal = pm.pad(pm.attention(8, 8, 4, causal=True), q=4)  # under a mask: nothing to pad now, nor later
    assert causal.at(q=10).labels["q"] == 10
