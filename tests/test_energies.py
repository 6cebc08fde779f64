"""Energy: tables, ledgers equal to what a run counts, the ridge, power, instructions, the ladder, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import perfmodel as pm

LECTURE = pm.energy_tables()["lecture"]
PJ = 1e-12


def test_a_gigaflop_against_a_gigabyte() -> None:
    """20 pJ a FLOP, 150 pJ a byte of LPDDR: 0.02 J against 0.15 J; of a GiB 0.161 J."""
    found = pm.energy(pm.workload(flops=1e9, bytes_read=1e9), LECTURE)
    assert (found.compute_j, found.memory_j, found.ratio) == (1e9 * 20 * PJ, 0.15, 150 / 20)
    assert f"{pm.energy(pm.workload(flops=1e9, bytes_read=2**30), LECTURE).ratio:.0f}" == "8"
    assert found.ridge == LECTURE.ridge() == 7.5


def test_tpu_v1_takes_less_than_half_a_picojoule() -> None:
    """40 W at 2 * 65536 * 700 MHz operations a second."""
    rate = pm.systolic(256, 256, 256, rows=256, cols=256).peak_flops_per_s(700e6)
    assert f"{rate / 1e12:.0f}" == "92"
    assert f"{float(pm.Energies.of_power(40, rate).per_op()):.3f}" == "0.436"


def test_wider_instructions_amortise_their_overhead() -> None:
    """30 pJ beside 1.5, 6.0 and 110 pJ of arithmetic."""
    found = [pm.instruction_energy(name) for name in ("HFMA", "HDP4A", "HMMA")]
    assert [f"{each.overhead:.0%}" for each in found] == ["2000%", "500%", "27%"]
    assert found[0].widened(4).overhead == found[0].overhead / 4
    costs = [each.pj_per_flop for each in found]
    assert costs == sorted(costs, reverse=True)


@given(flops=st.integers(1, 5000), name=st.sampled_from(["HFMA", "HDP4A", "HMMA"]))
def test_instructions_issued_one_by_one(flops: int, name: str) -> None:
    """Issue whole instructions until the FLOPs are done: overhead and arithmetic add up to the closed form."""
    each = pm.instruction_energy(name)
    left, spent = flops, Fraction(0)
    while left > 0:
        spent += each.overhead_pj + each.arithmetic_pj
        left -= each.flops
    assert each.energy_j(flops) == pytest.approx(float(spent) * PJ)


def test_published_tables() -> None:
    """Horowitz and Jouppi: adds and multiplies by format; 64 bits of DRAM at 1300 pJ are 162.5 pJ a byte."""
    older, newer = pm.energy_tables()["45nm"], pm.energy_tables()["7nm"]
    assert float(older.operation("mul", "fp32") / older.operation("add", "int32")) == 37
    assert older.per_byte() * 8 == newer.per_byte("ddr") * 8 == 1300
    assert newer.per_byte("hbm2") * 8 == Fraction(250 + 450, 2)
    # a bf16 multiply and an fp32 add
    assert newer.per_op("bf16", "matrix") == (Fraction("0.21") + Fraction("0.38")) / 2
    assert newer.per_op("int8", "matrix") == (Fraction("0.07") + Fraction("0.03")) / 2
    assert newer.per_op("bf16", "vector") == (Fraction("0.21") + Fraction("0.11")) / 2
    for table in pm.energy_tables().values():
        assert all(source for _, source in table.sources)
        assert table.name in table.explain()


SIZES = st.integers(1, 6)


@given(m=SIZES, n=SIZES, k=SIZES, rows=st.integers(1, 4), cols=st.integers(1, 4))
def test_the_ledger_is_the_sum_over_what_a_run_counts(m: int, n: int, k: int, rows: int, cols: int) -> None:
    """simulate counts loads, stores and operations; each at its price gives the energy."""
    p = pm.tile(pm.matmul(m, n, k, dtype="fp32"), m=rows, n=cols)
    random = numpy.random.default_rng(0)
    counts = pm.simulate(p, {"A": random.random((1, m, k)), "B": random.random((1, k, n))}).counts
    moved = 4 * (sum(counts.loads.values()) + sum(counts.stores.values()))
    spent = sum(counts.operations.values()) * LECTURE.per_op("fp32") + moved * LECTURE.per_byte()
    assert pm.energy(p, LECTURE).energy_j == pytest.approx(float(spent) * PJ)


def test_every_level_has_its_bytes_and_repetitions_count() -> None:
    """Tiles in shared memory within tiles in L2: each level's traffic at its own price, 3 times over."""
    p = pm.tile(pm.tile(pm.matmul(64, 64, 64), m=32, n=32, level="l2"), m=8, n=8, level="shared").repeat(3)
    table = pm.Energies(pj_per_op=1, pj_per_byte={"memory": 100, "l2": 10})
    moved = {level: sum(p.traffic(level).to_dict()["bytes"]) for level in ("memory", "l2")}
    found = pm.energy(p, table)
    assert found.memory_j == pytest.approx(3 * (100 * moved["memory"] + 10 * moved["l2"]) * PJ)
    assert {entry.item: entry.amount for entry in found.entries if entry.kind == "memory"} == {
        level: 3 * amount for level, amount in moved.items()
    }
    assumed = pm.energy(p, "7nm")
    assert assumed.levels == (("memory", "memory"), ("l2", "sram_1mb"))
    assert "l2: at the price of sram_1mb" in assumed.caveats
    assert pm.energy(p, "7nm", levels={"l2": "sram_32kb"}).memory_j < assumed.memory_j


def test_the_energy_roofline_has_half_of_its_most_at_the_ridge() -> None:
    """Energies add: below the ridge bytes take more, above it operations, and at it both the same."""
    most = LECTURE.flops_per_j()
    assert most == pytest.approx(1 / (20 * PJ))
    assert LECTURE.flops_per_j(LECTURE.ridge()) == most / 2
    rates = [LECTURE.flops_per_j(2.0**power) for power in range(-4, 12)]
    assert rates == sorted(rates)
    at = pm.energy(pm.workload(flops=75, bytes_read=10), LECTURE)
    assert at.compute_share == 0.5
    assert at.flops_per_j == pytest.approx(LECTURE.flops_per_j(7.5))


def test_power_limits_the_rate() -> None:
    """Watts over joules a FLOP; time and rate agree, and so do power and time."""
    found = pm.energy(pm.matmul(512, 512, 512), "7nm")
    time = found.time_at_power_s(100)
    assert found.power_w(time) == pytest.approx(100)
    assert found.flops_per_s_at_power(100) == pytest.approx(found.program.flops / time)


def test_cheaper_operations_leave_the_bytes() -> None:
    """An eighth of the compute energy: the rest stays; a table scaled is scaled in every figure."""
    found = pm.energy(pm.workload(flops=1e9, bytes_read=2**30), LECTURE)
    cheaper = found.scaled(ops=Fraction(1, 8))
    assert cheaper.compute_j == found.compute_j / 8
    assert cheaper.memory_j == found.memory_j
    assert LECTURE.scaled(2, 3).ridge() == pytest.approx(LECTURE.ridge() * 1.5)


@given(n=st.integers(1, 300))
def test_formulas_are_the_numbers(n: int) -> None:
    """A program in symbols has its energy as a formula without rounding; bound, it is the energy of the numbers."""
    symbolic, exact = pm.energy(pm.matmul("n", "n", "n"), "7nm"), pm.energy(pm.matmul(n, n, n), "7nm")
    for name in ("energy_j", "compute_j", "memory_j", "ratio", "pj_per_flop", "compute_share", "ridge"):
        formula = pm.compile_formula(getattr(symbolic, name), "n")
        assert formula(n=n) == pytest.approx(getattr(exact, name), rel=1e-12)


def test_what_has_no_figure_is_listed_and_costs_nothing() -> None:
    """Special operations are in none of the tables; a table without bytes leaves the bytes out."""
    found = pm.energy(pm.softmax(8, 8), "7nm")
    assert [words.split(":")[0] for words in found.not_modelled] == ["special bf16"]
    assert "left out" in repr(found)
    bare = pm.energy(pm.workload(flops=4, bytes_read=8), pm.Energies(pj_per_op=1))
    assert (bare.energy_j, bare.memory_j) == (4 * PJ, 0)
    assert bare.not_modelled == ("memory: the table has no energy for it",)
    given_special = pm.Energies(pj_per_op={"float": 1, "special": 10}, pj_per_byte=1)
    assert pm.energy(pm.softmax(8, 8), given_special).not_modelled == ()


def test_figures_from_the_most_particular_on() -> None:
    """Unit and format, format, half a multiply and half an add, unit, class, any."""
    keys = {"any": 1, "float": 2, "matrix": 3, "fp16 mul": 4, "fp32 add": 6, "fp16": 7, "matrix fp16": 8}
    expected = [1, 2, 3, (4 + 6) / 2, 7, 8]
    names = list(keys)
    found = []
    for upto in (["any"], names[:2], names[:3], names[:5], names[:6], names):
        found.append(float(pm.Energies(pj_per_op={key: keys[key] for key in upto}).per_op("fp16", "matrix")))
    assert found == expected
    assert pm.Energies(pj_per_op={"int": 1, "float": 2}).per_op("uint8") == 1


def test_the_ladder_of_efficiency() -> None:
    """7.68 GFLOP/s a watt, and 10, 20, 100 and 1000 times that."""
    table = pm.efficiency_ladder(768e9, 100).to_dict()
    assert table["gflops_per_w"] == pytest.approx([7.68 * gain for gain in table["gain"]])
    assert table["pj_per_flop"] == pytest.approx([1000 / rate for rate in table["gflops_per_w"]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pm.Energies(), "give pj_per_op="),
        (lambda: pm.Energies(pj_per_op=-1), "0 or more"),
        (lambda: pm.Energies(pj_per_op=float("nan")), "0 or more"),
        (lambda: pm.Energies(pj_per_op=float("inf")), "0 or more"),
        (lambda: pm.Energies(pj_per_op="1e400"), "0 or more"),
        (lambda: pm.Energies(pj_per_op="__import__('os')"), "0 or more"),
        (lambda: pm.Energies(pj_per_op=True), "0 or more"),
        (lambda: pm.Energies(pj_per_op={"fp33": 1}), "fp33"),
        (lambda: pm.Energies(pj_per_op={"matrix": None}), "0 or more"),
        (lambda: pm.Energies(pj_per_op={"fp32 div": 1}), "a key is a format"),
        (lambda: pm.Energies(pj_per_op={3: 1}), "a key is text"),
        (lambda: pm.Energies(pj_per_byte={"": 1}), "a key is text"),
        (lambda: pm.Energies(pj_per_byte=1).per_op(), "no energy of vector fp32"),
        (lambda: pm.Energies(pj_per_op=1).per_byte("hbm"), "no level 'hbm'"),
        (lambda: pm.Energies(pj_per_op=1).operation("mul"), "no energy of 'fp32 mul'"),
        (lambda: pm.Energies(pj_per_op=1).per_op(unit="tensor"), "unit = 'tensor'"),
        (lambda: pm.Energies(pj_per_op=0, pj_per_byte=1).ridge(), "no energy for an operation"),
        (lambda: pm.Energies(pj_per_op=0).flops_per_j(), "no energy for an operation"),
        (lambda: pm.Energies(pj_per_op=1, pj_per_byte=1).flops_per_j(0), "intensity = 0"),
        (lambda: pm.Energies(pj_per_op=1).scaled(ops=-1), "0 or more"),
        (lambda: pm.Energies.of_power(0, 1), "watts = 0"),
        (lambda: pm.energy(pm.matmul(4, 4, 4), "7mn"), "did you mean '7nm'"),
        (lambda: pm.energy(4, "7nm"), "expected a program"),
        (lambda: pm.energy(pm.matmul(4, 4, 4), levels={"l3": "ddr"}), "no level 'l3'"),
        (lambda: pm.energy(pm.matmul(4, 4, 4), levels={"memory": "hbm3"}), "did you mean 'hbm2'"),
        (lambda: pm.energy(pm.matmul(4, 4, 4), levels="ddr"), "expected a mapping"),
        (lambda: pm.energy(pm.workload(bytes_read=4)).pj_per_flop, "no FLOP"),
        (lambda: pm.energy(pm.workload(bytes_read=4)).ratio, "no ratio"),
        (lambda: pm.energy(pm.workload(flops=4), LECTURE).ridge, "no energy of a byte"),
        (lambda: pm.energy(pm.workload(flops=4)).power_w(0), "time_s = 0"),
        (lambda: pm.instruction_energy("HFMAA"), "did you mean 'HFMA'"),
        (lambda: pm.instruction_energy(0), "takes no energy"),
        (lambda: pm.instruction_energy(1, flops=0), "flops = 0"),
        (lambda: pm.instruction_energy(1, flops="n"), "expected a number"),
        (lambda: pm.instruction_energy("HFMA").energy_j(0), "flops = 0"),
        (lambda: pm.efficiency_ladder(0, 1), "ops_per_s = 0"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(pm.PerfModelError, match=words):
        call()


def test_a_table_shows_what_makes_it_again() -> None:
    """Figures as they were given, in decimals or as a fraction that no decimal is."""
    table = pm.Energies(pj_per_op={"fp32": "4.6", "fp16": Fraction(1, 3)}, pj_per_byte=150)
    assert table.made == "pm.Energies(pj_per_op={'fp32': 4.6, 'fp16': '1/3'}, pj_per_byte=150)"
    assert eval(table.made, {"pm": pm}) == table  # noqa: S307  # our own text
    formulas = pm.energy(pm.matmul(64, "n", 64, dtype="fp32"), table).comments()
    # 2 * 64 * 64 FLOPs at 4.6 pJ for each of n; and 4 bytes at 150 pJ of n columns of 64 twice, and of 64 * 64
    assert formulas[0] == "compute 188416 n / 5 pJ, memory 76800 n + 2457600 pJ"
