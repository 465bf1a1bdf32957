"""Mining: pivotal moves of strong games, and positions at which greedy's action is worse."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.game.moves import KINDS, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.opponents import (
    Judged,
    Polish,
    Recorded,
    greedy_game,
    judged,
    known_games,
    recorded,
)
from engine.lessons.positions import Mined
from engine.lessons.refutation import Refutation, refute
from engine.lessons.themes import NEVER, about
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program

_KEPT_SHARE = 0.5
"""Of what the strong game is ahead of greedy: so much must remain."""


def pivotal_moves(program: Program, rules: Rules, strong: Recorded) -> tuple[int, ...]:
    """The moves to play as in the strong game, all others greedily, to keep half of its lead.

    Of the moves at which the two differ, those with the least to save are left out first, until
    no further one can be. Empty if the lead is less than `MARGIN`.
    """
    differing = _differing(program, rules, strong)
    greedy = _greedy_total(program, rules)
    wanted = greedy + _KEPT_SHARE * (strong.total - greedy)
    if not differing or strong.total - greedy < MARGIN:
        return ()
    moves = ReferenceGame(program, rules).moves
    kept, is_news = set(differing), True
    while is_news:
        is_news = False
        for move in sorted(kept, key=lambda m: moves[m].saving_s):
            if strong_at(program, rules, strong, kept - {move}).total_reward >= wanted:
                kept.remove(move)
                is_news = True
    return tuple(sorted(kept))


def lead(program: Program, rules: Rules, strong: Recorded) -> float:
    """The share by which the strong game's latency is below that of greedy's game."""
    greedy = _greedy_total(program, rules)
    return (strong.total - greedy) / (1 - greedy)


def _greedy_total(program: Program, rules: Rules) -> float:
    """What greedy earns: under these rules, or under the usual ones, as an opponent plays."""
    return max(greedy_game(program, each).total for each in {rules, Rules()})


def strong_at(
    program: Program, rules: Rules, strong: Recorded, own: Collection[int]
) -> ReferenceGame:
    """The game that plays as the strong one at these moves, as near as is legal, else greedily."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        move = game.move_index
        is_own = move in own
        game.step(game.nearest(strong.actions[move]) if is_own else best_action(game))
    return game


def _differing(program: Program, rules: Rules, strong: Recorded) -> list[int]:
    """The moves of the strong game whose actions are not greedy's."""
    game, moves = ReferenceGame(program, rules), []
    for move, action in enumerate(strong.actions):
        if action != best_action(game):
            moves.append(move)
        game.step(action)
    return moves


MARGIN = 5e-4
"""Least lead of the strong continuation over its best rival, as a share of the all-slow latency."""
TRAPS, OTHERS = 7, 2
"""Positions per program at which greedy is wrong, and such at which it is right."""
LEAST_TRIES = 25
"""One try of so many goes to each rival of each position: with fewer no rival is looked for."""
_MOST_ROUNDS = 6
_APART = 3
"""Moves between two positions of one program."""
_NUM_CARELESS, _CARELESS = 8, 0.1

_HAIR = 1e-9
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Find:
    """A position of a game (its actions to the end) that leads by a margin, whatever rivals try."""

    move: int
    actions: tuple[int, ...]
    is_trap: bool


class _Refuted(Exception):
    """Raised with a rival's `game` that is better than the strong one."""

    def __init__(self, game: ReferenceGame) -> None:
        super().__init__()
        self.game = game


def mine(
    program: Program, plans: Sequence[Plan], tries: int, seed: int, progress: Progress
) -> tuple[Mined, ...]:
    """Positions of one program: on a strong game, the first, and on the games of weaker players.

    `tries` changes are tried to better the strong game. Where a rival refutes it, that is the
    strong one from then on. The result depends on program, plans, `tries` and `seed` only.
    """
    dice = random.Random(f"{seed} {program.name}")
    rules, games = known_games(program, plans)
    start = ReferenceGame(program, rules)
    strong = Polish(start, games[0].actions, dice).run(tries)
    finds: list[Find] = []
    for left in reversed(range(_MOST_ROUNDS)):
        try:
            finds = _on_strong(start, strong, games, dice, tries, is_last=not left)
            break
        except _Refuted as refuted:
            strong = Polish(start, refuted.game.actions, dice).run(tries // _MOST_ROUNDS)
    known = recorded(program, rules, strong.actions)
    for actions in [*(game.actions for game in games), *_careless(start, dice)]:
        finds += _on_others(start, actions, known, games, dice, tries, finds)
        finds = _sure(start, [known, *games], finds)
    num_traps = sum(f.is_trap for f in finds)
    progress(
        f"{program.name}: the strong game saves {strong.total_reward:.2%} of all slow;"
        f" {len(finds)} positions, {num_traps} of them traps"
    )
    moves: dict[tuple[int, ...], list[int]] = {known.actions: []}
    for find in finds:
        moves.setdefault(find.actions, []).append(find.move)
    return tuple(
        Mined(
            program=program.name,
            content_hash=content_hash(program),
            place=rules.place,
            seed=seed,
            tries=tries,
            game="".join(map(str, actions)),
            moves=tuple(sorted(chosen)),
            pivotal=pivotal_moves(program, rules, known) if actions == known.actions else (),
            lead=round(lead(program, rules, known), 6) if actions == known.actions else 0.0,
        )
        for actions, chosen in moves.items()
    )


def _on_strong(
    start: ReferenceGame,
    strong: ReferenceGame,
    games: Sequence[Recorded],
    dice: random.Random,
    tries: int,
    is_last: bool,
) -> list[Find]:
    """Good positions of the strong game, far enough from one another.

    Raises _Refuted with a better game, unless this `is_last`; then the position is left out.
    """
    finds: list[Find] = []
    for move, is_trap in _candidates(start, strong, dice):
        if not _is_wanted(finds, move, is_trap):
            continue
        game = _at(start, strong.actions, move)
        line = strong.actions[move:]
        margin, rival = _margin(game, line, strong.total_reward, games, dice, tries // LEAST_TRIES)
        if rival is not None and margin < -_HAIR and not is_last:
            raise _Refuted(rival)
        if margin >= MARGIN:
            finds.append(Find(move, tuple(strong.actions), is_trap))
    return finds


def _careless(start: ReferenceGame, dice: random.Random) -> Iterator[Sequence[int]]:
    """Games of players who are greedy, but for a move at random now and then."""
    for _ in range(_NUM_CARELESS):
        game = start.clone()
        while not game.is_over:
            is_lost = dice.random() < _CARELESS
            action = dice.choice(game.legal_actions()) if is_lost else best_action(game)
            game.step(action)
        yield game.actions


def _on_others(
    start: ReferenceGame,
    actions: Sequence[int],
    strong: Recorded,
    games: Sequence[Recorded],
    dice: random.Random,
    tries: int,
    before: Sequence[Find],
) -> list[Find]:
    """Positions of a weaker game in which greed is wrong, until there are enough traps."""
    game, finds = start.clone(), list(before)
    while not game.is_over:
        move = game.move_index
        if _is_weighty(game) and _is_wanted(finds, move, True):
            values = judged(game, (strong,))
            best = max(values, key=lambda a: values[a].saved_s)
            line = values[best].actions
            if KINDS[best] != KINDS[best_action(game)]:
                total = values[best].saved_s / game.program.all_slow_s
                margin, _ = _margin(game, line, total, (strong, *games), dice, tries // LEAST_TRIES)
                if margin >= MARGIN:
                    finds.append(Find(move, (*game.actions, *line), True))
        game.step(actions[move])
    return finds[len(before) :]


def _sure(start: ReferenceGame, games: Sequence[Recorded], finds: Sequence[Find]) -> list[Find]:
    """The positions that still lead when the games of all the others are known, too."""
    program, rules = start.program, start.rules
    records = [recorded(program, rules, actions) for actions in {f.actions for f in finds}]
    ways = [*games, *sorted(records, key=lambda game: game.actions)]
    kept = []
    for find in finds:
        values = judged(_at(start, find.actions, find.move), ways, find.actions[find.move :])
        answer = find.actions[find.move]
        lead = values[answer].saved_s - _best_other(values, answer)
        if lead >= MARGIN * program.all_slow_s:
            kept.append(find)
    return kept


def _best_other(values: Mapping[int, Judged], answer: int) -> float:
    """Seconds that the best action of another kind saves."""
    return max(v.saved_s for a, v in values.items() if KINDS[a] != KINDS[answer])


def _is_weighty(game: ReferenceGame) -> bool:
    """Whether there is a choice, and at least the margin at stake."""
    has_stake = game.move.saving_s >= MARGIN * game.program.all_slow_s
    return has_stake and _has_choice(game)


def _has_choice(game: ReferenceGame) -> bool:
    """Whether more can be answered than where to place."""
    return len({KINDS[action] for action in game.legal_actions()}) > 1


def _is_wanted(finds: Sequence[Find], move: int, is_trap: bool) -> bool:
    """Whether a position of this kind is still needed, and none is near."""
    num_alike = sum(find.is_trap == is_trap for find in finds)
    is_far = all(abs(find.move - move) >= _APART for find in finds)
    return is_far and num_alike < (TRAPS if is_trap else OTHERS)


def _candidates(
    start: ReferenceGame, strong: ReferenceGame, dice: random.Random
) -> list[tuple[int, bool]]:
    """Moves of the strong game with a choice, and whether greed goes wrong there; traps first.

    Among traps those with more at stake come first, with some chance.
    """
    game, weighted = start.clone(), []
    while not game.is_over:
        action = strong.actions[game.move_index]
        if _has_choice(game) and not game.move.is_sink:
            is_trap = KINDS[best_action(game)] != KINDS[action]
            weight = dice.random() * game.move.saving_s
            weighted.append((is_trap, weight, game.move_index))
        game.step(action)
    weighted.sort(reverse=True)
    return [(move, is_trap) for is_trap, _, move in weighted]


def _at(start: ReferenceGame, actions: Sequence[int], move: int) -> ReferenceGame:
    game = start.clone()
    for action in actions[:move]:
        game.step(action)
    return game


def _margin(
    game: ReferenceGame,
    line: Sequence[int],
    total: float,
    games: Sequence[Recorded],
    dice: random.Random,
    tries: int,
) -> tuple[float, ReferenceGame | None]:
    """The lead of `line`, whose game earns `total`, over the best rival, and the rival's game.

    A rival begins with another action. The same kind of action at the other end of the memory
    counts as one only if it is better. Rivals search only while known games do not refute the line
    already.
    """
    values = judged(game, games, line)
    rivals = {action: value for action, value in values.items() if action != line[0]}
    known = _best_other(values, line[0]) / game.program.all_slow_s
    tries = tries if total - known >= MARGIN else 0
    least, best = 1.0, None
    for action, value in rivals.items():
        rival = game.clone()
        rival.step(action)
        if not rival.is_over:
            rival = Polish(rival, value.actions[1:], dice).run(tries)
        lead = total - rival.total_reward
        if KINDS[action] == KINDS[line[0]] and lead >= -_HAIR:
            continue
        if lead < least:
            least, best = lead, rival
        if least < MARGIN:
            break
    return least, best


def described(program: Program, mined: Mined, seed: int, progress: Progress) -> Mined:
    """The game with what each of its positions is about; what is known already is kept.

    A position in which nothing tempts is left out. Raises LessonError if the game is of another
    program or other rules.
    """
    strong, known = mined.strong(program), list(mined.about)
    kept = list(mined.moves[: len(known)])
    for move in mined.moves[len(known) :]:
        game = mined.at(program, move)
        refutation = tempting(game, strong)
        if refutation is None:
            continue
        found = about(game, refutation, seed)
        known.append(found)
        kept.append(move)
        count = "too many" if found.simulations >= NEVER else f"{found.simulations:,}"
        progress(f"{mined.key(move)}: {', '.join(found.themes)}; {count} simulations")
    return replace(mined, moves=tuple(kept), about=tuple(known))


def tempting(game: ReferenceGame, strong: Recorded) -> Refutation | None:
    """The refutation of the most tempting wrong answer in a position of a strong game.

    That is greedy's, or where that is right the best of another kind. None where there is none.
    """
    values = judged(game, (strong,), strong.actions[game.move_index :])
    right = max(values, key=lambda a: values[a].saved_s)
    wrong = best_action(game)
    if KINDS[wrong] == KINDS[right]:
        others = [a for a in values if KINDS[a] != KINDS[right]]
        if not others:
            return None
        wrong = max(others, key=lambda a: values[a].saved_s)
    return refute(game, values[wrong].actions, values[right].actions)
