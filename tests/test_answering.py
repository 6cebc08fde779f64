"""Every answer of a mechanism is a value that shows itself in the same ways."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import perfmodel as pm
from perfmodel.mechanisms import Answer
from perfmodel.showing import Text

TILED = pm.tile(pm.matmul(100, 100, 8), m=64, n=64)

# A kind of answer, how one is made (twice, so that equality is not identity), and another one of the kind.
MADE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "AccessTime": (lambda: pm.amat([1, 10], [0.5]), lambda: pm.amat([1, 10], [0.25])),
    "Alignment": (lambda: pm.alignment(50257), lambda: pm.alignment(50304)),
    "BankConflicts": (lambda: pm.bank_conflicts("32*t"), lambda: pm.bank_conflicts("33*t")),
    "Divergence": (lambda: pm.divergence("t < 3"), lambda: pm.divergence("t < 4")),
    "Energies": (lambda: pm.Energies(pj_per_op=20), lambda: pm.Energies(pj_per_op=21)),
    "Energy": (lambda: pm.energy(TILED, "7nm"), lambda: pm.energy(TILED, "45nm")),
    "InFlight": (lambda: pm.littles_law(1e12, 1e-6), lambda: pm.littles_law(1e12, 2e-6)),
    "InstructionEnergy": (lambda: pm.instruction_energy("HFMA"), lambda: pm.instruction_energy("HMMA")),
    "LatencyHiding": (lambda: pm.latency_hiding(12, 3), lambda: pm.latency_hiding(12, 4)),
    "Occupancy": (lambda: pm.occupancy("9.0"), lambda: pm.occupancy("9.0", registers=32)),
    "Speedup": (lambda: pm.amdahl(0.5, 4), lambda: pm.gustafson(0.5, 4)),
    "Systolic": (lambda: pm.systolic(4, 4, 6), lambda: pm.systolic(4, 4, 7)),
    "SystolicRun": (lambda: pm.systolic(2, 2, 2).run(), lambda: pm.systolic(2, 2, 2).run(numpy.eye(2), numpy.eye(2))),
    "TileGrid": (lambda: pm.tile_grid(100, 100, tile=64), lambda: pm.tile_grid(TILED.at(m=99))),
    "Timeline": (lambda: pm.waves(5, 2).run(), lambda: pm.waves(5, 3).run()),
    "Transactions": (lambda: pm.transactions("t"), lambda: pm.transactions("2*t")),
    "Waves": (lambda: pm.waves(5, 2), lambda: pm.waves(5, 2, schedule="stream-k")),
    "WorkSpan": (lambda: pm.work_span(64, 8), lambda: pm.work_span(pm.matmul(4, 4, 4))),
    "WorkSpanLimits": (lambda: pm.work_span_limits({4: 80}), lambda: pm.work_span_limits({4: 81})),
}
FORMULAS: tuple[tuple[Callable[[], Any], str, str], ...] = (
    (lambda: pm.energy(pm.workload(flops="n", bytes_read=0), "lecture"), "energy j", r"\frac{n}{50000000000}"),
    (lambda: pm.amdahl(0.5, "n"), "speedup", r"\frac{n}{\frac{n}{2} + \frac{1}{2}}"),
    (lambda: pm.systolic(8, 8, "k"), "cycles", "k + 14"),
    (lambda: pm.tile_grid("m", 64, tile=64), "blocks", r"\left\lceil{\frac{m}{64}}\right\rceil"),
    (lambda: pm.waves("b", 108), "waves", r"\left\lceil{\frac{b}{108}}\right\rceil"),
    (lambda: pm.work_span(pm.matmul(4, 4, "k"), reduction="serial"), "span", "k + 1"),
)
# What the data of an answer hold beside its own fields, each checked against the property it is the value of.
DERIVED = {
    "AccessTime": "time",
    "Alignment": "class_bytes",
    "BankConflicts": "slowdown",
    "Divergence": "active_fraction",
    "Energy": "energy_j",
    "InFlight": "bytes_in_flight",
    "InstructionEnergy": "pj_per_flop",
    "LatencyHiding": "threads",
    "Occupancy": "fraction",
    "Speedup": "speedup",
    "Systolic": "cycles_overlapped",
    "SystolicRun": "macs",
    "TileGrid": "tile_fill",
    "Timeline": "makespan",
    "Transactions": "efficiency",
    "Waves": "efficiency",
    "WorkSpan": "parallelism",
    "WorkSpanLimits": "consistent",
}


def test_the_table_has_every_kind() -> None:
    """A new kind of answer is held to what follows as well."""
    assert {kind.__name__ for kind in Answer.__subclasses__()} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_an_answer_is_a_value(name: str) -> None:
    """Made again it is equal, with the same hash; pickled it comes back; another one differs."""
    make, other = MADE[name]
    found = make()
    assert type(found).__name__ == name
    assert found == make()
    assert hash(found) == hash(make())
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != other()
    assert type(other()) is type(found)


@pytest.mark.parametrize("name", MADE)
def test_an_answer_shows_the_expression_and_what_matters(name: str) -> None:
    """Its text begins with the expression, with comments below; a notebook shows the same text."""
    found = MADE[name][0]()
    first, *comments = repr(found).splitlines()
    assert first == found.made
    assert [line.removeprefix("# ") for line in comments] == found.comments() != []
    assert found._repr_html_() == Text(repr(found))._repr_html_()
    head, *working = found.explain().splitlines()
    assert head in (found.made, f"{found.made}: {found.headline}")
    assert [line.removeprefix("  ") for line in working] == found.working() != []


@pytest.mark.parametrize("name", DERIVED)
def test_the_data_hold_what_follows_from_the_fields(name: str) -> None:
    """Fields and properties alike, as JSON keeps them."""
    found = MADE[name][0]()
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data[DERIVED[name]] == getattr(found, DERIVED[name])


@pytest.mark.parametrize(("make", "figure", "formula"), FORMULAS)
def test_a_notebook_typesets_what_can_be_a_formula(make: Callable[[], Any], figure: str, formula: str) -> None:
    """The name of the figure, and its formula."""
    assert make()._repr_latex_() == f"$\\text{{{figure}}} = {formula}$"


def test_an_answer_of_numbers_alone_has_no_formula() -> None:
    """A notebook then shows the text."""
    assert pm.occupancy("9.0")._repr_latex_() is None


def test_the_data_of_records_inside_are_records() -> None:
    """Blocks of a timeline, lines of a ledger, sides of a grid, each under its names; fractions are numbers."""
    halves = pm.waves(1, 2, schedule="stream-k").run().to_dict()
    assert halves["spans"][1] == {"block": 1, "slot": 1, "start": 0, "end": 0.5}  # one block shared by two slots
    ledger = pm.energy(pm.workload(flops=8, bytes_read=0), "lecture").to_dict()
    assert ledger["entries"][0]["joules"] == 8 * 20e-12
    assert pm.tile_grid(100, 64, tile=64).to_dict()["sides"][0]["covered"] == 2 * 64


def test_a_figure_that_is_none_is_left_out() -> None:
    """No FLOP, so nothing a FLOP; everything else stands."""
    found = pm.energy(pm.workload(flops=0, bytes_read=8), "lecture")
    with pytest.raises(pm.MachineError, match="no FLOP"):
        _ = found.pj_per_flop
    assert "pj_per_flop" not in found.to_dict()
    assert found.to_dict()["memory_j"] == 8 * 150e-12
