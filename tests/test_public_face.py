"""The promised names and parameters; symbols wherever sizes are; sizes and tensors count alike."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import attrgetter
from types import FunctionType
from typing import Any

import pytest
import sympy

import perfmodel as pm

# Promised to users: positional parameters in this order, defaults where they are said. More may be added after them.
SIGNATURES: dict[str, dict[str, Any]] = {
    "matmul": {"m": ..., "n": ..., "k": ..., "batch": 1, "dtype": "bf16", "out_dtype": None},
    "gemv": {"n": ..., "k": ..., "batch": 1},
    "elementwise": {"expression": ..., "n": ...},
    "softmax": {"m": ..., "n": ...},
    "layernorm": {"m": ..., "n": ...},
    "rmsnorm": {"m": ..., "n": ...},
    "attention": {
        "q": ..., "kv": ..., "d": ..., "dv": None, "heads": 1, "kv_heads": None, "batch": 1, "causal": False,
        "window": None, "lse": False,
    },
    "conv2d": {
        "batch": 1, "height": ..., "width": ..., "c_in": ..., "c_out": ..., "kernel": 3, "stride": 1, "padding": 0,
        "dilation": 1, "groups": 1,
    },
    "gated_mlp": {"tokens": ..., "hidden": ..., "intermediate": ...},
    "embedding": {"tokens": ..., "vocabulary": ..., "hidden": ...},
    "optimizer_step": {"parameters": ...},
    "workload": {"flops": 0, "bytes_read": 0, "bytes_written": 0},
    "tensor": {"name": ..., "axes": ..., "dtype": "bf16"},
    "exp": {"x": ...},
    "max": {"x": ..., "labels": ...},
    "sum": {"x": ..., "labels": ...},
    "fuse": {"program": ..., "by": None, "only": None, "to": None},
    "recipes.flash_attention": {
        "q": ..., "kv": ..., "d": ..., "dv": None, "heads": 1, "kv_heads": None, "batch": 1, "causal": False,
        "window": None, "lse": False, "dtype": "bf16",
    },
    "recipes.flash_attention_backward": {
        "q": ..., "kv": ..., "d": ..., "dv": None, "heads": 1, "kv_heads": None, "batch": 1, "causal": False,
        "window": None, "combine": "atomic", "dtype": "bf16",
    },
    "recipes.flash_decoding": {
        "kv": ..., "d": ..., "dv": None, "heads": 1, "kv_heads": None, "batch": 1, "q": 1, "causal": False,
        "window": None, "lse": False, "dtype": "bf16",
    },
    "recipes.fused_mlp": {"tokens": ..., "hidden": ..., "intermediate": ...},
    "recipes.implicit_gemm": {
        "batch": 1, "height": ..., "width": ..., "c_in": ..., "c_out": ..., "kernel": 3, "stride": 1, "padding": 0,
        "dilation": 1, "groups": 1,
    },
    "recipes.checkpointed": {"program": ..., "every": 1, "layers": None, "carry": None},
    "online": {"program": ..., "label": ..., "only": None},
    "cast": {"program": ..., "dtype": None, "compute": None, "accumulate": None},
    "grad": {"program": ..., "wrt": None, "of": None},
    "pad": {"program": ..., "only": None},
    "unfuse": {"program": ..., "only": None},
    "im2col": {"program": ..., "only": None},
    "split": {"program": ..., "only": None, "combine": "kernel"},
    "fits": {"program": ..., "on": ...},
    "machines": {},
    "format": {"name": ...},
    "formats": {},
    "estimate": {"program": ..., "on": ..., "effects": "real", "tile": None},
    "io_lower_bound": {"program": ..., "capacity_elements": ...},
    "known_io_orders": {},
    "best_tiles": {"program": ..., "on": None, "by": "bytes"},
    "sweep": {"subject": ..., "points": ..., "on": None, "metrics": None},
    "sweep_to": {"folder": ..., "subject": ..., "points": ..., "on": None, "metrics": None},
    "suggest": {"program": ..., "on": ..., "within": 0.05, "where": None, "top": 10, "effects": "real"},
    "validate": {"frame": ..., "effects": "real"},
    "occupancy": {"machine_or_limits": ..., "threads": 256, "registers": 64, "shared_bytes": 0},
    "divergence": {"condition": ..., "threads": 128, "steps": (10, 10)},
    "transactions": {"index": ..., "element_bytes": 4, "line_bytes": 128},
    "bank_conflicts": {"index": ...},
    "latency_hiding": {"latency_cycles": ..., "work_cycles": 1},
    "littles_law": {"machine_or_rate": ..., "latency_s": ...},
    "waves": {"blocks": ..., "units": 108, "resident": 1, "schedule": "static"},
    "tile_grid": {"m": ..., "n": ..., "batch": 1, "tile": (256, 128)},
    "systolic": {"m": ..., "n": ..., "k": ..., "rows": 8, "cols": 8, "dataflow": "output"},
    "energy": {"program": ..., "table": "7nm"},
    "energy_tables": {},
    "efficiency_ladder": {"flops_per_s": ..., "watts": ...},
    "instruction_energy": {"operation": ..., "overhead_pj": 30, "flops": 2},
    "work_span": {"work": ..., "span": None},
    "work_span_limits": {"times": ...},
    "amdahl": {"parallel": ..., "processors": ...},
    "gustafson": {"parallel": ..., "processors": ...},
    "alignment": {"subject": ..., "dtype": None},
    "amat": {"times": ..., "miss_rates": ()},
    "solve": {"subject": ..., "on": None, "unknown": None},
    "dims": {"names": ...},
    "reals": {"names": ...},
}  # fmt: skip
KEYWORDS: dict[str, set[str]] = {
    "elementwise": {"scalars", "dtype"},
    "softmax": {"dtype"},
    "workload": {"dtype"},
    "sequence": {"join"},
    "compare": {"on"},
    "solve": {"bound", "fits", "where", "effects", "within", "beside"},
    "validate": {"without", "chips"},
    "Machine": {
        "peak", "bandwidth_bytes_per_s", "capacity_bytes", "units", "rate_per_clock", "clock_hz",
    },
    "Format": {"bits", "block", "scale_bits", "zero_bits"},
    "einsum": {"pattern"},
    "sweep": {"effects", "zipped", "executor", "progress"},
    "Energies": {"pj_per_op", "pj_per_byte"},
    "energy": {"levels"},
    "waves": {"busy", "steps"},
    "work_span": {"reduction", "unit"},
    "recompute": {"program", "keep", "segment"},
    "recipes.flash_attention": {"q_block", "kv_block"},
    "recipes.flash_attention_backward": {"block", "step"},
    "recipes.flash_decoding": {"parts", "kv_block"},
    "recipes.fused_mlp": {"token_block", "intermediate_block"},
    "reassociate": {"program", "tensors"},
}  # fmt: skip
ATTRIBUTES = {
    "Program": (
        "flops macs flops_by_unit issued_flops bytes bytes_read bytes_written elements_read elements_written intensity "
        "footprint_bytes memory_bytes memory saved ops tensors labels symbols inputs outputs history traffic footprint "
        "at repeat pipe explain to_dict"
    ),
    "Machine": "peak ridge bandwidth_bytes_per_s capacity_bytes units levels sources replace explain to_dict",
    "Estimate": (
        "time_s ideal_time_s bound bottleneck flops_per_s bytes_per_s fraction_of_peak fraction_of_bandwidth steps "
        "not_modelled explain against to_dict"
    ),
    "Solution": "least most values intervals expression method reason latex explain to_dict",
    "Validation": "answers rows mapped reasons errors table explain to_dict frame",
}


@pytest.mark.parametrize(("name", "promised"), SIGNATURES.items())
def test_parameters_keep_their_names_order_and_defaults(name: str, promised: dict[str, Any]) -> None:
    """Signatures may gain keywords, not lose them."""
    found = inspect.signature(attrgetter(name)(pm)).parameters
    positional = [key for key, each in found.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert positional[: len(promised)] == list(promised)
    for key, default in promised.items():
        assert default is ... or found[key].default == default


@pytest.mark.parametrize(("name", "promised"), KEYWORDS.items())
def test_keywords_are_there(name: str, promised: set[str]) -> None:
    """Keywords that the documents use."""
    assert promised <= set(inspect.signature(attrgetter(name)(pm)).parameters)


@pytest.mark.parametrize(("name", "promised"), ATTRIBUTES.items())
def test_attributes_are_there(name: str, promised: str) -> None:
    """Every count, fact and answer has its promised name."""
    kind = getattr(pm, name)
    assert [each for each in promised.split() if not hasattr(kind, each)] == []


DOCUMENTED = (
    "descriptors", "recipes", "bounds", "mechanisms", "effects", "estimation", "comparing", "sweeping", "suggesting",
    "tile_search", "solving", "validation", "plot",
)  # fmt: skip


def documented() -> Iterator[tuple[str, Any]]:
    """Every public function, class, method and property of the modules above, under its full name."""
    for part in DOCUMENTED:
        package = importlib.import_module(f"perfmodel.{part}")
        paths = getattr(package, "__path__", [])
        names = [package.__name__, *[f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(paths)]]
        for name in names:
            for key, value in vars(importlib.import_module(name)).items():
                if key[0] == "_" or getattr(value, "__module__", "") != name:
                    continue
                yield f"{name}.{key}", value
                for inner, member in vars(value).items() if isinstance(value, type) else ():
                    if inner[0] != "_" and isinstance(member, FunctionType | property | cached_property):
                        yield f"{name}.{key}.{inner}", meant(value, inner)


def meant(kind: type, name: str) -> Any:
    """A member of a class where its documentation stands: in the class, or in the one whose promise it keeps."""
    members = [vars(each)[name] for each in kind.__mro__ if name in vars(each)]
    return next((member for member in members if member.__doc__), members[0])


def test_every_public_member_has_an_example() -> None:
    """Functions, classes, methods and properties of every part that is documented to its members."""
    found = dict(documented())
    assert {"perfmodel.descriptors.contractions.matmul", "perfmodel.estimation.values.Estimate.time_s"} <= set(found)
    assert [name for name, value in found.items() if ">>>" not in (value.__doc__ or "")] == []


def test_errors_are_one_family() -> None:
    """Every exception is a PerfModelError, which is a ValueError."""
    names = "DimensionError FormatError LabelError ExpressionError TransformError CapacityError MachineError SolveError"
    assert all(issubclass(getattr(pm, name), pm.PerfModelError) for name in names.split())
    assert issubclass(pm.PerfModelError, ValueError)


def table(names: str, *sizes: Any) -> dict[str, Any]:
    """Axes from labels and sizes."""
    return dict(zip(names.split(), sizes, strict=True))


def attention_on_tensors(q: Any, kv: Any, d: Any, dv: Any) -> pm.Tensor:
    """O = attention(Q, K, V) for two heads."""
    query, key = pm.tensor("Q", table("h q d", 2, q, d)), pm.tensor("K", table("h kv d", 2, kv, d))
    return pm.attention(query, key, pm.tensor("V", table("h kv dv", 2, kv, dv)), causal=True)


# Each descriptor twice: from sizes, and from tensors of the same sizes.
BOTH: dict[str, tuple[Callable[..., pm.Program], Callable[..., pm.Tensor], tuple[int, ...]]] = {
    "matmul": (
        lambda m, n, k: pm.matmul(m, n, k),
        lambda m, n, k: pm.matmul(pm.tensor("A", table("m k", m, k)), pm.tensor("B", table("k n", k, n))),
        (3, 5, 7),
    ),
    "einsum": (
        lambda m, n, k: pm.matmul(m, n, k),
        lambda m, n, k: pm.einsum("ab,bc->ac", pm.tensor("A", table("m k", m, k)), pm.tensor("B", table("k n", k, n))),
        (3, 5, 7),
    ),
    "gemv": (
        lambda n, k, b: pm.gemv(n, k, batch=b),
        lambda n, k, b: pm.gemv(pm.tensor("x", table("b k", b, k)), pm.tensor("W", table("k n", k, n))),
        (3, 5, 7),
    ),
    "elementwise": (
        lambda n: pm.elementwise("relu(x*w + b)", n),
        lambda n: pm.elementwise("relu(x*w + b)", **{name: pm.tensor(name, {"i": n}) for name in "xwb"}),
        (9,),
    ),
    "operators": (
        lambda n: pm.elementwise("exp(x)**2 / 3 - x", n),
        lambda n: (lambda x: pm.exp(x) ** 2 / 3 - x)(pm.tensor("x", {"i": n})),
        (9,),
    ),
    "softmax": (
        lambda m, n: pm.softmax(m, n), lambda m, n: pm.softmax(pm.tensor("x", table("m n", m, n)), "n"), (3, 5),
    ),
    "softmax by hand": (
        lambda m, n: pm.softmax(m, n),
        lambda m, n: (lambda e: e / pm.sum(e, "n"))(
            (lambda x: pm.exp(x - pm.max(x, "n")))(pm.tensor("x", table("m n", m, n)))
        ),
        (3, 5),
    ),
    "layernorm": (
        lambda m, n: pm.layernorm(m, n),
        lambda m, n: pm.layernorm(
            pm.tensor("x", table("m n", m, n)), "n", weight=pm.tensor("w", {"n": n}), bias=pm.tensor("b", {"n": n})
        ),
        (3, 5),
    ),
    "rmsnorm": (
        lambda m, n: pm.rmsnorm(m, n),
        lambda m, n: pm.rmsnorm(pm.tensor("x", table("m n", m, n)), "n", weight=pm.tensor("w", {"n": n})),
        (3, 5),
    ),
    "attention": (
        lambda q, kv, d, dv: pm.attention(q=q, kv=kv, d=d, dv=dv, heads=2, causal=True),
        attention_on_tensors,
        (3, 5, 4, 2),
    ),
    "conv2d": (
        lambda b, h, w, c, f: pm.conv2d(b, h, w, c, f, padding=1),
        lambda b, h, w, c, f: pm.conv2d(
            pm.tensor("x", table("b g c h w", b, 1, c, h, w)), pm.tensor("k", table("g f c r s", 1, f, c, 3, 3)),
            padding=1,
        ),
        (2, 7, 6, 3, 5),
    ),
    "pool2d": (
        lambda b, h, w, c: pm.pool2d(b, h, w, c),
        lambda b, h, w, c: pm.pool2d(pm.tensor("x", table("b c h w", b, c, h, w))),
        (2, 8, 6, 3),
    ),
    "gated_mlp": (
        lambda t, h, i: pm.gated_mlp(t, h, i),
        lambda t, h, i: pm.gated_mlp(
            pm.tensor("x", table("t h", t, h)), pm.tensor("g", table("h i", h, i)), pm.tensor("u", table("h i", h, i)),
            pm.tensor("d", table("i h", i, h)),
        ),
        (3, 5, 7),
    ),
    "embedding": (
        lambda t, v, h: pm.embedding(t, v, h),
        lambda t, v, h: pm.embedding(pm.tensor("ids", {"t": t}, dtype="int32"), pm.tensor("W", table("v h", v, h))),
        (3, 50, 7),
    ),
}  # fmt: skip
COUNTS = "flops macs flops_by_unit issued_flops bytes_read bytes_written elements_read elements_written"


def counts(p: pm.Program) -> dict[str, Any]:
    """The counts that do not depend on names."""
    return {name: getattr(p, name) for name in COUNTS.split()}


@pytest.mark.parametrize("name", BOTH)
def test_sizes_and_tensors_count_alike(name: str) -> None:
    """From sizes a Program, from tensors a Tensor; in ints and in symbols the counts are equal."""
    from_sizes, from_tensors, numbers = BOTH[name]
    for sizes in (numbers, [pm.dims(f"s{place}") for place in range(len(numbers))]):
        made = from_tensors(*sizes)
        assert isinstance(made, pm.Tensor)
        assert counts(pm.program(made)) == counts(from_sizes(*sizes))
        assert len(pm.program(made).kernels) == len(from_sizes(*sizes).kernels)


@pytest.mark.parametrize("name", BOTH)
def test_symbols_stand_wherever_sizes_do(name: str) -> None:
    """Every size may be a symbol or text: the counts are formulas in them, and bound they are the ints' counts."""
    from_sizes, _, numbers = BOTH[name]
    symbols = [pm.dims(f"s{place}") for place in range(len(numbers))]
    p, exact = from_sizes(*symbols), from_sizes(*numbers)
    assert from_sizes(*[str(symbol) for symbol in symbols]) == p
    assert set(p.symbols) == set(symbols)
    assert isinstance(p.bytes, sympy.Expr)
    values = dict(zip(symbols, numbers, strict=True))
    assert counts(p.at(values)) == counts(exact)
    assert counts(p.at({symbol.name: value for symbol, value in values.items()})) == counts(exact)
    assert p.bytes.xreplace(values) == exact.bytes
    assert type(exact.bytes) is int


@pytest.mark.parametrize("name", BOTH)
def test_every_program_is_a_value_with_words(name: str) -> None:
    """repr, explain, plain data, markup, equality and pickling."""
    from_sizes, _, numbers = BOTH[name]
    p = from_sizes(*numbers)
    assert p == from_sizes(*numbers)
    assert pickle.loads(pickle.dumps(p)) == p
    assert repr(p).startswith(p.name)
    assert p.explain().startswith(p.name)
    assert p.to_dict()["flops"] == p.flops
    assert "<" in p._repr_html_()
    assert p._repr_latex_().startswith("$")
