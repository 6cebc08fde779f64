"""Why is n = 1793 half as fast as 1792, and what does a FLOP cost in energy?"""

from __future__ import annotations

import numpy

import perfmodel as pm

TILE, SMS = (256, 128), 108  # an A100, and a tile that its libraries use


def square(n: int | str) -> pm.mechanisms.Waves:
    """An n x n output on an A100."""
    return pm.waves(pm.tile_grid(n, n, tile=TILE), units=SMS)


print("A square matmul in tiles of 256 x 128 on 108 SMs:\n")
for n in (1792, 1793, 2560):
    found = square(n)
    time = found.time_blocks * n / (square(1792).time_blocks * 1792)
    print(f"  n = {n}: {found.blocks:>3} blocks, {found.waves} waves, {found.wave_fill:.0%} full, {time:.2f} the time")
print(f"\n{square(1793).explain()}\n")

sizes = numpy.arange(1, 8193)
curve = pm.compile_formula(square("n").efficiency)(n=sizes)
best, worst = sizes[1024:][curve[1024:].argmax()], sizes[1024:][curve[1024:].argmin()]
print(f"From n = 1025 to 8192 the sawtooth runs from {curve[worst - 1]:.0%} (n = {worst}) to {curve[best - 1]:.0%}.\n")

uneven = [4] + [1] * 215  # one block that takes four times as long
for schedule in ("static", "dynamic", "stream-k"):
    print(f"  {schedule:<9} {float(pm.waves(216, units=SMS, schedule=schedule).run(uneven).makespan):.2f} block times")

print("\nThe same product on an array of 128 x 128 cells with standing weights:\n")
for m in (8, 128, 4096):
    print(pm.systolic(m, 512, 512, rows=128, cols=128, dataflow="weight"))

print("\nEnergy at 7 nm: data movement outweighs arithmetic below the ridge.\n")
print(pm.energy(pm.gemv(4096, 4096), "7nm"))
print(pm.energy(pm.matmul(4096, 4096, 4096), "7nm"))
print()
for name in ("HFMA", "HDP4A", "HMMA"):
    print(pm.instruction_energy(name))
