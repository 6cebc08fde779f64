"""Every transform as a move: drawn at random, applied where it may be. A new transform adds its move here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from staging import REFUSED, arrays_of, cuts
from strategies import FORMATS, fusings

import perfmodel as pm
from perfmodel.graph.indexing import Gathered

COMBINES = ("kernel", "atomic")
SEEDS = 10  # a chain draws its arrays by one of so many seeds
Move = Callable[[pm.Program, st.DataObject], pm.Program]

# What a transform may refuse of a random program, by a rule that its documentation states.
RULES = (
    *REFUSED,
    "share a scale",  # tiles that start inside a block of a scaled format
    "names look-ups",  # by a tensor of which the tile holds another part too
    "is tiled; fuse first",
    "is tiled; split first",
    "fewer than parts",
    "masked over",
    "belongs to a window",
    "only a single sum, max or min",
    "that only leaves it",
    "whose elements share scales",
    "is cut in the tiles of",
    "is not convex",
    "fuse first, then online",
    "online first, then tile",
    "at points of",  # nothing is needed again
    "can be corrected as it runs",
    "and nothing else",  # a maximum, say, of what is scaled
    "cannot be corrected by one of them",
    "so one factor cannot correct the sum",
    "is read under other labels than its own",
    "inside the loop that moves it",
    "is reduced over",
    "are reduced by other loops",
    "both have to run in one",
    "pad first, then tile",
    "unfuse first, then tile",
    "im2col first, then",  # tile, or fuse where a kernel makes what it reads through windows
    "lies under a mask",
    "rolled around its end",
    "reads a tensor through a window",  # none does
    "split or pad, not both",
    "cannot be spilled",  # by the loops that there are
    "take the gradient first",  # then pad or split
    "adds into places",  # that others, or look-ups, name
    "nothing flows from",
    "depends on the inputs that gradients are wanted of",
    "has a derivative where",  # a power of a negative number
    "rolled along",  # and under a mask
    "saves nothing for a later section",
    "recompute first, then tile",
    "is left to drop",  # all that is saved is kept
    "has an earlier contraction as a part",  # nothing can be regrouped
    "reassociate first, then tile",
)


def allowed(program: pm.Program, transform: Callable[[], pm.Program]) -> pm.Program:
    """What a transform makes, or the program as it was where it is refused by one of the rules."""
    try:
        made = transform()
        assert made.bytes >= 0  # counts are made when they are asked for
        return made
    except (pm.TransformError, pm.DimensionError) as error:
        if not any(rule in str(error) for rule in RULES):
            raise
        return program


def fuse(program: pm.Program, data: st.DataObject) -> pm.Program:
    """All kernels, those of each stage, or some."""
    return data.draw(fusings(program))


def tile(program: pm.Program, data: st.DataObject) -> pm.Program:
    """Some kernels cut at a level; a second time at a level, it is cut anew."""
    level = data.draw(st.sampled_from(["l2", "shared", "registers"]))
    for name, grid, stream in data.draw(cuts(program)):
        told: dict[str, Any] = {"grid": grid, "stream": stream, "level": level, "only": name}
        if len(stream) > 1 and data.draw(st.booleans()):
            told["spill"] = data.draw(
                st.lists(st.sampled_from(carried(program, name, stream)), unique=True, min_size=1)
            )
        program = allowed(program, partial(pm.tile, program, **told))
    return program


def carried(program: pm.Program, name: str, stream: Mapping[str, int]) -> list[str]:
    """What a kernel may have to carry on from trip to trip: what reduces a streamed label; else all that it makes."""
    ops = [op for kernel in program.kernels if kernel.name == name for op in kernel.ops]
    found = [op.output.tensor.name for op in ops if set(op.reduced) & stream.keys()]
    return found or [op.output.tensor.name for op in ops]


def online(program: pm.Program, data: st.DataObject) -> pm.Program:
    """One label of all kernels. Factors are pulled out as real numbers are: not where some value is infinite."""
    if not program.labels:
        return program
    label = data.draw(st.sampled_from(sorted(program.labels)))
    made = allowed(program, partial(pm.online, program, label))
    return made if made is program or finite(program) else program


def finite(program: pm.Program) -> bool:
    """Whether all that a program makes of any of its arrays is finite."""
    made = replace(program, returned=tuple([op.output.tensor.name for op in program.ops]))
    with np.errstate(all="ignore"):
        runs = [pm.simulate(made, arrays_of(made, seed)) for seed in range(SEEDS)]
    return all(np.all(np.isfinite(values)) for run in runs for values in run.values.values())


def cast(program: pm.Program, data: st.DataObject) -> pm.Program:
    """One tensor stored in another format."""
    names = sorted({item.name for item in program.tensors.values()} - indices(program))
    name, dtype = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(FORMATS))
    return allowed(program, partial(pm.cast, program, tensors={name: dtype}))


def pad(program: pm.Program, data: st.DataObject) -> pm.Program:
    """A label run to a multiple."""
    if not program.labels:
        return program
    label, multiple = data.draw(st.sampled_from(list(program.labels))), data.draw(st.integers(1, 5))
    return allowed(program, partial(pm.pad, program, **{label: multiple}))


def unfuse(program: pm.Program, data: st.DataObject) -> pm.Program:
    """Some kernels, one op each again."""
    names = [kernel.name for kernel in program.kernels]
    only = data.draw(st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True))
    return allowed(program, partial(pm.unfuse, program, only=only))


def im2col(program: pm.Program, data: st.DataObject) -> pm.Program:
    """The windows of some contractions copied out."""
    names = [kernel.name for kernel in program.kernels]
    only = data.draw(st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True))
    return allowed(program, partial(pm.im2col, program, only=only))


def split(program: pm.Program, data: st.DataObject) -> pm.Program:
    """A reduced label in 2 or 3 parts, in one kernel, combined in either way."""
    found = [(kernel.name, label) for kernel in program.kernels for op in kernel.ops for label in op.reduced]
    if not found:
        return program
    name, label = data.draw(st.sampled_from(found))
    told: dict[str, Any] = {label: data.draw(st.integers(2, 3)), "combine": data.draw(st.sampled_from(COMBINES))}
    return allowed(program, partial(pm.split, program, only=name, **told))


def online_in_parts(program: pm.Program, data: st.DataObject) -> pm.Program:
    """All kernels fused, one reduced label online, and that one in parts: flash-decoding, where it is attention."""
    labels = sorted({label for op in program.ops for label in op.reduced})
    if not labels:
        return program
    label, parts = data.draw(st.sampled_from(labels)), data.draw(st.integers(2, 3))
    made = allowed(program, lambda: pm.split(pm.online(pm.fuse(program), label), **{label: parts}))
    return made if made is program or finite(program) else program


def grad(program: pm.Program, data: st.DataObject) -> pm.Program:
    """The backward pass, once, and where every gradient is finite."""
    if max(kernel.section for kernel in program.kernels):
        return program
    made = allowed(program, partial(pm.grad, program))
    return made if made is program or finite(made) else program


def recompute(program: pm.Program, data: st.DataObject) -> pm.Program:
    """All or some of what is saved for the backward pass, or all but every k-th of it."""
    saved = [row[0] for row in program.saved.rows if row[1] == "value"]
    if saved and data.draw(st.booleans()):
        return allowed(program, partial(pm.recompute, program, segment=data.draw(st.integers(1, 3))))
    names = data.draw(st.lists(st.sampled_from(saved), unique=True)) if saved else []
    return allowed(program, partial(pm.recompute, program, *names))


def reassociate(program: pm.Program, data: st.DataObject) -> pm.Program:
    """Every sum that can go through an earlier contraction; as real numbers do, so not where one is infinite."""
    made = allowed(program, partial(pm.reassociate, program))
    return made if made is program or finite(program) else program


def indices(program: pm.Program) -> set[str]:
    """The tensors that name look-ups."""
    entries = [index for op in program.ops for access in op.reads for index in access.index]
    return {index.by for index in entries if isinstance(index, Gathered)}


MOVES: dict[str, Move] = {
    "fuse": fuse,
    "tile": tile,
    "cast": cast,
    "pad": pad,
    "online": online,
    "online_in_parts": online_in_parts,
    "split": split,
    "unfuse": unfuse,
    "im2col": im2col,
    "grad": grad,
    "recompute": recompute,
    "reassociate": reassociate,
}
