"""A program: a graph of ops cut into kernels, and everything that can be counted of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sympy

from perfmodel.errors import DimensionError, FormatError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, bind, product, size, symbol_name, symbol_values
from perfmodel.graph.arguments import is_one_of, mapping_given, names_given
from perfmodel.graph.counts import Counted
from perfmodel.graph.indexing import Affine
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.paddings import Padding
from perfmodel.graph.rebinding import affine_sizes, changed_kernels, given_sizes, measures, with_sizes
from perfmodel.graph.repeating import Repetition, carried, passed_on, repeated
from perfmodel.graph.resizing import idle_of, repadded, resized_kernels, valid_axes, valid_shape

if TYPE_CHECKING:
    from perfmodel.showing import Text


def _words() -> Any:
    """The part that puts a program in words: loaded when one is first shown."""
    from perfmodel.graph import describing

    return describing


_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True)
class Program(Counted):
    """What is computed (ops) and how it is staged (kernels). Made by descriptors and by ``program``.

    Counts are exact: Python ints where every dimension is one, else sympy expressions. Two programs are
    equal where their kernels and outputs are; name and history do not count.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> p = program((tensor("x", {"i": "n"}) * 2).named("y"))
    >>> p.flops, p.bytes_read, p.bytes_written
    (n, 2*n, 2*n)
    """

    name: str = field(compare=False)
    kernels: tuple[Kernel, ...]
    returned: tuple[str, ...]
    shared: tuple[str, ...] = ()
    loops: tuple[Repetition, ...] = ()
    step: str = field(default="", compare=False)
    parent: Program | None = field(default=None, compare=False, repr=False)
    idle: tuple[Padding, ...] = field(default=(), compare=False, repr=False)  # by multiples that divide as it is

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of it: its fields, without the counts, which are made again when they are asked for."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    # what it is made of

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """All ops, kernel by kernel."""
        return tuple([op for kernel in self.kernels for op in kernel.ops])

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by name: inputs first, then as they are made."""
        return dict(self._tensors)

    @cached_property
    def _tensors(self) -> dict[str, Tensor]:
        found = {access.tensor.name: access.tensor for op in self.ops for access in op.reads}
        made = {op.output.tensor.name: op.output.tensor for op in self.ops}
        return {**{name: item for name, item in found.items() if name not in made}, **made}

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that it reads and does not make."""
        made = {op.output.tensor.name for op in self.ops}
        return tuple([item for name, item in self._tensors.items() if name not in made])

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that it is run for."""
        return tuple([self._tensors[name] for name in self.returned])

    @property
    def labels(self) -> dict[str, Size]:
        """The labels of all iteration spaces with their extents."""
        return dict(self._labels)

    @cached_property
    def _labels(self) -> dict[str, Size]:
        return {axis.label: axis.extent for op in self.ops for axis in op.space}

    @cached_property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The symbols in its sizes, in the order of the labels that they measure."""
        sizes: list[Any] = [*self._labels.values()]
        sizes += [extent for item in self._tensors.values() for extent in item.extents]
        sizes += [kernel.repeat for kernel in self.kernels]
        sizes += [size for kernel in self.kernels for tiling in kernel.tiles for size in tiling.sizes]
        for op in self.ops:
            windows = [i for access in (*op.reads, op.output) for i in access.index if isinstance(i, Affine)]
            sizes += [part for index in windows for part in affine_sizes(index)]
            sizes += [] if op.mask is None else sorted(op.mask.symbols, key=str)
            sizes += [] if op.given is None else given_sizes(op.given)
        found: dict[sympy.Symbol, None] = {}
        for item in sizes:
            if not isinstance(item, int):
                found.update(dict.fromkeys(sorted(item.free_symbols, key=str)))
        return tuple(found)

    # rewriting

    def at(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Program:
        """The program with symbols bound to sizes; with labels resized, where it holds ints.

        >>> from perfmodel.graph.nodes import tensor
        >>> from perfmodel.graph.tracing import program
        >>> program(tensor("x", {"i": "n"}) * 2).at(n=64).flops
        64
        """
        given = self._named(mapping_given(values, "at", "{'n': 64}"), named)
        names = {symbol.name for symbol in self.symbols}
        bound = symbol_values({k: v for k, v in given.items() if k in names}, self.symbols)
        kernels, loops = self.kernels, self.loops
        if bound:

            def runs(times: Size, what: str = "repeat") -> Size:
                return size(bind(times, bound), f"at: {what}")

            loops = tuple([loop.resized(runs) for loop in loops])
            kernels = changed_kernels(
                kernels,
                lambda op: with_sizes(op, lambda s: bind(s, bound), lambda mask: mask.bound(bound)),
                runs,
            )
        extents = {key: size(value, str(key)) for key, value in given.items() if key not in names}
        if extents:
            kernels = self._resized(kernels, extents)
        text = ", ".join(f"{key}={value}" for key, value in given.items())
        kernels, idle = repadded(kernels, idle_of(self.kernels, kernels, self.idle, bound), carried(loops))
        return replace(self, kernels=kernels, loops=loops, step=f"at({text})", parent=self, idle=idle).within_room("at")

    def _named(self, values: Mapping[Any, Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name, each given once."""
        given: dict[str, Any] = {}
        for key, value in [*values.items(), *named.items()]:
            name = symbol_name(key)
            if name in given:
                raise LabelError(f"at: {name!r} is given twice, as {given[name]} and as {value}")
            given[name] = value
        return given

    def _resized(self, kernels: tuple[Kernel, ...], given: Mapping[str, Size]) -> tuple[Kernel, ...]:
        """Kernels with labels resized, and with them every label and axis that has the same extent by necessity."""
        for label in given:
            self._check_resizable(label)
        extents: dict[str, Size] = {}
        for measure in measures(kernels, carried(self.loops)):
            wanted = {label: given[label] for label in measure.labels if label in given}
            if wanted and measure.tied:
                raise LabelError(
                    f"at: label {next(iter(wanted))!r} of {self.name} belongs to a window or a roll, whose other sizes "
                    "follow from it; build the program at other sizes, or from symbols"
                )
            if len(set(wanted.values())) > 1:
                pairs = ", ".join(f"{label}={value}" for label, value in wanted.items())
                raise LabelError(f"at: {listed(wanted)} of {self.name} measure the same axis; got {pairs}")
            for value in list(wanted.values())[:1]:
                extents.update(dict.fromkeys(measure.labels, value))
        return resized_kernels(kernels, extents, carried(self.loops))

    def _check_resizable(self, label: str) -> None:
        known = [symbol.name for symbol in self.symbols]
        if label not in self.labels:
            shown = [*known, *self.labels]
            raise LabelError(f"at: {self.name} has no symbol or label {label!r}; it has {_words().sizes(self)}"
                             f"{did_you_mean(str(label), shown)}")  # fmt: skip
        extent = self.labels[label]
        if not isinstance(extent, int):
            raise LabelError(
                f"at: label {label!r} of {self.name} is measured by {extent}; bind {listed(known)} instead"
            )

    def repeat(
        self, times: Any, *, carry: Mapping[str, str] | None = None, shared: str | Collection[str] = ()
    ) -> Program:
        """The program run ``times`` over, each run costing the same (80 equal layers cost one to count).

        ``carry`` maps an output to the input that it becomes in the next run; ``shared`` names inputs that all
        runs read (a table). Every other input, such as a weight, is one of its own in each run; so is one that
        is carried on and still read by a later section (the input of each layer, until the layer's backward).

        >>> from perfmodel.graph.nodes import tensor
        >>> from perfmodel.graph.tracing import program
        >>> program((tensor("x", {"i": 8}) * 2).named("y")).repeat(80, carry={"y": "x"}).flops
        640
        """
        count = size(times, "repeat")
        handed = mapping_given(carry, "repeat: carry", "{'y': 'x'}")
        common = names_given(shared, "repeat: shared=")
        inputs = [item.name for item in self.inputs]
        for out, into in handed.items():
            self._check_carry(out, into)
        for name in common:
            if name not in inputs:
                raise LabelError(
                    f"repeat: {self.name} has no input {name!r}; its inputs are {listed(inputs)}"
                    f"{did_you_mean(str(name), inputs)}"
                )
        if len(set(handed.values())) < len(handed):
            raise LabelError(f"repeat: carry={handed} gives one input two outputs")
        kernels = tuple([replace(kernel, repeat=product([count, kernel.repeat])) for kernel in self.kernels])
        kept = tuple(dict.fromkeys([*self.shared, *common, *passed_on(handed, [row[0] for row in self.saved.rows])]))
        loops = (*self.loops, *repeated(self.kernels, count, handed))
        return replace(self, kernels=kernels, shared=kept, loops=loops, step=f"repeat({times})", parent=self)

    def _check_carry(self, out: str, into: str) -> None:
        inputs = {item.name: item for item in self.inputs}
        if out not in self.returned or not is_one_of(into, inputs):
            raise LabelError(
                f"repeat: carry={{{out!r}: {into!r}}} goes from an output ({listed(self.returned)}) to an input "
                f"({listed(inputs)})"
            )
        made, needed = self._tensors[out], inputs[into]
        if made.extents != needed.extents:
            raise DimensionError(f"repeat: {out!r} has extents {made.extents}, {into!r} has {needed.extents}")
        ends = valid_axes(self.kernels, carried(self.loops))
        if valid_shape(made, ends) != valid_shape(needed, ends):
            raise DimensionError(f"repeat: {out!r} and {into!r} are padded differently; repeat first, then pad")
        if made.format != needed.format:
            raise FormatError(
                f"repeat: {out!r} is {made.format.name}, {into!r} is {needed.format.name}; cast one of them"
            )

    def rewritten(self, kernels: tuple[Kernel, ...], step: str) -> Program:
        """The program with other kernels, remembering this one and the step from it (for transforms).

        >>> from perfmodel.graph.nodes import tensor
        >>> from perfmodel.graph.tracing import program
        >>> p = program(tensor("x", {"i": 8}) * 2, name="double")
        >>> p.rewritten(p.kernels, "nothing()").history
        ('double', 'nothing()')
        """
        return replace(self, kernels=kernels, step=step, parent=self)

    def pipe(self, transform: Callable[Concatenate[Program, _P], _R], /, *args: _P.args, **named: _P.kwargs) -> _R:
        """``transform(self, ...)``, for chains that read from left to right.

        >>> from perfmodel.graph.nodes import tensor
        >>> from perfmodel.graph.tracing import program
        >>> program(tensor("x", {"i": 8}) * 2).pipe(lambda p: p.flops)
        8
        """
        return transform(self, *args, **named)

    @property
    def history(self) -> tuple[str, ...]:
        """How it was made: the steps from the first description on."""
        steps: list[str] = []
        at: Program | None = self
        while at is not None:
            steps.append(at.step or at.name)
            at = at.parent
        return tuple(reversed(steps))

    # showing

    def explain(self) -> Text:
        """The counts with their formulas, kernel by kernel, and what each step of its history changed."""
        found: Text = _words().explained(self)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Counts, sizes and history as plain data."""
        found: dict[str, Any] = _words().as_dict(self)
        return found

    def __repr__(self) -> str:
        found: str = _words().shown(self)
        return found

    def _repr_html_(self) -> str:
        found: str = _words().as_html(self)
        return found

    def _repr_latex_(self) -> str:
        found: str = _words().as_latex(self)
        return found
