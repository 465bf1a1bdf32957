"""Debug, forced actions: another action here, the rest played on, each exact by the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from engine.debugging.counterfactual import (
    AS_PLAYED,
    GREEDY,
    POLICY,
    SEARCH,
    Counterfactual,
    Forcing,
)
from engine.errors import EngineError
from engine.game.moves import ACTION_NAMES
from engine.game.notes import noted_rules
from ui.components.markdown import plain
from ui.components.table_view import show_table
from ui.components.units import time_text
from ui.debug import studies
from ui.jobs.protocol import FORCE, Order
from ui.jobs.run import Job
from ui.jobs.weights import words
from ui.model.search.state import Thought
from ui.search import board_view, jobs_view
from ui.session.state import Session

_SECONDS = 30.0
"""Nominal seconds of an order without a budget."""
_COLUMNS = {
    "action": st.column_config.TextColumn("Forced", width=130),
    "then": st.column_config.TextColumn("Then", width=90),
    "by": st.column_config.TextColumn("By", width=170),
    "runtime": st.column_config.TextColumn("Runtime", width=100),
    "change": st.column_config.NumberColumn("Against the game, µs", width=150),
    "kept": st.column_config.TextColumn(
        "Action kept", width=90, help="`local` works on the whole plan and may undo the action"
    ),
}


def show(session: Session, thought: Thought) -> None:
    """Show buttons for the other legal actions of the move, and the outcomes of those forced."""
    state, move = session.open.searches, session.open.searches.move
    played = int(thought.trace.action[move])
    legal = [int(a) for a in thought.trace.legal[move].nonzero()[0] if a != played]
    if not legal:
        st.caption(f"At move {move + 1:,} no other action is legal.")
        return
    names = studies.known_weights(session, thought)
    *buttons, weights = st.columns([*[1.1] * len(legal), 2.4], vertical_alignment="bottom")
    agent = weights.selectbox(
        "Policy and search play with",
        names,
        names.index(studies.weights_of(thought)),
        format_func=words,
        key=f"force_weights_{thought.identity}",
    )
    for place, action in zip(buttons, legal, strict=False):
        if place.button(
            f"Force {ACTION_NAMES[action]}",
            key=f"force_{action}",
            icon=":material/alt_route:",
            width="stretch",
        ):
            _force(session, thought, move, action, agent)
            st.rerun()
    rows = answers(session, thought, move)
    if not rows:
        st.caption(
            f"The game played **{ACTION_NAMES[played]}** here. Another action is played on as in"
            " the game, greedily, by the prior, by the search, and by the solver `local` from the"
            " plan that results; every runtime is that of the simulator."
        )
        return
    _table(session, thought, rows, played)
    if any(not j.is_over and j.order.kind == FORCE for j in state.jobs):
        st.caption("The agent and `local` are still at it.")


def _force(session: Session, thought: Thought, move: int, action: int, agent: str) -> None:
    """Play the two quick continuations at once, and order a job for the others."""
    rules = noted_rules(thought.plan)
    assert rules is not None, "a thought's plan notes its game"
    try:
        forcing = Forcing(session.open.program, thought.trace.action.tolist(), rules)
        outcomes = [forcing.play(move, action, name) for name in (AS_PLAYED, GREEDY)]
    except EngineError as error:
        st.error(plain(error), icon=":material/error:")
        return
    session.open.debug.forced[thought.identity, move, action] = outcomes
    details = (("move", move), ("action", action), ("weights", agent))
    name = f"{ACTION_NAMES[action]} forced at move {move + 1:,}"
    order = Order(FORCE, name, _SECONDS, basis=thought.identity, details=details)
    jobs_view.start(session, thought, order, studies.given_for(session, thought, agent))


def answers(session: Session, thought: Thought, move: int | None = None) -> list[dict[str, Any]]:
    """The outcomes of forced actions in a game, at one move or at all of them."""
    rows = []
    for (identity, at, _), some in session.open.debug.forced.items():
        if identity == thought.identity and move in (None, at):
            rows += [_row(answer) for answer in some]
    for job in session.open.searches.forced:
        if job.order.basis == thought.identity and move in (None, _details(job)["move"]):
            rows += _of_job(job)
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        seen[row["move"], row["action"], row["continuation"], row["by"]] = row
    return list(seen.values())


def _details(job: Job) -> Mapping[str, Any]:
    return dict(job.order.details)


def _of_job(job: Job) -> list[dict[str, Any]]:
    details = _details(job)
    head = {"move": int(details["move"]), "action": ACTION_NAMES[int(details["action"])]}
    by = {name: str(details["weights"]) for name in (POLICY, SEARCH)}
    rows = job.result["rows"]
    return [{**head, **row, "by": by.get(row["continuation"], "")} for row in rows]


def _row(answer: Counterfactual) -> dict[str, Any]:
    assert answer.actions is not None, "these continuations are games"
    return {
        "move": answer.move,
        "action": ACTION_NAMES[answer.action],
        "continuation": answer.continuation,
        "latency_s": answer.latency_s,
        "original_s": answer.original_s,
        "keeps_action": answer.keeps_action,
        "actions": "".join(map(str, answer.actions)),
        "by": "",
    }


def _table(session: Session, thought: Thought, rows: list[dict[str, Any]], played: int) -> None:
    original_s = rows[0]["original_s"]
    first = {
        "action": f"{ACTION_NAMES[played]} (played)",
        "then": "the game",
        "by": "",
        "runtime": time_text(original_s),
        "change": 0.0,
        "kept": "yes",
    }
    lines = [
        {
            "action": row["action"],
            "then": row["continuation"],
            "by": _by(row),
            "runtime": time_text(row["latency_s"]),
            "change": (row["latency_s"] - row["original_s"]) * 1e6,
            "kept": "yes" if row["keeps_action"] else "undone",
        }
        for row in rows
    ]
    left, right = st.columns([3, 1.2])
    with left:
        table = pd.DataFrame([first, *lines])
        show_table(table, _COLUMNS, key="forced_rows", column_order=list(_COLUMNS))
    games = [row for row in rows if row["actions"]]
    with right:
        chosen = st.selectbox(
            "See in Play",
            range(len(games)),
            format_func=lambda i: _title(games[i]),
            key=f"forced_open_{thought.identity}_{session.open.searches.move}",
        )
        if st.button("Open as variation", key="forced_play", disabled=not games, width="stretch"):
            row = games[chosen]
            actions = tuple(map(int, row["actions"]))
            board_view.open_game(session, thought, actions, row["continuation"], row["move"])


def _title(row: Mapping[str, Any]) -> str:
    by = f", by {_by(row)}" if row["by"] else ""
    return f"{row['action']}, then {row['continuation']}{by}"


def _by(row: Mapping[str, Any]) -> str:
    """Whose weights went on, in words; empty where none did."""
    return words(row["by"]) if row["by"] else ""
