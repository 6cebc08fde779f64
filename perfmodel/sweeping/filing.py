"""``sweep_to``: a sweep larger than memory, as Parquet files in a folder, resumed where it was broken off.

Each block is a file of its own that appears whole or not at all; ``question.json`` says what was asked, and a folder
that answers another question is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.graph.programs import Program
from perfmodel.sweeping.progress import Progress
from perfmodel.sweeping.questions import Question
from perfmodel.sweeping.sweeper import BLOCK, question, run_spans

_ASKED = "question.json"


def sweep_to(
    folder: str | Path,
    subject: Program | Callable[..., Program],
    points: Any,
    on: Any = None,
    metrics: str | Iterable[str] | None = None,
    *,
    effects: Any = "real",
    protocol: Any = None,
    zipped: bool = False,
    executor: Any = None,
    progress: bool | None = None,
    block: int = BLOCK,
) -> Path:
    """What ``sweep`` returns, written to a folder of Parquet files that ``pandas.read_parquet`` reads as one table.

    Memory stays constant. A run that was killed goes on where it was: files that are there are whole, and are kept.
    ``PerfModelError`` where the folder holds the answer to another question, or a file that is not one of these.

    >>> import tempfile, pandas
    >>> from perfmodel import matmul
    >>> with tempfile.TemporaryDirectory() as place:
    ...     written = sweep_to(f"{place}/n", matmul("n", "n", "n"), {"n": range(1, 11)}, metrics="flops", block=4)
    ...     len(list(written.glob("*.parquet"))), int(pandas.read_parquet(written)["flops"].sum())
    (3, 6050)
    """
    asked = question(subject, points, on, metrics, effects, protocol, zipped)
    place = Path(folder)
    _claim(place, asked, block)
    spans = -(-len(asked.points) // block)
    missing = [number for number in range(spans) if not _file(place, number, spans).exists()]
    shown = Progress(len(asked), progress)
    shown.add((spans - len(missing)) * block * max(1, len(asked.machines)))
    for number, part in zip(missing, _parts(asked, missing, block, executor, shown), strict=True):
        _write(part, _file(place, number, spans))
    return place


def _parts(asked: Question, missing: list[int], block: int, executor: Any, shown: Progress) -> Any:
    """The answers of the blocks that are missing."""
    last = len(asked.points)
    spans = [(number * block, min((number + 1) * block, last)) for number in missing]
    return run_spans(asked, spans, executor, shown)


def _file(place: Path, number: int, count: int) -> Path:
    width = max(5, len(str(count)))
    return place / f"part-{number:0{width}}.parquet"


def _claim(place: Path, asked: Question, block: int) -> None:
    """Make the folder, or see that it holds the answers to this very question; what is half written goes."""
    said = {"points": len(asked), "block": block, "digest": _digest(asked, block)}
    place.mkdir(parents=True, exist_ok=True)
    note = place / _ASKED
    if note.exists():
        try:
            found = json.loads(note.read_text())
        except ValueError:
            found = None
        if found != said:
            raise PerfModelError(f"sweep_to: {str(place)!r} holds the answer to another question; take another folder")
    elif any(place.iterdir()):
        raise PerfModelError(f"sweep_to: {str(place)!r} is not empty and holds no {_ASKED}; take another folder")
    else:
        _whole(note, json.dumps(said).encode())
    for partial in place.glob(".*.partial"):
        partial.unlink(missing_ok=True)


def _digest(asked: Question, block: int) -> str:
    return hashlib.sha256(pickle.dumps((asked, block))).hexdigest()


def _whole(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)


def _write(part: dict[str, Any], path: Path) -> None:
    import pandas

    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        pandas.DataFrame(part).to_parquet(partial, index=False)
        partial.replace(path)
    except ImportError:
        raise PerfModelError("sweep_to: Parquet files need pyarrow: pip install 'perfmodel[parquet]'") from None
    finally:
        partial.unlink(missing_ok=True)
