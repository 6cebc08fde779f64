"""The remainder of a division as a formula.

sympy's own ``Mod`` rewrites products of remainders wrongly: ``Mod(2*Mod(m, 3), 3)`` becomes
``2*Mod(m, 3)``, which is 4 at m = 2 (sympy 1.14; its issues 24215, 28744, 29757). This one simplifies
less and is right.
"""

from __future__ import annotations

from typing import Any

import sympy


class Mod(sympy.Function):  # type: ignore[misc]  # sympy has no types
    """``dividend - divisor*floor(dividend/divisor)``; named and printed as sympy's.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> Mod(n + 48, 16), Mod(16 * n, 16), Mod(19, 16)
    (Mod(n, 16), 0, 3)
    >>> Mod(2 * Mod(n, 3), 3)
    Mod(2*(Mod(n, 3)), 3)
    """

    nargs = 2

    @classmethod
    def eval(cls, dividend: Any, divisor: Any) -> Any:
        """The simpler form of a remainder, or None where there is none.

        >>> Mod.eval(sympy.Integer(7), sympy.Integer(4))
        3
        """
        if divisor == 0:
            raise ZeroDivisionError("the remainder of a division by zero")
        if dividend == 0:
            return sympy.S.Zero
        if dividend.is_Rational and divisor.is_Rational:
            return dividend - divisor * sympy.floor(dividend / divisor)
        if isinstance(dividend, cls) and dividend.args[1] == divisor:
            return dividend
        terms = sympy.Add.make_args(dividend)
        kept = [term for term in terms if not (term / divisor).is_integer]
        if len(kept) < len(terms):
            return cls(sympy.Add(*kept), divisor)
        constant, rest = dividend.as_coeff_Add()
        if constant.is_Rational and divisor.is_Rational and cls(constant, divisor) != constant:
            return cls(rest + cls(constant, divisor), divisor)
        return None

    def _eval_is_integer(self) -> Any:
        return True if all(arg.is_integer for arg in self.args) else None

    def _eval_is_nonnegative(self) -> Any:
        return True if self.args[1].is_positive else None

    def _eval_is_nonpositive(self) -> Any:
        return True if self.args[1].is_negative else None
