"""Effects: what an estimate is made of, one file each; ``stack`` puts them together, the ideal roofline first."""

from perfmodel.effects.protocols import PROTOCOLS, Protocol, protocol
from perfmodel.effects.roofline import Roofline, Term, roofline
from perfmodel.effects.stack import EFFECTS
from perfmodel.effects.tiles import Tile

__all__ = ["EFFECTS", "PROTOCOLS", "Protocol", "Roofline", "Term", "Tile", "protocol", "roofline"]
