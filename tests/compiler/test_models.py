"""The zoo: what is written here traces from shapes alone; models of full depth have their size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import export

from engine.compiler.capture.samples import (
    FEATURES,
    HELD_OUT,
    LARGE,
    REAL,
    SAMPLES,
    Sample,
    sample_source,
)
from engine.compiler.models import UnsupportedModeError, build, known_models
from engine.compiler.models.image import _KERAS_NETS
from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.libtpu import ENVIRONMENT, exported_module
from engine.compiler.toolchain.stablehlo import exported
from engine.errors import UsageError

WRITTEN = sorted(set(known_models()) - {net.name for net in _KERAS_NETS})
PUBLISHED = {
    "bertbase": 110e6,
    "bertlarge": 335e6,
    "gpt2": 124e6,
    "gpt2medium": 355e6,
    "t5base": 223e6,
    "vitlarge": 304e6,
}
"""Parameters, as their papers count them."""

DEEP = (*PUBLISHED, "unetfull", "alphatensorfull")
"""The same as others, of full depth: seconds to trace."""


def num_parameters(model: str) -> int:
    parameters = build(model, 1, train=False).args[0]
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(parameters))


# A training step has the inference in it.
@pytest.mark.parametrize(
    "train",
    [
        pytest.param(False, id="inference", marks=pytest.mark.nightly),
        pytest.param(True, id="training"),
    ],
)
@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=pytest.mark.nightly if m in DEEP else ()) for m in WRITTEN]
)
def test_models_written_here_trace_from_shapes_alone(model: str, train: bool) -> None:
    try:
        workload = build(model, 2, train)
    except UnsupportedModeError:
        assert build(model, 2, not train).name == model
        return
    results = jax.eval_shape(workload.fn, *workload.args)
    assert jax.tree.leaves(results)
    # A training step gives back what it was donated: parameters and the optimiser's state.
    for position, argument in enumerate(workload.donate_argnums if train else ()):
        assert jax.tree.map(lambda leaf: leaf.shape, results[position]) == jax.tree.map(
            lambda leaf: leaf.shape, workload.args[argument]
        )


@pytest.mark.parametrize("model", PUBLISHED)
def test_models_of_full_depth_have_their_published_size(model: str) -> None:
    assert num_parameters(model) == pytest.approx(PUBLISHED[model], rel=0.02)


def test_an_exported_program_names_no_path_of_the_machine() -> None:
    found, facts = sample_source(Sample("mlpae", "tpu-v5e", 2))
    assert b".py" not in found
    assert b"dot_general" in found, "what an operation was in the model is still told"
    assert sample_source(Sample("mlpae", "tpu-v5e", 2)) == (found, facts)


def test_every_program_that_is_captured_is_of_a_known_model() -> None:
    captured = (*SAMPLES, *HELD_OUT, *LARGE, *REAL)
    assert {sample.model for sample in captured} <= set(known_models())
    assert len({sample.name for sample in captured}) == len(captured)


def test_real_programs_have_every_feature_twice_on_four_generations_half_held_out() -> None:
    assert len(REAL) >= 16
    assert sum(sample.is_held_out for sample in REAL) == len(REAL) // 2
    for feature in FEATURES:
        found = [sample.is_held_out for sample in REAL if sample.feature == feature]
        assert set(found) == {True, False}
    assert len({sample.hardware for sample in REAL}) >= 4


EXPORTING = """
import os, sys, jax, mallocmuzero
mallocmuzero.export_program(jax.jit(lambda x, y: x + y), 2.0, y=3.0, path=sys.argv[1])
"""
BUILDING = """
import os, sys
from pathlib import Path
from engine.compiler.capture.samples import Sample, sample_source
Path(sys.argv[1]).write_bytes(sample_source(Sample("xception", "tpu-v5e", 1))[0])
"""


@pytest.mark.parametrize("code", [EXPORTING, pytest.param(BUILDING, marks=pytest.mark.nightly)])
def test_a_program_is_exported_without_touching_the_callers_environment(
    tmp_path: Path, code: str
) -> None:
    """Importing jax or Gymnasium may change it; what we do may not."""
    watched = (
        "import os, jax, mallocmuzero\nbefore = dict(os.environ)\n"
        f"{code}\nassert dict(os.environ) == before"
    )
    path = tmp_path / "step"
    taken = {name: value for name, value in os.environ.items() if name not in ENVIRONMENT}
    taken.pop("KERAS_BACKEND", None)
    command = [sys.executable, "-c", watched, str(path)]
    subprocess.run(command, env={**taken, "JAX_PLATFORMS": "cpu"}, check=True)
    assert exported_module(path.read_bytes()).platforms == ("tpu",)


def test_jax_of_our_processes_keeps_to_the_cpu_unless_the_user_says_more() -> None:
    code = (
        "import jax\nfrom engine.compiler.toolchain.libtpu import use_cpu_here\nuse_cpu_here()\n"
        "print(jax.config.jax_platforms)"
    )
    taken = {name: value for name, value in os.environ.items() if name not in ENVIRONMENT}
    for platforms, used in (("", "cpu"), ("cuda,cpu", "cuda,cpu")):
        environment = {**taken, "JAX_PLATFORMS": platforms}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == used


def test_what_jit_did_not_make_is_no_program() -> None:
    with pytest.raises(UsageError, match=r"jax\.jit"):
        exported(lambda x: x, 1.0)


def test_compiler_options_given_to_jit_are_refused_as_an_export_holds_none() -> None:
    given = {"xla_tpu_scoped_vmem_limit_kib": "24576"}
    jitted = jax.jit(lambda x: x + 1, compiler_options=given)
    with pytest.raises(UsageError, match=r"vmem_limit_kib.*give them as compiler_options") as told:
        exported(jitted, 2.0)
    assert "\n" not in str(told.value)


def test_a_function_that_calls_back_to_python_is_refused_in_one_line() -> None:
    def noisy(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x)
        return x + 1

    with pytest.raises(UsageError, match=r"debug\.print") as told:
        exported(jax.jit(noisy), 2.0)
    assert "\n" not in str(told.value)


def test_containers_that_jax_has_no_name_for_are_listed_flat() -> None:
    """As an Optax state, which every training step of a user has."""
    optimizer = optax.adamw(1e-3)

    def step(weights: Any, state: Any) -> tuple[Any, Any]:
        updates, state = optimizer.update(weights, state, weights)
        return optax.apply_updates(weights, updates), state

    weights = {"w": jax.ShapeDtypeStruct((128, 256), jnp.float32)}
    state = jax.eval_shape(optimizer.init, weights)
    found = exported(jax.jit(step, donate_argnums=(0, 1)), weights, state)
    module = exported_module(found)
    assert (module.name, module.platforms) == ("jit_step", ("tpu",))
    described = export.deserialize(bytearray(found))
    assert [a.shape for a in described.in_avals] == [(128, 256), (), (128, 256), (128, 256)]
    assert len(described.out_avals) == 4


@pytest.mark.parametrize(("has_plugin", "has_gpu"), [(True, True), (True, False), (False, True)])
def test_training_keeps_to_a_gpu_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_plugin: bool, has_gpu: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(libtpu, "_use", asked.append)
    monkeypatch.setattr(libtpu, "find_spec", lambda name: name if has_plugin else None)
    monkeypatch.setattr(libtpu, "_GPU", tmp_path if has_gpu else tmp_path / "none")
    libtpu.use_no_tpu_here()
    assert asked == ["cuda,cpu" if has_plugin and has_gpu else "cpu"]
