"""Napkin math: questions that start from a few numbers, with the working under each answer."""

from __future__ import annotations

import perfmodel as pm

h100 = pm.machine("h100-sxm")

print("From which batch on is a decode projection (8192 x 8192, bf16) bound by compute on an H100?\n")
step = pm.gemv(8192, 8192, batch="b")
print(step.explain())
print(f"  ridge: {h100.ridge('bf16'):.1f} FLOP/B, so about that many tokens must share each 2-byte weight")
first = next(b for b in range(1, 1024) if pm.estimate(step.at(b=b), h100, "ideal").bound == "compute")
print(f"Answer: from batch {first} on (x and y cost traffic too). Share of peak by batch:")
for batch in (1, 8, 64, 256, 1024):
    print(f"  {batch:>5} {pm.estimate(step.at(b=batch), h100, 'ideal').fraction_of_peak:>6.1%}")

print("\nHow fast can one H200 decode a model of 70e9 parameters at batch 1, whatever its layers are?\n")
token = pm.workload(flops=2 * 70e9, bytes_read=2 * 70e9, dtype="bf16", name="one_token")
e = pm.estimate(token, "h200-sxm", "ideal")
print(e.explain())
print(f"Answer: at most {1 / e.time_s:.0f} tokens/s, for each of them reads every weight once.")

print("\nHow long does it train on 15e12 tokens with 16,384 H100s at 40 % of their peak?\n")
training = pm.workload(flops=6 * 70e9 * 15e12, dtype="bf16", name="training")  # 6 FLOP a parameter and token
seconds = training.flops / (0.40 * 16_384 * h100.peak("bf16"))
print(f"  6 * 70e9 * 15e12 = {float(training.flops):.3g} FLOP")
print(f"  0.40 * 16384 * {h100.peak('bf16'):.4g} FLOP/s = {0.40 * 16_384 * h100.peak('bf16'):.3g} FLOP/s")
print(f"Answer: {float(seconds) / 86_400:.0f} days.")
