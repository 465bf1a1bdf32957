"""What the visitor asks for on the map or beside it, carried out on the line of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ui.session import Session
from ui.viewmodel.eviction import evict
from ui.viewmodel.line import Line
from ui.viewmodel.players import players
from ui.viewmodel.variations import PLAN

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
    if not game.is_over and 0 <= action < 3 and game.legal()[action]:
        _show(here, line, line.play(move, action))


def _let(here: Session, line: Line, command: Mapping[str, Any]) -> None:
    player = players(line.film).get(str(command["player"]))
    if player is not None:
        moves = int(command["moves"]) or TO_THE_END
        begin = line.tip if int(command.get("tip", 0)) else here.cursor.move
        _show(here, line, line.let(begin, player, moves))


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
        name = here.open.free_name("you")
        here.open.add_plan(name, line.plan(name))
        here.show_plan(name)


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
    "as_moves": _as_moves,
}
