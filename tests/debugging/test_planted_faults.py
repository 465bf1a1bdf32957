"""Ten faults planted into a policy that plays perfectly: the inbox shows each in its first rows.

The agent plays one game by its own search; its regrets are all measured. A row is telling where it
would lead a person to the fault, and none of the healthy agent's rows does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.agent.checkpoint import load_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.network import Params
from engine.agent.search_again import untrained
from engine.agent.trace import trace_game
from engine.debugging.ab import duel
from engine.debugging.agent_games import Side, play_on, workload_of
from engine.debugging.counterfactual import POLICY, SEARCH, Forcing
from engine.debugging.findings import DRIFT, VALUE_JUMP, WRONG_PRIOR, Finding, findings, inbox
from engine.debugging.regret import BLUNDER, CLASSES, FEW_VISITS, MISTAKE, study_of
from engine.game.moves import ACTION_NAMES, COPY, COPY_OTHER, NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.simulate import simulate
from engine.program.io import load

FIRST = 5
DATA = Path(__file__).parents[1] / "data"
PROGRAM = load(DATA / "alexnet-v4-b24-played-perfectly.json.gz")
WEIGHTS = DATA / "plays-perfectly"
"""Weights shipped once, which play this program, with former costs, without a regret."""
Weights = NDArray[np.float32]

keep_compiled()


@cache
def healthy() -> Side:
    found = load_checkpoint(WEIGHTS)
    return Side("healthy", found.config, found.params)


@cache
def rows_of(side: Side) -> list[Finding]:
    """The first rows of the inbox over the game that this agent plays."""
    workload = workload_of(PROGRAM, side.config, Rules())
    played = play_on(side, workload, [()])
    assert played is not None
    trace = trace_game(side.params, workload, played[0], side.config.search)
    study = study_of(trace, PROGRAM, workload.rules)
    list(study.run())
    return inbox(findings(side.name, trace, study))[:FIRST]


def changed(layer: str, part: str, change: Callable[[Weights], Weights]) -> Side:
    """The healthy agent with other weights in one layer."""
    side = healthy()
    params: Params = {name: dict(parts) for name, parts in side.params.items()}
    params[layer][part] = jnp.asarray(change(np.array(params[layer][part])))
    return replace(side, params=params)


def noise(weights: Weights) -> Weights:
    return np.random.default_rng(0).normal(size=weights.shape).astype(np.float32)


def against_copy(bias: Weights) -> Weights:
    bias[[COPY, COPY_OTHER]] -= 20.0
    return bias


def optimism(bias: Weights) -> Weights:
    """Every value is predicted near the upper end of what values can be."""
    return bias + np.linspace(-20.0, 20.0, len(bias), dtype=np.float32)


def blind_to(group: str) -> Side:
    return replace(healthy(), config=replace(healthy().config, hidden=(group,)))


def fresh(simulations: int | None = None) -> Side:
    side = replace(healthy(), params=untrained(healthy().config, 0))
    return side if simulations is None else side.with_search(num_simulations=simulations)


def is_bad(row: Finding) -> bool:
    return row.verdict in (BLUNDER, MISTAKE)


def is_confidently_wrong(row: Finding) -> bool:
    return WRONG_PRIOR in row.signs and row.verdict in CLASSES


def is_against_copy(row: Finding) -> bool:
    return row.better == ACTION_NAMES[COPY] and is_bad(row)


def is_imagined_wrongly(row: Finding) -> bool:
    """The model is off: at a bad move, or more than anywhere in the healthy game's first rows."""
    most_us = max(r.drift_us for r in rows_of(healthy()))
    return DRIFT in row.signs and (is_bad(row) or row.drift_us > 1.5 * most_us)


def is_predicted_wrongly(row: Finding) -> bool:
    """The value is off by more than anywhere in the healthy game's first rows."""
    most_us = max(abs(r.value_jump_us) for r in rows_of(healthy()))
    return VALUE_JUMP in row.signs and abs(row.value_jump_us) > 1.5 * most_us


def is_hardly_searched(row: Finding) -> bool:
    return row.unjudged == FEW_VISITS and bool(row.better)


@dataclass(frozen=True)
class Fault:
    """A planted fault: who plays, and which row tells of it."""

    name: str
    side: Callable[[], Side]
    is_telling: Callable[[Finding], bool]


FAULTS = [
    Fault("corrupted policy head", lambda: changed("policy_out", "w", noise), is_confidently_wrong),
    Fault("zeroed inputs of the move", lambda: blind_to("move"), is_bad),
    Fault("zeroed inputs of what is ahead", lambda: blind_to("ahead"), is_bad),
    Fault("bias against Copy", lambda: changed("policy_out", "b", against_copy), is_against_copy),
    Fault("fresh checkpoint", fresh, is_bad),
    Fault(
        "stale checkpoint, whose inputs have moved since",
        lambda: changed("represent_in", "w", lambda w: np.roll(w, 1, axis=0)),
        is_confidently_wrong,
    ),
    Fault("too few simulations", lambda: fresh(1), is_hardly_searched),
    Fault(
        "swapped actions",
        lambda: changed("policy_out", "w", lambda w: np.roll(w, 1, axis=1)),
        is_confidently_wrong,
    ),
    Fault(
        "value head off by a factor of -1",
        lambda: changed("value_out", "w", lambda w: w[:, ::-1]),
        is_bad,
    ),
    Fault(
        "optimistic value head",
        lambda: changed("value_out", "b", optimism),
        is_predicted_wrongly,
    ),
    Fault(
        "reward head off by a factor of -1",
        lambda: changed("reward_out", "w", lambda w: w[:, ::-1]),
        is_bad,
    ),
    Fault("corrupted dynamics", lambda: changed("react_latent", "w", noise), is_imagined_wrongly),
]


PUSHED = (
    "corrupted policy head",
    "bias against Copy",
    "optimistic value head",
    "reward head off by a factor of -1",
    "corrupted dynamics",
)
"""One fault for each way to be told, but for that of few simulations, which compiles its own."""


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(f, id=f.name, marks=() if f.name in PUSHED else pytest.mark.nightly)
        for f in FAULTS
    ],
)
def test_a_planted_fault_is_told_in_the_first_rows(fault: Fault) -> None:
    rows = rows_of(fault.side())
    assert any(fault.is_telling(row) for row in rows), [
        (row.move, row.action, row.better, row.verdict, row.signs) for row in rows
    ]


def test_no_row_of_the_healthy_agent_tells_of_any_fault() -> None:
    rows = rows_of(healthy())
    assert len(rows) == FIRST
    for fault in FAULTS:
        assert not any(fault.is_telling(row) for row in rows), fault.name


def test_forced_actions_are_obeyed_by_policy_and_search_and_timed_exactly() -> None:
    side = healthy()
    workload = workload_of(PROGRAM, side.config, Rules())
    (actions,) = play_on(side, workload, [()]) or [()]
    forcing = Forcing(PROGRAM, actions, workload.rules)
    game, wanted = ReferenceGame(PROGRAM, workload.rules), []
    for move, action in enumerate(actions):
        legal = game.legal()
        wanted += [(move, a) for a in range(NUM_ACTIONS) if legal[a] and a != action]
        game.step(action)
    assert len(wanted) > 4
    for name, grows in ((SEARCH, True), (POLICY, False)):
        for move, action in wanted[:4]:
            begun = forcing.begun(move, action)
            (played,) = play_on(side, workload, [begun], grows=grows) or [()]
            found = forcing.played(played, move, name)
            again = ReferenceGame(PROGRAM, workload.rules)
            for each in played:
                again.step(each)
            assert (played[move], found.action, found.continuation) == (action, action, name)
            assert found.latency_s == simulate(PROGRAM, again.plan("again")).latency_s


def test_a_duel_says_by_how_much_a_fault_is_worse_and_on_which_moves() -> None:
    told: list[float] = []
    biased = replace(changed("policy_out", "b", against_copy), name="biased")

    def watch(share: float, word: str) -> bool:
        assert PROGRAM.name in word
        told.append(share)
        return True

    found = duel([PROGRAM], healthy(), biased, watch)
    assert found is not None and (found.first, found.second) == ("healthy", "biased")
    (bout,) = found.bouts
    for plan, latency_s in ((bout.first, bout.first_s), (bout.second, bout.second_s)):
        assert simulate(PROGRAM, plan).latency_s == latency_s
    assert bout.change_us > 0
    assert found.kinds[0].change.startswith(f"{ACTION_NAMES[COPY]} →")
    assert told == sorted(told) and told[-1] <= 1
    assert duel([PROGRAM], healthy(), biased, lambda share, word: False) is None
