"""The worked exercises print what the lectures' own arithmetic gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
# Texts that each script prints, with the arithmetic behind them.
ANSWERS = {
    "exercises_gpu": [
        "balance point: 200.0 FLOP/B",  # 400 / 2
        "100 TFLOP/s, 25% of peak",  # 50 * 2
        "n/3 FLOP/B",  # 2 n^3 over 3 * 2 n^2
        "answer    n >= 887",  # n / 3 >= 990 / 3.35 = 295.5
        "B >= 296",  # 2 B d^2 over 2 d^2
        "kernels 3, reads 5*n, writes 3*n",
        "kernels 1, reads 3*n, writes n",
        "(a) 1 of 128 B",  # 32 * 2 bytes
        "(b) 32 of 128 B",  # 8192 bytes apart
        "naive 5.5e+11 B, tiled 4.29e+09 B",  # 2 * 4096^3 * 4, and / 128
        "32.0 FLOP/B",  # 128 / 4
        "n <= 1408",  # 11 * 128
        "144 blocks on 132 slots: 2 waves",  # 12^2
        "max 5.0000",
        "sum 1.2034",  # (e^-2 + 1) e^-2 + e^-3 + 1
        "0.831",  # 1 / 1.2034
        "2*n**2 through P, 2*d*n through O",
        "values equal, counts equal",
    ],
    "exercises_roofline": [
        "ridge 133.3 FLOP/B",  # 400 / 3
        "90 TFLOP/s  22.5%",  # 30 * 3
        "1.00x with fewer FLOPs, 2.50x with fewer bytes",  # 1 / 0.4
        "1.25x with fewer FLOPs, 1.00x with fewer bytes",  # 1 / 0.8
        "768 GFLOP/s, ridge 38.4 FLOP/B",  # 16 * 3 * 8 * 2; / 20
        "1.0x as fast",
        "1/3 operations an access in loops, 3/5 fused",
    ],
    "exercises_tiling": [
        "T = 16    2,097,152 elements, 4 FLOP/B",  # 2 * 256^3 / 16
        "T <= 170",  # 2 * 4 T^2 <= 228 * 1024
        "n = 1025: 79%",  # (1025 / 1152)^2
        "n = 1793: 120 blocks, 2 waves, 56% full",  # 8 * 15; 120 / 216
        "to 50304",  # 786 * 64
        "n >= 231",  # n / 6 >= 38.4
        "reads 5*M*N + 2*M, writes 3*M*N + 2*M",
        "n = 65536: 17.18 GB, 0.262 MB",  # 2 * 65536^2 * 2; 4 * 65536
        "x[32*t]: 32 transactions, 3%",
        "if t % 2 == 0: 80 steps, 50%",
        "128 threads, 160 registers: 19%",
    ],
    "exercises_accelerators": [
        "batch 1: 1 FLOP/B, 3 TFLOP/s, 0.3%",
        "batch 256: 228 FLOP/B",  # 256 / (1 + 2 * 256 / 4096)
        "330 FLOP/B are needed",  # 989 / 3
        "2000 % overhead",  # 30 / 1.5
        "27 % overhead",  # 30 / 110
        "335.7 MB",  # two images, the windows twice: 2 * 16.8 + 2 * 151
        "4 x 4   6      12  50%",  # 6 + 4 + 4 - 2; 6 / 12
        "8 x 8 512     526  97%",
        "92 TOP/s",  # 65536 * 2 * 0.7
        "60 FLOP",  # 1200 / 20
    ],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_of_the_lectures(name: str) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    run = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert [text for text in ANSWERS[name] if text not in run.stdout] == []
