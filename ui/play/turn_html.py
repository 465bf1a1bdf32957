"""The panel beside the map, as one piece of HTML: the line, the move in words, its actions.

Its buttons carry `data-do`; the map's script listens to them and sends the command, so that a step
sends one small element and the keys do the same as the buttons.
"""

from __future__ import annotations

from dataclasses import replace

from htpy import Node, Renderable, b, br, code, div, p, progress, span

from engine.game.moves import ACTION_NAMES, Move
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.program.model import Program
from ui.components.html import command_html, facts_html
from ui.components.memory_map.plan_actions import NO_ACTION
from ui.components.names import slots_text
from ui.components.units import (
    address_text,
    count_text,
    is_same,
    share_text,
    time_text,
    times_text,
)
from ui.jobs.protocol import FAILED, STOPPED
from ui.jobs.run import Job
from ui.model.play import placed
from ui.model.play.decision import Choice, choice_html, choices, room_text, story, story_html
from ui.model.play.eviction import Eviction
from ui.model.play.ghosts import Opinion, by_size
from ui.model.play.line import Line
from ui.model.play.quiz import quiz_html
from ui.session import caching, films
from ui.session.state import OpenPlan, Session

_MOST_BLOCKERS = 8


def turn_html(
    session: Session,
    plan: Plan,
    line: Line,
    game: ReferenceGame,
    opinion: Opinion | None,
    is_game: bool = True,
) -> str:
    """The turn at the cursor: where it lies, what is at stake, what each action would do.

    `is_game`: the map shows `plan` as the game has it, so that both speak of the same addresses.
    """
    if game.num_moves == 0:
        text = "This program has no move: no tensor of it can save time in fast memory."
        return str(div(".turn")[p[text]])
    parts: list[Node]
    if session.quiz is not None and session.quiz.plan == _identity(session) and not game.is_over:
        parts = [quiz_html(session.quiz, session.cursor.move)]
    else:
        head = _plan_html if line.is_on_plan else _variation_html
        parts = [head(session, line)]
    if game.is_over:
        parts += [p(".headline")["The game is over"], p["Every move is decided."]]
    else:
        parts += _move_parts(session, plan, line, game, opinion, is_game)
    return str(div(".turn")[parts])


def waiting_html(session: Session, plan: OpenPlan, share: float = 0.0) -> str:
    """The turn at the cursor before it is known how the game follows the plan.

    `share`: how much of that is done, where no job does it.
    """
    opened = session.open
    moves = caching.moves_of(opened.identity, opened.program)
    parts: list[Node] = [div(".line")[span[_waiting_html(films.known_job(opened, plan), share)]]]
    if moves:
        move_story = story(opened.program, moves[min(session.cursor.move, len(moves) - 1)])
        parts += [story_html(move_story), facts_html(move_story.facts, has_text=False)]
    return str(div(".turn")[parts])


def _waiting_html(job: Job | None, share: float) -> Node:
    """What the visitor waits for, and how far it is."""
    head = b["The map shows the whole plan."]
    text = " Its moves, and what each action would do, follow once the game has played it"
    if job is not None and job.state in (FAILED, STOPPED):
        why = f"failed: {job.error}" if job.state == FAILED else "was stopped"
        return [head, f"{text}; that {why}. ", command_html("follow", "Try again")]
    if job is not None:
        return [head, f"{text}; the bar below says how far it is."]
    bar = progress(max="1", value=f"{share:.2f}", aria_label="Moves played")
    return [head, f"{text}. ", bar, f" {share_text(share, 0)}"]


def _identity(session: Session) -> str:
    return session.plan.identity if session.plan else ""


def _move_parts(
    session: Session,
    plan: Plan,
    line: Line,
    game: ReferenceGame,
    opinion: Opinion | None,
    is_game: bool,
) -> list[Node]:
    program, move = session.open.program, session.cursor.move
    move_story = story(program, game.move)
    is_asked = session.quiz is not None and session.quiz.is_open_at(_identity(session), move)
    chosen = None if is_asked else _chosen(session, plan, line, move)
    answer = session.quiz.answered_at(_identity(session), move) if session.quiz else None
    offered = choices(game, opinion)
    if answer is not None:
        offered = [c.answered(answer.right) for c in offered]
    if not is_game:
        offered = [_as_placed(c, program, plan, game.move, chosen) for c in offered]
    cards = [
        choice_html(c, chosen, session.cursor.question == c.action, line.is_on_plan)
        for c in offered
    ]
    room = room_text(game) if is_game else placed.room_text(program, plan, game.move.time)
    facts = (*move_story.facts, ("Memory", room))
    return [
        story_html(move_story),
        *cards,
        _blockers_html(game, session.cursor.question),
        None if is_asked else _eviction_html(session, line, game, move_story.tensor),
        facts_html(facts, has_text=False),
    ]


def _as_placed(
    choice: Choice, program: Program, plan: Plan, move: Move, chosen: int | None
) -> Choice:
    """The card of an action beside a plan that was placed outside the game.

    The game's addresses are not the plan's, so the card has no text for the other end.
    """
    if choice.action == chosen:
        return replace(choice, text=placed.served_text(program, plan, move), other=None)
    word = "legal" if choice.is_legal else "forbidden"
    text = f"With the plan played as moves of the game, this is {word} here."
    return replace(choice, text=text, other=None)


def _blockers_html(game: ReferenceGame, question: int | None) -> Node:
    """The tensors that forbid the action asked about: their addresses, and how long they stand."""
    blockers = [] if question is None else by_size(explain(game, question).blockers)
    if not blockers or question is None:
        return None
    rows = [
        (
            blocker.name,
            f"{address_text(blocker.low)} – {address_text(blocker.high)},"
            f" {slots_text(blocker.start, blocker.end)}",
        )
        for blocker in blockers[:_MOST_BLOCKERS]
    ]
    more = len(blockers) - len(rows)
    title = p[b[f"In the way of {ACTION_NAMES[question]}"], ", the largest first"]
    rest = p[f"and {count_text(more, 'smaller one')}"] if more else None
    return div(".blockers")[title, facts_html(rows), rest]


def _chosen(session: Session, plan: Plan, line: Line, move: int) -> int | None:
    """The action at this move: of the plan as it is, or of the game on the map."""
    if not line.is_on_plan or session.is_as_moves or line.film.is_exact:
        return line.action_at(move)
    opened, identity = session.open, _identity(session)
    action = caching.actions_of_plan(identity, opened.identity, opened.program, plan)[move]
    return None if action == NO_ACTION else action


def _plan_html(session: Session, line: Line) -> Renderable:
    """The head of the panel while no variation is shown: three lines of fixed height."""
    quiz = command_html("quiz", "guess its decisions", to="begin")
    new = command_html("new_game", "new game")
    play: Node = [b["Play any action"], " to leave it, or ", quiz, ", or begin a ", new, "."]
    text: list[Node]
    if line.film.is_exact:
        text = ["You follow the plan. ", play]
        if len(session.open.plans) > 1:
            text += [" ", command_html("compare", "Compare it"), " with another plan."]
    else:
        itself, as_moves = times_text(_latency_s(session), line.film.latency_s)
        if session.is_as_moves:
            switch = command_html("as_moves", "The plan itself")
            text = [f"As moves of the game: {as_moves}. ", switch, f": {itself}. ", play]
        else:
            switch = command_html("as_moves", "As moves")
            text = [f"Placed outside the game: {itself}. ", switch, f": {as_moves}. ", play]
    return div(".line")[span[text]]


def _latency_s(session: Session) -> float:
    """Runtime of the plan itself."""
    plan = session.plan
    assert plan is not None, "a line belongs to a plan"
    return caching.row_of(plan.identity, session.open.program, plan.plan, plan.name).latency_s


def _is_game_otherwise(session: Session, line: Line) -> bool:
    """Whether the plan as moves, by which all is measured, takes another time than the plan."""
    return not line.film.is_exact and not is_same(line.film.latency_s - _latency_s(session))


def _variation_html(session: Session, line: Line) -> Renderable:
    """The head of the panel on a variation: its runtime against the plan's, and its buttons."""
    left = line.film.num_moves - line.tip
    final = line.tree.lines[line.tree.current].rating.final
    if left:
        buttons = [command_html("let", "Finish it", player="the plan", moves=0, tip=1)]
        state = f"{count_text(left, 'move')} to go. With the plan's rest"
    else:
        buttons = [command_html("keep", "Keep as a plan"), command_html("compare", "Compare")]
        state = "complete:"
    buttons.append(command_html("go", "Back to the plan", number=-1))
    plan = "the plan"
    if _is_game_otherwise(session, line):
        plan = f"the plan as moves ({time_text(line.film.latency_s)})"
    told = span[b["Your variation"], f", {state} ", b[_slower(-final, plan)], "."]
    return div(".line")[told, span[buttons]]


def _slower(seconds: float, plan: str) -> str:
    """Words for `seconds` more than the runtime of what is called `plan`; negative: less."""
    if is_same(seconds):
        return f"as fast as {plan}"
    return f"{time_text(abs(seconds))} {'slower' if seconds > 0 else 'faster'} than {plan}"


def _eviction_html(session: Session, line: Line, game: ReferenceGame, name: str) -> Renderable:
    """The what-if question, and its answer once it was asked.

    It is about the selected tensor, else about `name`, the tensor of the move.
    """
    program, selected = session.open.program, session.cursor.selected
    group = selected if selected >= 0 else game.move.group
    if group != game.move.group:
        name = program.values[program.groups[group].values[0]].name
    eviction = session.eviction
    base = " as moves" if line.is_on_plan and _is_game_otherwise(session, line) else ""
    return div(".what-if")[
        b["What if"],
        " ",
        code[name],
        " were ",
        command_html("evict", "dropped here", for_ever=0),
        " or ",
        span(".tied")[command_html("evict", "never fast", for_ever=1), "?"],
        br,
        _answer(eviction, base) if eviction is not None and eviction.group == group else None,
    ]


def _answer(eviction: Eviction, base: str) -> Node:
    if eviction.obstacle and not eviction.is_for_ever:
        return eviction.obstacle
    after_s, change_s = eviction.latency_s, eviction.change_s
    before, after, change = times_text(after_s - change_s, after_s, abs(change_s))
    sign = "+" if change_s > 0 else "−"
    new = [
        f"Runtime {after} instead of {before}{base}, ",
        b["± 0" if is_same(change_s) else f"{sign}{change}"],
    ]
    if not eviction.num_lost:
        return [new, ": slow memory serves it already."]
    when = "" if eviction.is_for_ever else f" from move {eviction.move + 1:,}"
    lost = f"{eviction.num_lost} of its touches" if eviction.num_lost > 1 else "one touch"
    return [new, f"; {lost}{when} lost. ", command_html("open_eviction", "Open as variation")]
