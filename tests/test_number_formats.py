"""Number formats: storage against a walk over rows and blocks; names, the choice of the widest, being a value."""

from __future__ import annotations

import ast
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from math import ceil, prod

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, FormatError
from perfmodel.expressions import bind, dims
from perfmodel.format_table import ALIASES, FLOATS, INTEGERS, SCALED
from perfmodel.number_formats import Format, format, formats, widest


def walked_bytes(one: Format, extents: tuple[int, ...]) -> int:
    """The bytes of a tensor, counted element by element and block by block along each row."""
    *outer, inner = extents or (1,)
    bits = Fraction(0)
    for _row in range(prod(outer)):
        for place in range(inner):
            if one.block and place % one.block == 0:
                bits += one.scale_bits + one.zero_bits
            bits += one.bits
    return ceil(bits / 8)


own_bits = st.one_of(st.integers(1, 70), st.fractions(Fraction(1, 4), 40, max_denominator=200))
own_formats = st.one_of(
    st.builds(Format, bits=own_bits),
    st.builds(
        Format, bits=own_bits, block=st.integers(1, 9), scale_bits=st.integers(1, 33), zero_bits=st.integers(0, 9)
    ),
)
any_format = st.one_of(st.sampled_from(formats()), own_formats)
some_extents = st.lists(st.integers(1, 7), max_size=2).flatmap(
    lambda outer: st.integers(1, 70).map(lambda inner: (*outer, inner))
)


@given(any_format, st.one_of(st.just(()), some_extents))
def test_bytes_are_those_of_a_walk_over_rows_and_blocks(one: Format, extents: tuple[int, ...]) -> None:
    """For every format and shape, ragged last blocks included, the bytes are those of a plain walk."""
    expected = walked_bytes(one, extents)
    assert one.bytes_of(extents) == one.bytes_of(list(extents)) == expected
    assert ceil(Fraction(str(one.bits_of(extents))) / 8) == expected
    assert type(one.bytes_of(extents)) is int


@given(any_format, some_extents)
def test_symbolic_bytes_bound_to_numbers_are_the_bytes(one: Format, extents: tuple[int, ...]) -> None:
    """A formula of bits or bytes, bound, is what the ints give directly."""
    symbols = [dims(f"e{place}") for place in range(len(extents))]
    values = dict(zip(symbols, extents, strict=True))
    assert bind(one.bytes_of(tuple(symbols)), values) == one.bytes_of(extents)
    assert bind(one.bits_of(tuple(symbols)), values) == one.bits_of(extents)
    half = (symbols[0], *extents[1:])
    assert bind(one.bytes_of(half), values) == one.bytes_of(extents)


@given(any_format, st.integers(0, 300))
def test_elements_are_stored_as_one_row(one: Format, elements: int) -> None:
    """A number of elements takes what one row of them takes, and none takes nothing."""
    assert one.bytes_of_elements(elements) == (walked_bytes(one, (elements,)) if elements else 0)


@given(any_format, st.integers(1, 20), st.integers(1, 20))
def test_full_blocks_take_the_effective_bits(one: Format, rows: int, blocks: int) -> None:
    """Where every block is full, bits are rows times elements times ``effective_bits``."""
    inner = blocks * (one.block or 1)
    assert one.bits_of((rows, inner)) == rows * inner * one.effective_bits
    assert one.bytes_per_element * 8 == one.effective_bits


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mxfp8", 8 + Fraction(8, 32)),  # MX: one E8M0 scale of 8 bits for 32 elements
        ("mxfp8_e5m2", 8 + Fraction(8, 32)),
        ("mxfp6", 6 + Fraction(8, 32)),
        ("mxfp6_e3m2", 6 + Fraction(8, 32)),
        ("mxfp4", 4 + Fraction(8, 32)),
        ("nvfp4", 4 + Fraction(8, 16)),  # NVFP4: one E4M3 scale for 16
        ("bf16", 16),
    ],
)
def test_effective_bits_are_the_element_and_its_share_of_the_scale(name: str, expected: Fraction) -> None:
    """Each block-scaled format takes its element's bits and a block's part of 8 bits of scale."""
    assert format(name).effective_bits == expected


def test_sixteen_nvfp4_values_take_nine_bytes() -> None:
    """Sixteen FP4 values and their FP8 scale: 16 * 4 bits + 8 bits = 9 bytes."""
    assert format("nvfp4").bytes_of((16,)) == (16 * 4 + 8) // 8 == 9


def test_a_ragged_last_block_has_its_own_scale() -> None:
    """33 mxfp4 elements a row have two scales a row: 2 rows * (33 * 4 + 2 * 8) bits."""
    assert format("mxfp4").bits_of((2, 33)) == 2 * (33 * 4 + 2 * 8)


def test_a_tensor_is_rounded_up_once_and_not_a_row_at_a_time() -> None:
    """Three rows of three int4 are 36 bits: 5 bytes, where whole rows would be 3 * 2."""
    assert format("int4").bytes_of((3, 3)) == ceil(3 * 3 * 4 / 8)


def test_mxfp8_scales_add_one_part_in_32() -> None:
    """One 8-bit scale for 32 elements of 8 bits adds 1/32 = 3.125 %."""
    assert format("mxfp8").effective_bits / format("fp8_e4m3").bits - 1 == Fraction(3125, 100_000)


def test_int4_in_groups_of_128() -> None:
    """Four bits, and 16 + 4 bits for 128 weights: (4 + 20/128) / 8 = 0.51953125 bytes a weight."""
    one = Format(bits=4, block=128, scale_bits=16, zero_bits=4)
    assert one.bytes_per_element == (4 + Fraction(16 + 4, 128)) / 8
    assert float(one.bytes_per_element) == 0.51953125


@pytest.mark.parametrize("name", ["fp64", "tf32", "bf16", "fp8_e4m3", "int64", "uint8"])
def test_whole_byte_formulas_have_no_ceiling(name: str) -> None:
    """Bytes of a format of whole bytes are a plain product of the extents."""
    m, n = dims("m n")
    one = format(name)
    assert one.bytes_of((m, n)) == one.bits // 8 * m * n
    assert one.bytes_of_elements(m * n + n) == sympy.expand(one.bits // 8 * (m * n + n))


def test_whole_byte_blocks_round_only_the_blocks() -> None:
    """mxfp8 has one ceiling, that of the blocks: m (n + ceil(n/32))."""
    m, n = dims("m n")
    assert format("mxfp8").bytes_of((m, n)) == m * (n + sympy.ceiling(n / 32))


def test_a_whole_number_of_blocks_needs_no_ceiling() -> None:
    """Rows of 128 mxfp4 elements have 4 scales each: 128/2 + 4 bytes a row."""
    m = dims("m")
    assert format("mxfp4").bytes_of((m, 128)) == (128 // 2 + 4) * m


def test_extents_may_be_text_and_whole_numbers_of_other_kinds() -> None:
    """Sizes are read as everywhere: names, numpy's integers, and the values of a dict."""
    n = dims("n")
    one = format("bf16")
    assert one.bytes_of(("n", np.int64(3))) == 2 * 3 * n
    assert type(one.bytes_of((np.int64(3), sympy.Integer(4)))) is int
    assert one.bytes_of({"i": 3, "j": 4}.values()) == 2 * 3 * 4


def test_large_tensors_are_counted_exactly() -> None:
    """Products beyond 2^63 stay exact integers."""
    assert format("fp32").bytes_of((2**40, 2**40 + 1)) == 4 * 2**40 * (2**40 + 1)
    assert format("int4").bytes_of((2**40 + 1, 2**40 + 1)) == ((2**40 + 1) ** 2 + 1) // 2


@pytest.mark.parametrize("name", ["bf16", "int4", "mxfp4"])
@pytest.mark.parametrize(
    "extents",
    [(0,), (4, -1), (True,), (2.5,), (float("nan"),), (None,), (sympy.Rational(1, 2),), 4096, "44", {"i": 4}, None],
)
def test_extents_that_are_no_sizes_are_refused(name: str, extents: object) -> None:
    """Bad extents never give a number, on the fast path nor on the slow one."""
    for storage in (format(name).bytes_of, format(name).bits_of):
        with pytest.raises(DimensionError):
            storage(extents)


@pytest.mark.parametrize("elements", [-1, 2.5, True, None, float("inf"), sympy.Rational(1, 3)])
def test_elements_that_are_no_count_are_refused(elements: object) -> None:
    """Bad counts never give a number of bytes."""
    for name in ("bf16", "int4"):
        with pytest.raises(DimensionError):
            format(name).bytes_of_elements(elements)


def test_every_format_of_the_table_is_listed_once_and_found() -> None:
    """formats() has each row of the table, in its order, and each is found by its name."""
    names = [*FLOATS, *INTEGERS, *SCALED]
    assert [one.name for one in formats()] == names
    assert all(format(one.name) is one for one in formats())


@pytest.mark.parametrize("alias", ALIASES)
def test_other_names_lead_to_formats(alias: str) -> None:
    """Every alias, in any case, is the format that it stands for, and no alias hides a format."""
    assert format(alias) is format(alias.upper()) is format(f" {alias}") is format(ALIASES[alias])
    assert alias not in {*FLOATS, *INTEGERS, *SCALED}


def test_a_format_is_returned_as_it_is() -> None:
    """format() of a Format is that very Format, also of one's own."""
    own = Format(bits="4.85")
    assert format(own) is own


@pytest.mark.parametrize(
    ("wrong", "meant"), [("b16", "bf16"), ("mxpf4", "mxfp4"), ("FP-16", "fp16"), ("int-8", "int8")]
)
def test_unknown_names_get_near_misses(wrong: str, meant: str) -> None:
    """A misspelt name is refused with the one that was meant."""
    with pytest.raises(FormatError, match=rf"no format '{wrong}' \(did you mean '{meant}'\?\)"):
        format(wrong)


@pytest.mark.parametrize("wrong", ["", "zzzz", "x" * 10_000, "__import__('os')"])
def test_unknown_names_without_a_near_miss_list_the_formats(wrong: str) -> None:
    """A name near to none is refused with the list of all."""
    with pytest.raises(FormatError, match=r"fp64, fp32, .*nvfp4$"):
        format(wrong)


@pytest.mark.parametrize("wrong", [None, 8, 4.85, True, ["bf16"], b"bf16", np.float32])
def test_what_is_no_name_is_refused(wrong: object) -> None:
    """Anything but a name or a Format is refused as such."""
    with pytest.raises(FormatError, match="expected a name"):
        format(wrong)


@pytest.mark.parametrize(
    ("family", "members"),
    [
        ("fp8", ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "mxfp8", "mxfp8_e5m2"]),
        ("fp6", ["fp6_e2m3", "fp6_e3m2", "mxfp6", "mxfp6_e3m2"]),
        ("fp4", ["fp4_e2m1", "mxfp4", "nvfp4"]),
        ("bf16", ["bf16"]),
        ("int8", ["int8", "uint8", "mxint8"]),
    ],
)
def test_families_are_what_machines_list_peaks_under(family: str, members: list[str]) -> None:
    """The formats of one width share a peak, whatever their encoding and scales."""
    assert [one.name for one in formats() if one.family == family] == members


def test_accumulators() -> None:
    """Sums are kept in fp32, integers in int32, and in 64 bits for what those do not hold."""
    assert {one.accumulator for one in formats() if one.kind == "float" and one.name != "fp64"} == {"fp32"}
    assert {one.accumulator for one in formats() if one.kind == "int" and one.name != "int64"} == {"int32"}
    assert (format("fp64").accumulator, format("int64").accumulator) == ("fp64", "int64")
    assert Format(bits=80).accumulator == "fp32"  # it only stores: nothing says that it is a wide float
    assert Format(bits=48, exponent_bits=11, mantissa_bits=36).accumulator == "fp64"


@pytest.mark.parametrize(
    ("given_names", "expected"),
    [
        (["bf16", "fp8_e4m3"], "bf16"),
        (["tf32", "bf16"], "tf32"),
        (["fp32", "tf32"], "fp32"),
        (["int64", "fp8_e5m2"], "fp8_e5m2"),  # floats over integers
        (["fp8_e5m2", "fp8_e4m3"], "fp8_e4m3"),  # as many bits, more of them mantissa
        (["fp16", "bf16"], "fp16"),
        (["mxfp8", "fp8_e4m3"], "fp8_e4m3"),  # a scaled format loses to its unscaled neighbour
        (["mxfp8", "fp6_e2m3"], "mxfp8"),  # and only to that
        (["mxfp4", "nvfp4"], "nvfp4"),  # as wide: by name
        (["int8", "int4", "int1"], "int8"),
    ],
)
def test_widest(given_names: list[str], expected: str) -> None:
    """The widest format wins in whatever order the formats are given."""
    assert widest(given_names).name == expected
    assert widest(reversed([format(name) for name in given_names])).name == expected


def test_formats_that_only_store_never_win_over_encoded_ones() -> None:
    """No unit multiplies a format without an encoding, so weights stored so are computed in the other one."""
    weights = Format(bits=4, block=128, scale_bits=16, zero_bits=4)
    assert widest([weights, "int8"]).name == "int8"
    assert widest([Format(bits=64), "fp4_e2m1"]).name == "fp4_e2m1"
    assert widest([weights]) is weights


def test_widest_of_nothing_is_refused() -> None:
    """There is no widest of no formats."""
    with pytest.raises(FormatError, match="widest: no formats"):
        widest([])


@given(any_format, any_format)
def test_wider_than_is_an_order_that_widest_follows(one: Format, other: Format) -> None:
    """Of two formats at most one is wider, and where one is, it is the widest."""
    assert not (one.wider_than(other) and other.wider_than(one))
    if one.wider_than(other):
        assert widest([other, one]) is one


@given(own_formats)
def test_formats_are_values(one: Format) -> None:
    """A copy is equal, hashes alike, pickles, and cannot be changed."""
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one == replace(one)
    assert hash(copy) == hash(one)
    assert copy.bytes_of((3, 5)) == one.bytes_of((3, 5))
    assert replace(one, name="other") != one
    with pytest.raises(FrozenInstanceError):
        one.bits = 3


def test_replacing_a_field_recounts_the_storage() -> None:
    """replace() makes a whole new format: twice the bits, twice the bytes."""
    assert replace(format("bf16"), bits=32).bytes_of((5,)) == 2 * format("bf16").bytes_of((5,))


def rebuilt(text: str) -> Format:
    """The format that a repr makes, read from its syntax tree."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    make = {"format": format, "Format": Format}[call.func.attr]
    keywords = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    return make(*map(ast.literal_eval, call.args), **keywords)


@given(any_format)
def test_a_repr_makes_the_format_again(one: Format) -> None:
    """The code in a repr makes an equal format."""
    assert rebuilt(repr(one)) == one


@pytest.mark.parametrize(
    "one",
    [
        Format("mine", bits=8, exponent_bits=5, mantissa_bits=0, bias=0, family="fp8"),
        Format(bits=8, exponent_bits=4, mantissa_bits=3, encoding="one-nan"),
        Format(bits=4, kind="int", encoding="signed", block=32, zero_bits=4),
        Format(bits=4, kind="int", encoding="unsigned"),
        Format("bf16", bits=17),
        Format(bits="1/3"),
        Format(bits="0.123456789012345678901234"),
        Format(bits=4096, kind="int"),
    ],
    ids=str,
)
def test_reprs_of_unusual_formats_make_them_again(one: Format) -> None:
    """Nothing that differs from its default is left out of a repr, zeros included."""
    assert rebuilt(repr(one)) == one


@pytest.mark.parametrize(
    ("name", "comment"),
    [
        ("mxfp4", "4 bits + 8-bit scale a 32 = 4.25 bits; E2M1, max 6"),
        ("bf16", "16 bits; E8M7, max 3.38953e+38"),
        ("int1", "1 bit; max 1"),
        ("nvfp4", "4 bits + 8-bit scale a 16 = 4.5 bits; E2M1, max 6"),
    ],
)
def test_reprs_show_storage_and_limits(name: str, comment: str) -> None:
    """A repr says what an element takes and how far it reaches; str is the bare name."""
    assert repr(format(name)) == f"pm.format({name!r})  # {comment}"
    assert str(format(name)) == name


def test_reprs_of_own_formats_show_only_what_was_given() -> None:
    """The repr of a format of one's own is the line that one would write."""
    assert repr(Format(bits=4.85)) == "pm.Format(bits='4.85')  # 4.85 bits"
    assert repr(Format(bits=3, kind="int")) == "pm.Format(bits=3, kind='int')  # 3 bits; max 3"
    assert repr(Format(bits=4, block=64, scale_bits=16)) == (
        "pm.Format(bits=4, block=64, scale_bits=16)  # 4 bits + 16-bit scale a 64 = 4.25 bits"
    )
