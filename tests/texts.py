"""Descriptions as text: valid ones beside their programs, strategies that spoil them; and JSON read strictly."""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any

import pytest
from hypothesis import strategies as st

import perfmodel as pm
from perfmodel import reading

m, n, k, h = pm.dims("m n k h")

SAME = {
    "matmul(4096, 4096, 4096)": pm.matmul(4096, 4096, 4096),
    "matmul(m, 3*h, ceil_div(k, 128))": pm.matmul(m, 3 * h, pm.ceil_div(k, 128)),
    "matmul('m', n='3*h', k=k)": pm.matmul(m, 3 * h, k),
    "matmul(2**10, 1e3, max(8, 16), batch=8)": pm.matmul(1024, 1000, 16, batch=8),
    "matmul(\n  (m\n   + n),\n  4, 4)": pm.matmul(m + n, 4, 4),
    "  gemv(8, 8, dtype={'W': 'int4', 'x': 'fp16'})  ": pm.gemv(8, 8, dtype={"W": "int4", "x": "fp16"}),
    "attention(q=4096, kv=4096, d=128, heads=32, kv_heads=8, causal=True)": pm.attention(
        4096, 4096, 128, heads=32, kv_heads=8, causal=True
    ),
    "attention(8, 8, 4, dv=None, lse=True, window=3)": pm.attention(8, 8, 4, lse=True, window=3),
    "elementwise('relu(x*w + b)', 2**24)": pm.elementwise("relu(x*w + b)", 2**24),
    "elementwise('a*x + y', n, scalars=['a'])": pm.elementwise("a*x + y", n, scalars=["a"]),
    "softmax(m, n, form='naive')": pm.softmax(m, n, form="naive"),
    "layernorm(8, 64)": pm.layernorm(8, 64),
    "rmsnorm(8, 64)": pm.rmsnorm(8, 64),
    "conv2d(1, 8, 8, 3, 4, kernel=(3, 1), padding=(1, 0))": pm.conv2d(1, 8, 8, 3, 4, kernel=(3, 1), padding=(1, 0)),
    "pool2d(1, 8, 8, 4)": pm.pool2d(1, 8, 8, 4),
    "gated_mlp(8, 64, 128)": pm.gated_mlp(8, 64, 128),
    "embedding(8, 100, 64)": pm.embedding(8, 100, 64),
    "optimizer_step(n, 'adam', copy='bf16')": pm.optimizer_step(n, "adam", copy="bf16"),
    "workload(flops=6.3e24, bytes_read=1e9)": pm.workload(flops=6.3e24, bytes_read=1e9),
    "fuse(softmax(4096, 4096))": pm.fuse(pm.softmax(4096, 4096)),
    "fuse(attention(n, n, 128), by='stage')": pm.fuse(pm.attention(n, n, 128), by="stage"),
    "fuse(softmax(8, 8), only=('sub', 'exp'))": pm.fuse(pm.softmax(8, 8), only=("sub", "exp")),
    "tile(pad(matmul(60, 64, 64), m=16), m=16)": pm.tile(pm.pad(pm.matmul(60, 64, 64), m=16), m=16),
    "unfuse(fuse(softmax(8, 8)))": pm.unfuse(pm.fuse(pm.softmax(8, 8))),
    "im2col(conv2d(height=8, width=8, c_in=2, c_out=2))": pm.im2col(pm.conv2d(height=8, width=8, c_in=2, c_out=2)),
    "tile(online(fuse(softmax(8, 64)), 'n'), grid={'m': 4}, stream={'n': 16})": pm.tile(
        pm.online(pm.fuse(pm.softmax(8, 64)), "n"), grid={"m": 4}, stream={"n": 16}
    ),
    "reassociate(fuse(grad(attention(8, 8, 4))))": pm.reassociate(pm.fuse(pm.grad(pm.attention(8, 8, 4)))),
    "fuse(attention(8, 8, 4, lse=True), to=['S', ('O', 'L')])": pm.fuse(
        pm.attention(8, 8, 4, lse=True), to=["S", ("O", "L")]
    ),
    "recipes.flash_attention(q=n, kv=n, d=128, heads=32, kv_heads=8, q_block=64, causal=True)": (
        pm.recipes.flash_attention(n, n, 128, heads=32, kv_heads=8, q_block=64, causal=True)
    ),
    "recipes.flash_attention_backward(n, n, 128, combine='kernel')": pm.recipes.flash_attention_backward(
        n, n, 128, combine="kernel"
    ),
    "recipes.flash_decoding(n, 128, heads=32, kv_heads=8, parts=16)": pm.recipes.flash_decoding(
        n, 128, heads=32, kv_heads=8, parts=16
    ),
    "recipes.fused_mlp(n, 64, 256, token_block=16)": pm.recipes.fused_mlp(n, 64, 256, token_block=16),
    "recipes.implicit_gemm(1, 16, 16, 4, 8, padding=1)": pm.recipes.implicit_gemm(1, 16, 16, 4, 8, padding=1),
    "recipes.checkpointed(fuse(softmax(8, 8)), every=2, layers=4)": pm.recipes.checkpointed(
        pm.fuse(pm.softmax(8, 8)), every=2, layers=4
    ),
    "recompute(grad(softmax(8, 8)))": pm.recompute(pm.grad(pm.softmax(8, 8))),
    "split(matmul(64, 64, 4096), k=4, combine='atomic')": pm.split(pm.matmul(64, 64, 4096), k=4, combine="atomic"),
    "split(matmul(m, n, k), only='matmul', k=4)": pm.split(pm.matmul(m, n, k), only="matmul", k=4),
    "tile(matmul(4096, 4096, 4096), m=128, n=128)": pm.tile(pm.matmul(4096, 4096, 4096), m=128, n=128),
    "tile(fuse(softmax(8, 64)), grid={'m': 4}, stream={'n': 16})": pm.tile(
        pm.fuse(pm.softmax(8, 64)), grid={"m": 4}, stream={"n": 16}
    ),
    "tile(matmul(64, 64, 64), grid={'m': 16}, stream={'k': 8, 'n': 8}, level='l2', buffers=2, spill=('C',), "
    "capacity_bytes=2**20, redundant='forbid', only=['matmul'])": pm.tile(
        pm.matmul(64, 64, 64),
        grid={"m": 16},
        stream={"k": 8, "n": 8},
        level="l2",
        buffers=2,
        spill=("C",),
        capacity_bytes=2**20,
        redundant="forbid",
        only=["matmul"],
    ),
    "tile(tile(matmul(m, n, k), m=64, level='l2'), m=8, stream={'k': h})": pm.tile(
        pm.tile(pm.matmul(m, n, k), m=64, level="l2"), m=8, stream={"k": h}
    ),
    "cast(matmul(8, 64, 64), B='nvfp4')": pm.cast(pm.matmul(8, 64, 64), B="nvfp4"),
    "cast(matmul(8, 64, 64), tensors={'A': 'int8'})": pm.cast(pm.matmul(8, 64, 64), tensors={"A": "int8"}),
    "sequence(matmul(m, n, k), matmul(m, h, n), join={'C': 'A'})": pm.sequence(
        pm.matmul(m, n, k), pm.matmul(m, h, n), join={"C": "A"}
    ),
}

TOKENS = [*reading._VERBS, "relu", "m", "n", "grid", "stream", "level", "{'m': 4}",
          "dtype", "causal", "only", "by", "None", "True", "nan", "lambda", "x.y",
          "(", ")", "[", "]", "{", "}", ",", "=", ":", "*", "**", "-", "/", "//", "%", "@", "'", '"', " ", "\n", "\\",
          "0", "1", "4096", "2**24", "10**18", "9**9**9", "1e400", "0.5", "1e-9", "0x", "'bf16'", "'x + y'", "µ", "é",
          "\0", "#", ";", "__import__", "f'{m}'", "b''", "4j", "..."]  # fmt: skip

GOOD = ["8", "16", "2**20", "n", "3*h", "'n'", "'bf16'", "'int4'", "True", "False", "None", "(2, 1)", "1e9"]
ODD = ["0", "1", "-1", "0.5", "1e400", "10**18", "1e308", "9" * 400, "n - m", "m // 8", "nan", "''", "'fp99'",
       "'stage'", "'same'", "'safe'", "'x + y'", "'A'", "()", *[text.strip() for text in SAME]]  # fmt: skip
anything = st.recursive(
    st.sampled_from(ODD),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: f"({', '.join(items)},)"),
        st.dictionaries(st.sampled_from(["A", "W", "x", "C", "m", "k"]), inner, max_size=2).map(
            lambda found: "{" + ", ".join(f"{name!r}: {item}" for name, item in found.items()) + "}"
        ),
    ),
    max_leaves=4,
)
values = st.one_of(st.sampled_from(GOOD), anything)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A valid call with some arguments replaced by anything, and some of its verb's keywords added."""
    tree = ast.parse(draw(st.sampled_from(sorted(SAME))).strip(), mode="eval")
    call = draw(
        st.sampled_from(
            [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in reading._VERBS]
        )
    )
    for place in draw(st.sets(st.integers(0, max(0, len(call.args) - 1)), max_size=2)) if call.args else ():
        call.args[place] = ast.parse(draw(values), mode="eval").body
    known = list(inspect.signature(reading._VERBS[ast.unparse(call.func)]).parameters)
    for name in draw(st.sets(st.sampled_from(known), max_size=2)):
        call.keywords = [each for each in call.keywords if each.arg != name]
        call.keywords.append(ast.keyword(name, ast.parse(draw(values), mode="eval").body))
    return ast.unparse(tree)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid text with a few pieces cut out, doubled, or replaced by tokens."""
    text = draw(st.sampled_from(sorted(SAME)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 8)))
        text = text[:start] + draw(st.sampled_from([*TOKENS, "", text[start:stop] * 2])) + text[stop:]
    return text


def json_document(text: str) -> Any:
    """The one JSON document of an output; NaN and infinities are no JSON."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
