"""Hiding latency: the threads that keep a core busy while others wait, and what has to be in flight for a rate.

pm.latency_hiding(latency_cycles=12, work_cycles=3)              5 threads
pm.littles_law("h100-sxm", latency_s=600e-9)                     2 MB in flight
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from os import PathLike
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.catalogue.parts import quantity
from perfmodel.errors import DimensionError, brief
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.sharing import said
from perfmodel.mechanisms.wording import Verbatim, call, counted
from perfmodel.showing import percent, quantity as written

_MOST = 10**12


def latency_hiding(latency_cycles: int, work_cycles: int = 1, *, schedulers: int = 1) -> LatencyHiding:
    """How many threads (warps, on a GPU) keep a core issuing all the time, when each works and then waits.

    A thread issues ``work_cycles`` instructions, one a cycle, and waits ``latency_cycles`` for what it asked for;
    meanwhile others issue. ``schedulers`` issue side by side, each from threads of its own.
    ``DimensionError`` for what is no count.

    >>> latency_hiding(12, work_cycles=3)
    latency_hiding(12, work_cycles=3)
    # 5 threads hide it: 1 works while 4 wait
    >>> latency_hiding(12, work_cycles=6).threads
    3
    """
    return LatencyHiding(
        whole(latency_cycles, "latency_cycles", "latency_hiding", 0, _MOST),
        whole(work_cycles, "work_cycles", "latency_hiding", 1, _MOST),
        whole(schedulers, "schedulers", "latency_hiding", 1, 10**6),
    )


@dataclass(frozen=True, slots=True, repr=False)
class LatencyHiding(Answer):
    """The threads that hide a latency.

    >>> latency_hiding(400, work_cycles=20).threads == 1 + 400 // 20
    True
    """

    latency_cycles: int
    work_cycles: int
    schedulers: int

    @property
    def threads(self) -> int:
        """The threads needed: one that works, and as many as work while it waits; for each scheduler.

        >>> latency_hiding(12, work_cycles=3).threads == 1 + 12 // 3
        True
        """
        return self.schedulers * (1 + -(-self.latency_cycles // self.work_cycles))

    def busy_fraction(self, threads: int) -> float:
        """The share of cycles in which something is issued, with so many threads, spread evenly over schedulers.

        >>> latency_hiding(12, work_cycles=3).busy_fraction(1) == 3 / 15
        True
        """
        count = whole(threads, "threads", "busy_fraction", 1, _MOST)
        each, more = divmod(count, self.schedulers)
        cycle = self.work_cycles + self.latency_cycles
        shares = ((each + 1, more), (each, self.schedulers - more))
        return sum(many * min(cycle, here * self.work_cycles) for here, many in shares) / (cycle * self.schedulers)

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> latency_hiding(12).made
        'latency_hiding(12)'
        """
        given = {"work_cycles": self.work_cycles, "schedulers": self.schedulers}
        return call("latency_hiding", str(self.latency_cycles), given, {"work_cycles": 1, "schedulers": 1})

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> latency_hiding(0).comments()
        ['1 thread hides it: there is nothing to wait for']
        """
        if not self.latency_cycles:
            return [f"{counted(self.threads, 'thread')} hides it: there is nothing to wait for"]
        each = self.threads // self.schedulers
        side = f" on each of {self.schedulers} schedulers" if self.schedulers > 1 else ""
        return [f"{counted(self.threads, 'thread')} hide it: 1 works while {each - 1:,} wait{side}"]

    def working(self) -> list[str]:
        """How the threads follow.

        >>> for line in latency_hiding(12, work_cycles=3).working():
        ...     print(line)
        one thread  3 cycles of work, 12 of waiting: busy 20 % of the time
        threads     1 + ceil(12 / 3) = 5
        """
        alone = percent(self.work_cycles / (self.work_cycles + self.latency_cycles))
        times = f"{self.schedulers} schedulers x " if self.schedulers > 1 else ""
        total = (
            f"{times}(1 + ceil({self.latency_cycles} / {self.work_cycles}))"
            if times
            else (f"1 + ceil({self.latency_cycles} / {self.work_cycles})")
        )
        return [
            f"one thread  {self.work_cycles:,} cycles of work, {self.latency_cycles:,} of waiting: busy {alone} of the "
            "time",
            f"threads     {total} = {self.threads:,}",
        ]


def busy_cycles(latency_cycles: int, work_cycles: int, threads: int, rounds: int) -> tuple[int, int]:
    """One scheduler run cycle by cycle: how many cycles, after every thread has worked once, and how many were busy.

    Each cycle the first thread in line that does not wait issues one instruction; after its last it waits. After the
    time of one thread's work and waiting, or of all threads' work where that is longer, the pattern repeats.

    >>> busy_cycles(12, 3, threads=1, rounds=4) == (4 * (3 + 12), 4 * 3)
    True
    """
    period = max(work_cycles + latency_cycles, work_cycles * threads)
    ready, left, first, busy = [0] * threads, [work_cycles] * threads, 0, 0
    for cycle in range(period * (rounds + 1)):
        line = [*range(first, threads), *range(first)]
        running = next((each for each in line if ready[each] <= cycle), None)
        if running is None:
            continue
        busy += cycle >= period
        left[running] -= 1
        first = running
        if not left[running]:
            left[running], ready[running], first = work_cycles, cycle + 1 + latency_cycles, (running + 1) % threads
    return period * rounds, busy


def littles_law(machine_or_rate: Any, latency_s: float, *, request_bytes: int = 128) -> InFlight:
    """What has to be in flight for a bandwidth to be reached: bandwidth x latency (Little 1961).

    The first argument is a machine or its name, whose memory bandwidth is meant, or bytes a second; ``latency_s``
    is that of one request in seconds, ``request_bytes`` its size. ``MachineError`` for what is no rate or time.

    >>> littles_law(2e12, latency_s=500e-9)
    littles_law(2000000000000, 5e-07)
    # 1 MB in flight: 7,813 requests of 128 B
    """
    units = None
    if isinstance(machine_or_rate, str | Machine | PathLike):
        found = machine(machine_or_rate)
        rate, on = found.bandwidth_bytes_per_s, said(found)
        units = found.units if isinstance(found.units, int) else None
    else:
        rate = _positive(machine_or_rate, "bandwidth_bytes_per_s", "littles_law")
        on = Verbatim(brief(rate))
    if not isinstance(rate, int | float):
        raise DimensionError(f"littles_law: the bandwidth of {on} is a formula; give it a value")
    seconds = _positive(latency_s, "latency_s", "littles_law")
    return InFlight(on, rate, seconds, whole(request_bytes, "request_bytes", "littles_law"), units)


def _positive(value: Any, name: str, verb: str) -> int | float:
    found = quantity(value, name, verb)
    if not isinstance(found, int | float):
        raise DimensionError(f"{verb}: {name} = {brief(value)}: expected a positive number, not a formula")
    return found


@dataclass(frozen=True, slots=True, repr=False)
class InFlight(Answer):
    """What has to be in flight at once.

    >>> littles_law(2e12, 500e-9).bytes_in_flight == 2e12 * 500e-9
    True
    """

    on: str
    bandwidth_bytes_per_s: float
    latency_s: float
    request_bytes: int
    units: int | None

    @property
    def bytes_in_flight(self) -> float:
        """Bytes that are asked for and not there yet.

        >>> littles_law(2e12, 500e-9).bytes_in_flight
        1000000.0
        """
        return self.bandwidth_bytes_per_s * self.latency_s

    @property
    def requests(self) -> int:
        """Requests in flight, whole ones.

        >>> littles_law(1.28e9, 1e-6).requests
        10
        """
        return ceil(self.bytes_in_flight / self.request_bytes * (1 - 1e-12))

    @property
    def bytes_per_unit(self) -> float | None:
        """What each unit of the chip has to have in flight; None where the units are not known.

        >>> littles_law(1e12, 1e-6).bytes_per_unit is None
        True
        """
        return None if self.units is None else self.bytes_in_flight / self.units

    def bandwidth_with(self, bytes_in_flight: float) -> float:
        """The bandwidth that so many bytes in flight reach: no more than there is.

        >>> littles_law(2e12, 500e-9).bandwidth_with(5e5)
        1000000000000.0
        """
        held = _positive(bytes_in_flight, "bytes_in_flight", "bandwidth_with")
        return min(self.bandwidth_bytes_per_s, held / self.latency_s)

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> littles_law(2e12, 1e-6, request_bytes=32).made
        'littles_law(2000000000000, 1e-06, request_bytes=32)'
        """
        first = f"{self.on!r}, {self.latency_s!r}"
        return call("littles_law", first, {"request_bytes": self.request_bytes}, {"request_bytes": 128})

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> littles_law("h100-sxm", 600e-9).comments()[1]
        '15.24 kB for each of 132 units'
        """
        lines = [
            f"{written(self.bytes_in_flight, 'B')} in flight: {counted(self.requests, 'request')} of "
            f"{self.request_bytes} B"
        ]
        if self.bytes_per_unit is not None:
            lines.append(f"{written(self.bytes_per_unit, 'B')} for each of {self.units} units")
        return lines
