"""Results that all visitors share: sample programs, moves, packed boards, films, judgements.

What is large or immutable is kept once per server. The keys are content identities, or the states
of the files that a result was read from (`engine.files.state_of`), so a stale entry cannot be met;
what cannot be read is not remembered. Arguments with an underscore are not part of the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from engine.agent.trace_io import SearchTrace
from engine.analysis.attribution import Breakdown, Cost, attribute, breakdown
from engine.analysis.causes import Chain, chain_of_causes
from engine.analysis.gap import Opening, openings
from engine.analysis.plan_diff import TouchDifference, touch_differences
from engine.compiler.costs.observations import kept_path
from engine.debugging.findings import findings
from engine.debugging.gap_account import Account, Correction, account
from engine.debugging.regret import study_of
from engine.debugging.surprise import Surprises, surprises
from engine.errors import EngineError, LessonError, PlanError
from engine.files import State, state_of
from engine.game.move_list import moves
from engine.game.moves import Move
from engine.game.notes import noted_rules
from engine.lessons.catalogue import FOLDER as LESSONS
from engine.lessons.catalogue import Catalogue, load_catalogue
from engine.lessons.judge import Judge
from engine.lessons.lesson import Lesson
from engine.lessons.positions import FILE as POSITIONS
from engine.lessons.positions import Mined, read_positions
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from ui.components.memory_map.board import NO_REFERENCES, References, board
from ui.components.memory_map.plan_actions import actions_of
from ui.jobs.queue import Workshop
from ui.jobs.store import ResultStore, default_folder
from ui.jobs.weights import stamp
from ui.model.challenges.match import Match, match_of
from ui.model.challenges.question import Question, question_of
from ui.model.compare.by_layer import LayerTree, layer_tree
from ui.model.compare.ranking import Row, row
from ui.model.compare.sheet import Panel, sheet
from ui.model.search.messages import game_message
from ui.model.search.state import Study, Thought
from ui.model.start.toy import Toy
from ui.model.start.toy import toy as make_toy
from ui.session import pictures
from ui.session.kept_notes import KeptNotes
from ui.session.last_view import LastViews
from ui.session.own_games import OwnGames
from ui.session.own_programs import OwnPrograms

if TYPE_CHECKING:
    from engine.compiler.steering.instruction_cycles import KeptCompile


def sample_index() -> tuple[SampleEntry, ...]:
    """Captured samples, large programs, those made by hand, then real ones; empty if unreadable."""
    try:
        return _index(state_of(*library.index_files()))
    except EngineError:
        return ()


@st.cache_resource(max_entries=2, show_spinner=False)
def _index(state: State) -> tuple[SampleEntry, ...]:
    samples = library.index()
    captured = [entry for entry in samples if entry.xla_latency_s is not None]
    by_hand = [entry for entry in samples if entry.xla_latency_s is None]
    return (*captured, *library.large(), *by_hand, *library.real())


def sample(name: str) -> Program:
    """A sample program by name. Raises UnknownNameError, ProgramFormatError."""
    entry = library.find_sample(name)
    return _sample(state_of(entry.path), entry.content_hash, entry)


@st.cache_resource(max_entries=64, show_spinner="Reading the program …")
def _sample(state: State, content_hash: str, _entry: SampleEntry) -> Program:
    return library.load_entry(_entry)


def best_plan(name: str) -> Plan | None:
    """The best plan known of a sample; None if it ships with none, or that one is damaged."""
    entry = library.find_sample(name)
    if entry.best_plan_path is None:
        return None
    try:
        return _best_plan(state_of(entry.best_plan_path), entry.content_hash, entry)
    except (EngineError, OSError):
        return None


@st.cache_resource(max_entries=64, show_spinner=False)
def _best_plan(state: State, content_hash: str, _entry: SampleEntry) -> Plan:
    """Raises PlanError or ProgramFormatError for a file that holds no valid plan."""
    assert _entry.best_plan_path is not None
    plan = load_plan(_entry.best_plan_path)
    violation = check(sample(_entry.name), plan)
    if violation is not None:
        raise PlanError(f"{_entry.best_plan_path}: breaks {violation.rule}: {violation.message}")
    return plan


def kept_compiles(identity: str, program: Program) -> tuple[KeptCompile, ...]:
    """The kept answers of earlier compiles of a sample, the default's first; empty for others."""
    try:
        state = state_of(kept_path(program.name))
    except EngineError:
        return ()
    return _kept_compiles(identity, state, program)


@st.cache_resource(max_entries=16, show_spinner=False)
def _kept_compiles(identity: str, state: State, _program: Program) -> tuple[KeptCompile, ...]:
    # Imported here: the fit of the costs, which reads them too, loads SciPy.
    from engine.compiler.steering.instruction_cycles import kept_compiles as find_kept_compiles

    return find_kept_compiles(_program)


@st.cache_resource(max_entries=32, show_spinner=False)
def moves_of(identity: str, _program: Program) -> Sequence[Move]:
    """The moves of a program."""
    return moves(_program)


@st.cache_resource(max_entries=64, show_spinner=False)
def actions_of_plan(
    identity: str, program_identity: str, _program: Program, _plan: Plan
) -> Sequence[int]:
    """The action that a plan amounts to at each move."""
    return actions_of(_program, _plan, moves_of(program_identity, _program))


@st.cache_resource(max_entries=64, show_spinner="Simulating the plan …")
def simulation_of(identity: str, _program: Program, _plan: Plan) -> Simulation:
    """The simulated run of a plan."""
    return simulate(_program, _plan)


@st.cache_resource(max_entries=64, show_spinner="Checking the plan …")
def row_of(identity: str, _program: Program, _plan: Plan, name: str) -> Row:
    """A plan's line in the comparison: simulated and checked."""
    return row(_program, name, _plan)


@st.cache_resource(max_entries=16, show_spinner="Drawing the memory map …")
def packed_board(
    identity: str,
    _program: Program,
    _plan: Plan,
    program_identity: str,
    _references: References = NO_REFERENCES,
) -> bytes:
    """The message that draws a plan; `identity` names plan and references in the browser."""
    return board(
        _program,
        _plan,
        moves_of(program_identity, _program),
        simulation_of(identity, _program, _plan),
        identity,
        _references,
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def solver_names(identity: str, _program: Program) -> dict[str, str]:
    """Solvers that can run on a program, each with its description."""
    from engine.solvers import SOLVERS
    from engine.workflows.compare import applicable

    return {name: SOLVERS[name].description for name in applicable(_program)}


@st.cache_resource(show_spinner=False)
def workshop() -> Workshop:
    """The solver runs of this server."""
    return Workshop(store=ResultStore(default_folder(), stamp=stamp()))


@st.cache_resource(show_spinner=False)
def own_programs() -> OwnPrograms:
    """The programs that the visitors of this server brought."""
    folder = default_folder()
    return OwnPrograms(folder / "programs" if folder else None)


@st.cache_resource(show_spinner=False)
def kept_notes() -> KeptNotes:
    """The notes of the visitors of this server."""
    folder = default_folder()
    return KeptNotes(folder / "notes" if folder else None)


@st.cache_resource(show_spinner=False)
def own_games() -> OwnGames:
    """The plans and variations that the visitors of this server made."""
    folder = default_folder()
    return OwnGames(folder / "games" if folder else None)


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn_picture(name: str, content_hash: str) -> str:
    """The program itself is not kept: the gallery shows more of them than are opened."""
    return pictures.draw(name)


def thumbnail_for(entry: SampleEntry) -> str:
    """The small memory map of a sample; empty where the sample cannot be read."""
    known = pictures.shipped().get(entry.content_hash)
    if known is not None:
        return known
    try:
        return _drawn_picture(entry.name, entry.content_hash)
    except EngineError:
        return ""


@st.cache_resource(max_entries=64, show_spinner=False)
def breakdown_of(identity: str, _program: Program, _plan: Plan) -> Breakdown:
    """The breakdown of a plan's time."""
    return breakdown(_program, simulation_of(identity, _program, _plan))


@st.cache_resource(max_entries=32, show_spinner=False)
def layer_tree_of(identity: str, _program: Program, _plan: Plan) -> LayerTree:
    """Time and memory of a plan by layer."""
    return layer_tree(_program, _plan, breakdown_of(identity, _program, _plan))


@st.cache_resource(max_entries=32, show_spinner="Comparing the plans …")
def differences_of(
    identities: tuple[str, str], _program: Program, _first: Plan, _second: Plan
) -> tuple[list[TouchDifference], list[Cost]]:
    """The touches that two plans serve differently, and the costs of the differences."""
    first = (_first, simulation_of(identities[0], _program, _first))
    second = (_second, simulation_of(identities[1], _program, _second))
    differences = touch_differences(_program, _first, _second)
    return differences, attribute(_program, first, second)


@st.cache_resource(max_entries=32, show_spinner="Comparing the plans …")
def openings_of(
    identities: tuple[str, str], _program: Program, _best: Plan, _plan: Plan
) -> list[Opening]:
    """The slots in which a plan takes other time than a better one."""
    best = (_best, simulation_of(identities[0], _program, _best))
    return openings(_program, best, (_plan, simulation_of(identities[1], _program, _plan)))


@st.cache_resource(max_entries=64, show_spinner=False)
def chain_of(
    identities: tuple[str, str], group: int, _program: Program, _other: Plan, _plan: Plan
) -> Chain:
    """The chain of causes from one tensor on, between two plans."""
    other = (_other, simulation_of(identities[0], _program, _other))
    plan = (_plan, simulation_of(identities[1], _program, _plan))
    return chain_of_causes(_program, other, plan, group)


@st.cache_resource(max_entries=16, show_spinner="Measuring the gap …")
def account_of(
    identities: tuple[str, str],
    corrections: tuple[Correction, ...],
    bound_s: float | None,
    _program: Program,
    _plan: Plan,
    _best: Plan | None,
) -> Account:
    """What the gap of a game is made of. `identities`: of the plan, and of the best one."""
    return account(_program, _plan, _best, bound_s, corrections)


@st.cache_resource(max_entries=16, show_spinner="Drawing the plans …")
def packed_sheet(identity: str, _program: Program, _panels: Sequence[Panel]) -> bytes:
    """The message that draws plans side by side."""
    return sheet(_program, _panels, f"{_program.name} plans")


@st.cache_resource(max_entries=8, show_spinner=False)
def surprises_of(identity: str, _trace: SearchTrace) -> Surprises:
    """The surprise of each move of an agent's game."""
    return surprises(_trace)


@st.cache_resource(max_entries=8, show_spinner="Drawing the search …")
def search_game(
    identity: str,
    program_identity: str,
    _program: Program,
    _trace: SearchTrace,
    bound_s: float | None,
    _classes: Mapping[int, str],
    _rows: Sequence[int],
) -> bytes:
    """The message that draws an agent's game; `identity` names it in the browser too, with the
    classes of its moves and the rows of its inbox.
    """
    all_moves = moves_of(program_identity, _program)
    surprise = surprises_of(identity, _trace).index
    return game_message(_program, all_moves, _trace, surprise, bound_s, identity, _classes, _rows)


@st.cache_resource(max_entries=8, show_spinner="Reading the game …")
def first_study(identity: str, _program: Program, _thought: Thought) -> Study:
    """The findings on the moves of a game before anything is played out."""
    rules = noted_rules(_thought.plan)
    assert rules is not None, "a thought's plan notes its game"
    study = study_of(_thought.trace, _program, rules)
    return Study(tuple(findings("", _thought.trace, study)), study.completeness)


@st.cache_resource(show_spinner=False)
def last_views() -> LastViews:
    """The last view of each visitor."""
    return LastViews()


@st.cache_resource(show_spinner=False)
def toy() -> Toy:
    """The game of eight moves on the start page."""
    return make_toy()


def lesson_catalogue() -> Catalogue:
    """The lessons."""
    return _catalogue(state_of(*sorted(LESSONS.glob("*.toml"))))


@st.cache_resource(max_entries=2, show_spinner=False)
def _catalogue(state: State) -> Catalogue:
    return load_catalogue(LESSONS)


def judge_of(lesson: Lesson) -> Judge:
    """A lesson's judge, which knows the optimum of its board."""
    return _judge(state_of(LESSONS / f"{lesson.name}.toml"), lesson)


@st.cache_resource(max_entries=64, show_spinner=False)
def _judge(state: State, _lesson: Lesson) -> Judge:
    return Judge(_lesson)


def mined_positions() -> tuple[Mined, ...]:
    """The positions that were mined. Raises LessonError if they are of other rules."""
    return _mined(state_of(POSITIONS))


@st.cache_resource(max_entries=2, show_spinner=False)
def _mined(state: State) -> tuple[Mined, ...]:
    return read_positions(POSITIONS)


def match_on(name: str) -> Match:
    """The challenge on a sample. Raises EngineError if there is no such sample."""
    entry = library.find_sample(name)
    best = [] if entry.best_plan_path is None else [entry.best_plan_path]
    return _match(state_of(POSITIONS, *best), entry.content_hash, entry)


@st.cache_resource(max_entries=16, show_spinner="Asking the opponents …")
def _match(state: State, content_hash: str, _entry: SampleEntry) -> Match:
    name = _entry.name
    try:
        mined = next((m for m in mined_positions() if m.program == name), None)
        return match_of(sample(name), _entry, mined, best_plan(name))
    except LessonError:
        # The strong game is none any more: rules or program have changed since it was mined.
        return match_of(sample(name), _entry, None, best_plan(name))


def question_at(key: str, mined: Mined, move: int) -> Question:
    """A mined position. Raises EngineError if program or rules are others by now."""
    identity = library.find_sample(mined.program).content_hash
    # The key says how the game began; two that go on otherwise are judged otherwise.
    return _question(f"{key} {mined.place} {mined.game}", identity, mined, move)


@st.cache_resource(max_entries=32, show_spinner="Setting up the position …")
def _question(key: str, content_hash: str, _mined: Mined, move: int) -> Question:
    return question_of(sample(_mined.program), _mined, move)
