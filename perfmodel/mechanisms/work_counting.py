"""Work and span of a program's graph, or of plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.errors import DimensionError, PerfModelError, brief
from perfmodel.expressions import Size, is_concrete, largest, product, size, smallest, total
from perfmodel.graph.describing import title
from perfmodel.graph.functions import FUNCTIONS
from perfmodel.graph.nodes import Op
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.depths import reduction_depth, tree_depth
from perfmodel.mechanisms.given_values import chosen, positive_number
from perfmodel.mechanisms.work_spans import Step, WorkSpan, WorkSpanLimits

Chain = tuple[Size, tuple[Step, ...]]  # a span, and the ops on it


def work_span(work: Any, span: Any = None, *, reduction: Any = "tree", unit: str = "flop") -> WorkSpan:
    """Work and span: of a program's graph, or two numbers (work_span(2048, 8)); sizes may be symbols.

    The work of a program is its FLOPs and special operations. Its span is the longest chain of ops, each after those
    whose results it reads: a map is as deep as its function has operations, a reduction over n a tree of ceil(log2 n)
    levels, or with ``reduction="serial"`` a chain of n, or with a number of lanes ceil(n / lanes) + ceil(log2 lanes);
    a contraction multiplies first. With ``unit="mac"`` a multiply-add is one operation. Repetitions come one after
    another. The graph alone counts: how kernels cut and stream it does not. Opaque workloads have no graph.

    >>> from perfmodel import matmul
    >>> found = work_span(matmul("n", "n", "n"))
    >>> found.work, found.span
    (2*n**3, ceil_log2(n) + 1)
    >>> work_span(matmul(1024, 1024, 1024), reduction="serial", unit="mac")
    work_span(matmul(m=1024 n=1024 k=1024, bf16), reduction='serial', unit='mac')
    # work 1,073,741,824, span 1,024, parallelism 1.049e+06
    """
    lanes, word = _lanes(reduction), chosen(unit, ("flop", "mac"), "unit", "work_span")
    if isinstance(work, Program):
        if span is not None:
            raise PerfModelError(
                f"work_span: a program has its own span; span = {brief(span)} goes with a number as work"
            )
        length, path = _longest(work, lanes, word)
        if length == 0:
            raise PerfModelError(f"work_span: {work.name} does no operation, so it has no span")
        said = "".join(
            [f", reduction={reduction!r}" if lanes is not None else "", f", unit={word!r}" * (word != "flop")]
        )
        return WorkSpan(_work(work, word), length, path, f"work_span({title(work)}{said})")
    if span is None:
        raise DimensionError("work_span: span is missing: work_span(2048, 8), or a program alone")
    found = WorkSpan(_amount(work, "work"), _amount(span, "span"))
    if is_concrete(found.work) and is_concrete(found.span) and found.span > found.work:
        raise DimensionError(f"work_span: span = {span} is more than work = {work}: the span is part of the work")
    return found


def work_span_limits(times: Mapping[Any, Any]) -> WorkSpanLimits:
    """What times measured on P processors say about work and span, by processors: {4: 80, 10: 42}.

    The work law T1 <= P T_P, the span law Tinf <= T_P, and Brent's bound T_P <= (T1 - Tinf) / P + Tinf for a greedy
    scheduler (Cormen et al., multithreaded algorithms).

    >>> found = work_span_limits({4: 80, 10: 42, 64: 10})
    >>> found.work_most, found.span_most, found.work_least, found.consistent
    (320, 10, 330, False)
    """
    if not isinstance(times, Mapping) or not times:
        raise DimensionError(
            f"work_span_limits: times = {brief(times)}: expected times by processors, such as {{4: 80}}"
        )
    pairs = []
    for processors, time in times.items():
        count = size(processors, "processors")
        if not isinstance(count, int):
            raise DimensionError(f"work_span_limits: processors = {count}: expected a number")
        pairs.append((count, positive_number(time, f"work_span_limits: the time on {count} processors")))
    return WorkSpanLimits(tuple(pairs))


def _lanes(reduction: Any) -> Size | None:
    """The lanes of a reduction: one for a chain, None for a tree."""
    if isinstance(reduction, str):
        return None if chosen(reduction, ("tree", "serial"), "reduction", "work_span") == "tree" else 1
    return size(reduction, "work_span: reduction")


def _amount(value: Any, what: str) -> Any:
    if isinstance(value, float):
        return positive_number(value, f"work_span: {what}")
    return size(value, f"work_span: {what}")


def _work(program: Program, unit: str) -> Size:
    found = {name: program.flops_by_unit.get(name, 0) for name in ("matrix", "vector", "special")}
    if unit == "mac":
        found["matrix"] = program.macs
    return total(list(found.values()))


def _longest(program: Program, lanes: Size | None, unit: str) -> Chain:
    """The longest chain through the ops; where symbols leave it open, the largest of the candidates."""
    ends: dict[str, Chain] = {}
    for kernel in program.kernels:
        for op in kernel.ops:
            before: Chain = (0, ())
            for access in op.reads:
                before = _longer(before, ends.get(access.tensor.name, (0, ())))
            depth, levels = _depth(op, lanes, unit)
            step = Step(op.name, op.kind, depth, levels, kernel.repeat)
            ends[op.output.tensor.name] = total([before[0], product([depth, kernel.repeat])]), (*before[1], step)
    found: Chain = (0, ())
    for chain in ends.values():
        found = _longer(found, chain)
    return found


def _longer(one: Chain, other: Chain) -> Chain:
    """The longer of two chains; of two that cannot be told apart, the larger length and the ops of the first."""
    if one[0] == other[0]:
        return one if len(one[1]) >= len(other[1]) else other
    gap: Any = one[0] - other[0]
    if gap.is_nonnegative if not isinstance(gap, int) else gap > 0:
        return one
    if gap.is_nonpositive if not isinstance(gap, int) else gap < 0:
        return other
    return largest(one[0], other[0]), one[1]


def _depth(op: Op, lanes: Size | None, unit: str) -> tuple[Size, Size]:
    """The operations of one result of an op that stand one after another, and how many are levels of a tree."""
    if op.given is not None:
        raise PerfModelError(
            f"work_span: {op.name!r} is opaque, its graph is not known; give numbers: work_span(work, span)"
        )
    if op.kind == "map":
        function = FUNCTIONS[op.function]
        return function.flops + function.special, 0
    extents = dict(op.space)
    values = product([extents[label] for label in op.reduced])
    depth, levels = reduction_depth(values, lanes), _levels(values, lanes)
    if op.kind == "reduce":
        return total([depth, 1 if op.function == "mean" else 0]), levels
    multiplied = len(op.inputs) - 1
    fused = unit == "mac" and lanes is not None  # the first multiply is part of a lane's first multiply-add
    return total([depth, multiplied - 1 if fused else multiplied]), levels


def _levels(values: Size, lanes: Size | None) -> Size:
    return tree_depth(values if lanes is None else smallest(values, lanes))
