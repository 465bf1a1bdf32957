"""Debug, A/B: two checkpoints or two settings on several programs, as a job."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from engine.game.moves import ACTION_NAMES
from ui.components.table_view import show_table
from ui.components.units import count_text, time_text
from ui.debug import studies
from ui.jobs.protocol import DUEL, WEIGHTS, Order
from ui.jobs.weights import words
from ui.model.search.state import Thought
from ui.search import jobs_view
from ui.session import caching
from ui.session.state import Session

_MODELS = {
    "learned": "search, what the agent learned",
    "simulator": "search, the real rules",
    "policy": "no search, the prior alone",
}
_SIMULATIONS = (1, 2, 4, 8, 16, 32, 64)
_SECONDS = 120.0
_MOST_BYTES = 64 * 2**20
_BOUTS = {
    "program": st.column_config.TextColumn("Program"),
    "first": st.column_config.TextColumn("A", width=100),
    "second": st.column_config.TextColumn("B", width=100),
    "change": st.column_config.NumberColumn("B less A, µs", width=120),
    "share": st.column_config.NumberColumn("Share", format="percent", width=80),
    "different": st.column_config.TextColumn("Moves that differ", width=130),
    "fork": st.column_config.TextColumn("First at move", width=110),
}
_KINDS = {
    "change": st.column_config.TextColumn("A → B"),
    "kind": st.column_config.TextColumn("Kind", width=90),
    "size": st.column_config.TextColumn("Size", width=130),
    "tensors": st.column_config.NumberColumn("Tensors", width=80),
    "change_us": st.column_config.NumberColumn("B less A, µs", width=120),
}


def show(session: Session, thought: Thought) -> None:
    """Show the form of an A/B, and the last three results."""
    names = studies.known_weights(session, thought)
    samples = [entry.name for entry in caching.sample_index()]
    own = session.open.program.name
    with st.form("ab", border=False):
        first, second = st.columns(2, gap="large")
        with first:
            one = _side("A", "first", names, "learned")
        with second:
            other = _side("B", "second", names, "policy")
        chosen = st.multiselect(
            "Programs", list(dict.fromkeys([own, *samples])), [own], key=f"ab_programs_{own}"
        )
        is_sent = st.form_submit_button("Compare", type="primary", icon=":material/compare_arrows:")
    if is_sent and not chosen:
        st.warning("Choose at least one program.", icon=":material/error:")
    elif is_sent:
        _order(session, thought, [*one, *other], chosen)
        st.rerun()
    _bring(session)
    for job in reversed(session.open.searches.duels[-3:]):
        result(job.result)


def _side(title: str, which: str, names: list[str], model: str) -> list[tuple[str, int | str]]:
    weights, method, count = st.columns([1.4, 1.6, 1])
    chosen = weights.selectbox(f"{title}: weights", names, format_func=words, key=f"ab_{which}")
    how = method.selectbox(
        f"{title}: plays by", list(_MODELS), list(_MODELS).index(model),
        format_func=_MODELS.__getitem__, key=f"ab_{which}_model",
    )  # fmt: skip
    simulations = count.selectbox(
        "Simulations", _SIMULATIONS, _SIMULATIONS.index(8), key=f"ab_{which}_count"
    )
    return [
        (f"{which}_weights", chosen),
        (f"{which}_model", how),
        (f"{which}_simulations", int(simulations)),
    ]


def _order(
    session: Session,
    thought: Thought,
    sides: list[tuple[str, int | str]],
    programs: list[str],
) -> None:
    details = (*sides, ("programs", json.dumps(programs)))
    order = Order(DUEL, "A/B", _SECONDS, basis=thought.identity, details=details)
    used = [str(value) for name, value in sides if name.endswith("_weights")]
    jobs_view.start(session, thought, order, studies.given_for(session, thought, *used))


def _bring(session: Session) -> None:
    """Let the visitor bring a checkpoint, to be chosen above."""
    with st.expander("Bring a checkpoint", icon=":material/upload_file:"):
        files = st.file_uploader(
            f"Its two files, {WEIGHTS[0]} and {WEIGHTS[1]}",
            type=["json", "npz"],
            accept_multiple_files=True,
            key="ab_files",
        )
        checkpoint = {file.name: file.getvalue() for file in files if file.name in WEIGHTS}
        name = st.text_input("Name", "mine", max_chars=20, key="ab_name")
        is_whole = set(checkpoint) == set(WEIGHTS) and name.isalnum()
        if st.button("Use it", key="ab_use", disabled=not is_whole):
            if sum(map(len, checkpoint.values())) > _MOST_BYTES:
                st.error(f"A checkpoint has at most {_MOST_BYTES // 2**20} MiB.")
                return
            session.open.debug.bring(name, checkpoint)
            st.rerun()


def result(duel: dict[str, Any]) -> None:
    """Show a duel: on which programs B is better or worse, and by which kinds of moves.

    `duel`: as `ui.jobs.what_if.compete` returns it.
    """
    bouts = duel["bouts"]
    changes = [bout["second_s"] - bout["first_s"] for bout in bouts]
    better, worse = sum(c < 0 for c in changes), sum(c > 0 for c in changes)
    st.markdown(
        f"**A: {duel['first']}** against **B: {duel['second']}**: B is faster on {better}, slower"
        f" on {worse} of {count_text(len(bouts), 'program')}."
    )
    rows = [_bout(bout) for bout in sorted(bouts, key=lambda b: b["first_s"] - b["second_s"])]
    key = str(abs(hash(str(duel))))
    show_table(pd.DataFrame(rows), _BOUTS, key=f"bouts_{key}")
    kinds = pd.DataFrame([kind for bout in bouts for kind in bout["kinds"]])
    if kinds.empty:
        st.caption("Both play the same.")
        return
    summed = kinds.groupby(["change", "kind", "size"], as_index=False).sum(numeric_only=True)
    order = summed["change_us"].abs().sort_values(ascending=False).index
    show_table(summed.loc[order], _KINDS, key=f"kinds_{key}")
    st.caption(
        f"Runtimes are the simulator's. Their differences are given to the tensors and add up"
        f" exactly; *{' → '.join(ACTION_NAMES[:2])}* is a tensor that A first treats by"
        f" {ACTION_NAMES[0]} where B chooses {ACTION_NAMES[1]}. Negative: B is faster."
    )


def _bout(bout: dict[str, Any]) -> dict[str, Any]:
    change_s = bout["second_s"] - bout["first_s"]
    return {
        "program": bout["program"],
        "first": time_text(bout["first_s"]),
        "second": time_text(bout["second_s"]),
        "change": change_s * 1e6,
        "share": change_s / bout["first_s"] if bout["first_s"] else 0.0,
        "different": f"{bout['num_different']:,} of {bout['num_moves']:,}",
        "fork": "" if bout["fork"] is None else f"{bout['fork'] + 1:,}",
    }
