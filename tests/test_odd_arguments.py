"""``graph.arguments``: whatever is given for a name, a label, a mapping or a choice, the error is one of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import perfmodel as pm

MATMUL, ATTENTION = pm.matmul(8, 8, 8), pm.fuse(pm.attention(8, 8, 4))
CHAIN = pm.elementwise("sigmoid(x) * w", 8)
TRAINED = pm.fuse(pm.grad(CHAIN))
ARRAYS = {"A": np.ones((1, 8, 8)), "B": np.ones((1, 8, 8))}

ODD: list[Any] = [
    5, 3.5, float("nan"), True, "", b"x", object(), len, None, np.int64(3), np.zeros((2, 2)), np.array(["a"]),
    {"a": 1}, {1: 2}, {"sigmoid": [1]}, [1, 2], [["A"]], [None], ("m", 1), set(), pm.dims("z"),
]  # fmt: skip

ASKED: dict[str, Callable[[Any], Any]] = {
    "tile only": lambda odd: pm.tile(MATMUL, m=4, only=odd),
    "tile grid": lambda odd: pm.tile(MATMUL, grid=odd),
    "tile grid size": lambda odd: pm.tile(MATMUL, grid={"m": odd}),
    "tile stream": lambda odd: pm.tile(MATMUL, stream=odd),
    "tile level": lambda odd: pm.tile(MATMUL, m=4, level=odd),
    "tile buffers": lambda odd: pm.tile(MATMUL, m=4, buffers=odd),
    "tile spill": lambda odd: pm.tile(MATMUL, m=4, spill=odd),
    "tile redundant": lambda odd: pm.tile(MATMUL, m=4, redundant=odd),
    "tile capacity": lambda odd: pm.tile(MATMUL, m=4, capacity_bytes=odd),
    "tile atomic": lambda odd: pm.tile(MATMUL, grid={"k": 4}, atomic=odd),
    "tile program": lambda odd: pm.tile(odd, m=4),
    "fuse only": lambda odd: pm.fuse(ATTENTION, only=odd),
    "fuse by": lambda odd: pm.fuse(ATTENTION, by=odd),
    "unfuse only": lambda odd: pm.unfuse(ATTENTION, only=odd),
    "im2col only": lambda odd: pm.im2col(MATMUL, only=odd),
    "online label": lambda odd: pm.online(ATTENTION, odd),
    "online only": lambda odd: pm.online(ATTENTION, "kv", only=odd),
    "split only": lambda odd: pm.split(MATMUL, k=2, only=odd),
    "split parts": lambda odd: pm.split(MATMUL, k=odd),
    "split combine": lambda odd: pm.split(MATMUL, k=2, combine=odd),
    "cast tensors": lambda odd: pm.cast(MATMUL, tensors=odd),
    "cast format": lambda odd: pm.cast(MATMUL, A=odd),
    "pad only": lambda odd: pm.pad(MATMUL, m=4, only=odd),
    "pad multiple": lambda odd: pm.pad(MATMUL, m=odd),
    "grad wrt": lambda odd: pm.grad(CHAIN, wrt=odd),
    "grad of": lambda odd: pm.grad(CHAIN, of=odd),
    "recompute names": lambda odd: pm.recompute(TRAINED, odd),
    "recompute keep": lambda odd: pm.recompute(TRAINED, keep=odd),
    "reassociate": lambda odd: pm.reassociate(MATMUL, odd),
    "repeat times": lambda odd: CHAIN.repeat(odd),
    "repeat carry": lambda odd: CHAIN.repeat(3, carry=odd),
    "repeat shared": lambda odd: CHAIN.repeat(3, shared=odd),
    "at": lambda odd: MATMUL.at(odd),
    "at size": lambda odd: MATMUL.at(m=odd),
    "simulate arrays": lambda odd: pm.simulate(MATMUL, odd),
    "simulate array": lambda odd: pm.simulate(MATMUL, {**ARRAYS, "A": odd}),
    "simulate watch": lambda odd: pm.simulate(MATMUL, ARRAYS, watch=odd),
    "best_tiles capacity": lambda odd: pm.best_tiles(MATMUL, capacity_bytes=odd),
    "best_tiles sizes": lambda odd: pm.best_tiles(MATMUL, capacity_bytes=512, sizes=odd),
    "io_lower_bound": lambda odd: pm.io_lower_bound(MATMUL, capacity_elements=odd),
    "traffic": lambda odd: MATMUL.traffic(odd),
    "program name": lambda odd: pm.program(pm.tensor("x", {"i": 2}) + 1, name=odd),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
def test_odd_objects_are_taken_or_refused_in_our_words(asked: Callable[[Any], Any]) -> None:
    """Numbers, arrays, bytes, functions, nested lists: an answer, or a PerfModelError, never another error."""
    for odd in ODD:
        with contextlib.suppress(pm.PerfModelError):  # any other error fails the test
            asked(odd)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: CHAIN.repeat(3, carry=5), "repeat: carry: expected a mapping"),
        (lambda: CHAIN.repeat(3, shared=5), "repeat: shared=5: expected a name"),
        (lambda: MATMUL.at(5), "at: expected a mapping"),
        (lambda: pm.cast(MATMUL, tensors=["A"]), "cast: tensors: expected a mapping"),
        (lambda: pm.tile(MATMUL, grid={"k": 4}, atomic=5), "tile: atomic=5: expected a name"),
        (lambda: pm.online(ATTENTION, ["kv"]), "has no label"),
    ],
)
def test_the_refusal_names_the_verb_and_the_argument(asked: Callable[[], Any], words: str) -> None:
    """And what was expected there."""
    with pytest.raises(pm.PerfModelError, match=words):
        asked()
