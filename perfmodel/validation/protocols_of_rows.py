"""How a row's time was taken: its source, its framework, its format and, for an eager loop, its host."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from perfmodel.catalogue import Machine
from perfmodel.effects.protocols import PROTOCOLS, Protocol
from perfmodel.effects.quantizers import QUANTIZERS, Quantizer
from perfmodel.validation.rows import Row

# Seconds in which a host enqueues vLLM's layer of fp8 with block scales, which no graph captures: by the kernel that
# it picks, on an x86 host; the layer's Python is the same, so that a slower host takes longer by a factor.
_EAGER_S = {"Cutlass": 165e-6, "DeepGemm": 175e-6, "FlashInfer": 57e-6, "Triton": 300e-6}
_ON_HOPPER_S = {"DeepGemm": 80e-6}  # without the packing of scales that Blackwell's kernel asks for
_GRACE = 1.7  # of GB200 and GB300
_XPU_S = 30e-6  # vLLM on Intel's GPUs launches eagerly
_SCALAR = ("silu_mul", "rope", "rmsnorm", "layernorm")  # of vidur's serving engine
# Rows of the smallest tile of fp8 on B200 and its like, whose tcgen05.mma takes 128 at once (NVIDIA, PTX ISA); products
# of bf16 come from cuBLAS, which turns few rows into columns.
_TALL = 128
_PACKED_S = 8e-6  # SGLang's scales for DeepGEMM on Blackwell: packed, transposed and aligned by kernels of their own


def protocol_of(row: Row, chip: Machine | None = None) -> Protocol:
    """The protocol of a row, on the chip that it names; the cold one where its source is unknown.

    >>> protocol_of(Row.read({"source": "aiconfigurator", "extra": "fw=vllm-0.24.0"})).name
    'aiconfigurator-vllm'
    >>> protocol_of(Row.read({"source": "mine"})).name
    'cold'
    """
    if "L2_flush" in row.flags:
        return PROTOCOLS.get(f"{row.source}-flushed", PROTOCOLS["flushed"])
    framework = row.extra.get("fw", "").partition("-")[0]
    kind = f"{row.source}-scalar" if row.op in _SCALAR else f"{row.source}-stream" if row.op.startswith("ew_") else ""
    base = next((name for name in (kind, f"{row.source}-{framework}", row.source) if name in PROTOCOLS), "cold")
    narrow = row.dtype if row.extra.get("quant_in_timing") == "1" else ""
    kernel = row.extra.get("kernel", "")
    capability = float(chip.compute_capability or 0) if chip is not None else 0.0
    grace = chip is not None and chip.name.startswith("gb")
    xpu = chip is not None and chip.vendor == "Intel" and framework == "vllm"
    host_s = _host_s(framework, narrow, kernel, capability, grace, xpu)
    return _made(base, framework, narrow, host_s, capability >= 10, 10 <= capability < 12)


def _host_s(framework: str, narrow: str, kernel: str, capability: float, grace: bool, xpu: bool) -> float:
    if xpu:
        return _XPU_S
    if (framework, narrow) != ("vllm", "fp8_block"):
        return 0.0
    known = _EAGER_S | (_ON_HOPPER_S if capability < 10 else {})
    found = next((seconds for start, seconds in known.items() if kernel.startswith(start)), 0.0)
    return found * (_GRACE if grace else 1.0)


@lru_cache(maxsize=256)
def _made(base: str, framework: str, narrow: str, host_s: float, blackwell: bool, tall: bool) -> Protocol:
    found = PROTOCOLS[base]
    if host_s:
        found = replace(found, name=f"{found.name}-eager", host_s=host_s)
    if not narrow:
        return found
    quantizer = QUANTIZERS.get((framework, narrow), Quantizer())
    if (framework, narrow) == ("sglang", "fp8_block") and blackwell:
        quantizer = replace(quantizer, other_s=_PACKED_S)
    one_copy = framework == "vllm" and narrow != "fp8"
    copies = (1, 1, 1) if one_copy else found.copies
    rows = _TALL if tall and narrow.startswith("fp8") else found.least_rows
    return replace(
        found, name=f"{found.name}-{narrow}", copies=copies, quantizer=quantizer, switching=1.0, least_rows=rows
    )
