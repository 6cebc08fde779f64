"""Machines by name: ids and aliases as people write them, and what is said where a name is not one product."""

from __future__ import annotations

import pytest

from perfmodel.catalogue import Machine, machine, machines
from perfmodel.catalogue.names import machine_meant
from perfmodel.errors import MachineError


def test_machines_are_ordered_by_kind_vendor_and_year_and_can_be_chosen() -> None:
    """machines() lists GPUs before TPUs before CPUs, and takes a kind and a vendor in any case."""
    kinds = [machine(name).kind for name in machines()]
    assert kinds == sorted(kinds, key=["gpu", "tpu", "npu", "cpu"].index)
    assert machines(kind="npu", vendor="Amazon") == ("trn1", "inf2", "trn2", "trn3") == machines("NPU", "amazon")
    assert machines(vendor="NVIDIA") == machines(vendor="nvidia") == machines(vendor="Nvidia")
    with pytest.raises(MachineError, match=r"no kind 'gpus' \(did you mean 'gpu'\?\)"):
        machines(kind="gpus")


def test_no_name_stands_for_two_chips() -> None:
    """Aliases are unique, and none is another chip's id, so each resolves to its own chip."""
    for name in machines():
        assert all(machine(alias) is machine(name) for alias in machine(name).aliases)


@pytest.mark.parametrize("name", ["h100-sxm", "H100-SXM", " h100 sxm ", "H100_SXM", "H100-SXM5", "h100 80gb hbm3"])
def test_case_spaces_and_underscores_do_not_matter(name: str) -> None:
    """A name is found as people write it."""
    assert machine(name) is machine("h100-sxm")


def test_a_machine_is_returned_as_it_is() -> None:
    """Where a machine is wanted, a name or a machine will do."""
    own = Machine(peak=1e12, bandwidth_bytes_per_s=1e9)
    assert machine(own) is own


def test_a_bare_h100_is_refused_with_its_variants() -> None:
    """They differ by a third: 989.4 / 756.5 = 1.31 in peak, 3.9 / 2.039 = 1.91 in bandwidth."""
    with pytest.raises(MachineError) as refused:
        machine("H100")
    text = str(refused.value)
    assert "h100-pcie (matrix bf16 756.5 TFLOP/s, 2.039 TB/s" in text
    assert "h100-sxm (matrix bf16 989.4 TFLOP/s, 3.352 TB/s" in text
    assert "They differ by 31 % in peak and 91 % in bandwidth" in text
    with pytest.raises(MachineError, match=r"'a100 80gb' is several products: a100-pcie-80gb .*; a100-sxm-80gb "):
        machine("a100 80gb")


def test_an_inexact_name_is_refused_with_the_nearest() -> None:
    """A P100 has several forms, of which the catalogue has one: it is offered, never taken."""
    with pytest.raises(MachineError, match="no chip is named 'P100'; the nearest is p100-pcie-16gb"):
        machine("P100")
    with pytest.raises(MachineError, match=r"no chip 'h100-smx' \(did you mean 'h100-sxm'\?\); there are "):
        machine("h100-smx")


@pytest.mark.parametrize("name", ["", " ", "-", "../h100-sxm", "h100-sxm\0", "hardware/h100-sxm", "__init__", "*"])
def test_names_that_are_none_are_refused(name: str) -> None:
    """A name is looked up among the sheets, never used as a path."""
    with pytest.raises(MachineError, match="machine: no chip "):
        machine(name)


@pytest.mark.parametrize("which", [None, 3, True, ["h100-sxm"], b"h100-sxm"])
def test_what_is_no_name_is_refused(which: object) -> None:
    """Only text, a path or a machine names a machine."""
    with pytest.raises(MachineError, match=r"expected a name, a path ending in \.toml or a Machine"):
        machine(which)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["h100-sxm", "H100 SXM", "l4", "t4", "h20", "a100_sxm_80gb"])
def test_a_machine_is_meant_where_a_size_could_be(name: str) -> None:
    assert machine_meant(name) is machine(name)


@pytest.mark.parametrize("text", ["n", "n-1", "n - k", "2*n", "sms", "b1", "x1", "a-b", "u_1", "108", "3*h + 1", ""])
def test_a_size_is_no_machine(text: str) -> None:
    assert machine_meant(text) is None


@pytest.mark.parametrize("text", ["h100", "h100-smx", "a100-sxm", "b2000", "mine.toml"])
def test_what_looks_like_a_machine_is_never_algebra(text: str) -> None:
    with pytest.raises(MachineError, match="machine: "):
        machine_meant(text)


def test_a_name_of_any_length_is_shown_in_brief() -> None:
    """A hundred thousand characters make a message of a few hundred."""
    for name in ("x" * 100_000, "h100 " * 20_000):
        with pytest.raises(MachineError) as refused:
            machine(name)
        assert len(str(refused.value)) < 1000
