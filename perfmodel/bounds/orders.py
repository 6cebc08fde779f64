"""Results on IO complexity that are known as orders alone: a quantity, its range, its source, and no constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from perfmodel.errors import DimensionError, LabelError, listed
from perfmodel.expressions import dims, symbol_values
from perfmodel.showing import Text, formula, plain_dict
from perfmodel.shown import Shown


@dataclass(frozen=True)
class IoOrder(Shown):
    """An order of growth of the traffic: no number of elements follows from it, only how two sizes compare.

    >>> from perfmodel import known_io_orders
    >>> known_io_orders()["attention"]
    known_io_orders()['attention']
    # of the order of d^2 n^2 / M elements, for M >= d**2 and M <= d*n (no constant)
    # Saha and Ye, ICML 2024 (lower bound); Dao et al., NeurIPS 2022, theorem 2 (attained by FlashAttention)
    """

    name: str
    quantity: sympy.Expr
    ranges: tuple[sympy.Rel, ...]
    unit: str
    means: str
    source: str

    @property
    def order_only(self) -> bool:
        """That the quantity has no constant: True for each of these, so that none passes for a count.

        >>> from perfmodel import known_io_orders
        >>> known_io_orders()["fft"].order_only
        True
        """
        return True

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The symbols that the quantity and its range are in.

        >>> from perfmodel import known_io_orders
        >>> known_io_orders()["fft"].symbols
        (M, n)
        """
        found = self.quantity.free_symbols.union(*[relation.free_symbols for relation in self.ranges])
        return tuple(sorted(found, key=str))

    def at(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> float:
        """The quantity at given sizes, up to a constant that nobody knows: only ratios of two of them mean something.

        Raises ``DimensionError`` where the result is not known to hold there.

        >>> from perfmodel import known_io_orders
        >>> fft = known_io_orders()["fft"]
        >>> fft.at(n=2**20, M=2**10) / fft.at(n=2**20, M=2**15)
        1.5
        """
        bound = symbol_values({**(values or {}), **named}, self.symbols)
        missing = [symbol for symbol in self.symbols if symbol not in bound]
        if missing:
            raise LabelError(f"at: {self.name} needs a value for {listed(missing)}")
        numbers = {symbol: sympy.sympify(value, strict=True) for symbol, value in bound.items()}
        for relation in self.ranges:
            if relation.xreplace(numbers) != sympy.true:
                raise DimensionError(
                    f"at: {self.name} is known for {_said(self.ranges)}; {relation} does not hold at "
                    + ", ".join(f"{symbol} = {value}" for symbol, value in bound.items())
                )
        return float(self.quantity.xreplace(numbers).evalf())

    def explain(self) -> Text:
        """What grows so, where that is known, who showed it, and what it does not say.

        >>> from perfmodel import known_io_orders
        >>> known_io_orders()["fft"].explain()
        fft: the butterfly network of n points: this order is needed, and is enough
          order      log(n) n / (log(M)) elements
          known for  M >= 2 and M <= n
          source     Hong and Kung, STOC 1981
          constant   not known: only the ratio of two sizes means something (.at)
        """
        return Text(
            "\n".join(
                [
                    f"{self.name}: {self.means}",
                    f"  order      {formula(self.quantity)} {self.unit}",
                    f"  known for  {_said(self.ranges)}",
                    f"  source     {self.source}",
                    "  constant   not known: only the ratio of two sizes means something (.at)",
                ]
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data.

        >>> from perfmodel import known_io_orders
        >>> known_io_orders()["attention"].to_dict()["quantity"]
        'd**2*n**2/M'
        """
        return plain_dict(
            {
                "name": self.name,
                "quantity": self.quantity,
                "unit": self.unit,
                "ranges": [str(relation) for relation in self.ranges],
                "means": self.means,
                "source": self.source,
                "order_only": self.order_only,
            }
        )

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"known_io_orders()[{self.name!r}]",
                f"# of the order of {formula(self.quantity)} {self.unit}, for {_said(self.ranges)} (no constant)",
                f"# {self.source}",
            ]
        )

    def _repr_latex_(self) -> str:
        return f"$\\Theta({sympy.latex(self.quantity)})$"


def _said(ranges: tuple[sympy.Rel, ...]) -> str:
    return " and ".join(str(relation) for relation in ranges)


def known_io_orders() -> dict[str, IoOrder]:
    """Results that ``io_lower_bound`` cannot derive, by name: orders of growth with their ranges and sources.

    M is the fast memory in elements, n a length, d the width of a head, L the elements of a cache line. The
    traffic of attention is that of a head; fused, it is less than the bounds of its two products together.

    >>> sorted(known_io_orders())
    ['attention', 'attention_small_memory', 'fft', 'matmul_cache_misses']
    """
    n, d, capacity, line = dims("n d M L")
    found = (
        IoOrder(
            "attention", n**2 * d**2 / capacity, (sympy.Ge(capacity, d**2), sympy.Le(capacity, n * d)), "elements",
            "softmax(Q K^T) V of n queries and n keys, exact: this order is needed, and is enough",
            "Saha and Ye, ICML 2024 (lower bound); Dao et al., NeurIPS 2022, theorem 2 (attained by FlashAttention)",
        ),
        IoOrder(
            "attention_small_memory", n**2 * d / sympy.sqrt(capacity), (sympy.Lt(capacity, d**2), sympy.Ge(n, d)),
            "elements", "the same where a d x d block does not fit: no better than the products apart",
            "Saha and Ye, ICML 2024 (for the classical matrix product)",
        ),
        IoOrder(
            "fft", n * sympy.log(n) / sympy.log(capacity), (sympy.Ge(capacity, 2), sympy.Le(capacity, n)), "elements",
            "the butterfly network of n points: this order is needed, and is enough",
            "Hong and Kung, STOC 1981",
        ),
        IoOrder(
            "matmul_cache_misses", n**3 / (line * sympy.sqrt(capacity)),
            (sympy.Ge(capacity, line**2), sympy.Le(capacity, n**2)), "cache lines",
            "an n x n matrix product by halving, which knows neither M nor L: its leading term",
            "Frigo, Leiserson, Prokop and Ramachandran, FOCS 1999 (a cache of M >= L^2 elements)",
        ),
    )  # fmt: skip
    return {item.name: item for item in found}
