"""The lower bound of a contraction from its projections."""

from __future__ import annotations

from typing import Any

from perfmodel.bounds.exponents import exponents
from perfmodel.bounds.projections import arrays, contraction_of, projections
from perfmodel.bounds.values import IoBound
from perfmodel.errors import LabelError
from perfmodel.expressions import size
from perfmodel.graph.programs import Program

FAST = "M"  # the symbol of a fast memory's elements, where none is given


def io_lower_bound(program: Program, capacity_elements: Any = None) -> IoBound:
    """The fewest elements that any order of a contraction's points moves through a fast memory of M elements.

    Q >= max(compulsory, |V| (sigma-1)^(sigma-1) / (M^(sigma-1) prod s_j^s_j) - M / (sigma-1)), with exponents
    s_j from the labels of inputs and output, sigma their sum, |V| the points; for sigma = 1 the compulsory
    elements alone (all inputs read, the output written once). ``capacity_elements`` is a size: an int, a symbol
    or text; the symbol M where it is not given. A matmul has 2 m n k / sqrt(M) - 2 M.

    The method is Hong and Kung's (1981) in the form of Irony, Toledo and Tiskin (2004), the exponents those of
    Christ et al. (2013), the constant that of Smith, Lowery, Langou and van de Geijn (2019), who let the length
    of a segment differ from M; for MTTKRP see Ballard, Knight and Rouse (2018). ``explain`` shows the working.

    Raises ``TransformError`` where the argument fails: several ops, windows, gathers, masks, an operand twice;
    ``LabelError`` where M would stand for a size and for the memory.

    >>> from perfmodel import matmul
    >>> io_lower_bound(matmul("m", "n", "k")).derived
    -2*M + 2*k*m*n/sqrt(M)
    >>> io_lower_bound(matmul(4096, 4096, 4096), capacity_elements=16384).elements == 2 * 4096**3 // 128 - 2 * 16384
    True
    """
    op = contraction_of(program)
    if capacity_elements is None and FAST in {symbol.name for symbol in program.symbols}:
        raise LabelError(
            f"io_lower_bound: {FAST} measures {program.name} already, so it cannot stand for the fast memory too; "
            "name another symbol, such as capacity_elements='Z'"
        )
    capacity = size(FAST if capacity_elements is None else capacity_elements, "io_lower_bound: capacity_elements")
    names = [access.tensor.name for access in arrays(op)]
    return IoBound(program, capacity, tuple(zip(names, exponents(projections(op)), strict=True)))
