"""Recomputing: dropping a stored tensor and making it again where it is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.graph.arguments import names_given
from perfmodel.graph.indexing import FreshNames
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.programs import Program
from perfmodel.transforms.repeating import Repeats, reading, shift_of, without_dead_ops
from perfmodel.transforms.selecting import checked_program


def recompute(
    program: Program,
    *tensors: str,
    keep: str | Iterable[str] = (),
    segment: int | str | Iterable[str] | None = None,
) -> Program:
    """The program with stored tensors dropped, and made again in the kernels that need them.

    ``tensors`` are values that pass from one kernel to another; of one that is saved for a later section (see
    ``grad``) the kernels of that section make it again. Without names all that are saved are dropped, those of
    ``keep`` excepted. What makes a tensor is repeated back to what there is anyway: inputs, outputs, what a later
    section still reads, and ``keep``; a softmax whose log-sum-exp L is there comes as exp(x - L). Each kernel repeats
    what it needs (fuse first, and it is done once).

    ``segment=k`` checkpoints: the forward section keeps every k-th of the values through which alone it passes
    (those named, with names) and its outputs, and the rest is made again a segment at a time, by kernels of their own
    before the first that needs it. (``fuse`` may merge them with that one.) Repeated layers are one
    segment each already: ``recompute(grad(layer)).repeat(80, ...)``.

    FLOPs are added. Bytes are saved where the inputs of what is repeated are read there anyway, and may be added
    where they are not; so may live bytes, where what is kept instead is larger.

    >>> from perfmodel import elementwise, fuse, grad
    >>> p = fuse(grad(elementwise("sigmoid(sigmoid(sigmoid(x)))", "n")))
    >>> q = recompute(p)  # x read and y written, then dy and x read and dx written
    >>> q.elements_read + q.elements_written, q.flops_by_unit["special"] - p.flops_by_unit["special"]
    (5*n, 3*n)
    """
    checked_program(program, "recompute")
    kept = _checked(program, names_given(keep, "recompute: keep="), "keep=")
    said = [repr(name) for name in tensors] + [f"keep={keep!r}"] * bool(kept)
    said += [f"segment={segment!r}"] * (segment is not None)
    if segment is not None:
        if tensors:
            raise TransformError(f"recompute: segment={segment!r} says what is kept; name no tensors besides")
        kept = (*kept, *program.returned, *_boundaries(program, segment))
    stored = _Stored.of(program)
    dropped = frozenset(_dropped(program, tensors, stored) - set(kept))
    if not dropped and segment is None:
        raise TransformError(f"recompute: nothing of {program.name} is left to drop: {listed(kept)} are kept")
    task = _Task(program, stored, dropped, frozenset(kept))
    kernels = task.by_kernel() if segment is None else task.by_segment()
    return program.rewritten(without_dead_ops(kernels, program.returned), f"recompute({', '.join(said)})")


def _checked(program: Program, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Names of tensors that the program makes."""
    made = [op.output.tensor.name for op in program.ops]
    for name in names:
        if name not in made:
            role = "is an input" if name in program.tensors else "is no tensor"
            raise LabelError(f"recompute: {what}{name!r} {role} of {program.name}; it makes {listed(made)}"
                             f"{did_you_mean(str(name), made)}")  # fmt: skip
    return names


@dataclass(frozen=True)
class _Stored:
    """Which tensors pass from kernel to kernel: their makers, and the kernels that would make them again."""

    maker: Mapping[str, Kernel]
    readers: Mapping[str, tuple[Kernel, ...]]
    saved: frozenset[str]

    @classmethod
    def of(cls, program: Program) -> _Stored:
        maker = {name: kernel for kernel in program.kernels for name in kernel.made}
        found: dict[str, list[Kernel]] = {}
        for kernel in program.kernels:
            for name in kernel.needed:
                if name in maker:
                    found.setdefault(name, []).append(kernel)
        later = {
            name: [kernel for kernel in kernels if kernel.section > maker[name].section]
            for name, kernels in found.items()
        }
        readers = {name: tuple(later[name] or kernels) for name, kernels in found.items()}
        return cls(maker, readers, frozenset([name for name, kernels in later.items() if kernels]))


def _dropped(program: Program, names: tuple[str, ...], stored: _Stored) -> set[str]:
    """The tensors that are asked for, each stored between kernels, or all that are saved."""
    for name in _checked(program, names_given(names, "recompute: "), ""):
        if name not in stored.readers:
            raise TransformError(
                f"recompute: {name!r} stays inside kernel {stored.maker[name].name!r} or only leaves the program: "
                f"nothing reads it back; {listed(stored.readers)} pass from kernel to kernel"
            )
    if not names and not stored.saved:
        raise TransformError(
            f"recompute: {program.name} saves nothing for a later section; name tensors ({listed(stored.readers)}), or "
            "take the gradient first"
        )
    return set(names or stored.saved)


@dataclass(frozen=True)
class _Task:
    """A program, what is dropped of it, and what is kept."""

    program: Program
    stored: _Stored
    dropped: frozenset[str]
    kept: frozenset[str]

    @property
    def at_hand(self) -> set[str]:
        """What is stored whatever is dropped: outputs, and what a later section reads."""
        return ({*self.program.returned, *self.stored.saved} - self.dropped) | self.kept

    def missed(self, kernel: Kernel) -> list[str]:
        """What a kernel reads of what is dropped."""
        names = [name for name in kernel.needed if name in self.dropped]
        return [name for name in names if any(kernel is reader for reader in self.stored.readers[name])]

    def by_kernel(self) -> list[Kernel]:
        """Each kernel that reads what is dropped makes it again itself."""
        repeats = Repeats(self.program)
        before: set[str] = set()
        found = []
        for kernel in self.program.kernels:
            found.append(self._with_repeats(kernel, repeats, before))
            before.update(kernel.made)
        return found

    def _with_repeats(self, kernel: Kernel, repeats: Repeats, before: set[str]) -> Kernel:
        missed = self.missed(kernel)
        if not missed:
            return kernel
        if kernel.tiles:
            raise TransformError(f"recompute: kernel {kernel.name!r} is tiled; recompute first, then tile")
        read = set(kernel.needed) - self.dropped
        copies = repeats.again(missed, (self.at_hand | read) & before)
        self._check_repeats(kernel, [name for name, _ in copies])
        made = {name: op.output.tensor for name, op in copies}
        ops = [*[op for _, op in copies], *[reading(op, made) for op in kernel.ops]]
        return replace(kernel, ops=tuple(ops))

    def _check_repeats(self, kernel: Kernel, names: Sequence[str]) -> None:
        for maker in [self.stored.maker[name] for name in names if name in self.stored.maker]:
            if maker.repeat != kernel.repeat:
                raise TransformError(
                    f"recompute: {maker.name!r} runs {maker.repeat} times and {kernel.name!r}, which needs it again, "
                    f"{kernel.repeat} times"
                )

    def by_segment(self) -> list[Kernel]:
        """Kernels of their own make again, a segment at a time, what the later ones read."""
        repeats = Repeats(self.program)
        names = FreshNames([kernel.name for kernel in self.program.kernels])
        kernels = list(self.program.kernels)
        for inside in self._segments():
            users = [place for place, kernel in enumerate(kernels) if inside & set(self._missed_in(kernel))]
            if not users:
                continue
            missed = {name for place in users for name in self._missed_in(kernels[place]) if name in inside}
            copies = repeats.again(missed, self.at_hand)
            first = kernels[users[0]]
            self._check_repeats(first, [name for name, _ in copies])
            made = {name: op.output.tensor for name, op in copies}
            for place in users:
                changed = [reading(op, made) for op in kernels[place].ops]
                kernels[place] = replace(kernels[place], ops=tuple(changed))
            kernels[users[0] : users[0]] = self._replayed(dict(copies), first.section, names)
        return kernels

    def _missed_in(self, kernel: Kernel) -> list[str]:
        """The same by position: kernels have changed since."""
        later = [name for name in kernel.needed if name in self.dropped]
        return [name for name in later if kernel.section > self.stored.maker[name].section]

    def _segments(self) -> list[set[str]]:
        """The values of each segment of what runs before: those up to and with a kept one."""
        found: list[set[str]] = [set()]
        for op in _forward(self.program):
            found[-1].add(op.output.tensor.name)
            if op.output.tensor.name in self.kept:
                found.append(set())
        return found

    def _replayed(self, copies: Mapping[str, Op], section: int, names: FreshNames) -> list[Kernel]:
        """The copies in kernels as the forward ones are cut."""
        found = []
        for kernel in self.program.kernels:
            names_here = [name for made in kernel.made for name in (shift_of(made), made)]
            ops = tuple([copies[name] for name in names_here if name in copies])
            if ops:
                found.append(Kernel(names.fresh(f"{kernel.name}_again"), ops, kernel.repeat, section))
        return found


def _forward(program: Program) -> list[Op]:
    """The ops before the last section."""
    last = max(kernel.section for kernel in program.kernels)
    return [op for kernel in program.kernels if kernel.section < last for op in kernel.ops]


def _boundaries(program: Program, segment: int | str | Iterable[str]) -> tuple[str, ...]:
    """The values that checkpoints keep."""
    if not isinstance(segment, int):
        return _checked(program, names_given(segment, "recompute: segment="), "segment=")
    if isinstance(segment, bool) or segment < 1:
        raise TransformError(f"recompute: segment={segment!r}; a segment is one layer or more, or names what is kept")
    return tuple(_bottlenecks(_forward(program))[segment - 1 :: segment])


def _bottlenecks(ops: Collection[Op]) -> list[str]:
    """The values through which alone the ops pass: at some place nothing else that was made is still needed."""
    last = {access.tensor.name: place for place, op in enumerate(ops) for access in op.reads}
    alive: list[str] = []
    found: dict[str, None] = {}
    for place, op in enumerate(ops):
        alive = [name for name in [*alive, op.output.tensor.name] if last.get(name, -1) > place]
        if len(alive) == 1:
            found[alive[0]] = None
    return list(found)
