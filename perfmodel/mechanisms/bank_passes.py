"""Passes over shared-memory banks: by counting words in order, by a formula for strides, and pass by pass."""

from __future__ import annotations

from math import gcd
from typing import Any

from perfmodel.mechanisms.addresses import Addresses


def turn_threads(warp: int, element_bytes: int, bank_bytes: int) -> int:
    """The threads that are served at once: all, or half or a quarter of them for 2 or 4 words an element.

    >>> turn_threads(32, 4, 4), turn_threads(32, 8, 4), turn_threads(32, 16, 4), turn_threads(32, 1, 4)
    (32, 16, 8, 32)
    """
    return max(1, warp // max(1, -(-element_bytes // bank_bytes)))


def passes(found: Addresses, banks: int, bank_bytes: int) -> tuple[int, int, int]:
    """All passes, the fewest that there could be (one a turn), and the most words that a bank gives in one turn.

    >>> from perfmodel.mechanisms.addresses import addresses
    >>> passes(addresses("32*t", "bank_conflicts"), 32, 4)
    (32, 1, 32)
    """
    import numpy as np

    at_once = turn_threads(found.launch.warp, found.element_bytes, bank_bytes)
    total = least = degree = 0
    for lanes in found.launch.pieces():
        starts, present = found.of(lanes), np.broadcast_to(lanes.present, lanes.shape)
        for first in range(0, found.launch.warp, at_once):
            inside = present[:, first : first + at_once]
            rows = inside.any(1)
            if rows.any():
                words = _words(starts[rows, first : first + at_once], inside[rows], found.element_bytes, bank_bytes)
                each = _most_in_a_bank(words, banks)
                total, least = total + int(each.sum()), least + len(each)
                degree = max(degree, int(each.max()))
    return total, least, degree


def _words(starts: Any, inside: Any, element_bytes: int, bank_bytes: int) -> Any:
    """The words that each row asks for, -1 for none; an element is as many words as it lies in."""
    import numpy as np

    first, last = starts // bank_bytes, (starts + element_bytes - 1) // bank_bytes
    words = first[:, :, None] + np.arange(int((last - first).max()) + 1)
    words = np.where((words <= last[:, :, None]) & inside[:, :, None], words, -1)
    return words.reshape(len(starts), -1)


def _most_in_a_bank(words: Any, banks: int) -> Any:
    """For each row the largest number of distinct words in one bank."""
    import numpy as np

    ordered = np.sort(words, axis=1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered >= 0
    rows = np.broadcast_to(np.arange(len(ordered))[:, None], ordered.shape)
    counts = np.bincount((rows * banks + ordered % banks)[new], minlength=len(ordered) * banks)
    return counts.reshape(len(ordered), banks).max(axis=1)


def strided_degree(stride_words: int, banks: int, threads: int) -> int:
    """The words in the fullest bank for threads an even stride of whole words apart: those that come round to it.

    The banks that a stride meets are banks / gcd(stride, banks); threads go round them in turn.

    >>> [strided_degree(stride, 32, 32) for stride in (1, 2, 12, 24, 32, 33, 0)]
    [1, 2, 4, 8, 32, 1, 1]
    """
    if stride_words == 0:
        return 1
    return -(-threads * gcd(stride_words, banks) // banks)


def pass_by_pass(found: Addresses, banks: int, bank_bytes: int) -> tuple[int, int, int]:
    """The same figures by serving the threads: each pass every bank gives the next word that is asked of it.

    >>> from perfmodel.mechanisms.addresses import addresses
    >>> pass_by_pass(addresses("32*t", "bank_conflicts"), 32, 4)
    (32, 1, 32)
    """
    at_once = turn_threads(found.launch.warp, found.element_bytes, bank_bytes)
    total = least = degree = 0
    for lanes in found.launch.pieces():
        present, starts = lanes.present.tolist(), found.of(lanes).tolist()
        for row, addresses in enumerate(starts):
            there = [each for each, is_there in zip(addresses, present[row % len(present)], strict=True) if is_there]
            for first in range(0, len(there), at_once):
                needed = _served(there[first : first + at_once], found.element_bytes, banks, bank_bytes)
                total, least, degree = total + needed, least + 1, max(degree, needed)
    return total, least, degree


def _served(starts: list[int], element_bytes: int, banks: int, bank_bytes: int) -> int:
    """Passes until no thread waits for a word."""
    waiting = [{byte // bank_bytes for byte in range(start, start + element_bytes)} for start in starts]
    count = 0
    while any(waiting):
        given: dict[int, int] = {}
        for words in waiting:
            for word in words:
                given.setdefault(word % banks, word)
        for words in waiting:
            words -= set(given.values())
        count += 1
    return count
