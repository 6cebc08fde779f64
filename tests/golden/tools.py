"""What the answers share: machines from two numbers, bytes by tensor, a search, figures in text.

Everything here asks the public interface; nothing computes a cost by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import sympy

import perfmodel as pm

KIB, MIB, GIB = 2**10, 2**20, 2**30
MANY = 2**24  # elements of a vector, or tokens of a context, where the question has "n" and the answer none
FREE = 1e24  # FLOP/s or B/s at which a resource costs no time that can be seen


def chip(peak: float, bandwidth: float) -> pm.Machine:
    """A machine of one peak, whatever the unit and format, and one bandwidth."""
    return pm.Machine(peak=peak, bandwidth_bytes_per_s=bandwidth)


def streaming(bandwidth: float) -> pm.Machine:
    """A machine of which only the bandwidth is given: its arithmetic takes no time."""
    return chip(FREE, bandwidth)


def attained(program: pm.Program, seconds: float) -> Any:
    """A measured time, and the rates that it means, where no machine is named."""
    return pm.estimate(program, chip(FREE, FREE)).against(seconds)


def stored(width: float) -> pm.Format:
    """A number format that takes so many bytes an element."""
    return pm.Format(bits=8 * width)


def bytes_of(*tensors: pm.Tensor) -> Any:
    """Bytes of whole tensors as they are stored."""
    return sum(item.format.bytes_of(item.extents) for item in tensors)


def elements_of(item: pm.Tensor) -> Any:
    """Elements of a tensor: its bytes at one byte each."""
    return pm.format("int8").bytes_of(item.extents)


def moved(program: pm.Program, *names: str, but: Iterable[str] = (), way: str | None = None) -> Any:
    """Bytes that some tensors (all, without names; never those of ``but``) move, as the traffic table has them."""
    table = program.traffic()
    places = [table.columns.index(name) for name in ("tensor", "direction", "bytes", "repeat")]
    rows = [[row[place] for place in places] for row in table.rows]
    return sum(
        size * repeat
        for name, direction, size, repeat in rows
        if (not names or name in names) and name not in but and way in (None, direction)
    )


def weights_only(program: pm.Program, weight: str = "W") -> pm.Program:
    """The program with the traffic of its weight alone, as napkins of decode count it."""
    return pm.workload(flops=program.flops, bytes_read=bytes_of(program.tensors[weight]))


def reading(size: Any) -> pm.Program:
    """A pass over so many bytes."""
    return pm.workload(bytes_read=size)


def least(holds: Callable[[int], bool]) -> int:
    """The least n >= 1 from which something holds that, once it holds, goes on holding."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def compute_bound_from(program: Callable[[Any], pm.Program], machine: pm.Machine) -> int:
    """The least n from which ``program(n)`` is bound by compute."""
    n = pm.dims("n")
    return int(pm.solve(program(n), machine, n, bound="compute"))


def per(count: Any, *symbols: Any) -> Any:
    """The coefficient of a product of symbols in a formula: what one element costs when there are many."""
    found = sympy.Poly(count, *symbols).coeff_monomial(sympy.Mul(*symbols))
    return int(found) if found.is_Integer else found


def padded(size: Any, multiple: int) -> Any:
    """The next multiple that a size fills."""
    return multiple * pm.ceil_div(size, multiple)


def figures(text: str) -> list[Any]:
    """The numbers in a piece of text, in order: "256x64x32" holds 256, 64 and 32."""
    found = re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return [int(item) if item.isdigit() else float(item) for item in found]


def accesses(program: pm.Program) -> Any:
    """Elements read and written for each of the n elements of a vector."""
    return per(program.elements_read + program.elements_written, pm.dims("n"))
