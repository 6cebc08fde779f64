"""Rewrites of programs: each a function from program to program."""

from typing import TYPE_CHECKING

from perfmodel.loading import homes_of, loader
from perfmodel.transforms.casting import cast
from perfmodel.transforms.fusing import fuse

_HOMES = homes_of({"perfmodel.transforms.tiling": "tile"})
__getattr__ = loader(__name__, _HOMES)

__all__ = ["cast", "fuse", "tile"]

if TYPE_CHECKING:
    from perfmodel.transforms.tiling import tile as tile
