"""The agent practises on one program: the work behind the solver `muzero`.

It starts from the shipped checkpoint and a draft, sweeps its best game, goes on with other drafts,
and then plays and learns until the time is over. The answer is the best game that it *played*
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.agent.checkpoint import load_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import POLICY_ONLY, SCRATCH, AgentConfig
from engine.agent.network import Params
from engine.agent.trace import trace_game
from engine.agent.trace_io import SearchTrace
from engine.agent.trainer import EQUAL, Round, Trainer
from engine.agent.workload import Workload, make_workload
from engine.errors import ConfigError, EndedEarlyError
from engine.game.notes import plan_from_actions
from engine.plan.bounds import Bound
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.clock import Clock
from engine.solvers.demonstrations import drafted, quick_bound
from engine.solvers.draft import Draft, draft_from, drafts_of
from engine.solvers.registry import NOT_COUNTED, Budget, find

GENERALIST = Path(__file__).resolve().parents[2] / "checkpoints" / "generalist"
FOCUS = 0.7
"""Share of the rounds that go to the draft whose best game saves most, beyond its turns."""

Progress = Callable[[Trainer, Round], None]


def _ignore(trainer: Trainer, report: Round) -> None:
    del trainer, report


@dataclass(frozen=True)
class Practised:
    """A finished practice: the trainer, its best workload, and the actions of the best game there.

    `weights`: the name of the checkpoint that it began with.
    """

    trainer: Trainer
    workload: Workload
    actions: tuple[int, ...]
    weights: str

    def trace(self) -> SearchTrace:
        """What the agent thinks along its best game, with the weights that it has now."""
        return trace_game(
            self.trainer.params, self.workload, self.actions, self.trainer.config.search
        )


def plan_of(practised: Practised) -> Plan:
    """The best game as a plan; its notes hold the moves, a digit each, to be shown one by one."""
    workload, trainer = practised.workload, practised.trainer
    search = trainer.config.search
    plan = plan_from_actions(workload.program, practised.actions, "muzero", workload.rules)
    facts = {
        "games": trainer.games,
        "rounds": trainer.rounds,
        "weights": practised.weights,
        "model": search.model,
        "algorithm": search.algorithm,
        "simulations": search.num_simulations,
        "search_share": trainer.config.self_play.search_share,
    }
    return replace(plan, notes={**facts, **plan.notes})


def practising(config: AgentConfig) -> AgentConfig:
    """The settings to practise with on one program, where those of a training were `config`.

    A training must not forget the other programs, and has time. Here the games are noisier, after
    the sweeps a tree is grown in every fifth round only, most of what is learned are the best
    games, and the heuristics' games are not learned by heart.
    """
    return replace(
        config,
        self_play=replace(
            config.self_play,
            top_temperature=2.0,
            restart_share=0.75,
            search_share=0.2,
            sweeps=config.self_play.games > 1,
        ),
        replay=replace(config.replay, best_share=0.9),
        learner=replace(config.learner, steps_per_round=40),
    )


def practise(
    program: Program,
    budget: Budget,
    config: AgentConfig | None = None,
    progress: Progress = _ignore,
) -> Practised:
    """Play and learn until the time is over; at least one round of games is finished.

    What is prepared and compiled before is not counted, the first draft with it.

    The best game is offered before what is learned with is compiled (`Budget.offer`).

    `config` replaces the settings, which are else the checkpoint's, as `practising` changes them;
    `progress` is called with the trainer and the report of every round.
    Raises ConfigError for an unknown option, SolverError for a program that the JAX game cannot
    hold, EndedEarlyError where it was told to end before the first round, CheckpointError for a bad
    checkpoint.
    """
    clock = Clock(budget)
    with clock.stopped("preparing the game, compiling the agent"):
        keep_compiled()
        config, params = agent_of(budget.options, config)
        drafts = drafts_of(program, lambda: clock.tells(f"drafting … {NOT_COUNTED}"))
        bound = quick_bound(program, budget.seconds)
        prepare = partial(_prepared, program, config, bound)
        draft, begun = next(drafts), perf_counter()
        workload = prepare(draft, lambda: clock.tells(f"preparing the game … {NOT_COUNTED}"))
        if workload is None:
            raise EndedEarlyError("the agent was ended before its first game")
        draft_s = perf_counter() - begun
        trainer = Trainer([workload], config, budget.seed, params, FOCUS)
        if config.self_play.sweeps:
            trainer.may_learn = False
            trainer.compile_play()
        else:
            trainer.show_demonstrations()
    # What there is to show for the time is the first round, so that one is finished.
    report = trainer.play_round(lambda: clock.tells("the first games"))
    if report is None:
        raise EndedEarlyError("the agent was ended before its first game")
    game_s, is_compiled, sweeps = clock.spent_s, False, config.self_play.sweeps
    drafts = _with_own(trainer, drafts)
    another_s = draft_s + game_s if sweeps else 0.0
    while report is not None:
        progress(trainer, report)
        if trainer.is_swept and not is_compiled:
            # What comes after the drafts has to be compiled: too late for that, where it is too
            # late for a draft.
            if not clock.has_time_for(another_s, _best_so_far(trainer)):
                break
            another = next(drafts, None) if sweeps else None
            if another is None:
                # Compiling cannot be broken off.
                budget.offer(plan_of(_practised(trainer, budget)))
                with clock.stopped("compiling the learner"):
                    trainer.show_demonstrations()
                    if config.learner.steps_per_round:
                        trainer.compile_learning()
                is_compiled = True
            else:
                prepared = prepare(another, partial(clock.goes_on, _best_so_far(trainer)))
                if prepared is None:
                    break
                trainer.add(prepared)
        goes_on = partial(clock.has_time_for, game_s * trainer.unfinished, _best_so_far(trainer))
        report = trainer.play_round(goes_on) if goes_on() else None
    trainer.finish_sweeps(lambda: clock.tells("finishing its game"))
    return _practised(trainer, budget)


def _practised(trainer: Trainer, budget: Budget) -> Practised:
    workload = trainer.best_workload
    best = workload.replay.top
    assert best is not None
    return Practised(
        trainer=trainer,
        workload=workload,
        actions=tuple(int(a) for a in best.action),
        weights=_name_of(Path(budget.options.get("checkpoint", GENERALIST))),
    )


def _name_of(folder: Path) -> str:
    """What a folder is called, also where it is given as `.` or `..`."""
    return folder.resolve().name if folder.name in ("", "..") else folder.name


def _with_own(trainer: Trainer, drafts: Iterator[Draft]) -> Iterator[Draft]:
    """More drafts: after each game that is the best so far one of its own plan, else the next."""
    drawn_s = 0.0
    while True:
        workload = trainer.best_workload
        best, saved_s = workload.replay.top, workload.saved_s(workload.replay.top_score)
        if best is not None and saved_s > drawn_s + EQUAL * workload.point_s:
            drawn_s = saved_s
            plan = plan_from_actions(
                workload.program, best.action.tolist(), "muzero", workload.rules
            )
            yield draft_from(workload.program, plan)
        else:
            draft = next(drafts, None)
            if draft is None:
                return
            yield draft


def _prepared(
    program: Program, config: AgentConfig, bound: Bound, draft: Draft, goes_on: Callable[[], bool]
) -> Workload | None:
    """The game in the places of a draft; None where it no longer `goes_on`."""
    if not goes_on():
        return None
    shown = drafted(program, draft)
    if not goes_on():
        return None
    return make_workload(
        program, shown.actions, config, rules=shown.rules, bound=bound, wishes=shown.wishes
    )


def _best_so_far(trainer: Trainer) -> str:
    workload = trainer.best_workload
    saved = workload.saved_s(workload.replay.top_score) / workload.program.all_slow_s
    return f"best game saves {saved:.2%} of all slow"


def agent_of(
    options: Mapping[str, Any], config: AgentConfig | None = None
) -> tuple[AgentConfig, Params | None]:
    """Settings to practise with and weights (None: fresh ones), as `Budget.options` ask for them.

    `config` replaces the settings. Raises ConfigError and CheckpointError.
    """
    find("muzero").refuse_bad_options(options)
    folder = options.get("checkpoint", GENERALIST)
    params = None
    if folder != SCRATCH:
        checkpoint = load_checkpoint(Path(folder))
        params, config = checkpoint.params, config or practising(checkpoint.config)
    config = config or practising(AgentConfig())
    search = replace(
        config.search,
        model=options.get("model", config.search.model),
        algorithm=options.get("algorithm", config.search.algorithm),
        num_simulations=int(options.get("simulations", config.search.num_simulations)),
    )
    idle = set(options) & {"algorithm", "simulations"}
    if idle and search.model == POLICY_ONLY:
        raise ConfigError(f"muzero: {min(idle)} is of a search; the model {POLICY_ONLY!r} has none")
    return replace(config, search=search), params
