"""perfmodel: what a computation costs, as formulas; rewritten as an engineer would; held against a chip.

Describe (``matmul``, ``attention``, ... -> ``Program``), transform (``fuse``, ``cast``), count (``p.flops``,
``p.bytes``), estimate (``estimate(p, "h100-sxm")``), ``compare``, ``solve``, draw (``plot``). Every name below loads
when it is first used.

>>> import perfmodel as pm
>>> m, n, k = pm.dims("m n k")
>>> pm.matmul(m, n, k).flops
2*k*m*n
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.errors import (
    CapacityError,
    DimensionError,
    ExpressionError,
    FormatError,
    LabelError,
    MachineError,
    PerfModelError,
    SolveError,
    TransformError,
)
from perfmodel.loading import homes_of, loader

_HOME = homes_of(
    {
        "perfmodel.expressions": "ceil_div compile_formula dims evaluate reals",
        "perfmodel.number_formats": "Format format formats",
        "perfmodel.graph": "Kernel Mask Op Program Tensor causal gather program sequence tensor window",
        "perfmodel.descriptors": (
            "attention conv2d cos einsum elementwise embedding erf exp exp2 gated_mlp gelu gemv layernorm log matmul "
            "max maximum mean min minimum optimizer_step pool2d relu rmsnorm rope rsqrt sigmoid silu sin softmax sqrt "
            "square sum tanh where workload"
        ),
        "perfmodel.transforms": "cast fuse grad im2col online pad reassociate recompute split tile unfuse",
        "perfmodel": "plot recipes",
        "perfmodel.simulation": "check simulate",
        "perfmodel.reading": "describe",
        "perfmodel.catalogue": "Machine machine machines",
        "perfmodel.bounds": "io_lower_bound known_io_orders",
        "perfmodel.mechanisms": (
            "Energies alignment amat amdahl bank_conflicts divergence efficiency_ladder energy energy_tables gustafson "
            "instruction_energy latency_hiding littles_law occupancy systolic tile_grid transactions waves work_span "
            "work_span_limits"
        ),
        "perfmodel.effects": "Protocol Tile",
        "perfmodel.estimation": "Estimate Estimates estimate estimate_many fits",
        "perfmodel.comparing": "compare",
        "perfmodel.suggesting": "suggest",
        "perfmodel.sweeping": "sweep sweep_to",
        "perfmodel.tile_search": "best_tiles",
        "perfmodel.solving": "Solution solve",
        "perfmodel.validation": "Validation validate",
    }
)

__all__ = [
    "CapacityError",
    "DimensionError",
    "ExpressionError",
    "FormatError",
    "LabelError",
    "MachineError",
    "PerfModelError",
    "SolveError",
    "TransformError",
    *sorted(set(_HOME) - {"format", "max", "min", "sum"}),  # a star import must not replace Python's own
]
_load = loader(__name__, _HOME)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("perfmodel")
    return _load(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOME, "__version__"})


if TYPE_CHECKING:  # the same names for type checkers: `as` says that they are exported
    from perfmodel import plot as plot
    from perfmodel.bounds import (
        io_lower_bound as io_lower_bound,
        known_io_orders as known_io_orders,
    )
    from perfmodel.catalogue import (
        Machine as Machine,
        machine as machine,
        machines as machines,
    )
    from perfmodel.comparing import compare as compare
    from perfmodel.descriptors import (
        attention as attention,
        conv2d as conv2d,
        cos as cos,
        einsum as einsum,
        elementwise as elementwise,
        embedding as embedding,
        erf as erf,
        exp as exp,
        exp2 as exp2,
        gated_mlp as gated_mlp,
        gelu as gelu,
        gemv as gemv,
        layernorm as layernorm,
        log as log,
        matmul as matmul,
        max as max,
        maximum as maximum,
        mean as mean,
        min as min,
        minimum as minimum,
        optimizer_step as optimizer_step,
        pool2d as pool2d,
        relu as relu,
        rmsnorm as rmsnorm,
        rope as rope,
        rsqrt as rsqrt,
        sigmoid as sigmoid,
        silu as silu,
        sin as sin,
        softmax as softmax,
        sqrt as sqrt,
        square as square,
        sum as sum,
        tanh as tanh,
        where as where,
        workload as workload,
    )
    from perfmodel.effects import (
        Protocol as Protocol,
        Tile as Tile,
    )
    from perfmodel.estimation import (
        Estimate as Estimate,
        Estimates as Estimates,
        estimate as estimate,
        estimate_many as estimate_many,
        fits as fits,
    )
    from perfmodel.expressions import (
        ceil_div as ceil_div,
        compile_formula as compile_formula,
        dims as dims,
        evaluate as evaluate,
        reals as reals,
    )
    from perfmodel.graph import (
        Kernel as Kernel,
        Mask as Mask,
        Op as Op,
        Program as Program,
        Tensor as Tensor,
        causal as causal,
        gather as gather,
        program as program,
        sequence as sequence,
        tensor as tensor,
        window as window,
    )
    from perfmodel.mechanisms import (
        Energies as Energies,
        alignment as alignment,
        amat as amat,
        amdahl as amdahl,
        bank_conflicts as bank_conflicts,
        divergence as divergence,
        efficiency_ladder as efficiency_ladder,
        energy as energy,
        energy_tables as energy_tables,
        gustafson as gustafson,
        instruction_energy as instruction_energy,
        latency_hiding as latency_hiding,
        littles_law as littles_law,
        occupancy as occupancy,
        systolic as systolic,
        tile_grid as tile_grid,
        transactions as transactions,
        waves as waves,
        work_span as work_span,
        work_span_limits as work_span_limits,
    )
    from perfmodel.number_formats import (
        Format as Format,
        format as format,
        formats as formats,
    )
    from perfmodel.simulation import (
        check as check,
        simulate as simulate,
    )
    from perfmodel.solving import (
        Solution as Solution,
        solve as solve,
    )
    from perfmodel.suggesting import suggest as suggest
    from perfmodel.sweeping import (
        sweep as sweep,
        sweep_to as sweep_to,
    )
    from perfmodel.tile_search import best_tiles as best_tiles
    from perfmodel.transforms import (
        cast as cast,
        fuse as fuse,
        grad as grad,
        im2col as im2col,
        online as online,
        pad as pad,
        reassociate as reassociate,
        recompute as recompute,
        split as split,
        tile as tile,
        unfuse as unfuse,
    )
    from perfmodel.validation import (
        Validation as Validation,
        validate as validate,
    )
