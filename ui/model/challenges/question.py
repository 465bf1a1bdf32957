"""A mined position as a question: which move is right, judged anew by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.positions import Mined
from engine.lessons.strong import Judged, Recorded, judged
from engine.program.model import Program
from ui.model.challenges.state import Answer

_SHARE_OF_MARGIN = 0.05
"""Share of the margin between best and worst action within which an action is right, too."""
_BEFORE, _AFTER = 28, 14
"""Slots around the decision that the map shows at first."""


@dataclass(frozen=True)
class Question:
    """A position of a strong game: `game` stands before the decision."""

    key: str
    program: Program
    game: ReferenceGame
    strong: Recorded

    def answer(self, action: int) -> Answer:
        """What an action is worth beside the others, each with the best continuation known."""
        rest = self.strong.actions[self.game.move_index :]
        values = judged(self.game, (self.strong,), rest)
        best = max(j.saved_s for j in values.values())
        margin = best - min(j.saved_s for j in values.values())
        is_right = values[action].saved_s >= best - _SHARE_OF_MARGIN * margin
        return Answer(action, values, best_action(self.game), is_right)

    @property
    def look(self) -> dict[str, str]:
        """The window of the map around the decision, all addresses."""
        time = self.game.move.time
        granules = self.program.hardware.fast_bytes // self.program.hardware.alignment
        first = max(0, time - _BEFORE)
        last = min(self.program.num_slots, time + _AFTER)
        return {"window": f"{first}_{last}_0_{granules}"}


def question_of(program: Program, mined: Mined, move: int) -> Question:
    """The question at a move. Raises LessonError if program or rules are others by now."""
    strong = mined.strong(program)
    return Question(mined.key(move), program, mined.at(program, move), strong)


def keys_of(games: Sequence[Mined]) -> dict[str, tuple[Mined, int]]:
    """Game and move of each position by its key; programs take turns, so neighbours differ."""
    rounds = max((len(mined.moves) for mined in games), default=0)
    return {
        mined.key(mined.moves[number]): (mined, mined.moves[number])
        for number in range(rounds)
        for mined in games
        if number < len(mined.moves)
    }


def best_value(values: dict[int, Judged]) -> float:
    """Seconds that the best action saves in the end."""
    return max(j.saved_s for j in values.values())
