"""Results that are known as orders: no constant, a range, a source."""

from __future__ import annotations

import pickle

import pytest
import sympy

import perfmodel as pm

ORDERS = pm.known_io_orders()
n, d, M, L = pm.dims("n d M L")


def test_attention_is_an_order_without_a_constant() -> None:
    """n^2 d^2 / M from M = d^2 to M = n d, where it meets what is compulsory, n d."""
    found = ORDERS["attention"]
    assert found.order_only
    assert found.quantity == n**2 * d**2 / M
    assert found.quantity.xreplace({M: n * d}) == n * d
    assert not hasattr(found, "elements")


def test_the_two_orders_of_attention_meet_where_a_block_of_d_by_d_just_fits() -> None:
    """n^2 d / sqrt(M) at M = d^2 is n^2, and so is n^2 d^2 / M."""
    at_the_edge = [ORDERS[name].quantity.xreplace({M: d**2}) for name in ("attention", "attention_small_memory")]
    assert at_the_edge == [n**2, n**2]


def test_ratios_of_an_order_are_what_it_is_for() -> None:
    """log 2^15 / log 2^10 for the FFT; twice the memory halves the traffic of attention."""
    fft, attention = ORDERS["fft"], ORDERS["attention"]
    assert fft.at(n=2**20, M=2**10) / fft.at(n=2**20, M=2**15) == 15 / 10
    assert attention.at(n=4096, d=64, M=8192) / attention.at({n: 4096, d: 64, M: 16384}) == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("attention", {"n": 4096, "d": 64, "M": 64 * 64 - 1}),
        ("attention", {"n": 4096, "d": 64, "M": 4096 * 64 + 1}),
        ("attention_small_memory", {"n": 4096, "d": 64, "M": 64 * 64}),
        ("fft", {"n": 64, "M": 1}),
        ("fft", {"n": 64, "M": 128}),
        ("matmul_cache_misses", {"n": 64, "M": 255, "L": 16}),
    ],
)
def test_outside_its_range_an_order_says_nothing(name: str, values: dict[str, int]) -> None:
    """The message has the range and the relation that fails."""
    with pytest.raises(pm.DimensionError, match="does not hold"):
        ORDERS[name].at(values)


@pytest.mark.parametrize("values", [{}, {"n": 64}, {"n": 64, "M": 8, "z": 1}])
def test_every_symbol_needs_a_value_and_no_other_has_one(values: dict[str, int]) -> None:
    """Missing and unknown names are refused."""
    with pytest.raises(pm.LabelError):
        ORDERS["fft"].at(values)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_is_a_value_with_a_source(name: str) -> None:
    """repr, plain data, equality and pickling; each has a source and a range."""
    found = ORDERS[name]
    assert pickle.loads(pickle.dumps(found)) == found == pm.known_io_orders()[name]
    assert "no constant" in repr(found)
    assert found.source
    assert all(isinstance(relation, sympy.Rel) for relation in found.ranges)
    assert found.to_dict()["order_only"] is True
    assert found._repr_latex_().startswith("$")
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize("name", sorted(pm.known_io_orders()))
def test_an_order_explains_its_range_and_source_and_that_it_has_no_constant(name: str) -> None:
    """Everything that it knows, on lines of their own."""
    order = pm.known_io_orders()[name]
    text = order.explain()
    assert text.startswith(f"{name}: {order.means}\n")
    assert order.source in text
    assert "constant   not known" in text
    assert all(str(relation) in text for relation in order.ranges)
