"""What a chip does to a kernel, closed form beside a step-by-step simulation."""

from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.banking import BankConflicts, bank_conflicts
from perfmodel.mechanisms.coalescing import Transactions, transactions
from perfmodel.mechanisms.diverging import Divergence, divergence
from perfmodel.mechanisms.hiding import InFlight, LatencyHiding, latency_hiding, littles_law
from perfmodel.mechanisms.residency import Occupancy, occupancy

__all__ = [
    "Answer",
    "BankConflicts",
    "Divergence",
    "InFlight",
    "LatencyHiding",
    "Occupancy",
    "Transactions",
    "bank_conflicts",
    "divergence",
    "latency_hiding",
    "littles_law",
    "occupancy",
    "transactions",
]
