"""perfmodel sweep and perfmodel suggest from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest

import perfmodel as pm
from perfmodel.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command that works prints."""
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that does not."""
    assert main(arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    return found.err


CUBE = ("sweep", "matmul(n, n, n)")


def test_rows_as_json_are_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The last value of a range is in it, machines are rows, numbers are numbers."""
    found = json.loads(run(capsys, *CUBE, "--over", "n=64:192:64", "--on", "h100-sxm", "--on", "l4", "--json"))["rows"]
    expected = pm.sweep(pm.matmul("n", "n", "n"), {"n": [64, 128, 192]}, on=["h100-sxm", "l4"])
    assert [row["n"] for row in found] == [64, 64, 128, 128, 192, 192]  # two machines at each
    assert [row["time_s"] for row in found] == expected["time_s"].tolist()
    assert {row["machine"] for row in found} == {"h100-sxm", "l4"}
    assert isinstance(found[0]["flops"], int)


def test_formats_zipped_and_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    """Values go together with --zip; words are formats; columns are those asked for."""
    text = run(capsys, *CUBE, "--over", "n=64,65", "--over", "dtype=bf16,fp8", "--zip", "--metrics", "bytes,flops")
    assert [line.split() for line in text.splitlines()] == [
        ["n", "dtype", "bytes", "flops"],
        ["64", "bf16", str(3 * 64 * 64 * 2), str(2 * 64**3)],
        ["65", "fp8", str(3 * 65 * 65), str(2 * 65**3)],
    ]


def test_a_file_and_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A name in .csv is a file, any other a folder of Parquet files; both hold the table."""
    table, folder = tmp_path / "n.csv", tmp_path / "rows"
    shared = (*CUBE, "--over", "n=1:50", "--metrics", "bytes")
    assert "50 rows written" in run(capsys, *shared, "--out", str(table))
    assert json.loads(run(capsys, *shared, "--out", str(folder), "--json")) == {"out": str(folder)}
    expected = pm.sweep(pm.matmul("n", "n", "n"), {"n": range(1, 51)}, metrics="bytes")
    pandas.testing.assert_frame_equal(pandas.read_csv(table), expected)
    pandas.testing.assert_frame_equal(pandas.read_parquet(folder), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.csv", "rows"]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("n", "expected NAME=START:STOP"),
        ("n=1:2:3:4", "expected NAME=START:STOP"),
        ("n=1:x", "expected NAME=START:STOP"),
        ("n=1:9:0", "a step of 0"),
        ("n=9:1", "has no values"),
        ("n=1.5", "a size is a whole number"),
        ("n=0", "positive integer"),
        ("k=4", "no symbol or label 'k'"),
    ],
)
def test_bad_ranges_are_one_line(capsys: pytest.CaptureFixture[str], over: str, message: str) -> None:
    """What is no range, and what is no size, is said in a line."""
    assert message in refused(capsys, *CUBE, "--over", over)


def test_a_folder_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file in the place of a folder, and a folder in the place of a file."""
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(capsys, *CUBE, "--over", "n=1:4", "--out", str(tmp_path / "file"))
    (tmp_path / "d.csv").mkdir()
    refused(capsys, *CUBE, "--over", "n=1:4", "--out", str(tmp_path / "d.csv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "file"]


WANT = ("suggest", "matmul(n, n, n)", "--on", "a100-sxm-80gb", "--want")


def test_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    """1793 becomes 1792, as text and as JSON, under a condition and of listed sizes."""
    assert "n=1792" in run(capsys, *WANT, "n=1793", "--top", "1")
    found = json.loads(run(capsys, *WANT, "n=1793", "--where", "n % 8 == 0", "--within", "0.02", "--json"))
    assert found["suggestions"][0]["sizes"] == {"n": 1792}
    assert found["allowed"] == len([n for n in range(1758, 1829) if n % 8 == 0])
    listed = json.loads(run(capsys, *WANT, "n=1791,1792,1793", "--json"))
    assert [listed["tried"], listed["suggestions"][0]["sizes"]] == [3, {"n": 1792}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("n=1793", "--where", "n < 8"), "leaves 0"),
        (("n=x",), "positive whole number"),
        (("n=1793", "--top", "0"), "top=0"),
        (("n=1793", "--within", "2"), "within=2"),
        (("k=8",), "no symbol or label 'k'"),
        (("top=8",), "cannot be wanted"),
    ],
)
def test_bad_wishes_are_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    """Conditions that leave nothing, sizes that are none, names that do not occur."""
    assert message in refused(capsys, *WANT, *arguments)
