"""A lesson on the board: its commands, its panel, and the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from htpy import Node, Renderable, b, div, i, li, ol, p, span, ul
from markupsafe import Markup, escape

from engine.game.moves import ACTION_NAMES
from engine.game.reference.explain import group_name
from engine.game.reference.game import ReferenceGame
from engine.lessons.agent_view import imagined, seen
from engine.lessons.judge import MOST_STARS, Condition, Judge, us_text
from engine.lessons.lesson import SEARCH, AgentView
from engine.lessons.refutation import Refutation, TurningPoint, turning_point
from ui.components.html import again_html, command_html
from ui.components.memory_map.board import References
from ui.components.units import count_text, gain_text, time_text
from ui.model.learn.explanation import why_html
from ui.model.learn.state import Learning, Seat
from ui.model.play.decision import choice_html, choices, story, story_html


def stars_html(stars: int) -> Renderable:
    """Three stars as HTML, the first `stars` of them full."""
    shown = "★" * stars + "☆" * (MOST_STARS - stars)
    return span(".stars", aria_label=f"{stars} of {MOST_STARS} stars")[shown]


def lesson_html(judge: Judge, seat: Seat, has_next: bool) -> str:
    """The whole panel of a lesson, as HTML."""
    attempt = seat.attempt
    head = _verdict_html(judge, seat, has_next) if attempt.is_over else _goal_html(judge, seat)
    is_solved = attempt.is_over and explained_in(judge, seat) is None
    hints = None if is_solved else hints_html(judge.lesson.hints, seat.num_hints)
    why = _why_html(judge, seat) if attempt.is_over else None
    return str(div(".turn.lesson")[head, why, hints, decision_html(judge, seat)])


def explained_in(judge: Judge, seat: Seat) -> TurningPoint | None:
    """The decision of a finished game that lost most, if it has missed the optimum."""
    tip = seat.attempt.tip
    if not tip.game.is_over:
        return None
    if seat.explained is None or seat.explained[0] is not tip.game:
        stars = judge.verdict(tip.game, tip.dead_ends).stars
        positions = [point.game for point in seat.attempt.points]
        actions = [point.by for point in seat.attempt.points if point.by is not None]
        found = turning_point(positions, actions) if stars < MOST_STARS else None
        seat.explained = (tip.game, found)
    return seat.explained[1]


def _why_html(judge: Judge, seat: Seat) -> Node:
    """What lost most in a finished game, with the lines, and a way back to that decision."""
    found = explained_in(judge, seat)
    if found is None:
        return None
    game = seat.attempt.points[found.number].game
    name = group_name(game, game.move.group)
    head = b[f"What cost most: your decision on {name}, move {game.move_index + 1}."]
    why = p[_dead_end(found)] if found.refutation is None else why_html(game, found.refutation)
    back = command_html("again_from", "Decide it again")
    return div(".goal.explained")[head, why, span[back]]


def _dead_end(found: TurningPoint) -> str:
    """What a decision did after which no line reaches the end."""
    return (
        "It leads into a dead end, whatever is played after it. Drop-backup forced an earlier use"
        f" to Drop, and the game has lost {time_text(found.lost_s)}."
    )


def _goal_html(judge: Judge, seat: Seat) -> Renderable:
    """The goal as HTML, and how far the game has come."""
    game = seat.attempt.tip.game
    program = judge.lesson.program
    saved_s = game.total_reward * program.all_slow_s
    needed_s = program.all_slow_s - judge.limit_s
    return div(".goal")[
        b["Goal"],
        ul[(li[condition.text] for condition in judge.conditions(0.0, 0.0))],
        progress_html(saved_s, needed_s),
        span[f"Saved {us_text(saved_s)} of the {us_text(needed_s)} that are needed"],
        _dead_ends_html(seat),
        span[again_html()] if seat.attempt.is_begun else None,
    ]


def progress_html(done: float, needed: float) -> Renderable:
    """A bar as far as `done` of `needed`."""
    share = 100 * max(0.0, min(1.0, done / needed)) if needed > 0 else 100.0
    return div(".meter", role="progressbar", aria_valuenow=f"{share:.0f}", aria_label="Goal")[
        i(style=f"width:{share:.1f}%")
    ]


def _dead_ends_html(seat: Seat) -> Node:
    count = seat.attempt.tip.dead_ends
    if not count:
        return None
    forced = ": Drop-backup has forced an earlier use to Drop. Undo takes it back."
    return p[b[count_text(count, "dead end")], forced]


def _verdict_html(judge: Judge, seat: Seat, has_next: bool) -> Renderable:
    tip = seat.attempt.tip
    verdict = judge.verdict(tip.game, tip.dead_ends)
    end: Node = None
    onward: Node = None
    if verdict.is_reached:
        praise = _praise(verdict.stars)
        way = ("next", "Next lesson") if has_next else ("map", "The map")
        onward = [command_html(*way), " "]
        if judge.lesson.after:
            end = p(".after")[mark_up(judge.lesson.after)]
    else:
        gap_s = verdict.latency_s - judge.limit_s
        praise = f"Not yet, {us_text(gap_s)} too slow." if gap_s > 0 else "Not yet."
        end = p["Undo a decision, or step back with ← and play another card."]
    kind = "verdict reached" if verdict.is_reached else "verdict"
    return div(class_=f"goal {kind}", role="status")[
        stars_html(verdict.stars if verdict.is_reached else 0),
        " ",
        b[praise],
        ul[map(_condition_html, verdict.conditions)],
        span[f"Your program takes {us_text(verdict.latency_s)}."],
        end,
        span[onward, again_html()],
    ]


def _praise(stars: int) -> str:
    return {1: "Goal reached.", 2: "Well played."}.get(stars, "The best there is!")


def _condition_html(condition: Condition) -> Renderable:
    mark, kind = ("✓", "met") if condition.is_met else ("✗", "missed")
    return li(class_=kind)[f"{mark} {condition.text}"]


def hints_html(hints: tuple[str, ...], shown: int) -> Renderable:
    """The hints so far, and a button for the next one."""
    label = "One more hint" if shown else "Show a hint"
    return div(".hints")[
        ol[(li[mark_up(hint)] for hint in hints[:shown])] if shown else None,
        command_html("hint", label) if shown < len(hints) else None,
    ]


def mark_up(text: str) -> Markup:
    """HTML of a text with Markdown's backticks and double asterisks; all else is escaped."""
    marked = re.sub("`(.*?)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", marked))


def decision_html(judge: Judge, seat: Seat) -> Node:
    """The move at the cursor and a card for each action."""
    number = seat.attempt.at(seat.cursor.move)
    game = seat.attempt.points[number].game
    if game.is_over:
        return None
    thoughts = thoughts_of(game, judge.lesson.agent_view)
    chosen = seat.attempt.chosen(number)
    cards = (
        choice_html(c.thinking(thoughts), chosen, seat.cursor.question == c.action, False)
        for c in choices(game)
    )
    return [story_html(story(game.program, game.move)), cards]


def thoughts_of(game: ReferenceGame, agent_view: AgentView | None) -> Mapping[int, str]:
    """What the lesson's search or model says of each legal action."""
    if agent_view is None:
        return {}
    if agent_view.kind == SEARCH:
        return {
            a: f"a search of {count_text(agent_view.depth, 'move')}: {gain_text(s)}"
            for a, s in seen(game, agent_view.depth).items()
        }
    return {
        a: _dream(game, i.saved_s, i.breaks_at, i.wanted)
        for a, i in imagined(game, agent_view.fast_bytes).items()
    }


def _dream(game: ReferenceGame, saved_s: float, breaks_at: int | None, wanted: int) -> str:
    text = f"the model imagines {gain_text(saved_s)} to the end"
    if breaks_at is None:
        return f"{text}; its line can be played"
    move = game.moves[breaks_at]
    name = group_name(game, move.group)
    return (
        f"{text}; breaks at move {breaks_at + 1}, where {ACTION_NAMES[wanted]} of {name} is illegal"
    )


@dataclass
class LessonScene:
    """A lesson on its board. `has_next`: whether another lesson is open after this one."""

    judge: Judge
    learning: Learning
    has_next: bool
    key: str = "lesson"
    is_hidden: bool = False
    look: Mapping[str, str] = field(default_factory=dict)
    references: References = field(init=False)
    title: str = field(init=False)
    is_plain: bool = True

    def __post_init__(self) -> None:
        """Set what the curve shows: the optimum, as a line to reach."""
        self.title = self.judge.lesson.title
        best_s = self.judge.lesson.program.all_slow_s - self.judge.optimum_s
        self.references = References((("best known", best_s),))

    @property
    def board(self) -> str:
        """See `Scene.board`."""
        return f"lesson {self.judge.lesson.name}"

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return lesson_html(self.judge, seat, self.has_next)

    def explained(self, seat: Seat) -> tuple[ReferenceGame, Refutation] | None:
        """See `Scene.explained`."""
        found = explained_in(self.judge, seat)
        if found is None or found.refutation is None:
            return None
        return seat.attempt.points[found.number].game, found.refutation

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; stars are kept as soon as they are earned."""
        before = seat.attempt.tip
        seat.jump(seat.attempt.play(seat.cursor.move, action))
        is_try = seat.attempt.is_over and seat.attempt.tip is not before
        self.learning.spend(self.board, is_try=is_try)
        if not seat.attempt.is_over:
            return False
        tip = seat.attempt.tip
        stars = self.judge.verdict(tip.game, tip.dead_ends).stars
        progress = self.learning.progress
        self.learning.keep(progress.with_stars(self.judge.lesson.name, stars))
        return self.learning.progress != progress

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        name = str(command.get("do"))
        if name == "hint":
            seat.num_hints = min(seat.num_hints + 1, len(self.judge.lesson.hints))
        elif name == "retry":
            seat.jump(seat.attempt.retry())
        elif name == "again_from":
            found = explained_in(self.judge, seat)
            if found is not None:
                game = seat.attempt.points[found.number].game
                seat.jump(seat.attempt.back_to(game.move_index))
        elif name in ("next", "map"):
            self.learning.wanted = name
            return True
        return False
