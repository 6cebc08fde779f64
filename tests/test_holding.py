"""``holding``: what one block holds at once, by role, worked out by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.graph.holding import block_bytes, block_rows
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Cut, Tiling

FP32 = 4  # bytes


def cut(
    program: pm.Program, grid: Mapping[str, Any], stream: Mapping[str, Any] | None = None, spill: Collection[str] = ()
) -> Tiled:
    """A program of one kernel with these blocks and loops."""
    cuts = [tuple([Cut(*pair) for pair in found.items()]) for found in (grid, stream or {})]
    return Tiled(program.kernels[0], Tiling("shared", *cuts, spill=tuple(spill)), frozenset(program.returned))


def test_a_block_of_a_matmul() -> None:
    """16 rows of C by all 64 columns: k and n streamed, k outside, so that C is held whole, or spilled a tile."""
    p = pm.matmul(64, 64, 64, dtype="fp32")
    staged = [("staged", "A", FP32 * 16 * 8), ("staged", "B", FP32 * 8 * 32)]
    held, spilled = [cut(p, {"m": 16}, {"k": 8, "n": 32}, spill) for spill in ((), ("C",))]
    assert block_rows(held) == [*staged, ("accumulator", "C", FP32 * 16 * 64)]
    assert block_rows(spilled) == [*staged, ("accumulator", "C", FP32 * 16 * 32)]
    assert block_bytes(held) - block_bytes(spilled) == FP32 * 16 * (64 - 32)


def test_a_block_of_a_convolution() -> None:
    """8 x 8 outputs of 8 channels from 4: an input tile with its halo of 10 x 10, and all 3 x 3 weights."""
    p = pm.conv2d(height=34, width=34, c_in=4, c_out=8, kernel=3, dtype="fp32")
    assert block_rows(cut(p, {"p": 8, "q": 8})) == [
        ("held", "x", FP32 * 4 * 10 * 10),
        ("held", "w", FP32 * 8 * 4 * 3 * 3),
        ("intermediate", "y", FP32 * 8 * 8 * 8),
    ]
    assert block_rows(cut(p, {"p": 8, "q": 8}, {"c": 2})) == [  # two of the four channels a trip
        ("staged", "x", FP32 * 2 * 10 * 10),
        ("staged", "w", FP32 * 8 * 2 * 3 * 3),
        ("accumulator", "y", FP32 * 8 * 8 * 8),
    ]


def test_a_block_of_softmax_in_one_go() -> None:
    """4 rows of 64: at the quotient, the exponentials, the 4 sums and the result are alive together."""
    assert block_rows(cut(pm.fuse(pm.softmax(16, 64, dtype="fp32")), {"m": 4})) == [
        ("held", "x", FP32 * 4 * 64),
        ("intermediate", "exp", FP32 * 4 * 64),
        ("intermediate", "sum", FP32 * 4),
        ("intermediate", "y", FP32 * 4 * 64),
    ]


def test_a_block_of_softmax_in_passes() -> None:
    """Tiles of 8 a trip: maxima and sums of 4 rows stay, and two results of 4 x 8 are alive at a time."""
    assert block_rows(cut(pm.fuse(pm.softmax(16, 64, dtype="fp32")), {"m": 4}, {"n": 8})) == [
        ("staged", "x", FP32 * 4 * 8),
        ("accumulator", "max", FP32 * 4),
        ("accumulator", "sum", FP32 * 4),
        ("intermediate", "sub", FP32 * 4 * 8),
        ("intermediate", "exp", FP32 * 4 * 8),
    ]


def test_what_is_read_no_more_is_free_again() -> None:
    """A chain of three maps holds two results at a time, a product of two maps three."""
    x = pm.tensor("x", {"i": 8, "j": 64}, dtype="fp32")
    chain = pm.fuse(pm.program(pm.relu(pm.exp(pm.relu(x))).named("y")))
    fork = pm.fuse(pm.program((pm.exp(x) * pm.relu(x)).named("y")))
    for p, alive in ((chain, 2), (fork, 3)):
        rows = block_rows(cut(p, {"i": 2}))
        assert sum(int(size) for role, _, size in rows if role == "intermediate") == alive * FP32 * 2 * 64


def test_symbols_give_formulas() -> None:
    """A tile of T rows of A and columns of B, k long: 4 (2 T k + T^2) bytes."""
    k, t = pm.dims("k T")
    p = pm.matmul("m", "n", k, dtype="fp32")
    assert (block_bytes(cut(p, {"m": t, "n": t})) - FP32 * (2 * t * k + t**2)).expand() == 0


@settings(max_examples=60)
@given(*[st.integers(1, 8) for _ in range(3)], *[st.integers(9, 20) for _ in range(3)], st.booleans())
def test_tiles_of_any_matmul_are_held(tm: int, tn: int, tk: int, m: int, n: int, k: int, looped: bool) -> None:
    """A block holds Tm x Tk of A, Tk x Tn of B and Tm x Tn of C, where Tk is k without a loop; never more than all."""
    p = pm.matmul(m, n, k, dtype="fp32")
    tiled = cut(p, {"m": tm, "n": tn}, {"k": tk} if looped else {})
    deep = tk if looped else k
    assert block_bytes(tiled) == FP32 * (tm * deep + deep * tn + tm * tn) <= FP32 * (m * k + k * n + m * n)
