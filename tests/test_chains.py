"""Random chains of transforms: after every step, counts are those of the run, and values the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from moves import MOVES, SEEDS
from staging import arrays_of, assert_same_values, hulls, run_on
from strategies import staged

import perfmodel as pm
from perfmodel.simulation.tallying import count_differences


def plain_gradient(plain: pm.Program, made: pm.Program) -> pm.Program:
    """The gradient of a plain program, where that of a transformed one is the same tensor by tensor; else the latter.

    Elements that attain a maximum together share what flows back, and a maximum of parts shares it otherwise; inputs
    of one gradient share a tensor, which other ops may tell apart; and integers have none until they are cast.
    """
    ties = any(op.kind == "reduce" and op.function in ("max", "min", "prod") for op in plain.ops)
    try:
        found = pm.grad(plain)
    except pm.TransformError:
        return made
    return made if ties or found.returned != made.returned else found


class Chain(RuleBasedStateMachine):
    """A program, and what it was before any transform."""

    program: pm.Program
    plain: pm.Program  # the same without any transform but grad
    expected: Any  # the values of the plain one

    @initialize(program=staged(), seed=st.integers(0, SEEDS - 1))
    def begin(self, program: pm.Program, seed: int) -> None:
        self.program = self.plain = program
        self.seed = seed
        self.expect()

    def expect(self) -> None:
        """Run the plain program; what gradients are taken of now is an input."""
        self.arrays = {**arrays_of(self.plain, self.seed), **getattr(self, "arrays", {})}
        self.expected = self.simulated(self.plain)

    @rule(data=st.data(), name=st.sampled_from(sorted(MOVES)))
    def transform(self, data: st.DataObject, name: str) -> None:
        before, self.program = self.program, MOVES[name](self.program, data)
        if name == "grad" and self.program is not before:
            self.plain = plain_gradient(self.plain, self.program)
            self.expect()

    @precondition(lambda self: not any(kernel.tiles or kernel.online for kernel in self.program.kernels))
    @precondition(lambda self: not hulls(self.program))
    @rule()
    def fusing_all_adds_nothing(self) -> None:
        """Of an untiled program: the same operations, and no byte more."""
        fused = pm.fuse(self.program)
        assert fused.flops_by_unit == self.program.flops_by_unit
        assert fused.bytes <= self.program.bytes

    @invariant()
    def it_counts_as_it_runs_and_returns_the_same_values(self) -> None:
        if hulls(self.program):  # said to be a hull, not exact
            return
        run = self.simulated(self.program)
        assert count_differences(self.program, run.levels) == []
        assert_same_values(run, self.expected)

    @invariant()
    def issued_work_is_no_less_than_useful_work(self) -> None:
        assert self.program.issued_flops >= self.program.flops

    @invariant()
    def every_step_is_remembered(self) -> None:
        assert all(step.split("(")[0] in MOVES for step in self.program.history[1:])

    def simulated(self, program: pm.Program) -> Any:
        with np.errstate(all="ignore"):
            return run_on(program, self.arrays)


def normed() -> pm.Program:
    """A norm in front of a matmul."""
    x, w = pm.tensor("x", {"m": 3, "n": 7}), pm.tensor("w", {"n": 7, "k": 2})
    return pm.program(pm.einsum("mn,nk->mk", pm.rmsnorm(x, "n"), w).named("y"), name="norm")


LOOPS = (
    lambda: pm.softmax(3, 7),
    lambda: pm.attention(3, 7, 2, heads=2, kv_heads=1, lse=True),
    lambda: pm.attention(4, 5, 2, causal=True),
    lambda: pm.attention(2, 7, 2, window=3),
    lambda: pm.grad(pm.attention(2, 5, 2), of="O"),
    normed,
)


class RunningChain(Chain):
    """A loop whose results are needed while it runs, online and in parts after some steps or before them."""

    @initialize(make=st.sampled_from(LOOPS), seed=st.integers(0, SEEDS - 1))
    def begin(self, make: Callable[[], pm.Program], seed: int) -> None:
        self.program = self.plain = make()
        self.seed = seed
        self.expect()

    @rule(data=st.data(), name=st.sampled_from(["online", "online_in_parts", "split", "tile", "reassociate"]))
    def transform_more(self, data: st.DataObject, name: str) -> None:
        self.program = MOVES[name](self.program, data)


TestChain = Chain.TestCase
TestChain.settings = settings(
    max_examples=60,
    stateful_step_count=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestRunningChain = RunningChain.TestCase
TestRunningChain.settings = settings(TestChain.settings, max_examples=30, stateful_step_count=5)
