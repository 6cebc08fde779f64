"""``estimate`` and ``fits``: machines, effects and programs that they take, and what they refuse."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import perfmodel as pm
from perfmodel.estimation import EFFECTS

P = pm.matmul(64, 64, 64)
EFFECTS_IN_ORDER = tuple(EFFECTS)


def test_a_machine_is_a_name_a_file_or_a_value() -> None:
    """A name of the catalogue, an alias, a path of a data sheet and the machine itself give the same time."""
    h100 = pm.machine("h100-sxm")
    sheet = Path(__file__).parents[1] / "hardware" / "h100-sxm.toml"
    times = {pm.estimate(P, on).time_s for on in ("h100-sxm", "H100-SXM", h100, sheet, str(sheet))}
    assert len(times) == 1


@pytest.mark.parametrize("effects", ["ideal", "roofline", ["roofline"], ("ideal",), {"roofline"}])
def test_the_ideal_is_the_roofline_alone(effects: object) -> None:
    """ "ideal" and its name are one, and the estimate says which effects it leaves out."""
    e = pm.estimate(P, "h100-sxm", effects=effects)
    assert e.effects == EFFECTS_IN_ORDER[:1]
    assert e.not_modelled == EFFECTS_IN_ORDER[1:]
    assert e.steps == (("roofline", e.time_s),)
    assert e.ideal_time_s == e.time_s
    assert e.tile is None


@pytest.mark.parametrize("effects", ["real", ("real",), EFFECTS_IN_ORDER, set(EFFECTS_IN_ORDER)])
def test_the_real_ones_are_all_of_them(effects: object) -> None:
    """ "real" and all the names are one; the steps begin with the ideal and end with the time."""
    e = pm.estimate(P, "h100-sxm", effects=effects)
    assert e.effects == EFFECTS_IN_ORDER
    assert [name for name, _ in e.steps] == list(EFFECTS_IN_ORDER)
    assert (e.steps[0][1], e.steps[-1][1]) == (e.ideal_time_s, e.time_s)
    assert e.tile is not None


def test_leaving_effects_out_is_naming_the_rest() -> None:
    """without=(...) and effects=[...] meet."""
    rest = [name for name in EFFECTS_IN_ORDER if name not in ("launch", "power")]
    by_names = pm.estimate(P, "h100-sxm", effects=rest)
    assert pm.estimate(P, "h100-sxm", without=("launch", "power")) == by_names
    assert by_names.not_modelled[:2] == ("power", "launch")


def test_what_has_symbols_or_no_units_is_the_ideal_and_says_so() -> None:
    """A formula of sizes, and a machine of two numbers, have no tiles: the reason is listed."""
    mine = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e9)
    for p, on, reason in ((pm.matmul("n", 8, 8), "h100-sxm", "needs sizes"), (P, mine, "lists no units")):
        e = pm.estimate(p, on)
        assert e.time_s == e.ideal_time_s
        assert any(reason in text for text in e.not_modelled)


@pytest.mark.parametrize(("more", "said"), [
    ({"effects": "idea"}, "no effect 'idea'"),
    ({"effects": "rooflin"}, "did you mean 'roofline'"),
    ({"effects": ["roofline", "waves"]}, "no effect 'waves'"),
    ({"effects": []}, r"effects=\['roofline'\]"),
    ({"effects": ["tile quantization"]}, r"effects=\['roofline', 'tile quantization'\]"),
    ({"effects": ""}, "no effect ''"),
    ({"effects": None}, "no effect None"),
    ({"effects": 4}, "no effect 4"),
    ({"effects": True}, "no effect True"),
    ({"effects": [None]}, "no effect None"),
    ({"without": "roofline"}, "cannot be left out"),
    ({"without": ["lunch"]}, "did you mean 'launch'"),
    ({"without": 4}, "no effect 4"),
    ({"without": None}, "no effect None"),
    ({"tile": 128}, "expected rows and columns"),
    ({"tile": (128, 0)}, "expected rows and columns"),
    ({"tile": (128, 128.0)}, "expected rows and columns"),
    ({"protocol": "warn"}, "did you mean 'warm'"),
])  # fmt: skip
def test_effects_that_do_not_exist_are_refused(more: dict[str, object], said: str) -> None:
    """Each with its name and a near miss; the roofline is where every estimate starts."""
    with pytest.raises(pm.PerfModelError, match=said):
        pm.estimate(P, "h100-sxm", **more)


@pytest.mark.parametrize("program", [None, 4, "matmul(4, 4, 4)", pm.tensor("x", {"i": 4}), [P], P.kernels[0], pm.gemv])
def test_what_is_no_program_is_refused(program: object) -> None:
    """A tensor, text, a number: the message says how a program is made."""
    for verb in (pm.estimate, pm.fits):
        with pytest.raises(pm.PerfModelError, match=rf"(?s){verb.__name__}: expected a program, got .*pm.matmul\("):
            verb(program, "h100-sxm")


@pytest.mark.parametrize("machine", [None, 4, "", "h100", "h100-sxn", "nothing.toml", ["h100-sxm"], P, True])
def test_what_is_no_machine_is_refused(machine: object) -> None:
    """Names that stand for several chips or none, files that are not there, other types."""
    for verb in (pm.estimate, pm.fits):
        with pytest.raises(pm.MachineError):
            verb(P, machine)


def test_a_count_beyond_a_float_is_refused() -> None:
    """A program of more FLOPs than a float holds has no time: an error of ours, no OverflowError."""
    p = pm.matmul(2**52, 2**52, 2**52)
    for _ in range(20):
        p = p.repeat(2**52)
    with pytest.raises(pm.DimensionError, match="beyond what a float holds"):
        pm.estimate(p, "h100-sxm").time_s  # noqa: B018
    bound = pm.workload(flops="n**64").at(n=2**52)
    with pytest.raises(pm.DimensionError, match="beyond what a float holds"):
        pm.estimate(bound, "h100-sxm")


def test_fits_compares_memory_with_capacity() -> None:
    """Three matrices of 2 n^2 bytes fit 80 GiB at n = 100,000 (60 GB) and do not at 200,000 (240 GB)."""
    small, large = pm.matmul(100_000, 100_000, 100_000), pm.matmul(200_000, 200_000, 200_000)
    assert pm.fits(small, "h100-sxm")
    assert not pm.fits(large, "h100-sxm")
    found = pm.fits(large, "h100-sxm")
    assert found.needed_bytes == 3 * 2 * 200_000**2
    assert found.capacity_bytes == 80 * 2**30
    assert found.headroom_bytes == 80 * 2**30 - 3 * 2 * 200_000**2
    assert found.to_dict() == {
        "fits": False, "needed_bytes": 3 * 2 * 200_000**2, "capacity_bytes": 80 * 2**30,
    }  # fmt: skip
    assert "False: needs 240 GB of 85.9 GB" in repr(found)


def test_memory_that_just_fits_fits() -> None:
    """Equality fits; a byte more does not."""
    mine = pm.Machine(peak=1, bandwidth_bytes_per_s=1, capacity_bytes=3 * 2 * 64**2)
    assert pm.fits(P, mine)
    assert not pm.fits(P, mine.replace(capacity_bytes=3 * 2 * 64**2 - 1))


def test_a_formula_neither_fits_nor_not() -> None:
    """With symbols there is no truth value until they are bound, but there are numbers to look at."""
    found = pm.fits(pm.matmul("n", "n", "n"), "h100-sxm")
    assert found.needed_bytes == 6 * pm.dims("n") ** 2
    assert found.to_dict()["fits"] is None
    assert "needs" in repr(found)
    with pytest.raises(pm.PerfModelError, match="the memory is a formula"):
        bool(found)
    capacity = pm.reals("capacity")
    other = pm.fits(P, pm.Machine(peak=1, bandwidth_bytes_per_s=1, capacity_bytes=capacity))
    with pytest.raises(pm.PerfModelError, match="the capacity is a formula"):
        bool(other)
    assert other.to_dict()["fits"] is None
    assert "capacity" in repr(other)


def test_a_machine_without_a_capacity_cannot_be_asked() -> None:
    """fits says which figure is missing and how to give it."""
    with pytest.raises(pm.MachineError, match=r"lists no capacity_bytes; machine.replace\(capacity_bytes="):
        pm.fits(P, pm.Machine(peak=1, bandwidth_bytes_per_s=1))


def test_answers_are_values() -> None:
    """Equal where made of equals, and the same after pickling."""
    for make in (pm.estimate, pm.fits):
        answer = make(P, "h100-sxm")
        assert answer == make(pm.matmul(64, 64, 64), "h100-sxm")
        assert answer != make(pm.matmul(64, 64, 65), "h100-sxm")
        assert pickle.loads(pickle.dumps(answer)) == answer


def test_a_fit_explains_what_is_held_and_what_is_left() -> None:
    """3 matrices of 80 GB are 154.1 GB more than 80 GiB; a formula has no verdict."""
    text = pm.fits(pm.matmul(200_000, 200_000, 200_000), "h100-sxm").explain()
    assert text.splitlines()[0].endswith("h100-sxm: does not fit")
    assert [line.split()[:2] for line in text.splitlines()[1:4]] == [["input", "A"], ["input", "B"], ["output", "C"]]
    assert text.splitlines()[-1].split() == ["short", "of", "154.1", "GB"]
    assert pm.fits(pm.softmax("m", "n"), "h100-sxm").explain().splitlines()[0].endswith("in the memory of h100-sxm")
