"""The pictures in docs/gallery show what perfmodel computes today."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
GALLERY = runpy.run_path(str(ROOT / "examples/gallery.py"))
FOLDER = ROOT / "docs/gallery"


def stored(name: str) -> dict[str, list[Any]]:
    """What a picture says that it shows: a text in its file."""
    return dict(json.loads(Image.open(FOLDER / f"{name}.png").text["Comment"]))


@pytest.mark.parametrize("picture", GALLERY["PICTURES"], ids=lambda picture: picture.__name__)
def test_a_picture_shows_what_is_computed_today(picture: Any) -> None:
    """Points, bars, cells and words of the stored picture are those of a fresh one; else run examples/gallery.py."""
    old, new = stored(picture.__name__), GALLERY["shown"](picture())
    assert old["words"] == new["words"]
    for kind in ("lines", "bars", "cells"):
        assert len(old[kind]) == len(new[kind])
        for one, other in zip(old[kind], new[kind], strict=True):
            assert one == pytest.approx(other, rel=1e-4, nan_ok=True)
    assert any(old[kind] for kind in ("lines", "bars", "cells"))


def test_the_page_shows_every_picture_and_no_other() -> None:
    """Files, functions and the page name the same pictures."""
    names = {picture.__name__ for picture in GALLERY["PICTURES"]}
    assert {path.stem for path in FOLDER.glob("*.png")} == names
    page = (FOLDER / "README.md").read_text()
    assert all(page.count(f"({name}.png)") == 1 for name in names)
