"""HLO files to programs: pairs of TPU compiles, and single dumps of any compiler."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import mallocmuzero
from engine.compiler.capture.importer import import_hlo, roofline
from engine.errors import ProgramFormatError, UnknownNameError, UsageError
from engine.hardware.presets import DEVICES, find_device
from engine.plan.check import check
from engine.plan.io import plan_from_json
from engine.plan.simulate import simulate
from engine.program.io import from_json, load, save, to_json
from engine.program.minimalloc import import_minimalloc
from engine.program.provenance import CYCLES, FITTED, ROOFLINE, import_remarks
from tests.program.hlo.modules import FIXTURES, module

SLOW, FAST = FIXTURES / "mlp_off.hlo", FIXTURES / "mlp_on.hlo"
BUFFERS = FIXTURES / "mlp_on.buffers.txt"


@pytest.fixture(scope="module")
def cpu_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What jax compiles for this machine's CPU: a loop of products, a branch, an update."""

    def work(weights: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
        looped = lax.fori_loop(0, 6, lambda i, a: jnp.tanh(a @ weights[i]), start)
        chosen = lax.cond(looped.sum() > 0, lambda a: a * 2, jnp.sin, looped)
        return chosen.at[3].set(1.0), jnp.argsort(chosen[:, 0])

    shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((6, 128, 128), (64, 128))]
    path = tmp_path_factory.mktemp("cpu") / "work.hlo"
    path.write_text(jax.jit(work).lower(*shapes).compile().as_text())
    return path


@pytest.mark.parametrize("hardware", sorted(DEVICES))
def test_a_dump_of_the_cpu_compiler(cpu_dump: Path, hardware: str) -> None:
    program = import_hlo(cpu_dump, None, hardware)
    assert program.name == "work"
    assert program.provenance == {"kind": "imported", "slow": "work.hlo", "costs": ROOFLINE}
    assert any("no cycles" in remark for remark in import_remarks(program))
    (loop,) = [r for r in program.regions if r.kind == "while"]
    assert (loop.multiplicity, loop.is_trip_count_known) == (6.0, True)
    assert [r.multiplicity for r in program.regions if r.kind == "branch"] == [0.5, 0.5]
    assert all(i.fast_s > 0 for i in program.instructions)
    assert all(a.saving_s >= 0 for a in program.accesses)
    assert 0 < program.all_fast_s < program.all_slow_s
    assert from_json(to_json(program), "again") == program
    reads = {program.values[a.value].name: a.slow_bytes for a in program.accesses if a.time >= 0}
    weight = next(v for v in program.values if v.shape == "f32[6,128,128]")
    assert reads[weight.name] == weight.size_bytes


def test_what_computes_saves_nothing() -> None:
    costs = roofline(find_device("tpu-v5e"))
    fast_s, savings = costs(197e12, [819, 819])
    assert fast_s == pytest.approx(1.0)
    assert list(savings) == [0.0, 0.0]
    fast_s, savings = costs(0.0, [819_000_000, 1_638_000_000])
    assert fast_s + sum(savings) == pytest.approx(3e-3)
    assert savings[1] == pytest.approx(2 * savings[0])


def test_a_pair_fits_the_savings() -> None:
    program = import_hlo(SLOW, FAST, "tpu-v5e")
    facts = {"kind": "imported", "slow": "mlp_off.hlo", "fast": "mlp_on.hlo"}
    assert facts.items() <= program.provenance.items()
    assert program.provenance["costs"] == FITTED
    assert program.provenance["fit_error"] == pytest.approx(0.0, abs=1e-4)
    single = import_hlo(SLOW, None, "tpu-v5e")
    assert single.provenance["costs"] == CYCLES
    assert program.all_slow_s == pytest.approx(single.all_slow_s)
    assert program.accesses != single.accesses
    assert all(i.reserved_bytes == DEVICES["tpu-v5e"].scoped_bytes for i in program.instructions)


def test_one_dump_is_credited_with_half_of_what_bytes_suggest() -> None:
    accesses = import_hlo(SLOW, None, "tpu-v5e").accesses
    assert sum(access.saving_s for access in accesses) > 0
    for access in accesses:
        assert access.uncertainty_s == pytest.approx(access.saving_s)


def test_with_the_buffer_assignment_the_compilers_plan_comes_along(tmp_path: Path) -> None:
    packed = tmp_path / "buffers.txt.gz"
    packed.write_bytes(gzip.compress(BUFFERS.read_bytes()))
    program = import_hlo(SLOW, FAST, "tpu-v5e", packed)
    plan = plan_from_json(program.provenance["xla_plan"], "provenance")
    assert check(program, plan) is None
    # The compiler says 74382 + 71516 + 72582 cycles at 1.5 GHz; nothing waits for its copies.
    latency = simulate(program, plan).latency_s
    assert latency == pytest.approx((74382 + 71516 + 72582) / 1.5e9, rel=0.02)


@pytest.mark.parametrize("name", ["mlp", "big", "scan"])
def test_without_the_buffer_assignment_only_the_offsets_are_our_own(name: str) -> None:
    slow, fast = FIXTURES / f"{name}_off.hlo", FIXTURES / f"{name}_on.hlo"
    program = import_hlo(slow, fast, "tpu-v5e")
    plan = plan_from_json(program.provenance["xla_plan"], "provenance")
    told = import_hlo(slow, fast, "tpu-v5e", FIXTURES / f"{name}_on.buffers.txt")
    known = plan_from_json(told.provenance["xla_plan"], "provenance")
    assert check(program, plan) is None
    assert plan.is_fast == known.is_fast
    assert simulate(program, plan).latency_s == pytest.approx(simulate(told, known).latency_s)
    assert plan.notes["left_out_saving_share"] == 0.0
    assert plan.notes["offsets"].startswith("packed anew")
    assert "offsets" not in known.notes


def test_the_buffer_assignment_of_another_compile_is_refused() -> None:
    with pytest.raises(ProgramFormatError, match="it is of another compile: leave it out"):
        import_hlo(SLOW, FAST, "tpu-v5e", FIXTURES / "scan_on.buffers.txt")


def test_a_dump_of_another_chip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramFormatError, match=r"tpu-v4: it has values in VMEM.*--hardware"):
        import_hlo(SLOW, FAST, "tpu-v4")
    text = SLOW.read_text()
    split = tmp_path / "split.hlo"
    split.write_text(text.replace('"window_config"', '"megacore_config":{},"window_config"'))
    with pytest.raises(ProgramFormatError, match="tpu-v5e: its instructions are split"):
        import_hlo(split, None, "tpu-v5e")
    assert import_hlo(split, None, "tpu-v5p").num_slots == 3
    large = tmp_path / "large.hlo"
    large.write_text(re.sub(r'("offset":"0","size":)"\d+"', rf'\1"{20 * 2**20}"', text))
    with pytest.raises(ProgramFormatError, match="of scratch"):
        import_hlo(large, None, "tpu-v5e")
    assert import_hlo(large, None, "tpu-v6e").num_slots == 3


def test_a_pair_of_different_programs_is_refused() -> None:
    with pytest.raises(
        ProgramFormatError, match="not a compile of the same program: it has 0 of 3"
    ):
        import_hlo(SLOW, FIXTURES / "scan_on.hlo", "tpu-v5e")


def test_a_pair_without_cycles_is_refused(cpu_dump: Path) -> None:
    with pytest.raises(ProgramFormatError, match="states no cycles"):
        import_hlo(cpu_dump, cpu_dump, "tpu-v5e")


@pytest.fixture
def placed(tmp_path: Path) -> tuple[Path, Path]:
    """The pair as the TPU's compiler dumps it before it has estimated anything."""
    paths = tmp_path / "slow.after_optimizations.txt", tmp_path / "fast.after_optimizations.txt"
    for source, path in zip((SLOW, FAST), paths, strict=True):
        path.write_text(re.sub(r',?"estimated_cycles":"\d+"', "", source.read_text()))
    return paths


def test_a_dump_of_the_tpu_without_cycles_says_which_one_has_them(
    placed: tuple[Path, Path],
) -> None:
    slow, fast = placed
    (remark,) = import_remarks(import_hlo(slow, None, "tpu-v5e"))
    assert "after_codegen.txt" in remark
    assert "CPU" not in remark and "padding" not in remark
    for pair in ((slow, fast), (slow, FAST), (SLOW, fast)):
        with pytest.raises(ProgramFormatError, match=r"states no cycles.*after_codegen\.txt"):
            import_hlo(*pair, "tpu-v5e", BUFFERS)


def test_unknown_hardware_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="tpu-v5x"):
        import_hlo(tmp_path / "missing.hlo", None, "tpu-v5x")


def test_which_chip_a_dump_is_of_must_be_said_as_it_does_not_name_it() -> None:
    given: dict[str, Any] = {}
    with pytest.raises(TypeError, match="hardware"):
        mallocmuzero.import_hlo(SLOW, FAST, **given)
    named = mallocmuzero.import_hlo(SLOW, FAST, hardware="tpu-v5e")
    assert named == import_hlo(SLOW, FAST, "tpu-v5e")


def test_a_program_can_be_read_whatever_its_files_are_called(tmp_path: Path) -> None:
    """Names of files are bytes, which need be no text."""
    slow, fast, csv = (tmp_path / os.fsdecode(name) for name in (b"a\xff.h", b"b\xff.h", b"c\xff"))
    shutil.copy(SLOW, slow)
    shutil.copy(FAST, fast)
    csv.write_text("id,lower,upper,size\nx,0,3,4\n")
    for program in (import_hlo(slow, fast, "tpu-v5e"), import_minimalloc(csv, 2**20)):
        save(program, tmp_path / "p.json")
        assert load(tmp_path / "p.json") == program


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramFormatError, match=r"missing\.hlo: cannot be read"):
        import_hlo(tmp_path / "missing.hlo", None, "tpu-v5e")


def test_a_dump_of_the_gpu_compiler(tmp_path: Path) -> None:
    """Library calls, asynchronous collectives and host copies as the GPU compiler writes them."""
    path = tmp_path / "gpu.hlo"
    path.write_text(
        module(
            """  a = f32[256,256]{1,0} parameter(0)
  b = f32[256,256]{1,0} parameter(1)
  g = (f32[256,256]{1,0}, s8[4194304]{0}) custom-call(a, b), custom_call_target="__cublas$gemm",
    backend_config={"gemm_backend_config":{"dot_dimension_numbers":
    {"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}
  x = f32[256,256]{1,0} get-tuple-element(g), index=0
  s = f32[256,256]{1,0} all-reduce-start(x), replica_groups={}, to_apply=%sum
  y = f32[256,256]{1,0} fusion(a), kind=kLoop, calls=%exponential
  d = f32[256,256]{1,0} all-reduce-done(s)
  ROOT z = f32[256,256]{1,0} add(d, y)""",
            "%sum\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] add(p, q)",
            "%exponential\n  p = f32[256,256]{1,0} parameter(0)\n"
            "  ROOT e = f32[256,256]{1,0} exponential(p)",
        )
    )
    program = import_hlo(path, None, "generic")
    assert [i.name for i in program.instructions] == ["g", "s", "y", "z"]
    # 2 * 256**3 operations at 1e12 per second, and 4.8 MB that take less than that in fast memory.
    product = program.instructions[0]
    assert product.fast_s >= 2 * 256**3 / 1e12
    assert all(a.saving_s >= 0 for a in program.accesses)


@pytest.mark.parametrize("name", ["mlp", "big", "scan"])
@pytest.mark.parametrize("second", ["on", "off"])
def test_a_pair_whose_first_dump_has_values_in_fast_memory_is_refused(
    name: str, second: str
) -> None:
    """A default compile in place of the all-slow one: swapped, or twice the same."""
    first = FIXTURES / f"{name}_on.hlo"
    with pytest.raises(ProgramFormatError, match=r"_on\.hlo: has values in fast memory.* --slow"):
        import_hlo(first, FIXTURES / f"{name}_{second}.hlo", "tpu-v5e")


@pytest.mark.parametrize("name", ["mlp", "big", "scan"])
def test_what_a_dump_alone_has_in_fast_memory_is_not_credited_again(name: str) -> None:
    dump = FIXTURES / f"{name}_on.hlo"
    program = import_hlo(dump, None, "tpu-v5e")
    stated = [int(count) for count in re.findall(r'"estimated_cycles":"(\d+)"', dump.read_text())]
    own = import_hlo(dump, None, "tpu-v5e", FIXTURES / f"{name}_on.buffers.txt")
    plan = plan_from_json(own.provenance["xla_plan"], "provenance")
    assert check(own, plan) is None
    # Of a copy in flight nothing is stated, and it takes no time of the schedule.
    at_work = (one for one in own.instructions if one.opcode != "copy-start")
    times = [own.multiplicity(instruction.level) for instruction in at_work]
    took = simulate(own, plan)
    assert took.compute_s * own.hardware.clock_hz == pytest.approx(
        sum(cycles * often for cycles, often in zip(stated, times, strict=True)), rel=1e-6
    )
    fast = [a for a, is_fast in zip(program.accesses, plan.is_fast, strict=True) if is_fast]
    assert any(access.saving_s > 0 for access in fast)
    saved_s = sum(access.saving_s for access in fast)
    rest_s = sum(access.saving_s for access in program.accesses) - saved_s
    assert program.all_slow_s == pytest.approx(took.compute_s + saved_s)
    assert program.all_fast_s == pytest.approx(took.compute_s - rest_s)
    pair = import_hlo(FIXTURES / f"{name}_off.hlo", dump, "tpu-v5e")
    assert program.all_fast_s >= pair.all_fast_s * (1 - 1e-6)


def test_that_a_dump_alone_has_values_in_fast_memory_is_said() -> None:
    (remark,) = import_remarks(import_hlo(FAST, None, "tpu-v5e"))
    assert "7 of its 9 uses of values" in remark
    assert import_remarks(import_hlo(SLOW, None, "tpu-v5e")) == []


def test_a_buffer_assignment_of_an_all_slow_dump_alone_is_refused() -> None:
    with pytest.raises(UsageError, match="give --fast"):
        import_hlo(SLOW, None, "tpu-v5e", BUFFERS)
