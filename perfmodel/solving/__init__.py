"""Solving for one unknown: a dimension, a batch, a tile, a rate or a capacity, for any relation over formulas."""

from perfmodel.solving.solutions import Solution
from perfmodel.solving.solver import solve

__all__ = ["Solution", "solve"]
