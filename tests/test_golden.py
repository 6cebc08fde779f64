"""Golden cases: figures that textbooks, guides and public questions settle, answered by the library."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest
from golden.checking import HERE, agrees, differences, expected_of, judge, known_reasons, read_cases
from golden.registry import answer_of, load_answers, patterns_of

import perfmodel as pm

CASES = [case for path in sorted(HERE.glob("cases_*.json")) for case in read_cases(path)]
BY_ID = {case["id"]: case for case in CASES}

# What should become of an answer when one input changes: (case, input, its new value, value, what it must be then).
CHANGED = [
    # twice the peak at the same bandwidth: twice the ridge
    ("s0-4-balance-a100", "peak", 2 * 312e12, "balance", 2 * 156.0),
    # four times the fast memory: twice the intensity, sqrt(M) / 4
    ("o-rb-max-oi", "S", 4 * 57344, "max_oi", 2 * 57344**0.5 / 4),
    # an n x n matmul of 2-byte elements: 2n^3 FLOP over 3 * 2n^2 bytes
    ("s0-5.2-matmul4096", "n", 900, "intensity", 900 / 3),
    # twice the batch: 2 * 16 d^2 FLOP over 2 (d^2 + 2 * 16 d) bytes
    ("s0-5.3-decode-b8", "B", 16, "intensity", 16 / (1 + 2 * 16 / 8192)),
    # the least n with n / 3 >= 495e12 / 3.35e12 = 147.8: 443.3
    ("s0-ex2", "peak", 495e12, "n_min", 444),
    # of rows twice as long: 5MN + 2M elements
    ("s2-2.6-softmax-counts", "N", 8192, "reads", 5 * 4096 * 8192 + 2 * 4096),
    # two matrices of n x n elements of 4 bytes
    ("s0-8.1-attn-64k", "b", 4, "bytes", 2 * 65536**2 * 4),
    # a 5 x 5 filter reads a rim of 4: ((32 + 4)^2 - 32^2) / 32^2
    ("s2-2.2-halo-T32", "R", 5, "exact_pct", 100 * (36**2 / 32**2 - 1)),
    # one exponent bit more and the next bias: 1.75 * 2^16
    ("s2-2.7-e4m3-max", "e", 5, "max", 1.75 * 2.0 ** (31 - 7)),
    # 64 layers instead of 36, 2 * 8 * 64 elements of 2 bytes each
    ("C05", "L", 64, "bytes per token, all layers", 64 * 2 * 8 * 64 * 2),
    # 11 x 11 tiles are the last square number that 132 units hold
    ("s0-ex7", "T", 64, "n_max", 11 * 64),
    # bytes four times as dear: (c - c/8) / (c + 4m)
    ("s2-4.5c-ledger-8x", "m", 4 * 0.161, "saving_pct", 100 * (0.02 - 0.0025) / (0.02 + 4 * 0.161)),
    # k + r + c - 2
    ("s0-9.2-systolic-8x8-k512", "K", 100, "cycles", 100 + 8 + 8 - 2),
    # 16 bits and no scale: two bytes a weight
    ("D03", "bits", 16, "layer weights", 80 * (2 * 8192**2 + 2 * 8192 * 1024 + 3 * 8192 * 28672) * 2 / 1e9),
    # twice the registers a thread: half the blocks
    ("s0-6.7-occ-t256-r64", "r", 128, "blocks", 2),
    # the condition parts whole warps: three warps on one side, one on the other
    ("s0-6.1-div-lt100", "condition", "t<96", "warp_steps", 4 * 10),
    # 32 threads, 16 bytes apart: 512 bytes in lines of 128
    ("s0-6.5-coal-stride2", "stride", 4, "transactions", 32 * 16 // 128),
    # 1 + 24 / 3
    ("o-cs149-latency-hiding", "lat", 24, "threads_3", 9),
]


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """What our code makes of a case's inputs."""
    answer = answer_of(case["id"])
    assert answer is not None
    return answer(case["inputs"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_is_answered_as_its_source_has_it(case: dict[str, Any]) -> None:
    """Each expected value comes out of the public interface within its tolerance."""
    assert differences(answered(case), case) == ()


def test_every_case_has_one_answer_and_every_answer_a_case() -> None:
    """No id is answered twice, none is left out, and no function answers a case that is not there."""
    found = {case_id: patterns_of(case_id) for case_id in BY_ID}
    assert {case_id for case_id, patterns in found.items() if len(patterns) != 1} == set()
    assert {pattern for patterns in found.values() for pattern in patterns} == set(load_answers())
    assert len(BY_ID) == len(CASES)


def test_no_case_is_both_answered_and_waiting() -> None:
    """The list of unanswered cases names none that has an answer, so it shrinks as the library grows."""
    assert [case_id for case_id in known_reasons() if patterns_of(case_id)] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_holds_figures_and_where_they_come_from(case: dict[str, Any]) -> None:
    """A row has its source, its verdict and values with a name; never the question."""
    assert set(case) == {"id", "source", "verdict", "inputs", "expected"}
    assert case["source"]
    assert case["verdict"]
    assert expected_of(case)
    assert all({"name", "value", "unit"} <= set(value) for value in expected_of(case))


@pytest.mark.parametrize("change", CHANGED, ids=lambda change: f"{change[0]}-{change[1]}")
def test_an_answer_follows_its_inputs(change: tuple[str, str, Any, str, Any]) -> None:
    """A changed input gives the value that the change implies, not the one on file."""
    case_id, key, new, name, expected = change
    case = copy.deepcopy(BY_ID[case_id])
    before = answered(case)[name]
    case["inputs"][key] = new
    after = answered(case)[name]
    assert after == pytest.approx(expected, rel=1e-12)
    assert after != before


def test_formats_made_from_their_fields_are_those_of_the_table() -> None:
    """What the format cases build from exponent, mantissa and bias holds what the named format holds."""
    for case_id, name in (("s2-2.7-e4m3-max", "fp8_e4m3"), ("s2-2.7-e5m2-max", "fp8_e5m2"), ("s2-2.7-fp16", "fp16")):
        assert answered(BY_ID[case_id])["max"] == pm.format(name).max_finite


@pytest.mark.parametrize(
    ("got", "wanted", "right"),
    [
        (7, {"value": 7, "rel_tol": 0}, True),
        (7.001, {"value": 7, "rel_tol": 0}, False),
        (7.03, {"value": 7, "rel_tol": 0.005}, True),
        (7.04, {"value": 7, "rel_tol": 0.005}, False),
        ("memory", {"value": "memory"}, True),
        ("compute", {"value": "memory"}, False),
        (True, {"value": 1.0, "rel_tol": 0}, True),
        (False, {"value": True}, False),
    ],
)
def test_a_value_agrees_within_its_tolerance_only(got: Any, wanted: dict[str, Any], right: bool) -> None:
    """A tolerance of 0 or none means equal; 1.0 stands for true where a file writes it so."""
    assert agrees(got, wanted) is right


def test_a_wrong_value_a_missing_one_and_an_error_are_told_apart_from_no_answer() -> None:
    """The runner calls a case wrong where a value differs, is missing or cannot be had; else unanswered."""
    right = BY_ID["s3-5-ridge"]
    value = right["expected"][0]
    differing = {**right, "expected": [{**value, "value": 151.0}]}
    missing = {**right, "expected": [value, {**value, "name": "other"}]}
    failing = {**right, "inputs": {**right["inputs"], "bw": 0}}
    unknown = {**right, "id": "nobody-asked"}
    statuses = [judge(case, {}).status for case in (right, differing, missing, failing, unknown)]
    assert statuses == ["correct", "wrong", "wrong", "wrong", "unanswered"]
    assert judge(unknown, {"nobody-asked": "needs time"}).reasons == ("needs time",)


def test_the_runner_takes_a_directory_and_says_by_its_exit_code_whether_all_is_right(tmp_path: Any) -> None:
    """A directory of the same form is answered; a wrong value gives 1, no files 2, and nothing wrong 0."""

    def run(*cases: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        for path in tmp_path.glob("*.json"):
            path.unlink()
        if cases:
            (tmp_path / "some.json").write_text(json.dumps({"cases": cases}))
        command = [sys.executable, HERE / "run.py", "--golden", tmp_path]
        return subprocess.run(command, capture_output=True, text=True)

    right = BY_ID["s3-5-ridge"]
    other = {**right, "id": "nobody-asked", "features": ["ridge"]}
    wrong = {**right, "expected": [{**right["expected"][0], "value": 151.0}]}
    good, bad, none = run(right, other), run(wrong), run()
    assert (good.returncode, bad.returncode, none.returncode) == (0, 1, 2)
    assert "some.json: 1 answered, 1 correct, of 2" in good.stdout
    assert "nobody-asked" in good.stdout
    assert "WRONG s3-5-ridge" in bad.stdout
