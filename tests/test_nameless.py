"""``nameless`` and ``cuttings``: kernels that differ in names alone are counted once, and each says its own names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from staging import cuts, tiled
from strategies import staged

import perfmodel as pm
from perfmodel.errors import PerfModelError
from perfmodel.graph.cuttings import Cutting, _kept
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nameless import nameless


def weighted(x: str, width: int = 8, stage: str = "") -> pm.Program:
    """A product with weights, scaled: its tensors bear names made of ``x``."""
    data, weights = pm.tensor(x, {"t": 8, "m": 8}), pm.tensor(f"W{x}", {"m": 8, "n": width})
    return pm.fuse(pm.program((pm.einsum("t m, m n -> t n", data, weights) * 2).named(f"y{x}"), name=f"p{x}"))


def cutting(program: pm.Program) -> Cutting:
    """The one kernel of a program, with what is counted of it."""
    found = program.counted[0].cutting
    assert found is not None
    return found


def test_kernels_that_differ_in_names_share_their_counts() -> None:
    """Two kernels of other tensors are one without names; one of another width is not."""
    one, other, wider = [cutting(pm.tile(p, t=4)) for p in (weighted("a"), weighted("b"), weighted("a", width=16))]
    assert one.asked(lambda found: found) is other.asked(lambda found: found)
    assert one.asked(lambda found: found) is not wider.asked(lambda found: found)


def test_look_ups_are_numbered_with_the_tensor_that_names_them() -> None:
    """The ids of an embedding, renamed, leave the kernel the same; its reads still say who names them."""
    kernel = pm.embedding(8, 100, 4).kernels[0]
    plain, names = nameless(kernel)
    assert set(names.values()) == {str(number) for number in range(len(names))}
    by = {index.by for op in plain.ops for access in op.reads for index in access.index if hasattr(index, "by")}
    assert by == {names["ids"]}


def test_a_refusal_names_the_tensors_of_the_kernel() -> None:
    """What is wrong is found in the kernel without names, and said in its own: 'Cb', not '2'."""
    with pytest.raises(pm.TransformError, match="'yb' cannot be spilled"):
        pm.tile(weighted("b"), t=4, stream={"m": 4}, spill=["yb"])


@settings(max_examples=60)
@given(st.data())
def test_a_kernel_counts_as_it_does_without_names(data: st.DataObject) -> None:
    """Work, traffic, issued work and footprint of random kernels in random tiles, counted both ways."""
    program = data.draw(staged())
    try:
        made = tiled(program, data.draw(cuts(program)))
        counts = made.counted
    except PerfModelError:
        return
    for count in counts:
        if count.cutting is not None:
            own = Cutting(count.kernel, count.cutting.leaving)
            assert (count.works, count.transfers) == (own.works, own.transfers)
            assert (count.issued, count.macs, count.held_bytes) == (own.issued, own.macs, own.held_bytes)


def test_a_program_of_many_kernels_counts_each_once() -> None:
    """300 kernels that differ in their extents: what ``tile`` counted to check them is there for the program."""
    found = [(pm.tensor(f"x{i}", {f"a{i}": i + 8}) * 2).named(f"y{i}") for i in range(300)]
    p = pm.tile(pm.program(*found), grid={f"a{i}": 4 for i in range(300)})
    before = _kept.cache_info().misses
    assert p.flops == sum(range(8, 308))  # one product an element
    assert _kept.cache_info().misses == before


def test_tile_looks_at_the_whole_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel reads is asked for as often in a long chain as in a short one, for each of its kernels."""
    asked: list[str] = []
    needed: Callable[[Kernel], tuple[str, ...]] = vars(Kernel)["needed"].fget

    def noted(kernel: Kernel) -> tuple[str, ...]:
        asked.append(kernel.name)
        return needed(kernel)

    monkeypatch.setattr(Kernel, "needed", property(noted))

    def times(ops: int) -> int:
        x = pm.tensor("x", {"i": 64})
        for _ in range(ops):
            x = x * 2
        p = pm.program(x.named("y"))
        asked.clear()
        pm.tile(p, i=8)
        return len(asked)

    assert times(40) == 2 * times(20) > 0
