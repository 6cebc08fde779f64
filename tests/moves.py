"""Every transform as a move: drawn at random, applied where it may be. A new transform adds its move here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st
from staging import REFUSED, cuts
from strategies import FORMATS, fusings

import perfmodel as pm
from perfmodel.graph.indexing import Gathered

Move = Callable[[pm.Program, st.DataObject], pm.Program]

# What a transform may refuse of a random program, by a rule that its documentation states.
RULES = (
    *REFUSED,
    "only the innermost level",  # a mask whose labels an outer level cuts
    "share a scale",  # tiles that start inside a block of a scaled format
    "names look-ups",  # by a tensor of which the tile holds another part too
    "is tiled; fuse first",
    "is not convex",
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
        program = allowed(program, partial(pm.tile, program, grid=grid, stream=stream, only=name, level=level))
    return program


def cast(program: pm.Program, data: st.DataObject) -> pm.Program:
    """One tensor stored in another format."""
    names = sorted({item.name for item in program.tensors.values()} - indices(program))
    name, dtype = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(FORMATS))
    return allowed(program, partial(pm.cast, program, tensors={name: dtype}))


def indices(program: pm.Program) -> set[str]:
    """The tensors that name look-ups."""
    entries = [index for op in program.ops for access in op.reads for index in access.index]
    return {index.by for index in entries if isinstance(index, Gathered)}


MOVES: dict[str, Move] = {"fuse": fuse, "tile": tile, "cast": cast}
