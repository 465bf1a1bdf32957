"""A challenge on a real program: opponents and rules, the board as a scene, its panel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from htpy import Node, Renderable, b, div, i, li, ol, p, span

from engine.game.moves import ACTION_NAMES, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.opponents import (
    GREEDY,
    NEARLY,
    RECORD,
    Judged,
    Opponent,
    Recorded,
    greedy_end_s,
    greedy_game,
    judged_with,
    known_games,
    opponents,
    play_on,
    saved_before,
    weighty_moves,
)
from engine.lessons.positions import Mined
from engine.lessons.refutation import Refutation, refute
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.provenance import reading_warning
from ui.components.html import again_html, command_html
from ui.components.memory_map.board import References
from ui.components.units import share_text, time_text
from ui.model.challenges.state import ChallengeState, TakenBack
from ui.model.learn.attempt import Attempt
from ui.model.learn.explanation import why_html
from ui.model.learn.state import Learning, Seat
from ui.model.play.decision import choice_html, choices, story, story_html

EVERY = 10**6
"""The number of decisions that stands for all of them."""
CHOICES = (10, 15, 30, 60, EVERY)
_LEAST_COST = 2e-3
"""Share of the all-slow runtime that a move must cost to be taken back."""
CLEAR_LEAD = 0.025
"""Share of greedy's runtime from which on a lead over it counts as clear."""


@dataclass(frozen=True)
class Match:
    """A challenge on one program: its rules, its opponents, and games to judge moves by.

    `opponents`: the opponents, the weakest first. `games`: strong games, the best first. `best_s`:
    the best latency known. `pivotal`: moves at which greed goes wrong, always the visitor's own.
    """

    program: Program
    rules: Rules
    opponents: tuple[Opponent, ...]
    games: tuple[Recorded, ...]
    bound_s: float | None
    best_s: float | None = None
    pivotal: tuple[int, ...] = ()

    @property
    def best_saved_s(self) -> float:
        """Seconds that the best plan known saves; 0 where none is known."""
        return 0.0 if self.best_s is None else self.program.all_slow_s - self.best_s

    def attempt(self, decisions: int) -> Attempt:
        """A new game in which the pivotal and the weightiest moves are the visitor's, the rest
        greedy's.
        """
        own = self.own_moves(decisions)
        game = ReferenceGame(self.program, self.rules)
        play_on(game, own)
        return Attempt.from_start(game, lambda g: play_on(g, own))

    def own_moves(self, decisions: int) -> frozenset[int]:
        """The moves that are the visitor's."""
        others = max(0, decisions - len(self.pivotal))
        return weighty_moves(self.program, self.rules, others) | frozenset(self.pivotal)

    def judged(self, game: ReferenceGame, decisions: int) -> dict[int, Judged]:
        """What each action of a position is worth to the visitor, as greedy plays the rest.

        So the best action stays worth it, whatever greedy does until the next decision.
        """
        sets = (self.own_moves(decisions), frozenset(self.pivotal))
        return judged_with(game, self.games, sets)

    def cost_s(self, values: dict[int, Judged], action: int) -> float:
        """What an action loses against the best one; nothing if it is too little to matter."""
        lost_s = max(j.saved_s for j in values.values()) - values[action].saved_s
        return lost_s if lost_s > _LEAST_COST * self.program.all_slow_s else 0.0

    def won(self, latency_s: float) -> tuple[Opponent, ...]:
        """The opponents that a latency beats."""
        return tuple(opponent for opponent in self.opponents if opponent.is_won(latency_s))

    def next_opponent(self, latency_s: float) -> Opponent | None:
        """The weakest opponent that is not beaten."""
        return next((r for r in self.opponents if not r.is_won(latency_s)), None)


def match_of(
    program: Program, entry: SampleEntry | None, mined: Mined | None, best: Plan | None = None
) -> Match:
    """The challenge on a program; judged by the strong game that was mined, where there is one.

    Else by the `best` plan known, as the game plays it. XLA is no opponent where its plan was read
    in part only.
    """
    is_measure = reading_warning(program) is None
    compiled = program.provenance.get("xla_plan") if is_measure else None
    plan = plan_from_json(compiled, f"{program.name}: xla_plan") if compiled else None
    bound_s, best_s = (entry.bound_s, entry.best_s) if entry else (None, None)
    rules, games = known_games(program, [best]) if best and not mined else (Rules(), ())
    if mined:
        rules, games = mined.rules, (mined.strong(program),)
    return Match(
        program=program,
        rules=rules,
        opponents=opponents(program, plan, bound_s, best_s, rules),
        games=games,
        bound_s=bound_s,
        best_s=best_s,
        pivotal=mined.pivotal if mined else (),
    )


def inviting(
    entries: Sequence[SampleEntry],
    mined: Sequence[Mined],
    most: int,
    played: Collection[str] = (),
) -> list[SampleEntry]:
    """Programs to play on: those on which greedy can be beaten at few moves, and what was `played`.

    At most `most`, those with a clear lead first, then the shortest; after them the played ones.
    """
    leads = leads_of(mined)
    candidates = [e for e in entries if e.name in leads and e.best_solver != GREEDY]
    ordered = sorted(candidates, key=lambda e: (leads[e.name] < CLEAR_LEAD, e.touches))[:most]
    return [*ordered, *(e for e in entries if e.name in played and e not in ordered)]


def leads_of(mined: Sequence[Mined]) -> dict[str, float]:
    """How far greedy can be beaten on each program, as a share of its runtime."""
    return {game.program: game.lead for game in mined if game.pivotal}


_LEVEL_S = 1e-9
"""Seconds that are the rounding of the game's ticks."""


def match_html(match: Match, seat: Seat, state: ChallengeState, review: Node = None) -> str:
    """The whole panel of a match, as HTML. `review`: of the finished game."""
    attempt = seat.attempt
    game = attempt.tip.game
    latency_s = greedy_end_s(game)
    head = _end_html(match, latency_s) if attempt.is_over else _clock_html(match, seat, latency_s)
    ladder = ladder_html(match, latency_s, attempt.is_over)
    taken_back = state.taken_back_on(attempt)
    back = _taken_back_html(taken_back) if taken_back is not None else None
    return str(div(".turn.lesson")[head, ladder, back, review, decision_html(seat)])


def _clock_html(match: Match, seat: Seat, latency_s: float) -> Renderable:
    """Where the game stands: what it comes to if greedy plays the rest."""
    return div(".goal")[
        b[f"The clock: {time_text(latency_s)}"],
        span[f"if greedy played on from here{_above(match, latency_s)}"],
        scale_html(match, latency_s),
        span[
            [again_html(), " "] if seat.attempt.decided else None,
            command_html("finish", "Let greedy finish"),
        ],
    ]


def _above(match: Match, latency_s: float) -> str:
    if not match.bound_s:
        return ""
    return f"; {share_text(latency_s / match.bound_s - 1)} above the bound"


def _end_html(match: Match, latency_s: float) -> Renderable:
    won = match.won(latency_s)
    kind = "verdict reached" if won else "verdict"
    if len(won) == len(match.opponents):
        head = "You beat everybody!"
    elif won:
        head = f"You beat {_named(won[-1])}"
    else:
        head = "Nobody beaten yet"
    return div(class_=f"goal {kind}", role="status")[
        b[head],
        span[f"Your program takes {time_text(latency_s)}{_above(match, latency_s)}."],
        scale_html(match, latency_s),
        span[command_html("score", "Score sheet"), " ", again_html()],
    ]


def _named(opponent: Opponent) -> str:
    return f"the mark “{opponent.name}”" if opponent.name.startswith("within") else opponent.name


def ladder_html(match: Match, latency_s: float, is_over: bool) -> Renderable:
    """Every opponent with its latency, the strongest on top; what is beaten has a tick."""
    rows = []
    following = match.next_opponent(latency_s)
    for opponent in reversed(match.opponents):
        is_won = opponent.is_won(latency_s)
        mark = "✓" if is_won else "▸" if opponent is following else "·"
        gap = latency_s - opponent.limit_s
        ahead = f"{time_text(abs(gap))} {'behind' if gap > 0 else 'ahead'}"
        if abs(gap) < _LEVEL_S:
            ahead = "level"
        kind = "won" if is_won else "next" if opponent is following else ""
        rows.append(li(class_=kind)[span[f"{mark} {_label(opponent)}"], span[ahead]])
    return div(".ladder")[b["Beaten" if is_over else "With that clock"], ol[rows]]


def _label(opponent: Opponent) -> str:
    """The opponent's name; that of the best known says from where on it counts as beaten."""
    return (
        f"{opponent.name}, within {100 * (NEARLY - 1):.1f} %"
        if opponent.name == RECORD
        else opponent.name
    )


def scale_html(match: Match, latency_s: float) -> Renderable:
    """A line from the weakest opponent to the bound, with marks for all, and for the clock."""
    last = match.bound_s or min(r.limit_s for r in match.opponents)
    first = max(*(r.limit_s for r in match.opponents), last * 1.01)
    marks = [_mark(r.limit_s, first, last, "", r.name) for r in match.opponents]
    marks.append(_mark(latency_s, first, last, "you", f"you: {time_text(latency_s)}"))
    return div(".scale", aria_hidden="true")[marks]


def _mark(latency_s: float, first: float, last: float, kind: str, name: str) -> Renderable:
    share = 100 * max(0.0, min(1.0, (first - latency_s) / (first - last)))
    return i(class_=kind, style=f"left:{share:.1f}%", title=name)


def _taken_back_html(taken_back: TakenBack) -> Renderable:
    name = ACTION_NAMES[taken_back.action]
    cost = time_text(taken_back.cost_s)
    return div(".taken-back", role="status")[
        b[f"{name} was taken back."],
        f" It costs {cost} by the end, as far as is known. ",
        command_html("anyway", f"Play {name} anyway"),
        why_html(taken_back.game, taken_back.refutation),
    ]


def decision_html(seat: Seat) -> Node:
    """The move at the cursor and a card for each action."""
    number = seat.attempt.at(seat.cursor.move)
    game = seat.attempt.points[number].game
    if game.is_over:
        return p["There is nothing to decide: greedy has played all of it."]
    chosen = seat.attempt.chosen(number)
    cards = (
        choice_html(choice, chosen, seat.cursor.question == choice.action, False)
        for choice in choices(game)
    )
    return [story_html(story(game.program, game.move)), cards]


@dataclass
class MatchScene:
    """The visitor's game on a real program."""

    match: Match
    learning: Learning
    state: ChallengeState
    board: str
    review: Callable[[Seat], Node] = lambda seat: None
    """The review of the finished game, once it has been judged."""
    key: str = "match"
    is_hidden: bool = False
    is_plain: bool = False
    look: Mapping[str, str] = field(default_factory=dict)
    references: References = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        """Set what the curve shows: greedy's game, to be ahead of, and the bound."""
        program = self.match.program
        self.title = program.name
        greedy = greedy_game(program, self.match.rules)
        marks: tuple[tuple[str, float], ...] = ()
        if self.match.bound_s is not None:
            marks = (("bound", program.all_slow_s - self.match.bound_s),)
        self.references = References(marks, GREEDY, saved_before(program, greedy))

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return match_html(self.match, seat, self.state, self.review(seat))

    def explained(self, seat: Seat) -> tuple[ReferenceGame, Refutation] | None:
        """See `Scene.explained`: why the move was taken back."""
        back = self.state.taken_back_on(seat.attempt)
        return None if back is None else (back.game, back.refutation)

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; with teaching on, a move that costs much is not played."""
        number = seat.attempt.at(seat.cursor.move)
        if self.state.is_teaching and seat.attempt.chosen(number) != action:
            game = seat.attempt.points[number].game
            values = self.match.judged(game, self.state.decisions)
            cost_s = self.match.cost_s(values, action)
            if cost_s > 0:
                right = max(values, key=lambda a: values[a].saved_s)
                why = refute(game, values[action].actions, values[right].actions)
                self.state.taken_back = TakenBack(game.move_index, action, cost_s, game, why)
                seat.jump(game.move_index)
                return False
        return self._play(seat, action)

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        name = str(command.get("do"))
        if name == "retry":
            self.state.taken_back = None
            seat.jump(seat.attempt.retry())
        elif name == "anyway":
            back = self.state.taken_back_on(seat.attempt)
            if back is not None:
                seat.cursor.move = back.move
                return self._play(seat, back.action)
        elif name == "finish":
            self.state.taken_back = None
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
        before = seat.attempt.tip
        seat.jump(seat.attempt.play(seat.cursor.move, action))
        is_try = seat.attempt.is_over and seat.attempt.tip is not before
        self.learning.spend(self.board, is_try=is_try)
        return self._finished(seat) if seat.attempt.is_over else False

    def _finished(self, seat: Seat) -> bool:
        """Add the beaten opponents to the progress; returns whether that changed it."""
        latency_s = greedy_end_s(seat.attempt.tip.game)
        progress = self.learning.progress
        for opponent in self.match.won(latency_s):
            name = f"{self.match.program.name}/{opponent.name}"
            progress = progress.with_win(name, round(latency_s * 1e9))
        is_news = progress != self.learning.progress
        self.learning.keep(progress)
        return is_news
