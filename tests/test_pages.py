"""What pages say of the library is true: rows of a working, lines for the shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from perfmodel.cli import main
from perfmodel.estimation.working import LABELS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
LINES = [line for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL) for line in block.splitlines()
         if line.startswith("perfmodel ")]  # fmt: skip
MEASURED = "gpu,op,dtype,time_us,m,n,k\nh100-sxm,gemm,bf16,200,4096,4096,4096\n"


def test_the_page_on_workings_has_every_row() -> None:
    """Each effect stands in the table after the row that shows it, in the order of the estimate."""
    page = (ROOT / "docs/reading.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted((label, name) for name, label in LABELS.items())
    for row in ("work", "vector", "special", "memory", "ridge", "remedy", "fuse", "note", "left out"):
        assert f"| `{row}` |" in page or f"| `{row}`," in page
    assert "(docs/reading.md)" in README


@pytest.mark.parametrize("line", LINES)
def test_a_line_for_the_shell_answers(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of the page ends well and prints something, where a file measured.csv lies."""
    (tmp_path / "measured.csv").write_text(MEASURED)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line, comments=True)[1:]) == 0
    assert capsys.readouterr().out.strip()


def test_the_page_has_a_line_for_each_use() -> None:
    """Estimate, solve, suggest, sweep, validate and machines."""
    commands = {line.split()[1] for line in LINES}
    assert commands >= {"estimate", "solve", "suggest", "sweep", "validate", "machines"}


def test_the_first_picture_and_its_words_agree() -> None:
    """The picture's text names each step that the picture draws."""
    (alt,) = re.findall(r"!\[([^]]*)\]\(docs/gallery/derivation.png\)", README)
    for step in ("one op a kernel", "three kernels", "fused", "online", "tiled for an SM", "L2", "hollow"):
        assert step in alt
