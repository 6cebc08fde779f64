"""The exceptions of perfmodel: one small family, all of them ``ValueError``.

A message names the verb and the object, the value, the rule that it broke and, where there
is one, the line to write instead. Bad input never gives a number.
"""

from __future__ import annotations

from collections.abc import Iterable


class PerfModelError(ValueError):
    """Anything that perfmodel refuses. Every exception below is one of these.

    >>> issubclass(DimensionError, PerfModelError), issubclass(PerfModelError, ValueError)
    (True, True)
    """


class DimensionError(PerfModelError):
    """A size that is not a positive integer, too large to count exactly, or does not match.

    >>> from perfmodel import matmul
    >>> matmul(0, 4, 4)
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: m = 0: a dimension is a positive integer
    """


class FormatError(PerfModelError):
    """A number format that does not exist or cannot be.

    >>> from perfmodel import format
    >>> format("b16")
    Traceback (most recent call last):
    perfmodel.errors.FormatError: ...bf16...
    """


class LabelError(PerfModelError):
    """A label, tensor, op or symbol that a program does not have.

    >>> from perfmodel import matmul
    >>> matmul(4, 4, 4).at(x=8)
    Traceback (most recent call last):
    perfmodel.errors.LabelError: at: matmul has no symbol or label 'x'; it has m=4 n=4 k=4
    """


class ExpressionError(PerfModelError):
    """Text that is not an expression of the kind expected.

    >>> from perfmodel import matmul
    >>> matmul("n +", 4, 4)
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: m = 'n +': ...
    """


class TransformError(PerfModelError):
    """A rewrite that would change what a program computes, or cannot be done.

    >>> from perfmodel import fuse, matmul
    >>> fuse(matmul(4, 4, 4), only="softmax")
    Traceback (most recent call last):
    perfmodel.errors.TransformError: fuse: matmul has no kernel, stage or op 'softmax'...
    """


class CapacityError(PerfModelError):
    """Something that does not fit where it was told to go.

    >>> from perfmodel import causal
    >>> causal().array(2**20, 2**20)
    Traceback (most recent call last):
    perfmodel.errors.CapacityError: ...
    """


class MachineError(PerfModelError):
    """A machine that does not exist, lacks a figure, or whose file is wrong.

    >>> from perfmodel import machine
    >>> machine("h100-smx")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: ...h100-sxm...
    """


class SolveError(PerfModelError):
    """A question that has no answer of the kind asked for.

    >>> raise SolveError("solve: no batch makes this compute-bound: its intensity stays below the ridge")
    Traceback (most recent call last):
    perfmodel.errors.SolveError: solve: no batch makes this compute-bound: its intensity stays below the ridge
    """


_LONGEST_NAME = 200  # characters: what is longer is no slip of a name, and takes its time to compare


def did_you_mean(wrong: object, known: Iterable[str]) -> str:
    """A near miss as the tail of a message, or nothing; what has no text of its own is near to nothing.

    >>> did_you_mean("b16", ["bf16", "fp16", "fp32"])
    " (did you mean 'bf16'?)"
    >>> did_you_mean("zzz", ["bf16"])
    ''
    """
    from difflib import get_close_matches

    names = {str(name).lower(): name for name in known}
    try:
        text = str(wrong).lower()
    except Exception:  # an int of too many digits, or an object whose own text fails
        return ""
    if len(text) > _LONGEST_NAME:
        return ""
    close = get_close_matches(text, list(names), n=1, cutoff=0.6)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def listed(names: Iterable[object], limit: int = 24) -> str:
    """Names as they stand in a message: ``m, n, k``, cut after ``limit``.

    >>> listed(["m", "n", "k"])
    'm, n, k'
    """
    shown = [str(name) for name in names]
    tail = f", ... ({len(shown)} in all)" if len(shown) > limit else ""
    return (", ".join(shown[:limit]) + tail) or "none"


def brief(value: object, most: int = 80) -> str:
    """A value as it stands in a message, cut: an int of many digits cannot even be printed, nor may an object be.

    >>> brief("n"), brief(10**400)
    ("'n'", '2^1328 or more')
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} or more"
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python prints
        return f"a long {type(value).__name__}"
    except Exception:  # an object whose own text fails
        return f"<{type(value).__name__}>"
    text = " ".join(text.split()) if "\n" in text else text  # a table stands in one line
    return text if len(text) <= most else text[:most] + "..."
