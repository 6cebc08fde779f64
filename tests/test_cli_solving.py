"""``perfmodel solve``: the answer as text and as JSON, and how it says no."""

from __future__ import annotations

import pytest
from texts import json_document

import perfmodel as pm
from perfmodel.cli import main

SQUARE = "matmul(n, n, n)"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["solve", *arguments])
    return code, *capsys.readouterr()


def test_text_is_the_working(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, SQUARE, "n", "--on", "h100-sxm", "--bound", "compute")
    expected = pm.solve(pm.matmul("n", "n", "n"), "h100-sxm", "n", bound="compute").explain()
    assert (code, out, err) == (0, f"{expected!s}\n", "")


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (["--fits"], {"fits": True}),
        (["--where", "time_s <= 1e-3"], {"where": "time_s <= 1e-3"}),
        (["--where", "time_s <= 1e-4", "--effects", "real", "--within", "256..512"],
         {"where": "time_s <= 1e-4", "effects": "real", "within": (256, 512)}),
    ],
)  # fmt: skip
def test_json_is_the_same_answer(capsys: pytest.CaptureFixture[str], options: list[str], asked: dict) -> None:
    code, out, _ = run(capsys, SQUARE, "n", "--on", "h100-sxm", "--json", *options)
    assert code == 0
    assert json_document(out) == pm.solve(pm.matmul("n", "n", "n"), "h100-sxm", "n", **asked).to_dict()


def test_program_options_are_those_of_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    """--at, --dtype and --fuse prepare the program: 3 n^2 bytes of fp8 within 300."""
    code, out, _ = run(capsys, "matmul(n, n, k)", "n", "--at", "k=n", "--dtype", "fp8_e4m3", "--where", "bytes <= 300")
    assert code == 0
    assert "answer    n <= 10" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([SQUARE, "q", "--on", "h100-sxm", "--fits"], "'q' does not occur"),
        ([SQUARE, "n"], "ask one thing"),
        ([SQUARE, "n", "--bound", "compute"], "ask about a machine"),
        ([SQUARE, "n", "--where", "bytes <= 3", "--within", "a"], "expected FIRST..LAST"),
        ([SQUARE], "required"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
