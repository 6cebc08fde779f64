"""From tensors to programs: which ops, in which order, under which names."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import dims
from perfmodel.graph.building import contracted, gather, reduced, window
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import check_labels, program

m, n = dims("m n")
X = tensor("x", {"i": n})


def names(p: Program) -> list[tuple[str, tuple[str, ...], str]]:
    """Each op with what it reads and makes."""
    return [(op.name, tuple([a.tensor.name for a in op.reads]), op.output.tensor.name) for op in p.ops]


# order


def test_a_program_has_one_op_a_kernel() -> None:
    """In an order that can run, each kernel under its op's name; the program's name is its output's."""
    p = program((X * 2 + 1).named("y"))
    assert [(kernel.name, [op.name for op in kernel.ops]) for kernel in p.kernels] == [
        ("mul", ["mul"]),
        ("add", ["add"]),
    ]
    assert (p.name, p.returned) == ("y", ("y",))
    assert program((X * 2).named("y"), name="double").name == "double"


def test_operands_come_before_their_op_from_left_to_right() -> None:
    """As one reads the expression."""
    a, b = tensor("a", {"i": n}), tensor("b", {"i": n})
    made = mapped("exp", a) + mapped("sin", b) * mapped("cos", a)
    assert [op.name for op in program(made).ops] == ["exp", "sin", "cos", "mul", "add"]


def test_several_outputs_are_computed_in_their_order() -> None:
    """What they share is computed once, before the first; outputs that others need are no kernels of their own."""
    shared = mapped("exp", X)
    one, other = (shared + 1).named("one"), (shared * 2).named("other")
    p = program(other, one)
    assert ([op.output.tensor.name for op in p.ops], p.returned, p.name) == (
        ["exp", "other", "one"], ("other", "one"), "other_one",
    )  # fmt: skip
    assert [op.name for op in program(one, shared).ops] == ["exp", "add"]


@st.composite
def graphs(draw: Any) -> list[Tensor]:
    """Tensors, each made from one or two of those before it."""
    found: list[Tensor] = [X, tensor("z", {"i": n})]
    for _ in range(draw(st.integers(1, 15))):
        operands = draw(st.lists(st.sampled_from(found), min_size=1, max_size=2))
        found.append(mapped("neg", *operands) if len(operands) == 1 else mapped("add", *operands))
    return found


def ancestors(made: Tensor) -> set[int]:
    """The ops behind a tensor, by recursion: the oracle of order and sharing."""
    if made.producer is None:
        return set()
    inner = [ancestors(access.tensor) for access in made.producer.reads]
    return {id(made.producer)}.union(*inner)


@given(graph=graphs())
def test_every_op_behind_the_outputs_is_there_once_after_what_it_needs(graph: list[Tensor]) -> None:
    """Whatever the graph: no op too many, none twice, none too early, and all names differ."""
    outputs = [made for made in graph if made.producer is not None][-2:]
    p = program(*outputs)
    assert len(p.ops) == len(set[int]().union(*[ancestors(made) for made in outputs]))
    known = {item.name for item in p.inputs}
    for op in p.ops:
        assert {access.tensor.name for access in op.reads} <= known
        assert op.output.tensor.name not in known
        known.add(op.output.tensor.name)
    assert len({op.name for op in p.ops}) == len(p.ops)


def test_a_tensor_used_twice_is_computed_once() -> None:
    """Sharing follows the tensor that Python shares; equal expressions that were built apart stay apart."""
    shared = mapped("exp", X)
    assert [op.name for op in program(shared * shared).ops] == ["exp", "mul"]
    assert [op.name for op in program(mapped("exp", X) * mapped("exp", X)).ops] == ["exp", "exp_2", "mul"]


def test_views_share_the_op_behind_them() -> None:
    """Renamed, rolled, windowed and named otherwise, a result is computed once."""
    made = mapped("exp", X)
    p = program(made * made.roll("i", 1) + reduced("max", window(made, "i", "i", "r", 1), "r"))
    assert [op.name for op in p.ops] == ["exp", "mul", "max", "add"]
    outer = contracted([made, made.rename(i="j")], ("i", "j"))
    assert [op.name for op in program(outer).ops] == ["exp", "mul"]


# size


def test_a_chain_of_thousands_of_ops() -> None:
    """No recursion limit: 5,000 ops one after another are traced, counted, pickled and dropped."""
    made = X
    for _ in range(5000):
        made = made + 1
    p = program(made)
    assert (len(p.ops), p.flops) == (5000, 5000 * n)
    assert p.ops[-1].output.tensor.name == "add_5000"
    assert pickle.loads(pickle.dumps(p)) == p


def test_a_tower_of_diamonds() -> None:
    """y = y + y, 1,000 times: 2^1000 paths lead to x, and each op is visited once."""
    made = X
    for _ in range(1000):
        made = made + made
    assert program(made).flops == 1000 * n


def test_a_wide_sum() -> None:
    """1,000 terms of one input, added up one by one: as many maps, one fewer additions."""
    terms = [mapped("exp", X) for _ in range(1000)]
    made = terms[0]
    for term in terms[1:]:
        made = made + term
    assert program(made).flops_by_unit == {"matrix": 0, "vector": 999 * n, "special": 1000 * n}


# names


def test_names_that_are_taken_get_numbers() -> None:
    """Ops and tensors apart; names of inputs are never given away, those of results may be."""
    p = program((mapped("exp", X * 2).named("x") * 3).named("y"))
    assert names(p) == [("mul", ("x",), "mul"), ("exp", ("mul",), "x_2"), ("mul_2", ("x_2",), "y")]
    assert p.inputs == (X,)


def test_two_results_of_one_name_are_told_apart() -> None:
    """The first in order keeps it; what is returned says which."""
    one, other = (X + 1).named("y"), (X * 2).named("y")
    p = program(one, other)
    assert (p.returned, p.name) == (("y", "y_2"), "y_y_2")
    assert names(p) == [("add", ("x",), "y"), ("mul", ("x",), "y_2")]


def test_a_name_given_later_wins() -> None:
    """The op writes under the name that its result was given, wherever it is used."""
    made = mapped("exp", X)
    assert names(program(made.named("y") * 2)) == [("exp", ("x",), "y"), ("mul", ("y",), "mul")]
    assert names(program(made * 2, made.named("y")))[0] == ("exp", ("x",), "y")
    assert program(made.rename(i="j").named("z")).returned == ("z",)


def test_two_inputs_of_one_name_must_be_one() -> None:
    """Equal axes and formats are the same tensor; else both are shown."""
    assert len(program(X + tensor("x", {"i": n})).inputs) == 1
    for other in (tensor("x", {"i": n}, "fp32"), tensor("x", {"i": n, "j": 4})):
        with pytest.raises(LabelError) as found:
            program(X + other)
        assert str(found.value) == f"program: two different tensors are named 'x': {X!r} and {other!r}"


def test_look_ups_follow_the_names() -> None:
    """An index that is renamed in the program is looked up under its new name, beside a table of the same name."""
    table, ids = mapped("neg", tensor("W", {"v": 100, "d": 8})), mapped("neg", tensor("ids", {"t": 4}, "int32"))
    p = program(gather(table, "v", ids))
    table_read, ids_read = p.ops[-1].reads
    assert (table_read.tensor.name, ids_read.tensor.name) == ("neg", "neg_2")
    assert table_read.index == (Gathered("neg_2", ("t",)), "d")


def test_a_program_does_not_hold_how_it_was_built() -> None:
    """Its tensors are bare, so that it pickles, compares and hashes by what it computes."""
    p = program((mapped("exp", X * 2)).named("y"))
    held = [access.tensor for op in p.ops for access in (*op.reads, op.output)]
    assert [(item.producer, item.base) for item in held] == [(None, None)] * 4
    assert pickle.loads(pickle.dumps(p)) == p
    assert hash(p) == hash(program((mapped("exp", X * 2)).named("y")))


# errors


def test_what_computes_nothing_is_refused() -> None:
    """No output, inputs, views of inputs, and what is no tensor."""
    with pytest.raises(LabelError, match="program: expected at least one tensor to compute"):
        program()
    for output in (X, X.rename(i="j"), X.roll("i", 1)):
        with pytest.raises(LabelError, match="program: 'x' is an input: nothing computes it"):
            program(output)
    for other in (3, "x", [X * 2], None):
        with pytest.raises(LabelError, match="program: expected tensors, got"):
            program(X * 2, other)  # type: ignore[arg-type]


def test_a_view_of_a_result_is_no_output() -> None:
    """Rolled or windowed it would be another tensor, which no op writes; renamed it is the same one."""
    made = (X * 2).named("y")
    for view in (made.roll("i", 1), window(made, "i", "p", "r", 1)):
        with pytest.raises(LabelError, match="program: 'y' is only seen rolled or windowed"):
            program(view)
    assert program(made.rename(i="j")).outputs[0].labels == ("i",)


def test_one_label_has_one_extent_in_a_program() -> None:
    """Over ops that share no tensor too; the message names the label, both sizes and both ops."""
    first, second = tensor("a", {"i": 4}), tensor("b", {"i": m})
    with pytest.raises(DimensionError) as found:
        program(mapped("exp", first), mapped("sin", second))
    assert str(found.value) == (
        "program: label 'i' is 4 in 'exp' and m in 'sin'; "
        "one label has one extent: x.rename(i=...) gives it another name"
    )
    check_labels(program(mapped("exp", first), mapped("sin", second.rename(i="j"))).ops)
