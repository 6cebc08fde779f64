"""CONTRIBUTING followed literally: its diffs are applied to a copy, as by a newcomer, and what they add works there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
DIFFS = re.findall(r"^```diff\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SHEET = re.search(r'sheet = """\n(.*?)"""', PAGE, flags=re.DOTALL)


def apply(diff: str, folder: Path) -> list[str]:
    """Do what a diff says in a folder; the files that it names. Each hunk has to stand once in its file."""
    files = re.split(r"^--- .*\n\+\+\+ (.*)\n", diff, flags=re.MULTILINE)
    assert files[0] == ""
    for name, body in zip(files[1::2], files[2::2], strict=True):
        path = folder / name
        text = path.read_text() if path.exists() else ""
        for hunk in [each for each in re.split(r"^@@.*\n", body, flags=re.MULTILINE) if each]:
            lines = hunk.splitlines()
            before, after = ("\n".join([line[1:] for line in lines if line[0] in kept]) for kept in (" -", " +"))
            assert text.count(before) == 1 or not text, f"{before!r} stands {text.count(before)} times in {name}"
            text = text.replace(before, after) if text else after + "\n"
        path.write_text(text)
    return files[1::2]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which the page was followed."""
    folder: Path = tmp_path_factory.mktemp("checkout")
    for part in ("perfmodel", "hardware", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    changed = {name for diff in DIFFS for name in apply(diff, folder)}
    assert {name.split("/")[1] for name in changed} >= {"effects", "descriptors", "transforms", "graph", "simulation"}
    assert SHEET is not None
    (folder / "hardware" / "mine-1.toml").write_text(SHEET[1].replace("\n... ", "\n").removeprefix("... "))
    return folder


SCRIPTS = {
    "an effect": """
for program, cost in ((pm.gemv(16384, 16384), 1.08), (pm.matmul(4096, 4096, 4096), 1.001)):
    full, less = (pm.estimate(program, "h100-sxm", without=each) for each in ((), "refresh"))
    assert round(full.time_s / less.time_s, 3) == cost, full.time_s / less.time_s
    assert "refresh" in dict(full.steps) and "refresh" not in dict(less.steps)
    assert pm.estimate(program, "h100-sxm", effects="ideal").steps[0][0] == "roofline"
many = pm.estimate_many(pm.gemv("n", 16384), "h100-sxm", {"n": [64, 16384]})
assert abs(many.time_s[1] / pm.estimate(pm.gemv(16384, 16384), "h100-sxm").time_s - 1) < 1e-9
assert "memory answers nothing while it refreshes" in pm.estimate(pm.gemv(16384, 16384), "h100-sxm").explain()
""",
    "an op": """
p = pm.squared_relu_mlp("t", 128, 512)
assert p.macs == 2 * pm.dims("t") * 128 * 512
assert pm.check(pm.tile(pm.fuse(p), t=16))
""",
    "an elementary function": """
p = pm.elementwise("atan(x)", 64)
assert p.flops_by_unit["special"] == 64
assert pm.check(p) and pm.check(pm.grad(p))
""",
    "a transform": """
x, y = pm.tensor("x", {"i": "n"}), pm.tensor("y", {"i": "n"})
pair = pm.program(pm.exp(x).named("a"), pm.tanh(y).named("b"), name="pair")
assert pm.check(pm.reverse(pair))
assert pm.describe("reverse(matmul(8, 8, 8))").history[-1] == "reverse()"
import sys; sys.path.insert(0, "tests")
import moves
assert "reverse" in moves.MOVES and "need each other's results" in moves.RULES
""",
    "a chip": """
assert pm.machine("mine-1").ridge("bf16") == 200
assert "mine-1" in pm.machines()
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_the_page_adds_works(checkout: Path, name: str) -> None:
    """The effect, the op, the function, the transform and the chip of the page, added as it says."""
    script = f"import perfmodel as pm\n{SCRIPTS[name]}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, env={"PYTHONPATH": str(checkout)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_examples_of_what_the_page_changes_hold(checkout: Path) -> None:
    """The doctests of the new modules, and of those that they are part of, run in the copy."""
    modules = ["effects/refresh.py", "effects/stack.py", "descriptors/squared.py", "transforms/reversing.py",
               "graph/functions.py", "estimation/working.py"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules",
         *[f"perfmodel/{each}" for each in modules]],
        cwd=checkout, env={"PYTHONPATH": str(checkout)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
