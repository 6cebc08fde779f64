"""The command ``perfmodel``: runs one command and prints what it found, or one line that says what is wrong."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from perfmodel.cli.options import parser
from perfmodel.errors import PerfModelError

BAD_INPUT = 2
CLOSED_PIPE = 128 + 13  # as the shell reports a program that SIGPIPE ended
INTERRUPTED = 128 + 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of these arguments (``sys.argv`` unless given) and return its exit code.

    0 for an answer on standard output; 2 for bad input, with one line on standard error.

    >>> main(["estimate", "matmul(8, 8192)", "--on", "h100-sxm"])
    2
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter shows its code
    try:
        code = _run(argv)
        print(end="", flush=True)
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try to flush it again
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (PerfModelError, OSError) as error:
        print(f"perfmodel: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT


def _run(argv: Sequence[str] | None) -> int:
    try:
        print(_answer(argv))
    except SystemExit as done:  # argparse, after --help and --version
        return int(done.code or 0)
    return 0


def _answer(argv: Sequence[str] | None) -> str:
    """What the command found: the text for a person, or one JSON document."""
    options = parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as Python's own remarks on odd text
        found = options.run(options)
        if hasattr(found, "explain"):
            found = found.to_dict() if options.json else found.explain()
    return as_json(found) if options.json else str(found)


def as_json(found: Any) -> str:
    """One JSON document of plain data; what JSON has no number for (an infinity) is null.

    >>> as_json({"time_s": 0.5, "ratio": float("inf")}).split()
    ['{', '"time_s":', '0.5,', '"ratio":', 'null', '}']
    """
    return json.dumps(_finite(found), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value
