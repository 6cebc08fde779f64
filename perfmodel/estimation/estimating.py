"""``estimate``: formulas and a machine to a time, effect by effect; ``fits``: memory against capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy

from perfmodel.catalogue import Machine, machine
from perfmodel.effects import roofline
from perfmodel.effects.chips import lacking
from perfmodel.effects.protocols import Protocol, protocol as known_protocol
from perfmodel.effects.stack import NAMES
from perfmodel.effects.stream_k import STATIC, checked_schedule
from perfmodel.effects.tiles import checked_tile
from perfmodel.errors import DimensionError, MachineError, PerfModelError, listed
from perfmodel.estimation.kernels import KernelEstimate
from perfmodel.estimation.names import checked_program, names_of
from perfmodel.estimation.stacking import stacked
from perfmodel.estimation.values import Estimate
from perfmodel.expressions import Size, as_expression, is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.programs import Program
from perfmodel.showing import Text, plain_dict, quantity
from perfmodel.shown import Explained

# What no effect models yet.
NEVER = ("reads against the order of storage", "heat", "which kernel a library really takes")
BEYOND_SIZES = "every effect beyond the roofline, which needs sizes: bind the symbols with p.at(...)"
BEYOND_CHIP = "every effect beyond the roofline: {}"


def estimate(
    program: Program,
    on: str | Path | Machine,
    effects: str | Iterable[str] = "real",
    tile: Any = None,
    *,
    without: Iterable[str] = (),
    protocol: str | Protocol | None = None,
    schedule: str = STATIC,
) -> Estimate:
    """How long a program takes on a machine: an ``Estimate`` with time, bound, rates and working.

    ``effects`` is "real" (all that the library has), "ideal" (the roofline alone), or names of effects;
    ``without`` leaves some out. The tile of a contraction is chosen among those that a library has, or is ``tile``:
    (rows, columns) of a block's output, and perhaps the splits of k. ``protocol`` says what a measurement's loop
    leaves in cache (nothing where None); ``schedule`` whether a unit is dealt whole tiles ("static") or an equal share
    of their steps ("stream-k": Osama et al. 2023). A machine is a name of the catalogue, a TOML file, or a ``Machine``.
    Raises ``MachineError`` for a machine and ``ExpressionError`` for an effect that does not exist.

    >>> from perfmodel import matmul
    >>> e = estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal")
    >>> e.bound, f"{e.time_s * 1e6:.1f} us"
    ('compute', '138.9 us')
    """
    checked_program(program, "estimate")
    names, how, given = names_of(effects, without), known_protocol(protocol), checked_tile(tile)
    found, dealt = on if isinstance(on, Machine) else machine(on), checked_schedule(schedule, given)
    try:
        kernels = tuple([_kernel(count, found, names, how, given, dealt) for count in program.counted])
    except OverflowError:
        raise DimensionError(f"estimate: {program.name} on {found.name}: a time beyond what a float holds") from None
    left_out = _left_out(program, kernels, names, found)
    if given is not None and not any(item.real is not None and item.real.tile is not None for item in kernels):
        left_out += (f"tile={given}: no kernel of {program.name} has a tile on {found.name} with these effects",)
    return Estimate(program, found, kernels, names, left_out, how, dealt)


def _kernel(
    count: KernelCount, found: Machine, names: tuple[str, ...], how: Protocol, given: tuple[int, ...] | None, dealt: str
) -> KernelEstimate:
    terms = roofline(count, found)
    return KernelEstimate(count, terms, stacked(count, terms, found, names, how, given, dealt))


def _left_out(
    program: Program, kernels: tuple[KernelEstimate, ...], names: tuple[str, ...], found: Machine
) -> tuple[str, ...]:
    """What the estimate does not model: effects not asked for, and those that do not apply."""
    missing = [text for item in kernels for text in item.roofline.left_out]
    missing += [name for name in NAMES if name not in names]
    reasons = [text for item in kernels if item.real is not None for text in item.real.left_out]
    if len(names) > 1 and any(item.real is None for item in kernels):
        lacks = lacking(found)
        reasons += [BEYOND_SIZES] if program.symbols else [BEYOND_CHIP.format(lacks)] if lacks else []
    return tuple(
        dict.fromkeys([*missing, *reasons, *(NEVER if any(item.real is not None for item in kernels) else ())])
    )


@dataclass(frozen=True, slots=True)
class Fit(Explained):
    """Whether a program's memory fits a machine: true or false, with what it needs and what there is.

    >>> from perfmodel import fits, matmul
    >>> bool(fits(matmul(4096, 4096, 4096), "h100-sxm"))
    True
    """

    program: Program
    machine: Machine
    needed_bytes: Size
    capacity_bytes: Any

    def __bool__(self) -> bool:
        for what, value in (("memory", self.needed_bytes), ("capacity", self.capacity_bytes)):
            if not is_concrete(value):
                raise PerfModelError(f"fits: the {what} is a formula ({value} B); bind its symbols with p.at(...)")
        return bool(self.needed_bytes <= self.capacity_bytes)

    @property
    def headroom_bytes(self) -> Any:
        """What is left (negative where it does not fit).

        >>> from perfmodel import fits, matmul
        >>> fits(matmul(4096, 4096, 4096), "h100-sxm").headroom_bytes == 80 * 2**30 - 3 * 2 * 4096**2
        True
        """
        return self.capacity_bytes - self.needed_bytes

    def explain(self) -> Text:
        """What is held while most is, tensor by tensor, against what there is.

        >>> from perfmodel import fits, matmul
        >>> fits(matmul(4096, 4096, 4096), "h100-sxm").explain()
        matmul(m=4096 n=4096 k=4096, bf16) in the memory of h100-sxm: fits
          input A               33.55 MB
          input B               33.55 MB
          output C              33.55 MB
          while 'matmul' runs   100.7 MB
          capacity              85.9 GB
          left                  85.8 GB
        """
        known = is_concrete(self.needed_bytes) and is_concrete(self.capacity_bytes)
        verdict = (": fits" if self else ": does not fit") if known else ""
        rows = list(self.program.memory().rows)
        kernels = dict.fromkeys([kernel for kernel, *_ in rows])
        lines = [(f"{role} {tensor}", held) for _, role, tensor, held in rows]
        lines += [(f"while {listed([repr(name) for name in kernels])} runs", self.needed_bytes)]
        short = bool(verdict) and not self
        lines += [("capacity", self.capacity_bytes)]
        lines += [("short of", -self.headroom_bytes) if short else ("left", self.headroom_bytes)]
        width = max([len(what) for what, _ in lines])
        shown = [f"  {what:{width}}   {quantity(value, 'B')}" for what, value in lines]
        return Text("\n".join([f"{title(self.program)} in the memory of {self.machine.name}{verdict}", *shown]))

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data; ``fits`` is None where the memory is a formula.

        >>> from perfmodel import fits, matmul
        >>> fits(matmul(16, 16, 16), "h100-sxm").to_dict()
        {'fits': True, 'needed_bytes': 1536, 'capacity_bytes': 85899345920}
        """
        known = is_concrete(self.needed_bytes) and is_concrete(self.capacity_bytes)
        return plain_dict(
            {
                "fits": bool(self) if known else None,
                "needed_bytes": self.needed_bytes,
                "capacity_bytes": self.capacity_bytes,
            }
        )

    def _repr_latex_(self) -> str:
        needed, there = (sympy.latex(as_expression(each)) for each in (self.needed_bytes, self.capacity_bytes))
        return f"${needed} \\le {there}\\,\\mathrm{{B}}$"

    def __repr__(self) -> str:
        needed, there = quantity(self.needed_bytes, "B"), quantity(self.capacity_bytes, "B")
        known = is_concrete(self.needed_bytes) and is_concrete(self.capacity_bytes)
        verdict = f"{bool(self)}: " if known else ""
        return f"fits({title(self.program)}, {self.machine.name!r})\n# {verdict}needs {needed} of {there}"


def fits(program: Program, on: str | Path | Machine) -> Fit:
    """Whether the most memory that a program holds at once fits the machine's: counts as true or false.

    >>> from perfmodel import matmul
    >>> fits(matmul(200_000, 200_000, 200_000), "h100-sxm")
    fits(matmul(m=200000 n=200000 k=200000, bf16), 'h100-sxm')
    # False: needs 240 GB of 85.9 GB
    """
    checked_program(program, "fits")
    found = on if isinstance(on, Machine) else machine(on)
    if found.capacity_bytes is None:
        raise MachineError(f"fits: {found.name} lists no capacity_bytes; machine.replace(capacity_bytes=...) gives one")
    return Fit(program, found, program.memory_bytes, found.capacity_bytes)
