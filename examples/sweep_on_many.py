"""A sweep spread over many processes, or machines: any executor answers the blocks of points.

Here a cluster of two workers is made on this machine. On many, start `dask scheduler` on one of them and `dask worker
tcp://HOST:8786` on each, with perfmodel installed, and pass the scheduler's address:

    python sweep_on_many.py tcp://HOST:8786

Blocks are written by this process, in pieces, to a folder of Parquet files: memory stays constant whatever the grid,
and a run that was killed goes on where it was. An executor of `concurrent.futures` does as well as Dask's.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas
from distributed import Client, LocalCluster

import perfmodel as pm

SIZES = {"m": [1, 16, 256, 4096], "n": range(1024, 16_385, 256), "k": range(1024, 16_385, 1024)}
CHIPS = ["a100-sxm-80gb", "h100-sxm"]


def main(address: str | None) -> None:
    cluster = None if address else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(address or cluster) as client, tempfile.TemporaryDirectory() as place:
        print(f"{len(client.scheduler_info()['workers'])} workers")
        folder = pm.sweep_to(
            Path(place) / "matmuls", pm.matmul("m", "n", "k"), SIZES, on=CHIPS, metrics=["time_s", "flops_per_s"],
            executor=client.get_executor(), block=1000,
        )  # fmt: skip
        found = pandas.read_parquet(folder)
        print(f"{len(found):,} rows in {len(list(folder.glob('*.parquet')))} files\n")
        best = found.groupby(["machine", "m"])["flops_per_s"].max() / 1e12
        print("Answer: the best TFLOP/s at each number of rows")
        print(best.unstack().round(1).to_string())
    if cluster is not None:
        cluster.close()


if __name__ == "__main__":  # Dask's workers load this file too
    main(sys.argv[1] if len(sys.argv) > 1 else None)
