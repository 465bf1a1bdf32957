"""A lesson on the board: its commands, its panel, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from engine.game.moves import ACTION_NAMES
from engine.game.reference.explain import group_name
from engine.game.reference.game import ReferenceGame
from engine.lessons.agent_view import imagined, seen
from engine.lessons.judge import MOST_STARS, Condition, Judge
from engine.lessons.lesson import SEARCH, AgentView
from ui.components.html import command_html
from ui.components.memory_map.board import References
from ui.components.units import count_text, gain_text, time_text
from ui.model.learn.state import Learning, Seat
from ui.model.play.decision import choice_html, choices, story, story_html


def stars_html(stars: int) -> str:
    """Three stars as HTML, the first `stars` of them full."""
    full, rest = "★" * stars, "☆" * (MOST_STARS - stars)
    return f'<span class="stars" aria-label="{stars} of {MOST_STARS} stars">{full}{rest}</span>'


def lesson_html(judge: Judge, seat: Seat, has_next: bool) -> str:
    """The whole panel of a lesson, as HTML."""
    attempt = seat.attempt
    head = _verdict_html(judge, seat, has_next) if attempt.is_over else _goal_html(judge, seat)
    parts = [head, hints_html(judge.lesson.hints, seat.num_hints), decision_html(judge, seat)]
    return f'<div class="turn lesson">{"".join(parts)}</div>'


def _goal_html(judge: Judge, seat: Seat) -> str:
    """The goal as HTML, and how far the game has come."""
    game = seat.attempt.tip.game
    program = judge.lesson.program
    saved_s = game.total_reward * program.all_slow_s
    needed_s = program.all_slow_s - judge.limit_s
    texts = "".join(f"<li>{escape(c.text)}</li>" for c in judge.conditions(0.0, 0.0))
    bar = progress_html(saved_s, needed_s)
    ends = _dead_ends_html(seat)
    return (
        f'<div class="goal"><b>Goal</b><ul>{texts}</ul>{bar}'
        f"<span>Saved {time_text(saved_s)} of the {time_text(needed_s)} that are needed</span>"
        f"{ends}{_retry_html(seat)}</div>"
    )


def progress_html(done: float, needed: float) -> str:
    """A bar as far as `done` of `needed`."""
    share = 100 * max(0.0, min(1.0, done / needed)) if needed > 0 else 100.0
    return (
        f'<div class="meter" role="progressbar" aria-valuenow="{share:.0f}"'
        f' aria-label="Goal"><i style="width:{share:.1f}%"></i></div>'
    )


def _dead_ends_html(seat: Seat) -> str:
    count = seat.attempt.tip.dead_ends
    if not count:
        return ""
    forced = (
        f"<b>{count_text(count, 'dead end')}</b>: Drop-backup has forced an earlier use to Drop."
    )
    return f"<p>{forced} Undo takes it back.</p>"


def _retry_html(seat: Seat) -> str:
    if not seat.attempt.is_begun:
        return ""
    return f"<span>{command_html('undo', 'Undo')} {command_html('retry', 'Start again')}</span>"


def _verdict_html(judge: Judge, seat: Seat, has_next: bool) -> str:
    tip = seat.attempt.tip
    verdict = judge.verdict(tip.game, tip.dead_ends)
    rows = "".join(_condition_html(c) for c in verdict.conditions)
    if verdict.is_reached:
        onward = command_html("next", "Next lesson") if has_next else command_html("map", "The map")
        head = f"{stars_html(verdict.stars)} <b>{_praise(verdict.stars)}</b>"
        end = f'<p class="after">{escape(judge.lesson.after)}</p>' if judge.lesson.after else ""
    else:
        gap_s = verdict.latency_s - judge.limit_s
        missing = f", {time_text(gap_s)} too slow" if gap_s > 0 else ""
        head = f"{stars_html(0)} <b>Not yet{missing}.</b>"
        onward, end = "", "<p>Undo a decision, or step back with ← and play another card.</p>"
    buttons = " ".join([onward, command_html("undo", "Undo"), command_html("retry", "Start again")])
    kind = "verdict reached" if verdict.is_reached else "verdict"
    took = f"<span>Your program takes {time_text(verdict.latency_s)}.</span>"
    body = f"{head}<ul>{rows}</ul>{took}{end}<span>{buttons}</span>"
    return f'<div class="goal {kind}" role="status">{body}</div>'


def _praise(stars: int) -> str:
    return {1: "Goal reached.", 2: "Well played."}.get(stars, "The best there is!")


def _condition_html(condition: Condition) -> str:
    mark, kind = ("✓", "met") if condition.is_met else ("✗", "missed")
    return f'<li class="{kind}">{mark} {escape(condition.text)}</li>'


def hints_html(hints: tuple[str, ...], shown: int) -> str:
    """The hints so far, and a button for the next one."""
    rows = "".join(f"<li>{mark_up(hint)}</li>" for hint in hints[:shown])
    more = len(hints) - shown
    label = "Show a hint" if not shown else "One more hint"
    button = command_html("hint", label) if more else ""
    listed = f"<ol>{rows}</ol>" if rows else ""
    return f'<div class="hints">{listed}{button}</div>'


def mark_up(text: str) -> str:
    """HTML of a text with Markdown's backticks and double asterisks; all else is escaped."""
    parts = escape(text).split("`")
    joined = "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(parts))
    bold = joined.split("**")
    return "".join(f"<b>{p}</b>" if n % 2 else p for n, p in enumerate(bold))


def decision_html(judge: Judge, seat: Seat) -> str:
    """The move at the cursor and a card for each action."""
    number = seat.attempt.at(seat.move)
    game = seat.attempt.points[number].game
    if game.is_over:
        return ""
    thoughts = thoughts_of(game, judge.lesson.aid)
    chosen = seat.attempt.chosen(number)
    cards = "".join(
        choice_html(
            choice.thinking(thoughts),
            chosen,
            seat.question == choice.action,
            False,
        )
        for choice in choices(game)
    )
    return story_html(story(game.program, game.move)) + cards


def thoughts_of(game: ReferenceGame, aid: AgentView | None) -> Mapping[int, str]:
    """What the lesson's search or model says of each legal action."""
    if aid is None:
        return {}
    if aid.kind == SEARCH:
        return {
            a: f"a search of {count_text(aid.depth, 'move')}: {gain_text(s)}"
            for a, s in seen(game, aid.depth).items()
        }
    return {
        a: _dream(game, i.saved_s, i.breaks_at, i.wanted)
        for a, i in imagined(game, aid.fast_bytes).items()
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

    def __post_init__(self) -> None:
        """Set what the curve shows: the optimum, as a line to reach."""
        self.title = self.judge.lesson.title
        best_s = self.judge.lesson.program.all_slow_s - self.judge.optimum_s
        self.references = References((("best known", best_s),))

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
