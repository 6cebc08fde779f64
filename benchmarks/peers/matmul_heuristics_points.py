"""nvidia-matmul-heuristics: the configuration of a GEMM's kernel and its time, one GEMM after another.

With ``kernel`` as argument the configuration stays fixed and its time alone is asked. The method for that,
``estimateRuntime``, raises AttributeError in 0.1.0.27, so the function of the C library is called as ``get`` calls it.
"""

from __future__ import annotations

import ctypes
import sys

from nvMatmulHeuristics import (
    NvMatmulHeuristicsInterfaceEx as Interface,
    NvMatmulHeuristicsMatmulLayout as Layout,
    NvMatmulHeuristicsNvidiaGpu as Gpu,
    NvMatmulHeuristicsTarget as Target,
)
from rounds import answer, each, shapes

PRECISION, LAYOUT = "HSH", Layout.TN_ROW_MAJOR  # 16-bit operands and result, sums in 32 bits
library = Interface(backend=Target.CUTLASS3, gpu=Gpu.A100_SXM_80GB)
library.loadInternalDiscoverySet(LAYOUT, precision=PRECISION)


def best(m: int, n: int, k: int) -> dict[str, object]:
    return library.get(library.makeNvMatmulHeuristicsProblem(m, n, k, LAYOUT), 1, precision=PRECISION)[0]


kernel = best(4096, 4096, 4096)["nvmmhKernelConfiguration"]


def fixed(m: int, n: int, k: int) -> float:
    problem = library.makeNvMatmulHeuristicsProblem(m, n, k, LAYOUT)
    return library.nvMatmulHeuristicsEstimateRuntime(
        library.handle,
        PRECISION.encode(),
        ctypes.c_int(library.target),
        ctypes.byref(problem),
        ctypes.byref(kernel),
        library.hardware_descriptor,
    )


if "kernel" in sys.argv:
    COUNT = 20_000
    answer(
        "a GEMM: seconds of one given kernel, by the C function",
        COUNT,
        each(fixed, shapes(COUNT)),
        lambda: fixed(4096, 4096, 4096),
    )
else:
    COUNT = 3_000
    answer(
        "a GEMM: the best kernel of a search in C++, and its seconds",
        COUNT,
        each(best, shapes(COUNT)),
        lambda: best(4096, 4096, 4096)["runtime"],
    )
