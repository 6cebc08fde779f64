"""What ``validate`` returns: each row with its estimate or the reason why it has none, and the errors by group."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.errors import PerfModelError, did_you_mean, listed
from perfmodel.showing import Table, Text
from perfmodel.shown import Explained, Shown
from perfmodel.validation.rows import Row
from perfmodel.validation.summaries import Errors, errors_of


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Shown):
    """One row: its measured time and its estimate, or the reason why it has none.

    >>> Answer(Row.read({}), reason="chip unknown: X1").is_mapped
    False
    """

    row: Row
    measured_s: float = math.nan
    chip: str = ""
    regime: str = ""
    estimated_s: float = math.nan
    reason: str = ""

    def __eq__(self, other: object) -> bool:  # a time that is missing is equal to one that is missing
        return isinstance(other, Answer) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.row.gpu, self.row.op, self.chip, self.regime, self.reason))

    @property
    def is_mapped(self) -> bool:
        """Whether the row has an estimate.

        >>> Answer(Row.read({}), 1e-6, estimated_s=2e-6).is_mapped
        True
        """
        return not math.isnan(self.estimated_s)

    def estimated(self, seconds: float, reason: str) -> Answer:
        """The row with its estimate; without one where something has no known rate, which the reason names.

        >>> Answer(Row.read({})).estimated(1e-6, "").estimated_s
        1e-06
        """
        if reason or not math.isfinite(seconds):
            return replace(self, reason=reason or "the estimate is not finite")
        return replace(self, estimated_s=seconds)

    @property
    def op(self) -> str:
        """The family of the op.

        >>> Answer(Row.read({"op": "ew_add"}), regime="elementwise").op
        'elementwise'
        """
        return self.row.op if self.row.op in ("gemm", "bmm") else self.regime


GROUPS: dict[str, Callable[[Answer], str]] = {
    "chip": lambda each: each.chip,
    "op": lambda each: each.op,
    "dtype": lambda each: each.row.dtype,
    "regime": lambda each: each.regime,
    "source": lambda each: each.row.source,
    "framework": lambda each: each.row.extra.get("fw", ""),
}


@dataclass(frozen=True, slots=True, repr=False)
class Validation(Explained):
    """Rows with their estimates; ``errors`` sums them up by any of chip, op, dtype, regime, source, framework.

    >>> from pandas import DataFrame
    >>> from perfmodel import validate
    >>> found = validate(DataFrame({"gpu": ["TRS-80"], "op": ["gemm"], "dtype": ["bf16"], "time_us": [1]}))
    >>> found.rows, found.mapped, found.reasons
    (1, 0, {'chip unknown: TRS-80': 1})
    """

    answers: tuple[Answer, ...]

    @property
    def rows(self) -> int:
        """How many rows the table has.

        >>> Validation(()).rows
        0
        """
        return len(self.answers)

    @property
    def mapped(self) -> int:
        """How many rows have an estimate.

        >>> Validation((Answer(Row.read({}), 1e-6, estimated_s=2e-6),)).mapped
        1
        """
        return sum(1 for each in self.answers if each.is_mapped)

    @property
    def reasons(self) -> dict[str, int]:
        """How many rows have none, by reason, the most frequent first.

        >>> Validation((Answer(Row.read({}), reason="chip unknown: X1"),)).reasons
        {'chip unknown: X1': 1}
        """
        return dict(Counter(each.reason for each in self.answers if not each.is_mapped).most_common())

    def errors(self, by: Iterable[str] = ("chip", "op", "dtype", "regime")) -> dict[tuple[str, ...], Errors]:
        """The errors of each group of rows; ``by`` names what parts them, and nothing gives one group of all.

        >>> found = Validation((Answer(Row.read({"op": "gemm"}), 1e-6, "l4", "m > 256", 2e-6),))
        >>> found.errors(by=("chip",))
        {('l4',): Errors(rows=1, median_error=1.0, mean_error=1.0, bias=1.0, within_10=0.0)}
        """
        names = [by] if isinstance(by, str) else list(by)
        for name in names:
            if name not in GROUPS:
                raise PerfModelError(
                    f"errors: no grouping {name!r}{did_you_mean(str(name), GROUPS)}; there are {listed(GROUPS)}"
                )
        groups: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
        for each in self.answers:
            if each.is_mapped:
                key = tuple([GROUPS[name](each) for name in names])
                groups[key].append((each.estimated_s, each.measured_s))
        return {key: errors_of(pairs) for key, pairs in sorted(groups.items())}

    def table(self, by: Iterable[str] = ("chip", "op", "dtype", "regime")) -> Table:
        """The errors as a table, in per cent.

        >>> found = Validation((Answer(Row.read({"op": "gemm"}), 1e-6, "l4", "m > 256", 1.5e-6),))
        >>> print(found.table(by=("chip",)).rows)
        (('l4', 1, '50.0', '50.0', '+50.0', '0'),)
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        rows = tuple([(*key, *_in_percent(errors)) for key, errors in self.errors(names).items()])
        title = f"{self.mapped} of {self.rows} rows; |estimate - measured| / measured in %"
        return Table(title, (*names, "rows", "median", "mean", "bias", "within 10 %"), rows)

    def explain(self, by: Iterable[str] = ("chip", "op", "dtype", "regime")) -> Text:
        """The errors by group, and the rows without an estimate by reason.

        >>> print(Validation((Answer(Row.read({}), reason="chip unknown: X1"),)).explain().splitlines()[-1])
          1  chip unknown: X1
        """
        parts = [repr(self.table(by))] if self.mapped else [f"0 of {self.rows} rows have an estimate"]
        if self.reasons:
            width = len(str(max(self.reasons.values())))
            lines = [f"  {number:>{width}}  {reason}" for reason, number in self.reasons.items()]
            parts.append("\n".join([f"without an estimate: {self.rows - self.mapped} rows", *lines]))
        return Text("\n\n".join(parts))

    def to_dict(self, by: Iterable[str] = ("chip", "op", "dtype", "regime")) -> dict[str, Any]:
        """The summary as plain data: errors are fractions, of all rows and by group.

        >>> Validation(()).to_dict()["rows"]
        0
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        groups = [dict(zip(names, key, strict=True)) | each._asdict() for key, each in self.errors(names).items()]
        return {
            "rows": self.rows,
            "mapped": self.mapped,
            "all": self.errors(())[()]._asdict() if self.mapped else None,
            "groups": groups,
            "unmapped": self.reasons,
        }

    def frame(self, given: Any) -> Any:
        """The table that was given with the columns ``estimated_us`` (nan where there is none) and ``reason``.

        >>> from pandas import DataFrame
        >>> from perfmodel import validate
        >>> given = DataFrame({"gpu": ["TRS-80"], "op": ["gemm"], "dtype": ["bf16"], "time_us": [1]})
        >>> validate(given).frame(given)["reason"].tolist()
        ['chip unknown: TRS-80']
        """
        if len(given) != self.rows:
            raise PerfModelError(f"frame: {len(given)} rows were given, and {self.rows} were validated")
        estimated = [each.estimated_s * 1e6 for each in self.answers]
        return given.assign(estimated_us=estimated, reason=[each.reason for each in self.answers])

    def __repr__(self) -> str:
        if not self.mapped:
            return f"validate(...)  # 0 of {self.rows} rows have an estimate"
        errors = self.errors(by=())[()]
        return (
            f"validate(...)  # {self.mapped} of {self.rows} rows: median error {errors.median_error:.1%}, "
            f"mean {errors.mean_error:.1%}, bias {errors.bias:+.1%}"
        )


def _in_percent(errors: Errors) -> tuple[Any, ...]:
    return (
        errors.rows,
        f"{100 * errors.median_error:.1f}",
        f"{100 * errors.mean_error:.1f}",
        f"{100 * errors.bias:+.1f}",
        f"{100 * errors.within_10_percent:.0f}",
    )
