"""Data sheets: what the reader takes, what it refuses, and how it says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfmodel.catalogue import Machine, machine
from perfmodel.catalogue.files import LONGEST_LINE, LONGEST_SHEET, read_machine
from perfmodel.errors import MachineError

SHEETS = Path(__file__).parents[1] / "hardware"
TEXTS = {path.stem: path.read_text() for path in SHEETS.glob("*.toml")}

SMALL = """
name = "Chip"
vendor = "Maker"
kind = "npu"
[units]
name = "core"
count = { value = 4, source = "A" }
[clock]
vector_hz = { value = 1e9, source = "A" }
[memory]
capacity_bytes = { value = 16e9, source = "A" }
bandwidth_bytes_per_s = { value = 100e9, source = "A", doubtful = true, note = "a guess" }
[[level]]
name = "sram"
scope = "unit"
capacity_bytes = { value = 1_048_576, source = "A" }
[[peak]]
unit = "matrix"
format = "fp16"
accumulate = ["fp32"]
flops_per_s = { value = 8e12, source = "A" }
sparse_flops_per_s = { value = 16e12, source = "A" }
rate_per_clock = { value = 2000, source = "A" }
[sources]
A = { title = "A sheet", date = "2026-11" }
"""


def read(text: str) -> Machine:
    return read_machine(text, "chip.toml", name="chip", made="chip")


def edited(old: str, new: str) -> str:
    assert SMALL.count(old) == 1, old
    return SMALL.replace(old, new)


def test_a_small_sheet_is_read() -> None:
    """The least that a chip has, and where each figure goes."""
    chip = read(SMALL)
    assert (chip.name, chip.title, chip.vendor, chip.kind, chip.unit_name) == ("chip", "Chip", "Maker", "npu", "core")
    assert (chip.units, chip.capacity_bytes, chip.bandwidth_bytes_per_s) == (4, 16_000_000_000, 100_000_000_000)
    assert chip.ridge("fp16") == 8e12 / 100e9
    assert chip.find_peak("fp16").sparse_flops_per_s == 16e12
    assert chip.level("sram").scope == "unit"
    assert chip.caveats == ("bandwidth_bytes_per_s: a guess",)
    assert (chip.tdp_w, chip.year, chip.compute_capability, chip.clocks.base_hz) == (None,) * 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # unknown keys, with a near miss and the rule on units
        ("bandwidth_bytes_per_s = { value = 100e9", "bandwidth_gb_per_s = { value = 100",
         r"\[memory\]: unknown key 'bandwidth_gb_per_s' .*'bandwidth_bytes_per_s'\?\); keys carry plain bytes, Hz"),
        ("capacity_bytes = { value = 16e9", "capacity_gib = { value = 16", "key 'capacity_gib'.*keys carry plain"),
        ("vector_hz", "vector_ghz", r"\[clock\]: unknown key 'vector_ghz' .*'vector_hz'\?\); keys carry plain"),
        ("flops_per_s = { value = 8e12", "tflops = { value = 8", r"peak\]\] 1: unknown key 'tflops'.*carry plain"),
        ("vendor =", "vendr =", r"chip.toml: unknown key 'vendr' \(did you mean 'vendor'\?\); keys here are name, "),
        ("[units]", "[unit]", "unknown key 'unit'"),
        ('note = "a guess"', 'because = "a guess"', "bandwidth_bytes_per_s: unknown key 'because'; keys here are"),
        ('date = "2026-11"', 'day = "2026-11"', r"\[sources\] A: unknown key 'day'"),
        # figures in the wrong unit, or none at all
        ("100e9", "100", "bandwidth_bytes_per_s: value = 100: expected 1e.06 to 1e.16 bytes a second; if that is GB/s"),
        ("100e9", "0", "value = 0: expected 1e.06 to 1e.16 bytes a second; leave out what is not known"),
        ("100e9", "-1e9", "value = -1000000000.0: expected"),
        ("100e9", "nan", "value = nan: expected"),
        ("100e9", "inf", "value = inf: expected"),
        ("100e9", "true", "value = True: expected a number of bytes a second"),
        ("100e9", '"100e9"', "value = '100e9': expected a number of bytes a second"),
        ("100e9", "[100e9]", r"value = \[100000000000.0\]: expected a number"),
        ("100e9", "2026-11-30", "expected a number"),
        ("16e9", "16", "capacity_bytes: value = 16: expected 1000 to 1e.17 bytes; if that is GB, write 80e9"),
        ("16e9", "16e20", "value = 1.6e.21: expected 1000 to 1e.17 bytes; leave out"),
        ("1e9, source", "1.98, source", "vector_hz: value = 1.98: expected .* if that is GHz, write 1.98e9"),
        ("8e12", "8", r"\[\[peak\]\] 1: flops_per_s: value = 8: expected .* if that is TFLOP/s, write 989.4e12"),
        ("value = 4,", "value = 4.5,", "count: value = 4.5: expected a whole number of units"),
        # sources
        ('value = 4, source = "A"', "value = 4", "count: source = None: a figure needs one"),
        ('value = 4, source = "A"', 'value = 4, source = "B"', "source = 'B': \\[sources\\] has no such key; it has A"),
        ('value = 4, source = "A"', "value = 4, source = 3", "source = 3: expected text"),
        ('count = { value = 4, source = "A" }', "count = 4", "count = 4: expected a figure with its source, count = {"),
        ("value = 4, source", "source", r"\[units\]: count: value is missing"),
        ("doubtful = true", 'doubtful = "yes"', "doubtful = 'yes': expected true or false"),
        (', date = "2026-11"', "", r"\[sources\] A: date is missing"),
        ('title = "A sheet"', 'title = ""', "title = '': expected text"),
        ("A = {", "A = 3 #", r"\[sources\] A = 3: expected a table"),
        # texts
        ('kind = "npu"', 'kind = "gpus"', r"kind = 'gpus': expected one of gpu, tpu, npu, cpu .*'gpu'\?\)"),
        ('name = "Chip"', "name = 3", "name = 3: expected text"),
        ('name = "Chip"', "", "chip.toml: name is missing"),
        ('kind = "npu"', 'kind = "npu"\nyear = 20.26', "year = 20.26: expected a year"),
        ('kind = "npu"', 'kind = "npu"\nyear = true', "year = True: expected a year"),
        ('kind = "npu"', 'kind = "npu"\naliases = "C"', "aliases = 'C': expected a list of texts"),
        ('kind = "npu"', 'kind = "npu"\naliases = ["C", "C"]', "one text stands there twice"),
        ('kind = "npu"', 'kind = "npu"\ncompute_capability = { value = 9.0, source = "A" }',
         'compute_capability: value = 9.0: expected text such as "9.0"'),
        # peaks and levels
        ('format = "fp16"', 'format = "fp17"', r"peak\]\] 1: format = 'fp17': .*no format 'fp17' .*'fp16'\?\)"),
        ('unit = "matrix"', 'unit = "tensor"', "unit = 'tensor': expected one of matrix, vector, special"),
        ('unit = "matrix"', 'unit = "any"', "unit = 'any': expected one of"),
        ('["fp32"]', '["fp33"]', r"accumulate = \['fp33'\]: .*no format 'fp33'"),
        ('["fp32"]', '"fp32"', "accumulate = 'fp32': expected a list of texts"),
        ("16e12", "8e12", "sparse_flops_per_s = .*: expected more than the dense peak, 8 TFLOP/s"),
        ('flops_per_s = { value = 8e12, source = "A" }\n', "", r"\[\[peak\]\] 1: flops_per_s is missing"),
        ("value = 8e12", "value = 15e12", "fp16: flops_per_s = 15 TFLOP/s, but 4 units .* = 8 TFLOP/s"),
        ("[[peak]]", "[peak]", r"peak = .*: expected tables, each under \[\[peak\]\]"),
        ("[[peak]]", "[[peak]]\nunit = 'special'\nformat = 'fp32'\nflops_per_s = {value=1e12, source='A'}\n[[level]]",
         r"\[\[level\]\] 2: unknown key 'unit'"),
        ('scope = "unit"', 'scope = "core"', "scope = 'core': expected one of chip, unit"),
        ('capacity_bytes = { value = 1_048_576, source = "A" }', "", "sram has no figure; give capacity_bytes, ban"),
        # the whole
        ("[memory]", "[memory", "chip.toml: not TOML: "),
        ("[memory]", "memory = 3\n[power]", r"chip.toml: \[memory\] = 3: expected a table|unknown key"),
        ('name = "Chip"', 'name = "Chip"\nname = "Again"', "not TOML: Cannot overwrite a value"),
    ],
)  # fmt: skip
def test_a_wrong_sheet_is_refused_with_file_key_and_value(old: str, new: str, message: str) -> None:
    """Each kind of mistake is an error of our own that names the file, the key and the value."""
    with pytest.raises(MachineError, match=message) as refused:
        read(edited(old, new))
    assert str(refused.value).startswith("chip.toml: ")


PEAK = """[[peak]]
unit = "matrix"
format = "{format}"
accumulate = {into}
flops_per_s = {{ value = 1e12, source = "A" }}
"""


@pytest.mark.parametrize(("format", "into"), [("fp16", '["fp32"]'), ("half", '["fp16", "fp32"]'), ("fp16", "[]")])
def test_two_peaks_for_one_accumulator_are_refused(format: str, into: str) -> None:
    """A unit, a format and an accumulator have one peak, under whatever name the format is written."""
    with pytest.raises(MachineError, match=r"matrix fp16( with the same accumulator|.* stands there twice)"):
        read(SMALL.replace("[sources]", PEAK.format(format=format, into=into) + "[sources]"))


def test_two_peaks_for_two_accumulators_are_taken() -> None:
    """A GeForce card has one rate into fp32 and another into fp16."""
    chip = read(SMALL.replace("[sources]", PEAK.format(format="fp16", into='["fp16"]') + "[sources]"))
    assert (chip.peak("fp16"), chip.peak("fp16", accumulate="fp16")) == (8e12, 1e12)


def test_two_levels_of_one_name_are_refused() -> None:
    """A level is asked for by its name."""
    level = '[[level]]\nname = "sram"\nscope = "chip"\ncapacity_bytes = { value = 4096, source = "A" }\n'
    with pytest.raises(MachineError, match=r"\[\[level\]\] sram stands there twice"):
        read(SMALL.replace("[sources]", level + "[sources]"))


def test_a_sheet_needs_a_bandwidth_and_a_peak() -> None:
    """Without them there is no roofline; all else may be unknown."""
    with pytest.raises(MachineError, match=r"\[memory\]: bandwidth_bytes_per_s is missing"):
        read(re.sub(r"bandwidth_bytes_per_s = .*\n", "", SMALL))
    with pytest.raises(MachineError, match=r"no peak; give a \[\[peak\]\]"):
        read(edited('unit = "matrix"', 'unit = "special"'))
    with pytest.raises(MachineError, match="no peak"):
        read(re.sub(r"\[\[peak\]\](.|\n)*\[sources\]", "[sources]", SMALL))


def test_sparse_under_the_dense_key_of_a_real_chip_is_refused() -> None:
    """The 1,979 TFLOP/s that the H100's data sheet prints large is found out by units * rate * clock = 989."""
    wrong = re.sub(
        r"flops_per_s = \{ value = 989.4e12(.*)\nsparse_.*\n",
        r"flops_per_s = { value = 1978.9e12\1\n",
        TEXTS["h100-sxm"],
    )
    with pytest.raises(MachineError, match=r"1\.979 PFLOP/s, but .* = 989\.2 TFLOP/s.* a sparse peak as dense"):
        read(wrong)


# ---------------------------------------------------------------------------- a user's files


def test_a_users_file_is_read_by_its_path(tmp_path: Path) -> None:
    """A path ending in .toml, as text or as a Path; the repr is the call; an edit is seen at once."""
    path = tmp_path / "mine.toml"
    path.write_text(SMALL)
    assert machine(str(path)) == machine(path)
    assert machine(path).name == "mine"
    assert repr(machine(path)).startswith(
        f"pm.machine({str(path)!r})  # Chip: 4 cores, matrix fp16 8 TFLOP/s, 100 GB/s, 16 GB"
    )
    path.write_text(edited("100e9", "200e9"))
    assert machine(path).bandwidth_bytes_per_s == 200_000_000_000


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Missing, a folder, not text, not .toml, far too long: each an error that names the path."""
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "chip.json").write_text("{}")
    (tmp_path / "long.toml").write_text("#\n" * LONGEST_SHEET)
    (tmp_path / "line.toml").write_text("#" * (LONGEST_LINE + 1))
    (tmp_path / "broken.toml").write_text("name = ")
    messages = {
        "missing.toml": "No such file",
        "folder.toml": "directory",
        "binary.toml": "not text in UTF-8",
        "long.toml": "a data sheet has at most",
        "broken.toml": "not TOML",
        "line.toml": "a line of a data sheet has at most",
    }
    for name, message in messages.items():
        with pytest.raises(MachineError, match=f"{name}.*{message}"):
            machine(tmp_path / name)
    with pytest.raises(MachineError, match=r"chip.json.*path ends in \.toml"):
        machine(tmp_path / "chip.json")
    with pytest.raises(MachineError):
        machine("null\0byte.toml")


def test_a_peak_a_thousand_times_too_small_is_found_out() -> None:
    """GFLOP/s written where FLOP/s belong stand far below units * rate * clock."""
    wrong = re.sub(r"\nflops_per_s = \{ value = 989.4e12", "\nflops_per_s = { value = 989.4e9", TEXTS["h100-sxm"])
    with pytest.raises(MachineError, match=r"989\.4 GFLOP/s, but .* one of them is wrong"):
        read(wrong)
