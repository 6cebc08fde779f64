"""Bits: every whole number of them is a format, and each is tried."""

from __future__ import annotations

import pytest

from perfmodel import Format, Machine, SolveError, cast, estimate, gemv, matmul, solve

CHIP = Machine(peak=1e15, bandwidth_bytes_per_s=1e12, capacity_bytes=10**6, name="small")
STEP = gemv(512, 1024, batch=4)


def test_each_answer_is_that_of_the_program_in_its_format() -> None:
    def seconds(bits: int) -> float:
        stored = cast(STEP, tensors={"W": Format(bits=bits)}, compute="bf16")
        return estimate(stored, CHIP, effects="ideal").time_s

    found = solve(STEP, CHIP, "W.bits", where="time_s <= 4e-7")
    ((first, last),) = found.intervals
    assert list(range(first, last + 1)) == [bits for bits in range(1, 65) if seconds(bits) <= 4e-7]
    assert last < 64


def test_all_tensors_or_one() -> None:
    """512 * 1024 weights, 4 * 1024 inputs and 4 * 512 outputs in 10^6 bytes."""
    weights, rest = 512 * 1024, 4 * (1024 + 512)
    assert solve(STEP, CHIP, "W.bits", fits=True).most == (10**6 - 2 * rest) * 8 // weights
    assert solve(STEP, CHIP, "bits", fits=True).most == 10**6 * 8 // (weights + rest)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(STEP, CHIP, "V.bits", fits=True), "no tensor 'V'"),
        (lambda: solve(matmul("n", 8, 8), CHIP, "bits", fits=True), "give n values first"),
        (lambda: solve(STEP, CHIP, "bits", where="time_s <= 1", effects="real"), "ideal times"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, message: str) -> None:
    with pytest.raises(SolveError, match=message):
        asked()


def test_no_number_of_bits_says_why() -> None:
    found = solve(STEP, CHIP.replace(capacity_bytes=10), "bits", fits=True)
    assert found.reason.startswith("no number of bits from 1 to 64")
