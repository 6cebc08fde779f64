"""What several commands share: how they are added, the options that mean the same in each, and when they load."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace], Any]
Add: TypeAlias = Callable[[str, str, str, str], argparse.ArgumentParser]  # name, about, examples, home


def later(home: str) -> Run:
    """The command at "module.function", whose module loads when it is run, so that help is quick.

    >>> later("listing.formats_found")(argparse.Namespace(name=["bf16"], json=True))["formats"][0]["bits"]
    16
    """
    module, name = home.split(".")

    def run(options: argparse.Namespace) -> Any:
        return getattr(import_module(f"perfmodel.cli.{module}"), name)(options)

    return run


def add_program(command: argparse.ArgumentParser, several: bool = True) -> None:
    """PROGRAM, and what is done to it before it is counted.

    >>> command = argparse.ArgumentParser()
    >>> add_program(command)
    >>> command.parse_args(["gemv(n, n)", "--at", "n=8"]).at
    ['n=8']
    """
    add = command.add_argument
    about = "a description such as 'matmul(8, 8192, 8192)'"
    add(
        "program", metavar="PROGRAM", nargs="+" if several else 1, help=about + ("; several compare" if several else "")
    )
    add("--at", metavar="NAME=SIZE", action="append", default=[], help="give a symbol or label a size (repeatable)")
    add("--dtype", metavar="FORMAT", help="cast every tensor to this number format")
    add("--fuse", metavar="stage", nargs="?", const=True, type=_staging, help="fuse all, or by stage; put it last")


def _staging(text: str) -> str:
    if text != "stage":
        raise argparse.ArgumentTypeError(f"expected 'stage' or nothing, got {text!r}; put --fuse after the program")
    return text


def add_machines(command: argparse.ArgumentParser, required: bool) -> None:
    """--on, as often as there are chips.

    >>> command = argparse.ArgumentParser()
    >>> add_machines(command, required=False)
    >>> command.parse_args(["--on", "l4", "--on", "a2"]).on
    ['l4', 'a2']
    """
    about = "a chip, or a path in .toml (repeatable)"
    command.add_argument("--on", metavar="MACHINE", action="append", required=required, default=None, help=about)


def add_effects(command: argparse.ArgumentParser, usual: str = "real") -> None:
    """--effects, by a name for several or by their own names.

    >>> command = argparse.ArgumentParser()
    >>> add_effects(command)
    >>> command.parse_args([]).effects, command.parse_args(["--effects", "tile, wave"]).effects
    ('real', ('tile', 'wave'))
    """
    other = "ideal" if usual == "real" else "real"
    about = f"{usual} (default), {other}, or effects by name with commas"
    command.add_argument("--effects", metavar="NAMES", default=usual, type=_effects, help=about)


def _effects(text: str) -> str | tuple[str, ...]:
    first, *more = [name.strip() for name in text.split(",")]
    return (first, *more) if more else first


def add_without(command: argparse.ArgumentParser) -> None:
    """--without, as often as there are effects to leave out.

    >>> command = argparse.ArgumentParser()
    >>> add_without(command)
    >>> command.parse_args(["--without", "launch"]).without
    ['launch']
    """
    about = "leave an effect out (repeatable)"
    command.add_argument("--without", metavar="EFFECT", action="append", default=[], help=about)
