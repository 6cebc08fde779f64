"""``validate``: rows of measured times to programs, estimated by the library and held against the clock."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.errors import MachineError, PerfModelError
from perfmodel.estimation import estimate_many
from perfmodel.validation.cases import Case, case_of
from perfmodel.validation.results import Answer, Validation
from perfmodel.validation.rows import Unmapped, rows_of
from perfmodel.validation.tables import read_table

BELIEVED = 10  # a cache serves several times the memory's bandwidth, never so many
BOOST = 1.05  # boards clock a few percent past the clock of the sheet's peak (DeepBench's GTX 1080 Ti: 3 %)
TOO_FAST = (
    "time_us: faster than the chip can: its units at their peak take more than "
    f"{BOOST} times as long, or its memory {BELIEVED} times"
)


def validate(
    frame: Any,
    effects: str | Iterable[str] = "real",
    *,
    without: Iterable[str] = (),
    chips: Mapping[str, str] | None = None,
) -> Validation:
    """Estimates of a table's rows beside their measured times: errors by chip, op, format and regime.

    ``frame`` is a pandas DataFrame, or a path to a CSV file, with the columns gpu, op, dtype, time_us and the sizes
    of its ops (batch, m, n, k); where gpu or time_us is not there, machine and time_s are read, as sweeps write them.
    Ops are gemm, bmm, ew_add and its like, softmax, layernorm, rmsnorm, silu_mul, rope, reduce_sum, reduce_max and
    quant_fp8_static. Rows that have no estimate are counted by reason. ``chips`` names the chip where a table's word
    for it is ambiguous: {"H100-80GB": "h100-sxm"}. A time far under what peak and bandwidth allow is no time, and a
    reason. ``effects`` and ``without`` are those of ``estimate``.
    ``PerfModelError`` where the table cannot be read or lacks a column.

    >>> from pandas import DataFrame
    >>> measured = DataFrame({"gpu": ["h100-sxm", "H100"], "op": "gemm", "dtype": "bf16",
    ...                       "m": 4096, "n": 4096, "k": 4096, "time_us": [200, 200]})
    >>> found = validate(measured)
    >>> found.mapped, found.reasons
    (1, {'chip ambiguous: H100': 1})
    """
    named, rows = _named(chips), rows_of(read_table(frame))
    if not rows:
        raise PerfModelError("validate: the table has no rows, a header alone")
    answers: list[Answer] = [Answer(row) for row in rows]
    groups: dict[Any, list[tuple[int, Case]]] = defaultdict(list)
    for place, row in enumerate(rows):
        try:
            row.check_cells()
            seconds, case = row.measured_s, case_of(row, named)
        except Unmapped as why:
            answers[place] = Answer(row, reason=str(why))
            continue
        answers[place] = Answer(row, measured_s=seconds, chip=case.chip.name, regime=case.regime)
        groups[id(case.program), case.chip.name, case.protocol].append((place, case))
    for members in groups.values():
        _estimate_group(answers, members, effects, without)
    return Validation(tuple(answers))


def _named(chips: Any) -> dict[str, Machine]:
    """The machine of each name of a table; an unknown one is a ``MachineError``."""
    found = {} if chips is None else chips
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise PerfModelError(f"validate: chips={chips!r}: expected machines by name, such as {{'H100': 'h100-sxm'}}")
    return {name: machine(chip) for name, chip in found.items()}


def _estimate_group(answers: list[Answer], members: list[tuple[int, Case]], effects: Any, without: Any) -> None:
    """Fill in the estimates of rows that share a program, a chip and a protocol."""
    import numpy

    first = members[0][1]
    names = [name for name, _ in first.sizes]
    columns = numpy.array([[value for _, value in case.sizes] for _, case in members], dtype="int64").T
    sizes = dict(zip(names, columns, strict=True))
    try:
        found = estimate_many(
            first.program, first.chip, sizes, effects=effects, without=without, protocol=first.protocol
        )
    except MachineError as error:
        seconds, least, reason = [math.nan] * len(members), [0.0] * len(members), str(error)
    else:
        seconds, reason = found.time_s.tolist(), "; ".join(found.unknown)
        least = _least_s(first, sizes).tolist()
    for (place, _), value, shortest in zip(members, seconds, least, strict=True):
        impossible = answers[place].measured_s < shortest
        answers[place] = answers[place].estimated(value, reason or (TOO_FAST if impossible else ""))


def _least_s(case: Case, sizes: Mapping[str, Any]) -> Any:
    """The shortest times that are believed: compute at its peak and a little, memory served by a cache."""
    import numpy

    parts = [(kernel.parts, kernel.repeat) for kernel in estimate_many(case.program, case.chip, sizes, "ideal").kernels]
    compute, memory = [
        sum([getattr(part, name) * times for part, times in parts]) for name in ("compute_s", "memory_s")
    ]
    return numpy.maximum(compute / BOOST, memory / BELIEVED)
