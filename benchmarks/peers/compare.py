"""Points a second of perfmodel and of its peers, in one run; the answer is written to results.md beside this file.

    python benchmarks/peers/compare.py [--environments FOLDER] [--rounds 5]

Each peer gets an environment of its own, made with venv and pip where FOLDER does not have it yet (minutes, and more
than 1 GB in all). Then all of them run at once, one waiting for the other: in each round each is asked once, and the
best round counts. Seconds are those that the process itself computed, so that a busy machine matters less. The tests
do not run this, and nothing is asserted: a time is no test.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import HERE, written

REPOSITORY = HERE.parents[1]
OWN = ("-e", f"{REPOSITORY}[table]")
NEEDS = {
    "perfmodel": OWN,
    "llm-analysis": ("llm-analysis==0.2.2", "transformers==4.31.0"),  # where pip ends, after trying tens of others
    "nvidia-matmul-heuristics": ("nvidia-matmul-heuristics==0.1.0.27",),
    "genz-llm": ("genz-llm==0.0.16",),
    "mlsysim": ("mlsysim==0.3.0",),
}


@dataclass(frozen=True)
class Question:
    """Who is asked, by which script with which arguments, and what a point is: a GEMM or a model."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    kind: str = "gemm"


QUESTIONS = [
    Question("perfmodel", "perfmodel_points.py", ("sweep",)),
    Question("perfmodel", "perfmodel_points.py", ("many",)),
    Question("perfmodel", "perfmodel_points.py", ("hand",), "hand"),
    Question("perfmodel", "perfmodel_points.py", ("model",), "model"),
    Question("nvidia-matmul-heuristics", "matmul_heuristics_points.py"),
    Question("nvidia-matmul-heuristics", "matmul_heuristics_points.py", ("kernel",)),
    Question("genz-llm", "genz_points.py"),
    Question("genz-llm", "genz_points.py", ("model",), "model"),
    Question("llm-analysis", "llm_analysis_points.py", (), "model"),
    Question("mlsysim", "mlsysim_points.py", (), "model"),
]


def environment(name: str, folder: Path) -> tuple[Path, str]:
    """The Python of an environment, made where it is not there yet, and pip's last words where that failed."""
    place, needs = folder / name, NEEDS[name]
    python, mark = place / "bin" / "python", place / "complete"
    if mark.exists() and mark.read_text() == "\n".join(needs):
        return python, ""
    print(f"installing {name} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return python, last_line(done.stderr)
    mark.write_text("\n".join(needs))
    return python, ""


def last_line(text: str) -> str:
    """The last line of some text that says something other than a warning."""
    said = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return said[-1] if said else "no message"


class Worker:
    """A script that waits in its environment, and answers each line that it is sent with one of JSON."""

    def __init__(self, question: Question, python: Path) -> None:
        self.question = question
        self.rounds: list[dict[str, Any]] = []
        self.error = ""
        command = [str(python), str(HERE / question.script), *question.arguments, "--wait"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=HERE
        )
        self.read()

    def read(self) -> dict[str, Any] | None:
        """The next line that is JSON; what a peer prints besides is passed over. None, and an error, at the end."""
        said = ""
        for line in self.process.stdout or ():
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
            said += line
        self.error = last_line(said)
        return None

    def ask(self) -> None:
        """One more round, unless the script has ended."""
        if self.error or self.process.stdin is None:
            return
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = self.read()
        if found is not None:
            self.rounds.append(found)
            name = " ".join([self.question.name, *self.question.arguments])
            print(f"  {name:<34} {found['points_per_s']:14,.0f} points a second", flush=True)

    def close(self) -> None:
        if self.process.stdin is not None and not self.error:
            self.process.stdin.close()
        self.process.wait()


def versions(pythons: dict[str, Path]) -> dict[str, str]:
    """The version of each, as its own environment has it."""
    ask = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    return {
        name: subprocess.run([str(python), "-c", ask, name], capture_output=True, text=True).stdout.strip()
        for name, python in pythons.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(tempfile.gettempdir()) / "perfmodel-peers"
    parser.add_argument("--environments", type=Path, default=default, help="where the environments are, or are made")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the best counts (default: 5)")
    given = parser.parse_args()
    made = {name: environment(name, given.environments) for name in NEEDS}
    failed = {name: error for name, (_, error) in made.items() if error}
    workers = [Worker(each, made[each.name][0]) for each in QUESTIONS if each.name not in failed]
    for place in range(given.rounds):
        print(f"round {place + 1} of {given.rounds}", flush=True)
        for worker in workers:
            worker.ask()
    for worker in workers:
        worker.close()
    known = versions({name: python for name, (python, error) in made.items() if not error})
    (HERE / "results.md").write_text(written(workers, failed, known, given.rounds))
    print(f"written to {(HERE / 'results.md').relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
