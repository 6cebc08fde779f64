"""Recipes: compositions that have a name, each a few lines of transforms; what they cost follows from those alone.

Nothing here counts anything. To change a recipe, take its lines and change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.descriptors import attention, conv2d, gated_mlp
from perfmodel.descriptors.arguments import Dtype, divided, one_of, sizes
from perfmodel.errors import DimensionError, TransformError
from perfmodel.graph.arguments import mapping_given
from perfmodel.graph.programs import Program
from perfmodel.graph.sequencing import sequence
from perfmodel.transforms import fuse, grad, im2col, online, reassociate, recompute, split, tile
from perfmodel.transforms.selecting import checked_program

__all__ = [
    "checkpointed",
    "flash_attention",
    "flash_attention_backward",
    "flash_decoding",
    "fused_mlp",
    "implicit_gemm",
]

_COMBINES = ("atomic", "kernel")


def flash_attention(
    q: Any,
    kv: Any,
    d: Any,
    dv: Any = None,
    heads: Any = 1,
    kv_heads: Any = None,
    batch: Any = 1,
    causal: bool = False,
    window: Any = None,
    lse: bool = False,
    dtype: Dtype = "bf16",
    *,
    q_block: Any = 128,
    kv_block: Any = 64,
    chunk: Any = None,
    align: str = "end",
    scale: bool = False,
) -> Program:
    """``attention`` in one kernel that never stores the scores; its arguments, and the sizes of the blocks.

    ::

        p = online(fuse(attention(q, kv, d, ...)), "kv")
        tile(p, grid={"batch": 1, "kv_head": 1, "q": q_block}, stream={"kv": kv_block})

    A block has all the query heads that share a head of K and V, group * q_block rows (``p.footprint()`` says
    whether that fits), so that K and V are read once a head of their own and tile of queries. ``lse`` keeps the
    log-sum-exp for a backward pass. The order of the loops is that of FlashAttention-2 (Dao 2023, arXiv
    2307.08691): queries outside, and the output stays on chip.

    >>> from perfmodel import dims
    >>> n, d = dims("n d")
    >>> p = flash_attention(q=n, kv=n, d=d, lse=True)
    >>> p.elements_read + p.elements_written - n
    2*d*n*ceiling(n/128) + 2*d*n
    """
    sizes("flash_attention", q_block=q_block, kv_block=kv_block)
    given: dict[str, Any] = {"lse": lse, "chunk": chunk, "align": align, "scale": scale}
    p = online(fuse(attention(q, kv, d, dv, heads, kv_heads, batch, causal, window, dtype=dtype, **given)), "kv")
    return tile(p, grid={"batch": 1, "kv_head": 1, "q": q_block}, stream={"kv": kv_block})


def flash_attention_backward(
    q: Any,
    kv: Any,
    d: Any,
    dv: Any = None,
    heads: Any = 1,
    kv_heads: Any = None,
    batch: Any = 1,
    causal: bool = False,
    window: Any = None,
    combine: str = "atomic",
    dtype: Dtype = "bf16",
    *,
    block: Any = 128,
    step: Any = 64,
    chunk: Any = None,
    align: str = "end",
    scale: bool = False,
) -> Program:
    """``flash_attention`` and its backward pass, from dO to dQ, dK and dV; it makes the scores again and keeps L.

    ``block`` is the size of what runs apart, ``step`` that of the loop inside: queries and keys, or keys and queries.
    ``combine="atomic"`` does five contractions in one kernel of blocks of keys, which add their parts of dQ in memory::

        g = reassociate(grad(attention(q, kv, d, lse=True, ...), of="O"))
        g = recompute(fuse(g, to=[("O", "L"), "D", ("dQ", "dK", "dV")]), "P", keep="D")
        g = tile(online(g, "kv", only="O"), only=("O", "D"), grid={.., "q": block}, stream={"kv": step})
        tile(g, only="dQ", grid={.., "kv": block}, stream={"group": 1, "q": step}, atomic="kv")

    ``combine="kernel"`` does seven in two kernels that share nothing but D = rowsum(dO O): dQ by blocks of queries
    (S, dP and dQ), dK and dV by blocks of keys (S and dP again, dV and dK), without atomics::

        g = recompute(fuse(g, to=[("O", "L"), "D", "dQ", ("dK", "dV")]), "P", "dS", keep="D")
        g = tile(online(g, "kv", only="O"), only=("O", "D", "dQ"), grid={.., "q": block}, stream={"kv": step})
        tile(g, only="dK", grid={.., "kv": block}, stream={"group": 1, "q": step})

    >>> five, seven = [flash_attention_backward("n", "n", 128, combine=how) for how in ("atomic", "kernel")]
    >>> [sum(op.kind == "contract" for op in kernel.ops) for kernel in five.kernels]  # forward, D, backward
    [2, 0, 5]
    >>> [sum(op.kind == "contract" for op in kernel.ops) for kernel in seven.kernels]
    [2, 0, 3, 4]
    """
    one_of(combine, _COMBINES, "flash_attention_backward: combine")
    sizes("flash_attention_backward", block=block, step=step)
    given: dict[str, Any] = {"lse": True, "chunk": chunk, "align": align, "scale": scale, "dtype": dtype}
    p = attention(q, kv, d, dv, heads, kv_heads, batch, causal, window, **given)
    g = reassociate(grad(p, of="O"))
    by_rows: dict[str, Any] = {"grid": {"batch": 1, "kv_head": 1, "q": block}, "stream": {"kv": step}}
    by_keys: dict[str, Any] = {"grid": {"batch": 1, "kv_head": 1, "kv": block}, "stream": {"group": 1, "q": step}}
    if combine == "atomic":
        g = recompute(fuse(g, to=[("O", "L"), "D", ("dQ", "dK", "dV")]), "P", keep="D")
        g = tile(online(g, "kv", only="O"), only=("O", "D"), **by_rows)
        return tile(g, only="dQ", atomic="kv", **by_keys)
    g = recompute(fuse(g, to=[("O", "L"), "D", "dQ", ("dK", "dV")]), "P", "dS", keep="D")
    g = tile(online(g, "kv", only="O"), only=("O", "D", "dQ"), **by_rows)
    return tile(g, only="dK", **by_keys)


def flash_decoding(
    kv: Any,
    d: Any,
    dv: Any = None,
    heads: Any = 1,
    kv_heads: Any = None,
    batch: Any = 1,
    q: Any = 1,
    causal: bool = False,
    window: Any = None,
    lse: bool = False,
    dtype: Dtype = "bf16",
    *,
    parts: Any = 8,
    kv_block: Any = 64,
    chunk: Any = None,
    align: str = "end",
    scale: bool = False,
) -> Program:
    """``flash_attention`` of a few queries, with the keys in parts that run apart and a kernel that combines them.

    ::

        p = split(online(fuse(attention(q, kv, d, ...)), "kv"), kv=parts)
        p = tile(p, only="attention", grid={"batch": 1, "kv_head": 1, "kv_part": 1}, stream={"kv": kv_block})
        tile(p, only="attention_combine", grid={"batch": 1, "kv_head": 1})

    Each part leaves a maximum, a sum and an output of each query in fp32 (Dao et al. 2023,
    https://pytorch.org/blog/flash-decoding/). The last of several queries stands at the last key (``causal``).

    >>> p = flash_decoding(8192, 128, heads=32, kv_heads=8, parts=16)
    >>> [(kernel.name, kernel.made[-1]) for kernel in p.kernels]
    [('attention', 'O_sum_partial'), ('attention_combine', 'O')]
    >>> rows = 32 * 16  # of each head and part: m, l and O, written and read
    >>> p.elements_written == rows * (128 + 2) + 32 * 128
    True
    """
    number, _ = sizes("flash_decoding", parts=parts, kv_block=kv_block)
    if isinstance(number, int) and (number < 2 or (isinstance(kv, int) and number > kv)):
        raise DimensionError(f"flash_decoding: parts={parts}: 2 parts of the keys or more, and no more than {kv} keys")
    given: dict[str, Any] = {"lse": lse, "chunk": chunk, "align": align, "scale": scale}
    p = online(fuse(attention(q, kv, d, dv, heads, kv_heads, batch, causal, window, dtype=dtype, **given)), "kv")
    p = split(p, kv=parts)
    heads_apart = {"batch": 1, "kv_head": 1}
    p = tile(p, only="attention", grid={**heads_apart, "kv_part": 1}, stream={"kv": kv_block})
    return tile(p, only="attention_combine", grid=heads_apart)


def fused_mlp(
    tokens: Any,
    hidden: Any,
    intermediate: Any,
    *,
    activation: str = "silu",
    dtype: Dtype = "bf16",
    token_block: Any = 128,
    intermediate_block: Any = 64,
) -> Program:
    """``gated_mlp`` in one kernel: what lies between the matrices stays on chip, a slice of it at a time.

    ::

        tile(fuse(gated_mlp(tokens, hidden, intermediate)), grid={"token": ..}, stream={"intermediate": ..})

    A block holds its tokens' input and output whole; every block of tokens reads the three matrices again.

    >>> from perfmodel import gated_mlp
    >>> p = fused_mlp(256, 4096, 14336)
    >>> p.elements_read + p.elements_written == 2 * 256 * 4096 + 256 // 128 * (3 * 4096 * 14336)
    True
    >>> gated_mlp(256, 4096, 14336).flops == p.flops
    True
    """
    sizes("fused_mlp", token_block=token_block, intermediate_block=intermediate_block)
    p = fuse(gated_mlp(tokens, hidden, intermediate, activation=activation, dtype=dtype))
    return tile(p, grid={"token": token_block}, stream={"intermediate": intermediate_block})


def implicit_gemm(
    batch: Any = 1,
    height: Any = None,
    width: Any = None,
    c_in: Any = None,
    c_out: Any = None,
    kernel: Any = 3,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
    *,
    dtype: Dtype = "bf16",
    f_block: Any = 64,
    p_block: Any = 8,
    q_block: Any = 16,
    c_block: Any = 16,
) -> Program:
    """``conv2d`` as the matrix product of its windows, which are copied on chip and never stored.

    ::

        p = fuse(im2col(conv2d(...)))
        tile(p, grid={"batch": 1, "group": 1, "f": .., "p": .., "q": ..}, stream={"c": ..})

    The rows of the product are the p_block x q_block places of a block, its columns f_block filters, and c_block
    channels of each window are summed at a time.

    >>> from perfmodel import conv2d
    >>> p = implicit_gemm(height=56, width=56, c_in=64, c_out=64, padding=1)
    >>> [name for name in p.tensors if name not in {row[1] for row in p.traffic().rows}]
    ['x_columns']
    >>> p.flops == conv2d(height=56, width=56, c_in=64, c_out=64, padding=1).flops
    True
    """
    sizes("implicit_gemm", f_block=f_block, p_block=p_block, q_block=q_block, c_block=c_block)
    p = conv2d(batch, height, width, c_in, c_out, kernel, stride, padding, dilation, groups, dtype=dtype)
    grid = {"batch": 1, "group": 1, "f": f_block, "p": p_block, "q": q_block}
    return tile(fuse(im2col(p)), grid=grid, stream={"c": c_block})


def checkpointed(
    program: Program, every: int = 1, layers: Any = None, carry: Mapping[str, str] | None = None
) -> Program:
    """Training with checkpoints: the backward pass makes again what lies between every k-th value.

    Of a program that is all layers, every k-th of the values through which alone it passes is kept::

        recompute(grad(program), segment=every)

    With ``layers``, ``program`` is one of so many equal layers, and ``carry`` says which output is which input of the
    next ({"y": "x"}, where it is not said)::

        run = sequence(layer, layer, join={"y": "x"})  # every of them
        recompute(grad(run), segment=run.returned).repeat(layers / every, carry={"y_2": "x", "dx": "dy_2"})

    The memory of n layers falls to that of n / every checkpoints and of one segment of ``every`` layers, for one more
    forward pass (Chen et al. 2016, arXiv 1604.06174).

    >>> from perfmodel import elementwise, grad
    >>> layer = elementwise("sigmoid(sigmoid(x))", 1024)
    >>> p = checkpointed(layer, every=4, layers=16)
    >>> plain = grad(layer).repeat(16, carry={"y": "x", "dx": "dy"})
    >>> p.memory_bytes < plain.memory_bytes, p.flops_by_unit["special"] - plain.flops_by_unit["special"]
    (True, 28672)
    """
    checked_program(program, "checkpointed")
    handed_on = mapping_given(carry, "checkpointed: carry", "{'y': 'x'}")
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise TransformError(f"checkpointed: every={every!r}: a whole number of layers, 1 or more")
    if layers is None and handed_on:
        raise TransformError("checkpointed: carry says what the next of equal layers reads; give layers= as well")
    if layers is None:
        return recompute(grad(program), segment=every)
    (count,) = sizes("checkpointed", layers=layers)
    runs = divided(count, every, "checkpointed: layers / every")
    run, handed = _in_a_row(program, every, {"y": "x"} if carry is None else handed_on)
    backward = {f"d{into}": f"d{out}" for out, into in handed.items()}
    return recompute(grad(run), segment=run.returned).repeat(runs, carry=handed | backward)


def _in_a_row(layer: Program, times: int, carry: Mapping[str, str]) -> tuple[Program, dict[str, str]]:
    """A layer so many times over, and what it then hands on to its first inputs."""
    run, handed = layer, dict(carry)
    for _ in range(times - 1):
        run = sequence(run, layer, join=handed)
        last = dict(zip(layer.returned, run.returned[-len(layer.returned) :], strict=True))
        handed = {last[out]: into for out, into in carry.items()}
    return run, handed
