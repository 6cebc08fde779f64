"""Programs from text, for the shell: ``"fuse(softmax(4096, 4096))"``, by walking Python's own syntax tree.

Nothing is evaluated. A name that is called is looked up among the descriptors and transforms below; any other
name is the symbol of a size; what is neither a call, a size nor plain data is refused.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import perfmodel.descriptors as descriptors
import perfmodel.recipes as recipes
import perfmodel.transforms as transforms
from perfmodel.errors import ExpressionError, did_you_mean, listed
from perfmodel.expressions import Size, parse_size, parse_tree
from perfmodel.expressions.parsing import SIZE_FUNCTIONS
from perfmodel.graph.functions import FUNCTIONS
from perfmodel.graph.programs import Program
from perfmodel.graph.sequencing import sequence

_FROM_SIZES = (
    descriptors.attention, descriptors.conv2d, descriptors.elementwise, descriptors.embedding, descriptors.gated_mlp,
    descriptors.gemv, descriptors.layernorm, descriptors.matmul, descriptors.optimizer_step, descriptors.pool2d,
    descriptors.rmsnorm, descriptors.softmax, descriptors.workload,
)  # fmt: skip
# a new transform is read once its name stands here
_TRANSFORMS = ("cast", "fuse", "grad", "im2col", "online", "pad", "reassociate", "recompute", "split", "tile", "unfuse")
_VERBS: dict[str, Callable[..., Any]] = {verb.__name__: verb for verb in (*_FROM_SIZES, sequence)}
_VERBS |= {name: getattr(transforms, name) for name in _TRANSFORMS}
_VERBS |= {f"recipes.{name}": getattr(recipes, name) for name in recipes.__all__}
# Names that stand for no size: what they mean in other languages would be lost in a symbol.
_NO_SYMBOLS = {"true": "True", "false": "False", "none": "None", "null": "None", "nan": "", "inf": "", "infinity": ""}
# Parameters by annotation, where a wrong value would be taken for something else: in text no type checker warns.
_EXPECTED: dict[str, tuple[Any, str]] = {
    "bool": (bool, "True or False"),
    "int": (int, "a whole number"),
    "str": (str, "text in quotes"),
    "str | None": (str | None, "text in quotes"),
    "Only": (str | list | tuple | None, "a name in quotes, or several in a tuple"),
    "Names": (str | list | tuple | None, "a name in quotes, or several in a tuple"),
    "str | Iterable[str]": (str | list | tuple, "a name in quotes, or several in a tuple"),
    "Results": (str | list | tuple | None, "a name in quotes, or several in a tuple, those that share a kernel in one"),
    "int | str | Iterable[str] | None": (int | str | list | tuple | None, "a whole number, or names in quotes"),
    "Collection[str]": (list | tuple, "names in quotes in a tuple, such as ('a',)"),
    "Mapping[str, Any] | None": (dict | None, "a dict from labels to sizes, such as {'m': 128}"),
    "Mapping[str, str] | None": (dict | None, "a dict from names to names"),
    "Mapping[str, str | Format] | None": (dict | None, "a dict from names of tensors to formats"),
    "Program": (Program, "a description, such as matmul(m, n, k)"),
}
_NAMES = (
    "Only",
    "Names",
    "str | Iterable[str]",
    "int | str | Iterable[str] | None",
    "Collection[str]",
)  # of these, each part is text too
_SHOWN = 80


def describe(text: str) -> Program:
    """The program that text describes, written as in Python: a descriptor, and transforms around it.

    Arguments are numbers, text in quotes, True, False, None, tuples, lists and dicts of these, sizes such as
    ``n`` or ``3*h`` (their names become symbols), and for transforms and ``sequence`` other descriptions.
    Nothing else is read and nothing is evaluated: ``ExpressionError`` points at what is refused, and what a
    descriptor refuses is the error that it raises from Python too.

    >>> describe("fuse(elementwise('relu(x*w + b)', n))").elements_read
    3*n
    >>> describe("cast(matmul(8, 4096, 4096), B='int8')").bytes_read == 2 * 8 * 4096 + 4096 * 4096
    True
    >>> describe("tile(fuse(softmax(8, 64)), grid={'m': 4}, stream={'n': 16})").history
    ('softmax', 'fuse()', "tile(grid={'m': 4}, stream={'n': 16})")
    >>> describe("matmull(8, 4096, 4096)")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: describe: no descriptor 'matmull' (did you mean 'matmul'?); there are ...
    """
    tree = parse_tree(text, "describe")
    reader = _Reader(str.strip(text))
    if not (isinstance(tree, ast.Call) and not reader.is_size(tree)):
        raise reader.refused(tree, "expected a description such as matmul(m, n, k) or fuse(softmax(4096, 4096))")
    try:
        made: Program = reader.call(tree)
    except RecursionError:
        raise ExpressionError(f"describe {_cut(text)}: nested too deeply") from None
    return made


def read_size(text: str, what: str) -> Size:
    """A size from text as ``parse_size`` reads it, without the names that mean something else (nan, true, none).

    >>> read_size("3*h", "n")
    3*h
    >>> read_size("2*nan", "n")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: n = '2*nan': nan is no size
    """
    for part in ast.walk(parse_tree(text, what)):
        if isinstance(part, ast.Name) and part.id.lower() in _NO_SYMBOLS:
            meant = _NO_SYMBOLS[part.id.lower()]
            raise ExpressionError(f"{what} = {_cut(text)}: {f'write {meant}' if meant else f'{part.id} is no size'}")
    return parse_size(text, what)


class _Reader:
    """Reads a syntax tree as calls of descriptors and transforms with plain arguments."""

    def __init__(self, text: str) -> None:
        self.text = text

    def call(self, node: ast.Call) -> Any:
        """What a descriptor or transform makes of its arguments, once they are bound to its signature."""
        verb = self._verb(node)
        args = [self.value(argument) for argument in node.args]
        named = self._named((keyword.arg, keyword) for keyword in node.keywords)
        bound = _bound(verb, args, {name: self.value(keyword.value) for name, keyword in named.items()})
        return verb(*bound.args, **bound.kwargs)

    def value(self, node: ast.expr) -> Any:
        """An argument: plain data, a size, or another description."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return -value
            case ast.Tuple(elts=items):
                return tuple([self.value(item) for item in items])
            case ast.List(elts=items):
                return [self.value(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                return self._dict(node, keys, values)
            case ast.Call() if not self.is_size(node):
                return self.call(node)
            case ast.Name() | ast.BinOp() | ast.UnaryOp() | ast.Call():
                return self._size(node)
        raise self.refused(node, "write numbers, sizes such as n or 3*h, text in quotes, tuples, lists and dicts")

    def is_size(self, node: ast.Call) -> bool:
        """Whether a call is one of the functions that sizes may use."""
        return isinstance(node.func, ast.Name) and node.func.id in SIZE_FUNCTIONS

    def refused(self, node: ast.AST, rule: str) -> ExpressionError:
        """The error that points at a piece of the text."""
        piece = ast.get_source_segment(self.text, node) or type(node).__name__
        where = "" if piece == self.text else f" in {_cut(self.text)}"
        return ExpressionError(f"describe: {_cut(piece)}{where} is not allowed: {rule}")

    def _verb(self, node: ast.Call) -> Callable[..., Any]:
        match node.func:
            case ast.Name(id=name):
                pass
            case ast.Attribute(value=ast.Name(id="recipes"), attr=recipe):
                name = f"recipes.{recipe}"
            case _:
                raise self.refused(node.func, f"only these are called: {listed(_VERBS)}")
        if name in _VERBS:
            return _VERBS[name]
        if name in FUNCTIONS:
            hint = f": {name} works on tensors; as text it stands in elementwise('{name}(x)', n)"
        elif name in descriptors.__all__:
            hint = f": {name} works on tensors, which only Python holds"
        else:
            hint = did_you_mean(name, _VERBS)
        raise ExpressionError(f"describe: no descriptor {name!r}{hint}; there are {listed(_VERBS)}")

    def _named(self, keywords: Iterable[tuple[str | None, ast.keyword]]) -> dict[str, ast.keyword]:
        found: dict[str, ast.keyword] = {}
        for name, keyword in keywords:
            if name is None or name in found:
                raise self.refused(keyword, "expected each keyword by name, and once")
            found[name] = keyword
        return found

    def _dict(self, node: ast.Dict, keys: Iterable[ast.expr | None], values: Iterable[ast.expr]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                raise self.refused(key or node, "the keys of a dict are text in quotes")
            if key.value in found:
                raise self.refused(node, f"expected each key once, and {key.value!r} stands there again")
            found[key.value] = self.value(value)
        return found

    def _size(self, node: ast.expr) -> Any:
        piece = ast.get_source_segment(self.text, node) or ""
        return read_size(f"({piece})" if "\n" in piece else piece, "describe: size")


@cache
def _signature(verb: Callable[..., Any]) -> inspect.Signature:
    """The parameters that text can give: those that take tensors are left out."""
    whole = inspect.signature(verb)
    kept = [each for each in whole.parameters.values() if "Tensor" not in str(each.annotation)]
    return whole.replace(parameters=kept)


def _bound(verb: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments bound to the signature, so that a wrong call is told apart from a fault inside."""
    signature = _signature(verb)
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        unknown = next((name for name in named if name not in signature.parameters), "")
        near = did_you_mean(unknown, signature.parameters) if unknown else ""
        raise ExpressionError(f"{verb.__name__}: {error}{near}; it is {_written(verb)}") from None
    for name, value in bound.arguments.items():
        _check(verb, name, str(signature.parameters[name].annotation), value)
    return bound


def _check(verb: Callable[..., Any], name: str, annotation: str, value: Any) -> None:
    """One argument (or each of ``*programs`` and ``**cuts``) against what its annotation stands for."""
    kinds, words = _EXPECTED.get(annotation, (object, "a size or plain data"))
    for given, item in _each(name, _signature(verb).parameters[name].kind, value):
        good = isinstance(item, kinds) and (annotation == "Program" or not isinstance(item, Program))
        parts = item if annotation in _NAMES and isinstance(item, list | tuple) else ()
        if not good or not all(isinstance(part, str) for part in parts):
            shown = f"the program {item.name}" if isinstance(item, Program) else _cut(item)
            raise ExpressionError(f"{verb.__name__}: {given} = {shown}: expected {words}")


def _each(name: str, kind: Any, value: Any) -> list[tuple[str, Any]]:
    """The arguments of a parameter by name: one, or those that it gathers."""
    if kind is inspect.Parameter.VAR_KEYWORD:
        return list(value.items())
    return [(name, item) for item in (value if kind is inspect.Parameter.VAR_POSITIONAL else (value,))]


def _written(verb: Callable[..., Any]) -> str:
    """The signature as a reader of the message needs it: names and defaults."""
    signature = _signature(verb)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return f"{verb.__name__}{signature.replace(parameters=plain, return_annotation=signature.empty)}"


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
