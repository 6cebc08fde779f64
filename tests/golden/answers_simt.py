"""What threads of a chip do together: occupancy, divergence, memory transactions, shared-memory banks, latency."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import KIB, attained, reading

REGISTER = pm.Format(bits=32)
SM = {"max_warps": 64, "max_threads": 2048}


def _percent(fraction: float) -> float:
    return 100 * fraction


# ---------------------------------------------------------------------------- occupancy


@answers("s0-6.7-occ-*")
def occupancy_of_a_block(given: Inputs) -> dict[str, Any]:
    found = pm.occupancy("h100-sxm", threads=given["threads"], registers=given["r"])
    return {"blocks": found.blocks, "occupancy_pct": _percent(found.fraction), "limiter": found.limiter}


@answers("o-pmpp4-8b", "o-pmpp4-8c")
def occupancy_without_portions(given: Inputs) -> dict[str, Any]:
    limits = {"max_threads": given["max_threads"], "max_blocks": given["max_blocks"], "registers": given["regs"]}
    found = pm.occupancy(limits, threads=given["threads"], registers=given["r"])
    return {"occupancy_pct": _percent(found.fraction), "limiter": found.limiter}


@answers("o-pmpp4-7[abde]")
def possible_blocks(given: Inputs) -> dict[str, Any]:
    found = pm.occupancy({"max_blocks": 64, "max_threads": 2048}, threads=given["th"])
    return {"possible": given["bl"] <= found.blocks, "occupancy_pct": _percent(found.fraction_of(given["bl"]))}


@answers("o-pmpp4-6")
def resident_threads(given: Inputs) -> dict[str, Any]:
    limits = {"max_threads": 1536, "max_blocks": 4}
    return {f"b{size}": pm.occupancy(limits, threads=size).resident_threads for size in (128, 256, 512, 1024)}


@answers("o-modal-occ")
def occupancy_by_resource(given: Inputs) -> dict[str, Any]:
    limits = {"max_warps": 64, "max_blocks": 32, "registers": 65536, "shared_bytes": 228 * KIB}
    found = pm.occupancy(limits, threads=32, registers=8, shared_bytes=12 * KIB)
    return {
        "by_regs": found.room["registers"],
        "by_blocks": found.room["blocks"],
        "by_smem": found.room["shared memory"],
        "occupancy_pct": _percent(found.fraction),
    }


@answers("o-sb-gpu-warps256")
def warps_of_many_registers(given: Inputs) -> dict[str, Any]:
    file = REGISTER.bytes_of_elements(1)
    found = pm.occupancy({**SM, "registers": 256 * KIB // file}, threads=32, registers=256)
    return {"warps": found.warps}


@answers("s2-2.9-regs-thread")
def registers_of_a_thread(given: Inputs) -> dict[str, Any]:
    file = given["rf"] // REGISTER.bytes_of_elements(1)
    found = pm.occupancy({"max_warps": given["warps"], "registers": file}, threads=given["lanes"])
    each = found.most_registers(blocks=given["warps"])
    most = pm.occupancy("h100-sxm", threads=given["lanes"]).most_registers()
    return {
        "bytes_per_thread": REGISTER.bytes_of_elements(each),
        "regs_per_thread": each,
        "max_bytes": REGISTER.bytes_of_elements(most),
    }


@answers("s2-3.3-warps")
def share_of_all_warps(given: Inputs) -> dict[str, Any]:
    def capacity(chip: pm.Machine) -> int:
        found = pm.occupancy(chip, threads=1024, registers=32)
        return found.resident_blocks * found.warps_per_block

    chip = pm.machine("h100-sxm")
    printed, real = capacity(chip.replace(units=144)), capacity(chip)
    return {
        "capacity_144": printed,
        "pct_144": _percent(given["w"] / printed),
        "capacity_132": real,
        "pct_132": _percent(given["w"] / real),
    }


@answers("s2-3.3-warps-occ")
def occupancy_of_one_warp_blocks(given: Inputs) -> dict[str, Any]:
    found = pm.occupancy("h100-sxm", threads=32, registers=32, shared_bytes=given["smem"] * KIB)
    return {
        "blocks_per_sm": found.blocks,
        "occupancy_pct": _percent(found.fraction),
        "resident": found.resident_blocks,
        "waves": pm.ceil_div(given["grid"], found.resident_blocks),
    }


@answers("s2-2.9-cluster")
def cluster_sizes(given: Inputs) -> dict[str, Any]:
    limits = pm.occupancy("h100-sxm").limits
    return {
        "portable_max": limits.cluster_blocks,
        "nonportable_max": limits.cluster_blocks_with_opt_in,
        "co_scheduled_on": limits.cluster_scope,
    }


@answers("s2-2.9-smem")
def shared_memory_sizes(given: Inputs) -> dict[str, Any]:
    limits = pm.occupancy("h100-sxm").limits
    return {
        "unified": limits.unified_bytes // KIB,
        "shared_per_sm": limits.shared_bytes // KIB,
        "shared_per_block": limits.shared_bytes_per_block // KIB,
    }


@answers("J01")
def allocation_by_partitions(given: Inputs) -> dict[str, Any]:
    rounding_to_eight = {"max_warps": 64, "max_blocks": 32, "registers": 65536, "registers_portion": 256}
    naive = pm.occupancy(rounding_to_eight, threads=32, registers=given["regs"])
    naive_blocks = pm.occupancy(rounding_to_eight, threads=224, registers=given["regs"]).blocks
    found = {size: pm.occupancy("8.0", threads=size, registers=given["regs"]) for size in given["threads"]}
    return {
        "warps without the rounding": naive.warps,
        "naive blocks of 224": naive_blocks,
        **{f"blocks of {size}": each.blocks for size, each in found.items()},
        **{f"occupancy {size}": each.fraction for size, each in found.items()},
    }


@answers("J03")
def allocation_on_fermi(given: Inputs) -> dict[str, Any]:
    fermi = {"max_warps": 48, "max_blocks": 8, "registers": 32768, "registers_portion": 64, "warps_portion": 2}
    found, other = [pm.occupancy(fermi, threads=size, registers=given["regs"]) for size in given["threads"]]
    return {
        "registers per block": found.allocated_registers,
        "blocks": found.blocks,
        "occupancy": found.fraction,
        "register ratio": found.blocks * found.allocated_registers / fermi["registers"],
        "warps of 208 threads": other.warps_per_block,
        "registers for 3 blocks": found.most_registers(blocks=3),
    }


@answers("J05")
def blocks_that_do_not_launch(given: Inputs) -> dict[str, Any]:
    plain = pm.occupancy({**SM, "registers": 65536}, threads=given["threads"], registers=given["regs"])
    found = pm.occupancy("8.0", threads=given["threads"], registers=given["regs"])
    most = found.most_threads()
    return {
        "naive registers": plain.allocated_registers,
        "allocated registers": found.allocated_registers,
        "most warps": pm.occupancy("8.0", threads=most, registers=given["regs"]).warps_per_block,
        "most threads": most,
    }


# ---------------------------------------------------------------------------- divergence


@answers("s0-6.1-div-*")
def branch(given: Inputs) -> dict[str, Any]:
    steps = (given["steps_if"], given["steps_else"])
    found = pm.divergence(given["condition"], threads=given["threads"], steps=steps, warp=given["warp"])
    return {"warp_steps": found.issued_steps, "utilisation_pct": _percent(found.active_fraction)}


@answers("s1-1.5-half-divergence")
def half_of_a_warp(given: Inputs) -> dict[str, Any]:
    found = pm.divergence(f"lane < {given['a']}", threads=given["a"] + given["b"], steps=(1, 1), warp=given["warp"])
    return {"utilisation_pct": _percent(found.active_fraction)}


@answers("o-pmpp4-1-loop")
def loop(given: Inputs) -> dict[str, Any]:
    found = pm.divergence("5 - t % 3", threads=32, steps=1)
    return {
        "uniform": found.uniform_steps,
        "divergent": found.divergent_steps,
        "eff_pct": _percent(found.active_fraction),
    }


@answers("o-pmpp4-2")
def boundary_check(given: Inputs) -> dict[str, Any]:
    blocks = pm.ceil_div(2000, 512)
    found = pm.divergence("t < 2000", threads=512 * blocks, steps=(1, 0), block=512)
    return {"threads": found.threads, "divergent": found.divergent_warps}


# ---------------------------------------------------------------------------- transactions


@answers("s0-6.5-coal-stride*")
def strided_read(given: Inputs) -> dict[str, Any]:
    found = pm.transactions(f"{given['stride']}*t", given["elem"], given["segment"], threads=given["lanes"])
    return {"transactions": found.lines, "efficiency_pct": _percent(found.efficiency)}


@answers("s0-6.5-coal-random")
def random_read(given: Inputs) -> dict[str, Any]:
    scattered = "(t + 1) * 2654435761 % 2**32"  # Knuth's multiplicative hashing: places without a pattern
    found = pm.transactions(scattered, given["elem"], given["segment"], threads=given["lanes"])
    return {"transactions": found.lines, "efficiency_pct": _percent(found.efficiency)}


@answers("s0-ex5")
def row_and_column(given: Inputs) -> dict[str, Any]:
    def read(index: str) -> Any:
        return pm.transactions(index, given["b"], given["segment"], threads=given["lanes"])

    row, column = read("t"), read(f"{given['cols']}*t")
    return {
        "row": row.lines,
        "row_bytes": row.bytes_used,
        "col": column.lines,
        "row_pitch": column.stride * column.element_bytes,
    }


@answers("s3-4-cacheline")
def strided_read_by_a_cpu(given: Inputs) -> dict[str, Any]:
    return {"used_pct": _percent(pm.transactions(f"{given['stride']}*t", given["b"], given["line"]).efficiency)}


@answers("s2-3.2-line")
def lines_of_a_row(given: Inputs) -> dict[str, Any]:
    found = pm.transactions("t", element_bytes=4, line_bytes=64, threads=64)
    return {"bytes": found.bytes_used, "lines": found.lines, "per_line": found.elements_per_line}


@answers("K01")
def strided_copy(given: Inputs) -> dict[str, Any]:
    def access(stride: int) -> Any:
        return pm.transactions(f"{stride}*t", given["word"], sector_bytes=given["sector"], threads=given["lanes"])

    def traffic(stride: int) -> int:
        return access(stride).bytes_of_sectors + access(1).bytes_of_sectors  # what is loaded, and what is stored

    moved = reading(16 * 2**20)  # any size: the ratio of two rates does not depend on it
    measured = [attained(moved, seconds).bytes_per_s for seconds in (0.613e-3, 5.87e-3)]
    return {
        **{f"sectors, stride {stride}": access(stride).sectors for stride in (1, 2, 8, 32)},
        "efficiency, stride 32": access(32).sector_efficiency,
        "traffic ratio, stride 2": traffic(2) / traffic(1),
        "traffic ratio, stride 32": traffic(32) / traffic(1),
        "measured ratio, stride 32": measured[0] / measured[1],
    }


# ---------------------------------------------------------------------------- shared-memory banks


@answers("K03")
def conflicts(given: Inputs) -> dict[str, Any]:
    def degree(stride: int, banks: int = given["banks"]) -> int:
        return pm.bank_conflicts(f"{stride}*t", banks=banks, threads=banks, warp=banks).degree

    return {
        **{f"row {length}": degree(length) for length in (32, 33, 16, 24, 12)},
        **{f"stride {words}": degree(words) for words in (3, 2)},
        "16x16, 16 banks": degree(16, banks=16),
        "16x17, 16 banks": degree(17, banks=16),
    }


# ---------------------------------------------------------------------------- latency


@answers("o-cs149-latency-hiding")
def threads_that_hide_a_load(given: Inputs) -> dict[str, Any]:
    return {f"threads_{work}": pm.latency_hiding(given["lat"], work_cycles=work).threads for work in (3, 6)}
