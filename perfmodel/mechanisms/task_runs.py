"""Tasks that wait for each other, on processors that are never idle while one is ready: a greedy schedule, run."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.errors import LabelError, brief
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.timelines import Span, Timeline, checked


def run_tasks(lengths: Sequence[Any], needs: Mapping[int, Sequence[int]], processors: int) -> Timeline:
    """Tasks of given lengths, each after those that it needs, on so many processors; the first that is ready goes.

    >>> run_tasks([1, 1, 1, 2], {3: [0, 1]}, processors=2).makespan
    3
    """
    times = checked(lengths)
    waiting = {task: set(needs.get(task, ())) for task in range(len(times))}
    _check(needs, len(times))
    ready = [task for task, before in waiting.items() if not before]
    free, running = list(range(whole(processors, "processors", "run"))), list[tuple[Any, int, int]]()
    spans: list[Span] = []
    now: Any = 0
    while ready or running:
        while ready and free:
            task, slot = heapq.heappop(ready), heapq.heappop(free)
            spans.append(Span(task, slot, now, now + times[task]))
            heapq.heappush(running, (now + times[task], task, slot))
        now = running[0][0]
        while running and running[0][0] == now:
            _, done, slot = heapq.heappop(running)
            heapq.heappush(free, slot)
            for task in [task for task, before in waiting.items() if done in before]:
                waiting[task].discard(done)
                if not waiting[task]:
                    heapq.heappush(ready, task)
    if len(spans) < len(times):
        raise LabelError("run: some tasks wait for each other in a circle")
    return Timeline(processors, tuple(spans))


def longest_chain(lengths: Sequence[Any], needs: Mapping[int, Sequence[int]]) -> Any:
    """The span: the longest chain of tasks, each needing the one before; tasks need only earlier ones.

    >>> longest_chain([1, 1, 1, 2], {3: [0, 1]})
    3
    """
    _check(needs, len(lengths))
    ends: list[Any] = []
    for task, length in enumerate(lengths):
        before = needs.get(task, ())
        if any(other >= task for other in before):
            raise LabelError(f"run: task {task} needs {max(before)}; tasks need only earlier ones here")
        ends.append(length + max([ends[other] for other in before], default=0))
    return max(ends)


def _check(needs: Mapping[int, Sequence[int]], tasks: int) -> None:
    for task, before in needs.items():
        for other in (task, *before):
            if not 0 <= other < tasks:
                raise LabelError(f"run: there is no task {brief(other)}; they are 0 to {tasks - 1}")
