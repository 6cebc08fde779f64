"""How does one estimate on a chip that is not in the catalogue?"""

from __future__ import annotations

import tempfile
from pathlib import Path

import perfmodel as pm

gate = pm.matmul(256, 28_672, 8192)

print("A chip from numbers:\n")
chip = pm.Machine(peak={"bf16": 400e12}, bandwidth_bytes_per_s=2e12, capacity_bytes=64e9, name="mine")
print(chip)
print(pm.estimate(gate, chip).explain())

print("\nA chip from symbols: the time is a formula in its peak and bandwidth.\n")
peak, bandwidth = pm.reals("peak bandwidth")
unknown = pm.Machine(peak=peak, bandwidth_bytes_per_s=bandwidth, name="unknown")
e = pm.estimate(pm.matmul("n", "n", "n"), unknown)
print(f"  ridge {unknown.ridge('bf16')}, time {e.time_s}")
print(f"  at n = 4096, 400 TFLOP/s, 2 TB/s: {pm.evaluate(e.time_s, n=4096, peak=400e12, bandwidth=2e12) * 1e6:.1f} us")

print("\nA chip from a data sheet of one's own (hardware/README.md has the schema), each figure with its source:\n")
SHEET = """
name = "Chip of the example"
vendor = "example"
kind = "npu"

[memory]
capacity_bytes = { value = 64e9, source = "NOTE" }
bandwidth_bytes_per_s = { value = 2e12, source = "NOTE" }

[[peak]]
unit = "matrix"
format = "bf16"
flops_per_s = { value = 400e12, source = "NOTE" }

[sources]
NOTE = { title = "made up for this example", date = "2026-01" }
"""
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "example.toml"
    path.write_text(SHEET, encoding="utf-8")
    sheet = pm.machine(path)
print(sheet.explain())

print("\nWhat if an H100 had twice the bandwidth, or twice the peak?\n")
h100 = pm.machine("h100-sxm")
faster_memory = h100.replace(bandwidth_bytes_per_s=2 * h100.bandwidth_bytes_per_s, name="twice the bandwidth")
faster_units = h100.replace(peak={"bf16": 2 * h100.peak("bf16")}, name="twice the peak")
print(pm.compare(gate, on=[h100, faster_memory, faster_units], effects="ideal"))
print("\nAnswer: at batch 256 this matmul is short of the ridge, so only bandwidth helps, and only up to the ridge.")
