"""What benchmarks do between rounds, so that no count of an earlier one is looked up."""

from __future__ import annotations

import sys
from functools import _lru_cache_wrapper


def forget_counts() -> None:
    """Empty every cache of perfmodel's own. What sympy remembers of its expressions stays: that is "warm"."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "perfmodel":
            for found in list(vars(module).values()):
                if isinstance(found, _lru_cache_wrapper):
                    found.cache_clear()
