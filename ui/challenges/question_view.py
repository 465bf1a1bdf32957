"""Challenges, find the move: one position after another, those that were missed again and again."""

from __future__ import annotations

import streamlit as st

from engine.errors import EngineError
from ui.components.markdown import plain
from ui.components.units import count_text
from ui.learn import board_view
from ui.model.challenges.question import QuestionScene, keys_of, today
from ui.model.challenges.state import ChallengeState, due, following
from ui.model.learn.attempt import Attempt
from ui.model.learn.state import Learning
from ui.session import caching


def show_questions(learning: Learning, state: ChallengeState) -> None:
    """Show the position to ask, or a message that all are known for now."""
    try:
        keys = keys_of(caching.mined_positions())
    except EngineError as error:
        st.warning(plain(error), icon=":material/error:")
        return
    if not keys:
        st.info("There are no positions yet. `python -m engine mine` looks for some.")
        return
    cards, day = learning.progress.cards, today()
    if learning.wanted == "next" or state.question not in keys:
        learning.wanted = ""
        state.answers.pop(state.question, None)
        state.question = following(list(keys), cards, day, state.question) or ""
        learning.seats.pop(f"position {state.question}", None)
    _count(list(keys), learning)
    if not state.question:
        st.success("All positions are answered; the next ones are due on another day.")
        if st.button("Ask the oldest again", key="ask_again"):
            state.question = min(cards, key=lambda key: cards[key].due)
            st.rerun()
        return
    mined, move = keys[state.question]
    question = caching.question_at(state.question, mined, move)
    seat = learning.seat(f"position {state.question}", Attempt.from_start(question.game))
    scene = QuestionScene(question, learning, state)
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        number = list(keys).index(state.question) + 1
        st.caption(
            f"Position {number} of {len(keys)}: **{mined.program}**, move {move + 1:,} of"
            f" {len(mined.game):,}."
        )
    board_view.show(scene, seat, left, right)


def _count(keys: list[str], learning: Learning) -> None:
    cards = learning.progress.cards
    known = sum(cards[key].box > 0 for key in keys if key in cards)
    waiting = len(due(keys, cards, today()))
    st.caption(
        f"{known} of {count_text(len(keys), 'position')} known, {waiting} due again. What you miss"
        " comes back at once; what you know after a day, then three, then a week, and so on."
    )
