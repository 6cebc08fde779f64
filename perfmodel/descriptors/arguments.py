"""What descriptors share: formats by tensor, fresh labels, and pairs of sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from perfmodel.errors import DimensionError, FormatError, did_you_mean, listed
from perfmodel.expressions import Size, size
from perfmodel.number_formats import Format, format

Dtype = str | Format | Mapping[str, "str | Format"]

DEFAULT_DTYPE = "bf16"


class Dtypes:
    """The format of each tensor: one for all, or a mapping by tensor (bf16 where not given).

    >>> Dtypes({"W": "int8"}, ["x", "W"], "gemv")["x"].name
    'bf16'
    """

    def __init__(self, dtype: Dtype, tensors: Collection[str], verb: str) -> None:
        self.given: dict[str, Format] = {}
        if isinstance(dtype, Mapping):
            self.default = format(DEFAULT_DTYPE)
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
        if name in self.given:
            return self.given[name]
        return format(out_dtype) if out_dtype is not None else None


def pair(value: Any, what: str, *, zero: bool = False) -> tuple[Size, Size]:
    """A size for both spatial axes, or one for each.

    >>> pair(3, "kernel"), pair((3, 1), "kernel"), pair(0, "padding", zero=True)
    ((3, 3), (3, 1), (0, 0))
    """
    both = value if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise DimensionError(f"{what} = {value!r}: one size, or one for height and one for width")
    checked = [0 if zero and item == 0 and not isinstance(item, bool) else size(item, what) for item in both]
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
