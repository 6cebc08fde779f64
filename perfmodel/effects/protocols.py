"""What a measurement does, apart from the chip: what its loop leaves in cache, and what else its clock sees.

A loop that runs a kernel again and again on the same tensors finds them in the last-level cache where they fit.
A loop that takes another copy each time ("rotates") has to fetch it from memory once the copies together are
larger than the cache. A ``Protocol`` says how many copies of each role a loop walks through; the residency of
each operand follows from the bytes touched between two uses of it (``perfmodel.effects.residency``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.errors import PerfModelError, did_you_mean, listed

ROLES = ("A", "B", "C")  # moving operand (or any input), stationary operand (a weight), output


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a time was taken: copies of each operand in the loop, other kernels, and what the clock adds.

    ``copies`` are tensors of each role (A, B, C) that the loop walks through before it comes back to the first;
    ``cold`` says that caches are flushed or that the loop touches more than any cache. With ``until_l2`` there are
    only as many copies of B as it takes to fill the last-level cache. ``launch_s`` is what starting a kernel adds
    to the chip's own floor (which is that of a CUDA graph), ``kernels`` names what else runs inside the time
    ("quantize"), ``tick_s`` is the resolution of the timer. ``switching`` is the energy of a multiply-add on its data
    relative to random numbers: weights that were never filled are zeros, switch few bits, and let the clock run higher.

    >>> Protocol("mine", copies=(1, 6, 1)).rotated
    ('B',)
    """

    name: str
    copies: tuple[int, int, int] = (1, 1, 1)
    cold: bool = False
    until_l2: bool = False
    launch_s: float = 0.0
    kernels: tuple[str, ...] = ()
    tick_s: float = 0.0
    switching: float = 1.0
    source: str = ""

    @property
    def rotated(self) -> tuple[str, ...]:
        """The roles of which the loop takes another copy each time.

        >>> COLD.rotated, WARM.rotated
        ((), ())
        """
        return tuple([role for role, number in zip(ROLES, self.copies, strict=True) if number > 1])


COLD = Protocol("cold", cold=True, source="every operand comes from memory: the default of an estimate")
WARM = Protocol("warm", source="one set of tensors, run again and again")

_AIC = "ai-dynamo/aiconfigurator, collector/{}/collect_gemm.py"
_QUANT = ("quantize",)  # the activations of fp8 and fp4 are quantized inside the time
_TABLE = (
    COLD,
    WARM,
    Protocol("aiconfigurator-sglang", (6, 6, 1), source=_AIC.format("sglang")),
    Protocol("aiconfigurator-vllm", (1, 6, 1), switching=0.88, source=_AIC.format("vllm")),
    Protocol("aiconfigurator-trtllm", (1, 5, 1), until_l2=True, source=_AIC.format("trtllm")),
    Protocol("aiconfigurator-sglang-quantized", (6, 6, 1), kernels=_QUANT, source=_AIC.format("sglang")),
    Protocol("aiconfigurator-vllm-quantized", (1, 6, 1), kernels=_QUANT, source=_AIC.format("vllm")),
    # its smallest fp8 rows take some three launches more than bf16; that two are for a scale is a guess
    Protocol(
        "aiconfigurator-trtllm-fp8",
        (1, 5, 1),
        kernels=(*_QUANT, "scale", "scale"),
        until_l2=True,
        source=_AIC.format("trtllm"),
    ),
    Protocol("aiconfigurator-trtllm-quantized", (1, 5, 1), kernels=_QUANT, until_l2=True, source=_AIC.format("trtllm")),
    Protocol("aiconfigurator-vllm-one-copy", (1, 1, 1), kernels=_QUANT, source=_AIC.format("vllm")),
    Protocol("neusight", launch_s=12e-6, source="sitar-lab/NeuSight: eager PyTorch between events, fastest 5 of 25"),
    Protocol("vidur", source="microsoft/vidur: profiler trace, median of 20", tick_s=1e-6),
    Protocol("pipeweave", cold=True, launch_s=2.5e-6, source="zksainx/pipeweave: not stated; small kernels take 5 us"),
    Protocol("flushed", cold=True, source="the last-level cache is flushed before each run"),
)
PROTOCOLS = {item.name: item for item in _TABLE}


def protocol(name: Any) -> Protocol:
    """A protocol by its name, or one of the user's own as it is; None is the cold one.

    >>> protocol("aiconfigurator-vllm").copies, protocol(None).name
    ((1, 6, 1), 'cold')
    """
    if name is None:
        return COLD
    if isinstance(name, Protocol):
        return name
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    near = did_you_mean(str(name), list(PROTOCOLS))
    raise PerfModelError(f"estimate: no protocol {name!r}{near}; there are {listed(list(PROTOCOLS))}")
