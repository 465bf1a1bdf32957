"""Regrets against exhaustive search on small games, and the study's order, limits and errors."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from engine.debugging.games import finish, likewise
from engine.debugging.regret import AS_PLAYED, GREEDY, RegretStudy, study_of
from engine.errors import CheckpointError
from engine.game.moves import COPY, DROP, NO_COPY, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.program.io import content_hash
from engine.program.library import load_sample
from engine.program.model import Program
from tests.chosen import seeds
from tests.debugging.traces import real_run
from tests.strategies import random_program

pytestmark = pytest.mark.timeout(900)
"""The tiny agent is compiled in whichever test asks first."""

RULES = Rules()


def random_game(program: Program, seed: int, rules: Rules = RULES) -> list[int]:
    chance, game = random.Random(seed), ReferenceGame(program, rules)
    while not game.is_over:
        game.step(chance.choice(game.legal_actions()))
    return game.actions


class Endings:
    """The best way to finish each game of a program, each position looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[float, int]] = {}

    def best(self, game: ReferenceGame) -> tuple[float, int]:
        """The most that the whole game can still earn, and the action that leads there."""
        if game.is_over:
            return game.total_reward, -1
        position = tuple(game.actions)
        if position not in self._known:
            legal = game.legal_actions()
            ways = ((self.after(game, action), action) for action in legal)
            self._known[position] = max(ways, key=lambda way: way[0])
        return self._known[position]

    def action(self, game: ReferenceGame) -> int:
        """What leads to the best ending."""
        return self.best(game)[1]

    def after(self, game: ReferenceGame, action: int) -> float:
        """The most that the whole game can earn after an action."""
        following = game.clone()
        following.step(action)
        return self.best(following)[0]


@cache
def endings_of(program_hash: str) -> Endings:
    """Those of a program, for all tests of this file."""
    del program_hash
    return Endings()


SMALL = [load_sample(f"teach-{n}") for n in ("keep-or-drop", "evict-and-return", "fragmentation")]
SMALL += [random_program(seed, 4) for seed in range(2)]
MORE = [pytest.param(random_program(seed, 4), marks=pytest.mark.nightly) for seed in (2, 3)]


@pytest.mark.parametrize("program", [*SMALL, *MORE], ids=lambda p: p.name)
@pytest.mark.parametrize("seed", range(3))
def test_with_perfect_continuations_regrets_are_exact(program: Program, seed: int) -> None:
    actions = random_game(program, seed)
    endings = endings_of(content_hash(program))
    study = RegretStudy(program, actions, RULES, {"optimal": endings.action})
    assert len(list(study.run())) == len(study.choices)
    us = program.all_slow_s * 1e6
    for move, regret in study.known.items():
        before = ReferenceGame(program, RULES)
        for action in actions[:move]:
            before.step(action)
        legal = before.legal_actions()
        worth = {action: endings.after(before, action) for action in legal}
        played = worth.pop(actions[move])
        lead = max(worth.values()) - played
        assert regret.regret_us == pytest.approx(max(0.0, lead) * us, abs=1e-9 * us)
        assert regret.missed_us <= (max(played, *worth.values()) - _reward(study)) * us + 1e-9 * us


def _reward(study: RegretStudy) -> float:
    return study.saved_us / (study.program.all_slow_s * 1e6)


@pytest.mark.parametrize("seed", seeds(4, 1))
def test_every_line_is_a_game_that_saves_what_it_says(seed: int) -> None:
    program = random_program(seed, 40)
    actions = random_game(program, seed)
    study = RegretStudy(program, actions, RULES)
    list(study.run())
    us = program.all_slow_s * 1e6
    for regret in study.known.values():
        for line in (regret.played, regret.other):
            game = ReferenceGame(program, RULES)
            rewards = [game.step(a) for a in [*actions[: regret.move], *line.actions]]
            assert game.is_over
            assert line.at_once_us == pytest.approx(rewards[regret.move] * us, abs=1e-9 * us)
            assert line.total_us == pytest.approx(sum(rewards[regret.move :]) * us, abs=1e-9 * us)
        assert regret.played.action == actions[regret.move] != regret.other.action
        assert regret.regret_us >= 0
        assert 0 <= regret.punished <= 1
        assert regret.missed_us >= regret.regret_us - 1e-9 * us
    whole, gain_us = study.best
    game = ReferenceGame(program, RULES)
    total = sum(game.step(a) for a in whole) * us
    assert total == pytest.approx(study.saved_us + gain_us, abs=1e-9 * us)
    # A random game of forty instructions can always be played better.
    assert gain_us == max(r.missed_us for r in study.known.values()) > 0


def test_a_needless_drop_is_the_only_regret() -> None:
    """The best game, but for one Drop as late as possible."""
    program = load_sample("teach-evict-and-return")
    good, endings = ReferenceGame(program, RULES), endings_of(content_hash(program))
    positions = []
    while not good.is_over:
        positions.append(good.clone())
        good.step(endings.action(good))
    wrong = max(
        p.move_index for p in positions if p.legal()[DROP] and good.actions[p.move_index] != DROP
    )
    worse = positions[wrong]
    worse.step(DROP)
    finish(worse, endings.action)
    study = RegretStudy(program, worse.actions, RULES, {"optimal": endings.action})
    (costly,) = [r for r in study.run() if r.regret_us > 0]
    assert costly.move == wrong
    assert costly.other.action == good.actions[wrong]
    lost_us = (good.total_reward - worse.total_reward) * program.all_slow_s * 1e6
    assert costly.regret_us == costly.missed_us == pytest.approx(lost_us)
    # Its saving is all that was lost, and it was lost there and then.
    assert costly.at_once_us == pytest.approx(lost_us)
    assert costly.punished == pytest.approx(1.0)
    assert study.best[0][wrong] == good.actions[wrong]
    assert study.best[1] == pytest.approx(costly.missed_us)


def test_going_on_likewise_repeats_the_game() -> None:
    for seed in range(5):
        program = random_program(seed, 30)
        actions = random_game(program, seed)
        game = ReferenceGame(program, RULES)
        rewards = [game.step(a) for a in actions]
        again = ReferenceGame(program, RULES)
        assert finish(again, likewise(actions, rewards)) == pytest.approx(sum(rewards))
        assert again.actions == actions


def test_going_on_likewise_stays_legal_after_any_change() -> None:
    chance = random.Random(1)
    replaced = 0
    for seed in range(12):
        program = random_program(seed, 30)
        wild = [chance.choice([COPY, NO_COPY, DROP]) for _ in ReferenceGame(program).moves]
        game = ReferenceGame(program, RULES)
        finish(game, likewise(wild, [0.0] * len(wild)))
        assert game.is_over
        replaced += sum(a != b for a, b in zip(game.actions, wild, strict=True))
    assert replaced > 0


def test_the_order_the_cache_and_the_time_limit() -> None:
    program = random_program(3, 40)
    study = RegretStudy(program, random_game(program, 3), RULES)
    assert study.completeness == 0
    assert study.best == (bytes(random_game(program, 3)), 0.0)
    assert list(study.run(seconds=0)) == []
    wished = study.choices[::-1]
    first = study.run(wished)
    assert [next(first).move for _ in range(2)] == wished[:2]
    assert study.completeness == pytest.approx(2 / len(wished))
    known = study.at(wished[0])
    assert [r.move for r in study.run([*wished[:3], wished[2]])] == [wished[2]]
    assert study.at(wished[0]) is known
    list(study.run())
    assert study.completeness == 1
    assert sorted(study.known) == study.choices


def test_moves_without_a_choice_have_no_regret() -> None:
    program = random_program(3, 40)
    study = RegretStudy(program, random_game(program, 3), RULES)
    forced = set(range(ReferenceGame(program).num_moves)) - set(study.choices)
    assert forced
    with pytest.raises(KeyError, match="no choice"):
        study.at(min(forced))
    assert list(study.run(sorted(forced))) == []


def test_positions_far_from_a_kept_one() -> None:
    """A game longer than the distance of kept positions, asked in a wild order."""
    program = random_program(5, 90)
    actions = random_game(program, 5)
    assert len(actions) > 70
    study = RegretStudy(program, actions, RULES)
    order = random.Random(0).sample(study.choices, 8)
    for regret in study.run(order):
        game = ReferenceGame(program, RULES)
        for action in actions[: regret.move]:
            game.step(action)
        assert (regret.time, regret.group) == (game.move.time, game.move.group)


def test_strict_rules_leave_dead_ends_out() -> None:
    strict = Rules(strict=True)
    met = 0
    for seed in range(40):
        program = random_program(seed, 14)
        game = ReferenceGame(program, strict)
        if finish(game, best_action) is None:
            met += 1
            continue
        study = RegretStudy(program, game.actions, strict)
        for regret in study.run():
            assert len(regret.other.actions) == len(regret.played.actions)
    assert met > 0


def test_games_that_do_not_fit_are_refused() -> None:
    program = load_sample("teach-keep-or-drop")
    actions = random_game(program, 0)
    with pytest.raises(CheckpointError, match=r"has 1 actions, the program 5 moves"):
        RegretStudy(program, actions[:1], RULES)
    with pytest.raises(CheckpointError, match=r"Copy at move 1 is illegal under place rule"):
        RegretStudy(program, [COPY, *actions[1:]], RULES)
    with pytest.raises(CheckpointError, match=r"7 at move 1 is illegal"):
        RegretStudy(program, [7, *actions[1:]], RULES)


def test_the_study_of_a_trace() -> None:
    program, rules, trace = real_run()
    study = study_of(trace, program, rules)
    assert study.choices == [m for m in range(trace.num_moves) if trace.legal[m].sum() > 1]
    lines = [r.other for r in study.run()]
    assert {line.continuation for line in lines} <= {AS_PLAYED, GREEDY}
    assert lines
    with pytest.raises(CheckpointError, match=r"the trace is of teach-evict-and-return"):
        study_of(trace, load_sample("teach-prefetch"), rules)
    with pytest.raises(CheckpointError, match=r"earned otherwise under place rule"):
        study_of(replace(trace, reward=trace.reward + 1), program, rules)
