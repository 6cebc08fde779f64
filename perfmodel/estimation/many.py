"""A program at many sizes: the effects computed on arrays, the tile chosen for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.effects.roofline import roofline
from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.stack import Parts, Setting, kernel_parts
from perfmodel.effects.tiles import Tile
from perfmodel.estimation.kernels import LAUNCH, NEARLY_ONE
from perfmodel.graph.programs import Program
from perfmodel.showing import Text, quantity
from perfmodel.shown import Explained

BOUNDS = ("compute", "memory", LAUNCH)


@dataclass(frozen=True)
class ManyKernels:
    """One kernel at many sizes: its shape in arrays, its tile at each, how often it runs.

    >>> from perfmodel import estimate_many, matmul
    >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0].repeat
    1.0
    """

    shape: KernelShape
    setting: Setting | None
    tile: Tile | None
    repeat: Any
    plain: Parts | None = None  # where there are no effects, or the machine has none: the roofline, padded

    @cached_property
    def parts(self) -> Parts:
        """The seconds of one run at each size, part by part, with all effects of the setting.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0].parts.memory_s.shape
        (2,)
        """
        if self.plain is not None:
            return self.plain
        return kernel_parts(self.shape, self.tile, self.setting) if self.setting else Parts(0.0, 0.0, 0.0, 0.0, 0.0)

    def seconds(self, on: frozenset[str] | None = None) -> Any:
        """Seconds of all runs at each size, with some effects (all of the setting's where None).

        >>> from perfmodel import estimate_many, matmul
        >>> kernel = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0]
        >>> bool((kernel.seconds(frozenset(["roofline"])) < kernel.seconds()).all())
        True
        """
        if on is None or self.setting is None:
            found = self.parts
        else:
            found = kernel_parts(self.shape, self.tile, replace(self.setting, on=on))
        return found.time_s if isinstance(self.repeat, float) and self.repeat == 1 else found.time_s * self.repeat

    @property
    def bound(self) -> Any:
        """What bounds the kernel at each size: 0 compute, 1 memory, 2 launch, as ``KernelEstimate.bound`` has it.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).kernels[0].bound
        array([2, 0])
        """
        import numpy

        parts = self.parts
        over = parts.launch_s + parts.split_s > numpy.maximum(parts.compute_s, parts.memory_s)
        return numpy.where(over, 2, numpy.where(parts.memory_s * NEARLY_ONE > parts.compute_s, 1, 0))


@dataclass(frozen=True, eq=False)
class Estimates(Explained):
    """A program's times at many sizes: ``time_s`` is an array, and ``steps`` the seconds after each effect.

    >>> from perfmodel import estimate_many, matmul
    >>> found = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128, 8192]})
    >>> found.time_s.shape, found.steps[0][0], bool((found.time_s >= found.ideal_time_s).all())
    ((3,), 'roofline', True)
    """

    program: Program
    machine: Machine
    kernels: tuple[ManyKernels, ...]
    effects: tuple[str, ...]
    count: int

    @cached_property
    def time_s(self) -> Any:
        """Seconds at each size, all effects included.

        >>> from perfmodel import estimate, estimate_many, matmul
        >>> many = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]})
        >>> bool(many.time_s[1] == estimate(matmul(128, 4096, 4096), "h100-sxm").time_s)
        True
        """
        return reduce(add, [kernel.seconds() for kernel in self.kernels])

    @cached_property
    def steps(self) -> tuple[tuple[str, Any], ...]:
        """The effects in order, with the seconds after each, at each size (at the tile that all of them chose).

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}, "ideal").steps[-1][0]
        'roofline'
        """
        found = []
        for place, name in enumerate(self.effects):
            on = frozenset(self.effects[: place + 1])
            found.append((name, reduce(add, [kernel.seconds(on) for kernel in self.kernels])))
        return tuple(found)

    @property
    def ideal_time_s(self) -> Any:
        """Seconds at each size by the roofline alone.

        >>> from perfmodel import estimate_many, matmul
        >>> [f"{t * 1e6:.1f}" for t in estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [4096]}).ideal_time_s]
        ['138.9']
        """
        return self.steps[0][1]

    @property
    def bound(self) -> Any:
        """One of "compute", "memory" and "launch" at each size, by the largest share of the time.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).bound.tolist()
        ['launch', 'compute']
        """
        import numpy

        return numpy.array(BOUNDS, dtype=object)[self.bound_codes]

    @property
    def bound_codes(self) -> Any:
        """The bound at each size as its place in ``BOUNDS``.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).bound_codes
        array([2, 0], dtype=int8)
        """
        import numpy

        pairs = [(numpy.broadcast_to(kernel.bound, (self.count,)), kernel.seconds()) for kernel in self.kernels]
        shares = [sum([numpy.where(bound == place, spent, 0.0) for bound, spent in pairs]) for place in range(3)]
        least = numpy.maximum(numpy.maximum(shares[0], shares[1]), shares[2]) * NEARLY_ONE
        return numpy.where(shares[0] >= least, 0, numpy.where(shares[1] >= least, 1, 2)).astype("int8")

    @property
    def tiles(self) -> Tile | None:
        """The tile of the first contraction at each size; None for a program without one.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [4096]}).tiles.m
        array([256.])
        """
        return next((kernel.tile for kernel in self.kernels if kernel.tile is not None), None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The works of which no rate is known: the times are at least those given.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 64, 64, dtype="nvfp4"), "a100-sxm-80gb", {"m": [1]}).unknown
        ('matrix nvfp4: a100-sxm-80gb lists no such rate',)
        """
        found = [each for item in self.program.counted for each in roofline(item, self.machine).unknown]
        return tuple(dict.fromkeys(found))

    def explain(self) -> Text:
        """The range of the times, what bounds them, and the seconds that each effect adds.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}, "ideal").explain()
        estimate_many(matmul, 'h100-sxm'): 2 sizes
          time      7.331 ns to 1.111 ms
          bound     compute at 1, memory at 1, launch at 0
          roofline  7.331 ns to 1.111 ms
        """
        codes = self.bound_codes.tolist()
        bounds = ", ".join([f"{name} at {codes.count(place)}" for place, name in enumerate(BOUNDS)])
        steps = [(name, _range(seconds)) for name, seconds in self.steps]
        rows = [("time", _range(self.time_s)), ("bound", bounds), *steps]
        width = max([len(name) for name, _ in rows])
        return Text("\n".join([repr(self), *[f"  {name:{width}}  {said}" for name, said in rows]]))

    def to_dict(self) -> dict[str, Any]:
        """The times, bounds and steps as plain data, a list each.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).to_dict()["bound"]
        ['launch', 'compute']
        """
        return {
            "program": self.program.name,
            "machine": self.machine.name,
            "count": self.count,
            "time_s": self._listed(self.time_s),
            "bound": self.bound.tolist(),
            "steps": [[name, self._listed(seconds)] for name, seconds in self.steps],
            "effects": list(self.effects),
            "unknown": list(self.unknown),
        }

    def _listed(self, seconds: Any) -> list[float]:
        import numpy

        found: list[float] = numpy.broadcast_to(seconds, (self.count,)).tolist()
        return found

    def __eq__(self, other: object) -> bool:
        import numpy

        if not isinstance(other, Estimates):
            return NotImplemented
        same = (self.program, self.machine, self.effects, self.count)
        if same != (other.program, other.machine, other.effects, other.count):
            return False
        pairs = zip(self.steps, other.steps, strict=True)
        return all(numpy.array_equal(one, two, equal_nan=True) for (_, one), (_, two) in pairs)

    def __hash__(self) -> int:
        return hash((self.program, self.machine, self.effects, self.count))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"estimate_many({self.program.name}, {self.machine.name!r}): {self.count} sizes"


def _range(seconds: Any) -> str:
    import numpy

    least, most = [quantity(float(found(seconds)), "s") for found in (numpy.min, numpy.max)]
    return least if least == most else f"{least} to {most}"
