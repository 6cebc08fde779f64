"""Names of a package that load when they are first used, so that one part does not wait for another."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from perfmodel.errors import did_you_mean


def homes_of(names: Mapping[str, str]) -> dict[str, str]:
    """Each name's module, from names by module.

    >>> homes_of({"perfmodel.transforms": "cast fuse"})
    {'cast': 'perfmodel.transforms', 'fuse': 'perfmodel.transforms'}
    """
    return {name: module for module, found in names.items() for name in found.split()}


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names live in other modules (PEP 562), or are modules of its own.

    >>> loader("perfmodel", {"fuse": "perfmodel.transforms"})("fuse").__name__
    'fuse'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{did_you_mean(name, homes)}")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
