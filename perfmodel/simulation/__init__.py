"""Running programs as they are staged: values, and counts made by the run itself."""

from perfmodel.simulation.checking import check
from perfmodel.simulation.running import Simulation, simulate
from perfmodel.simulation.verdicts import Check

__all__ = ["Check", "Simulation", "check", "simulate"]
