"""Damaged data sheets and hostile text: the reader's own error, or a machine with exactly the numbers in the text."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.catalogue import Machine
from perfmodel.catalogue.files import read_machine
from perfmodel.errors import MachineError

TEXTS = {path.stem: path.read_text() for path in (Path(__file__).parents[1] / "hardware").glob("*.toml")}


def read(text: str) -> Machine:
    return read_machine(text, "chip.toml", name="chip", made="chip")


def read_or_none(text: str) -> Machine | None:
    """The machine, or None where the reader refuses with an error of its own that names the file."""
    try:
        return read(text)
    except MachineError as error:
        if not str(error).startswith("chip.toml: "):
            raise
        return None


def inline(value: Any) -> str:
    """A value as TOML, a list with a line for each item."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ",\n".join(map(inline, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)


def toml(data: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {inline(value)}\n" for key, value in data.items())


def holders(data: Any) -> list[Any]:
    """Every table and list inside, the whole included."""
    inside = list(data.values()) if isinstance(data, dict) else data if isinstance(data, list) else []
    return [data, *(found for item in inside if isinstance(item, dict | list) for found in holders(item))]


def numbers(data: dict[str, Any]) -> dict[str, Any]:
    """What a sheet says, by where it stands."""

    def value(table: Any, key: str) -> Any:
        return table.get(key, {}).get("value")

    found = {key: value(data.get("memory", {}), key) for key in ("capacity_bytes", "bandwidth_bytes_per_s")}
    found |= {key: value(data.get("clock", {}), key) for key in ("vector_hz", "matrix_hz", "base_hz")}
    found |= {"units": value(data.get("units", {}), "count"), "tdp_w": value(data.get("power", {}), "tdp_w")}
    for key in ("flops_per_s", "sparse_flops_per_s", "rate_per_clock"):
        found[f"peaks {key}"] = [value(entry, key) for entry in data.get("peak", [])]
    for key in ("capacity_bytes", "bandwidth_bytes_per_s"):
        found[f"levels {key}"] = [value(entry, key) for entry in data.get("level", [])]
    return found


def answers(chip: Machine) -> dict[str, Any]:
    """What the machine read from it says, in the same places."""
    found = {key: getattr(chip, key) for key in ("capacity_bytes", "bandwidth_bytes_per_s", "units", "tdp_w")}
    found |= {key: getattr(chip.clocks, key) for key in ("vector_hz", "matrix_hz", "base_hz")}
    for key in ("flops_per_s", "sparse_flops_per_s", "rate_per_clock"):
        found[f"peaks {key}"] = [getattr(peak, key) for peak in chip.peaks]
    for key in ("capacity_bytes", "bandwidth_bytes_per_s"):
        found[f"levels {key}"] = [getattr(level, key) for level in chip.levels]
    return found


STRANGE = st.one_of(
    st.sampled_from(
        [0, -1, 80, True, False, 1e21, 1e-9, float("inf"), float("nan"), 10**40, "80 GB", "", [], {}, [[]]]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A sheet of the catalogue with a few keys deleted, renamed, retyped, rescaled, copied or added."""
    data = copy.deepcopy(tomllib.loads(TEXTS[draw(st.sampled_from(sorted(TEXTS)))]))
    for _ in range(draw(st.integers(1, 3))):
        holder = draw(st.sampled_from([found for found in holders(data) if found]))
        key = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
        old, how = holder[key], draw(st.sampled_from(["delete", "rename", "retype", "rescale", "copy"]))
        if how == "delete":
            del holder[key]
        elif how == "retype":
            holder[key] = draw(STRANGE)
        elif how == "rescale" and type(old) in (int, float):
            holder[key] = old * draw(st.sampled_from([1e-12, 1e-9, 1e-3, 0.5, 1, 2, 1e3, 1e9, -1]))
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from([f"{key}_gb", f"{key}s", str(key).upper(), "value", "name", "peak"]))] = (
                holder.pop(key)
            )
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(old))
    return data


@settings(max_examples=400)
@given(data=damaged())
def test_a_damaged_sheet_is_refused_or_read_as_it_stands(data: dict[str, Any]) -> None:
    """Whatever happens to a key, the reader raises its own error, or the machine has the numbers in the text."""
    chip = read_or_none(toml(data))
    if chip is not None:
        assert answers(chip) == numbers(data)
        assert all(type(peak.flops_per_s) in (int, float) for peak in chip.peaks)


@given(name=st.sampled_from(sorted(TEXTS)), at=st.floats(0, 1), cut=st.integers(0, 40), put=st.text(max_size=6))
def test_damaged_text_is_refused_or_read(name: str, at: float, cut: int, put: str) -> None:
    """Bytes lost or added anywhere give our own error, or a machine that is whole."""
    text = TEXTS[name]
    start = int(at * len(text))
    chip = read_or_none(text[:start] + put + text[start + cut :])
    if chip is not None:
        assert chip.bandwidth_bytes_per_s >= 10**6
        assert chip.explain()


@given(text=st.text(max_size=200))
def test_any_text_is_refused(text: str) -> None:
    """Text that is no data sheet never is a machine."""
    with pytest.raises(MachineError, match=r"^chip.toml: "):
        read(text)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a." * 50_000 + "b = 1", "a = " + "9" * 5_000, "\0", "a = 1e999999"]
)
def test_text_made_to_break_a_reader_is_refused(text: str) -> None:
    """Deep nesting, long numbers and control characters end in our own error."""
    with pytest.raises(MachineError, match=r"^chip.toml: "):
        read(text)
