"""suggest: sizes near those wanted, what they are worth, why, and nothing that a condition forbids."""

from __future__ import annotations

import copy
import html
import itertools
import json
import math
import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.suggesting import suggester
from perfmodel.suggesting.candidates import grid_of
from perfmodel.suggesting.conditions import conditions_of

A100 = "a100-sxm-80gb"


def test_vocabulary() -> None:
    """GPT-2's 50257 words: 50304 = 393 x 128 is best, well over the throughput of odd rows."""
    found = pm.suggest(pm.matmul(8192, 50257, 4096), A100, n=50257)
    assert found.best.sizes == {"n": 50304}
    assert found.best.gain > 1.2
    assert found.best.why[0] == "n = 50304 = 393 x 128, rows of 16-byte pieces"
    assert found.wanted.why[0] == "n = 50257, rows of 2-byte pieces"


@pytest.mark.parametrize("program", [pm.matmul("n", "n", "n"), pm.matmul(1793, "n", 1793)])
def test_1792_instead_of_1793(program: pm.Program) -> None:
    """7 x 256 is one wave on 108 units where 1793 needs more: far more throughput for one row less."""
    found = pm.suggest(program, A100, n=1793)
    assert found.best.sizes == {"n": 1792}
    assert found.best.gain > 1.5
    assert any("1 wave" in text for text in found.best.why)


def test_names_that_stand_in_a_condition_alone() -> None:
    """A number of heads that only the condition asks for, with a function and with a program, in text or a function."""
    near = {"h": range(3584, 4609, 64), "heads": [28, 32, 36]}
    text, function = "h % (8*heads) == 0", lambda h, heads: h % (8 * heads) == 0
    programs = (lambda h, heads: pm.matmul(2048, 3 * h, h), lambda h: pm.matmul(2048, 3 * h, h),
                pm.matmul(2048, "3*h", "h"), pm.matmul(2048, 3 * 4096, 4096).at(n="3*h", k="h"))  # fmt: skip
    every = [pm.suggest(each, "h100-sxm", where=where, **near) for each in programs for where in (text, function)]
    allowed = sum(1 for h in near["h"] for heads in near["heads"] if h % (8 * heads) == 0)
    assert {each.allowed for each in every} == {allowed}
    assert len({tuple(tuple(row.sizes.items()) for row in each.rows) for each in every}) == 1
    assert every[0].best.estimates[0].time_s == pytest.approx(every[0].best.time_s)
    assert "heads=" in every[0].explain()
    for each in programs[1:]:
        with pytest.raises(pm.PerfModelError, match=r"suggest: .*heads"):
            pm.suggest(each, "h100-sxm", where="h % 8 == 0", **near)


def test_what_a_function_raises_is_an_error_of_the_family() -> None:
    """A program or a condition that fails in a user's own function says so, with the function's error behind it."""
    with pytest.raises(pm.PerfModelError, match=r"suggest: <lambda>\(n\): ZeroDivisionError") as caught:
        pm.suggest(lambda n: pm.matmul(n, n, 1 // 0), A100, n=64)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(pm.ExpressionError, match="suggest: where: ZeroDivisionError"):
        pm.suggest(pm.matmul("n", 8, 8), A100, n=64, where=lambda n: 1 // 0)


def test_what_is_right_stays() -> None:
    """Where nothing near is worth it, the size that is wanted is the first suggestion."""
    assert pm.suggest(pm.gemv("n", 4096), "h100-sxm", n=4096).best.sizes == {"n": 4096}


def test_heads_and_hidden_size_jointly() -> None:
    """Hidden sizes divisible by heads x tensor-parallel degree, under a budget of parameters."""

    def layer(h: Any, heads: Any) -> pm.Program:
        return pm.fuse(pm.attention(2048, 2048, h // heads, heads=heads), by="stage")

    where = "h % (8*heads) == 0 and 12*32*h*h <= 7e9"
    found = pm.suggest(layer, ["h100-sxm", A100], within=0.1, where=where, h=4100, heads=range(16, 65))
    assert found.rows
    for row in (*found.rows, *found.front):
        assert row.sizes["h"] % (8 * row.sizes["heads"]) == 0
        assert 12 * 32 * row.sizes["h"] ** 2 <= 7e9
        assert abs(row.sizes["h"] - 4100) <= 410
    assert found.best.gain > 1
    assert len(found.best.times_s) == 2


def test_each_is_worth_what_its_estimate_says() -> None:
    """Seconds are the estimate's, on each machine; the gain is the geometric mean of the rates over the wanted's."""
    found = pm.suggest(pm.matmul("m", "n", 1024), ["h100-sxm", "l4"], m=1000, n=1000, within=0.02)
    wanted = [pm.estimate(pm.matmul(1000, 1000, 1024), chip) for chip in ("h100-sxm", "l4")]
    for row in (*found.rows, *found.front, found.wanted):
        own = [pm.estimate(pm.matmul(row.sizes["m"], row.sizes["n"], 1024), chip) for chip in ("h100-sxm", "l4")]
        assert row.times_s == pytest.approx([each.time_s for each in own], rel=1e-9)
        ratios = [one.flops_per_s / other.flops_per_s for one, other in zip(own, wanted, strict=True)]
        assert row.gain == pytest.approx(math.sqrt(ratios[0] * ratios[1]), rel=1e-9)
        assert row.estimates[0].time_s == pytest.approx(row.times_s[0])


def test_the_front_is_what_nothing_as_near_beats() -> None:
    """Nearest first, and each faster by a tenth of a per cent than all that are as near, whatever is tried."""
    found = pm.suggest(pm.matmul(2048, "n", 2048), A100, n=2000)
    everything = pm.sweep(pm.matmul(2048, "n", 2048), {"n": range(1900, 2101)}, A100, "flops_per_s")
    away = (everything["n"] - 2000).abs() / 2000
    for one, other in itertools.pairwise(found.front):
        assert one.distance < other.distance
        assert other.gain > 1.001 * one.gain
    for row in found.front:
        as_near = everything["flops_per_s"][away <= row.distance]
        assert row.rates[0] >= as_near.max() * (1 - 1e-9)


def test_the_front_by_size_is_what_nothing_as_small_beats() -> None:
    """Smallest first, over two sizes; size is the FLOPs, and all that is tried is held against each."""
    found = pm.suggest(pm.matmul("m", "n", 512), A100, m=300, n=2000, within={"m": 0.03, "n": 0.02})
    everything = pm.sweep(
        pm.matmul("m", "n", 512), {"m": range(291, 310), "n": range(1960, 2041)}, A100, ["flops_per_s", "flops"]
    )
    assert len(everything) == found.estimated
    for one, other in itertools.pairwise(found.front_by_size):
        assert one.work < other.work
        assert other.gain > 1.001 * one.gain
    for row in found.front_by_size:
        assert row.work == 2 * row.sizes["m"] * row.sizes["n"] * 512
        as_small = everything["flops_per_s"][everything["flops"] <= row.work]
        assert row.rates[0] >= as_small.max() * (1 - 1e-9)
    fastest = everything["flops_per_s"].max()
    assert found.front_by_size[-1].rates[0] * 1.001 >= fastest
    assert "\n  by size    m=" in found.explain()
    assert len(found.to_dict()["front_by_size"]) == len(found.front_by_size)


def test_a_share_for_each_name() -> None:
    """Names that within leaves out have the share that there is without it."""
    program = pm.matmul("m", "n", 64)
    found = pm.suggest(program, A100, m=100, n=200, within={"m": 0.01})
    assert found.tried == len(range(99, 102)) * len(range(190, 211))
    assert found.tried == pm.suggest(program, A100, m=100, n=200, within={"m": 0.01, "n": 0.05}).tried


def test_more_than_are_estimated_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rough first stage keeps what the full search finds best."""
    program, wanted = pm.matmul("m", "n", 1792), {"m": 1793, "n": 1793}
    whole = pm.suggest(program, A100, within=0.02, **wanted)
    monkeypatch.setattr(suggester, "FULL", 500)
    thinned = pm.suggest(program, A100, within=0.02, **wanted)
    assert (whole.estimated, thinned.estimated) == (71 * 71, 500)
    assert thinned.best.sizes == whole.best.sizes
    assert whole.best.sizes["n"] == 1792


def test_programs_without_flops_are_ranked_by_bytes() -> None:
    """An embedding only moves data: its throughput is bytes a second."""
    found = pm.suggest(pm.embedding(64, 1000, "h"), "h100-sxm", h=1000)
    assert found.table().columns[2] == "bytes_per_s"


def test_effects_that_are_asked_for() -> None:
    """By the ideal roofline no size below the wanted one gains."""
    found = pm.suggest(pm.matmul(8192, "n", 8192), A100, n=8191, effects="ideal")
    assert found.front[-1].gain == pytest.approx(1, rel=1e-2)


def test_results_are_values() -> None:
    """They pickle, copy, compare, and come as tables, frames, plain data, text and HTML."""
    found = pm.suggest(pm.matmul(1793, "n", 1793), A100, n=1793, top=3)
    assert pickle.loads(pickle.dumps(found)) == found == copy.deepcopy(found)
    assert found != pm.suggest(pm.matmul(1793, "n", 1793), A100, n=1793, top=2)
    assert len(found) == 3
    assert found[0] is found.best
    assert list(found.to_frame().columns) == ["n", "time_s", "flops_per_s", "gain", "distance"]
    assert json.loads(json.dumps(found.to_dict()))["suggestions"][0]["sizes"] == {"n": 1792}
    assert "1 wave, 97 % full" in found.explain()
    assert "1792" in found._repr_html_()
    assert repr(found).splitlines()[0] == "suggest(matmul): beside what is wanted (first), best first"


SIZES = {"a": st.integers(1, 60), "b": st.integers(1, 60)}
CONDITIONS = (
    "a % (2*b) == 0", "a // b >= 2", "a*b <= 100 and a > b", "a < 10 or not b >= 5", "3 <= a <= 2*b != 8", "a / b > 1",
    "ceil(a/b) == 2", "max(a, b) - min(a, b) <= 3", "a**2 == b**2", "a % 7 == b % 7",
    "a <= 1.5*b", "a - 0.25*b > 2.5",
)  # fmt: skip


@settings(max_examples=30)
@given(st.fixed_dictionaries(SIZES), st.sampled_from(CONDITIONS))
def test_conditions_hold_as_python_reads_them(sizes: dict[str, int], text: str) -> None:
    """A condition in text means what Python means by it."""
    arrays = {name: numpy.array([size]) for name, size in sizes.items()}
    found = all(bool(each.holds(arrays)[0]) for each in conditions_of(text, sizes))
    assert found == eval(text, {"ceil": math.ceil, "max": max, "min": min}, dict(sizes))  # noqa: S307


def test_conditions_name_counts_and_may_be_functions() -> None:
    """flops and bytes of the program stand in conditions; functions get arrays; several are joined."""
    program = pm.matmul(64, "n", 64)
    where = ["flops <= 8192*1000", lambda n: n % 8 == 0, "n > 990"]
    found = pm.suggest(program, A100, n=1000, where=where)
    assert found.allowed == len([n for n in range(991, 1001) if n % 8 == 0])
    assert {row.sizes["n"] for row in found.rows} <= {992, 1000}


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "contradiction": ({"where": "n % 96 == 0 and n % 7 == 0"}, pm.SolveError, "'n % 96 == 0' leaves 1, then"),
    "alone": ({"where": "n % 96 == 0 and n % 7 == 0"}, pm.SolveError, "contradict each other"),
    "nothing": ({"where": "n < 100"}, pm.SolveError, "of 101 candidates 'n < 100' leaves 0; widen within="),
    "unknown size": ({"nn": 8}, pm.LabelError, "no symbol or label 'nn'"),
    "unknown in where": ({"where": "nn < 8"}, pm.ExpressionError, "no quantity 'nn'"),
    "no comparison": ({"where": "n + 8"}, pm.ExpressionError, "expected comparisons"),
    "code": ({"where": "__import__('os').getcwd() == 4"}, pm.ExpressionError, "not allowed"),
    "number": ({"where": 4}, pm.ExpressionError, "expected comparisons"),
    "no truth": ({"where": lambda n: n}, pm.ExpressionError, "expected 101 bools"),
    "no such argument": ({"where": lambda: True}, pm.ExpressionError, "gets arrays by name: n"),
    "float": ({"n": 1000.5}, pm.DimensionError, "positive whole number"),
    "zero": ({"n": 0}, pm.DimensionError, "positive whole number"),
    "truth": ({"n": True}, pm.DimensionError, "positive whole number"),
    "text": ({"n": "1000"}, pm.DimensionError, "positive whole number"),
    "empty": ({"n": []}, pm.DimensionError, "no sizes to try"),
    "huge": ({"n": 2**40}, pm.DimensionError, "narrow within="),
    "huge range": ({"n": range(1, 10**9)}, pm.DimensionError, "at most"),
    "joint": ({"n": 10**5, "k": 10**5}, pm.DimensionError, "combinations"),
    "share": ({"within": 2}, pm.ExpressionError, "within=2"),
    "share of nothing": ({"within": {"q": 0.1}}, pm.LabelError, "within has 'q', which is not wanted; wanted are n"),
    "share of a list": ({"n": [4, 8], "within": {"n": 0.1}}, pm.LabelError, "'n', which lists its sizes"),
    "share of a name": ({"within": {"n": 2}}, pm.ExpressionError, "within=2"),
    "machine": ({"on": "h100"}, pm.MachineError, "several products"),
    "no machine": ({"on": []}, pm.PerfModelError, "at least one machine"),
    "top": ({"top": 0}, pm.PerfModelError, "top=0"),
    "effects": ({"effects": "wave"}, pm.ExpressionError, "no effect 'wave'"),
    "program": ({"program": 4}, pm.PerfModelError, "expected a program"),
    "function": ({"program": lambda k: pm.gemv(k, k)}, pm.ExpressionError, "unexpected keyword"),
    "open": ({"program": pm.matmul("m", "n", 64)}, pm.LabelError, "m of matmul has no size"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name: str) -> None:
    """What cannot be searched is refused by name, with the rule or with what is left."""
    change, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        pm.suggest(**{"program": pm.matmul(64, "n", "k").at(k=64), "on": A100, "n": 1000} | change)


def test_whole_floats_are_sizes() -> None:
    """1000.0 is 1000."""
    program = pm.matmul(64, "n", 64)
    assert pm.suggest(program, A100, n=1000.0).rows == pm.suggest(program, A100, n=1000).rows


def test_nothing_wanted_is_refused() -> None:
    """At least one size has to be named."""
    with pytest.raises(pm.DimensionError, match="no size is wanted"):
        pm.suggest(pm.matmul(64, 64, 64), A100)


def test_duplicates_and_order_of_sizes_to_try_do_not_matter() -> None:
    """Sizes to try are taken once each, in order."""
    assert grid_of({"n": [8, 4, 8, 6]}, 0.1).axes["n"].tolist() == [4, 6, 8]


def test_a_notebook_shows_what_was_wanted_and_why() -> None:
    """The table of the prompt, the wanted size first, with the quanta that each size meets."""
    found = pm.suggest(pm.matmul(8192, "n", 4096), "a100-sxm-80gb", n=50257, top=2)
    shown = found._repr_html_()
    wanted, *rest = shown.split("<tr>")[2:]
    assert "<td>50257</td>" in wanted
    assert len(rest) == 2
    for each, row in zip((found.wanted, *found.rows), (wanted, *rest), strict=True):
        assert all(html.escape(text) in row for text in each.why)
        assert f"{each.gain:.3g} x" in row


def test_a_tpu_meets_its_array_not_pieces_of_16_bytes() -> None:
    """1792 = 14 x 128 = 7 x 256 are whole sides of the array; 1784 = 223 x 8 whole sublanes; 1793 neither."""
    for chip, side in (("tpu-v5e", 128), ("tpu-v6e", 256)):
        found = pm.suggest(pm.matmul("n", "n", "n"), chip, n=[1784, 1792, 1793], top=3)
        why = {row.sizes["n"]: row.why for row in (*found.rows, found.wanted)}
        assert why[1792] == (f"n = 1792 = {1792 // side} x {side}, whole passes of the array of {side} x {side}",)
        assert not any("byte" in text for texts in why.values() for text in texts)
    one = pm.suggest(pm.matmul("n", "n", "n"), "tpu-v5e", 0, n=1784).wanted.why
    assert one == ("n = 1784 = 223 x 8, whole groups of 8 sublanes, no whole sides of the array (128)",)


@pytest.mark.parametrize("name", ["time_s", "flops_per_s", "gain", "distance", "bytes_per_s"])
def test_a_size_named_like_a_column_of_the_answer_is_refused(name: str) -> None:
    """A table has one column of a name: a size that would be a second one is refused, and says why."""
    program = pm.gemv(name, 8) if name != "bytes_per_s" else pm.embedding(64, 1000, name)
    with pytest.raises(pm.LabelError, match=f"suggest: {name!r} is a size and a column of the answer"):
        pm.suggest(program, "h100-sxm", **{name: 64})
