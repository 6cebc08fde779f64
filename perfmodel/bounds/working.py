"""A lower bound in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.graph.describing import title
from perfmodel.showing import Text, formula

if TYPE_CHECKING:
    from perfmodel.bounds.values import IoBound


def shown(bound: IoBound) -> str:
    """The expression that makes it, and the figures as comments.

    >>> from perfmodel import gemv, io_lower_bound
    >>> print(shown(io_lower_bound(gemv("n", "k"))).splitlines()[1])
    # at least k + n + k n elements
    """
    return "\n".join(
        [
            f"io_lower_bound({title(bound.program)}, capacity_elements={bound.capacity_elements})",
            f"# at least {written(bound.elements)} elements",
            f"# exponents {_shares(bound)}; sigma {bound.sigma}",
        ]
    )


def explained(bound: IoBound) -> Text:
    """The working as a person would write it.

    >>> from perfmodel import io_lower_bound, matmul
    >>> explained(io_lower_bound(matmul("n", "n", "n")))
    matmul(m=n n=n k=n, bf16) through a fast memory of M elements
      arrays     A[m k]  B[k n]  C[m n]
      exponents  A 1/2, B 1/2, C 1/2; each label's arrays sum to at least 1; sigma = 3/2
      points     |V| = n^3
      segment    T = M / (sigma - 1) = 2 M elements moved: at most prod (s_j (M + T) / sigma)^s_j points
      projected  T |V| / points a segment - T = 2 n^3 / sqrt(M) - 2 M
      compulsory each input read, the output written once = 3 n^2
      bound      max(3 n^2, 2 n^3 / sqrt(M) - 2 M) elements
      assumed    the fast memory starts empty, and each element that is read into it or written from it counts
                 each product is computed, at one point and at once: no Strassen, nothing factored out of a sum
                 partial sums stay, or are written and read again
    """
    lines = [
        f"{title(bound.program)} through a fast memory of {written(bound.capacity_elements)} elements",
        f"  arrays     {'  '.join(_arrays(bound))}",
        f"  exponents  {_shares(bound)}; each label's arrays sum to at least 1; sigma = {bound.sigma}",
        f"  points     |V| = {written(bound.points)}",
        *_projected(bound),
        f"  compulsory each input read, the output written once = {written(bound.compulsory)}",
        f"  bound      {written(bound.elements)} elements",
    ]
    heads = ["  assumed    ", *[" " * 13] * (len(bound.assumptions) - 1)]
    return Text("\n".join([*lines, *[f"{a}{b}" for a, b in zip(heads, bound.assumptions, strict=True)]]))


def _projected(bound: IoBound) -> list[str]:
    if bound.sigma <= 1:
        return ["  projected  sigma = 1: each element serves its points once, so only what is compulsory has to move"]
    rest = sympy.Mul(bound.capacity_elements, 1 / sympy.Rational(bound.sigma - 1))
    return [
        f"  segment    T = M / (sigma - 1) = {written(rest)} elements moved: at most prod (s_j (M + T) / sigma)^s_j "
        "points",
        f"  projected  T |V| / points a segment - T = {written(bound.derived)}",
    ]


def _arrays(bound: IoBound) -> list[str]:
    tensors = (*bound.program.inputs, *bound.program.outputs)
    return [f"{item.name}[{' '.join(axis.label for axis in item.axes if axis.extent != 1)}]" for item in tensors]


def _shares(bound: IoBound) -> str:
    return ", ".join(f"{name} {share}" for name, share in bound.shares)


def written(value: Any) -> str:
    """A count or formula as it stands in a line: numbers with their thousands apart, rounded down.

    >>> written(2048), written(1.5), written(4096.5), written(sympy.sqrt(2) * 8)
    ('2,048', '1.5', '4,096', '11.31')
    """
    if isinstance(value, float):
        return f"{math.floor(value):,}" if value >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if not value.free_symbols:
        return f"{int(value):,}" if value.is_Integer else f"{float(value):,.4g}"
    return formula(value)
