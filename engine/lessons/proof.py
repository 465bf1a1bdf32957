"""That a lesson asks for something: its goal is not reached by who does not think."""

from __future__ import annotations

from collections.abc import Callable

from engine.game.drop_backup import drop_backup
from engine.game.moves import DROP
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.judge import Judge, Verdict
from engine.lessons.lesson import Lesson

Player = Callable[[ReferenceGame], int]


def easy_ways(lesson: Lesson, judge: Judge) -> list[str]:
    """Which of doing nothing and greed reach the goal; neither should."""
    return [name for name, player in PLAYERS.items() if played(lesson, judge, player).is_reached]


def played(lesson: Lesson, judge: Judge, player: Player) -> Verdict:
    """The verdict on a game from the start position; dead ends are undone by Drop-backup."""
    game, dead_ends = lesson.begin(), 0
    while not game.is_over:
        if game.is_dead_end:
            drop_backup(game)
            dead_ends += 1
        else:
            game.step(player(game))
    return judge.verdict(game, dead_ends)


def nothing(game: ReferenceGame) -> int:
    """Drop wherever that is allowed."""
    legal = game.legal()
    return DROP if legal[DROP] else legal.index(True)


PLAYERS: dict[str, Player] = {"doing nothing": nothing, "greedy": best_action}
