"""Bad input to every descriptor: an error of ours that names the argument, never a number, never another error."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest
import sympy

import perfmodel as pm
import perfmodel.descriptors as descriptors

# Each descriptor that takes sizes, arguments that work, and its sizes.
SIZES: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "attention": (pm.attention, {"q": 4, "kv": 4, "d": 4}, "q kv d dv heads kv_heads batch window chunk"),
    "conv2d": (
        pm.conv2d, {"batch": 1, "height": 8, "width": 8, "c_in": 4, "c_out": 4},
        "batch height width c_in c_out kernel stride padding dilation groups",
    ),
    "elementwise": (pm.elementwise, {"expression": "x + y", "n": 4}, "n"),
    "embedding": (pm.embedding, {"tokens": 4, "vocabulary": 4, "hidden": 4}, "tokens vocabulary hidden"),
    "gated_mlp": (pm.gated_mlp, {"tokens": 4, "hidden": 4, "intermediate": 4}, "tokens hidden intermediate"),
    "gemv": (pm.gemv, {"n": 4, "k": 4}, "n k batch"),
    "layernorm": (pm.layernorm, {"m": 4, "n": 4}, "m n"),
    "matmul": (pm.matmul, {"m": 4, "n": 4, "k": 4}, "m n k batch"),
    "optimizer_step": (pm.optimizer_step, {"parameters": 4}, "parameters"),
    "pool2d": (
        pm.pool2d, {"batch": 1, "height": 8, "width": 8, "channels": 4},
        "batch height width channels kernel stride padding",
    ),
    "rmsnorm": (pm.rmsnorm, {"m": 4, "n": 4}, "m n"),
    "softmax": (pm.softmax, {"m": 4, "n": 4}, "m n"),
}  # fmt: skip
FIELDS = [(name, field) for name, (_, _, fields) in SIZES.items() for field in fields.split()]
MAY_BE_NONE = {"dv", "kv_heads", "window", "chunk", "stride", "batch"}  # not given: the default, or refused by name

BAD_SIZES = [
    -1, 2.5, 10**18, 10**400, math.nan, math.inf, -math.inf, True, False, [], {}, (1, 2, 3), ..., b"4", 1j, print,
    "", " ", "4 4", "a +", "1.5", "-n", "0 * n", "n - n", "1e400", "f(n)", "n.x", "x if y else z", "lambda: 1", "True",
    "__import__('os')", "n" * 20_000, "(" * 300 + "n" + ")" * 300, Fraction(1, 2), Decimal("NaN"), Decimal("2.5"),
    sympy.Symbol("n"), sympy.Symbol("n", integer=True), sympy.nan, sympy.oo, sympy.zoo, sympy.Float(2.5), sympy.pi,
    sympy.true, sympy.Integer(-3), pm.reals("t"), numpy.float64(2.5), numpy.nan, numpy.array([4, 4]), numpy.bool_(True),
    numpy.int64(-1), pm.format("bf16"), pm.matmul(2, 2, 2),
]  # fmt: skip


def outcome(call: Callable[[], Any], field: str) -> str:
    """What is wrong with how a call ended: nothing, where an error of ours names the field."""
    try:
        made = call()
        return f"a number: {made.flops}, {made.bytes}"
    except pm.PerfModelError as error:
        named = re.search(rf"\b{field}( = |: |\b.* not given|, or a tensor)", str(error))
        return "" if named else f"{field!r} is not in: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_every_descriptor_of_sizes_is_here() -> None:
    """A descriptor that makes a program stands in the table above, or has tests of its own (workload)."""
    makers = {
        name for name in descriptors.__all__
        if "Program" in str(inspect.signature(getattr(descriptors, name)).return_annotation)
    }  # fmt: skip
    assert makers == {*SIZES, "workload"}


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_what_is_no_size_is_refused_by_name(name: str, field: str) -> None:
    """Negative, fractional, enormous, not finite, truth values, other types, text that is no size, code."""
    make, arguments, _ = SIZES[name]
    assert make(**arguments).bytes > 0
    bad = [*BAD_SIZES, *([] if field == "padding" else [0, "0", 0.0, numpy.int64(0)])]
    ends = {repr(value)[:60]: outcome(lambda value=value: make(**{**arguments, field: value}), field) for value in bad}
    assert {value: end for value, end in ends.items() if end} == {}


@pytest.mark.parametrize(("name", "field"), [pair for pair in FIELDS if pair[1] not in MAY_BE_NONE])
def test_a_size_of_none_counts_as_forgotten(name: str, field: str) -> None:
    """None where a size has to stand is an error of ours that names it."""
    make, arguments, _ = SIZES[name]
    assert outcome(lambda: make(**{**arguments, field: None}), field) == ""


@pytest.mark.parametrize("name", SIZES)
def test_a_forgotten_size_is_our_error(name: str) -> None:
    """Without one of its sizes each descriptor raises a LabelError, no TypeError of Python's."""
    make, arguments, _ = SIZES[name]
    for field in arguments:
        if field in ("batch", "expression"):  # one has a default, the other is no size
            continue
        with pytest.raises(pm.LabelError):
            make(**{key: value for key, value in arguments.items() if key != field})


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dtype", ["b16", "bf61", "", 16, None, 2.5, [], ..., ("bf16",), True, "float99"])
def test_an_unknown_format_is_refused(name: str, dtype: object) -> None:
    """Formats that do not exist, and what is no format at all, are a FormatError with the value."""
    make, arguments, _ = SIZES[name]
    with pytest.raises(pm.FormatError, match=r"format: (no format|expected)"):
        make(**arguments, dtype=dtype)


@pytest.mark.parametrize("name", SIZES)
def test_near_misses_of_formats_and_tensors_are_suggested(name: str) -> None:
    """b16 brings bf16; a mapping that names no tensor of the program brings those that it has."""
    make, arguments, _ = SIZES[name]
    with pytest.raises(pm.FormatError, match="did you mean 'bf16'"):
        make(**arguments, dtype="b16")
    with pytest.raises(pm.FormatError, match=f"{name}: dtype names tensor 'nothing'; its tensors are "):
        make(**arguments, dtype={"nothing": "bf16"})
    first = next(iter(make(**arguments).tensors))
    with pytest.raises(pm.FormatError, match="no format 'zzz'"):
        make(**arguments, dtype={first: "zzz"})


@pytest.mark.parametrize("name", SIZES)
def test_every_input_takes_a_format_of_its_own(name: str) -> None:
    """A mapping that names one input changes the bytes read by that one only, and never the FLOPs."""
    make, arguments, _ = SIZES[name]
    plain = make(**arguments)
    for item in plain.inputs:
        if item.format.kind == "int":
            continue
        mapped = make(**arguments, dtype={item.name: "fp64"})
        assert mapped.tensors[item.name].format.name == "fp64"
        assert [other.format.name for other in mapped.inputs if other.name != item.name] == [
            other.format.name for other in plain.inputs if other.name != item.name
        ]
        assert mapped.flops == plain.flops


@pytest.mark.parametrize("name", SIZES)
def test_whole_numbers_of_other_types_are_sizes(name: str) -> None:
    """numpy's ints, whole floats, fractions and text give the same program as the ints do."""
    make, arguments, _ = SIZES[name]
    plain = make(**arguments)
    for kind in (numpy.int64, float, Fraction, Decimal, str, sympy.Integer):
        others = {key: kind(value) if isinstance(value, int) else value for key, value in arguments.items()}
        assert make(**others) == plain
