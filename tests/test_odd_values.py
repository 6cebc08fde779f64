"""Whatever stands in place of an argument of a mechanism, an estimate or a machine, the error is one of ours."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

import perfmodel as pm


class Broken:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __index__(self) -> int:
        raise RuntimeError("no number")


NO_NUMBERS: list[Any] = [
    True, float("nan"), -1, -0.5, float("-inf"), 10**5000, b"ab", bytearray(b"ab"), memoryview(b"ab"), "", "\0", 1j,
    Decimal("sNaN"), np.bool_(True), np.float64("nan"), np.array("t"), np.array([4, 5]), np.array([None]),
    np.zeros((2, 2)), sympy.nan, sympy.zoo, sympy.I, object(), len, ..., {"a": "b"}, {True: 1}, {1, 2}, iter(()),
    [True], [float("nan")], Broken(),
]  # fmt: skip
OTHERS: list[Any] = [
    None, 0, 3, 0.5, 1e300, 1e-300, "n", "\udcff", Fraction(1, 2), np.int32(4), np.array(4), np.array(["a", "b"]),
    sympy.Symbol("n"), range(4), [], [1, 2], (1, "x"), {}, {1: 2}, set(),
]  # fmt: skip

PROGRAM, OPEN = pm.matmul(8, 8, 8), pm.matmul("m", 8, 8)
CUT = pm.tile(PROGRAM, m=4, n=4)
PRICES, SPENT = pm.Energies(pj_per_op=20, pj_per_byte=150), pm.energy(PROGRAM, "lecture")
WORK, ARRAY, HFMA = pm.work_span(100, 10), pm.systolic(2, 2, 2, rows=2, cols=2), pm.instruction_energy("HFMA")
CHIP = pm.machine("h100-sxm")

# What takes positive numbers alone (or formulas): whatever is none is refused.
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "amat times": lambda odd: pm.amat([odd, 10], [0.5]),
    "amat rates": lambda odd: pm.amat([1, 10], [odd]),
    "amat served": lambda odd: pm.amat([1, 10], [0.5]).run([odd]),
    "amdahl parallel": lambda odd: pm.amdahl(odd, 4),
    "amdahl processors": lambda odd: pm.amdahl(0.5, odd),
    "amdahl pieces": lambda odd: pm.amdahl(0.5, 4).run(odd),
    "gustafson": lambda odd: pm.gustafson(odd, 4),
    "of_power watts": lambda odd: pm.Energies.of_power(odd, 1e9),
    "of_power rate": lambda odd: pm.Energies.of_power(1, odd),
    "flops_per_j": PRICES.flops_per_j,
    "scaled": lambda odd: PRICES.scaled(ops=odd),
    "energy scaled": lambda odd: SPENT.scaled(bytes=odd),
    "power_w": SPENT.power_w,
    "time_at_power_s": SPENT.time_at_power_s,
    "flops_per_s_at_power": SPENT.flops_per_s_at_power,
    "instruction": pm.instruction_energy,
    "instruction flops": lambda odd: pm.instruction_energy(1.5, flops=odd),
    "instruction overhead": lambda odd: pm.instruction_energy(1.5, overhead_pj=odd),
    "widened": HFMA.widened,
    "energy_j": HFMA.energy_j,
    "ladder": lambda odd: pm.efficiency_ladder(odd, 100),
    "systolic": lambda odd: pm.systolic(odd, 4, 4),
    "systolic rows": lambda odd: pm.systolic(4, 4, 4, rows=odd),
    "systolic clock": ARRAY.time_s,
    "systolic peak": ARRAY.peak_flops_per_s,
    "grid": lambda odd: pm.tile_grid(odd, 8),
    "grid batch": lambda odd: pm.tile_grid(8, 8, batch=odd),
    "grid tile": lambda odd: pm.tile_grid(8, 8, tile=(odd, 4)),
    "waves": pm.waves,
    "waves units": lambda odd: pm.waves(8, units=odd),
    "waves resident": lambda odd: pm.waves(8, resident=odd),
    "waves busy": lambda odd: pm.waves(8, busy=odd),
    "waves steps": lambda odd: pm.waves(8, schedule="stream-k", steps=odd),
    "durations": lambda odd: pm.waves(1, units=1).run([odd]),
    "work": lambda odd: pm.work_span(odd, 1),
    "span": lambda odd: pm.work_span(100, odd),
    "lanes": lambda odd: pm.work_span(PROGRAM, reduction=odd),
    "measured processors": lambda odd: pm.work_span_limits({4: odd}),
    "least_time": WORK.least_time,
    "time": WORK.time,
    "brent_time": WORK.brent_time,
    "in_turn": WORK.in_turn,
    "copies": WORK.copies,
    "bandwidth_with": pm.littles_law(2e12, 1e-6).bandwidth_with,
    "against": pm.estimate(PROGRAM, CHIP).against,
    "replace units": lambda odd: CHIP.replace(units=odd),
    "replace bandwidth": lambda odd: CHIP.replace(bandwidth_bytes_per_s=odd),
    "replace level": lambda odd: CHIP.replace(levels={"l2": {"bandwidth_bytes_per_s": odd}}),
    "Machine peak": lambda odd: pm.Machine(peak={"fp32": odd}, bandwidth_bytes_per_s=1e9),
}
# What takes names, lists, mappings, programs or machines: it takes them or refuses them in our words.
ASKED: dict[str, Callable[[Any], Any]] = {
    "amat": lambda odd: pm.amat(odd, [0.5]),
    "amat all rates": lambda odd: pm.amat([1, 10], odd),
    "amat run": lambda odd: pm.amat([1, 10], [0.5]).run(odd),
    "energy": pm.energy,
    "energy table": lambda odd: pm.energy(PROGRAM, odd),
    "energy levels": lambda odd: pm.energy(PROGRAM, levels=odd),
    "Energies": lambda odd: pm.Energies(odd),
    "Energies bytes": lambda odd: pm.Energies(1, odd),
    "Energies name": lambda odd: pm.Energies(1, name=odd),
    "Energies sources": lambda odd: pm.Energies(1, sources=odd),
    "Energies remarks": lambda odd: pm.Energies(1, remarks=odd),
    "per_op": PRICES.per_op,
    "per_op unit": lambda odd: PRICES.per_op(unit=odd),
    "operation": PRICES.operation,
    "per_byte": PRICES.per_byte,
    "systolic dataflow": lambda odd: pm.systolic(4, 4, 4, dataflow=odd),
    "systolic run": lambda odd: ARRAY.run(odd, odd),
    "systolic overlapped": lambda odd: ARRAY.run(overlapped=odd),
    "grid whole tile": lambda odd: pm.tile_grid(8, 8, tile=odd),
    "grid n": lambda odd: pm.tile_grid(CUT, odd),
    "grid kernel": lambda odd: pm.tile_grid(CUT, kernel=odd),
    "waves schedule": lambda odd: pm.waves(8, schedule=odd),
    "waves run": lambda odd: pm.waves(2, units=2).run(odd),
    "work_span unit": lambda odd: pm.work_span(PROGRAM, unit=odd),
    "work_span_limits": pm.work_span_limits,
    "then": WORK.then,
    "estimate": lambda odd: pm.estimate(odd, CHIP),
    "estimate on": lambda odd: pm.estimate(PROGRAM, odd),
    "estimate effects": lambda odd: pm.estimate(PROGRAM, CHIP, odd),
    "estimate without": lambda odd: pm.estimate(PROGRAM, CHIP, without=odd),
    "estimate tile": lambda odd: pm.estimate(PROGRAM, CHIP, tile=odd),
    "estimate protocol": lambda odd: pm.estimate(PROGRAM, CHIP, protocol=odd),
    "estimate_many sizes": lambda odd: pm.estimate_many(OPEN, CHIP, odd),
    "estimate_many size": lambda odd: pm.estimate_many(OPEN, CHIP, {"m": odd}),
    "fits": lambda odd: pm.fits(PROGRAM, odd),
    "level": CHIP.level,
    "find_peak": CHIP.find_peak,
    "Machine": lambda odd: pm.Machine(peak=odd, bandwidth_bytes_per_s=1e9),
    "Machine levels": lambda odd: pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e9, levels=odd),
}


@pytest.mark.parametrize("asked", NUMBERS.values(), ids=NUMBERS.keys())
def test_what_is_no_number_is_refused(asked: Callable[[Any], Any]) -> None:
    """Truth values, nan, negative numbers, bytes, arrays, and objects without a text."""
    for odd in NO_NUMBERS:
        with pytest.raises(pm.PerfModelError):
            asked(odd)


@pytest.mark.parametrize("asked", [*NUMBERS.values(), *ASKED.values()], ids=[*NUMBERS, *ASKED])
def test_anything_is_answered_or_refused_in_our_words(asked: Callable[[Any], Any]) -> None:
    """An answer shows itself; any error but ours fails the test."""
    for odd in [*NO_NUMBERS, *OTHERS]:
        try:
            said = repr(asked(odd))
        except pm.PerfModelError as error:
            said = str(error)
        assert 0 < len(said) < 20_000


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: pm.amat([1, 10], {0.5}), "miss_rates = {0.5}: expected a list"),
        (lambda: pm.tile_grid(8, 8, tile=b"ab"), "tile = b'ab': expected a list"),
        (lambda: pm.tile_grid(8, 8, kernel="matmul"), "only a program has kernels"),
        (lambda: pm.tile_grid(CUT, 8), "n = 8: a program that is cut has its own sizes"),
        (lambda: pm.waves(2, units=2).run({1: 2}), "durations = {1: 2}: expected a list"),
        (lambda: ARRAY.run(overlapped=1), "overlapped = 1: expected True or False"),
        (lambda: pm.Energies(1, sources=["a"]), "sources = .*: expected a mapping"),
        (lambda: pm.estimate(PROGRAM, CHIP, without={"launch": 1}), "no effect {'launch': 1}"),
        (lambda: pm.estimate(PROGRAM, CHIP, 10**5000), r"no effect 2\^16609 or more"),
        (lambda: pm.Machine(peak=Broken(), bandwidth_bytes_per_s=1e9), "peak = <Broken>"),
    ],
)
def test_the_refusal_names_the_argument_and_the_value(asked: Callable[[], Any], words: str) -> None:
    """And what was expected there."""
    with pytest.raises(pm.PerfModelError, match=words):
        asked()
