"""Sizes and formulas: symbols, exact arithmetic, text, and compilation to numpy (loaded when first used)."""

from typing import TYPE_CHECKING

from perfmodel.expressions.arithmetic import (
    LARGEST_SIZE,
    Size,
    as_expression,
    as_size,
    bind,
    ceil_div,
    floor_div,
    is_concrete,
    largest,
    product,
    remainder,
    scaled,
    share,
    smallest,
    total,
)
from perfmodel.expressions.parsing import parse_size, parse_tree
from perfmodel.expressions.symbols import (
    by_name,
    dimension,
    dims,
    positive_real,
    reals,
    size,
    symbol_name,
    symbol_values,
)
from perfmodel.loading import homes_of, loader

_HOMES = homes_of({"perfmodel.expressions.compiling": "Compiled compile_formula evaluate"})
__getattr__ = loader(__name__, _HOMES)

__all__ = [
    "LARGEST_SIZE",
    "Compiled",
    "Size",
    "as_expression",
    "as_size",
    "bind",
    "by_name",
    "ceil_div",
    "compile_formula",
    "dimension",
    "dims",
    "evaluate",
    "floor_div",
    "is_concrete",
    "largest",
    "parse_size",
    "parse_tree",
    "positive_real",
    "product",
    "reals",
    "remainder",
    "scaled",
    "share",
    "size",
    "smallest",
    "symbol_name",
    "symbol_values",
    "total",
]

if TYPE_CHECKING:
    from perfmodel.expressions.compiling import (
        Compiled as Compiled,
        compile_formula as compile_formula,
        evaluate as evaluate,
    )
