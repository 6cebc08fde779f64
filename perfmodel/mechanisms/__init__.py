"""What a chip does to a kernel: closed forms, each beside a step-by-step simulation."""

from perfmodel.mechanisms.systolic_arrays import Systolic, systolic
from perfmodel.mechanisms.systolic_runs import SystolicRun
from perfmodel.mechanisms.tile_grids import TileGrid, tile_grid
from perfmodel.mechanisms.timelines import Timeline
from perfmodel.mechanisms.wave_counts import Waves, waves

__all__ = [
    "Systolic",
    "SystolicRun",
    "TileGrid",
    "Timeline",
    "Waves",
    "systolic",
    "tile_grid",
    "waves",
]
