"""A value for each thread, from text, a function or a list: exact whole numbers, and nothing is run as code.

Text is Python's: whole numbers, the names of ``warps``, ``+ - * // % ** << >> & | ^ ~``, comparisons, ``and``,
``or``, ``not``, ``a if c else b``, ``min``, ``max``, ``abs``. Division rounds down, as in Python; C rounds to zero,
which differs only below 0.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index as as_index
from typing import Any

from perfmodel.errors import CapacityError, DimensionError, ExpressionError, brief, did_you_mean, listed
from perfmodel.expressions import parse_tree
from perfmodel.mechanisms.lane_arithmetic import Reader
from perfmodel.mechanisms.warps import NAMES, Lanes, Launch
from perfmodel.mechanisms.wording import Verbatim

_DEEPEST = 60
_MOST_STEPS = 2**27  # threads times what an expression does for each: about a second
_MOST_CALLS = 2**20  # of a user's own function


@dataclass(frozen=True, slots=True)
class LaneValues:
    """A whole number for each lane, as it was given; ``over`` gives those of some warps.

    >>> from perfmodel.mechanisms.warps import launch
    >>> values = lane_values("t % 3", launch(6, warp=3), "index")
    >>> [values.over(lanes).tolist() for lanes in launch(6, warp=3).pieces()]
    [[[0, 1, 2], [0, 1, 2]]]
    """

    what: str
    text: str
    compute: Callable[[Lanes, Any], Any]

    def over(self, lanes: Lanes, active: Any = None) -> Any:
        """The values in some warps, an array of warps x lanes; what an inactive lane has does not matter.

        >>> from perfmodel.mechanisms.warps import launch
        >>> next(launch(2, warp=2).pieces()).launch.warps
        1
        """
        import numpy as np

        found = self.compute(lanes, lanes.present if active is None else active)
        return np.broadcast_to(np.asarray(found, dtype=np.int64), lanes.shape)


def lane_values(given: Any, launch: Launch, what: str) -> LaneValues:
    """The values of all threads of a launch: from an expression, ``f(t)``, or one for each thread.

    >>> from perfmodel.mechanisms.warps import launch
    >>> lane_values("t < u", launch(32), "condition")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: condition = 't < u': no name 'u'; there are t, lane, warp, block, x, y, z
    """
    if isinstance(given, str):
        return _of_text(given, launch, what)
    if callable(given):
        return _of_function(given, launch, what)
    if isinstance(given, Sequence) or hasattr(given, "__array__"):
        return _of_list(given, launch, what)
    raise ExpressionError(
        f"{what} = {brief(given)}: expected text such as '32*t', a function of t, or a list of whole numbers"
    )


def _of_text(text: str, launch: Launch, what: str) -> LaneValues:
    tree = parse_tree(text, what)
    said = str.strip(text)
    nodes = _checked(tree, 0, said, what)
    if nodes * launch.threads > _MOST_STEPS:
        raise CapacityError(
            f"{what} = {brief(said)}: {launch.threads:,} threads, {nodes} steps each: at most {_MOST_STEPS:,} "
            "steps are computed; fewer threads show the same pattern"
        )
    return LaneValues(what, said, lambda lanes, active: Reader(lanes, said, what).read(tree, active))


def _checked(tree: ast.expr, depth: int, text: str, what: str) -> int:
    """How many parts a tree has; refused where it is deep or names what is not there."""
    if depth > _DEEPEST:
        raise ExpressionError(f"{what} = {brief(text)}: nested too deeply")
    if isinstance(tree, ast.Name) and tree.id not in NAMES:
        raise ExpressionError(
            f"{what} = {brief(text)}: no name {brief(tree.id)}{did_you_mean(tree.id, NAMES)}; there are {listed(NAMES)}"
        )
    inside = [child for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr)]
    if isinstance(tree, ast.Call):
        inside = list(tree.args)
    return 1 + sum(_checked(child, depth + 1, text, what) for child in inside)


def _of_function(function: Callable[[int], Any], launch: Launch, what: str) -> LaneValues:
    name = getattr(function, "__name__", type(function).__name__)
    if launch.threads > _MOST_CALLS:
        raise CapacityError(
            f"{what} = {name}: {launch.threads:,} threads: at most {_MOST_CALLS:,} calls of a function are made; text "
            "such as '32*t' has no such limit"
        )

    def computed(lanes: Lanes, active: Any) -> Any:
        import numpy as np

        found = np.zeros(lanes.shape, dtype=np.int64)
        threads = lanes["t"]
        for place in np.argwhere(active):
            here = tuple(place)
            found[here] = _called(function, int(threads[here]), name, what)
        return found

    return LaneValues(what, Verbatim(name), computed)


def _called(function: Callable[[int], Any], thread: int, name: str, what: str) -> int:
    try:
        value = function(thread)
    except Exception as error:  # the user's own function may raise anything
        raise ExpressionError(f"{what} = {name}: thread {thread}: {type(error).__name__}: {error}") from error
    return _whole(value, f"{what} = {name}: thread {thread}")


def _whole(value: Any, where: str) -> int:
    """A value of a thread: whole, or a truth value, and within what is computed exactly."""
    try:
        found = int(value) if type(value).__name__ in ("bool", "bool_") else as_index(value)
    except Exception:  # whatever an object of the user's raises, it is no whole number
        raise ExpressionError(f"{where}: {brief(value)}: expected a whole number, or True or False") from None
    if abs(found) > Reader.LARGEST:
        raise ExpressionError(f"{where}: {brief(found)}: a number beyond 2^62")
    return found


def _of_list(given: Any, launch: Launch, what: str) -> LaneValues:
    try:
        count = len(given)
    except TypeError:
        count = -1
    if count != launch.threads:
        raise DimensionError(f"{what} = {brief(given)}: expected one for each of {launch.threads:,} threads")
    if count > _MOST_CALLS:
        raise CapacityError(f"{what}: a list of {count:,}; at most {_MOST_CALLS:,} are read")
    values = [_whole(value, f"{what}: thread {thread}") for thread, value in enumerate(given)]

    def computed(lanes: Lanes, active: Any) -> Any:
        import numpy as np

        return np.array(values, dtype=np.int64)[lanes["t"]]

    return LaneValues(what, Verbatim(brief(values, 200)), computed)
