"""Opening a program with a first plan: samples, the visitor's own, what-ifs, links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import EngineError
from engine.game.notes import noted_actions, noted_rules, plan_from_actions
from engine.hardware.what_if import KIND as WHAT_IF
from engine.hardware.what_if import WhatIf, derive, name_of, wish_of
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program import library
from engine.program.io import content_hash
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan, is_repacked
from engine.solvers.best_known import maker_of
from ui.components.markdown import plain
from ui.components.memory_map.plan_actions import telling_move
from ui.jobs.protocol import DONE
from ui.jobs.run import Job
from ui.session import caching
from ui.session.file_form_view import Brought, file_form
from ui.session.link_query import content_of, game_of, ignored, move_of
from ui.session.own_programs import OwnProgram, Summary
from ui.session.state import OpenPlan, OpenProgram, Session

COMPILED = "xla_compiled"
BEST_KNOWN = "best known"
"""The name of the plan that ships with a sample, whichever solver made it."""
FIRST_SOLVER = "greedy"
_FIRST_SECONDS = 60.0
_LINK_SECONDS = 10.0
_OF_COMPARE = {"mode", "plans"}
"""One of these is in each link of Compare; what it leaves out is as at first."""
_LONGEST_NAME = 40
"""Characters of the name of a plan from a link."""
_QUICK_TOUCHES = 2500
"""A first plan for so many touches takes less than a second, so it is made without a bar."""


class PageEnds(Exception):
    """The page has nothing more to show for now; what is under way is still shown with it."""


def program_names(session: Session) -> list[str]:
    """Samples first, in the order of their index, then what the visitor brought or derived."""
    names = [entry.name for entry in caching.sample_index()]
    own = caching.own_programs().names(session.identity)
    return list(dict.fromkeys([*names, *own, *session.programs]))


def ensure_open(session: Session, first: Sequence[str] = ()) -> None:
    """Open what the link asks for, else the first sample; without samples the page ends here.

    Where the browser goes back to the view of a program that was in use before, so does the page.
    `first`: samples to prefer where no link asks for one. It also ends here, and runs again, while
    a plan that the link names is being made.
    """
    query = st.query_params.to_dict()
    if not session.program_name and not session.awaited_file:
        open_link(session, query, first)
    elif _is_back(session, query.get("program", "")):
        open_link(session, query)
        session.is_restored = False
    if session.awaited_file:
        _await_file(session)
    _await_linked_plan(session)
    for text in session.notices:
        st.warning(plain(text), icon=":material/link_off:")


def _is_back(session: Session, wanted: str) -> bool:
    """Whether the address has another program since the last run, which no page has put there."""
    is_other = wanted not in (session.address, session.program_name, session.linked)
    return is_other and wanted in session.programs and not session.awaited_file


def open_link(session: Session, query: Mapping[str, str], first: Sequence[str] = ()) -> None:
    """Open what the parameters of a link ask for, else the first sample; they may say anything.

    Nothing is opened where that is a program that has to be brought first.
    """
    names = program_names(session)
    if not names:
        st.error("No sample program can be read: `sample_programs/` is missing or damaged.")
        raise PageEnds
    wanted, content = query.get("program", ""), content_of(query)
    name = _name_by_content(session, wanted, content) if content else wanted
    if name and _try_link(session, name):
        session.linked = wanted
        session.plan_name = query.get("plan", session.plan_name)
        if query.get("game"):
            _take_game(session, query)
        if not _OF_COMPARE.isdisjoint(query):
            session.open.comparison.take_query(query)
        num_moves = len(caching.moves_of(session.open.identity, session.open.program))
        move, text = move_of(query, num_moves)
        odd = ignored(query, len(session.open.program.groups))
        session.notices += [told for told in (text, odd) if told]
        if move is not None:
            session.cursor.jump(move)
    elif content:
        session.awaited_file = dict(query)
    else:
        open_named(session, names[0] if wanted or not first else first[0])
        odd = "" if wanted else ignored(query, len(session.open.program.groups))
        told = _lost_program(wanted, names[0]) if wanted else odd
        session.notices += [told] if told else []


def is_at_hand(session: Session, query: Mapping[str, str]) -> bool:
    """Whether the program of a link of this visitor can be opened without its file."""
    content = content_of(query)
    return not content or _name_by_content(session, query.get("program", ""), content) is not None


def _take_game(session: Session, query: Mapping[str, str]) -> None:
    """List the plan that a link spells out as a game, and show it; else say that it cannot be."""
    opened, name = session.open, query.get("plan", "")[:_LONGEST_NAME]
    num_moves = len(caching.moves_of(opened.identity, opened.program))
    plan = _plan_of_game(opened.program, num_moves, game_of(query))
    if plan is None:
        session.plan_name = ""
        session.notices.append(
            f"The link's plan “{name}” is none of this program by the rules of today; you see"
            " another one. Ask the sender for the plan as a file."
        )
        return
    identity = opened.identity_of(plan)
    known = next((p.name for p in opened.plans.values() if p.identity == identity), None)
    session.plan_name = known or keep_plan(session, f"{name} from a link", plan)


def _plan_of_game(program: Program, num_moves: int, notes: Mapping[str, Any]) -> Plan | None:
    """The plan of the whole game of such notes; None if they are of none."""
    noted = Plan(content_hash(program), "link", (), (), (), notes)
    rules, actions = noted_rules(noted), noted_actions(noted, num_moves)
    if rules is None or actions is None:
        return None
    try:
        return plan_from_actions(program, actions, "link", rules)
    except ValueError:
        return None


def _name_by_content(session: Session, wanted: str, content: str) -> str | None:
    """The name under which the visitor has what a link wants; None where a file has to be brought.

    `content`: beginning of the content hash of that file; it is the wanted program, or the one that
    the wanted what-if changes.
    """
    listed = session.programs.get(wanted)
    if listed is not None and file_of(listed).startswith(content):
        return wanted
    opened = (name for name, p in session.programs.items() if p.identity.startswith(content))
    name = next(opened, None) or caching.own_programs().named(session.identity, content)
    wish = wish_of(wanted)
    if name is None or wish is None or name == wanted:
        return name
    return name_of(name, wish[1])


def _await_file(session: Session) -> None:
    """Ask for the file of the program that the link leads to; brought, it opens that very view."""
    wanted = session.awaited_file.get("program", "")
    wish = wish_of(wanted)
    name = (wish[0] if wish else wanted)[:80]
    with st.container(border=True, key="bring", width=720):
        st.subheader(f"Bring the file of “{plain(name)}”", anchor=False)
        st.markdown(
            "This link leads to a program that its sender brought as a file. A file does not travel"
            " with a link: drop the same file here, and you see what the sender saw."
        )
        brought = file_form()
        if brought is not None and _is_awaited(session, brought):
            query, session.awaited_file = session.awaited_file, {}
            bring(session, brought.program, brought.summary)
            own = session.program_name
            query["program"] = name_of(own, wish[1]) if wish and own != wanted else own
            st.query_params.from_dict(query)
            open_link(session, query)
            st.rerun()
        if st.button("I do not have it: show a sample", key="no_file", type="tertiary"):
            session.awaited_file = {}
            open_named(session, program_names(session)[0])
            st.query_params.clear()
            st.rerun()
    raise PageEnds


def _is_awaited(session: Session, brought: Brought) -> bool:
    """Whether it is the program that the link leads to; else it is said that it is not."""
    if content_hash(brought.program).startswith(content_of(session.awaited_file)):
        return True
    st.error(
        "This is another program than the link's. Ask the sender for the files, all of them, and"
        " for which chip they were read.",
        icon=":material/difference:",
    )
    return False


def _lost_program(wanted: str, shown: str) -> str:
    """The notice that a link's program cannot be shown, and `shown` is shown instead."""
    return (
        f"The link asks for the program “{wanted[:80]}”, which is not among the samples."
        " If somebody brought it as a file, open the same file under Programs."
        f" You see “{shown}” instead."
    )


def _await_linked_plan(session: Session) -> None:
    """A link names a plan by its solver: make it if it is not here yet."""
    opened, name = session.open, session.plan_name
    session.collect()
    if not name or name in opened.plans:
        return
    if name not in caching.solver_names(opened.identity, opened.program):
        session.plan_name = ""
        session.notices.append(
            f"The link asks for the plan “{name[:80]}”, which “{opened.name}” does not have and no"
            " solver makes. You see another plan of this program instead."
        )
        return
    if name == FIRST_SOLVER and len(opened.program.touches) <= _QUICK_TOUCHES:
        _solve_here(opened)
        return
    job = next((j for j in opened.jobs if j.solver == name), None)
    job = job or order(session, name, _LINK_SECONDS)
    if job.is_over:
        session.collect()
        session.plan_name = opened.plan_of(name)
        if not session.plan_name:
            why = job.error or "its run was stopped"
            session.notices.append(
                f"The link asks for the plan “{name}”, which could not be made: {why}. You see"
                " another plan of this program instead."
            )
        return
    st.info(f"Making a plan with **{job.solver}** …", icon=":material/hourglass_empty:")
    raise PageEnds


def _try_link(session: Session, name: str) -> bool:
    try:
        open_named(session, name)
    except EngineError:
        return False
    return True


def open_named(session: Session, name: str) -> None:
    """Open a program by name: of the list, a sample, or a what-if. Raises EngineError."""
    if name in session.programs:
        session.open_program(name, session.programs[name].program)
        return
    if take_up(session, name):
        session.open_program(name, session.programs[name].program)
        _show_telling_move(session)
        return
    wish = wish_of(name)
    if wish is not None:
        open_what_if(session, original_of(session, wish[0]), wish[1])
        return
    add_program(session, name, caching.sample(name))


def best_name(entry: SampleEntry) -> str:
    """The plan to ask for to see the best known one: its file, else the quick solver's."""
    return BEST_KNOWN if entry.best_plan else maker_of(entry) or ""


def is_everybodys(plan: OpenPlan) -> bool:
    """Whether whoever opens the program has this very plan, or makes it, by its name."""
    from engine.solvers import SOLVERS

    if plan.is_own or plan.name in (COMPILED, BEST_KNOWN):
        return not plan.is_own
    solver = SOLVERS.get(plan.name)
    is_sure = solver is not None and not solver.uses_time and not solver.package
    return is_sure and plan.plan.solver == plan.name


def title_of(plan: OpenPlan) -> str:
    """The name of a plan, and for the best known one its solver too."""
    return f"{plan.name} ({plan.plan.solver})" if plan.name == BEST_KNOWN else plan.name


def original_of(session: Session, name: str) -> Program:
    """The program that a what-if changes: the visitor's, or a sample. Raises EngineError."""
    is_listed = name in session.programs or take_up(session, name)
    return session.programs[name].program if is_listed else caching.sample(name)


def open_what_if(session: Session, original: Program, wish: WhatIf) -> None:
    """Open a captured or brought program as it would be on other hardware. Raises EngineError."""
    name = name_of(original.name, wish)
    if name in session.programs:
        session.open_program(name, session.programs[name].program)
    else:
        add_program(session, name, derive(original, wish, name))


def add_program(session: Session, name: str, program: Program) -> bool:
    """Open a program, with XLA's own plan if it came with one; returns whether it is new.

    Where the visitor has the same content under another name, that one is opened; a sample comes
    with what ships with it. A program of the same name but other content is kept, a sample among
    them; the newcomer gets a number.
    """
    identity = content_hash(program)
    if _identity_of(session, name) != identity:
        name = _own_name(session, identity) or name
    stem, number = name, 1
    while _identity_of(session, name) not in (None, identity):
        number += 1
        name = f"{stem} {number}"
    is_new, is_sample = name not in session.programs, library.is_sample(name)
    if is_new and is_sample:
        with suppress(EngineError):
            program = caching.sample(name)
    session.open_program(name, program)
    if is_new:
        session.open.bound_s = library.proven_bound_s(program)
        _equip(session, session.open)
    best = caching.best_plan(name) if is_new and is_sample else None
    if best is not None:
        session.open.add_plan(BEST_KNOWN, best)
    _show_telling_move(session)
    return is_new


def _own_name(session: Session, identity: str) -> str | None:
    """The name of the visitor's own program of that content; None if there is none."""
    opened = ((name, p) for name, p in session.programs.items() if not library.is_sample(name))
    listed = next((name for name, p in opened if p.identity == identity), None)
    return listed or caching.own_programs().named(session.identity, identity)


def _identity_of(session: Session, name: str) -> str | None:
    """The content hash of the program of a name, be it a sample or the visitor's; None if free."""
    if library.is_sample(name):
        return library.find_sample(name).content_hash
    is_listed = name in session.programs or take_up(session, name)
    return session.programs[name].identity if is_listed else None


def file_of(opened: OpenProgram) -> str:
    """Content hash of the file that the receiver of a link has to bring; empty if there is none.

    Of a what-if it is the file of the program that it changes.
    """
    wish = wish_of(opened.name)
    is_derived = opened.program.provenance.get("kind") == WHAT_IF and not opened.summary
    if wish is not None and is_derived:
        original = str(opened.program.provenance["original_hash"])
        return "" if library.is_sample(wish[0]) else original
    return "" if library.is_sample(opened.name) else opened.identity


def bring(session: Session, program: Program, summary: Summary) -> bool:
    """Open what the visitor brought, and keep it, also when the page is loaded anew.

    Returns whether it is new here. What is here already takes over what these files tell, unless
    they tell less of XLA's plan. A sample stays as it is.
    """
    is_new = add_program(session, program.name, program)
    opened = session.open
    if library.is_sample(opened.name):
        opened.summary = summary
        return is_new
    if is_new or _told(program) >= _told(opened.program):
        shown = session.plan
        opened.program, opened.summary = replace(program, name=opened.name), summary
        _list_compiled(opened)
        if session.plan != shown:
            session.show_plan(session.plan_name)
    _keep(session, OwnProgram(opened.name, opened.program, opened.summary))
    return is_new


def _told(program: Program) -> tuple[bool, bool]:
    """What is known of XLA's plan: whether there is one, and whether its addresses are its own."""
    return has_compiled_plan(program), not is_repacked(program)


def _keep(session: Session, own: OwnProgram) -> None:
    """Keep a program on disk; what has to go for it stays open, and that is said."""
    store, visitor = caching.own_programs(), session.identity
    names = store.names(visitor)
    if len(names) >= store.most_of_one and names[0] not in session.programs:
        look_up(session, names[0])
    store.save(visitor, own)
    for lost in set(names) - set(store.names(visitor)):
        take_up(session, lost)
        session.news.tell(
            lost,
            f"is kept no more: only your last {store.most_of_one} programs are. It stays open until"
            " you leave",
            is_error=True,
        )


def keep_plan(session: Session, stem: str, plan: Plan) -> str:
    """List a plan of the visitor's own, also when the page is loaded anew; returns its name.

    One that is listed so already is not listed again, and the name is none that a plan of another
    tab has taken meanwhile.
    """
    _take_in_kept(session)
    opened = session.open
    identity = opened.identity_of(plan)
    own = (p.name for p in opened.plans.values() if p.is_own and p.identity == identity)
    if known := next(own, ""):
        return known
    name = opened.free_name(stem)
    opened.add_plan(name, plan, is_own=True)
    keep_games(session)
    return name


def keep_games(session: Session) -> None:
    """Keep plans and variations of the visitor's own, also when the page is loaded anew.

    What another tab has kept meanwhile is taken in.
    """
    opened = session.open
    if opened.own_games() == opened.games:
        return
    _take_in_kept(session)
    opened.games = opened.own_games()
    caching.own_games().save(session.identity, opened.identity, opened.games)


def _take_in_kept(session: Session) -> None:
    """Take in the plans and variations that another tab has kept meanwhile."""
    opened = session.open
    kept = caching.own_games().find(session.identity, opened.identity)
    if kept != opened.games:
        opened.take_games(kept)


def take_up(session: Session, name: str) -> bool:
    """List a program that the visitor brought earlier; returns whether this name has one."""
    opened = look_up(session, name)
    if opened is not None:
        session.take_in(name, opened.program)
    return opened is not None


def look_up(session: Session, name: str) -> OpenProgram | None:
    """A program that the visitor brought earlier, which is not listed yet; None without one."""
    if name not in session.shelf:
        own = caching.own_programs().find(session.identity, name)
        if own is None:
            return None
        opened = OpenProgram(name, own.program, content_hash(own.program), summary=own.summary)
        _equip(session, opened)
        session.shelf[name] = opened
    return session.shelf[name]


def remove(session: Session, name: str) -> None:
    """Forget a program that the visitor brought, plans and notes made of it, and end its runs.

    The first sample is opened if it was in use. Where the same content is here under another name,
    that one keeps plans and notes.
    """
    caching.own_programs().remove(session.identity, name)
    if session.program_name == name:
        open_named(session, caching.sample_index()[0].name)
    opened = session.shelf.pop(name, None) or session.programs.pop(name)
    for job in opened.all_jobs():
        job.stop()
    listed = {other.identity for other in session.programs.values()}
    if opened.identity in listed | {entry.content_hash for entry in caching.sample_index()}:
        return
    for kept in (caching.own_games(), caching.kept_notes()):
        kept.forget(session.identity, opened.identity)


def _show_telling_move(session: Session) -> None:
    opened = session.open
    session.cursor.jump(telling_move(caching.moves_of(opened.identity, opened.program)))


def _equip(session: Session, opened: OpenProgram) -> None:
    """Add to a new program what the visitor left of it, runs and games, and XLA's plan."""
    for job in caching.workshop().kept(opened.program, session.identity):
        opened.adopt(job)
    _list_compiled(opened)
    opened.games = caching.own_games().find(session.identity, opened.identity)
    opened.take_games(opened.games)


def _list_compiled(opened: OpenProgram) -> None:
    """List XLA's plan if it came with the program."""
    compiled = opened.program.provenance.get("xla_plan")
    if compiled is not None:
        where = f"{opened.name}: provenance.xla_plan"
        opened.add_plan(COMPILED, plan_from_json(compiled, where))


def order(session: Session, solver: str, seconds: float, seed: int = 0) -> Job:
    """Start a solver, or the bound, for the program in use; its older runs leave the list."""
    opened = session.open
    opened.jobs = [j for j in opened.jobs if j.solver != solver or not j.is_over]
    job = caching.workshop().start(opened.program, solver, seconds, seed, session.identity)
    opened.jobs.append(job)
    return job


def first_plan(session: Session) -> None:
    """Give a program without any plan one to look at; shows how it goes where that takes long.

    Where there is none yet the page ends here, and runs again once there is one.
    """
    opened = session.open
    session.collect()
    if opened.plans:
        return
    if len(opened.program.touches) <= _QUICK_TOUCHES:
        _solve_here(opened)
        return
    job = next((j for j in opened.jobs if j.solver == FIRST_SOLVER), None)
    if job is None:
        job = order(session, FIRST_SOLVER, _FIRST_SECONDS)
    if job.is_over and job.state != DONE:
        st.error(f"There is no plan yet: {plain(job.error or 'the run was stopped')}")
        if st.button("Try again", key="again"):
            order(session, FIRST_SOLVER, _FIRST_SECONDS)
            st.rerun()
        raise PageEnds
    st.info(f"Making a plan with **{job.solver}** …", icon=":material/hourglass_empty:")
    raise PageEnds


def _solve_here(opened: OpenProgram) -> None:
    from engine.solvers import Budget, solve

    with st.spinner("Making a first plan …"):
        try:
            plan = solve(FIRST_SOLVER, opened.program, Budget(_FIRST_SECONDS))
        except EngineError as error:
            st.error(f"No plan could be made: {plain(error)}")
            return
    opened.add_plan(FIRST_SOLVER, plan)


def try_open(session: Session, name: str) -> bool:
    """Open a program of the list, or say on the page why it cannot be."""
    try:
        open_named(session, name)
    except EngineError as error:
        st.error(plain(error), icon=":material/error:")
        return False
    return True
