"""Machines: the catalogue of chips, a user's own data sheets, what-ifs."""

from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.comparison import Machines
from perfmodel.catalogue.names import machine, machines
from perfmodel.catalogue.parts import Clocks, Figure, Level, Peak, Source
from perfmodel.catalogue.what_ifs import named_apart

__all__ = ["Clocks", "Figure", "Level", "Machine", "Machines", "Peak", "Source", "machine", "machines", "named_apart"]
