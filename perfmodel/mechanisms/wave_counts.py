"""Wave quantization: blocks against the slots that hold them, and what the last wave leaves idle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from perfmodel.catalogue import Machine
from perfmodel.catalogue.names import machine_meant
from perfmodel.errors import DimensionError, MachineError, brief
from perfmodel.expressions import Size, ceil_div, is_concrete, product, share, size, total
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import chosen, concrete, whole
from perfmodel.mechanisms.tile_grids import TileGrid, tile_grid
from perfmodel.mechanisms.timelines import Timeline, check_events, checked, run_blocks, run_workers
from perfmodel.mechanisms.wording import call, counted, number, part_of_all
from perfmodel.showing import formula

SCHEDULES = ("static", "dynamic", "stream-k")
_USUAL = {"resident": 1, "schedule": "static", "busy": 0, "steps": None}


@dataclass(frozen=True, slots=True, repr=False)
class Waves(Answer):
    """Blocks of equal length on units with so many slots each. Times are in units of one block's time.

    >>> from perfmodel import tile_grid, waves
    >>> waves(tile_grid(1793, 1793, tile=(256, 128)), units=108)
    waves(tile_grid(1793, 1793, tile=(256, 128)), units=108)
    # 120 blocks on 108 slots: 2 waves, the last 11 % full
    # wave fill 56 %, tile fill 82 %, efficiency 45 %
    """

    _figure: ClassVar[str] = "waves"

    blocks: Size
    units: Size
    resident: Size = 1
    schedule: str = "static"
    busy: int = 0
    steps: int | None = None
    grid: TileGrid | None = None

    @property
    def slots(self) -> Size:
        """Blocks that all units hold at once.

        >>> from perfmodel import waves
        >>> waves(120, units=108, resident=2).slots
        216
        """
        return product([self.units, self.resident])

    @property
    def free(self) -> Size:
        """The slots of the units that nothing else holds.

        >>> from perfmodel import waves
        >>> waves(1320, units=132, busy=16).free
        116
        """
        return product([total([self.units, -self.busy]), self.resident])

    @property
    def waves(self) -> Size:
        """Waves that are begun: block times until the last block is done, rounded up.

        >>> from perfmodel import waves
        >>> [waves(blocks, units=108).waves for blocks in (98, 120, 200)]
        [1, 2, 2]
        """
        if self.schedule == "dynamic" or not self.busy:
            return ceil_div(self.blocks, self.free)
        return -(-Fraction(self.time_blocks) // 1)

    @property
    def waves_exact(self) -> Any:
        """Blocks over slots: a float, or a formula.

        >>> from perfmodel import waves
        >>> waves(544, units=170).waves_exact
        3.2
        """
        return share(self.blocks, self.free)

    @property
    def tail(self) -> Size:
        """Blocks in the last wave, all slots where it is full.

        >>> from perfmodel import waves
        >>> waves(120, units=108).tail == 120 - 108
        True
        """
        return total([self.blocks, product([-1, total([ceil_div(self.blocks, self.free), -1]), self.free])])

    @property
    def tail_fill(self) -> Any:
        """The share of the slots that the last wave fills.

        >>> from perfmodel import waves
        >>> waves(120, units=108).tail_fill == 12 / 108
        True
        """
        return share(self.tail, self.free)

    @property
    def time_blocks(self) -> Any:
        """When the last block is done, in block times: whole, except where blocks are split into steps.

        >>> from perfmodel import waves
        >>> [waves(544, units=170, schedule=name).time_blocks for name in ("static", "stream-k")]
        [4, 3.2]
        """
        if self.schedule == "dynamic" or (self.schedule == "static" and not self.busy):
            return ceil_div(self.blocks, self.free)
        if self.busy:
            found = Fraction(self._crowded().makespan)
            return found.numerator if found.denominator == 1 else float(found)
        if self.steps is None:
            return self.waves_exact
        return share(ceil_div(product([self.blocks, self.steps]), self.slots), self.steps)

    @property
    def wave_fill(self) -> Any:
        """The share of the slots' time that is in use: a float, or a formula.

        >>> from perfmodel import waves
        >>> [f"{waves(blocks, units=108).wave_fill:.0%}" for blocks in (98, 120, 200)]
        ['91%', '56%', '93%']
        """
        time = self.time_blocks
        return share(self.blocks, (Fraction(time) if isinstance(time, float) else time) * self.free)

    @property
    def tile_fill(self) -> Any:
        """The useful share of the tiles; 1 where blocks were given as a number.

        >>> from perfmodel import tile_grid, waves
        >>> f"{waves(tile_grid(1025, 1025, tile=128), units=132).tile_fill:.0%}"
        '79%'
        """
        return 1.0 if self.grid is None else self.grid.tile_fill

    @property
    def efficiency(self) -> Any:
        """Wave fill times tile fill: the share of the units' time that does useful work.

        >>> from perfmodel import tile_grid, waves
        >>> f"{waves(tile_grid(1793, 1793, tile=(256, 128)), units=108).efficiency:.4f}"
        '0.4542'
        """
        return self.wave_fill if self.grid is None else self.wave_fill * self.grid.tile_fill

    def run(self, durations: Iterable[Any] | None = None) -> Timeline:
        """The blocks event by event: of one length, or each of its own.

        "static" deals block i to worker i mod slots beforehand, "dynamic" gives each block to the slot that is free
        first, "stream-k" cuts all the work into equal shares. Workers that find no slot start when one is free.

        >>> from perfmodel import waves
        >>> waves(5, units=2).run().makespan, waves(3, units=2).run([4, 1, 1]).makespan
        (3, 5)
        """
        concrete([self.blocks, self.slots], "run", "waves")
        check_events(self.blocks + self.slots)
        lengths = [1] * self.blocks if durations is None else checked(durations)
        if len(lengths) != self.blocks:
            raise DimensionError(f"run: {len(lengths)} durations for {self.blocks} blocks")
        if self.schedule == "dynamic":
            return run_blocks(lengths, self.free)
        if self.schedule == "static":
            numbered = list(enumerate(lengths))
            dealt = [numbered[place :: self.slots] for place in range(min(self.slots, self.blocks))]
            return run_workers(dealt, self.free)
        return run_blocks(self._shares(sum(map(Fraction, lengths), Fraction(0))), self.free)

    def _shares(self, work: Fraction) -> list[Fraction]:
        """The work of each worker of stream-K, whole steps where there are any."""
        if self.steps is None:
            return [work / self.slots] * self.slots
        step = work / (self.blocks * self.steps)
        each, more = divmod(self.blocks * self.steps, self.slots)
        shares = [(each + (place < more)) * step for place in range(self.slots)]
        return [found for found in shares if found]

    def _crowded(self) -> Timeline:
        """The workers where other work holds units: those that find no slot run after the first."""
        concrete([self.blocks, self.slots], "busy with this schedule", "waves")
        check_events(self.slots)
        if self.schedule == "stream-k":
            return run_blocks(self._shares(Fraction(self.blocks)), self.free)
        each, more = divmod(self.blocks, self.slots)
        return run_blocks([each + (place < more) for place in range(min(self.slots, self.blocks))], self.free)

    @property
    def made(self) -> str:
        first = f"{self.blocks if self.grid is None else self.grid.made}, units={self.units}"
        return call("waves", first, {name: getattr(self, name) for name in _USUAL}, _USUAL)

    @property
    def headline(self) -> str:
        return f"{counted(self.waves, 'wave')}, {part_of_all(self.wave_fill)} filled"

    def comments(self) -> list[str]:
        held = f"{counted(self.blocks, 'block')} on {counted(self.free, 'slot')}: {counted(self.waves, 'wave')}"
        fill = f"wave fill {part_of_all(self.wave_fill)}"
        if self.grid is not None:
            fill += f", tile fill {part_of_all(self.tile_fill)}, efficiency {part_of_all(self.efficiency)}"
        return [f"{held}, the last {part_of_all(self.tail_fill)} full", fill]

    def working(self) -> list[str]:
        """The count with its working.

        >>> from perfmodel import waves
        >>> waves(120, units=108).explain()
        waves(120, units=108): 2 waves, 56 % filled
          slots  108 units x 1 resident block = 108
          waves  ceil(120 / 108) = 2, exactly 1.111
          tail   12 blocks in the last wave: 11 % of the slots
          time   2 block times with the schedule "static"
          fill   120 / (2 * 108) = 56 %
        """
        one = "block" if self.resident == 1 else "blocks"
        blocks, free, fill = formula(self.blocks), formula(self.free), part_of_all(self.wave_fill)
        held = f" - {self.busy} held by other work" if self.busy else ""
        lines = [
            f"slots  {formula(self.units)}{held} units x {formula(self.resident)} resident {one} = {free}",
            f"waves  ceil({blocks} / {free}) = {formula(ceil_div(self.blocks, self.free))}, "
            f"exactly {number(self.waves_exact)}",
            f"tail   {formula(self.tail)} blocks in the last wave: {part_of_all(self.tail_fill)} of the slots",
            f'time   {number(self.time_blocks)} block times with the schedule "{self.schedule}"',
            f"fill   {blocks} / ({number(self.time_blocks)} * {free}) = {fill}",
        ]
        if self.grid is not None:
            useful = part_of_all(self.tile_fill)
            lines += [f"tiles  {useful} of the tiles is useful: {self.grid.made}"]
            lines += [f"both   {fill} * {useful} = {part_of_all(self.efficiency)}"]
        return lines


def waves(
    blocks: Any, units: Any = 108, resident: Any = 1, schedule: str = "static", *, busy: int = 0, steps: Any = None
) -> Waves:
    """How blocks of equal length fill the units of a chip, wave after wave.

    ``blocks`` is a count, a ``tile_grid``, or a program that ``tile`` has cut; ``units`` a count or a machine or
    its name; ``resident`` the blocks that one unit holds at once (``occupancy``); ``busy`` units are held by other
    work. The schedule is "static" (blocks dealt out beforehand; a persistent kernel whose workers find no unit runs
    them after the others), "dynamic" (a block goes to the slot that is free first, as a plain launch does) or
    "stream-k" (work in equal shares, of whole ``steps`` where it is said how many steps a block has; Osama et al.
    2023). With nothing else on the chip "static" and "dynamic" take ceil(blocks / slots) block times (NVIDIA,
    "Matrix Multiplication Background", wave quantization).

    >>> waves(98).waves, waves(120).waves, waves("b", units=108).waves
    (1, 2, ceiling(b/108))
    >>> [waves(1320, units=132, busy=16, schedule=name).time_blocks for name in ("static", "dynamic")]
    [20, 12]
    """
    grid = tile_grid(blocks) if isinstance(blocks, Program) else blocks
    found = grid.blocks if isinstance(grid, TileGrid) else grid
    word = chosen(schedule, (*SCHEDULES, "persistent"), "schedule", "waves").replace("persistent", "static")
    held, number_of_units = whole(busy, "busy", "waves", 0), _units(units)
    if is_concrete(number_of_units) and held >= number_of_units:
        raise DimensionError(f"waves: busy = {held} leaves none of the {number_of_units} units")
    if steps is not None and word != "stream-k":
        raise DimensionError(
            f"waves: steps = {brief(steps)} has a meaning with schedule='stream-k' alone, got {word!r}"
        )
    parts = None if steps is None else size(steps, "steps")
    kept = grid if isinstance(grid, TileGrid) else None
    return Waves(size(found, "blocks"), number_of_units, size(resident, "resident"), word, held, parts, kept)


def _units(units: Any) -> Size:
    if isinstance(units, Machine):
        if units.units is None:
            raise MachineError(f"waves: {units.name} does not say how many units it has; give units=")
        return size(units.units, "units")
    named = machine_meant(units) if isinstance(units, str) else None
    return size(units, "units") if named is None else _units(named)
