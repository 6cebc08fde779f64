"""Rewrites of programs: each a function from program to program."""

from perfmodel.transforms.casting import cast
from perfmodel.transforms.fusing import fuse

__all__ = ["cast", "fuse"]
