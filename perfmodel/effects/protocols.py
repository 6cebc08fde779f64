"""What a measurement does, apart from the chip: what its loop leaves in cache, and what else its clock sees.

A loop that runs a kernel again and again on the same tensors finds them in the last-level cache where they fit.
A loop that takes another copy each time ("rotates") has to fetch it from memory once the copies together are
larger than the cache. A ``Protocol`` says how many copies of each role a loop walks through; the residency of
each operand follows from the bytes touched between two uses of it (``perfmodel.effects.residency``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.effects.quantizers import AMOUNT, Quantizer, is_amount
from perfmodel.errors import PerfModelError, brief, did_you_mean, listed
from perfmodel.shown import Shown

MOST_ROWS = 256
ROLES = ("A", "B", "C")  # moving operand (or any input), stationary operand (a weight), output


@dataclass(frozen=True, slots=True)
class Protocol(Shown):
    """How a time was taken: copies of each operand in the loop, other kernels, and what the clock adds.

    ``copies`` are tensors of each role (A, B, C) that the loop walks through before it comes back to the first;
    ``cold`` says that caches are flushed or that the loop touches more than any cache. With ``until_l2`` there are
    only as many copies of B as it takes to fill the last-level cache. ``launch_s`` is what starting a kernel adds
    to the chip's own floor (which is that of a CUDA graph), ``quantizer`` the kernels before the product that bring A
    into its format, ``host_s`` the time in which the host of an eager loop enqueues one run, below which none can
    be, ``unit_bytes`` what a unit moves in a clock where its kernels load an element a thread (0: no limit),
    ``tick_s`` the resolution of the timer. ``switching`` is the energy of a multiply-add on its data
    relative to random numbers: weights that were never filled are zeros, switch few bits, and let the clock run higher.
    ``least_rows`` are those of the smallest tile that its kernels have.

    >>> Protocol("mine", copies=(1, 6, 1)).rotated
    ('B',)
    """

    name: str
    copies: tuple[int, int, int] = (1, 1, 1)
    cold: bool = False
    until_l2: bool = False
    launch_s: float = 0.0
    quantizer: Quantizer | None = None
    host_s: float = 0.0
    unit_bytes: float = 0.0
    tick_s: float = 0.0
    switching: float = 1.0
    least_rows: int = 1
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "source"):
            _hold(name, getattr(self, name), isinstance(getattr(self, name), str), "expected text")
        copies = self.copies
        whole = isinstance(copies, tuple) and len(copies) == len(ROLES)
        whole = whole and all(type(item) is int and item > 0 for item in copies)
        _hold("copies", copies, whole, "expected a tuple of three whole numbers from 1 on, of A, B and C")
        for name in ("cold", "until_l2"):
            _hold(name, getattr(self, name), isinstance(getattr(self, name), bool), "expected True or False")
        for name in ("launch_s", "host_s", "unit_bytes", "tick_s"):
            _hold(name, getattr(self, name), is_amount(getattr(self, name)), AMOUNT)
        switches = is_amount(self.switching) and self.switching > 0
        _hold("switching", self.switching, switches, "expected a finite number above 0")
        rows = type(self.least_rows) is int and 0 < self.least_rows <= MOST_ROWS
        _hold("least_rows", self.least_rows, rows, f"expected a whole number from 1 to {MOST_ROWS}, a tile's most rows")
        known = self.quantizer is None or isinstance(self.quantizer, Quantizer)
        _hold("quantizer", self.quantizer, known, "expected a Quantizer or None")

    @property
    def rotated(self) -> tuple[str, ...]:
        """The roles of which the loop takes another copy each time.

        >>> COLD.rotated, WARM.rotated
        ((), ())
        """
        return tuple([role for role, number in zip(ROLES, self.copies, strict=True) if number > 1])


def _hold(field: str, value: Any, holds: bool, rule: str) -> None:
    if not holds:
        raise PerfModelError(f"Protocol: {field} = {brief(value)}: {rule}")


COLD = Protocol("cold", cold=True, source="every operand comes from memory: the default of an estimate")
WARM = Protocol("warm", source="one set of tensors, run again and again")

_AIC = "ai-dynamo/aiconfigurator, collector/{}/collect_gemm.py"
_TABLE = (
    COLD,
    WARM,
    Protocol("aiconfigurator-sglang", (6, 6, 1), source=_AIC.format("sglang")),
    Protocol("aiconfigurator-vllm", (1, 6, 1), switching=0.88, source=_AIC.format("vllm")),
    Protocol("aiconfigurator-trtllm", (1, 5, 1), until_l2=True, source=_AIC.format("trtllm")),
    Protocol("neusight", launch_s=12e-6, source="sitar-lab/NeuSight: eager PyTorch between events, fastest 5 of 25"),
    # the ops of a layer in turn: a weight has left the cache when its turn comes again, an activation was just written
    Protocol("vidur", cold=True, source="microsoft/vidur: profiler trace of a layer, median of 20", tick_s=1e-6),
    Protocol("vidur-stream", source="microsoft/vidur: elementwise ops of the layer", tick_s=1e-6),
    # the norms, rotary embeddings and gates of its serving engine load an element a thread: 4 to 7 bytes a clock and SM
    # on A100 and H100 alike, where kernels that load 16 bytes a thread reach 12
    Protocol("vidur-scalar", source="microsoft/vidur: kernels of sarathi-serve", tick_s=1e-6, unit_bytes=6),
    Protocol("llmcompass", launch_s=20e-6, source="PrincetonUniversity/LLMCompass: host clock around eager calls"),
    # products of few rows take as long as those of 128, which an H20's small matrix peak shows
    Protocol(
        "pipeweave",
        cold=True,
        launch_s=2.5e-6,
        least_rows=128,
        source="zksainx/pipeweave: not stated; small kernels take 5 us",
    ),
    # Hopper's wgmma takes 64 rows at once (NVIDIA, PTX ISA), and DeepGEMM's kernels of 2025 have no smaller tile
    Protocol("infersim-flushed", cold=True, least_rows=64, source="alibaba/InferSim: DeepGEMM, its caches flushed"),
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
    if isinstance(name, str) and name in PROTOCOLS:
        return PROTOCOLS[name]
    near = did_you_mean(name, list(PROTOCOLS))
    raise PerfModelError(f"estimate: no protocol {brief(name)}{near}; there are {listed(list(PROTOCOLS))}")
