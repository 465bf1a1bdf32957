"""Training by rounds: play a batch of games of one program, remember them, learn from the memory.

A round's randomness depends only on the seed and the round's number, so training that was killed
and resumed goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import jax
import numpy as np
import optax
from numpy.typing import NDArray

from engine.agent.breeding import children_of, drawn, drawn_start, first_genomes
from engine.agent.comparison import Columns, pairs_of
from engine.agent.config import AgentConfig, LearnerConfig
from engine.agent.judge import Judge
from engine.agent.leaning import leaning, settled
from engine.agent.learner import learn, optimiser
from engine.agent.losses import Losses
from engine.agent.network import Params, init_params
from engine.agent.replay_buffer import PROGRESS, Game
from engine.agent.scouting import Outcome, send_scouts, set_out, shake
from engine.agent.self_play import (
    CHUNK,
    FREE,
    first_positions,
    play_games,
    temperatures,
    wildness,
)
from engine.agent.workload import Workload, continued, follow, positions_in, split
from engine.game.genome import GUEST_SHARE

_PLAY, _LEARN, _REANALYSE, _RESET = range(4)

Go = Callable[[], bool]
"""Asked often; False ends the work early."""


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Round:
    """What one round brought. Scores are points above par; `best` over all rounds of the program.

    `greedy`: the game without noise; None where the round followed good games.
    """

    number: int
    workload: int
    start: int
    greedy: float | None
    mean: float
    top: float
    best: float
    losses: dict[str, float]


@dataclass(frozen=True)
class _Played:
    """The games of a round, which begin like their parents before move `start`.

    `is_free`: nothing was followed, the first game is the agent's own.
    """

    found: Outcome
    start: int
    is_free: bool


class Trainer:
    """The agent, its optimiser, and the workloads that it practises on.

    `focus`: share of the rounds that go to the workload whose best game saves most, where all are
    of one program (under several place rules); the others take turns. `last_games`, `last_pairs`:
    of the round that was played last.
    """

    def __init__(
        self,
        workloads: Sequence[Workload],
        config: AgentConfig,
        seed: int,
        params: Params | None = None,
        focus: float = 0.0,
    ) -> None:
        """Start from `params`, else from fresh weights."""
        self.focus = focus
        self.workloads = list(workloads)
        self.config = config
        self.seed = seed
        self.params = params or init_params(jax.random.key(seed), config.network)
        self.state: optax.OptState = optimiser(config.learner).init(self.params)
        self._is_specialist = len({w.program.name for w in workloads}) == 1
        self.rounds = 0
        self.games = 0
        self.last_games: list[Game] = []
        self.last_pairs: Columns = pairs_of([], [], [])

    @property
    def best_workload(self) -> Workload:
        """The one whose best own game saves most seconds; the first one before any game."""
        return max(self.workloads, key=lambda w: w.saved_s(w.replay.top_score))

    @property
    def _leaders(self) -> list[int]:
        """The workloads whose best games are as good as the best of all, to within `PROGRESS`."""
        best = self.best_workload
        least = best.saved_s(best.replay.top_score - PROGRESS)
        return [
            index
            for index, some in enumerate(self.workloads)
            if some is best or some.saved_s(some.replay.top_score) >= least > -np.inf
        ]

    @property
    def _learner(self) -> LearnerConfig:
        """How to learn: where the agent competes with itself values are no points to be gained."""
        learner = self.config.learner
        return replace(learner, gain_weight=0.0) if self.config.practice.is_competing else learner

    def show_demonstrations(self) -> None:
        """Put the demonstrations into the memories."""
        for workload in self.workloads:
            if workload.demonstrations:
                workload.replay.show(follow(workload, self.params, workload.demonstrations))

    def warm_up(self, go_on: Go = _always) -> None:
        """Learn from the demonstrations alone."""
        if any(w.replay.count("shown") for w in self.workloads):
            self._learn(self.config.practice.warm_up_steps, 1.0, go_on)

    def play_round(self, go_on: Go = _always) -> Round | None:
        """One round; None if it was ended early (then nothing is remembered of its games).

        A round of scouts that is ended early is a shorter one.
        """
        practice, number = self.config.practice, self.rounds
        rng = np.random.default_rng([self.seed, _PLAY, number])
        index = number % len(self.workloads)
        if rng.random() < self.focus:
            index = int(rng.choice(self._leaders))
        workload, visit = self.workloads[index], number // len(self.workloads)
        self._freshen(workload, visit, go_on)
        # By workload and visit: the round's number alone would search some programs never.
        is_searched = (visit + index) % practice.search_every == 0
        played = self._play_games(workload, rng, is_searched, go_on)
        if played is None:
            return None
        found = played.found
        self.games += len(found.actions)
        self._remember(workload, found)
        share = practice.demonstration_share * practice.demonstration_decay**visit
        losses = self._learn(practice.learn_steps, share, go_on)
        self.rounds += 1
        return Round(
            number=number,
            workload=index,
            start=played.start,
            greedy=found.scores[0] if played.is_free else None,
            mean=float(np.mean(found.scores)),
            top=max(found.scores),
            best=workload.replay.top_score,
            losses=losses,
        )

    def _play_games(
        self, workload: Workload, rng: np.random.Generator, is_searched: bool, go_on: Go
    ) -> _Played | None:
        """The games of a round; None if it was ended early."""
        practice, memory = self.config.practice, workload.replay
        is_shaken = memory.kind == "shaken"
        if not memory.best and (is_shaken or memory.shown):
            begin = shake if is_shaken else set_out
            return _Played(begin(workload, self.params, practice, rng, go_on), 0, is_free=False)
        guests = [] if is_searched else self._guests(workload, rng)
        is_free = not guests and (not memory.best or rng.random() >= practice.restart_share)
        if is_searched or is_free:
            return self._search(workload, rng, is_free, go_on)
        found = send_scouts(workload, self.params, practice, rng, guests, go_on)
        return _Played(found, 0, is_free=False)

    def _search(
        self, workload: Workload, rng: np.random.Generator, is_free: bool, go_on: Go
    ) -> _Played | None:
        """A round in which the agent decides, in variations of good games; None if it was ended."""
        practice = self.config.practice
        wild = wildness(practice.games)
        parents = [] if is_free else drawn(workload.replay.best, len(wild), rng)
        start = drawn_start(workload, rng) if parents else 0
        if parents:
            judge = Judge(self.params, workload.arena.known)
            genes = children_of(
                workload, judge, practice, rng, parents, start, wild, keeps_first=True
            )
            is_sure = genes != np.stack([parent.genes for parent in parents])
        else:
            genes = first_genomes(workload, practice, rng, wild)
            # What has no parents is a script to be followed, or empty.
            is_sure = np.ones(genes.shape, bool)
        lean = self._lean(rng, genes, is_sure)
        games = self._play(workload, parents, start, wild, lean, go_on)
        if games is None:
            return None
        games = [replace(game, genes=settled(genes[i], game)) for i, game in enumerate(games)]
        return _Played(_outcome(parents, games), start, is_free)

    def _freshen(self, workload: Workload, visit: int, go_on: Go) -> None:
        """What is due before a round: reanalysis, a new family."""
        practice = self.config.practice
        every = practice.reanalyse_every
        if every and visit % every == every - 1 and workload.replay.best:
            self._reanalyse(workload, go_on)
        if self._is_specialist and workload.replay.stale >= practice.stale_rounds:
            self._begin_family(workload)

    def _remember(self, workload: Workload, found: Outcome) -> None:
        self.last_games, self.last_pairs = found.games, found.pairs
        workload.comparisons.add(found.pairs)
        workload.replay.add(found.games, found.drifted)

    def _key(self, purpose: int, number: int) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(self.seed), purpose)
        return jax.random.fold_in(key, number + 1)

    def _guests(self, workload: Workload, rng: np.random.Generator) -> list[Game]:
        """For each scout a good game under the place rule that leads; none: no guests.

        Words mean something under every rule; so the others show what they make of the best ones.
        """
        leader = self.best_workload
        if not self._is_specialist or leader is workload or rng.random() >= GUEST_SHARE:
            return []
        return drawn(leader.replay.best, self.config.practice.scouts, rng)

    def _begin_family(self, workload: Workload) -> None:
        """A new family of good games; without ancestors, also a policy that is open to all.

        Fresh weights in the last layer undo the primacy bias (arXiv 2205.07802).
        """
        workload.replay.begin_family(self.rounds)
        if workload.replay.kind != "fresh":
            return
        fresh = init_params(self._key(_RESET, self.rounds), self.config.network)
        self.params = {**self.params, "policy_out": fresh["policy_out"]}

    def _lean(
        self, rng: np.random.Generator, genes: NDArray[np.int8], is_sure: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """What each game leans to, `[L, B, NUM_WORDS]`."""
        practice = self.config.practice
        least, most = practice.lean
        strength = rng.uniform(least, most, len(genes)).astype(np.float32)
        return leaning(genes, is_sure, strength, practice.sure_lean)

    def _play(
        self,
        workload: Workload,
        parents: list[Game],
        start: int,
        wild: NDArray[np.float32],
        lean: NDArray[np.float32],
        go_on: Go,
    ) -> list[Game] | None:
        practice, arena = self.config.practice, workload.arena
        positions = first_positions(arena, practice.games)
        if start:
            positions = positions_in(parents, start // CHUNK)
        played = play_games(
            self.params,
            arena,
            positions,
            self._key(_PLAY, self.rounds),
            temperatures(wild, practice.top_temperature),
            np.full((workload.num_moves - start, practice.games), FREE, np.int32),
            self.config.search,
            lean[start:],
            go_on,
        )
        if played is None:
            return None
        games = split(played)
        if not start:
            return games
        return [continued(*pair, start) for pair in zip(parents, games, strict=True)]

    def _reanalyse(self, workload: Workload, go_on: Go) -> None:
        """Search again along the best games: fresh values, policies between found and played."""
        practice = self.config.practice
        best = workload.replay.best
        script = np.stack([best[i % len(best)].action for i in range(practice.games)], axis=1)
        played = play_games(
            self.params,
            workload.arena,
            first_positions(workload.arena, practice.games),
            self._key(_REANALYSE, self.rounds),
            np.zeros((practice.games, 1), np.float32),
            script,
            self.config.search,
            go_on=go_on,
        )
        if played is not None:
            fresh = split(played)[: len(best)]
            workload.replay.set_best(
                replace(old, policy=np.float32(0.5) * (new.policy + old.played), value=new.value)
                for old, new in zip(best, fresh, strict=True)
            )

    def _learn(self, steps: int, demonstration_share: float, go_on: Go) -> dict[str, float]:
        practice, losses = self.config.practice, None
        rng = np.random.default_rng([self.seed, _LEARN, self.rounds])
        known = [w for w in self.workloads if w.replay.count("own") or w.replay.count("shown")]
        for _ in range(steps):
            if not go_on():
                break
            workload = known[int(rng.integers(len(known)))]
            batch = workload.replay.sample(
                rng,
                practice.positions,
                self.config.learner.unroll,
                practice.best_share,
                demonstration_share,
            )
            pairs, arena = workload.comparisons.sample(rng), workload.arena
            self.params, self.state, losses = learn(
                self.params,
                self.state,
                arena.known,
                arena.encoded.num_moves,
                batch,
                pairs,
                self._learner,
            )
        return {} if losses is None else _floats(losses)


def _outcome(parents: list[Game], games: list[Game]) -> Outcome:
    """Of games in which the agent decided: all are remembered."""
    actions, scores = [game.action for game in games], [game.score for game in games]
    pairs = pairs_of(parents, actions[: len(parents)], scores[: len(parents)])
    return Outcome(actions, scores, games, [], pairs)


def _floats(losses: Losses) -> dict[str, float]:
    return {f.name: float(getattr(losses, f.name)) for f in fields(losses)}
