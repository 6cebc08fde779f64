"""Where the formulas of a program hold, and what is counted anew beyond."""

from __future__ import annotations

import pytest

from perfmodel import attention, conv2d, dims, fuse, matmul, online, solve, tile

n, T = dims("n T")
STREAMED = tile(matmul(n, n, n), grid={"m": 128, "n": 128}, stream={"k": 32})
CAUSAL = tile(online(fuse(attention(n, n, 64, causal=True)), "kv"), grid={"q": 64}, stream={"kv": 32})


def held(found: object, most: int) -> list[int]:
    """The values up to ``most`` that a solution says hold."""
    return [s for s in range(1, most + 1) for first, last in found.intervals if first <= s <= (last or s)]


@pytest.mark.parametrize("limit", [6000, 6144, 20_000, 49_151, 49_152])
def test_blocks_smaller_than_their_tile_hold_less(limit: int) -> None:
    """Below n = 128 the footprint is no longer that of the formula: each value is that of ``at``."""
    found = solve(STREAMED, n, where=f"footprint_bytes <= {limit}")
    assert held(found, 200) == [s for s in range(1, 201) if STREAMED.at(n=s).footprint_bytes <= limit]


def test_a_tile_beyond_its_extent_is_the_extent() -> None:
    """Every T from 256 on is one tile: 256 x 256 of C and two panels of 32."""
    tiled = tile(matmul(256, 256, 256), grid={"m": T, "n": T}, stream={"k": 32})
    whole = tiled.at(T=256).footprint_bytes
    assert solve(tiled, T, where=f"footprint_bytes >= {whole}").intervals == ((256, None),)
    assert not solve(tiled, T, where=f"footprint_bytes > {whole}")


@pytest.mark.parametrize("limit", [1000, 50_000, 400_000])
def test_sums_over_blocks_are_added_exactly(limit: int) -> None:
    """A causal mask cut by tiles has a finite sum in its bytes, and below n = 33 no loop."""
    found = solve(CAUSAL, n, where=f"bytes <= {limit}", within=(1, 400))
    assert held(found, 400) == [s for s in range(1, 401) if CAUSAL.at(n=s).bytes <= limit]


def test_sizes_that_do_not_exist_are_no_answer() -> None:
    """A 3 x 3 window without padding needs three rows: (n - 2)^2 outputs."""
    found = solve(conv2d(height=n, width=n, c_in=1, c_out=1), n, where="macs <= 81")
    assert found.intervals == ((3, 5),)  # 9 (n - 2)^2 <= 81


def test_too_many_values_without_a_loop_leave_a_condition() -> None:
    """Where more than 256 values would be counted anew, the answer says for which sizes it stands."""
    tiled = tile(matmul(n, n, n), grid={"m": 512, "n": 512}, stream={"k": 512})
    found = solve(tiled, n, where="bytes_read <= 1e9")
    assert [str(each) for each in found.given] == ["n > 512"]
    assert found.least == 513
    assert "given n > 512" in repr(found)


def test_a_tile_of_exactly_the_extent_is_one_tile() -> None:
    """A padded 3 x 3 window over n = 8 in tiles of 8 stages 8 x 8, not the 10 x 10 of a tile with neighbours."""
    tiled = tile(conv2d(height=n, width=n, c_in=4, c_out=4, padding=1), p=8, q=8)
    found = solve(tiled, n, where="footprint_bytes >= 1600", within=(1, 40))
    assert held(found, 40) == [s for s in range(1, 41) if tiled.at(n=s).footprint_bytes >= 1600]


def test_a_tile_of_two_labels_is_counted_anew_up_to_the_larger() -> None:
    """8 x 64 in tiles of n by n: past 8 only the second is cut, past 64 neither."""
    p = tile(matmul(8, 64, 512), m="n", n="n", stream={"k": 32})
    for most in (100_000, 80_000, 140_000):
        found = solve(p, "n", where=f"bytes <= {most}")
        held = {v for v in range(1, 99) for low, high in found.intervals if low <= v and (high is None or v <= high)}
        assert held == {v for v in range(1, 99) if p.at(n=v).bytes <= most}
        assert found.given == ()
