"""Optimizer steps: elementwise chains over every parameter."""

from __future__ import annotations

from typing import Any

from perfmodel.descriptors.arguments import Dtype, Dtypes, one_of, optional_format, result, sizes
from perfmodel.descriptors.formulas import names_in, read_formula
from perfmodel.graph.nodes import Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format

# The updates of one parameter p with gradient g, in order; each may use what stands before it.
# sgd: Robbins and Monro 1951; momentum: Polyak 1964; adam: Kingma and Ba 2014 (arXiv 1412.6980), with the two
# bias corrections folded into the step size; adamw: Loshchilov and Hutter 2017 (arXiv 1711.05101).
_RULES: dict[str, dict[str, str]] = {
    "sgd": {"p_new": "p - lr*g"},
    "momentum": {"m_new": "beta1*m + g", "p_new": "p - lr*m_new"},
    "adam": {
        "m_new": "beta1*m + beta1_rest*g",
        "v_new": "beta2*v + beta2_rest*g**2",
        "p_new": "p - lr*m_new / (sqrt(v_new) + eps)",
    },
}
_RULES["adamw"] = {**_RULES["adam"], "p_new": "p - lr*(m_new / (sqrt(v_new) + eps) + decay*p)"}
_SCALARS = ("lr", "beta1", "beta1_rest", "beta2", "beta2_rest", "eps", "decay")
_STATE = ("p", "g", "m", "v")


def optimizer_step(
    parameters: Any = None, kind: str = "adamw", *, dtype: Dtype = "fp32", copy: str | Format | None = None
) -> Program:
    """One step of "sgd", "momentum", "adam" or "adamw" over all parameters (label ``i``).

    Reads p, g and the state m, v; writes p_new, m_new, v_new; with ``copy`` also the parameters in that format
    (the working copy of mixed precision). The step's scalars cost no traffic. ``dtype`` may map p, g, m and v to
    formats (fp32 where not named); a new value is stored as the old one was.

    >>> from perfmodel.transforms import fuse
    >>> fuse(optimizer_step("N", "adam", copy="bf16")).bytes  # reads p g m v, writes p m v in fp32 and p in bf16
    30*N
    """
    rules = _RULES[one_of(kind, _RULES, "optimizer_step: kind")]
    (count,) = sizes("optimizer_step", parameters=parameters)
    used = [name for name in _STATE if any(name in names_in(text) for text in rules.values())]
    formats = Dtypes(dtype, used, "optimizer_step", default="fp32")
    known: dict[str, Tensor] = {name: tensor(name, {"i": count}, formats[name]) for name in used}
    results: list[Tensor] = []
    for name, text in rules.items():
        made = read_formula(text, known, _SCALARS, stage=kind)
        known[name] = result(made, name, formats[name.removesuffix("_new")])
        results.append(known[name])
    if copy is not None:
        results.append(mapped("copy", known["p_new"], name="p_copy", stored=optional_format(copy), stage=kind))
    return program(*results, name=f"{kind}_step")
