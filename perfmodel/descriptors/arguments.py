"""What descriptors share: checks that name the argument, formats by tensor, and results stored under a name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from perfmodel.errors import DimensionError, ExpressionError, FormatError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, size
from perfmodel.graph.nodes import Access, Tensor
from perfmodel.number_formats import Format, format

Dtype = str | Format | Mapping[str, "str | Format"]

DEFAULT_DTYPE = "bf16"


class Dtypes:
    """The format of each tensor: one for all, or a mapping by tensor (``default`` where it names none).

    >>> Dtypes({"W": "int8"}, ["x", "W"], "gemv")["x"].name
    'bf16'
    """

    def __init__(self, dtype: Dtype, tensors: Collection[str], verb: str, default: str = DEFAULT_DTYPE) -> None:
        self.given: dict[str, Format] = {}
        if isinstance(dtype, Mapping):
            self.default = format(default)
            for name, found in dtype.items():
                if name not in tensors:
                    raise FormatError(
                        f"{verb}: dtype names tensor {name!r}; its tensors are {listed(tensors)}"
                        f"{did_you_mean(str(name), tensors)}"
                    )
                self.given[name] = format(found)
        else:
            self.default = format(dtype)

    def __getitem__(self, name: str) -> Format:
        return self.given.get(name, self.default)

    def output(self, name: str, out_dtype: str | Format | None = None) -> Format | None:
        """The format of a result: named in the mapping, or ``out_dtype``, or None (its widest input).

        >>> Dtypes("bf16", ["C"], "matmul").output("C", "fp32").name
        'fp32'
        """
        return self.given.get(name) or optional_format(out_dtype)


def optional_format(dtype: str | Format | None) -> Format | None:
    """The format of this name, or None where none is given.

    >>> optional_format("fp8").name, optional_format(None)
    ('fp8_e4m3', None)
    """
    return None if dtype is None else format(dtype)


def result(made: Tensor, name: str, stored: Format | None = None) -> Tensor:
    """What an expression made, under its name in the program and stored in a format of its own.

    >>> from perfmodel.graph.nodes import tensor
    >>> result(tensor("x", {"i": 4}) * 2, "y", format("fp32"))
    pm.tensor('y', {'i': 4}, dtype='fp32')
    """
    made = made.named(name)
    op = made.producer
    if stored is None or op is None or stored == made.format:
        return made
    written = Access(replace(op.output.tensor, format=stored), op.output.index)
    return replace(made, format=stored, producer=replace(op, output=written))


def sizes(verb: str, **given: Any) -> tuple[Size, ...]:
    """Every size, checked under its argument's name; one that was forgotten is a ``LabelError``.

    >>> sizes("conv2d", height=64, width="w")
    (64, w)
    >>> sizes("conv2d", height=64, width=0)
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: conv2d: width = 0: a dimension is a positive integer
    """
    forgotten = [field for field, value in given.items() if value is None]
    if forgotten:
        raise LabelError(f"{verb}: {listed(forgotten)} not given; it needs {listed(given)}")
    return tuple([size(value, f"{verb}: {field}") for field, value in given.items()])


def pair(value: Any, what: str, *, zero: bool = False) -> tuple[Size, Size]:
    """A size for both spatial axes, or one for each; with ``zero`` they may be 0.

    >>> pair(3, "kernel"), pair((3, 1), "kernel"), pair(0, "padding", zero=True)
    ((3, 3), (3, 1), (0, 0))
    """
    both = value if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise DimensionError(f"{what} = {value!r}: one size, or one for height and one for width")
    checked = [0 if zero and type(item) in (int, float) and item == 0 else size(item, what) for item in both]
    return checked[0], checked[1]


def divided(whole: Size, parts: Size, what: str) -> Size:
    """``whole / parts``, which must come out whole.

    >>> divided(32, 8, "heads / kv_heads")
    4
    """
    if isinstance(whole, int) and isinstance(parts, int):
        if whole % parts:
            raise DimensionError(f"{what} = {whole} / {parts}: does not divide evenly")
        return whole // parts
    return size(whole / parts, what)


def one_of(value: Any, known: Collection[str], what: str) -> str:
    """A word out of a few.

    >>> one_of("safe", ("safe", "naive"), "softmax: form")
    'safe'
    """
    if isinstance(value, str) and value in known:
        return value
    raise ExpressionError(f"{what} = {value!r}: expected one of {listed(known)}{did_you_mean(str(value), known)}")


def flag(value: Any, what: str) -> bool:
    """A truth value and nothing that merely counts as one.

    >>> flag(True, "attention: causal")
    True
    """
    if isinstance(value, bool):
        return value
    raise ExpressionError(f"{what} = {value!r}: expected True or False")


def checked_tensors(call: str, *items: Any, axes: int = 0) -> None:
    """Refuse anything that is not a tensor with at least so many axes; ``call`` shows how to write it.

    >>> checked_tensors("gemv(x, W)", 4)
    Traceback (most recent call last):
    perfmodel.errors.LabelError: gemv(x, W): expected tensors, got 4
    """
    for item in items:
        if not isinstance(item, Tensor):
            raise LabelError(f"{call}: expected tensors, got {item!r}")
        if len(item.axes) < axes:
            raise LabelError(f"{call}: {item.name!r} needs {axes} axes or more; it has {listed(item.labels)}")


def checked_axis(x: Tensor, label: Any, verb: str) -> str:
    """A label that the tensor has.

    >>> from perfmodel.graph.nodes import tensor
    >>> checked_axis(tensor("x", {"m": 4, "n": 8}), "n", "softmax")
    'n'
    """
    if isinstance(label, str) and label in x.labels:
        return label
    raise LabelError(
        f"{verb}: tensor {x.name!r} has no label {label!r}; its labels are {listed(x.labels)}"
        f"{did_you_mean(str(label), x.labels)}"
    )


def unused(verb: str, form: str, **given: tuple[Any, Any]) -> None:
    """Refuse arguments of a descriptor's other form, which would be ignored: each a value and its default.

    >>> unused("matmul", "tensors", batch=(8, 1), dtype=("bf16", "bf16"))
    Traceback (most recent call last):
    perfmodel.errors.LabelError: matmul: with tensors it takes no batch
    """
    found = [
        field for field, (value, default) in given.items()
        if value is not default and (type(value) is not type(default) or value != default)
    ]  # fmt: skip
    if found:
        raise LabelError(f"{verb}: with {form} it takes no {listed(found)}")
