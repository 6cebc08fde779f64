"""Sections of a program that run many times over, and what one run hands to the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from perfmodel.expressions import Size, product
from perfmodel.graph.kernels import Kernel


@dataclass(frozen=True, slots=True)
class Repetition:
    """The sections ``first`` to ``last``, run ``times`` over; ``carry`` pairs an output with the input it becomes.

    A program lists its repetitions from the inside out: one that repeats others stands after them.

    >>> Repetition(3, (("y", "x"),)).carry
    (('y', 'x'),)
    """

    times: Size
    carry: tuple[tuple[str, str], ...] = ()
    first: int = 0
    last: int = 0

    def holds(self, kernel: Kernel) -> bool:
        """Whether a kernel stands in one of its sections.

        >>> Repetition(3).holds(Kernel("empty", (), section=1))
        False
        """
        return self.first <= kernel.section <= self.last

    def resized(self, change: Callable[[Size], Size]) -> Repetition:
        """The repetition with its number of runs changed (bound to a value, say).

        >>> Repetition(3).resized(lambda times: 2 * times).times
        6
        """
        return replace(self, times=change(self.times))

    def moved(self, tensors: Mapping[str, str], after: int) -> Repetition:
        """The repetition with tensors renamed, so many sections further on.

        >>> Repetition(3, (("y", "x"),)).moved({"y": "y_2"}, 1)
        Repetition(times=3, carry=(('y_2', 'x'),), first=1, last=1)
        """
        carry = tuple([(tensors.get(out, out), tensors.get(into, into)) for out, into in self.carry])
        return replace(self, carry=carry, first=self.first + after, last=self.last + after)


def repeated(kernels: tuple[Kernel, ...], times: Size, carry: Mapping[str, str]) -> tuple[Repetition, ...]:
    """The repetition of all these kernels; once is none.

    >>> repeated((Kernel("empty", ()),), 3, {}), repeated((), 1, {})
    ((Repetition(times=3, carry=(), first=0, last=0),), ())
    """
    sections = [kernel.section for kernel in kernels]
    return () if times == 1 else (Repetition(times, tuple(carry.items()), min(sections), max(sections)),)


def runs_of(kernel: Kernel, loops: tuple[Repetition, ...]) -> Size:
    """How often the repetitions around a kernel run it.

    >>> runs_of(Kernel("empty", ()), (Repetition(2), Repetition(3)))
    6
    """
    return product([loop.times for loop in loops if loop.holds(kernel)])


def carried(loops: tuple[Repetition, ...]) -> list[tuple[str, str]]:
    """Every output that some run hands on, with the input that it becomes.

    >>> carried((Repetition(3, (("y", "x"),)), Repetition(2)))
    [('y', 'x')]
    """
    return [pair for loop in loops for pair in loop.carry]


def passed_on(carried: Mapping[str, str], saved: Collection[str]) -> list[str]:
    """Names of one tensor for all runs: both ends of what is carried on, save the one that each run keeps.

    >>> passed_on({"y": "x", "dx": "dy"}, ["x", "y"])
    ['y', 'dx', 'dy']
    """
    pairs = [(out,) if into in saved else (into,) if out in saved else (out, into) for out, into in carried.items()]
    return [name for pair in pairs for name in pair]
