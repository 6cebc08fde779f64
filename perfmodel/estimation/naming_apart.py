"""Names of sizes beside the columns of an answer: a table has one column of a name."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.errors import LabelError, listed


def check_apart(verb: str, names: Iterable[str], columns: Iterable[str]) -> None:
    """That no size bears the name of a column that the answer has: one of the two would be lost.

    >>> check_apart("sweep", ["n"], ["flops"])
    >>> check_apart("sweep", ["flops", "n"], ["flops", "bytes"])
    Traceback (most recent call last):
    perfmodel.errors.LabelError: sweep: 'flops' is a size and a column of the answer, which holds one of them: ...
    """
    held = list(columns)
    both = [name for name in names if name in held]
    if both:
        raise LabelError(
            f"{verb}: {both[0]!r} is a size and a column of the answer, which holds one of them: call the size "
            f"otherwise ({both[0]}_size); columns are {listed(held)}"
        )
