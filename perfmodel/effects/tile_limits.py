"""What one unit can hold of a tile: a block's sums in its registers or tensor memory, its operands in shared memory.

A block keeps its whole output tile as sums in the format of the accumulator until k is done: in the register file, on
Blackwell in tensor memory (NVIDIA, PTX ISA, tcgen05); and one step of A and B at least in shared memory, which a block
may have less of than the unit (CUDA Programming Guide, compute capabilities). Figures are those of the data sheet, else
of the compute capability; what neither has sets no limit. A tile that takes a file to the last register passes, though
no library has one.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from perfmodel.catalogue import Machine
from perfmodel.catalogue.capabilities import CAPABILITIES
from perfmodel.effects.tiles import LINE_BYTES
from perfmodel.errors import CapacityError
from perfmodel.number_formats import Format
from perfmodel.showing import quantity

_SUMS = ("tensor-memory", "registers")  # the first that a chip has
_WORDS = {"registers": "registers", "tensor-memory": "tensor memory"}


class Room(NamedTuple):
    """Bytes of one unit for sums, and what they are; and for operands in flight. None where it is not known.

    >>> Room(262_144, "registers", 232_448).sums == 256 * 1024
    True
    """

    sums: int | None
    sums_in: str
    operands: int | None


def room_of(machine: Machine) -> Room:
    """What a block may have of a unit.

    >>> from perfmodel import machine
    >>> room_of(machine("h100-sxm")) == Room(4 * 65_536, "registers", 227 * 1024)
    True
    >>> room_of(machine("b200-sxm")).sums_in
    'tensor memory'
    """
    levels = {level.name: level.capacity_bytes for level in machine.levels if level.scope == "unit"}
    known = {name: size for name, size in levels.items() if isinstance(size, int)}
    limits = CAPABILITIES.get(machine.compute_capability or "")
    name = next((each for each in _SUMS if each in known), "registers")
    registers = limits.registers if limits is not None else None
    sums = known.get(name, None if registers is None else 4 * registers)
    shared = limits.shared_bytes_per_block if limits is not None else None
    return Room(sums, _WORDS[name], shared or known.get("shared"))


def check_tile(tile: tuple[int, ...] | None, machine: Machine, accumulate: Format) -> None:
    """``CapacityError`` for a tile that a user fixes and that no unit of the chip can hold.

    >>> from perfmodel import format, machine
    >>> check_tile((256, 128), machine("h100-sxm"), format("fp32"))
    >>> check_tile((4096, 4096), machine("h100-sxm"), format("fp32"))
    Traceback (most recent call last):
    perfmodel.errors.CapacityError: estimate: tile=(4096, 4096) on h100-sxm: ... the largest of such sides is (256, 256)
    """
    if tile is None:
        return
    rows, columns, room = tile[0], tile[1], room_of(machine)
    if _fits(rows, columns, accumulate, room):
        return
    if room.sums is not None and _sums(rows, columns, accumulate) > room.sums:
        needs = quantity(_sums(rows, columns, accumulate), "B")
        why = f"a block's sums, {rows} x {columns} in {accumulate.name}, take {needs}"
        why += f", and one {machine.unit_name} has {quantity(room.sums, 'B')} of {room.sums_in} for them"
    else:
        needs, there = quantity(_operands(rows, columns), "B"), quantity(room.operands or 0, "B")
        why = f"a step of {LINE_BYTES} B along k of {rows} + {columns} rows and columns takes {needs}, and a block "
        why += f"has {there} of shared memory"
    raise CapacityError(
        f"estimate: tile={tile} on {machine.name}: {why}; the largest of such sides is "
        f"{_largest(rows, columns, accumulate, room)}"
    )


def _sums(rows: int, columns: int, accumulate: Format) -> int:
    return int(rows * columns * accumulate.bits // 8)


def _operands(rows: int, columns: int) -> int:
    return (rows + columns) * LINE_BYTES


def _fits(rows: int, columns: int, accumulate: Format, room: Room) -> bool:
    sums = room.sums is None or _sums(rows, columns, accumulate) <= room.sums
    return sums and (room.operands is None or _operands(rows, columns) <= room.operands)


def _largest(rows: int, columns: int, accumulate: Format, room: Room) -> tuple[int, int]:
    """The most elements within the given sides, of powers of two and the sides themselves; the squarest of equals."""
    powers = [2**power for power in range(21)]
    sides = [[side for side in powers if side < most] + [most] for most in (rows, columns)]
    fitting = [pair for pair in product(*sides) if _fits(pair[0], pair[1], accumulate, room)]
    return max(fitting, key=lambda pair: (pair[0] * pair[1], -abs(pair[0] - pair[1])))
