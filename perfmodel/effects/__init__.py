"""Effects: what an estimate is made of, one file each. The first is the ideal roofline."""

from perfmodel.effects.roofline import Roofline, Term, roofline

__all__ = ["Roofline", "Term", "roofline"]
