"""What ``suggest`` answers: sizes with what each is worth and why, and the front of nearness against throughput."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.estimation import Estimate, estimate
from perfmodel.graph.programs import Program
from perfmodel.showing import Table, Text, percent, plain_dict, quantity
from perfmodel.shown import Explained, Shown
from perfmodel.suggesting.odd_rows import little_measured
from perfmodel.suggesting.reasons import reasons
from perfmodel.suggesting.remarks import costless_rows, nothing_better

ROW = ("time_s", "gain", "distance")  # columns beside those of the sizes, and of the rates


@dataclass(frozen=True)
class Asked:
    """What was asked: the program in symbols, the machines, the effects.

    >>> from perfmodel import matmul, suggest
    >>> [each.name for each in suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793).asked.machines]
    ['a100-sxm-80gb']
    """

    program: Program
    machines: tuple[Machine, ...]
    effects: tuple[str, ...]
    protocol: Any = None


@dataclass(frozen=True)
class Suggestion(Explained):
    """Sizes, and what they are worth: seconds and throughput on each machine, beside those of the sizes wanted.

    >>> from perfmodel import matmul, suggest
    >>> best = suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793).best
    >>> best.sizes, best.gain > 1.3
    ({'n': 1792}, True)
    """

    sizes: dict[str, int] = field(hash=False)
    times_s: tuple[float, ...]
    work: int
    gain: float
    distance: float
    asked: Asked = field(repr=False)
    per: str = "flops"

    @property
    def time_s(self) -> float:
        """Seconds on the machine (the first of several).

        >>> from perfmodel import gemv, suggest
        >>> found = suggest(gemv("n", 4096), "h100-sxm", n=4096)
        >>> found.wanted.time_s == found.wanted.times_s[0]
        True
        """
        return self.times_s[0]

    @property
    def rates(self) -> tuple[float, ...]:
        """FLOP (or, where there are none, bytes) a second, on each machine.

        >>> from perfmodel import gemv, suggest
        >>> found = suggest(gemv("n", 4096), "h100-sxm", n=4096).wanted
        >>> found.rates[0] == 2 * 4096 * 4096 / found.time_s
        True
        """
        return tuple([self.work / seconds for seconds in self.times_s])

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates at these sizes, one a machine, with all their working.

        >>> from perfmodel import gemv, suggest
        >>> found = suggest(gemv("n", 4096), "h100-sxm", n=4096).wanted
        >>> found.estimates[0].bound
        'memory'
        """
        asked = self.asked
        own = {each.name: self.sizes[each.name] for each in asked.program.symbols}
        program = asked.program.at(own) if own else asked.program
        return tuple([estimate(program, each, asked.effects, protocol=asked.protocol) for each in asked.machines])

    @property
    def why(self) -> tuple[str, ...]:
        """Which quanta the sizes meet: whole tiles, rows of whole pieces, waves.

        >>> from perfmodel import matmul, suggest
        >>> print(suggest(matmul(1792, "n", 1792), "a100-sxm-80gb", n=1792).wanted.why[0])
        n = 1792 = 7 x 256, rows of 16-byte pieces
        """
        found = [reasons(self.asked.program, self.sizes, each) for each in self.estimates]
        return tuple(dict.fromkeys([text for each in found for text in each]))

    def explain(self) -> Text:
        """The sizes, what they are worth on each machine, and which quanta they meet.

        >>> from perfmodel import matmul, suggest
        >>> print(suggest(matmul(1792, "n", 1792), "a100-sxm-80gb", n=1792).wanted.explain().splitlines()[0])
        n=1792: 1 x the throughput, 0 % away
        """
        head = f"{_sizes(self)}: {self.gain:.3g} x the throughput, {percent(self.distance)} away"
        times = zip(self.asked.machines, self.times_s, strict=True)
        lines = [*[f"{chip.name}: {quantity(seconds, 's')}" for chip, seconds in times], *self.why]
        return Text("\n".join([head, *[f"  {line}" for line in lines]]))

    def to_dict(self) -> dict[str, Any]:
        """The suggestion as plain data.

        >>> from perfmodel import gemv, suggest
        >>> suggest(gemv("n", 4096), "h100-sxm", n=4096).wanted.to_dict()["sizes"]
        {'n': 4096}
        """
        return plain_dict(
            {
                "sizes": dict(self.sizes),
                "times_s": list(self.times_s),
                f"{self.per}": self.work,
                f"{self.per}_per_s": list(self.rates),
                "gain": self.gain,
                "distance": self.distance,
                "why": list(self.why),
            }
        )


@dataclass(frozen=True)
class Suggestions(Shown):
    """The sizes suggested, best first; ``wanted`` is what was asked for.

    There are two Pareto fronts against throughput, of all that were estimated: ``front`` has those that nothing as
    near to what is wanted beats, ``front_by_size`` those that nothing as small beats. Size is the program's work
    (FLOPs, or bytes where it has none), and smaller is cheaper; where a larger model is what is wanted, want it, and
    ``front`` is the one to read. A step of either is a tenth of a per cent of throughput at least.

    Best is what is worth its distance: the gain in throughput, less half the relative distance; where that is all but
    equal, the size with more factors of two. Of neighbours worth the same the one with more of them stands for both.

    >>> from perfmodel import matmul, suggest
    >>> found = suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793)
    >>> found.best.sizes, len(found) > 1
    ({'n': 1792}, True)
    """

    rows: tuple[Suggestion, ...]
    front: tuple[Suggestion, ...]
    front_by_size: tuple[Suggestion, ...]
    wanted: Suggestion
    tried: int
    allowed: int
    estimated: int
    asked: Asked

    @property
    def best(self) -> Suggestion:
        """The first suggestion.

        >>> from perfmodel import matmul, suggest
        >>> suggest(matmul(8192, "n", 4096), "a100-sxm-80gb", n=50257).best.sizes["n"] % 64
        0
        """
        return self.rows[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """That nothing is better than what is wanted, and what odd rows cost: nothing here, or what few have measured.

        >>> from perfmodel import gemv, suggest
        >>> suggest(gemv("n", 4096), "h100-sxm", n=4096).notes
        ('nothing that is allowed is worth more than what is wanted, which is the first row too',)
        """
        asked, sizes = self.asked, self.wanted.sizes
        found = [costless_rows(asked.program, sizes, chip, asked.effects, asked.protocol) for chip in asked.machines]
        odd = little_measured(asked.program, [each.sizes for each in self.rows], asked.machines)
        return (*self._first(), *[text for each in found for text in each], *odd)

    def _first(self) -> tuple[str, ...]:
        return nothing_better(self.wanted.sizes, self.best.sizes, self.allowed - 1)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Suggestion:
        return self.rows[place]

    def table(self) -> Table:
        """A row a suggestion: sizes, seconds on each machine, the gain in throughput over what was wanted.

        >>> from perfmodel import matmul, suggest
        >>> suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793).table().columns
        ('n', 'time_s', 'flops_per_s', 'gain', 'distance')
        """
        chips = [each.name for each in self.asked.machines]
        several = len(chips) > 1
        times = [f"time_s on {chip}" if several else "time_s" for chip in chips]
        rates = [f"{self.wanted.per}_per_s on {chip}" if several else f"{self.wanted.per}_per_s" for chip in chips]
        columns = (*self.wanted.sizes, *times, *rates, "gain", "distance")
        rows = [(*each.sizes.values(), *each.times_s, *each.rates, each.gain, each.distance) for each in self.rows]
        return Table("", columns, tuple(rows))

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame.

        >>> from perfmodel import matmul, suggest
        >>> len(suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793, top=3).to_frame())
        3
        """
        return self.table().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data.

        >>> from perfmodel import matmul, suggest
        >>> suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793).to_dict()["suggestions"][0]["sizes"]
        {'n': 1792}
        """
        return {
            "machines": [each.name for each in self.asked.machines],
            "wanted": self.wanted.to_dict(),
            "suggestions": [each.to_dict() for each in self.rows],
            "front": [each.to_dict() for each in self.front],
            "front_by_size": [each.to_dict() for each in self.front_by_size],
            "tried": self.tried,
            "allowed": self.allowed,
            "estimated": self.estimated,
            "notes": list(self.notes),
        }

    def explain(self) -> Text:
        """What was searched, and for each suggestion what it is worth and why.

        >>> from perfmodel import matmul, suggest
        >>> print(suggest(matmul(1793, "n", 1793), "a100-sxm-80gb", n=1793, top=1).explain().splitlines()[0])
        suggest(matmul) on a100-sxm-80gb: 179 sizes tried, 179 allowed, 179 estimated in full
        """
        chips = ", ".join([each.name for each in self.asked.machines])
        least = dict.fromkeys([text for each in self.wanted.estimates for text in each.not_modelled if each.is_least])
        lines = [
            f"suggest({self.asked.program.name}) on {chips}: {self.tried} sizes tried, {self.allowed} allowed, "
            f"{self.estimated} estimated in full",
            f"  wanted     {_line(self.wanted)}",
            *[f"             {text}" for text in self.wanted.why],
            *[f"  note       {text}" for text in self.notes],
        ]
        for place, each in enumerate(self.rows, 1):
            lines.append(f"  {place:<10} {_line(each)}")
            lines += [f"             {text}" for text in each.why]
        lines += [f"  left out   {text}" for text in least]
        return Text(
            "\n".join([*lines, f"  front      {_edge(self.front)}", f"  by size    {_edge(self.front_by_size)}"])
        )

    def __repr__(self) -> str:
        head = f"suggest({self.asked.program.name}): beside what is wanted (first), best first"
        return "\n".join([head, repr(self._told()), *[f"# {text}" for text in self._first()]])

    def _repr_html_(self) -> str:
        """The table of the repr, what was wanted first, and beside each size which quanta it meets."""
        told = self._told()
        rows = [(*row, "; ".join(each.why)) for row, each in zip(told.rows, (self.wanted, *self.rows), strict=True)]
        caption = f"suggest({self.asked.program.name}): beside what is wanted (first), best first"
        return Table(caption, (*told.columns, "why"), tuple(rows))._repr_html_()

    def _told(self) -> Table:
        """A row for what was wanted and for each suggestion, in words."""
        columns = (*self.wanted.sizes, *[each.name for each in self.asked.machines], "throughput", "away")
        rows = []
        for each in (self.wanted, *self.rows):
            times = [quantity(seconds, "s") for seconds in each.times_s]
            rows.append((*each.sizes.values(), *times, f"{each.gain:.3g} x", percent(each.distance)))
        return Table("", columns, tuple(rows))


def _sizes(each: Suggestion) -> str:
    return " ".join([f"{name}={size}" for name, size in each.sizes.items()])


def _edge(front: tuple[Suggestion, ...]) -> str:
    return "; ".join([_sizes(each) + f" x {each.gain:.3g}" for each in front])


def _line(each: Suggestion) -> str:
    times = ", ".join([quantity(seconds, "s") for seconds in each.times_s])
    unit = "FLOP/s" if each.per == "flops" else "B/s"
    rates = ", ".join([quantity(rate, unit) for rate in each.rates])
    return f"{_sizes(each)}: {times}; {rates}; {each.gain:.3g} times the throughput, {percent(each.distance)} away"
