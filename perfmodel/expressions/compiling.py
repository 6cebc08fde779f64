"""Formulas compiled once to numpy and evaluated at many points, exactly.

Counts come back as whole numbers, right to the last digit or not at all; ceilings are never off by
one; other values are float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

from perfmodel.errors import DimensionError, ExpressionError, LabelError, did_you_mean, listed
from perfmodel.expressions.arithmetic import as_expression
from perfmodel.expressions.bounding import Plan, exact_values
from perfmodel.expressions.evaluating import checked_input, checked_number, evaluated, is_array
from perfmodel.expressions.generating import kernel_of
from perfmodel.expressions.lowering import lowered
from perfmodel.expressions.steps import Tape
from perfmodel.expressions.symbols import by_name, dims, symbol_name

Formula = Any  # an int, a sympy expression, or a mapping from names to those


def compile_formula(formula: Formula, symbols: str | Iterable[str | sympy.Symbol] | None = None) -> Compiled:
    """A formula as a function of its symbols, on numbers or arrays that broadcast together.

    ``formula`` is an int, an expression, or a mapping from names to expressions (which share their
    common parts, and give a dict of results). ``symbols`` names what the function takes, where
    that is more than the formula holds. An expression that cannot be computed exactly enough
    (a ceiling of a root, an unknown function) is an ``ExpressionError``.

    >>> m = dims("m")
    >>> blocks = compile_formula(sympy.ceiling(m / 256))
    >>> blocks(m=1793), blocks(m=[256, 257, 512])
    (8, array([1, 2, 2]))
    """
    single = not isinstance(formula, Mapping)
    pairs = [("", formula)] if single else list(formula.items())
    if not pairs:
        raise ExpressionError("compile: the mapping of formulas is empty")
    formulas = tuple((_name(key), _expression(value)) for key, value in pairs)
    try:
        return _compiled(formulas, single, _declared(symbols))
    except RecursionError:
        raise ExpressionError("compile: the formula is nested too deeply") from None


def evaluate(formula: Formula, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Any:
    """A formula at given values, in one call (compiled the first time only).

    >>> m, n = dims("m n")
    >>> evaluate(2 * m * n, m=3, n=[4, 5])
    array([24, 30])
    """
    return compile_formula(formula)(values, **named)


@dataclass(frozen=True, slots=True, repr=False)
class Compiled:
    """A formula that can be called; made by ``compile_formula``.

    >>> f = compile_formula({"flops": 2 * dims("m"), "bytes": dims("m") + 1})
    >>> f
    Compiled({'flops': 2*m, 'bytes': m + 1})
    >>> f(m=4)
    {'flops': 8, 'bytes': 5}
    """

    formulas: tuple[tuple[str, sympy.Expr], ...]
    single: bool
    arguments: tuple[sympy.Symbol, ...]
    tape: Tape = field(compare=False)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names that the function takes, sorted.

        >>> compile_formula(dims("n") * dims("m")).symbols
        ('m', 'n')
        """
        return tuple(symbol.name for symbol in self.arguments)

    def _repr_latex_(self) -> str:
        parts = [sympy.latex(each) if self.single else f"\\text{{{name}}} = {sympy.latex(each)}"
                 for name, each in self.formulas]  # fmt: skip
        return "$" + ",\\ ".join(parts) + "$"

    @property
    def source(self) -> str:
        """The numpy code that runs on a block of points when every symbol varies, for the curious.

        >>> print(compile_formula(dims("m") + 1).source.rstrip())
        def kernel(x, s, t, y):
            x0, = x
            t0, = t
            y0, = y
            add(1.0, x0, t0)
            copyto(y0, t0, "unsafe")
        """
        return kernel_of(self.tape, self.symbols, Plan()).source

    def __call__(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Any:
        """The value at each point; symbols by keyword, or in a mapping from names or symbols.

        Numbers give a number, arrays an array: int64 for a count, float64 for anything else.
        A dimension is a positive whole number up to 2^52, another symbol a positive number.
        ``DimensionError`` where a value is neither, or a count would overflow;
        ``LabelError`` where a symbol is unknown or has no value.

        >>> f = compile_formula(dims("m") * dims("n"))
        >>> f(m=2, n=3), f({"m": 2, "n": [1, 2]})
        (6, array([2, 4]))
        """
        return self._computed(self._given(values, named), floats=False)

    def floats(self, values: Mapping[str, Any]) -> Any:
        """The value at each point as float64, counts included: as accurate, without the detour over whole numbers.

        >>> compile_formula(2 * dims("m")).floats({"m": [1, 2]})
        array([2., 4.])
        """
        return self._computed(self._given(values, {}), floats=True)

    def _computed(self, given: Mapping[str, Any], floats: bool) -> Any:
        inputs, numbers = [], {}
        for symbol in self.arguments:
            value, whole = given[symbol.name], bool(symbol.is_integer)
            if is_array(value):
                inputs.append(checked_input(symbol.name, value, whole))
            else:
                numbers[symbol.name] = checked_number(symbol.name, value, whole)
        results: list[Any] = evaluated(self.tape, numbers, inputs, floats) if inputs else self._exact(numbers)
        if floats and not inputs:
            results = [float(result) for result in results]
        return results[0] if self.single else dict(zip((name for name, _ in self.formulas), results, strict=True))

    def _given(self, values: Mapping[Any, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
        values = by_name(values)
        if values is not None and not isinstance(values, Mapping):
            raise LabelError(f"evaluate: values come by name, as {self._call()}, not {type(values).__name__}")
        given: dict[str, Any] = {}
        for key, value in [*(values or {}).items(), *named.items()]:
            if symbol_name(key) in given:
                raise LabelError(f"evaluate: {symbol_name(key)} is given twice")
            given[symbol_name(key)] = value
        unknown = [name for name in given if name not in self.symbols]
        missing = [name for name in self.symbols if name not in given]
        if unknown:
            near = did_you_mean(unknown[0], missing or self.symbols)
            raise LabelError(f"evaluate: no symbol {unknown[0]!r}; the symbols are {listed(self.symbols)}{near}")
        if missing:
            raise LabelError(f"evaluate: no value for {listed(missing)}; write {self._call()}")
        return given

    def _call(self) -> str:
        return f"f({', '.join(f'{name}=...' for name in self.symbols)})"

    def _exact(self, numbers: Mapping[str, Any]) -> list[int | float]:
        found = exact_values(self.tape, numbers)
        return [_number(self.tape, found, index) for index in self.tape.outputs]

    def __repr__(self) -> str:
        return f"Compiled({self.formulas[0][1] if self.single else dict(self.formulas)})"

    def __reduce__(self) -> tuple[Any, ...]:
        formula = self.formulas[0][1] if self.single else dict(self.formulas)
        return compile_formula, (formula, self.arguments)


def _number(tape: Tape, found: list[Any], index: int) -> int | float:
    if tape.steps[index].kind == "count":
        return int(found[index])
    try:
        if math.isfinite(value := float(found[index])):
            return value
    except OverflowError:
        pass
    raise DimensionError(f"{tape.text(index)} would overflow float64")


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise ExpressionError(f"compile: formulas are named by text, got {key!r}")
    return key


def _expression(value: Any) -> sympy.Expr:
    try:
        return as_expression(value)
    except ExpressionError as error:
        raise ExpressionError(f"compile: {error}") from None


def _declared(symbols: str | Iterable[str | sympy.Symbol] | None) -> tuple[sympy.Symbol, ...] | None:
    if symbols is None:
        return None
    if not isinstance(symbols, Iterable) or isinstance(symbols, bytes):
        raise ExpressionError(f"compile: symbols={symbols!r}: expected names, such as 'm n', or symbols of pm.dims")
    listed_symbols = [symbols] if isinstance(symbols, (str, sympy.Symbol)) else list(symbols)
    found: list[sympy.Symbol] = []
    for symbol in listed_symbols:
        made = symbol if isinstance(symbol, sympy.Symbol) else dims(symbol)
        found += made if isinstance(made, tuple) else [made]
    return tuple(found)


@lru_cache(maxsize=1024)
def _compiled(
    formulas: tuple[tuple[str, sympy.Expr], ...], single: bool, declared: tuple[sympy.Symbol, ...] | None
) -> Compiled:
    held = set().union(*(expr.free_symbols for _, expr in formulas))
    by_name: dict[str, sympy.Symbol] = {}
    for symbol in [*sorted(held, key=str), *_others(declared, held)]:
        if by_name.setdefault(symbol.name, symbol) != symbol:
            raise LabelError(f"compile: two different symbols are both named {symbol.name!r}; rename one")
    tape = lowered([expr for _, expr in formulas])
    return Compiled(formulas, single, tuple(by_name[name] for name in sorted(by_name)), tape)


def _others(declared: tuple[sympy.Symbol, ...] | None, held: set[sympy.Symbol]) -> list[sympy.Symbol]:
    """Declared symbols that the formula lacks; a declared name stands for the formula's symbol of that name."""
    names = {symbol.name for symbol in held}
    if declared is None:
        return []
    missing = sorted(names - {symbol.name for symbol in declared})
    if missing:
        raise LabelError(f"compile: the formula holds {listed(missing)}, which symbols= leaves out")
    return [symbol for symbol in declared if symbol.name not in names]
