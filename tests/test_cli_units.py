"""The commands on waves, systolic arrays and energy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import perfmodel as pm
from perfmodel.cli import main

COMMANDS = ("waves", "systolic", "energy")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command that succeeds prints."""
    code = main(arguments)
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def test_commands_show_what_the_functions_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's text is the working, its JSON the plain data, with the options as arguments."""
    made: dict[tuple[str, ...], Any] = {
        ("waves", "1793", "1793"): pm.waves(pm.tile_grid(1793, 1793)),
        ("waves", "1409", "1409", "--tile", "128", "--units", "h100-sxm"): pm.waves(
            pm.tile_grid(1409, 1409, tile=128), units=132
        ),
        ("waves", "b", "--resident", "2"): pm.waves("b", resident=2),
        ("waves", "1320", "--units", "132", "--busy", "16", "--schedule", "dynamic"): pm.waves(
            1320, 132, schedule="dynamic", busy=16
        ),
        ("systolic", "9", "8", "k", "--rows", "4", "--cols", "2", "--dataflow", "weight"): pm.systolic(
            9, 8, "k", 4, 2, "weight"
        ),
        ("energy", "matmul(64, 64, 64)", "--table", "45nm"): pm.energy(pm.matmul(64, 64, 64), "45nm"),
    }
    for command, found in made.items():
        assert said(capsys, *command) == f"{found.explain()!s}\n"
        assert json.loads(said(capsys, *command, "--json")) == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line that the help offers answers."""
    text = said(capsys, command, "--help")
    examples = [re.findall(r'"[^"]*"|\S+', line) for line in re.findall(r"^  perfmodel (.*)$", text, re.M)]
    assert examples
    for example in examples:
        assert said(capsys, *[word.strip('"') for word in example])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("waves", "0"), "blocks = 0"),
        (("waves", "1", "2", "3"), "3 sizes"),
        (("waves", "4", "4", "--tile", "1", "2", "3"), "tile of 3"),
        (("waves", "4", "--units", "h100-smx"), "h100-sxm"),
        (("waves", "10", "h100-sxm"), "--units h100-sxm"),
        (("waves", "4", "--units", "h100"), "several products"),
        (("waves", "4", "--busy", "x"), "invalid int value"),
        (("waves", "4", "--schedule", "statik"), "did you mean 'static'"),
        (("systolic", "4", "4"), "required: K"),
        (("systolic", "4", "4", "__import__('os')"), "systolic: k"),
        (("energy", "matmul(4, 4, 4)", "--table", "5nm"), "no table '5nm'"),
    ],
)
def test_bad_input_is_one_line(command: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, nothing on standard output, one line that says what is wrong."""
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
