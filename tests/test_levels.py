"""The hierarchical roofline: each on-chip level that serves nested tiles has a ceiling of its own."""

from __future__ import annotations

import pytest

import perfmodel as pm

N = 4096
# A core's worth of caches for the CPU of the course notes; the rates are given, not sourced.
CACHES = {
    "l2": {"bandwidth_bytes_per_s": 32e9, "capacity_bytes": 1 << 20, "scope": "unit"},
    "l1": {"bandwidth_bytes_per_s": 64e9, "capacity_bytes": 48 << 10, "scope": "unit"},
    "registers": {"capacity_bytes": 512, "scope": "unit"},
}
CPU = pm.machine("lecture-cpu").replace(levels=CACHES)


def blocked(n: int = N, l2: int = 256, l1: int = 64, registers: int = 8, dtype: str = "fp32") -> pm.Program:
    """A square product in three levels of blocks, which stream k in blocks of their own size, the last one by one."""
    p = pm.matmul(n, n, n, dtype=dtype)
    for level, size in (("l2", l2), ("l1", l1), ("registers", registers)):
        p = pm.tile(p, m=size, n=size, stream={"k": 1 if level == "registers" else size}, level=level)
    return p


def seconds(e: pm.Estimate) -> dict[str, float]:
    return {term.resource: term.seconds for term in e.kernels[0].roofline.terms}


def test_each_level_has_the_traffic_of_the_tiles_inside_it() -> None:
    """A and B are read n / side times each by tiles of a side; C goes in and out of a level once a step of k there."""
    found = seconds(pm.estimate(blocked(), CPU, effects="ideal"))
    a_and_b = {side: 2 * N * N * (N // side) for side in (256, 64, 8)}  # elements
    c = {side: 2 * N * N * (N // side) for side in (256, 64)}  # read and written by the tiles inside, each step
    assert found["ddr" if "ddr" in found else "memory"] == pytest.approx(4 * (a_and_b[256] + N * N) / 20e9)
    assert found["l2"] == pytest.approx(4 * (a_and_b[64] + c[256]) / (16 * 32e9))
    assert found["l1"] == pytest.approx(4 * (a_and_b[8] + c[64]) / (16 * 64e9))


def test_three_level_blocking_moves_the_bound_from_memory_to_compute() -> None:
    """At one level of blocks of 64 memory bounds it (64 / 4 = 16 FLOP/B, short of 38.4); blocks of 256 around them."""
    one = pm.tile(pm.matmul(N, N, N, dtype="fp32"), m=64, n=64, stream={"k": 64}, level="l1")
    assert pm.estimate(one, CPU, effects="ideal").bottleneck == "memory"
    e = pm.estimate(blocked(), CPU, effects="ideal")
    assert e.bound == "compute"
    assert e.time_s == pytest.approx(2 * N**3 / 0.768e12)


def test_small_register_blocks_are_bound_by_the_level_that_feeds_them() -> None:
    """Blocks of 2 in registers ask l1 for 4 bytes * (2 / 2) an FMA: 4 n^3 B / 1.024 TB/s, past compute."""
    e = pm.estimate(blocked(registers=2), CPU, effects="ideal")
    assert (e.bound, e.bottleneck) == ("memory", "l1")
    assert e.time_s == pytest.approx(4 * (N**3 + 2 * N * N * (N // 64)) / (16 * 64e9))
    row = next(line for line in str(e.explain()).splitlines() if line.startswith("  l1 "))
    assert "1.024 TB/s (l1)" in row
    assert "<- bound" in row
    assert e.to_dict()["kernels"][0]["terms"]["l1"]["seconds"] == e.time_s


def test_the_real_estimate_of_nested_tiles_takes_the_levels_in() -> None:
    """On a GPU with its effects, the level that takes longest is the memory-like bound."""
    p = pm.tile(pm.tile(pm.matmul(N, N, N), m=512, n=512, level="l2"), m=16, n=16, level="shared")
    e, plain = pm.estimate(p, "a100-sxm-80gb"), pm.estimate(p, "a100-sxm-80gb", effects="ideal")
    assert e.bottleneck == plain.bottleneck == "l2"
    assert e.bound == "memory"
    assert e.time_s > plain.time_s == 2 * (2 * N**3 // 16 + N * N) / 5.3e12


def test_a_level_without_a_bandwidth_leaves_its_term_out() -> None:
    """The estimate says which level it does not know, and is otherwise that of the outer tiles alone."""
    outer = pm.tile(pm.matmul(N, N, N), m=256, n=256, stream={"k": 256}, level="l2")
    p = pm.tile(outer, m=16, n=16, level="shared")
    e = pm.estimate(p, "b200-sxm", effects="ideal")
    assert "l2: b200-sxm lists no bandwidth for it" in e.not_modelled
    assert e.time_s == pm.estimate(outer, "b200-sxm", effects="ideal").time_s
    assert "l2: tpu-v5e lists no such level" in pm.estimate(p, "tpu-v5e", effects="ideal").not_modelled
    assert not e.is_least


def test_tiles_at_one_level_and_no_tiles_have_no_level_terms() -> None:
    """Nothing asks a level for bytes where no tile stands inside another."""
    for p in (pm.matmul(N, N, N), pm.tile(pm.matmul(N, N, N), m=128, n=128)):
        assert [term.unit for term in pm.estimate(p, "a100-sxm-80gb").kernels[0].roofline.terms] == ["matrix", "memory"]


def test_a_tile_larger_than_its_level_is_remarked() -> None:
    """Three fp32 blocks of 1024 * 1024 are 12 MiB, more than the 1 MiB of a core's l2."""
    found = pm.estimate(blocked(l2=1024), CPU, effects="ideal").caveats
    assert any("a tile of l2 holds 12.58 MB, more than the 1.049 MB of l2" in text for text in found)
    assert not any("a tile of" in text for text in pm.estimate(blocked(), CPU, effects="ideal").caveats)


def test_symbols_keep_a_formula_a_level_that_agrees_when_bound() -> None:
    """The formula of the time at n = 4096 is the time of the program at 4096."""
    p = pm.tile(pm.tile(pm.matmul("n", "n", "n"), m=256, n=256, level="l2"), m=16, n=16)
    e = pm.estimate(p, "a100-sxm-80gb", effects="ideal")
    assert e.bound == "depends"
    bound = pm.estimate(p.at(n=N), "a100-sxm-80gb", effects="ideal")
    assert float(e.time_s.xreplace({pm.dims("n"): N})) == pytest.approx(bound.time_s)
    assert pm.estimate_many(p, "a100-sxm-80gb", {"n": [N]}, effects="ideal").time_s[0] == pytest.approx(bound.time_s)


def test_a_doubtful_bandwidth_is_a_caveat_where_it_is_used() -> None:
    """The L2 rate of an H100 was read on a GH200."""
    p = pm.tile(pm.tile(pm.matmul(N, N, N), m=256, n=256, level="l2"), m=16, n=16)
    assert any("l2 bandwidth_bytes_per_s" in text for text in pm.estimate(p, "h100-sxm").caveats)
    assert not any("l2 bandwidth" in text for text in pm.estimate(pm.matmul(N, N, N), "h100-sxm").caveats)


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (5e12, "expected a mapping"),
        ({"l2": {"bandwith_bytes_per_s": 5e12}}, "did you mean"),
        ({"l2": {"scope": "core"}}, "expected chip, unit"),
        ({"l 2": 5e12}, "no level's name"),
        ({"l2": -1}, "levels['l2']"),
    ],
)
def test_levels_that_are_none_are_refused(levels: object, words: str) -> None:
    """A level is a name with figures that data sheets know."""
    with pytest.raises(pm.PerfModelError, match=words.replace("[", r"\[")):
        pm.machine("lecture-cpu").replace(levels=levels)
