"""How hypothesis runs here: without deadlines (no test judges a time), and the same examples each time in CI.

Pictures that a test drew are closed behind it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("perfmodel", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("perfmodel")


@pytest.fixture(autouse=True)
def closed_pictures() -> Iterator[None]:
    """matplotlib keeps every figure until it is closed, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
