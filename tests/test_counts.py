"""Counts of whole programs: the figures that the one rule gives, and formulas that equal what is counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from reference import differences
from strategies import Recipe, composed, programs, recipes, staged

import perfmodel as pm
from perfmodel.expressions import bind
from perfmodel.graph import contracted
from perfmodel.graph.kernel_counts import KernelCount

n, m, k = pm.dims("n m k")
M, N = pm.dims("M N")
TOTALS = ("flops", "macs", "issued_flops", "memory_bytes")
MOVED = ("bytes_read", "bytes_written", "bytes", "elements_read", "elements_written", "footprint_bytes")


def elements(p: pm.Program) -> tuple[Any, Any]:
    """Elements read and written."""
    return p.elements_read, p.elements_written


# the figures


def test_sin_squared_plus_cos_squared() -> None:
    """5 kernels: sin, cos and two squares read 1 and write 1 each, the sum reads 2 and writes 1; fused 1 and 1."""
    p = pm.elementwise("sin(x)**2 + cos(x)**2", n)
    assert len(p.kernels) == 5
    assert elements(p) == (4 * n + 2 * n, 5 * n)
    assert elements(pm.fuse(p)) == (n, n)


def test_relu_of_a_scaled_and_shifted_vector() -> None:
    """x*w and +b read 2 and write 1, relu 1 and 1: 3n + 3n + 2n = 8n; fused 3 reads + 1 write = 4n."""
    p = pm.elementwise("relu(x*w + b)", n)
    assert len(p.kernels) == 3
    assert sum(elements(p)) == 3 * n + 3 * n + 2 * n
    assert elements(pm.fuse(p)) == (3 * n, n)


def test_softmax() -> None:
    """max MN -> M, sub MN + M -> MN, exp MN -> MN, sum MN -> M, div MN + M -> MN; fused MN -> MN."""
    p = pm.softmax(M, N)
    assert elements(p) == (5 * M * N + 2 * M, 3 * M * N + 2 * M)
    assert elements(pm.fuse(p)) == (M * N, M * N)


def test_attention_by_stage_moves_its_scores_four_times() -> None:
    """S and P of n x n, 2 bytes each, occupy 2 * 2 n^2 = 17.2 GB at n = 65536 and are written and read: 34.4 GB."""
    size = 65_536
    p = pm.fuse(pm.attention(size, size, 128), by="stage")
    assert [kernel.name for kernel in p.kernels] == ["attention.scores", "attention.softmax", "attention.values"]
    large = [item for item in p.tensors.values() if item.name in ("S", "P")]
    assert sum(item.format.bytes_of(item.extents) for item in large) == 2 * 2 * size**2
    assert f"{2 * 2 * size**2 / 1e9:.1f}" == "17.2"
    moved = [t.bytes for count in p.counted for t in count.transfers if t.tensor in ("S", "P")]
    assert moved == [2 * size**2] * 4
    assert f"{sum(moved) / 1e9:.1f}" == "34.4"


def test_attention_in_one_kernel_moves_its_inputs_and_output() -> None:
    """Q, K, V and O of n x d, 2 bytes each."""
    assert pm.fuse(pm.attention(n, n, k)).bytes == 4 * 2 * n * k


@pytest.mark.parametrize(("align", "pairs"), [("end", 5 + 6 + 7 + 8), ("start", 1 + 2 + 3 + 4)])
def test_causal_attention_counts_the_pairs_that_it_computes(align: str, pairs: int) -> None:
    """4 queries and 8 keys, d = dv = 2: two contractions of 2 * 2 FLOPs a pair, and 4 vector operations a pair."""
    p = pm.attention(4, 8, 2, causal=True, align=align)
    assert p.macs == 2 * 2 * pairs
    assert p.flops == 2 * 2 * 2 * pairs + 4 * pairs
    assert p.flops_by_unit["special"] == pairs


def test_intensity_of_a_square_matmul_is_a_third_of_its_side() -> None:
    """2 n^3 FLOPs over 3 n^2 elements of 2 bytes."""
    p = pm.matmul(n, n, n)
    assert p.intensity == n / 3
    assert p.at(n=96).intensity == 96 / 3
    assert isinstance(p.at(n=96).intensity, float)


def test_grouped_queries_read_each_key_head_once() -> None:
    """8 query heads share 2 heads of K and V: 2 * (8 q d + 2 kv d + 2 kv d + 8 q d) bytes."""
    p = pm.fuse(pm.attention(3, 5, 7, heads=8, kv_heads=2))
    assert p.bytes == 2 * (8 * 3 * 7 + 2 * 5 * 7 + 2 * 5 * 7 + 8 * 3 * 7)


def test_symbolic_intensity_has_no_common_factor() -> None:
    """2 m n k over 2 (m k + k n + m n): the twos cancel."""
    assert str(pm.matmul(m, n, k).intensity) == "k*m*n/(k*m + k*n + m*n)"


def test_macs_are_half_of_a_matmuls_flops() -> None:
    """A MAC is a multiply and an add; the two are never called by one name."""
    p = pm.matmul(m, n, k)
    assert (p.flops, p.macs) == (2 * m * n * k, m * n * k)


def test_flops_by_format_take_the_unit_and_the_format_apart() -> None:
    """An int8 matmul and an fp32 relu on its result."""
    a, b = pm.tensor("a", {"m": 2, "k": 3}, dtype="int8"), pm.tensor("b", {"k": 3, "n": 5}, dtype="int8")
    p = pm.program(pm.relu(pm.matmul(a, b, out_dtype="fp32")))
    assert p.flops_by_format == {("matrix", "int8"): 2 * 2 * 5 * 3, ("vector", "fp32"): 2 * 5}
    assert p.flops_by_unit == {"matrix": 2 * 2 * 5 * 3, "vector": 2 * 5, "special": 0}


def test_scales_of_blocks_are_part_of_the_bytes() -> None:
    """W[k, n] of NVFP4: k rows of 40 elements at 4 bits and ceil(40 / 16) = 3 scales of 8 bits."""
    p = pm.gemv(40, 64, dtype={"W": "nvfp4"})
    weight = next(t for t in p.counted[0].transfers if t.tensor == "W")
    assert weight.bytes == 64 * (40 * 4 + 3 * 8) // 8


def test_bits_that_are_no_bytes_round_up_once() -> None:
    """15 elements of 4 bits take 8 bytes, and 15 of 4.85 bits 72.75 bits, 10 bytes."""
    halves = pm.elementwise("exp(x)", 15, dtype={"x": "int4"})
    odd = pm.elementwise("exp(x)", 15, dtype={"x": pm.Format(bits="4.85")})
    assert (halves.bytes_read, odd.bytes_read) == (8, 10)
    assert 15 * Fraction("4.85") / 8 <= 10


def test_repetition_multiplies_work_and_traffic_and_nothing_else() -> None:
    """80 equal layers cost 80 times one; what a kernel holds stays."""
    p = pm.gated_mlp(m, n, k)
    many = p.repeat(80)
    assert (many.flops, many.bytes, many.macs) == (80 * p.flops, 80 * p.bytes, 80 * p.macs)
    assert many.footprint_bytes == p.footprint_bytes
    assert many.intensity == p.intensity


def test_the_traffic_table_shows_one_run_and_its_repetitions() -> None:
    """Rows by kernel and tensor, summing to the bytes."""
    p = pm.fuse(pm.softmax(4, 8)).repeat(3)
    table = p.traffic().to_dict()
    assert table["tensor"] == ["x", "y"]
    assert table["elements"] == [4 * 8, 4 * 8]
    assert sum(size * times for size, times in zip(table["bytes"], table["repeat"], strict=True)) == p.bytes


def test_the_traffic_table_says_where_a_hull_is_counted() -> None:
    """Windows of symbolic stride may leave gaps: the row has a note, and other programs have no such column."""
    x = pm.window(pm.tensor("x", {"i": n}), "i", "p", "r", 2, stride="s")
    assert "note" in pm.program(pm.sum(x, "r")).traffic().columns
    assert "note" not in pm.softmax(4, 8).traffic().columns


def test_the_counts_of_a_kernel_add_up_its_transfers() -> None:
    """2 reads + 1 write of a 2 x 3 x 4 matmul at 2 bytes."""
    (count,) = pm.matmul(2, 3, 4).counted
    assert isinstance(count, KernelCount)
    assert count.bytes == 2 * (2 * 4 + 4 * 3 + 2 * 3)


def test_given_counts_are_taken_as_they_are() -> None:
    """An opaque workload of 8 FLOPs, 2 special operations and 3 + 1 bytes."""
    p = pm.workload(flops=8, special=2, bytes_read=3, bytes_written=1)
    assert (p.flops, p.flops_by_unit["special"], p.bytes_read, p.bytes_written) == (8, 2, 3, 1)
    assert p.intensity == 8 / (3 + 1)


@pytest.mark.parametrize("flops", [8, "n"])
def test_intensity_without_bytes_is_refused(flops: Any) -> None:
    """Nothing moves, so there is no FLOP per byte, for numbers and formulas alike."""
    with pytest.raises(pm.DimensionError, match="intensity: workload moves no bytes"):
        _ = pm.workload(flops=flops).intensity


def test_counts_of_numbers_are_ints() -> None:
    """No sympy number hides in a concrete count, which would be slow and print oddly."""
    p = pm.fuse(pm.attention(8, 8, 4, causal=True, dtype={"K": "mxfp4"}), by="stage")
    assert {type(getattr(p, name)) for name in (*TOTALS, *MOVED)} == {int}


# symbolic = counted


def assert_formulas_hold(symbolic: pm.Program, concrete: pm.Program, values: dict[sympy.Symbol, int]) -> None:
    """Formulas at these values are the counts; those that say that they count a hull are not less."""
    hull = any(t.note for count in symbolic.counted for t in count.transfers)
    for name in (*TOTALS, *MOVED):
        formula, count = bind(getattr(symbolic, name), values), getattr(concrete, name)
        assert formula == count or (hull and name in MOVED and formula > count), name
    for one, other in zip(symbolic.counted, concrete.counted, strict=True):
        for formal, real in zip(one.transfers, other.transfers, strict=True):
            found = (bind(formal.elements, values), bind(formal.bytes, values))
            assert found == (real.elements, real.bytes) or (formal.note and found >= (real.elements, real.bytes))


@settings(max_examples=40)
@given(recipes())
def test_formulas_equal_counts(recipe: Recipe) -> None:
    """A program built from symbols, its formulas at numbers, against the same program built from these numbers."""
    assert_formulas_hold(recipe.symbolic(), recipe.program(), recipe.values)


@settings(max_examples=40)
@given(recipes())
def test_formulas_of_fused_programs_equal_counts(recipe: Recipe) -> None:
    """The same in one kernel, where what is held depends on which intermediate is largest."""
    assert_formulas_hold(pm.fuse(recipe.symbolic()), pm.fuse(recipe.program()), recipe.values)


@settings(max_examples=60)
@given(recipes())
def test_binding_a_program_gives_the_program_of_numbers(recipe: Recipe) -> None:
    """p.at(...) of the symbolic program is the one that was built from ints, and counts like it."""
    symbolic, concrete = recipe.symbolic(), recipe.program()
    bound = symbolic.at({symbol: recipe.values[symbol] for symbol in symbolic.symbols})
    assert bound == concrete
    assert differences(bound) == {}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_formulas_of_masked_attention_equal_counts(size: int) -> None:
    """Causal windows of symbolic length, fused by stage, at sizes around the window's."""
    p = pm.fuse(pm.attention("q", "kv", 2, causal=True, window="w"), by="stage")
    values = {"q": size, "kv": 5, "w": 3}
    bound = {symbol: values[symbol.name] for symbol in p.symbols}
    assert_formulas_hold(p, pm.fuse(pm.attention(size, 5, 2, causal=True, window=3), by="stage"), bound)


def test_formulas_of_a_convolution_equal_counts() -> None:
    """Every size of a padded, strided, dilated convolution as a symbol."""
    p = pm.conv2d("b", "h", "w", "c", "f", kernel=3, stride=2, padding=1, dilation=2)
    for height, width in ((5, 6), (7, 9), (10, 5)):
        values = {"b": 2, "h": height, "w": width, "c": 3, "f": 4}
        bound = {symbol: values[symbol.name] for symbol in p.symbols}
        concrete = pm.conv2d(2, height, width, 3, 4, kernel=3, stride=2, padding=1, dilation=2)
        assert_formulas_hold(p, concrete, bound)
        assert differences(concrete) == {}


# laws


@settings(max_examples=40)
@given(composed())
def test_programs_in_sequence_and_repeated_are_counted_exactly(p: pm.Program) -> None:
    """Random programs one after another, repeated and fused, against the reference."""
    assert differences(p) == {}


@settings(max_examples=30)
@given(staged())
def test_no_program_moves_less_than_its_inputs_and_outputs(p: pm.Program) -> None:
    """Each input that is used is read at least once, and each output written once."""
    compulsory = pm.fuse(p)
    (whole,) = compulsory.counted
    assert {t.tensor for t in whole.transfers if t.direction == "read"} == {item.name for item in p.inputs}
    assert {t.tensor for t in whole.transfers if t.direction == "write"} == set(p.returned)
    assert p.bytes_read >= compulsory.bytes_read
    assert p.bytes_written >= compulsory.bytes_written


@settings(max_examples=30)
@given(programs())
def test_totals_are_sums_over_kernels(p: pm.Program) -> None:
    """Bytes by kernel, and operations by unit and format, add up to the program's."""
    assert sum(count.bytes for count in p.counted) == p.bytes == p.bytes_read + p.bytes_written
    assert sum(p.flops_by_format.values()) == sum(p.flops_by_unit.values())
    assert p.flops == p.flops_by_unit["matrix"] + p.flops_by_unit["vector"]
    assert p.issued_flops >= p.flops


@pytest.mark.parametrize(
    "p",
    [
        pm.matmul(3, 4, 5, batch=2, dtype={"A": "mxfp4"}),
        pm.attention(5, 7, 3, 2, heads=4, kv_heads=2, batch=2, causal=True, lse=True, scale=True),
        pm.conv2d(2, 6, 7, 4, 6, kernel=3, stride=2, padding=1, dilation=2, groups=2),
        pm.pool2d(1, 6, 6, 2, kernel=3, stride=2, padding=1),
        pm.layernorm(3, 5),
        pm.layernorm(3, 5, form="moments"),
        pm.rmsnorm(3, 5),
        pm.softmax(3, 4, form="naive"),
        pm.gated_mlp(3, 4, 5),
        pm.embedding(3, 7, 5),
        pm.optimizer_step(7, copy="bf16"),
        pm.workload(flops=3, bytes_read=7, bytes_written=5),
    ],
    ids=lambda p: p.name,
)
def test_every_descriptor_counts_like_the_reference(p: pm.Program) -> None:
    """One op a kernel, by stage and repeated, and all in one kernel."""
    assert differences(p) == {}
    assert differences(pm.fuse(p, by="stage").repeat(3)) == {}
    assert differences(pm.fuse(p)) == {}


def test_a_mask_is_bound_with_the_program() -> None:
    """A window of w keys at w = 2: rows of 4 see 1, 2, 2 and 2 keys of their own position and before."""
    q, keys = pm.tensor("Q", {"q": 4}), pm.tensor("K", {"kv": 4})
    p = pm.program(contracted([q, keys], ("q", "kv"), mask=pm.causal(window="w")))
    assert [symbol.name for symbol in p.symbols] == ["w"]
    assert p.at(w=2).flops == 1 + 2 + 2 + 2
    assert p.at(w=2).ops[0].mask == pm.causal(window=2)
