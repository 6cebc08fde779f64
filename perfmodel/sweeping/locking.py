"""One run at a time writes a folder: a lock on a file beside it, which the system lifts where a run is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfmodel.errors import PerfModelError


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Hold ``place.lock`` for as long; ``PerfModelError`` where another run holds it. Without locks it goes on.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with alone(Path(folder) / "n"):
    ...         [each.name for each in Path(folder).iterdir()]
    ['n.lock']
    """
    path = place.with_name(f"{place.name}.lock")
    with path.open("w") as held:
        if not _locked(held.fileno(), path):
            raise PerfModelError(
                f"sweep_to: another run is writing {str(place)!r}; wait for it, or take another folder"
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(number: int, path: Path) -> bool:
    """Whether the file is now locked, and still the one of that name; True where the system knows no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return path.exists() and path.stat().st_ino == os.fstat(number).st_ino
