"""``im2col``: convolution as an explicit GEMM, and fused as an implicit one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import arrays_of, assert_counts_as_it_runs, assert_same_values, cuts, loads, stores, tiled

import perfmodel as pm
from perfmodel.graph import contracted

LAW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def conv(**changed: Any) -> pm.Program:
    """A small convolution, with some of its arguments replaced."""
    sizes = {"height": 6, "width": 5, "c_in": 4, "c_out": 6, "kernel": 3, **changed}
    return pm.conv2d(**sizes)


def test_the_matrix_of_windows_is_written_and_read_again() -> None:
    """256 x 256 positions, 9 taps of 64 channels, 4 bytes: 151 MB each way, zeros of the padding included."""
    p = pm.conv2d(height=256, width=256, c_in=64, c_out=64, kernel=3, padding=1, dtype="fp32")
    explicit = pm.im2col(p)
    matrix = 256 * 256 * 9 * 64 * 4
    assert matrix == pytest.approx(151e6, rel=1e-3)
    assert explicit.bytes_written == p.bytes_written + matrix
    assert explicit.bytes_read == p.bytes_read + matrix  # x once by the copy, its windows once by the product
    assert (explicit.flops, explicit.macs) == (p.flops, 256 * 256 * 64 * 9 * 64)


def test_fused_it_is_the_implicit_gemm() -> None:
    """The windows never leave the chip."""
    p = pm.conv2d(height=256, width=256, c_in=64, c_out=64, kernel=3, padding=1, dtype="fp32")
    implicit = pm.fuse(pm.im2col(p))
    assert (implicit.bytes, implicit.flops) == (p.bytes, p.flops)
    assert [op.name for op in implicit.kernels[0].ops] == ["im2col", "conv2d"]


def test_tiled_each_block_stages_its_own_part() -> None:
    """A block of 8 x 8 x 16: 10 x 10 pixels of 4 channels for it, and 64 rows of 4 * 9 windows on chip, at 2 bytes."""
    p = pm.fuse(pm.im2col(conv(height=18, width=18, c_out=32)))
    cut = pm.tile(p, p=8, q=8, f=16)
    assert loads(cut)["x"] == (2 * 2 * 2) * 10 * 10 * 4  # blocks along p, q and f
    assert "x_columns" not in loads(cut)
    held = {(role, name): size for _, role, name, size in cut.footprint().rows}
    assert held["intermediate", "x_columns"] == 2 * 8 * 8 * 4 * 9
    assert loads(cut) == loads(pm.tile(conv(height=18, width=18, c_out=32), p=8, q=8, f=16))


def test_streamed_channels_are_staged_trip_by_trip() -> None:
    """Two channels at a time: 64 rows of 2 * 9 windows."""
    cut = pm.tile(pm.fuse(pm.im2col(conv(height=18, width=18))), p=8, q=8, stream={"c": 2})
    held = {(role, name): size for _, role, name, size in cut.footprint().rows}
    assert held["intermediate", "x_columns"] == 2 * 8 * 8 * 2 * 9
    assert pm.check(cut)


def test_the_copy_has_an_axis_for_each_label_those_kept_first() -> None:
    """Rows are positions, columns are channels and taps; it does nothing but copy, in the stage of its reader."""
    p = pm.im2col(conv())
    copy, product = p.ops
    assert copy.output.tensor.labels == ("batch", "group", "p", "q", "c", "r", "s")
    assert (copy.name, copy.kind, copy.function, copy.stage) == ("im2col", "map", "copy", "conv2d")
    assert [access.index for access in product.reads] == [copy.output.tensor.labels, ("group", "f", "c", "r", "s")]
    assert [kernel.name for kernel in p.kernels] == ["im2col", "conv2d"]
    assert p.history == ("conv2d", "im2col()")
    assert "im2col(): work unchanged; bytes" in p.explain()


def test_formulas_hold_for_any_size() -> None:
    """b images of h x h, c channels: (h - 2)^2 positions of 9 c windows."""
    b, h, c = pm.dims("b h c")
    p = pm.im2col(pm.conv2d(batch=b, height=h, width=h, c_in=c, c_out=8, kernel=3))
    written = p.elements_written - pm.conv2d(batch=b, height=h, width=h, c_in=c, c_out=8, kernel=3).elements_written
    assert pm.evaluate(written, b=3, h=10, c=5) == 3 * 8**2 * 9 * 5


@pytest.mark.parametrize(
    "spacing",
    [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2}, {"kernel": (1, 3), "stride": 3}],
    ids=str,
)
def test_values_and_counts_are_those_of_a_run(spacing: dict[str, Any]) -> None:
    """Explicit, implicit and tiled: the same function, counted exactly."""
    p = conv(**spacing)
    arrays = arrays_of(p)
    before = pm.simulate(p, arrays)
    explicit = pm.im2col(p)
    for q in (explicit, pm.fuse(explicit), pm.tile(pm.fuse(explicit), p=2, q=2, stream={"c": 1})):
        run = pm.simulate(q, arrays)
        assert_same_values(run, before)
        assert_counts_as_it_runs(q, run)
        assert pm.check(q)


def test_what_is_read_without_a_window_stays() -> None:
    """The convolution alone is unfolded; pooling is no contraction."""
    x = pm.tensor("x", {"batch": 1, "group": 1, "c": 2, "h": 8, "w": 8})
    w = pm.tensor("w", {"group": 1, "f": 3, "c": 2, "r": 3, "s": 3})
    p = pm.program(pm.pool2d(pm.relu(pm.conv2d(x, w)), kernel=2))
    after = pm.im2col(p)
    assert [kernel.name for kernel in after.kernels] == ["im2col", *[kernel.name for kernel in p.kernels]]
    assert after.kernels[2:] == p.kernels[1:]
    assert pm.im2col(p, only="conv2d") == after


def test_two_convolutions_get_copies_and_names_of_their_own() -> None:
    """The second reads the first one's result."""
    x = pm.tensor("x", {"i": 9})
    for name in ("u", "v"):
        x = contracted([pm.window(x, x.labels[0], f"p{name}", f"r{name}", 3), pm.tensor(name, {f"r{name}": 3})],
                       (f"p{name}",), name=f"y{name}")  # fmt: skip
    p = pm.im2col(pm.program(x))
    assert [kernel.name for kernel in p.kernels] == ["im2col", "contract", "im2col_2", "contract_2"]
    assert stores(p) == {"x_columns": 7 * 3, "yu": 7, "yu_columns": 5 * 3, "yv": 5}
    assert pm.check(p)
    assert pm.check(pm.tile(pm.fuse(p), pv=2))


def test_windows_read_twice_by_one_contraction_are_copied_once() -> None:
    """The sum of squares of each window."""
    windows = pm.window(pm.tensor("x", {"i": 9}), "i", "p", "r", 3)
    p = pm.im2col(pm.program(contracted([windows, windows], ("p",))))
    assert stores(p)["x_columns"] == 7 * 3
    assert pm.check(p)


def test_repetitions_are_kept() -> None:
    """A layer that runs 5 times copies 5 times."""
    p = pm.im2col(conv().repeat(5))
    assert [kernel.repeat for kernel in p.kernels] == [5, 5]


def test_padding_goes_with_it() -> None:
    """5 filters to 8 and 3 channels to 4: pad and im2col in either order count and compute alike."""
    p = conv(c_in=3, c_out=5)
    one, other = pm.im2col(pm.pad(p, f=8, c=4, p=3)), pm.pad(pm.im2col(p), f=8, c=4, p=3)
    assert one == other
    assert pm.check(one)
    assert pm.check(pm.tile(pm.fuse(one), p=2, f=3, stream={"c": 3}))


# what is refused


def test_a_program_without_windows_is_refused() -> None:
    """The error says what was looked for and where."""
    with pytest.raises(
        pm.TransformError, match=r"im2col: no contraction in matmul of matmul reads .* through a window"
    ):
        pm.im2col(pm.matmul(4, 4, 4))
    with pytest.raises(pm.TransformError, match="no contraction in max of pool2d"):
        pm.im2col(pm.pool2d(height=4, width=4, channels=2))


def test_a_tiled_kernel_is_refused() -> None:
    """Its tiles were made for other ops."""
    with pytest.raises(pm.TransformError, match="im2col: kernel 'conv2d' is tiled; im2col first, then tile"):
        pm.im2col(pm.tile(conv(), p=2))


def test_windows_of_what_the_kernel_makes_itself_are_refused() -> None:
    """No kernel before it could copy them."""
    x = pm.tensor("x", {"i": 9})
    y = contracted([pm.window(pm.exp(x), "i", "p", "r", 3), pm.tensor("w", {"r": 3})], ("p",))
    with pytest.raises(pm.TransformError, match=r"im2col: kernel 'both' makes 'exp' itself.*im2col first, then fuse"):
        pm.im2col(pm.fuse(pm.program(y, name="both")))


def test_what_is_no_program_is_refused() -> None:
    """As everywhere."""
    with pytest.raises(pm.TransformError, match="im2col: expected a program, got None"):
        pm.im2col(None)  # type: ignore[arg-type]


# laws


@st.composite
def convolutions(draw: DrawFn) -> pm.Program:
    """Small convolutions of every spacing."""
    groups = draw(st.integers(1, 2))
    sizes = {name: draw(st.integers(1, 7)) for name in ("height", "width")}
    pairs = {
        "kernel": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "dilation": (draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        "padding": (draw(st.integers(0, 2)), draw(st.integers(0, 2))),
    }
    reach = [
        (sizes[name] + 2 * pairs["padding"][place], 1 + pairs["dilation"][place] * (pairs["kernel"][place] - 1))
        for place, name in enumerate(("height", "width"))
    ]
    assume(all(room >= taps for room, taps in reach))
    channels = {"c_in": groups * draw(st.integers(1, 2)), "c_out": groups * draw(st.integers(1, 2))}
    return pm.conv2d(batch=draw(st.integers(1, 2)), groups=groups, **sizes, **channels, **pairs)


@LAW
@given(st.data())
def test_unfolding_changes_no_value_and_is_counted_as_it_runs(data: st.DataObject) -> None:
    """Over strides, dilations, padding and groups: explicit, and implicit under tiles of every kind."""
    p = data.draw(convolutions())
    arrays = arrays_of(p)
    before = pm.simulate(p, arrays)
    explicit = pm.im2col(p)
    implicit = pm.fuse(explicit)
    assert explicit.flops == implicit.flops == p.flops
    assert implicit.bytes == p.bytes
    for q in (explicit, tiled(explicit, data.draw(cuts(explicit))), tiled(implicit, data.draw(cuts(implicit)))):
        run = pm.simulate(q, arrays)
        assert_counts_as_it_runs(q, run)
        assert_same_values(run, before)
    np.testing.assert_array_equal(pm.simulate(implicit, arrays).values["y"], before.values["y"])
