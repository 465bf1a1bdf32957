"""Training by rounds: play a batch of games of one program, remember them, learn from the buffer.

A round's randomness depends only on the seed and the round's number, so training that was killed
and resumed goes on as if nothing had happened. Letters: `B` games of a round, `L` moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import optax

from engine.agent.config import AgentConfig
from engine.agent.losses import Losses, learn, optimiser
from engine.agent.network import Params, init_params, is_drafts_own
from engine.agent.self_play import (
    CHUNK,
    FREE,
    first_positions,
    noise_levels,
    play_games,
    temperatures,
)
from engine.agent.sweep import LEAST, Sweep, play_deviations, play_prefixes, steepest
from engine.agent.types import Game
from engine.agent.workload import Workload, continued, follow, positions_in, seen, split

_PLAY, _LEARN, _WARM_UP = range(3)
EQUAL = 0.1
"""Points within which two workloads of a program are equally promising."""

Go = Callable[[], bool]
"""Asked often; False ends the work early."""


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Round:
    """The result of one round. Scores are points above the baseline, `best` over all rounds so far.

    `start`: the move from which games were played. `greedy`: the score of the game without noise;
    None where it went on from a position of an earlier game.
    """

    number: int
    workload: int
    start: int
    greedy: float | None
    mean: float
    top: float
    best: float
    losses: dict[str, float]


class Trainer:
    """The agent, its optimiser, and the workloads that it practises on.

    `focus`: share of the rounds that go to the workload whose best game saves most, where all are
    of one program (under several drafts); the others take turns. `visits`: rounds of each
    workload. `last_games`: of the round that was played last.
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
        self.rounds = 0
        self.games = 0
        self.visits = [0] * len(self.workloads)
        self.last_games: list[Game] = []
        self.sweeps: list[Sweep | None] = [None] * len(self.workloads)
        # Who works against the clock learns only once there is a compiled learner.
        self.may_learn = True

    @property
    def best_workload(self) -> Workload:
        """The one whose best own game saves most seconds; the first one before any game."""
        return max(self.workloads, key=lambda w: w.saved_s(w.replay.top_score))

    @property
    def _leaders(self) -> list[int]:
        """The workloads whose best games are as good as the best of all, to within `EQUAL`."""
        best = self.best_workload
        least = best.saved_s(best.replay.top_score - EQUAL)
        return [
            index
            for index, some in enumerate(self.workloads)
            if some is best or some.saved_s(some.replay.top_score) >= least > -np.inf
        ]

    def show_demonstrations(self) -> None:
        """Put the teacher's games, or else the demonstrations, into the replay buffers."""
        for workload in self.workloads:
            if shown := workload.taught or workload.demonstrations:
                workload.replay.demonstrate(follow(workload, self.params, shown, self.config))

    def add(self, workload: Workload) -> None:
        """Take in one more, which has its turn next where games are swept."""
        self.workloads.append(workload)
        self.visits.append(0)
        self.sweeps.append(None)

    def warm_up(self, go_on: Go = _always) -> None:
        """Learn from the demonstrations alone."""
        if any(w.replay.count("demonstrations") for w in self.workloads):
            self._learn(self.config.learner.warm_up_steps, 1.0, go_on, _WARM_UP)

    def compile_play(self) -> None:
        """Have what plays the first round compiled, which is kept; nothing is remembered."""
        once = iter([True])
        self._play(self.workloads[0], [], 0, False, lambda: next(once, False), True)

    def compile_learning(self) -> None:
        """Have the learner compiled, which is kept; nothing is learned."""
        before = jax.tree.map(jnp.copy, (self.params, self.state))
        self._learn(1, 0.0, _always)
        self.params, self.state = before
        self.may_learn = True

    def play_round(self, go_on: Go = _always) -> Round | None:
        """One round; None if it was ended early (then nothing is remembered of its games)."""
        index = self._sweeping()
        if index is not None:
            return self._sweep(index, go_on)
        rng = np.random.default_rng([self.seed, _PLAY, self.rounds])
        index, replay = self._turn(rng), self.config.replay
        workload, visit = self.workloads[index], self.visits[index]
        parents, start = self._beginnings(workload, rng)
        is_to_sweep = self.config.self_play.sweeps and not workload.replay.best
        grows = bool(rng.random() < self.config.self_play.search_share) and not is_to_sweep
        games = self._play(workload, parents, start, grows, go_on, is_to_sweep)
        if games is None:
            return None
        if is_to_sweep:
            sweep = Sweep(games[0], is_of_prior=True)
            sweep.next = steepest(workload, games[0]) * sweep.game.legal.shape[1]
            self.sweeps[index] = sweep
        workload.replay.add_best(games)
        workload.replay.add_old([game for game in games if game.is_seen])
        share = replay.demonstration_share * replay.demonstration_decay**visit
        steps = self.config.learner.steps_per_round if self.is_swept and self.may_learn else 0
        losses = self._learn(steps, share, go_on)
        scores = [game.score for game in games]
        return self._done(index, games, start, scores, None if parents else scores[0], losses)

    @property
    def is_swept(self) -> bool:
        """Whether no sweep is under way or to come, so that there is learning after each round."""
        if not self.config.self_play.sweeps:
            return True
        return all(sweep and (sweep.is_over or sweep.is_done) for sweep in self.sweeps)

    def _turn(self, rng: np.random.Generator) -> int:
        """The workload whose games are played next; first all of them once, if they are swept."""
        if self.config.self_play.sweeps and 0 in self.visits:
            return self.visits.index(0)
        if rng.random() < self.focus:
            return int(rng.choice(self._leaders))
        return self.rounds % len(self.workloads)

    def _sweeping(self) -> int | None:
        """The workload whose sweep goes on: of those that are not over the one with the best game.

        A game that is better than the sweep's own begins it anew.
        """
        if not self.config.self_play.sweeps:
            return None
        for index, workload in enumerate(self.workloads):
            sweep, top = self.sweeps[index], workload.replay.top
            if sweep and sweep.is_over and top and top.score > sweep.before + LEAST:
                self.sweeps[index] = Sweep(top)
        under_way = [i for i, sweep in enumerate(self.sweeps) if sweep and not sweep.is_over]
        saved_s = [w.saved_s(w.replay.top_score) for w in self.workloads]
        return max(under_way, key=saved_s.__getitem__, default=None)

    def _sweep(self, index: int, go_on: Go) -> Round | None:
        """A round of deviations from the best game of a workload; nothing is learned yet."""
        workload, sweep = self.workloads[index], self.sweeps[index]
        assert sweep is not None
        tried = sweep.upcoming(self.config.self_play.games - 1)
        if sweep.is_over and sweep.game.score < sweep.before - LEAST:
            return self._try_prefixes(index, go_on)
        if sweep.is_over:
            workload.replay.set_best(
                replace(game, policy=sweep.policy())
                if np.array_equal(game.action, sweep.game.action)
                else game
                for game in workload.replay.best
            )
            return self.play_round(go_on)
        found = play_deviations(self.params, workload, sweep, tried, self.config, go_on)
        if found is None:
            return None
        sweep.take(tried, found)
        if found.length == workload.num_moves:
            # They differ in one move: of what can be learned, the best have it all.
            best = np.argsort(-found.scores, kind="stable")[: self.config.replay.num_best]
            workload.replay.add_best([found.game(int(number)) for number in best])
        start = tried[0][0] // CHUNK * CHUNK if tried else len(sweep.game.action)
        return self._done(index, [], start, found.scores.tolist(), None, {})

    def _try_prefixes(self, index: int, go_on: Go) -> Round | None:
        """A round of games with prefixes of what a sweep has taken; it goes on from the best."""
        workload, sweep = self.workloads[index], self.sweeps[index]
        assert sweep is not None
        played = play_prefixes(self.params, workload, sweep, self.config, go_on)
        if played is None:
            return None
        before, (best, taken) = sweep.before, max(played, key=lambda one: one[0].score)
        sweep.restart(best, taken)
        if best.score <= before + LEAST and not sweep.look_further():
            sweep.is_over, sweep.before = True, before
        games = [game for game, _ in played]
        workload.replay.add_best(games)
        return self._done(index, [], 0, [game.score for game in games], None, {})

    def finish_sweeps(self, go_on: Go = _always) -> None:
        """Play the games of the sweeps that are under way to their ends."""
        for index, sweep in enumerate(self.sweeps):
            if sweep is not None and not sweep.is_whole:
                self._try_prefixes(index, go_on)

    @property
    def unfinished(self) -> int:
        """Rounds of whole games that `finish_sweeps` has to play."""
        return sum(not sweep.is_whole for sweep in self.sweeps if sweep)

    def _done(
        self,
        index: int,
        games: list[Game],
        start: int,
        scores: Sequence[float],
        greedy: float | None,
        losses: dict[str, float],
    ) -> Round:
        """Count a round that was played; what came of it."""
        self.last_games = games
        self.games += len(scores)
        self.rounds += 1
        self.visits[index] += 1
        return Round(
            number=self.rounds - 1,
            workload=index,
            start=start,
            greedy=greedy,
            mean=float(np.mean(scores)),
            top=max(scores),
            best=self.workloads[index].replay.top_score,
            losses=losses,
        )

    def _beginnings(
        self, workload: Workload, rng: np.random.Generator
    ) -> tuple[Sequence[Game], int]:
        """Own good games, one for each game of the round, and the move before which it goes on.

        The better a game is, the more often it is drawn. No games: all begin at the first move.
        """
        config, best = self.config.self_play, workload.replay.best
        if not best or rng.random() >= config.restart_share:
            return [], 0
        start = CHUNK * int(rng.integers(-(-workload.num_moves // CHUNK)))
        ranks = (len(best) * rng.random(config.games) ** 2).astype(int)
        return [best[rank] for rank in ranks], start

    def _play(
        self,
        workload: Workload,
        parents: Sequence[Game],
        start: int,
        grows: bool,
        go_on: Go,
        is_to_sweep: bool,
    ) -> list[Game] | None:
        """Whole games `[B]`, which begin like their parents before move `start`.

        `grows`: with a tree at every move. `is_to_sweep`: what is swept next is not learned from
        yet, so nobody has to look.
        """
        config, arena = self.config.self_play, workload.arena
        positions = first_positions(arena, config.games)
        if start:
            positions = positions_in(parents, start // CHUNK)
        played = play_games(
            self.params,
            arena,
            positions,
            self._key(_PLAY, self.rounds),
            temperatures(noise_levels(config.games), config.top_temperature),
            np.full((workload.num_moves - start, config.games), FREE, np.int32),
            self.config.search,
            go_on,
            grows,
            looks=not (is_to_sweep and is_drafts_own(self.params)),
        )
        if played is None:
            return None
        games = split(played)
        if not start:
            return games
        return [continued(*pair, start) for pair in zip(parents, games, strict=True)]

    def _learn(
        self, steps: int, demonstration_share: float, go_on: Go, purpose: int = _LEARN
    ) -> dict[str, float]:
        """Steps on a batch each, of a program drawn by chance; the losses of the last one."""
        config, losses = self.config, None
        rng = np.random.default_rng([self.seed, purpose, self.rounds])
        known = [
            w for w in self.workloads if w.replay.count("own") or w.replay.count("demonstrations")
        ]
        for workload in known if steps else ():
            best = workload.replay.best
            if not all(game.is_seen for game in best):
                workload.replay.set_best(seen(workload, self.params, best, config))
        for _ in range(steps):
            if not go_on():
                break
            workload = known[int(rng.integers(len(known)))]
            batch = workload.replay.sample(
                rng,
                config.learner.batch_size,
                config.learner.unroll,
                config.replay.best_share,
                demonstration_share,
            )
            arena = workload.arena
            self.params, self.state, losses = learn(
                self.params,
                self.state,
                arena.known,
                arena.encoded.num_moves,
                batch,
                config.learner,
            )
        return {} if losses is None else _floats(losses)

    def _key(self, purpose: int, number: int) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(self.seed), purpose)
        return jax.random.fold_in(key, number + 1)


def _floats(losses: Losses) -> dict[str, float]:
    return {f.name: float(getattr(losses, f.name)) for f in fields(losses)}
