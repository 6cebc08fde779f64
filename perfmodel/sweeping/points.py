"""The points of a sweep: the product of some axes, or the rows of a table, block by block and never all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from perfmodel.errors import DimensionError, LabelError, PerfModelError, brief
from perfmodel.sweeping.value_names import named_values

MOST_POINTS = 2**53


@dataclass(frozen=True, eq=False)
class Points:
    """Axes by name, whose product is walked with the last axis fastest; or, ``zipped``, columns walked together.

    >>> points = points_of({"n": [1, 2, 3], "k": [64, 128]})
    >>> len(points), points.block(2, 4)
    (6, {'n': array([2, 2]), 'k': array([ 64, 128])})
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]  # for each name a range or an array of whole numbers, or a tuple of other things
    zipped: bool = False

    def __len__(self) -> int:
        if not self.values:
            return 1
        return len(self.values[0]) if self.zipped else prod([len(each) for each in self.values])

    def block(self, start: int, stop: int) -> dict[str, Any]:
        """The values of each name at the points from start to stop: arrays of whole numbers, lists of other things.

        >>> points_of({"n": range(1, 4)}).block(1, 3)["n"]
        array([2, 3])
        """
        import numpy

        if self.zipped:
            return {name: _slice(values, start, stop) for name, values in zip(self.names, self.values, strict=True)}
        places = numpy.arange(start, stop)
        found, inner = {}, len(self)
        for name, values in zip(self.names, self.values, strict=True):
            inner //= len(values)
            found[name] = _taken(values, places // inner % len(values))
        return found

    @property
    def columns(self) -> dict[str, Any]:
        """The arrays of a table's columns; none where the points are a product, or not all whole numbers.

        >>> points_of({"n": [1, 2], "k": [64, 128]}, zipped=True).columns
        {'n': array([1, 2]), 'k': array([ 64, 128])}
        """
        if not self.zipped or not all(hasattr(each, "dtype") for each in self.values):
            return {}
        return dict(zip(self.names, self.values, strict=True))

    def sized(self, but: Iterable[str] = ()) -> Points:
        """The points with whole numbers where whole floats stand, exactly; not those of some names.

        >>> points_of({"n": [64.0, 65.0], "m": [0.5]}).sized().values
        (array([64, 65]), (0.5,))
        """
        pairs = zip(self.names, self.values, strict=True)
        return replace(self, values=tuple([values if name in but else _sizes(values) for name, values in pairs]))

    @property
    def canonical(self) -> Points:
        """The points in the one form that tells them from others: steps that are even are a range, however given.

        >>> points_of({"n": [8, 10, 12]}).canonical.values, points_of({"n": range(8, 13, 2)}).canonical.values
        ((range(8, 14, 2),), (range(8, 14, 2),))
        """
        return replace(self, values=tuple([_even(each) for each in self.values]))

    def named(self) -> Points:
        """The points with a name for each function that has none, by its place.

        >>> points_of({"transform": [lambda p: p]}).named().values[0][0].name
        'transform 1'
        """
        pairs = zip(self.names, self.values, strict=True)
        return replace(self, values=tuple([named_values(*each) if isinstance(each[1], tuple) else each[1]
                                           for each in pairs]))  # fmt: skip

    def part(self, start: int, stop: int) -> Points:
        """The points from start to stop alone.

        >>> points_of({"n": range(1, 9), "k": [1, 2]}).part(3, 5).block(0, 2)
        {'n': array([2, 3]), 'k': array([2, 1])}
        """
        block = self.block(start, stop)
        values = tuple([each if hasattr(each, "dtype") else tuple(each) for each in block.values()])
        return Points(self.names, values, zipped=True)


def is_size(value: Any) -> bool:
    """Whether a value is a whole number: an int, or a float that is whole and told apart from its neighbours.

    >>> is_size(64), is_size(64.0), is_size(64.5), is_size(2.0**60), is_size(True)
    (True, True, False, False, False)
    """
    if type(value) is int:
        return abs(value) < 2**63
    return type(value) is float and abs(value) <= MOST_POINTS and value.is_integer()


def _sizes(values: Any) -> Any:
    """An array of whole numbers, where all of a tuple are sizes."""
    import numpy

    if not isinstance(values, tuple) or not all(is_size(each) for each in values):
        return values
    return numpy.array([int(each) for each in values], dtype="int64")


def _even(values: Any) -> Any:
    """A range in place of whole numbers of one step; other values as they are."""
    if isinstance(values, tuple):
        return values
    step = int(values[1]) - int(values[0]) if len(values) > 1 else 1
    even = isinstance(values, range) or bool((values[1:] - values[:-1] == step).all())
    return range(int(values[0]), int(values[-1]) + step, step) if even and step else values


def _slice(values: Any, start: int, stop: int) -> Any:
    import numpy

    return _taken(values, numpy.arange(start, stop)) if isinstance(values, range) else values[start:stop]


def _taken(values: Any, places: Any) -> Any:
    if isinstance(values, range):
        return values.start + values.step * places
    return values[places] if hasattr(values, "dtype") else [values[place] for place in places.tolist()]


def points_of(given: Any, zipped: bool = False) -> Points:
    """The points of a mapping from names to values, or of a DataFrame, whose rows are points.

    One value stands for a list of one. Values are taken in the order given, however often each is. ``DimensionError``
    for an axis without values, ``LabelError`` for a name that is no text, ``PerfModelError`` for what is neither.

    >>> len(points_of({"n": range(128, 8193), "dtype": ["bf16", "fp8_e4m3"]}))
    16130
    """
    if hasattr(given, "columns") and hasattr(given, "iloc"):
        names = _names([str(name) for name in given.columns])
        columns, zipped = [given.iloc[:, place].to_numpy() for place in range(len(names))], True
    elif isinstance(given, Mapping):
        names, columns = _names(given), list(given.values())
    else:
        raise PerfModelError(
            f"sweep: points = {brief(given)}: expected a mapping such as {{'n': range(8, 64)}}, or a DataFrame"
        )
    values = tuple([_sequence(name, each) for name, each in zip(names, columns, strict=True)])
    if zipped and len({len(each) for each in values}) > 1:
        lengths = ", ".join(f"{name} has {len(each)}" for name, each in zip(names, values, strict=True))
        raise DimensionError(f"sweep: zipped axes are of one length: {lengths}")
    found = Points(names, _copied(values), zipped)
    if not zipped and prod([len(each) for each in values]) > MOST_POINTS:
        raise DimensionError("sweep: more than 2^53 points")
    return found


def _names(keys: Iterable[Any]) -> tuple[str, ...]:
    """The names of axes or columns, each once: text and a symbol of one name are one name."""
    names = [getattr(key, "name", key) for key in keys]
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise LabelError(f"sweep: axes are named by text or symbols, got {brief(name)}")
        if name in names[:place]:
            raise LabelError(f"sweep: {name!r} is there twice: each name has one axis, or column")
    return tuple(names)


def _sequence(name: str, values: Any) -> Any:
    """The values of an axis: an array where all are whole numbers, else a tuple; one value is one of its kind."""
    import numpy

    if isinstance(values, range):
        found: Any = _range(name, values)
    elif getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u") and getattr(values, "ndim", 1) == 1:
        if values.dtype.kind == "u" and len(values) and values.max() >= 2**63:
            raise DimensionError(f"sweep: {name} holds a number beyond 2^63")
        found = numpy.asarray(values, dtype="int64")
    elif isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        found = (values,)
    else:
        found = tuple([_plain(each) for each in values])
    if len(found) == 0:
        raise DimensionError(f"sweep: {name} has no values")
    if isinstance(found, tuple) and all(type(each) is int for each in found):
        try:
            return numpy.array(found, dtype="int64")
        except OverflowError:
            raise DimensionError(f"sweep: {name} holds a number beyond 2^63") from None
    return found


def _copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, arrays copied: those of one length into one block, which is faster to come by than several."""
    import numpy

    arrays = [each for each in values if hasattr(each, "dtype")]
    lengths = {len(each) for each in arrays}
    copies = iter(numpy.array(arrays) if len(lengths) == 1 else [numpy.array(each) for each in arrays])
    return tuple([next(copies) if hasattr(each, "dtype") else each for each in values])


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's own."""
    return value.item() if hasattr(value, "dtype") and not getattr(value, "ndim", 1) else value


def _range(name: str, values: range) -> range:
    """A range stays one, so that it takes no memory however long it is."""
    if values and max(abs(values[0]), abs(values[-1])) > MOST_POINTS:
        raise DimensionError(f"sweep: {name} = {values!r} goes beyond 2^53")
    return values
