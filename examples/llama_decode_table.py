"""How fast does Llama 3.1 70B decode on one chip, and what holds it back?  `make demo` runs this file.

One layer is written in ordinary Python on tensors, with `batch` left a symbol. It is staged as an inference engine
would launch it (a kernel a stage, attention fused), repeated 80 times, bound to each batch size, and held against
three data sheets. The sizes are those of table 3 in "The Llama 3 Herd of Models" (2024, arXiv 2407.21783). Embedding
and output head are left out: they would add 4.2 GB of weights, of which a step reads half.
"""

from __future__ import annotations

import itertools
import math

import perfmodel as pm

LAYERS, HIDDEN, INTERMEDIATE = 80, 8192, 28672
KV_HEADS, GROUP, D = 8, 64 // 8, 128  # 64 query heads: 8 for each head of K and V
CONTEXT = 8192
BATCHES = [2**power for power in range(10)]
CHIPS = ["a100-sxm-80gb", "h100-sxm", "h200-sxm"]


def weight(name: str, **axes: int) -> pm.Tensor:
    """A bf16 tensor that every sequence of the batch shares."""
    return pm.tensor(name, axes)


def attention(x: pm.Tensor, batch: object) -> tuple[pm.Tensor, pm.Tensor, pm.Tensor]:
    """Grouped-query attention of one new token a sequence over its cache; also the new token's K and V."""
    heads = {"kv_head": KV_HEADS, "group": GROUP, "d": D}
    w_q = weight("W_q", hidden=HIDDEN, **heads)
    w_k, w_v = [weight(name, hidden=HIDDEN, kv_head=KV_HEADS, d=D) for name in ("W_k", "W_v")]
    query = pm.einsum("batch q hidden, hidden kv_head group d -> batch kv_head group q d", x, w_q, stage="qkv")
    key, value = [
        pm.einsum("batch q hidden, hidden kv_head d -> batch kv_head q d", x, w, stage="qkv") for w in (w_k, w_v)
    ]
    cos, sin = [pm.tensor(name, {"batch": batch, "q": 1, "d": D}) for name in ("cos", "sin")]  # at each one's position
    query, key = pm.rope(query, cos, sin), pm.rope(key, cos, sin)
    cached_k, cached_v = [
        pm.tensor(name, {"batch": batch, "kv_head": KV_HEADS, "kv": CONTEXT, "d": D}) for name in ("K", "V")
    ]
    w_o = weight("W_o", kv_head=KV_HEADS, group=GROUP, dv=D, hidden=HIDDEN)
    mixed = pm.attention(query, cached_k, cached_v)
    out = pm.einsum("batch kv_head group q dv, kv_head group dv hidden -> batch q hidden", mixed, w_o, stage="out")
    return out, key, value


def layer(batch: object) -> pm.Program:
    """One decoder layer: x -> y for one token a sequence, and that token's K and V written to the cache."""
    x = pm.tensor("x", {"batch": batch, "q": 1, "hidden": HIDDEN})
    normed = pm.rmsnorm(x, "hidden", weight=weight("norm_1", hidden=HIDDEN), stage="norm_1")
    attended, key, value = attention(normed, batch)
    x = x + attended
    normed = pm.rmsnorm(x, "hidden", weight=weight("norm_2", hidden=HIDDEN), stage="norm_2")
    w_gate, w_up = [weight(name, hidden=HIDDEN, intermediate=INTERMEDIATE) for name in ("W_gate", "W_up")]
    w_down = weight("W_down", intermediate=INTERMEDIATE, hidden=HIDDEN)
    y = x + pm.gated_mlp(normed, w_gate, w_up, w_down)
    written = pm.program(y.named("y"), key.named("K_new"), value.named("V_new"), name="llama_layer")
    return pm.fuse(written, by="stage").pipe(pm.fuse, only="attention")


def facts(one: pm.Program) -> str:
    """Parameters of a layer and bytes of its cache, from the program's own tensors."""
    weights = {item.name: math.prod(item.extents) for item in one.inputs if "batch" not in item.labels}
    matrices = sum(count for name, count in weights.items() if name.startswith("W_"))
    written = [item for item in one.at(batch=1).outputs if item.name != "y"]
    cache = sum(item.format.bytes_of(item.extents) for item in written)
    return (
        f"A layer has {matrices:,} parameters in its matrices and {sum(weights.values()) - matrices:,} in its norms, "
        f"and\nwrites {cache:,} bytes of K and V a token. Weights, cache and activations of {LAYERS} layers take\n"
        f"{stacked(one).memory_bytes} bytes."
    )


def stacked(one: pm.Program) -> pm.Program:
    """All layers: the y of each is the x of the next, positions are shared; weights and cache are each one's own."""
    return one.repeat(LAYERS, carry={"y": "x"}, shared=("cos", "sin"))


def table(model: pm.Program, chip: pm.Machine) -> str:
    """A line a batch size: what one decode step takes on one chip."""
    peak, bandwidth, capacity = chip.peak("bf16"), chip.bandwidth_bytes_per_s, chip.capacity_bytes or 0
    lines = [
        f"{chip.name}: {peak / 1e12:.1f} TFLOP/s in bf16, {bandwidth / 1e12:.3f} TB/s, {capacity / 1e9:.1f} GB",
        "batch       step  tokens/s  bound   of bandwidth  of peak   memory  fits",
    ]
    for batch in BATCHES:
        step = model.at(batch=batch)
        e = pm.estimate(step, chip)
        time, shares = f"{e.time_s * 1e3:7.1f} ms", f"{e.fraction_of_bandwidth:12.0%}{e.fraction_of_peak:9.1%}"
        fits = f"{step.memory_bytes / 1e9:6.0f} GB  {'yes' if pm.fits(step, chip) else 'no'}"
        lines.append(f"{batch:5} {time} {batch / e.time_s:9.1f}  {e.bound:<8}{shares}{fits}")
    return "\n".join(lines)


def largest_batch(model: pm.Program, chip: pm.Machine) -> int:
    """The largest batch whose weights and cache fit one chip; 0 where none does."""
    fitting = itertools.takewhile(lambda batch: pm.fits(model.at(batch=batch), chip), itertools.count(1))
    return max(fitting, default=0)


def memory_notes(model: pm.Program) -> str:
    """Up to which batch the layers' weights and cache fit, chip by chip."""
    said = []
    for name in CHIPS:
        most = largest_batch(model, pm.machine(name))
        said.append(f"{name} holds the layers up to batch {most}" if most else f"{name} does not hold batch 1")
    return f"Memory: {'; '.join(said)}.\nWhere it does not fit, the step is that of the chip with more memory."


def closing(model: pm.Program) -> str:
    """What the table shows, in one sentence."""
    one, two = [model.at(batch=batch).memory_bytes for batch in (1, 2)]
    equal = math.ceil((2 * one - two) / (two - one))  # the weights over what each sequence adds
    rates = [batch / pm.estimate(model.at(batch=batch), "h100-sxm").time_s for batch in (1, 512)]
    return (
        "What it shows: the batch shares one read of the weights, but each sequence reads its own cache, which is\n"
        f"the larger part from batch {equal} on and does {GROUP} FLOP a byte at any batch; so decode stays bound by "
        f"memory, and\n512 times the batch gives an H100 {rates[1] / rates[0]:.0f} times the tokens a second."
    )


def main() -> None:
    one = layer(pm.dims("batch"))
    model = stacked(one)
    print(f"Llama 3.1 70B in bf16: one decode step at context {CONTEXT:,}; each sequence of the batch adds a token.\n")
    print(f"{facts(one)}\n\nThe working, for one of the layers at batch 64 on an H100:\n")
    print(pm.estimate(one.at(batch=64), "h100-sxm").explain())
    tables = "\n\n".join([table(model, pm.machine(name)) for name in CHIPS])
    print(f"\n{tables}\n\n{memory_notes(model)}\n\n{closing(model)}")


if __name__ == "__main__":
    main()
