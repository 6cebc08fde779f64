"""Systolic arrays: figures that are known, the closed form equal to the run cycle by cycle, and refusals."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm

SIZES, SIDES = st.integers(1, 9), st.integers(1, 5)
FLOWS = st.sampled_from(["output", "weight"])


def test_figures_of_standing_outputs() -> None:
    """K + R + C - 2 cycles to the last multiply, and R more to drain."""
    small = pm.systolic(4, 4, 6, rows=4, cols=4)
    assert (small.cycles, small.cycles_with_drain, small.utilisation) == (6 + 4 + 4 - 2, 12 + 4, 0.5)
    shares = [pm.systolic(8, 8, k).utilisation for k in (8, 512)]
    assert shares == [8 * 8 * 8 / (64 * 22), 8 * 8 * 512 / (64 * 526)]
    assert [f"{share:.0%}" for share in shares] == ["36%", "97%"]


def test_figures_of_standing_weights() -> None:
    """SCALE-Sim's (2R + C + M - 2) a fold, with 4 x 4 folds of 512 x 512 weights on 128 x 128 cells."""
    found = pm.systolic(4096, 512, 512, rows=128, cols=128, dataflow="weight")
    assert found.cycles == (2 * 128 + 128 + 4096 - 2) * 4 * 4
    assert f"{found.utilisation:.2%}" == "91.47%"


def test_tpu_v1() -> None:
    """256 x 256 cells at 700 MHz: 92 TOP/s (Jouppi et al. 2017), and its rows and columns are padded."""
    found = pm.systolic(4096, 300, 300, rows=256, cols=256, dataflow="weight")
    assert found.peak_flops_per_s(700e6) == pytest.approx(2 * 65536 * 0.7e9)
    assert f"{found.peak_flops_per_s(700e6) / 1e12:.0f}" == "92"
    assert found.padded == (4096, 512, 512)
    assert found.padding_fill == (300 / 512) ** 2


@settings(max_examples=60, deadline=None)
@given(m=SIZES, n=SIZES, k=SIZES, rows=SIDES, cols=SIDES, dataflow=FLOWS, seed=st.integers(0, 99))
def test_the_run_makes_the_product_in_the_cycles_of_the_formula(
    m: int, n: int, k: int, rows: int, cols: int, dataflow: str, seed: int
) -> None:
    """Cycle by cycle: values, cycles, drain, multiply-adds, elements in and out."""
    array = pm.systolic(m, n, k, rows, cols, dataflow)
    random = numpy.random.default_rng(seed)
    a, b = random.integers(-9, 9, (m, k)), random.integers(-9, 9, (k, n))
    found = array.run(a, b)
    assert (found.values == a @ b).all()
    assert (found.cycles, found.cycles_with_drain) == (array.cycles, array.cycles_with_drain)
    assert found.macs == array.macs == m * n * k
    assert len(found.active) == array.cycles
    assert sum(found.active) / (rows * cols * len(found.active)) == pytest.approx(array.utilisation)
    assert (found.elements_read, found.elements_written) == (array.elements_read, array.elements_written)
    assert found.finished.max() <= found.cycles
    assert found.finished.min() > 0


@settings(max_examples=40, deadline=None)
@given(m=SIZES, n=SIZES, k=SIZES, rows=SIDES, cols=SIDES, dataflow=FLOWS)
def test_folds_right_behind_each_other(m: int, n: int, k: int, rows: int, cols: int, dataflow: str) -> None:
    """The same product in the cycles of the overlapped formula; with one fold both runs are alike."""
    array = pm.systolic(m, n, k, rows, cols, dataflow)
    apart, found = array.run(), array.run(overlapped=True)
    assert (found.values == found.a @ found.b).all()
    assert found.cycles == array.cycles_overlapped <= array.cycles
    assert (found.elements_read, found.elements_written) == (array.elements_read, array.elements_written)
    assert found.macs == array.macs
    assert found.finished.max() <= found.cycles
    if array.folds == 1:
        assert found == apart
        assert (found.finished == apart.finished).all()


def test_outputs_are_done_along_the_wavefront() -> None:
    """C[i, j] of a standing output is complete after k + i + j cycles; y_r of y = W x on standing W after C + r."""
    found = pm.systolic(4, 4, 6, rows=4, cols=4).run()
    assert found.finished.tolist() == [[6 + i + j for j in range(4)] for i in range(4)]
    array = pm.systolic(1, 4, 4, rows=4, cols=4, dataflow="weight")
    assert (array.run().finished - array.load_cycles).tolist() == [[4, 5, 6, 7]]


@given(m=SIZES, n=SIZES, k=SIZES, rows=SIDES, cols=SIDES, dataflow=FLOWS)
def test_formulas_are_the_numbers(m: int, n: int, k: int, rows: int, cols: int, dataflow: str) -> None:
    """In symbols every count is a formula; bound, it is the count of the numbers."""
    symbolic, exact = pm.systolic("m", "n", "k", "r", "c", dataflow), pm.systolic(m, n, k, rows, cols, dataflow)
    values = {"m": m, "n": n, "k": k, "r": rows, "c": cols}
    names = "cycles cycles_with_drain cycles_overlapped utilisation padding_fill elements_read elements_written reuse"
    for name in names.split():
        assert pm.compile_formula(getattr(symbolic, name), "m n k r c")(values) == pytest.approx(
            float(getattr(exact, name)), rel=1e-12
        )


def test_times_and_peaks_of_formulas() -> None:
    """Where sizes are symbols, so are the time and the peak."""
    found = pm.systolic("m", 8, 8, rows="r", dataflow="output")
    assert pm.evaluate(found.time_s(1e9), m=8, r=8) == pytest.approx(22e-9)
    assert pm.evaluate(found.peak_flops_per_s(1e9), r=8) == 2 * 64 * 1e9


def test_floats_run_too() -> None:
    """Real matrices give the product to rounding."""
    random = numpy.random.default_rng(3)
    a, b = random.random((5, 7)), random.random((7, 3)).astype("float32")
    assert pm.systolic(5, 3, 7, rows=4, cols=2).run(a, b).values == pytest.approx(a @ b)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pm.systolic(0, 4, 4), pm.DimensionError, "m = 0"),
        (lambda: pm.systolic(4, 4, 4, rows=0), pm.DimensionError, "rows = 0"),
        (lambda: pm.systolic(4, 4, 4, cols=2.5), pm.DimensionError, "cols = 2.5"),
        (lambda: pm.systolic(4, 4, 4, dataflow="weights"), pm.PerfModelError, "did you mean 'weight'"),
        (lambda: pm.systolic("n", 4, 4).run(), pm.DimensionError, "give n values"),
        (lambda: pm.systolic(4096, 4096, 4096, rows=128, cols=128).run(), pm.CapacityError, "2.27 steps"),
        (lambda: pm.systolic(99, 99, 999, rows=32, cols=32).run(overlapped=True), pm.CapacityError, "2.22 steps"),
        (lambda: pm.systolic(4, 4, 4).run([[1]]), pm.DimensionError, "expected 4 x 4"),
        (lambda: pm.systolic(2, 2, 2).run([[1, 2], [3]]), pm.DimensionError, "expected 2 x 2"),
        (lambda: pm.systolic(1, 1, 1).run([["a"]]), pm.DimensionError, "expected 1 x 1 numbers"),
        (lambda: pm.systolic(1, 1, 1).run([[2**62]], [[2**62]]), pm.DimensionError, "64 bits"),
        (lambda: pm.systolic(4, 4, 4).time_s(0), pm.DimensionError, "clock_hz = 0"),
        (lambda: pm.systolic(4, 4, 4).peak_flops_per_s("fast"), pm.DimensionError, "clock_hz"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, error: type[Exception], words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(error, match=words):
        call()


def test_arrays_and_runs_differ_where_what_they_are_of_differs() -> None:
    """The other dataflow is another array, other operands are another run; a run is no number."""
    found = pm.systolic(4, 4, 6, rows=4, cols=4)
    assert found == pm.systolic(4, 4, 6, 4, 4, "output") != pm.systolic(4, 4, 6, 4, 4, "weight")
    run = found.run()
    assert [value.to_dict()["cycles"] for value in (found, run)] == [4 + 4 + 6 - 2] * 2
    assert run != found.run(numpy.ones((4, 6)))
    assert run != 4
