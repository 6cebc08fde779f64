"""Rewrites of programs: each a function from program to program."""

from typing import TYPE_CHECKING

from perfmodel.loading import homes_of, loader
from perfmodel.transforms.casting import cast
from perfmodel.transforms.fusing import fuse

_HOMES = homes_of(
    {
        "perfmodel.transforms.gradients": "grad",
        "perfmodel.transforms.padding": "pad",
        "perfmodel.transforms.reassociating": "reassociate",
        "perfmodel.transforms.recomputing": "recompute",
        "perfmodel.transforms.splitting": "split",
        "perfmodel.transforms.streaming": "online",
        "perfmodel.transforms.tiling": "tile",
        "perfmodel.transforms.unfolding": "im2col",
        "perfmodel.transforms.unfusing": "unfuse",
    }
)
__getattr__ = loader(__name__, _HOMES)

__all__ = ["cast", "fuse", "grad", "im2col", "online", "pad", "reassociate", "recompute", "split", "tile", "unfuse"]

if TYPE_CHECKING:
    from perfmodel.transforms.gradients import grad as grad
    from perfmodel.transforms.padding import pad as pad
    from perfmodel.transforms.reassociating import reassociate as reassociate
    from perfmodel.transforms.recomputing import recompute as recompute
    from perfmodel.transforms.splitting import split as split
    from perfmodel.transforms.streaming import online as online
    from perfmodel.transforms.tiling import tile as tile
    from perfmodel.transforms.unfolding import im2col as im2col
    from perfmodel.transforms.unfusing import unfuse as unfuse
