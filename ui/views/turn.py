"""The panel beside the map: the move in words, its three actions, and the buttons to play."""

from __future__ import annotations

import streamlit as st

from engine.game.reference import ReferenceGame
from engine.plan.model import Plan
from ui import caching
from ui.session import Session
from ui.viewmodel.choices import Choice, choices, room_text
from ui.viewmodel.film import Film
from ui.viewmodel.line import Line, saved_s
from ui.viewmodel.turns import actions_of, story
from ui.viewmodel.units import time_text
from ui.views.parts import choice_html, facts_html, gain_text, story_html

_FOREIGN = '<div class="note">The addresses in these texts are those of the game below.</div>'
_SHORTCUTS = ("1", "2", "3")


def watch_panel(here: Session, plan: Plan, film: Film, game: ReferenceGame) -> None:
    """Of a finished plan: what it does at this move, and what it could have done."""
    program = here.open.program
    if game.is_over:
        st.info("This program has no move: no tensor of it can save time in fast memory.")
        return
    moves = caching.moves_of(here.open.identity, program)
    action = actions_of(program, plan, moves)[game.move_index]
    told = story(program, game.move)
    found = choices(game)
    cards = "".join(choice_html(c, c.action == action) for c in found)
    # One element, since every element of a step travels with its own envelope.
    note = "" if film.is_exact or here.is_as_moves else _FOREIGN
    st.html(f'<div class="turn">{story_html(told)}{cards}{note}{facts_html(told.facts)}</div>')
    for choice in found:
        _ask_button(here, choice)
    st.button(
        "Play on from here",
        icon=":material/sports_esports:",
        type="primary",
        key="take_over",
        width="stretch",
        on_click=_take_over,
        args=(here, game),
    )
    if not film.is_exact:
        _foreign_toggle(here)


def _take_over(here: Session, game: ReferenceGame) -> None:
    here.line, here.question = Line(game, begun=game.move_index), None
    here.cursor.jump(game.move_index)


def _foreign_toggle(here: Session) -> None:
    st.toggle(
        "As moves of the game",
        value=here.is_as_moves,
        key="as_moves",
        help="This plan was made outside the game, with addresses and copy times of its own. The"
        " actions above are those of the game that follows it as closely as the rules allow."
        " Switch this on to see that game on the map.",
        on_change=_switch_moves,
        args=(here,),
    )


def _switch_moves(here: Session) -> None:
    here.is_as_moves = not here.is_as_moves


def _ask_button(here: Session, choice: Choice) -> None:
    """For a refused action whose obstacles can be shown on the map."""
    if choice.is_blocked:
        is_shown = here.question == choice.action
        st.button(
            f"{'Hide' if is_shown else 'Show'} what forbids {choice.name}",
            key=f"ask_{choice.action}",
            type="tertiary",
            icon=":material/search:",
            on_click=_ask,
            args=(here, None if is_shown else choice.action),
        )


def _ask(here: Session, action: int | None) -> None:
    here.question = action


def line_panel(here: Session, line: Line, film: Film) -> None:
    """Of a game being played: the score, the move, and a button per legal action."""
    game = line.game
    _score(film, game)
    if game.is_over:
        st.success("The game is over. Finish to see the plan that you made.")
    else:
        st.html(f'<div class="turn">{story_html(story(here.open.program, game.move))}</div>')
        for choice, key in zip(choices(game), _SHORTCUTS, strict=True):
            _action(here, line, choice, key)
        st.caption(room_text(game))
    _line_buttons(here, line, film)


def _score(film: Film, game: ReferenceGame) -> None:
    mine, theirs = saved_s(game), saved_s(film.game_at(game.move_index))
    ahead = gain_text(mine - theirs)
    st.markdown(
        f":material/sports_esports: **You play.** Saved {time_text(mine)},"
        f" {ahead} against the plan at this move."
    )


def _action(here: Session, line: Line, choice: Choice, key: str) -> None:
    if not choice.is_legal:
        st.html(choice_html(choice, is_chosen=False))
        _ask_button(here, choice)
        return
    st.button(
        f"**{choice.name}** · {gain_text(choice.gain_s)}",
        key=f"play_{choice.name}",
        shortcut=key,
        width="stretch",
        on_click=_play,
        args=(here, line, choice.action),
    )
    st.caption(choice.text)


def _play(here: Session, line: Line, action: int) -> None:
    line.play(action)
    _show_line(here, line)


def _undo(here: Session, line: Line) -> None:
    line.undo()
    _show_line(here, line)


def _show_line(here: Session, line: Line) -> None:
    here.question = None
    here.cursor.jump(line.game.move_index)
    if line.is_draft_long():
        line.rebase()


def _line_buttons(here: Session, line: Line, film: Film) -> None:
    undo, finish, leave = st.columns(3, gap="small")
    undo.button(
        "Undo",
        key="undo",
        disabled=not line.past,
        width="stretch",
        on_click=_undo,
        args=(here, line),
    )
    finish.button(
        "Finish",
        key="finish",
        width="stretch",
        help="Play the rest as the plan does, where that is legal",
        on_click=_finish,
        args=(here, line, film),
    )
    leave.button(
        "Leave",
        key="leave",
        width="stretch",
        help="Back to the plan",
        on_click=_leave,
        args=(here, line),
    )


def _finish(here: Session, line: Line, film: Film) -> None:
    move = line.game.move_index
    film.play_to(line.game, film.num_moves)
    name = here.open.free_name("you")
    here.open.add_plan(name, line.game.plan(name))
    here.show_plan(name)
    here.cursor.jump(min(move, film.num_moves - 1))


def _leave(here: Session, line: Line) -> None:
    here.line, here.question = None, None
    here.cursor.jump(line.begun)
