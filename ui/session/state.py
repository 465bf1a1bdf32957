"""What a visitor has open: programs, plans, jobs, and what the pages remember of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import streamlit as st
from htpy import Renderable, b, div, p
from streamlit.navigation.page import StreamlitPage

from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.io import content_hash
from engine.program.model import Program
from ui.jobs.protocol import BOUND, FOLLOW, OF_COMPILER, OF_SEARCHES, SOLVE, TRACE
from ui.jobs.run import Job
from ui.model.challenges.state import ChallengeState
from ui.model.compare.comparison import Comparison
from ui.model.compare.ranking import replaced_solver
from ui.model.compiler.state import CompilerState
from ui.model.cursor import Cursor
from ui.model.debug.table import Debugging
from ui.model.learn.state import Learning
from ui.model.play.eviction import Eviction
from ui.model.play.line import Line, Variation
from ui.model.play.quiz import Quiz
from ui.model.programs.catalogue import Filter
from ui.model.search.state import Searches, practised
from ui.session.own_games import Games
from ui.session.visitor import COOKIE, visitor_of

SECONDS = {False: 8.0, True: 20.0}
"""How long a message stays, by `is_error`. `ui/style.css` lets it fade in the same time."""


@dataclass(frozen=True)
class Item:
    """One message: its subject, its text, and the time `at` which it was sent, by the clock."""

    subject: str
    text: str
    is_error: bool
    at: float


@dataclass
class News:
    """The messages sent lately."""

    clock: Callable[[], float] = time.monotonic
    _items: list[Item] = field(default_factory=list)

    def tell(self, subject: str, text: str, *, is_error: bool = False) -> None:
        """Send a message."""
        self._items.append(Item(subject, text, is_error, self.clock()))

    def items(self) -> Sequence[Item]:
        """The messages that are still shown, the oldest first."""
        now = self.clock()
        self._items = [i for i in self._items if now - i.at < SECONDS[i.is_error]]
        return self._items


def news_html(items: Sequence[Item]) -> str:
    """The news, as a region that screen readers read out when it changes."""
    return str(div(role="status")[map(_item_html, items)])


def _item_html(item: Item) -> Renderable:
    kind, sign = ("notice error", "⚠") if item.is_error else ("notice", "✓")
    return p(class_=kind)[f"{sign} ", b[item.subject], f" {item.text}"]


@dataclass
class PlayRequest:
    """The `player` that goes on, its job, and the identity of the `plan` whose line it goes on.

    `begun`: the actions before. `num_moves`: so many of the moves played are taken over.
    `number`, `tip`: the variation that was shown, and its end.
    """

    player: str
    job: Job
    plan: str
    begun: tuple[int, ...]
    num_moves: int
    number: int
    tip: int


_KEY = "explorer"
_MOST_PROGRAMS = 16
"""Programs that a visitor may have open at once: each may be large."""


@dataclass(frozen=True)
class OpenPlan:
    """A plan with the name it is listed under; `identity` is the same for the same content.

    `is_own`: the visitor made or brought it, so that nobody else has it.
    """

    name: str
    plan: Plan
    identity: str
    is_own: bool = False


def _solved_name(solver: str, plan: Plan) -> str:
    """What the plan of a solver's run is called: if it is another's, after both."""
    return f"{solver} ({plan.solver}'s plan)" if replaced_solver(plan) == solver else solver


@dataclass
class OpenProgram:
    """A program in use: its plans by name, the runs under way, the bound once it is known."""

    name: str
    program: Program
    identity: str
    plans: dict[str, OpenPlan] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    bound_s: float | None = None
    summary: tuple[tuple[str, str], ...] = ()
    """Facts of the import of a program that the visitor brought, as (name, text)."""
    records: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Records of films (`ui.session.films`) that a job has made, by the plan's identity."""
    lines: dict[str, Line] = field(default_factory=dict)
    """The visitor's play by the identity of the plan that it leaves."""
    trees: dict[str, tuple[str, tuple[Variation, ...]]] = field(default_factory=dict)
    """Variations of earlier visits, as in `Games`, until their plan has a line."""
    games: Games = field(default_factory=Games)
    """Plans and variations as they are kept on disk."""
    comparison: Comparison = field(default_factory=Comparison)
    searches: Searches = field(default_factory=Searches)
    debug: Debugging = field(default_factory=Debugging)
    compiler: CompilerState = field(default_factory=CompilerState)
    play_request: PlayRequest | None = None
    """The request to play on that is under way, if any (`ui.play.playing_on`)."""

    def add_plan(
        self, name: str, plan: Plan, *, is_own: bool = False, shown: OpenPlan | None = None
    ) -> None:
        """List a plan; one of the same name is replaced, but keeps what is the visitor's own.

        That, what variations leave, and the plan that is `shown` go on under a number.
        """
        before = self.plans.get(name)
        is_other = before is not None and before.identity != self.identity_of(plan)
        is_needed = before is not None and (before.is_own or before is shown)
        if before is not None and is_other and (is_needed or self._is_left(before)):
            moved = self.free_name(name)
            self.plans[moved] = replace(before, name=moved)
        self.plans[name] = OpenPlan(name, plan, self.identity_of(plan), is_own)

    def own_games(self) -> Games:
        """The visitor's own plans, and all variations with the plans that they leave."""
        plans = {name: plan.plan for name, plan in self.plans.items() if plan.is_own}
        others = [plan for plan in self.plans.values() if not plan.is_own and self._is_left(plan)]
        trees = {
            identity: (line.film.game, line.tree.lines)
            for identity, line in self.lines.items()
            if line.tree.lines
        }
        return Games(plans, {plan.name: plan.plan for plan in others}, self.trees | trees)

    @property
    def has_games(self) -> bool:
        """Whether there are plans or variations of the visitor's own."""
        games = self.own_games()
        return bool(games.plans or games.trees)

    def _is_left(self, plan: OpenPlan) -> bool:
        """Whether there are variations that leave a plan."""
        line = self.lines.get(plan.identity)
        return plan.identity in self.trees or (line is not None and bool(line.tree.lines))

    def take_games(self, games: Games) -> None:
        """List plans and variations that were kept, beside those that are here."""
        own = {plan.identity for plan in self.plans.values() if plan.is_own}
        for name, plan in games.plans.items():
            if self.identity_of(plan) not in own:
                self.add_plan(self.free_name(name), plan, is_own=True)
        here = {plan.identity for plan in self.plans.values()}
        for name, plan in games.left.items():
            if self.identity_of(plan) not in here:
                self.add_plan(self.free_name(name), plan)
        for identity, (game, lines) in games.trees.items():
            line = self.lines.get(identity)
            if line is None:
                self.trees[identity] = (game, lines)
            elif line.film.game == game:
                line.take_in(lines)

    def identity_of(self, plan: Plan) -> str:
        """An identity that plans of this program share if they do the same by the same moves."""
        content = (plan.is_fast, plan.stays, plan.copies, plan.notes.get("moves"))
        return f"{self.identity}-{hashlib.sha256(repr(content).encode()).hexdigest()[:12]}"

    def free_name(self, stem: str) -> str:
        """`stem`, or the first of `stem 2`, `stem 3` … that no plan has."""
        number = 1
        while (name := stem if number == 1 else f"{stem} {number}") in self.plans:
            number += 1
        return name

    def collect(self, shown: OpenPlan | None = None) -> bool:
        """Take in the results of finished runs; returns whether there were any.

        None takes the place of the plan that is `shown`.
        """
        finished = [job for job in self.jobs if job.take()]
        for job in finished:
            if job.order.kind == SOLVE and job.plan is not None:
                self.add_solved(job, job.plan, shown)
                if TRACE in job.files:
                    game = practised(job.plan, job.files, job.result)
                    self.searches.add(game, is_kept=job.is_kept)
            elif job.order.kind == FOLLOW:
                self.records[job.order.basis] = job.result
            elif job.order.kind in OF_COMPILER and job.plan is not None:
                self._add_compiled(job, job.plan, shown)
            known = [s for s in (self.bound_s, job.bound_s) if s is not None]
            self.bound_s = max(known, default=None)
        return bool(finished)

    def add_solved(self, job: Job, plan: Plan, shown: OpenPlan | None = None) -> str:
        """List a solver's plan; a faster one of the same name keeps its name.

        The slower one gets a number, or, if an earlier visit left it, is passed over; one that is
        listed already is not listed again. Returns the name that it is listed under.
        """
        name = _solved_name(job.solver, plan)
        known = self.plans.get(name)
        if known is not None and self._latency_s(known.plan) < self._latency_s(plan):
            if job.is_kept:
                return name
            identity = self.identity_of(plan)
            listed = (n for n, one in self.plans.items() if one.identity == identity)
            name = next(listed, None) or self.free_name(name)
        self.add_plan(name, plan, shown=shown)
        return name

    def _add_compiled(self, job: Job, plan: Plan, shown: OpenPlan | None) -> None:
        """List what the compiler made of a plan; as `add_solved`, by what it gains compiled."""
        name = job.solver
        if self.compiler.is_worse(job):
            if job.is_kept:
                return
            name = self.free_name(name)
        self.add_plan(name, plan, shown=shown)
        self.compiler.take(job, name)

    def plan_of(self, solver: str) -> str:
        """The name of a solver's plan, or of that given in its place; empty if there is none."""
        replaced = (n for n, p in self.plans.items() if n == _solved_name(solver, p.plan))
        return solver if solver in self.plans else next(replaced, "")

    def _latency_s(self, plan: Plan) -> float:
        return simulate(self.program, plan).latency_s

    def let_go(self, job: Job) -> None:
        """Stop a job that was replaced, unless another of this visitor's jobs shares its run."""
        others = [other for other in self.all_jobs() if other is not job]
        if all(other.run is not job.run for other in others):
            job.stop()

    def adopt(self, job: Job) -> None:
        """Take up a run that an earlier visit left."""
        if job.is_over:
            job.is_kept = True
            job.announce()
        if job.order.kind in (SOLVE, BOUND, FOLLOW, *OF_COMPILER):
            self.jobs.append(job)
        elif job.order.kind in OF_SEARCHES:
            self.searches.jobs.append(job)

    def all_jobs(self) -> list[Job]:
        """The runs of all pages."""
        asked = [] if self.play_request is None else [self.play_request.job]
        return list(dict.fromkeys([*self.jobs, *self.searches.jobs, *asked]))

    @property
    def is_busy(self) -> bool:
        """Whether a run is waiting or under way."""
        return any(not job.is_over for job in self.all_jobs())


@dataclass
class Session:
    """Everything that one visitor has open."""

    identity: str = field(default_factory=lambda: uuid4().hex)
    """Tells this visitor's runs from those of others."""
    pages: dict[str, StreamlitPage] = field(default_factory=dict)
    """The views by name, to switch to."""
    programs: dict[str, OpenProgram] = field(default_factory=dict)
    shelf: dict[str, OpenProgram] = field(default_factory=dict)
    """Programs that the visitor brought earlier and that have been looked at, but not opened."""
    gallery: Filter = field(default_factory=Filter)
    is_gallery_whole: bool = False
    """Whether the gallery shows all programs that the filter lets through, not the first few."""
    program_name: str = ""
    plan_name: str = ""
    cursor: Cursor = field(default_factory=Cursor)
    is_as_moves: bool = False
    """Whether a plan is shown as the game would play it instead of as it is."""
    stored: str = ""
    """Identity of the plan that the browser was sent last."""
    sent: dict[str, object] = field(default_factory=dict)
    """Parts of a step's message that the map keeps, by name; emptied, they are sent again."""
    handled: dict[str, int] = field(default_factory=dict)
    """Serial number of the last command that each view was answered, by the view's key."""
    quiz: Quiz | None = None
    """The questions that the visitor is being asked."""
    is_quiz_wanted: bool = False
    """Whether Play is to begin with the questions about its plan."""
    eviction: Eviction | None = None
    """The answer to the last what-if, while its move is shown."""
    wanted_page: str = ""
    """The view that a command leads to."""
    awaited: PlayRequest | None = None
    """The request that Play knew of when it was last drawn."""
    look: dict[str, str] = field(default_factory=dict)
    """Window, axis and colours that a link asked for."""
    notices: list[str] = field(default_factory=list)
    """Warnings of what the visitor's link could not show; until another plan is chosen."""
    are_jobs_small: bool = False
    """Whether the jobs under way are shown in one line."""
    elsewhere: list[Job] = field(default_factory=list)
    """The visitor's runs that no open program holds: from before a reload, or of another tab."""
    awaited_jobs: list[Job] = field(default_factory=list)
    """The jobs that the page shows as under way: when one is over, the page runs again."""
    news: News = field(default_factory=News)
    """Short messages that every page shows for some seconds."""
    learning: Learning = field(default_factory=Learning)
    """Lessons and challenges: what was done, and the boards that are open."""
    challenges: ChallengeState = field(default_factory=ChallengeState)
    has_charts: bool = False
    """Whether the visitor's browser has been sent a chart, and so has what draws them."""
    awaited_query: dict[str, str] = field(default_factory=dict)
    """The visitor's link, as long as the line that it asks for cannot be shown."""
    address: str = ""
    """The program in the browser's address after the page last ran: another is the browser's."""
    linked: str = ""
    """What the visitor's link calls the program in use, which may have another name here."""
    awaited_file: dict[str, str] = field(default_factory=dict)
    """The visitor's link, as long as the file of its program has not been brought."""
    is_restored: bool = False
    """Whether the link with which the visitor came has been followed."""

    def jobs(self) -> list[tuple[OpenProgram, Job]]:
        """All jobs of this visitor, each with its program."""
        return [(opened, job) for opened in self.programs.values() for job in opened.all_jobs()]

    def take_command(self, key: str, cursor: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The command in what the view `key` told, if it is new; from here on it is answered.

        A view waits for its answer, so it is answered also where the view has another board by
        now and nothing is done.
        """
        command: Mapping[str, Any] | None = cursor.get("command")
        if not command or command["serial"] == self.handled.get(key):
            return None
        self.handled[key] = int(command["serial"])
        return command

    @property
    def open(self) -> OpenProgram:
        """The program in use."""
        return self.programs[self.program_name]

    @property
    def plan(self) -> OpenPlan | None:
        """The plan in use, or None while the program has none."""
        return self.open.plans.get(self.plan_name) or next(iter(self.open.plans.values()), None)

    def collect(self) -> None:
        """Take in the results of finished runs of the program in use; the same plan stays shown.

        Where a result took its name, it is said what it is called now.
        """
        shown, plans = self.plan, self.open.plans
        self.open.collect(shown)
        if shown is None or plans[shown.name].identity == shown.identity:
            return
        *_, moved = (name for name, plan in plans.items() if plan.identity == shown.identity)
        if self.plan_name in ("", shown.name):
            self.plan_name = moved
            self.news.tell(shown.name, f"is a new plan now; the one that you see is “{moved}”")

    def open_program(self, name: str, program: Program) -> None:
        """Switch to a program; its plans and runs are kept if it was open before."""
        self.take_in(name, program)
        self.awaited_file = {}
        if name != self.program_name:
            self.program_name, self.plan_name, self.linked = name, "", ""
            self.awaited_query = {}
            self.cursor.question = self.eviction = self.quiz = None
            self.is_as_moves, self.look = False, {}
            self.notices.clear()
            self.cursor.jump(0)

    def take_in(self, name: str, program: Program) -> OpenProgram:
        """List a program without bringing it into use."""
        if name not in self.programs:
            self._make_room()
            shelved = self.shelf.pop(name, None)
            self.programs[name] = shelved or OpenProgram(name, program, content_hash(program))
        return self.programs[name]

    def _make_room(self) -> None:
        """Close the program opened first, of those for which nothing is under way or the visitor's.

        It is said which one.
        """
        idle = [n for n, opened in self.programs.items() if not opened.is_busy]
        others = [n for n in idle if n != self.program_name and not self.programs[n].has_games]
        if len(self.programs) >= _MOST_PROGRAMS and others:
            del self.programs[others[0]]
            self.news.tell(others[0], "is closed: too many programs are open")

    def show_plan(self, name: str) -> None:
        """Switch to another plan of the same program; the cursor stays on its move."""
        self.plan_name, self.is_as_moves, self.awaited_query = name, False, {}
        self.cursor.question = self.eviction = self.quiz = None
        self.notices.clear()


def current_session() -> Session:
    """The visitor's session, made at the first call."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session(
            identity=visitor_of(st.context.cookies.get(COOKIE)) or uuid4().hex
        )
    session: Session = st.session_state[_KEY]
    return session
