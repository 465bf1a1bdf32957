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

from engine.agent.comparison import Columns, chosen, pairs_of
from engine.agent.config import AgentConfig
from engine.agent.leaning import (
    behind,
    everywhere,
    leaning,
    settled,
    shaken,
    unrelated,
    varied,
)
from engine.agent.learner import Losses, learn, optimiser
from engine.agent.network import Params, init_params
from engine.agent.replay import Game
from engine.agent.scouting import Avoided, Outcome, send_scouts
from engine.agent.selfplay import (
    CHUNK,
    FREE,
    first_positions,
    play_games,
    temperatures,
    wildness,
)
from engine.agent.workload import Workload, continued, follow, positions_in, split
from engine.game.genome import GUEST_SHARE, Genes

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
    """The games of a round: from move `start` of their `parents` on; whole games have none.

    `is_free`: nothing was followed, the first game is the agent's own.
    """

    found: Outcome
    parents: list[Game]
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
        """One round; None if it was ended early (then nothing is remembered of its games)."""
        practice, number = self.config.practice, self.rounds
        rng = np.random.default_rng([self.seed, _PLAY, number])
        index = number % len(self.workloads)
        if rng.random() < self.focus:
            index = self.workloads.index(self.best_workload)
        workload, visit = self.workloads[index], number // len(self.workloads)
        self._freshen(workload, visit, go_on)
        is_descending = workload.replay.has_ancestors and not workload.replay.best
        # By workload and visit: the round's number alone would search some programs never.
        turn = (visit + index) % practice.search_every
        played = (
            self._shake(workload, rng)
            if is_descending
            else self._vary_and_play(workload, rng, turn == 0, go_on)
        )
        if played is None:
            return None
        found = played.found
        self.games += len(found.actions)
        self._remember(workload, played.parents, found)
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

    def _vary_and_play(
        self, workload: Workload, rng: np.random.Generator, is_searched: bool, go_on: Go
    ) -> _Played | None:
        """A round of games that vary good ones, or of the first games; None if it was ended."""
        practice = self.config.practice
        num_games = practice.games if is_searched else practice.scouts
        guests = self._guests(workload, rng, num_games)
        parents = [] if guests else self._parents(workload, rng, num_games)
        if not parents and not guests:
            is_searched, num_games = True, practice.games
        start = CHUNK * int(rng.integers(_chunks(workload))) if parents else 0
        wild = wildness(num_games)
        is_sure, genes = self._vary(workload, rng, parents, guests, start, wild)
        is_free = not parents and not guests
        if not is_searched:
            found = send_scouts(workload, self.params, parents, start, genes)
            return _Played(found, parents, start, is_free)
        lean = self._lean(rng, genes, is_sure)
        games = self._play(workload, parents, start, wild, lean, go_on)
        if games is None:
            return None
        games = [replace(game, genes=settled(genes[i], game)) for i, game in enumerate(games)]
        return _Played(_outcome(games), parents, start, is_free)

    def _shake(self, workload: Workload, rng: np.random.Generator) -> _Played:
        """The first round of a family with ancestors: scouts far from a champion, but not too far.

        As in iterated local search (Lourenço, Martin and Stützle 2003): what is good about the
        champion is mostly kept, and practice leads elsewhere than back.
        """
        practice = self.config.practice
        (champion,) = _drawn(workload.replay.champions, 1, rng)
        share = float(np.exp(rng.uniform(*np.log(practice.shaken))))
        genes = shaken(
            rng, workload.layout, champion.genes, practice.scouts, share, workload.relaxed
        )
        avoided = Avoided(champion, share)
        return _Played(send_scouts(workload, self.params, [], 0, genes, avoided), [], 0, False)

    def _freshen(self, workload: Workload, visit: int, go_on: Go) -> None:
        """What is due before a round: reanalysis, a new family."""
        practice = self.config.practice
        every = practice.reanalyse_every
        if every and visit % every == every - 1 and workload.replay.best:
            self._reanalyse(workload, go_on)
        if self._is_specialist and workload.replay.stale >= practice.stale_rounds:
            self._begin_family(workload)

    def _remember(self, workload: Workload, parents: list[Game], found: Outcome) -> None:
        some = slice(len(parents))
        self.last_games = found.games
        self.last_pairs = pairs_of(parents, found.actions[some], found.scores[some])
        workload.comparisons.add(self.last_pairs)
        workload.replay.add(found.games, found.drifted)

    def _key(self, purpose: int, number: int) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(self.seed), purpose)
        return jax.random.fold_in(key, number + 1)

    def _parents(self, workload: Workload, rng: np.random.Generator, num_games: int) -> list[Game]:
        """For each game the good one in which it begins and to which it leans; none: free games."""
        practice = self.config.practice
        if rng.random() >= practice.restart_share:
            return []
        return _drawn(workload.replay.best, num_games, rng)

    def _guests(self, workload: Workload, rng: np.random.Generator, num_games: int) -> list[Genes]:
        """For each game the genome of a good one under the place rule that leads; none: no guests.

        Words mean something under every rule; so the others show what they make of the best ones.
        """
        leader = self.best_workload
        if not self._is_specialist or leader is workload or rng.random() >= GUEST_SHARE:
            return []
        return [game.genes for game in _drawn(leader.replay.best, num_games, rng)]

    def _begin_family(self, workload: Workload) -> None:
        """A new family of good games; without ancestors, also a policy that is open to all.

        Fresh weights in the last layer undo the primacy bias (arXiv 2205.07802).
        """
        workload.replay.begin_family(self.rounds)
        if workload.replay.has_ancestors:
            return
        fresh = init_params(self._key(_RESET, self.rounds), self.config.network)
        self.params = {**self.params, "policy_out": fresh["policy_out"]}

    def _vary(
        self,
        workload: Workload,
        rng: np.random.Generator,
        parents: list[Game],
        guests: list[Genes],
        start: int,
        wild: NDArray[np.float32],
    ) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
        """The genome of each game, and where it is followed for sure, both `[B, L]`."""
        practice, layout = self.config.practice, workload.layout
        is_first = not workload.replay.best
        old = [parent.genes for parent in parents] or guests
        # Later families begin elsewhere: all that round the same optimum end much alike.
        relaxed = None if workload.replay.champions else workload.relaxed
        old = old or unrelated(rng, layout, len(wild), is_first, relaxed, practice.relaxed_share)
        sites = behind(layout, start) if parents else everywhere(layout)
        rates = wild * practice.mutations
        tries = [
            varied(rng, old, sites, rates, practice.cross_share)
            for _ in range(practice.variations if parents else 1)
        ]
        genes = tries[0]
        if len(tries) > 1:
            options = np.stack(tries, axis=1)
            genes = chosen(rng, self.params, workload.arena.known, parents, options, start)
        # What has no parents is a script to be followed, or empty.
        return (genes != np.stack(old)) | (not parents), genes

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
            arrays = {f.name: getattr(batch, f.name) for f in fields(batch)}
            pairs, arena = workload.comparisons.sample(rng), workload.arena
            self.params, self.state, losses = learn(
                self.params,
                self.state,
                arena.known,
                arena.encoded.num_moves,
                arrays,
                pairs,
                self.config.learner,
            )
        return {} if losses is None else _floats(losses)


def _outcome(games: list[Game]) -> Outcome:
    """Of games in which the agent decided: all are remembered."""
    return Outcome([game.action for game in games], [game.score for game in games], games, [])


def _drawn(best: Sequence[Game], number: int, rng: np.random.Generator) -> list[Game]:
    """That many of the games, the better ones more often; none if there are none."""
    if not best:
        return []
    ranks = (len(best) * rng.random(number) ** 2).astype(int)
    return [best[rank] for rank in ranks]


def _chunks(workload: Workload) -> int:
    """Chunks up to the last touch: behind it nothing can be varied."""
    return int(workload.layout.touches.max(initial=0)) // CHUNK + 1


def _floats(losses: Losses) -> dict[str, float]:
    return {f.name: float(getattr(losses, f.name)) for f in fields(losses)}
