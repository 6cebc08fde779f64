"""Which programs have a lower bound by labels, and why the others have none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import perfmodel as pm
from perfmodel.graph import contracted

OUTPUTS, TAPS, FAST = 4096, 4096, 1024


def convolution() -> pm.Program:
    """y[p] = sum over r of x[p + r] w[r]."""
    x, w = pm.tensor("x", {"h": OUTPUTS + TAPS - 1}), pm.tensor("w", {"r": TAPS})
    return pm.program(pm.einsum("pr,r->p", pm.window(x, "h", "p", "r", TAPS), w).named("y"), name="conv1d")


def squared() -> pm.Program:
    """A times its own transpose."""
    a = pm.tensor("A", {"m": 8, "k": 8})
    return pm.program(pm.einsum("mk,nk->mn", a, a.rename(m="n")))


def gathered() -> pm.Program:
    """Rows of a table, chosen by data, times a vector."""
    table, ids = pm.tensor("T", {"v": 9, "d": 4}), pm.tensor("ids", {"t": 5}, dtype="int32")
    return pm.program(contracted([pm.gather(table, "v", ids), pm.tensor("w", {"d": 4})], ("t",)))


def rolled() -> pm.Program:
    """A vector against a shifted one."""
    x, y = pm.tensor("x", {"d": 8}), pm.tensor("y", {"d": 8})
    return pm.program(pm.einsum("d,d->", x.roll("d", 2), y))


def masked() -> pm.Program:
    """Scores of a causal attention."""
    q, k = pm.tensor("Q", {"q": 8, "d": 4}), pm.tensor("K", {"kv": 8, "d": 4})
    return pm.program(contracted([q, k], ("q", "kv"), mask=pm.causal("q", "kv")))


def long() -> pm.Program:
    """A product of eight vectors, which has nine arrays."""
    return pm.program(contracted([pm.tensor(f"x{place}", {"i": 4}) for place in range(8)], ()))


REFUSED: dict[str, tuple[Callable[[], pm.Program], str]] = {
    "attention": (lambda: pm.attention(q=8, kv=8, d=4), "do not add.*known_io_orders"),
    "gated mlp": (lambda: pm.gated_mlp(4, 4, 4), "do not add"),
    "window": (convolution, r"'x' is read through p \+ r: neighbouring points share elements"),
    "repeated operand": (squared, "'A' is read twice"),
    "gather": (gathered, "gather"),
    "roll": (rolled, "read through"),
    "mask": (masked, "is masked"),
    "map": (lambda: pm.elementwise("x*y", 8), "no contraction"),
    "opaque": (lambda: pm.workload(flops=8, bytes_read=8), "no contraction"),
    "repeated": (lambda: pm.matmul(4, 4, 4).repeat(2), "repeated"),
    "many arrays": (long, "9 arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_bound_by_labels_is_refused_with_the_reason(name: str) -> None:
    """The message says what breaks the argument; no number comes out."""
    made, reason = REFUSED[name]
    with pytest.raises(pm.TransformError, match=f"io_lower_bound: .*{reason}"):
        pm.io_lower_bound(made(), capacity_elements=64)


def test_a_window_would_have_a_bound_that_a_tiling_beats() -> None:
    """conv1d by labels alone would give 2 P R / sqrt(M): a tiling of 256 outputs and 256 taps needs a fifth of it."""
    tiled = pm.tile(convolution(), grid={"p": 256}, stream={"r": 256})
    held = pm.cast(tiled, "int8").footprint_bytes
    assert held == 256 + 256 + (256 + 256 - 1)  # outputs, taps, and the inputs between them
    assert held <= FAST
    blocks = (OUTPUTS // 256) * (TAPS // 256)
    moved = tiled.elements_read + tiled.elements_written
    assert moved == blocks * (256 + 256 + 255) + OUTPUTS
    assert moved < (2 * OUTPUTS * TAPS // 32 - 2 * FAST) / 5


def test_one_symbol_is_not_a_size_and_the_memory_unsaid() -> None:
    """matmul(M, N, K) and a memory M that nobody named: refused; said, it is taken at its word."""
    p = pm.matmul("M", "N", "K")
    with pytest.raises(pm.LabelError, match="measures matmul already"):
        pm.io_lower_bound(p)
    assert str(pm.io_lower_bound(p, capacity_elements="Z").capacity_elements) == "Z"
    assert str(pm.io_lower_bound(p, capacity_elements="M").capacity_elements) == "M"


def test_what_is_no_program_is_refused() -> None:
    """A formula or a number has no contraction."""
    with pytest.raises(pm.PerfModelError):
        pm.io_lower_bound(42)  # type: ignore[arg-type]


@pytest.mark.parametrize("capacity", [0, -4, 2.5, float("nan"), "1/0", "__import__('os')", True])
def test_a_capacity_is_a_size(capacity: object) -> None:
    """Nothing else is taken for one, and no text is run."""
    with pytest.raises(pm.PerfModelError):
        pm.io_lower_bound(pm.matmul(8, 8, 8), capacity_elements=capacity)
