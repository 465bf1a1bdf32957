"""The visitor's commands on the map and beside it, carried out on the line of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.game.moves import DROP, NUM_ACTIONS
from engine.game.notes import notes_of
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from ui.model.play.eviction import evict
from ui.model.play.line import PLAN, Line, Rating
from ui.model.play.quiz import Answer, Quiz, quiz_of
from ui.play import playing_on
from ui.play.references import rival_of
from ui.session import opening
from ui.session.state import Session

TO_THE_END = 10**9
NEW_GAME = "new game"


def dispatch(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    """Carry out one command; what does not fit the position is ignored.

    `do` names it; `action`, `number`, `player`, `moves` (0: all that are left), `for_ever` and
    `tip` (1: go on from the end of the line) are its arguments. Its place is the cursor's move.
    """
    carry_out = _COMMANDS.get(str(command.get("do")))
    if carry_out is not None:
        carry_out(session, line, command)


def _play(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    action, move = int(command["action"]), session.cursor.move
    if _is_asked(session, move):
        # The question is about the plan, whatever is shown.
        line.go(PLAN)
    game = line.game_at(move)
    if game.is_over:
        session.cursor.note = "There is nothing to decide" if not move else "Every move is decided"
    if game.is_over or not 0 <= action < NUM_ACTIONS:
        return
    if not game.legal()[action]:
        session.cursor.refusal = explain(game, action).reason
        return
    if _is_answered(session, move):
        session.cursor.note = "This question is answered: Try again, Next or End"
        return
    if _is_asked(session, move):
        _answer(session, line, move, action)
    else:
        _show(session, line, line.play(move, action))


def _is_asked(session: Session, move: int) -> bool:
    plan = session.plan
    return (
        session.quiz is not None
        and plan is not None
        and session.quiz.is_open_at(plan.identity, move)
    )


def _is_answered(session: Session, move: int) -> bool:
    """Whether the verdict of the question at this move is on the panel; another key keeps it."""
    quiz, plan = session.quiz, session.plan
    return bool(quiz and plan and quiz.answered_at(plan.identity, move))


def _answer(session: Session, line: Line, move: int, action: int) -> None:
    """Take the action as the answer to the question; the cursor stays there for the verdict."""
    assert session.quiz is not None, "there is a question"
    own, rating = line.film.actions[move], Rating()
    if action != own:
        rating = line.worth(move, action)
        line.play(move, action)
    session.quiz.answers[move] = Answer(action, own, rating)
    _show(session, line, move)


def _quiz(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    """`to`: `begin`, `again`, `stay` (back to the question), `next` or `end`."""
    plan, to = session.plan, str(command.get("to"))
    if plan is None:
        return
    line.go(PLAN)
    if to == "begin":
        session.quiz = quiz_of(line.film, plan.identity)
        if session.quiz is None:
            session.cursor.note = "No move of this plan has a choice with anything at stake"
        session.is_as_moves = session.is_as_moves or session.quiz is not None
    elif session.quiz is not None:
        _go_on_asking(session, session.quiz, to)
    _show(session, line, session.quiz.move if session.quiz else session.cursor.move)


def _go_on_asking(session: Session, quiz: Quiz, to: str) -> None:
    if to == "end":
        session.quiz, session.is_as_moves = None, False
    elif to == "again":
        quiz.answers.pop(quiz.move, None)
    elif to == "next" and not quiz.is_last:
        quiz.at += 1


def _let(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    moves = int(command["moves"]) or TO_THE_END
    begin = line.tip if int(command.get("tip", 0)) else session.cursor.move
    move = playing_on.go_on(session, line, begin, str(command["player"]), moves)
    if move is not None:
        _show(session, line, move)


def _undo(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    _show(session, line, line.tree.before(session.cursor.move))


def _redo(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    _show(session, line, line.tree.after(session.cursor.move))


def _go(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    number = int(command["number"])
    if PLAN <= number < len(line.tree.lines):
        fork = line.go(number)
        _show(session, line, session.cursor.move if number == PLAN else fork)


def _ask(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    action = int(command["action"])
    session.cursor.question = None if session.cursor.question == action else action
    if session.cursor.question is not None and line.is_on_plan and not line.film.is_exact:
        # What forbids it stands where the game has it, so that is what the map has to show.
        session.is_as_moves = True


def _evict(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    game, selected = line.game_at(session.cursor.move), session.cursor.selected
    if game.is_over and selected < 0:
        return
    group = selected if selected >= 0 else game.move.group
    session.eviction = evict(line, group, session.cursor.move, bool(int(command["for_ever"])))


def _open_eviction(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    if session.eviction is not None and session.eviction.actions:
        line.branch(session.eviction.actions, "what if")
        _show(session, line, session.eviction.move)


def _keep(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    """List a complete line as a plan of its own, and show that."""
    del command
    if not line.is_on_plan and line.is_complete:
        by = line.tree.lines[line.tree.current].by
        stem = "you" if by == "you" else f"you and {by}"
        session.show_plan(opening.keep_plan(session, stem, line.plan(stem)))


def _compare(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    """Hold the line, kept as a plan, or the plan shown against the compiler's or the best other."""
    left = session.plan
    _keep(session, line, command)
    plan = session.plan
    if plan is None or left is None:
        return
    rival = rival_of(session, plan) if plan is left else left
    if rival is not None:
        session.open.comparison.hold(rival.name, plan.name)
        session.wanted_page = "compare"


def _new_game(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    """A game in which nothing was ever put into fast memory, as a plan to leave at any move."""
    del command, line
    game = ReferenceGame(session.open.program)
    while not game.is_over:
        game.step(DROP)
    if NEW_GAME not in session.open.plans:
        session.open.add_plan(NEW_GAME, game.plan(NEW_GAME, notes_of(game)), is_own=True)
    session.show_plan(NEW_GAME)
    if session.plan is not None and session.plan.identity in session.open.lines:
        session.open.lines[session.plan.identity].go(PLAN)
    session.cursor.jump(0)


def _as_moves(session: Session, line: Line, command: Mapping[str, Any]) -> None:
    del line, command
    session.is_as_moves = not session.is_as_moves


def _show(session: Session, line: Line, move: int) -> None:
    session.cursor.question = session.eviction = None
    session.cursor.jump(max(0, min(move, line.film.num_moves - 1)), session.cursor.selected)


_COMMANDS = {
    "play": _play,
    "let": _let,
    "undo": _undo,
    "redo": _redo,
    "go": _go,
    "ask": _ask,
    "evict": _evict,
    "open_eviction": _open_eviction,
    "keep": _keep,
    "compare": _compare,
    "as_moves": _as_moves,
    "new_game": _new_game,
    "quiz": _quiz,
}
