"""Debug, the gap: what it is made of, where it opens, and why; a row leads to its position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from engine.debugging.gap_account import Account
from engine.game.notes import noted_rules, plan_from_actions
from ui.compare.gap_view import COLUMNS, causes, style
from ui.components.charts import FAST, SLOW
from ui.components.table_view import chosen_row
from ui.debug import studies
from ui.model.compare.differences import move_at
from ui.model.compare.gap import (
    DECISION,
    OF_BOUND,
    Curve,
    Row,
    account_html,
    gap_chart,
    lost_s,
    rows_of,
    table_of,
)
from ui.model.search.state import GapStudy, Thought
from ui.session import caching
from ui.session.best_plan import best_beside, identity_of
from ui.session.late_charts_view import late_chart
from ui.session.state import OpenPlan, Session

_TABLE_PX = 250
_MOST_MARKS = 5
_COLUMNS = {"part": st.column_config.TextColumn("Part", width=68), **COLUMNS}
AGENT, CORRECTED, BEST = "the agent", "the corrected game", "the best plan known"


@dataclass(frozen=True)
class _Shown:
    """What the page shows of a gap. `study`: None until its decisions have been looked for."""

    account: Account
    best: OpenPlan | None
    study: GapStudy | None


def show(session: Session, thought: Thought) -> None:
    """Show the sentence, the curve beside the ranked parts, and the causes of the chosen part."""
    shown = _account(session, thought)
    if shown is None:
        return
    style()
    found, program = shown.account, session.open.program
    with st.container(border=True):
        is_looking = shown.study is None and studies.is_gap_ordered(session, thought, shown.best)
        st.html(account_html(found, is_looking))
        rows = rows_of(program, found)
        if not rows:
            return
        chart, listing = st.columns([1.1, 1.2], gap="medium")
        curves = _curves(session, thought, shown)
        with chart:
            late_chart(
                session,
                gap_chart(_base(session, shown), curves, rows[:_MOST_MARKS]),
                f"debug_gap_{thought.identity}_{shown.study is not None}",
            )
        with listing:
            key = f"debug_gap_rows_{thought.identity}_{hash(tuple(rows))}"
            table = table_of(program, rows, found.explained_s + lost_s(found.open))
            picked = chosen_row(table, _COLUMNS, key, _TABLE_PX)
    if picked is not None:
        _follow(session, rows[picked], key)
    with st.expander("Why: the chain of causes", icon=":material/account_tree:"):
        _why(session, thought, shown, rows[picked or 0])


def _account(session: Session, thought: Thought) -> _Shown | None:
    """The account of the game that is shown; None if there is nothing to measure it by."""
    opened = session.open
    best = best_beside(opened, thought.plan)
    if best is None and opened.bound_s is None:
        return None
    study = opened.searches.gaps.get((thought.identity, identity_of(best)))
    found = caching.account_of(
        (opened.identity_of(thought.plan), identity_of(best)),
        () if study is None else study.corrections,
        opened.bound_s,
        opened.program,
        thought.plan,
        None if best is None else best.plan,
    )
    return _Shown(found, best, study)


def _base(session: Session, shown: _Shown) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What each slot takes under the best plan known, the corrected game included."""
    opened, found = session.open, shown.account
    if shown.best is None or not found.open:
        corrected = opened.identity_of(found.corrected)
        return caching.breakdown_of(corrected, opened.program, found.corrected).total_s
    best = shown.best
    return caching.breakdown_of(best.identity, opened.program, best.plan).total_s


def _curves(session: Session, thought: Thought, shown: _Shown) -> list[Curve]:
    opened, found = session.open, shown.account
    own = caching.breakdown_of(opened.identity_of(thought.plan), opened.program, thought.plan)
    curves = [Curve(AGENT, own.total_s, SLOW)]
    if found.corrections and found.open:
        identity = opened.identity_of(found.corrected)
        corrected = caching.breakdown_of(identity, opened.program, found.corrected)
        curves.append(Curve(CORRECTED, corrected.total_s, FAST, "dash"))
    if shown.study is not None and found.bound_s is not None:
        seconds = np.array(shown.study.bound_by_slot)
        # What the bound charges beyond its slots has no place; it stands at the end.
        seconds[-1] += max(0.0, found.bound_s - float(seconds.sum()))
        curves.append(Curve("the bound", seconds, OF_BOUND, "dot"))
    return curves


def _follow(session: Session, row: Row, key: str) -> None:
    """Show the position of a row, once for each choice."""
    state, debug = session.open.searches, session.open.debug
    if debug.followed == (key, row):
        return
    debug.followed = (key, row)
    moves = caching.moves_of(session.open.identity, session.open.program)
    state.jump(move_at(moves, row.time, row.group))
    debug.edition += 1


def _why(session: Session, thought: Thought, shown: _Shown, row: Row) -> None:
    """Show the causes of a decision, or of a slot that stays open."""
    found = shown.account
    if row.kind == DECISION:
        before, after = _games(thought, session, found, row.number)
        causes(session, after, before, row)
    elif shown.best is not None:
        name = CORRECTED if found.corrections else AGENT
        causes(
            session,
            OpenPlan(BEST, shown.best.plan, shown.best.identity),
            _open(session, name, found),
            row,
        )


def _open(session: Session, name: str, found: Account) -> OpenPlan:
    return OpenPlan(name, found.corrected, session.open.identity_of(found.corrected))


def _games(
    thought: Thought, session: Session, found: Account, number: int
) -> tuple[OpenPlan, OpenPlan]:
    """The game before and after a correction, as plans."""
    games: Sequence[str] = [c.game for c in found.corrections[: number + 1]]
    opened, rules = session.open, noted_rules(thought.plan)
    before = thought.plan
    if number:
        before = plan_from_actions(opened.program, tuple(map(int, games[-2])), "game", rules)
    after = plan_from_actions(opened.program, tuple(map(int, games[-1])), "game", rules)
    return (
        OpenPlan("the game before", before, opened.identity_of(before)),
        OpenPlan("the game with the better action", after, opened.identity_of(after)),
    )
