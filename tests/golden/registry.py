"""Which function answers which case: ids, or patterns such as "o-tpu1-*LP*", to functions of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

Inputs = Mapping[str, Any]
Answer = Callable[[Inputs], dict[str, Any]]

ANSWERS: dict[str, Answer] = {}


def answers(*patterns: str) -> Callable[[Answer], Answer]:
    """Register a function for the cases whose id is, or matches, one of the patterns."""

    def register(function: Answer) -> Answer:
        for pattern in patterns:
            known = ANSWERS.setdefault(pattern, function)
            if known.__qualname__ != function.__qualname__:
                raise ValueError(f"{pattern!r} is answered by {known.__qualname__} and by {function.__qualname__}")
        return function

    return register


def load_answers() -> dict[str, Answer]:
    """Every pattern with its function, once all ``answers_*`` modules are imported."""
    for path in sorted(Path(__file__).parent.glob("answers_*.py")):
        import_module(f"{__package__}.{path.stem}")
    return ANSWERS


def patterns_of(case_id: str) -> list[str]:
    """The patterns that a case's id matches: one, or none for a case without an answer."""
    return [pattern for pattern in load_answers() if fnmatchcase(case_id, pattern)]


def answer_of(case_id: str) -> Answer | None:
    """The function that answers a case, or None."""
    found = patterns_of(case_id)
    if len(found) > 1:
        raise ValueError(f"{case_id}: answered by {len(found)} functions: {found}")
    return ANSWERS[found[0]] if found else None
