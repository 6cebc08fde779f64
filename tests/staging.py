"""Random tilings of random programs, arrays to run them on, and what a run counted beside what formulas say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product as combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import perfmodel as pm
from perfmodel.expressions import bind
from perfmodel.graph.indexing import Gathered

Array = npt.NDArray[Any]
Cuts = tuple[str, dict[str, int], dict[str, int]]  # a kernel, its grid and its stream

# What may be refused of a random tiling: anything else is a defect.
REFUSED = ("blocks would hold partial results", "is masked and its", "would add to the same results again")


def arrays_of(program: pm.Program, seed: int = 0) -> dict[str, Array]:
    """Small integers for every input, in float64; indices inside the table for what looks rows up."""
    draw = np.random.default_rng(seed)
    tables = [
        (index.by, int(extent))
        for op in program.ops
        for access in op.reads
        for index, extent in zip(access.index, access.tensor.extents, strict=True)
        if isinstance(index, Gathered)
    ]
    rows = dict(sorted(tables, key=lambda pair: -pair[1]))  # of several tables the smallest
    found = {}
    for item in program.inputs:
        low, high = (0, rows[item.name]) if item.name in rows else (-3, 4)
        found[item.name] = draw.integers(low, high, size=tuple(int(e) for e in item.extents)).astype(float)
    return found


def run_on(program: pm.Program, arrays: Mapping[str, Any]) -> pm.Simulation:
    """A run on those of some arrays that the program reads, which may be another's too."""
    read = {item.name for item in program.inputs}
    return pm.simulate(program, {name: values for name, values in arrays.items() if name in read})


@st.composite
def cuts(draw: DrawFn, program: pm.Program, proper: bool = False) -> list[Cuts]:
    """Up to three labels of each kernel, in a random order, in the grid or streamed, with tiles of any size.

    ``proper`` ones cut something in each kernel that can be cut, and leave at least two tiles of each label.
    """
    found = []
    for kernel in program.kernels:
        extents = {axis.label: int(axis.extent) - proper for op in kernel.ops for axis in op.space}
        own = [label for label, extent in extents.items() if extent >= 1]
        grid: dict[str, int] = {}
        stream: dict[str, int] = {}
        for label in draw(st.lists(st.sampled_from(own), unique=True, min_size=int(proper), max_size=3)) if own else []:
            size = draw(st.integers(1, extents[label]))
            (grid if draw(st.booleans()) else stream)[label] = size
        if grid or stream:
            found.append((kernel.name, grid, stream))
    return found


def tiled(program: pm.Program, chosen: Iterable[Cuts]) -> pm.Program:
    """The program with each kernel cut as chosen; what is refused for a known reason stays as it is."""
    for name, grid, stream in chosen:
        try:
            program = pm.tile(program, grid=grid, stream=stream, only=name)
        except pm.TransformError as error:
            if not any(reason in str(error) for reason in REFUSED):
                raise
    return program


def loads(program: pm.Program) -> Counter[str]:
    """Elements read by tensor, as the formulas have them, all repetitions together."""
    return moved(program, "read")


def stores(program: pm.Program) -> Counter[str]:
    """Elements written by tensor, as the formulas have them."""
    return moved(program, "write")


def moved(program: pm.Program, direction: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in program.traffic().rows:
        if row[2] == direction:
            found[row[1]] += row[3] * row[5]
    return Counter({name: number for name, number in found.items() if number != 0})


def operations(program: pm.Program) -> Counter[str]:
    """Operations by unit, as the formulas have them."""
    return +Counter(program.flops_by_unit)


def assert_counts_as_it_runs(program: pm.Program, run: Any) -> None:
    """What a run counted is what the program's formulas say, element by element and operation by operation."""
    assert +run.counts.loads == loads(program)
    assert +run.counts.stores == stores(program)
    assert +run.counts.operations == operations(program)


def assert_same_values(one: Any, other: Any) -> None:
    """Two runs return the same values, up to the rounding of sums in another order."""
    assert one.values.keys() == other.values.keys()
    for name, values in one.values.items():
        np.testing.assert_allclose(values, other.values[name], rtol=1e-7, atol=1e-9, equal_nan=True)


def hulls(program: pm.Program) -> bool:
    """Whether some transfer of an untiled kernel is a hull with gaps, which says so instead of being exact."""
    return any("hull" in item.note for kernel in program.counted for item in kernel.transfers)


def evaluated(size: Any, values: dict[Any, int]) -> int:
    """A formula at sizes, its finite sums done term by term."""
    found = bind(size, values)
    if isinstance(found, int):
        return found
    for standing in found.atoms(sympy.Sum):
        numbers = [limit[0] for limit in standing.limits]
        terms = combinations(*[range(int(low), int(high) + 1) for _, low, high in standing.limits])
        done = sum(standing.function.xreplace(dict(zip(numbers, map(sympy.Integer, at), strict=True))) for at in terms)
        found = found.xreplace({standing: sympy.Integer(done)})
    return int(found)


def normal(program: pm.Program, seed: int = 0) -> dict[str, Array]:
    """Real numbers for every input, normally distributed."""
    draw = np.random.default_rng(seed)
    return {item.name: draw.normal(size=tuple(int(e) for e in item.extents)) for item in program.inputs}


def simulated(program: pm.Program, arrays: dict[str, Array], watch: tuple[str, ...] = ()) -> Any:
    """The run of a program whose values may overflow: numpy's remarks on it left out."""
    with np.errstate(all="ignore"):
        return pm.simulate(program, arrays, watch=watch)
