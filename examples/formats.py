"""What does a weight cost in a block-scaled format, and what does that do to decode?"""

from __future__ import annotations

import perfmodel as pm

grouped = pm.Format("int4_g128", bits=4, kind="int", block=128, scale_bits=16)  # a bf16 scale for 128 weights
formats = [pm.format(name) for name in ("bf16", "mxfp8", "nvfp4", "mxfp4")] + [grouped]

print("Bits and bytes a weight, its share of the scales included:\n")
for found in formats:
    bits, size = found.effective_bits, found.bytes_per_element
    print(f"  {found.name:<10} {float(bits):>7.4g} bits = {bits!s:>4}   {float(size):.5f} bytes = {size}")

print("\nA decode projection (8192 x 8192, batch 8) on an H100, weights stored so and multiplied in bf16:\n")
step = pm.gemv(8192, 8192, batch=8)
before = pm.estimate(step, "h100-sxm")
for found in formats:
    stored = pm.cast(step, W=found)
    e = pm.estimate(stored, "h100-sxm")
    gain = before.time_s / e.time_s
    print(f"  {found.name:<10} {stored.bytes / 1e6:>6.1f} MB  {e.time_s * 1e6:>5.1f} us  {gain:.2f} x  {e.bound}-bound")

ragged = pm.format("mxfp4").bytes_of((1000, 1000))
print(f"\nA ragged last block has its scale too: 1000 x 1000 in mxfp4, 32 scales a row, takes {ragged:,} bytes.")
print("Answer: decode reads weights, so it speeds up nearly as much as they shrink; only x and y stay in bf16.")
