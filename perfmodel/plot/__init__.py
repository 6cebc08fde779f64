"""Pictures: ``pm.plot.roofline``, ``sweep``, ``waterfall``, ``traffic``, ``memory`` and ``tile_map``.

Each takes ``ax=`` and returns the Axes that it drew in, so that pictures stand side by side and can be changed with
matplotlib's own calls. Units carry engineering prefixes; colours are told apart by people who do not see red or green.
"""

from perfmodel.plot.memories import memory
from perfmodel.plot.rooflines import roofline
from perfmodel.plot.sweeps import sweep
from perfmodel.plot.tile_maps import tile_map
from perfmodel.plot.traffics import traffic
from perfmodel.plot.waterfalls import waterfall

__all__ = ["memory", "roofline", "sweep", "tile_map", "traffic", "waterfall"]
