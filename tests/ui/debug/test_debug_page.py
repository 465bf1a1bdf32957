"""Debug without a browser (AppTest): from the empty page to every panel."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.agent.trace_io import SearchTrace, save_trace
from engine.debugging.findings import VERSION
from engine.debugging.move_notes import MOST_NOTES, MoveNotes, Note
from engine.game.moves import ACTION_NAMES
from engine.plan.simulate import simulate
from tests.debugging import studied
from tests.strategies import all_slow_plan
from tests.ui.apps import kept_by_a_server, key_of, open_view, session_of
from tests.ui.search_traces import made_up_trace
from ui.components.glossary import about
from ui.components.markdown import plain
from ui.components.packing import unpack
from ui.debug import studies
from ui.debug.export_view import _bundle, _open, link
from ui.debug.force_view import answers
from ui.jobs.protocol import DUEL, FINDINGS, FORCE, GAP, RETRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.jobs.weights import FRESH, PRACTISED
from ui.model.debug.table import Filter
from ui.model.search.state import GapStudy, Second, Thought, brought
from ui.session import caching, recordings
from ui.session.kept_notes import KeptNotes
from ui.session.state import OpenPlan

PROGRAM = "alexnet-v4-b24"
VERSIONED = (("version", VERSION),)
RECORDED = recordings.found


def _debug() -> None:
    from ui.debug import page

    page.render()


@pytest.fixture(autouse=True)
def workshop(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """One that begins nothing; and no recorded game comes before those of the tests."""
    monkeypatch.setattr(recordings, "found", lambda opened: None)
    return idle_workshop


@pytest.fixture(scope="module")
def thought(tmp_path_factory: pytest.TempPathFactory) -> Thought:
    path = tmp_path_factory.mktemp("page") / "a.npz"
    save_trace(studied.trace(), path)
    return brought(studied.program(), path.read_bytes(), "a.npz")


@pytest.fixture(scope="module")
def other() -> SearchTrace:
    """What another search thinks at the moves of that game."""
    return made_up_trace(studied.program(), seed=1)


@pytest.fixture
def shown(thought: Thought, other: SearchTrace) -> AppTest:
    """The page with a game whose findings are all measured, and other searches beside it."""
    at = open_view(_debug, program=PROGRAM)
    session = session_of(at)
    session.open.searches.jobs.clear()
    session.open.searches.add(thought)
    run = Run(
        Order(FINDINGS, "Findings", 1.0, basis=thought.identity, details=VERSIONED),
        "",
        state="done",
    )
    found = [asdict(finding) | {"game": ""} for finding in studied.found()]
    run.result = {"findings": found, "completeness": 1.0}
    session.open.searches.jobs.append(Job(run))
    session.open.searches.seconds.append(Second(thought.identity, other, {}))
    at.run()
    assert not at.exception
    return at


def sent(at: AppTest) -> dict[str, object]:
    views = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("search_tree")]
    return unpack(views[0].proto.bytes)[0]


def inbox_of(at: AppTest) -> list[int]:
    """The moves of the inbox; the table above it holds the parts of the gap."""
    inbox = next(t for t in at.dataframe if "move" in t.value)
    return [int(move) for move in inbox.value["move"]]


def test_another_program_takes_neither_move_nor_notes_of_the_last_one(shown: AppTest) -> None:
    session = session_of(shown)
    session.open.debug.notes.put(Note(session.open.searches.thought.name, 2, "why?"))
    shown.run()
    assert {"move", "notes"} <= set(shown.query_params)
    next(box for box in shown.selectbox if box.label == "Program").set_value("bert-v5e-b32").run()
    assert not shown.exception
    assert session.program_name == "bert-v5e-b32"
    assert not {"move", "notes"} & set(shown.query_params)
    assert session.open.debug.notes.to_link() == ""


def test_filter_order_and_panel_stay_with_their_program(
    shown: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "found", RECORDED)
    session = session_of(shown)
    groups = {group.label: group for group in shown.button_group}
    groups["Class"].set_value(["??"])
    groups["More"].set_value("notes")
    next(box for box in shown.selectbox if box.label == "Sort by").set_value("surprise").run()
    shown.number_input[0].set_value(1.5).run()
    mine = session.open.debug.filter
    assert (mine.classes, mine.sort, mine.least_bytes) == (("??",), "surprise", 3 * 2**19)
    program = lambda: next(b for b in shown.selectbox if b.label == "Program")  # noqa: E731
    program().set_value("bert-v5e-b32").run()
    assert not shown.exception
    assert session.program_name == "bert-v5e-b32"
    assert session.open.debug.filter == Filter() and session.open.debug.panel != "notes"
    shown.number_input[0].set_value(0.5).run()
    program().set_value(PROGRAM).run()
    assert session.open.debug.filter == mine and session.open.debug.panel == "notes"


def test_without_a_game_one_is_made() -> None:
    at = open_view(_debug, program=PROGRAM)
    assert len(session_of(at).open.searches.jobs) == 1
    assert any("all its searches" in info.value for info in at.info)


def test_a_game_is_studied_and_searched_otherwise_without_being_asked(thought: Thought) -> None:
    at = open_view(_debug, program=PROGRAM)
    session_of(at).open.searches.jobs.clear()
    session_of(at).open.searches.add(thought)
    at.run()
    at.run()
    kinds = [job.order.kind for job in session_of(at).open.searches.jobs]
    assert kinds == [GAP, FINDINGS, RETRACE]
    assert at.dataframe[0].value["class"].tolist()[0] == "regret not measured"


def looks_for_decisions(at: AppTest) -> bool:
    return any("are being looked for" in e.proto.body for e in at.get("html"))


def test_what_was_stopped_or_failed_is_not_said_to_go_on_and_can_be_begun_anew(
    thought: Thought,
) -> None:
    at = open_view(_debug, program=PROGRAM)
    session = session_of(at)
    session.open.bound_s = 1e-9
    searches = session.open.searches
    searches.jobs.clear()
    searches.add(thought)
    at.run()
    assert looks_for_decisions(at)
    assert not [b for b in at.button if (b.key or "").startswith("again_")]
    gap, findings, retrace = searches.jobs
    gap.stop()
    findings.run.fail("no luck")
    retrace.stop()
    at.run()
    at.run()
    assert not looks_for_decisions(at), "nobody looks for them"
    assert all(job.is_over for job in searches.jobs), "what was stopped stays so"
    for kind in (GAP, FINDINGS, RETRACE):
        at.button(key=f"again_{kind}").click().run()
        assert not at.exception
        assert [job.order.kind for job in searches.jobs if not job.is_over][-1] == kind
        assert f"again_{kind}" not in {b.key for b in at.button}
    assert looks_for_decisions(at)
    details = {job.order.kind: job.order for job in searches.jobs}
    assert details == {job.order.kind: job.order for job in (gap, findings, retrace)}


def test_another_best_plan_has_the_gap_looked_at_anew(shown: AppTest) -> None:
    opened = session_of(shown).open
    first = [job for job in opened.searches.jobs if job.order.kind == GAP]
    assert len(first) == 1
    opened.plans = {"other": OpenPlan("other", all_slow_plan(opened.program), "other")}
    shown.run()
    orders = [job for job in opened.searches.jobs if job.order.kind == GAP and not job.is_over]
    assert [dict(job.order.details)["best"] for job in orders] == ["other"]
    assert orders[0].run is not first[0].run and first[0].is_over
    shown.run()
    again = [job for job in opened.searches.jobs if job.order.kind == GAP and not job.is_over]
    assert len(again) == 1, "once for each"


def test_a_best_plan_that_comes_back_has_the_gap_measured_after_all(shown: AppTest) -> None:
    opened = session_of(shown).open
    slow = all_slow_plan(opened.program)
    for name in ("one", "other", "one"):
        opened.plans = {name: OpenPlan(name, slow, name)}
        shown.run()
    busy = [job for job in opened.searches.jobs if job.order.kind == GAP and not job.is_over]
    assert [dict(job.order.details)["best"] for job in busy] == ["one"]
    busy[0].stop()
    shown.run()
    assert not [j for j in opened.searches.jobs if j.order.kind == GAP and not j.is_over], "stopped"


def test_what_was_measured_by_each_best_plan_is_kept(shown: AppTest, thought: Thought) -> None:
    opened = session_of(shown).open
    slow = all_slow_plan(opened.program)
    for name in ("one", "other"):
        opened.searches.gaps[thought.identity, name] = GapStudy(name, (), 0, 1, (0.0,))
    for name in ("one", "other", "one"):
        opened.plans = {name: OpenPlan(name, slow, name)}
        shown.run()
        assert not shown.exception
    jobs = [job for job in opened.searches.jobs if job.order.kind == GAP and not job.is_over]
    assert not {dict(job.order.details)["best"] for job in jobs} & {"one", "other"}


def test_it_opens_on_the_costliest_move_with_both_searches(shown: AppTest) -> None:
    state = session_of(shown).open.searches
    rows = inbox_of(shown)
    regrets = shown.dataframe[0].value["regret"].tolist()
    assert regrets[0] == max(regrets) > 0
    assert state.move + 1 == rows[0]
    header = sent(shown)
    assert (header["move"], header["beside"], len(header["roots"])) == (rows[0] - 1, 1, 2)
    assert shown.query_params["move"] in (str(rows[0]), [str(rows[0])])


def test_the_page_stays_at_its_move_when_findings_come(shown: AppTest) -> None:
    """The browser keeps the row that it was told to choose, though other rows come in its place."""
    state, before = session_of(shown).open.searches, inbox_of(shown)
    inbox = key_of(next(t for t in shown.dataframe if "move" in t.value))
    chosen = {"selection": {"rows": [0], "columns": [], "cells": []}}
    shown.session_state[inbox] = chosen
    shown.run()
    move = state.move
    assert move + 1 == before[0]
    assert state.study is not None
    rest = [finding for finding in state.study.findings if finding.move != before[1] - 1]
    first = replace(next(f for f in state.study.findings if f.move + 1 == before[1]), regret_us=1e9)
    assert state.thought is not None
    state.studies[state.thought.identity] = replace(state.study, findings=(first, *rest))
    shown.session_state[inbox] = chosen
    shown.run()
    assert not shown.exception
    assert inbox_of(shown)[0] == before[1]
    assert state.move == move
    inbox = key_of(next(t for t in shown.dataframe if "move" in t.value))
    shown.session_state[inbox] = chosen
    shown.run()
    assert state.move + 1 == before[1], "another row leads to its move"


def test_keys_go_through_the_rows(shown: AppTest) -> None:
    rows = inbox_of(shown)
    assert [shown.button(key=f"finding_{n}").proto.shortcut for n in ("next", "back")] == ["j", "k"]
    shown.button(key="finding_next").click().run()
    assert session_of(shown).open.searches.move + 1 == rows[1]
    assert shown.dataframe[0].value["here"].tolist()[1] == "▶"
    shown.button(key="finding_back").click().run()
    shown.button(key="finding_back").click().run()
    assert session_of(shown).open.searches.move + 1 == rows[-1]


def test_the_browser_gets_the_rows_as_they_stand(shown: AppTest) -> None:
    state = session_of(shown).open.searches
    assert [move + 1 for move in state.rows or ()] == inbox_of(shown)
    shown.selectbox(key=f"sort_{PROGRAM}").select("surprise").run()
    assert not shown.exception
    surprise = shown.dataframe[0].value["surprise"].tolist()
    assert surprise == sorted(surprise, reverse=True)
    assert [move + 1 for move in state.rows or ()] == inbox_of(shown)


def test_a_filter_holds_back_and_an_empty_one_says_so(shown: AppTest) -> None:
    before = len(inbox_of(shown))
    session_of(shown).open.debug.filter = Filter(least_bytes=2**24)
    shown.session_state[f"debug_size_{PROGRAM}"] = 16.0
    shown.run()
    assert 0 < len(inbox_of(shown)) < before
    shown.session_state[f"debug_size_{PROGRAM}"] = 1e5
    shown.run()
    assert any("No finding passes" in info.value for info in shown.info)


@pytest.mark.parametrize("by", ["next", "back"])
def test_a_button_pressed_at_once_goes_through_the_rows_as_filtered(
    shown: AppTest, by: str
) -> None:
    state = session_of(shown).open.searches
    shown.number_input(key=f"debug_size_{PROGRAM}").set_value(16.0)
    shown.button(key=f"finding_{by}").click().run()
    assert not shown.exception
    rows, at = inbox_of(shown), state.move + 1
    assert session_of(shown).open.debug.filter == Filter(least_bytes=2**24)
    assert len(rows) > 2 and at == rows[1 if by == "next" else -1]


def test_metrics_are_explained(shown: AppTest) -> None:
    assert {m.label for m in shown.metric} == {"Classes", "Measured"}
    for metric in shown.metric:
        assert metric.help == about(metric.label)


def test_forcing_an_action_answers_at_once_and_exactly(shown: AppTest, thought: Thought) -> None:
    session = session_of(shown)
    move = session.open.searches.move
    button = next(b for b in shown.button if b.label.startswith("Force "))
    button.click().run()
    assert not shown.exception
    rows = answers(session, thought, move)
    assert [row["continuation"] for row in rows] == ["as played", "greedy"]
    assert all(row["action"] == button.label.removeprefix("Force ") for row in rows)
    original_s = simulate(session.open.program, thought.plan).latency_s
    assert {row["original_s"] for row in rows} == {original_s}
    (job,) = [j for j in session.open.searches.jobs if j.order.kind == FORCE]
    job.run.result = {"rows": [{**rows[0], "continuation": "search"}]}
    job.run.state = "done"
    shown.run()
    assert [row["continuation"] for row in answers(session, thought)][-1] == "search"
    assert "search" in shown.dataframe[1].value["then"].tolist()


def test_the_same_continuation_by_other_weights_is_told_apart(
    shown: AppTest, thought: Thought
) -> None:
    session = session_of(shown)
    next(b for b in shown.button if b.label.startswith("Force ")).click().run()
    (first,) = [j for j in session.open.searches.jobs if j.order.kind == FORCE]
    row = {**answers(session, thought, session.open.searches.move)[0], "continuation": "search"}
    for weights in (FRESH, PRACTISED):
        details = tuple((dict(first.order.details) | {"weights": weights}).items())
        job = Job(Run(replace(first.order, details=details), "me", state="done"))
        job.run.result = {"rows": [row]}
        session.open.searches.jobs.append(job)
    shown.run()
    assert not shown.exception
    table = shown.dataframe[1].value
    searched = table[table["then"] == "search"]
    assert len(searched) == 2 and not searched.duplicated().any()
    offered = next(box for box in shown.selectbox if box.label == "See in Play").options
    assert len(set(offered)) == len(offered)


def test_notes_travel_in_the_link_and_the_bundle(shown: AppTest, thought: Thought) -> None:
    shown.session_state[f"debug_panel_{PROGRAM}"] = "notes"
    shown.run()
    shown.text_area[0].set_value("why was this dropped?")
    shown.checkbox[0].check()
    next(b for b in shown.button if b.label == "Keep").click().run()
    session, key = session_of(shown), studies.key_of(thought)
    move = session.open.searches.move
    note = Note(key, move, "why was this dropped?", True)
    assert session.open.debug.notes.at(key, move) == note
    assert "★ why was this dropped?" in shown.dataframe[0].value["note"].tolist()
    text = shown.query_params["notes"]
    again = open_view(_debug, program=PROGRAM, notes=text if isinstance(text, str) else text[0])
    assert session_of(again).open.debug.notes.at(key, move) == note
    data = _bundle(session, thought)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert json.loads(archive.read("notes.json")) == [[key, move, note.text, 1]]
        assert "why was this dropped?" in archive.read("report.md").decode()
        assert session.open.debug.notes.to_link() in link(session)
    session.open.debug.notes = MoveNotes()
    session.open.searches.thoughts.clear()
    _open(session, data, "bundle.zip")
    assert session.open.debug.notes.at(key, move) == note
    assert session.open.searches.thoughts["bundle.zip"].identity == thought.identity


@pytest.fixture
def kept_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeptNotes:
    """The notes of a server whose visitor is always the same."""
    return kept_by_a_server(monkeypatch, "kept_notes", KeptNotes(tmp_path))


def write_note(at: AppTest, text: str) -> Note:
    """Write a note on the move that is shown, as a visitor does."""
    at.session_state[f"debug_panel_{PROGRAM}"] = "notes"
    at.run()
    at.text_area[0].set_value(text)
    next(b for b in at.button if b.label == "Keep").click().run()
    assert not at.exception
    searches = session_of(at).open.searches
    assert searches.thought is not None
    return Note(studies.key_of(searches.thought), searches.move, text)


def test_notes_are_there_again_after_a_reload(
    kept_notes: KeptNotes, shown: AppTest, thought: Thought
) -> None:
    note = write_note(shown, "why?")
    again = session_of(open_view(_debug, program=PROGRAM))
    assert list(again.open.debug.notes) == [note]
    assert not list(session_of(open_view(_debug, program="bert-v5e-b32")).open.debug.notes)
    write_note(shown, "")
    assert not list(session_of(open_view(_debug, program=PROGRAM)).open.debug.notes)


def test_a_link_replaces_none_of_the_visitors_notes(kept_notes: KeptNotes, shown: AppTest) -> None:
    own = write_note(shown, "mine")
    other = Note(own.game, own.move + 1, "yours")
    linked = MoveNotes([replace(own, text="theirs"), other])
    again = open_view(_debug, program=PROGRAM, notes=linked.to_link())
    assert list(session_of(again).open.debug.notes) == [own, other]
    (warning,) = again.warning
    assert f"move {own.move + 1:,}" in warning.value
    assert not open_view(_debug, program=PROGRAM, notes=linked.to_link()).exception
    assert list(kept_notes.find("v", session_of(again).open.identity)) == [own, other]


def test_it_is_said_when_notes_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch, shown: AppTest
) -> None:
    monkeypatch.setattr(caching, "kept_notes", lambda: KeptNotes(None))
    write_note(shown, "why?")
    (item,) = [i for i in session_of(shown).news.items() if i.is_error]
    assert "cannot be kept" in item.text


def test_kept_notes_are_those_of_all_tabs_and_the_oldest_go(tmp_path: Path) -> None:
    store = KeptNotes(tmp_path, most_of_one=2)
    assert store.save("v", "aa", [Note("g", 1, "one tab")])
    assert store.save("v", "aa", [Note("g", 2, "another")])
    assert [note.text for note in store.find("v", "aa")] == ["one tab", "another"]
    assert not list(store.find("w", "aa")) and not list(store.find("", "aa"))
    for second, name in enumerate(("aa", "bb", "cc")):
        assert store.save("v", name, [Note("g", 5, name)])
        os.utime(tmp_path / "v" / name, (second, second))
    assert store.save("v", "cc", [Note("g", 6, "more")])
    assert not list(store.find("v", "aa")) and list(store.find("v", "bb"))
    (tmp_path / "v" / "bb" / "notes.json").write_text("[1")
    assert not list(store.find("v", "bb"))
    assert not store.save("v", "cc", [Note("h", move, "x") for move in range(MOST_NOTES)])
    (tmp_path / "file").write_text("")
    assert not KeptNotes(tmp_path / "file").save("v", "aa", [Note("g", 1, "x")])
    assert not store.save("", "aa", [Note("g", 1, "x")])


def test_a_link_with_broken_notes_says_so() -> None:
    at = open_view(_debug, program=PROGRAM, notes="%%%")
    assert any("notes cannot be read" in w.value for w in at.warning)


def test_a_duel_is_ordered_and_shown(shown: AppTest, thought: Thought) -> None:
    shown.session_state[f"debug_panel_{PROGRAM}"] = "ab"
    shown.run()
    next(b for b in shown.button if b.label == "Compare").click().run()
    assert not shown.exception
    (job,) = [j for j in session_of(shown).open.searches.jobs if j.order.kind == DUEL]
    details = dict(job.order.details)
    assert details["programs"] == json.dumps([PROGRAM])
    assert (details["first_model"], details["second_model"]) == ("learned", "policy")
    kind = {"change": "Copy → Drop", "kind": "input", "size": "x", "tensors": 1, "change_us": 2.0}
    bout = {
        "program": PROGRAM, "num_moves": 9, "first_s": 1e-6, "second_s": 3e-6, "fork": 1,
        "num_different": 2, "kinds": [kind],
    }  # fmt: skip
    job.run.result = {"first": "one", "second": "two", "bouts": [bout]}
    job.run.state = "done"
    shown.run()
    assert any("slower on 1 of 1 program." in m.value for m in shown.markdown)
    assert shown.dataframe[1].value["change"].tolist() == pytest.approx([2.0])


def test_what_is_counted_is_explained(shown: AppTest) -> None:
    shown.session_state[f"debug_panel_{PROGRAM}"] = "about"
    shown.run()
    text = " ".join(m.value for m in shown.markdown)
    assert about("punished") in text and about("class") in text


def test_actions_are_named_by_the_game(shown: AppTest) -> None:
    assert set(shown.dataframe[0].value["played"]) <= set(ACTION_NAMES)


def test_the_gap_comes_first_and_its_parts_lead_to_their_positions(tmp_path: Path) -> None:
    name = "llamadecode-v5e-b8"
    at = open_view(_debug, program=name)
    session = session_of(at)
    session.open.searches.jobs.clear()
    program = session.open.program
    save_trace(made_up_trace(program), tmp_path / "a.npz")
    data = (tmp_path / "a.npz").read_bytes()
    session.open.searches.add(brought(program, data, "a.npz"))
    at.run()
    assert any("to the bound" in element.proto.body for element in at.get("html"))
    parts = next(t for t in at.dataframe if "part" in t.value).value
    assert list(parts["cost"]) == sorted(parts["cost"], reverse=True)
    moves = caching.moves_of(session.open.identity, program)
    number = len(parts) - 1
    thought = session.open.searches.thought
    assert thought is not None
    key = key_of(next(t for t in at.dataframe if "part" in t.value))
    assert thought.identity in key
    at.session_state[key] = {"selection": {"rows": [number], "columns": []}}
    at.run()
    assert not at.exception
    shown_move = moves[session_of(at).open.searches.move]
    assert shown_move.time == int(parts["slot"].iloc[number])
    move = session.open.searches.move
    for name in [name for name in session.open.plans if name != "xla_compiled"]:
        del session.open.plans[name]
    at.session_state[key] = {"selection": {"rows": [0], "columns": []}}
    at.run()
    assert not at.exception
    rest = next(t for t in at.dataframe if "part" in t.value).value
    assert rest["slot"].tolist() != parts["slot"].tolist()
    assert session.open.searches.move == move, "parts against another plan are another table"


def test_parts_are_shares_of_what_is_lost_with_a_game_and_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = open_view(_debug, program="gptdecode-v5e-b8")
    tables = [next(t for t in at.dataframe if "cost" in t.value)]
    monkeypatch.setattr(recordings, "found", RECORDED)
    at = open_view(_debug, program="llamadecode-v5e-b8")
    tables += [next(t for t in at.dataframe if "part" in t.value)]
    labels = set()
    for table in tables:
        rows = table.value
        whole = rows["cost"] / rows["share"]
        assert whole.to_list() == pytest.approx([whole[0]] * len(rows))
        assert 0.9 * whole[0] < rows["cost"].sum() <= whole[0] * (1 + 1e-9)
        labels.add(json.loads(table.proto.columns)["share"]["label"])
    assert len(labels) == 1


def test_without_a_game_the_gap_of_the_compilers_plan_is_shown_already() -> None:
    at = open_view(_debug, program="gptdecode-v5e-b8")
    parts = next(t.value for t in at.dataframe if "cost" in t.value)
    assert parts["cost"].iloc[0] > 0
    assert any(plain("xla_compiled") in m.value and "slower" in m.value for m in at.markdown)


def test_with_one_plan_alone_its_gap_is_told_and_others_are_offered() -> None:
    at = open_view(_debug, program=PROGRAM)
    opened = session_of(at).open
    slow = OpenPlan("slow", all_slow_plan(opened.program), "slow")
    opened.plans = {"slow": slow}
    at.run()
    assert any("above the bound" in m.value for m in at.markdown)
    at.button(key="gap_make").click().run()
    assert {job.solver for job in opened.jobs} == {"xla_like", "greedy"}
    assert "gap_make" not in {b.key for b in at.button}


def test_who_has_chosen_nothing_sees_a_recorded_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "names", lambda most: ["gptdecode-v5e-b8", PROGRAM][:most])
    at = open_view(_debug)
    assert session_of(at).program_name == "gptdecode-v5e-b8"
    at.button(key=f"recorded_{PROGRAM}").click().run()
    assert session_of(at).program_name == PROGRAM
    assert open_view(_debug, program="t5-v5e-b24").session_state["explorer"].program_name != PROGRAM
