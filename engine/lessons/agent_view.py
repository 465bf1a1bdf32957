"""Hints of two lessons: each action's value by a shallow search, or by a model that errs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.game.moves import DROP, KINDS
from engine.game.reference.game import ReferenceGame
from engine.lessons.judge import best_from, look_ahead


@dataclass(frozen=True)
class Imagined:
    """What a model expects of an action. `saved_s`: by all moves from here to the end.

    `breaks_at`: the first move of its line that the rules forbid, and `wanted`, the action there;
    None if the line can be played.
    """

    saved_s: float
    breaks_at: int | None = None
    wanted: int = 0


def seen(game: ReferenceGame, depth: int) -> dict[int, float]:
    """By legal action the most seconds that a search of `depth` moves sees it save."""
    savings = {}
    for action in game.legal_actions():
        reward = look_ahead(game, action, depth)
        if reward is not None:
            savings[action] = reward * game.program.all_slow_s
    return savings


def imagined(game: ReferenceGame, fast_bytes: int) -> dict[int, Imagined]:
    """What a model expects of each legal action that takes fast memory to be `fast_bytes` large.

    It plays the best continuation on that memory. As in MuZero, only the actions of the position
    itself are known to be legal; what comes after is imagined.
    """
    hardware = replace(game.program.hardware, fast_bytes=fast_bytes)
    mind = ReferenceGame(replace(game.program, hardware=hardware), game.rules)
    for action in game.actions:
        mind.step(_nearest(mind, action))
    expected = {}
    for action in game.legal_actions():
        after = mind.clone()
        after.step(_nearest(after, action))
        best = best_from(after)
        if best is None:
            continue
        saved_s = (best.total_reward - mind.total_reward) * game.program.all_slow_s
        expected[action] = _against_the_rules(game, (action, *best.actions), saved_s)
    return expected


def _against_the_rules(game: ReferenceGame, line: tuple[int, ...], saved_s: float) -> Imagined:
    real = game.clone()
    for action in line:
        if not real.legal()[action]:
            return Imagined(saved_s, real.move_index, action)
        real.step(action)
    return Imagined(saved_s)


def _nearest(game: ReferenceGame, action: int) -> int:
    """The action if it is legal, else one of its kind, else any that serves the touch."""
    legal = game.legal_actions()
    for wanted in (action, KINDS[action]):
        if wanted in legal:
            return wanted
    return next((a for a in legal if a != DROP), DROP) if action != DROP else legal[0]
