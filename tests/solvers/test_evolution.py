"""`evolution`: the search behind it, and what it does with seconds, progress and bad programs."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest

from engine.errors import EndedEarlyError, SolverError
from engine.evolution import genome as population
from engine.evolution import search as restarts
from engine.evolution.genome import NUM_FIRST
from engine.evolution.search import Evolution, settle, start
from engine.game.jaxgame.batching import BatchGame
from engine.game.jaxgame.encoding import encode
from engine.game.move_list import moves
from engine.game.moves import Rules
from engine.game.quantise import TICKS
from engine.game.scripts import play_script
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import Budget, evolution, find, solve
from engine.solvers.demonstrations import ALL_RULES_FROM_S, Demonstrations, shown
from engine.solvers.evolution import ASK_EVERY, COMPILE_S
from engine.solvers.registry import NOT_COUNTED
from tests.strategies import random_program

TEACHING = [e.name for e in library.index() if e.best_solver == "exhaustive"]
GENERATIONS = 20


@pytest.fixture(scope="module")
def program() -> Program:
    return random_program(5, 60)


def run(program: Program, seed: int, generations: int) -> Evolution:
    """So many generations, whatever time they take."""
    found = start(program, seed, Rules())
    for _ in range(generations):
        found.step()
    return found


@pytest.mark.nightly
def test_the_seed_decides(program: Program) -> None:
    first, second, other = (run(program, seed, 12) for seed in (1, 1, 2))
    assert [one.ticks for one in first.population] == [one.ticks for one in second.population]
    assert (first.best.genes == second.best.genes).all()
    assert first.games == second.games
    assert [one.ticks for one in first.population] != [one.ticks for one in other.population]


@pytest.mark.nightly
def test_the_best_game_only_gets_better_and_beats_the_first(program: Program) -> None:
    search = start(program, 0, Rules())
    returns = [search.best.ticks]
    for _ in range(GENERATIONS):
        search.step()
        returns.append(search.best.ticks)
    assert returns == sorted(returns)
    assert returns[-1] > returns[0]
    assert search.generations == GENERATIONS
    assert search.games > NUM_FIRST


def test_every_survivor_is_worth_what_its_genome_plays(program: Program) -> None:
    """Children resume from their parents' checkpoints, over many generations."""
    for one in run(program, 3, GENERATIONS).population:
        game = play_script(program, one.genes)
        assert one.ticks / TICKS == pytest.approx(game.total_reward, abs=1e-6)
        assert one.actions.tolist() == game.actions
        plan = game.plan("evolution")
        assert check(program, plan) is None
        saved = 1 - simulate(program, plan).latency_s / program.all_slow_s
        assert one.ticks / TICKS == pytest.approx(saved, abs=1e-6)


def test_survivors_are_sorted_and_differ(program: Program) -> None:
    returns = [one.ticks for one in run(program, 4, 5).population]
    assert returns == sorted(set(returns), reverse=True)
    assert 1 < len(returns) <= population.NUM_SURVIVORS


def test_stale_populations_begin_again_and_nothing_is_lost(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "STALE_GENERATIONS", 2)
    search, best = start(program, 6, Rules()), 0
    while len(search.champions) < 3:
        search.step()
        assert search.best.ticks >= best
        best = search.best.ticks
    # The third epoch began with the champions of the first two among its survivors.
    assert search.champions[2].ticks >= max(one.ticks for one in search.champions[:2])


@pytest.mark.nightly
def test_islands_play_by_their_rules_and_the_best_one_leads(program: Program) -> None:
    islands = settle(program, 0, [some.rules for some in shown(program, ALL_RULES_FROM_S)])
    assert len({island.rules.place for island in islands.islands}) == 4
    returns = []
    for _ in range(GENERATIONS):
        islands.step()
        returns.append(islands.leader.best.ticks)
    assert returns == sorted(returns)
    assert islands.generations == GENERATIONS
    assert all(island.generations for island in islands.islands)
    for island in islands.islands:
        game = play_script(program, island.best.genes, island.rules)
        assert island.best.ticks / TICKS == pytest.approx(game.total_reward, abs=1e-6)
        assert island.best.ticks <= islands.leader.best.ticks


@pytest.mark.nightly
def test_guests_are_judged_by_the_rules_of_the_island(program: Program) -> None:
    host, guest = start(program, 1, Rules(place="best_fit")), run(program, 2, GENERATIONS).best
    here = play_script(program, guest.genes, host.rules).total_reward
    assert abs(here - guest.ticks / TICKS) > 1e-4
    assert not any(one.ticks / TICKS == pytest.approx(here, abs=1e-6) for one in host.population)
    host.receive([guest.genes])
    assert any(one.ticks / TICKS == pytest.approx(here, abs=1e-6) for one in host.population)
    assert host.generations == 1


@pytest.mark.parametrize("name", TEACHING)
def test_it_finds_the_optimum_of_the_teaching_programs(
    name: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of one shape with the larger program, which the other tests have compiled.
    padded = partial(encode, shape=encode(program).shape)
    monkeypatch.setattr("engine.game.jaxgame.batching.encode", padded)
    sample = library.load_sample(name)
    game = play_script(sample, run(sample, 0, 10).best.genes)
    latency = simulate(sample, game.plan("evolution")).latency_s
    assert latency == pytest.approx(library.find_sample(name).best_s, rel=1e-6)


def test_it_stops_when_asked_to(program: Program) -> None:
    told: list[tuple[float, str]] = []

    def progress(share: float, message: str) -> bool:
        told.append((share, message))
        return "generation 3" not in message

    plan = evolution.evolve(program, Budget(3600.0, 1, progress))
    assert check(program, plan) is None
    assert plan.notes["generations"] == 3
    assert plan.notes["games"] >= NUM_FIRST
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    (announced,) = [message for _, message in told if message.endswith(NOT_COUNTED)]
    assert announced.startswith("compiling")
    assert sum("generation" in message for _, message in told) == 4


def test_it_evolves_until_the_seconds_are_over(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    def progress(share: float, message: str) -> bool:
        if "generation" in message:
            shares.append(share)
        return True

    ticks = SimpleNamespace(perf_counter=count(step=0.5).__next__)
    monkeypatch.setattr("engine.solvers.clock.time", ticks)
    plan = evolution.evolve(program, Budget(40.0, 0, progress))
    assert shares[-1] > 0.9
    assert plan.notes["generations"] == len(shares) - 1 > 5


def test_short_budgets_play_some_first_games_plainly(program: Program) -> None:
    asked = iter(range(-(-len(moves(program)) // ASK_EVERY)))
    one = evolution.evolution(
        program, Budget(5.0, 0, lambda share, word: next(asked, None) is not None)
    )
    assert (one.notes["games"], one.notes["generations"]) == (1, 0)
    some = evolution.evolution(program, Budget(0.9 * COMPILE_S))
    assert 1 < some.notes["games"] <= NUM_FIRST
    assert simulate(program, some).latency_s <= simulate(program, one).latency_s


def test_a_short_budget_does_not_wait_for_jax() -> None:
    code = (
        "import sys; from engine.program.library import load_sample;"
        "from engine.solvers import Budget, solve;"
        "solve('evolution', load_sample('teach-prefetch'), Budget(0.2));"
        "sys.exit('jax' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_time_for_a_game_there_is_none(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.solvers.clock.SLACK_S", 0.0)
    with pytest.raises(EndedEarlyError, match="before its first game"):
        evolution.evolution(program, Budget(0.0))
    plan = solve("evolution", program, Budget(0.0))
    assert plan.notes["asked"] == "evolution" and "first game" in plan.notes["ended_early"]


def test_what_is_compiled_is_played_and_not_counted(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place rule whose heuristic games are best is not the usual one here."""
    compiled: list[Rules | None] = []

    class Game(BatchGame):
        def __init__(self, program: Program, rules: Rules | None = None) -> None:
            super().__init__(program, rules)
            self.rules = rules

        def compile(self, batch: int) -> None:
            compiled.append(self.rules)

    best = Demonstrations(Rules(place="best_fit"), ((),), (1.0,))
    monkeypatch.setattr("engine.solvers.demonstrations.shown", lambda *_: (best,))
    monkeypatch.setattr("engine.game.jaxgame.batching.BatchGame", Game)
    told: list[str] = []
    budget = Budget(60.0, 0, lambda share, word: not told.append(word) and len(told) < 6)
    evolution.evolve(program, budget)
    assert compiled == [best.rules]
    assert any(word.endswith(NOT_COUNTED) for word in told)


def test_programs_that_jax_cannot_play_are_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(program: Program, rules: Rules | None = None) -> None:
        raise SolverError(f"{program.name}: too deep")

    monkeypatch.setattr("engine.game.jaxgame.batching.encode", refuse)
    with pytest.raises(SolverError, match="too deep"):
        evolution.evolve(program, Budget(60.0))


def test_it_is_known_to_use_time() -> None:
    assert find("evolution").uses_time
