"""What has to be said beside suggestions: that nothing is better, and odd rows that the estimate has no cost for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.estimation import estimate
from perfmodel.graph.programs import Program
from perfmodel.suggesting.ranking import SAME
from perfmodel.suggesting.reasons import row_bytes

PIECES = {16: "pieces of 16 bytes, which a thread loads at once", 128: "lines of 128 bytes"}


def nothing_better(wanted: Mapping[str, int], first: Mapping[str, int], others: int) -> tuple[str, ...]:
    """That what is wanted ranks first, where it does.

    >>> nothing_better({"n": 64}, {"n": 64}, 3), nothing_better({"n": 64}, {"n": 32}, 3)
    (('nothing that is allowed is worth more than what is wanted, which is the first row too',), ())
    """
    if dict(wanted) != dict(first):
        return ()
    if not others:
        return ("nothing else is allowed: the only row is what is wanted",)
    return ("nothing that is allowed is worth more than what is wanted, which is the first row too",)


def costless_rows(
    program: Program, sizes: Mapping[str, int], chip: Machine, effects: Any, protocol: Any
) -> tuple[str, ...]:
    """The sizes whose rows are no whole pieces or lines, though the estimate has no cost for it, each said in a line.

    Whether it costs is seen beside the nearest whole sizes: it does where both have more throughput.

    >>> from perfmodel import gemv, machine
    >>> costless_rows(gemv(4096, "k"), {"k": 4097}, machine("h100-sxm"), "ideal", None)[0].partition(";")[0]
    'k = 4097: rows of 8194 bytes are no whole pieces of 16 bytes, which a thread loads at once'
    """
    found = []
    for name in sizes:
        length = row_bytes(program, name, sizes)
        piece = next((each for each in PIECES if length is not None and length % each), None)
        if length is None or piece is None:
            continue
        near = [at for step in (-1, 1) if (at := _whole(program, sizes, name, piece, step)) is not None]
        rates = [_rate(program, at, chip, effects, protocol) / _rate(program, sizes, chip, effects, protocol)
                 for at in near]  # fmt: skip
        if rates and min(rates) <= 1 + SAME:
            beside = " and ".join([f"{at[name]} has {rate:.3g}" for at, rate in zip(near, rates, strict=True)])
            found.append(
                f"{name} = {sizes[name]}: rows of {length:g} bytes are no whole {PIECES[piece]}; the estimate on "
                f"{chip.name} has no cost for it here ({name} = {beside} times the throughput), a kernel may have"
            )
    return tuple(found)


def _whole(program: Program, sizes: Mapping[str, int], name: str, piece: int, step: int) -> dict[str, int] | None:
    """The sizes with the next one whose rows are whole pieces; None where there is none nearby."""
    for away in range(1, 8 * piece + 1):
        at = {**sizes, name: sizes[name] + step * away}
        length = row_bytes(program, name, at) if at[name] > 0 else None
        if length is not None and length % piece == 0:
            return at
    return None


def _rate(program: Program, sizes: Mapping[str, int], chip: Machine, effects: Any, protocol: Any) -> float:
    """Throughput: FLOP, or bytes where there are none, a second."""
    bound = program.at({each.name: sizes[each.name] for each in program.symbols})
    found = estimate(bound, chip, effects, protocol=protocol)
    return float((bound.flops or bound.bytes) / found.time_s)
