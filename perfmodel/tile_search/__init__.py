"""Searching tile sizes: every combination of candidates, counted exactly, the best under a capacity."""

from perfmodel.tile_search.searching import BestTiles, best_tiles

__all__ = ["BestTiles", "best_tiles"]
