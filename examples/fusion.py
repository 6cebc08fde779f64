"""What does fusing save?  The same ops, launched together: what passes between them no longer moves."""

from __future__ import annotations

import perfmodel as pm


def elements(program: pm.Program) -> object:
    """Elements read and written, as a formula."""
    return program.elements_read + program.elements_written


print("Elements moved, one op a kernel and in one kernel:\n")
for text in ("sin(x)**2 + cos(x)**2", "relu(x*w + b)"):
    apart = pm.elementwise(text, "n")
    print(f"  {text:<22} {len(apart.kernels)} kernels: {elements(apart)} -> 1 kernel: {elements(pm.fuse(apart))}")
softmax = pm.softmax("M", "N")
print(f"  softmax of M x N       {len(softmax.kernels)} kernels: {elements(softmax)} -> 1 kernel: ", end="")
print(f"{elements(pm.fuse(softmax))}\n")

print("Where they go, for the softmax:\n")
print(softmax.traffic())

print("\nAnswer in time, on an H100 with M = N = 8192 (bound by memory either way):\n")
matrix = pm.softmax(8192, 8192)
print(pm.compare(matrix, pm.fuse(matrix), on="h100-sxm"))
