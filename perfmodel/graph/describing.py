"""A program in words: its repr, its explanation, and the forms that notebooks and JSON take."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.errors import PerfModelError
from perfmodel.expressions import Size, dimension, is_concrete, total
from perfmodel.graph.memory import total_held
from perfmodel.graph.rebinding import measures
from perfmodel.graph.resizing import resized_kernels
from perfmodel.showing import Text, formula, plain_dict, quantity

if TYPE_CHECKING:
    from perfmodel.graph.programs import Program


def sizes(program: Program) -> str:
    """The labels with what measures them: ``m=b n=4096 k=4096`` (extents of 1 are left out).

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> sizes(program(tensor("x", {"i": "n", "j": 4}) * 2))
    'i=n j=4'
    """
    return " ".join(f"{label}={extent}" for label, extent in program.labels.items() if extent != 1)


def shown(program: Program) -> str:
    """The repr: what it is, and its main counts as comments.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> print(shown(program(tensor("x", {"i": 64}) * 2, name="double")))
    double(i=64, bf16)
    # 1 kernel: 64 FLOP, 256 B, 0.25 FLOP/B
    """
    count = len(program.kernels)
    counts = [quantity(program.flops, "FLOP"), quantity(program.bytes, "B")]
    if program.bytes != 0 and is_concrete(intensity := program.intensity):
        counts.append(f"{float(intensity):.4g} FLOP/B")
    lines = [title(program), f"# {count} kernel{'s' if count != 1 else ''}: {', '.join(counts)}"]
    if program.step:
        lines.append(f"# {' -> '.join(program.history)}")
    return "\n".join(lines)


def title(program: Program) -> str:
    """The program's name with sizes and input formats: ``matmul(m=4096 n=4096 k=4096, bf16)``.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> title(program(tensor("x", {"i": 64}) * 2, name="double"))
    'double(i=64, bf16)'
    """
    formats = " ".join(dict.fromkeys(item.format.name for item in program.inputs))
    inside = ", ".join(part for part in (sizes(program), formats) if part)
    return f"{program.name}({inside})"


def by_label(program: Program) -> Program:
    """The program with each free label's int extent replaced by a symbol of the label's name.

    Its counts are then formulas that show where the numbers come from. Labels that measure one axis, and rows
    and keys of one number under a mask, share a symbol, which keeps the count of pairs short. Labels stay numbers
    that a tile leaves whole, and all of them where tiles are only counted at given sizes.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> by_label(program(tensor("x", {"i": 64}) * 2)).flops
    i
    """
    groups = measures(program.kernels)
    group_of = {label: place for place, group in enumerate(groups) for label in group.labels}
    symbol_of: dict[int, Size] = {}
    for label, extent in program.labels.items():
        place = group_of[label]
        if place not in symbol_of and not groups[place].tied and _can_be_symbol(label, extent, program):
            symbol_of[place] = dimension(label)
    for mask in [op.mask for op in program.ops if op.mask is not None]:
        query, key = group_of[mask.query], group_of[mask.key]
        if {query, key} <= set(symbol_of) and program.labels[mask.query] == program.labels[mask.key]:
            symbol_of[key] = symbol_of[query]
    extents = {label: symbol for place, symbol in symbol_of.items() for label in groups[place].labels}
    kernels = resized_kernels(program.kernels, extents)
    found = type(program)(program.name, kernels, program.returned, program.shared)
    return found if _has_formulas(found) else program


def _has_formulas(program: Program) -> bool:
    """Whether everything that is shown of a program can be counted: of some tiles there is no formula in symbols."""
    try:
        for item in program.counted:
            _ = item.levels, item.held_by_level if item.kernel.tiles else ()
    except PerfModelError:
        return False
    return True


def _can_be_symbol(label: str, extent: Size, program: Program) -> bool:
    """Whether a label's extent is a number that every tile cuts, and its name free and fit to be a symbol."""
    free = label not in [symbol.name for symbol in program.symbols] and not keyword.iskeyword(label)
    return isinstance(extent, int) and extent > 1 and free and not _left_whole(label, extent, program)


def _left_whole(label: str, extent: int, program: Program) -> bool:
    """Whether some tile holds all that the level around it does: formulas in symbols assume two trips or more."""
    for kernel in program.kernels:
        cuts = [size for tiling in kernel.tiles for name, size in tiling.cuts if name == label]
        if any(isinstance(size, int) and size >= around for size, around in zip(cuts, [extent, *cuts], strict=False)):
            return True
    return False


def worked(count: Size, general: Size, order: list[str], unit: str) -> str:
    """A count with its formula in the labels: ``2 m n k = 137.4 GFLOP`` (a number alone, where that is a long sum).

    >>> m = dimension("m")
    >>> worked(128, 2 * m, ["m"], "FLOP"), worked(2 * m, 2 * m, ["m"], "FLOP")
    ('2 m = 128 FLOP', '2 m FLOP')
    """
    if general == count and not is_concrete(count):
        return f"{formula(general, order)} {unit}"
    found = _amount(count, unit)
    lengthy = isinstance(general, sympy.Expr) and general.has(sympy.Sum) and is_concrete(count)
    return found if lengthy or general == count else f"{formula(general, order)} = {found}"


def _amount(count: Size, unit: str) -> str:
    """A number with a prefix on its unit, or on the number where the unit is words; a formula as it is."""
    return f"{quantity(count)} {unit}" if " " in unit else quantity(count, unit)


def explained(program: Program) -> Text:
    """Counts with their formulas, kernel by kernel, and what each step changed.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> explained(program((tensor("x", {"i": 64}) * 2).named("y"), name="double"))
    double(i=64, bf16)
      mul: i = 64 FLOP; 4 i = 256 B
        read   x  2 i = 128 B
        write  y  2 i = 128 B
    """
    general = by_label(program)
    order = _order(program)
    lines = [title(program)]
    for count, formal in zip(program.counted, general.counted, strict=True):
        lines += _kernel_lines(count, formal, order)
    if len(program.kernels) > 1 or any(kernel.repeat != 1 for kernel in program.kernels):
        lines.append(
            f"  total: {worked(program.flops, general.flops, order, 'FLOP')}; "
            f"{worked(program.bytes, general.bytes, order, 'B')}"
        )
    if program.assumptions:
        lines.append(_assumed(program.assumptions))
    return Text("\n".join(lines + _history_lines(program)))


def _assumed(relations: tuple[sympy.Rel, ...]) -> str:
    """Where formulas hold, and why not elsewhere."""
    held = " and ".join([f"{relation.lhs} {relation.rel_op} {relation.rhs}" for relation in relations])
    several = any(isinstance(relation, sympy.StrictGreaterThan) for relation in relations)
    elsewhere = "a tile that holds its whole label cuts nothing" if several else "a larger tile is cut to its label"
    return f"  formulas hold where {held}: {elsewhere} (p.at(...) is exact at any size)"


def _order(program: Program) -> list[str]:
    """Symbols in the order of the labels: the label's own, or those of the formula that measures it."""
    names: list[str] = []
    for label, extent in program.labels.items():
        names += [label] if isinstance(extent, int) else sorted(symbol.name for symbol in extent.free_symbols)
    return [*dict.fromkeys([*names, *[symbol.name for symbol in program.symbols]])]


def _kernel_lines(count: Any, formal: Any, order: list[str]) -> list[str]:
    works = []
    for unit, name in (("matrix", "FLOP"), ("vector", "FLOP"), ("special", "special operations")):
        number = sum(w.operations for w in count.works if w.unit == unit)
        if number != 0:
            works.append(worked(number, sum(w.operations for w in formal.works if w.unit == unit), order, name))
    repeat = f" (x {formula(count.kernel.repeat)})" if count.kernel.repeat != 1 else ""
    works.append(worked(count.bytes, formal.bytes, order, "B"))
    lines = [f"  {count.kernel.name}{repeat}: {'; '.join(works)}"]
    lines += _transfer_lines(count.transfers, formal.transfers, order, "    ")
    return lines + _level_lines(count, formal, order)


def _transfer_lines(found: Any, formal: Any, order: list[str], margin: str) -> list[str]:
    """A line for each tensor that is read or written."""
    width = max([len(item.tensor) for item in found], default=0)
    general = {(item.tensor, item.direction): item.bytes for item in formal}
    lines = []
    for item in found:
        note = f"  ({item.note})" if item.note else ""
        size = worked(item.bytes, general.get((item.tensor, item.direction), item.bytes), order, "B")
        lines.append(f"{margin}{item.direction:<6} {item.tensor:<{width}}  {size}{note}")
    return lines


def _level_lines(count: Any, formal: Any, order: list[str]) -> list[str]:
    """Of a kernel in tiles: what a tile of each level holds, and what the tiles inside it ask of it."""
    if count.tiled is None:
        return []
    lines = []
    served, general = count.levels, formal.levels
    for level, rows in count.held_by_level:
        roles: dict[str, list[str]] = {}
        for role, tensor, size in rows:
            roles.setdefault(role, []).append(f"{tensor} {quantity(size, 'B')}")
        held = "; ".join([f"{role} {', '.join(tensors)}" for role, tensors in roles.items()])
        lines.append(f"    a tile of {level} holds {quantity(total_held(rows), 'B')}: {held}")
        moved = served.get(level, ())
        if moved:
            every, each = [total([item.bytes for item in found]) for found in (moved, general.get(level, moved))]
            lines.append(f"    {level} serves the tiles inside: {worked(every, each, order, 'B')}")
            lines += _transfer_lines(moved, general.get(level, moved), order, "      ")
    return lines


def _history_lines(program: Program) -> list[str]:
    """What each transform changed: FLOPs, bytes and footprint before and after."""
    lines = []
    at: Program | None = program
    while at is not None and at.parent is not None:
        before, after = at.parent, at
        counts = [("work", "flops", "FLOP"), ("bytes", "bytes", "B"), ("footprint", "footprint_bytes", "B")]
        if any(op.padded for op in after.ops):
            counts.insert(1, ("issued", "issued_flops", "FLOP"))
        changes = [_change(name, getattr(before, what), getattr(after, what), unit) for name, what, unit in counts]
        lines.append(f"  {at.step}: {'; '.join(changes)}")
        at = at.parent
    return lines[::-1]


def _change(name: str, before: Size, after: Size, unit: str) -> str:
    if before == after:
        return f"{name} unchanged"
    return f"{name} {quantity(before, unit)} -> {quantity(after, unit)}"


def as_dict(program: Program) -> dict[str, Any]:
    """Counts, sizes and history as plain data (formulas as text).

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> as_dict(program(tensor("x", {"i": 64}) * 2))["flops"]
    64
    """
    counts = ("flops", "macs", "flops_by_unit", "issued_flops", "bytes", "bytes_read", "bytes_written",
              "elements_read", "elements_written", "footprint_bytes", "memory_bytes")  # fmt: skip
    return plain_dict(
        {
            "name": program.name,
            "labels": program.labels,
            **{name: getattr(program, name) for name in counts},
            "kernels": [kernel.name for kernel in program.kernels],
            "traffic": program.traffic().to_dict(),
            "history": program.history,
        }
    )


def as_html(program: Program) -> str:
    """The title and the traffic table for a notebook.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> "<table>" in as_html(program(tensor("x", {"i": 64}) * 2))
    True
    """
    return Text(shown(program))._repr_html_() + program.traffic()._repr_html_()


def as_latex(program: Program) -> str:
    """FLOPs and bytes as LaTeX.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> print(as_latex(program(tensor("x", {"i": "n"}) * 2)))
    $F = n,\\quad B = 4 n$
    """
    flops, moved = sympy.latex(program.flops), sympy.latex(program.bytes)
    return f"$F = {flops},\\quad B = {moved}$"
