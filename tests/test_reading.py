"""Programs from text: the string form says what the Python form says, and refuses everything else."""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from texts import SAME, TOKENS, calls, mutated

import perfmodel as pm
from perfmodel import reading
from perfmodel.errors import (
    CapacityError,
    DimensionError,
    ExpressionError,
    FormatError,
    LabelError,
    PerfModelError,
    TransformError,
)
from perfmodel.reading import describe, read_size

# ---------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("text", SAME)
def test_text_means_what_python_means(text: str) -> None:
    """The program of the text is the program of the same call in Python."""
    assert describe(text) == SAME[text]


def test_every_verb_of_the_string_form_is_public_and_tried_above() -> None:
    """Nothing can be said in text that pm does not offer, and each verb stands in the table of this test."""
    called = {name for text in SAME for name in reading._VERBS if f"{name}(" in text}
    assert called == set(reading._VERBS)
    assert all(attrgetter(name)(pm) is verb for name, verb in reading._VERBS.items())


def test_each_annotation_is_checked_or_left_to_the_descriptor_on_purpose() -> None:
    """A new kind of parameter has to be placed: text comes from no type checker."""
    left = {"Any", "Dtype", "str | Format", "str | Format | None"}  # size, format and amount check all that comes
    found = {
        str(each.annotation)
        for verb in reading._VERBS.values()
        for each in inspect.signature(verb).parameters.values()
        if "Tensor" not in str(each.annotation)
    }
    assert found == left | reading._EXPECTED.keys()


def test_transforms_keep_their_history() -> None:
    """A program from text remembers its steps as one from Python does."""
    assert describe("fuse(cast(softmax(8, 8), 'fp16'))").history == ("softmax", "cast('fp16')", "fuse()")


def test_a_size_is_read_as_pm_reads_it() -> None:
    """read_size is parse_size, without the names that mean something else in other languages."""
    assert read_size("3*h + 1", "n") == 3 * pm.dims("h") + 1
    for text in ("nan", "2*inf", "True + 1", "null", "NaN"):
        with pytest.raises(ExpressionError, match="n = "):
            read_size(text, "n")


# ---------------------------------------------------------------------------- what is refused

REFUSED = {
    "": "empty",
    "4096": "'4096' is not allowed: expected a description",
    "x*w + b": "expected a description",
    "max(4, 5)": "expected a description",
    "matmul(4, 4": r"'\(' was never closed",
    "matmul(4, 4, 4); import os": "invalid syntax",
    "matmul(4, 4, 4)[0]": "expected a description",
    "matmul(4, 4, 4).flops": "expected a description",
    "pm.matmul(4, 4, 4)": "'pm.matmul' in .* is not allowed: only these are called: attention",
    "matmul(4, 4, 4).at(m=8)": "is not allowed: only these are called",
    "recipes.flash_atention(8, 8, 4)": r"'recipes.flash_atention' \(did you mean 'recipes.flash_attention'",
    "recipes.__class__(8)": "no descriptor 'recipes.__class__'",
    "recipes.flash_attention.__call__(8, 8, 4)": "is not allowed: only these are called",
    "recipes.flash_attention(8, 8, 4, causal='yes')": "flash_attention: causal = 'yes': expected True or False",
    "recipes.checkpointed(softmax(8, 8), every='2')": "checkpointed: every = '2': expected a whole number",
    "(lambda: 1)()": "'lambda: 1' in",
    "matmul(x.y, 4, 4)": "'x.y' in .* is not allowed",
    "matmul(x[0], 4, 4)": r"'x\[0\]' in",
    "matmul([x for x in y], 4, 4)": r"'\[x for x in y\]' in",
    "matmul({1, 2}, 4, 4)": "'{1, 2}' in",
    "matmul(f'{4}', 4, 4)": "is not allowed",
    "matmul(b'4', 4, 4)": "is not allowed",
    "matmul(4j, 4, 4)": "'4j' in",
    "matmul(..., 4, 4)": r"'\.\.\.' in",
    "matmul(x := 4, 4, 4)": "'x := 4' in",
    "matmul(m if n else k, 4, 4)": "'m if n else k' in",
    "matmul(m < n, 4, 4)": "'m < n' in",
    "matmul(*sizes)": r"'\*sizes' in",
    "matmul(**sizes)": "expected each keyword by name, and once",
    "matmul(m=1, m=2, n=4, k=4)": "'m=2' in .* and once",
    "gemv(4, 4, dtype={W: 'int8'})": "'W' in .*: the keys of a dict are text in quotes",
    "gemv(4, 4, dtype={**x})": "the keys of a dict are text in quotes",
    "tile(matmul(4, 4, 4), grid={1: 2})": "'1' in .*: the keys of a dict are text in quotes",
    "tile(matmul(4, 4, 4), grid={m: 2})": "'m' in .*: the keys of a dict are text in quotes",
    "tile(matmul(4, 4, 4), grid={('m', 'n'): 2})": "the keys of a dict are text in quotes",
    "tile(matmul(4, 4, 4), grid={'m': 2, 'm': 4})": "expected each key once, and 'm' stands there again",
    "tile(matmul(4, 4, 4), grid={'m': open('f')})": "no descriptor 'open'",
    "tile(matmul(4, 4, 4), grid={'m': x.y})": "'x.y' in",
    "tile(matmul(4, 4, 4), grid=dict(m=2))": "no descriptor 'dict'",
    "tile(matmul(4, 4, 4), grid='m')": "tile: grid = 'm': expected a dict from labels to sizes",
    "tile(matmul(4, 4, 4), stream=('k',))": "tile: stream = .*: expected a dict from labels to sizes",
    "tile(matmul(4, 4, 4), grid=matmul(4, 4, 4))": "tile: grid = the program matmul: expected a dict",
    "tile(matmul(4, 4, 4), m=matmul(4, 4, 4))": "tile: m = the program matmul: expected a size or plain data",
    "tile(matmul(4, 4, 4), m=2, level=2)": "tile: level = 2: expected text in quotes",
    "tile(matmul(4, 4, 4), m=2, spill='C')": r"tile: spill = 'C': expected names in quotes in a tuple",
    "tile(matmul(4, 4, 4), m=2, spill=(2,))": "tile: spill = .*: expected names in quotes in a tuple",
    "tile(matmul(4, 4, 4), m=2, buffers=2.0)": "tile: buffers = 2.0: expected a whole number",
    "tile(matmul(4, 4, 4), m=2, buffers=n)": "tile: buffers = n: expected a whole number",
    "tile(4, m=2)": "tile: program = 4: expected a description",
    "matmul(0.5*n, 4, 4)": "'0.5' is not allowed in a size",
    "matmul(2*gemv(4, 4), 4, 4)": "no function 'gemv'",
    "matmul(9**9**9, 4, 4)": "int from 0 to 64",
    "matmul(nan, 4, 4)": "nan is no size",
    "attention(4, 4, 8, causal=false)": "'false': write False",
    "attention(4, 4, 8, causal=yes)": "attention: causal = yes: expected True or False",
    "attention(4, 4, 8, lse=1)": "attention: lse = 1: expected True or False",
    "attention(4, 4, 8, align=0)": "attention: align = 0: expected text in quotes",
    "elementwise('x + 1', 4, scalars=3)": "elementwise: scalars = 3: expected names in quotes in a tuple",
    "workload(flops=8, name=3)": "workload: name = 3: expected text in quotes",
    "fuse(4)": "fuse: program = 4: expected a description",
    "fuse(softmax(4, 4), only=3)": "fuse: only = 3: expected a name in quotes",
    "sequence(softmax(4, 4), 4)": "sequence: programs = 4: expected a description",
    "sequence(softmax(4, 4), join='x')": "sequence: join = 'x': expected a dict",
    "matmul(softmax(4, 4), 4, 4)": "matmul: m = the program softmax: expected a size",
    "(" * 5000: "nested|characters",
    "-" * 5000 + "1": "nested too deeply",
    "matmul(" + "-" * 5000 + "1, 4, 4)": "nested too deeply",
    "matmul(4, 4, " + "4" * 20_000 + ")": "at most 10000",
    "matmul(4, 4, \0)": "null bytes",
    "matmul(\ud800, 4, 4)": "not an expression",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_description_is_refused(text: str) -> None:
    """Everything but calls of verbs with plain arguments is an ExpressionError that points at the piece."""
    with pytest.raises(ExpressionError, match=REFUSED[text]):
        describe(text)


@pytest.mark.parametrize("value", [None, 4096, b"matmul(4, 4, 4)", ["matmul"], pm.matmul(4, 4, 4)])
def test_only_text_is_read(value: object) -> None:
    """What is not a str is refused by its type."""
    with pytest.raises(ExpressionError, match="expected text, got"):
        describe(value)  # type: ignore[arg-type]


def test_an_unknown_name_shows_near_misses_and_what_there_is() -> None:
    """A misspelt descriptor is named, with the nearest one and the list."""
    with pytest.raises(ExpressionError, match=r"no descriptor 'atention' \(did you mean 'attention'\?\); there are "):
        describe("atention(4, 4, 8)")


def test_functions_of_tensors_say_how_text_has_them() -> None:
    """relu is public but takes tensors: the message gives the text that works."""
    with pytest.raises(ExpressionError, match=r"as text it stands in elementwise\('relu\(x\)', n\)"):
        describe("relu(x)")
    with pytest.raises(ExpressionError, match="einsum works on tensors"):
        describe("einsum('mk,kn->mn', a, b)")


WRONG_CALLS = {
    "elementwise(n=4)": r"elementwise: missing a required argument: 'expression'; it is elementwise\(expression",
    "matmul(4, 4, 4, batc=2)": r"matmul: got an unexpected keyword argument 'batc' \(did you mean 'batch'\?\)",
    "tile(m=4)": r"tile: missing a required argument: 'program'; it is tile\(program, \*, grid=None",
    "tile(matmul(4, 4, 4), {'m': 2})": "tile: too many positional arguments",
    "matmul(4, 4, 4, k=4)": "matmul: multiple values for argument 'k'",
    "gated_mlp(4, 8, 16, 32)": "gated_mlp: too many positional arguments; it is gated_mlp",
    "layernorm(4, 8, weight=3)": "layernorm: got an unexpected keyword argument 'weight'",  # takes a tensor
    "elementwise('x + y', 8, x=3)": "elementwise: got an unexpected keyword argument 'x'",  # takes a tensor
}


@pytest.mark.parametrize("text", WRONG_CALLS)
def test_a_wrong_call_names_the_descriptor_and_its_signature(text: str) -> None:
    """Arguments that do not fit, or that only tensors could fill, are an ExpressionError, not a TypeError."""
    with pytest.raises(ExpressionError, match=WRONG_CALLS[text]):
        describe(text)


NEAR = {
    "gird={'m': 2}": "'gird'; .*did you mean 'grid'",
    "buffer=2": "did you mean 'buffers'",
    "mm=2": "did you mean 'm'",
}


@pytest.mark.parametrize("argument", NEAR)
def test_an_unknown_keyword_of_tile_shows_the_nearest_label_or_option(argument: str) -> None:
    """Keywords of tile are labels, so a misspelt option is an unknown label: the message names both kinds."""
    with pytest.raises(LabelError, match=NEAR[argument]):
        describe(f"tile(matmul(4, 4, 4), {argument})")


PASSED_ON = {
    "matmul(0, 4, 4)": DimensionError,
    "matmul(-8, 4, 4)": DimensionError,
    "matmul(0.5, 4, 4)": DimensionError,
    "matmul(True, 4, 4)": DimensionError,
    "matmul(None, 4, 4)": LabelError,
    "matmul(1e400, 4, 4)": DimensionError,
    "matmul(10**18, 4, 4)": DimensionError,
    "matmul(m - m, 4, 4)": DimensionError,
    "workload(flops=-0.5)": DimensionError,
    "matmul(4, 4)": LabelError,
    "matmul(4, 4, 4, dtype='b16')": FormatError,
    "cast(matmul(4, 4, 4), Z='int8')": FormatError,
    "fuse(softmax(4, 4), by='stages')": TransformError,
    "fuse(softmax(4, 4), only='expp')": TransformError,
    "attention(4, 4, 8, heads=6, kv_heads=4)": DimensionError,
    "elementwise('import os', 4)": ExpressionError,
    "tile(matmul(4, 4, 4))": TransformError,
    "tile(matmul(4, 4, 4), k=2)": TransformError,
    "tile(matmul(4, 4, 4), m=2, level='l 2')": TransformError,
    "tile(matmul(4, 4, 4), m=2, level='__import__(1)')": TransformError,
    "tile(matmul(4, 4, 4), m=2, buffers=True)": TransformError,
    "tile(matmul(4, 4, 4), m=2, buffers=0)": TransformError,
    "tile(matmul(4, 4, 4), m=2, only='x')": TransformError,
    "tile(matmul(4, 4, 4), m=2, spill=('Z',))": LabelError,
    "tile(matmul(4, 4, 4), grid={'z': 2})": LabelError,
    "tile(matmul(4, 4, 4), m=0)": DimensionError,
    "tile(matmul(4, 4, 4), m={'m': 2})": DimensionError,
    "tile(matmul(4, 4, 4), grid={'m': 'os.system'})": ExpressionError,
    "tile(matmul(4, 4, 4), m=2, capacity_bytes=8)": CapacityError,
}


@pytest.mark.parametrize("text", PASSED_ON)
def test_what_a_descriptor_refuses_is_its_own_error(text: str) -> None:
    """Sizes, formats and labels are refused as they are from Python."""
    with pytest.raises(PASSED_ON[text]) as caught:
        describe(text)
    assert type(caught.value) is PASSED_ON[text]


# ---------------------------------------------------------------------------- nothing runs

PAYLOADS = [
    "__import__('pathlib').Path({path!r}).touch()",
    "open({path!r}, 'w')",
    "exec('open({path!r}, 1)')",
    "eval(compile('1', '', 'eval'))",
    "().__class__.__base__.__subclasses__()",
    "[open({path!r}, 'w') for x in (1,)]",
    "(lambda: open({path!r}, 'w'))()",
    "f'{{open({path!r}, chr(119))}}'",
]
PLACES = ["{0}", "matmul({0}, 4, 4)", "matmul(4, 4, k={0})", "fuse({0})", "gemv(4, 4, dtype={{'x': {0}}})",
          "matmul(2*({0}), 4, 4)", "tile(matmul(4, 4, 4), grid={{'m': {0}}})",
          "tile(matmul(4, 4, 4), m={0})", "tile(matmul(4, 4, 4), m=2, level={0})", "tile({0}, m=2)",
          "matmul(ceil({0}), 4, 4)"]  # fmt: skip
QUOTED = [
    "elementwise({0!r}, 4)",
    "matmul({0!r}, 4, 4)",
    "cast(matmul(4, 4, 4), {0!r})",
    "workload(flops={0!r})",
    "tile(matmul(4, 4, 4), m={0!r})",
    "tile(matmul(4, 4, 4), grid={{{0!r}: 2}})",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_a_user_passes_runs(payload: str, tmp_path: Path) -> None:
    """Code in any place of the text, or in text inside it, is refused and leaves no trace."""
    trace = tmp_path / "it_ran"
    code = payload.format(path=str(trace))
    for place in (*PLACES, *QUOTED):
        with pytest.raises(PerfModelError):
            describe(place.format(code))
    assert not trace.exists()


# ---------------------------------------------------------------------------- fuzz


def only_our_errors(text: str) -> None:
    """A program, or an error of the family; nothing else."""
    try:
        made = describe(text)
    except PerfModelError:
        return
    assert isinstance(made, pm.Program)


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(TOKENS), max_size=25).map("".join)))
def test_random_text_gives_a_program_or_our_error(text: str) -> None:
    """Letters and tokens in any order raise nothing but the family's errors."""
    only_our_errors(text)


@settings(max_examples=300)
@given(mutated())
def test_mutated_descriptions_give_a_program_or_our_error(text: str) -> None:
    """Descriptions with pieces cut, doubled or replaced raise nothing but the family's errors."""
    only_our_errors(text)


@settings(max_examples=300)
@given(calls())
def test_any_arguments_give_a_program_or_our_error(text: str) -> None:
    """Descriptors called with values of every kind raise nothing but the family's errors."""
    only_our_errors(text)
