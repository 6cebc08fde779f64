"""Work and span: programs, plain numbers, greedy runs within Brent's bounds, reductions step by step, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.mechanisms.depths import reduction_depth, run_reduction
from perfmodel.mechanisms.task_runs import longest_chain, run_tasks


@given(values=st.integers(1, 300), lanes=st.one_of(st.none(), st.integers(1, 70)))
def test_a_reduction_takes_the_steps_of_the_formula(values: int, lanes: int | None) -> None:
    """Add pairs, or lane by lane and then pairs, until one is left."""
    run = run_reduction(list(range(values)), lanes)
    assert run.result == values * (values - 1) // 2
    if lanes == 1:
        assert run.steps == reduction_depth(values, 1) == values
    else:
        assert run.steps == reduction_depth(values, lanes)
    assert run.operations == values - 1 + (0 if lanes is None else min(lanes, values))


def test_a_matrix_product() -> None:
    """n^3 multiply-adds: a chain of n, or a multiply and a tree of ten levels."""
    p = pm.matmul(1024, 1024, 1024)
    chain, tree = pm.work_span(p, reduction="serial", unit="mac"), pm.work_span(p)
    assert (chain.work, chain.span, chain.parallelism) == (1024**3, 1024, 1024**2)
    assert (tree.work, tree.span, tree.levels) == (2 * 1024**3, 1 + 10, 10)
    assert pm.work_span(p, reduction="serial").span == 1 + 1024
    assert pm.work_span(pm.matmul(1, 1, 64), reduction=32, unit="mac").span == 64 // 32 + 5


def test_a_chain_of_ops_is_as_long_as_its_longest_path() -> None:
    """Softmax: max, subtract, exp, sum, divide; what does not wait for the rest does not count."""
    found = pm.work_span(pm.softmax(8, 1024))
    assert found.span == 10 + 1 + 1 + 10 + 1
    assert [step.name for step in found.path] == ["max", "sub", "exp", "sum", "div"]
    x = pm.tensor("x", {"i": 64})
    assert pm.work_span(pm.program(pm.exp(x) + pm.sum(x, "i"))).span == max(1, 6) + 1
    assert pm.work_span(pm.program(pm.mean(x, "i"))).span == 6 + 1
    assert pm.work_span(pm.elementwise("x*y + z", 10)).span == 2


def test_repetitions_come_one_after_another() -> None:
    """Eighty layers are eighty times as much and eighty times as deep."""
    p = pm.elementwise("relu(x)", 64)
    once, often = pm.work_span(p), pm.work_span(p.repeat(80))
    assert (often.work, often.span, often.parallelism) == (80 * once.work, 80 * once.span, once.parallelism)


def test_work_does_not_depend_on_staging() -> None:
    """Fusing leaves the graph as it is."""
    p = pm.attention(q=64, kv=64, d=16)
    assert pm.work_span(pm.fuse(p)).span == pm.work_span(p).span


@given(m=st.integers(1, 50), n=st.integers(1, 50), k=st.integers(1, 50))
def test_formulas_are_the_numbers(m: int, n: int, k: int) -> None:
    """A program in symbols has formulas; bound, they are those of the numbers."""
    symbolic, exact = pm.work_span(pm.matmul("m", "n", "k")), pm.work_span(pm.matmul(m, n, k))
    values = dict(zip(pm.dims("m n k"), (m, n, k), strict=True))
    assert symbolic.work.xreplace(values) == exact.work
    assert symbolic.span.xreplace(values) == exact.span
    serial = pm.work_span(pm.softmax(m, "n"), reduction="serial")
    assert pm.evaluate(serial.span, n=n) == pm.work_span(pm.softmax(m, n), reduction="serial").span


def tasks() -> st.SearchStrategy[tuple[list[int], dict[int, list[int]]]]:
    """Tasks of some lengths, each needing some before it."""

    def with_needs(lengths: list[int]) -> st.SearchStrategy[tuple[list[int], dict[int, list[int]]]]:
        earlier = {task: st.lists(st.integers(0, task - 1), max_size=3, unique=True) for task in range(1, len(lengths))}
        return st.tuples(st.just(lengths), st.fixed_dictionaries(earlier))

    return st.lists(st.integers(1, 6), min_size=1, max_size=25).flatmap(with_needs)


@given(graph=tasks(), processors=st.integers(1, 6))
def test_greedy_runs_keep_to_the_laws(graph: Any, processors: int) -> None:
    """Run event by event: no faster than the work and span laws, no slower than Brent's bound."""
    lengths, needs = graph
    found = pm.work_span(sum(lengths), longest_chain(lengths, needs))
    time = run_tasks(lengths, needs, processors).makespan
    assert found.least_time(processors) <= time <= found.brent_time(processors) + 1e-9
    assert found.brent_time(processors) <= found.time(processors)
    alone, many = [run_tasks(lengths, needs, count).makespan for count in (1, len(lengths))]
    assert (alone, many) == (found.work, found.span)
    limits = pm.work_span_limits({count: run_tasks(lengths, needs, count).makespan for count in (1, processors)})
    assert limits.work_most >= found.work
    assert limits.span_most >= found.span
    assert limits.consistent


@given(values=st.integers(2, 60), processors=st.integers(1, 8))
def test_a_tree_as_tasks(values: int, processors: int) -> None:
    """A binary tree of additions as a graph: n - 1 tasks, ceil(log2 n) deep."""
    ready: list[int | None] = [None] * values
    needs: dict[int, list[int]] = {}
    while len(ready) > 1:
        level: list[int | None] = []
        for place in range(0, len(ready) - 1, 2):
            needs[len(needs)] = [task for task in ready[place : place + 2] if task is not None]
            level.append(len(needs) - 1)
        ready = level + ready[len(ready) - len(ready) % 2 :]
    lengths = [1] * len(needs)
    assert longest_chain(lengths, needs) == reduction_depth(values)
    assert run_tasks(lengths, needs, values).makespan == reduction_depth(values)
    assert run_tasks(lengths, needs, processors).busy == values - 1


def test_two_chess_programs() -> None:
    """T1 / P + Tinf: what is faster on 32 processors is slower on 512 (Cormen et al.)."""
    first, second = pm.work_span(2048, 1), pm.work_span(1024, 8)
    assert [first.time(p) for p in (32, 512)] == [2048 / 32 + 1, 2048 / 512 + 1]
    assert [second.time(p) for p in (32, 512)] == [1024 / 32 + 8, 1024 / 512 + 8]


def test_measured_times_that_no_program_has() -> None:
    """Work law 4 * 80, span law 10, Brent on 10 processors (42 - 10) * 10 + 10."""
    found = pm.work_span_limits({4: 80, 10: 42, 64: 10})
    assert (found.work_most, found.span_most, found.work_least) == (4 * 80, 10, (42 - 10) * 10 + 10)
    assert not found.consistent
    assert pm.work_span_limits({1: 100, 4: 30}).consistent


def test_series_and_parallel() -> None:
    """One after another works and spans add; beside each other the longer span counts."""
    a, b = pm.work_span(100, 10), pm.work_span(60, 20)
    assert a.then(b) == pm.work_span(160, 30)
    assert a.beside(b) == b.beside(a) == pm.work_span(160, 20)
    assert a.in_turn(3) == a.then(a).then(a)
    assert a.copies(3) == a.beside(a).beside(a)
    tree = pm.work_span(pm.matmul(8, 8, 8))
    assert tree.in_turn(4).levels == 4 * 3
    assert tree.then(tree).levels == 2 * 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pm.work_span(4), "span is missing"),
        (lambda: pm.work_span(4, 5), "span = 5 is more than work = 4"),
        (lambda: pm.work_span(0, 0), "work = 0"),
        (lambda: pm.work_span(float("nan"), 1), "work = nan"),
        (lambda: pm.work_span(4, float("inf")), "span = inf"),
        (lambda: pm.work_span(4, -1.5), "span = -1.5"),
        (lambda: pm.work_span(pm.matmul(4, 4, 4), 3), "its own span"),
        (lambda: pm.work_span(pm.workload(flops=4)), "opaque"),
        (lambda: pm.work_span(pm.matmul(4, 4, 4), reduction="treee"), "did you mean 'tree'"),
        (lambda: pm.work_span(pm.matmul(4, 4, 4), reduction=0), "reduction = 0"),
        (lambda: pm.work_span(pm.matmul(4, 4, 4), unit="fma"), "expected one of flop, mac"),
        (lambda: pm.work_span(4, 2).time(0), "processors = 0"),
        (lambda: pm.work_span(4, 2).in_turn(0), "times = 0"),
        (lambda: pm.work_span(4, 2).then(3), "another work_span"),
        (lambda: pm.work_span(4, 2).beside(None), "another work_span"),
        (lambda: pm.work_span(pm.embedding(8, 100, 16)), "no operation"),
        (lambda: pm.work_span_limits({}), "times by processors"),
        (lambda: pm.work_span_limits([80]), "times by processors"),
        (lambda: pm.work_span_limits({0: 80}), "processors = 0"),
        (lambda: pm.work_span_limits({"p": 80}), "expected a number"),
        (lambda: pm.work_span_limits({4: -80}), "positive"),
        (lambda: pm.work_span_limits({4: "80"}), "positive"),
        (lambda: run_tasks([1, 1], {0: [1], 1: [0]}, 1), "circle"),
        (lambda: run_tasks([1], {0: [3]}, 1), "no task 3"),
        (lambda: run_tasks([1], {}, 0), "processors = 0"),
        (lambda: longest_chain([1, 1], {0: [1]}), "only earlier ones"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(pm.PerfModelError, match=words):
        call()


def test_symbols_and_floats_are_amounts_too() -> None:
    """Work and span as formulas, or as times."""
    found = pm.work_span("n", "s")
    assert pm.evaluate(found.parallelism, n=12, s=4) == 3
    assert pm.evaluate(found.brent_time("p"), n=12, s=4, p=2) == (12 - 4) / 2 + 4
    assert pm.evaluate(found.least_time("p"), n=12, s=4, p=2) == 6
    assert pm.work_span(1.5, 0.5).parallelism == 3
    assert "n" in repr(found)


def test_limits_that_no_program_meets_say_so() -> None:
    """Exact times stay exact in what is shown."""
    assert "no such program" in repr(pm.work_span_limits({4: 80, 10: 42, 64: 10}))
    assert pm.work_span_limits({4: Fraction(80)}) == pm.work_span_limits({4: 80})
