"""A lower bound on what a contraction moves, with its working."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.bounds.rounding import below
from perfmodel.errors import LabelError
from perfmodel.expressions import Size, as_expression, bind, product, size, symbol_name, total
from perfmodel.graph.programs import Program
from perfmodel.showing import Text, plain_dict
from perfmodel.shown import Shown

if TYPE_CHECKING:
    from perfmodel.bounds.gaps import TilingGap

ASSUMPTIONS = (
    "the fast memory starts empty, and each element that is read into it or written from it counts",
    "each product is computed, at one point and at once: no Strassen, nothing factored out of a sum",
    "partial sums stay, or are written and read again",
)


@dataclass(frozen=True)
class IoBound(Shown):
    """The fewest elements that a contraction moves through a fast memory, and how that follows.

    >>> from perfmodel import io_lower_bound, matmul
    >>> io_lower_bound(matmul("m", "n", "k"))
    io_lower_bound(matmul(m=m n=n k=k, bf16), capacity_elements=M)
    # at least max(k m + k n + m n, 2 k m n / sqrt(M) - 2 M) elements
    # exponents A 1/2, B 1/2, C 1/2; sigma 3/2
    """

    program: Program
    capacity_elements: Size
    shares: tuple[tuple[str, Fraction], ...]

    @property
    def exponents(self) -> dict[str, Fraction]:
        """The exponent s_j of each tensor.

        >>> from perfmodel import gemv, io_lower_bound
        >>> {name: str(s) for name, s in io_lower_bound(gemv(64, 64)).exponents.items()}
        {'x': '0', 'W': '1', 'y': '0'}
        """
        return dict(self.shares)

    @property
    def sigma(self) -> Fraction:
        """The sum of the exponents: a fast memory of M elements serves of the order of M^sigma points.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8)).sigma
        Fraction(3, 2)
        """
        return sum((s for _, s in self.shares), Fraction(0))

    @property
    def points(self) -> Size:
        """The points of the contraction, |V|.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8)).points == 8**3
        True
        """
        return product([axis.extent for axis in self.program.ops[0].space])

    @property
    def compulsory(self) -> Size:
        """Elements that move whatever the fast memory holds: each input read, the output written, once.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8)).compulsory == 3 * 8**2
        True
        """
        return total([item.elements for item in (*self.program.inputs, *self.program.outputs)])

    @property
    def coefficient(self) -> sympy.Expr:
        """What |V| / M^(sigma-1) is multiplied by: (sigma-1)^(sigma-1) / prod s_j^s_j, exact.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8)).coefficient
        2
        """
        above = sympy.Rational(self.sigma - 1)
        parts = [sympy.Pow(sympy.Rational(s), -sympy.Rational(s)) for _, s in self.shares if s]
        return sympy.Mul(sympy.Pow(above, above), *parts)

    @property
    def leading(self) -> sympy.Expr:
        """The leading term for large sizes; where sigma is 1, the compulsory elements.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul("m", "n", "k")).leading
        2*k*m*n/sqrt(M)
        """
        if self.sigma <= 1:
            return as_expression(self.compulsory)
        shrinks = sympy.Pow(as_expression(self.capacity_elements), -sympy.Rational(self.sigma - 1))
        return sympy.Mul(self.coefficient, as_expression(self.points), shrinks)

    @property
    def derived(self) -> sympy.Expr:
        """The bound by projections, before the compulsory elements are set beside it: below 0 for a large M.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8), capacity_elements=64).derived
        0
        """
        if self.sigma <= 1:
            return as_expression(self.compulsory)
        rest = sympy.Mul(as_expression(self.capacity_elements), 1 / sympy.Rational(self.sigma - 1))
        return sympy.Add(self.leading, -rest)

    @property
    def expression(self) -> sympy.Expr:
        """The bound as one formula; its maximum is left unevaluated.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul("m", "n", "k")).expression
        Max(-2*M + 2*k*m*n/sqrt(M), k*m + k*n + m*n)
        """
        known = as_expression(self.compulsory)
        return known if self.sigma <= 1 else sympy.Max(known, self.derived, evaluate=False)

    @property
    def elements(self) -> Any:
        """The bound in elements: an int where it is whole, else a float that is not above it; a formula of symbols.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(256, 256, 256), capacity_elements=1024).elements == 2 * 256**3 // 32 - 2 * 1024
        True
        """
        expression = self.expression
        if expression.free_symbols:
            return expression
        known = self.compulsory
        return known if self.sigma <= 1 else max(known, below(self.derived))

    @property
    def intensity_limit(self) -> sympy.Expr:
        """FLOP/B that large sizes cannot exceed: FLOPs over the leading term, at the narrowest format's bytes.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul("m", "n", "k", dtype="fp32")).intensity_limit
        sqrt(M)/4
        """
        tensors = (*self.program.inputs, *self.program.outputs)
        width = min(Fraction(item.format.bits) for item in tensors) / 8
        return as_expression(self.program.flops) / (self.leading * sympy.Rational(width))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on.

        >>> from perfmodel import io_lower_bound, matmul
        >>> len(io_lower_bound(matmul(8, 8, 8)).assumptions)
        3
        """
        return ASSUMPTIONS

    def at(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> IoBound:
        """The bound with symbols, that of the capacity included, bound to sizes.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul("n", "n", "n")).at(n=256, M=1024).elements == 2 * 256**3 // 32 - 2 * 1024
        True
        """
        given = {symbol_name(key): value for key, value in {**(values or {}), **named}.items()}
        capacity = as_expression(self.capacity_elements)
        known = {symbol.name: symbol for symbol in capacity.free_symbols}
        bound = {known[name]: size(value, name) for name, value in given.items() if name in known}
        inside = {*[symbol.name for symbol in self.program.symbols], *self.program.labels}
        rest = {name: value for name, value in given.items() if name in inside or name not in known}
        program = self.program.at(rest) if rest else self.program
        if not given:
            raise LabelError(f"at: no value is given; the symbols are {sorted({*inside, *known})}")
        from perfmodel.bounds.deriving import io_lower_bound  # the labels of extent 1 may have changed

        return io_lower_bound(program, bind(self.capacity_elements, bound))

    def against(self, tiled: Program) -> TilingGap:
        """What a tiling of the same contraction moves, beside the bound at a capacity of what a block of it holds.

        >>> from perfmodel import io_lower_bound, matmul, tile
        >>> p = matmul(4096, 4096, 4096)
        >>> gap = io_lower_bound(p).against(tile(p, grid={"m": 128, "n": 128}, stream={"k": 1}))
        >>> gap.held == 128 * 128 + 2 * 128, f"{gap.ratio:.3f}"
        (True, '1.024')
        """
        from perfmodel.bounds.gaps import beside

        return beside(self, tiled)

    def explain(self) -> Text:
        """The working, line by line.

        >>> from perfmodel import io_lower_bound, matmul
        >>> print(io_lower_bound(matmul("n", "n", "n")).explain().splitlines()[1])
          arrays     A[m k]  B[k n]  C[m n]
        """
        from perfmodel.bounds.working import explained

        return explained(self)

    def to_dict(self) -> dict[str, Any]:
        """The bound and its parts as plain data.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(8, 8, 8), capacity_elements=64).to_dict()["elements"] == 3 * 8**2
        True
        """
        return plain_dict(
            {
                "program": self.program.name,
                "capacity_elements": self.capacity_elements,
                "elements": self.elements,
                "compulsory": self.compulsory,
                "derived": self.derived,
                "leading": self.leading,
                "points": self.points,
                "sigma": self.sigma,
                "exponents": {name: str(s) for name, s in self.shares},
                "assumptions": self.assumptions,
            }
        )

    def __repr__(self) -> str:
        from perfmodel.bounds.working import shown

        return shown(self)

    def _repr_latex_(self) -> str:
        return f"$Q \\ge {sympy.latex(self.expression)}$"
