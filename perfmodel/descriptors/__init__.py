"""Op descriptors: sizes to a program, or tensors to a tensor; each a few lines over the graph."""

from typing import TYPE_CHECKING

from perfmodel.loading import homes_of, loader

_HOMES = homes_of(
    {
        "perfmodel.descriptors.attentions": "attention",
        "perfmodel.descriptors.contractions": "einsum gemv matmul",
        "perfmodel.descriptors.convolutions": "conv2d pool2d",
        "perfmodel.descriptors.layers": "embedding gated_mlp rope",
        "perfmodel.descriptors.maps": (
            "cos elementwise erf exp exp2 gelu log maximum minimum relu rsqrt sigmoid silu sin sqrt square tanh where"
        ),
        "perfmodel.descriptors.normalizations": "layernorm rmsnorm softmax",
        "perfmodel.descriptors.optimizers": "optimizer_step",
        "perfmodel.descriptors.reductions": "max mean min sum",
        "perfmodel.descriptors.workloads": "workload",
    }
)
__getattr__ = loader(__name__, _HOMES)

__all__ = [
    "attention", "conv2d", "cos", "einsum", "elementwise", "embedding", "erf", "exp", "exp2", "gated_mlp", "gelu",
    "gemv", "layernorm", "log", "matmul", "max", "maximum", "mean", "min", "minimum", "optimizer_step", "pool2d",
    "relu", "rmsnorm", "rope", "rsqrt", "sigmoid", "silu", "sin", "softmax", "sqrt", "square", "sum", "tanh", "where",
    "workload",
]  # fmt: skip

if TYPE_CHECKING:
    from perfmodel.descriptors.attentions import (
        attention as attention,
    )
    from perfmodel.descriptors.contractions import (
        einsum as einsum,
        gemv as gemv,
        matmul as matmul,
    )
    from perfmodel.descriptors.convolutions import (
        conv2d as conv2d,
        pool2d as pool2d,
    )
    from perfmodel.descriptors.layers import (
        embedding as embedding,
        gated_mlp as gated_mlp,
        rope as rope,
    )
    from perfmodel.descriptors.maps import (
        cos as cos,
        elementwise as elementwise,
        erf as erf,
        exp as exp,
        exp2 as exp2,
        gelu as gelu,
        log as log,
        maximum as maximum,
        minimum as minimum,
        relu as relu,
        rsqrt as rsqrt,
        sigmoid as sigmoid,
        silu as silu,
        sin as sin,
        sqrt as sqrt,
        square as square,
        tanh as tanh,
        where as where,
    )
    from perfmodel.descriptors.normalizations import (
        layernorm as layernorm,
        rmsnorm as rmsnorm,
        softmax as softmax,
    )
    from perfmodel.descriptors.optimizers import (
        optimizer_step as optimizer_step,
    )
    from perfmodel.descriptors.reductions import (
        max as max,
        mean as mean,
        min as min,
        sum as sum,
    )
    from perfmodel.descriptors.workloads import (
        workload as workload,
    )
