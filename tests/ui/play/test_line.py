"""Play on a plan: variations, players, what-ifs, and what the browser is sent of them."""

import json
import random

import pytest

from engine.game.moves import COPY, DROP, NO_COPY
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import solve
from tests.strategies import random_program
from tests.ui.builders import first_fit_plan
from ui.components.memory_map.draft import Draft, Picture
from ui.components.memory_map.plan_actions import NO_ACTION, actions_of
from ui.model.play.eviction import evict
from ui.model.play.film import Film, saved_s
from ui.model.play.line import PLAN, Line, players


def leave(line: Line, move: int) -> int:
    """Play the last legal action that the path does not play, from `move` on."""
    while True:
        legal = line.game_at(move).legal()
        others = [a for a in (DROP, NO_COPY, COPY) if legal[a] and a != line.action_at(move)]
        if others:
            return line.play(move, others[0])
        move += 1


def test_leaving_the_plan_and_coming_back(film: Film) -> None:
    line = Line(film)
    after = leave(line, 30)
    assert not line.is_on_plan
    assert line.tip == after > 30
    assert line.game_at(after).actions[:30] == list(film.actions[:30])
    line.go(PLAN)
    assert line.is_on_plan
    assert line.tip == film.num_moves
    assert line.go(0) == line.tree.lines[0].fork


def test_positions_on_a_path_are_those_of_its_actions(film: Film) -> None:
    line = Line(film)
    move = leave(line, 5)
    line.let(move, players(film)["random"], 10**6)
    assert line.is_complete
    whole = line.game_at(film.num_moves)
    for at in (film.num_moves, 3, 70, 64, 71, film.num_moves - 1):
        game = line.game_at(at)
        assert game.actions == whole.actions[:at]
        assert line.action_at(at) == (whole.actions[at] if at < film.num_moves else None)


def test_a_complete_line_is_a_valid_plan_worth_its_rating(program: Program, film: Film) -> None:
    line = Line(film)
    line.let(leave(line, 20), players(film)["the plan"], 10**6)
    plan = line.plan("you")
    assert check(program, plan) is None
    latency_s = simulate(program, plan).latency_s
    assert saved_s(line.game_at(line.tip)) == pytest.approx(
        program.all_slow_s - latency_s, rel=1e-6
    )
    base_s = simulate(program, film.plan).latency_s
    rating = line.tree.lines[line.tree.current].rating
    assert rating.final == rating.so_far == pytest.approx(base_s - latency_s, abs=1e-9)


def test_a_kept_line_is_replayed_move_by_move(program: Program, film: Film) -> None:
    line = Line(film)
    line.let(0, players(film)["random"], 10**6)
    plan = line.plan("you")
    again = Film(program, plan)
    assert again.is_exact
    assert list(again.actions) == line.game_at(line.tip).actions
    told = actions_of(program, plan, line.game_at(0).moves)
    assert [a for a in told if a != NO_ACTION] == [
        a for a, m in zip(again.actions, line.game_at(0).moves, strict=True) if not m.is_sink
    ]


def test_players_play_as_many_moves_as_asked(film: Film) -> None:
    assert len(players(film)) == 3
    for name, player in players(film).items():
        game = film.game_at(10)
        player.play(game, 7)
        assert game.move_index == 17, name
        player.play(game, 10**6)
        assert game.is_over
        assert player.name == name


def test_the_plan_plays_itself_and_greedy_never_less_than_it_could(film: Film) -> None:
    line = Line(film)
    line.let(0, players(film)["the plan"], 10**6)
    assert line.is_on_plan
    game = film.game_at(25)
    rewards = [game.clone().step(a) for a, is_legal in enumerate(game.legal()) if is_legal]
    before = game.total_reward
    players(film)["greedy"].play(game, 1)
    assert game.total_reward - before == pytest.approx(max(rewards))


def test_a_link_restores_the_line(film: Film) -> None:
    line, other = Line(film), Line(film)
    line.let(leave(line, 12), players(film)["random"], 40)
    assert other.follow(line.text()) == line.path.fork if line.path else False
    assert other.game_at(other.tip).actions == line.game_at(line.tip).actions
    assert Line(film).follow("9999-p") is None
    assert Line(film).text() == ""


def test_dropping_a_tensor_costs_what_the_simulator_says(program: Program, film: Film) -> None:
    line = Line(film)
    moves = line.game_at(0).moves
    fast = next(m for m, a in enumerate(film.actions) if a == COPY and moves[m].saving_s > 0)
    base_s = simulate(program, film.plan).latency_s
    for is_for_ever in (False, True):
        found = evict(line, moves[fast].group, fast, is_for_ever)
        game = Line(film)
        game.branch(found.actions, "what if")
        latency_s = simulate(program, game.plan("what if")).latency_s
        assert found.latency_s == pytest.approx(latency_s, rel=1e-6)
        assert found.change_s == pytest.approx(latency_s - base_s, abs=1e-9)
        assert found.num_lost >= 1 and not found.obstacle
        assert found.actions[fast] == DROP


def test_what_cannot_be_dropped_says_why() -> None:
    # In a loop, what came before it must stand to its end.
    program = library.load_sample("gptdecode-v5e-b8")
    film = Film(program, solve("greedy", program))
    line = Line(film)
    moves = line.game_at(0).moves
    stuck = next(
        m
        for m in range(film.num_moves)
        if not moves[m].is_sink and not film.game_at(m).legal()[DROP]
    )
    found = evict(line, moves[stuck].group, stuck, False)
    assert found.obstacle
    last = max(m for m in range(film.num_moves) if moves[m].group == moves[stuck].group)
    unused = evict(line, moves[stuck].group, last + 1, False)
    assert unused.change_s == 0 and "No instruction" in unused.obstacle


class Browser:
    """Puts the versions of a draft together, as `plan.js` does."""

    def __init__(self, draft: Draft) -> None:
        self.versions = {0: draft.whole}
        self.held = 0

    def take(self, message: dict) -> None:
        number = message["number"]
        if number not in self.versions:
            self.versions[number] = self._changed(self.versions[message["on"]], message)
        self.held = number

    @staticmethod
    def _changed(old: Picture, message: dict) -> Picture:
        tables = {
            name: tuple(
                row
                for rows in (
                    [r for i, r in enumerate(getattr(old, name)) if i not in message[name][0]],
                    map(tuple, message[name][1]),
                )
                for row in rows
            )
            for name in ("stays", "copies", "service")
        }
        slots = dict(enumerate(old.slots)) | {s: (a, b) for s, a, b in message["slots"]}
        actions = dict(enumerate(old.actions)) | dict(message["actions"])
        return Picture(
            old.plan,
            tuple(actions[m] for m in range(message["tip"])),
            slots=tuple(slots[s] for s in range(len(slots))),
            **tables,
        )


def same(left: Picture, right: Picture) -> bool:
    return (
        left.actions == right.actions
        and left.slots == right.slots
        and all(sorted(getattr(left, n)) == sorted(getattr(right, n)) for n in ("stays", "copies"))
        and sorted(left.service) == sorted(right.service)
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_browser_sees_what_was_played(seed: int) -> None:
    """Over plays, undos and switches, with messages that get lost."""
    program = random_program(seed, 40)
    dice = random.Random(seed)
    line = Line(Film(program, first_fit_plan(program)))
    move, browser, held_of = 0, None, None
    for _ in range(60):
        game = line.game_at(move)
        if game.is_over or dice.random() < 0.2:
            move = dice.randrange(line.tip)
            continue
        move = line.play(move, dice.choice(game.legal_actions()))
        if line.is_on_plan:
            continue
        is_same = line.draft is held_of and browser is not None
        draft, message = line.draw(browser.held if is_same and browser else 0)
        assert len(json.dumps(message)) < 1200
        if draft is not held_of:
            browser, held_of = Browser(draft), draft
        assert browser is not None
        if dice.random() < 0.8:
            browser.take(json.loads(json.dumps(message)))
            assert same(browser.versions[browser.held], line.picture)
        move = min(move, line.tip)
    assert held_of is not None
