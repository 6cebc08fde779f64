"""What is shipped: the built wheel, installed in a fresh environment outside the checkout, does the library's job."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
WHEELS = Path(sys.prefix) / "wheels"  # where `make` leaves what the lock names; elsewhere pip asks its registry

# Run by the fresh environment's own Python, in a folder that holds nothing else.
USE_IT = """
import importlib.util, pathlib, sys
import perfmodel

assert pathlib.Path(perfmodel.__file__).is_relative_to(sys.prefix), perfmodel.__file__
for name in ("tests", "examples", "benchmarks", "hardware"):
    assert importlib.util.find_spec(name) is None, name
assert perfmodel.machine("h100-sxm").bandwidth_bytes_per_s > 0
time_s = perfmodel.estimate(perfmodel.matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").time_s
assert time_s > 0, time_s
print(perfmodel.__version__)
"""

one_worker = pytest.mark.xdist_group("packaging")  # the fixtures below are built once


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that succeeds, run where neither the checkout nor a PYTHONPATH can help it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def contents(wheel: Path) -> dict[str, bytes]:
    """Every file in a wheel, by its path there."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel_from_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the sdist, which `build` unpacks somewhere else."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment that holds the wheel and what it declares that it needs."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    source = ["--no-index", "--find-links", WHEELS] if WHEELS.is_dir() else []
    run(programs / "python", "-m", "pip", "install", "--quiet", *source, wheel, cwd=folder)
    return programs


@one_worker
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """All lies in perfmodel/ or in the wheel's metadata; every module is there, and py.typed, and the licence."""
    files = set(contents(wheel))
    about = f"perfmodel-{PROJECT['version']}.dist-info/"
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "perfmodel").rglob("*.py")}
    assert modules | {"perfmodel/py.typed", about + "licenses/LICENSE"} <= files
    assert {name for name in files if not name.startswith(("perfmodel/", about))} == set()


@one_worker
def test_the_wheel_holds_every_chip(wheel: Path) -> None:
    """hardware/*.toml is shipped as perfmodel/hardware, file for file and byte for byte."""
    shipped = {name: text for name, text in contents(wheel).items() if name.endswith(".toml")}
    chips = {f"perfmodel/hardware/{path.name}": path.read_bytes() for path in (ROOT / "hardware").glob("*.toml")}
    assert chips
    assert shipped == chips


@one_worker
def test_the_sdist_builds_the_same_wheel(wheel: Path, wheel_from_sdist: Path) -> None:
    """A wheel built from the sdist has the files of the one built from the checkout, with the same contents."""
    ours, theirs = contents(wheel), contents(wheel_from_sdist)
    assert theirs.keys() == ours.keys()
    assert {name for name in ours if theirs[name] != ours[name]} == set()


@one_worker
def test_the_installed_wheel_estimates_a_matmul(fresh: Path, tmp_path: Path) -> None:
    """Installed elsewhere, perfmodel is imported from there, loads a chip, estimates, and knows its version."""
    script = tmp_path / "use_it.py"
    script.write_text(USE_IT)
    assert run(fresh / "python", script, cwd=tmp_path).split() == [PROJECT["version"]]


@one_worker
def test_the_installed_command_lists_the_machines(fresh: Path, tmp_path: Path) -> None:
    """`perfmodel machines` runs from the shell and names a chip that the wheel brought along."""
    assert "h100-sxm" in run(fresh / "perfmodel", "machines", cwd=tmp_path)


def test_the_lock_pins_every_package_by_version_and_hash() -> None:
    """Each entry of requirements.lock is one exact version with at least one hash."""
    entries = re.split(r"\n(?=[A-Za-z])", re.sub(r"(?m)^\s*#.*\n", "", LOCK))
    loose = [entry for entry in entries if not re.match(r"[\w.-]+==\S+[^\n]*\\\n\s+--hash=sha256:[0-9a-f]{64}", entry)]
    assert len(entries) > len(PROJECT["dependencies"])
    assert loose == []


def test_the_lock_names_no_registry() -> None:
    """The lock serves whichever registry a machine is set up for: no URL, no option that chooses one."""
    assert re.findall(r"\S*(?:://|--index-url|--extra-index-url|--find-links)\S*", LOCK) == []
