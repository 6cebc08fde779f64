"""``estimate``: formulas and a machine to a time, effect by effect; ``fits``: memory against capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.effects import roofline
from perfmodel.errors import (
    DimensionError,
    ExpressionError,
    MachineError,
    PerfModelError,
    TransformError,
    did_you_mean,
    listed,
)
from perfmodel.estimation.kernels import KernelEstimate
from perfmodel.estimation.values import Estimate
from perfmodel.expressions import Size, is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.showing import plain_dict, quantity

# The effects that the library has, in the order of the stack; what it has not is said in every estimate.
EFFECTS = ("roofline",)
NOT_BUILT = (
    "tile quantization",
    "wave quantization",
    "occupancy",
    "alignment",
    "cache reuse",
    "launch",
    "power",
)


def estimate(
    program: Program,
    on: str | Path | Machine,
    effects: str | Iterable[str] = "real",
    tile: Any = None,
    *,
    without: Iterable[str] = (),
) -> Estimate:
    """How long a program takes on a machine: an ``Estimate`` with time, bound, rates and working.

    ``effects`` is "real" (all that the library has), "ideal" (the roofline alone), or names of effects;
    ``without`` leaves some out. A machine is a name of the catalogue, a TOML file, or a ``Machine``. Raises
    ``MachineError`` for a machine and ``ExpressionError`` for an effect that does not exist.

    >>> from perfmodel import matmul
    >>> e = estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal")
    >>> e.bound, f"{e.time_s * 1e6:.1f} us"
    ('compute', '138.9 us')
    """
    _check_program(program, "estimate")
    plain = isinstance(effects, str) and effects in ("real", "ideal") and without == ()
    names = EFFECTS if plain else _chosen(effects, without)
    if tile is not None:
        raise TransformError(f"estimate: tile={tile!r}: no effect of this version uses a tile")
    found = on if isinstance(on, Machine) else machine(on)
    try:
        kernels = tuple([KernelEstimate(count, roofline(count, found)) for count in program.counted])
    except OverflowError:
        raise DimensionError(f"estimate: {program.name} on {found.name}: a time beyond what a float holds") from None
    return Estimate(program, found, kernels, names, NOT_BUILT)


def _check_program(program: Any, verb: str) -> None:
    if not isinstance(program, Program):
        raise PerfModelError(
            f"{verb}: expected a program, got {program!r}; pm.matmul(m, n, k) makes one, pm.program(y) one of tensors"
        )


def _chosen(effects: Any, without: Any) -> tuple[str, ...]:
    """The names of the effects asked for; the roofline is where every estimate starts."""
    wanted = _names(effects)
    wanted = EFFECTS if wanted in (("real",), ("ideal",)) else wanted
    dropped = _names(without)
    for name in (*wanted, *dropped):
        if name not in EFFECTS:
            raise ExpressionError(
                f"estimate: no effect {name!r}{did_you_mean(str(name), EFFECTS)}; there are {listed(EFFECTS)}, "
                "and 'ideal' and 'real' for the first and for all"
            )
    if "roofline" in dropped or "roofline" not in wanted:
        raise ExpressionError("estimate: the roofline cannot be left out: the other effects correct it")
    return tuple([name for name in EFFECTS if name in wanted and name not in dropped])


def _names(given: Any) -> tuple[Any, ...]:
    """One name or several; what is neither stands as it is, to be refused by name."""
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


@dataclass(frozen=True, slots=True)
class Fit:
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
    _check_program(program, "fits")
    found = on if isinstance(on, Machine) else machine(on)
    if found.capacity_bytes is None:
        raise MachineError(f"fits: {found.name} lists no capacity_bytes; machine.replace(capacity_bytes=...) gives one")
    return Fit(program, found, program.memory_bytes, found.capacity_bytes)
