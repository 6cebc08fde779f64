"""Whatever stands in place of an argument, a mechanism answers or raises one of our own errors, at once."""

from __future__ import annotations

import contextlib
import inspect
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings, strategies as st
from lanes import EXPRESSIONS

import perfmodel as pm
from perfmodel.mechanisms import Answer

# A call that works, by the function: one argument of it is then replaced.
CALLS: dict[str, dict[str, Any]] = {
    "occupancy": {"machine_or_limits": "9.0"},
    "divergence": {"condition": "t % 2", "threads": 64},
    "transactions": {"index": "2*t"},
    "bank_conflicts": {"index": "2*t"},
    "latency_hiding": {"latency_cycles": 12},
    "littles_law": {"machine_or_rate": 1e12, "latency_s": 1e-6},
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 70),
    st.sampled_from([-(2**70), 2**31, 2**62, 2**63, 2**64, 10**400, 10**5000]),
    st.floats(),
    st.text(max_size=8),
    st.text("t0123456789+-*/%<>&|^~()[]., ", max_size=12),
    st.binary(max_size=3),
    st.sampled_from(["mi300x", "l4", "H100", "8.0", "0.0", "x.toml", "t" * 20_000, "t\x00", "\udcff"]),
    st.sampled_from([1j, Decimal(3), Fraction(3), Fraction(1, 2)]),
    st.sampled_from([np.int32(4), np.uint8(4), np.float64(4), np.bool_(True)]),
    st.sampled_from([sympy.Integer(4), sympy.Symbol("n"), sympy.nan, sympy.oo]),
    st.sampled_from([object(), object, len, print, lambda: 0, lambda t: t, lambda t: "x", iter(()), ..., range(64)]),
    st.lists(st.integers(-2, 5) | st.none() | st.text(max_size=2), max_size=4),
    st.tuples(st.integers(-2, 5), st.integers(-2, 5) | st.none() | st.text(max_size=2)),
    st.dictionaries(st.sampled_from(["max_threads", "max_warps", "warp", "registers", "x", 3]), st.integers(-1, 64)),
    st.sampled_from([np.arange(32), np.zeros(64), np.array("t"), np.array([None] * 32), np.arange(32)[:, None]]),
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@given(st.data())
@settings(max_examples=150)
def test_any_argument_is_an_answer_or_our_error(name: str, data: st.DataObject) -> None:
    """Each parameter in turn; an answer shows itself, is plain data, and can be pickled."""
    function = getattr(pm, name)
    parameter = data.draw(st.sampled_from(sorted(inspect.signature(function).parameters)))
    try:
        found = function(**CALLS[name] | {parameter: data.draw(ODD)})
    except pm.PerfModelError:
        return
    except OSError:  # a path in .toml that is not there
        assert parameter.startswith("machine")
        return
    assert isinstance(found, Answer)
    assert repr(found).startswith(f"{found.made}\n# ")
    assert found.explain().startswith(f"{found.made}\n  ")
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert pickle.loads(pickle.dumps(found)) == found


@given(EXPRESSIONS, st.integers(1, 64), st.integers(1, 64), st.integers(0, 8))
def test_expressions_answer_or_are_refused(text: Any, threads: int, warp: int, steps: int) -> None:
    """The three functions of thread indices on any expression."""
    for made in (
        lambda: pm.divergence(text.text, threads, (steps, 1), warp=warp),
        lambda: pm.divergence(text.text, threads, steps, warp=warp),
        lambda: pm.transactions(text.text, threads=threads, warp=warp),
        lambda: pm.bank_conflicts(text.text, threads=threads, warp=warp),
    ):
        with contextlib.suppress(pm.PerfModelError):
            found = made()
            assert repr(found).startswith(f"{found.made}\n# ")
