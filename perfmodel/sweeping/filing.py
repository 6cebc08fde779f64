"""``sweep_to``: a sweep larger than memory, as Parquet files in a folder, resumed where it was broken off.

Until all is there, the files stand in a folder beside it, ``NAME.partial``, each whole or not at all, with a
``_question.json`` that says what was asked. The folder itself appears at the end, so that what can be read is the
whole answer.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfmodel.errors import PerfModelError, brief
from perfmodel.graph.programs import Program
from perfmodel.sweeping.digests import NoIdentity, digest
from perfmodel.sweeping.locking import alone
from perfmodel.sweeping.progress import Progress
from perfmodel.sweeping.questions import Question
from perfmodel.sweeping.sweeper import BLOCK, checked_block, question, run_spans

ASKED = "_question.json"  # readers of tables pass over names that begin so
_NEEDS = "sweep_to: Parquet files need pyarrow: pip install 'perfmodel[parquet]'"


def sweep_to(
    folder: str | Path,
    subject: Program | Callable[..., Program],
    points: Any,
    on: Any = None,
    metrics: str | Iterable[str] | None = None,
    *,
    effects: Any = "real",
    protocol: Any = None,
    tile: Any = None,
    schedule: str = "static",
    zipped: bool = False,
    executor: Any = None,
    progress: bool | None = None,
    block: int = BLOCK,
) -> Path:
    """What ``sweep`` returns, written to a folder of Parquet files that ``pandas.read_parquet`` reads as one table.

    Memory stays constant. A run that was killed goes on where it was when it is called again, without loss or
    repetition; the folder appears when all is in it. Until then there is ``NAME.partial``, of one run at a time,
    which readers of tables would take for one, though it is not whole. Rows stand in the order of ``sweep``, whatever
    ``block`` is.
    A function is another one where its code changes, or what it closes over or names in modules of your own; an
    object, where what would be pickled of it does. With one that cannot be told from others (it holds an open file) a
    folder that exists is refused. ``PerfModelError`` where the folder holds the answer to another question, or files
    that are none of these; and where the disk is full.

    >>> import tempfile, pandas
    >>> from perfmodel import matmul
    >>> with tempfile.TemporaryDirectory() as place:
    ...     written = sweep_to(f"{place}/n", matmul("n", "n", "n"), {"n": range(1, 11)}, metrics="flops", block=4)
    ...     len(list(written.glob("*.parquet"))), int(pandas.read_parquet(written)["flops"].sum())
    (3, 6050)
    """
    place = _place(folder)
    asked = question(subject, points, on, metrics, effects, protocol, tile, zipped, schedule)
    said = _said(asked, checked_block(block))
    spans = [(start, min(start + block, len(asked.points))) for start in range(0, len(asked.points), block)]
    parts = _parts(spans, max(1, len(asked.machines)))
    partial = place.with_name(f"{place.name}.partial")
    try:
        if _is_answered(place, said, parts):
            return place
        place.parent.mkdir(parents=True, exist_ok=True)
        with alone(partial):
            if _is_answered(place, said, parts):  # by a run that has just ended
                return place
            _claim(partial, said)
            _fill(partial, asked, spans, parts, executor, progress)
            if place.exists():  # an empty folder
                place.rmdir()
            partial.rename(place)
    except OSError as error:
        kept = f"what is whole is kept in {partial}: call again to go on" if partial.exists() else "nothing is written"
        raise PerfModelError(f"sweep_to: {error}; {kept}") from error
    return place


def _place(folder: Any) -> Path:
    if not isinstance(folder, (str, Path)) or Path(folder).name in ("", "..") or "\0" in str(folder):
        raise PerfModelError(f"sweep_to: {brief(folder)} is no folder; expected a path that ends in a name")
    return Path(folder)


def _parts(spans: list[tuple[int, int]], each: int) -> dict[str, int]:
    """The names of the files, with how many rows each has: one for each point and machine."""
    digits = max(5, len(str(len(spans))))
    return {f"part-{number:0{digits}}.parquet": (stop - start) * each for number, (start, stop) in enumerate(spans)}


def _said(asked: Question, block: int) -> dict[str, Any]:
    """What tells the question from others; why it cannot be told, where it holds an object without a state to see."""
    told = replace(asked, points=asked.points.canonical)
    try:
        return {"rows": len(asked), "block": block, "digest": digest((told, block))}
    except NoIdentity as why:
        return {"rows": len(asked), "block": block, "unknown": str(why)}


def _fill(
    place: Path,
    asked: Question,
    spans: list[tuple[int, int]],
    parts: dict[str, int],
    executor: Any,
    progress: bool | None,
) -> None:
    """Write the blocks that are missing or damaged."""
    missing = [number for number, (name, rows) in enumerate(parts.items()) if not _is_whole(place / name, rows)]
    names, sizes = list(parts), list(parts.values())
    shown = Progress(len(asked), progress)
    shown.add(len(asked) - sum([sizes[each] for each in missing]))
    answers = run_spans(asked, [spans[each] for each in missing], executor, shown)
    for number, part in zip(missing, answers, strict=True):
        _write(asked.frame(part), place / names[number])


def _is_whole(path: Path, rows: int) -> bool:
    """Whether a file is there and says, at its end, that it has so many rows."""
    if not path.exists():
        return False
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise PerfModelError(_NEEDS) from None
    try:
        return bool(parquet.read_metadata(path).num_rows == rows)
    except (ValueError, OSError):  # pyarrow's errors are among them
        return False


def _is_answered(place: Path, said: dict[str, Any], parts: dict[str, int]) -> bool:
    """Whether the folder holds the answer; ``PerfModelError`` where it holds something else, or not all of it."""
    if place.exists() and not place.is_dir():
        raise PerfModelError(f"sweep_to: {str(place)!r} is a file; expected a folder, or a name for one")
    if not place.exists() or not any(place.iterdir()):
        return False
    _check(place, said)
    bad = [name for name, rows in parts.items() if not _is_whole(place / name, rows)]
    if bad:
        what = "damaged" if (place / bad[0]).exists() else "missing"
        more = f" ({len(bad)} files in all)" if len(bad) > 1 else ""
        raise PerfModelError(
            f"sweep_to: in {str(place)!r} {bad[0]} is {what}{more}; remove the folder, or rename it to "
            f"{place.name}.partial to have that written again"
        )
    return True


def _check(place: Path, said: dict[str, Any]) -> None:
    note = place / ASKED
    if "unknown" in said and note.exists():
        raise PerfModelError(
            f"sweep_to: {str(place)!r} is there, and whether it answers this question cannot be told, which holds what "
            f"has no state to see ({said['unknown']}); take another folder, or remove it"
        )
    if not note.exists():
        raise PerfModelError(f"sweep_to: {str(place)!r} is not empty and holds no {ASKED}; take another folder")
    try:
        found = json.loads(note.read_text())
    except ValueError:
        found = None
    if found != said:
        raise PerfModelError(
            f"sweep_to: {str(place)!r} holds the answer to another question; take another folder, or remove it"
        )


def _claim(place: Path, said: dict[str, Any]) -> None:
    """Make the folder of what is not finished, or see that it is of this very question; what is half written goes."""
    place.mkdir(parents=True, exist_ok=True)
    for half in place.glob(".*.half"):
        half.unlink(missing_ok=True)
    if any(place.iterdir()):
        _check(place, said)
    else:
        _whole(place / ASKED, lambda half: half.write_text(json.dumps(said)))


def _whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file that appears whole or not at all."""
    half = path.with_name(f".{path.name}.{os.getpid()}.half")
    try:
        write(half)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _write(frame: Any, path: Path) -> None:
    try:
        _whole(path, lambda half: frame.to_parquet(half, index=False))
    except ImportError:
        raise PerfModelError(_NEEDS) from None
