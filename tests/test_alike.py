"""Outer tiles that look alike, and how many of them are looked at."""

from __future__ import annotations

import pytest

import perfmodel as pm


def test_more_outer_tiles_than_can_be_looked_at_are_refused_at_once() -> None:
    """With the op and its labels: pairs of tiles under a mask, and tiles of rows of which each sees other keys."""
    long = pm.recipes.flash_attention(10**7, 10**7, 64, causal=True)
    with pytest.raises(pm.DimensionError, match=r"tiles of 'scores' along q, kv hold tiles inside them"):
        pm.tile(long, level="l2", grid={"q": 1024}, stream={"kv": 1024})
    with pytest.raises(pm.DimensionError, match=r"tiles of 'scores' along q, with up to 156258 inside each"):
        pm.tile(long, level="l2", grid={"q": 1024})
    with pytest.raises(pm.DimensionError, match=r"tiles of q under a mask"):
        pm.recipes.flash_attention(10**9, 10**9, 64, causal=True)
    with pytest.raises(pm.DimensionError, match=r"tiles of kv_part, kv under a mask"):
        pm.recipes.flash_decoding(10**9, 64, q=64, causal=True)


def test_tiles_that_move_nothing_else_are_never_looked_at() -> None:
    """However many there are: all but the last are alike."""
    rows = 10**10
    p = pm.tile(pm.tile(pm.matmul(rows, 64, 64), m=16), level="l2", m=64)
    assert p.bytes == (2 * rows * 64 + 64 * 64 * rows // 64) * 2
