"""A line that says how far long work is, on the terminal of a person who waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

_FIRST_AFTER_S = 1.0  # work that is done sooner shows nothing
_EVERY_S = 0.2


class Progress:
    """Counts what is done of a total, and shows it: never, always, or (None) after a second on a terminal.

    >>> shown = Progress(100, show=False)
    >>> shown.add(50)
    >>> shown.done
    50
    """

    def __init__(self, total: int, show: bool | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        stream: Any = sys.stderr
        self.total, self.done = total, 0
        self._shown = (stream is not None and stream.isatty()) if show is None else show
        self._clock, self._start = clock, clock()
        self._next = self._start + (0.0 if show else _FIRST_AFTER_S)
        self._written = False

    def add(self, number: int) -> None:
        """Note that so many more are done.

        >>> Progress(2, show=False).add(1)
        """
        self.done += number
        now = self._clock()
        if self._shown and (now >= self._next or (self._written and self.done >= self.total)):
            self._next = now + _EVERY_S
            self._write(now)

    def _write(self, now: float) -> None:
        spent = now - self._start
        left = spent * (self.total - self.done) / self.done if self.done else 0.0
        share = self.done / self.total if self.total else 1.0
        bar = "#" * int(30 * share)
        end = "\n" if self.done >= self.total else ""
        text = f"\r{bar:<30} {share:4.0%} {self.done} of {self.total} points, {left:.0f} s left "
        print(text, end=end, file=sys.stderr, flush=True)
        self._written = True
