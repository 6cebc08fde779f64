"""The command as a process of its own: ``python -m perfmodel``, pipes, and what it loads."""

from __future__ import annotations

import subprocess
import sys

from texts import json_document

from perfmodel.cli.entry import BAD_INPUT, CLOSED_PIPE


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "perfmodel", *arguments], capture_output=True, text=True)


def test_python_m_perfmodel_is_the_command() -> None:
    """The module runs as a program of its own: an answer with 0, one line and 2 without a traceback."""
    good = run("machines", "--vendor", "example", "--json")
    assert (good.returncode, good.stderr) == (0, "")
    assert json_document(good.stdout)["machines"][0]["name"] == "lecture-cpu"
    bad = run("estimate", "matmul('\\d', 8, 8)", "--on", "h100-sxm")  # Python itself warns of such text
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (BAD_INPUT, "", 1)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """When the pipe closes before all is written, the command ends quietly."""
    command = [sys.executable, "-m", "perfmodel", "machines"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", CLOSED_PIPE)


def test_the_shell_loads_only_what_a_command_needs() -> None:
    """machines needs no graph of ops and no numpy; --help not even sympy."""
    code = (
        "import sys; from perfmodel.cli import main; main(sys.argv[1:]); "
        "print(*sorted({'numpy', 'pandas', 'matplotlib', 'sympy', 'perfmodel.graph'} & set(sys.modules)))"
    )
    loaded = {}
    for command in ("machines", "--help"):
        done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=True)
        loaded[command] = done.stdout.splitlines()[-1]
    assert loaded == {"machines": "sympy", "--help": ""}
