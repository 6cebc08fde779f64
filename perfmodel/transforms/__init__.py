"""Rewrites of programs: each a function from program to program."""

from typing import TYPE_CHECKING

from perfmodel.loading import homes_of, loader
from perfmodel.transforms.casting import cast
from perfmodel.transforms.fusing import fuse

_HOMES = homes_of(
    {
        "perfmodel.transforms.gradients": "grad",
        "perfmodel.transforms.reassociating": "reassociate",
        "perfmodel.transforms.recomputing": "recompute",
        "perfmodel.transforms.tiling": "tile",
    }
)
__getattr__ = loader(__name__, _HOMES)

__all__ = ["cast", "fuse", "grad", "reassociate", "recompute", "tile"]

if TYPE_CHECKING:
    from perfmodel.transforms.gradients import grad as grad
    from perfmodel.transforms.reassociating import reassociate as reassociate
    from perfmodel.transforms.recomputing import recompute as recompute
    from perfmodel.transforms.tiling import tile as tile
