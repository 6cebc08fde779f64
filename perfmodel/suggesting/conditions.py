"""Conditions on candidates: what ``perfmodel.expressions.conditions`` reads, on arrays; or functions of arrays."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import ExpressionError, PerfModelError, listed
from perfmodel.estimation.words import RATES
from perfmodel.expressions import compile_formula
from perfmodel.expressions.conditions import Names, condition_of, relation_of
from perfmodel.expressions.parsing import parse_tree
from perfmodel.expressions.relations import Joint, Relation, folded

_VERB = "suggest"
_JOINS = ("and", "or", "not")
_MANY = (list, tuple, set, frozenset)


@dataclass(frozen=True)
class Condition:
    """One condition, with the text that names it.

    >>> import numpy
    >>> condition, = conditions_of("n % 4 == 0", ["n"])
    >>> condition.text, condition.holds({"n": numpy.array([6, 8])}).tolist()
    ('n % 4 == 0', [False, True])
    """

    text: str
    holds: Callable[[Mapping[str, Any]], Any]


def conditions_of(given: Any, sizes: Iterable[str], words: Sequence[Names] = ({},)) -> tuple[Condition, ...]:
    """The conditions in a text, a sympy relation, a function, or several of these; those joined by ``and`` stand apart.

    ``sizes`` are the names of sizes, ``words`` the formulas that other words stand for, by machine: a condition has to
    hold on each. ``ExpressionError`` for what cannot be read, or names what there is not. Nothing is evaluated as code.

    >>> [each.text for each in conditions_of("n % 4 == 0 and n < m", ["n", "m"])]
    ['n % 4 == 0', 'n < m']
    """
    names = tuple(sizes)
    if given is None:
        return ()
    if callable(given) and not hasattr(given, "free_symbols"):
        return (Condition(f"{getattr(given, '__name__', 'where')}(...)", _called(given)),)
    if isinstance(given, _MANY) and not isinstance(given, (Joint, Relation)):
        return tuple([each for part in given for each in conditions_of(part, names, words)])
    found = condition_of(given, _VERB)
    parts = found.parts if isinstance(found, Joint) and found.join == "and" else (found,)
    return tuple([Condition(str(part), _test(part, names, words)) for part in parts])


def named(given: Any, names: Iterable[str]) -> frozenset[str]:
    """The names that stand in some conditions: as words of a text, symbols of a relation, arguments of a function.

    >>> sorted(named(["h % (8*heads) == 0", lambda k: k > 4], ["h", "heads", "k", "n"]))
    ['h', 'heads', 'k']
    """
    if isinstance(given, _MANY) and not isinstance(given, (Joint, Relation)):
        return frozenset().union(*[named(each, names) for each in given])
    if isinstance(given, str):
        tree = parse_tree(given, f"{_VERB}: where")
        words = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    elif callable(given) and not hasattr(given, "free_symbols"):
        words = {name for name in names if takes(given, name)}
    else:
        words = {each.name for each in getattr(given, "free_symbols", ())}
    return frozenset(words & set(names))


def takes(given: Callable[..., Any], name: str) -> bool:
    """Whether a function has an argument of this name, or takes any.

    >>> takes(lambda h, heads: h, "heads"), takes(lambda h: h, "heads")
    (True, False)
    """
    try:
        known = inspect.signature(given).parameters
    except (TypeError, ValueError):  # one of C's, that says nothing of its arguments
        return True
    return name in known or any(each.kind is each.VAR_KEYWORD for each in known.values())


def _called(given: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    """A function of arrays by name, whose answer is a truth value for each."""

    def holds(sizes: Mapping[str, Any]) -> Any:
        import numpy

        count = len(next(iter(sizes.values())))
        try:
            found = numpy.asarray(given(**sizes))
        except PerfModelError:
            raise
        except Exception as error:  # any that a user's function raises
            said = f"{error}" if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
            raise ExpressionError(
                f"suggest: where: {said}; the function gets arrays by name: {listed(sizes)}"
            ) from error
        if found.dtype != bool or found.shape not in ((), (count,)):
            raise ExpressionError(
                f"suggest: where: the function returned {found.dtype} of shape {found.shape}; expected {count} bools: "
                "it gets arrays of sizes by name, so write & and | for and and or"
            )
        return numpy.broadcast_to(found, (count,))

    return holds


def _test(condition: Any, sizes: tuple[str, ...], words: Sequence[Names]) -> Callable[[Mapping[str, Any]], Any]:
    """A condition as a function from arrays to truth values."""
    import numpy

    tests = folded(condition, lambda each: _comparison(each, sizes, words), dict.fromkeys(_JOINS, tuple))
    joins: dict[str, Any] = {
        "and": numpy.logical_and.reduce,
        "or": numpy.logical_or.reduce,
        "not": lambda each: ~each[0],
    }

    def held(part: Any, found: Any, at: Mapping[str, Any]) -> Any:
        if not isinstance(part, Joint):
            return found(at)
        return joins[part.join]([held(each, test, at) for each, test in zip(part.parts, found, strict=True)])

    return lambda at: held(condition, tests, at)


def _comparison(given: Any, sizes: tuple[str, ...], words: Sequence[Names]) -> Callable[[Mapping[str, Any]], Any]:
    """A comparison as a function from arrays to truth values: exact where both sides are whole."""
    import numpy

    known = [dict(each) | dict.fromkeys(RATES, _refused_rate) for each in words]
    relations = dict.fromkeys(relation_of(given, each, _VERB, sizes) for each in known)
    sides = [(each, _side(each.left), _side(each.right)) for each in relations]

    def holds(at: Mapping[str, Any]) -> Any:
        count = len(next(iter(at.values())))
        found = numpy.logical_and.reduce([each.of_arrays(left(at), right(at)) for each, left, right in sides])
        return numpy.broadcast_to(found, (count,))

    return holds


def _refused_rate() -> Any:
    raise ExpressionError(
        f"{_VERB}: where: {listed(RATES)} are known of what is estimated, and conditions choose what is; suggestions "
        "rank by throughput, and solve(..., where='time_s <= 1e-3', effects='real') asks of times"
    )


def _side(formula: Any) -> Callable[[Mapping[str, Any]], Any]:
    """One side as a function of arrays."""
    if not formula.free_symbols:
        number = int(formula) if formula.is_Integer else float(formula)
        return lambda sizes: number
    compiled = compile_formula(formula)
    return lambda sizes: compiled({name: sizes[name] for name in compiled.symbols})
