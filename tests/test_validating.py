"""``validate``: rows keep their order, every row is estimated or counted by reason, and errors are what they say."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pandas as pd
import pytest

from perfmodel import MachineError, PerfModelError, estimate, matmul, validate
from perfmodel.cli import main
from perfmodel.validation.summaries import errors_of


def table(**cells: object) -> pd.DataFrame:
    given = {"gpu": "h100-sxm", "op": "gemm", "dtype": "bf16", "m": 4096, "n": 4096, "k": 4096, "time_us": 200.0}
    return pd.DataFrame(given | cells)


def test_an_ideal_estimate_of_a_row_is_that_of_its_program() -> None:
    frame = table(m=[8, 4096, 1793], time_us=[10.0, 180.0, 90.0])
    found = validate(frame, effects="ideal")
    expected = [estimate(matmul(rows, 4096, 4096), "h100-sxm", effects="ideal").time_s for rows in (8, 4096, 1793)]
    assert [each.estimated_s for each in found.answers] == pytest.approx(expected, rel=1e-12)


def test_a_real_estimate_of_a_row_is_that_of_its_program() -> None:
    frame = table(m=[8, 4096, 1793], time_us=[10.0, 180.0, 90.0])
    expected = [estimate(matmul(rows, 4096, 4096), "h100-sxm").time_s for rows in (8, 4096, 1793)]
    assert [each.estimated_s for each in validate(frame).answers] == pytest.approx(expected, rel=1e-9)


def test_rows_keep_their_order_and_every_row_is_answered() -> None:
    frame = table(gpu=["h100-sxm", "H100", "a100-sxm-80gb", "h100-sxm"], op=["gemm", "gemm", "gemm", "softmax"])
    found = validate(frame)
    assert [each.chip for each in found.answers] == ["h100-sxm", "", "a100-sxm-80gb", "h100-sxm"]
    assert found.mapped + sum(found.reasons.values()) == found.rows == 4


def test_a_format_without_a_known_rate_is_a_reason_and_no_number() -> None:
    found = validate(table(gpu=["a100-sxm-80gb"], dtype="nvfp4"))
    assert found.mapped == 0
    assert "nvfp4" in next(iter(found.reasons))


def test_errors_are_relative_to_what_was_measured() -> None:
    found = errors_of([(1.5, 1.0), (0.9, 1.0), (1.0, 1.0), (2.0, 4.0)])
    assert found.median_error == median([0.5, 0.1, 0.0, 0.5])
    assert found.mean_error == pytest.approx((0.5 + 0.1 + 0.0 + 0.5) / 4)
    assert found.bias == pytest.approx(median([0.5, -0.1, 0.0, -0.5]))
    assert found.within_10_percent == 2 / 4


def test_groups_have_all_mapped_rows() -> None:
    found = validate(table(m=[8, 64, 4096], gpu=["h100-sxm", "h100-sxm", "l4"], time_us=[200, 200, 2000]))
    groups = found.errors(by=("chip", "regime"))
    assert sum(each.rows for each in groups.values()) == found.mapped == 3
    assert ("l4", "m > 256") in groups


def test_an_unknown_grouping_is_refused() -> None:
    with pytest.raises(PerfModelError, match=r"no grouping 'chips' .did you mean 'chip'"):
        validate(table(m=[8])).errors(by=["chips"])


@pytest.mark.parametrize("given", [42, None, [1, 2]])
def test_what_is_no_table_is_refused(given: object) -> None:
    with pytest.raises(PerfModelError, match="expected a DataFrame or the path"):
        validate(given)


def test_the_command_writes_the_rows_back_and_leaves_nothing_half_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(m=[8, 8], gpu=["h100-sxm", "H100"]).to_csv(tmp_path / "in.csv", index=False)
    out = tmp_path / "out.csv"
    assert main(["validate", str(tmp_path / "in.csv"), "--out", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["mapped"], summary["unmapped"]) == (2, 1, {"chip ambiguous: H100": 1})
    written = pd.read_csv(out, keep_default_na=False)
    assert written["estimated_us"].tolist()[1] == ""
    assert written["reason"].tolist() == ["", "chip ambiguous: H100"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_a_chip_may_be_named_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(m=[8], gpu=["H100"]).to_csv(tmp_path / "in.csv", index=False)
    assert main(["validate", str(tmp_path / "in.csv"), "--chip", "H100=h100-sxm", "--by", "chip"]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 rows")


@pytest.mark.parametrize("text", ["", "gpu;op\n1;2", "\x00\x01"])
def test_a_file_that_is_no_table_is_one_line_of_error(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text(text)
    assert main(["validate", str(tmp_path / "in.csv")]) == 2
    assert capsys.readouterr().err.startswith("perfmodel: validate:")


def test_an_effect_may_be_left_out_and_several_named_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(m=[8]).to_csv(tmp_path / "in.csv", index=False)
    biases = []
    for options in ([], ["--without", "launch", "--without", "overlap"], ["--effects", "roofline,launch"]):
        assert main(["validate", str(tmp_path / "in.csv"), "--json", *options]) == 0
        biases.append(json.loads(capsys.readouterr().out)["all"]["bias"])
    assert len(set(biases)) == 3
    assert biases[1] < biases[0]  # without the launch a small product takes less


def test_an_effect_that_does_not_exist_is_one_line_of_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(m=[8]).to_csv(tmp_path / "in.csv", index=False)
    assert main(["validate", str(tmp_path / "in.csv"), "--without", "lunch"]) == 2
    assert "did you mean 'launch'" in capsys.readouterr().err


@pytest.mark.parametrize(("chip", "words"), [("foo", "'foo'"), (5, "got 5"), ("H100", "several products")])
def test_a_chip_that_is_none_is_refused_by_name(chip: object, words: str) -> None:
    """Even where no row of the table has the name."""
    with pytest.raises(MachineError, match=words):
        validate(table(m=[8]), chips={"X": chip})  # type: ignore[dict-item]


HEADER, ROW = "gpu,op,dtype,m,n,k,time_us\n", "h100-sxm,gemm,bf16,4096,4096,4096,200"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER, "no rows"),
        (HEADER.replace(",m,", ",m,m,") + ROW.replace("bf16,", "bf16,8,"), "'m' stands twice"),
        (HEADER + '"' + "x" * 200_000 + '"\n', "not a CSV table"),
    ],
)
def test_a_file_that_would_be_misread_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(PerfModelError, match=words):
        validate(tmp_path / "in.csv")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_row_with_too_many_cells_is_counted_by_reason(place: int, tmp_path: Path) -> None:
    """Wherever it stands; the others are estimated, and all are written back, what is too much beside them."""
    rows = [ROW, ROW, ROW]
    rows[place] += ",7,8"
    (tmp_path / "in.csv").write_text(HEADER + "\n".join(rows) + "\n")
    found = validate(tmp_path / "in.csv")
    assert (found.rows, found.mapped, found.reasons) == (3, 2, {"cells beyond the header: 2": 1})
    assert main(["validate", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.csv")]) == 0
    back = pd.read_csv(tmp_path / "out.csv")
    assert back["beyond the header 2"].notna().tolist() == [each == place for each in range(3)]
    assert back["estimated_us"].isna().tolist() == [each == place for each in range(3)]


def test_a_time_that_no_chip_reaches_is_a_reason() -> None:
    """2 * 4096^3 FLOP at 989.4 TFLOP/s are 138.9 us: 133 us are within a twentieth of it, 131 us are not."""
    found = validate(table(m=[4096] * 4, time_us=[1e-300, 131, 133, 200]))
    assert [each.is_mapped for each in found.answers] == [False, False, True, True]
    assert next(iter(found.reasons)).startswith("time_us: faster than the chip can")
