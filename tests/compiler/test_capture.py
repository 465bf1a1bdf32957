"""Placements kept out of a fit, options that make placements differ, and programs of a user's."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from engine.compiler import raw
from engine.compiler.capture import (
    _calibrated,
    capture,
    capture_stablehlo,
    is_trusted,
    observations,
)
from engine.compiler.compile import Compiled
from engine.compiler.observations import structure_hash
from engine.compiler.raw import DEFAULT, MAX_PLACEMENTS, SLOW, placements
from engine.compiler.refit import refitted
from engine.errors import UnknownNameError
from engine.program.hlo.flow import Flow
from tests.program.hlo.modules import A, flow, imported, module

FAST = "f32[64,128]{1,0:S(1)}"
NO_EARLY = "xla_msa_max_cross_program_prefetches"


def text(cycles: int, first: str = A, second: str = A) -> str:
    """A program of one addition, with its operands in the given memories."""
    return module(
        f"""  a = {first} parameter(0)
  b = {second} parameter(1)
  ROOT c = A add(a, b), backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}"""
    )


def both_fast(cycles: int) -> Flow:
    return flow(text(cycles, FAST, FAST))


def test_a_kept_out_placement_is_unknown_to_the_fit_under_any_name() -> None:
    flows = {
        DEFAULT: flow(text(700, first=FAST)),
        "varied-1": flow(text(600, second=FAST)),
        "varied-2": both_fast(200),
    }
    _, fit, held_out = _calibrated(imported(text(900)), flows)
    # 900 - 200 - 300 = 400 cycles are foretold where the compiler says 200.
    assert held_out == ["varied-2"]
    assert fit.errors == pytest.approx([1.0], abs=0.01)
    twins = {**flows, "varied-3": both_fast(200), "varied-4": both_fast(200)}
    _, fit, held_out = _calibrated(imported(text(900)), twins)
    assert held_out == ["varied-2"]
    assert fit.errors == pytest.approx([1.0], abs=0.01)


@pytest.mark.parametrize("hardware", ["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"])
def test_placements_differ_by_their_options(hardware: str) -> None:
    found = dict(placements(MAX_PLACEMENTS, hardware))
    assert list(found)[:2] == [SLOW, DEFAULT]
    assert found[DEFAULT] == {}
    assert len({str(options) for options in found.values()}) == MAX_PLACEMENTS
    without = [options.get(NO_EARLY) for options in found.values()].count("0")
    assert without == (11 if hardware == "tpu-v5p" else 0)


class FakeCompiler:
    """Answers in place of the real one: an addition whose operands are fast as the options say."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, str]] = []
        self.limit = 1000

    def __call__(
        self, stablehlo: bytes, hardware: str, options: Mapping[str, str] | None = None
    ) -> Compiled:
        if len(self.asked) == self.limit:
            raise KeyboardInterrupt
        options = options or {}
        self.asked.append(options)
        number = 0 if options == {"xla_msa_enable": "DISABLED"} else len(self.asked) % 3 + 1
        first, second = (FAST if number & bit else A for bit in (1, 2))
        cycles = 9000 - 2000 * (number & 1) - 1500 * (number & 2) - len(self.asked)
        return Compiled(text(cycles, first, second), buffers="", live_ranges="")


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    fake = FakeCompiler()
    monkeypatch.setattr(raw, "compile_full", fake)
    return fake


def quiet(_: str) -> None:
    pass


def test_a_program_of_a_user_keeps_its_source_and_goes_on_where_it_stopped(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    compiler.limit = 5
    with pytest.raises(KeyboardInterrupt):
        capture_stablehlo(b"source", "../my net", "tpu-v5e", tmp_path, quiet)
    compiler.limit = 1000
    program = capture_stablehlo(b"source", "../my net", "tpu-v5e", tmp_path, quiet)
    asked = [str(options) for options in compiler.asked]
    assert len(set(asked)) == len(asked) >= raw.MIN_PLACEMENTS
    assert program.name == "../my net"
    assert program.hardware.name == "tpu-v5e"
    stored = base64.b64decode(program.provenance["stablehlo_gzip_base64"])
    assert gzip.decompress(stored) == b"source"
    assert [p.parent for p in tmp_path.iterdir()] == [tmp_path]
    capture_stablehlo(b"another", "../my net", "tpu-v5e", tmp_path, quiet)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_observations_of_a_capture_give_its_costs_again(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    program = capture_stablehlo(b"source", "net", "tpu-v5e", tmp_path, quiet)
    found = observations(next(tmp_path.iterdir()), program)
    assert found.structure == structure_hash(program)
    assert len(found.compiles) == len(program.provenance["placements"]) - 1
    again = refitted(program, found)
    assert again.accesses == program.accesses
    assert again.instructions == program.instructions


@pytest.mark.parametrize(
    ("errors", "trusted"), [([], False), ([0.09, 0.0], True), ([0.0, -0.05], False)]
)
def test_only_what_takes_longer_than_foretold_is_held_against_the_costs(
    errors: list[float], trusted: bool
) -> None:
    program = imported(text(900)).program
    fit = {"fit": {"held_out_errors": errors}}
    assert is_trusted(replace(program, provenance=fit)) is trusted


def test_a_jitted_function_is_captured_as_its_export(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    import jax
    import jax.numpy as jnp

    from engine.compiler.toolchain import exported_module

    @jax.jit
    def doubled(x: jax.Array, *, times: jax.Array) -> jax.Array:
        return x * times

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    program = capture(doubled, shape, times=shape, hardware="tpu-v5e", raw=tmp_path)
    stored = gzip.decompress(base64.b64decode(program.provenance["stablehlo_gzip_base64"]))
    module = exported_module(stored)
    assert (module.name, module.platforms) == ("jit_doubled", ("tpu",))
    assert program.name == "doubled"


def test_unknown_hardware_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="generic"):
        capture_stablehlo(b"source", "net", "generic", tmp_path, quiet)
    assert list(tmp_path.iterdir()) == []
