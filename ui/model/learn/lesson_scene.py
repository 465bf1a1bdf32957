"""A lesson as a scene of the board: what its commands do and what its panel says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.lessons.judge import Judge
from ui.components.memory_map.board import Company
from ui.model.learn.learning import Learning, Seat
from ui.model.learn.panel_html import lesson_html


@dataclass
class LessonScene:
    """A lesson on its board. `has_next`: whether another lesson is open after this one."""

    judge: Judge
    learning: Learning
    has_next: bool
    key: str = "lesson"
    is_hidden: bool = False
    look: Mapping[str, str] = field(default_factory=dict)
    company: Company = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        """Set what the curve shows: the optimum, as a line to reach."""
        self.title = self.judge.lesson.title
        best_s = self.judge.lesson.program.all_slow_s - self.judge.optimum_s
        self.company = Company((("best known", best_s),))

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return lesson_html(self.judge, seat, self.has_next)

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; stars are kept as soon as they are earned."""
        seat.jump(seat.attempt.play(seat.move, action))
        if not seat.attempt.is_over:
            return False
        tip = seat.attempt.tip
        stars = self.judge.verdict(tip.game, tip.dead_ends).stars
        before = self.learning.progress
        self.learning.keep(before.with_stars(self.judge.lesson.name, stars))
        return self.learning.progress != before

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        name = str(command.get("do"))
        if name == "hint":
            seat.num_hints = min(seat.num_hints + 1, len(self.judge.lesson.hints))
        elif name == "retry":
            seat.jump(seat.attempt.retry())
        elif name in ("next", "map"):
            self.learning.wanted = name
            return True
        return False
