"""The arrays of a contraction as sets of labels, and the programs for which the argument by labels fails."""

from __future__ import annotations

from perfmodel.errors import TransformError, listed
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Access, Op
from perfmodel.graph.programs import Program
from perfmodel.transforms.selecting import checked_program

MOST_ARRAYS = 8  # the corners of the linear program are listed: 12,870 for 8 arrays and 8 labels


def contraction_of(program: Program) -> Op:
    """The one contraction of a program, each of whose arrays is indexed by labels alone.

    Raises ``TransformError`` with the reason where the bound would not hold.

    >>> from perfmodel import matmul
    >>> contraction_of(matmul(4, 4, 4)).name
    'matmul'
    """
    checked_program(program, "io_lower_bound")
    if len(program.ops) != 1:
        raise TransformError(f"io_lower_bound: {_several(program)}")
    op = program.ops[0]
    reason = _reason(op) or _repeated(op) or next((text for a in arrays(op) if (text := _access_reason(a))), "")
    if program.kernels[0].repeat != 1:
        reason = "it is repeated, and what stays in fast memory from one run to the next is not bounded"
    if reason:
        raise TransformError(f"io_lower_bound: {program.name}: {reason}")
    return op


def arrays(op: Op) -> tuple[Access, ...]:
    """What a contraction reads, and last what it writes.

    >>> from perfmodel import matmul
    >>> [access.tensor.name for access in arrays(matmul(4, 4, 4).ops[0])]
    ['A', 'B', 'C']
    """
    return (*op.reads, op.output)


def projections(op: Op) -> tuple[frozenset[str], ...]:
    """The labels of each array, without those of extent 1, which hold no choice.

    >>> from perfmodel import matmul
    >>> [sorted(labels) for labels in projections(matmul(4, 4, 4).ops[0])]
    [['k', 'm'], ['k', 'n'], ['m', 'n']]
    """
    long = {axis.label for axis in op.space if axis.extent != 1}
    return tuple([frozenset(long.intersection(access.tensor.labels)) for access in arrays(op)])


def _several(program: Program) -> str:
    made = listed([op.name for op in program.ops], limit=6)
    known = "; pm.known_io_orders()['attention'] has the order known for it" if "attention" in program.name else ""
    return (
        f"{program.name} has {len(program.ops)} ops ({made}). Bounds of ops that run together do not add: what one "
        f"hands to the next need not move. Ask for one contraction at a time{known}"
    )


def _reason(op: Op) -> str:
    """Why an op's points cannot be counted so."""
    if op.kind != "contract":
        return (
            f"{op.name!r} is no contraction ({op.kind}): it must move what it reads and writes once, which is "
            "p.elements_read and p.elements_written"
        )
    if op.mask is not None:
        return f"{op.name!r} is masked, and which elements its pairs touch at least is not derived"
    if len(arrays(op)) > MOST_ARRAYS:
        return f"{op.name!r} has {len(arrays(op))} arrays; the exponents are found for {MOST_ARRAYS} at most"
    return ""


def _repeated(op: Op) -> str:
    """Two arrays of one name share their elements in fast memory, so that their sizes do not add."""
    names = [access.tensor.name for access in arrays(op)]
    twice = [name for name in names if names.count(name) > 1]
    return f"{twice[0]!r} is read twice: an element held once serves both, so the label argument fails" if twice else ""


def _access_reason(access: Access) -> str:
    name = access.tensor.name
    for index in access.index:
        if isinstance(index, Gathered):
            return f"{name!r} is gathered by {index}: which elements are read depends on data"
        if not isinstance(index, str):
            return f"{name!r} is read through {index}: neighbouring points share elements, so the label argument fails"
    if len(set(access.index)) < len(access.index):
        return f"{name!r} is read along a diagonal ({listed(access.index)}): only part of it is touched"
    return ""
