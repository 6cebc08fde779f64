"""Whether a run counted what the formulas say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from perfmodel.graph.programs import Program
from perfmodel.simulation.ledgers import Counts


def count_differences(program: Program, levels: Mapping[str, Counts]) -> list[str]:
    """Where a run's own counts are not those of the formulas: elements by tensor and level, operations by unit.

    >>> from perfmodel import matmul
    >>> count_differences(matmul(2, 2, 1), {"memory": Counts()})[:2]
    ['load of A: the formula says 2, the run counted 0', 'load of B: the formula says 2, the run counted 0']
    """
    found = []
    for level in dict.fromkeys(["memory", *[level for item in program.counted for level in item.levels]]):
        moved: dict[str, Counter[str]] = {"read": Counter(), "write": Counter()}
        for item in program.counted:
            for transfer in item.levels.get(level, ()):
                moved[transfer.direction][transfer.tensor] += int(item.kernel.repeat) * int(transfer.elements)
        counts = levels.get(level, Counts())
        where = "" if level == "memory" else f" at {level}"
        found += _differing(f"load{where}", moved["read"], counts.loads)
        found += _differing(f"store{where}", moved["write"], counts.stores)
    work = Counter({unit: int(n) for unit, n in program.flops_by_unit.items()})
    return found + _differing("work", work, levels["memory"].operations)


def _differing(what: str, formula: Counter[str], counted: Counter[str]) -> list[str]:
    return [
        f"{what} of {name}: the formula says {formula[name]}, the run counted {counted[name]}"
        for name in sorted({*formula, *counted})
        if formula[name] != counted[name]
    ]
