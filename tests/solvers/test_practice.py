"""`muzero`: what it practises under, when it ends, and which options it knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from engine.agent.checkpoint import load_checkpoint
from engine.agent.config import SIMULATOR
from engine.agent.trainer import Round, Trainer
from engine.errors import CheckpointError, ConfigError
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import Budget, practice
from engine.solvers.demonstrations import ALL_RULES_FROM_S, shown
from engine.solvers.draft import draft_from
from engine.solvers.practice import (
    GENERALIST,
    _prepared,
    _with_own,
    agent_of,
    plan_of,
    practise,
)
from engine.solvers.registry import NOT_COUNTED, solve
from tests.agent.small import CONFIG, PROGRAM, small_trainer

SCRATCH = {"checkpoint": "scratch"}
SMALL = "llamadecode-v5e-b8"
TWO_CHUNKS = "alexnet-v4-b24"
"""Of the shape that the other tests of the agent have compiled."""


def test_with_time_every_place_rule_is_tried_the_promising_one_first() -> None:
    program = library.load_sample(SMALL)
    every = shown(program, ALL_RULES_FROM_S)
    assert len({some.rules.place for some in every}) == len(every) == 4
    assert shown(program, ALL_RULES_FROM_S - 1) == every[:1]
    assert every[0].rewards[0] == max(some.rewards[0] for some in every)


def test_it_ends_when_told_and_tells_the_best_game_it_played() -> None:
    program = library.load_sample(TWO_CHUNKS)
    heard: list[Round] = []

    def told(trainer: Trainer, report: Round) -> None:
        heard.append(report)

    # Long enough to compile, however busy the machine is: it ends because it is told to.
    words = list[str]()

    def goes_on(share: float, word: str) -> bool:
        words.append(word)
        return len(heard) < 3

    offered = list[tuple[str, Plan]]()

    def offer(plan: Plan) -> None:
        offered.append((words[-1], plan))

    budget = Budget(1000.0, progress=goes_on, options=SCRATCH, offer=offer)
    found = practise(program, budget, CONFIG, told)
    assert [report.number for report in heard] == [0, 1, 2]
    before = words[: words.index("the first games")]
    assert len(set(before)) > 1
    assert all(word.endswith(NOT_COUNTED) for word in before), "who waits counts the rest"
    assert found.trainer.games >= 3 * found.trainer.config.self_play.games
    # Before it compiled what cannot be broken off.
    ((word, early),) = offered
    assert words[words.index(word) + 1] == f"compiling the learner … {NOT_COUNTED}"
    assert check(program, early) is None and early.notes["games"] > 0
    plan = plan_of(found)
    assert check(program, plan) is None
    saved_s = program.all_slow_s - simulate(program, plan).latency_s
    best = max(report.best for report in heard)
    assert found.workload.saved_s(best) == pytest.approx(saved_s, rel=1e-5)
    told_of = {name: plan.notes[name] for name in ("weights", "model", "simulations")}
    assert told_of == {"weights": "scratch", "model": "learned", "simulations": 4}


def test_more_drafts_are_its_own_after_a_better_game_then_the_others() -> None:
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, sweeps=True, search_share=0.0))
    trainer = small_trainer(config)
    while not trainer.is_swept:
        trainer.play_round()
    workload, best = trainer.workloads[0], trainer.workloads[0].replay.best[0]
    other = draft_from(workload.program, solve("all_slow", workload.program))
    drafts = _with_own(trainer, iter([other]))
    own = next(drafts)
    saved_s = workload.program.all_slow_s - simulate(workload.program, own.plan).latency_s
    assert saved_s == pytest.approx(workload.saved_s(best.score), rel=1e-4)
    assert next(drafts) is other
    bound = lower_bound(workload.program)
    for answers in ([False], [True, False]):
        asked = iter(answers)
        assert _prepared(workload.program, config, bound, own, asked.__next__) is None
        assert next(asked, None) is None
    prepared = _prepared(workload.program, config, bound, own, lambda: True)
    assert prepared is not None
    trainer.add(prepared)
    assert not trainer.is_swept
    trainer.play_round()
    assert trainer.visits[1] == 1, "what is added has its turn next"
    workload.replay.set_best([replace(best, reward=best.reward + 1.0)])
    again = next(drafts)
    assert again.plan.stays == own.plan.stays
    assert next(drafts, None) is None


@pytest.mark.parametrize(("draft_s", "drafts"), [(0.0, 2), (1e6, 1)])
def test_another_draft_is_prepared_where_the_time_is_left(
    draft_s: float, drafts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the first one took; here it ends two rounds after the first sweep."""
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, sweeps=True, search_share=0.0))
    after = list[int]()

    def told(trainer: Trainer, report: Round) -> None:
        if trainer.is_swept or len(trainer.workloads) > 1:
            after.append(report.number)

    monkeypatch.setattr(practice, "perf_counter", iter([0.0, draft_s]).__next__)
    budget = Budget(1000.0, progress=lambda share, word: len(after) < 2, options=SCRATCH)
    found = practise(library.load_sample(PROGRAM), budget, config, told)
    assert len(found.trainer.workloads) == drafts


def test_practice_has_settings_of_its_own_for_the_networks_of_the_checkpoint() -> None:
    trained = load_checkpoint(GENERALIST).config
    config, params = agent_of({"simulations": 3, "model": SIMULATOR})
    assert params is not None and config.network == trained.network
    assert config.search == replace(trained.search, num_simulations=3, model=SIMULATOR)
    assert config.self_play.sweeps and not trained.self_play.sweeps
    assert config.replay.best_share > trained.replay.best_share
    assert config.self_play.top_temperature > trained.self_play.top_temperature
    assert agent_of({}, trained)[0] == trained, "whoever gives settings means them"


@pytest.mark.parametrize("given", ["weights", "weights/", "inner/..", ".", ".."])
def test_weights_have_the_name_of_their_folder_however_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    inner = tmp_path / "weights" / "inner"
    inner.mkdir(parents=True)
    where = {".": inner.parent, "inner/..": inner.parent, "..": inner}.get(given, tmp_path)
    monkeypatch.chdir(where)
    trainer = SimpleNamespace(best_workload=SimpleNamespace(replay=SimpleNamespace(top=NO_MOVES)))
    practised = practice._practised(cast(Trainer, trainer), Budget(options={"checkpoint": given}))
    assert practised.weights == "weights"


NO_MOVES = SimpleNamespace(action=())


def test_a_lost_checkpoint_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.solvers.practice.GENERALIST", tmp_path / "generalist")
    with pytest.raises(CheckpointError, match="is it a checkpoint"):
        practise(library.load_sample(SMALL), Budget(1.0))


def test_an_unknown_option_is_refused() -> None:
    program = library.load_sample(SMALL)
    with pytest.raises(ConfigError, match="has no option 'depth'"):
        practise(program, Budget(1.0, options={"depth": 3}))
