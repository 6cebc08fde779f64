"""Memory: the highest stack is what the program needs at once."""

from __future__ import annotations

import pytest

import perfmodel as pm

STAGED = pm.fuse(pm.attention(512, 512, 64), by="stage")


def test_the_highest_stack_is_the_memory() -> None:
    drawn = pm.plot.memory(STAGED, capacity_bytes=10**6)
    stacks: dict[float, float] = {}
    for each in drawn.patches:
        stacks[each.get_x()] = stacks.get(each.get_x(), 0.0) + each.get_height()
    assert len(stacks) == len(STAGED.kernels)
    assert max(stacks.values()) == STAGED.memory_bytes
    assert [line.get_ydata()[0] for line in drawn.get_lines()] == [10**6]
    assert [text.get_text() for text in drawn.get_xticklabels()] == [kernel.name for kernel in STAGED.kernels]
    assert drawn.yaxis.get_major_formatter()(2e6, 0) == "2 MB"


def test_a_capacity_far_above_is_said_in_words() -> None:
    """80 GiB over some megabytes: the bars keep most of the height, the words give capacity and ratio."""
    drawn = pm.plot.memory(STAGED, capacity_bytes=80 * 2**30)
    assert not drawn.get_lines()
    assert drawn.get_ylim()[1] < 1.2 * STAGED.memory_bytes
    (said,) = [text.get_text() for text in drawn.texts]
    assert "capacity 85.9 GB" in said
    near = pm.plot.memory(STAGED, capacity_bytes=5 * STAGED.memory_bytes)
    assert near.get_ylim()[1] > near.get_lines()[0].get_ydata()[0] == 5 * STAGED.memory_bytes


def test_many_kernels_stand_by_whole_numbers() -> None:
    """Twenty kernels have no room for names: ticks are numbers of kernels."""
    x = pm.tensor("x", {"i": 64})
    for _ in range(20):
        x = pm.exp(x)
    drawn = pm.plot.memory(pm.program(x, name="twenty"))
    drawn.figure.canvas.draw()
    assert all(float(place).is_integer() for place in drawn.get_xticks())
    assert not any("." in text.get_text() for text in drawn.get_xticklabels())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.memory(3), "expected a program"),
        (lambda: pm.plot.memory(pm.matmul("n", 8, 8)), "holds symbols"),
        (lambda: pm.plot.memory(STAGED, "big"), "positive number of bytes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()


@pytest.mark.parametrize("program", [pm.grad(pm.attention(512, 512, 64)), pm.grad(pm.gated_mlp(512, 1024, 4096))])
def test_a_backward_pass_is_named(program: pm.Program) -> None:
    """At most a tenth of what is alive while any kernel runs stands together; no two tensors look alike."""
    drawn = pm.plot.memory(program)
    heights = {each.get_label(): [bar.get_height() for bar in each] for each in drawn.containers}
    totals = [sum(column) for column in zip(*heights.values(), strict=True)]
    others = heights.get("others", [0.0] * len(totals))
    assert all(part <= 0.1 * total for part, total in zip(others, totals, strict=True))
    assert max(totals) == program.memory_bytes
    looks = [(each.patches[0].get_facecolor(), each.patches[0].get_hatch()) for each in drawn.containers]
    assert len(set(looks)) == len(looks)
