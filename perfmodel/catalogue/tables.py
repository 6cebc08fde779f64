"""One table of a data sheet: its keys, texts and figures, each checked against the schema.

A figure is ``{ value = 989.4e12, source = "KEY" }``, with ``doubtful`` and ``note`` where they apply;
``[sources]`` says what each key stands for and when it was printed. ``hardware/README.md`` has the schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from perfmodel.catalogue.parts import Figure, Source
from perfmodel.errors import MachineError, brief, did_you_mean, listed

# Least and largest plausible figure, its unit, and what one that is too small usually is.
RANGES: dict[str, tuple[float, float, str, str]] = {
    "count": (1, 10**7, "units", ""),
    "vector_hz": (10**5, 10**11, "hertz", "; if that is GHz, write 1.98e9"),
    "matrix_hz": (10**5, 10**11, "hertz", "; if that is GHz, write 1.83e9"),
    "base_hz": (10**5, 10**11, "hertz", "; if that is GHz, write 1.1e9"),
    "capacity_bytes": (10**3, 10**17, "bytes", "; if that is GB, write 80e9, and 80 GiB as 85_899_345_920"),
    "bandwidth_bytes_per_s": (10**6, 10**16, "bytes a second", "; if that is GB/s, write 3350e9"),
    "sector_bytes": (1, 4096, "bytes", ""),
    "array_rows": (1, 2**16, "cells", ""),
    "array_columns": (1, 2**16, "cells", ""),
    "tdp_w": (0.01, 50_000, "watts", ""),
    "flops_per_s": (10**6, 10**21, "FLOP/s", "; if that is TFLOP/s, write 989.4e12"),
    "sparse_flops_per_s": (10**6, 10**21, "FLOP/s", "; if that is TFLOP/s, write 1979e12"),
    "rate_per_clock": (0.001, 10**9, "FLOP a clock and unit", ""),
    "launch_s": (10**-8, 10**-3, "seconds", ""),
    "matrix_reach": (0.01, 1.2, "the peak (a share)", ""),
    "memory_reach": (0.01, 1, "the bandwidth (a share)", ""),
    "feed_bytes_per_clock": (1, 4096, "bytes a clock and unit", ""),
    "step_s": (10**-9, 10**-5, "seconds", ""),
    "tile_s": (10**-9, 10**-4, "seconds", ""),
    "split_s": (10**-8, 10**-4, "seconds", ""),
    "cache_reach": (0.05, 1, "the last-level cache (a share)", ""),
}
# What no data sheet gives and measured timings do; perfmodel.effects.constants says what each means.
CALIBRATED = ("launch_s", "matrix_reach", "memory_reach", "feed_bytes_per_clock", "step_s", "tile_s", "split_s",
              "cache_reach")  # fmt: skip
_WHOLE = ("count", "sector_bytes", "array_rows", "array_columns")
_PREFIXED = re.compile(r"(^|_)([kmgtp]i?b|[kmgt]hz|[kmgtpe]?flops?|[kmgtpe]ops)(?=_|$)", re.IGNORECASE)
_FIGURE_KEYS = ("value", "source", "doubtful", "note")


class Table:
    """A table of a file, and where it stands there; made only of keys that the schema has.

    >>> Table("x.toml: [units]", {"nmae": "SM"}, ("name", "count"))
    Traceback (most recent call last):
    perfmodel.errors.MachineError: x.toml: [units]: unknown key 'nmae' (did you mean 'name'?); keys here are name, count
    """

    def __init__(
        self, where: str, values: Any, keys: Collection[str], sources: Mapping[str, Source] | None = None
    ) -> None:
        if not isinstance(values, dict):
            raise MachineError(f"{where} = {_shown(values)}: expected a table with the keys {listed(keys)}")
        if values.keys() - keys:
            key = next(key for key in values if key not in keys)
            units = "; keys carry plain bytes, Hz and FLOP/s, no GB, GHz or TFLOP" if _PREFIXED.search(key) else ""
            raise MachineError(
                f"{where}: unknown key {brief(key)}{did_you_mean(key, keys)}{units}; keys here are {listed(keys)}"
            )
        self.where, self.values, self.sources = where, values, sources or {}

    def refused(self, key: str, rule: str) -> MachineError:
        """The error for what stands under a key.

        >>> Table("x.toml", {"kind": 3}, ("kind",)).refused("kind", "expected text")
        MachineError('x.toml: kind = 3: expected text')
        """
        return MachineError(f"{self.where}: {key} = {_shown(self.values.get(key))}: {rule}")

    def text(self, key: str, default: str | None = None, among: Collection[str] = ()) -> str:
        """The text under a key, one of a few where the schema says so; without a default it has to be there.

        >>> Table("x.toml", {"kind": "gpu"}, ("kind",)).text("kind", among=("gpu", "cpu"))
        'gpu'
        """
        if key not in self.values and default is not None:
            return default
        found = self._required(key)
        if not isinstance(found, str) or not found or found.isspace():
            raise self.refused(key, "expected text")
        if among and found not in among:
            raise self.refused(key, f"expected one of {listed(among)}{did_you_mean(found, among)}")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts under a key; empty where the key is absent.

        >>> Table("x.toml", {"aliases": ["B200"]}, ("aliases",)).texts("aliases")
        ('B200',)
        """
        found = self.values.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
            raise self.refused(key, "expected a list of texts")
        if len(set(found)) < len(found):
            raise self.refused(key, "one text stands there twice")
        return tuple(found)

    def figure(self, key: str, *, required: bool = False) -> Figure | None:
        """The figure under a key with its source, in its plausible range; None where it is absent and may be.

        >>> Table("x.toml: [memory]", {"capacity_bytes": 80}, ("capacity_bytes",)).figure("capacity_bytes")
        Traceback (most recent call last):
        perfmodel.errors.MachineError: x.toml: [memory]: capacity_bytes = 80: expected a figure with its source, ...
        """
        if key not in self.values and not required:
            return None
        form = '{ value = ..., source = "KEY" }'
        if not isinstance(self._required(key), dict):
            raise self.refused(key, f"expected a figure with its source, {key} = {form}")
        inside = Table(f"{self.where}: {key}", self.values[key], _FIGURE_KEYS, self.sources)
        if "source" not in inside.values:
            raise inside.refused("source", f"a figure needs one: {key} = {form}, and KEY in [sources]")
        source = inside.text("source")
        if source not in self.sources:
            raise inside.refused(
                "source",
                f"[sources] has no such key{did_you_mean(source, self.sources)}; it has {listed(self.sources)}",
            )
        doubtful = inside.values.get("doubtful", False)
        if not isinstance(doubtful, bool):
            raise inside.refused("doubtful", "expected true or false")
        return Figure(inside._value(key), self.sources[source], doubtful, inside.text("note", ""))

    def _value(self, key: str) -> Any:
        """The number of a figure (or the text of a compute capability), checked by the key it stands under."""
        value = self._required("value")
        if key == "compute_capability":
            if not isinstance(value, str) or not re.fullmatch(r"\d{1,2}\.\d", value):
                raise self.refused("value", 'expected text such as "9.0"')
            return value
        least, most, unit, hint = RANGES[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused("value", f"expected a number of {unit}")
        if not least <= value <= most:
            hint = hint if 0 < value < least else ""
            raise self.refused("value", f"expected {least:.4g} to {most:.4g} {unit}{hint}; leave out what is not known")
        if key in _WHOLE and value != int(value):
            raise self.refused("value", f"expected a whole number of {unit}")
        return int(value) if value == int(value) else value

    def _required(self, key: str) -> Any:
        if key not in self.values:
            raise MachineError(f"{self.where}: {key} is missing")
        return self.values[key]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
