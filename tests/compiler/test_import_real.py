"""Imports of what real programs have: collectives in flight, host memory, kernels, own regions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.compiler.capture.importer import import_hlo
from engine.compiler.reading.repair import PACKED_ANEW
from engine.compiler.toolchain.target import SCOPED_LIMIT
from engine.errors import ProgramFormatError, UsageError
from engine.plan.check import check
from engine.plan.io import plan_from_json
from engine.program.io import from_json, to_json
from engine.program.model import Program
from tests.program.hlo.modules import FIXTURES, module

MIB = 2**20
SLOW, FAST = FIXTURES / "mlp_off.hlo", FIXTURES / "mlp_on.hlo"
BUFFERS = FIXTURES / "mlp_on.buffers.txt"


@pytest.mark.parametrize("name", ["gather", "permute", "host"])
def test_the_compilers_plan_keeps_what_is_in_flight(name: str) -> None:
    """Fused all-gathers, collective-permutes, copies from and to host memory, by the compiler."""
    slow, fast = (FIXTURES / f"{name}_{way}.hlo.gz" for way in ("off", "on"))
    program = import_hlo(slow, fast, "tpu-v5e")
    assert any(access.in_flight for access in program.accesses)
    assert from_json(to_json(program), "again") == program
    plan = plan_from_json(program.provenance["xla_plan"], "provenance")
    assert check(program, plan) is None
    assert plan.notes["left_out_saving_share"] == 0.0
    served = [plan.is_fast[n] for n, access in enumerate(program.accesses) if access.in_flight]
    assert any(served) == (name != "host")


KERNEL = module(
    """  x = f32[2048,1024]{1,0:T(8,128)} parameter(0)
  k = f32[2048,1024]{1,0:T(8,128)} custom-call(x), custom_call_target="tpu_custom_call",
    backend_config={"used_scoped_memory_configs":[
    {"memory_space":"1","offset":"0","size":"50331648"}]}
  ROOT o = f32[2048,1024]{1,0:T(8,128)} add(k, x)"""
)


def written(folder: Path, text: str, name: str = "dump.hlo") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def reserved_mib(program: Program) -> list[int]:
    return [instruction.reserved_bytes // MIB for instruction in program.instructions]


def test_a_kernel_takes_its_scratch_out_of_the_heap(tmp_path: Path) -> None:
    program = import_hlo(written(tmp_path, KERNEL), None, "tpu-v5e")
    assert reserved_mib(program) == [48, 16]
    assert program.instructions[0].scratch_bytes == 48 * MIB


def test_a_kernel_that_the_memory_pass_gave_its_scratch_is_read_whole() -> None:
    """By the compiler: 64 MiB at 32 MiB for the kernel, beside an operand and its result.

    Our scratch is at offset 0, so the compiler's offsets are no plan of ours; packed anew they are.
    """
    slow, fast = (FIXTURES / f"kernel_{way}.hlo.gz" for way in ("off", "on"))
    program = import_hlo(slow, fast, "tpu-v5e", FIXTURES / "kernel_on.buffers.txt")
    assert reserved_mib(program) == [16, 64, 16]
    assert [i.scratch_bytes // MIB for i in program.instructions] == [14, 32, 9]
    plan = plan_from_json(program.provenance["xla_plan"], "provenance")
    assert check(program, plan) is None
    assert plan.notes["left_out_saving_share"] == 0.0
    assert {stay.offset // MIB for stay in plan.stays} == {64, 96}
    assert plan.notes["offsets"] == PACKED_ANEW


def test_a_kernel_for_which_the_chip_is_too_small_is_refused(tmp_path: Path) -> None:
    huge = KERNEL.replace("50331648", str(129 * MIB))
    with pytest.raises(ProgramFormatError, match="k uses 135266304 bytes of scratch"):
        import_hlo(written(tmp_path, huge), None, "tpu-v5e")


def test_the_region_for_scratch_may_be_given(tmp_path: Path) -> None:
    own = {SCOPED_LIMIT: str(64 * 1024)}
    program = import_hlo(SLOW, FAST, "tpu-v5e", BUFFERS, own)
    assert set(reserved_mib(program)) == {64}
    assert program.provenance["compiler_options"] == own
    plan = plan_from_json(program.provenance["xla_plan"], "provenance")
    assert check(program, plan) is None
    assert min(stay.offset for stay in plan.stays) >= 64 * MIB


def test_the_region_for_scratch_is_read_beside_the_dump(tmp_path: Path) -> None:
    prefix = "module_0007.jit_work.cl_1"
    dump = written(tmp_path, SLOW.read_text(), f"{prefix}.after_codegen.txt")
    written(tmp_path, f"# more\n{SCOPED_LIMIT}: 24576\n", f"{prefix}.tpu_comp_env.txt")
    written(tmp_path, f"{SCOPED_LIMIT}: 8192\n", "module_0008.other.cl_1.tpu_comp_env.txt")
    assert set(reserved_mib(import_hlo(dump, None, "tpu-v5e"))) == {24}
    own = {SCOPED_LIMIT: str(32 * 1024)}
    assert set(reserved_mib(import_hlo(dump, None, "tpu-v5e", None, own))) == {32}
    written(tmp_path, f"{SCOPED_LIMIT}: -1\n", f"{prefix}.tpu_comp_env.txt")
    assert set(reserved_mib(import_hlo(dump, None, "tpu-v5e"))) == {16}


def test_dumps_with_different_regions_are_refused(tmp_path: Path) -> None:
    dumps = []
    for number, (source, kib) in enumerate([(SLOW, 24576), (FAST, 8192)]):
        written(tmp_path, f"{SCOPED_LIMIT}: {kib}\n", f"module_{number}.tpu_comp_env.txt")
        dumps.append(written(tmp_path, source.read_text(), f"module_{number}.after_codegen.txt"))
    with pytest.raises(ProgramFormatError, match="different regions"):
        import_hlo(dumps[0], dumps[1], "tpu-v5e")


@pytest.mark.parametrize(
    ("hardware", "kib"), [("tpu-v5e", 2**17), ("tpu-v4", 1024), ("tpu7x", 1024)]
)
def test_a_region_that_the_chip_cannot_have_is_refused(hardware: str, kib: int) -> None:
    with pytest.raises(UsageError, match=SCOPED_LIMIT):
        import_hlo(SLOW, None, hardware, None, {SCOPED_LIMIT: str(kib)})


def test_scratch_beyond_the_region_asks_for_it(tmp_path: Path) -> None:
    large = re.sub(r'("offset":"0","size":)"\d+"', rf'\1"{20 * MIB}"', SLOW.read_text())
    dump = written(tmp_path, large)
    with pytest.raises(ProgramFormatError, match="--scoped-kib"):
        import_hlo(dump, None, "tpu-v5e")
    own = {SCOPED_LIMIT: str(32 * 1024)}
    assert set(reserved_mib(import_hlo(dump, None, "tpu-v5e", None, own))) == {32}


def test_a_buffer_assignment_past_the_heap_asks_for_the_region(tmp_path: Path) -> None:
    """With a smaller region the compiler has more heap than the chip's default leaves."""
    text = BUFFERS.read_text()
    far = re.sub(r"offset=(\d+)\)", lambda m: f"offset={int(m[1]) + 110 * MIB})", text)
    buffers = written(tmp_path, far, "buffers.txt")
    with pytest.raises(ProgramFormatError, match="--scoped-kib"):
        import_hlo(SLOW, FAST, "tpu-v5e", buffers)
