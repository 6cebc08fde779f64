"""Programs as graphs: one kind of op, its labelled axes, its staging, and the rules that count it."""

from typing import TYPE_CHECKING

from perfmodel.graph.building import contracted, gather, reduced, window
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masks import Mask, banded, causal, chunked
from perfmodel.graph.nodes import Op, Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.loading import homes_of, loader

_HOMES = homes_of({"perfmodel.graph.sequencing": "sequence"})
__getattr__ = loader(__name__, _HOMES)

__all__ = [
    "Kernel",
    "Mask",
    "Op",
    "Program",
    "Tensor",
    "banded",
    "causal",
    "chunked",
    "contracted",
    "gather",
    "mapped",
    "program",
    "reduced",
    "sequence",
    "tensor",
    "window",
]

if TYPE_CHECKING:
    from perfmodel.graph.sequencing import sequence as sequence
