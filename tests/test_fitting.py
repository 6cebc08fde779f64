"""What the error about a block that does not fit suggests: the largest tiles that do."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.graph.fitting import capped, largest_fitting, written
from perfmodel.graph.holding import block_bytes
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Cut, Tiling


def refusal(program: pm.Program, **cut: Any) -> str:
    """The message of a tiling that does not fit."""
    with pytest.raises(pm.CapacityError) as caught:
        pm.tile(program, **cut)
    return str(caught.value)


def pasted(program: pm.Program, message: str) -> pm.Program:
    """The program cut by the line in a message, as someone who pastes it would."""
    line = re.search(r"pm\.tile\(.*\)$", message)
    assert line is not None
    call = ast.parse(line[0], mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.unparse(call.func) == "pm.tile"
    assert ast.unparse(call.args[0]) == "p"
    return pm.tile(program, **{word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg})


def test_the_message_of_a_matmul_names_the_largest_tiles() -> None:
    """In 32 KiB 2 (T 32 + 32 T + T^2) bytes fit up to T = 99: 32,274 of 32,768; T = 100 needs 32,800."""
    p = pm.matmul(256, 256, 256)
    message = refusal(p, m=128, n=128, stream={"k": 32}, capacity_bytes=2**15)
    assert 2 * (2 * 99 * 32 + 99**2) == 32274 <= 2**15 < 2 * (2 * 100 * 32 + 100**2)
    assert message.endswith(
        "Tiles of up to 99 fit, in 32274 bytes: pm.tile(p, m=99, n=99, stream={'k': 32}, capacity_bytes=32768)"
    )
    assert pasted(p, message).footprint_bytes == 32274


def test_where_nothing_fits_the_least_is_said() -> None:
    """Tiles of 1 hold an element of A, B and C each."""
    message = refusal(pm.matmul(64, 64, 64), m=8, n=8, stream={"k": 8}, capacity_bytes=5)
    assert message.endswith("No tile of these labels fits: even tiles of 1 need 6 bytes")


def test_tiles_of_1_that_do_not_fit_have_nothing_smaller() -> None:
    """One row of A and all of B do not fit however m is cut."""
    message = refusal(pm.matmul(64, 64, 64), m=1, capacity_bytes=64)
    assert message.endswith(f"even tiles of 1 need {2 * (64 + 64 * 64 + 64)} bytes")


@pytest.mark.parametrize(
    ("program", "cut"),
    [
        (pm.matmul(96, 80, 64), {"m": 64, "n": 64, "stream": {"k": 64}, "buffers": 2, "capacity_bytes": 4000}),
        (pm.matmul(96, 80, 64), {"m": 96, "n": 3, "stream": {"k": 16}, "level": "l2", "capacity_bytes": 600}),
        (pm.matmul(64, 64, 64), {"m": 32, "stream": {"k": 32, "n": 32}, "spill": ("C",), "capacity_bytes": 999}),
        (pm.fuse(pm.softmax(64, 64)), {"grid": {"n": 32, "m": 32}, "capacity_bytes": 3000}),
        (pm.fuse(pm.attention(32, 32, 4)), {"grid": {"q": 32}, "stream": {"kv": 16}, "capacity_bytes": 1500}),
        (pm.fuse(pm.attention(32, 32, 4), by="stage"), {"q": 32, "only": "attention.scores", "capacity_bytes": 900}),
        (pm.conv2d(height=18, width=18, c_in=2, c_out=2), {"p": 8, "q": 8, "capacity_bytes": 500}),
    ],
)
def test_the_suggestion_fits_and_one_more_does_not(program: pm.Program, cut: dict[str, Any]) -> None:
    """The pasted line is accepted under the same capacity; with every capped size one larger it is refused."""
    message = refusal(program, **cut)
    found = re.search(r"Tiles of up to (\d+) fit, in (\d+) bytes", message)
    assert found is not None
    most, needed = int(found[1]), int(found[2])
    fitting = pasted(program, message)
    tiled = [item for item in fitting.counted if item.tiled is not None]
    assert [block_bytes(item.tiled) for item in tiled if item.tiled is not None] == [needed]
    assert needed <= cut["capacity_bytes"]

    def more(size: int) -> int:
        return min(size, most + 1)

    plain = {label: more(size) for label, size in cut.items() if label in program.labels}
    sizes = {name: {k: more(v) for k, v in cut[name].items()} for name in ("grid", "stream") if name in cut}
    with pytest.raises(pm.CapacityError):
        pm.tile(program, **{**cut, **plain, **sizes})


@settings(deadline=None)
@given(st.tuples(*[st.integers(1, 24)] * 3), st.tuples(*[st.integers(1, 30)] * 3), st.integers(1, 3000))
def test_a_cap_fits_where_the_next_does_not(extents: Any, sizes: Any, room: int) -> None:
    """For any matmul, tiles and capacity: the cap fits and one more does not; None only where tiles of 1 do not."""
    kernel = pm.matmul(*extents).kernels[0]
    tiling = Tiling(grid=(Cut("m", sizes[0]), Cut("n", sizes[1])), stream=(Cut("k", sizes[2]),), buffers=2)

    def needs(cap: int) -> Any:
        return block_bytes(Tiled(kernel, capped(tiling, cap), frozenset(["C"])))

    if needs(max(sizes)) <= room:
        return
    cap = largest_fitting(kernel, tiling, frozenset(["C"]), room)
    if cap is None:
        assert needs(1) > room
    else:
        assert needs(cap) <= room < needs(cap + 1)


def test_symbolic_sizes_are_not_refused() -> None:
    """What a formula needs is not known to be too much: nothing is raised, nothing suggested."""
    p = pm.tile(pm.matmul(64, 64, 64), m="T", n=16, capacity_bytes=64)
    assert p.kernels[0].tiles[0].capacity_bytes == 64
    assert pm.tile(pm.matmul(64, 64, 64), m=64, capacity_bytes="c").kernels[0].tiles


def test_labels_that_are_reduced_or_options_are_written_in_a_mapping() -> None:
    """Bare keywords are for labels that a kernel keeps, and that are not named like an option of tile."""
    kernel = pm.fuse(pm.softmax(8, 8)).kernels[0]
    assert written(kernel, Tiling(grid=(Cut("n", 4),))) == "pm.tile(p, grid={'n': 4})"
    named = pm.program(pm.exp(pm.tensor("x", {"level": 8})))
    assert written(named.kernels[0], Tiling(grid=(Cut("level", 4),))) == "pm.tile(p, grid={'level': 4})"


def test_a_capacity_holds_where_sizes_are_bound_later() -> None:
    """Tiles of t x 64 of C and the parts that make it, in bf16: 2 (32 t + 32 * 64 + 64 t) bytes in 32 KiB."""
    p = pm.tile(pm.matmul("m", "n", "k"), m="t", n=64, stream={"k": 32}, capacity_bytes=32768)
    assert "capacity_bytes=32768" in p.history[-1]
    sizes = {"m": 256, "n": 256, "k": 256}
    assert p.at(t=32, **sizes).footprint_bytes == 2 * (32 * 32 + 32 * 64 + 64 * 32)
    with pytest.raises(pm.CapacityError, match="at: a block of 'matmul' needs 53248 bytes"):
        p.at(t=256, **sizes)  # 2 (32 * 256 + 32 * 64 + 64 * 256)


def test_a_capacity_holds_where_labels_are_resized() -> None:
    """A label that stays whole grows into the block: 2 (16 * 16 + 16 k + 16 k) bytes."""
    p = pm.tile(pm.matmul(64, 64, 16), m=16, n=16, capacity_bytes=2048)
    assert p.at(k=24).footprint_bytes == 2 * (16 * 16 + 2 * 16 * 24)
    with pytest.raises(pm.CapacityError, match="at: a block"):
        p.at(k=64)
