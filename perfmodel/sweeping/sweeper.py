"""``sweep``: any quantities of a program over sizes, formats, transforms and machines, as a tidy table."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine, named_apart
from perfmodel.effects import protocol as known_protocol
from perfmodel.effects.stream_k import checked_schedule
from perfmodel.effects.tiles import checked_tile
from perfmodel.errors import LabelError, PerfModelError, brief
from perfmodel.estimation.names import names_of
from perfmodel.estimation.naming_apart import check_apart
from perfmodel.graph.programs import Program
from perfmodel.sweeping.column_names import column_of, quantities_of
from perfmodel.sweeping.measures import checked_metrics
from perfmodel.sweeping.points import points_of
from perfmodel.sweeping.progress import Progress
from perfmodel.sweeping.questions import DTYPE, MACHINE, TRANSFORM, Question, symbolic, valued

BLOCK = 65_536  # points answered at a time: some tens of megabytes
MOST_ROWS = 10**8  # of one table in memory
_IN_FLIGHT = 64  # blocks handed to an executor before the first is waited for


def sweep(
    subject: Program | Callable[..., Program],
    points: Any,
    on: Any = None,
    metrics: str | Iterable[str] | None = None,
    *,
    effects: Any = "real",
    protocol: Any = None,
    tile: Any = None,
    schedule: str = "static",
    zipped: bool = False,
    executor: Any = None,
    progress: bool | None = None,
    block: int = BLOCK,
) -> Any:
    """A pandas DataFrame with a row for each point and machine: the point, and the quantities there, in SI units.

    Rows stand in the order of the points, the last axis fastest, and at each point in that of the machines, whatever
    ``block`` and ``executor`` are. ``points`` maps names to values, whose product is taken (with ``zipped`` they go
    together), or is a DataFrame of points. A name is a symbol of the program, a label where it holds ints, "dtype"
    (formats to cast to) or "transform" (functions from program to program). ``subject`` may be a function of the names
    instead: it is called for each point, which takes half a millisecond or more a point, where a program in symbols
    takes microseconds. ``on`` is a machine or several; without one there are counts alone. ``metrics`` are flops,
    bytes, intensity (in the column intensity_flops_per_byte), memory_bytes, footprint_bytes, time_s, ideal_time_s,
    flops_per_s, bound, tile_m, ...; ``effects``, ``protocol``, ``tile`` and ``schedule`` are those of ``estimate``
    (``is_least`` says where a work has no known rate, and is left out; ``tile_m`` is the tile that the estimate chose,
    and <NA> where it chose none: no contraction, no GPU, or a program that has tiles of its own). ``executor`` is any
    of ``concurrent.futures`` or with its ``submit``; a bar shows progress on a terminal. What does not fit in memory
    goes to files: ``sweep_to``.

    Sizes are whole numbers, as ints or as floats. ``PerfModelError`` for what cannot be asked, with the point at which
    a function fails; ``LabelError`` for a size named like a column of the answer (flops, time_s).

    >>> from perfmodel import matmul
    >>> sweep(matmul("n", "n", "n"), {"n": [64, 65]}, metrics="bytes")
        n  bytes
    0  64  24576
    1  65  25350
    """
    asked = question(subject, points, on, metrics, effects, protocol, tile, zipped, schedule)
    if len(asked) > MOST_ROWS:
        raise PerfModelError(f"sweep: {len(asked)} rows are more than memory holds; pm.sweep_to writes them to files")
    shown = Progress(len(asked), progress)
    return asked.frame(_together(asked, answers(asked, block, executor, shown)))


def _together(asked: Question, parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The columns of all blocks, written as they come; those of the points stay what they are where each is one row."""
    whole = asked.points.columns if len(asked.machines) <= 1 else {}
    found: dict[str, Any] = dict(whole)
    start, kept = 0, set(found)
    for part in parts:
        stop = start + len(next(iter(part.values())))
        for name, values in part.items():
            if name not in kept:
                found[name] = _holding(found.get(name), values.dtype, len(asked))
                found[name][start:stop] = values
        start = stop
    return found


def _holding(column: Any, dtype: Any, count: int) -> Any:
    """A column that holds values of a dtype beside those that it has."""
    import numpy

    if column is None:
        return numpy.empty(count, dtype)
    return column if column.dtype == dtype else column.astype(numpy.result_type(column.dtype, dtype))


def question(
    subject: Any,
    points: Any,
    on: Any,
    metrics: Any,
    effects: Any = "real",
    protocol: Any = None,
    tile: Any = None,
    zipped: bool = False,
    schedule: str = "static",
) -> Question:
    """What is asked, checked: names that the program has, machines and quantities that there are.

    >>> from perfmodel import matmul
    >>> question(matmul("n", "n", "n"), {"n": [64]}, None, None).metrics
    ('flops', 'bytes', 'intensity')
    """
    found = points_of(points, zipped).named()
    chips = named_apart([each if isinstance(each, Machine) else machine(each) for each in _several(on)])
    if on is not None and not chips:
        raise PerfModelError(f"sweep: on={brief(on)} holds no machine; without on= there are counts alone")
    if MACHINE in found.names:
        raise LabelError("sweep: machines are swept by on=[...], not as an axis")
    if isinstance(subject, Program):
        valued(symbolic(subject, found.names), found.names)
        found = found.sized((DTYPE, TRANSFORM))
    elif not callable(subject):
        raise PerfModelError(f"sweep: expected a program, or a function that makes one, got {brief(subject)}")
    names = checked_metrics(quantities_of(metrics), bool(chips))
    check_apart("sweep", found.names, map(column_of, names))
    how, given = known_protocol(protocol), checked_tile(tile)
    return Question(subject, found, chips, names, names_of(effects), how, given, checked_schedule(schedule, given))


def _several(on: Any) -> list[Any]:
    if on is None:
        return []
    return [on] if isinstance(on, (str, Path, Machine)) or not isinstance(on, Iterable) else list(on)


def answers(asked: Question, block: int, executor: Any, shown: Progress) -> Iterator[dict[str, Any]]:
    """The answers of the blocks of a question, in order, by an executor where one is given.

    >>> from perfmodel import matmul
    >>> asked = question(matmul("n", "n", "n"), {"n": [1, 2, 3]}, None, "flops")
    >>> [part["flops"] for part in answers(asked, 2, None, Progress(3, False))]
    [array([ 2, 16]), array([54])]
    """
    checked_block(block)
    spans = [(start, min(start + block, len(asked.points))) for start in range(0, len(asked.points), block)]
    return run_spans(asked, spans, executor, shown)


def checked_block(block: Any) -> int:
    """That a block is a number of points.

    >>> checked_block(1000)
    1000
    """
    if type(block) is not int or block < 1:
        raise PerfModelError(f"sweep: block={brief(block)}: expected a positive number of points")
    return block


def run_spans(
    asked: Question, spans: list[tuple[int, int]], executor: Any, shown: Progress
) -> Iterator[dict[str, Any]]:
    """The answers of some spans of points, in order, noting each as it is done.

    >>> from perfmodel import matmul
    >>> asked = question(matmul("n", "n", "n"), {"n": [1, 2, 3]}, None, "flops")
    >>> [part["flops"] for part in run_spans(asked, [(1, 3)], None, Progress(3, False))]
    [array([16, 54])]
    """
    each = max(1, len(asked.machines))
    for (start, stop), part in zip(spans, _run(asked, spans, executor), strict=True):
        shown.add((stop - start) * each)
        yield part


def _run(asked: Question, spans: list[tuple[int, int]], executor: Any) -> Iterator[dict[str, Any]]:
    if executor is not None and not hasattr(executor, "submit"):
        raise PerfModelError(f"sweep: executor={brief(executor)} has no submit(); expected one of concurrent.futures")
    if executor is None:
        for start, stop in spans:
            yield asked.answer(start, stop)
        return
    waiting: deque[Any] = deque()
    try:
        for start, stop in spans:
            part = asked.part(start, stop)
            waiting.append((part, _submitted(executor, part, stop - start)))
            if len(waiting) >= _IN_FLIGHT:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())
    finally:  # where one fails, or nobody waits any more, the rest need not be done
        for _, each in waiting:
            each.cancel()


def _submitted(executor: Any, part: Question, count: int) -> Any:
    try:
        return executor.submit(part.answer, 0, count)
    except RuntimeError as error:  # it is shut down, or a worker of it died
        raise PerfModelError(f"sweep: executor={brief(executor)} takes no work: {error}") from error


def _result(part: Question, future: Any) -> Any:
    """What a worker answers; ``PerfModelError`` where the question cannot be sent to it, or the worker is gone."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise PerfModelError(f"sweep: the executor broke off: {error or 'cancelled'}") from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        try:
            pickle.dumps(part)
        except Exception as why:
            raise PerfModelError(
                f"sweep: what is asked cannot be sent to another process ({why}): a function has to be a def at the "
                "top of a module, no lambda and not within another function; or take a ThreadPoolExecutor"
            ) from error
        raise
