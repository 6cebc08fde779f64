"""Programs side by side on a machine, and machines on a program."""

from __future__ import annotations

import json
import pickle

import pytest

import perfmodel as pm

P = pm.elementwise("relu(x*w + b)", 2**20)
MINE = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine")


def test_the_first_is_what_the_others_are_compared_with() -> None:
    """Unfused 16 bytes an element, by stage the same, fused 8: twice as fast."""
    found = pm.compare(P, pm.fuse(P), on=MINE)
    assert found.speedups == (1.0, 2.0)
    assert [e.program for e in found.estimates] == [P, pm.fuse(P)]


def test_machines_are_compared_on_a_program() -> None:
    """A memory-bound program gains what the bandwidth gains, whatever the machines are given as."""
    twice = MINE.replace(bandwidth_bytes_per_s=2e10)
    found = pm.compare(P, on=[MINE, twice, "h100-sxm"], effects="ideal")
    bandwidth = pm.machine("h100-sxm").bandwidth_bytes_per_s
    assert found.speedups == pytest.approx((1.0, 2.0, bandwidth / 1e10), rel=1e-12)
    assert [e.machine.name for e in found.estimates] == ["mine", twice.name, "h100-sxm"]


def test_programs_times_machines() -> None:
    """Two programs on two machines are four estimates, program by program."""
    found = pm.compare(P, pm.fuse(P), on=("h100-sxm", "h200-sxm"))
    assert [(len(e.kernels), e.machine.name) for e in found.estimates] == [
        (3, "h100-sxm"), (3, "h200-sxm"), (1, "h100-sxm"), (1, "h200-sxm"),
    ]  # fmt: skip


def test_machines_may_come_from_a_generator() -> None:
    """Anything that can be walked is a list of machines, and a single one is one."""
    assert len(pm.compare(P, on=(name for name in ("h100-sxm", "h200-sxm"))).estimates) == 2
    assert len(pm.compare(P, on="h100-sxm").estimates) == 1


def test_the_table_has_a_row_for_each() -> None:
    """Names, kernels, counts, seconds, bound and speed-up in columns; plain data by column."""
    found = pm.compare(P, pm.fuse(P), on=MINE)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["program"] == ["elementwise(i=1048576, bf16)", "elementwise(i=1048576, bf16) -> fuse()"]
    assert data["kernels"] == [3, 1]
    assert data["bytes"] == [16 * 2**20, 8 * 2**20]
    assert data["flops"] == [3 * 2**20, 3 * 2**20]
    assert data["time_s"] == [e.time_s for e in found.estimates]
    assert data["bound"] == ["memory", "memory"]
    assert data["speedup"] == [1.0, 2.0]
    assert len(found.table().rows) == 2


def test_it_shows_as_a_table() -> None:
    """In a terminal lines under their columns, in a notebook a table."""
    found = pm.compare(P, pm.fuse(P), on=MINE)
    head, first, second = repr(found).splitlines()
    assert head.split() == ["program", "machine", "work", "bytes", "time", "bound", "speed-up"]
    assert first.split()[-2:] == ["1", "x"]
    assert second.split()[-2:] == ["2", "x"]
    assert "<table>" in found._repr_html_()


def test_formulas_are_compared_as_formulas() -> None:
    """With symbols the speed-up is a formula that gives the concrete one when bound."""
    n = pm.dims("n")
    p = pm.elementwise("relu(x*w + b)", n)
    found = pm.compare(p, pm.fuse(p), on=MINE)
    assert float(found.speedups[1].xreplace({n: 2**20})) == 2.0
    assert "n" in repr(found)
    json.dumps(found.to_dict())


def test_a_comparison_is_a_value() -> None:
    """Equal for equals, and the same after pickling."""
    found = pm.compare(P, on=MINE)
    assert found == pm.compare(P, on=MINE)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.compare(on=MINE), "at least one program and one machine"),
    (lambda: pm.compare(P, on=[]), "at least one program and one machine"),
    (lambda: pm.compare(P, on=4), "expected a name"),
    (lambda: pm.compare(P, on=None), "expected a name"),
    (lambda: pm.compare(P, on="h100-sxn"), "h100-sxm"),
    (lambda: pm.compare(P, on=["h100-sxm", None]), "expected a name"),
    (lambda: pm.compare(P, 4, on=MINE), "expected a program, got 4"),
    (lambda: pm.compare("matmul(4, 4, 4)", on=MINE), "expected a program"),
    (lambda: pm.compare(P, on=MINE, effects="waves"), "no effect 'waves'"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """No program, no machine, what is neither."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()


def test_a_missing_rate_gives_no_speed_up() -> None:
    """fp8 on a chip without fp8 is a least time, not a gain; a formula's time depends."""
    p = pm.matmul(4096, 4096, 4096)
    found = pm.compare(p, pm.cast(p, "fp8"), on="a100-sxm-80gb", effects="ideal")
    assert len(found) == 2
    assert found[1].is_least
    assert not found[0].is_least
    last = repr(found).splitlines()[-1]
    assert "from 24.68 us" in last
    assert last.endswith("unknown")
    assert repr(pm.compare(pm.matmul("b", 64, 64), on="l4")).splitlines()[-1].endswith("1 x")
