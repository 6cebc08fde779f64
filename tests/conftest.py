"""How hypothesis runs here: without deadlines (no test judges a time), and the same examples each time in CI."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("perfmodel", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("perfmodel")
