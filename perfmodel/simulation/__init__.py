"""Running programs as they are staged: values, and counts made by the run itself."""

from perfmodel.simulation.checking import Check, check
from perfmodel.simulation.running import Simulation, simulate

__all__ = ["Check", "Simulation", "check", "simulate"]
