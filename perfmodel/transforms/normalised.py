"""Softmax and log-sum-exp, found as the descriptors compose them, because they carry a derivative of their own.

With t = x - max x, w = exp t, l = sum w over some labels: P = w / l and L = max x + log l do not depend on the
maximum that is taken off (exp(x - c) / sum exp(x - c) is the same for every c), so nothing flows through it, and

    dx = P * (dP - rowsum(P * dP) + dL).

A group is found where all of it is this and nothing else: if w, l or the maximum is also used in another way, or is
an output itself, the ops are differentiated one by one, the maximum too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perfmodel.graph.nodes import Access, Op


@dataclass(frozen=True, slots=True)
class Normalised:
    """One softmax, log-sum-exp or both: where x is read, over which labels, and the ops of it.

    >>> from perfmodel import attention
    >>> group, = normalised(attention(4, 4, 8, lse=True).ops, ["O", "L"])
    >>> group.scores.tensor.name, group.labels, group.share.output.tensor.name, group.log.output.tensor.name
    ('S', ('kv',), 'P', 'L')
    """

    scores: Access
    reader: Op
    labels: tuple[str, ...]
    inner: frozenset[str]
    share: Op | None
    log: Op | None

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the tensors that it makes for others."""
        return tuple([op.output.tensor.name for op in (self.share, self.log) if op is not None])

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors that its ops make."""
        return self.inner | frozenset(self.results)


def normalised(ops: Sequence[Op], returned: Collection[str]) -> list[Normalised]:
    """The groups of a program.

    >>> from perfmodel import softmax
    >>> len(normalised(softmax(4, 8).ops, ["y"])), len(normalised(softmax(4, 8).ops, ["y", "exp"]))
    (1, 0)
    """
    makers = {op.output.tensor.name: op for op in ops}
    users: dict[str, list[Op]] = {}
    for op in ops:
        for name in dict.fromkeys([access.tensor.name for access in op.reads]):
            users.setdefault(name, []).append(op)
    found = [_group(op, makers, users, returned) for op in ops if op.function == "exp" and op.kind == "map"]
    return [group for group in found if group is not None]


def _group(
    weights: Op, makers: Mapping[str, Op], users: Mapping[str, list[Op]], returned: Collection[str]
) -> Normalised | None:
    """The group around an exp, if it is one."""
    total = next((op for op in _users(weights, users) if op.kind == "reduce" and op.function == "sum"), None)
    if total is None or not all(_plain(op) for op in (weights, total)):
        return None
    shift = makers.get(weights.reads[0].tensor.name)
    top = _maximum(shift, total, makers) if shift is not None else None
    shift = shift if top is not None else None
    share = _only("div", weights, total, users)
    log, inside = _log(total, top, users)
    inner = [op for op in (top, shift, weights, total, *inside) if op is not None]
    members = [*inner, *[op for op in (share, log) if op is not None]]
    if share is None and log is None:
        return None
    known = {op.output.tensor.name for op in members}
    closed = all(user.output.tensor.name in known for op in inner for user in _users(op, users))
    if not closed or any(op.output.tensor.name in returned for op in inner) or not all(map(_plain, members)):
        return None
    reader = shift or weights
    return Normalised(
        reader.reads[0], reader, total.reduced, frozenset(op.output.tensor.name for op in inner), share, log
    )


def _users(op: Op, users: Mapping[str, list[Op]]) -> list[Op]:
    return users.get(op.output.tensor.name, [])


def _plain(op: Op) -> bool:
    """Whether an op reads what it reads under the labels that made it: no window, no other name, no broadcast."""
    return all(access.index == access.tensor.labels for access in op.reads)


def _maximum(shift: Op, total: Op, makers: Mapping[str, Op]) -> Op | None:
    """The op whose result ``shift`` takes off, if it is the maximum of the same tensor over the labels of ``total``."""
    if shift.function != "sub" or len(shift.reads) != 2:
        return None
    x, taken = shift.reads
    top = makers.get(taken.tensor.name)
    if top is None or top.kind != "reduce" or top.function != "max" or top.reads[0].tensor.name != x.tensor.name:
        return None
    return top if set(top.reduced) == set(total.reduced) and top.mask == total.mask else None


def _only(function: str, first: Op, second: Op, users: Mapping[str, list[Op]]) -> Op | None:
    """The op that applies a function to these two results, in this order."""
    wanted = [first.output.tensor.name, second.output.tensor.name]
    for op in _users(second, users):
        if op.function == function and [access.tensor.name for access in op.reads] == wanted:
            return op
    return None


def _log(total: Op, top: Op | None, users: Mapping[str, list[Op]]) -> tuple[Op | None, list[Op]]:
    """The op that completes the log-sum-exp, and what lies between it and the sum."""
    log = next((op for op in _users(total, users) if op.function == "log"), None)
    if log is None or top is None:
        return log, []
    for op in _users(log, users):
        names = {access.tensor.name for access in op.reads}
        if op.function == "add" and names == {log.output.tensor.name, top.output.tensor.name}:
            return op, [log]
    return None, []
