"""The options of the commands on waves, systolic arrays and energy; the commands themselves load when they are run."""

from __future__ import annotations

from perfmodel.cli.shared_options import Add

_WAVES = """\
A size is a number, or a formula in symbols such as n or 3*h. One size is a number of blocks, two are the rows and
columns of an output that tiles cut.

examples:
  perfmodel waves 1793 1793 --tile 256 128 --units 108
  perfmodel waves 120 --units a100-sxm-80gb --resident 2
  perfmodel waves 1320 --units 132 --busy 16 --schedule dynamic --json
"""
_SYSTOLIC = """\
examples:
  perfmodel systolic 8 8 512
  perfmodel systolic 4096 512 512 --rows 128 --cols 128 --dataflow weight
"""
_ENERGY = """\
A program is written as for `perfmodel explain`; a table is one of 45nm, 7nm and lecture.

examples:
  perfmodel energy "matmul(4096, 4096, 4096)"
  perfmodel energy "workload(flops=1e9, bytes_read=1e9)" --table lecture --json
"""


def add_unit_commands(add: Add) -> None:
    """Add the commands, each by ``add(name, about, examples, home)``.

    >>> from perfmodel.cli.options import parser
    >>> parser().parse_args(["systolic", "8", "8", "512", "--rows", "16"]).rows
    '16'
    """
    made = add("waves", "blocks against the units of a chip, wave after wave", _WAVES, "units.waved")
    made.add_argument("sizes", metavar="SIZE", nargs="+", help="a number of blocks, or rows and columns")
    made.add_argument("--tile", metavar="N", nargs="+", default=["256", "128"], help="rows and columns of a tile")
    made.add_argument(
        "--units", metavar="N", default="108", help="a number of units, or a chip such as h20 (108 unless given)"
    )
    made.add_argument("--resident", metavar="N", default="1", help="blocks that a unit holds at once (1 unless given)")
    made.add_argument("--schedule", metavar="NAME", default="static", help="static, dynamic or stream-k")
    made.add_argument("--busy", metavar="N", type=int, default=0, help="units held by other work")
    made = add("systolic", "cycles of a matrix product on a systolic array", _SYSTOLIC, "units.pulsed")
    for name in "mnk":
        made.add_argument(name, metavar=name.upper(), help=f"the size {name} of C[m,n] = A[m,k] B[k,n]")
    made.add_argument("--rows", metavar="N", default="8", help="rows of the array (8 unless given)")
    made.add_argument("--cols", metavar="N", default="8", help="columns of the array (8 unless given)")
    made.add_argument("--dataflow", metavar="NAME", default="output", help="what stands in the cells: output, weight")
    made = add("energy", "the energy of a program, operation by operation and byte by byte", _ENERGY, "units.priced")
    made.add_argument("program", metavar="PROGRAM", help="a description such as 'matmul(8, 8192, 8192)'")
    made.add_argument("--table", metavar="NAME", default="7nm", help="45nm, 7nm or lecture (7nm unless given)")
