"""Names and their values from the shell: ``n=4096``, ``n=128:8192:64``, ``n=1,2,4``, ``dtype=bf16,fp8``."""

from __future__ import annotations

from typing import Any

from perfmodel.errors import ExpressionError

_RULE = "expected NAME=START:STOP[:STEP] (STOP included) or NAME=VALUE,VALUE, such as n=128:8192:64"


def axes_of(given: list[str], option: str) -> dict[str, Any]:
    """The values of each name: a range, or a list of whole numbers or of words.

    >>> axes_of(["n=128:512:128", "dtype=bf16,fp8", "m=8"], "--over")
    {'n': range(128, 513, 128), 'dtype': ['bf16', 'fp8'], 'm': [8]}
    """
    return {
        name: _values(values, f"{option} '{name}={values}'") for name, values in pairs(given, option, _RULE).items()
    }


def pairs(given: list[str], option: str, rule: str) -> dict[str, str]:
    """What stands behind each name, from texts NAME=VALUE; a name is a word and comes once.

    >>> pairs(["n = 8", "m=4"], "--at", "expected NAME=SIZE")
    {'n': '8', 'm': '4'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and equals and value):
            raise ExpressionError(f"{option} {text!r}: {rule}")
        if name in found:
            raise ExpressionError(f"{option} {text!r}: {name} is given already: {found[name]}")
        found[name] = value
    return found


def _values(values: str, where: str) -> Any:
    return _range(values, where) if ":" in values else [_value(each) for each in values.split(",")]


def _range(values: str, where: str) -> range:
    parts = values.split(":")
    if len(parts) not in (2, 3) or not all(_whole(part) for part in parts):
        raise ExpressionError(f"{where}: {_RULE}")
    start, stop, step = (*[int(part) for part in parts], 1)[:3]
    if step == 0:
        raise ExpressionError(f"{where}: a step of 0")
    return range(start, stop + (1 if step > 0 else -1), step)


def _value(text: str) -> int | str:
    return int(text) if _whole(text) else text.strip()


def _whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdecimal() and len(text) < 40
