"""Energies that have been published, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from perfmodel.mechanisms.energy_costs import Energies
from perfmodel.showing import Table

_TEN_LESSONS = "Jouppi et al., 'Ten Lessons From Three Generations Shaped Google's TPUv4i', ISCA 2021, table 2"
_HOROWITZ = f"Horowitz, ISSCC 2014, as in {_TEN_LESSONS}"
_LECTURE = (
    "orders of magnitude used in lectures on parallel computing (Stanford CS149): logic alone, without decoding "
    "and register reads"
)

# pJ an operation; SRAM and DRAM for 64 bits, which is 8 bytes
_OPS_45 = {
    "int8 add": "0.03", "int32 add": "0.1", "fp16 add": "0.4", "fp32 add": "0.9",
    "int8 mul": "0.2", "int32 mul": "3.1", "fp16 mul": "1.1", "fp32 mul": "3.7",
}  # fmt: skip
_OPS_7 = {
    "int8 add": "0.007", "int32 add": "0.03", "bf16 add": "0.11", "fp16 add": "0.16", "fp32 add": "0.38",
    "int8 mul": "0.07", "int32 mul": "1.48", "bf16 mul": "0.21", "fp16 mul": "0.34", "fp32 mul": "1.31",
}  # fmt: skip
_PER_64_BITS_45 = {"sram_8kb": 10, "sram_32kb": 20, "sram_1mb": 100, "ddr": 1300}
_PER_64_BITS_7 = {"sram_8kb": 7.5, "sram_32kb": 8.5, "sram_1mb": 14, "hbm2": 350, "gddr6": 415, "ddr": 1300}
_PER_64_BITS_LECTURE = {"memory": 1200, "sram": 26}
_RANGES = {"hbm2": "the middle of 250 to 450 pJ for 64 bits", "gddr6": "the middle of 350 to 480 pJ for 64 bits"}

# Rungs of efficiency over good code on a general-purpose core: what specialisation buys.
LADDER = (
    ("general-purpose cores", 1),
    ("throughput cores (GPU)", 10),
    ("domain-specific (TPU)", 20),
    ("fixed function, low", 100),
    ("fixed function, high", 1000),
)


@lru_cache(maxsize=1)
def _tables() -> tuple[Energies, ...]:
    older = _per_byte(_PER_64_BITS_45) | {"memory": _eighth(1300)}
    newer = _per_byte(_PER_64_BITS_7) | {"memory": _eighth(350)}
    return (
        Energies(_OPS_45, older, name="45nm", sources={"": _HOROWITZ}, remarks={"memory": "DDR3"}),
        Energies(_OPS_7, newer, name="7nm", sources={"": _TEN_LESSONS},
                 remarks={**_RANGES, "memory": f"HBM2: {_RANGES['hbm2']}"}),
        Energies({"float": 20, "int": 1}, _per_byte(_PER_64_BITS_LECTURE), name="lecture", sources={"": _LECTURE},
                 remarks={"memory": "LPDDR", "sram": "1 mm away"}),
    )  # fmt: skip


def _eighth(energy: float) -> float:
    return energy / 8


def _per_byte(for_64_bits: Mapping[str, float]) -> dict[str, float]:
    return {level: _eighth(energy) for level, energy in for_64_bits.items()}


def energy_tables() -> dict[str, Energies]:
    """The published tables of energies, by name: "45nm", "7nm" and "lecture" (round figures).

    >>> energy_tables()["7nm"]
    pm.energy_tables()['7nm']
    # a FLOP of fp32 0.845 pJ; a byte of memory 43.75 pJ: 51.78 FLOP/B
    >>> sorted(energy_tables())
    ['45nm', '7nm', 'lecture']
    """
    return {table.name: table for table in _tables()}


def efficiency_ladder(flops_per_s: float, watts: float) -> Table:
    """What specialisation buys: FLOP/s a watt of a general-purpose chip, and at 10, 20, 100 and 1000 times that.

    The gains are orders of magnitude over good code on a CPU that lectures on specialised hardware give (Stanford
    CS149), not figures of one chip.

    >>> efficiency_ladder(768e9, watts=100)
    768000000000 FLOP/s at 100 W, and its specialisations
    hardware                gain  gflops_per_w  pj_per_flop
    general-purpose cores      1          7.68        130.2
    throughput cores (GPU)    10          76.8        13.02
    domain-specific (TPU)     20         153.6         6.51
    fixed function, low      100           768        1.302
    fixed function, high    1000          7680       0.1302
    """
    each = Energies.of_power(watts, flops_per_s)
    rows = []
    for hardware, gain in LADDER:
        flop = each.per_op() / gain
        rows.append((hardware, gain, float(1000 / flop), float(flop)))  # 1 pJ a FLOP is 1000 GFLOP/s a watt
    title = f"{float(flops_per_s):.0f} FLOP/s at {float(watts):g} W, and its specialisations"
    return Table(title, ("hardware", "gain", "gflops_per_w", "pj_per_flop"), tuple(rows))
