"""Masks: exact pairs and hulls against counting one pair at a time; test_mask_formulas has the symbols."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import CapacityError, DimensionError, ExpressionError, LabelError, PerfModelError
from perfmodel.expressions import dims
from perfmodel.graph.masks import Mask, banded, causal, chunked

n, w, c = dims("n w c")
ALIGNMENTS = st.sampled_from(["end", "start"])
REACHES = st.none() | st.integers(0, 45)
CHUNKS = st.none() | st.integers(1, 45)
EXTENTS = st.integers(1, 40)
MASKS = st.builds(Mask, st.just("q"), st.just("kv"), REACHES, REACHES, CHUNKS, ALIGNMENTS)


def visible(mask: Mask, queries: int, keys: int) -> list[list[int]]:
    """The keys that each row sees, one pair at a time from the definition: the oracle of this file."""
    shift = keys - queries if mask.align == "end" else 0
    return [[key for key in range(keys) if sees(mask, row + shift, key)] for row in range(queries)]


def sees(mask: Mask, position: int, key: int) -> bool:
    if mask.left is not None and position - key > mask.left:
        return False
    if mask.right is not None and key - position > mask.right:
        return False
    start = 0 if mask.chunk is None else key - key % mask.chunk
    return mask.chunk is None or start <= position < start + mask.chunk


def hull(numbers: list[int]) -> tuple[int, int]:
    return (min(numbers), max(numbers) + 1) if numbers else (0, 0)


def counted(mask: Mask, queries: int, keys: int) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """Pairs, hull of the rows and hull of the keys, counted."""
    seen = visible(mask, queries, keys)
    rows = [row for row, found in enumerate(seen) if found]
    return sum(map(len, seen)), hull(rows), hull([key for found in seen for key in found])


def closed(mask: Mask, queries: int, keys: int) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """The same three in closed form."""
    return mask.pairs(queries, keys), mask.rows(queries, keys), mask.columns(queries, keys)


@pytest.mark.parametrize("align", ["end", "start"])
@pytest.mark.parametrize("chunk", [None, *range(1, 9)])
def test_every_small_mask_counts_as_one_pair_at_a_time(align: str, chunk: int | None) -> None:
    """Pairs and both hulls are exact for all queries, keys <= 7 and reaches <= 7 (so windows <= 8)."""
    for left, right in product([None, *range(8)], repeat=2):
        mask = Mask("q", "kv", left, right, chunk, align)
        for queries, keys in product(range(1, 8), repeat=2):
            assert closed(mask, queries, keys) == counted(mask, queries, keys), (mask, queries, keys)


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS)
def test_larger_masks_count_as_one_pair_at_a_time(mask: Mask, queries: int, keys: int) -> None:
    """Pairs and both hulls are exact for bands and chunks in any relation to rows and keys."""
    assert closed(mask, queries, keys) == counted(mask, queries, keys)


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS)
def test_the_array_holds_what_each_row_sees(mask: Mask, queries: int, keys: int) -> None:
    """array() and allows() are the definition, element by element."""
    array = mask.array(queries, keys)
    seen = visible(mask, queries, keys)
    assert (array.shape, array.dtype.name) == ((queries, keys), "bool")
    assert array.tolist() == [[key in found for key in range(keys)] for found in seen]
    assert mask.allows(queries - 1, keys - 1, queries, keys) == (keys - 1 in seen[-1])
    assert mask.allows(queries // 2, keys // 3, queries, keys) == (keys // 3 in seen[queries // 2])
    assert mask.pairs(queries, keys) == array.sum()


def test_a_window_counts_the_key_of_the_row_itself() -> None:
    """A window of 1 is the diagonal, a window of 3 the row's own key and two before it."""
    assert causal(window=1).pairs(5, 5) == 5
    assert visible(causal(window=3), 4, 4) == [[0], [0, 1], [0, 1, 2], [1, 2, 3]]
    assert causal(window=3).left == 3 - 1


def test_ints_stay_ints_at_any_size() -> None:
    """A count is a Python int, exact far past 2^53 where a float would round."""
    long = 2**40 + 1
    assert causal().pairs(long, long) == long * (long + 1) // 2
    assert type(causal(window=7, chunk=5).pairs(2**50, 2**51)) is int
    # 2^40 + 1 positions in chunks of 2^20: 2^20 whole ones, and 1 position left
    assert causal(chunk=2**20).pairs(long, long) == 2**20 * (2**20 * (2**20 + 1) // 2) + 1
    # ints of numpy and sympy are ints too: the diagonal
    assert type(Mask("q", "kv", sympy.Integer(0), np.int64(0), np.int32(2)).pairs(np.int64(3), 3)) is int


def test_some_rows_may_see_nothing_but_never_all() -> None:
    """Rows before the first key, or whose chunk has no keys, are out of the hull."""
    assert causal().rows(8, 3) == (8 - 3, 8)
    assert chunked("q", "kv", 4).rows(8, 3) == (8 - 3, 8)
    assert chunked("q", "kv", 4, "start").rows(8, 3) == (0, 4)  # the row at 3 still shares the keys' chunk
    assert banded("q", "kv", 0, 0, "start").columns(2, 9) == (0, 2)


# ---------------------------------------------------------------------------- laws


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS)
def test_a_further_limit_never_adds_pairs(mask: Mask, queries: int, keys: int) -> None:
    """A mask allows at most what it allows without its chunks, its left or its right side."""
    pairs = mask.pairs(queries, keys)
    looser = [
        Mask("q", "kv", mask.left, mask.right, None, mask.align),
        Mask("q", "kv", None, mask.right, mask.chunk, mask.align),
        Mask("q", "kv", mask.left, None, mask.chunk, mask.align),
    ]
    assert all(1 <= pairs <= other.pairs(queries, keys) <= queries * keys for other in looser)


@given(left=REACHES, right=REACHES, align=ALIGNMENTS, queries=EXTENTS, keys=EXTENTS)
def test_a_band_turned_over_is_the_band_of_the_other_side(
    left: int | None, right: int | None, align: str, queries: int, keys: int
) -> None:
    """Rows and keys may be swapped if left and right are: both alignments fix the same end."""
    turned = banded("q", "kv", right, left, align)
    assert banded("q", "kv", left, right, align).pairs(queries, keys) == turned.pairs(keys, queries)


@given(n=EXTENTS, chunk=st.integers(1, 45), times=st.integers(1, 5), window=st.integers(1, 45))
def test_whole_chunks_repeat(n: int, chunk: int, times: int, window: int) -> None:
    """k whole chunks hold k times the pairs of one, and alignment is no matter where queries = keys."""
    length = chunk * times
    one = causal(window=window).pairs(chunk, chunk)
    for align in ("end", "start"):
        assert causal(window=window, chunk=chunk, align=align).pairs(length, length) == times * one


# ---------------------------------------------------------------------------- figures


def test_causal_pairs_of_four_rows_and_eight_keys() -> None:
    """To the end the rows see 5 + 6 + 7 + 8 keys, to the start 1 + 2 + 3 + 4."""
    assert causal().pairs(4, 8) == 5 + 6 + 7 + 8 == 26
    assert causal(align="start").pairs(4, 8) == 1 + 2 + 3 + 4 == 10


def test_a_window_of_128_over_4096() -> None:
    """W S less the first W - 1 rows' missing keys, 1 + 2 + ... + (W - 1): 126.015625 keys a row."""
    pairs = causal(window=128).pairs(4096, 4096)
    assert pairs == 128 * 4096 - 128 * 127 // 2
    assert sympy.Rational(pairs, 4096) == 126 + sympy.Rational(1, 64)  # 0.015625 = 1 / 64


def test_causal_pairs_at_16384() -> None:
    """S (S + 1) / 2, and in chunks of 8192 twice that of one chunk."""
    assert causal().pairs(16384, 16384) == 16384 * 16385 // 2
    assert causal(chunk=8192).pairs(16384, 16384) == 2 * (8192 * 8193 // 2)


# ---------------------------------------------------------------------------- the value


def test_renamed_moves_the_labels_it_names() -> None:
    """Other labels, the same limits; labels that are not named stay."""
    mask = causal(window=4).renamed({"q": "i", "kv": "j", "m": "x"})
    assert (mask.query, mask.key, mask.left, mask.right) == ("i", "j", 3, 0)
    assert causal().renamed({}) == causal()
    with pytest.raises(LabelError, match="two different labels"):
        causal().renamed({"q": "kv"})


def test_bound_replaces_the_symbols_of_the_sizes() -> None:
    """All or some symbols; a concrete mask is itself; a value that cannot be a size is refused."""
    mask = causal(window=w, chunk=c)
    assert mask.symbols == {w, c}
    assert mask.bound({w: 128, c: 8192, n: 1}) == causal(window=128, chunk=8192)
    assert mask.bound({w: 128}).symbols == {c}
    assert mask.bound({w: n, c: 4}) == causal(window=n, chunk=4)
    assert causal().bound({w: 128}) == causal()
    assert causal().symbols == set()
    with pytest.raises(DimensionError, match="w = 0"):
        mask.bound({w: 0})
    with pytest.raises(ExpressionError):
        mask.bound({w: "__import__('os')"})


def test_sizes_may_be_text() -> None:
    """Text is parsed into the symbols of dims, never run."""
    assert causal(window="w") == causal(window=w)
    assert Mask("q", "kv", "w - 1", "0", "2*c") == Mask("q", "kv", w - 1, 0, 2 * c)
    assert causal().pairs("n", "n") == causal().pairs(n, n)


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (causal(), "causal"),
        (causal(window=128), "causal, window 128"),
        (causal(window="w"), "causal, window w"),
        (causal(chunk=8192, align="start"), "causal, chunks of 8192, aligned to the start"),
        (chunked("q", "kv", 8192), "chunks of 8192"),
        (banded("q", "kv", 2, 3), "2 before and 3 after"),
        (banded("q", "kv", 2, None), "2 before and all after"),
        (Mask("q", "kv"), "everything"),
    ],
)
def test_describe_says_it_in_a_few_words(mask: Mask, text: str) -> None:
    """Each kind of mask has its short text."""
    assert mask.describe() == text


def test_a_mask_is_a_value() -> None:
    """Equal masks are equal, hash alike, pickle, and cannot be changed."""
    mask = causal(window="w", chunk=4)
    assert {mask, causal(window=w, chunk=4)} == {pickle.loads(pickle.dumps(mask))}
    with pytest.raises(AttributeError):
        mask.chunk = 5  # type: ignore[misc]  # that is the point


# ---------------------------------------------------------------------------- bad input

BAD_SIZES = [-1, True, 1.5, float("nan"), float("inf"), 10**18, "x +", "__import__('os')", -n, [3], sympy.I, 1j]


@pytest.mark.parametrize("bad", [0, False, *BAD_SIZES], ids=repr)
def test_a_size_that_cannot_be_is_refused(bad: object) -> None:
    """Windows, chunks, rows and keys are positive sizes."""
    for make in (
        lambda: causal(window=bad),
        lambda: chunked("q", "kv", bad),
        lambda: causal().pairs(bad, 4),
        lambda: causal().rows(4, bad),
        lambda: causal().columns(bad, 4),
        lambda: causal().array(4, bad),
        lambda: causal().allows(0, 0, bad, 4),
    ):
        with pytest.raises(PerfModelError):
            make()


@pytest.mark.parametrize("bad", [False, *BAD_SIZES], ids=repr)
def test_a_reach_is_zero_or_a_size(bad: object) -> None:
    """left and right take 0 and sizes, nothing else."""
    assert banded("q", "kv", 0, 0).pairs(6, 6) == 6  # the diagonal
    for sides in ((bad, 0), (0, bad)):
        with pytest.raises(PerfModelError):
            banded("q", "kv", *sides)


def test_messages_name_the_field_the_value_and_the_rule() -> None:
    """What was wrong, and what would be right."""
    with pytest.raises(DimensionError, match=r"left = -1; .* 0 or more, or None"):
        Mask("q", "kv", left=-1)
    with pytest.raises(DimensionError, match="window = 0: a dimension is a positive integer"):
        causal(window=0)
    with pytest.raises(DimensionError, match="kv = -4"):
        causal().pairs(4, -4)
    with pytest.raises(LabelError, match=r"align = 'ends'; expected one of end, start \(did you mean 'end'\?\)"):
        causal(align="ends")
    with pytest.raises(LabelError, match="both 'q'"):
        causal("q", "q")
    with pytest.raises(LabelError, match="key = 3"):
        Mask("q", 3)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("align", [None, 0, True, "", "START", ["end"]], ids=repr)
def test_an_alignment_is_end_or_start(align: object) -> None:
    """Anything else is a LabelError, whatever its type."""
    with pytest.raises(LabelError, match="expected one of end, start"):
        causal(align=align)


def test_single_pairs_and_arrays_need_numbers() -> None:
    """A formula, a position outside the extents, or an array without end is refused."""
    with pytest.raises(DimensionError, match="left = w - 1 is a formula"):
        causal(window=w).array(4, 4)
    with pytest.raises(DimensionError, match="q = n is a formula"):
        causal().allows(0, 0, n, 4)
    with pytest.raises(DimensionError, match="kv = 4; positions run from 0 to 3"):
        causal().allows(0, 4, 4, 4)
    with pytest.raises(DimensionError, match=r"q = 0\.5; a position is an int"):
        causal().allows(0.5, 0, 4, 4)
    with pytest.raises(CapacityError, match="at most 2\\^32"):
        causal().array(2**20, 2**20)
