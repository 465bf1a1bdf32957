"""Heap and alignment, read off the log of the compiler's memory pass."""

from __future__ import annotations

import pytest

from engine.compiler.toolchain.fast_memory import FastMemory, read_log
from engine.errors import CompilerError

LOG = """\
I1124 20:52:22.6 10263 memory_space_assignment_util.cc:618] MSA Vmem breakdown: \
default scoped vmem (from flag): 16777216; does_msa_directly_allocate_scoped_vmem: F; \
bytes_for_msa_to_allocate: 50266112
I1124 20:52:22.6 10263 memory_space_assignment.cc:323] memory_space_assignment_options::Options:
I1124 20:52:22.6 10263 memory_space_assignment.cc:324] alternate_memory_space: 1
I1124 20:52:22.6 10263 memory_space_assignment.cc:324] max_size_in_bytes: 50266112
I1124 20:52:22.6 10263 memory_space_assignment.cc:324] alignment_in_bytes: 4096
"""


def test_a_heap_beside_a_scoped_region() -> None:
    assert read_log(LOG, "x") == FastMemory("x", 50_266_112, 4096, 16_777_216, False)


def test_scratch_within_the_heap() -> None:
    log = LOG.replace("scoped_vmem: F", "scoped_vmem: T")
    assert read_log(log, "x").is_scratch_in_heap


def test_a_memory_without_a_scoped_region() -> None:
    log = "\n".join(LOG.splitlines()[1:])
    assert read_log(log, "x") == FastMemory("x", 50_266_112, 4096, 0, False)


def test_a_log_without_figures_is_an_error_that_quotes_it() -> None:
    with pytest.raises(CompilerError, match=r"tpu-v9: .*no such topology"):
        read_log("E1124 no such topology\n", "tpu-v9")
