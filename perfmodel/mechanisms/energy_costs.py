"""A table of energies: picojoules an operation by format and unit, and a byte by memory level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from perfmodel.errors import MachineError, brief, did_you_mean, listed
from perfmodel.expressions import positive_real, share
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.energy_figures import (
    ANY,
    MEMORY,
    PARTS,
    UNITS,
    Costs,
    as_written,
    level_costs,
    op_costs,
    remarks_on,
)
from perfmodel.mechanisms.given_values import chosen, exact
from perfmodel.mechanisms.wording import number
from perfmodel.number_formats import Format, format as number_format
from perfmodel.showing import Table, plain_dict


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Energies(Answer):
    """Energies of one technology or chip, in pJ.

    ``pj_per_op`` is a number that serves every operation, or a mapping: "fp32" (a FLOP of that format), "matrix bf16"
    (of one unit), "fp32 mul" and "fp32 add" (a FLOP is half a multiply and half an add), "special", or the classes
    "float" and "int". ``pj_per_byte`` is a number for the memory, or a mapping from levels ("memory", "l2", ...).
    ``MachineError`` where a figure is no number of 0 or more, or is named as nothing is.

    >>> table = Energies(pj_per_op=20, pj_per_byte={"memory": "150", "sram": 26 / 8})
    >>> table
    pm.Energies(pj_per_op=20, pj_per_byte={'memory': 150, 'sram': 3.25})
    # a FLOP of fp32 20 pJ; a byte of memory 150 pJ: 7.5 FLOP/B
    """

    ops: Costs
    levels: Costs
    name: str = field(compare=False)
    sources: tuple[tuple[str, str], ...] = field(compare=False)
    remarks: tuple[tuple[str, str], ...] = field(compare=False)  # figure, what is doubtful about it

    def __init__(
        self,
        pj_per_op: Any = None,
        pj_per_byte: Any = None,
        *,
        name: str = "",
        sources: Mapping[str, str] | None = None,
        remarks: Mapping[str, str] | None = None,
    ) -> None:
        if pj_per_op is None and pj_per_byte is None:
            raise MachineError("Energies: give pj_per_op= or pj_per_byte=, such as Energies(pj_per_op=20)")
        object.__setattr__(self, "ops", op_costs(pj_per_op))
        object.__setattr__(self, "levels", level_costs(pj_per_byte))
        if not isinstance(name, str):
            raise MachineError(f"Energies: name = {brief(name)}: expected text")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sources", remarks_on(sources, "sources"))
        object.__setattr__(self, "remarks", remarks_on(remarks, "remarks"))

    @classmethod
    def of_power(cls, watts: Any, ops_per_s: Any, pj_per_byte: Any = None) -> Energies:
        """The energy of an operation where so many watts give so many operations a second, everything included.

        >>> f"{float(Energies.of_power(40, 2 * 65536 * 700e6).per_op()):.3f} pJ"  # TPU v1
        '0.436 pJ'
        """
        power, rate = positive_real(watts, "watts"), positive_real(ops_per_s, "ops_per_s")
        return cls(
            pj_per_op=exact(power, "of_power: watts") * 10**12 / exact(rate, "of_power: ops_per_s"),
            pj_per_byte=pj_per_byte,
        )

    def find_op(self, unit: str, compute: Format, accumulate: Format | None = None) -> Fraction | None:
        """The energy of a FLOP on a unit, from the most particular figure to the most general; None where none is.

        >>> from perfmodel import format
        >>> Energies(pj_per_op={"int8 mul": 0.2, "int32 add": 0.1}).find_op("matrix", format("int8"), format("int32"))
        Fraction(3, 20)
        """
        known, name = dict(self.ops), compute.name
        summed = accumulate.name if accumulate is not None and unit == "matrix" else name
        halves = known.get(f"{name} mul"), known.get(f"{summed} add")
        for key in (f"{unit} {name}", name):
            if key in known and (unit != "special" or key != name):
                return known[key]
        if unit != "special" and halves[0] is not None and halves[1] is not None:
            return (halves[0] + halves[1]) / 2
        kind = "int" if compute.kind in ("int", "uint") else "float"
        return next((known[key] for key in (unit, *([] if unit == "special" else [kind]), ANY) if key in known), None)

    def per_op(self, dtype: Any = "fp32", unit: str = "vector", accumulate: Any = None) -> Fraction:
        """The energy of a FLOP in pJ, exact; on the unit "matrix" sums have a format of their own.

        >>> from perfmodel import energy_tables
        >>> float(energy_tables()["45nm"].per_op("fp32"))  # half of 0.9 to add and 3.7 to multiply
        2.3
        """
        compute = number_format(dtype)
        if not isinstance(unit, str) or unit not in UNITS:
            raise MachineError(
                f"Energies: unit = {brief(unit)}: expected one of {listed(UNITS)}{did_you_mean(unit, UNITS)}"
            )
        sums = number_format(compute.accumulator if accumulate is None else accumulate)
        found = self.find_op(unit, compute, sums)
        if found is None:
            raise MachineError(
                f"Energies: {self._title} has no energy of {unit} {compute.name}; it has {listed(dict(self.ops))}"
            )
        return found

    def operation(self, part: str, dtype: Any = "fp32") -> Fraction:
        """The energy of one add or one multiply in pJ.

        >>> from perfmodel import energy_tables
        >>> float(energy_tables()["45nm"].operation("mul", "fp32"))
        3.7
        """
        known = dict(self.ops)
        key = f"{number_format(dtype).name} {chosen(part, PARTS, 'part', 'Energies')}"
        if key not in known:
            raise MachineError(f"Energies: {self._title} has no energy of {brief(key)}{did_you_mean(key, known)}; "
                               f"it has {listed(known)}")  # fmt: skip
        return known[key]

    def per_byte(self, level: str = "memory") -> Fraction:
        """The energy of a byte from a level in pJ, exact.

        >>> Energies(pj_per_byte=150).per_byte() * 8 == 1200  # pJ for 64 bits
        True
        """
        known = dict(self.levels)
        if not isinstance(level, str) or level not in known:
            raise MachineError(f"Energies: {self._title} has no level {brief(level)}{did_you_mean(level, known)}; "
                               f"it has {listed(known)}")  # fmt: skip
        return known[level]

    def ridge(self, dtype: Any = "fp32", level: str = "memory", unit: str = "vector") -> float:
        """FLOP/B at which operations and bytes cost the same energy: the energy balance.

        >>> Energies(pj_per_op=20, pj_per_byte=150).ridge()
        7.5
        """
        each = self.per_op(dtype, unit)
        if not each:
            raise MachineError(f"Energies: {self._title} takes no energy for an operation, so nothing balances a byte")
        return float(self.per_byte(level) / each)

    def flops_per_j(
        self, intensity: Any = None, dtype: Any = "fp32", level: str = "memory", unit: str = "vector"
    ) -> float:
        """FLOP a joule at an intensity in FLOP/B, or, without one, where no byte moves: the energy roofline.

        It has no edge: energies add where times overlap, so at the ridge it is half of the most (Choi, Bedard, Fowler
        and Vuduc 2013, "A roofline model of energy").

        >>> table = Energies(pj_per_op=20, pj_per_byte=150)
        >>> table.flops_per_j(), table.flops_per_j(7.5)
        (50000000000.0, 25000000000.0)
        """
        moved = (
            0 if intensity is None else self.per_byte(level) / exact(positive_real(intensity, "intensity"), "intensity")
        )
        each = self.per_op(dtype, unit) + moved
        if not each:
            raise MachineError(f"Energies: {self._title} takes no energy for an operation")
        return float(10**12 / each)

    def scaled(self, ops: Any = 1, bytes: Any = 1) -> Energies:
        """The table with all operations, all bytes or both at so many times their energy.

        >>> Energies(pj_per_op=20, pj_per_byte=150).scaled(ops=0.125).per_op() == 20 / 8
        True
        """
        factors = exact(ops, "scaled: ops"), exact(bytes, "scaled: bytes")
        found = [
            {key: value * factor for key, value in costs}
            for costs, factor in zip((self.ops, self.levels), factors, strict=True)
        ]
        return Energies(*found, name=self.name, sources=dict(self.sources), remarks=dict(self.remarks))

    @property
    def made(self) -> str:
        return f"pm.energy_tables()[{self.name!r}]" if self.sources else f"pm.Energies({', '.join(self._arguments())})"

    def comments(self) -> list[str]:
        each, byte = self.find_op("vector", number_format("fp32")), dict(self.levels).get(MEMORY)
        words = [f"a FLOP of fp32 {number(float(each))} pJ"] if each is not None else []
        words += [f"a byte of memory {number(float(byte))} pJ"] if byte is not None else []
        balance = f": {number(share(byte, each))} FLOP/B" if each and byte is not None else ""
        return [f"{'; '.join(words) or 'no fp32 and no memory'}{balance}"]

    def working(self) -> list[str]:
        """Every figure, with its source and what is doubtful about it.

        >>> Energies(pj_per_op=20, name="mine").explain()
        pm.Energies(pj_per_op=20)
          figure  pJ  source             remark
          any op  20  given by the user
        """
        named, noted = dict(self.sources), dict(self.remarks)
        figures = [*[(key, key if key != ANY else "any op", value) for key, value in self.ops],
                   *[(key, f"byte of {key}", value) for key, value in self.levels]]  # fmt: skip
        rows = [
            (shown, number(float(value)), named.get(key, named.get("", "given by the user")), noted.get(key, ""))
            for key, shown, value in figures
        ]
        return repr(Table("", ("figure", "pJ", "source", "remark"), tuple(rows))).splitlines()

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data.

        >>> Energies(pj_per_op=20).to_dict()["pj_per_op"]
        {'any': 20.0}
        """
        ops, levels = [{key: float(value) for key, value in costs} for costs in (self.ops, self.levels)]
        said = {"sources": dict(self.sources), "remarks": dict(self.remarks)}
        return plain_dict({"name": self.name, "pj_per_op": ops, "pj_per_byte": levels, **said})

    @property
    def _title(self) -> str:
        return self.name or "this table"

    def _arguments(self) -> list[str]:
        found = []
        for field_name, costs, alone in (("pj_per_op", self.ops, ANY), ("pj_per_byte", self.levels, MEMORY)):
            shown = {key: as_written(value) for key, value in costs}
            if shown:
                found.append(f"{field_name}={shown[alone] if list(shown) == [alone] else shown}")
        return found
