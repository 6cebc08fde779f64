"""What functions make of errors: never less than what moving the operands shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.graph.functions import FUNCTIONS
from perfmodel.simulation.numerics import functions
from perfmodel.simulation.spreading import spread

NUMBERS = st.floats(-4, 4, width=32)
ERRORS = st.sampled_from([0.0, 1e-3, 0.1, 1.0])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=3, max_size=3), st.lists(ERRORS, min_size=3, max_size=3), st.integers(0, 9))
def test_moved_operands_move_a_function_by_no_more(name: str, at: list[float], by: list[float], seed: int) -> None:
    """Operands anywhere within their errors, the ends included."""
    arity = FUNCTIONS[name].arity
    values, errors = [np.array(x) for x in at[:arity]], [np.array(e) for e in by[:arity]]
    allowed = float(spread(name, values, errors))
    draw = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        middle = functions()[name](*values)
        shares = [draw.uniform(-1, 1, 50) for _ in errors] if seed else [draw.choice([-1, 1], 50) for _ in errors]
        moved = functions()[name](*[x + e * share for x, e, share in zip(values, errors, shares, strict=True)])
    if np.isfinite(allowed) and np.isfinite(middle):
        assert np.all(np.abs(moved - middle) <= allowed * (1 + 1e-9) + 1e-12)


def test_what_does_not_move_spreads_nothing() -> None:
    """Without errors there is none, for functions of which nothing is known too."""
    assert spread("pow", [np.array(2.0), np.array(3.0)], [np.array(0.0), np.array(0.0)]) == 0
    assert spread("pow", [np.array(2.0), np.array(3.0)], [np.array(0.1), np.array(0.0)]) == np.inf
    assert spread("less", [np.array(1.0), np.array(3.0)], [np.array(0.1), np.array(0.1)]) == 0
