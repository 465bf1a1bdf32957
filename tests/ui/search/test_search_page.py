"""The Search view without a browser: from the empty page to every panel (AppTest)."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from streamlit.testing.v1 import AppTest

from engine.agent.trace_io import SearchTrace, save_trace
from engine.debugging.findings import VERSION, findings
from engine.debugging.regret import study_of
from engine.game.moves import Rules
from engine.game.notes import plan_from_actions
from engine.program import library
from engine.solvers.baselines import play_greedily
from tests.ui.apps import open_view, session_of
from tests.ui.search_traces import made_up_trace
from ui.components.packing import unpack
from ui.jobs.protocol import FINDINGS, MUZERO, PLAY, RESEARCH, RETRACE, SOLVE, TRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.model.search.state import Again, Thought, brought
from ui.model.search.watch import BEST_GAME, FIRST_GAME
from ui.search import watch_view
from ui.search.board_view import identity_of
from ui.session import caching, opening
from ui.session.state import Session

ROOT = Path(__file__).resolve().parents[3]
PROGRAM, OTHER = "teach-evict-and-return", "teach-loop-carry"
VERSIONED = (("version", VERSION),)


def _search() -> None:
    from ui.search import page as search

    search.render()


@pytest.fixture(scope="module")
def thought(tmp_path_factory: pytest.TempPathFactory) -> Thought:
    program = library.load_sample(PROGRAM)
    path = tmp_path_factory.mktemp("page") / "a.npz"
    save_trace(made_up_trace(program), path)
    return brought(program, path.read_bytes(), "a.npz")


@pytest.fixture(autouse=True)
def workshop(idle_workshop: Workshop) -> Workshop:
    return idle_workshop


def opened(**query: str) -> AppTest:
    return open_view(_search, program=PROGRAM, **query)


@pytest.fixture
def shown(thought: Thought) -> AppTest:
    at = opened(move="3")
    at.session_state["explorer"].open.searches.add(thought)
    at.run()
    assert not at.exception
    return at


def sent(at: AppTest) -> dict[str, object]:
    """What the browser was sent of the position."""
    views = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("search_tree")]
    return unpack(views[0].proto.bytes)[0]


def test_without_a_search_the_page_explains_and_offers_one() -> None:
    at = opened()
    text = " ".join(m.value for m in at.markdown)
    assert "searches" in text
    assert "30 s" in at.button(key="practise_first").label
    assert at.button(key="open_trace").disabled


def test_a_trace_file_is_opened_though_the_page_runs_again_before_its_button(
    shown: AppTest, thought: Thought
) -> None:
    session: Session = shown.session_state["explorer"]
    searches = session.open.searches
    searches.add(replace(thought, name="another", identity="another"))
    shown.run()
    files = shown.get("file_uploader")[0]
    files.set_value(("c.npz", thought.data, "application/octet-stream")).run()
    box = next(box for box in shown.selectbox if box.label == "The agent")
    box.set_value(next(name for name in searches.thoughts if name != searches.current))
    shown.button(key="open_trace").click().run()
    assert not shown.exception
    assert "c.npz" in searches.thoughts
    files = shown.get("file_uploader")[0]
    files.set_value(("b.npz", b"none", "application/octet-stream")).run()
    shown.button(key="open_trace").click().run()
    assert not shown.exception
    (told,) = session.news.items()
    assert told.is_error and told.subject == "b.npz"


def test_another_program_begins_at_its_own_first_move(shown: AppTest, thought: Thought) -> None:
    assert shown.query_params["move"] in ("3", ["3"])
    next(box for box in shown.selectbox if box.label == "Program").set_value(OTHER).run()
    assert not shown.exception
    session = shown.session_state["explorer"]
    assert session.program_name == OTHER
    assert "move" not in shown.query_params
    program = library.load_sample(OTHER)
    with TemporaryDirectory() as folder:
        save_trace(made_up_trace(program), Path(folder) / "b.npz")
        game = brought(program, (Path(folder) / "b.npz").read_bytes(), "b.npz")
    session.open.searches.add(game)
    shown.run()
    assert session.open.searches.move == caching.surprises_of(game.identity, game.trace).order()[0]


def test_there_is_a_game_to_look_at_at_first_sight(workshop: Workshop) -> None:
    at = opened()
    (job,) = at.session_state["explorer"].open.searches.jobs
    assert (job.order.kind, job.order.name) == (PLAY, FIRST_GAME)
    assert any(FIRST_GAME in info.value for info in at.info)
    at.run()
    assert [job] == at.session_state["explorer"].open.searches.jobs
    job.stop()
    at.run()
    assert at.button(key="watch_again") and at.button(key="practise_first")


@pytest.mark.parametrize(
    ("solver", "order"), [(MUZERO, (RETRACE, BEST_GAME)), ("evolution", (PLAY, FIRST_GAME))]
)
def test_the_best_game_that_ships_is_searched_again_if_it_is_the_agents(
    monkeypatch: pytest.MonkeyPatch, solver: str, order: tuple[str, str]
) -> None:
    program = library.load_sample(PROGRAM)
    game = play_greedily(program, Rules())
    plan = plan_from_actions(program, game.actions, solver, game.rules)
    monkeypatch.setattr(caching, "best_plan", lambda name: plan)
    at = opened()
    (job,) = at.session_state["explorer"].open.searches.jobs
    assert (job.order.kind, job.order.name) == order


def test_a_finished_search_is_switched_to(shown: AppTest, thought: Thought) -> None:
    state = shown.session_state["explorer"].open.searches
    details = (("move", 4), ("simulations", 24))
    run = Run(Order(RESEARCH, "Search of move 5", 1.0, basis=thought.identity, details=details), "")
    run.files = {TRACE: packed(one_row(thought, 4))}
    run.state, run.result = "done", {"weights": "fresh"}
    state.jobs.append(Job(run))
    shown.run()
    assert not shown.exception
    assert state.move == 4
    header = sent(shown)
    assert (header["move"], header["beside"], len(header["roots"])) == (4, 1, 2)


def test_a_practice_under_way_shows_how_it_goes_and_can_be_stopped() -> None:
    at = opened()
    run = Run(Order(SOLVE, MUZERO, 30.0), "me", state="running", message="warming up")
    job = Job(run)
    at.session_state["explorer"].open.jobs.append(job)
    at.run()
    assert "practise_first" not in [b.key for b in at.button]
    at.button(key=f"stop_{id(job)}").click().run()
    assert job.is_over
    assert at.button(key="practise_first")


def test_a_failure_is_told() -> None:
    at = opened()
    run = Run(Order(SOLVE, MUZERO, 30.0), "me", state="failed", error="too many moves")
    at.session_state["explorer"].open.jobs.append(Job(run))
    at.run()
    assert "too many moves" in at.error[0].value
    assert at.button(key="practise_first")


def test_a_link_opens_its_move(shown: AppTest) -> None:
    assert shown.session_state["explorer"].open.searches.move == 2
    assert shown.query_params["move"] in ("3", ["3"]) or shown.query_params["move"] == "3"
    assert {"Games", "Simulations a move"} <= {m.label for m in shown.metric}


def test_without_a_link_it_opens_where_the_agent_was_most_surprised(thought: Thought) -> None:
    from engine.debugging.surprise import surprises

    at = opened()
    at.session_state["explorer"].open.searches.add(thought)
    at.run()
    state = at.session_state["explorer"].open.searches
    assert state.move == surprises(thought.trace).order()[0]


def test_the_browser_says_which_move_is_shown(shown: AppTest, thought: Thought) -> None:
    here = shown.session_state["explorer"]
    state = here.open.searches
    cursor = {"game": identity_of(here, thought), "nonce": state.nonce, "move": 5}
    shown.session_state["search"] = {"cursor": cursor}
    shown.run()
    assert state.move == 5
    shown.session_state["search"] = {"cursor": {**cursor, "nonce": -1, "move": 1}}
    shown.run()
    assert state.move == 5


@pytest.mark.parametrize(
    ("panel", "sign"),
    [
        ("inbox", "Surprise weighs"),
        ("drift", "imagined"),
        ("again", "real rules"),
        ("training", ""),
    ],
)
def test_every_panel_opens(shown: AppTest, panel: str, sign: str) -> None:
    shown.session_state[f"search_panel_{session_of(shown).program_name}"] = panel
    shown.session_state["training_run"] = "a file of mine"
    shown.run()
    assert not shown.exception
    assert shown.session_state["explorer"].open.searches.panel == panel
    assert any(sign in c.value for c in shown.caption)


def test_a_finished_study_adds_regrets_to_the_inbox(shown: AppTest, thought: Thought) -> None:
    state = shown.session_state["explorer"].open.searches
    before = len(shown.dataframe[0].value)
    run = Run(
        Order(FINDINGS, "Findings", 1.0, basis=thought.identity, details=VERSIONED),
        "me",
        state="done",
    )
    program = shown.session_state["explorer"].open.program
    study = study_of(thought.trace, program, Rules(place=str(thought.plan.notes["place"])))
    list(study.run())
    found = findings("", thought.trace, study)
    run.result = {"findings": [asdict(f) for f in found], "completeness": 1.0}
    state.jobs.append(Job(run))
    shown.run()
    assert state.study.findings == tuple(found)
    table = shown.dataframe[0].value
    assert table["regret"].tolist().count(max(f.regret_us or 0 for f in found)) == 1
    # Where nothing was at stake there is nothing to be surprised at.
    idle = {f.move + 1 for f in found if not f.has_stakes}
    assert idle and len(table) < before
    assert not set(table["move"]) & idle
    assert any("Regret is known of" in c.value for c in shown.caption)


def one_row(thought: Thought, move: int) -> SearchTrace:
    """The search of one move, as another search of it would be."""
    columns = ("action", "legal", "reward", "prior", "policy", "raw_value", "value")
    kept = {n: getattr(thought.trace, n)[move : move + 1] for n in columns}
    kept |= {
        n: getattr(thought.trace, n)[move : move + 1]
        for n in vars(thought.trace)
        if n.startswith(("tree_", "imagined_"))
    }
    return replace(thought.trace, par=thought.trace.par[move : move + 2], **kept)


def packed(trace: SearchTrace) -> bytes:
    with TemporaryDirectory() as folder:
        save_trace(trace, Path(folder) / "a.npz")
        return (Path(folder) / "a.npz").read_bytes()


def test_other_searches_of_the_position_are_sent_along(shown: AppTest, thought: Thought) -> None:
    state = shown.session_state["explorer"].open.searches
    row = one_row(thought, 2)
    state.again.append(Again(thought.identity, 2, row, {"weights": "fresh"}))
    shown.run()
    assert not shown.exception
    names = [root["name"] for root in sent(shown)["roots"]]
    assert names[0].startswith("in the game")
    assert names[1].startswith("again 1")
    assert "fresh weights" in names[1]


def test_the_first_game_that_an_earlier_visit_ordered_is_not_shown_twice() -> None:
    for visit in ("first", "after a reload"):
        session = Session(identity="somebody")
        opening.open_named(session, PROGRAM)
        watch_view.order_game(session)
        jobs = session.open.searches.jobs
        assert [job.order.name for job in jobs] == [FIRST_GAME], visit
