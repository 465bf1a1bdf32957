"""Training by rounds: play a batch of games of one program, remember them, learn from the memory.

A round's randomness depends only on the seed and the round's number, so training that was killed
and resumed goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from engine.agent.config import AgentConfig
from engine.agent.learner import Losses, learn, optimiser
from engine.agent.network import Params, init_params
from engine.agent.replay import Game
from engine.agent.selfplay import CHUNK, FREE, first_positions, play_games, repeat, temperatures
from engine.agent.whims import whims
from engine.agent.workload import Workload, follow, position_after, split

_PLAY, _LEARN, _REANALYSE = range(3)

Go = Callable[[], bool]
"""Asked often; False ends the work early."""


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Round:
    """What one round brought. Scores are points above par; `best` over all rounds of the program.

    `greedy`: the game without noise; None where the round followed a good game.
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

    `last_games`: of the round that was played last.
    """

    def __init__(
        self,
        workloads: Sequence[Workload],
        config: AgentConfig,
        seed: int,
        params: Params | None = None,
    ) -> None:
        """Start from `params`, else from fresh weights."""
        self.workloads = list(workloads)
        self.config = config
        self.seed = seed
        self.params = params or init_params(jax.random.key(seed), config.network)
        self.state: optax.OptState = optimiser(config.learner).init(self.params)
        self.rounds = 0
        self.last_games: list[Game] = []

    def show_demonstrations(self) -> None:
        """Put the demonstrations into the memories."""
        for workload in self.workloads:
            if workload.demonstrations:
                for game in follow(workload, self.params, workload.demonstrations):
                    game.is_demonstration = True
                    workload.replay.add(game)

    def warm_up(self, go_on: Go = _always) -> None:
        """Learn from the demonstrations alone."""
        if any(w.replay.demonstrations for w in self.workloads):
            self._learn(self.config.practice.warm_up_steps, 1.0, go_on)

    def play_round(self, go_on: Go = _always) -> Round | None:
        """One round; None if it was ended early (then nothing is remembered of its games)."""
        number = self.rounds
        rng = np.random.default_rng([self.seed, _PLAY, number])
        index = number % len(self.workloads)
        workload = self.workloads[index]
        visit = number // len(self.workloads)
        every = self.config.practice.reanalyse_every
        if every and visit % every == every - 1 and workload.replay.best:
            self._reanalyse(workload, go_on)
        example = self._example(workload, rng)
        start = 0 if example is None else CHUNK * int(_chunks(workload) * rng.random() ** 2)
        lean = whims(
            rng, workload.groups, start, self.config.practice.games, *self.config.practice.whims
        )
        games = self._play(workload, example, start, lean, go_on)
        if games is None:
            return None
        for game in games:
            workload.replay.add(game)
        self.last_games = games
        practice = self.config.practice
        share = practice.demonstration_share * practice.demonstration_decay**visit
        losses = self._learn(practice.learn_steps, share, go_on)
        self.rounds += 1
        scores = [game.score for game in games]
        return Round(
            number=number,
            workload=index,
            start=start,
            greedy=scores[0] if example is None else None,
            mean=float(np.mean(scores)),
            top=max(scores),
            best=workload.replay.top_score,
            losses=losses,
        )

    def _key(self, purpose: int, number: int) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(self.seed), purpose)
        return jax.random.fold_in(key, number + 1)

    def _example(self, workload: Workload, rng: np.random.Generator) -> Game | None:
        """The good game in which the round begins and to which it leans; None: free games."""
        best = workload.replay.best
        if not best or rng.random() >= self.config.practice.restart_share:
            return None
        return best[int(len(best) * rng.random() ** 2)]

    def _play(
        self,
        workload: Workload,
        example: Game | None,
        start: int,
        lean: NDArray[np.float32],
        go_on: Go,
    ) -> list[Game] | None:
        practice, arena = self.config.practice, workload.arena
        positions = first_positions(arena, practice.games)
        if example is not None:
            if start:
                positions = position_after(workload, self.params, example.action[:start])
                positions = repeat(positions, practice.games)
            lean = lean + practice.lean * example.played[:, None]
        played = play_games(
            self.params,
            arena,
            positions,
            self._key(_PLAY, self.rounds),
            temperatures(practice.games, practice.top_temperature),
            np.full((workload.num_moves - start, practice.games), FREE, np.int32),
            self.config.search,
            lean[start:],
            go_on,
        )
        if played is None:
            return None
        games = split(played[1])
        return games if example is None else [_continued(example, start, g) for g in games]

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
            # Copies, since the same games may lie in the memory of recent ones as they were played.
            workload.replay.best = [
                replace(
                    game, policy=np.float32(0.5) * (fresh.policy + game.played), value=fresh.value
                )
                for game, fresh in zip(best, split(played[1]), strict=False)
            ]

    def _learn(self, steps: int, demonstration_share: float, go_on: Go) -> dict[str, float]:
        practice, losses = self.config.practice, None
        rng = np.random.default_rng([self.seed, _LEARN, self.rounds])
        known = [w for w in self.workloads if w.replay.games or w.replay.demonstrations]
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
            arrays = {f.name: jnp.asarray(getattr(batch, f.name)) for f in fields(batch)}
            self.params, self.state, losses = learn(
                self.params, self.state, workload.arena, arrays, self.config.learner
            )
        return {} if losses is None else _floats(losses)


def _chunks(workload: Workload) -> int:
    return -(-workload.num_moves // CHUNK)


def _continued(prefix: Game, start: int, game: Game) -> Game:
    """The whole game that began like `prefix` and went on as `game`."""
    return Game(
        observation=np.concatenate([prefix.observation[:start], game.observation]),
        legal=np.concatenate([prefix.legal[:start], game.legal]),
        action=np.concatenate([prefix.action[:start], game.action]),
        policy=np.concatenate([prefix.policy[:start], game.policy]),
        value=np.concatenate([prefix.value[:start], game.value]),
        reward=np.concatenate([prefix.reward[:start], game.reward]),
    )


def _floats(losses: Losses) -> dict[str, float]:
    return {f.name: float(getattr(losses, f.name)) for f in fields(losses)}
