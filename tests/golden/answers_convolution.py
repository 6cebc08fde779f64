"""Convolutions: multiply-adds, traffic, halos, im2col, and networks made of them."""

from __future__ import annotations

from typing import Any

import sympy

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import GIB, MIB, bytes_of, chip, elements_of, figures, moved, streaming


@answers("s2-2.2-halo-T*")
def halo(given: Inputs) -> dict[str, Any]:
    def extra(tile: Any) -> Any:
        side = tile + given["R"] - 1
        p = pm.conv2d(height=side, width=side, c_in=1, c_out=1, kernel=given["R"])
        return elements_of(p.tensors["x"]) / elements_of(p.tensors["y"]) - 1

    tile = pm.dims("T")
    leading = sympy.limit(tile * extra(tile), tile, sympy.oo)  # the excess of a large tile, times its side
    return {"exact_pct": 100 * extra(given["T"]), "approx_pct": float(100 * leading / given["T"])}


@answers("s2-2.2-direct-oi")
def one_output_without_reuse(given: Inputs) -> dict[str, Any]:
    r, s = given["R"], given["S"]
    p = pm.conv2d(height=r, width=s, c_in=given["C"], c_out=1, kernel=(r, s), dtype="fp32")
    return {"flop_per_load": p.flops / p.elements_read, "flop_per_byte": p.flops / p.bytes_read}


def _outputs(given: Inputs, unit: int) -> dict[str, Any]:
    p = pm.conv2d(given["N"], given["P"], given["Q"], 64, given["K"], kernel=3, padding="same", dtype="fp32")
    return {"outputs": p.elements_written, "size": p.bytes_written / unit}


@answers("s2-2.9-convout-N1")
def outputs_of_one_image(given: Inputs) -> dict[str, Any]:
    return _outputs(given, MIB)


@answers("s2-2.9-convout-N32")
def outputs_of_a_batch(given: Inputs) -> dict[str, Any]:
    return _outputs(given, GIB)


def layer(given: Inputs, pad: bool = True) -> pm.Program:
    """A convolution that keeps the image's size, in fp32; or the same one over an image padded in memory."""
    r, s = given["R"], given["S"]
    extra = (0, 0) if pad else (r - 1, s - 1)
    return pm.conv2d(
        given["N"], given["H"] + extra[0], given["W"] + extra[1], given["C"], given["K"],
        kernel=(r, s), padding="same" if pad else 0, dtype="fp32",
    )  # fmt: skip


def pooled(given: Inputs) -> pm.Tensor:
    """The layer's output after pooling 2 x 2."""
    return pm.pool2d(given["N"], given["H"], given["W"], given["K"], kernel=2, dtype="fp32").outputs[0]


@answers("s2-3.1-conv-work")
def work_of_a_layer(given: Inputs) -> dict[str, Any]:
    p, y = layer(given), pooled(given)
    return {
        "macs": p.macs,
        "gflop": p.flops / 1e9,
        "pool_cmps": pm.elementwise("max(max(a, b), max(c, d))", elements_of(y)).flops,
        "work_items": y.extent("batch") * y.extent("p") * y.extent("q"),
    }


def fused_block(given: Inputs, pad: bool) -> pm.Program:
    """Convolution, scale and bias, ReLU and pooling in one kernel."""
    c, r, s = given["C"], given["R"], given["S"]
    height, width = (given["H"], given["W"]) if pad else (given["H"] + r - 1, given["W"] + s - 1)
    x = pm.tensor("x", {"batch": given["N"], "group": 1, "c": c, "h": height, "w": width}, dtype="fp32")
    weight = pm.tensor("weight", {"group": 1, "f": given["K"], "c": c, "down": r, "across": s}, dtype="fp32")
    scale, bias = [pm.tensor(name, {"f": given["K"]}, dtype="fp32") for name in ("scale", "bias")]
    y = pm.conv2d(x, weight, padding="same" if pad else 0)
    return pm.fuse(pm.program(pm.pool2d(pm.relu(y * scale + bias), kernel=2).named("y")))


@answers("s2-3.1-conv-traffic")
def traffic_of_a_fused_layer(given: Inputs) -> dict[str, Any]:
    p, stored_padded = fused_block(given, pad=True), fused_block(given, pad=False)
    return {
        "in_mb": moved(p, "x") / 1e6,
        "in_halo_mb": moved(stored_padded, "x") / 1e6,
        "w_kb": moved(p, "weight") / 1e3,
        "out_mb": moved(p, "y") / 1e6,
        "total_mb": p.bytes / 1e6,
        "intensity": p.flops_by_unit["matrix"] / p.bytes,
        "intensity_halo": stored_padded.flops_by_unit["matrix"] / stored_padded.bytes,
    }


def unrolled(given: Inputs) -> pm.Program:
    """A convolution of stride 1 as two kernels: writing out every window (im2col), then a product."""
    r, s = given["R"], given["S"]
    image = {"n": given.get("N", 1), "c": given.get("C", 64), "h": given.get("H", 256), "w": given.get("W", 256)}
    x = pm.tensor("x", image, dtype="fp32")
    seen = pm.window(x, "h", "p", "r", r, padding=(r - 1) // 2)
    seen = pm.window(seen, "w", "q", "s", s, padding=(s - 1) // 2)
    columns = pm.einsum("n c p r q s -> n p q c r s", seen, name="columns")
    weight = pm.tensor("weight", {"c": image["c"], "r": r, "s": s, "f": given.get("K", 64)}, dtype="fp32")
    return pm.program(pm.einsum("n p q c r s, c r s f -> n p q f", columns, weight), name="im2col")


def _columns(p: pm.Program) -> pm.Program:
    """The writing and reading of the unrolled windows alone."""
    ways = {way: moved(p, "columns", way=way) for way in ("read", "write")}
    return pm.workload(bytes_read=ways["read"], bytes_written=ways["write"])


@answers("s2-4.3-im2col")
def unrolled_matrix(given: Inputs) -> dict[str, Any]:
    p = unrolled(given)
    columns = _columns(p)
    return {
        "matrix_mb": columns.bytes_written / 1e6,
        "rw_mb": columns.bytes / 1e6,
        "ms": pm.estimate(columns, streaming(900e9)).time_s * 1e3,
        "vs_input": columns.bytes_written / bytes_of(p.tensors["x"]),
    }


@answers("s2-4.3-machine-mix")
def unrolling_against_computing(given: Inputs) -> dict[str, Any]:
    p = unrolled(given)
    product = pm.workload(flops=p.flops, dtype="fp32")
    found: dict[str, Any] = {}
    for name, machine in (("a100", chip(19.5e12, 2.0e12)), ("v100", chip(15.7e12, 900e9))):
        move, compute = [pm.estimate(part, machine).time_s * 1e3 for part in (_columns(p), product)]
        found |= {f"{name}_move_ms": move, f"{name}_compute_ms": compute, f"{name}_move_dominates": move > compute}
    return found


@answers("s2-6-blocks-im2col-gb")
def unrolled_against_input(given: Inputs) -> dict[str, Any]:
    p = unrolled(given)
    columns, image = _columns(p), bytes_of(p.tensors["x"])
    return {"matrix": columns.bytes_written / image, "write_plus_read": columns.bytes / image}


def separable(c_in: int, c_out: int, size: int, dtype: str = "fp32") -> list[pm.Program]:
    """A depthwise 3 x 3 and the 1 x 1 that mixes channels."""
    depthwise = pm.conv2d(1, size, size, c_in, c_in, kernel=3, padding="same", groups=c_in, dtype=dtype)
    return [depthwise, pm.conv2d(1, size, size, c_in, c_out, kernel=1, dtype=dtype)]


def full(c_in: int, c_out: int, size: int) -> pm.Program:
    """A 3 x 3 convolution that keeps the size."""
    return pm.conv2d(1, size, size, c_in, c_out, kernel=3, padding="same")


@answers("o-dwsep")
def depthwise_separable(given: Inputs) -> dict[str, Any]:
    ratio = sum(p.macs for p in separable(64, given["N"], 56)) / full(64, given["N"], 56).macs
    return {"ratio": ratio, "saving": 1 / ratio}


VGG16 = (
    (3, 64, 224), (64, 64, 224), (64, 128, 112), (128, 128, 112), (128, 256, 56), (256, 256, 56), (256, 256, 56),
    (256, 512, 28), (512, 512, 28), (512, 512, 28), (512, 512, 14), (512, 512, 14), (512, 512, 14),
)  # fmt: skip


@answers("o-vgg16")
def vgg16(given: Inputs) -> dict[str, Any]:
    network = pm.sequence(*[full(*shape) for shape in given["layers"]])
    return {"gmac": network.macs / 1e9, "gflop": network.flops / 1e9}


@answers("P01")
def vgg16_separable(given: Inputs) -> dict[str, Any]:
    standard = pm.sequence(*[full(*shape) for shape in VGG16]).macs
    parts = [separable(*shape) for shape in VGG16]
    depthwise, pointwise = [sum(pair[place].macs for pair in parts) for place in (0, 1)]
    last = parts[-1][0]
    return {
        "standard": standard / 1e6,
        "separable": (depthwise + pointwise) / 1e6,
        "ratio": standard / (depthwise + pointwise),
        "depthwise share": depthwise / (depthwise + pointwise),
        "depthwise intensity, FP32": last.flops / moved(last, "x", "y"),
    }


@answers("o-resnet-conv1")
def first_layer(given: Inputs) -> dict[str, Any]:
    p = pm.conv2d(1, 224, 224, 3, 64, kernel=7, stride=2, padding=3, dtype="fp16")
    return {"mmac": p.macs / 1e6, "intensity": p.intensity}


@answers("P03")
def depthwise_and_strided(given: Inputs) -> dict[str, Any]:
    def first(stride: int) -> pm.Program:
        return pm.conv2d(1, 224, 224, 3, 64, kernel=7, stride=stride, padding=3)

    height, width, channels, r, s = figures(given["dw"])
    return {
        "depthwise FLOPs": pm.conv2d(
            1, height, width, channels, channels, kernel=(r, s), padding="same", groups=channels
        ).flops,
        "conv1 MACs": first(2).macs,
        "conv1 with stride applied twice": first(2 * 2).macs,
    }


def resnet50(stride_in_3x3: bool) -> pm.Program:
    """The convolutions, shortcuts and classifier of ResNet-50 on one image of 224 x 224."""
    layers = [pm.conv2d(1, 224, 224, 3, 64, kernel=7, stride=2, padding=3)]
    size, channels = 56, 64  # after the pooling of the first layer
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for stride in (first, *[1] * (blocks - 1)):
            after = size // stride
            narrow, wide = (1, stride) if stride_in_3x3 else (stride, 1)
            middle = size // narrow
            layers.append(pm.conv2d(1, size, size, channels, width, kernel=1, stride=narrow))
            layers.append(pm.conv2d(1, middle, middle, width, width, kernel=3, stride=wide, padding=1))
            layers.append(pm.conv2d(1, after, after, width, 4 * width, kernel=1))
            if channels != 4 * width:
                layers.append(pm.conv2d(1, size, size, channels, 4 * width, kernel=1, stride=stride))
            size, channels = after, 4 * width
    return pm.sequence(*layers, pm.matmul(1, 1000, channels), name="resnet50")


@answers("A01")
def resnet50_twice(given: Inputs) -> dict[str, Any]:
    later, paper = resnet50(stride_in_3x3=True), resnet50(stride_in_3x3=False)
    return {
        "MACs, stride in the 3x3 (v1.5, torchvision)": later.macs,
        "FLOPs (v1.5)": later.flops,
        "MACs, stride in the first 1x1 (v1, the paper)": paper.macs,
    }
