"""Op descriptors: sizes to a program, or tensors to a tensor; each a few lines over the graph."""

from perfmodel.descriptors.attentions import attention
from perfmodel.descriptors.contractions import einsum, gemv, matmul
from perfmodel.descriptors.convolutions import conv2d, pool2d
from perfmodel.descriptors.layers import embedding, gated_mlp, rope
from perfmodel.descriptors.maps import (
    cos,
    elementwise,
    erf,
    exp,
    exp2,
    gelu,
    log,
    maximum,
    minimum,
    relu,
    rsqrt,
    sigmoid,
    silu,
    sin,
    sqrt,
    square,
    tanh,
    where,
)
from perfmodel.descriptors.normalizations import layernorm, rmsnorm, softmax
from perfmodel.descriptors.optimizers import optimizer_step
from perfmodel.descriptors.reductions import max, mean, min, sum
from perfmodel.descriptors.workloads import workload

__all__ = [
    "attention", "conv2d", "cos", "einsum", "elementwise", "embedding", "erf", "exp", "exp2", "gated_mlp", "gelu",
    "gemv", "layernorm", "log", "matmul", "max", "maximum", "mean", "min", "minimum", "optimizer_step", "pool2d",
    "relu", "rmsnorm", "rope", "rsqrt", "sigmoid", "silu", "sin", "softmax", "sqrt", "square", "sum", "tanh", "where",
    "workload",
]  # fmt: skip
