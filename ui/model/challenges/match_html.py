"""The panel of a challenge: the clock, the opponents, the decision; as HTML."""

from __future__ import annotations

from html import escape

from engine.game.moves import ACTION_NAMES
from engine.lessons.rungs import Rung, greedy_end_s
from ui.components.html import command_html
from ui.components.units import share_text, time_text
from ui.model.challenges.match import Match
from ui.model.challenges.state import ChallengeState, TakenBack
from ui.model.learn.learning import Seat
from ui.model.play.cards_html import choice_html, story_html
from ui.model.play.choices import choices
from ui.model.play.story import story

_LEVEL_S = 1e-9
"""Seconds that are the rounding of the game's ticks."""


def match_html(match: Match, seat: Seat, state: ChallengeState) -> str:
    """The whole panel of a match, as HTML."""
    attempt = seat.attempt
    game = attempt.tip.game
    latency_s = greedy_end_s(game)
    head = _end_html(match, latency_s) if attempt.is_over else _clock_html(match, seat, latency_s)
    parts = [head, ladder_html(match, latency_s, attempt.is_over)]
    if state.taken_back is not None:
        parts.append(_taken_back_html(state.taken_back))
    parts.append(decision_html(seat))
    return f'<div class="turn lesson">{"".join(parts)}</div>'


def _clock_html(match: Match, seat: Seat, latency_s: float) -> str:
    """Where the game stands: what it comes to if greedy plays the rest."""
    num = len(seat.attempt.decided)
    above = _above(match, latency_s)
    undo = command_html("undo", "Undo") if num else ""
    again = command_html("retry", "Start again") if num else ""
    return (
        f'<div class="goal"><b>The clock: {time_text(latency_s)}</b>'
        f"<span>if greedy played on from here{above}</span>"
        f"{scale_html(match, latency_s)}<span>{undo} {again}"
        f" {command_html('finish', 'Let greedy finish')}</span></div>"
    )


def _above(match: Match, latency_s: float) -> str:
    if not match.bound_s:
        return ""
    return f"; {share_text(latency_s / match.bound_s - 1)} above the bound"


def _end_html(match: Match, latency_s: float) -> str:
    won = match.won(latency_s)
    kind = "verdict reached" if won else "verdict"
    if len(won) == len(match.rungs):
        head = "You beat everybody!"
    elif won:
        head = f"You beat {_named(won[-1])}"
    else:
        head = "Nobody beaten yet"
    buttons = " ".join(
        (
            command_html("score", "Score sheet"),
            command_html("undo", "Undo"),
            command_html("retry", "Start again"),
        )
    )
    above = _above(match, latency_s)
    return (
        f'<div class="goal {kind}" role="status"><b>{escape(head)}</b>'
        f"<span>Your program takes {time_text(latency_s)}{above}.</span>"
        f"{scale_html(match, latency_s)}<span>{buttons}</span></div>"
    )


def _named(rung: Rung) -> str:
    return f"the mark “{rung.name}”" if rung.name.startswith("within") else rung.name


def ladder_html(match: Match, latency_s: float, is_over: bool) -> str:
    """Every opponent with its latency, the strongest on top; what is beaten has a tick."""
    rows = []
    following = match.next_rung(latency_s)
    for rung in reversed(match.rungs):
        is_won = rung.is_won(latency_s)
        mark = "✓" if is_won else "▸" if rung is following else "·"
        gap = latency_s - rung.limit_s
        ahead = f"{time_text(abs(gap))} {'behind' if gap > 0 else 'ahead'}"
        if abs(gap) < _LEVEL_S:
            ahead = "level"
        kind = "won" if is_won else "next" if rung is following else ""
        rows.append(
            f'<li class="{kind}"><span>{mark} {escape(rung.name)}</span><span>{ahead}</span></li>'
        )
    title = "Beaten" if is_over else "With that clock"
    return f'<div class="ladder"><b>{title}</b><ol>{"".join(rows)}</ol></div>'


def scale_html(match: Match, latency_s: float) -> str:
    """A line from the weakest opponent to the bound, with marks for all, and for the clock."""
    last = match.bound_s or min(r.limit_s for r in match.rungs)
    first = max(*(r.limit_s for r in match.rungs), last * 1.01)
    marks = [_mark(r.limit_s, first, last, "", r.name) for r in match.rungs]
    marks.append(_mark(latency_s, first, last, "you", f"you: {time_text(latency_s)}"))
    return f'<div class="scale" aria-hidden="true">{"".join(marks)}</div>'


def _mark(latency_s: float, first: float, last: float, kind: str, name: str) -> str:
    share = 100 * max(0.0, min(1.0, (first - latency_s) / (first - last)))
    return f'<i class="{kind}" style="left:{share:.1f}%" title="{escape(name, quote=True)}"></i>'


def _taken_back_html(taken_back: TakenBack) -> str:
    name = ACTION_NAMES[taken_back.action]
    anyway = command_html("anyway", f"Play {name} anyway")
    return (
        f'<div class="taken-back" role="status"><b>{name} was taken back.</b> It costs'
        f" {time_text(taken_back.cost_s)} by the end, as far as is known. {anyway}</div>"
    )


def decision_html(seat: Seat) -> str:
    """The move at the cursor and a card for each action."""
    number = seat.attempt.at(seat.move)
    game = seat.attempt.points[number].game
    if game.is_over:
        return "<p>There is nothing to decide: greedy has played all of it.</p>"
    chosen = seat.attempt.chosen(number)
    cards = "".join(
        choice_html(choice, chosen, seat.question == choice.action, False)
        for choice in choices(game)
    )
    return story_html(story(game.program, game.move)) + cards
