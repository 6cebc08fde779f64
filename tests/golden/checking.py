"""Reading cases, answering them, and comparing what comes out with what is right."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden.registry import answer_of

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Verdict:
    """What became of one case: "correct", "wrong" or "unanswered", and why."""

    case_id: str
    status: str
    reasons: tuple[str, ...] = ()
    features: tuple[str, ...] = field(default=())


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The cases of a file: {"cases": [...]} or a bare list."""
    found = json.loads(path.read_text())
    cases = found["cases"] if isinstance(found, dict) else found
    return [case for case in cases if isinstance(case, dict)]


def expected_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The values that a case expects, under either of the two names that files use."""
    values: list[dict[str, Any]] = case["expected"] if "expected" in case else case["answer"]
    return values


def agrees(got: Any, wanted: dict[str, Any]) -> bool:
    """Whether a value is within the case's relative tolerance; none or 0 means equal."""
    value, tolerance = wanted["value"], wanted.get("rel_tol") or 0
    if isinstance(value, bool | str) or not tolerance:
        return bool(got == value)
    return bool(abs(float(got) - value) <= tolerance * abs(value))


def differences(got: dict[str, Any], case: dict[str, Any]) -> tuple[str, ...]:
    """What an answer has wrong, a line for each value."""
    found = []
    for wanted in expected_of(case):
        name = wanted["name"]
        if name not in got:
            found.append(f"{name}: no value")
        elif not agrees(got[name], wanted):
            found.append(f"{name}: {got[name]!r}, expected {wanted['value']!r} {wanted.get('unit', '')}".rstrip())
    return tuple(found)


def judge(case: dict[str, Any], reasons: dict[str, str]) -> Verdict:
    """Answer one case and compare; an answer that raises is wrong."""
    features = tuple(case.get("features") or case.get("capabilities") or ())
    answer = answer_of(case["id"])
    if answer is None:
        why = reasons.get(case["id"], "no answer is registered for this id")
        return Verdict(case["id"], "unanswered", (why,), features)
    try:
        wrong = differences(answer(case.get("inputs") or {}), case)
    except Exception as error:  # whatever goes wrong in an answer is this case's failure, not the run's
        wrong = (f"{type(error).__name__}: {error}",)
    return Verdict(case["id"], "wrong" if wrong else "correct", wrong, features)


def known_reasons() -> dict[str, str]:
    """Why cases are not answered yet, by id."""
    found = json.loads((HERE / "unanswered.json").read_text())
    return {case_id: reason for reason, ids in found.items() for case_id in ids}
