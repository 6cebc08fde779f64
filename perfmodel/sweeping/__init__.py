"""Sweeps: dimensions, tiles, formats, transforms and machines, as tidy tables, in blocks at constant memory."""

from perfmodel.sweeping.filing import sweep_to
from perfmodel.sweeping.sweeper import sweep

__all__ = ["sweep", "sweep_to"]
