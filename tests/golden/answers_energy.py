"""Picojoules of operations and bytes, and what stands one after another."""

from __future__ import annotations

import math
from typing import Any

import perfmodel as pm
from golden.answers_convolution import layer
from golden.registry import Inputs, answers

WORD = 8  # bytes of the reads of 64 bits that sources give energies for


@answers("s2-2.8-ovh-*")
def overhead_of_an_instruction(given: Inputs) -> dict[str, Any]:
    found = pm.instruction_energy(given["e"], overhead_pj=given["ovh"])
    return {"overhead_pct": 100 * found.overhead, "useful_pct": 100 * found.useful}


@answers("s2-2.11-ladder")
def ladder_of_efficiency(given: Inputs) -> dict[str, Any]:
    rungs = pm.efficiency_ladder(given["p"] * 1e9, given["w"]).to_dict()["gflops_per_w"]
    return dict(zip(("cpu", "gpu", "dsa", "asic_lo", "asic_hi"), rungs, strict=True))


def round_figures(dram: float, flop: float, integer: float, sram: float) -> pm.Energies:
    """A table from the energies of a FLOP, of an integer operation, and of 64 bits from two memories."""
    return pm.Energies(
        pj_per_op={"float": flop, "int": integer}, pj_per_byte={"memory": dram / WORD, "sram": sram / WORD}
    )


@answers("s2-2.12-dram-vs-flop")
def operations_for_a_read(given: Inputs) -> dict[str, Any]:
    table = round_figures(given["dram"], given["fp"], given["i"], given["sram"])
    return {
        "fp_ops": WORD * table.ridge("fp32"),
        "int_ops": WORD * table.ridge("int32"),
        "sram_reads": float(table.per_byte("memory") / table.per_byte("sram")),
    }


@answers("s2-5-orders")
def orders_of_magnitude(given: Inputs) -> dict[str, Any]:
    table = pm.energy_tables()["lecture"]
    return {
        "vs_fp": math.log10(WORD * table.ridge("fp32")),
        "vs_int": math.log10(WORD * table.ridge("int32")),
    }


@answers("s2-4.5c-lpddr")
def energy_of_a_byte(given: Inputs) -> dict[str, Any]:
    table = round_figures(given["e"], 20, 1, 26)
    return {"pj_per_byte": 1e12 * pm.energy(pm.workload(bytes_read=1), table).energy_j}


@answers("s2-4.5c-ledger-8x")
def cheaper_operations(given: Inputs) -> dict[str, Any]:
    table = pm.Energies(pj_per_op=given["c"] * 1e12, pj_per_byte=given["m"] * 1e12)
    now = pm.energy(pm.workload(flops=1, bytes_read=1), table)
    return {"saving_pct": 100 * (1 - now.scaled(ops=1 / 8).energy_j / now.energy_j)}


@answers("s2-4.5c-balance")
def energy_ridge(given: Inputs) -> dict[str, Any]:
    return {"oi": pm.Energies(pj_per_op=given["e_flop"], pj_per_byte=given["e_byte"]).ridge()}


@answers("s2-1-power")
def power_of_a_rate(given: Inputs) -> dict[str, Any]:
    table = pm.Energies(pj_per_op=given["e"] * 1e12)
    return {"watts": pm.energy(pm.workload(flops=given["r"]), table).power_w(1.0)}


@answers("o-ho-ratios")
def reads_against_operations(given: Inputs) -> dict[str, Any]:
    known = pm.energy_tables()["45nm"]
    read = 4 * pm.Energies(pj_per_byte=640 / 4).per_byte()
    return {
        "vs_mul": float(read / known.operation("mul", "fp32")),
        "vs_fadd": float(read / known.operation("add", "fp32")),
        "vs_iadd": float(read / known.operation("add", "int32")),
        "vs_sram": float(read / (4 * known.per_byte("sram_8kb"))),
    }


@answers("o-ho-1b")
def power_of_reads(given: Inputs) -> dict[str, Any]:
    connections, frames = pm.workload(bytes_read=4 * 10**9), 20
    return {"watts": pm.energy(connections, pm.Energies(pj_per_byte=640 / 4)).power_w(1 / frames)}


@answers("s2-3.2-gemm-work")
def work_of_a_product(given: Inputs) -> dict[str, Any]:
    p = pm.matmul(given["n"], given["n"], given["n"])
    chain = pm.work_span(p, reduction="serial", unit="mac")
    return {
        "fma": chain.work,
        "gflop": pm.work_span(p).work / 1e9,
        "span_serial": chain.span,
        "span_tree": pm.work_span(p).levels,
        "parallelism": chain.parallelism,
    }


def one_by_one(operations: Any) -> pm.mechanisms.WorkSpan:
    """Operations of which each waits for the one before."""
    return pm.work_span(operations, operations)


@answers("s2-3.1-conv-span")
def span_of_a_pooled_layer(given: Inputs) -> dict[str, Any]:
    convolution = layer(given)
    point = one_by_one(pm.work_span(convolution, reduction="serial", unit="mac").span)
    epilogue = one_by_one(pm.elementwise("relu(y*s + b)", 1).flops)
    largest = one_by_one(pm.elementwise("max(max(a, b), max(c, d))", 1).flops)
    pooled = point.then(epilogue).in_turn(4).then(largest)
    return {"span": pooled.span, "parallelism": pm.work_span(convolution.macs, pooled.span).parallelism}


@answers("s2-3.3-attn-span")
def span_of_streamed_attention(given: Inputs) -> dict[str, Any]:
    n, d = given["N"], given["d"]
    score = pm.work_span(pm.matmul(1, 1, d), reduction=32, unit="mac")  # a warp: d/32 multiply-adds, 5 shuffles
    row = score.then(one_by_one(3)).in_turn(n)
    p = pm.attention(q=n, kv=n, d=d)
    return {
        "span": row.span,
        "parallelism_flops": pm.work_span(p.flops_by_unit["matrix"], row.span).parallelism,
        "parallelism_macs": pm.work_span(p.macs, row.span).parallelism,
    }


@answers("o-clrs-chess")
def two_chess_programs(given: Inputs) -> dict[str, Any]:
    first, second = pm.work_span(2048, 1), pm.work_span(1024, 8)
    return {
        **{f"a{processors}": first.time(processors) for processors in (32, 512)},
        **{f"b{processors}": second.time(processors) for processors in (32, 512)},
    }


@answers("o-clrs-karan")
def measured_times(given: Inputs) -> dict[str, Any]:
    found = pm.work_span_limits({4: 80, 10: 42, 64: 10})
    return {
        "t1_max": found.work_most,
        "tinf_max": found.span_most,
        "t1_min": found.work_least,
        "consistent": found.consistent,
    }
