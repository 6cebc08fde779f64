"""Describing: what a program shows of itself, in words, tables and data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st
from staging import cuts, evaluated, tiled
from strategies import Recipe, composed, programs, recipes

import perfmodel as pm
from perfmodel.graph.describing import as_dict, as_html, as_latex, by_label, explained, shown, sizes, title, worked

b, m = pm.dims("b m")


def test_the_repr_names_sizes_formats_and_counts() -> None:
    """Labels with what measures them, extents of 1 left out; counts as comments."""
    assert repr(pm.matmul(64, 32, 16)) == (
        "matmul(m=64 n=32 k=16, bf16)\n# 1 kernel: 65.54 kFLOP, 7.168 kB, 9.143 FLOP/B"
    )
    assert sizes(pm.matmul(b, 4096, 4096)) == "m=b n=4096 k=4096"
    assert title(pm.gemv(4, 8, dtype={"W": "int8"})) == "gemv(n=4 k=8, bf16 int8)"


def test_the_repr_of_formulas_shows_formulas() -> None:
    """2 m n k FLOPs, and no intensity, which would be long."""
    assert shown(pm.matmul(m, 2, 3)).splitlines()[1] == "# 1 kernel: 12 m FLOP, 10 m + 12 B"


def test_the_repr_shows_how_a_program_was_made() -> None:
    """The steps after the first, as a third line."""
    assert shown(pm.fuse(pm.softmax(4, 8))).splitlines()[2] == "# softmax -> fuse()"
    assert len(shown(pm.softmax(4, 8)).splitlines()) == 2


def test_explain_writes_formulas_first_then_numbers() -> None:
    """Kernel by kernel, tensor by tensor, in the labels of the program."""
    assert str(pm.matmul(64, 32, 16).explain()) == "\n".join(
        [
            "matmul(m=64 n=32 k=16, bf16)",
            "  matmul: 2 m n k = 65.54 kFLOP; 2 (m n + m k + n k) = 7.168 kB",
            "    read   A  2 m k = 2.048 kB",
            "    read   B  2 n k = 1.024 kB",
            "    write  C  2 m n = 4.096 kB",
        ]
    )


def test_explain_shows_totals_repetitions_and_special_operations() -> None:
    """Two kernels, three times: 2 * 3 i FLOPs and special operations of their own name."""
    text = str(pm.elementwise("exp(x) + 1", 8).repeat(3).explain()).splitlines()
    assert text[1] == "  exp (x 3): i = 8 special operations; 4 i = 32 B"
    assert text[4] == "  add (x 3): i = 8 FLOP; 4 i = 32 B"
    assert text[7] == "  total: 3 i = 24 FLOP; 24 i = 192 B"


def test_explain_puts_the_prefix_before_words() -> None:
    """32.77 k special operations, not kspecial."""
    assert "m n = 32.77 k special operations" in pm.fuse(pm.softmax(128, 256)).explain()


def test_explain_shows_formulas_where_there_are_no_numbers() -> None:
    """In the labels, and in the symbols where they differ from these."""
    text = pm.matmul(b, 64, 32).explain()
    assert "matmul: 2 b n k = 4096 b FLOP; 2 (b n + b k + n k) = 192 b + 4096 B" in text


def test_explain_says_what_each_step_changed() -> None:
    """Fusing a softmax of 4 x 8: from 5 kernels' traffic to x and y."""
    last = str(pm.fuse(pm.softmax(4, 8)).explain()).splitlines()[-1]
    before = 2 * (8 * 4 * 8 + 4 * 4)
    assert last == f"  fuse(): work unchanged; bytes {before} B -> {2 * 2 * 4 * 8} B; footprint 136 B -> 256 B"


def test_explain_carries_the_remarks_of_the_traffic() -> None:
    """A hull is called a hull."""
    x = pm.window(pm.tensor("x", {"i": m}), "i", "p", "r", 2, stride="s")
    assert "hull" in pm.program(pm.sum(x, "r")).explain()


def test_worked_leaves_out_what_says_nothing() -> None:
    """A number that no label makes stands alone, and a formula that is the count stands once."""
    assert worked(12, 12, [], "B") == "12 B"
    assert worked(2 * m, 2 * m, ["m"], "B") == "2 m B"
    assert worked(24, 2 * m, ["m"], "B") == "2 m = 24 B"


def test_by_label_gives_each_free_extent_a_symbol_of_its_name() -> None:
    """Extents of 1, tied extents and symbols stay."""
    p = by_label(pm.matmul(64, 32, m))
    assert p.flops == 2 * pm.dims("n") * 64 * m
    assert by_label(pm.conv2d(8, 16, 16, 4, 4)).labels["p"] == 14


def test_by_label_keeps_what_is_equal_equal() -> None:
    """Two labels of one axis, and rows and keys of one number under a mask, share a symbol."""
    x = pm.tensor("x", {"i": 4, "k": 8})
    i, k = pm.dims("i k")
    assert by_label(pm.program(pm.einsum("ik,jk->ij", x, x))).flops == 2 * i * i * k
    q, d, dv = pm.dims("q d dv")
    assert by_label(pm.attention(16, 16, 8, causal=True)).macs == d * q * (q + 1) / 2 + dv * q * (q + 1) / 2


def test_by_label_leaves_labels_that_cannot_be_symbols() -> None:
    """A label that is a word of Python, or the symbol of another label."""
    x = pm.tensor("x", {"lambda": 4, "m": m, "b": 3})
    assert by_label(pm.program(pm.exp(x))).labels == {"lambda": 4, "m": m, "b": b}
    y = pm.tensor("y", {"m": b, "b": 3})
    assert by_label(pm.program(pm.exp(y))).labels == {"m": b, "b": 3}


def test_plain_data_has_counts_as_numbers_and_formulas_as_text() -> None:
    """What JSON holds."""
    found = as_dict(pm.fuse(pm.softmax(4, m)))
    assert found["labels"] == {"m": 4, "n": "m"}
    assert found["flops_by_unit"] == {"matrix": 0, "vector": "16*m", "special": "4*m"}
    assert found["history"] == ["softmax", "fuse()"]
    assert found["traffic"]["bytes"] == ["8*m", "8*m"]
    assert as_dict(pm.softmax(4, 8))["flops"] == 4 * 4 * 8


def test_notebooks_get_a_table_and_formulas() -> None:
    """HTML with the traffic, LaTeX with the counts, and text that is escaped."""
    p = pm.softmax(m, 4)
    assert as_html(p).count("<tr>") == 1 + len(p.traffic().rows)
    assert as_latex(p) == "$F = 16 m,\\quad B = 72 m$"
    assert "<script>" not in as_html(pm.program(pm.exp(pm.tensor("x", {"i": 4})), name="<script>"))


@settings(max_examples=15)
@given(recipes(steps=4))
def test_every_program_can_be_shown_and_kept(recipe: Recipe) -> None:
    """In all forms, from numbers or symbols."""
    for p in (recipe.program(), pm.fuse(recipe.symbolic())):
        assert repr(p).startswith("random(")
        assert explained(p).splitlines()[0] == title(p)
        assert json.loads(json.dumps(p.to_dict()))["name"] == "random"
        assert p._repr_html_().startswith("<pre>")
        assert p._repr_latex_().startswith("$F = ")


@settings(max_examples=30)
@given(programs())
def test_the_formulas_that_are_shown_are_those_of_the_program(p: pm.Program) -> None:
    """Bound to the extents again, the program by label is the program."""
    general = by_label(p)
    assert general.at({symbol: p.labels[symbol.name] for symbol in general.symbols}) == p


@settings(max_examples=15)
@given(composed())
def test_each_transfer_has_its_line(p: pm.Program) -> None:
    """As many reads and writes are explained as are counted."""
    lines = [line for line in p.explain().splitlines() if line.startswith(("    read ", "    write"))]
    assert len(lines) == sum(len(count.transfers) for count in p.counted)


def test_a_program_without_traffic_is_shown_too() -> None:
    """No bytes, so no intensity."""
    assert repr(pm.workload(flops=8)).splitlines()[1] == "# 1 kernel: 8 FLOP, 0 B"
    assert str(pm.workload(flops=8).explain()) == "workload()\n  workload: 8 FLOP; 0 B"


@pytest.mark.parametrize("name", ["m", "n"])
def test_the_repr_shows_what_at_was_told(name: str) -> None:
    """As it was said, among the steps."""
    assert f"at({name}=7)" in repr(pm.matmul("m", "n", 3).at({name: 7}))


def test_an_intensity_in_symbols_is_left_out_of_the_repr() -> None:
    """FLOPs that depend on a window over bytes that do not: no number is shown, and nothing breaks."""
    assert "FLOP/B" not in repr(pm.attention(8, 8, 8, window="w"))
    assert "FLOP/B" not in repr(pm.workload(flops="n", bytes_read=8))


# ---------------------------------------------------------------------------- tiles


def test_explain_shows_what_each_level_serves_and_holds() -> None:
    """A matmul in l2 tiles of 16 x 16 x 32 and tiles of 8 x 8 x 4 in them: traffic and footprint by level."""
    outer = pm.tile(pm.matmul(64, 64, 64), m=16, n=16, stream={"k": 32}, level="l2")
    text = str(pm.tile(outer, m=8, n=8, stream={"k": 4}).explain()).splitlines()
    assert text == [
        "matmul(m=64 n=64 k=64, bf16)",
        # C is written once; A is read by 64/16 blocks across, and B by as many down
        "  matmul: 2 m n k = 524.3 kFLOP; 2 (m n + m ceil(n / 16) k + ceil(m / 16) n k) = 73.73 kB",
        "    read   A  2 m ceil(n / 16) k = 32.77 kB",
        "    read   B  2 ceil(m / 16) n k = 32.77 kB",
        "    write  C  2 m n = 8.192 kB",
        # 16 x 32 of A and of B, and 16 x 16 of C, 2 B each
        "    a tile of l2 holds 2.56 kB: staged A 1.024 kB, B 1.024 kB; accumulator C 512 B",
        # C is read and written for each of 64/32 tiles along k, as the tiles inside go on with the sums
        "    l2 serves the tiles inside: 2 m ceil(n / 8) k + 2 ceil(m / 8) n k + 4 m n ceil(k / 32) = 163.8 kB",
        "      read   A  2 m ceil(n / 8) k = 65.54 kB",
        "      read   B  2 ceil(m / 8) n k = 65.54 kB",
        "      read   C  2 m n ceil(k / 32) = 16.38 kB",
        "      write  C  2 m n ceil(k / 32) = 16.38 kB",
        "    a tile of shared holds 256 B: staged A 64 B, B 64 B; accumulator C 128 B",
        "  tile(m=16, n=16, stream={'k': 32}, level='l2'): work unchanged; bytes 24.58 kB -> 73.73 kB; "
        "footprint 24.58 kB -> 2.56 kB",
        "  tile(m=8, n=8, stream={'k': 4}): work unchanged; bytes unchanged; footprint 2.56 kB -> 256 B",
    ]


def test_explain_of_one_level_names_no_other() -> None:
    """Nothing is asked of the only level by tiles inside; what a tile holds is shown, in symbols too."""
    text = pm.tile(pm.matmul(m, 64, b), m=8, n=16, stream={"k": 4}).explain()
    assert "    a tile of shared holds 448 B: staged A 64 B, B 128 B; accumulator C 256 B" in text.splitlines()
    assert "serves" not in text


def test_explain_lists_every_transform_with_what_it_changed() -> None:
    """fuse, cast and tile in their order, each from the counts before it to those after it."""
    p = pm.tile(pm.cast(pm.fuse(pm.softmax(8, 64)), "fp32"), grid={"m": 4}, stream={"n": 16}, buffers=2)
    steps = str(p.explain()).splitlines()[-3:]
    x = 8 * 64
    assert steps[0].startswith(f"  fuse(): work unchanged; bytes {2 * (8 * x + 4 * 8) / 1e3:.4g} kB -> ")
    assert steps[1].startswith("  cast('fp32'): work unchanged; bytes 2.048 kB -> 4.096 kB")
    # x is read in each of 3 passes over n: 3 reads + 1 write of 4 B; sub and exp run again in the last pass
    assert steps[2].startswith("  tile(grid={'m': 4}, stream={'n': 16}, buffers=2): work 2.048 kFLOP -> 2.56 kFLOP; ")
    assert f"bytes 4.096 kB -> {4 * 4 * x / 1e3:.4g} kB" in steps[2]


def test_a_label_that_a_tile_leaves_whole_stays_a_number() -> None:
    """k = 16 in one tile of 32 is no loop, so A is not read again for each trip of n, and no formula says so."""
    p = pm.tile(pm.matmul(64, 64, 16), grid={"m": 16}, stream={"n": 16, "k": 32})
    assert "read   A  32 m = 2.048 kB" in p.explain()
    nested = pm.tile(pm.tile(pm.matmul(64, 64, 64), m=16, stream={"k": 16}, level="l2"), n=8, stream={"k": 16})
    assert by_label(nested).labels["k"] == 64


def test_tiles_without_a_formula_are_explained_in_numbers() -> None:
    """Chunks and shared scales are only counted at sizes, and a long sum over tiles of rows is left out."""
    cut = {"grid": {"q": 4}, "stream": {"kv": 2}}
    chunks = pm.tile(pm.fuse(pm.attention(16, 16, 8, causal=True, chunk=8)), **cut)
    assert by_label(chunks) == chunks
    assert "    read   Q  256 B" in chunks.explain().splitlines()
    causal = pm.tile(pm.fuse(pm.attention(16, 16, 8, causal=True)), grid={"q": 4}, stream={"kv": 3})
    # 2 + 3 + 4 visited tiles of 3 keys and, of the last rows, all 16 keys, in each of 3 passes
    assert f"    read   K  {3 * ((2 + 3 + 4) * 3 + 16) * 8 * 2 / 1e3:.4g} kB" in causal.explain().splitlines()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_formulas_of_tiles_are_those_of_the_program(data: st.DataObject) -> None:
    """At the program's sizes the formulas that are shown are its counts, whatever the tiles."""
    p = data.draw(programs())
    cut = tiled(p, data.draw(cuts(p)))
    general = by_label(cut)
    values = {symbol: cut.labels[symbol.name] for symbol in general.symbols}
    assert str(cut.explain()).splitlines()[0] == title(cut)
    if not any(item.note for count in general.counted for item in count.transfers):
        assert evaluated(general.bytes, values) == cut.bytes
        assert evaluated(general.flops, values) == cut.flops
