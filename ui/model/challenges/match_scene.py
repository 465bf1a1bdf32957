"""A challenge as a scene of the board: decisions, take-backs, who finishes, what was won."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.game.moves import Rules
from engine.game.replay import best_action
from engine.lessons.rungs import greedy_end_s, greedy_game, saved_before
from ui.components.memory_map.board import Company
from ui.model.challenges.match import Match
from ui.model.challenges.match_html import match_html
from ui.model.challenges.state import ChallengeState, TakenBack
from ui.model.learn.learning import Learning, Seat

GREEDY = "greedy"


@dataclass
class MatchScene:
    """The visitor's game on a real program."""

    match: Match
    learning: Learning
    state: ChallengeState
    key: str = "match"
    is_hidden: bool = False
    look: Mapping[str, str] = field(default_factory=dict)
    company: Company = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        """Set what the curve shows: greedy's game, to be ahead of, and the bound."""
        program = self.match.program
        self.title = program.name
        greedy = greedy_game(program, Rules())
        marks: tuple[tuple[str, float], ...] = ()
        if self.match.bound_s is not None:
            marks = (("bound", program.all_slow_s - self.match.bound_s),)
        self.company = Company(marks, GREEDY, saved_before(program, greedy))

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return match_html(self.match, seat, self.state)

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; with teaching on, a move that costs much is not played."""
        number = seat.attempt.at(seat.move)
        if self.state.is_teaching and seat.attempt.chosen(number) != action:
            game = seat.attempt.points[number].game
            cost_s = self.match.cost_s(self.match.judged(game), action)
            if cost_s > 0:
                self.state.taken_back = TakenBack(game.move_index, action, cost_s)
                seat.jump(game.move_index)
                return False
        return self._play(seat, action)

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        name = str(command.get("do"))
        if name == "retry":
            self.state.taken_back = None
            seat.jump(seat.attempt.retry())
        elif name == "anyway" and self.state.taken_back is not None:
            seat.move = self.state.taken_back.move
            return self._play(seat, self.state.taken_back.action)
        elif name == "finish":
            while not seat.attempt.is_over:
                game = seat.attempt.tip.game
                seat.attempt.play(game.move_index, best_action(game))
            seat.jump(seat.attempt.tip.game.move_index)
            return self._finished(seat)
        elif name == "score":
            self.learning.wanted = "score"
            return True
        return False

    def _play(self, seat: Seat, action: int) -> bool:
        self.state.taken_back = None
        seat.jump(seat.attempt.play(seat.move, action))
        return self._finished(seat) if seat.attempt.is_over else False

    def _finished(self, seat: Seat) -> bool:
        """Add the beaten opponents to the progress; returns whether that changed it."""
        latency_s = greedy_end_s(seat.attempt.tip.game)
        progress = self.learning.progress
        for rung in self.match.won(latency_s):
            name = f"{self.match.program.name}/{rung.name}"
            progress = progress.with_win(name, round(latency_s * 1e9))
        is_news = progress != self.learning.progress
        self.learning.keep(progress)
        return is_news
