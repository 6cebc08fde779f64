"""Reassociating: a sum over a product of three, taken through a contraction of two of them that exists already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.expressions import Size
from perfmodel.graph.arguments import names_given
from perfmodel.graph.indexing import Axis, FreshNames
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.programs import Program
from perfmodel.number_formats import Format, format, widest
from perfmodel.transforms.repeating import without_dead_ops
from perfmodel.transforms.selecting import checked_program


def reassociate(program: Program, *tensors: str) -> Program:
    """The program with sums of products regrouped around contractions that it has already.

    Before: a sum over j of a_ij X_ij with X_ij = sum over k of b_ik c_jk, where Y_ik = sum over j of a_ij c_jk exists.
    After: the sum over k of b_ik Y_ik, which is the same number: both are the sum over j and k of a_ij b_ik c_jk.

    ``tensors`` names the results of such sums (all that there are, without names). Every other factor has to lack
    the labels that Y sums over, and masks over them have to be those of Y. In the backward of attention it makes
    rowsum(P dP) the rowsum(dO O), and P dP is not needed.

    Raises ``TransformError`` where there is no such contraction, and for a kernel that is tiled.

    >>> from perfmodel import attention, fuse, grad
    >>> p = fuse(grad(attention("n", "n", 64), of="O"))
    >>> p.flops - reassociate(p).flops  # a product and a sum for each of n x n pairs, instead of each of n x 64
    2*n**2 - 128*n
    """
    checked_program(program, "reassociate")
    made = {op.output.tensor.name: op for op in program.ops}
    for name in names_given(tensors, "reassociate: "):
        if name not in made:
            raise LabelError(f"reassociate: {program.name} makes no tensor {name!r}; it makes {listed(made)}"
                             f"{did_you_mean(str(name), made)}")  # fmt: skip
    found = {}
    for name in tensors or made:
        grouping = _grouping(program, made[name])
        if grouping is not None:
            found[name] = grouping
        elif tensors:
            raise TransformError(
                f"reassociate: {name!r} is no sum of a product that an earlier contraction of {program.name} is part of"
            )
    if not found:
        raise TransformError(f"reassociate: no sum of {program.name} has an earlier contraction as a part")
    kernels = _rewritten(program, found)
    return program.rewritten(
        without_dead_ops(kernels, program.returned), f"reassociate({', '.join(map(repr, tensors))})"
    )


@dataclass(frozen=True)
class _Product:
    """A sum written out: its factors, the extents, the labels summed over, and the masks on the way.

    ``own`` are the factors that one contraction brought, which is what they are regrouped out of.
    """

    factors: tuple[Access, ...]
    extents: Mapping[str, Size]
    summed: frozenset[str]
    masks: frozenset[Mask]
    own: frozenset[int]


@dataclass(frozen=True)
class _Grouping:
    """The contraction that stands for some factors, read under the sum's labels, and the factors that are left."""

    part: Access
    rest: tuple[Access, ...]
    space: tuple[Axis, ...]
    mask: Mask | None


def _grouping(program: Program, op: Op) -> _Grouping | None:
    """The first earlier contraction that is part of a sum, if there is one."""
    if op.kind not in ("reduce", "contract") or op.function not in ("sum", "multiply-add"):
        return None
    place = program.ops.index(op)
    earlier = program.ops[:place]
    makers = {item.output.tensor.name: item for item in earlier}
    for product in _products(op, makers):
        for part in earlier:
            if part.kind == "contract" and _plain(part):
                for labels, used in _matches(part, product):
                    grouping = _checked(part, labels, used, product, op)
                    if grouping is not None:
                        return grouping
    return None


def _plain(op: Op) -> bool:
    return all(isinstance(index, str) for access in (*op.reads, op.output) for index in access.index)


def _products(op: Op, makers: Mapping[str, Op]) -> Iterator[_Product]:
    """The sum with its products written out, and one contraction among its factors written out too."""
    if not _plain(op):
        return
    factors: list[Access] = []
    masks = {op.mask}
    waiting = list(op.reads)
    while waiting:
        access = waiting.pop(0)
        maker = makers.get(access.tensor.name)
        if maker is not None and _is_product(maker) and access.index == maker.output.index:
            waiting = [*maker.reads, *waiting]
            masks.add(maker.mask)
        else:
            factors.append(access)
    extents = dict(op.space)
    for place, access in enumerate(factors):
        maker = makers.get(access.tensor.name)
        if maker is None or maker.kind != "contract" or not _plain(maker) or access.index != maker.output.index:
            continue
        inner = {axis.label: axis.extent for axis in maker.space if axis.label in maker.reduced}
        if not set(inner) & set(extents):
            written = (*factors[:place], *maker.reads, *factors[place + 1 :])
            found = frozenset([mask for mask in {*masks, maker.mask} if mask is not None])
            own = frozenset(range(place, place + len(maker.reads)))
            yield _Product(written, {**extents, **inner}, frozenset([*op.reduced, *inner]), found, own)


def _is_product(op: Op) -> bool:
    return op.kind == "map" and op.function == "mul" and len(op.reads) == 2 and _plain(op)


def _matches(part: Op, product: _Product) -> Iterator[tuple[dict[str, str], frozenset[int]]]:
    """Each way to find a contraction's factors among those of a product: its labels in the product's, and which."""

    def place(left: Sequence[Access], labels: dict[str, str], used: frozenset[int]) -> Iterator[Any]:
        if not left:
            yield labels, used
            return
        for at, factor in enumerate(product.factors):
            if at not in used and factor.tensor.name == left[0].tensor.name:
                more = _unified(left[0], factor, labels)
                if more is not None:
                    yield from place(left[1:], more, used | {at})

    yield from place(part.reads, {}, frozenset())


def _unified(mine: Access, other: Access, labels: Mapping[str, str]) -> dict[str, str] | None:
    """The labels of one access as those of another of the same tensor, where that agrees with what is known."""
    found = dict(labels)
    for one, two in zip(mine.index, other.index, strict=True):
        if not (isinstance(one, str) and isinstance(two, str)) or found.setdefault(one, two) != two:
            return None
    return found if len(set(found.values())) == len(found) else None


def _checked(part: Op, labels: Mapping[str, str], used: frozenset[int], product: _Product, op: Op) -> _Grouping | None:
    """The grouping, if no other factor has a label that the part sums over, and the masks agree."""
    rest = tuple([factor for at, factor in enumerate(product.factors) if at not in used])
    gone = {labels[label] for label in part.reduced}
    if (
        not rest
        or used <= product.own
        or not gone <= product.summed
        or any(gone & set(factor.index) for factor in rest)
    ):
        return None
    mine = None if part.mask is None else part.mask.renamed(labels)
    over = {mask for mask in product.masks if {mask.query, mask.key} & gone}
    if over != ({mine} if mine is not None and {mine.query, mine.key} & gone else set()):
        return None
    kept = product.masks - over
    if len(kept) > 1 or (mine is not None and mine not in over | kept):
        return None
    index = tuple([labels[label] for label in part.output.index if isinstance(label, str)])
    left = {label for access in (Access(part.output.tensor, index), *rest) for label in access.index}
    outputs = [label for label in op.output.index if isinstance(label, str)]
    if not set(outputs) <= left:
        return None
    order = [*outputs, *[label for label in product.extents if label in left and label not in outputs]]
    space = tuple([Axis(label, product.extents[label]) for label in order])
    mask = next(iter(kept), None)
    if mask is not None and not {mask.query, mask.key} <= left:
        return None
    return _Grouping(Access(part.output.tensor, index), rest, space, mask)


def _rewritten(program: Program, found: Mapping[str, _Grouping]) -> list[Kernel]:
    """The kernels with each such sum regrouped; its product is an op of its own, in its kernel or before it."""
    tensors, titles = FreshNames(program.tensors), FreshNames([op.name for op in program.ops])
    names = FreshNames([kernel.name for kernel in program.kernels])
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        ops: list[Op] = []
        for op in kernel.ops:
            grouping = found.get(op.output.tensor.name)
            if grouping is None:
                ops.append(op)
                continue
            if kernel.tiles:
                raise TransformError(f"reassociate: kernel {kernel.name!r} is tiled; reassociate first, then tile")
            *products, last = _ops(op, grouping, tensors, titles)
            if len(kernel.ops) == 1:
                kernels += [Kernel(names.fresh(item.name), (item,), kernel.repeat, kernel.section) for item in products]
            else:
                ops += products
            ops.append(last)
        kernels.append(replace(kernel, ops=tuple(ops)))
    return kernels


def _ops(op: Op, grouping: _Grouping, tensors: FreshNames, titles: FreshNames) -> list[Op]:
    """The ops in a sum's place: one contraction where it was one, products and a sum where it was a sum."""
    factors = [grouping.part, *grouping.rest]
    wide = widest([access.tensor.format for access in factors])
    if op.kind == "contract":
        return [_arithmetic(replace(op, inputs=tuple(factors), space=grouping.space, mask=grouping.mask), wide)]
    found: list[Op] = []
    known = factors[0]
    for other in factors[1:]:
        both = {*known.index, *other.index}
        space = tuple([axis for axis in grouping.space if axis.label in both])
        mask = grouping.mask if grouping.mask and {grouping.mask.query, grouping.mask.key} <= both else None
        form = widest([known.tensor.format, other.tensor.format])
        made = Tensor(tensors.fresh("mul"), space, form)
        output = Access(made, made.labels)
        item = replace(op, name=titles.fresh("mul"), kind="map", function="mul", inputs=(known, other), output=output,
                       space=space, mask=mask)  # fmt: skip
        found.append(_arithmetic(item, form))
        known = output
    last = replace(op, inputs=(known,), space=grouping.space, mask=grouping.mask)
    return [*found, _arithmetic(last, wide)]


def _arithmetic(op: Op, wide: Format) -> Op:
    """The op with arithmetic in the widest of its inputs' formats."""
    return replace(op, compute=wide, accumulate=format(wide.accumulator))
