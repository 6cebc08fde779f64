"""Alignment classes: rows by their bytes, the next size of each class, tensors of programs, the effect's words."""

from __future__ import annotations

import pickle
from math import gcd

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.mechanisms.aligned_rows import CLASSES

FORMATS = st.sampled_from(["fp64", "fp32", "bf16", "fp8", "fp6_e2m3", "int4"])


def test_a_vocabulary_of_50257() -> None:
    """Odd: rows of 100,514 B start at 2; 50264 = 8 * 6283 starts at 16, 50304 = 128 * 393 at 256."""
    found = pm.alignment(50257)
    assert (found.row_bytes, found.alignment_bytes, found.power_of_two, found.load_bytes) == (2 * 50257, 2, 1, 2)
    assert not found.vector_loads
    assert not found.whole_lines
    assert found.next_sizes == {2: 50257, 4: 50258, 8: 50260, 16: 50264, 32: 50272, 64: 50272, 128: 50304}
    assert [pm.alignment(n).alignment_bytes for n in (50264, 50304)] == [16, 2 * 128]


@given(st.integers(1, 10**6), FORMATS)
def test_every_row_starts_at_its_alignment(elements: int, dtype: str) -> None:
    """In bits: the largest power of two that divides the start of each of many rows."""
    row = pm.alignment(elements, dtype).narrowest
    bits = int(pm.format(dtype).bits)
    aligned = int(8 * row.alignment_bytes)
    starts = [elements * bits * place for place in range(1, 9)]
    assert all(start % aligned == 0 for start in starts)
    assert starts[0] % (2 * aligned) == aligned


@given(st.integers(1, 5000), FORMATS, st.sampled_from(CLASSES))
def test_the_next_size_is_the_first_of_its_class(elements: int, dtype: str, wanted: int) -> None:
    """Counting up from the size itself; rows of whole bytes of that class, and none between."""
    bits = int(pm.format(dtype).bits)
    first = next(n for n in range(elements, elements + 8 * wanted + 1) if n * bits % (8 * wanted) == 0)
    found = pm.alignment(elements, dtype)
    assert found.next(wanted) == first
    assert pm.alignment(first, dtype).class_bytes >= wanted
    assert (first == elements) == (found.class_bytes >= wanted)


@given(st.integers(1, 10**5))
def test_classes_are_ordered(elements: int) -> None:
    """A load is never wider than its class, and a larger class never has a smaller next size."""
    found = pm.alignment(elements)
    assert found.load_bytes == min(16, found.class_bytes) == min(16, gcd(2 * elements, 128))
    sizes = list(found.next_sizes.values())
    assert sizes == sorted(sizes)
    assert found.vector_loads >= found.whole_steps >= found.whole_lines


def test_the_tensors_of_a_program() -> None:
    """What crosses memory, a row each; the narrowest speaks for all; one row alone starts where its tensor does."""
    found = pm.alignment(pm.matmul(8, 50257, 768))
    assert {row.tensor: row.class_bytes for row in found.rows} == {"A": 128, "B": 2, "C": 2}
    assert (found.narrowest.tensor, found.next(16)) == ("B", 50264)
    fused = pm.alignment(pm.fuse(pm.attention(100, 100, 64, heads=3)))
    assert {row.tensor for row in fused.rows} == {"Q", "K", "V", "O"}
    assert pm.alignment(pm.matmul(1, 64, 77)).row("A").single
    assert pm.alignment(pm.matmul(1, 64, 77)).row("A").alignment_bytes == 256
    x = pm.tensor("x", {"i": 4, "j": 25}, dtype="fp32")
    assert pm.alignment(x).row("x").load_bytes == 4  # 100 B
    assert pm.alignment(pm.cast(pm.matmul(8, 64, 25), "fp32")).row("A").load_bytes == 4


def test_it_shows_itself() -> None:
    """A repr that makes it again, working, HTML, plain data, pickling."""
    found = pm.alignment(25, "fp32")
    assert repr(found).splitlines()[0] == "alignment(25, dtype='fp32')"
    assert pickle.loads(pickle.dumps(found)) == found
    assert found._repr_html_().startswith("<pre>")
    assert "next     8 B: 26, 16 B: 28" in found.explain()
    assert found.to_dict()["next_sizes"]["16"] == 28
    assert pm.alignment(numpy.int64(64)) == pm.alignment(64)


def test_what_is_no_size_is_refused() -> None:
    """Symbols want values first, tensors have formats, names are checked."""
    for wrong in (0, -8, 2.5, True, "n", None):
        with pytest.raises(pm.DimensionError, match="alignment: n"):
            pm.alignment(wrong)
    with pytest.raises(pm.DimensionError, match="give n"):
        pm.alignment(pm.matmul(8, "n", 8))
    with pytest.raises(pm.FormatError, match="have formats"):
        pm.alignment(pm.matmul(8, 8, 8), "fp32")
    with pytest.raises(pm.FormatError):
        pm.alignment(8, "bf61")
    with pytest.raises(pm.LabelError, match="no tensor 'D'"):
        pm.alignment(pm.matmul(8, 8, 8)).row("D")
    with pytest.raises(pm.DimensionError, match="alignment_bytes"):
        pm.alignment(8).next(0)


@pytest.mark.parametrize(
    ("n", "k", "words"),
    [
        (1001, 1000, "rows of k of the 16-byte class, of n of the 2-byte class: 2 B a load, not 16"),
        (1000, 1000, "rows of k and n of the 16-byte class: 16 B a load, lines in part"),
        (1028, 1028, "rows of k and n of the 8-byte class: 8 B a load, not 16"),
        (1024, 1024, None),  # whole lines: nothing to say
    ],
)
def test_an_estimate_names_the_classes(n: int, k: int, words: str | None) -> None:
    """1000 bf16 numbers are 2,000 = 16 * 125 B, 1028 are 8 * 257, 1024 whole lines."""
    text = pm.estimate(pm.matmul(1000, n, k), "a100-sxm-80gb").explain()
    assert (words in text) if words else ("class" not in text)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 4000), st.integers(1, 4000))
def test_the_words_agree_with_the_mechanism(n: int, k: int) -> None:
    """The load that the effect names is the narrower of those of B's and A's rows."""
    text = str(pm.estimate(pm.matmul(64, n, k), "a100-sxm-80gb").explain())
    loads = min(pm.alignment(n).load_bytes, pm.alignment(k).load_bytes)
    lines = min(pm.alignment(n).class_bytes, pm.alignment(k).class_bytes)
    assert (f"{loads} B a load" in text) == (lines < 128)
