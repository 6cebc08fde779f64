"""The quick reader of plain data sheets answers as tomllib does, or not at all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.catalogue.plain import plain_sheet

TEXTS = {path.stem: path.read_text() for path in (Path(__file__).parents[1] / "hardware").glob("*.toml")}
PIECES = ['"', "\\", "[", "]", "[[", "]]", "{ ", " }", ", ", " = ", "#", "\n", "0", "1_0", ".5", "e3", "-", "x",
          "'", "true", "note", "peak", "name", "\r", "\t", " "]  # fmt: skip


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_sheet_is_plain(name: str) -> None:
    """The catalogue is written in the forms that are read quickly, and what is read is what tomllib reads."""
    assert plain_sheet(TEXTS[name]) == tomllib.loads(TEXTS[name])


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_a_spoilt_sheet_is_read_alike_or_left(name: str, data: st.DataObject) -> None:
    """With a few characters changed, the answer is that of tomllib, or None; where tomllib refuses, it is None."""
    text = TEXTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[start + gone :]
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        expected = None
    found = plain_sheet(text)
    assert found is None or found == expected


@pytest.mark.parametrize(
    "text",
    [
        'a = "1"\na = "2"',  # twice
        "[memory]\n[memory]",
        '[peak]\nunit = "x"\n[[peak]]',
        'peak = ["x"]\n[[peak]]',
        "peak = []\n[[peak]]",
        "[[peak]\n",
        "[peak]]\n",
        "year = 007",
        "year = 1__0",
        "year = 1.",
        'a = "\\u0041"',  # an escape: tomllib's
        "a = 'b'",
        'a = """b"""',
        'a = ["b" "c"]',
        'a = ["b",]',
        "a.b = 1",
        "a = 1 b = 2",
        'a = { source = "A", value = 1 }',  # another order
        'a = { value = 1, source = "A", doubtful = false }',
        'a = "b"\r',
    ],
)
def test_other_forms_are_left_to_tomllib(text: str) -> None:
    """What is not plain, legal TOML or not, is not read here."""
    assert plain_sheet(text) is None


def test_the_forms() -> None:
    """Texts, numbers, lists, figures, sources, tables and lists of tables, comments and empty lines."""
    text = (
        '# a comment\n\nname = "A # b"  # c\nyear = 2_024\naliases = ["A, B", "C"]\nnone = []\n[memory]\n'
        'x = { value = 1_0.5e3, source = "S", doubtful = true, note = "n = [1]" }\n[[peak]]\nunit = "matrix"\n'
        '[[peak]]\ncc = { value = "9.0", source = "S" }\n[sources]\nS = { title = "T", date = "2026" }\n'
    )
    assert plain_sheet(text) == tomllib.loads(text)
    assert plain_sheet(text)["memory"]["x"]["value"] == 10.5e3
