"""machines() as a table: ids that compare as text, filters, columns in SI units, a DataFrame, Markdown."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import perfmodel as pm
from perfmodel.catalogue import machine, machines
from perfmodel.catalogue.comparison import FORMATS


def test_the_ids_are_text() -> None:
    """A tuple of ids, as before: it compares, sorts, slices and is searched like one."""
    found = machines(kind="npu", vendor="intel")
    assert found == ("gaudi2", "gaudi3")
    assert list(found) == ["gaudi2", "gaudi3"]
    assert "gaudi3" in found
    assert [chip.name for chip in machines().chips] == list(machines())


def test_a_copy_is_the_same() -> None:
    """Equal and complete after a pickle and a copy."""
    found = machines(kind="tpu")
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert (other, other.chips, repr(other)) == (found, found.chips, repr(found))


def test_filters() -> None:
    """A format, a least peak in it, a least bandwidth, a least memory; each as a look at every sheet says."""
    every = machines().chips
    assert machines(format="fp4") == tuple([chip.name for chip in every if chip.find_peak("fp4")])
    assert machines(format="bf16", min_flops_per_s=2e15) == tuple(
        [chip.name for chip in every if (peak := chip.find_peak("bf16")) and peak.flops_per_s >= 2e15]
    )
    assert machines(min_bandwidth_bytes_per_s=5e12) == tuple(
        [chip.name for chip in every if chip.bandwidth_bytes_per_s >= 5e12]
    )
    assert machines(min_capacity_bytes=200 * 2**30) == tuple(
        [chip.name for chip in every if chip.capacity_bytes is not None and chip.capacity_bytes >= 200 * 2**30]
    )
    assert machines(kind="gpu", vendor="AMD", format="fp8", min_capacity_bytes=256 * 2**30) == (
        "mi325x", "mi350x", "mi355x",
    )  # fmt: skip


def test_filters_that_say_nothing_are_refused() -> None:
    """An unknown vendor or format, a rate without its format, a number that is none."""
    with pytest.raises(pm.MachineError, match=r"no vendor 'nvidea' \(did you mean 'nvidia'\?\)"):
        machines(vendor="nvidea")
    with pytest.raises(pm.MachineError, match="min_flops_per_s is of a number format: give format='bf16' too"):
        machines(min_flops_per_s=1e15)
    with pytest.raises(pm.FormatError, match="bf61"):
        machines(format="bf61")
    with pytest.raises(pm.MachineError, match="machines: min_capacity_bytes = -1: expected a positive, finite number"):
        machines(min_capacity_bytes=-1)


def test_the_table_has_the_figures_of_the_sheets() -> None:
    """In SI units, None where a chip lists nothing, and how many figures are doubtful."""
    table = machines().table()
    for row in table.rows:
        said = dict(zip(table.columns, row, strict=True))
        chip = machine(said["name"])
        assert [said[key] for key in ("vendor", "kind", "year", "units", "tdp_w")] == [
            chip.vendor, chip.kind, chip.year, chip.units, chip.tdp_w,
        ]  # fmt: skip
        assert (said["bandwidth_bytes_per_s"], said["capacity_bytes"]) == (
            chip.bandwidth_bytes_per_s,
            chip.capacity_bytes,
        )
        for name in FORMATS:
            peak = chip.find_peak(name)
            assert said[f"{name}_flops_per_s"] == (None if peak is None else peak.flops_per_s)
        assert said["doubts"] == len(chip.doubts)


def test_it_is_shown_as_a_table() -> None:
    """One line a chip under a title and a heading; the same in HTML; columns as plain data for JSON."""
    found = machines(kind="tpu")
    assert [line.split()[0] for line in repr(found).splitlines()[2:]] == list(found)
    assert found._repr_html_().count("<tr>") == 1 + len(found)
    assert json.loads(json.dumps(found.to_dict()))["name"] == list(found)


def test_a_data_frame_filters_further() -> None:
    """to_frame() is a pandas DataFrame with the columns of the table."""
    frame = machines(kind="gpu").to_frame()
    fast = frame[frame.bf16_flops_per_s / frame.bandwidth_bytes_per_s > 400]
    assert set(fast.name) == {"l4", "l40s"}


def test_markdown_marks_what_is_doubtful() -> None:
    """(?) stands behind a doubtful bandwidth, and nowhere on a chip without doubts."""
    rows = {line.split("`")[1]: line for line in machines().markdown().splitlines()[2:]}
    assert set(rows) == set(machines())
    assert "819 GB/s (?)" in rows["tpu-v5e"]
    assert all("(?)" not in rows[chip.name] for chip in machines().chips if not chip.doubts)
