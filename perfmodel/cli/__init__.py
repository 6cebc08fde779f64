"""The shell: ``perfmodel estimate "matmul(8, 8192, 8192)" --on h100-sxm``; one file for each group of commands."""

from perfmodel.cli.entry import main

__all__ = ["main"]
