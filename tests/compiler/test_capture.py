"""From the compiler's answers to a program, and programs of a user's."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from engine.compiler.capture.capture import (
    Capturing,
    Source,
    capture,
    capture_source,
    capture_stablehlo,
    is_trusted,
)
from engine.compiler.costs.observations import structure_hash
from engine.compiler.costs.refit import refitted
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.libtpu import results as answers
from engine.errors import CompilerError, UnknownNameError
from engine.plan.check import check
from engine.plan.io import plan_from_json
from engine.program.io import content_hash
from engine.solvers import Budget, solve
from tests.compiler.tiny_compiler import TinyCompiler, hlo
from tests.program.hlo.modules import imported

SOURCE = Source("../my net", "tpu-v5e", b"source")


class Interrupted(TinyCompiler):
    """The tiny compiler in place of both kinds of compiles; ends after `limit` whole ones."""

    limit = 1000

    def compile_full(self, stablehlo: bytes, hardware: str, options: Mapping[str, str]) -> Compiled:
        if len(self.whole) == self.limit:
            raise KeyboardInterrupt
        return self.full(options)

    def compile_early(
        self, stablehlo: bytes, hardware: str, options: Mapping[str, str]
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
    assert [p.parent for p in tmp_path.iterdir()] == [tmp_path]
    capture_stablehlo(replace(SOURCE, stablehlo=b"another"), how(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


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
    assert is_trusted(replace(program, provenance=fit)) is trusted


def test_a_jitted_function_is_captured_as_its_export(tmp_path: Path, compiler: Interrupted) -> None:
    import jax
    import jax.numpy as jnp

    from engine.compiler.toolchain.libtpu import exported_module

    @jax.jit
    def doubled(x: jax.Array, *, times: jax.Array) -> jax.Array:
        return x * times

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    program = capture(doubled, shape, times=shape, hardware="tpu-v5e", how=how(tmp_path))
    stored = gzip.decompress(base64.b64decode(program.provenance["stablehlo_gzip_base64"]))
    module = exported_module(stored)
    assert (module.name, module.platforms) == ("jit_doubled", ("tpu",))
    assert program.name == "doubled"


def test_unknown_hardware_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="generic"):
        capture_stablehlo(replace(SOURCE, hardware="generic"), how(tmp_path))
    assert list(tmp_path.iterdir()) == []
