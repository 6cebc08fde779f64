"""Estimates: the stack of effects, the bound, the explanation, measured times beside it."""

from perfmodel.effects.stack import NAMES as EFFECTS
from perfmodel.estimation.estimating import Fit, estimate, fits
from perfmodel.estimation.kernels import KernelEstimate
from perfmodel.estimation.many import Estimates
from perfmodel.estimation.measuring import Measured
from perfmodel.estimation.preparing import estimate_many, prepared
from perfmodel.estimation.values import Estimate

__all__ = [
    "EFFECTS", "Estimate", "Estimates", "Fit", "KernelEstimate", "Measured", "estimate", "estimate_many", "fits",
    "prepared",
]  # fmt: skip
