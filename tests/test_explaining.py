"""The working in words: formula, numbers, rate, time, bound, ridge, what fusing gives, what is left out."""

from __future__ import annotations

import re

import pytest

import perfmodel as pm
from perfmodel.showing import formula, quantity

MINE = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine")
LEFT_OUT = "  left out tile quantization, wave quantization, "


def explained(p: pm.Program, machine: object = MINE) -> list[str]:
    """The lines of an explanation, each whole again where it was cut to fit a page."""
    text = str(pm.estimate(p, machine, effects="ideal").explain())
    return re.sub(r"\n {11}(?! *[/x+] )", " ", text).splitlines()


@pytest.mark.parametrize("effects", ["ideal", "real"])
@pytest.mark.parametrize("chip", ["a100-sxm-80gb", "h100-sxm", "mi300x", "tpu-v5e"])
def test_a_working_fits_a_page(chip: str, effects: str) -> None:
    """About a hundred characters a line, and a little for the mark of the bound; seconds stand below each other."""
    three = pm.fuse(pm.attention(4096, 4096, 128, heads=8), by="stage")
    for p in (pm.matmul(1793, 1793, 1793), pm.matmul(8, 8192, 8192), pm.fuse(pm.softmax(4096, 4096)), three):
        lines = pm.estimate(p, chip, effects).explain().splitlines()
        assert max(map(len, lines)) <= 106, max(lines, key=len)
        columns = [re.search(r"  [/x+] .*?  +(?=[\d.]+ [mun]?s)", line) for line in lines]
        assert len({found.end() for found in columns if found}) == 1


def test_a_long_line_is_cut_between_words_and_not_before_a_unit() -> None:
    """What was cut is whole again when joined, and no line begins with a unit."""
    text = str(pm.estimate(pm.matmul(1793, 1793, 1793), "a100-sxm-80gb").explain())
    joined = re.sub(r"\n {11}", " ", text)
    assert "compute-bound (matrix bf16), 25 % of peak, 6.4 % of bandwidth\n" in joined
    assert not re.search(r"\n {11}(%|us|of)", text)


def test_one_kernel_reads_like_a_napkin() -> None:
    """Formula = number / rate, seconds, which of them bounds, the ridge, and what is not in it."""
    lines = explained(pm.matmul(512, 256, 128))
    work, moved = 2 * 512 * 256 * 128, 2 * (512 * 128 + 128 * 256 + 512 * 256)
    assert lines[0] == (
        f"matmul(m=512 n=256 k=128, bf16) on mine: {quantity(moved / 1e10, 's')}, memory-bound (memory), "
        f"{100 * (work / 1e12) / (moved / 1e10):.0f} % of peak, 100 % of bandwidth"
    )
    m, n, k = pm.dims("m n k")
    read = formula(2 * m * k + 2 * k * n + 2 * m * n, ["m", "n", "k"])
    words = [re.split(r"  +", line.strip()) for line in lines[1:]]
    assert words[0] == ["work", f"2 m n k = {quantity(work, 'FLOP')}", "/ 1 TFLOP/s (matrix bf16)",
                        quantity(work / 1e12, "s")]  # fmt: skip
    assert words[1] == ["memory", f"{read} = {quantity(moved, 'B')}", "/ 10 GB/s (memory)",
                        quantity(moved / 1e10, "s"), "<- bound"]  # fmt: skip
    intensity = work / moved
    assert words[2] == ["ridge", f"{intensity:.4g} FLOP/B against 100: {100 / intensity:.3g} times short of it"]
    assert lines[-1].startswith(LEFT_OUT)


def test_past_the_ridge() -> None:
    """Where compute bounds, the mark stands at the work and the ridge is passed."""
    lines = explained(pm.matmul(512, 512, 512))
    assert lines[1].endswith("<- bound")
    assert not lines[2].endswith("<- bound")
    assert lines[3].endswith(f"against 100: {(512 / 3) / 100:.3g} times past it")


def test_several_kernels_have_a_line_each_and_what_fusing_gives() -> None:
    """relu(x*w + b): three kernels of 6, 6 and 4 bytes an element; fused 8 of 16, so twice as fast."""
    n = 2**20
    lines = explained(pm.elementwise("relu(x*w + b)", n))
    heads = [line for line in lines if re.fullmatch(r"  (mul|add|relu)  .*, memory-bound", line)]
    assert heads == [
        f"  mul  {quantity(6 * n / 1e10, 's')}, memory-bound",
        f"  add  {quantity(6 * n / 1e10, 's')}, memory-bound",
        f"  relu  {quantity(4 * n / 1e10, 's')}, memory-bound",
    ]
    (fuse,) = [line for line in lines if line.startswith("  fuse")]
    assert fuse == (
        f"  fuse     in one kernel: {quantity(16 * n, 'B')} -> {quantity(8 * n, 'B')}, "
        f"{quantity(16 * n / 1e10, 's')} -> {quantity(8 * n / 1e10, 's')} (2 times as fast), memory-bound"
    )


def test_what_fusing_gives_says_how_many_kernels_are_left() -> None:
    """A gradient stands behind a barrier: forward and backward stay two."""
    (fuse,) = [line for line in explained(pm.grad(pm.elementwise("relu(x*w + b)", 64))) if line.startswith("  fuse")]
    assert fuse.startswith("  fuse     in 2 kernels: ")


def test_fused_programs_have_nothing_to_fuse() -> None:
    """A program of one kernel, and one whose sections are fused already, get no such line."""
    for p in (pm.matmul(64, 64, 64), pm.fuse(pm.softmax(64, 64)), pm.matmul(64, 64, 64).repeat(8)):
        assert not any(line.startswith("  fuse") for line in explained(p))


def test_kernels_that_cannot_be_one_are_left_as_they_are() -> None:
    """Kernels of one section that run different numbers of times are not fused, and nothing breaks."""
    p = pm.softmax(64, 64)
    first, *rest = p.kernels
    odd = p.rewritten((type(first)(first.name, first.ops, 3), *rest), "odd()")
    assert not any(line.startswith("  fuse") for line in explained(odd))


def test_nothing_known_bounds_nothing() -> None:
    """Where no part has a known rate, no line is marked as the bound and the title says so."""
    lines = explained(pm.workload(flops=4, dtype="mxfp4"), "h100-sxm")
    assert lines[0] == "workload() on h100-sxm: no part of it has a known rate on h100-sxm"
    assert not any("<- bound" in line for line in lines)
    assert lines[-1].startswith("  left out matrix mxfp4: h100-sxm lists no such rate, ")


def test_repetitions_are_said() -> None:
    """A kernel that runs 80 times says so, and its time is that of one run."""
    lines = explained(pm.matmul(512, 512, 512).repeat(80))
    assert lines[1] == f"  matmul x 80  {quantity(2 * 512**3 / 1e12, 's')}, compute-bound"
    assert quantity(80 * 2 * 512**3 / 1e12, "s") in lines[0]


def test_every_unit_has_its_line() -> None:
    """A fused softmax shows vector work, special operations and memory, each with its own formula."""
    lines = explained(pm.fuse(pm.softmax(64, 32)))
    assert [line.split()[0] for line in lines[1:-1]] == ["vector", "special", "memory", "ridge"]
    assert "4 m n = 8.192 kFLOP" in lines[1]
    assert "m n = 2.048 kop" in lines[2]
    assert "4 m n = 8.192 kB" in lines[3]


def test_one_formula_for_each_format_of_a_unit() -> None:
    """Two formats on one unit are two lines, each with the formula of its own work only."""
    p = pm.fuse(pm.sequence(pm.matmul(64, 32, 16), pm.matmul(8, 4, 2, dtype="fp8_e4m3")))
    lines = explained(p)
    assert "2 m n k = 65.54 kFLOP" in lines[1]
    assert "2 m_2 n_2 k_2 = 128 FLOP" in lines[2]


def test_remarks_and_unknown_rates_are_said() -> None:
    """A contraction on the vector unit is a note; work without a rate is the first of what is left out."""
    fp32 = explained(pm.matmul(64, 64, 64, dtype="fp32"), "h100-sxm")
    assert fp32[-2] == "  note     h100-sxm has no matrix unit for fp32: contractions run on the vector unit"
    assert fp32[1].split()[0] == "vector"
    v100 = explained(pm.matmul(64, 64, 64), "v100-sxm2-16gb")
    assert v100[-1].startswith("  left out matrix bf16: v100-sxm2-16gb lists no such rate, tile quanti")


@pytest.mark.parametrize("sizes", [("n", "n", "n"), ("m", 64, "k")])
def test_formulas_stay_formulas(sizes: tuple[object, ...]) -> None:
    """With symbols the time is a formula, no bound is marked and no ratio is claimed."""
    lines = explained(pm.matmul(*sizes))
    assert lines[0].endswith(" s")
    assert "max(" in lines[0]
    assert not any("<- bound" in line or "times" in line for line in lines)
    assert any(line.startswith("  ridge") and "against 100" in line for line in lines)


def test_a_symbolic_machine_keeps_numbers_numbers() -> None:
    """Where only the machine has symbols, the intensity is a number and the ridge a formula."""
    peak, bandwidth = pm.reals("P B")
    lines = explained(pm.matmul(64, 64, 64), pm.Machine(peak=peak, bandwidth_bytes_per_s=bandwidth))
    assert "  ridge    21.33 FLOP/B against P / B" in lines


def test_an_explanation_shows_as_its_text() -> None:
    """At a prompt it is its lines, and in a notebook too."""
    text = pm.estimate(pm.matmul(64, 64, 64), MINE).explain()
    assert repr(text) == str(text)
    assert text._repr_html_().startswith("<pre>matmul(")


def test_the_repr_is_the_expression_and_its_conclusion() -> None:
    """Details stand as comments under the expression that makes the estimate."""
    first, second = repr(pm.estimate(pm.matmul(512, 512, 512), MINE)).splitlines()
    assert first == "estimate(matmul(m=512 n=512 k=512, bf16), 'mine')"
    assert second.startswith("# 268.4 us, compute-bound (matrix bf16), 100 % of peak")
