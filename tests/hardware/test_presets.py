"""Hardware presets: plausible, consistent with each other, and found by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import UnknownNameError
from engine.hardware.presets import DEVICES, MIB, PRESETS, find_device, preset_remark
from engine.hardware.what_if import WhatIf, derive
from engine.program import library
from engine.program.io import from_json, to_json
from engine.program.model import Program
from engine.program.teaching import HARDWARE

RESULTS = Path(__file__).parents[2] / "docs/results"
TPUS = [name for name in PRESETS if name != "generic"]


def test_names_are_those_of_the_command_line() -> None:
    assert TPUS == ["tpu-v4", "tpu-v4-megacore", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"]
    assert all(hardware.name == name for name, hardware in PRESETS.items())
    assert set(DEVICES) == set(PRESETS)


@pytest.mark.parametrize("name", TPUS)
def test_peak_rates_are_those_of_the_matrix_units(name: str) -> None:
    """A 128 × 128 unit does 2 × 128² operations per cycle, so peaks are whole numbers of units."""
    device = DEVICES[name]
    units = device.peak_flops / (2 * 128**2 * device.hardware.clock_hz)
    assert units == pytest.approx(round(units), rel=0.01)
    assert device.scoped_bytes < device.hardware.fast_bytes
    assert device.fast_bandwidth > 10 * device.hardware.bandwidth


def test_known_figures() -> None:
    assert PRESETS["tpu-v4"].fast_name == "CMEM"
    assert DEVICES["tpu-v6e"].scoped_bytes == 32 * MIB
    assert DEVICES["tpu-v4"].scoped_bytes == 0
    assert PRESETS["tpu-v5e"].bandwidth == 819e9


@pytest.mark.parametrize("name", ["flash-v4-b32", "gptdeep-v5p-b8-train"])
def test_the_fastest_instruction_comes_close_to_the_peak(name: str) -> None:
    """A program of one core of a v4 chip has the peak of one, one of a v5p chip that of both."""
    program = library.load_sample(name)
    fastest = max(i.flops / i.fast_s for i in program.instructions if i.fast_s > 0)
    assert 0.9 < fastest / DEVICES[program.hardware.name].peak_flops <= 1


@pytest.mark.parametrize("name", TPUS)
def test_heap_and_alignment_are_those_of_the_compilers_log(name: str) -> None:
    rows = json.loads((RESULTS / "fast_memory.json").read_text())["rows"]
    (row,) = [row for row in rows if row["hardware"] == name]
    device = DEVICES[name]
    assert device.hardware.alignment == row["alignment"]
    assert device.hardware.fast_bytes - device.scoped_bytes == row["heap_bytes"]
    assert device.is_scratch_in_heap == row["is_scratch_in_heap"]
    if not device.is_scratch_in_heap:
        assert device.scoped_bytes == row["scoped_bytes"]
        assert device.reserved_bytes(77) == device.scoped_bytes


def test_where_scratch_lies_in_the_heap_each_instruction_reserves_its_own() -> None:
    assert DEVICES["tpu7x"].reserved_bytes(77) == 77


def test_a_kernel_reserves_all_of_its_scratch_and_flags_change_the_region() -> None:
    device = DEVICES["tpu-v5e"]
    assert device.reserved_bytes(48 * MIB) == 48 * MIB
    assert device.with_scoped(8 * MIB).reserved_bytes(4 * MIB) == 8 * MIB
    assert DEVICES["tpu-v4"].reserved_bytes(48 * MIB) == 0, "scratch is in VMEM, values in CMEM"


def test_a_program_of_an_earlier_preset_is_told() -> None:
    program = library.load_sample("alexnet-v4-b24")
    earlier = replace(program, hardware=replace(program.hardware, bandwidth=1.2e12))
    told = preset_remark(earlier)
    assert told is not None
    assert "1,200 GB/s" in told
    assert "it has 600" in told
    wished = derive(program, WhatIf(bandwidth=1.2e12), "wished")
    by_hand = replace(earlier, provenance={})
    assert [preset_remark(other) for other in (program, wished, by_hand)] == [None, None, None]


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_fit_into_program_files(name: str) -> None:
    program = Program("empty", PRESETS[name], (), (), ())
    assert from_json(to_json(program), "test") == program


def test_teaching_programs_run_on_the_generic_preset() -> None:
    assert PRESETS["generic"] == HARDWARE


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    assert find_device("tpu-v5e") is DEVICES["tpu-v5e"]
    with pytest.raises(UnknownNameError, match=r"'tpu-v5'.*tpu-v5"):
        find_device("tpu-v5")
    with pytest.raises(UnknownNameError, match="generic"):
        find_device("")
