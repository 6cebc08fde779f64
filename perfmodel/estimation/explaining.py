"""An estimate in words: the working as one would write it on a napkin."""

from __future__ import annotations

from re import sub
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.effects.roofline import Term
from perfmodel.errors import TransformError
from perfmodel.estimation.working import effect_rows, remedy_row
from perfmodel.expressions import is_concrete, total
from perfmodel.graph.describing import by_label, title, worked
from perfmodel.showing import Text, formula, percent, plain_dict, quantity
from perfmodel.transforms import fuse

if TYPE_CHECKING:
    from perfmodel.estimation.kernels import KernelEstimate
    from perfmodel.estimation.values import Estimate

_WIDEST = 98  # characters of a line that a page of code shows without scrolling
_BESIDE = 50  # characters of an amount with its rate beside it
_LONGEST = 64  # characters of a formula that still fits beside its rate and time
_AMOUNTS = {"matrix": "FLOP", "vector": "FLOP", "special": "op"}  # else bytes


def expression(estimate: Estimate) -> str:
    """The expression that makes the estimate, as its repr begins.

    >>> from perfmodel import Machine, estimate, matmul
    >>> e = estimate(matmul(512, 512, 512), Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine"))
    >>> expression(e)
    "estimate(matmul(m=512 n=512 k=512, bf16), 'mine')"
    """
    return f"estimate({title(estimate.program)}, {estimate.machine.name!r})"


def shown(estimate: Estimate) -> str:
    """The repr: the expression, and its conclusion as comments.

    >>> from perfmodel import Machine, estimate, matmul
    >>> e = estimate(matmul(512, 512, 512), Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine"))
    >>> print(shown(e))
    estimate(matmul(m=512 n=512 k=512, bf16), 'mine')
    # 268.4 us, compute-bound (matrix bf16), 100 % of peak, 59 % of bandwidth
    """
    return f"{expression(estimate)}\n# {conclusion(estimate)}"


def conclusion(estimate: Estimate) -> str:
    """Time, bound and shares of peak and bandwidth, in a line.

    >>> from perfmodel import Machine, estimate, matmul
    >>> e = estimate(matmul(512, 512, 512), Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine"))
    >>> conclusion(e)
    '268.4 us, compute-bound (matrix bf16), 100 % of peak, 59 % of bandwidth'
    """
    if not is_concrete(estimate.time_s):
        return f"{formula(estimate.time_s)} s"
    if estimate.time_s == 0:
        return f"no part of it has a known rate on {estimate.machine.name}"
    bound = f"{estimate.bound}-bound ({estimate.bottleneck})"
    shares = f"{percent(estimate.fraction_of_peak)} of peak, {percent(estimate.fraction_of_bandwidth)} of bandwidth"
    if estimate.is_least:
        missing = next(text for item in estimate.kernels for text in item.roofline.unknown)
        return f"at least {quantity(estimate.time_s, 's')} ({missing}); of what is known {bound}, {shares}"
    return f"{quantity(estimate.time_s, 's')}, {bound}, {shares}"


def explained(estimate: Estimate) -> Text:
    """The whole working: each kernel, the ridge, the totals, what fusing would give, what is left out.

    >>> from perfmodel import Machine, estimate, matmul
    >>> e = estimate(matmul(512, 512, 512), Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine"))
    >>> explained(e)
    matmul(m=512 n=512 k=512, bf16) on mine: 268.4 us, compute-bound (matrix bf16), 100 % of peak,
               59 % of bandwidth
      work     2 m n k = 268.4 MFLOP ... / 1 TFLOP/s (matrix bf16)  268.4 us  <- bound
      memory   2 ... = 1.573 MB  / 10 GB/s (memory)         157.3 us
      ridge    170.7 FLOP/B against 100: 1.71 times past it
      left out every effect beyond the roofline: mine lists no units, clock, calibrated constants or
               relative that lends them, which they need
    """
    head = f"{title(estimate.program)} on {estimate.machine.name}: {conclusion(estimate)}"
    general = by_label(estimate.program)
    order = [*estimate.program.labels, *[symbol.name for symbol in estimate.program.symbols]]
    rows = []
    for kernel, formal in zip(estimate.kernels, general.counted, strict=True):
        rows += _kernel_rows(kernel, formal, order, estimate.machine.unit_name, single=len(estimate.kernels) == 1)
    notes = [f"  note     {text}" for text in estimate.caveats]
    foot = [*_fused(estimate), *notes, f"  left out {', '.join(estimate.not_modelled)}"]
    return Text("\n".join([*_in_width(head), *_aligned(rows), *[part for line in foot for part in _in_width(line)]]))


def _in_width(line: str) -> list[str]:
    """A line, cut between words where it is wider than a page shows, each number with its unit."""
    if len(line) <= _WIDEST:
        return [line]
    bound = sub(r"(?<=\d) (?=%|[A-Za-z]{1,2}\b)|(?<=%) (?=of)|(?<=% of) ", "\0", line)
    cut = wrap(bound, _WIDEST, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False)
    return [part.replace("\0", " ") for part in cut]


def _kernel_rows(
    kernel: KernelEstimate, formal: Any, order: list[str], unit_name: str, *, single: bool
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if not single or kernel.repeat != 1:
        times = f" x {formula(kernel.repeat)}" if kernel.repeat != 1 else ""
        time = quantity(kernel.time_s, "s") if is_concrete(kernel.time_s) else ""
        rows.append((f"  {kernel.name}{times}", time and f"{time}, {kernel.bound}-bound"))
    for term in kernel.roofline.terms:
        rows.append(_term_row(term, kernel, formal, order))
    ridge = _ridge(kernel)
    if ridge:
        rows.append((f"  {'ridge':<8} {ridge}",))
    return [*rows, *effect_rows(kernel, unit_name), *remedy_row(kernel)]


def _term_row(term: Term, kernel: KernelEstimate, formal: Any, order: list[str]) -> tuple[str, ...]:
    name = {"matrix": "work"}.get(term.unit, term.resource if term.is_level else term.unit)
    unit = _AMOUNTS.get(term.unit, "B")
    amount = worked(term.amount, _general(term, formal), order, unit)
    if len(amount) > _LONGEST and is_concrete(term.amount):
        amount = quantity(term.amount, unit)  # the formula stands in p.explain()
    rate = quantity(term.rate, f"{unit}/s")
    seconds = quantity(term.seconds, "s") if is_concrete(term.seconds) else formula(term.seconds, order) + " s"
    mark = "  <- bound" if term.resource == kernel.ideal_bottleneck and term.amount != 0 else ""
    return (f"  {name:<8} {amount}", f"/ {rate} ({term.resource})", f"{seconds}{mark}")


def _general(term: Term, formal: Any) -> Any:
    """The amount of a term as a formula in labels."""
    if term.is_level:
        return total([item.bytes for item in formal.levels[term.resource]])
    return formal.bytes if term.unit == "memory" else total([formal.works[place].operations for place in term.works])


def _ridge(kernel: KernelEstimate) -> str:
    """How far the kernel's busiest compute unit stands from its ridge point."""
    terms = [term for term in kernel.roofline.terms[:-1] if term.unit in ("matrix", "vector")]
    if not terms or kernel.memory.amount == 0:
        return ""
    known = all(is_concrete(term.seconds) for term in terms)
    term = max(terms, key=lambda item: item.seconds) if known else terms[0]
    ridge, intensity = term.rate / kernel.memory.rate, term.amount / kernel.memory.amount
    if not (is_concrete(ridge) and is_concrete(intensity)):
        return f"{_number(intensity)} FLOP/B against {_number(ridge)}"
    ratio = float(intensity / ridge)
    side = f"{ratio:.3g} times past it" if ratio >= 1 else f"{1 / ratio:.3g} times short of it"
    return f"{_number(intensity)} FLOP/B against {_number(ridge)}: {side}"


def _number(value: Any) -> str:
    return f"{float(value):.4g}" if is_concrete(value) else formula(sympy.cancel(value))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of three columns: seconds below each other; rates, and factors, where the texts beside them allow.

    A formula too long to have its rate beside it has it below.
    """
    rows = [part for row in rows for part in _parted(row)]
    groups = [[row for row in rows if len(row) == 3 and row[1].startswith("/") is rate] for rate in (True, False)]
    widths = [[max([len(row[place]) for row in group], default=0) for place in range(2)] for group in groups]
    left = max(text + 2 + column for text, column in widths)
    lines = []
    for row in rows:
        if len(row) == 3:
            text, column = widths[0] if row[1].startswith("/") else (left - widths[1][1] - 2, widths[1][1])
            lines.append(f"{row[0]:<{text}}  {row[1]:<{max(column, left - text - 2)}}  {row[2]}")
        else:
            lines += _in_width("  ".join(part for part in row if part))
    return lines


def _parted(row: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A row, or its formula and then the rest of it."""
    apart = len(row) == 3 and row[1].startswith("/") and len(row[0]) > _BESIDE
    return [row[:1], ("", *row[1:])] if apart else [row]


def _fused(estimate: Estimate) -> list[str]:
    """What one kernel for each section of the program would move and take."""
    from perfmodel.estimation.estimating import estimate as estimated

    sections = {kernel.section for kernel in estimate.program.kernels}
    if len(estimate.kernels) <= len(sections):
        return []
    try:
        whole = fuse(estimate.program)
    except TransformError:  # kernels of one section that run different numbers of times
        return []
    after = estimated(whole, estimate.machine, estimate.effects, protocol=estimate.protocol, schedule=estimate.schedule)
    number = "one kernel" if len(whole.kernels) == 1 else f"{len(whole.kernels)} kernels"
    line = f"  fuse     in {number}: {quantity(estimate.program.bytes, 'B')} -> {quantity(whole.bytes, 'B')}"
    if is_concrete(after.time_s) and is_concrete(estimate.time_s) and after.time_s > 0:
        gain = estimate.time_s / after.time_s
        line += f", {quantity(estimate.time_s, 's')} -> {quantity(after.time_s, 's')} ({gain:.3g} times as fast)"
        line += f", {after.bound}-bound"
    return [line]


def as_dict(estimate: Estimate) -> dict[str, Any]:
    """The estimate as plain data, which JSON can hold.

    >>> from perfmodel import Machine, estimate, matmul
    >>> e = estimate(matmul(512, 512, 512), Machine(peak=1e12, bandwidth_bytes_per_s=1e10, name="mine"))
    >>> as_dict(e)["time_s"], as_dict(e)["kernels"][0]["terms"]["memory"]["amount"] == 3 * 2 * 512**2
    (0.000268435456, True)
    """
    names = ("time_s", "ideal_time_s", "bound", "bottleneck", "flops_per_s", "bytes_per_s", "fraction_of_peak",
             "fraction_of_bandwidth", "ridge_ratio", "steps", "not_modelled", "caveats", "effects",
             "schedule")  # fmt: skip
    kernels = [item.to_dict() for item in estimate.kernels]
    program, tile = estimate.program, estimate.tile
    return plain_dict(
        {
            "program": title(program),
            "machine": estimate.machine.name,
            "flops": program.flops,
            "bytes": program.bytes,
            **{name: getattr(estimate, name) for name in names},
            "tile": None if tile is None else {"m": tile.m, "n": tile.n, "splits": tile.splits},
            "kernels": kernels,
        }
    )


def as_latex(estimate: Estimate) -> str:
    """The time as LaTeX.

    >>> from perfmodel import Machine, estimate, workload
    >>> print(as_latex(estimate(workload(bytes_read="n"), Machine(peak=1, bandwidth_bytes_per_s=2))))
    $t = \\frac{n}{2}\\,\\mathrm{s}$
    """
    return f"$t = {sympy.latex(estimate.time_s)}\\,\\mathrm{{s}}$"
