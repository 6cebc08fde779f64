"""Data sheets in plain form, read at several times the speed of a TOML parser.

The sheets of the catalogue keep to one line a key: a text, a number, a list of texts, or a figure with its ``value``,
``source``, ``doubtful`` and ``note`` in that order. ``tomllib`` takes 0.5 ms for a sheet; these forms take 0.1.
Anything else (an escape, a nested table, a key that stands twice) is left to ``tomllib``, which says what is wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_TEXT = r'"([^"\\\x00-\x1f\x7f]*)"'
_NUMBER = r"(?:0|[1-9]\d*(?:_\d+)*)(?:\.\d+(?:_\d+)*)?(?:e[+-]?\d+)?"
_FIGURE = (
    rf"\{{ value = (?:{_TEXT}|({_NUMBER})), source = {_TEXT}(, doubtful = true)?(?:, note = {_TEXT})? \}}"  # 3 to 7
)
_SOURCE = rf"\{{ title = {_TEXT}, date = {_TEXT} \}}"  # 8, 9
_PLAIN = _TEXT.replace("(", "").replace(")", "")
_LIST = rf"\[((?:{_PLAIN}(?:, {_PLAIN})*)?)\]"  # 12
_COMMENT = r"(?:[ \t]*#[^\x00-\x08\x0a-\x1f\x7f]*)?"
_LINE = re.compile(
    rf"(?:\[(\[)?([a-z_]+)\]\]?|([A-Za-z]\w*) = (?:{_FIGURE}|{_SOURCE}|{_TEXT}|({_NUMBER})|{_LIST}))?{_COMMENT}",
    re.ASCII,
)


def plain_sheet(text: str) -> dict[str, Any] | None:
    """What ``tomllib.loads`` makes of a sheet in plain form; None where a line is of another form.

    >>> plain_sheet('name = "X"\\n[memory]\\ncapacity_bytes = { value = 16_384, source = "A" }  # 16 KiB')
    {'name': 'X', 'memory': {'capacity_bytes': {'value': 16384, 'source': 'A'}}}
    >>> plain_sheet("name = 'X'") is None
    True
    """
    sheet: dict[str, Any] = {}
    table = sheet
    for line in text.split("\n"):
        found = _line(line)
        if found is None:
            return None
        many, header, key = found[:3]
        if header is not None:
            opened = _opened(sheet, header, line, bool(many))
            if opened is None:
                return None
            table = opened
        elif key is not None:
            if key in table:
                return None
            table[key] = _value(found)
    return sheet


@lru_cache(maxsize=4096)  # sheets have many lines in common
def _line(line: str) -> tuple[str | None, ...] | None:
    """The parts of a line: the sign of a list, the header, the key, and what stands after the equals sign."""
    found = _LINE.fullmatch(line)
    return found.groups() if found else None


def _opened(sheet: dict[str, Any], name: str, header: str, many: bool) -> dict[str, Any] | None:
    """The table that a header opens: [name] once, [[name]] each time."""
    table: dict[str, Any] = {}
    if header.count("]") != (2 if many else 1):
        return None
    if name not in sheet:
        sheet[name] = [table] if many else table
    elif many and isinstance(rows := sheet[name], list) and rows and isinstance(rows[-1], dict):
        rows.append(table)
    else:
        return None
    return table


def _value(groups: tuple[str | None, ...]) -> Any:
    """What stands after the sign: a figure, a source, a text, a number or a list."""
    _, _, _, words, number, source, doubtful, note, title, date, text, whole, listing = groups
    if source is not None:
        figure = {"value": words if words is not None else _number(str(number)), "source": source}
        if doubtful is not None:
            figure["doubtful"] = True
        if note is not None:
            figure["note"] = note
        return figure
    if title is not None:
        return {"title": title, "date": date}
    if text is not None:
        return text
    return _number(whole) if whole is not None else re.findall(_TEXT, listing or "")


def _number(digits: str) -> int | float:
    return float(digits) if "." in digits or "e" in digits else int(digits)
