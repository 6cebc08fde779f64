"""``perfmodel machines`` and ``perfmodel formats``: what the library knows, as tables or plain data."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

from perfmodel.catalogue import Machines, machine, machines
from perfmodel.errors import PerfModelError
from perfmodel.number_formats import Format, format, formats
from perfmodel.showing import Table, plain

_FIELDS = ("name", "kind", "bits", "effective_bits", "exponent_bits", "mantissa_bits", "block", "scale_bits",
           "max_finite", "min_normal", "min_subnormal", "accumulator")  # fmt: skip


def machines_found(options: argparse.Namespace) -> Any:
    """The table of chips; the data sheets of those that are named; or either as plain data.

    >>> from perfmodel.cli.options import parser
    >>> print(machines_found(parser().parse_args(["machines", "--vendor", "example"])).splitlines()[2].split()[:4])
    ['lecture-cpu', 'cpu', '16', 'cores']
    """
    if options.name and (options.kind or options.vendor or options.format):
        raise PerfModelError("machines: give names, or --kind, --vendor and --format, not both")
    named = [machine(name) for name in options.name]
    found = Machines(named) if named else machines(options.kind, options.vendor, format=options.format)
    if options.json:
        return {"machines": [each.to_dict() for each in found.chips]}
    if options.markdown:
        return str(found.markdown())
    return "\n\n".join(str(each.explain()) for each in named) if named else repr(found)


def formats_found(options: argparse.Namespace) -> Any:
    """The table of number formats, or of those that are named, or either as plain data.

    >>> from perfmodel.cli.options import parser
    >>> formats_found(parser().parse_args(["formats", "nvfp4", "--json"]))["formats"][0]["effective_bits"]
    4.5
    """
    found = [_fields(format(name)) for name in options.name] or [_fields(each) for each in formats()]
    if options.json:
        return {"formats": [plain(fields) for fields in found]}
    rows = [tuple("-" if value is None else _short(value) for value in fields.values()) for fields in found]
    return repr(Table("sizes in bits; scale: bits that a block shares", tuple(map(_heading, _FIELDS)), tuple(rows)))


def _fields(each: Format) -> dict[str, Any]:
    values = {name: getattr(each, name) for name in _FIELDS}
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in values.items()}


def _heading(field: str) -> str:
    return {"max_finite": "largest", "min_normal": "least normal", "min_subnormal": "least"}.get(
        field, field.removesuffix("_bits")
    )


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
