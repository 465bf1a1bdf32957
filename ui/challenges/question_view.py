"""Challenges, find the move: practice in the order of one's rating, a streak, three minutes."""

from __future__ import annotations

import time
from dataclasses import replace

import streamlit as st

from engine.errors import EngineError
from engine.lessons.themes import THEMES
from ui.components.markdown import plain
from ui.components.units import count_text
from ui.learn import board_view
from ui.learn.classroom_view import standing
from ui.model.challenges.practice import (
    MINE,
    MINUTES,
    MODES,
    MOST_WRONG,
    PRACTICE,
    Asked,
    Run,
    due,
    following,
    positions_of,
)
from ui.model.challenges.question import QuestionScene, today
from ui.model.challenges.state import ChallengeState
from ui.model.learn.attempt import Attempt
from ui.model.learn.progress import NEW_PLAYER
from ui.model.learn.state import Learning
from ui.session import caching
from ui.session.state import current_session

_EVERY = "every theme"


def show_questions(learning: Learning, state: ChallengeState) -> None:
    """Show the settings, and the position to ask, or a message that there is none for now."""
    try:
        games = caching.mined_positions()
    except EngineError as error:
        st.warning(plain(error), icon=":material/error:")
        return
    if not games:
        st.info("There are no positions yet. `python -m engine mine` looks for some.")
        return
    _settings(learning, state, {t for m in games for a in m.about for t in a.themes})
    theme = state.theme if state.mode == PRACTICE else ""
    mine = learning.progress.mistakes
    is_mine = theme == MINE and bool(mine)
    positions = (
        positions_of(mine[::-1]) if is_mine else positions_of(games, theme, learning.progress.cards)
    )
    if state.mode != PRACTICE and not _in_run(learning, state, positions):
        return
    _advance(learning, state, positions)
    if state.mode == PRACTICE:
        _count(positions, learning)
    if not state.question:
        _nothing_left(learning, state, positions)
        return
    _ask(learning, state, positions)


def _ask(learning: Learning, state: ChallengeState, positions: dict[str, Asked]) -> None:
    asked = positions[state.question]
    try:
        question = caching.question_at(state.question, asked.mined, asked.move)
    except EngineError as error:
        # A mistake of a program, or of rules, that are no more.
        st.warning(plain(error), icon=":material/error:")
        gone = tuple(m for m in learning.progress.mistakes if m != asked.mined)
        learning.keep(replace(learning.progress, mistakes=gone))
        return
    seat = learning.seat(f"position {state.question}", Attempt.from_start(question.game))
    scene = QuestionScene(question, asked, learning, state)
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        _class(learning)
        st.caption(
            f"**{asked.mined.program}**, move {asked.move + 1:,} of {len(asked.mined.game):,}."
        )
    board_view.show(scene, seat, left, right)


def _class(learning: Learning) -> None:
    """Show the way back to the class that the student is in, if it has positions."""
    wanted = learning.class_set
    if wanted is None or not wanted.positions:
        return
    if st.button(standing(wanted, learning), key="to_class", icon=":material/arrow_back:"):
        st.switch_page(current_session().pages["learn"])


def _settings(learning: Learning, state: ChallengeState, known: set[str]) -> None:
    """Show the choice of mode and theme, and the player's rating."""
    mode, theme, rating = st.columns([2, 1.5, 1], vertical_alignment="bottom")
    chosen = mode.segmented_control(
        "How",
        list(MODES),
        format_func=MODES.__getitem__,
        default=state.mode,
        required=True,
        key="question_mode",
        label_visibility="collapsed",
    )
    if chosen and chosen != state.mode:
        state.mode, state.run, state.question = chosen, None, ""
    if state.mode == PRACTICE:
        own = [MINE] if learning.progress.mistakes else []
        options = [_EVERY, *own, *(t for t in THEMES if t in known)]
        wanted = theme.selectbox(
            "Theme",
            options,
            options.index(state.theme) if state.theme in options else 0,
            key="question_theme",
            label_visibility="collapsed",
            disabled=len(options) == 1,
        )
        wanted = "" if wanted == _EVERY else wanted
        if wanted != state.theme:
            state.theme, state.question = wanted, ""
    mine = learning.progress.rating
    shown = "–" if mine == NEW_PLAYER else f"{mine.points:,.0f} ± {2 * mine.deviation:,.0f}"
    rating.metric("Your rating", shown, help="Glicko-2, by first answers in practice; with 95 %")


def _advance(learning: Learning, state: ChallengeState, positions: dict[str, Asked]) -> None:
    """Choose the next position, if that is asked for or there is none."""
    if state.asked_for in positions and state.mode == PRACTICE:
        state.question, state.asked_for, learning.wanted = state.asked_for, "", ""
        state.gained = 0.0
        state.answers.pop(state.question, None)
        learning.seats.pop(f"position {state.question}", None)
        return
    is_kept = state.question in positions and learning.wanted != "next"
    if is_kept:
        return
    learning.wanted = ""
    last, state.gained = state.question, 0.0
    state.answers.pop(last, None)
    if state.run is not None:
        state.question = state.run.next(positions) or ""
    else:
        progress, wanted = learning.progress, learning.class_set
        found = None if wanted is None else wanted.next_after(last, progress)
        if found not in positions:
            found = following(positions, progress.cards, today(), progress.rating, last)
        state.question = found or ""
    learning.seats.pop(f"position {state.question}", None)
    state.answers.pop(state.question, None)


def _in_run(learning: Learning, state: ChallengeState, positions: dict[str, Asked]) -> bool:
    """Show where a run stands, or the way to begin one; whether there is a position to show."""
    run, now = state.run, learning.clock()
    if run is not None:
        run.tick(now)
    if run is None:
        _begin(learning, state, "Begin")
        return False
    if run.is_over:
        # A position that was missed last stays, with why the answer was wrong.
        is_shown = state.question in positions and state.question in run.missed
        _result(learning, state, run, is_shown)
        return is_shown
    _clock(run.kind)
    return True


def _begin(learning: Learning, state: ChallengeState, label: str) -> None:
    record = learning.progress.records.get(state.mode, 0)
    text = (
        f"As many as you can in three minutes; {MOST_WRONG} wrong answers end it."
        if state.mode == MINUTES
        else "One after another, ever harder, until the first wrong answer. No clock."
    )
    st.markdown(f"{text} Your record: **{record}**." if record else text)
    if st.button(label, key="begin_run", type="primary", icon=":material/play_arrow:"):
        seed = time.time_ns() % 10**9
        state.run, state.question = Run(state.mode, learning.clock(), seed, record), ""
        st.rerun()


@st.fragment(run_every=1.0)
def _clock(kind: str) -> None:
    """The score, the wrong answers and the time of a run; the page runs anew when it is over."""
    session = current_session()
    run = session.challenges.run
    if run is None or run.kind != kind:
        return
    now = session.learning.clock()
    run.tick(now)
    if run.is_over:
        st.rerun()
    parts = [f"**{run.score}** right"]
    if kind == MINUTES:
        minutes, seconds = divmod(round(run.left_s(now)), 60)
        parts += [f"{len(run.missed)} of {MOST_WRONG} wrong", f"**{minutes}:{seconds:02}** left"]
    st.markdown(" · ".join(parts))


def _result(learning: Learning, state: ChallengeState, run: Run, is_shown: bool) -> None:
    missed = f", {count_text(len(run.missed), 'position')} missed" if run.missed else ""
    record = " A new record!" if run.is_record else ""
    st.success(f"**{run.score}** right{missed}.{record}", icon=":material/timer:")
    if run.missed:
        below = "; the last one stands below, with why" if is_shown else ""
        st.caption(f"What you missed comes back in practice{below}.")
    _begin(learning, state, "Again")


def _nothing_left(learning: Learning, state: ChallengeState, positions: dict[str, Asked]) -> None:
    if state.run is not None:
        st.success("You have been through all positions that there are.")
        return
    st.success("All positions are answered; the next ones are due on another day.")
    cards = {key: card for key, card in learning.progress.cards.items() if key in positions}
    if cards and st.button("Ask the oldest again", key="ask_again"):
        state.question = min(cards, key=lambda key: cards[key].due)
        st.rerun()


def _count(positions: dict[str, Asked], learning: Learning) -> None:
    cards = learning.progress.cards
    known = sum(cards[key].box > 0 for key in positions if key in cards)
    waiting = len(due(list(positions), cards, today()))
    st.caption(
        f"{known} of {count_text(len(positions), 'position')} known, {waiting} due again. New ones"
        " come in the order of your rating; what you miss comes back at once, what you know after a"
        " day, then three, then a week."
    )
