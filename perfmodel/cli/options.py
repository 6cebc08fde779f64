"""The commands and their options. Each command's own module loads when it is run, so that help is quick."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, NoReturn

from perfmodel.cli.question_options import add_question_commands
from perfmodel.cli.shared_options import add_effects, add_machines, add_program, add_without, later
from perfmodel.cli.unit_options import add_unit_commands
from perfmodel.cli.warp_options import add_warp_commands
from perfmodel.errors import PerfModelError

_ABOUT = "What a computation costs, as formulas, and how long it takes on a chip."
_EXAMPLES = """\
examples:
  perfmodel machines --kind gpu
  perfmodel estimate "matmul(8, 8192, 8192)" --on h100-sxm --on a100-sxm-80gb
  perfmodel estimate "attention(4096, 4096, 128, heads=32, causal=True)" --fuse stage --on h100-sxm
  perfmodel explain "softmax(m, n)"
  perfmodel solve "matmul(n, n, n)" n --on h100-sxm --bound compute
"""
_MACHINES = """\
examples:
  perfmodel machines                     every chip: peaks, bandwidth, capacity
  perfmodel machines h100-sxm            its data sheet, with the source of each figure
  perfmodel machines my-chip.toml        a data sheet of your own
"""
_FORMATS = """\
examples:
  perfmodel formats
  perfmodel formats mxfp4 nvfp4 --json
"""
_PROGRAM = """\
A program is written as in Python and never run as code: a descriptor (attention, conv2d, elementwise, embedding,
gated_mlp, gemv, layernorm, matmul, optimizer_step, pool2d, rmsnorm, softmax, workload), with a transform around it
where wanted (cast, fuse, grad, im2col, online, pad, reassociate, recompute, split, tile, unfuse) or sequence(...);
or a recipe (recipes.checkpointed, recipes.flash_attention, recipes.flash_attention_backward, recipes.flash_decoding,
recipes.fused_mlp, recipes.implicit_gemm). A size is a number, or a formula in symbols such as n or 3*h.
"""
_ESTIMATE = f"""\
{_PROGRAM}
examples:
  perfmodel estimate "matmul(8, 8192, 8192)" --on h100-sxm --on a100-sxm-80gb
  perfmodel estimate "matmul(b, 8192, 8192)" --at b=8 --dtype fp8_e4m3 --on h100-sxm
  perfmodel estimate "elementwise('relu(x*w + b)', 2**24)" --fuse --on h100-sxm --json
  perfmodel estimate "matmul(4096, 4096, 4096)" --on h100-sxm --measured 200e-6
  perfmodel estimate "matmul(1793, 1793, 1793)" --on a100-sxm-80gb --without alignment
  perfmodel estimate "softmax(4096, 4096)" "fuse(softmax(4096, 4096))" --on h100-sxm
  perfmodel estimate "recipes.flash_attention(8192, 8192, 128, heads=32, kv_heads=8, causal=True)" --on h100-sxm
"""
_EXPLAIN = f"""\
{_PROGRAM}
examples:
  perfmodel explain "matmul(m, n, k)"
  perfmodel explain "attention(n, n, 128)" --at n=65536 --fuse stage
  perfmodel explain "tile(matmul(4096, 4096, 4096), m=128, n=128, stream={{'k': 32}})"
"""
_SWEEP = f"""\
{_PROGRAM}
examples:
  perfmodel sweep "matmul(n, n, n)" --over n=128:8192:64 --on h100-sxm --on a100-sxm-80gb
  perfmodel sweep "matmul(m, 8192, 8192)" --over m=1,8,64 --over dtype=bf16,fp8 --on h100-sxm --metrics time_s,bound
  perfmodel sweep "softmax(m, 4096)" --over m=1:4096 --metrics bytes --out softmax.csv
  perfmodel sweep "gemv(n, n)" --over n=1:100000 --on l4 --out gemv_rows
"""
_SUGGEST = f"""\
{_PROGRAM}
examples:
  perfmodel suggest "matmul(8192, n, 4096)" --want n=50257 --on a100-sxm-80gb --on h100-sxm
  perfmodel suggest "matmul(n, n, n)" --want n=1793 --where "n % 8 == 0" --on a100-sxm-80gb --top 3
  perfmodel suggest "matmul(4096, h, 4*h)" --want h=4100 --within 0.1 --where "12*32*h*h <= 7e9" --on h100-sxm
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are PerfModelErrors: one line, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise PerfModelError(f"{message} ({self.prog} --help says more)")


_GROUPS = ("chip", "op", "dtype", "regime")
_BY = f"what parts the groups, with commas: {','.join(_GROUPS)} (default), source, framework"
_VALIDATE = """\
A row is one measured time: gpu, op (gemm, bmm, softmax, rmsnorm, ew_add, ...), dtype, sizes, time_us; where
gpu or time_us is not there, machine and time_s are read. Rows without an estimate are counted by reason, never dropped.

examples:
  perfmodel validate measured.csv
  perfmodel validate measured.csv --by chip,regime --out with_estimates.csv
  perfmodel validate measured.csv --effects ideal --chip A100-80GB=a100-sxm-80gb --json
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; the options that it returns have ``run``, the command itself.

    >>> parser().parse_args(["estimate", "gemv(n, n)", "--on", "h100-sxm", "--at", "n=8192"]).at
    ['n=8192']
    """
    top = _Parser(prog="perfmodel", description=_ABOUT, **_layout(_EXAMPLES))
    top.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    add = partial(_command, commands)
    _machines_options(
        add("machines", "list the chips, or show the data sheet of some", _MACHINES, "listing.machines_found")
    )
    made = add("formats", "list the number formats", _FORMATS, "listing.formats_found")
    made.add_argument("name", metavar="NAME", nargs="*", help="only these")
    _estimate_options(
        add("estimate", "estimate programs on chips: time, bound, working", _ESTIMATE, "answers.estimated")
    )
    add_program(add("explain", "count programs: FLOPs, bytes, formulas, no chip", _EXPLAIN, "answers.counted"))
    _sweep_options(add("sweep", "counts and times over many sizes, as a table", _SWEEP, "exploring.swept"))
    _suggest_options(add("suggest", "sizes near those wanted that suit a chip", _SUGGEST, "exploring.suggested"))
    _validate_options(
        add("validate", "hold estimates against a table of measured times", _VALIDATE, "validating.validated")
    )
    add_warp_commands(add)
    add_unit_commands(add)
    add_question_commands(add)
    return top


def _layout(examples: str) -> dict[str, Any]:
    return {"epilog": examples, "formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}


def _command(commands: Any, name: str, about: str, examples: str, home: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about, **_layout(examples))
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(run=later(home))
    return made


def _machines_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("name", metavar="NAME", nargs="*", help="a chip, or a path ending in .toml: show its sheet")
    add("--kind", help="only gpu, tpu, npu or cpu")
    add("--vendor", help="only this vendor")
    add("--format", help="only chips with a peak for this number format")
    add("--markdown", action="store_true", help="as the table of hardware/README.md")


def _estimate_options(command: argparse.ArgumentParser) -> None:
    add_program(command)
    add = command.add_argument
    add_machines(command, required=True)
    add_effects(command)
    add_without(command)
    add("--measured", metavar="SECONDS", type=_seconds, help="set a measured time beside the estimate")


def _validate_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("file", metavar="FILE.csv", help="columns gpu, op, dtype, time_us and the sizes batch, m, n, k")
    add("--out", metavar="FILE", help="write the rows back with estimated_us and reason")
    add_effects(command)
    add_without(command)
    add("--chip", metavar="NAME=MACHINE", action="append", default=[], help="which chip the table's name means")
    add("--by", metavar="NAMES", type=_groups, default=_GROUPS, help=_BY)


def _sweep_options(command: argparse.ArgumentParser) -> None:
    add_program(command, several=False)
    add = command.add_argument
    over = "sizes from START to STOP, which is one of them, or listed: n=1,2,4; also dtype=bf16,fp8 (repeatable)"
    add("--over", metavar="NAME=START:STOP:STEP", action="append", required=True, help=over)
    add_machines(command, required=False)
    add("--metrics", metavar="NAMES", help="columns with commas, such as time_s,bound,bytes")
    add_effects(command)
    add("--zip", action="store_true", help="take the values together, instead of all combinations")
    add(
        "--out", metavar="FILE.csv", help="write a file; any other name is a folder of Parquet files, resumed if killed"
    )


def _suggest_options(command: argparse.ArgumentParser) -> None:
    add_program(command, several=False)
    add = command.add_argument
    add("--want", metavar="NAME=SIZE", action="append", required=True, help="a size, or sizes to try (repeatable)")
    add_machines(command, required=True)
    add("--within", metavar="SHARE", type=float, default=0.05, help="how far from the size, as a share (default 0.05)")
    add(
        "--where", metavar="TEXT", action="append", default=[], help="a condition, such as 'h %% 128 == 0' (repeatable)"
    )
    add("--top", metavar="NUMBER", type=int, default=10, help="how many suggestions (default 10)")
    add_effects(command)


def _groups(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected seconds such as 200e-6, got {text!r}") from None


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"perfmodel {version('perfmodel')}")
        except PackageNotFoundError:
            print("perfmodel (run from its source, not installed)")
        parser.exit()
