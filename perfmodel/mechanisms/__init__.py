"""What a chip does to a kernel: closed forms, each beside a step-by-step simulation."""

from perfmodel.mechanisms.access_times import AccessTime, amat
from perfmodel.mechanisms.aligned_rows import AlignedRow
from perfmodel.mechanisms.alignments import Alignment, alignment
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.banking import BankConflicts, bank_conflicts
from perfmodel.mechanisms.coalescing import Transactions, transactions
from perfmodel.mechanisms.diverging import Divergence, divergence
from perfmodel.mechanisms.energy_costs import Energies
from perfmodel.mechanisms.energy_counting import energy
from perfmodel.mechanisms.energy_ledgers import Energy
from perfmodel.mechanisms.energy_sources import efficiency_ladder, energy_tables
from perfmodel.mechanisms.hiding import InFlight, LatencyHiding, latency_hiding, littles_law
from perfmodel.mechanisms.instruction_costs import InstructionEnergy, instruction_energy
from perfmodel.mechanisms.residency import Occupancy, occupancy
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
    "AlignedRow",
    "Alignment",
    "Answer",
    "BankConflicts",
    "Divergence",
    "Energies",
    "Energy",
    "InFlight",
    "InstructionEnergy",
    "LatencyHiding",
    "Occupancy",
    "Speedup",
    "Systolic",
    "SystolicRun",
    "TileGrid",
    "Timeline",
    "Transactions",
    "Waves",
    "WorkSpan",
    "WorkSpanLimits",
    "alignment",
    "amat",
    "amdahl",
    "bank_conflicts",
    "divergence",
    "efficiency_ladder",
    "energy",
    "energy_tables",
    "gustafson",
    "instruction_energy",
    "latency_hiding",
    "littles_law",
    "occupancy",
    "systolic",
    "tile_grid",
    "transactions",
    "waves",
    "work_span",
    "work_span_limits",
]
