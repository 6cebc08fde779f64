"""``systolic``: an array from sizes that are checked."""

from __future__ import annotations

from typing import Any

from perfmodel.expressions import size
from perfmodel.mechanisms.given_values import chosen
from perfmodel.mechanisms.systolic_arrays import Systolic

DATAFLOWS = ("output", "weight")


def systolic(m: Any, n: Any, k: Any, rows: Any = 8, cols: Any = 8, dataflow: str = "output") -> Systolic:
    """C[m,n] = A[m,k] B[k,n] on a systolic array of rows x cols cells; every size may be a symbol.

    With dataflow "output" each cell keeps one element of C; A enters from the left and B from above, each row and
    column a cycle later than the one before, so the last multiply of a fold is in cycle k + rows + cols - 2. With
    "weight" each cell keeps one element of B (rows along k, loaded in ``rows`` cycles); A streams through and sums run
    down: rows + m + rows + cols - 2. The array always runs at its full size: what does not fill it is padding. The
    totals with drain are those of SCALE-Sim (Samajdar et al. 2020), 2 rows + cols + streamed - 2 a fold.

    >>> systolic(4, 4, 6, rows=4, cols=4).cycles == 6 + 4 + 4 - 2
    True
    >>> systolic("m", 128, 128, rows=128, cols=128, dataflow="weight").cycles
    m + 382
    """
    given = {"m": m, "n": n, "k": k, "rows": rows, "cols": cols}
    sizes = {name: size(value, name) for name, value in given.items()}
    return Systolic(**sizes, dataflow=chosen(dataflow, DATAFLOWS, "dataflow", "systolic"))
