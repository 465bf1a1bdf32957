"""Play: step through a plan on the memory map, see why each action is legal, or leave it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.game.reference.game import ReferenceGame
from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from ui.components.html import names_html, values_html
from ui.components.markdown import plain
from ui.components.memory_map.component import MEMORY_MAP
from ui.components.memory_map.draft import plan_so_far
from ui.components.units import share_text, time_text
from ui.jobs.protocol import DONE, SOLVE
from ui.jobs.run import Job
from ui.model.compare.ranking import VALID, share_saved
from ui.model.play.ghosts import Opinion, blockers, ghosts, opinion_of
from ui.model.play.line import PLAN, Line
from ui.play import playing_on
from ui.play.commands import dispatch
from ui.play.references import references_of, references_tag
from ui.play.turn_html import turn_html, waiting_html
from ui.session import caching, films, links, map_cursor, opening
from ui.session.first_picture_view import first_picture
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.narrow_view import narrow_note
from ui.session.plan_file_view import plan_file_form
from ui.session.program_picker_view import program_picker
from ui.session.reading_view import warn_of_reading
from ui.session.state import OpenPlan, OpenProgram, Session, current_session

MAP_KEY = "map"
_FIGURES = ("Runtime", "Saved", "Stalls", "Checker")
_SOLVER, _SECONDS = "portfolio", (5, 10, 30, 60, 120, 300, 600)


@dataclass(frozen=True)
class _Shown:
    """The plan on the map: as it is, as moves of the game, or a variation of it.

    `line`: the visitor's play; None until it is known how the game follows the plan. `draft`: the
    message that turns the stored plan into the variation.
    """

    identity: str
    plan: Plan
    line: Line | None
    is_game: bool
    draft: dict[str, Any] | None = None


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    narrow_note()
    with first_picture(session):
        opening.ensure_open(session)
        _make_ready(session)
    error = playing_on.take_result(session)
    if error:
        session.news.tell("Nobody played on:", error, is_error=True)
    session.awaited = session.open.play_request
    session.sent.clear()
    plan, figures = _header(session)
    warn_of_reading(session.open.program)
    if plan is not None:
        line = films.line_at_hand(session, plan)
        if line is None and not films.is_soon(session.open, plan):
            films.follow(session, plan)
        _restore(session, line)
        if session.is_quiz_wanted and line is not None:
            session.is_quiz_wanted = False
            dispatch(session, line, {"do": "quiz", "to": "begin"})
        opening.keep_games(session)
        shown = _shown(session, plan)
        MEMORY_MAP.store(_packed(session, plan, shown), key="store")
        session.stored = shown.identity
        left, right = st.columns([2.75, 1], gap="medium")
        panel = right.empty()
        with left:
            _board(panel, figures)
        if line is None and films.is_soon(session.open, plan):
            # The map is on its way; its moves follow in a second or two.
            films.line_of(
                session, plan, lambda share: panel.html(waiting_html(session, plan, share))
            )
            st.rerun()


def _make_ready(session: Session) -> None:
    """Make what takes long before anything of the page is drawn, where it is not at hand."""
    plan = session.plan
    if plan is not None and plan.identity not in session.open.lines:
        _packed(session, plan, _shown(session, plan))


def _packed(session: Session, plan: OpenPlan, shown: _Shown) -> bytes:
    """The message that draws what is shown."""
    program, identity = session.open.program, session.open.identity
    references = references_of(session, plan, shown.line)
    return caching.packed_board(shown.identity, program, shown.plan, identity, references)


def _restore(session: Session, line: Line | None) -> None:
    """Follow the link with which the visitor came; what it asks of a line, once there is one."""
    query = st.query_params.to_dict()
    if not session.is_restored:
        session.is_restored = True
        session.awaited_query = query if line is None and "line" in query else {}
        _follow(session, line, query)
    elif session.awaited_query and line is not None:
        query, session.awaited_query = session.awaited_query, {}
        _follow(session, line, query)


def _follow(session: Session, line: Line | None, query: dict[str, str]) -> None:
    """Follow a link; what it says in vain stands on the page at once."""
    before = len(session.notices)
    links.follow(session, line, query)
    for text in session.notices[before:]:
        st.warning(plain(text), icon=":material/link_off:")


def _shown(session: Session, plan: OpenPlan) -> _Shown:
    line, tag = films.line_at_hand(session, plan), references_tag(session, plan)
    if line is None:
        return _Shown(f"{plan.identity}~{tag}", plan.plan, None, is_game=False)
    if not line.is_on_plan:
        draft, message = line.draw(map_cursor.held(MAP_KEY, line.draft))
        return _Shown(f"{draft.identity}~{tag}", draft.whole.plan, line, True, message)
    film, move = line.film, session.cursor.move
    if session.quiz is not None and session.quiz.is_open_at(plan.identity, move):
        # Nothing that the plan does from here on may be seen.
        so_far = plan_so_far(line.game_at(move))
        return _Shown(f"{plan.identity}-until-{move}~{tag}", so_far, line, True)
    if session.is_as_moves:
        return _Shown(f"{plan.identity}-moves~{tag}", film.plan, line, True)
    return _Shown(f"{plan.identity}~{tag}", plan.plan, line, film.is_exact)


def _header(session: Session) -> tuple[OpenPlan | None, DeltaGenerator]:
    """Pickers, and a place for the figures; no plan while the program has none."""
    first, second, third, solve, last = st.columns(
        [2.3, 1.7, 3.5, 0.9, 0.8], vertical_alignment="bottom"
    )
    with first:
        program_picker(session)
    if not session.open.plans:
        opening.first_plan(session)
    plan = session.plan
    with third.container(gap=None):
        st.html(str(names_html(_FIGURES)))
        figures = st.empty()
    if plan is None:
        return None, figures
    names = list(session.open.plans)
    chosen = second.selectbox(
        "Plan",
        names,
        index=names.index(plan.name),
        format_func=lambda name: opening.title_of(session.open.plans[name]),
    )
    if chosen != plan.name:
        session.show_plan(chosen)
        st.rerun()
    with solve.popover("Solve", icon=":material/bolt:", width="stretch"):
        _solve_form(session)
        if name := plan_file_form(session):
            session.show_plan(name)
            st.rerun()
    last.download_button(
        "JSON",
        data=lambda: json.dumps(plan_to_json(plan.plan), separators=(",", ":")),
        file_name=f"{session.program_name}-{plan.name}.plan.json".replace(" ", "-"),
        mime="application/json",
        icon=":material/download:",
        help="The plan as a file, for `python -m engine check` and `simulate`",
        on_click="ignore",
        key="plan_file",
        width="stretch",
    )
    return plan, figures


def _solve_form(session: Session) -> None:
    """Show what runs a solver on the program; its plan is listed beside the others."""
    opened = session.open
    solvers = caching.solver_names(opened.identity, opened.program)
    name = st.selectbox(
        "Solver",
        list(solvers),
        index=list(solvers).index(_SOLVER) if _SOLVER in solvers else 0,
        key="solver",
    )
    st.caption(solvers[name])
    seconds = st.select_slider("Seconds", _SECONDS, value=10, key="solver_seconds")
    if st.button("Run", key="solve", type="primary", icon=":material/play_arrow:"):
        opening.order(session, name, float(seconds))
        st.rerun()
    made = next(filter(None, (_made(opened, job) for job in reversed(opened.jobs))), "")
    if not made or session.plan is None or made == session.plan.name:
        return
    plan = opened.plans[made]
    row = caching.row_of(plan.identity, opened.program, plan.plan, made)
    if st.button(f"Show the plan of {plain(made)}: {time_text(row.latency_s)}", key="solved"):
        session.show_plan(made)
        st.rerun()


def _made(opened: OpenProgram, job: Job) -> str:
    """The name of the plan that a solver's run has ended with; empty if there is none."""
    is_done = job.order.kind == SOLVE and job.state == DONE
    return opened.plan_of(job.solver) if is_done else ""


def _figures(session: Session, plan: OpenPlan, line: Line | None) -> str:
    """Figures of what is on the map: the plan as it is or as moves, or the variation with its rest.

    They are drawn at every step, and so are short: what a fragment does not draw again outside of
    itself is gone.
    """
    program, bound_s = session.open.program, session.open.bound_s
    whole, identity = plan.plan, plan.identity
    if line is not None and not line.is_on_plan:
        whole, identity = line.whole, f"{plan.identity}~{hash(line.path)}"
    elif line is not None and session.is_as_moves:
        whole, identity = line.film.plan, f"{plan.identity}-moves"
    row = caching.row_of(identity, program, whole, plan.name)
    figures = (
        time_text(row.latency_s),
        share_text(share_saved(program, row.latency_s, bound_s)),
        time_text(row.stall_s),
        "✓ valid" if row.verdict == VALID else f"✗ {row.verdict}",
    )
    return str(values_html(figures))


@st.fragment
def _board(panel: DeltaGenerator, figures: DeltaGenerator) -> None:
    """The map, and in `panel` what is said about the current move; steps rerun only this.

    Containers made outside cost nothing per step.
    """
    session = current_session()
    plan = session.plan
    if plan is None:
        return
    shown = _shown(session, plan)
    is_news = _take(session, plan, shown)
    if is_news:
        opening.keep_games(session)
    if session.wanted_page:
        page, session.wanted_page = session.pages[session.wanted_page], ""
        st.switch_page(page)
    is_other = session.plan is None or session.plan.identity != plan.identity
    if is_news and (is_other or shown.line is None):
        st.rerun()
    if is_news or session.quiz is not None:
        shown = _shown(session, plan)
    if shown.identity != session.stored or session.open.play_request is not session.awaited:
        # The browser needs another plan, or a bar for a new job: the whole page runs again.
        st.rerun()
    line = shown.line
    figures.html(_figures(session, plan, line))
    if line is None:
        panel.html(waiting_html(session, plan))
        overlay = None
    else:
        session.cursor.move = min(session.cursor.move, line.tip)
        game = line.game_at(session.cursor.move)
        opinion = _opinion(session, plan, line, game)
        panel.html(turn_html(session, shown.plan, line, game, opinion, shown.is_game))
        overlay = _overlay(session, shown, game, opinion)
    MEMORY_MAP.show(_map_data(session, plan, shown, overlay), key=MAP_KEY)
    query = links.query(session, plan, line)
    st.query_params.from_dict(query)
    caching.last_views().put(session.identity, View("play", query))


def _opinion(session: Session, plan: OpenPlan, line: Line, game: ReferenceGame) -> Opinion | None:
    """What the agent thinks of the position; nothing while the visitor is asked about it."""
    move = session.cursor.move
    if session.quiz is not None and session.quiz.is_open_at(plan.identity, move):
        return None
    thoughts = session.open.searches.thoughts.values()
    return opinion_of(thoughts, game, line.actions_before(move))


def _take(session: Session, plan: OpenPlan, shown: _Shown) -> bool:
    """Take over the map's cursor and carry out its command; returns whether there was a command.

    After a command something else may have to be shown.
    """
    cursor = session.cursor
    shown_before = cursor.move
    command = map_cursor.take(session, MAP_KEY, cursor, shown.identity, plan.identity)
    if cursor.move != shown_before:
        session.eviction = None
    if command is None:
        return False
    if shown.line is None and command.get("do") == "follow":
        films.follow(session, plan, again=True)
    elif shown.line is None:
        cursor.note = "The plan is still being played as moves of the game."
    else:
        dispatch(session, shown.line, command)
    return True


def _overlay(
    session: Session, shown: _Shown, game: ReferenceGame, opinion: Opinion | None
) -> dict[str, Any] | None:
    if session.cursor.question is not None and not game.is_over:
        return blockers(game, session.cursor.question)
    return ghosts(game, opinion) if shown.is_game else None


def _map_data(
    session: Session, plan: OpenPlan, shown: _Shown, overlay: dict[str, Any] | None
) -> dict[str, object]:
    line = shown.line
    return {
        "plan": shown.identity,
        **map_cursor.answer(session, MAP_KEY, session.cursor),
        "board": plan.identity,
        "overlay": overlay,
        "draft": shown.draft,
        "tree": _tree(plan, line),
        **_news(
            session,
            players=playing_on.names(session, line) if line else [],
            link=links.for_browser(session, plan, line),
            look=session.look,
        ),
    }


def _news(session: Session, **parts: object) -> dict[str, object]:
    """The parts that differ from those of the last step: the browser keeps the others."""
    changed = {name: part for name, part in parts.items() if session.sent.get(name) != part}
    session.sent |= changed
    return changed


def _tree(plan: OpenPlan, line: Line | None) -> dict[str, Any]:
    """Variations as rows: parent, fork, tip, first action, worth so far and in the end, player.

    `as_moves`: what they are worth is against the plan as moves, which is not the plan itself.
    """
    if line is None:
        return {"name": plan.name, "current": PLAN, "rows": []}
    rows = [
        [v.parent, v.fork, v.tip, v.actions[0], _pico(v.rating.so_far), _pico(v.rating.final), v.by]
        for v in line.tree.lines
    ]
    tree = {"name": plan.name, "current": line.tree.current, "rows": rows}
    return tree if line.film.is_exact else {**tree, "as_moves": True}


def _pico(seconds: float) -> int:
    return round(seconds * 1e12)
