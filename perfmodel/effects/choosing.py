"""The tile is chosen, not assumed: the one of the least estimated time, of all that a library would have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.stack import Setting, kernel_parts
from perfmodel.effects.tile_quantization import step_elements, steps
from perfmodel.effects.tiles import Tile, candidates, picked
from perfmodel.errors import DimensionError

ROWS_AT_ONCE = 192  # shapes whose candidates are computed together: a dozen arrays of them stay in the cache


def chosen(shape: KernelShape, setting: Setting, given: tuple[int, ...] | None = None) -> Tile:
    """The best tile for one shape (numbers).

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.chips import Chip
    >>> from perfmodel.effects.shapes import shape_of
    >>> from perfmodel.effects.stack import NAMES, Rates
    >>> h = machine("h100-sxm")
    >>> setting = Setting(Chip.of(h), Rates((h.find_peak("bf16"),)), frozenset(NAMES))
    >>> chosen(shape_of(matmul(8, 8192, 8192).counted[0]).numbers(), setting).m
    16
    """
    _check_splits(shape, given)
    tried = candidates(given, "split-k" in setting.on and not setting.streams)
    found = picked(tried, int(_seconds(shape, tried, setting).argmin()))
    return Tile(int(found.m), int(found.n), int(found.splits))


def chosen_many(shape: KernelShape, setting: Setting, given: tuple[int, ...] | None = None) -> Tile:
    """The best tile for each of many shapes (arrays).

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.chips import Chip
    >>> from perfmodel.effects.shapes import shape_of
    >>> from perfmodel.effects.stack import NAMES, Rates
    >>> import numpy
    >>> h = machine("h100-sxm")
    >>> setting = Setting(Chip.of(h), Rates((h.find_peak("bf16"),)), frozenset(NAMES))
    >>> many = shape_of(matmul("n", 8192, 8192).counted[0]).at({"n": numpy.array([8, 8192])}, 2)
    >>> chosen_many(many, setting).m.tolist()
    [16.0, 256.0]
    """
    import numpy

    _check_splits(shape, given)
    tried = candidates(given, "split-k" in setting.on and not setting.streams)
    if tried.m.size * tried.splits.size == 1:
        return Tile(*[float(column.item()) for column in (tried.m, tried.n, tried.splits)])
    count = len(shape.m)
    best = numpy.empty(count, dtype="int64")
    for start in range(0, count, ROWS_AT_ONCE):
        which = slice(start, min(start + ROWS_AT_ONCE, count))
        found = _seconds(shape.part(which), tried, setting)
        best[which] = found.reshape(len(found), -1).argmin(axis=-1)
    return picked(tried, best)


def _check_splits(shape: KernelShape, given: tuple[int, ...] | None) -> None:
    """A tile that a user fixes has no more splits than k has steps."""
    import numpy

    splits = 1 if given is None or len(given) < 3 else given[2]
    if splits > 1:
        least = float(numpy.min(shape.k))
        there = int(steps(replace(shape, k=least), Tile(*given[:2]))) if given else 1
        if splits > there:
            raise DimensionError(
                f"estimate: tile={given}: {splits} splits of k = {least:.0f}, which has {there} steps of "
                f"{step_elements(shape):g}"
            )


def _seconds(shape: KernelShape, tried: Tile, setting: Setting) -> Any:
    """The seconds of each candidate; infinite where a library has none: a split into single steps, too few rows."""
    import numpy

    none = (tried.splits > 1) & (steps(shape, tried) < 2)
    if setting.protocol.least_rows > 1 and tried.m.size > 1:  # a tile that a user fixes is taken
        none = none | (tried.m < setting.protocol.least_rows)
    return kernel_parts(shape, tried, setting).time_s + numpy.where(none, numpy.inf, 0.0)


def narrowed(shape: KernelShape, **sizes: Any) -> KernelShape:
    """The shape with other extents, its bytes and work in proportion (for what-if remarks).

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> narrowed(shape_of(matmul(1793, 64, 64).counted[0]).numbers(), m=1792.0).work == (2 * 1792 * 64 * 64.0,)
    True
    """
    ratio = {name: sizes[name] / getattr(shape, name) for name in sizes}
    m, n, k = (ratio.get(name, 1.0) for name in "mnk")
    a_bytes, b_bytes, c_bytes = shape.a_bytes * m * k, shape.b_bytes * n * k, shape.c_bytes * m * n
    rest = shape.bytes - shape.a_bytes - shape.b_bytes - shape.c_bytes
    moved = a_bytes + b_bytes + c_bytes + rest
    pieces = tuple([piece._replace(times=piece.times * moved / shape.bytes) for piece in shape.pieces])
    work = tuple([item * m * n * (k if place in shape.contracting else 1) for place, item in enumerate(shape.work)])
    return replace(
        shape, **sizes, a_bytes=a_bytes, b_bytes=b_bytes, c_bytes=c_bytes,
        bytes=moved, work=work, pieces=pieces,
    )  # fmt: skip
