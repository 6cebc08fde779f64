"""Convolution and pooling: output sizes, MACs, what is read with padding and strides, groups, symbols."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from reference import counted

import perfmodel as pm

# VGG-16's thirteen 3x3 layers (Simonyan and Zisserman 2014, table 1, D): size, channels in, channels out.
VGG16 = [
    (224, 3, 64), (224, 64, 64), (112, 64, 128), (112, 128, 128), (56, 128, 256), (56, 256, 256), (56, 256, 256),
    (28, 256, 512), (28, 512, 512), (28, 512, 512), (14, 512, 512), (14, 512, 512), (14, 512, 512),
]  # fmt: skip


def test_a_convolution_counts_its_taps() -> None:
    """Each of b c_out p q outputs sums 3 x 3 x c_in products; padding of 1 keeps the size."""
    p = pm.conv2d(batch=8, height=64, width=48, c_in=32, c_out=16, kernel=3, padding=1)
    assert p.macs == 8 * 16 * (64 * 48) * (3 * 3 * 32)
    assert p.flops == p.flops_by_unit["matrix"] == 2 * p.macs
    assert p.bytes_read == 2 * (8 * 32 * 64 * 48) + 2 * (16 * 32 * 3 * 3)  # x once, the padding not; w
    assert p.bytes_written == 2 * (8 * 16 * 64 * 48)


def test_the_promised_labels_and_tensors() -> None:
    """x[batch, group, c, h, w], w[group, f, c, r, s], y[batch, group, f, p, q]."""
    p = pm.conv2d(batch=2, height=8, width=9, c_in=4, c_out=6, kernel=(3, 2), groups=2)
    assert {name: item.labels for name, item in p.tensors.items()} == {
        "x": ("batch", "group", "c", "h", "w"),
        "w": ("group", "f", "c", "r", "s"),
        "y": ("batch", "group", "f", "p", "q"),
    }
    assert p.labels == {"batch": 2, "group": 2, "f": 3, "p": 6, "q": 8, "c": 2, "r": 3, "s": 2}


def test_vgg16_has_fifteen_billion_macs() -> None:
    """The thirteen convolutions of VGG-16 on one image of 224 x 224."""
    layers = [pm.conv2d(batch=1, height=s, width=s, c_in=i, c_out=o, kernel=3, padding="same") for s, i, o in VGG16]
    assert [layer.macs for layer in layers] == [s * s * o * 9 * i for s, i, o in VGG16]
    assert sum(layer.macs for layer in layers) == 15_346_630_656


def test_the_first_layer_of_resnet() -> None:
    """7x7 of stride 2 and padding 3 on 224 x 224 x 3: 112 x 112 x 64 outputs of 147 products."""
    p = pm.conv2d(batch=1, height=224, width=224, c_in=3, c_out=64, kernel=7, stride=2, padding=3)
    assert p.outputs[0].extents == (1, 1, 64, 112, 112)
    assert p.macs == 112 * 112 * 64 * (7 * 7 * 3) == 118_013_952
    assert p.tensors["x"].extents == (1, 1, 3, 224, 224)
    assert p.elements_read == 3 * 224 * 224 + 64 * 3 * 7 * 7


def test_a_depthwise_layer_has_one_filter_a_channel() -> None:
    """3x3 on 13 x 13 x 512, groups = c_in: 9 multiply-adds an output, so 1,557,504 FLOPs and 778,752 MACs."""
    p = pm.conv2d(batch=1, height=13, width=13, c_in=512, c_out=512, kernel=3, padding="same", groups=512)
    assert p.flops == 2 * (13 * 13 * 512) * (3 * 3) == 1_557_504
    assert p.macs == 778_752
    assert p.tensors["w"].extents == (512, 1, 1, 3, 3)


def test_groups_divide_the_work() -> None:
    """With g groups each output sums c_in / g channels."""
    whole = pm.conv2d(batch=1, height=16, width=16, c_in=32, c_out=64, kernel=3)
    parts = pm.conv2d(batch=1, height=16, width=16, c_in=32, c_out=64, kernel=3, groups=4)
    assert whole.macs == 4 * parts.macs
    assert whole.tensors["w"].extents == (1, 64, 32, 3, 3)
    assert parts.tensors["w"].extents == (4, 16, 8, 3, 3)


SIZES = st.tuples(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3)
)  # extent, taps, stride, dilation, padding


@settings(max_examples=60)
@given(SIZES, SIZES)
def test_output_sizes_are_the_places_where_a_window_fits(rows: Any, columns: Any) -> None:
    """Windows are counted one by one: they start every stride and end inside the padded axis."""
    axes = list(zip(rows, columns, strict=True))
    (height, width), kernel, stride, dilation, padding = axes
    fits = []
    for extent, taps, step, spread, pad in (rows, columns):
        starts = range(-pad, extent + pad, step)
        fits.append(len([at for at in starts if at + spread * (taps - 1) <= extent + pad - 1]))
    more: dict[str, Any] = {"kernel": kernel, "stride": stride, "dilation": dilation, "padding": padding}
    if 0 in fits:
        with pytest.raises(pm.DimensionError, match="do not fit"):
            pm.conv2d(batch=1, height=height, width=width, c_in=1, c_out=1, **more)
        return
    p = pm.conv2d(batch=1, height=height, width=width, c_in=1, c_out=1, **more)
    assert p.outputs[0].extents[3:] == tuple(fits)


@settings(max_examples=25)
@given(
    st.integers(3, 7), st.integers(3, 6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2),
    st.sampled_from([(2, 4, 1), (2, 2, 2), (3, 3, 3)]),
)  # fmt: skip
def test_a_convolution_is_what_walking_its_points_counts(
    height: int, width: int, kernel: int, stride: int, dilation: int, padding: int, channels: tuple[int, int, int]
) -> None:
    """Each element of x is read once, gaps between windows and padding not at all: counted element by element."""
    c_in, c_out, groups = channels
    if dilation * (kernel - 1) >= min(height, width) + 2 * padding:
        return
    p = pm.conv2d(2, height, width, c_in, c_out, kernel, stride, padding, dilation, groups)
    found = counted(p)
    assert p.macs == found.macs
    assert (p.elements_read, p.elements_written) == (found.elements["read"], found.elements["write"])


def test_a_stride_past_the_kernel_skips_elements() -> None:
    """1x1 of stride 2 reads one of four elements: the windows are disjoint and leave gaps."""
    p = pm.conv2d(batch=1, height=8, width=8, c_in=1, c_out=1, kernel=1, stride=2)
    assert p.elements_read == 4 * 4 + 1  # x at even rows and columns; w


def test_a_dilated_kernel_reaches_further_for_the_same_work() -> None:
    """3x3 dilated by 2 spans 5: 8 - 5 + 1 = 4 places an axis, 9 products each."""
    p = pm.conv2d(batch=1, height=8, width=8, c_in=1, c_out=1, kernel=3, dilation=2)
    assert p.macs == 4 * 4 * 9


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (5, 1), (3, 2), ((3, 5), (2, 1)), (7, (1, 3))])
def test_same_padding_keeps_the_size(kernel: Any, dilation: Any) -> None:
    """At stride 1 and odd taps the output has the input's height and width; "valid" adds nothing."""
    p = pm.conv2d(batch=1, height=32, width=40, c_in=1, c_out=1, kernel=kernel, dilation=dilation, padding="same")
    assert p.outputs[0].extents[3:] == (32, 40)
    valid = pm.conv2d(batch=1, height=32, width=40, c_in=1, c_out=1, kernel=kernel, dilation=dilation, padding="valid")
    assert valid == pm.conv2d(batch=1, height=32, width=40, c_in=1, c_out=1, kernel=kernel, dilation=dilation)


def test_a_symbolic_convolution_bound_is_the_concrete_one() -> None:
    """Batch, sizes, channels, kernel, stride and padding may all be symbols."""
    names: dict[str, Any] = {
        "batch": "b", "height": "h", "width": "v", "c_in": "ci", "c_out": "co", "kernel": "r", "stride": "t",
        "padding": "e",
    }  # fmt: skip
    values = {"b": 2, "h": 17, "v": 15, "ci": 3, "co": 5, "r": 3, "t": 2, "e": 1}
    p, q = pm.conv2d(**names), pm.conv2d(2, 17, 15, 3, 5, 3, 2, 1)
    bound = p.at(values)
    assert (bound.macs, bound.bytes_read, bound.bytes_written) == (q.macs, q.bytes_read, q.bytes_written)
    symbols = {pm.dims(name): value for name, value in values.items()}
    assert p.macs.xreplace(symbols) == q.macs


def test_a_symbolic_depthwise_layer() -> None:
    """groups = c_in = c as a symbol: one channel a group, 9 products an output."""
    c = pm.dims("c")
    p = pm.conv2d(batch=1, height=13, width=13, c_in=c, c_out=c, kernel=3, padding=1, groups=c)
    assert p.macs == c * (13 * 13) * 9


def test_a_symbolic_height_that_is_too_small_is_refused_when_bound() -> None:
    """Binding a height in which no window fits is an error, not a negative count."""
    p = pm.conv2d(batch=1, height="h", width=8, c_in=1, c_out=1, kernel=3)
    assert p.at(h=3).macs == (1 * 6) * 9
    with pytest.raises(pm.DimensionError, match="p = "):
        p.at(h=2)


def test_tensors_cost_what_sizes_cost() -> None:
    """conv2d(x, w) takes the axes in their order, whatever their labels."""
    x = pm.tensor("x", {"image": 2, "g": 1, "channel": 3, "y": 9, "x": 8})
    w = pm.tensor("w", {"g": 1, "filter": 4, "channel": 3, "i": 3, "j": 2})
    made = pm.conv2d(x, w, stride=2, padding=(1, 0))
    p, q = pm.program(made), pm.conv2d(2, 9, 8, 3, 4, kernel=(3, 2), stride=2, padding=(1, 0))
    assert made.labels == ("image", "g", "filter", "p", "q")
    assert (p.macs, p.bytes_read, p.bytes_written) == (q.macs, q.bytes_read, q.bytes_written)


def test_pooling_reduces_its_windows() -> None:
    """2x2 of stride 2 (the kernel, where no stride is given): one compare for each of four points."""
    p = pm.pool2d(batch=8, height=32, width=32, channels=16, kernel=2)
    assert p.outputs[0].extents == (8, 1, 16, 16, 16)
    assert p.flops == p.flops_by_unit["vector"] == (8 * 16) * (16 * 16) * (2 * 2)
    assert (p.elements_read, p.elements_written) == (8 * 16 * 32 * 32, 8 * 16 * 16 * 16)


def test_a_mean_pool_divides_once_an_output() -> None:
    """A global average over 7 x 7 adds 49 and divides once for each channel."""
    p = pm.pool2d(batch=1, height=7, width=7, channels=512, kernel=7, function="mean")
    assert p.outputs[0].extents == (1, 1, 512, 1, 1)
    assert p.flops == 512 * 49 + 512


def test_overlapping_pools_read_each_element_once() -> None:
    """3x3 of stride 2 and padding 1 on 112 x 112 (ResNet): 56 x 56 outputs of 9 points, x read once."""
    p = pm.pool2d(batch=1, height=112, width=112, channels=64, kernel=3, stride=2, padding=1)
    assert p.flops == 64 * (56 * 56) * 9
    assert p.elements_read == 64 * 112 * 112


def test_pooling_a_tensor_pools_its_last_two_axes() -> None:
    """pool2d(x) counts as the sizes do, and its result can have a format of its own."""
    x = pm.tensor("x", {"b": 2, "c": 3, "h": 9, "w": 8})
    p, q = pm.program(pm.pool2d(x, kernel=(3, 2), name="y")), pm.pool2d(2, 9, 8, 3, kernel=(3, 2))
    assert (p.flops, p.bytes) == (q.flops, q.bytes)
    assert p.outputs[0].labels == ("b", "c", "p", "q")
    assert pm.pool2d(2, 9, 8, 3, dtype={"y": "fp32"}).bytes_written == 4 * (2 * 3 * 4 * 4)


X = pm.tensor("x", {"b": 1, "g": 1, "c": 3, "h": 8, "w": 8})
W = pm.tensor("w", {"g": 1, "f": 4, "c": 3, "r": 3, "s": 3})
SMALL: dict[str, Any] = {"batch": 1, "height": 8, "width": 8, "c_in": 4, "c_out": 4}


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.conv2d(), "conv2d: height, width, c_in, c_out not given"),
    (lambda: pm.conv2d(1, 8, 8, 4), "conv2d: c_out not given"),
    (lambda: pm.conv2d(**SMALL, kernel=9), "9 taps .* do not fit 'h' = 8"),
    (lambda: pm.conv2d(**SMALL, dilation=9), "do not fit"),
    (lambda: pm.conv2d(**SMALL, groups=3), "conv2d: c_in / groups = 4 / 3: does not divide"),
    (lambda: pm.conv2d(1, 8, 8, 4, 6, groups=4), "conv2d: c_out / groups = 6 / 4"),
    (lambda: pm.conv2d(**SMALL, kernel=(3, 3, 3)), "conv2d: kernel = "),
    (lambda: pm.conv2d(**SMALL, kernel=(3, 0)), "conv2d: kernel = 0"),
    (lambda: pm.conv2d(**SMALL, stride=(1, -1)), "conv2d: stride = -1"),
    (lambda: pm.conv2d(**SMALL, padding=(1, -2)), "conv2d: padding = -2"),
    (lambda: pm.conv2d(**SMALL, padding="sam"), "did you mean 'same'"),
    (lambda: pm.conv2d(**SMALL, padding="vallid"), "did you mean 'valid'"),
    (lambda: pm.conv2d(**SMALL, padding="same", stride=2), "it needs stride 1"),
    (lambda: pm.conv2d(**SMALL, padding="same", kernel=2), "does not divide"),
    (lambda: pm.conv2d(**SMALL, dtype={"A": "bf16"}), "its tensors are x, w, y"),
    (lambda: pm.conv2d(**SMALL, name="y"), "conv2d: with sizes it takes no name"),
    (lambda: pm.conv2d(4, X), "conv2d: width, c_in, c_out not given"),
    (lambda: pm.conv2d(X, 4), r"conv2d\(x, w\): expected tensors, got 4"),
    (lambda: pm.conv2d(X), "expected tensors, got None"),
    (lambda: pm.conv2d(X, W, 64), "conv2d: with tensors it takes no width"),
    (lambda: pm.conv2d(X, W, groups=3), "conv2d: with tensors it takes no groups"),
    (lambda: pm.conv2d(X, W, kernel=5), "conv2d: with tensors it takes no kernel"),
    (lambda: pm.conv2d(X, pm.tensor("w", {"f": 4, "r": 3})), r"expected x\[batch, group, c, h, w\]"),
    (lambda: pm.conv2d(X, pm.tensor("w", {"g": 1, "f": 4, "c": 4, "r": 3, "s": 3})), "label 'c'"),
    (lambda: pm.conv2d(X, pm.tensor("w", {"g": 2, "f": 4, "c": 3, "r": 3, "s": 3})), "label 'g'"),
    (lambda: pm.pool2d(), "pool2d: height, width, channels not given"),
    (lambda: pm.pool2d(1, 8, 8, 4, kernel=9), "do not fit"),
    (lambda: pm.pool2d(1, 8, 8, 4, kernel=0), "pool2d: kernel = 0"),
    (lambda: pm.pool2d(1, 8, 8, 4, function="median"), "pool2d: function = 'median': expected one of sum, max"),
    (lambda: pm.pool2d(1, 8, 8, 4, function="mea"), "did you mean 'mean'"),
    (lambda: pm.pool2d(pm.tensor("x", {"h": 8})), "needs 2 axes or more"),
    (lambda: pm.pool2d(X, 8, 8), "pool2d: with a tensor it takes no height, width"),
    (lambda: pm.pool2d(1, 8, 8, 4, stage="x"), "pool2d: with sizes it takes no stage"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Windows that do not fit, groups that do not divide, words that are no padding, axes that do not match."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
