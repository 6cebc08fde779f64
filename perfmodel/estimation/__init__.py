"""Estimates: the stack of effects, the bound, the explanation, measured times beside it."""

from perfmodel.estimation.estimating import EFFECTS, NOT_BUILT, Fit, estimate, fits
from perfmodel.estimation.kernels import KernelEstimate
from perfmodel.estimation.measuring import Measured
from perfmodel.estimation.values import Estimate

__all__ = ["EFFECTS", "NOT_BUILT", "Estimate", "Fit", "KernelEstimate", "Measured", "estimate", "fits"]
