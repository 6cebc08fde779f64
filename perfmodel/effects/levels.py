"""The on-chip levels of a kernel whose tiles nest: what each is asked for, and the rate at which it serves.

The hierarchical roofline (Ilic, Pratas and Sousa 2014, IEEE Computer Architecture Letters 13(1); Yang, Kurth and
Williams 2020, Concurrency and Computation 32(20)): each level has a ceiling of its own, bytes requested of it over
its bandwidth, beside those of compute and memory. Bytes are those that the tiles inside a level request of it, so
only tiles inside tiles have any. Assumes that all levels work at the same time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.catalogue import Machine
from perfmodel.catalogue.parts import Level
from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, is_concrete, total
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.memory import total_held
from perfmodel.showing import quantity

PREFIX = "level "  # begins the unit of a level's term, so that no level's name is taken for a compute unit


class Served(NamedTuple):
    """What a level is asked for in one run of a kernel, in bytes, and its bytes a second on the whole chip.

    >>> Served("l2", 6e12, 3e12).rate
    3000000000000.0
    """

    level: str
    bytes: Size
    rate: Any


class Levels(NamedTuple):
    """The levels that serve a kernel's tiles; those without a known rate; and remarks on tiles too large for theirs.

    >>> Levels().served
    ()
    """

    served: tuple[Served, ...] = ()
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def levels_of(count: KernelCount, machine: Machine) -> Levels:
    """The levels that a kernel's tiles name, the outermost first; none where its tiles do not nest.

    >>> from perfmodel import Machine, matmul, tile
    >>> chip = Machine(peak=1e12, bandwidth_bytes_per_s=1e10, levels={"l2": 1e11})
    >>> p = tile(tile(matmul(256, 256, 256), m=64, n=64, level="l2"), m=16, n=16)
    >>> found = levels_of(p.counted[0], chip).served[0]
    >>> found.level, found.bytes == 2 * (2 * 256**3 // 16 + 256**2), found.rate
    ('l2', True, 100000000000)
    """
    if count.nested is None:
        return Levels()
    try:
        moved = count.levels
    except DimensionError as error:
        return Levels(left_out=(f"levels inside memory: {error}",))
    known = {level.name: level for level in machine.levels}
    served, missing = [], []
    for name, transfers in list(moved.items())[1:]:
        rate = _rate(known.get(name), machine)
        if rate is None:
            listed = "no bandwidth for it" if name in known else "no such level"
            missing.append(f"{name}: {machine.name} lists {listed}")
        else:
            served.append(Served(name, total([item.bytes for item in transfers]), rate))
    return Levels(tuple(served), tuple(missing), _too_large(count, known))


def _rate(level: Level | None, machine: Machine) -> Any:
    """Bytes a second of all copies of a level together; None where a number is missing."""
    if level is None or level.bandwidth_bytes_per_s is None:
        return None
    if level.scope == "chip":
        return level.bandwidth_bytes_per_s
    return None if machine.units is None else level.bandwidth_bytes_per_s * machine.units


def _too_large(count: KernelCount, known: dict[str, Level]) -> tuple[str, ...]:
    """A remark for each level whose tile holds more than the level does; the innermost accumulates in registers."""
    remarks, by_level = [], count.held_by_level
    for name, rows in by_level:
        level = known.get(name)
        if level is None or level.capacity_bytes is None:
            continue
        aside = name == by_level[-1][0] != "registers" and "registers" in known
        held = total_held([row for row in rows if not (aside and row[0] == "accumulator")])
        if is_concrete(held) and is_concrete(level.capacity_bytes) and held > level.capacity_bytes:
            holds, has = quantity(held, "B"), quantity(level.capacity_bytes, "B")
            remarks.append(f"a tile of {name} holds {holds}, more than the {has} of {name}: it will not stay there")
    return tuple(remarks)
