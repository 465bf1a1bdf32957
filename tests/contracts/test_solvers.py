"""Every registered solver on every kind of program: valid, judged, deterministic for its seed."""

from __future__ import annotations

from dataclasses import replace

import jax
import pytest

from engine.agent.checkpoint import Checkpoint, save_checkpoint
from engine.agent.network import init_params
from engine.errors import UnknownNameError
from engine.game.move_list import moves
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds import lower_bound
from engine.program import library
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
from engine.solvers import (
    SOLVERS,
    Budget,
    demonstrations,
    evolution,
    find,
    muzero,
    practice,
    registry,
)
from engine.solvers.evolution import COMPILE_S
from engine.solvers.registry import Solver
from engine.workflows.solver_contract import all_is_slow_where_nothing_fits, made, run_is_sound
from tests.agent.small import CONFIG
from tests.strategies import random_program, with_empty_input

SEEDS = (1, 2, 3)
STEPS = 12
MOVES = 300
ORDERS = 60


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers that start a process of their own run in this one; tests/solvers/test_apart.py has
    the process. Their own plans are asked for, not the quick one that may be better.
    """
    monkeypatch.setattr(Solver, "may_fall_back", lambda *_: False)
    for module in (evolution, muzero):
        monkeypatch.setattr(module, "is_child", lambda: True)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Options by solver: the agent's networks are small, since what they cost is not asked here."""
    folder = tmp_path_factory.mktemp("weights")
    params = init_params(jax.random.key(0), CONFIG.network)
    save_checkpoint(Checkpoint(params, CONFIG), folder)
    return {"muzero": {"checkpoint": str(folder)}}


SAMPLES = [e.name for e in library.index() if e.instructions <= 40]


def programs() -> list[Program]:
    """Generated programs with loops, aliases and an empty input, and the small sample programs."""
    generated = [random_program(seed, 40) for seed in SEEDS]
    empty = with_empty_input(generated[-1])
    return [*generated, empty, *(library.load_sample(name) for name in SAMPLES)]


def budget(name: str, weights: dict[str, dict[str, str]]) -> Budget:
    """Time for a few steps."""
    return Budget(seconds=0.1, seed=1, options=weights.get(name, {}))


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_plans_are_valid_and_no_slower_than_all_slow_with_stalls(
    name: str, weights: dict[str, dict[str, str]]
) -> None:
    # The agent compiles for each size of program: one here, which `test_the_seed_decides` shares.
    asked = programs()[:1] if name == "muzero" else programs()
    if name == "xla_compiled":
        asked = [program for program in asked if has_compiled_plan(program)]
    assert asked
    for program in asked:
        assert run_is_sound(name, program, budget(name, weights)) is None


@pytest.mark.nightly
def test_the_agents_plans_are_so_on_programs_of_all_sizes(
    weights: dict[str, dict[str, str]],
) -> None:
    for program in programs()[1:]:
        assert run_is_sound("muzero", program, budget("muzero", weights)) is None


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_where_nothing_fits_everything_is_slow(name: str) -> None:
    program = library.load_sample("teach-keep-or-drop")
    cramped = derive(program, WhatIf(fast_bytes=program.hardware.alignment), "cramped")
    assert not moves(cramped)
    broken = all_is_slow_where_nothing_fits(name, program, Budget(seconds=COMPILE_S, seed=1))
    if name == "xla_compiled":
        assert broken is not None and broken.startswith("cramped: no compiler plan came")
    else:
        assert broken is None


def limited(name: str, seed: int) -> Budget:
    """Ends after so many steps, however fast the machine is.

    `muzero` plays one round whatever its seconds. `evolution` plays in plain Python below
    `COMPILE_S`; tests/solvers/test_evolution.py has its generations. `local` makes as many moves
    between two looks at the clock as fit, so its moves are counted.
    """
    if name == "local":
        return Budget(1000.0, seed, options={"moves": MOVES})
    if name == "steered":
        return Budget(1000.0, seed, options={"orders": ORDERS})
    if name == "muzero":
        return Budget(0.0, seed)
    left = iter(range(STEPS))
    seconds = 0.99 * COMPILE_S if name == "evolution" else 1000.0
    return Budget(seconds, seed, progress=lambda share, word: next(left, None) is not None)


# What a portfolio finds depends on which process is faster.
@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"portfolio"}))
def test_the_seed_decides(
    name: str, weights: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second is enough for the bound, unless the machine is a dozen times slower than usual.
    for module in (demonstrations, practice):
        monkeypatch.setattr(module, "quick_bound", lambda program, _: lower_bound(program))
    # What the solver itself finds.
    monkeypatch.setattr(registry, "FIRST", ())
    # Of a size with those above, so that nothing more is compiled.
    # On most programs the agent's first game without noise is better than those with.
    program = random_program(17 if name == "muzero" else 22, 40)
    if name == "xla_compiled":
        program = next(library.load(e.path) for e in library.index() if e.xla_latency_s)
    budgets = [limited(name, seed) for seed in (3, 3, 4)]
    if name in weights:
        budgets = [replace(budget, options=weights[name]) for budget in budgets]
    outcomes = [made(name, program, budget) for budget in budgets]
    assert outcomes[0] == outcomes[1] != ()
    assert (outcomes[0] != outcomes[2]) == SOLVERS[name].uses_time


def test_unknown_solvers_name_their_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="greedy"):
        find("gredy")
