"""The limits that resident blocks share: those of a machine, of a compute capability, or a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.catalogue.capabilities import CAPABILITIES, Limits, capability
from perfmodel.errors import MachineError, brief, did_you_mean, listed
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.wording import Verbatim

_EXPECTED = "expected a machine or its name, a compute capability such as '9.0', or a mapping of limits"
_LEAST = {"shared_reserved_bytes": 0, "shared_bytes": 0, "shared_bytes_per_block": 0, "registers": 0}
KEYS = (
    "warp", "max_threads", "max_warps", "max_blocks", "registers", "shared_bytes", "max_threads_per_block",
    "max_registers_per_thread", "registers_per_block", "shared_bytes_per_block", "registers_portion",
    "warps_portion", "partitions", "shared_portion", "shared_reserved_bytes",
)  # fmt: skip


def limits_of(which: Any) -> tuple[str, Limits, int | None]:
    """What a limit's name is in an expression, the limits, and the units of the chip where they are known.

    >>> limits_of("h100-sxm")[0::2], limits_of("8.0")[1].max_warps, limits_of({"max_threads": 1536})[1].max_blocks
    (('h100-sxm', 132), 64, None)
    """
    if isinstance(which, Limits):
        known = CAPABILITIES.get(which.name) == which
        return which.name if known else Verbatim(brief(which)), _shares(which), None
    if isinstance(which, Mapping):
        return Verbatim(brief(dict(which), 200)), _given(which), None
    if type(which) is str and which.strip().replace(".", "", 1).isdecimal():
        return which.strip(), capability(which.strip()), None
    if not isinstance(which, str | Machine | PathLike):
        raise MachineError(f"occupancy: {brief(which)}: {_EXPECTED}")
    found = machine(which)
    return said(found), _of_machine(found), found.units if isinstance(found.units, int) else None


def said(found: Machine) -> str:
    """A machine as the argument that it is made from: its name in the catalogue, else the expression that makes it.

    >>> said(machine("h100-sxm")), said(machine("h100-sxm").replace(units=66))
    ('h100-sxm', pm.machine('h100-sxm').replace(units=66))
    """
    return found.name if found.made == f"pm.machine({found.name!r})" else Verbatim(found.made)


def _of_machine(found: Machine) -> Limits:
    if found.compute_capability is None:
        raise MachineError(
            f"occupancy: {found.name} lists no CUDA compute capability; give its limits as a mapping, such as "
            "{'max_threads': 2048, 'max_blocks': 32, 'registers': 65536, 'shared_bytes': 65536}"
        )
    return capability(found.compute_capability)


def _given(mapping: Mapping[Any, Any]) -> Limits:
    """A user's limits: what is not named does not limit, and nothing is rounded unless a portion says so."""
    for key in mapping:
        if key not in KEYS:
            raise MachineError(f"occupancy: no limit {brief(key)}{did_you_mean(key, KEYS)}; limits are {listed(KEYS)}")
    values = {key: whole(value, key, "occupancy", _LEAST.get(key, 1)) for key, value in mapping.items()}
    return _shares(Limits(**values))  # type: ignore[arg-type]


def _shares(limits: Limits) -> Limits:
    if limits.max_threads is None and limits.max_warps is None:
        raise MachineError("occupancy: the limits need max_threads or max_warps: occupancy is a share of them")
    return limits


def carved(limits: Limits, carveout_bytes: Any) -> Limits:
    """The limits with the least carve-out that holds so many bytes of shared memory.

    >>> carved(capability("9.0"), 40_000).shared_bytes == 64 * 1024
    True
    """
    if carveout_bytes is None:
        return limits
    wanted = whole(carveout_bytes, "carveout_bytes", "occupancy", 0)
    if not limits.carveouts:
        raise MachineError("occupancy: carveout_bytes: these limits list no carve-outs; give shared_bytes in them")
    found = [size for size in limits.carveouts if size >= wanted]
    if not found:
        raise MachineError(
            f"occupancy: carveout_bytes = {wanted:,}: compute capability {limits.name} gives shared memory at most "
            f"{limits.carveouts[-1]:,} bytes; sizes are {listed(limits.carveouts)}"
        )
    return replace(limits, shared_bytes=found[0])
