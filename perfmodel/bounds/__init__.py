"""IO lower bounds: what any order of the work must move between a fast memory and a slow one."""

from perfmodel.bounds.deriving import io_lower_bound
from perfmodel.bounds.gaps import TilingGap
from perfmodel.bounds.orders import IoOrder, known_io_orders
from perfmodel.bounds.values import IoBound

__all__ = ["IoBound", "IoOrder", "TilingGap", "io_lower_bound", "known_io_orders"]
