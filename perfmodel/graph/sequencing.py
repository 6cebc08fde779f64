"""Programs one after another, with outputs of the first joined to inputs of the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perfmodel.errors import DimensionError, FormatError, LabelError, did_you_mean, listed
from perfmodel.graph.indexing import fresh
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import with_names
from perfmodel.graph.repeating import Repetition, carried
from perfmodel.graph.resizing import valid_axes, valid_shape


def sequence(*programs: Program, join: Mapping[str, str] | None = None, name: str | None = None) -> Program:
    """Programs run in order as one. ``join`` maps an output of an earlier one to an input of a later one.

    Joined axes take the earlier program's labels; other labels, tensors, ops and stages of the later one that
    would clash get names of their own (``n_2``, ``W_2``). Without ``join`` the programs share nothing.

    >>> from perfmodel import matmul, elementwise
    >>> p = sequence(matmul("m", "n", "k"), matmul("m", "h", "n"), join={"C": "A"})
    >>> p.labels
    {'batch': 1, 'm': m, 'n': n, 'k': k, 'n_2': h}
    """
    if not programs:
        raise LabelError("sequence: expected at least one program")
    for item in programs:
        if not isinstance(item, Program):
            raise LabelError(f"sequence: expected programs, got {item!r}")
    waiting = _checked_join(join or {})
    line = _Line()
    for item in programs:
        inputs = [tensor.name for tensor in item.inputs]
        joined = {out: into for out, into in waiting.items() if out in line.returned and into in inputs}
        for out in joined:
            del waiting[out]
        line.add(item, joined)
    for out, into in waiting.items():
        raise _no_join(programs, out, into)
    title = name or "_".join(item.name for item in programs)
    return Program(title, tuple(line.kernels), tuple(line.returned), tuple(line.shared), tuple(line.loops))


def _no_join(programs: Sequence[Program], out: str, into: str) -> LabelError:
    """The error for a join that no two programs have."""
    made = [name for item in programs[:-1] for name in item.returned]
    needed = [tensor.name for item in programs[1:] for tensor in item.inputs]
    what, wrong, known = ("earlier output", out, made) if out not in made else ("later input", into, needed)
    return LabelError(
        f"sequence: join {out!r} -> {into!r}: no {what} {wrong!r} is left to join; {what}s are {listed(known)}"
        f"{did_you_mean(str(wrong), [name for name in known if name != wrong])}"
    )


def _checked_join(join: Mapping[str, str]) -> dict[str, str]:
    """The outputs and inputs to join, each input once."""
    if not isinstance(join, Mapping):
        raise LabelError(f"sequence: join maps an output to an input, such as {{'C': 'x'}}; got {join!r}")
    sources: dict[str, str] = {}
    for out, into in join.items():
        if not (isinstance(out, str) and isinstance(into, str)):
            raise LabelError(f"sequence: join maps names to names, such as {{'C': 'x'}}; got {out!r}: {into!r}")
        if sources.setdefault(into, out) != out:
            raise LabelError(f"sequence: join gives input {into!r} both {sources[into]!r} and {out!r}")
    return dict(join)


class _Line:
    """The programs put in a row so far: their kernels and outputs, and the names that are taken."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.returned: dict[str, Tensor] = {}
        self.shared: dict[str, None] = {}
        self.loops: list[Repetition] = []
        self.labels: set[str] = set()
        self.tensors: set[str] = set()
        self.ops: set[str] = set()
        self.stages: set[str] = set()
        self.titles: set[str] = set()

    def add(self, later: Program, join: Mapping[str, str]) -> None:
        """One more program, with some of its inputs results of earlier ones."""
        replaced = {into: self.returned[out] for out, into in join.items()}
        self._check_padding(later, replaced)
        own = [*later.labels, *[label for item in later.tensors.values() for label in item.labels]]
        labels = _fresh_names(own, self.labels, _joined_labels(later, replaced))
        tensors = _fresh_names(later.tensors, self.tensors, {into: out for out, into in join.items()})
        ops = _fresh_names([op.name for op in later.ops], self.ops)
        stages = {"": "", **_fresh_names([op.stage for op in later.ops if op.stage], self.stages)}
        titles = _fresh_names([kernel.name for kernel in later.kernels], self.titles)
        after = self._next_section(later)
        for kernel in later.kernels:
            found = [with_names(op, labels, tensors, replaced, ops[op.name], stages[op.stage]) for op in kernel.ops]
            tiles = tuple([tiling.renamed(labels, tensors) for tiling in kernel.tiles])
            section = kernel.section + after
            online = tuple([labels.get(label, label) for label in kernel.online])
            self.kernels.append(Kernel(titles[kernel.name], tuple(found), kernel.repeat, section, tiles, online))
        self.loops += [loop.moved(tensors, after) for loop in later.loops]
        made = {op.output.tensor.name: op.output.tensor for kernel in self.kernels[-len(later.kernels) :]
                for op in kernel.ops}  # fmt: skip
        for out in join:
            del self.returned[out]
        self.returned.update({tensors[name]: made[tensors[name]] for name in later.returned})
        self.shared.update(dict.fromkeys([tensors[name] for name in later.shared]))

    def _check_padding(self, later: Program, replaced: Mapping[str, Tensor]) -> None:
        """What is joined is padded alike: its values end where the later program takes them to."""
        before = valid_axes(tuple(self.kernels), carried(tuple(self.loops)))
        after = valid_axes(later.kernels, carried(later.loops))
        for item in [item for item in later.inputs if item.name in replaced]:
            made = replaced[item.name]
            if made.extents == item.extents and valid_shape(made, before) != valid_shape(item, after):
                raise DimensionError(
                    f"sequence: {made.name!r} and {item.name!r} are padded differently; join first, then pad"
                )

    def _next_section(self, later: Program) -> int:
        """What to add to sections: programs that run once share one, in which they can be fused, others do not."""
        if not self.kernels:
            return 0
        last, first = self.kernels[-1].section, later.kernels[0].section
        around = [kernel for kernel in self.kernels if kernel.section == last]
        around += [kernel for kernel in later.kernels if kernel.section == first]
        once = all(kernel.repeat == 1 for kernel in around)
        return last - first + (0 if once else 1)


def _joined_labels(later: Program, replaced: Mapping[str, Tensor]) -> dict[str, str]:
    """The labels of joined inputs, with the earlier program's labels that they become.

    Two labels never become one: where two joined tensors have one label in the earlier program, the second of
    them is seen under a name of its own.
    """
    known: dict[str, str] = {}
    inputs = {item.name: item for item in later.inputs}
    for into, made in replaced.items():
        _check_join(made, inputs[into])
        for old, (new, extent) in zip(inputs[into].labels, made.axes, strict=True):
            if old not in known and new not in known.values() and later.labels.get(old, extent) == extent:
                known[old] = new
    return known


def _check_join(made: Tensor, needed: Tensor) -> None:
    """What is joined has the same extents and the same format."""
    if made.extents != needed.extents:
        raise DimensionError(
            f"sequence: {made.name!r} has extents {made.extents} and {needed.name!r} has {needed.extents}; "
            "they must be equal"
        )
    if made.format != needed.format:
        raise FormatError(
            f"sequence: {made.name!r} is {made.format.name} and {needed.name!r} is {needed.format.name}; "
            "cast one of them"
        )


def _fresh_names(names: Iterable[str], taken: set[str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each name to itself, or to name_2, name_3, ... where it is taken, and takes it; ``known`` names are settled."""
    found = dict(known or {})
    taken.update(found.values())
    for name in dict.fromkeys(names):
        if name not in found:
            found[name] = fresh(name, taken)
            taken.add(found[name])
    return found
