"""Occupancy: formulas beside an allocator that places blocks one by one; figures, portions, remedies, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.catalogue.capabilities import CAPABILITIES, Limits, capability
from perfmodel.mechanisms import Occupancy
from perfmodel.mechanisms.allotting import Allocator, Block, fitting, impossible, room

KIB = 1024
CAPABLE = st.sampled_from(sorted(CAPABILITIES)).map(capability)
BLOCKS = st.builds(
    Block,
    st.integers(1, 1100) | st.sampled_from([32, 64, 128, 256, 512, 1024]),
    st.integers(0, 260),
    st.integers(0, 8 * KIB) | st.integers(0, 240 * KIB),
)


@st.composite
def own_limits(draw: st.DrawFn) -> Limits:
    """Limits of one's own: some missing, portions of any size."""
    maybe = {
        "max_blocks": st.integers(1, 40),
        "registers": st.integers(0, 70_000),
        "shared_bytes": st.integers(0, 240 * KIB),
        "max_threads_per_block": st.integers(1, 1200),
        "registers_per_block": st.integers(1, 70_000),
    }
    given = {name: draw(st.none() | values) for name, values in maybe.items()}
    portions = draw(st.sampled_from([(1, 1, 1), (256, 1, 4), (64, 2, 1), (512, 1, 2), (1, 1, 4), (100, 3, 1)]))
    rest = draw(st.sampled_from([{"max_threads": 1536}, {"max_warps": 48}, {"max_threads": 2048, "max_warps": 64}]))
    names = ("registers_portion", "warps_portion", "partitions")
    return Limits(**given, **rest, **dict(zip(names, portions, strict=True)), shared_portion=draw(st.integers(1, 300)))


# ---------------------------------------------------------------------------- closed form = allocator


@given(CAPABLE | own_limits(), BLOCKS)
@settings(max_examples=300)
def test_the_formula_counts_what_an_allocator_places(limits: Limits, block: Block) -> None:
    """Blocks placed one by one, warp by warp into partitions, until something runs out."""
    assert fitting(limits, block)[0] == Allocator(limits).fill(block)


@given(CAPABLE, BLOCKS)
def test_what_is_not_impossible_fits_once(limits: Limits, block: Block) -> None:
    """The rules of a launch are exactly those by which one block fits on an empty multiprocessor."""
    assert (fitting(limits, block)[0] == 0) == bool(impossible(limits, block))


@given(CAPABLE, BLOCKS)
def test_a_limiter_is_what_holds_no_more(limits: Limits, block: Block) -> None:
    """Each limiter alone holds just the blocks that fit; whatever is no limiter holds more."""
    blocks, limiters = fitting(limits, block)
    if blocks:
        for name, held in room(limits, block).items():
            assert (held == blocks) == (name in limiters)
            assert held >= blocks


@given(CAPABLE, BLOCKS, st.integers(1, 40))
def test_the_most_that_lets_so_many_in_is_the_most(limits: Limits, block: Block, blocks: int) -> None:
    """With the registers, shared memory or threads proposed so many fit, and with one more they do not."""
    o = pm.occupancy(limits, block.threads, block.registers, block.shared_bytes)
    for name, find in (
        ("registers", o.most_registers),
        ("shared_bytes", o.most_shared_bytes),
        ("threads", o.most_threads),
    ):
        try:
            most = find(blocks)
        except pm.CapacityError:
            least = replace(block, **{name: 1 if name == "threads" else 0})
            assert fitting(limits, least)[0] < blocks
            continue
        assert fitting(limits, replace(block, **{name: most}))[0] >= blocks
        assert fitting(limits, replace(block, **{name: most + 1}))[0] < blocks


# ---------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("threads", "registers", "blocks", "percent", "limiter"),
    [
        (256, 32, 8, 100.0, "registers and threads"),  # 8 x 256 threads = 2,048; 8 x 256 x 32 registers = 65,536
        (256, 64, 4, 50.0, "registers"),
        (128, 160, 3, 18.75, "registers"),  # 3 x 4 warps of 64; shown as 19 %
    ],
)
def test_occupancy_on_an_h100(threads: int, registers: int, blocks: int, percent: float, limiter: str) -> None:
    """The three cases of the course notes."""
    o = pm.occupancy("h100-sxm", threads=threads, registers=registers)
    assert (o.blocks, 100 * o.fraction, o.limiter) == (blocks, percent, limiter)
    assert o == pm.occupancy(pm.machine("h100-sxm"), threads, registers)


def test_warps_are_shared_out_by_partitions() -> None:
    """92 registers are 96 as given out: 65,536 / (96 x 32) is 21 warps, but 5 in each of 4 partitions are 20.

    Blocks of 7 warps: 2, so 14 warps; a rule without partitions says 3 blocks, 21 warps.
    """
    real = pm.occupancy("8.0", threads=224, registers=92)
    naive = pm.occupancy({"max_warps": 64, "registers": 65_536, "registers_portion": 256}, threads=224, registers=92)
    assert (real.warps, naive.warps) == (2 * 7, 3 * 7)
    assert real.fraction == 14 / 64


def test_limits_of_another_kind_of_chip_can_be_given() -> None:
    """A CU of CDNA3: 4 SIMDs of 8 waves of 64 lanes, 512 registers a lane in each SIMD, 64 KiB of LDS.

    128 registers a lane: 512 / 128 = 4 waves in each of 4 SIMDs, of 32; blocks of 256 are 4 waves.
    """
    cu = {"warp": 64, "max_warps": 32, "partitions": 4, "registers": 4 * 512 * 64, "shared_bytes": 64 * KIB}
    found = pm.occupancy(cu, threads=256, registers=128)
    assert (found.blocks, found.warps, found.fraction) == (4, 16, 0.5)


def test_plain_limits_round_nothing() -> None:
    """33 registers in 65,536: 1,985 threads, so 7 blocks of 256 and 19 of 100; the chip gives out 40 each."""
    plain = {"max_threads": 2048, "registers": 65_536}
    assert pm.occupancy(plain, threads=256, registers=33).blocks == 65_536 // (33 * 256) == 7
    assert pm.occupancy(plain, threads=100, registers=33).blocks == 65_536 // (33 * 100) == 19
    assert pm.occupancy("9.0", threads=256, registers=33).blocks == 65_536 // (40 * 256) == 6


def test_the_system_keeps_a_kib_of_each_block_from_ampere_on() -> None:
    """12 KiB a block: 228 // 13 on Hopper, 96 // 12 on Volta, and 228 // 12 of plain limits."""
    blocks = {
        name: pm.occupancy(name, threads=32, registers=8, shared_bytes=12 * KIB).blocks for name in ("7.0", "9.0")
    }
    assert blocks == {"7.0": 96 // 12, "9.0": 228 // 13}
    plain = {"max_warps": 64, "shared_bytes": 228 * KIB}
    assert pm.occupancy(plain, threads=32, shared_bytes=12 * KIB).blocks == 228 // 12


def test_a_smaller_carve_out_holds_fewer_blocks() -> None:
    """40 KiB is rounded up to the 64 KiB that there is: 64 // 17 blocks of 16 KiB and one reserved."""
    o = pm.occupancy("9.0", threads=64, registers=32, shared_bytes=16 * KIB, carveout_bytes=40 * KIB)
    assert o.limits.shared_bytes == 64 * KIB
    assert o.blocks == 64 // 17
    assert "carveout_bytes=40960" in repr(o)


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"threads": 1025, "registers": 32}, "threads per block"),
        ({"threads": 32, "registers": 256}, "registers per thread"),
        ({"threads": 512, "registers": 156}, "registers per block"),
        ({"shared_bytes": 227 * KIB + 1, "threads": 32}, "shared memory per block"),
    ],
)
def test_what_cannot_be_launched_is_no_blocks_and_the_rule(asked: dict[str, int], rule: str) -> None:
    """0 blocks, the rule by name, and what would be launched."""
    o = pm.occupancy("9.0", **asked)
    assert (o.blocks, o.fraction, o.limiters) == (0, 0.0, (rule,))
    assert "at most" in repr(o)
    assert f"not launched   {rule}: " in o.explain()


def test_plain_limits_can_be_too_small_for_a_block() -> None:
    """Half a block of registers: 0 blocks, limited by registers, without a rule of a launch."""
    o = pm.occupancy({"max_threads": 2048, "registers": 8192}, threads=256, registers=64)
    assert (o.blocks, o.limiter) == (0, "registers")
    assert o.most_registers() == 8192 // 256
    assert "one block is more than all there is" in o.explain()
    nothing = pm.occupancy({"max_threads": 64, "shared_bytes": 0}, threads=256, shared_bytes=1)
    assert (nothing.blocks, nothing.limiter, nothing.remedies) == (0, "shared memory and threads", ())


@given(CAPABLE, BLOCKS)
@settings(max_examples=60)
def test_a_remedy_keeps_its_promise(limits: Limits, block: Block) -> None:
    """The first remedy of a block that runs raises the occupancy to what it says; a full one has none."""
    o = pm.occupancy(limits, block.threads, block.registers, block.shared_bytes)
    if o.fraction == 1.0:
        assert o.remedies == ()
    for line in o.remedies if o.blocks else ():
        words = line.replace(",", "").split()
        if words[1] == "registers":
            better = pm.occupancy(limits, block.threads, int(words[0]), block.shared_bytes)
        elif words[1] == "bytes":
            better = pm.occupancy(limits, block.threads, block.registers, int(words[0]))
        else:
            better = pm.occupancy(limits, int(words[2]), block.registers, block.shared_bytes)
        assert better.warps > o.warps


# ---------------------------------------------------------------------------- the table of limits


def test_every_nvidia_chip_since_volta_has_limits() -> None:
    """Each compute capability from 7.0 that a data sheet names, with the shared memory and registers that it lists."""
    found = [pm.machine(name) for name in pm.machines(vendor="nvidia")]
    since_volta = [chip for chip in found if float(chip.compute_capability or 0) >= 7]
    assert len(since_volta) >= 9
    for machine in since_volta:
        limits = pm.occupancy(machine).limits
        listed = {level.name: level.capacity_bytes for level in machine.levels if level.scope == "unit"}
        assert listed.get("shared", limits.shared_bytes) == limits.shared_bytes
        assert listed.get("registers", 4 * 65_536) == 4 * limits.registers


@pytest.mark.parametrize("limits", CAPABILITIES.values(), ids=CAPABILITIES)
def test_limits_are_consistent(limits: Limits) -> None:
    """Warps of 32 fill the threads, the largest carve-out is the shared memory and fits in it with L1; sources."""
    assert limits.max_threads == 32 * limits.max_warps
    assert limits.shared_bytes == max(limits.carveouts) < limits.unified_bytes
    assert limits.shared_bytes_per_block + limits.shared_reserved_bytes == limits.shared_bytes
    assert limits.registers % (limits.partitions * limits.registers_portion) == 0
    assert list(limits.carveouts) == sorted(limits.carveouts)
    assert limits.sources
    assert (limits.cluster_blocks is None) == (float(limits.name) < 9)


def test_ten_capabilities_from_volta_to_blackwell() -> None:
    """7.0 to 12.0: the warps that each holds, from the programming guide."""
    warps = {name: limits.max_warps for name, limits in CAPABILITIES.items()}
    assert warps == {
        "7.0": 64, "7.5": 32, "8.0": 64, "8.6": 48, "8.7": 48, "8.9": 48, "9.0": 64, "10.0": 64, "10.3": 64,
        "12.0": 48,
    }  # fmt: skip


# ---------------------------------------------------------------------------- a value; refusals


def test_what_was_given_is_shown() -> None:
    """repr makes it again, and data hold what limits it."""
    o = pm.occupancy("9.0", threads=32, registers=32, shared_bytes=64 * KIB)
    assert eval_like(repr(o).splitlines()[0]) == o
    assert o.to_dict()["limits"]["max_warps"] == 64
    assert o.to_dict()["fraction"] == 3 / 64
    assert "has to opt in" in o.explain()
    assert o.explain().splitlines()[0] == repr(o).splitlines()[0]


def eval_like(text: str) -> Occupancy:
    """What the first line of a repr makes, its arguments read as literals."""
    import ast

    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    arguments = [ast.literal_eval(each) for each in call.args]
    return pm.occupancy(*arguments, **{each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg})


def test_a_machine_of_ones_own_shows_itself() -> None:
    """What makes it, and its own number of units."""
    half = pm.machine("h100-sxm").replace(units=66)
    o = pm.occupancy(half)
    assert repr(o).startswith("occupancy(pm.machine('h100-sxm').replace(units=66))")
    assert o.resident_blocks == 66 * 4


def test_a_mapping_shows_itself() -> None:
    """What makes it again, and threads in place of warps."""
    o = pm.occupancy({"max_threads": 1536, "max_blocks": 4}, threads=512)
    assert repr(o).splitlines()[0] == "occupancy({'max_threads': 1536, 'max_blocks': 4}, threads=512)"
    assert eval_like(repr(o).splitlines()[0]) == o
    assert "1536 of 1536 threads: 100 %" in repr(o)
    assert (o.units, o.resident_blocks) == (None, None)


@pytest.mark.parametrize("threads", [0, -1, True, 2.0, float("nan"), "256", None, 2**40, [256]])
@pytest.mark.parametrize("name", ["threads", "registers", "shared_bytes", "carveout_bytes"])
def test_what_is_no_count_is_refused(name: str, threads: Any) -> None:
    """Zero threads, negatives, booleans, floats, text; 0 registers or bytes are allowed."""
    if (name != "threads" and threads == 0 and threads is not False) or (name == "carveout_bytes" and threads is None):
        pm.occupancy("9.0", **{name: threads})
        return
    if name == "shared_bytes" and threads == 2**40:
        assert pm.occupancy("9.0", shared_bytes=threads).blocks == 0
        return
    with pytest.raises((pm.DimensionError, pm.MachineError), match=name):
        pm.occupancy("9.0", **{name: threads})


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("6.1", "no limits of compute capability '6.1'; there are 7.0, 7.5"),
        ("H100", "several products"),
        ("mi300x", "lists no CUDA compute capability; give its limits as a mapping"),
        ({"max_block": 4}, "did you mean 'max_blocks'?"),
        ({"max_blocks": 4}, "need max_threads or max_warps"),
        ({"max_warps": True}, "max_warps = True"),
        ({"max_warps": 64, "partitions": 0}, "partitions = 0"),
        ({3: 4}, "no limit 3"),
        (Limits(), "need max_threads or max_warps"),
        (None, "expected a machine or its name"),
        (9.0, "expected a machine or its name"),
    ],
)
def test_unknown_limits_are_refused(which: Any, says: str) -> None:
    """A capability or chip that is not there, a misspelt limit, none to be a share of."""
    with pytest.raises(pm.PerfModelError, match=says.replace("?", r"\?")):
        pm.occupancy(which)


def test_more_blocks_than_fit_are_refused() -> None:
    """fraction_of is of blocks that do fit; carve-outs are those of a capability, and no larger than there are."""
    with pytest.raises(pm.CapacityError, match="5 blocks: 4 fit, limited by registers"):
        pm.occupancy("9.0").fraction_of(5)
    with pytest.raises(pm.MachineError, match="at most 233,472 bytes"):
        pm.occupancy("9.0", carveout_bytes=256 * KIB)
    with pytest.raises(pm.MachineError, match="list no carve-outs"):
        pm.occupancy({"max_warps": 64}, carveout_bytes=0)
    with pytest.raises(pm.CapacityError, match="9 blocks of these never fit: limited by threads"):
        pm.occupancy("9.0").most_registers(9)
