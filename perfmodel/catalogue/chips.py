"""The machine: the facts of one chip, and what a model asks of them.

h = pm.machine("h100-sxm")                                       from the catalogue
h.peak("bf16"), h.bandwidth_bytes_per_s, h.ridge("bf16")         FLOP/s, B/s, FLOP/B
h.replace(bandwidth_bytes_per_s=2 * h.bandwidth_bytes_per_s)     a what-if
pm.Machine(peak=400e12, bandwidth_bytes_per_s=3e12)              one of your own, in numbers or symbols
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from perfmodel.catalogue.building import Rates, arguments, changed, checked, checked_name, facts_from
from perfmodel.catalogue.given_levels import with_levels
from perfmodel.catalogue.parts import ANY, UNITS, Clocks, Figure, Level, Peak, Quantity, Source
from perfmodel.catalogue.what_ifs import what_if_name
from perfmodel.catalogue.words import as_dict, as_html, explanation, missing_peak, summary
from perfmodel.errors import MachineError, brief, did_you_mean, listed
from perfmodel.number_formats import Format, format as number_format
from perfmodel.showing import Text


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Machine:
    """One chip: dense peaks by unit, format and accumulator, memory, on-chip levels, units, clocks.

    Made by hand it takes ``peak`` (FLOP/s: a number that serves every unit and format, or a mapping
    from "bf16", "matrix bf16" or ("matrix", "bf16") to numbers), or ``units``, ``rate_per_clock``
    (FLOP a clock and unit) and ``clock_hz``; and ``bandwidth_bytes_per_s``. ``levels`` has on-chip levels by name,
    as in ``replace``. Numbers are positive and finite, or formulas (``pm.reals``); whole ones become ints.
    ``MachineError`` otherwise.

    >>> Machine(units=16, rate_per_clock=8 * 2, clock_hz=3.0e9, bandwidth_bytes_per_s=20e9).ridge("fp32")
    38.4
    """

    name: str
    title: str
    vendor: str
    kind: str
    architecture: str
    year: int | None
    aliases: tuple[str, ...]
    compute_capability: str | None
    units: Quantity | None
    unit_name: str
    clocks: Clocks
    peaks: tuple[Peak, ...]
    levels: tuple[Level, ...]
    memory_type: str
    capacity_bytes: Quantity | None
    bandwidth_bytes_per_s: Quantity
    tdp_w: Quantity | None
    figures: tuple[tuple[str, Figure], ...]  # every figure with its source, by name; ``sources`` is for reading
    made: str = field(compare=False)  # the expression that makes it
    _found: dict[Any, Peak | None] = field(compare=False)  # what find_peak has answered

    def __init__(
        self,
        *,
        peak: Rates = None,
        bandwidth_bytes_per_s: Any = None,
        capacity_bytes: Any = None,
        units: Any = None,
        rate_per_clock: Any = None,
        clock_hz: Any = None,
        levels: Any = None,
        name: str = "custom",
    ) -> None:
        given = {
            "peak": peak,
            "bandwidth_bytes_per_s": bandwidth_bytes_per_s,
            "capacity_bytes": capacity_bytes,
            "units": units,
            "rate_per_clock": rate_per_clock,
            "clock_hz": clock_hz,
        }
        facts = with_levels(facts_from(given, name), levels, "Machine")
        said = arguments(given | {"levels": levels} | ({} if name == "custom" else {"name": name}))
        self._fill(**facts, made=f"pm.Machine({said})")

    def _fill(self, **facts: Any) -> None:
        """Set every field: those not named are unknown."""
        empty = {"vendor": "", "kind": "", "architecture": "", "memory_type": "", "unit_name": "unit", "aliases": ()}
        facts = {**empty, "clocks": Clocks(), "levels": (), "figures": (), **facts}
        for each in fields(self):
            object.__setattr__(self, each.name, {} if each.name == "_found" else facts.get(each.name))

    @classmethod
    def from_facts(cls, **facts: Any) -> Machine:
        """A machine from its fields, as the loader of data sheets gives them: nothing is checked here.

        >>> Machine.from_facts(name="x", title="X", peaks=(Peak("vector", "fp32", 8),), bandwidth_bytes_per_s=2)
        None  # X: vector fp32 8 FLOP/s, 2 B/s
        """
        made = cls.__new__(cls)
        made._fill(**facts)
        return made

    def __hash__(self) -> int:
        return hash((self.name, self.bandwidth_bytes_per_s, self.capacity_bytes, len(self.peaks)))

    # ------------------------------------------------------------------ queries

    def peak(self, format: str | Format, unit: str | None = None, accumulate: str | Format | None = None) -> Quantity:
        """The dense peak in FLOP/s of a number format.

        ``unit`` is "matrix", "vector" or "special" (results of exp, sqrt and the like a second); without
        it, the matrix unit where it has the format, else the vector unit. ``accumulate`` is the format of
        the sums: fp32 unless said (int32 for integers). ``MachineError`` where the chip lists no such peak.

        >>> Machine(peak={"matrix bf16": 400e12, "fp32": 25e12}, bandwidth_bytes_per_s=3e12).peak("bf16")
        400000000000000
        """
        found = self.find_peak(format, unit, accumulate)
        if found is None:
            raise MachineError(missing_peak(self, number_format(format), unit, accumulate))
        return found.flops_per_s

    def find_peak(
        self, format: str | Format, unit: str | None = None, accumulate: str | Format | None = None
    ) -> Peak | None:
        """What ``peak`` reads, as the whole entry, or None where the chip lists none.

        The format's own name goes before its family (fp8_e4m3 before fp8), and a peak of this unit before
        one that serves any.

        >>> Machine(peak={"matrix bf16": 4e14}, bandwidth_bytes_per_s=3e12).find_peak("bf16", "vector") is None
        True
        """
        try:
            return self._found[format, unit, accumulate]
        except (KeyError, TypeError):  # not asked before, or not a name at all
            found = self._search(format, unit, accumulate)
            self._found[format, unit, accumulate] = found
            return found

    def _search(self, format: str | Format, unit: str | None, accumulate: str | Format | None) -> Peak | None:
        wanted = number_format(format)
        into = wanted.accumulator if accumulate is None else number_format(accumulate).name
        if unit is not None and unit not in UNITS:
            raise MachineError(f"peak: no unit {brief(unit)}{did_you_mean(unit, UNITS)}; units are {listed(UNITS)}")
        for each in UNITS[:2] if unit is None else (unit,):
            peaks = self._listed(each, wanted)
            if peaks:
                return next((peak for peak in peaks if peak.accumulates_in(into)), None)
        return None

    def _listed(self, unit: str, wanted: Format) -> list[Peak]:
        """The peaks for a format on a unit, by the most particular entry that there is."""
        names = (wanted.name, wanted.family)
        for entry in (*((each, name) for name in names for each in (unit, ANY)), (ANY, ANY)):
            peaks = [peak for peak in self.peaks if (peak.unit, peak.format) == entry]
            if peaks:
                return peaks
        return []

    def ridge(self, format: str | Format, unit: str | None = None, accumulate: str | Format | None = None) -> Any:
        """The ridge point, peak / bandwidth, in FLOP/B: work of a lower intensity is bound by memory.

        >>> Machine(peak=312e12, bandwidth_bytes_per_s=2e12).ridge("bf16")
        156.0
        """
        return self.peak(format, unit, accumulate) / self.bandwidth_bytes_per_s

    def level(self, name: str) -> Level:
        """An on-chip level by name ("registers", "shared", "l2", "vmem", ...); ``MachineError`` if unknown.

        >>> Machine(peak=1e12, bandwidth_bytes_per_s=1e9).level("l2")
        Traceback (most recent call last):
        perfmodel.errors.MachineError: custom lists no on-chip level 'l2'; it lists none
        """
        for level in self.levels if isinstance(name, str) else ():
            if level.name == name:
                return level
        names = [level.name for level in self.levels]
        raise MachineError(
            f"{self.name} lists no on-chip level {brief(name)}{did_you_mean(name, names)}; it lists {listed(names)}"
        )

    @property
    def sources(self) -> dict[str, Source]:
        """Where each figure comes from, and when it was printed or looked up.

        >>> print(Machine(peak=1e12, bandwidth_bytes_per_s=1e9).sources["bandwidth_bytes_per_s"])
        given by the user
        """
        return {name: figure.source for name, figure in self.figures}

    @property
    def doubts(self) -> dict[str, str]:
        """What is doubtful, by figure (a peak's is its ``label``), and why; empty for most chips.

        >>> Machine(peak=1e12, bandwidth_bytes_per_s=1e9).doubts
        {}
        """
        return {name: figure.note or str(figure.source) for name, figure in self.figures if figure.doubtful}

    @property
    def caveats(self) -> tuple[str, ...]:
        """The doubtful figures as text.

        >>> Machine(peak=1e12, bandwidth_bytes_per_s=1e9).caveats
        ()
        """
        return tuple(f"{name}: {note}" for name, note in self.doubts.items())

    # ------------------------------------------------------------------ what-ifs

    def replace(
        self,
        *,
        peak: Rates = None,
        bandwidth_bytes_per_s: Any = None,
        capacity_bytes: Any = None,
        units: Any = None,
        clock_hz: Any = None,
        levels: Any = None,
        name: str | None = None,
    ) -> Machine:
        """The same chip with other figures, each with the source "given by the user".

        Another number of ``units``, or another ``clock_hz``, scales the peaks of a chip that lists its own.
        ``peak`` as a number serves every unit and format; in a mapping, "bf16" is that format on the matrix
        and on the vector unit, and what is not named stays. ``levels`` has figures of on-chip levels by name:
        {"l2": 5e12} is a bandwidth, {"l1": {"capacity_bytes": 2**15, "scope": "unit"}} says more. Without ``name`` it
        is called by what was changed: "h100-sxm (bandwidth_bytes_per_s=4e12)".

        >>> Machine(peak=312e12, bandwidth_bytes_per_s=2e12).replace(bandwidth_bytes_per_s=4e12).ridge("bf16")
        78.0
        """
        given = {
            "bandwidth_bytes_per_s": bandwidth_bytes_per_s,
            "capacity_bytes": capacity_bytes,
            "units": units,
            "clock_hz": clock_hz,
        }
        facts = {each.name: getattr(self, each.name) for each in fields(self)}
        facts |= changed(self, checked(given, "replace"), peak)
        facts = with_levels(facts | {"aliases": ()}, levels, "replace")
        said = {"peak": peak, **given, "levels": levels}
        facts["name"] = checked_name(name) if name is not None else what_if_name(self.name, said)
        made = f"{self.made}.replace({arguments({**said, 'name': name})})"
        return Machine.from_facts(**facts | {"made": made})

    # ------------------------------------------------------------------ in words

    def __repr__(self) -> str:
        return f"{self.made}  # {summary(self)}"

    def _repr_html_(self) -> str:
        return as_html(self)

    def explain(self) -> Text:
        """The data sheet as text: every figure, its source, and what is doubtful.

        >>> print(Machine(peak=1e12, bandwidth_bytes_per_s=1e9).explain().splitlines()[0])
        custom: peak 1 TFLOP/s, 1 GB/s
        """
        return explanation(self)

    def to_dict(self) -> dict[str, Any]:
        """The machine as plain data for JSON, formulas as text.

        >>> Machine(peak=1e12, bandwidth_bytes_per_s=1e9).to_dict()["peaks"][0]["flops_per_s"]
        1000000000000
        """
        return as_dict(self)
