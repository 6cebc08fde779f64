"""sweep_to: files that appear whole or not at all, and an answer that appears when it is whole."""

from __future__ import annotations

import errno
import os
import runpy
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import perfmodel as pm
from perfmodel.sweeping.digests import digest
from perfmodel.sweeping.locking import alone

CUBE = pm.matmul("n", "n", "n")
# 100,000 points in 100 files, each a little slow so that there is a middle to be killed in
SLOW = """
import sys, time
import perfmodel as pm
from perfmodel.sweeping import filing
write = filing._write
filing._write = lambda part, path: (time.sleep(0.02), write(part, path))
pm.sweep_to(sys.argv[1], pm.matmul("n", "n", "n"), {"n": range(1, 100_001)}, metrics=["flops", "bytes"], block=1000)
"""


def test_a_killed_sweep_goes_on_without_loss_or_repetition(tmp_path: Path) -> None:
    """10^5 points, killed in the middle: what is there is whole, the rest is added, each point stands once."""
    place, partial = tmp_path / "cubes", tmp_path / "cubes.partial"
    child = subprocess.Popen([sys.executable, "-c", SLOW, str(place)], env=os.environ | {"PYTHONPATH": _here()})
    while child.poll() is None and len(list(partial.glob("*.parquet"))) < 10:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not place.exists()  # nothing that reads as whole
    done = {path.name: path.stat().st_mtime_ns for path in partial.glob("*.parquet")}
    assert 10 <= len(done) < 100
    (partial / ".part-00099.parquet.1.half").write_bytes(b"half a file")  # what a kill in the middle of one leaves

    pm.sweep_to(place, CUBE, {"n": range(1, 100_001)}, metrics=["flops", "bytes"], block=1000)
    assert not partial.exists()
    assert len(list(place.iterdir())) == 100 + 1  # and what was asked
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir() if path.name in done} == done  # kept
    found = pandas.read_parquet(place)
    assert sorted(found["n"]) == list(range(1, 100_001))
    assert [int(total) for total in (found["flops"] == 2 * found["n"] ** 3).value_counts()] == [100_000]


def _here() -> str:
    return str(Path(pm.__file__).parent.parent)


def test_the_files_are_the_table(tmp_path: Path) -> None:
    """Machines, formats and bounds come back as sweep has them."""
    asked: dict[str, Any] = {"points": {"n": range(1, 30), "dtype": ["bf16", "fp8"]}, "on": ["h100-sxm", "l4"]}
    found = pandas.read_parquet(pm.sweep_to(tmp_path / "n", CUBE, **asked, block=20))
    expected = pm.sweep(CUBE, **asked, block=20)
    pandas.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_asked_again_it_is_there(tmp_path: Path) -> None:
    """The same question is answered by what is there; nothing is written again."""
    place = pm.sweep_to(tmp_path / "n", CUBE, {"n": range(1, 9)}, metrics="flops")
    before = {path: path.stat().st_mtime_ns for path in place.iterdir()}
    pm.sweep_to(place, CUBE, {"n": range(1, 9)}, metrics="flops")
    assert {path: path.stat().st_mtime_ns for path in place.iterdir()} == before


@pytest.mark.parametrize(
    "change", [{"points": {"n": range(1, 10)}}, {"metrics": "bytes"}, {"block": 3}, {"subject": pm.gemv("n", "n")}]
)
def test_another_question_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """A folder with other points, quantities, blocks or programs is not touched."""
    asked: dict[str, Any] = {"subject": CUBE, "points": {"n": range(1, 9)}, "metrics": "flops"}
    pm.sweep_to(tmp_path / "n", **asked)
    with pytest.raises(pm.PerfModelError, match="another question"):
        pm.sweep_to(tmp_path / "n", **asked | change)


def test_folders_of_other_things_are_refused(tmp_path: Path) -> None:
    """A file, or a folder that holds something else; an empty folder is taken."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a")
    (tmp_path / "file").write_text("a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(pm.PerfModelError, match="is not empty and holds no"):
        pm.sweep_to(tmp_path / "notes", CUBE, {"n": [1]})
    with pytest.raises(pm.PerfModelError, match="expected a path"):
        pm.sweep_to(5, CUBE, {"n": [1]})  # type: ignore[arg-type]
    with pytest.raises(pm.PerfModelError, match="is a file"):
        pm.sweep_to(tmp_path / "file", CUBE, {"n": [1]})
    assert len(pandas.read_parquet(pm.sweep_to(tmp_path / "empty", CUBE, {"n": [1]}))) == 1


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full the message says so and what is kept; later it goes on."""
    written = pandas.DataFrame.to_parquet
    calls = []

    def full(frame: pandas.DataFrame, path: Path, **options: Any) -> None:
        calls.append(path)
        if len(calls) == 3:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        written(frame, path, **options)

    monkeypatch.setattr(pandas.DataFrame, "to_parquet", full)
    with pytest.raises(pm.PerfModelError, match="No space left on device; what is whole is kept"):
        pm.sweep_to(tmp_path / "n", CUBE, {"n": range(1, 9)}, block=2)
    assert not (tmp_path / "n").exists()
    assert sorted(path.name for path in (tmp_path / "n.partial").iterdir()) == [
        "_question.json", "part-00000.parquet", "part-00001.parquet",
    ]  # fmt: skip
    found = pandas.read_parquet(pm.sweep_to(tmp_path / "n", CUBE, {"n": range(1, 9)}, block=2))
    assert found["n"].tolist() == list(range(1, 9))


def test_a_point_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    """Bad input stops the sweep with its own message."""
    with pytest.raises(pm.DimensionError, match="positive integer"):
        pm.sweep_to(tmp_path / "n", CUBE, {"n": range(3, -3, -1)}, block=2)
    assert not (tmp_path / "n").exists()


def test_digests_tell_questions_apart_and_are_the_same_in_every_process() -> None:
    """Programs, functions with what they close over, and sets; also where text hashes differently."""
    makers = [lambda n, factor=factor: factor * n for factor in (2, 3)]
    values = [CUBE, pm.fuse(CUBE), pm.gemv("n", "n"), *makers, {1: 2}, {1: 3}, [1, 2], [[1], 2], "12", 12, 12.0]
    assert len({digest(value) for value in values}) == len(values)
    code = (
        "import perfmodel as pm; from perfmodel.sweeping.digests import digest; "
        "p = pm.fuse(pm.attention('n', 'n', 64)); print(digest((p, pm.machine('l4'), frozenset('abc'))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": _here()},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


HELPER = """
import perfmodel as pm
WIDTH = {width}
class Maker:
    scale = {scale}
    def __init__(self, k):
        self.k = k
    def __call__(self, n):
        return pm.matmul(n, 8, self.k * self.scale)
    def make(self, n):
        return self(n)
def helper(n):
    return pm.matmul(n, WIDTH, {inner})
def make(n):
    return helper(n)
def lambdas(n):
    return (lambda value: helper(value))(n)
"""


def _module(tmp_path: Path, **values: int) -> Any:
    """A module of the user's own, with a function that calls another that names a global."""
    path = tmp_path / "of_the_user.py"
    path.write_text(HELPER.format(**{"width": 8, "scale": 1, "inner": 8} | values))
    return types.SimpleNamespace(**runpy.run_path(str(path), run_name="of_the_user"))


@pytest.mark.parametrize("name", ["make", "lambdas"])
@pytest.mark.parametrize("change", [{"width": 16}, {"inner": 16}])
def test_a_function_whose_helper_or_global_changed_is_another_question(
    tmp_path: Path, name: str, change: dict[str, int]
) -> None:
    """The function's own code is the same; what it calls, or a number that this names, is not."""
    pm.sweep_to(tmp_path / "n", getattr(_module(tmp_path), name), {"n": [1, 2]}, metrics="flops")
    pm.sweep_to(tmp_path / "n", getattr(_module(tmp_path), name), {"n": [1, 2]}, metrics="flops")
    with pytest.raises(pm.PerfModelError, match="another question"):
        pm.sweep_to(tmp_path / "n", getattr(_module(tmp_path, **change), name), {"n": [1, 2]}, metrics="flops")


@pytest.mark.parametrize("bound", [False, True])
def test_an_object_of_another_state_or_class_is_another_question(tmp_path: Path, bound: bool) -> None:
    """Callable objects and bound methods count by their state, and by the data of their class."""

    def maker(k: int, scale: int = 1) -> Any:
        found = _module(tmp_path, scale=scale).Maker(k)
        return found.make if bound else found

    pm.sweep_to(tmp_path / "n", maker(8), {"n": [1, 2]}, metrics="flops")
    pm.sweep_to(tmp_path / "n", maker(8), {"n": [1, 2]}, metrics="flops")
    for other in (maker(16), maker(8, scale=2)):
        with pytest.raises(pm.PerfModelError, match="another question"):
            pm.sweep_to(tmp_path / "n", other, {"n": [1, 2]}, metrics="flops")


def test_what_cannot_be_told_from_another_is_written_once(tmp_path: Path) -> None:
    """A function that closes over an open file: its answer is written, a folder that exists is refused."""
    with (tmp_path / "sizes").open("w") as held:

        def make(n: int) -> Any:
            return pm.matmul(n, n, 8 if held.closed else 16)

        pm.sweep_to(tmp_path / "n", make, {"n": [1, 2]}, metrics="flops")
        with pytest.raises(pm.PerfModelError, match="cannot be told"):
            pm.sweep_to(tmp_path / "n", make, {"n": [1, 2]}, metrics="flops")


def test_functions_that_call_each_other_have_a_digest() -> None:
    """Recursion ends."""

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert digest(even) != digest(odd)
    assert digest(even) == digest(even)


def test_damaged_parts_are_written_again(tmp_path: Path) -> None:
    """A finished folder says which part is missing or damaged; as a partial one, it gets that part again."""
    asked: dict[str, Any] = {"subject": CUBE, "points": {"n": range(1, 9)}, "metrics": "flops", "block": 2}
    place = pm.sweep_to(tmp_path / "n", **asked)
    cut = place / "part-00001.parquet"
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(pm.PerfModelError, match=r"part-00001\.parquet is damaged"):
        pm.sweep_to(place, **asked)
    (place / "part-00000.parquet").unlink()
    with pytest.raises(pm.PerfModelError, match=r"part-00000\.parquet is missing \(2 files in all\)"):
        pm.sweep_to(place, **asked)
    place.rename(tmp_path / "n.partial")
    found = pandas.read_parquet(pm.sweep_to(place, **asked))
    assert found["n"].tolist() == list(range(1, 9))
    assert [each.name for each in tmp_path.iterdir()] == ["n"]


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    """Also where the first has written nothing yet; afterwards nothing of the lock is left."""
    with alone(tmp_path / "n.partial"), pytest.raises(pm.PerfModelError, match="another run is writing"):
        pm.sweep_to(tmp_path / "n", CUBE, {"n": [1]})
    pm.sweep_to(tmp_path / "n", CUBE, {"n": [1]})
    assert [each.name for each in tmp_path.iterdir()] == ["n"]


def test_a_place_that_cannot_be_written_holds_nothing(tmp_path: Path) -> None:
    """Below a file there can be no folder: the message does not name one."""
    (tmp_path / "file").write_text("a")
    with pytest.raises(pm.PerfModelError, match="nothing is written"):
        pm.sweep_to(tmp_path / "file" / "n", CUBE, {"n": [1]})


def test_the_same_sizes_are_the_same_question(tmp_path: Path) -> None:
    """A list, an array and a range of the same values, also downwards or of one; other values are another question."""
    p, place = pm.matmul("n", "n", "n"), tmp_path / "n"
    for sizes in ([8, 10, 12], range(8, 13, 2), range(8, 14, 2), numpy.array([8, 10, 12]), [8.0, 10.0, 12.0]):
        pm.sweep_to(place, p, {"n": sizes}, metrics="flops")
    for other in ([8, 10, 13], [12, 10, 8], [8, 8, 8]):
        with pytest.raises(pm.PerfModelError, match="the answer to another question"):
            pm.sweep_to(place, p, {"n": other}, metrics="flops")
    for number, (first, second) in enumerate((([12, 10, 8], range(12, 7, -2)), ([5], range(5, 9, 7)))):
        for sizes in (first, second):
            pm.sweep_to(tmp_path / str(number), p, {"n": sizes}, metrics="flops")
