"""Which transforms commute: the same kernels in either order, and documented pairs that do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
from strategies import FORMATS, recipes

import perfmodel as pm

LAW = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
Made = Callable[[pm.Program], pm.Program]


def drawn(program: pm.Program, data: st.DataObject, kind: str) -> Made:
    """A transform of a kind that says nothing of kernels, so that it can come before or after others."""
    if kind == "pad":
        labels = data.draw(st.lists(st.sampled_from(sorted(program.labels)), unique=True, min_size=1, max_size=2))
        return partial(pm.pad, **{label: data.draw(st.integers(2, 5)) for label in labels})
    if kind == "cast":
        return partial(pm.cast, dtype=data.draw(st.sampled_from(FORMATS)))
    if kind == "fuse":
        return partial(pm.fuse, by=data.draw(st.sampled_from((None, "stage"))))
    return pm.unfuse


def tried(make: Made, program: pm.Program) -> pm.Program | None:
    """What a transform makes, or None where it refuses."""
    try:
        return make(program)
    except pm.TransformError:
        return None


@LAW
@given(st.data(), st.permutations(["pad", "cast", "fuse"]))
def test_padding_casting_and_fusing_commute(data: st.DataObject, kinds: list[str]) -> None:
    """What is stored how, how far labels run, what is launched together: three choices that do not meet."""
    program = data.draw(recipes()).program()
    one, other = [drawn(program, data, kind) for kind in kinds[:2]] if program.labels else [pm.fuse, pm.unfuse]
    first, second = tried(one, program), tried(other, program)
    if first is not None and second is not None:
        assert tried(other, first) == tried(one, second)


@LAW
@given(st.data())
def test_two_casts_of_different_tensors_commute(data: st.DataObject) -> None:
    """Each tensor has its own format."""
    program = data.draw(recipes()).program()
    names = data.draw(st.lists(st.sampled_from(sorted(program.tensors)), unique=True, min_size=1, max_size=2))
    casts = [partial(pm.cast, tensors={name: data.draw(st.sampled_from(FORMATS))}) for name in names]
    assert casts[0](casts[-1](program)) == casts[-1](casts[0](program))


@LAW
@given(st.data(), st.sampled_from(["pad", "cast", "fuse", "unfuse", "grad", "online", "im2col"]))
def test_sizes_may_be_bound_before_or_after(data: st.DataObject, kind: str) -> None:
    """Symbols bound after a transform give what it makes of the program at these sizes."""
    recipe = data.draw(recipes())
    symbolic = recipe.symbolic()
    if not symbolic.labels:
        return
    label = data.draw(st.sampled_from(sorted(symbolic.labels)))
    whole: dict[str, Made] = {"grad": pm.grad, "im2col": pm.im2col, "online": lambda p: pm.online(pm.fuse(p), label)}
    make = whole[kind] if kind in whole else drawn(symbolic, data, kind)
    values = {symbol: size for symbol, size in recipe.values.items() if symbol in symbolic.symbols}
    late, early = tried(make, symbolic), tried(make, symbolic.at(values))
    if late is not None and early is not None:
        assert late.at(values).kernels == early.kernels


def test_tiles_are_cut_in_the_end() -> None:
    """tile and fuse do not commute: two kernels in tiles cannot be fused, and fused they share theirs."""
    p = pm.elementwise("relu(x + b)", 8)
    assert tried(pm.fuse, pm.tile(p, i=4)) is None
    assert pm.tile(pm.fuse(p), i=4).bytes < pm.tile(p, i=4).bytes


def test_a_multiple_of_a_multiple_depends_on_the_order() -> None:
    """pad and pad of one label do not commute: 5 to 8 to 9, and 5 to 6 to 8."""
    p = pm.elementwise("x * 2", 5)
    assert pm.pad(pm.pad(p, i=4), i=3).labels == {"i": 9}
    assert pm.pad(pm.pad(p, i=3), i=4).labels == {"i": 8}


def test_what_is_cast_twice_is_what_came_last() -> None:
    """cast and cast of one tensor do not commute."""
    p: Any = pm.matmul(4, 4, 4)
    assert pm.cast(pm.cast(p, A="fp32"), A="fp8_e4m3").tensors["A"].format.name == "fp8_e4m3"
    assert pm.cast(pm.cast(p, A="fp8_e4m3"), A="fp32").tensors["A"].format.name == "fp32"
