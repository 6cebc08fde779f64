"""What an op takes from several tensors: axes, mask, formats."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import dims
from perfmodel.graph.building import contracted
from perfmodel.graph.masks import Mask, banded, causal
from perfmodel.graph.merging import accumulator, check_unmasked, merged_axes, merged_format, merged_mask
from perfmodel.graph.nodes import Tensor, tensor
from perfmodel.number_formats import Format, format, formats, widest

m, n = dims("m n")
EXTENTS = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}


def scores(mask: Mask) -> Tensor:
    """Q K^T over the pairs of a mask."""
    return contracted([tensor("Q", {"q": 4, "d": 8}), tensor("K", {"kv": 4, "d": 8})], ("q", "kv"), mask=mask)


LABELS = st.permutations(list(EXTENTS)).flatmap(lambda mixed: st.integers(0, 5).map(lambda count: mixed[:count]))


@given(labels=st.lists(LABELS, min_size=1, max_size=4))
def test_axes_are_united_in_the_order_of_the_longest(labels: list[list[str]]) -> None:
    """Every label once, first those of the (first) tensor that has most, then as they come."""
    tensors = [tensor(f"x{place}", {label: EXTENTS[label] for label in own}) for place, own in enumerate(labels)]
    longest = max(labels, key=len)
    expected = dict.fromkeys([*longest, *[label for own in labels for label in own]])
    assert merged_axes(tensors, "add") == tuple([(label, EXTENTS[label]) for label in expected])


@pytest.mark.parametrize(("one", "other"), [(4, 5), (m, n), (m, 4), (2 * m, m)])
def test_one_label_has_one_extent(one: object, other: object) -> None:
    """The message names the op, the label, both tensors and both sizes, whichever stands first."""
    x, y = tensor("x", {"i": 7, "k": one}), tensor("y", {"k": other})
    with pytest.raises(DimensionError) as found:
        merged_axes([x, y], "matmul")
    assert str(found.value) == f"matmul: label 'k' is {one} in 'x' and {other} in 'y'; one label has one extent"
    with pytest.raises(DimensionError, match=r"matmul: label 'k' is .* in 'x' and .* in 'y'"):
        merged_axes([y, x], "matmul")


def test_equal_formulas_are_one_extent() -> None:
    """2 m is 2 m however it was made."""
    assert merged_axes([tensor("x", {"k": "2*m"}), tensor("y", {"k": m + m})], "add") == (("k", 2 * m),)


def test_one_mask_restricts_all() -> None:
    """A mask of one operand, or the same one of several, is that of the op; none is none."""
    masked, free = scores(causal()), tensor("b", {"kv": 4})
    assert merged_mask([free], "add") is None
    assert merged_mask([free, masked], "add") == causal()
    assert merged_mask([masked, scores(causal())], "add") == causal()
    assert merged_mask([free], "add", causal()) == causal()


def test_two_masks_are_refused() -> None:
    """Of two operands, or of an operand and the op itself; the message describes both."""
    masked, other = scores(causal()), scores(banded("q", "kv", 1, 1))
    with pytest.raises(LabelError, match=r"sub: .* two different masks \(causal; 1 before and 1 after\)"):
        merged_mask([masked, other], "sub")
    with pytest.raises(LabelError, match="two different masks"):
        merged_mask([masked], "values", causal(window=2))


@pytest.mark.parametrize("mask", [True, "causal", 3])
def test_a_mask_is_a_mask(mask: object) -> None:
    """Anything else in its place is refused."""
    with pytest.raises(LabelError, match=r"einsum: mask = .*; expected a mask such as pm.causal\(\)"):
        merged_mask([tensor("b", {"kv": 4})], "einsum", mask)  # type: ignore[arg-type]


def test_a_masked_label_may_not_be_seen_elsewhere() -> None:
    """Neither of the two labels; any other may, and any of a tensor without mask."""
    masked = scores(causal())
    for label in ("q", "kv"):
        with pytest.raises(LabelError, match=f"roll: '{label}' of tensor 'contract' is restricted by a mask"):
            check_unmasked(masked, label, "roll")
    check_unmasked(masked, "d", "roll")
    check_unmasked(tensor("x", {"q": 4}), "q", "roll")


@given(names=st.lists(st.sampled_from([found.name for found in formats()]), min_size=1, max_size=4))
def test_the_format_is_the_widest(names: list[str]) -> None:
    """As ``widest`` says, whether formats are equal or not."""
    assert merged_format([tensor("x", {"i": 4}, name) for name in names]) == widest(names)


def test_sums_are_kept_in_the_accumulator() -> None:
    """fp32, int32 for integers, 64 bits for what is wider; formats of one name and other fields do not mix."""
    found = {name: accumulator(format(name)).name for name in ("bf16", "fp8", "int8", "fp64")}
    assert found == {"bf16": "fp32", "fp8": "fp32", "int8": "int32", "fp64": "fp64"}
    small, large = Format("mine", bits=8, kind="int"), Format("mine", bits=48, kind="int")
    assert (accumulator(small).name, accumulator(large).name) == ("int32", "int64")
