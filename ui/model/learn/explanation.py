"""Why an answer is wrong, in words, and the lines that refute it and that win, on the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from htpy import Node, Renderable, b, code, div, li, ol, p, span

from engine.game.moves import ACTION_NAMES
from engine.game.reference.explain import group_name
from engine.game.reference.game import ReferenceGame
from engine.lessons.refutation import Moment, Refutation
from ui.components.html import command_html
from ui.components.units import gain_text, noise_s, time_text, times_text
from ui.model.learn.attempt import Attempt, Point

WRONG, RIGHT = "wrong", "right"
MOST = 0.5
"""A part of what is lost later that is larger is most of it."""
_NAMES = {WRONG: "The line that refutes it", RIGHT: "The line that wins"}


@dataclass(frozen=True)
class ShownLine:
    """A line that stands on the board in place of the visitor's own game."""

    which: str
    attempt: Attempt
    refutation: Refutation

    @classmethod
    def of(cls, game: ReferenceGame, refutation: Refutation, which: str) -> ShownLine:
        """The line from a position, which is left as it is, as far as it has to be shown."""
        actions = refutation.wrong if which == WRONG else refutation.right
        position, points = game.clone(), [Point(game)]
        for action in actions[: refutation.last - refutation.move + 1]:
            position.step(action)
            points.append(Point(position.clone()))
        return cls(which, Attempt(points), refutation)


def why_html(game: ReferenceGame, refutation: Refutation) -> Renderable:
    """What the wrong action gains at once and loses later, where, why, and the lines to play."""
    wrong = ACTION_NAMES[refutation.wrong[0]]
    return div(".why")[
        p[_loss(wrong, refutation)],
        _worst_html(game, refutation),
        span[
            command_html("line", "Play the line that refutes it", which=WRONG),
            " ",
            command_html("line", "Play the line that wins", which=RIGHT),
        ],
    ]


def _loss(wrong: str, refutation: Refutation) -> Node:
    at_once_s, lost_s = refutation.at_once_s, refutation.lost_s
    if at_once_s >= noise_s(lost_s):
        at_once, later, lost = times_text(at_once_s, at_once_s + lost_s, lost_s)
        return [b[wrong], f" earns {at_once} more at once and {later} less later: it loses {lost}."]
    return [b[wrong], f" loses {time_text(lost_s)} by the end."]


def _worst_html(game: ReferenceGame, refutation: Refutation) -> Node:
    first, worst = refutation.moments[0], refutation.costliest
    if worst is None or first.lost_s > worst.lost_s:
        if first.lost_s < noise_s(refutation.lost_s):
            return None
        return p[f"At once it loses {time_text(first.lost_s)}: {reason(game, first)}"]
    later_s = refutation.lost_s - first.lost_s
    how_much = "Most of it" if worst.lost_s > MOST * later_s else "The largest part of it"
    return p[
        f"{how_much}, ",
        b[time_text(worst.lost_s)],
        ", at ",
        *_where(game, worst),
        f": {reason(game, worst)}",
    ]


def reason(game: ReferenceGame, moment: Moment) -> str:
    """Why the wrong line does worse at a moment: what forbids the better action, or its own."""
    if moment.refusal is None:
        return moment.does
    return f"{ACTION_NAMES[moment.right]} is not possible. {moment.refusal.reason}"


def line_html(game: ReferenceGame, shown: ShownLine, move: int) -> str:
    """The panel beside a line: its moments, the one at the cursor marked, and the ways out.

    `game`: any position of the program; `move`: the cursor.
    """
    refutation, is_wrong = shown.refutation, shown.which == WRONG
    other = RIGHT if is_wrong else WRONG
    total = time_text(abs(refutation.lost_s))
    head = f"loses {total} in all" if is_wrong else f"saves {total} more in all"
    return str(
        div(".turn.lesson")[
            div(class_=f"goal verdict{'' if is_wrong else ' reached'}", role="status")[
                b[_NAMES[shown.which]],
                span[f"{ACTION_NAMES[_first(shown)]} {head}. Step with ← and →, or press ▷."],
                span[
                    command_html("line", _NAMES[other], which=other),
                    " ",
                    command_html("back", "Back to my game"),
                ],
            ],
            ol(".moments")[(_moment_html(game, m, shown, move) for m in refutation.moments)],
            _now_html(game, shown, move),
        ]
    )


def _first(shown: ShownLine) -> int:
    refutation = shown.refutation
    return (refutation.wrong if shown.which == WRONG else refutation.right)[0]


def _moment_html(game: ReferenceGame, moment: Moment, shown: ShownLine, move: int) -> Renderable:
    is_wrong = shown.which == WRONG
    seconds = -moment.lost_s if is_wrong else moment.lost_s
    own, other = (moment.wrong, moment.right) if is_wrong else (moment.right, moment.wrong)
    instead = "" if own == other else f" instead of {ACTION_NAMES[other]}"
    kind = "here" if moment.move == move else ""
    return li(class_=kind, aria_current="step" if kind else None)[
        command_html("go", f"Move {moment.move + 1:,}", to=moment.move),
        " ",
        *_where(game, moment),
        f": {ACTION_NAMES[own]}{instead} ",
        b(class_="cost better" if seconds > 0 else "cost worse")[gain_text(seconds)],
    ]


def _now_html(game: ReferenceGame, shown: ShownLine, move: int) -> Node:
    """What happens at the cursor."""
    moment = next((m for m in shown.refutation.moments if m.move == move), None)
    if moment is None or shown.which != WRONG:
        return None
    return p(".reason")[reason(game, moment)]


def _where(game: ReferenceGame, moment: Moment) -> Sequence[Node]:
    facts = game.moves[moment.move]
    program = game.program
    at = program.instructions[facts.time].name if facts.time < program.num_slots else "the end"
    return [code[at], ", ", code[group_name(game, facts.group)]]
