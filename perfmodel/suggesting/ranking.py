"""Which candidates are suggested: those worth their distance from what is wanted, and not one beside another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.suggesting.candidates import Grid

PRICE = 0.5  # a size 1 % away is worth it where the throughput rises by more than half a per cent
ROUND = 5e-4  # a factor of two in a size, up to 128, decides where throughputs are all but equal
_MOST_TWOS = 7
_APART = 20  # suggestions are apart by a part of the range searched
_FASTER = 1.001  # on the front: by a tenth of a per cent at least


def distances(grid: Grid, sizes: Mapping[str, Any]) -> Any:
    """How far each candidate is from what is wanted: the largest relative change of a size that is wanted.

    >>> import numpy
    >>> from perfmodel.suggesting.candidates import grid_of
    >>> distances(grid_of({"n": 100}, 0.1), {"n": numpy.array([95, 102])})
    array([0.05, 0.02])
    """
    import numpy

    found = numpy.zeros(len(next(iter(sizes.values()))))
    for name, wanted in grid.wanted.items():
        if name not in grid.free:
            found = numpy.maximum(found, abs(sizes[name] - wanted) / wanted)
    return found


def scores(gain: Any, distance: Any, sizes: Mapping[str, Any]) -> Any:
    """What ranks the candidates: the logarithm of the throughput gained, less the price of the distance.

    Rounder sizes have a little more: they are whole tiles also where another chip or library takes other tiles.

    >>> import numpy
    >>> scores(numpy.array([1.0, 2.0]), numpy.array([0.0, 0.1]), {"n": numpy.array([1, 3])}).round(2)
    array([0.  , 0.64])
    """
    import numpy

    found = numpy.log(gain) - PRICE * distance
    for values in sizes.values():
        found = found + ROUND * numpy.log2(numpy.minimum(values & -values, 2**_MOST_TWOS))
    return found


def ranked(grid: Grid, sizes: Mapping[str, Any], score: Any, top: int) -> list[int]:
    """The places of the best scores, best first, passing over what stands right beside a better one.

    >>> import numpy
    >>> from perfmodel.suggesting.candidates import grid_of
    >>> grid = grid_of({"n": 1000}, 0.1)
    >>> ranked(grid, {"n": numpy.array([1000, 1001, 1024])}, numpy.array([1.0, 0.9, 0.8]), 10)
    [0, 2]
    """
    import numpy

    spans = {name: max(1, (int(axis[-1]) - int(axis[0])) // (2 * _APART)) for name, axis in grid.axes.items()}
    left = numpy.argsort(-score, kind="stable")
    chosen: list[int] = []
    while len(left) and len(chosen) < top:
        first = int(left[0])
        chosen.append(first)
        beside = numpy.ones(len(left), dtype=bool)
        for name, span in spans.items():
            reach = 0 if name in grid.free else span
            beside &= abs(sizes[name][left] - sizes[name][first]) <= reach
        left = left[~beside]
    return chosen


def front(cost: Any, gain: Any) -> list[int]:
    """The places that no other beats: each is faster, by a tenth of a per cent, than all that cost no more.

    The cost is the distance from what is wanted, or the size.

    >>> import numpy
    >>> front(numpy.array([0.0, 0.1, 0.1, 0.2]), numpy.array([1.0, 1.5, 1.2, 1.4]))
    [0, 1]
    """
    import numpy

    order = numpy.lexsort((-gain, cost))
    best = numpy.maximum.accumulate(gain[order])
    rising = numpy.concatenate([[True], best[1:] > best[:-1]])
    found: list[int] = []
    for place in order[rising].tolist():
        if not found or gain[place] > _FASTER * gain[found[-1]]:
            found.append(place)
    return found
