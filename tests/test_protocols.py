"""How a time was taken, apart from the chip: quantizers, eager hosts, rows that wait for their memory."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.effects.chips import Chip
from perfmodel.effects.choosing import chosen
from perfmodel.effects.launch import SOONER_S, launched_s
from perfmodel.effects.protocols import PROTOCOLS, WARM, Protocol
from perfmodel.effects.quantizers import Quantizer
from perfmodel.effects.quantizing import SMALL_S, TWO_DIES_S, quantized_s
from perfmodel.effects.row_latency import ROW_S
from perfmodel.effects.shapes import KernelShape, shape_of
from perfmodel.effects.stack import NAMES, Rates, Setting
from perfmodel.validation.protocols_of_rows import protocol_of
from perfmodel.validation.rows import Row

H100 = pm.machine("h100-sxm")
CHIP = Chip.of(H100)


def product(m: int, k: int) -> KernelShape:
    return shape_of(pm.matmul(m, 64, k, dtype="fp8").counted[0]).numbers()


def test_one_pass_reads_16_bits_and_writes_8() -> None:
    """3 bytes an element at the bandwidth that is reached, after a small kernel's own time."""
    seconds = quantized_s(product(2**15, 2**14), CHIP, Quantizer())
    assert seconds - SMALL_S == pytest.approx(3 * 2**29 / (CHIP.bandwidth * CHIP.constants.memory_reach))


def test_a_second_pass_reads_from_memory_only_what_the_cache_lost() -> None:
    """A gigabyte is read twice from memory (3 + 2 bytes an element); a megabyte's second pass is nearly free."""
    large, small = product(2**15, 2**14), product(2**9, 2**10)
    rate = CHIP.bandwidth * CHIP.constants.memory_reach
    assert quantized_s(large, CHIP, Quantizer(2)) - SMALL_S == pytest.approx(5 * 2**29 / rate)
    more = quantized_s(small, CHIP, Quantizer(2)) - quantized_s(small, CHIP, Quantizer(1))
    assert 0 < more < 2 * 2**19 / rate


def test_short_rows_take_the_time_of_their_blocks() -> None:
    """8,192 rows of 64 elements move in under a microsecond, and their blocks take 0.9 us each on 132 units."""
    seconds = quantized_s(product(8192, 64), CHIP, Quantizer(row_s=0.9e-6))
    assert seconds - SMALL_S == pytest.approx(8192 / 132 * 0.9e-6)


def test_a_quantizer_is_inside_the_real_time_and_not_the_ideal() -> None:
    """It belongs to the measurement: the roofline of the product does not know it."""
    p, how = pm.matmul(8, 4096, 4096, dtype="fp8"), Protocol("q", cold=True, quantizer=Quantizer(other_s=8e-6))
    real, plain = (pm.estimate(p, H100, protocol=each).time_s for each in (how, None))
    assert real - plain == pytest.approx(SMALL_S + 8e-6, rel=0.05)
    assert pm.estimate(p, H100, effects="ideal", protocol=how).time_s == pm.estimate(p, H100, effects="ideal").time_s


def test_no_run_of_an_eager_loop_is_shorter_than_its_host_takes() -> None:
    """A small product takes what the host takes, a large one its own time."""
    eager = Protocol("eager", cold=True, host_s=100e-6)
    small, large = pm.matmul(8, 64, 64), pm.matmul(8192, 8192, 8192)
    assert pm.estimate(small, H100, protocol=eager).time_s == 100e-6
    assert pm.estimate(large, H100, protocol=eager).time_s == pm.estimate(large, H100).time_s
    assert pm.estimate_many(pm.matmul("m", 64, 64), H100, {"m": [8]}, protocol=eager).time_s[0] == 100e-6


def test_a_row_waits_for_its_memory_once_for_8_kb() -> None:
    """A norm of one row of 8,192 fp16 elements is 16 KB: two trips more than a copy of as many bytes."""
    norm, copy = pm.fuse(pm.rmsnorm(1, 8192, dtype="fp16")), pm.elementwise("2 * x", 8192, dtype="fp16")
    more = pm.estimate(norm, H100, protocol=WARM).time_s - pm.estimate(copy, H100, protocol=WARM).time_s
    assert more == pytest.approx(2 * ROW_S, rel=0.1)
    plain = pm.estimate(norm, H100, protocol=WARM, without=["row passes"]).time_s
    assert plain == pytest.approx(pm.estimate(copy, H100, protocol=WARM).time_s, rel=0.1)


def row(chip: str = "h100-sxm", dtype: str = "fp8", kernel: str = "", framework: str = "vllm") -> Protocol:
    extra = f"fw={framework}-1.0;kernel={kernel};quant_in_timing=1"
    found = Row.read({"source": "aiconfigurator", "gpu": chip, "op": "gemm", "dtype": dtype, "extra": extra})
    return protocol_of(found, pm.machine(chip))


def test_rows_that_quantize_have_the_quantizer_of_their_framework() -> None:
    """Passes over A by framework: a scale a row takes two, one of the whole tensor three, of a block one."""
    passes = {name: row(framework=name).quantizer for name in ("sglang", "vllm", "trtllm")}
    assert [each.passes for each in passes.values() if each] == [2, 3, 3]
    assert row(dtype="nvfp4", chip="b200-sxm").quantizer == Quantizer(1, 0.14e-6, 2.5e-6)
    assert PROTOCOLS["aiconfigurator-vllm"].quantizer is None


def test_the_rotated_copies_of_a_framework_stay() -> None:
    """SGLang walks through six copies whether it quantizes or not; vLLM's block-scaled layer has one copy."""
    assert row(framework="sglang").copies == PROTOCOLS["aiconfigurator-sglang"].copies
    assert row(dtype="fp8_block").copies == (1, 1, 1)


def test_layers_that_no_graph_captures_take_the_host_s_time() -> None:
    """A host of Grace takes longer than one of x86; Hopper's DeepGEMM needs no packing of scales."""
    hosts = [row(chip, "fp8_block", "DeepGemmX").host_s for chip in ("h100-sxm", "b200-sxm", "gb200")]
    assert hosts == sorted(set(hosts))
    assert row(dtype="fp8").host_s == row(dtype="fp8_block", framework="trtllm").host_s == 0


def test_packing_scales_is_for_blackwell_alone() -> None:
    """DeepGEMM's scales are packed by kernels of their own from compute capability 10 on."""
    found = [row(chip, "fp8_block", framework="sglang").quantizer for chip in ("h100-sxm", "b200-sxm")]
    assert [each.other_s > 0 for each in found if each] == [False, True]


def test_kernels_that_load_an_element_a_thread_move_few_bytes_a_clock() -> None:
    """6 bytes a clock on each of 132 units at 1.98 GHz are 1.6 TB/s, half of what memory gives."""
    how = PROTOCOLS["vidur-scalar"]
    p = pm.fuse(pm.elementwise("silu(x) * w", 2**28, dtype="fp16"))
    seconds = pm.estimate(p, H100, protocol=how).time_s - pm.estimate(p, H100, protocol=how, without=["launch"]).time_s
    assert seconds == pytest.approx(launched_s(CHIP))
    expected = 3 * 2 * 2**28 / (6 * 132 * 1.98e9)
    assert pm.estimate(p, H100, protocol=how, without=["launch", "overlap"]).time_s == pytest.approx(expected)


@pytest.mark.parametrize(("op", "name"), [("silu_mul", "vidur-scalar"), ("ew_add", "vidur-stream"), ("gemm", "vidur")])
def test_kernels_of_a_serving_engine_are_told_from_those_of_torch(op: str, name: str) -> None:
    """Norms, rotary embeddings and gates of vidur's table are its own kernels, sums and products torch's."""
    assert protocol_of(Row.read({"source": "vidur", "op": op})).name == name


@pytest.mark.parametrize(("name", "least"), [("cold", 16), ("infersim-flushed", 64), ("pipeweave", 128)])
def test_a_tile_has_the_rows_that_the_librarys_smallest_has(name: str, least: int) -> None:
    """8 rows of a tall weight take the smallest tile of fp8 that there is: DeepGEMM's has 64 rows."""
    setting = Setting(CHIP, Rates((H100.find_peak("fp8_e4m3"),)), frozenset(NAMES), PROTOCOLS[name])
    shape = shape_of(pm.matmul(8, 2**14, 2**13, dtype="fp8").counted[0]).numbers()
    assert chosen(shape, setting).m == least
    assert chosen(shape, setting, (16, 64)).m == 16  # a tile that a user fixes is taken as it is


def test_deepgemm_has_its_protocol_and_other_flushed_rows_theirs() -> None:
    """Both flush the last-level cache; only DeepGEMM's tiles are known to have 64 rows."""
    flushed = [protocol_of(Row.read({"source": name, "note": "L2_flush"})) for name in ("infersim", "mine")]
    assert [(each.name, each.least_rows, each.cold) for each in flushed] == [
        ("infersim-flushed", 64, True),
        ("flushed", 1, True),
    ]


@pytest.mark.parametrize(("name", "sooner"), [("h100-sxm", SOONER_S["9.0"]), ("l40s", 0.0), ("b200-sxm", 0.0)])
def test_a_kernel_without_a_product_starts_sooner_on_hopper(name: str, sooner: float) -> None:
    """A stream's launch is that of a product less what tensor maps and clusters take to set up."""
    chip = Chip.of(pm.machine(name))
    assert launched_s(chip) == pytest.approx(chip.constants.launch_s - sooner)
    assert launched_s(chip, 0) == chip.constants.launch_s


def test_a_small_kernel_takes_longer_on_two_dies() -> None:
    """A quantizer of one element on a B200, and on an RTX PRO 6000 of the same generation."""
    for name, dies in (("b200-sxm", TWO_DIES_S), ("rtx-pro-6000-server", 0.0)):
        seconds = quantized_s(product(1, 1), Chip.of(pm.machine(name)), Quantizer())
        assert seconds == pytest.approx(SMALL_S + dies, rel=1e-3)


@pytest.mark.parametrize(("name", "form", "rows"), [
    ("b200-sxm", "fp8", 128), ("gb300", "fp8_block", 128), ("b200-sxm", "nvfp4", 1), ("b200-sxm", "bf16", 1),
    ("h100-sxm", "fp8", 1), ("rtx-pro-6000-server", "fp8", 1),
])  # fmt: skip
def test_tiles_of_fp8_have_128_rows_on_blackwells_of_two_dies(name: str, form: str, rows: int) -> None:
    """Where the activations are quantized inside the time; GB202 has no tcgen05."""
    inside = "" if form == "bf16" else ";quant_in_timing=1"
    row = Row.read({"source": "aiconfigurator", "dtype": form, "extra": f"fw=trtllm-1{inside}"})
    assert protocol_of(row, pm.machine(name)).least_rows == rows


def test_the_weights_of_a_layer_in_turn_are_cold_and_its_activations_warm() -> None:
    """vidur times the ops of a layer one after another."""
    found = {op: protocol_of(Row.read({"source": "vidur", "op": op})) for op in ("gemm", "ew_add", "rmsnorm")}
    assert {op: each.cold for op, each in found.items()} == {"gemm": True, "ew_add": False, "rmsnorm": False}
    assert [each.tick_s for each in found.values()] == [1e-6] * 3
