"""From the compiler's answers to a program, and programs of a user's."""

from __future__ import annotations

import base64
import gzip
import os
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.capture import study
from engine.compiler.capture.capture import (
    ANSWERS,
    Capturing,
    Source,
    capture,
    capture_source,
    capture_stablehlo,
)
from engine.compiler.costs.observations import structure_hash
from engine.compiler.costs.refit import refitted
from engine.compiler.reading.own_compile import (
    refuse_other_region,
    scratch_region,
    stored_answers,
    stored_stablehlo,
)
from engine.compiler.toolchain import results as answers
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.target import Target, target_of
from engine.errors import CompilerError, ProgramFormatError, UnknownNameError, UsageError
from engine.hardware.presets import find_device
from engine.plan.check import check
from engine.plan.io import plan_from_json
from engine.program.counts import Counts, given_counts
from engine.program.hlo.build import build_program
from engine.program.io import content_hash, from_json, load, save, to_json
from engine.program.model import Program
from engine.program.prices import Price
from engine.program.provenance import SCRATCH_REGION, fit_remark, is_trusted
from engine.solvers import Budget, solve
from tests.compiler.tiny_compiler import TinyCompiler, hlo
from tests.program.hlo.modules import HARDWARE, decoded, imported, module

pytestmark = pytest.mark.usefixtures("parsed_here")

FLAGGED = Target(
    "tpu-v5e", options={"xla_tpu_scoped_vmem_limit_kib": "24576"}, init_args="--xla_a=1"
)
SOURCE = Source("../my net", Target("tpu-v5e"), b"source")


class Interrupted(TinyCompiler):
    """The tiny compiler in place of both kinds of compiles; ends after `limit` whole ones."""

    limit = 1000

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Target, Mapping[str, str]]] = []

    def compile_full(
        self, stablehlo: bytes, target: Target, options: Mapping[str, str]
    ) -> Compiled:
        if len(self.whole) == self.limit:
            raise KeyboardInterrupt
        self.asked.append((target, options))
        return self.full(options)

    def compile_early(
        self, stablehlo: bytes, target: Target, options: Mapping[str, str]
    ) -> Compiled:
        return self.early(options)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Interrupted:
    fake = Interrupted()
    monkeypatch.setattr(answers, "compile_full", fake.compile_full)
    monkeypatch.setattr(answers, "compile_early", fake.compile_early)
    return fake


def how(folder: Path, is_offline: bool = False) -> Capturing:
    return Capturing(
        [lambda program: solve("density", program, Budget(seconds=5.0))], folder, 8, is_offline
    )


@pytest.mark.nightly
def test_a_program_of_a_user_keeps_its_source_and_goes_on_where_it_stopped(
    tmp_path: Path, compiler: Interrupted
) -> None:
    compiler.limit = 3
    with pytest.raises(KeyboardInterrupt):
        capture_stablehlo(SOURCE, how(tmp_path))
    compiler.limit = 1000
    program = capture_stablehlo(SOURCE, how(tmp_path))
    asked = [str(options) for options in compiler.whole]
    assert len(set(asked)) == len(asked) == len(program.provenance["placements"]) > 3
    assert program.name == "../my net"
    assert program.hardware.name == "tpu-v5e"
    stored = base64.b64decode(program.provenance["stablehlo_gzip_base64"])
    assert gzip.decompress(stored) == b"source"
    (own,) = {p.name for p in tmp_path.iterdir()} - {"answers"}
    assert "/" not in own and own.startswith(".._my_net")
    few = replace(how(tmp_path), compiles=1)
    capture_stablehlo(replace(SOURCE, stablehlo=b"another"), few)
    capture_stablehlo(replace(SOURCE, target=FLAGGED), few)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_program_can_be_worked_with_after_two_compiles(
    tmp_path: Path, compiler: Interrupted
) -> None:
    written: list[Program] = []
    program = capture_stablehlo(SOURCE, replace(how(tmp_path), keep=written.append))
    refined = [one.provenance["refining"]["compiles"] for one in written]
    assert refined == list(range(1, len(compiler.whole)))
    assert "refining" not in program.provenance
    first = written[0]
    assert first.name == program.name
    assert {a.uncertainty_s > 0 for a in first.accesses} == {True, False}
    plan = plan_from_json(first.provenance["xla_plan"], "here")
    assert check(first, plan) is None
    assert written[-1].accesses == program.accesses


def test_observations_that_cannot_be_written_end_no_capture(
    tmp_path: Path, compiler: Interrupted
) -> None:
    source, told = replace(SOURCE, name="net"), list[str]()
    (tmp_path / "net").touch()
    few = replace(how(tmp_path), compiles=2, may_double=False, note=told.append)
    _, found = capture_source(source, few)
    assert len(found.compiles) == 2
    assert any(line.startswith("net: not kept for the next time: ") for line in told)


@pytest.mark.nightly
def test_how_many_compiles_there_may_be_is_said_also_where_the_first_did_not_do(
    tmp_path: Path, compiler: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.compiler.capture.capture.is_trusted", lambda program: False)
    written: list[Program] = []
    capture_stablehlo(SOURCE, replace(how(tmp_path), compiles=2, keep=written.append))
    refining = [one.provenance["refining"] for one in written]
    assert refining[-1]["compiles"] > 2
    assert all(one["compiles"] <= one["of"] for one in refining)


def test_a_number_of_compiles_is_kept_to_where_it_may_not_be_doubled(
    tmp_path: Path, compiler: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.compiler.capture.capture.is_trusted", lambda program: False)
    few = replace(how(tmp_path), compiles=2, may_double=False)
    capture_stablehlo(SOURCE, few)
    assert len(compiler.whole) == 1 + 2


@pytest.mark.nightly
def test_captures_under_other_flags_learn_nothing_from_each_other(
    tmp_path: Path, compiler: Interrupted
) -> None:
    """Though the program be the same; other counts of loops ask for no other compile."""
    plain = replace(SOURCE, name="net")
    flagged = replace(plain, target=Target("tpu-v5e", options={"xla_a": "1"}))
    for source in (plain, flagged):
        capture_source(source, how(tmp_path))
    asked = [
        [options for target, options in compiler.asked if target == source.target]
        for source in (plain, flagged)
    ]
    assert asked[0] == asked[1]
    assert len(asked[0]) > 2
    folders = sorted({path.name for path in tmp_path.iterdir()} - {"answers"})
    assert folders[0] == "net" and folders[1].startswith("net-") and len(folders) == 2


BRANCHING = module(
    """  a = A parameter(0)
  n = s32[] parameter(1)
  b = A custom-call(a), custom_call_target="x", backend_config=CONFIG
  c = A conditional(n, b, b), branch_computations={%one, %two}
  ROOT d = A exponential(c)""",
    "%one\n  p1 = A parameter(0)\n  ROOT e1 = A abs(p1)",
    "%two\n  p2 = A parameter(0)\n  ROOT e2 = A tanh(p2)",
).replace("CONFIG", '{"window_config":{"estimated_cycles":"900"}}')


def test_shares_of_branches_are_captured_and_unknown_ones_refused(
    tmp_path: Path, compiler: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "full", lambda options: Compiled(BRANCHING, ""))
    monkeypatch.setattr(compiler, "early", lambda options: Compiled(BRANCHING, "", is_full=False))
    counts = Counts(shares={"c": (0.9, 0.1)})
    few = replace(how(tmp_path), compiles=1)
    program = capture_stablehlo(replace(SOURCE, target=Target("tpu-v5e", counts=counts)), few)
    assert [region.multiplicity for region in program.regions] == [0.9, 0.1]
    assert given_counts(program).shares == {"c": [0.9, 0.1]}
    other = Target("tpu-v5e", counts=Counts(shares={"d": (0.9, 0.1)}))
    with pytest.raises(UsageError, match="no conditional called 'd'; it has c"):
        capture_stablehlo(replace(SOURCE, target=other), few)
    assert len({path.name for path in tmp_path.iterdir()}) == 2


def test_a_capture_with_other_counts_works_the_waits_out_anew(
    tmp_path: Path, compiler: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what the compiler answered; where that is not kept, they are not known."""
    monkeypatch.setattr(
        study, "stall_cycles", lambda imported, *_: 100 * imported.program.regions[0].multiplicity
    )
    monkeypatch.setattr(compiler, "full", lambda options: Compiled(BRANCHING, ""))
    monkeypatch.setattr(compiler, "early", lambda options: Compiled(BRANCHING, "", is_full=False))
    source, few = replace(SOURCE, name="net"), replace(how(tmp_path), compiles=1)
    seldom, often = (
        replace(source, target=Target("tpu-v5e", counts=Counts(shares={"c": shares})))
        for shares in ((0.1, 0.9), (0.9, 0.1))
    )
    for asked, waits in ((source, 50.0), (often, 90.0), (often, 90.0), (seldom, 10.0)):
        _, found = capture_source(asked, few)
        assert [one.stall_cycles for one in found.compiles] == [waits]
    for file in (tmp_path / ANSWERS).iterdir():
        file.unlink()
    _, found = capture_source(often, few)
    assert [one.stall_cycles for one in found.compiles] == [None]


def test_a_program_that_no_file_could_hold_is_refused_before_it_is_compiled(
    tmp_path: Path, compiler: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that a function encloses are part of its StableHLO, and hardly shrink."""
    monkeypatch.setattr("engine.compiler.reading.own_compile.MAX_PACKED", 2**20)
    weights = np.random.default_rng(0).bytes(2**20)
    with pytest.raises(ProgramFormatError, match=r"takes 1 MiB .* holds 1 MiB .* as arguments"):
        capture_stablehlo(replace(SOURCE, stablehlo=weights), how(tmp_path))
    assert compiler.whole == []


def test_stablehlo_in_a_program_is_unpacked_with_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes may stand for a GiB of zeros."""
    monkeypatch.setattr("engine.compiler.reading.own_compile.MAX_SOURCE_BYTES", 2**20)
    zeros = gzip.compress(bytes(2**26))
    packed = {"stablehlo_gzip_base64": base64.b64encode(zeros).decode()}
    program = replace(imported(hlo([])).program, provenance=packed)
    tracemalloc.start()
    with pytest.raises(ProgramFormatError, match="its StableHLO is larger than 1 MiB"):
        stored_stablehlo(program)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**23


def test_damaged_stablehlo_in_a_program_is_refused() -> None:
    whole = base64.b64encode(gzip.compress(b"source")).decode()
    program = imported(hlo([])).program
    for text in (whole[:8], "é", base64.b64encode(b"source").decode()):
        damaged = replace(program, provenance={"stablehlo_gzip_base64": text})
        with pytest.raises(ProgramFormatError, match="its StableHLO is damaged"):
            stored_stablehlo(damaged)
    kept = replace(program, provenance={"stablehlo_gzip_base64": whole})
    assert stored_stablehlo(kept) == b"source"


def test_a_program_remembers_the_flags_it_was_compiled_under(
    tmp_path: Path, compiler: Interrupted
) -> None:
    program = capture_stablehlo(replace(SOURCE, target=FLAGGED), replace(how(tmp_path), compiles=1))
    assert target_of(program) == FLAGGED
    assert {i.reserved_bytes for i in program.instructions} == {24576 * 2**10}
    more = target_of(program).with_flags({"xla_b": "2"}, "--c=3")
    assert more.options == {**FLAGGED.options, "xla_b": "2"}
    assert (more.init_args, more.with_flags({}, "").init_args) == ("--c=3", "--c=3")
    assert stored_answers(program, None).target == FLAGGED
    plain = capture_stablehlo(SOURCE, replace(how(tmp_path), compiles=1))
    assert target_of(plain) == SOURCE.target
    assert {i.reserved_bytes for i in plain.instructions} == {16 * 2**20}
    damaged = replace(program, provenance={**program.provenance, "compiler_options": {"a": 1}})
    with pytest.raises(ProgramFormatError, match="damaged"):
        target_of(damaged)


def test_a_compile_with_another_scratch_region_is_of_another_program(
    tmp_path: Path, compiler: Interrupted
) -> None:
    program = capture_stablehlo(SOURCE, replace(how(tmp_path), compiles=1))
    refuse_other_region(program, Compiled("", "", limits={"scoped_bytes": str(16 * 2**20)}))
    refuse_other_region(program, Compiled("", ""))
    with pytest.raises(CompilerError, match="xla_tpu_scoped_vmem_limit_kib=32768"):
        refuse_other_region(program, Compiled("", "", limits={"scoped_bytes": str(2**25)}))


def test_the_region_for_scratch_is_known_where_every_kernel_has_more() -> None:
    kernel = (
        '  ROOT k = A custom-call(a), custom_call_target="tpu_custom_call", backend_config='
        '{"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"262144"}]}'
    )
    made = build_program(
        decoded(module(f"  a = A parameter(0)\n{kernel}")),
        "kernels",
        HARDWARE,
        "kernels",
        reserved_bytes=2**16,
        pricing=lambda _: Price(1e-6),
    )
    program = replace(made.program, hardware=find_device("tpu-v5e").hardware)
    assert {i.reserved_bytes for i in program.instructions} == {2**18}
    assert scratch_region(program) == 2**16
    assert scratch_region(from_json(to_json(program), "again")) == 2**16
    refuse_other_region(program, Compiled("", "", limits={"scoped_bytes": str(2**16)}))
    with pytest.raises(CompilerError, match="captured with 64 KiB"):
        refuse_other_region(program, Compiled("", "", limits={"scoped_bytes": str(2**18)}))
    for damaged in ("16", -1, True, None):
        assert scratch_region(replace(program, provenance={SCRATCH_REGION: damaged})) == 2**18
    assert scratch_region(replace(program, provenance={})) == 2**18


def test_the_observations_of_a_capture_give_its_costs_again(
    tmp_path: Path, compiler: Interrupted
) -> None:
    program, found = capture_source(replace(SOURCE, name="net"), how(tmp_path))
    assert found.structure == structure_hash(program)
    assert len(found.compiles) == len(program.provenance["placements"]) - 1
    again = refitted(program, found)
    assert again.accesses == program.accesses
    assert again.instructions == program.instructions
    of_the_default = program.provenance["default_compile"]["compute_s"]
    bare = replace(program, provenance={})
    known = refitted(bare, found).provenance["default_compile"]
    assert known == {"compute_s": pytest.approx(of_the_default)}


def test_the_plan_of_the_default_compile_is_valid(tmp_path: Path, compiler: Interrupted) -> None:
    program, _ = capture_source(replace(SOURCE, name="net"), how(tmp_path))
    plan = plan_from_json(program.provenance["xla_plan"], "here")
    assert plan.program_hash == content_hash(program)
    assert check(program, plan) is None
    assert program.provenance["default_compile"]["compute_s"] > 0.0


def test_what_is_kept_is_assembled_without_a_compile(tmp_path: Path, compiler: Interrupted) -> None:
    source = replace(SOURCE, name="net")
    with pytest.raises(CompilerError, match="no answer"):
        capture_source(source, how(tmp_path, is_offline=True))
    program, _ = capture_source(source, how(tmp_path))
    compiler.limit = 0
    again, _ = capture_source(source, how(tmp_path, is_offline=True))
    assert again == program


@pytest.mark.parametrize(("worst", "trusted"), [(None, False), (0.0, True), (0.05, False)])
def test_a_program_whose_costs_a_good_placement_contradicts_is_not_trusted(
    worst: float | None, trusted: bool
) -> None:
    program = imported(hlo([])).program
    fit = {"fit": {"worst_held_out_error": worst}}
    captured = replace(program, provenance=fit)
    assert is_trusted(captured) is trusted
    assert (fit_remark(captured) is None) is trusted
    assert fit_remark(program) is None


def test_a_jitted_function_is_captured_as_its_export(tmp_path: Path, compiler: Interrupted) -> None:
    import jax
    import jax.numpy as jnp

    from engine.compiler.toolchain.libtpu import exported_module

    @jax.jit
    def doubled(x: jax.Array, *, times: jax.Array) -> jax.Array:
        return x * times

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    program = capture(
        doubled,
        shape,
        times=shape,
        target=Target("tpu-v5e"),
        how=how(tmp_path),
    )
    stored = gzip.decompress(base64.b64decode(program.provenance["stablehlo_gzip_base64"]))
    module = exported_module(stored)
    assert (module.name, module.platforms) == ("jit_doubled", ("tpu",))
    assert program.name == "doubled"


def test_a_program_can_be_read_whatever_it_is_called(tmp_path: Path, compiler: Interrupted) -> None:
    """As by a file whose name is no text."""
    few, written = replace(how(tmp_path), compiles=1), list[Program]()
    source = replace(SOURCE, name=os.fsdecode(b"net\xff"))
    program = capture_stablehlo(source, replace(few, keep=written.append))
    for one in (program, *written):
        save(one, tmp_path / "p.json")
        assert load(tmp_path / "p.json") == one
        assert one.name == r"net\udcff"


def test_unknown_hardware_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="generic"):
        capture_stablehlo(replace(SOURCE, target=Target("generic")), how(tmp_path))
    assert list(tmp_path.iterdir()) == []
