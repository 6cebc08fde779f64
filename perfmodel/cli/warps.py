"""``perfmodel occupancy``, ``divergence``, ``transactions`` and ``bank-conflicts``: what warps do on a chip."""

from __future__ import annotations

import argparse
from typing import Any

from perfmodel.mechanisms import (
    BankConflicts,
    Divergence,
    Occupancy,
    Transactions,
    bank_conflicts,
    divergence,
    occupancy,
    transactions,
)


def occupied(options: argparse.Namespace) -> Occupancy:
    """The blocks that are resident at once, and what limits them.

    >>> from perfmodel.cli.options import parser
    >>> occupied(parser().parse_args(["occupancy", "h100-sxm", "--registers", "64"])).blocks
    4
    """
    return occupancy(
        options.machine, options.threads, options.registers, options.shared_bytes, carveout_bytes=options.carveout_bytes
    )


def diverged(options: argparse.Namespace) -> Divergence:
    """The steps that warps issue for a branch or a loop.

    >>> from perfmodel.cli.options import parser
    >>> diverged(parser().parse_args(["divergence", "t < 100"])).active_fraction
    0.8
    """
    steps = options.steps[0] if len(options.steps) == 1 else tuple(options.steps)
    return divergence(options.condition, steps=steps, **_launch(options))


def transacted(options: argparse.Namespace) -> Transactions:
    """The lines and sectors that warps touch.

    >>> from perfmodel.cli.options import parser
    >>> transacted(parser().parse_args(["transactions", "32*t"])).lines
    32
    """
    lines = {"line_bytes": options.line_bytes, "sector_bytes": options.sector_bytes}
    return transactions(options.index, **lines, **_elements(options), **_launch(options))


def banked(options: argparse.Namespace) -> BankConflicts:
    """The passes over shared-memory banks.

    >>> from perfmodel.cli.options import parser
    >>> banked(parser().parse_args(["bank-conflicts", "32*t"])).padded_stride
    33
    """
    banks = {"banks": options.banks, "bank_bytes": options.bank_bytes}
    return bank_conflicts(options.index, **banks, **_elements(options), **_launch(options))


def _elements(options: argparse.Namespace) -> dict[str, Any]:
    return {"element_bytes": options.element_bytes, "offset_bytes": options.offset_bytes}


def _launch(options: argparse.Namespace) -> dict[str, Any]:
    block = None if options.block is None else tuple(options.block)
    return {"threads": options.threads, "warp": options.warp, "block": block}
