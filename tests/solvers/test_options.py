"""Options that a solver does not know are refused, by all solvers, and before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mallocmuzero
from engine.errors import ConfigError, EngineError, UsageError
from engine.hardware.what_if import WhatIf, derive
from engine.program.library import load_sample
from engine.solvers import SOLVERS, Budget, solve
from tests.strategies import random_program


@pytest.mark.parametrize("name", [s.name for s in SOLVERS.values() if s.options is not None])
def test_every_solver_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} has no option 'no_such'"):
        solve(name, load_sample("teach-prefetch"), Budget(0.0, options={"no_such": 1}))


def test_near_names_are_told() -> None:
    program = load_sample("teach-prefetch")
    with pytest.raises(ConfigError, match="near it: simulations"):
        mallocmuzero.solve(program, "muzero", simulation=5)
    with pytest.raises(ConfigError, match="near it: seconds"):
        mallocmuzero.solve(program, "greedy", second=5)
    with pytest.raises(ConfigError, match="it has none"):
        mallocmuzero.solve(program, "greedy", colour="red")
    with pytest.raises(ConfigError, match="it knows start, moves"):
        mallocmuzero.solve(program, "local", colour="red")


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("local", "moves", "many"),
        ("local", "moves", True),
        ("local", "start", "plan.json"),
        ("steered", "orders", 2.5),
        ("muzero", "simulations", "8"),
        ("portfolio", "members", "greedy"),
    ],
)
def test_values_of_another_kind_are_refused(name: str, option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name}: {option} cannot be"):
        solve(name, random_program(1, 8), Budget(0.0, options={option: value}))


@pytest.mark.parametrize(("name", "option"), [("steered", "orders"), ("portfolio", "processes")])
@pytest.mark.parametrize("number", [0, -1])
def test_fewer_than_one_is_refused(name: str, option: str, number: int) -> None:
    with pytest.raises(ConfigError, match=f"{name}: {number} {option}; name at least one"):
        mallocmuzero.solve(load_sample("teach-prefetch"), name, **{option: number})


@pytest.mark.parametrize(
    ("option", "value"),
    [("model", "nonsense"), ("simulations", -5), ("checkpoint", "/no/such"), ("algorithm", "best")],
)
def test_the_agent_refuses_them_where_nothing_is_decided_too(option: str, value: Any) -> None:
    program = load_sample("teach-keep-or-drop")
    program = derive(program, WhatIf(fast_bytes=program.hardware.alignment), "cramped")
    assert solve("muzero", program, Budget(0.0)).solver == "muzero"
    with pytest.raises(EngineError, match=f"{value}"):
        solve("muzero", program, Budget(0.0, options={option: value}))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300])
def test_seconds_that_there_are_not_are_refused(seconds: float) -> None:
    with pytest.raises(ConfigError, match="name a number from 0"):
        Budget(seconds)
    with pytest.raises(ConfigError, match="name a number from 0"):
        mallocmuzero.bound(load_sample("teach-prefetch"), seconds)


@pytest.mark.parametrize("target_s", [-1.0, float("nan")])
def test_a_target_that_no_plan_has_is_refused(target_s: float) -> None:
    with pytest.raises(UsageError, match="target_s"):
        mallocmuzero.bound(load_sample("teach-prefetch"), method="mip", target_s=target_s)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_that_jax_cannot_take_are_refused(seed: int) -> None:
    assert Budget(seed=2**63 - 1).seed == 2**63 - 1
    with pytest.raises(ConfigError, match=f"seed {seed}"):
        Budget(seed=seed)


@pytest.mark.parametrize("seed", [1.5, "3", None, np.array([1, 2])])
def test_seeds_that_are_no_whole_numbers_are_refused(seed: Any) -> None:
    with pytest.raises(ConfigError, match="name a whole number from 0"):
        Budget(seed=seed)


@pytest.mark.parametrize("seconds", ["3", None, 3j])
def test_seconds_that_are_no_numbers_are_refused(seconds: Any) -> None:
    with pytest.raises(ConfigError, match="name a number from 0"):
        Budget(seconds)


def test_whole_numbers_of_another_library_count_as_ours(tmp_path: Path) -> None:
    program = load_sample("teach-prefetch")
    options = {"moves": np.int64(5)}
    plan = mallocmuzero.solve(program, "local", np.float32(1), seed=np.int64(3), **options)
    mallocmuzero.save(plan, tmp_path / "plan.json")
    assert mallocmuzero.load(tmp_path / "plan.json").notes["seed"] == 3
    assert plan == mallocmuzero.load(tmp_path / "plan.json")


def test_none_counts_as_not_given() -> None:
    program = load_sample("teach-prefetch")
    assert solve("local", program, Budget(0.0, options={"start": None, "moves": 3})).notes


def test_options_that_are_none_count_as_not_given() -> None:
    assert Budget(1.0, options={"simulations": None, "model": "learned"}).options == {
        "model": "learned"
    }
