"""How the shell says no: one clear line, exit code 2, never a traceback."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from texts import SAME, TOKENS, json_document, mutated

from perfmodel.cli import main
from perfmodel.cli.entry import BAD_INPUT

Shell = Callable[..., str]
MATMUL = "matmul(8, 8192, 8192)"
ON = ("--on", "h100-sxm")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command that fails; the one line on standard error."""

    def run(*arguments: str) -> str:
        code = main(arguments)
        out, err = capsys.readouterr()
        assert (code, out) == (BAD_INPUT, "")
        assert re.fullmatch(r"perfmodel: [^\n]+\n", err)
        return err

    return run


BAD = {
    (): "the following arguments are required: COMMAND (perfmodel --help says more)",
    ("estimat",): "invalid choice: 'estimat'",
    ("machines", "h100-sxn"): "did you mean 'h100-sxm'?",
    ("machines", "H100"): "several products: h100-pcie",
    ("machines", "--kind", "gpus"): "did you mean 'gpu'?",
    ("machines", "l4", "--kind", "gpu"): "give names, or --kind, --vendor and --format, not both",
    ("machines", "missing.toml"): "'missing.toml': No such file",
    ("machines", "--jso"): "unrecognized arguments: --jso",
    ("formats", "b16"): "did you mean 'bf16'?",
    ("estimate", MATMUL): "required: --on",
    ("estimate", *ON): "required: PROGRAM",
    ("estimate", MATMUL, "--on", "h200"): "h200-sxm",
    ("estimate", "matmul(8, 8192", *ON): "'(' was never closed",
    ("estimate", "matmul(8,\n0, 8)", *ON): "n = 0: a dimension is a positive integer",
    ("estimate", "matmull(8, 8, 8)", *ON): "did you mean 'matmul'?",
    ("estimate", "__import__('os').system('true')", *ON): "is not allowed",
    ("estimate", "matmul('\\d', 8, 8)", *ON): "m = ",
    ("estimate", "tile(matmul(8, 8, 8), gird={'m': 4})", *ON): "did you mean 'grid'?",
    ("estimate", "tile(matmul(8, 8, 8), m=4)", *ON, "--at", "k=0"): "k = 0",
    ("explain", "tile(matmul(8, 8, 8), grid={4: 4})"): "the keys of a dict are text in quotes",
    ("explain", "tile(matmul(8, 8, 8), m=4, capacity_bytes=8)"): "which has 8",
    ("estimate", "\udcff", *ON): "not an expression",
    ("estimate", MATMUL, *ON, "--at", "m"): "--at 'm': expected NAME=SIZE, such as --at n=4096",
    ("estimate", MATMUL, *ON, "--at", "=4"): "expected NAME=SIZE",
    ("estimate", MATMUL, *ON, "--at", "m=nan"): "nan is no size",
    ("estimate", MATMUL, *ON, "--at", "m=0"): "m = 0: a dimension is a positive integer",
    ("estimate", MATMUL, *ON, "--at", "z=4"): "no symbol or label 'z'",
    ("estimate", MATMUL, *ON, "--at", "m=4", "--at", "m=5"): "m is given already: 4",
    ("estimate", MATMUL, *ON, "--dtype", "fp9"): "no format 'fp9'",
    ("estimate", *ON, "--fuse", MATMUL): "put --fuse after the program",
    ("solve", "--on", "h100-sxm", "--fits", "--fuse", "matmul(n, n, n)", "n"): "put --fuse after the program",
    ("validate", "missing.csv"): "no file 'missing.csv'",
    ("estimate", MATMUL, *ON, "--effects", "ideel"): "no effect 'ideel'",
    ("estimate", MATMUL, *ON, "--effects", "roofline, wavy"): "no effect 'wavy'",
    ("estimate", MATMUL, *ON, "--measured", "fast"): "expected seconds such as 200e-6, got 'fast'",
    ("estimate", MATMUL, *ON, "--measured", "nan"): "seconds = nan",
    ("estimate", MATMUL, *ON, "--measured", "-1"): "seconds = -1.0",
    ("estimate", MATMUL, *ON, "--measured", "1e-9"): "faster than h100-sxm can",
    ("estimate", MATMUL, *ON, *ON, "--measured", "1"): "one program on one machine",
    ("estimate", "matmul(n, 8, 8)", *ON, "--measured", "1"): "formula in symbols",
    ("explain", "softmax(8, 8)", "--on", "l4"): "unrecognized arguments: --on",
    ("occupancy",): "required: MACHINE",
    ("occupancy", "9.1"): "no limits of compute capability '9.1'",
    ("occupancy", "9.0", "--threads", "many"): "invalid int value: 'many'",
    ("occupancy", "9.0", "--threads", "0"): "threads = 0",
    ("divergence", "u < 3"): "no name 'u'",
    ("divergence", "t < 3", "--steps", "1", "2", "3"): "a side is a number of steps",
    ("transactions", "t - 1"): "thread 0 reads at byte -4",
    ("bank-conflicts", "t", "--banks", "0"): "banks = 0",
}


@pytest.mark.parametrize("command", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_exit_code_2(command: tuple[str, ...], refused: Shell) -> None:
    """Nothing on standard output, one clear line on standard error, with and without --json."""
    assert BAD[command] in refused(*command)
    if command:
        assert BAD[command] in refused(command[0], "--json", *command[1:])


def test_a_sheet_that_cannot_be_read_is_refused(refused: Shell, tmp_path: Path) -> None:
    """A folder, broken TOML and bytes that are no text are one line each."""
    folder, broken, binary = tmp_path / "a.toml", tmp_path / "b.toml", tmp_path / "c.toml"
    folder.mkdir()
    broken.write_text("name = ")
    binary.write_bytes(b"\xff\xfe\0")
    for path in (folder, broken, binary):
        assert path.name in refused("machines", str(path))
        assert path.name in refused("estimate", MATMUL, "--on", str(path))


anywhere = st.one_of(
    mutated(), st.text(max_size=40), st.lists(st.sampled_from([*TOKENS, *SAME]), max_size=8).map("".join)
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    anywhere, st.sampled_from(["--at", "--dtype", "--on", "--fuse", "--measured", "--effects"]), st.sampled_from(TOKENS)
)
def test_any_text_is_an_answer_or_one_line(
    capsys: pytest.CaptureFixture[str], program: str, option: str, value: str
) -> None:
    """Whatever stands in the program and in an option, the command answers with JSON or refuses in one line."""
    code = main(["estimate", "--json", *ON, f"{option}={value}", "--", program])
    out, err = capsys.readouterr()
    if code == 0:
        assert json_document(out)["estimates"]
    else:
        assert (code, out) == (BAD_INPUT, "")
        assert re.fullmatch(r"perfmodel: [^\n]+\n", err)
