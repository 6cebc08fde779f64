"""Comparing programs on a machine, or machines on a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine, named_apart
from perfmodel.errors import PerfModelError
from perfmodel.estimation import Estimate, estimate
from perfmodel.estimation.times import ratio
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.showing import Table, Text, plain_dict, quantity
from perfmodel.shown import Shown

On = str | Path | Machine


@dataclass(frozen=True)
class Comparison(Shown):
    """Estimates side by side; the first is what the others are compared with.

    >>> from perfmodel import compare, elementwise, fuse
    >>> p = elementwise("relu(x*w + b)", 2**24)
    >>> [f"{e.time_s * 1e6:.2f} us" for e in compare(p, fuse(p), on="h100-sxm", effects="ideal").estimates]
    ['80.07 us', '40.04 us']
    """

    estimates: tuple[Estimate, ...]

    @property
    def speedups(self) -> tuple[Any, ...]:
        """How many times as fast as the first each one is.

        >>> from perfmodel import compare, elementwise, fuse
        >>> p = elementwise("relu(x*w + b)", 2**24)
        >>> [round(gain, 3) for gain in compare(p, fuse(p), on="h100-sxm", effects="ideal").speedups]
        [1.0, 2.0]
        """
        return tuple([ratio(self.estimates[0].time_s, item.time_s) for item in self.estimates])

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, place: int) -> Estimate:
        return self.estimates[place]

    def table(self) -> Table:
        """One row an estimate, in SI units.

        >>> from perfmodel import compare, matmul
        >>> compare(matmul(8, 8192, 8192), on=["h100-sxm", "h200-sxm"]).table().columns[:3]
        ('program', 'machine', 'kernels')
        """
        columns = ("program", "machine", "kernels", "flops", "bytes", "time_s", "bound", "speedup")
        rows = []
        for item, gain in zip(self.estimates, self.speedups, strict=True):
            counts = (len(item.kernels), item.program.flops, item.program.bytes)
            rows.append((_name(item.program), item.machine.name, *counts, item.time_s, item.bound, gain))
        return Table("", columns, tuple(rows))

    def explain(self) -> Text:
        """The table, then the working of each estimate.

        >>> from perfmodel import compare, matmul
        >>> found = compare(matmul(8, 8192, 8192), on=["h100-sxm", "h200-sxm"], effects="ideal").explain()
        >>> [line.split(",")[1] for line in found.splitlines() if "memory-bound" in line]
        [' bf16) on h100-sxm: 40.12 us', ' bf16) on h200-sxm: 28.02 us']
        """
        return Text("\n\n".join([repr(self), *[str(item.explain()) for item in self.estimates]]))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data: the columns by name.

        >>> from perfmodel import compare, matmul
        >>> compare(matmul(8, 8192, 8192), on=["h100-sxm", "h200-sxm"]).to_dict()["bound"]
        ['memory', 'memory']
        """
        return plain_dict(self.table().to_dict())

    def __repr__(self) -> str:
        rows = []
        for item, gain in zip(self.estimates, self.speedups, strict=True):
            counts = [quantity(item.program.flops, "FLOP"), quantity(item.program.bytes, "B")]
            rows.append((_name(item.program), item.machine.name, *counts, _time(item), item.bound, _gain(item, gain)))
        return repr(Table("", ("program", "machine", "work", "bytes", "time", "bound", "speed-up"), tuple(rows)))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _time(item: Estimate) -> str:
    """The seconds; "from" where a part has no known rate, so that it takes at least that."""
    if not is_concrete(item.time_s):
        return "depends"
    return f"{'from ' if item.is_least else ''}{quantity(item.time_s, 's')}"


def _gain(item: Estimate, gain: Any) -> str:
    """How many times as fast; nothing where a part has no known rate."""
    return "depends" if not is_concrete(gain) else "unknown" if item.is_least else f"{gain:.3g} x"


def _name(program: Program) -> str:
    """The program, and the steps that made it, on one line."""
    return " -> ".join([title(program), *program.history[1:]])


def compare(*programs: Program, on: On | Iterable[On], effects: Any = "real") -> Comparison:
    """Estimates of one or several programs on one or several machines, beside the first.

    Raises what ``estimate`` raises, and ``PerfModelError`` where no program or no machine is given.

    >>> from perfmodel import matmul
    >>> found = compare(matmul(8, 8192, 8192), on=["a100-sxm-80gb", "h100-sxm"], effects="ideal")
    >>> [round(gain, 2) for gain in found.speedups]
    [1.0, 1.64]
    """
    given = list(on) if isinstance(on, Iterable) and not isinstance(on, str) else [on]
    machines = named_apart([each if isinstance(each, Machine) else machine(each) for each in given])
    if not programs or not machines:
        raise PerfModelError("compare: expected at least one program and one machine: compare(p, q, on='h100-sxm')")
    return Comparison(tuple([estimate(program, item, effects=effects) for program in programs for item in machines]))
