"""Rounding: values as number formats hold them, and runs that round."""

from __future__ import annotations

import builtins
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.simulation import rounding
from perfmodel.simulation.rounding import KNOWN, rounded

E4M3 = ml_dtypes.float8_e4m3fn


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers with many digits."""
    return np.random.default_rng(seed).normal(size=shape)


# formats


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bf16", ml_dtypes.bfloat16), ("fp8_e4m3", E4M3), ("fp8_e5m2", ml_dtypes.float8_e5m2),
     ("fp8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz), ("fp8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
     ("fp6_e2m3", ml_dtypes.float6_e2m3fn), ("fp6_e3m2", ml_dtypes.float6_e3m2fn),
     ("fp4_e2m1", ml_dtypes.float4_e2m1fn)],
)  # fmt: skip
def test_every_number_of_a_format_is_itself_and_between_two_the_nearer_is_taken(name: str, kind: Any) -> None:
    """All patterns, the middles between neighbours (to even) and a hair beside them: one rounding, never two."""
    form = pm.format(name)
    bits = 16 if name == "bf16" else int(form.bits)
    codes = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):  # some patterns are NaN
        numbers = codes.view(kind).astype(float)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    np.testing.assert_array_equal(rounded(numbers, form), numbers)
    low, high = numbers[:-1], numbers[1:]
    middle = low + (high - low) / 2
    hair = (high - low) * 2.0**-40
    np.testing.assert_array_equal(rounded(middle - hair, form), low)
    np.testing.assert_array_equal(rounded(middle + hair, form), high)
    steps = np.array([math.frexp(one)[0] * 2 ** (1 + form.mantissa_bits) for one in rounded(middle, form)])
    normal = np.abs(low) >= form.min_normal
    assert np.all(steps[normal] % 2 == 0)  # the last bit of the mantissa is 0


@settings(max_examples=200)
@given(st.floats(allow_nan=False, width=64))
def test_tf32_has_ten_bits_of_fp32(value: float) -> None:
    """Nearest, to even: where 2^13 of fp32's last steps are one, by whole-number arithmetic."""
    found = float(rounded(value, pm.format("tf32")))
    if value == 0 or math.isinf(value) or abs(value) < 2.0**-126 or abs(value) >= 2.0**128:
        return
    exponent = math.frexp(value)[1] - 11  # of the last of 1 + 10 bits
    wanted = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
    assert found == wanted or (abs(wanted) >= 2.0**128 and math.isinf(found))


def test_too_large_values_saturate_in_few_bits_and_overflow_in_many() -> None:
    """OFP8's saturating conversion stops at 448 and 57344; IEEE 754's goes to infinity."""
    large = np.array([1e6, -np.inf])
    assert rounded(large, pm.format("fp8_e4m3")).tolist() == [448, -448]
    assert rounded(large, pm.format("fp8_e5m2")).tolist() == [57344, -57344]
    assert rounded(large, pm.format("fp16")).tolist() == [np.inf, -np.inf]
    assert np.isnan(rounded(np.nan, pm.format("fp4_e2m1")))


def test_integers_round_half_to_even_and_saturate() -> None:
    """2.5 is 2, 3.5 is 4, and int8 ends at -128 and 127, uint8 at 0 and 255."""
    values = np.array([2.5, 3.5, -2.5, 300, -300, np.nan])
    assert rounded(values, pm.format("int8")).tolist() == [2, 4, -2, 127, -128, 0]
    assert rounded(values, pm.format("uint8")).tolist() == [2, 4, 0, 255, 0, 0]
    assert rounded(values, pm.format("int4")).tolist() == [2, 4, -2, 7, -8, 0]


def test_mxfp4_by_hand() -> None:
    """32 values up to 11: floor(log2 11) = 3, E2M1 goes to 2^2, so the scale is 2: twice 0, .5, 1, 1.5, 2, 3, 4, 6."""
    values = np.array([11, 0.4, 0.5, 0.6, 1.5, 2.5, 3.4, 5, 7, 9, 10, -11, -1, *[0] * 19])
    # over 2:          5.5  .2  .25   .3  .75 1.25  1.7  2.5 3.5 4.5   5  -5.5 -.5
    wanted = 2 * np.array([6, 0, 0, 0.5, 1, 1, 1.5, 2, 4, 4, 4, -6, -0.5, *[0] * 19])
    np.testing.assert_array_equal(rounded(values, pm.format("mxfp4")), wanted)


def test_mxint8_by_hand() -> None:
    """Up to 11, floor(log2 11) = 3: steps of 2^(3 - 6) = 1/8 up to 127/8; -15.99 is cut to -127/8."""
    assert rounded([11.0, 0.06, 0.07, -1.3], pm.format("mxint8")).tolist() == [11, 0, 0.125, -1.25]
    assert rounded([-15.99, 15.99], pm.format("mxint8")).tolist() == [-127 / 8, 127 / 8]
    assert np.isnan(rounded([1.0, np.nan], pm.format("mxint8"))).all()


def test_every_block_has_its_own_scale_and_rows_begin_new_blocks() -> None:
    """Two rows of 33: the 33rd stands alone in its block and is kept, whatever its size."""
    values = np.full((2, 33), 1.0)
    values[:, 32] = [2.0**-60, 2.0**60]
    np.testing.assert_array_equal(rounded(values, pm.format("mxfp4")), values)
    values[0, 0] = 2.0**60  # the scale is 2^58: a 1 beside it is lost
    assert rounded(values, pm.format("mxfp4"))[0].tolist() == [2.0**60, *[0.0] * 31, 2.0**-60]


def test_mx_clamps_what_the_scale_leaves_too_large() -> None:
    """7.9 has floor(log2) = 2, a scale of 1 and 6 as its largest element."""
    assert rounded([7.9], pm.format("mxfp4")).tolist() == [6]
    assert rounded([511.0], pm.format("mxfp8")).tolist() == [448]


def test_nvfp4_by_hand() -> None:
    """Blocks of 16 over max/6 in E4M3: 10/6 = 1.67 is nearest to 1.625 (13/8); 10/1.625 = 6.2 is cut to 6."""
    values = np.array([10.0, 1.0, 0.3, *[0] * 13, 6.0])
    scale = float(np.float32(10 / 6).astype(E4M3))
    assert scale == 1.625
    wanted = [6 * scale, 0.5 * scale, 0, *[0] * 13, 6]  # 1/1.625 = .62, .3/1.625 = .18
    np.testing.assert_array_equal(rounded(values, pm.format("nvfp4")), wanted)


@pytest.mark.parametrize("name", KNOWN)
def test_rounding_twice_is_rounding_once(name: str) -> None:
    """What a format holds, it holds."""
    form = pm.format(name)
    once = rounded(10 * draw(5, 70), form)
    np.testing.assert_array_equal(rounded(once, form), once)


def test_unknown_formats_are_refused_with_those_that_are_known() -> None:
    """A bare width has no values, and a name alone does not make a format."""
    for form in (
        pm.Format(bits="4.85"),
        pm.Format("bf16", bits=4),
        pm.format("int1"),
        pm.Format(bits=4, block=64, scale_bits=16),
    ):
        with pytest.raises(pm.FormatError, match=r"how to round to .* is not known; known are fp64, .*mxint8, nvfp4"):
            rounded([1.0], form)


def test_a_missing_ml_dtypes_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named; formats that numpy has do not need it."""
    plain = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "ml_dtypes":
            raise ImportError(name)
        return plain(name, *rest, **named)

    rounding._type.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    assert rounded([1.5, 2049], pm.format("fp16")).tolist() == [1.5, 2048]
    with pytest.raises(pm.PerfModelError, match=r"needs the package ml_dtypes: pip install 'perfmodel\[simulation\]'"):
        rounded([1.5], pm.format("bf16"))


# runs


def test_a_bf16_matmul_is_that_of_ml_dtypes() -> None:
    """Operands in bf16, exact products, the sum in fp32, the result in bf16."""
    a, b = draw(1, 5, 7), draw(1, 7, 6, seed=1)
    run = pm.simulate(pm.matmul(5, 6, 7, dtype="bf16"), {"A": a, "B": b}, rounding=True)
    one, other = [item.astype(np.float32).astype(ml_dtypes.bfloat16).astype(float) for item in (a, b)]
    wanted = (one @ other).astype(np.float32).astype(ml_dtypes.bfloat16).astype(float)
    np.testing.assert_array_equal(run.values["C"], wanted)
    exact = pm.simulate(pm.matmul(5, 6, 7, dtype="bf16"), {"A": a, "B": b}).values["C"]
    assert np.all(exact != run.values["C"])


def test_an_int8_matmul_accumulates_in_int32() -> None:
    """127 * 127 * 3 is kept in int32 and saturates when stored as int8."""
    arrays = {"A": np.full((1, 2, 3), 200.0), "B": np.full((1, 3, 2), 126.6)}
    p = pm.matmul(2, 2, 3, dtype="int8", out_dtype="int32")
    assert np.all(pm.simulate(p, arrays, rounding=True).values["C"] == 127 * 127 * 3)
    assert np.all(pm.simulate(pm.matmul(2, 2, 3, dtype="int8"), arrays, rounding=True).values["C"] == 127)


def test_fp8_saturates_in_a_run() -> None:
    """300 + 300 stays 448 (300 is kept as 288)."""
    p = pm.elementwise("x + x", 2, dtype="fp8_e4m3")
    assert pm.simulate(p, {"x": np.array([300.0, 100.0])}, rounding=True).values["y"].tolist() == [448, 192]


@pytest.mark.parametrize(("accumulate", "wanted"), [("fp16", 2048), ("fp32", 2048 + 8)])
def test_a_long_sum_stops_growing_in_fp16(accumulate: str, wanted: int) -> None:
    """2048 + 1 is 2048 in fp16, eight trips of one long; fp32 has them all."""
    p = pm.program(pm.sum(pm.tensor("x", {"i": 9}, dtype="fp32"), "i"))
    p = pm.tile(pm.cast(p, accumulate=accumulate), stream={"i": 1})
    run = pm.simulate(p, {"x": np.array([2048.0, *[1] * 8])}, rounding=True)
    assert float(run.values[p.returned[0]]) == wanted


def test_intermediates_in_a_kernel_are_rounded_when_made() -> None:
    """(1 + x) - 1 is 0 in bf16 for small x, fused or not."""
    p = pm.elementwise("(1 + x) - 1", 3, dtype="bf16")
    for staged in (p, pm.fuse(p), pm.tile(pm.fuse(p), i=2)):
        assert pm.simulate(staged, {"x": np.full(3, 2.0**-10)}, rounding=True).values["y"].tolist() == [0, 0, 0]


def test_operands_are_rounded_to_a_narrower_compute_format() -> None:
    """fp32 stored, tf32 multiplied: 1 + 2^-12 is 1, and the result is fp32."""
    p = pm.cast(pm.matmul(1, 1, 1, dtype="fp32"), compute="tf32")
    run = pm.simulate(p, {"A": np.full((1, 1, 1), 1 + 2.0**-12), "B": np.full((1, 1, 1), 1 + 2.0**-10)}, rounding=True)
    assert float(run.values["C"][0, 0, 0]) == 1 + 2.0**-10


def test_block_scaled_weights_are_multiplied_as_they_are_stored() -> None:
    """A of bf16 ones times B in mxfp4: sums of B's columns as rounded by hand above."""
    b = np.zeros((1, 1, 32))
    b[0, 0, :4] = [11, 0.6, 1.5, 9]
    p = pm.cast(pm.matmul(1, 32, 1, dtype="bf16", out_dtype="fp32"), B="mxfp4")
    run = pm.simulate(p, {"A": np.ones((1, 1, 1)), "B": b}, rounding=True)
    assert run.values["C"][0, 0, :4].tolist() == [12, 1, 2, 8]


def test_memory_has_one_scale_a_block_where_tiles_cut_it() -> None:
    """Tiles of 8 round over scales of their own; what stays is what mxfp4 can hold."""
    p = pm.tile(pm.cast(pm.elementwise("x*1", 40, dtype="fp32"), y="mxfp4"), i=8)
    found = pm.simulate(p, {"x": draw(40)}, rounding=True).values["y"]
    np.testing.assert_array_equal(rounded(found, pm.format("mxfp4")), found)


def test_a_spilled_accumulator_is_stored_on_every_trip() -> None:
    """2048 held in fp32 grows by 1 a trip; spilled to fp16 between trips it does not."""
    p = pm.cast(pm.matmul(1, 2, 9, dtype="fp32"), C="fp16")
    arrays = {"A": np.array([[[2048.0, *[1] * 8]]]), "B": np.ones((1, 9, 2))}
    held = pm.tile(p, stream={"k": 1, "n": 1})
    spilled = pm.tile(p, stream={"k": 1, "n": 1}, spill=["C"])
    assert pm.simulate(held, arrays, rounding=True).values["C"].tolist() == [[[2056, 2056]]]
    assert pm.simulate(spilled, arrays, rounding=True).values["C"].tolist() == [[[2048, 2048]]]


def test_counts_do_not_depend_on_rounding() -> None:
    """What is moved and done is the same."""
    p, arrays = pm.matmul(3, 4, 5), {"A": draw(1, 3, 5), "B": draw(1, 5, 4)}
    assert pm.simulate(p, arrays).counts == pm.simulate(p, arrays, rounding=True).counts


def test_rounding_is_true_or_false() -> None:
    """A format there is a mistake."""
    with pytest.raises(pm.PerfModelError, match="rounding='bf16': expected True or False"):
        pm.simulate(pm.elementwise("x*2", 1), {"x": np.ones(1)}, rounding="bf16")  # type: ignore[arg-type]
