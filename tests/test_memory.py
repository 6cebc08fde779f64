"""Memory: what one kernel holds, and what device memory holds while a program runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from reference import counted
from strategies import Recipe, composed, programs, recipes, staged

import perfmodel as pm
from perfmodel.expressions import bind
from perfmodel.graph.memory import footprint_rows, memory_rows, most, tensor_bytes, total_held

n, m = pm.dims("n m")


def rows(p: pm.Program) -> list[tuple[str, str, Any]]:
    """What the only kernel holds."""
    (count,) = p.counted
    return footprint_rows(count.kernel, count.transfers)


# one kernel


def test_a_matmul_holds_its_three_tensors() -> None:
    """2 inputs + 1 output at 2 bytes."""
    assert pm.matmul(3, 4, 5).footprint_bytes == 2 * (3 * 5 + 5 * 4 + 3 * 4)


def test_intermediates_count_at_their_peak() -> None:
    """Fused softmax: x and y, and at the peak the shifted scores and their exponentials, all of 4 x 8."""
    p = pm.fuse(pm.softmax(4, 8))
    assert rows(p) == [
        ("input", "x", 2 * 4 * 8),
        ("output", "y", 2 * 4 * 8),
        ("intermediate", "sub", 2 * 4 * 8),
        ("intermediate", "exp", 2 * 4 * 8),
    ]
    assert p.footprint_bytes == 4 * 2 * 4 * 8


def test_an_intermediate_is_let_go_after_its_last_use() -> None:
    """Three maps on 8 elements: at most two of their results live at once, beside input and output."""
    x = pm.tensor("x", {"i": 8})
    p = pm.fuse(pm.program(pm.exp(pm.exp(pm.exp(pm.exp(x))))))
    assert p.footprint_bytes == 2 * 8 * (1 + 1 + 2)


def test_a_result_that_leaves_is_an_output_and_no_intermediate() -> None:
    """Both results are returned: nothing is held beside input and outputs."""
    x = pm.tensor("x", {"i": 8})
    y = pm.exp(x)
    p = pm.fuse(pm.program(y, pm.exp(y)))
    assert [role for role, _, _ in rows(p)] == ["input", "output", "output"]


def test_the_footprint_table_names_roles_and_tensors() -> None:
    """One row a tensor, summing to the footprint of the kernel."""
    p = pm.fuse(pm.softmax(4, 8))
    table = p.footprint().to_dict()
    assert table["role"] == ["input", "output", "intermediate", "intermediate"]
    assert sum(table["bytes"]) == p.footprint_bytes


def test_the_largest_kernel_gives_the_footprint() -> None:
    """Of a small and a large kernel, the large one's 2 * 2 * 100 bytes."""
    small, large = pm.elementwise("exp(x)", 10), pm.elementwise("exp(x)", 100)
    assert pm.sequence(small, large).footprint_bytes == 2 * 2 * 100


def test_where_symbols_decide_the_peak_it_is_a_maximum() -> None:
    """First a product of m elements and its sum live, then one of n: which is larger, the symbols say."""
    first = pm.sum(pm.tensor("x", {}) * pm.tensor("v", {"a": m}), "a", name="first")
    second = pm.sum(first * pm.tensor("w", {"b": n}, dtype="bf16"), "b")
    p = pm.fuse(pm.program(second))
    (row,) = [row for row in rows(p) if row[0] == "intermediate"]
    assert row == ("intermediate", "mul + first or first + mul_2", row[2])
    for sizes in ({m: 9, n: 2}, {m: 2, n: 9}):
        assert bind(row[2], sizes) == 2 * (max(sizes[m], sizes[n]) + 1)
        assert bind(p.footprint_bytes, sizes) == p.at(sizes).footprint_bytes


def test_a_peak_that_is_known_is_written_without_a_maximum() -> None:
    """Two tensors of m n are never less than one and a row sum of m: 2 (x and y) + 2 of them at 2 bytes."""
    assert pm.fuse(pm.softmax(m, n)).footprint_bytes == (2 + 2) * 2 * m * n


# device memory


def test_inputs_and_outputs_live_throughout_and_intermediates_while_needed() -> None:
    """exp of exp of exp: the input, and the output with its maker, and between them two results of 8."""
    x = pm.tensor("x", {"i": 8})
    p = pm.program(pm.exp(pm.exp(pm.exp(x))).named("y"))
    resident, beside = memory_rows(p.kernels, p.tensors, p.returned, p.shared)
    assert resident == [("input", "x", 2 * 8)]
    kinds = [[role for role, _, _ in found] for found in beside]
    assert kinds == [["intermediate"], ["intermediate", "intermediate"], ["intermediate", "output"]]
    assert p.memory_bytes == 3 * 2 * 8


def test_what_stays_inside_a_kernel_takes_no_device_memory() -> None:
    """Fused, only the input and the output are in memory."""
    p = pm.fuse(pm.elementwise("exp(exp(exp(x)))", 8))
    assert p.memory_bytes == 2 * 2 * 8


def test_weights_of_repeated_layers_are_each_their_own() -> None:
    """80 layers: x and y carried from one to the next, and 80 weights."""
    x, weight = pm.tensor("x", {"t": 2, "k": 3}), pm.tensor("W", {"k": 3, "n": 3})
    layer = pm.program(pm.matmul(x, weight, name="y"))
    many = layer.repeat(80, carry={"y": "x"})
    assert many.memory_bytes == 2 * (2 * 3 + 2 * 3 + 80 * 3 * 3)
    assert layer.repeat(80).memory_bytes == 80 * 2 * (2 * 3 + 2 * 3 + 3 * 3)


def test_shared_inputs_of_repeated_layers_are_there_once() -> None:
    """A table that all layers read."""
    p = pm.elementwise("x*table", 8)
    assert p.repeat(10, shared="table").memory_bytes == 2 * 8 * (10 + 1 + 10)
    assert p.repeat(10, shared=["table", "x"]).memory_bytes == 2 * 8 * (1 + 1 + 10)


def test_an_opaque_workload_holds_what_one_run_reads_and_writes() -> None:
    """Nothing else is known of it; repeating it reads the same again."""
    p = pm.workload(flops=1, bytes_read=100, bytes_written=20)
    assert p.memory_bytes == p.repeat(9).memory_bytes == 100 + 20
    assert p.footprint_bytes == 100 + 20
    assert pm.workload(flops=1).memory_bytes == 0


def test_memory_of_a_symbolic_program_is_a_maximum_only_where_it_is_open() -> None:
    """n and n m: the kernel that makes n m holds more, whatever the symbols are."""
    x = pm.tensor("x", {"i": n})
    p = pm.program(pm.sum(pm.exp(x) * pm.tensor("w", {"j": m}), ("i", "j")))
    assert p.memory_bytes == 2 * (n + m + n + n * m)


def test_tensor_bytes_are_those_of_storage() -> None:
    """3 rows of 5 elements at 4 bits: 60 bits, 8 bytes."""
    assert tensor_bytes(pm.tensor("x", {"i": 3, "j": 5}, dtype="int4")) == 8


# the largest size


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [
        ([], 0),
        ([4, 12, 8], 12),
        ([n, n * m], n * m),
        ([n + m, n * m + n + m, 3], n * m + n + m),
        ([n**2, n], n**2),
        ([2 * n * m, n * m + n], 2 * n * m),
        ([4 * n * m, 2 * n * m + n + m], 4 * n * m),
    ],
)
def test_the_largest_of_sizes_is_found_where_it_is_certain(sizes: list[Any], largest: Any) -> None:
    """With sizes of at least 1, a product is never less than its factors."""
    assert most(sizes) == largest


def test_the_largest_of_open_sizes_is_a_maximum_of_them() -> None:
    """m and n may each be larger; what both may exceed is left out."""
    found = most([n, m, n + m])
    assert found == n + m
    assert most([n, m]).args in ((n, m), (m, n))


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=4), st.integers(1, 6), st.integers(1, 6))
def test_the_largest_size_is_that_of_the_numbers(terms: list[tuple[int, ...]], rows: int, columns: int) -> None:
    """Whatever is left out or kept, the value at each point is the largest."""
    sizes = [a + b * n + c * m + d * n * m for a, b, c, d in terms]
    values = {n: rows, m: columns}
    assert bind(most(sizes), values) == max(bind(size, values) for size in sizes)


def test_total_held_adds_rows() -> None:
    """4 + 8 bytes."""
    assert total_held([("input", "x", 4), ("output", "y", 8)]) == 4 + 8


# laws


@settings(max_examples=30)
@given(staged())
def test_footprint_and_memory_are_those_of_the_reference(p: pm.Program) -> None:
    """Random programs, fused at random: what is alive, step by step."""
    found = counted(p)
    assert p.memory_bytes == found.memory_bytes
    hulls = any(t.note for count in p.counted for t in count.transfers)
    assert p.footprint_bytes == found.footprint_bytes or (hulls and p.footprint_bytes > found.footprint_bytes)


@settings(max_examples=25)
@given(composed())
def test_memory_of_repeated_programs_is_that_of_the_reference(p: pm.Program) -> None:
    """Each repetition has inputs and outputs of its own, unless they are shared."""
    assert p.memory_bytes == counted(p).memory_bytes


@settings(max_examples=30)
@given(programs())
def test_fusing_never_needs_more_device_memory(p: pm.Program) -> None:
    """What no longer leaves a kernel is no longer stored."""
    assert pm.fuse(p).memory_bytes <= p.memory_bytes


@settings(max_examples=25)
@given(recipes(steps=4))
def test_the_largest_kernel_holds_no_more_than_its_rows(recipe: Recipe) -> None:
    """The footprint is the largest sum of the footprint table's rows of one kernel."""
    p = recipe.program()
    table = p.footprint().to_dict()
    by_kernel: dict[str, int] = {}
    for kernel, size in zip(table["kernel"], table["bytes"], strict=True):
        by_kernel[kernel] = by_kernel.get(kernel, 0) + size
    assert max(by_kernel.values()) == p.footprint_bytes


# what is alive at the peak


def test_the_table_lists_what_is_alive_while_most_is() -> None:
    """Four maps: while the second runs, x and two intermediates of 8 elements at 2 bytes; the first such kernel."""
    p = pm.elementwise("exp(exp(exp(exp(x))))", 8)
    held = 2 * 8
    assert p.memory().rows == (
        ("exp_2", "input", "x", held), ("exp_2", "intermediate", "exp", held), ("exp_2", "intermediate", "exp_2", held),
    )  # fmt: skip


def test_the_table_lists_every_kernel_that_may_be_the_peak() -> None:
    """Of m numbers and of n numbers nobody knows which are more: both kernels are listed."""
    x, y = pm.tensor("x", {"i": "m"}), pm.tensor("y", {"j": "n"})
    p = pm.program(pm.sum(pm.exp(x), "i").named("a"), pm.sum(pm.exp(y), "j").named("b"))
    assert len({row[0] for row in p.memory().rows}) == 2


@settings(max_examples=50, deadline=None)
@given(composed())
def test_the_table_adds_up_to_the_bytes(p: pm.Program) -> None:
    """In ints there is one peak, and its rows are memory_bytes together."""
    assert sum(row[3] for row in p.memory().rows) == p.memory_bytes
