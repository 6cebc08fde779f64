"""Tables as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def save_table(found: Any, path: Path, **layout: Any) -> None:
    """A file of comma-separated values that appears whole or not at all.

    >>> import pandas, tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_table(pandas.DataFrame({"n": [1, 2]}), Path(place, "n.csv"))
    ...     Path(place, "n.csv").read_text().split(), len(os.listdir(place))
    (['n', '1', '2'], 1)
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        found.to_csv(partial, index=False, **layout)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
