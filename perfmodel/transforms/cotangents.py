"""The workbench of ``grad``: makes backward ops, each once, and adds up what flows to a tensor.

A cotangent may lack labels of its tensor, along which it is the same everywhere (what a sum passes back): it
broadcasts where it is used, and is written out only where an input's gradient is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfmodel.errors import TransformError
from perfmodel.expressions import Size
from perfmodel.graph.indexing import Affine, Axis, Gathered, labels_in
from perfmodel.graph.masks import Mask
from perfmodel.graph.merging import merged_axes, merged_mask
from perfmodel.graph.nodes import Access, Op, Tensor, applied
from perfmodel.graph.operands import Scalar
from perfmodel.graph.scattering import scattered
from perfmodel.number_formats import Format


class Workbench:
    """Makes the ops of a backward pass while it walks the forward one; equal ops are one."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        self.values = values
        self.made: list[Op] = []
        self.known: dict[Any, Tensor] = {}
        self.claimed: dict[int, tuple[str, Format]] = {}
        self.mask: Mask | None = None
        self.stage = "backward"

    def enter(self, op: Op) -> None:
        """Ops made from now on belong to the backward of this one: its stage, and its mask."""
        self.mask = op.mask
        self.stage = f"{op.stage}_backward" if op.stage else "backward"

    def map(self, function: str, *operands: Any) -> Tensor:
        """A map, over the points that the mask of the present op allows."""
        found = [item if isinstance(item, Tensor | Scalar) else Scalar(item) for item in operands]
        tensors = [item for item in found if isinstance(item, Tensor)]
        axes = merged_axes(tensors, "grad")
        mask = self._fitting(axes) or merged_mask(tensors, "grad")
        return self._once(("map", function, mask, *found),
                          lambda: applied("map", function, found, axes, axes, mask, stage=self.stage))  # fmt: skip

    def product(self, factors: Sequence[Tensor], kept: tuple[Axis, ...], space: tuple[Axis, ...]) -> Tensor:
        """The sum of the product of the factors over all of the space but the kept axes, each point once."""
        gone = tuple([axis for axis in space if axis not in kept])
        if not gone and len(factors) > 1:
            found = self.map("mul", factors[0], factors[1])
            whole = len(factors) == 2 and set(found.axes) == set(kept)
            return found if whole else self.product([found, *factors[2:]], kept, space)
        kind, function = ("reduce", "sum") if len(factors) == 1 else ("contract", "multiply-add")
        if not gone:
            kind, function = "map", "copy"
        mask = self._fitting(space)
        title = "contract" if kind == "contract" else None
        inputs: list[Tensor | Scalar] = list(factors)
        return self._once((kind, function, mask, kept, space, *factors),
                          lambda: applied(kind, function, inputs, kept + gone, kept, mask, stage=self.stage,
                                          title=title))  # fmt: skip

    def scatter(self, factors: Sequence[Tensor], access: Access, space: tuple[Axis, ...]) -> Tensor:
        """The product of the factors, added into the places of a tensor that an access points to."""
        by = [self.values[index.by] for index in access.index if isinstance(index, Gathered)]
        seen = [_seen(table, index.labels) for table, index in zip(by, _gathers(access), strict=True)]
        return self._once(("scatter", access, space, *factors),
                          lambda: scattered(factors, access.tensor.axes, access.index, space, self._fitting(space),
                                            seen, self.stage))  # fmt: skip

    def _fitting(self, axes: tuple[Axis, ...]) -> Mask | None:
        labels = {axis.label for axis in axes}
        return self.mask if self.mask is not None and {self.mask.query, self.mask.key} <= labels else None

    def _once(self, key: tuple[Any, ...], make: Callable[[], Tensor]) -> Tensor:
        found = tuple([_identity(part) if isinstance(part, Tensor) else part for part in key])
        if found not in self.known:
            made = make()
            if made.producer is not None:
                self.made.append(made.producer)
            self.known[found] = made
        return self.known[found]

    def view(self, access: Access, space: tuple[Axis, ...]) -> Tensor:
        """A forward tensor as an op of this space reads it."""
        known = self.values[access.tensor.name]
        if access.index == known.labels:
            return known
        extents = dict(space)
        axes = dict.fromkeys([label for index in access.index for label in labels_in(index)])
        names = {axis.label: i for axis, i in zip(known.axes, access.index, strict=True) if isinstance(i, str)}
        mask = known.mask
        if mask is not None:
            mask = mask.renamed(names) if {mask.query, mask.key} <= names.keys() else None
        found = tuple([Axis(label, extents[label]) for label in axes])
        return Tensor(known.name, found, known.format, mask, None, known, access.index)

    def back(self, factors: Sequence[Tensor], access: Access, op: Op) -> Tensor:
        """What flows to the tensor behind an access: the product of the factors, summed over all other labels.

        It takes the labels of the tensor's own axes. Where the access is a window or a look-up the points are added
        into the places that it read.
        """
        if not all(isinstance(index, str) or _is_roll(index, a, op) for a, index in _pairs(access)):
            return self.scatter(factors, access, op.space)
        wanted = [labels_in(index)[0] for index in access.index]
        have = {label for item in factors for label in item.labels}
        gone = [axis for axis in op.space if axis.label not in wanted]
        masked = {op.mask.query, op.mask.key} if op.mask is not None else set()
        known = self.values[access.tensor.name].mask is not None
        rolled = not all(isinstance(index, str) for index in access.index)
        if gone or len(factors) > 1 or rolled or (masked and not known):
            needed = have | masked if not rolled else set(wanted)
            kept = [label for label in wanted if label in needed]
            extents = dict(op.space)
            space = tuple([axis for axis in op.space if axis.label in kept or axis.label not in wanted])
            found = self.product(factors, tuple([Axis(label, extents[label]) for label in kept]), space)
        else:
            found = factors[0]
        return _unrolled(found, access)

    def added(self, parts: Sequence[Tensor], name: str, form: Format) -> Tensor:
        """The sum of what flows to a tensor, in the tensor's format, under its name unless it has one already."""
        found = self.total(parts, name)
        if found.producer is None or id(found.producer) in self.claimed:
            return found
        return self.claim(found, f"d{name}", form)

    def total(self, parts: Sequence[Tensor], name: str) -> Tensor:
        """The sum of what flows to a tensor."""
        found = parts[0]
        self.mask = self.values[name].mask
        for other in parts[1:]:
            found = self._sum(found, other)
        return found

    def claim(self, found: Tensor, name: str, form: Format) -> Tensor:
        """The tensor as it will be stored: under this name, in this format."""
        self.claimed[id(found.producer)] = (name, form)
        base = None if found.base is None else replace(found.base, format=form)
        return replace(found, name=name, format=form, base=base)

    def _sum(self, one: Tensor, other: Tensor) -> Tensor:
        axes = merged_axes([one, other], "grad")
        mask = self._fitting(axes)
        return self._once(("map", "add", mask, one, other),
                          lambda: applied("map", "add", [one, other], axes, axes, mask, stage=self.stage))  # fmt: skip

    def whole(self, found: Tensor, like: Tensor) -> Tensor:
        """What is returned as the gradient of an input: made by an op, with all its axes, in their order."""
        self.mask = None
        made = found.producer is not None and all(isinstance(index, str) for index in found.index)
        if made and found.axes == like.axes:
            return found
        return self.product([found], like.axes, like.axes)


def _identity(item: Tensor) -> tuple[Any, ...]:
    access = item.access
    made = access.tensor.name if item.producer is None else id(item.producer)
    return made, access.index, item.labels


def _gathers(access: Access) -> list[Gathered]:
    return [index for index in access.index if isinstance(index, Gathered)]


def _pairs(access: Access) -> list[tuple[Axis, Any]]:
    return list(zip(access.tensor.axes, access.index, strict=True))


def _seen(table: Tensor, labels: tuple[str, ...]) -> Tensor:
    """The indices of a look-up under the labels that they are looked up by."""
    changed = {old: new for old, new in zip(table.labels, labels, strict=True) if old != new}
    return table.rename(changed) if changed else table


def _is_roll(index: Any, axis: Axis, op: Op) -> bool:
    """Whether an index goes once around an axis, so that another roll undoes it."""
    if not isinstance(index, Affine) or index.modulo != axis.extent or len(index.terms) != 1:
        return False
    (label, step) = index.terms[0]
    extents: dict[str, Size] = dict(op.space)
    return step == 1 and extents[label] == axis.extent


def _unrolled(found: Tensor, access: Access) -> Tensor:
    """What was made under an op's labels, seen under those of the tensor's axes, each roll undone."""
    names = {}
    for axis, index in _pairs(access):
        label = labels_in(index)[0]
        if label != axis.label and label in found.labels:
            names[label] = axis.label
    found = found.rename(names) if names else found
    for axis, index in _pairs(access):
        if isinstance(index, Affine):
            if found.mask is not None and axis.label in (found.mask.query, found.mask.key):
                raise TransformError(f"grad: {access.tensor.name!r} is rolled along {axis.label!r} under a mask")
            found = found.roll(axis.label, -index.offset)
    return found
