"""Estimates held against measured times: rows of a table to programs, their errors by chip, op, format and regime."""

from perfmodel.validation.results import Validation
from perfmodel.validation.validating import validate

__all__ = ["Validation", "validate"]
