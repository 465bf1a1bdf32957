"""Opponents on a real program, from weak to strong, and the strongest play known on it."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from engine.debugging.games import Continuation, finish, likewise
from engine.game.moves import DROP, NUM_ACTIONS, PLACE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action, replay
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

_RULES = Rules()
_SPACING = 32
"""Moves between two kept positions of the game that is bettered."""
_LONGEST_STRETCH = 6
_LONGEST_WINDOW = 24
_GREED_CHANCE = 0.4
_BY_GREED = -1
"""In place of a desired action: greedy chooses at this move."""


@dataclass(frozen=True)
class Recorded:
    """A finished game: its actions, and the reward of each, as shares of all slow."""

    actions: tuple[int, ...]
    rewards: tuple[float, ...]

    @property
    def total(self) -> float:
        """The game's whole reward."""
        return sum(self.rewards)

    @property
    def continuation(self) -> Continuation:
        """Going on as in this game."""
        return likewise(self.actions, self.rewards)


@dataclass(frozen=True)
class Judged:
    """What an action is worth: seconds that the whole game saves with the best continuation known.

    `actions`: of that continuation, the judged one first.
    """

    saved_s: float
    actions: tuple[int, ...]


def recorded(program: Program, rules: Rules, actions: Sequence[int]) -> Recorded:
    """The game with these actions. Raises ValueError if one is illegal."""
    game = ReferenceGame(program, rules)
    return Recorded(tuple(actions), tuple(game.step(action) for action in actions))


def known_games(program: Program, plans: Sequence[Plan]) -> tuple[Rules, tuple[Recorded, ...]]:
    """Plans and `greedy` as games under one place rule, the best first; the rule is the best's."""
    under = {
        rules: [_greedy(program, rules), *(replay(program, plan, rules) for plan in plans)]
        for rules in (Rules(place=place) for place in PLACE_RULES)
    }
    rules = max(under, key=lambda rules: max(game.total_reward for game in under[rules]))
    played = {tuple(game.actions) for game in under[rules]}
    records = [recorded(program, rules, actions) for actions in sorted(played)]
    return rules, tuple(sorted(records, key=lambda game: -game.total))


def _greedy(program: Program, rules: Rules = _RULES) -> ReferenceGame:
    game = ReferenceGame(program, rules)
    finish(game, best_action)
    return game


def judged(
    game: ReferenceGame, games: Sequence[Recorded], own: Sequence[int] = ()
) -> dict[int, Judged]:
    """Each legal action with the best of: going on as in the known games, greedily, or as `own`.

    `own`: actions from this position to the end, the first one first.
    """
    ways: list[Continuation] = [best_action, *(known.continuation for known in games)]
    if own:
        whole = (*game.actions, *own)
        ways.append(likewise(whole, (0.0,) * len(whole)))
    return _judged_by(game, ways)


def judged_with(
    game: ReferenceGame, games: Sequence[Recorded], sets: Sequence[Collection[int]]
) -> dict[int, Judged]:
    """As `judged`, for a player to whom greedy leaves some moves only.

    The rest is played greedily, or at the moves of one of the `sets` as in a known game.
    """
    ways = [_shared(known.continuation, own) for known in games for own in sets]
    return _judged_by(game, [best_action, *ways])


def _shared(way: Continuation, own: Collection[int]) -> Continuation:
    """Going on in a way at one's own moves, greedily at all others."""
    return lambda game: way(game) if game.move_index in own else best_action(game)


def _judged_by(game: ReferenceGame, ways: Sequence[Continuation]) -> dict[int, Judged]:
    return {action: _judged(game, action, ways) for action in game.legal_actions()}


def _judged(game: ReferenceGame, action: int, ways: Sequence[Continuation]) -> Judged:
    after = game.clone()
    after.step(action)
    ends = []
    for way in ways:
        end = after.clone()
        finish(end, way)
        ends.append(end)
    best = max(ends, key=lambda end: end.total_reward)
    saved_s = best.total_reward * game.program.all_slow_s
    return Judged(saved_s, tuple(best.actions[game.move_index :]))


class Polish:
    """Local search on one game: change desired actions, replay, keep a game that is no worse."""

    def __init__(self, start: ReferenceGame, actions: Sequence[int], dice: random.Random) -> None:
        """`actions`: the game to better, from `start` to the end."""
        self._start, self._dice = start, dice
        self._desired = [*start.actions, *actions]
        self._kept: list[ReferenceGame] = []
        self.game = self._played(start.clone(), self._desired)
        self._keep()

    def run(self, tries: int) -> ReferenceGame:
        """Try so many changes; the best game."""
        for _ in range(tries):
            self.step()
        return self.game

    def step(self) -> bool:
        """Try one change; whether it was better."""
        desired = list(self._desired)
        changed = self._change(desired)
        if changed is None:
            return False
        near = max((g for g in self._kept if g.move_index <= changed), key=lambda g: g.move_index)
        game = self._played(near.clone(), desired)
        if game.total_reward < self.game.total_reward:
            return False
        is_better = game.total_reward > self.game.total_reward
        self.game, self._desired = game, desired
        if is_better:
            self._keep()
        return is_better

    def _change(self, desired: list[int]) -> int | None:
        """Change the desired actions of one or two tensors, and at times leave a window to greedy.

        Returns the first move that changes; None if none does.
        """
        first = None
        changes = [
            change for _ in range(self._dice.choice((1, 1, 2))) for change in self._stretch()
        ]
        if self._dice.random() < _GREED_CHANCE:
            changes += self._window(changes[0][0] + 1)
        for move, action in changes:
            if desired[move] != action:
                desired[move] = action
                first = move if first is None else min(first, move)
        return first

    def _stretch(self) -> Iterator[tuple[int, int]]:
        """The next few moves of a random tensor, each with the same desired action."""
        moves = self._start.moves
        begin = self._dice.randrange(self._start.move_index, len(moves))
        action = self._dice.choice((DROP, self._dice.randrange(NUM_ACTIONS), _BY_GREED))
        left = self._dice.randint(1, _LONGEST_STRETCH)
        for move in range(begin, len(moves)):
            if moves[move].group == moves[begin].group:
                yield move, action
                left -= 1
            if not left:
                return

    def _window(self, begin: int) -> list[tuple[int, int]]:
        """A random number of moves from `begin` on, all left to greedy."""
        end = begin + self._dice.randint(1, _LONGEST_WINDOW)
        return [(move, _BY_GREED) for move in range(begin, min(end, len(self._start.moves)))]

    def _played(self, game: ReferenceGame, desired: Sequence[int]) -> ReferenceGame:
        likely = likewise(desired, (-1.0,) * len(desired))

        def choose(position: ReferenceGame) -> int:
            is_free = desired[position.move_index] == _BY_GREED
            return best_action(position) if is_free else likely(position)

        finish(game, choose)
        return game

    def _keep(self) -> None:
        """Positions of the best game, so that a change costs only what comes after it."""
        game, actions = self._start.clone(), self.game.actions
        self._kept = [game.clone()]
        for action in actions[game.move_index :]:
            game.step(action)
            if game.move_index % _SPACING == 0 and not game.is_over:
                self._kept.append(game.clone())


ABOVE_BOUND = (0.2, 0.1, 0.05, 0.02)
"""Opponents at these shares above the bound; offered only if the best known plan beats them."""
NEARLY = 1.005
"""Whoever comes within half a percent of the best latency known has beaten it."""
CHANCE, GREEDY, COMPILER, RECORD = "chance", "greedy", "the compiler", "the best known"


@dataclass(frozen=True)
class Opponent:
    """An opponent, or a share above the bound, and the latency that has to be beaten."""

    name: str
    limit_s: float

    def is_won(self, latency_s: float) -> bool:
        """Whether that latency beats it."""
        return latency_s < self.limit_s * (1 - 1e-9)


def opponents(
    program: Program,
    compiled: Plan | None,
    bound_s: float | None,
    best_s: float | None,
    rules: Rules = _RULES,
) -> tuple[Opponent, ...]:
    """The opponents that apply, the weakest first. `compiled`: XLA's own plan.

    `best_s`: the best latency known. It is left out if greedy or XLA's plan already comes within
    `NEARLY` of it. `rules`: those of the board, under which chance and greedy play too.
    """
    dice, greedy = ReferenceGame(program, rules), ReferenceGame(program, rules)
    finish(dice, _dice)
    ladder = [Opponent(CHANCE, greedy_end_s(dice)), Opponent(GREEDY, greedy_end_s(greedy))]
    if compiled is not None:
        ladder.append(Opponent(COMPILER, simulate(program, compiled).latency_s))
    strongest_s = min(o.limit_s for o in ladder[1:])
    if bound_s is not None and best_s is not None:
        for share in ABOVE_BOUND:
            limit_s = bound_s * (1 + share)
            if best_s < limit_s < strongest_s:
                ladder.append(Opponent(f"within {100 * share:g} % of the bound", limit_s))
    if best_s is not None and best_s * NEARLY < strongest_s:
        ladder.append(Opponent(RECORD, best_s * NEARLY))
    return tuple(sorted(ladder, key=lambda opponent: -opponent.limit_s))


def _dice(game: ReferenceGame) -> int:
    """Any legal action, all equally likely; the same ones again in the same position."""
    return random.Random(game.move_index).choice(game.legal_actions())


def weighty_moves(program: Program, rules: Rules, most: int) -> frozenset[int]:
    """The `most` moves with the most to save."""
    moves = ReferenceGame(program, rules).moves
    order = sorted((m for m in range(len(moves))), key=lambda m: -moves[m].saving_s)
    return frozenset(m for m in order[:most] if moves[m].saving_s > 0)


def play_on(game: ReferenceGame, own: frozenset[int]) -> None:
    """Play greedily until a move of the player's own with a choice, or the end."""
    while not game.is_over:
        if game.move_index in own and sum(game.legal()) > 1:
            return
        game.step(best_action(game))


def greedy_end_s(game: ReferenceGame) -> float:
    """The latency of the whole program if greedy plays the rest."""
    end = game.clone()
    finish(end, best_action)
    return end.program.all_slow_s * (1 - end.total_reward)


def saved_before(program: Program, known: Recorded) -> tuple[float, ...]:
    """`[M + 1]` seconds that a game has saved before each move, and at the end."""
    saved = [0.0]
    for reward in known.rewards:
        saved.append(saved[-1] + reward * program.all_slow_s)
    return tuple(saved)


def greedy_game(program: Program, rules: Rules) -> Recorded:
    """Greedy's game under these rules."""
    return recorded(program, rules, _greedy(program, rules).actions)
