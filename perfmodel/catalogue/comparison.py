"""Chips side by side: what ``machines()`` shows, as a DataFrame, and as the table of ``hardware/README.md``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.parts import Peak
from perfmodel.catalogue.words import capacity, counted_units, headline, rate
from perfmodel.showing import Table, Text, plain_dict, quantity

FORMATS = ("fp32", "fp16", "bf16", "fp8", "int8", "fp4")  # the columns of peaks
_PEAKS = "dense peaks in FLOP/s (int8: OP/s), on the matrix unit where it has the format; - is not listed"
_HEADINGS = ("id", "product", "units", "peak", "ridge, FLOP/B", "bandwidth", "memory")


class Machines(tuple[str, ...]):
    """The ids of chips, which compare and sort as text; shown, the chips side by side.

    >>> from perfmodel.catalogue import machines
    >>> print(repr(machines(kind="npu", vendor="intel")).splitlines()[2])
    gaudi2  npu   2 MMEs  -      -      432 T    865 T    -     -    2.46 TB/s  96 GiB
    """

    chips: tuple[Machine, ...]

    def __new__(cls, chips: Iterable[Machine]) -> Machines:
        found = tuple(chips)
        made = super().__new__(cls, tuple([chip.name for chip in found]))
        made.chips = found
        return made

    def __getnewargs__(self) -> tuple[tuple[Machine, ...]]:
        return (self.chips,)

    def table(self) -> Table:
        """The chips in SI units, one row each; None where a figure is unknown.

        >>> from perfmodel.catalogue import machines
        >>> machines(kind="npu", vendor="intel").table().to_dict()["bandwidth_bytes_per_s"]
        [2460000000000, 3700000000000]
        """
        facts = ("name", "vendor", "architecture", "kind", "year", "units")
        ends = ("bandwidth_bytes_per_s", "capacity_bytes", "tdp_w")
        columns = (*facts, *(f"{name}_flops_per_s" for name in FORMATS), *ends, "doubts")
        rows = [
            (*(getattr(chip, key) for key in facts), *map(_flops, _peaks(chip)), *(getattr(chip, key) for key in ends),
             len(chip.doubts))
            for chip in self.chips
        ]  # fmt: skip
        return Table("", columns, tuple(rows))

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (needs the extra ``table``), to filter and to sort.

        >>> from perfmodel.catalogue import machines
        >>> frame = machines(kind="npu").to_frame()
        >>> list(frame[frame.fp8_flops_per_s > 1.5e15].name)
        ['gaudi3']
        """
        return self.table().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data: the columns by name.

        >>> from perfmodel.catalogue import machines
        >>> machines(kind="npu", vendor="intel").to_dict()["name"]
        ['gaudi2', 'gaudi3']
        """
        return plain_dict(self.table().to_dict())

    def markdown(self) -> Text:
        """The table of ``hardware/README.md``; what is doubtful in a sheet is marked with (?).

        >>> from perfmodel.catalogue import machines
        >>> machines(vendor="example").markdown()
        | id | product | units | peak | ridge, FLOP/B | bandwidth | memory |
        | --- | --- | --- | --- | --- | --- | --- |
        | `lecture-cpu` | CPU of the course notes | 16 cores | vector fp32 768 GFLOP/s | 38.4 | 20 GB/s | unknown |
        """
        rows = [_HEADINGS, ("---",) * len(_HEADINGS), *map(_cells, self.chips)]
        return Text("\n".join(f"| {' | '.join(row)} |" for row in rows))

    def explain(self) -> Text:
        """How many chips there are, and the least and the most of each figure.

        >>> from perfmodel.catalogue import machines
        >>> print(machines(kind="npu", vendor="intel").explain().splitlines()[0])
        machines: 2 rows
        """
        return replace(self.table(), title="machines").explain()

    def __repr__(self) -> str:
        return repr(self._in_words())

    def _repr_html_(self) -> str:
        return self._in_words()._repr_html_()

    def _in_words(self) -> Table:
        columns = ("name", "kind", "units", *FORMATS, "bandwidth", "capacity")
        return Table(_PEAKS, columns, tuple([_row(chip) for chip in self.chips]))


def _peaks(chip: Machine) -> list[Peak | None]:
    return [chip.find_peak(name) for name in FORMATS]


def _flops(peak: Peak | None) -> Any:
    return None if peak is None else peak.flops_per_s


def _row(chip: Machine) -> tuple[str, ...]:
    """A chip in words."""
    rates = ["-" if peak is None else quantity(peak.flops_per_s) for peak in _peaks(chip)]
    held = "-" if chip.capacity_bytes is None else capacity(chip.capacity_bytes)
    return chip.name, chip.kind, counted_units(chip), *rates, quantity(chip.bandwidth_bytes_per_s, "B/s"), held


def _cells(chip: Machine) -> tuple[str, ...]:
    """A chip as a row of the README."""
    best, doubts = headline(chip), chip.doubts
    held = f"{capacity(chip.capacity_bytes)} {chip.memory_type}".rstrip() if chip.capacity_bytes else "unknown"
    said = {
        "units": counted_units(chip) or "unknown",
        best.label: f"{best.label} {rate(best)}",
        "ridge": f"{chip.ridge(best.format, best.unit, *best.accumulate[:1]):.1f}",
        "bandwidth_bytes_per_s": quantity(chip.bandwidth_bytes_per_s, "B/s"),
        "capacity_bytes": held,
    }
    marked = [f"{words} (?)" if name in doubts else words for name, words in said.items()]
    return (f"`{chip.name}`", chip.title, *marked)
