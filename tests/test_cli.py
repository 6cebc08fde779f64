"""The shell: what each command prints, as text and as JSON, and how it says no."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from texts import json_document

import perfmodel as pm
from perfmodel import reading
from perfmodel.cli import main
from perfmodel.cli.entry import as_json
from perfmodel.cli.options import parser

Shell = Callable[..., str]
MATMUL = "matmul(8, 8192, 8192)"
ON = ("--on", "h100-sxm")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command that succeeds; its standard output."""

    def run(*arguments: str) -> str:
        code = main(arguments)
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


# ---------------------------------------------------------------------------- machines, formats


def test_machines_lists_every_chip(shell: Shell) -> None:
    """A row a chip, with its peaks by format, its bandwidth and its capacity."""
    title, head, *rows = shell("machines").splitlines()
    assert "dense" in title
    assert head.split() == [
        "name",
        "kind",
        "units",
        "fp32",
        "fp16",
        "bf16",
        "fp8",
        "int8",
        "fp4",
        "bandwidth",
        "capacity",
    ]
    assert [row.split()[0] for row in rows] == list(pm.machines())
    row = next(row for row in rows if row.startswith("a100-sxm-80gb"))
    assert re.split(r"  +", row)[2:] == [
        "108 SMs",
        "19.5 T",
        "312 T",
        "312 T",
        "-",
        "624 T",
        "-",
        "2.039 TB/s",
        "80 GiB",
    ]


def test_machines_can_be_narrowed(shell: Shell) -> None:
    """--kind and --vendor list some of the chips."""
    rows = [row.split()[0] for row in shell("machines", "--kind", "npu", "--vendor", "amazon").splitlines()[2:]]
    assert rows == ["trn1", "inf2", "trn2", "trn3"]
    rows = [row.split()[0] for row in shell("machines", "--kind", "gpu", "--format", "fp4").splitlines()[2:]]
    assert rows == list(pm.machines(kind="gpu", format="fp4"))


def test_a_named_machine_shows_its_sheet_with_sources(shell: Shell) -> None:
    """With names, each sheet is explained; what stands there is machine.explain()."""
    text = shell("machines", "lecture-cpu", "l4")
    assert text == f"{pm.machine('lecture-cpu').explain()!s}\n\n{pm.machine('l4').explain()!s}\n"
    assert "Course notes" in text


def test_machines_as_json_are_their_dicts(shell: Shell) -> None:
    """--json gives the same document with and without names: a list of to_dict()."""
    found = json_document(shell("machines", "--json"))["machines"]
    assert [each["name"] for each in found] == list(pm.machines())
    assert json_document(shell("machines", "h100-sxm", "--json"))["machines"] == [pm.machine("h100-sxm").to_dict()]
    assert all(isinstance(each["bandwidth_bytes_per_s"], int) for each in found)


def test_a_sheet_of_ones_own_is_read(shell: Shell, tmp_path: Path) -> None:
    """A path in .toml is a machine to every command."""
    sheet = Path(__file__).parents[1] / "hardware" / "lecture-cpu.toml"
    mine = tmp_path / "mine.toml"
    mine.write_text(sheet.read_text())
    assert "16 cores" in shell("machines", str(mine))
    assert "on mine: " in shell("estimate", MATMUL, "--on", str(mine))


def test_formats_lists_every_format(shell: Shell) -> None:
    """A row a format; effective bits have the scales' share (4 + 8/16 = 4.5), and JSON numbers are numbers."""
    assert [row.split()[0] for row in shell("formats").splitlines()[2:]] == [each.name for each in pm.formats()]
    assert json_document(shell("formats", "nvfp4", "fp16", "--json"))["formats"] == [
        {"name": "nvfp4", "kind": "float", "bits": 4, "effective_bits": 4.5, "exponent_bits": 2, "mantissa_bits": 1,
         "block": 16, "scale_bits": 8, "max_finite": 6.0, "min_normal": 1.0, "min_subnormal": 0.5,
         "accumulator": "fp32"},
        {"name": "fp16", "kind": "float", "bits": 16, "effective_bits": 16, "exponent_bits": 5, "mantissa_bits": 10,
         "block": None, "scale_bits": 0, "max_finite": 65504.0, "min_normal": 2**-14, "min_subnormal": 2**-24,
         "accumulator": "fp32"},
    ]  # fmt: skip


# ---------------------------------------------------------------------------- estimate, explain


def test_estimate_on_two_machines_explains_both_and_compares(shell: Shell) -> None:
    """Each working as estimate(...).explain() gives it, then the table."""
    text = shell("estimate", MATMUL, "--on", "h100-sxm", "--on", "a100-sxm-80gb", "--effects", "ideal")
    p = pm.matmul(8, 8192, 8192)
    for name in ("h100-sxm", "a100-sxm-80gb"):
        assert f"{pm.estimate(p, name, effects='ideal').explain()!s}\n\n" in text
    head, first, second = text.splitlines()[-3:]
    assert head.split()[:2] == ["program", "machine"]
    assert "h100-sxm" in first
    # bound by memory on both: 2.039 TB/s over 3.352 TB/s
    assert "a100-sxm-80gb" in second
    assert "0.608 x" in second


def test_one_estimate_has_no_table(shell: Shell) -> None:
    """A program on a machine is its explanation and nothing else."""
    expected = pm.estimate(pm.matmul(8, 8192, 8192), "h100-sxm").explain()
    assert shell("estimate", MATMUL, "--on", "h100-sxm") == f"{expected!s}\n"


def test_estimate_as_json_has_numbers_as_numbers(shell: Shell) -> None:
    """Counts are ints, times floats: 2 m n k FLOP; A, B read and C written, 2 bytes each; hbm at 3.352 TB/s."""
    call = ("estimate", MATMUL, "--on", "h100-sxm", "--on", "l4", "--json", "--effects", "ideal")
    found = json_document(shell(*call))
    assert list(found) == ["programs", "estimates", "comparison", "measured"]
    moved = 2 * (8 * 8192 + 8192 * 8192 + 8 * 8192)
    assert found["programs"][0]["flops"] == 2 * 8 * 8192 * 8192
    assert found["programs"][0]["bytes"] == moved
    first = found["estimates"][0]
    assert first["time_s"] == moved / pm.machine("h100-sxm").bandwidth_bytes_per_s
    assert (first["machine"], first["bound"], first["bottleneck"]) == ("h100-sxm", "memory", "hbm")
    assert isinstance(first["kernels"][0]["terms"]["matrix bf16"]["rate"], int)
    assert found["comparison"]["machine"] == ["h100-sxm", "l4"]
    assert found["comparison"]["speedup"][0] == 1.0
    assert found["measured"] is None


def test_formulas_are_text_in_json(shell: Shell) -> None:
    """A program with symbols has its counts and its time as text."""
    found = json_document(shell("estimate", "matmul(m, n, k)", "--on", "h100-sxm", "--json"))
    assert found["programs"][0]["flops"] == "2*k*m*n"
    assert found["estimates"][0]["time_s"].startswith("Max(")
    assert found["estimates"][0]["bound"] == "depends"


def test_at_gives_symbols_and_labels_sizes(shell: Shell) -> None:
    """--at binds a symbol, resizes a label, and may be a formula: the same as p.at(...)."""
    text = shell("explain", "matmul(b, n, 64)", "--at", "b=2**3", "--at", "k = 32", "--at", "n=3*h")
    assert text.splitlines()[0] == "matmul(m=8 n=3*h k=32, bf16)"


def test_dtype_casts_every_tensor(shell: Shell) -> None:
    """--dtype int8 halves the bytes of bf16: (m k + k n + m n) * 1."""
    found = json_document(shell("explain", "matmul(8, 16, 32)", "--dtype", "int8", "--json"))["programs"][0]
    assert found["bytes"] == 8 * 32 + 32 * 16 + 8 * 16
    assert found["history"][-1] == "cast('int8')"


def test_fuse_makes_one_kernel_or_one_a_stage(shell: Shell) -> None:
    """--fuse merges all, --fuse stage what belongs to one stage."""
    p = "attention(n, n, 128)"
    kernels = [
        json_document(shell("explain", p, *options, "--json"))["programs"][0]["kernels"]
        for options in ([], ["--fuse"], ["--fuse", "stage"])
    ]
    assert [len(found) for found in kernels] == [7, 1, 3]  # scores, five steps of softmax, values


def test_an_effect_is_left_out(shell: Shell) -> None:
    """Each --without takes one more effect out, as ``without=`` does."""
    call = ["estimate", "matmul(64, 64, 64)", "--on", "l4", "--json", "--without", "launch", "--without", "overlap"]
    found = json.loads(shell(*call))["estimates"][0]
    assert found["time_s"] == pm.estimate(pm.matmul(64, 64, 64), "l4", without=["launch", "overlap"]).time_s


def test_several_programs_are_compared(shell: Shell) -> None:
    """Softmax one op a kernel moves 8MN + 4M elements, fused 2MN: 4 (N + 1/2) / N times as fast."""
    programs = ("softmax(64, 128)", "fuse(softmax(64, 128))")
    table = json_document(shell("estimate", *programs, "--on", "h100-sxm", "--json", "--effects", "ideal"))[
        "comparison"
    ]
    assert table["bytes"] == [2 * (8 * 64 * 128 + 4 * 64), 2 * (2 * 64 * 128)]
    assert table["kernels"] == [5, 1]
    assert table["speedup"][1] == pytest.approx(table["bytes"][0] / table["bytes"][1])


def test_several_formulas_are_compared(shell: Shell) -> None:
    """Times that are formulas stand beside each other too."""
    assert "l4" in shell("estimate", "matmul(n, n, n)", "--on", "h100-sxm", "--on", "l4").splitlines()[-1]


def test_a_measured_time_stands_beside_the_estimate(shell: Shell) -> None:
    """--measured adds the ratio and the attained rates: 2 * 4096^3 FLOP in 200 us of a peak of 989.4 TFLOP/s."""
    command = ("estimate", "matmul(4096, 4096, 4096)", "--on", "h100-sxm", "--effects", "ideal", "--measured", "200e-6")
    last = shell(*command).splitlines()[-1]
    assert last.startswith("  measured 200 us: 1.44 times as long; 687.2 TFLOP/s (69 % of peak), ")
    found = json_document(shell(*command, "--json"))["measured"]
    assert found["flops_per_s"] == 2 * 4096**3 / 200e-6


def test_explain_counts_without_a_machine(shell: Shell) -> None:
    """explain prints what p.explain() says, --json what p.to_dict() holds."""
    p = pm.softmax("m", "n")
    assert shell("explain", "softmax(m, n)") == f"{p.explain()!s}\n"
    assert json_document(shell("explain", "softmax(m, n)", "--json")) == {"programs": [p.to_dict()]}


def test_what_json_has_no_number_for_is_null() -> None:
    """Infinities and NaN leave no NaN in the document."""
    assert json_document(as_json({"a": [float("inf"), float("nan"), 1.5], "b": "n"})) == {
        "a": [None, None, 1.5],
        "b": "n",
    }


# ---------------------------------------------------------------------------- warps


def test_commands_on_warps_show_what_the_functions_say(shell: Shell) -> None:
    """Each command's text is the working, its JSON the plain data, with the options as arguments."""
    made = {
        ("occupancy", "9.0", "--threads", "128", "--registers", "96", "--shared-bytes", "4096"): pm.occupancy(
            "9.0", 128, 96, 4096
        ),
        ("divergence", "t < 100", "--threads", "256", "--steps", "3", "4", "--warp", "16"): pm.divergence(
            "t < 100", 256, (3, 4), warp=16
        ),
        ("divergence", "5 - t % 3", "--steps", "2"): pm.divergence("5 - t % 3", steps=2),
        ("transactions", "64*y + x", "--block", "8", "4", "--element-bytes", "2"): pm.transactions(
            "64*y + x", 2, block=(8, 4)
        ),
        ("transactions", "t", "--line-bytes", "64", "--sector-bytes", "16", "--offset-bytes", "8"): pm.transactions(
            "t", line_bytes=64, sector_bytes=16, offset_bytes=8
        ),
        ("bank-conflicts", "32*t", "--banks", "16", "--bank-bytes", "8"): pm.bank_conflicts("32*t", 4, 16, 8),
    }
    for command, found in made.items():
        assert shell(*command) == f"{found.explain()!s}\n"
        assert json_document(shell(*command, "--json")) == found.to_dict()


# ---------------------------------------------------------------------------- help


WARPS = (["occupancy"], ["divergence"], ["transactions"], ["bank-conflicts"])
PLAIN = ([], ["machines"], ["formats"], ["estimate"], ["explain"], ["sweep"], ["suggest"])
COMMANDS: list[list[str]] = [*PLAIN, *WARPS]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: list[str], shell: Shell) -> None:
    """--help exits with 0 and shows how the command is used."""
    assert "examples:\n  perfmodel " in shell(*command, "--help")


def test_the_examples_of_the_help_run(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each line under "examples:" is a command that works (a sheet of one's own is there to be read)."""
    sheet = Path(__file__).parents[1] / "hardware" / "lecture-cpu.toml"
    (tmp_path / "my-chip.toml").write_text(sheet.read_text())
    monkeypatch.chdir(tmp_path)
    texts = [shell(*command, "--help") for command in COMMANDS]
    examples = [line.split("   ")[0] for text in texts for line in re.findall(r"^  perfmodel (.*)$", text, re.M)]
    assert len(examples) > 10
    for example in examples:
        assert shell(*shlex.split(example))


def test_the_help_names_every_descriptor(shell: Shell) -> None:
    """The list of descriptors in the help is the list that describe knows."""
    text = shell("estimate", "--help")
    assert [name for name in reading._VERBS if name not in text] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints one line."""
    assert main(["--version"]) == 0
    assert re.fullmatch(r"perfmodel .+\n", capsys.readouterr().out)


# ---------------------------------------------------------------------------- around it


def test_letters_that_a_terminal_lacks_are_shown_by_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Greek symbol on an ASCII terminal is an escape, not an error."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["explain", "matmul(µ, 8, 8)"]) == 0
    assert b"m=\\u03bc n=8" in terminal.buffer.getvalue()  # Python reads the micro sign as the Greek letter (NFKC)


def test_options_are_parsed_without_loading_a_command() -> None:
    """Help is quick: of the parser's own modules none is that of a command, until one runs."""
    options = parser().parse_args(["estimate", MATMUL, *ON, "--fuse", "stage", "--at", "n=4"])
    assert (options.program, options.on, options.fuse, options.at) == ([MATMUL], ["h100-sxm"], "stage", ["n=4"])
    code = (
        "import sys; from perfmodel.cli.options import parser; parser(); "
        "print(*[name for name in sys.modules if name.startswith(('perfmodel.cli.', 'perfmodel.estimation'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    homes = ("question_options", "unit_options", "warp_options", "shared_options", "options", "entry")
    assert set(loaded) <= {f"perfmodel.cli.{name}" for name in homes}


def test_tiled_programs_are_estimated_and_explained(shell: Shell) -> None:
    """tile reads from text as from Python, in both commands, and binds its symbols by --at."""
    p = pm.tile(pm.matmul(4096, 4096, 4096), m=128, n=128)
    text = "tile(matmul(4096, 4096, 4096), m=128, n=128)"
    assert shell("estimate", text, *ON) == f"{pm.estimate(p, 'h100-sxm').explain()!s}\n"
    assert shell("explain", text) == f"{p.explain()!s}\n"
    bound = shell(
        "explain",
        "--json",
        "tile(matmul(m, n, k), m=t, n=t)",
        "--at",
        "m=64",
        "--at",
        "n=64",
        "--at",
        "k=8",
        "--at",
        "t=16",
    )
    # A and B once for each of 64/16 blocks across, and C
    assert json_document(bound)["programs"][0]["bytes"] == 2 * (4 * 64 * 8 + 4 * 8 * 64 + 64 * 64)
