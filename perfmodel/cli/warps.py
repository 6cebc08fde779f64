"""``perfmodel occupancy``, ``divergence``, ``transactions`` and ``bank-conflicts``: what warps do on a chip."""

from __future__ import annotations

import argparse
from typing import Any

from perfmodel.mechanisms import Answer, bank_conflicts, divergence, occupancy, transactions


def occupied(options: argparse.Namespace) -> Any:
    """The blocks that are resident at once, and what limits them.

    >>> from perfmodel.cli.options import parser
    >>> print(occupied(parser().parse_args(["occupancy", "h100-sxm", "--registers", "64"])).splitlines()[1])
      4 blocks, 32 of 64 warps: 50 %, limited by registers
    """
    found = occupancy(
        options.machine, options.threads, options.registers, options.shared_bytes, carveout_bytes=options.carveout_bytes
    )
    return _shown(found, options)


def diverged(options: argparse.Namespace) -> Any:
    """The steps that warps issue for a branch or a loop.

    >>> from perfmodel.cli.options import parser
    >>> diverged(parser().parse_args(["divergence", "t < 100", "--json"]))["active_fraction"]
    0.8
    """
    steps = options.steps[0] if len(options.steps) == 1 else tuple(options.steps)
    return _shown(divergence(options.condition, options.threads, steps, **_launch(options)), options)


def transacted(options: argparse.Namespace) -> Any:
    """The lines and sectors that warps touch.

    >>> from perfmodel.cli.options import parser
    >>> transacted(parser().parse_args(["transactions", "32*t", "--json"]))["lines"]
    32
    """
    found = transactions(
        options.index,
        options.element_bytes,
        options.line_bytes,
        sector_bytes=options.sector_bytes,
        offset_bytes=options.offset_bytes,
        threads=options.threads,
        **_launch(options),
    )
    return _shown(found, options)


def banked(options: argparse.Namespace) -> Any:
    """The passes over shared-memory banks.

    >>> from perfmodel.cli.options import parser
    >>> banked(parser().parse_args(["bank-conflicts", "32*t", "--json"]))["padded_stride"]
    33
    """
    found = bank_conflicts(
        options.index,
        options.element_bytes,
        options.banks,
        options.bank_bytes,
        offset_bytes=options.offset_bytes,
        threads=options.threads,
        **_launch(options),
    )
    return _shown(found, options)


def _launch(options: argparse.Namespace) -> dict[str, Any]:
    return {"warp": options.warp, "block": None if options.block is None else tuple(options.block)}


def _shown(found: Answer, options: argparse.Namespace) -> Any:
    return found.to_dict() if options.json else str(found.explain())
