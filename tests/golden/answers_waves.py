"""Blocks against units, tile after tile and wave after wave, and systolic arrays."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import figures, least


def of_square(n: int, tile: Any, units: int) -> pm.mechanisms.Waves:
    """The waves of an n x n output."""
    return pm.waves(pm.tile_grid(n, n, tile=tile), units=units)


@answers("s0-7-wave-a100-*")
def waves_of_a_square(given: Inputs) -> dict[str, Any]:
    tile, n, before = (given["tm"], given["tn"]), given["n"], given["n0"]
    now, then = of_square(n, tile, given["sms"]), of_square(before, tile, given["sms"])
    return {
        "tiles": now.blocks,
        "waves": now.waves,
        "utilisation_pct": 100 * now.wave_fill,
        "rel_flops": pm.matmul(n, n, n).flops / pm.matmul(before, before, before).flops,
        "rel_time": now.time_blocks * n / (then.time_blocks * before),
    }


@answers("s0-ex7")
def last_square_of_one_wave(given: Inputs) -> dict[str, Any]:
    def found(n: int) -> pm.mechanisms.Waves:
        return of_square(n, given["T"], given["sms"])

    after = least(lambda n: found(n).waves > 1)
    return {
        "n_max": after - 1,
        "tiles": found(after - 1).blocks,
        "util_pct": 100 * found(after - 1).wave_fill,
        "tiles_next": found(after).blocks,
        "waves_next": found(after).waves,
        "tail": found(after).tail,
        "util_next_pct": 100 * found(after).wave_fill,
    }


@answers("s1-2.2.7-wave-*")
def grid_of_a_square(given: Inputs) -> dict[str, Any]:
    grid = pm.tile_grid(given["n"], given["n"], tile=(256, 128))
    found = pm.waves(grid, units=given["sms"])
    return {
        "rows": grid.counts["m"],
        "cols": grid.counts["n"],
        "tiles": grid.blocks,
        "waves": found.waves,
        "last_wave": found.tail,
    }


@answers("o-nv-wavequant-1536")
def full_wave(given: Inputs) -> dict[str, Any]:
    found = pm.waves(pm.tile_grid(given["M"], given["N"], tile=(256, 128)), units=given["sms"])
    return {"tiles": found.blocks, "waves": found.waves, "util_pct": 100 * found.efficiency}


@answers("F05")
def splits_that_fill_a_card(given: Inputs) -> dict[str, Any]:
    heads = 12

    def splits(units: int) -> int:
        return least(lambda parts: pm.waves(heads * parts, units=units).waves > 1) - 1

    a100, h100, pcie = given["SM"]
    return {
        "A100 splits": splits(a100),
        "H100 SXM splits": splits(h100),
        "H100 PCIe splits": splits(pcie),
        "H100 PCIe share": pm.waves(heads * splits(pcie), units=pcie).wave_fill,
        "10 splits on PCIe: waves": pm.waves(heads * 10, units=pcie).waves,
        "1 piece of 132": pm.waves(1, units=h100).wave_fill,
        "32 pieces of 132": pm.waves(32, units=h100).wave_fill,
    }


@answers("G01")
def one_more_is_half_as_fast(given: Inputs) -> dict[str, Any]:
    fast, slow = [of_square(n, figures(given["tile"]), given["SM"]) for n in (1792, 1793)]
    return {
        "tiles 1792": fast.blocks,
        "tiles 1793": slow.blocks,
        "waves 1792": fast.waves,
        "waves 1793": slow.waves,
        "efficiency 1792": fast.efficiency,
        "efficiency 1793": slow.efficiency,
        "throughput ratio": fast.efficiency / slow.efficiency,
    }


@answers("G03")
def gain_of_stream_k(given: Inputs) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for n in given["n"]:
        grid = pm.tile_grid(given["m"], n, tile=128)
        whole, even = [pm.waves(grid, given["SM"], schedule=name) for name in ("static", "stream-k")]
        found[f"tiles {n}"] = grid.blocks
        found[f"waves {n}"] = whole.waves_exact
        found[f"gain {n}"] = whole.time_blocks / even.time_blocks
    return found


@answers("G05")
def persistent_beside_communication(given: Inputs) -> dict[str, Any]:
    def time(busy: int, schedule: str) -> Any:
        return pm.waves(given["tiles"], given["SM"], busy=busy, schedule=schedule).time_blocks

    alone, static, dynamic = time(0, "static"), time(given["busy"], "static"), time(given["busy"], "dynamic")
    return {
        "alone": alone,
        "static": static,
        "dynamic": dynamic,
        "static slowdown": static / alone,
        "dynamic slowdown": dynamic / alone,
    }


@answers("s0-9.2-systolic-*")
def standing_output(given: Inputs) -> dict[str, Any]:
    found = pm.systolic(given["R"], given["C"], given["K"], rows=given["R"], cols=given["C"])
    return {
        "cycles": found.cycles,
        "utilisation_pct": 100 * found.utilisation,
        "cycles_with_drain": found.cycles_with_drain,
    }


@answers("s0-9.2-reuse")
def reuse_of_an_operand(given: Inputs) -> dict[str, Any]:
    return {"uses": pm.systolic(given["R"], given["C"], 512, rows=given["R"], cols=given["C"]).reuse}


@answers("s2-2.10-mv-timing")
def wavefront_of_a_product_with_a_vector(given: Inputs) -> dict[str, Any]:
    """The matrix stands, the vector streams through once."""
    array = pm.systolic(1, given["R"], given["C"], rows=given["C"], cols=given["R"], dataflow="weight")
    done = array.run().finished[0] - array.load_cycles
    return {"y0": int(done[0]), "all": int(done.max())}


@answers("o-ss-ws-fold")
def standing_weights(given: Inputs) -> dict[str, Any]:
    sizes = [given[name] for name in "MNK"]
    found = pm.systolic(*sizes, rows=given["R"], cols=given["C"], dataflow="weight")
    return {"cycles": found.cycles, "util_pct": 100 * found.utilisation}
