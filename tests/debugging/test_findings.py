"""The inbox of a debugger: what each column says, which moves get a verdict, and in which order."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from engine.debugging.findings import (
    AT_ONCE,
    ILLEGAL,
    LATER,
    PHASES,
    VALUE_JUMP,
    WRONG_PRIOR,
    findings,
    inbox,
    pressure,
)
from engine.debugging.model_error import drift_by_move_us
from engine.debugging.regret import (
    BLUNDER,
    CLASSES,
    DUBIOUS,
    FEW_VISITS,
    LEAST_POINTS,
    MIN_VISITS,
    MISTAKE,
    NO_CHOICE,
    NOT_MEASURED,
    TIE,
    RegretStudy,
    study_of,
    unjudged,
    verdict,
)
from engine.debugging.tree_replay import ILLEGAL as FORBIDDEN
from engine.debugging.tree_replay import LEGAL, illegal_share
from engine.game.moves import ACTION_NAMES, NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from tests.debugging import studied as played
from tests.debugging.studied import studied
from tests.debugging.traces import hand_made
from tests.strategies import random_program
from tests.ui.search_traces import POINT_S, made_up_trace


def test_a_class_begins_at_its_threshold() -> None:
    assert [verdict(LEAST_POINTS[name]) for name in CLASSES] == [BLUNDER, MISTAKE, DUBIOUS]
    assert [verdict(LEAST_POINTS[name] - 1e-9) for name in CLASSES] == [MISTAKE, DUBIOUS, ""]
    assert verdict(0.0) == ""


def test_what_gets_no_verdict_and_why() -> None:
    assert unjudged(2, MIN_VISITS, 1.0) == ""
    assert unjudged(1, 99, None) == NO_CHOICE
    assert unjudged(2, 99, None) == NOT_MEASURED
    assert unjudged(2, 99, 0.0) == TIE
    assert unjudged(2, MIN_VISITS - 1, 1.0) == FEW_VISITS


def test_there_is_a_finding_for_every_move_and_classes_follow_the_regret() -> None:
    assert [f.move for f in played.found()] == list(range(played.trace().num_moves))
    judged = [f for f in played.found() if not f.unjudged]
    assert judged
    for finding in played.found():
        regret = played.study().known.get(finding.move)
        assert finding.action == ACTION_NAMES[played.trace().action[finding.move]]
        assert finding.regret_us == (None if regret is None else regret.regret_us)
        points = (finding.regret_us or 0.0) / (POINT_S * 1e6)
        assert finding.verdict == ("" if finding.unjudged else verdict(points))
        if regret is not None and regret.regret_us > 0:
            assert finding.better == ACTION_NAMES[regret.other.action]
            assert finding.punished == (AT_ONCE if regret.punished >= 0.5 else LATER)
        else:
            assert finding.better == finding.punished == ""
    assert {f.verdict for f in judged} >= {BLUNDER, ""}


def test_what_ties_is_no_finding_and_no_mistake() -> None:
    """Stakes of nothing: every legal action, played on in every way, ends in the same total."""
    ties = 0
    for seed in range(4):
        program = random_program(seed, 20)
        trace = made_up_trace(program)
        study = studied(program, trace)
        found = findings("a game", trace, study)
        shown = {f.move for f in inbox(found)}
        for finding in found:
            regret = study.known.get(finding.move)
            if regret is not None and len(set(regret.best_us.values())) == 1:
                assert finding.unjudged == TIE
                ties += 1
            if finding.unjudged in (TIE, NO_CHOICE):
                assert not finding.verdict
                assert finding.move not in shown
            elif finding.regret_us:
                assert finding.move in shown
    assert ties > 0


def test_the_inbox_begins_with_what_cost_most() -> None:
    rows = inbox(played.found())
    costs = [f.regret_us or 0.0 for f in rows]
    assert costs[0] > 0
    assert costs == sorted(costs, reverse=True)
    tied = [f.surprise for f in rows if not f.regret_us]
    assert len(tied) > 2
    assert tied == sorted(tied, reverse=True)


def test_few_visits_take_the_verdict_but_not_the_row() -> None:
    small = made_up_trace(played.program(), simulations=MIN_VISITS - 1)
    found = findings("small", small, studied(played.program(), small))
    assert not any(f.verdict for f in found)
    assert any(f.unjudged == FEW_VISITS and f.regret_us for f in inbox(found))


def test_without_a_study_nothing_is_judged_but_everything_is_shown() -> None:
    found = findings("new", played.trace(), study_of(played.trace(), played.program(), Rules()))
    choices = [f for f in found if f.unjudged != NO_CHOICE]
    assert {f.unjudged for f in choices} == {NOT_MEASURED}
    assert all(f.regret_us is f.wrong_prior is f.stakes_us is None for f in choices)
    assert len(inbox(found)) == len(choices)


def test_a_prior_is_wrong_by_what_it_gives_the_first_choice_above_the_best() -> None:
    costly = max(played.study().known.values(), key=lambda r: r.stakes_us)
    # Both ends of one kind may be as good.
    best = costly.best_actions[0]
    worst = next(a for a in costly.best_us if a not in costly.best_actions)
    prior = np.zeros((played.trace().num_moves, NUM_ACTIONS), np.float32)
    prior[:, worst], prior[:, best] = 0.875, 0.125
    sure = findings("sure", replace(played.trace(), prior=prior), played.study())[costly.move]
    assert sure.wrong_prior == pytest.approx(0.75)
    assert WRONG_PRIOR in sure.signs
    right = findings(
        "right", replace(played.trace(), prior=prior[:, ::1] * 0 + _one(best)), played.study()
    )
    assert right[costly.move].wrong_prior == 0
    assert WRONG_PRIOR not in right[costly.move].signs


def _one(action: int) -> np.ndarray:
    return np.eye(NUM_ACTIONS, dtype=np.float32)[action]


def test_a_value_jump_is_a_sign_where_it_is_large() -> None:
    value = played.trace().value.copy()
    value[10] += 1000.0
    found = findings("jump", replace(played.trace(), value=value), played.study())
    assert VALUE_JUMP in found[10].signs
    assert found[10].value_jump_us == pytest.approx(
        played.found()[10].value_jump_us - 1000.0, rel=1e-4
    )


def test_the_illegal_share_counts_simulations_once() -> None:
    state, parent, visits = [LEGAL, FORBIDDEN, FORBIDDEN, LEGAL], [-1, 0, 1, 0], [11, 4, 3, 6]
    assert illegal_share(state, parent, visits) == pytest.approx(4 / 10)
    assert illegal_share([LEGAL], [-1], [1]) == 0
    assert any(ILLEGAL in f.signs for f in played.found())
    assert all(0 <= f.illegal <= 1 for f in played.found())


def test_pressure_is_a_share_and_rises_with_what_stands() -> None:
    assert all(0 <= f.pressure <= 1 for f in played.found())
    game = ReferenceGame(played.program())
    empty = pressure(game)
    numbers = game.facts.numbers
    assert empty == pytest.approx(numbers.reserved[game.move.time] / numbers.fast_granules)
    assert max(f.pressure for f in played.found()) > empty


def test_phases_are_thirds_and_names_are_those_of_the_program() -> None:
    assert [played.found()[m].phase for m in (0, played.trace().num_moves // 2, -1)] == list(PHASES)
    names = {v.name for v in played.program().values}
    assert {f.tensor for f in played.found()} <= names
    assert {f.kind for f in played.found()} <= {"input", "temporary", "output"}


def test_drift_is_nothing_where_the_model_is_right_and_the_error_where_it_is_not() -> None:
    reward = [1.0, 2.0, 3.0, 4.0]
    to_go = np.cumsum(reward[::-1])[::-1]
    right = hand_made(reward, list(to_go))
    assert drift_by_move_us(right) == pytest.approx([0.0] * 4)
    off = right.imagined_reward.copy()
    off[1, 0] += 3.0
    off[1, 2] -= 3.0
    wrong = drift_by_move_us(replace(right, imagined_reward=off))
    point_us = right.point_s * 1e6
    assert wrong == pytest.approx([0.0, 6.0 * point_us / 3, 0.0, 0.0])
    none = np.zeros((4, 0), np.float32)
    assert not drift_by_move_us(replace(right, imagined_reward=none, imagined_value=none)).any()


@pytest.mark.nightly
def test_a_random_game_has_findings_of_both_kinds_of_punishment() -> None:
    chance, program = random.Random(0), random_program(2, 60)
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(chance.choice(game.legal_actions()))
    study = RegretStudy(program, game.actions, Rules())
    shares = [r.punished for r in study.run() if r.regret_us]
    assert min(shares) < 0.5 <= max(shares)
