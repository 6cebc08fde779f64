"""An estimate in words: the working as one would write it on a napkin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.effects.roofline import Term
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import by_label, title, worked
from perfmodel.showing import Text, formula, percent, plain_dict, quantity
from perfmodel.transforms import fuse

if TYPE_CHECKING:
    from perfmodel.estimation.values import Estimate, KernelEstimate

_AMOUNTS = {"matrix": "FLOP", "vector": "FLOP", "special": "op", "memory": "B"}


def expression(estimate: Estimate) -> str:
    """The expression that makes the estimate, as its repr begins."""
    return f"estimate({title(estimate.program)}, {estimate.machine.name!r})"


def shown(estimate: Estimate) -> str:
    """The repr: the expression, and its conclusion as comments."""
    return f"{expression(estimate)}\n# {conclusion(estimate)}"


def conclusion(estimate: Estimate) -> str:
    """Time, bound and share of peak, in a line."""
    if not is_concrete(estimate.time_s):
        return f"{formula(estimate.time_s)} s"
    bound = f"{estimate.bound}-bound ({estimate.bottleneck})"
    shares = f"{percent(estimate.fraction_of_peak)} of peak, {percent(estimate.fraction_of_bandwidth)} of bandwidth"
    return f"{quantity(estimate.time_s, 's')}, {bound}, {shares}"


def explained(estimate: Estimate) -> Text:
    """The whole working: each kernel, the ridge, the totals, what fusing would give, what is left out."""
    lines = [f"{title(estimate.program)} on {estimate.machine.name}: {conclusion(estimate)}"]
    general = by_label(estimate.program)
    order = [*estimate.program.labels, *[symbol.name for symbol in estimate.program.symbols]]
    rows = []
    for kernel, formal in zip(estimate.kernels, general.counted, strict=True):
        rows.append(_kernel_rows(kernel, formal, order, single=len(estimate.kernels) == 1))
    lines += _aligned([row for kernel_rows in rows for row in kernel_rows])
    lines += _fused(estimate)
    lines += [f"  note     {text}" for text in estimate.caveats]
    lines.append(f"  left out {'; '.join(estimate.not_modelled)}")
    return Text("\n".join(lines))


def _kernel_rows(kernel: KernelEstimate, formal: Any, order: list[str], *, single: bool) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if not single:
        times = f" x {formula(kernel.repeat)}" if kernel.repeat != 1 else ""
        time = quantity(kernel.time_s, "s") if is_concrete(kernel.time_s) else ""
        rows.append((f"  {kernel.name}{times}", time and f"{time}, {kernel.bound}-bound"))
    for term in kernel.roofline.terms:
        rows.append(_term_row(term, kernel, formal, order))
    ridge = _ridge(kernel)
    return [*rows, (f"  {'ridge':<8} {ridge}",)] if ridge else rows


def _term_row(term: Term, kernel: KernelEstimate, formal: Any, order: list[str]) -> tuple[str, ...]:
    name = {"matrix": "work", "memory": "memory"}.get(term.unit, term.unit)
    same = [w.operations for w, own in zip(formal.works, kernel.count.works, strict=True) if _runs_on(own, term)]
    general = formal.bytes if term.unit == "memory" else sum(same)
    amount = worked(term.amount, general, order, _AMOUNTS[term.unit])
    rate = quantity(term.rate, f"{_AMOUNTS[term.unit]}/s")
    seconds = quantity(term.seconds, "s") if is_concrete(term.seconds) else formula(term.seconds, order) + " s"
    mark = "  <- bound" if term.resource == kernel.bottleneck else ""
    return (f"  {name:<8} {amount}", f"/ {rate} ({term.resource})", f"{seconds}{mark}")


def _runs_on(work: Any, term: Term) -> bool:
    """Whether some work is part of a term (contractions may have gone to the vector unit)."""
    special = "special" in (work.unit, term.unit)
    return work.unit == term.unit if special else term.resource.endswith(f" {work.compute.name}") and not (
        term.unit == "matrix" and work.unit == "vector"
    )  # fmt: skip


def _ridge(kernel: KernelEstimate) -> str:
    """How far the kernel's busiest compute unit stands from its ridge point."""
    terms = [term for term in kernel.roofline.terms[:-1] if term.unit in ("matrix", "vector")]
    if not terms or kernel.memory.amount == 0:
        return ""
    term = terms[0]
    ridge, intensity = term.rate / kernel.memory.rate, term.amount / kernel.memory.amount
    if not (is_concrete(ridge) and is_concrete(intensity)):
        return f"{formula(sympy.cancel(intensity))} FLOP/B against {quantity(ridge, 'FLOP/B')}"
    ratio = float(intensity / ridge)
    side = f"{ratio:.3g} times past it" if ratio >= 1 else f"{1 / ratio:.3g} times short of it"
    return f"{float(intensity):.4g} FLOP/B against {float(ridge):.4g}: {side}"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max([len(row[place]) for row in rows if len(row) == 3], default=0) for place in range(2)]
    lines = []
    for row in rows:
        if len(row) == 3:
            lines.append(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}")
        else:
            lines.append("  ".join(part for part in row if part))
    return lines


def _fused(estimate: Estimate) -> list[str]:
    """What one kernel for each section of the program would move and take."""
    from perfmodel.estimation.estimating import estimate as estimated

    sections = {kernel.section for kernel in estimate.program.kernels}
    if len(estimate.kernels) <= len(sections):
        return []
    whole = fuse(estimate.program)
    after = estimated(whole, estimate.machine, effects=estimate.effects)
    line = f"  fuse     in one kernel: {quantity(estimate.program.bytes, 'B')} -> {quantity(whole.bytes, 'B')}"
    if is_concrete(after.time_s) and is_concrete(estimate.time_s):
        gain = estimate.time_s / after.time_s
        line += f", {quantity(estimate.time_s, 's')} -> {quantity(after.time_s, 's')} ({gain:.3g} times as fast)"
        line += f", {after.bound}-bound"
    return [line]


def as_dict(estimate: Estimate) -> dict[str, Any]:
    """The estimate as plain data."""
    names = ("time_s", "ideal_time_s", "bound", "bottleneck", "flops_per_s", "bytes_per_s", "fraction_of_peak",
             "fraction_of_bandwidth", "not_modelled", "caveats", "effects", "tile")  # fmt: skip
    kernels = [
        {
            "name": item.name, "repeat": item.repeat, "time_s": item.time_s, "bound": item.bound,
            "bottleneck": item.bottleneck,
            "terms": {term.resource: {"amount": term.amount, "rate": term.rate, "seconds": term.seconds}
                      for term in item.roofline.terms},
        }
        for item in estimate.kernels
    ]  # fmt: skip
    program = estimate.program
    return plain_dict(
        {
            "program": title(program),
            "machine": estimate.machine.name,
            "flops": program.flops,
            "bytes": program.bytes,
            **{name: getattr(estimate, name) for name in names},
            "kernels": kernels,
        }
    )


def as_latex(estimate: Estimate) -> str:
    """The time as LaTeX."""
    return f"$t = {sympy.latex(estimate.time_s)}\\,\\mathrm{{s}}$"
