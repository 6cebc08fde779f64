"""What a chip does to a kernel: closed forms, each beside a step-by-step simulation."""

from perfmodel.mechanisms.access_times import AccessTime, amat
from perfmodel.mechanisms.energy_costs import Energies
from perfmodel.mechanisms.energy_counting import energy
from perfmodel.mechanisms.energy_ledgers import Energy
from perfmodel.mechanisms.energy_sources import efficiency_ladder, energy_tables
from perfmodel.mechanisms.instruction_costs import InstructionEnergy, instruction_energy
from perfmodel.mechanisms.speedups import Speedup, amdahl, gustafson
from perfmodel.mechanisms.systolic_arrays import Systolic
from perfmodel.mechanisms.systolic_building import systolic
from perfmodel.mechanisms.systolic_runs import SystolicRun
from perfmodel.mechanisms.tile_grids import TileGrid, tile_grid
from perfmodel.mechanisms.timelines import Timeline
from perfmodel.mechanisms.wave_counts import Waves, waves
from perfmodel.mechanisms.work_counting import work_span, work_span_limits
from perfmodel.mechanisms.work_spans import WorkSpan, WorkSpanLimits

__all__ = [
    "AccessTime",
    "Energies",
    "Energy",
    "InstructionEnergy",
    "Speedup",
    "Systolic",
    "SystolicRun",
    "TileGrid",
    "Timeline",
    "Waves",
    "WorkSpan",
    "WorkSpanLimits",
    "amat",
    "amdahl",
    "efficiency_ladder",
    "energy",
    "energy_tables",
    "gustafson",
    "instruction_energy",
    "systolic",
    "tile_grid",
    "waves",
    "work_span",
    "work_span_limits",
]
