"""The kernels of a program in the order that they run, repeated sections as often as they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.graph.repeating import Repetition, runs_of

# A run takes a tenth of a millisecond or more: beyond this many, minutes.
MOST_RUNS = 2**18


@dataclass(frozen=True, slots=True)
class Looping:
    """Runs every kernel as often as the program says, over a memory of anything by name.

    ``run`` runs one kernel, ``handed`` turns an output into the input of this name in the next run. ``apart``
    has inputs that differ from run to run: one value a run.

    >>> from perfmodel import elementwise
    >>> memory = {"x": 1}
    >>> p = elementwise("x*2", 4).repeat(3, carry={"y": "x"})
    >>> Looping(p, memory, {}, lambda k: memory.update(y=memory["x"] * 2), lambda name, value: value).all()
    >>> memory
    {'x': 1, 'y': 8}
    """

    program: Program
    memory: dict[str, Any]
    apart: Mapping[str, Any]
    run: Callable[[Kernel], None]
    handed: Callable[[str, Any], Any]

    def all(self) -> None:
        """The whole program, once."""
        for kernel in self.program.kernels:
            if runs_of(kernel, self.program.loops) != kernel.repeat:
                raise PerfModelError(
                    f"simulate: {kernel.name!r} runs {kernel.repeat} times, and nothing says what one run hands to the "
                    "next; p.repeat(times, carry=...) does"
                )
        runs = sum([int(kernel.repeat) for kernel in self.program.kernels])
        if runs > MOST_RUNS:
            raise PerfModelError(
                f"simulate: {self.program.name} runs {runs} kernels one by one; at most {MOST_RUNS}: repeat fewer "
                "times (what is counted of one run is the same in each)"
            )
        self._kernels(self.program.kernels, self.program.loops, 0)

    def _kernels(self, kernels: tuple[Kernel, ...], loops: tuple[Repetition, ...], number: int) -> None:
        """Kernels in order; those of a repetition together. ``number`` counts the runs before this one."""
        place = 0
        while place < len(kernels):
            around = [at for at, loop in enumerate(loops) if loop.holds(kernels[place])]
            if not around:
                self._kernel(kernels[place], number)
                place += 1
                continue
            loop, inner = loops[around[-1]], loops[: around[-1]]
            inside = tuple([kernel for kernel in kernels[place:] if loop.holds(kernel)])
            self._loop(loop, inside, inner, number)
            place += len(inside)

    def _loop(self, loop: Repetition, kernels: tuple[Kernel, ...], inner: tuple[Repetition, ...], number: int) -> None:
        """The runs of one repetition, each with what the last handed on; what it was given is there again after."""
        given = {into: self.memory[into] for _, into in loop.carry}
        for run in range(int(loop.times)):
            if run:
                self.memory.update({into: self.handed(into, self.memory[out]) for out, into in loop.carry})
                for name in [name for kernel in kernels for name in kernel.made]:
                    self.memory.pop(name, None)
            self._kernels(kernels, inner, number * int(loop.times) + run)
        self.memory.update(given)

    def _kernel(self, kernel: Kernel, number: int) -> None:
        for name in kernel.needed:
            if name in self.apart:
                self.memory[name] = self.apart[name][number]
        self.run(kernel)
