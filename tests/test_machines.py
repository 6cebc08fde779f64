"""The Machine value: peaks by unit, format and accumulator, machines made by hand, how they are shown."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.catalogue import Clocks, Level, Machine, Peak, machine, machines
from perfmodel.errors import FormatError, MachineError
from perfmodel.expressions import bind, reals
from perfmodel.number_formats import Format, format as number_format

H100 = machine("h100-sxm")
CLK, BW, PEAK = reals("clk bw peak")
positive = st.integers(min_value=1, max_value=10**15)


def chip(*peaks: Peak) -> Machine:
    return Machine.from_facts(name="chip", title="Chip", peaks=peaks, bandwidth_bytes_per_s=10)


# ---------------------------------------------------------------------------- peaks


def test_without_a_unit_the_matrix_unit_goes_first() -> None:
    """bf16 is found on the matrix unit, fp32 on the vector unit that alone has it; asked for, each unit answers."""
    assert H100.find_peak("bf16").unit == "matrix"
    assert H100.find_peak("fp32").unit == "vector"
    assert H100.peak("bf16", "vector") == 133.8e12


def test_a_special_peak_is_found_only_when_asked_for() -> None:
    """Special functions count results, not FLOPs, so they never stand in for a unit that was not named."""
    only_special = chip(Peak("special", "fp32", 7))
    assert only_special.find_peak("fp32") is None
    assert only_special.peak("fp32", "special") == 7


def test_a_formats_own_name_goes_before_its_family() -> None:
    """A peak for fp8_e5m2 serves that format; the rest of the family has the peak of fp8."""
    both = chip(Peak("matrix", "fp8", 4), Peak("matrix", "fp8_e5m2", 3))
    assert (both.peak("fp8_e5m2"), both.peak("fp8_e4m3"), both.peak("mxfp8"), both.peak("fp8")) == (3, 4, 4, 4)


def test_names_that_users_know_formats_by_work() -> None:
    """Aliases and Format values find the same entry as the name."""
    names = ["bf16", "BFloat16", number_format("bf16")]
    assert {H100.peak(name) for name in names} == {989_400_000_000_000}


def test_a_peak_is_only_for_its_accumulators() -> None:
    """An entry that lists accumulators serves those; one that lists none serves all; another one is refused."""
    two = chip(Peak("matrix", "fp16", 1, ("fp32",)), Peak("matrix", "fp16", 2, ("fp16",)), Peak("vector", "fp16", 3))
    assert [two.peak("fp16", accumulate=into) for into in (None, "fp32", "fp16")] == [1, 1, 2]
    assert two.peak("fp16", "vector", "fp16") == 3
    with pytest.raises(MachineError, match="chip: the matrix fp16 peak accumulates in fp32, fp16, not in bf16"):
        two.peak("fp16", accumulate="bf16")


def test_a_missing_accumulator_does_not_fall_to_another_unit() -> None:
    """The matrix unit lists bf16, so a sum in fp16 is refused there and not taken from the vector unit."""
    assert H100.find_peak("bf16", accumulate="fp16") is None
    with pytest.raises(MachineError, match="matrix bf16 peak accumulates in fp32"):
        H100.peak("bf16", accumulate="fp16")


def test_integers_accumulate_in_int32() -> None:
    """The usual accumulator is that of the format: int32 for int8."""
    assert H100.peak("int8") == H100.peak("int8", accumulate="int32") == 1978.9e12
    with pytest.raises(MachineError, match="int8 peak accumulates in int32, not in fp32"):
        H100.peak("int8", accumulate="fp32")


def test_a_missing_peak_lists_what_there_is_and_what_to_do() -> None:
    """The error is a next step: the formats by unit, the nearest wider one to cast to, and a what-if to paste."""
    expected = (
        "h100-sxm has no fp4 peak: matrix has fp64, tf32, bf16, fp16, fp8, int8; vector has fp64, fp32, bf16, fp16; "
        "special has fp32. Cast to fp8, or try what if: .replace(peak={'fp4': ...})"
    )
    with pytest.raises(MachineError) as refused:
        H100.peak("fp4")
    assert str(refused.value) == expected
    with pytest.raises(MachineError, match=r"no fp8 peak on its vector unit: .*Cast to bf16.*\{'vector fp8': \.\.\.\}"):
        H100.peak("fp8", "vector")
    with pytest.raises(MachineError, match=r"no bf16 peak on its special unit: .*Cast to fp32"):
        H100.peak("bf16", "special")


def test_find_peak_says_none_where_peak_raises() -> None:
    """A model that leaves an unknown term out asks without an exception."""
    assert H100.find_peak("fp4") is H100.find_peak("fp8", "vector") is None


def test_wrong_names_are_refused_even_without_an_exception_wanted() -> None:
    """A typo in a unit or format is an error, not an unknown rate."""
    with pytest.raises(
        MachineError, match=r"no unit 'matrx' \(did you mean 'matrix'\?\); units are matrix, vector, special"
    ):
        H100.find_peak("bf16", "matrx")
    with pytest.raises(MachineError, match="no unit"):
        H100.find_peak("bf16", ["matrix"])  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=r"no format 'b16' \(did you mean 'bf16'\?\)"):
        H100.find_peak("b16")
    with pytest.raises(FormatError):
        H100.find_peak(["bf16"])  # type: ignore[arg-type]
    with pytest.raises(FormatError):
        H100.peak("bf16", accumulate="fp33")


def test_an_unknown_level_is_refused_with_those_there_are() -> None:
    """level() names the on-chip memories that the chip lists."""
    with pytest.raises(MachineError, match=r"lists no on-chip level 'L2' .*; it lists registers, shared, l2"):
        H100.level("L2")


# ---------------------------------------------------------------------------- made by hand


def test_a_machine_from_units_rate_and_clock() -> None:
    """16 cores * 3.0 GHz * 8 lanes * 2 FLOP a multiply-add over 20 GB/s: 768 GFLOP/s and a ridge of 38.4."""
    own = Machine(units=16, rate_per_clock=8 * 2, clock_hz=3.0e9, bandwidth_bytes_per_s=20e9)
    assert own.peak("fp32") == own.peak("fp32", "special") == 16 * 3_000_000_000 * 8 * 2
    assert own.ridge("fp32") == machine("lecture-cpu").ridge("fp32") == 768 / 20
    assert (own.units, own.clocks) == (16, Clocks(3_000_000_000, 3_000_000_000))


def test_a_peak_without_a_unit_serves_all() -> None:
    """One number is the peak of every unit, format and accumulator; a format's own number goes before it."""
    own = Machine(peak=400, bandwidth_bytes_per_s=2)
    asked = [own.peak("bf16"), own.peak("int1", "vector"), own.peak("fp64", "special"), own.peak("fp16", None, "fp16")]
    assert asked == [400] * 4
    named = Machine(peak={"bf16": 400, "vector fp32": 50, ("matrix", "fp8"): 800}, bandwidth_bytes_per_s=2)
    assert (named.peak("bf16", "vector"), named.peak("fp32"), named.peak("fp8_e5m2")) == (400, 50, 800)
    assert named.find_peak("fp32", "matrix") is None


def test_a_format_of_ones_own_can_have_a_peak() -> None:
    """A Format that no table has is a key like any other, and is found by the Format."""
    odd = Format("odd4", bits=4)
    own = Machine(peak={odd: 5, "fp16": 2}, bandwidth_bytes_per_s=1)
    assert (own.peak(odd), own.replace(peak={odd: 6}).peak(odd, "matrix")) == (5, 6)


@given(peak=positive, bandwidth=positive, units=positive)
def test_whole_numbers_stay_exact(peak: int, bandwidth: int, units: int) -> None:
    """Ints, whole floats and numpy ints are the same int, however large."""
    own = Machine(peak=peak, bandwidth_bytes_per_s=float(bandwidth), units=np.int64(units))
    facts = (own.peak("bf16"), own.bandwidth_bytes_per_s, own.units)
    assert facts == (peak, bandwidth, units)
    assert {type(fact) for fact in facts} == {int}


@given(units=positive, rate=positive, clock=positive, bandwidth=positive)
def test_formulas_give_what_numbers_give(units: int, rate: int, clock: int, bandwidth: int) -> None:
    """A machine in symbols, bound, is the machine in numbers."""
    numbers = {CLK: clock, BW: bandwidth}
    symbolic = Machine(units=units, rate_per_clock=rate, clock_hz=CLK, bandwidth_bytes_per_s=BW)
    assert symbolic.peak("bf16") == units * rate * CLK
    assert bind(symbolic.ridge("bf16"), numbers) == sympy.Rational(units * rate * clock, bandwidth)


def test_a_machine_in_symbols_keeps_them() -> None:
    """Peak and bandwidth may be formulas; nothing is rounded."""
    own = Machine(peak={"bf16": 2 * PEAK, "fp32": PEAK}, bandwidth_bytes_per_s=BW, capacity_bytes=80 * 2**30)
    assert own.ridge("bf16") == 2 * PEAK / BW
    assert own.replace(bandwidth_bytes_per_s=2 * BW).ridge("fp32") == PEAK / (2 * BW)


NOT_QUANTITIES = [
    0, -1, 0.0, float("nan"), float("inf"), 1e-320, 10**400, True, np.True_, "3e12", "", b"1", [1], {}, 1j, ...,
    sympy.oo, -sympy.oo, sympy.zoo, sympy.nan, sympy.I, sympy.Integer(0), sympy.Integer(-3), -BW, BW * 0, sympy.true,
    sympy.Symbol("x", negative=True), sympy.sqrt(2) - 2, BW > 1,
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_QUANTITIES, ids=str)
@pytest.mark.parametrize("field", ["peak", "bandwidth_bytes_per_s", "capacity_bytes", "units", "clock_hz"])
def test_what_is_no_positive_number_is_refused(field: str, value: object) -> None:
    """Zero, negative, not finite, boolean and text are errors that name the field, when made and in a what-if."""
    given = {"peak": 1, "bandwidth_bytes_per_s": 1, field: value}
    with pytest.raises(MachineError, match=f"Machine: {field} = "):
        Machine(**given)
    with pytest.raises(MachineError, match=f"replace: {field} = "):
        H100.replace(**{field: value})


@pytest.mark.parametrize(
    "value", [7, 7.0, Fraction(7), np.float32(7), np.int8(7), sympy.Integer(7), sympy.Float(7)], ids=repr
)
def test_a_number_of_any_kind_is_a_number(value: object) -> None:
    """Numbers of numpy, fractions and sympy are read as what they are."""
    found = Machine(peak=value, bandwidth_bytes_per_s=1).peak("bf16")
    assert (found, type(found)) == (7, int)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"peak": 1}, "bandwidth_bytes_per_s is missing"),
        ({"bandwidth_bytes_per_s": 1}, "give peak=, or units, rate_per_clock, clock_hz; missing: units, rate_per_"),
        ({"bandwidth_bytes_per_s": 1, "units": 3, "clock_hz": 5}, "missing: rate_per_clock$"),
        ({"bandwidth_bytes_per_s": 1, "peak": 1, "rate_per_clock": 2}, "peak and rate_per_clock both say the peak"),
        ({"bandwidth_bytes_per_s": 1, "peak": {}}, "names no peak"),
        ({"bandwidth_bytes_per_s": 1, "peak": {"b16": 1}}, r"peak\['b16'\]: .*did you mean 'bf16'"),
        ({"bandwidth_bytes_per_s": 1, "peak": {"tensor bf16": 1}}, "no unit 'tensor'; units are matrix"),
        ({"bandwidth_bytes_per_s": 1, "peak": {"any bf16": 1}}, "no unit 'any'"),
        ({"bandwidth_bytes_per_s": 1, "peak": {"matrix bf16 fp32": 1}}, "a key is 'bf16', 'matrix bf16' or"),
        ({"bandwidth_bytes_per_s": 1, "peak": {3: 1}}, "a key is 'bf16'"),
        ({"bandwidth_bytes_per_s": 1, "peak": {"bf16": -1}}, r"peak\['bf16'\] = -1: expected a positive"),
        ({"bandwidth_bytes_per_s": 1, "peak": 1, "units": 1.5}, "units = 1.5: expected a whole number"),
        ({"bandwidth_bytes_per_s": 1, "peak": 1, "name": ""}, "name = '': expected text"),
        ({"bandwidth_bytes_per_s": 1, "peak": 1, "name": 3}, "name = 3: expected text"),
    ],
)  # fmt: skip
def test_a_machine_that_cannot_be_is_refused(given: dict[str, object], message: str) -> None:
    """What is missing or contradictory is an error that says what to write."""
    with pytest.raises(MachineError, match=f"Machine: .*{message}"):
        Machine(**given)


# ---------------------------------------------------------------------------- a value


@pytest.mark.parametrize("name", machines())
def test_machines_are_values(name: str) -> None:
    """Equal to a copy and a pickle, with one hash; different from a what-if."""
    one = machine(name)
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), one.replace(name=one.name, units=one.units)):
        assert other.find_peak("fp32") == one.find_peak("fp32")
    twin = pickle.loads(pickle.dumps(one))
    assert twin == one
    assert hash(twin) == hash(one)
    assert one != one.replace(capacity_bytes=10**9, name=name)


def test_a_machine_cannot_be_changed() -> None:
    """Assignment is refused: what-ifs are made with replace."""
    with pytest.raises(AttributeError):
        H100.units = 144  # type: ignore[misc]


def test_parts_are_values_too() -> None:
    """Peaks, levels and clocks compare by what they say."""
    assert Peak("matrix", "bf16", 2) == Peak("matrix", "bf16", 2) != Peak("vector", "bf16", 2)
    assert len({Level("l2", 4), Level("l2", 4), Level("l2", 5)}) == 2


@pytest.mark.parametrize("name", machines())
def test_every_machine_is_shown_with_its_sources(name: str) -> None:
    """explain() has every figure, its source and its doubts; to_dict() goes through JSON; HTML has a row a figure."""
    shown = machine(name)
    text = shown.explain()
    assert repr(text) == str(text)
    assert repr(shown).startswith(f"pm.machine({name!r})  # {shown.title}: ")
    for figure, source in shown.sources.items():
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{figure}  "))
        assert str(source) in line
    assert text.count("doubtful") == len(shown.doubts)
    data = json.loads(json.dumps(shown.to_dict()))
    assert data["bandwidth_bytes_per_s"] == shown.bandwidth_bytes_per_s
    assert len(data["peaks"]) == len(shown.peaks)
    assert shown._repr_html_().count("<tr>") == len(shown.sources)


def test_a_repr_is_the_expression_that_makes_the_machine() -> None:
    """A machine of one's own shows how it was written, in symbols as well."""
    own = Machine(peak={"bf16": 4 * PEAK}, bandwidth_bytes_per_s=BW, name="own")
    assert repr(own) == (
        "pm.Machine(peak={'bf16': 4*peak}, bandwidth_bytes_per_s=bw, name='own')  # own: bf16 4 peak FLOP/s, bw B/s"
    )
    assert json.dumps(own.to_dict()["peaks"][0]["flops_per_s"]) == '"4*peak"'


def test_html_escapes_what_a_user_wrote() -> None:
    """A name with angle brackets stays text in a notebook."""
    assert "<b>" not in Machine(peak=1, bandwidth_bytes_per_s=1, name="<b>")._repr_html_()
