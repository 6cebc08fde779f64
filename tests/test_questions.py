"""Questions as a user types them: any one unknown, of programs and machines, and what the answer rests on."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import sympy

import perfmodel as pm
from perfmodel import SolveError, dims, estimate, machine, matmul, solve, tile
from perfmodel.solving.doubling import beyond

n, b, T = dims("n b T")
H = machine("h100-sxm")
PEAK, BANDWIDTH, CAPACITY = float(H.peak("bf16")), float(H.bandwidth_bytes_per_s), H.capacity_bytes
GEMV = pm.gemv(8192, 8192, batch="b")


def inside(intervals: Any, value: int) -> bool:
    return any(first <= value and (last is None or value <= last) for first, last in intervals)


def test_from_which_batch_decoding_is_bound_by_compute() -> None:
    """2 b k n FLOP over the peak against 2 (k n + b k + b n) bytes over the bandwidth."""
    least = int(solve(GEMV, H, "b", bound="compute"))
    work, moved = 2 * 8192**2 / PEAK, 2 * 2 * 8192 / BANDWIDTH
    weights = 2 * 8192**2 / BANDWIDTH
    assert least * work >= weights + least * moved
    assert (least - 1) * work < weights + (least - 1) * moved


def test_the_largest_batch_that_fits() -> None:
    most = solve(GEMV, H, "b", fits=True).most
    assert GEMV.at(b=most).memory_bytes <= CAPACITY < GEMV.at(b=most + 1).memory_bytes


def test_the_largest_tile_that_fits_shared_memory() -> None:
    """An accumulator of 4 T^2 would be in fp32; C leaves in bf16: what footprint_bytes says is what is compared."""
    blocks = tile(matmul(4096, 4096, 4096), grid={"m": T, "n": T}, stream={"k": 32})
    most = solve(blocks, H, T, where="footprint_bytes <= 228*1024").most
    assert blocks.at(T=most).footprint_bytes <= 228 * 1024 < blocks.at(T=most + 1).footprint_bytes


@pytest.mark.parametrize(
    ("unknown", "asked", "least"),
    [
        ("bandwidth_bytes_per_s", {"where": "time_s <= 1e-3"}, 3 * 2 * 8192**2 / 1e-3),
        ("peak", {"where": "time_s <= 1e-3"}, 2 * 8192**3 / 1e-3),
        ("capacity_bytes", {"fits": True}, 3 * 2 * 8192**2),
    ],
)
def test_figures_of_a_machine_are_unknowns_by_their_names(unknown: str, asked: Any, least: float) -> None:
    """What a product of 8192^3 needs: 3 tensors in bf16 and 2 n^3 FLOP, each in a millisecond."""
    fast = H.replace(peak={"bf16": 1e18}, bandwidth_bytes_per_s=1e15)
    assert float(solve(matmul(8192, 8192, 8192), fast, unknown, **asked).least) == pytest.approx(least)


def test_a_figure_in_symbols_stays_one() -> None:
    found = solve(pm.gemv("n", "n", batch="b"), H, "bandwidth_bytes_per_s", bound="compute")
    named = {each.name for each in found.expression.free_symbols}
    assert named == {"bandwidth_bytes_per_s", "b", "n"}
    with pytest.raises(SolveError, match="is a figure of a machine"):
        solve(GEMV, "peak", where="bytes <= 3")


def test_how_many_bits_a_weight_may_have() -> None:
    """8192^2 weights of so many bits in 10 us, beside two rows of bf16."""
    most = solve(pm.gemv(8192, 8192), H, "W.bits", where="time_s <= 10e-6").most
    moved = [8192**2 * bits / 8 + 2 * 2 * 8192 for bits in (most, most + 1)]
    assert moved[0] / BANDWIDTH <= 10e-6 < moved[1] / BANDWIDTH


def test_a_parameter_stays_in_the_answer() -> None:
    found = solve(matmul(n, 64, 64), n, where="bytes <= budget")
    assert {each.name for each in found.expression.free_symbols} == {"n", "budget"}


def test_two_programs_cross_where_both_are_as_fast() -> None:
    """6 n^2 bytes against 2 (n*64 + 64*4096 + n*4096): all crossings come with the answer."""
    one, two = matmul(n, n, n), matmul(n, 64, 4096)
    found = solve(one, n, beside=two)
    assert found.most == max(size for size in range(1, 3000) if one.at(n=size).bytes <= two.at(n=size).bytes)
    assert len(found.values) == 1
    timed = solve(one, H, n, beside=two, within=(1, 4096))
    held = [s for s in range(1, 4097, 37) if _seconds(one, s, "ideal") <= _seconds(two, s, "ideal") * (1 + 1e-12)]
    assert [size for size in range(1, 4097, 37) if inside(timed.intervals, size)] == held


def test_two_programs_cross_in_real_estimates() -> None:
    """Each size is estimated for both; a program without the unknown has one time."""
    one, two = matmul(n, n, n), matmul(1024, 1024, 1024)
    found = solve(one, H, n, beside=two, effects="real", within=(900, 1300))
    held = [s for s in range(900, 1301) if _seconds(one, s, "real") <= _seconds(two, s, "real") * (1 + 1e-12)]
    assert [size for size in range(900, 1301) if inside(found.intervals, size)] == held
    twice = solve(
        one, H, n, beside=two, where="time_s <= 2*beside_time_s and n > 1024", effects="real", within=(1, 2048)
    )
    assert twice.least == 1025


def _seconds(program: pm.Program, size: int, effects: str) -> Any:
    return estimate(program.at(n=size) if program.symbols else program, H, effects=effects).time_s


def test_several_crossings_are_all_returned() -> None:
    """(n - 3)(n - 7)(n - 20) changes sign at each of its roots."""
    found = solve(sympy.expand((n - 3) * (n - 7) * (n - 20)) >= 0, n)
    assert list(found.values) == [3, 7, 20]
    assert found.answer == "3 <= n <= 7 or n >= 20"


def test_no_solution_says_why() -> None:
    """The sides at the ends of what was asked, or what comes nearest."""
    assert "against" in solve(pm.gemv("n", "n"), H, n, bound="compute").reason
    said = solve(matmul(n, n, n), H, n, bound="compute", within=[64, 128]).reason
    assert "at n = 64" in said
    assert "at n = 128" in said
    found = solve(matmul(n, n, n), H, n, where="fraction_of_peak >= 1.2", effects="real", within=(1, 512))
    assert "no value of 1 .. 512: nearest is n = " in found.reason
    with pytest.raises(SolveError, match="'m' is a label of size n"):
        solve(matmul(n, n, n), H, "m", bound="compute")


def test_causal_tiles_need_no_range() -> None:
    """Sums over blocks are tried in a range that doubles until the answer turns in it."""
    masked = pm.attention(q="n", kv="n", d=128, heads=8, causal=True)
    blocks = tile(pm.online(pm.fuse(masked), "kv"), grid={"q": 96}, stream={"kv": 64})
    found = solve(blocks, H, n, where="time_s <= 1e-4")
    most = found.most
    assert found.searched[1] > most
    assert _seconds(blocks, most, "ideal") <= 1e-4 < _seconds(blocks, most + 1, "ideal")


def test_real_estimates_go_on_where_the_answer_is_not_enclosed() -> None:
    """Beyond 2^14 by doubling; the edge is closed in, and the values around it are tried."""
    wide = pm.gemv("n", 8192)
    found = solve(wide, H, n, where="time_s <= 1e-3", effects="real")
    edge = found.most
    assert 2**14 < edge < found.searched[1]
    assert _seconds(wide, edge, "real") <= 1e-3 < _seconds(wide, edge + 1, "real")
    assert "search by doubling of 1 .. " in found.how
    assert "one by one" in str(found.given)
    kept = solve(matmul(n, 4096, 4096), H, n, bound="compute", effects="real")
    assert kept.most is None
    assert "powers of two to 2^30" in str(kept.given)


@pytest.mark.parametrize("edge", [1000, 1025, 5000, 2**17 - 1, 2**17, 2**17 + 1, 700_001])
@pytest.mark.parametrize("falls", [True, False])
def test_doubling_finds_an_edge_wherever_it_is(edge: int, falls: bool) -> None:
    """The answer is that of trying every value."""

    def holds(values: Any) -> Any:
        return (values < edge) if falls else (values >= edge)

    tried = [value for value in (1, 1024) if bool(holds(numpy.array([value]))[0])]
    start = ((1, min(edge - 1, 1024)),) if falls else ((edge, 1024),) if tried else ()
    found = beyond(holds, start, 1024, 2**20)
    assert found.intervals == (((1, edge - 1),) if falls else ((edge, None),))


def test_doubling_promises_nothing_of_what_flutters() -> None:
    """Where a power of two and its neighbours differ, the range stays what it was."""
    found = beyond(lambda values: values % 2 == 0, ((1024, 1024),), 1024, 2**20)
    assert (found.intervals, found.last, found.said) == (((1024, 1024),), 1024, "")


def test_functions_are_asked_as_programs() -> None:
    """The function gets the unknown."""
    found = solve(lambda n: matmul(n, n, n), H, "n", bound="compute")
    assert int(found) == int(solve(matmul(n, n, n), H, "n", bound="compute"))
    with pytest.raises(SolveError, match="unexpected keyword"):
        solve(lambda k: matmul(k, k, k), H, "n", bound="compute")
    with pytest.raises(SolveError, match="expected a program"):
        solve(lambda n: 3, H, "n", bound="compute")
