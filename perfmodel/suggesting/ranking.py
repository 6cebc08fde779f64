"""Which candidates are suggested: those worth their distance from what is wanted.

The worth of a candidate is the throughput that it has over what is wanted, less half its distance. Candidates rank by
their worth and, for each factor of two in a size, up to 128, 0.0005 more: of those worth all but the same the aligned
one comes first, which is whole tiles also where another chip or library takes other tiles. A size whose rows start off
16 bytes ranks 0.01 lower, since what such rows cost is measured on few chips. One is passed over only where a neighbour
that ranks before it, and is no less aligned, is worth the same within a tenth of a per cent; a whole one where the
neighbour's rows start at 16 bytes and its own do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.suggesting.candidates import Grid

PRICE = 0.5  # a size 1 % away is worth it where the throughput rises by more than half a per cent
ROUND = 5e-4  # a factor of two in a size, up to 128, decides where throughputs are all but equal
SAME = 1e-3  # of the throughput: what is worth the same
OFF = 1e-2  # what rows off 16 bytes have to gain: estimates are not known to be nearer than that where rows are odd
_MOST_TWOS = 7
_APART = 40  # neighbours are as near as a part of the range searched
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


def worths(gain: Any, distance: Any) -> Any:
    """What candidates are worth: the throughput over that of what is wanted, less half the distance.

    >>> worths(1.5, 0.02)
    1.49
    """
    return gain - PRICE * distance


def aligned(sizes: Mapping[str, Any]) -> Any:
    """The factors of two in the sizes, up to 128 in each.

    >>> import numpy
    >>> aligned({"n": numpy.array([1, 24, 512])})
    array([0., 3., 7.])
    """
    import numpy

    found: Any = 0.0
    for values in sizes.values():
        found = found + numpy.log2(numpy.minimum(values & -values, 2**_MOST_TWOS))
    return found


def scores(gain: Any, distance: Any, sizes: Mapping[str, Any], off: Any = False) -> Any:
    """What ranks the candidates: their worth, and 0.0005 for each factor of two in a size; 0.01 less for ``off`` rows.

    >>> import numpy
    >>> scores(numpy.array([1.0, 1.0]), numpy.array([0.0, 0.1]), {"n": numpy.array([1, 4])}, numpy.array([True, False]))
    array([0.99 , 0.951])
    """
    return worths(gain, distance) + ROUND * aligned(sizes) - OFF * off


def ranked(grid: Grid, sizes: Mapping[str, Any], gain: Any, distance: Any, top: int, off: Any = None) -> list[int]:
    """The places of the best, best first, without those that a neighbour before them stands for.

    A neighbour stands for what is worth the same and no better aligned; ``off`` says whose rows start off 16 bytes.

    >>> import numpy
    >>> from perfmodel.suggesting.candidates import grid_of
    >>> grid = grid_of({"n": 1000}, 0.1)
    >>> ranked(grid, {"n": numpy.array([1000, 1001, 1002])}, numpy.array([1.0, 1.0, 1.1]), numpy.zeros(3), 10)
    [2, 0]
    """
    import numpy

    spans = {name: max(1, (int(axis[-1]) - int(axis[0])) // _APART) for name, axis in grid.axes.items()}
    worth, twos = worths(gain, distance), aligned(sizes)
    odd = numpy.zeros(len(gain), dtype=bool) if off is None else off
    left = numpy.argsort(-scores(gain, distance, sizes, odd), kind="stable")
    chosen: list[int] = []
    while len(left) and len(chosen) < top:
        first = int(left[0])
        chosen.append(first)
        near = numpy.where(odd[left] & ~odd[first], OFF, SAME)
        same = (abs(worth[left] - worth[first]) <= near * gain[first]) & (twos[left] <= twos[first])
        for name, span in spans.items():
            same &= abs(sizes[name][left] - sizes[name][first]) <= (0 if name in grid.free else span)
        left = left[~same]
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
