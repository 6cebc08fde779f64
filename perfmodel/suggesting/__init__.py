"""Suggestions: sizes near a wanted one, or jointly for several dimensions, that suit a chip."""

from perfmodel.suggesting.suggester import suggest
from perfmodel.suggesting.suggestions import Suggestion, Suggestions

__all__ = ["Suggestion", "Suggestions", "suggest"]
