"""What the visitor asks for on the map or beside it, carried out on the line of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ui import playing_on
from ui.company import rival_of
from ui.session import Session
from ui.viewmodel.eviction import evict
from ui.viewmodel.line import Line
from ui.viewmodel.quiz import Answer, quiz_of
from ui.viewmodel.variations import PLAN, Rating

TO_THE_END = 10**9


def obey(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    """Carry out one command; what does not fit the position is ignored.

    `do` names it; `action`, `number`, `player`, `moves` (0: all that are left), `for_ever` and
    `tip` (1: go on from the end of the line) are its arguments. Its place is the cursor's move.
    """
    carry_out = _COMMANDS.get(str(command.get("do")))
    if carry_out is not None:
        carry_out(here, line, command)


def _play(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    action, move = int(command["action"]), here.cursor.move
    game = line.game_at(move)
    if game.is_over or not 0 <= action < 3 or not game.legal()[action]:
        return
    if _is_asked(here, move):
        _answer(here, line, move, action)
    else:
        _show(here, line, line.play(move, action))


def _is_asked(here: Session, move: int) -> bool:
    plan = here.plan
    return here.quiz is not None and plan is not None and here.quiz.is_open_at(plan.identity, move)


def _answer(here: Session, line: Line, move: int, action: int) -> None:
    """Take the action as the answer to the question, and stay there for the verdict."""
    assert here.quiz is not None, "there is a question"
    own, rating = line.film.actions[move], Rating()
    if action != own:
        line.play(move, action)
        rating = line.tree.lines[line.tree.current].rating
    here.quiz.answers[move] = Answer(action, own, rating)
    _show(here, line, move)


def _quiz(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    """`to`: `begin`, `again`, `stay` (back to the question), `next` or `end`."""
    plan, to = here.plan, str(command.get("to"))
    if plan is None:
        return
    line.go(PLAN)
    if to == "begin":
        here.quiz = quiz_of(line.film, plan.identity)
        here.is_as_moves = here.is_as_moves or here.quiz is not None
    elif to == "end" or here.quiz is None:
        here.quiz = None
    elif to == "again":
        here.quiz.answers.pop(here.quiz.move, None)
    elif to == "next" and not here.quiz.is_last:
        here.quiz.at += 1
    _show(here, line, here.quiz.move if here.quiz else here.cursor.move)


def _let(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    moves = int(command["moves"]) or TO_THE_END
    begin = line.tip if int(command.get("tip", 0)) else here.cursor.move
    move = playing_on.go_on(here, line, begin, str(command["player"]), moves)
    if move is not None:
        _show(here, line, move)


def _undo(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    _show(here, line, line.tree.before(here.cursor.move))


def _redo(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    _show(here, line, line.tree.after(here.cursor.move))


def _go(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    number = int(command["number"])
    if PLAN <= number < len(line.tree.lines):
        fork = line.go(number)
        _show(here, line, here.cursor.move if number == PLAN else fork)


def _ask(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    del line
    action = int(command["action"])
    here.question = None if here.question == action else action


def _evict(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    game, selected = line.game_at(here.cursor.move), here.cursor.selected
    if game.is_over and selected < 0:
        return
    group = selected if selected >= 0 else game.move.group
    here.eviction = evict(line, group, here.cursor.move, bool(int(command["for_ever"])))


def _open_eviction(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    del command
    if here.eviction is not None and here.eviction.actions:
        line.branch(here.eviction.actions, "what if")
        _show(here, line, here.eviction.move)


def _keep(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    """List a complete line as a plan of its own, and show that."""
    del command
    if not line.is_on_plan and line.is_complete:
        by = line.tree.lines[line.tree.current].by
        name = here.open.free_name("you" if by == "you" else f"you and {by}")
        here.open.add_plan(name, line.plan(name))
        here.show_plan(name)


def _compare(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    """Hold the line, kept as a plan, or the plan shown against the compiler's or the best other."""
    left = here.plan
    _keep(here, line, command)
    plan = here.plan
    if plan is None or left is None:
        return
    rival = rival_of(here, plan) if plan is left else left
    if rival is not None:
        here.open.comparison.hold(rival.name, plan.name)
        here.wanted_page = "compare"


def _as_moves(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    del line, command
    here.is_as_moves = not here.is_as_moves


def _show(here: Session, line: Line, move: int) -> None:
    here.question = here.eviction = None
    here.cursor.jump(max(0, min(move, line.film.num_moves - 1)), here.cursor.selected)


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
    "quiz": _quiz,
}
