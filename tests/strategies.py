"""Random small programs through the public interface, as recipes that can be built from ints or from symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import perfmodel as pm
from perfmodel.graph import Mask, contracted, mapped, reduced

LABELS = ("a", "b", "c", "q", "kv")
FORMATS = ("bf16", "fp32", "fp8_e4m3", "int4", "int8", "mxfp4", "nvfp4")
TINY_BLOCKS = pm.Format(bits=4, block=2, scale_bits=8, zero_bits=3)  # so that rows of 1 to 4 have ragged blocks
ODD_BITS = pm.Format(bits="4.85")
UNARY = ("exp", "relu", "silu", "gelu", "square", "copy", "neg", "softplus")
BINARY = ("add", "sub", "mul", "max", "less", "pow")
REDUCTIONS = ("sum", "max", "min", "prod", "mean")


@dataclass(frozen=True)
class Step:
    """One line of a recipe: what is made from which earlier tensors."""

    verb: str
    operands: tuple[int, ...] = ()
    details: tuple[Any, ...] = ()
    stage: str = ""


@dataclass(frozen=True)
class Recipe:
    """A program that can be written with any sizes for its labels."""

    sizes: dict[str, int]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def program(self) -> pm.Program:
        """The program in ints."""
        return self._built(self.sizes)

    def symbolic(self) -> pm.Program:
        """The program in symbols: label a is measured by the symbol n_a."""
        return self._built({label: pm.dims(f"n_{label}") for label in self.sizes})

    @property
    def values(self) -> dict[Any, int]:
        """What the symbols stand for."""
        return {pm.dims(f"n_{label}"): size for label, size in self.sizes.items()}

    def _built(self, sizes: dict[str, Any]) -> pm.Program:
        tensors: list[pm.Tensor] = []
        for step in self.steps:
            tensors.append(made(step, tensors, sizes))
        return pm.program(*[tensors[place] for place in self.outputs], name="random")


def made(step: Step, tensors: list[pm.Tensor], sizes: dict[str, Any]) -> pm.Tensor:
    """The tensor that one step makes."""
    operands = [tensors[place] for place in step.operands]
    match step.verb:
        case "input":
            name, labels, form = step.details
            return pm.tensor(name, {label: sizes[label] for label in labels}, dtype=form)
        case "map":
            function, *numbers = step.details
            return mapped(function, *operands, *numbers, stage=step.stage)
        case "reduce":
            function, labels = step.details
            return reduced(function, operands[0], labels, stage=step.stage)
        case "contract":
            kept, mask = step.details
            return contracted(operands, kept, mask=mask, stage=step.stage)
        case "window":
            label, out, tap, taps, spacing = step.details
            return pm.window(operands[0], label, out, tap, taps, **spacing)
        case "roll":
            return operands[0].roll(*step.details)
        case "rename":
            return operands[0].rename(step.details[0])
        case "gather":
            return pm.gather(operands[0], step.details[0], operands[1])
    raise AssertionError(step)


class _Writer:
    """Adds steps that can be built, remembering what each made."""

    def __init__(self, draw: DrawFn, sizes: dict[str, int]) -> None:
        self.draw, self.sizes = draw, sizes
        self.steps: list[Step] = []
        self.tensors: list[pm.Tensor] = []

    def add(self, step: Step) -> int:
        self.tensors.append(made(step, self.tensors, self.sizes))
        self.steps.append(step)
        return len(self.steps) - 1

    def pick(self, wanted: Any = lambda tensor: True) -> int | None:
        """The place of some tensor of the kind that is wanted, the newest first, if there is one."""
        places = [place for place, tensor in enumerate(self.tensors) if wanted(tensor)]
        return self.draw(st.sampled_from(places[::-1])) if places else None

    def stage(self) -> str:
        return self.draw(st.sampled_from(("", "one", "two", "two.inner")))

    def write(self, verb: str) -> None:
        """One more step of this kind, if what there is allows one."""
        getattr(self, f"_{verb}")()

    def _input(self, *labels: str) -> int:
        more = st.lists(st.sampled_from(list(self.sizes)), min_size=1 - len(labels), max_size=3, unique=True)
        found = tuple(dict.fromkeys([*labels, *(self.draw(more) if len(labels) < 2 else ())]))
        form = self.draw(st.sampled_from((*FORMATS, TINY_BLOCKS, ODD_BITS)))
        return self.add(Step("input", (), (f"x{len(self.steps)}", found, form)))

    def _map(self) -> None:
        first = self.pick()
        other = self.pick(lambda tensor: fits_with(self.tensors[first], tensor))
        if self.draw(st.booleans()) or other is None:
            self.add(Step("map", (first,), (self.draw(st.sampled_from(UNARY)),), self.stage()))
        else:
            self.add(Step("map", (first, other), (self.draw(st.sampled_from(BINARY)),), self.stage()))

    def _reduce(self) -> None:
        place = self.pick(lambda tensor: tensor.axes)
        if place is None:
            return
        tensor = self.tensors[place]
        labels = self.draw(st.lists(st.sampled_from(tensor.labels), min_size=1, max_size=2, unique=True))
        function = self.draw(st.sampled_from(REDUCTIONS))
        self.add(Step("reduce", (place,), (function, tuple(labels)), self.stage()))

    def _contract(self) -> None:
        first = self.pick()
        other = self.pick(lambda tensor: fits_with(self.tensors[first], tensor))
        if other is None:
            return
        operands = [first, other]
        found = [self.tensors[place] for place in operands]
        labels = list(dict.fromkeys([label for tensor in found for label in tensor.labels]))
        if len(labels) > 5:
            return
        kept = self.draw(st.lists(st.sampled_from(labels), unique=True)) if labels else []
        self.add(Step("contract", tuple(operands), (tuple(kept), None), self.stage()))

    def _mask(self) -> None:
        """Scores of queries and keys, restricted."""
        queries, keys = self._input("q"), self._input("kv")
        labels = list(dict.fromkeys([*self.tensors[queries].labels, *self.tensors[keys].labels]))
        kept = self.draw(st.permutations(["q", "kv", *[label for label in labels if self.draw(st.booleans())]]))
        details = (tuple(dict.fromkeys(kept)), self.draw(masks()))
        self.add(Step("contract", (queries, keys), details, self.stage()))

    def _window(self) -> None:
        place = self.pick(lambda t: t.axes and t.mask is None and not is_view(t) and len(t.axes) < 4)
        if place is None:
            return
        tensor = self.tensors[place]
        label = self.draw(st.sampled_from(tensor.labels))
        spacing = {
            "stride": self.draw(st.integers(1, 3)),
            "dilation": self.draw(st.integers(1, 3)),
            "padding": self.draw(st.integers(0, 2)),
        }
        reach = tensor.extent(label) + 2 * spacing["padding"]
        taps = self.draw(st.integers(1, 1 + (reach - 1) // spacing["dilation"]))
        number = len(self.steps)
        self.use(self.add(Step("window", (place,), (label, f"out{number}", f"tap{number}", taps, spacing))))

    def _roll(self) -> None:
        place = self.pick(lambda tensor: tensor.axes and tensor.mask is None and not is_view(tensor))
        if place is not None:
            label = self.draw(st.sampled_from(self.tensors[place].labels))
            self.use(self.add(Step("roll", (place,), (label, self.draw(st.integers(1, 3))))))

    def _rename(self) -> None:
        """The same tensor under another label: two labels measure one axis."""
        place = self.pick(lambda tensor: tensor.axes and not is_view(tensor) and tensor.mask is None)
        if place is None:
            return
        label = self.draw(st.sampled_from(self.tensors[place].labels))
        if f"{label}_too" not in self.tensors[place].labels:
            self.use(self.add(Step("rename", (place,), ({label: f"{label}_too"},))))

    def _gather(self) -> None:
        table = self.pick(lambda tensor: tensor.axes and tensor.mask is None and not is_view(tensor))
        if table is None:
            return
        label = self.draw(st.sampled_from(self.tensors[table].labels))
        rest = set(self.tensors[table].labels) - {label}
        by = self.pick(lambda tensor: not is_view(tensor) and tensor.mask is None and not rest & set(tensor.labels))
        if by is not None and by != table:
            self.add(Step("gather", (table, by), (label,)))

    def use(self, view: int) -> None:
        """A view is no op: some op has to read it."""
        self.add(Step("map", (view,), (self.draw(st.sampled_from(UNARY)),), self.stage()))


def is_view(tensor: pm.Tensor) -> bool:
    """Whether it is another tensor seen differently."""
    return tensor.base is not None


def fits_with(one: pm.Tensor, other: pm.Tensor) -> bool:
    """Whether two tensors can stand in one op: equal extents, masks that agree, and a space that stays small."""
    known = dict(one.axes)
    agree = all(known.setdefault(label, extent) == extent for label, extent in other.axes)
    masks_agree = None in (one.mask, other.mask) or one.mask == other.mask
    return agree and masks_agree and len(known) <= 5


@st.composite
def masks(draw: DrawFn) -> Mask:
    """A mask over q and kv of each kind."""
    reach = st.none() | st.integers(0, 2)
    align = draw(st.sampled_from(("end", "start")))
    chunk = draw(st.none() | st.integers(1, 3))
    return Mask("q", "kv", draw(reach), draw(reach), chunk, align)


VERBS = ("map", "reduce", "contract", "mask", "window", "roll", "rename", "gather", "input")


@st.composite
def recipes(draw: DrawFn, verbs: tuple[str, ...] = VERBS, steps: int = 6) -> Recipe:
    """A random program: inputs, then steps on whatever there is; its outputs are what nothing uses, and more."""
    writer = _Writer(draw, {label: draw(st.sampled_from((2, 3, 4, 1))) for label in LABELS})
    writer.write("input")
    writer.write("input")
    for verb in draw(st.lists(st.sampled_from(verbs), min_size=2, max_size=steps)):
        writer.write(verb)
    used = {place for step in writer.steps for place in step.operands}
    results = [place for place, tensor in enumerate(writer.tensors) if is_result(tensor)]
    if not results:
        results = [writer.add(Step("map", (0,), ("exp",)))]
    more = draw(st.lists(st.sampled_from(results), max_size=2))
    outputs = dict.fromkeys([*[place for place in results if place not in used], *more])
    return Recipe(writer.sizes, tuple(writer.steps), tuple(outputs))


def is_result(tensor: pm.Tensor) -> bool:
    """Whether an op wrote it, and it is not a view."""
    return tensor.producer is not None and not is_view(tensor)


def programs(**kinds: Any) -> SearchStrategy[pm.Program]:
    """Random programs in ints."""
    return recipes(**kinds).map(lambda recipe: recipe.program())


@st.composite
def staged(draw: DrawFn, source: SearchStrategy[pm.Program] | None = None) -> pm.Program:
    """A random program after a random series of fusings; those that cannot be are passed over."""
    program = draw(source if source is not None else programs())
    for _ in range(draw(st.integers(0, 2))):
        program = draw(fusings(program))
    return program


@st.composite
def fusings(draw: DrawFn, program: pm.Program) -> pm.Program:
    """The program fused in some way: all of it, by stage, some of its kernels, or up to some of its results."""
    names = [kernel.name for kernel in program.kernels]
    some = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    ends = st.lists(
        st.sampled_from([name for kernel in program.kernels for name in kernel.made]), max_size=2, unique=True
    ).map(tuple)
    how = draw(
        st.sampled_from(({}, {"by": "stage"})) | some.map(lambda only: {"only": only}) | ends.map(lambda to: {"to": to})
    )
    try:
        return pm.fuse(program, **how)
    except pm.TransformError:
        return program


@st.composite
def composed(draw: DrawFn) -> pm.Program:
    """Random programs one after another and repeated, fused before and after."""
    parts = [draw(staged(programs(steps=4))) for _ in range(draw(st.integers(1, 3)))]
    parts = [part.repeat(draw(st.integers(1, 3))) if draw(st.booleans()) else part for part in parts]
    return draw(staged(st.just(pm.sequence(*parts))))
