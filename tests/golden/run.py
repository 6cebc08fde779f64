"""Answer golden cases and say how many are right: ``python tests/golden/run.py [--golden DIR]``.

DIR holds JSON files of cases (id, inputs, expected). Without it the repository's own cases are answered.
The exit code is 1 where an answer is wrong, 2 where DIR holds no cases.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from golden.checking import Verdict, judge, known_reasons, read_cases  # noqa: E402  # found by the line above


def lines(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """The report on one file: wrong answers in detail, then the unanswered by reason, then by feature."""
    by_reason: dict[str, list[str]] = {}
    by_feature: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.status == "wrong":
            yield f"  WRONG {verdict.case_id}"
            yield from (f"    {reason}" for reason in verdict.reasons)
        elif verdict.status == "unanswered":
            by_reason.setdefault(verdict.reasons[0], []).append(verdict.case_id)
            for feature in verdict.features:
                by_feature.setdefault(feature, []).append(verdict.case_id)
    for reason, ids in sorted(by_reason.items()):
        yield f"  unanswered, {reason} ({len(ids)}): {', '.join(ids)}"
    if by_feature:
        counts = sorted(by_feature.items(), key=lambda item: (-len(item[1]), item[0]))
        yield "  unanswered by feature: " + ", ".join(f"{name} {len(ids)}" for name, ids in counts)


def main(arguments: list[str] | None = None) -> int:
    """Run from the shell."""
    parser = argparse.ArgumentParser(prog="golden", description=__doc__.splitlines()[0])
    parser.add_argument("--golden", type=Path, metavar="DIR", help="a directory of case files (default: our own)")
    folder = parser.parse_args(arguments).golden
    paths = sorted(HERE.glob("cases_*.json")) if folder is None else sorted(folder.glob("*.json"))
    reasons = known_reasons()
    wrong = 0
    for path in paths:
        verdicts = [judge(case, reasons) for case in read_cases(path)]
        counts = {status: sum(v.status == status for v in verdicts) for status in ("correct", "wrong", "unanswered")}
        answered = counts["correct"] + counts["wrong"]
        print(f"{path.name}: {answered} answered, {counts['correct']} correct, of {len(verdicts)}")
        for line in lines(verdicts):
            print(line)
        wrong += counts["wrong"]
    if not paths:
        print(f"golden: no case files (*.json) in {folder}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
