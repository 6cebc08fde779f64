"""Everything that a public function returns shows itself in the same ways, and is a value."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy
import pandas
import pytest

import perfmodel as pm
from perfmodel.showing import Table
from perfmodel.shown import Explained, Shown
from perfmodel.validation.results import Answer

H = "h100-sxm"
n = pm.dims("n")
b = pm.reals("b")
P = pm.matmul(512, 512, 512)
S = pm.matmul("n", "n", "n")
ROWS = {"gpu": ["h100_sxm", "TRS-80"], "op": "gemm", "dtype": "bf16", "time_us": 400.0, "m": 4096, "n": 4096, "k": 4096}
MAKERS: dict[str, Callable[[], Any]] = {
    "program": lambda: pm.fuse(pm.gated_mlp(64, 64, 64)),
    "program in symbols": lambda: S,
    "tensor": lambda: pm.exp(pm.tensor("x", {"i": n})),
    "op": lambda: P.ops[0],
    "kernel": lambda: P.kernels[0],
    "mask": lambda: pm.causal(),
    "format": lambda: pm.format("mxfp4"),
    "machine": lambda: pm.machine(H),
    "machine in symbols": lambda: pm.Machine(peak=pm.reals("p"), bandwidth_bytes_per_s=b),
    "machines": lambda: pm.machines(kind="npu"),
    "peak": lambda: pm.machine(H).peaks[0],
    "level": lambda: pm.machine(H).levels[0],
    "table": lambda: P.traffic(),
    "table of formulas": lambda: S.traffic(),
    "table of names like tags": lambda: Table("<b>", ("a&b",), (("</td>",), ("x < y",))),
    "estimate": lambda: pm.estimate(P, H),
    "estimate in symbols": lambda: pm.estimate(S, H, effects="ideal"),
    "kernel's estimate": lambda: pm.estimate(P, H).kernels[0],
    "tile": lambda: pm.Tile(64, 128),
    "protocol": lambda: pm.Protocol("mine"),
    "measured": lambda: pm.estimate(P, H).against(171e-6),
    "estimates": lambda: pm.estimate_many(S, H, {"n": [64, 128]}),
    "fit": lambda: pm.fits(P, H),
    "fit in symbols": lambda: pm.fits(S, H),
    "comparison": lambda: pm.compare(P, pm.cast(P, "fp8"), on=H),
    "check": lambda: pm.check(P),
    "check with rounding": lambda: pm.check(pm.cast(pm.matmul("m", "n", "k"), "fp16"), rounding=True),
    "simulation": lambda: pm.simulate(pm.matmul(2, 2, 2), {"A": numpy.eye(2)[None], "B": numpy.ones((1, 2, 2))}),
    "best tiles": lambda: pm.best_tiles(P, capacity_bytes=2**16),
    "suggestions": lambda: pm.suggest(pm.matmul("n", 512, 512), H, n=512, top=2),
    "suggestion": lambda: pm.suggest(pm.matmul("n", 512, 512), H, n=512, top=2).best,
    "bound": lambda: pm.io_lower_bound(P),
    "bound in symbols": lambda: pm.io_lower_bound(S),
    "gap": lambda: pm.io_lower_bound(P).against(pm.tile(P, m=64, n=64)),
    "order": lambda: next(iter(pm.known_io_orders().values())),
    "solution": lambda: pm.solve(S, H, n, bound="compute"),
    "solution of several": lambda: pm.solve("n % 8 == 0 and n < 99", n),
    "solution of a real": lambda: pm.solve(b**2 >= 5, b),
    "solution as a formula": lambda: pm.solve("n > 3*m", n),
    "no solution": lambda: pm.solve("n*n == 10", n),
    "alignment": lambda: pm.alignment(pm.matmul(8, 50257, 768)),
    "occupancy": lambda: pm.occupancy(H, threads=256, registers=64),
    "divergence": lambda: pm.divergence("t < 5", threads=128, steps=(10, 10)),
    "transactions": lambda: pm.transactions("32*t", element_bytes=4),
    "bank conflicts": lambda: pm.bank_conflicts("33*t"),
    "waves": lambda: pm.waves(120, units=108),
    "waves in symbols": lambda: pm.waves(n, units=108),
    "tile grid": lambda: pm.tile_grid(1793, 1793),
    "systolic": lambda: pm.systolic(4, 4, 6, rows=4, cols=4),
    "energy": lambda: pm.energy(P),
    "energies": lambda: next(iter(pm.energy_tables().values())),
    "instruction energy": lambda: pm.instruction_energy("HFMA"),
    "ladder": lambda: pm.efficiency_ladder(400e12, 700),
    "work and span": lambda: pm.work_span(pm.gated_mlp(64, 64, 64)),
    "limits": lambda: pm.work_span_limits({1: 10.0, 4: 3.0}),
    "speedup": lambda: pm.amdahl(0.1, 8),
    "access time": lambda: pm.amat((1, 10, 100), (0.1, 0.2)),
    "latency hiding": lambda: pm.latency_hiding(400),
    "in flight": lambda: pm.littles_law(H, 600e-9),
    "validation": lambda: pm.validate(pandas.DataFrame(ROWS)),
}
UNHASHABLE = {"simulation"}  # as the arrays that they hold
TABLES = {"machines"}  # as long as there are chips
FORMULAS = {"program in symbols", "estimate in symbols", "fit in symbols", "bound in symbols", "order", "solution",
            "solution of several", "solution of a real", "solution as a formula", "waves in symbols"}  # fmt: skip


class Tags(HTMLParser):
    """Holds tags that are open, and those that close what is not."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_is_a_value(name: str) -> None:
    """Copied, pickled or made again it is equal to itself, and to nothing else."""
    make = MAKERS[name]
    found = make()
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), make()):
        assert other == found
    assert found != "something else"
    if name not in UNHASHABLE:
        assert hash(make()) == hash(found)


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_shows_itself(name: str) -> None:
    """A short repr, a working that shows as its text, HTML whose tags close, LaTeX between dollars, plain data."""
    found = MAKERS[name]()
    assert 0 < len(repr(found)) <= (20_000 if name in TABLES else 2_000)
    said = found.explain()
    assert isinstance(said, str)
    assert said
    assert repr(said) == str(said)
    tags = Tags()
    tags.feed(found._repr_html_())
    tags.close()
    assert (tags.open, tags.wrong) == ([], [])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) is not None
    latex = getattr(found, "_repr_latex_", lambda: None)()
    assert latex is None or (latex[0] == latex[-1] == "$" and len(latex) > 2)
    assert latex is not None or name not in FORMULAS


def test_html_escapes_what_it_holds() -> None:
    """A name like a tag is shown, not obeyed."""
    shown = MAKERS["table of names like tags"]()._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "&lt;/td&gt;" in shown
    assert "t &lt; 5" in MAKERS["divergence"]()._repr_html_()
    assert "&lt;i&gt;" in pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e12, name="<i>")._repr_html_()


def test_every_class_that_a_public_function_returns_is_in_the_table() -> None:
    """By what the functions say that they return."""
    known = {type(make()) for make in MAKERS.values()}
    missing = set()
    for name in pm.__all__:
        function = getattr(pm, name)
        if inspect.isfunction(function) and function.__module__ != "perfmodel.loading":
            kind = vars(inspect.getmodule(function)).get(inspect.signature(function).return_annotation)
            if inspect.isclass(kind) and kind.__module__.startswith("perfmodel.") and kind not in known:
                missing.add(kind.__name__)
    assert missing - {"Compiled"} == set()  # which is a function


def test_what_a_class_leaves_out_follows_from_its_fields() -> None:
    """Formulas as text, what is inside with its own fields, names for what has one."""
    op = P.ops[0]
    assert "output    C[batch, m, n]" in op.explain() or "output" in op.explain()
    assert op.to_dict()["output"]["tensor"]["format"]["name"] == "bf16"
    assert pm.tensor("x", {"i": 2 * n}).to_dict()["axes"] == [{"label": "i", "extent": "2*n"}]
    assert issubclass(Explained, Shown)
    assert pm.validate(pandas.DataFrame(ROWS)).answers[1].to_dict()["reason"] == "chip unknown: TRS-80"
    assert issubclass(Answer, Shown)


def test_frames_and_series_are_values_by_name() -> None:
    """Columns of a table of points, a row of one."""
    frame = pandas.DataFrame({"n": [64, 128]})
    many = pm.estimate_many(S, H, frame)
    assert many == pm.estimate_many(S, H, {"n": [64, 128]})
    assert many != pm.estimate_many(S, H, {"n": [64, 129]})
    assert pm.evaluate(n**2, frame).tolist() == [64**2, 128**2]
    assert pm.compile_formula(n**2)(frame.iloc[1]) == 128**2
    assert S.at(frame.iloc[0]).flops == 2 * 64**3
    assert pm.sweep(S, {"n": frame["n"]}).equals(pm.sweep(S, frame))
    with pytest.raises(pm.LabelError, match="no symbol 'q'"):
        pm.evaluate(n**2, pandas.DataFrame({"n": [1], "q": [2]}))
    with pytest.raises(pm.LabelError, match="values come by name"):
        pm.evaluate(n**2, [3])


def test_an_estimate_at_many_sizes_explains_itself() -> None:
    """Ranges of what two estimates say by themselves."""
    said = pm.estimate_many(S, H, {"n": [64, 8192]}).explain()
    times = [pm.estimate(S.at(n=size), H).time_s for size in (64, 8192)]
    assert f"{times[0] * 1e6:.3f} us to {times[1] * 1e3:.4g} ms" in said
    assert "compute at 1, memory at 0, launch at 1" in said
