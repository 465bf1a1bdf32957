"""The review of one's own game: losses over the decisions, and mistakes that become positions."""

from __future__ import annotations

from htpy import Node, Renderable, b, button, div, p, span

from engine.debugging.regret import BLUNDER, DUBIOUS, MISTAKE, verdict
from engine.game.moves import ACTION_NAMES
from engine.game.reference.explain import group_name
from engine.lessons.score import Row, Sheet
from engine.program.io import content_hash
from ui.components.units import time_text
from ui.model.challenges.match import Match
from ui.model.learn.progress import Mistake
from ui.model.learn.state import Seat

BEST, SOUND = "!", "·"
_KINDS = {BLUNDER: "blunder", MISTAKE: "mistake", DUBIOUS: "dubious", BEST: "best", SOUND: "sound"}
_WORDS = {**_KINDS, BEST: "the best of all"}


def sign_of(match: Match, sheet: Sheet, row: Row) -> str:
    """The sign of a decision: `??`, `?`, `?!`, `!` for the best one, or a dot."""
    if row == sheet.best:
        return BEST
    if row.lost_s < sheet.noise_s:
        return SOUND
    savable_s = match.program.all_slow_s - (match.bound_s or match.program.all_fast_s)
    return verdict(100 * row.lost_s / savable_s) or SOUND


def review_html(match: Match, seat: Seat, sheet: Sheet) -> Renderable:
    """The judged decisions as a strip; each leads to its move, the one at the cursor in words."""
    here = next((row for row in sheet.rows if row.move == seat.cursor.move), None)
    return div(".review")[
        b["Your decisions"],
        div(".strip")[(_cell_html(match, seat, sheet, row) for row in sheet.rows)],
        _row_html(match, seat, sheet, here) if here is not None else p(".note")[_LEGEND],
    ]


_LEGEND = (
    "Click one to see it on the map: ?? costs 1 % of all that can be saved, ? 0.25 %, ?! 0.05 %."
)


def _cell_html(match: Match, seat: Seat, sheet: Sheet, row: Row) -> Renderable:
    sign = sign_of(match, sheet, row)
    label = f"Move {row.move + 1:,}: {_WORDS[sign]}"
    kind = f"cell {_KINDS[sign]}{' here' if row.move == seat.cursor.move else ''}"
    return button(class_=kind, data_do="go", data_to=row.move, title=label, aria_label=label)[sign]


def _row_html(match: Match, seat: Seat, sheet: Sheet, row: Row) -> Node:
    game = seat.attempt.points[0].game
    name = group_name(game, game.moves[row.move].group)
    head = b[f"Move {row.move + 1:,}, {_WORDS[sign_of(match, sheet, row)]}: "]
    played = f"{ACTION_NAMES[row.action]} of {name}"
    if row.lost_s >= sheet.noise_s:
        better = ACTION_NAMES[row.better]
        return p[head, f"{played} lost {time_text(row.lost_s)}; ", span[f"{better} was better."]]
    if row.won_s >= sheet.noise_s:
        return p[head, f"{played} won {time_text(row.won_s)} over what earns most at once."]
    return p[head, f"{played} lost nothing that matters."]


def mistakes_of(match: Match, seat: Seat, sheet: Sheet) -> list[Mistake]:
    """The decisions with a sign of loss as positions to be asked, the costliest first."""
    own = seat.attempt.tip.game.actions
    rows = [row for row in sheet.rows if sign_of(match, sheet, row) in (BLUNDER, MISTAKE, DUBIOUS)]
    rows.sort(key=lambda row: -row.lost_s)
    identity = content_hash(match.program)
    return [
        Mistake(
            program=match.program.name,
            content_hash=identity,
            place=match.rules.place,
            seed=0,
            tries=0,
            game="".join(map(str, (*own[: row.move], *row.line))),
            moves=(row.move,),
        )
        for row in rows
    ]
