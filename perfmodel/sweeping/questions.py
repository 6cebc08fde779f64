"""What a sweep asks: the program, the points, the machines and the quantities; and the answer for a block of points.

A question is a value that pickles, so that any executor can answer any block of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.errors import DimensionError, ExpressionError, LabelError, PerfModelError, brief
from perfmodel.estimation.many import BOUNDS
from perfmodel.estimation.symbolic import with_symbols
from perfmodel.graph.programs import Program
from perfmodel.sweeping.column_names import column_of
from perfmodel.sweeping.measures import TILES, columns_of, joined
from perfmodel.sweeping.points import Points, is_size
from perfmodel.sweeping.value_names import bare, label
from perfmodel.transforms import cast

DTYPE, TRANSFORM, MACHINE = "dtype", "transform", "machine"


@dataclass(frozen=True)
class Question:
    """A sweep, ready to be answered block by block.

    >>> from perfmodel import matmul
    >>> from perfmodel.sweeping.points import points_of
    >>> asked = Question(matmul("n", "n", "n"), points_of({"n": [1, 2]}), (), ("flops",))
    >>> asked.answer(0, 2)
    {'n': array([1, 2]), 'flops': array([ 2, 16])}
    """

    subject: Program | Callable[..., Program]
    points: Points
    machines: tuple[Machine, ...]
    metrics: tuple[str, ...]
    effects: Any = "real"
    protocol: Any = None
    tile: Any = None
    schedule: str = "static"

    def __len__(self) -> int:
        return len(self.points) * max(1, len(self.machines))

    def part(self, start: int, stop: int) -> Question:
        """The question of some points alone, which is what is sent to a worker.

        >>> from perfmodel import matmul
        >>> from perfmodel.sweeping.points import points_of
        >>> Question(matmul("n", "n", "n"), points_of({"n": [1, 2]}), (), ("bytes",)).part(1, 2).answer(0, 1)["n"]
        array([2])
        """
        return replace(self, points=self.points.part(start, stop))

    @property
    def machine_names(self) -> list[str]:
        """The names of the machines, each once.

        >>> from perfmodel import machine, matmul
        >>> from perfmodel.sweeping.points import points_of
        >>> Question(matmul(8, 8, 8), points_of({}), (machine("l4"), machine("l4")), ("flops",)).machine_names
        ['l4']
        """
        return list(dict.fromkeys([each.name for each in self.machines]))

    def frame(self, columns: dict[str, Any]) -> Any:
        """Columns as a DataFrame: machines and bounds, codes so far, are categories, and a tile of 0 is no number.

        >>> from perfmodel import machine, matmul
        >>> from perfmodel.sweeping.points import points_of
        >>> asked = Question(matmul("n", 8, 8), points_of({"n": [1]}), (machine("l4"),), ("bound",))
        >>> asked.frame(asked.answer(0, 1))["machine"].tolist()
        ['l4']
        """
        import pandas

        kinds = {MACHINE: self.machine_names, "bound": list(BOUNDS)}
        coded = [name for name in kinds if name in columns and name not in self.points.names]
        made = {name: pandas.Categorical.from_codes(columns[name], categories=kinds[name]) for name in coded}
        for name in set(TILES) & set(self.metrics):
            made[name] = pandas.array(columns[name], dtype="Int64")
            made[name][columns[name] == 0] = pandas.NA
        return pandas.DataFrame(columns | made, copy=False)

    def answer(self, start: int, stop: int) -> dict[str, Any]:
        """The columns for the points from start to stop as arrays: a row a point, or for each machine of a point.

        The machines of a point stand together, so that the order of rows is that of the points however they are cut
        into blocks. Machines and bounds are codes, which ``frame`` writes out.

        >>> from perfmodel import matmul
        >>> from perfmodel.sweeping.points import points_of
        >>> Question(matmul("n", "n", "n"), points_of({"n": [1, 2]}), (), ("bytes",)).answer(1, 2)["bytes"]
        array([24])
        """
        import numpy

        block = self.points.block(start, stop)
        parts = [_answered(self, block, stop - start, each) for each in self.machines or (None,)]
        if len(parts) == 1:
            return parts[0]
        return {name: numpy.stack([part[name] for part in parts], axis=1).reshape(-1) for name in parts[0]}


def _answered(asked: Question, block: dict[str, Any], count: int, chip: Machine | None) -> dict[str, Any]:
    """The columns of a block on one machine: points whose program is the same are answered together, in arrays."""
    import numpy

    parts = []
    for program, places in _programs(asked, block, count):
        sizes = {name: _taken(name, block[name], places) for name in valued(program, block)}
        found = columns_of(program, sizes, count if places is None else len(places), chip, asked)
        parts.append((places, found))
    shown = {name: _shown(values) for name, values in block.items()}
    codes = "int8" if len(asked.machines) < 128 else "int16"
    machine_column = {} if chip is None else {MACHINE: numpy.full(count, asked.machine_names.index(chip.name), codes)}
    return shown | machine_column | {column_of(name): each for name, each in joined(parts, count).items()}


def valued(program: Program, names: Iterable[str]) -> list[str]:
    """The symbols of a program, which all have to be among some names; ``LabelError`` for one that is not.

    >>> from perfmodel import matmul
    >>> valued(matmul("m", "n", 4), ["n", "m", "dtype"])
    ['m', 'n']
    """
    symbols = [each.name for each in program.symbols]
    missing = sorted(set(symbols) - set(names))
    if missing:
        raise LabelError(f"sweep: {', '.join(missing)} of {program.name} has no values; sweep it, or bind it by at()")
    return symbols


def _taken(name: str, values: Any, places: Any) -> Any:
    """The sizes at some places; ``DimensionError`` where a size is no whole number."""
    if not hasattr(values, "dtype"):
        missing = [each for each in values if each is None or each != each]
        if missing:
            raise DimensionError(f"sweep: {name} holds {missing[0]!r}, a missing value; a size is a whole number")
        bad = next((each for each in values if not is_size(each)), values[0])
        raise DimensionError(f"sweep: {name} = {brief(bad)}: a size is a whole number, and of at most 2^53 as a float")
    return values if places is None else values[places]


def _shown(values: Any) -> Any:
    """A column of the table: numbers as they are, other things by their labels."""
    import numpy

    if hasattr(values, "dtype"):
        return values
    labels = [label(each) for each in values]
    found = numpy.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def _programs(asked: Question, block: dict[str, Any], count: int) -> list[tuple[Program, Any]]:
    """The programs of a block, each with its places (None for all): one for all of the same format and transform."""
    if not isinstance(asked.subject, Program):
        points = [{name: bare(_plain(values[at])) for name, values in block.items()} for at in range(count)]
        return [(_called(asked.subject, point), [at]) for at, point in enumerate(points)]
    base = symbolic(asked.subject, block)
    choices = [name for name in (DTYPE, TRANSFORM) if name in block]
    if not choices:
        return [(base, None)]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place in range(count):
        groups.setdefault(tuple([_key(block[name][place]) for name in choices]), []).append(place)
    return [(_chosen(base, {name: block[name][places[0]] for name in choices}), places) for places in groups.values()]


def symbolic(program: Program, names: Iterable[str]) -> Program:
    """The program with a symbol for each name that is swept as a size.

    >>> from perfmodel import matmul
    >>> symbolic(matmul(8, 64, 64), ["m", "dtype"]).flops
    8192*m
    """
    others = (DTYPE, TRANSFORM)
    return with_symbols(program, [name for name in names if name not in others], "sweep", others)


def _key(value: Any) -> Any:
    """What tells values apart: themselves, or, for a mapping from tensors to formats, which object it is."""
    return value if isinstance(value, Hashable) else id(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _chosen(program: Program, choices: dict[str, Any]) -> Program:
    dtype = choices.get(DTYPE)
    if dtype is not None:
        program = cast(program, **dtype) if isinstance(dtype, Mapping) else cast(program, dtype)
    return _called(choices[TRANSFORM], {}, program) if choices.get(TRANSFORM) is not None else program


def _called(make: Any, named: dict[str, Any], *given: Program) -> Program:
    """What a function makes at a point; what it raises that is not this library's own names the point."""
    if not callable(make):
        raise ExpressionError(f"sweep: {brief(make)} is no function from sizes or a program to a program")
    try:
        found = make(*given, **named)
    except PerfModelError:
        raise
    except TypeError as error:
        raise ExpressionError(f"sweep: {_at(make, named)}: {error}") from error
    except Exception as error:  # any that a user's function raises
        raise PerfModelError(f"sweep: {_at(make, named)}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Program):
        raise PerfModelError(f"sweep: {_at(make, named)} returned {brief(found)}; expected a program")
    return found


def _at(make: Any, named: Mapping[str, Any]) -> str:
    """A call as it is written."""
    return f"{label(make)}({', '.join([f'{name}={brief(label(value))}' for name, value in named.items()])})"
