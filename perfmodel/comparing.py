"""Comparing programs on a machine, or machines on a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.errors import PerfModelError
from perfmodel.estimation import Estimate, estimate
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.showing import Table, plain_dict, quantity

On = str | Path | Machine


@dataclass(frozen=True)
class Comparison:
    """Estimates side by side; the first is what the others are compared with."""

    estimates: tuple[Estimate, ...]

    @property
    def speedups(self) -> tuple[Any, ...]:
        """How many times as fast as the first each one is."""
        return tuple([self.estimates[0].time_s / item.time_s for item in self.estimates])

    def table(self) -> Table:
        """One row an estimate, in SI units."""
        columns = ("program", "machine", "kernels", "flops", "bytes", "time_s", "bound", "speedup")
        rows = []
        for item, gain in zip(self.estimates, self.speedups, strict=True):
            counts = (len(item.kernels), item.program.flops, item.program.bytes)
            rows.append((_name(item.program), item.machine.name, *counts, item.time_s, item.bound, gain))
        return Table("", columns, tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return plain_dict(self.table().to_dict())

    def __repr__(self) -> str:
        rows = []
        for item, gain in zip(self.estimates, self.speedups, strict=True):
            counts = [quantity(item.program.flops, "FLOP"), quantity(item.program.bytes, "B")]
            gain_text = f"{gain:.3g} x" if is_concrete(gain) else str(gain)
            rows.append((_name(item.program), item.machine.name, *counts, quantity(item.time_s, "s"),
                         item.bound, gain_text))  # fmt: skip
        return repr(Table("", ("program", "machine", "work", "bytes", "time", "bound", "speed-up"), tuple(rows)))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _name(program: Program) -> str:
    """The program, and the steps that made it, on one line."""
    return " -> ".join([title(program), *program.history[1:]])


def compare(*programs: Program, on: On | Iterable[On], effects: Any = "real") -> Comparison:
    """Estimates of one or several programs on one or several machines, beside the first.

    >>> from perfmodel import elementwise, fuse
    >>> p = elementwise("relu(x*w + b)", 2**24)
    >>> [round(gain, 3) for gain in compare(p, fuse(p), on="h100-sxm").speedups]
    [1.0, 2.0]
    """
    machines = [on] if isinstance(on, str | Path | Machine) else list(on)
    if not programs or not machines:
        raise PerfModelError("compare: expected at least one program and one machine: compare(p, q, on='h100-sxm')")
    return Comparison(tuple([estimate(program, item, effects=effects) for program in programs for item in machines]))
