"""How ops and what they read are written: ``C[m, n] = multiply-add(A[m, k], B[k, n])``."""

from __future__ import annotations

from typing import Any

from perfmodel.shown import Shown


class Written(Shown):
    """An op, whose ``repr`` says what it computes from what.

    >>> from perfmodel import matmul
    >>> matmul("m", "n", "k").ops[0]
    op matmul: C[batch, m, n] = multiply-add(A[batch, m, k], B[batch, k, n])
    # contract over batch=1 m=m n=n k=k, in bf16, accumulated in fp32
    """

    __slots__ = ()

    def __repr__(self) -> str:
        op: Any = self
        space = " ".join([f"{axis.label}={axis.extent}" for axis in op.space])
        over = f" over {space}" if space else ""
        reads = ", ".join([read(each) for each in op.inputs])
        return (
            f"op {op.name}: {read(op.output)} = {op.function}({reads})\n"
            f"# {op.kind}{over}, in {op.compute}, accumulated in {op.accumulate}"
        )


def read(item: Any) -> str:
    """A tensor with the index that finds its elements; a number or name as it is.

    >>> from perfmodel import tensor
    >>> read(tensor("x", {"i": 4}).access), read(3)
    ('x[i]', '3')
    """
    if not hasattr(item, "tensor"):
        return str(item)
    return f"{item.tensor.name}[{', '.join(map(str, item.index))}]"
