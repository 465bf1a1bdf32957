"""Recorded games: shown at first sight, with the program, weights and rules they are of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.agent.arrays import pack, unpack
from engine.agent.trace_io import save_trace
from engine.debugging.findings import findings
from engine.debugging.gap_account import Correction, correct
from engine.debugging.regret import study_of
from engine.errors import CheckpointError, SolverError
from engine.game.moves import RULES_VERSION, Rules
from engine.program import library
from engine.program.io import content_hash
from tests.strategies import all_slow_plan
from tests.ui.apps import open_view, session_of
from tests.ui.search_traces import made_up_trace
from ui.jobs.protocol import DONE, PLAY, RESEARCH, SOLVE, TRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.jobs.store import Result, ResultStore
from ui.jobs.weights import digest, shipped, stamp
from ui.model.search.recording import NAME, Recording, recording_of
from ui.model.search.state import GapStudy, Searches, Study, brought
from ui.session import caching, record_games, recordings
from ui.session.best_plan import best_beside, identity_of
from ui.session.record_games import is_up_to_date, opened_as_in_the_explorer
from ui.session.recordings import found, path_of, take_up
from ui.session.state import OpenProgram

PROGRAM = "teach-prefetch"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Of a made-up game on a small program, as if the shipped weights had played it."""
    program, folder = library.load_sample(PROGRAM), tmp_path_factory.mktemp("game")
    trace = made_up_trace(program)
    for name, seed in (("game", 0), ("second", 1)):
        save_trace(made_up_trace(program, seed=seed), folder / name)
    plan = brought(program, (folder / "game").read_bytes(), "game").plan
    study = study_of(trace, program, Rules())
    list(study.run())
    corrected = correct(program, plan, None)
    return Recording(
        program=content_hash(program),
        weights=shipped()[0],
        digest=digest(shipped()[0]),
        plan=plan,
        game=(folder / "game").read_bytes(),
        second=(folder / "second").read_bytes(),
        study=Study(tuple(findings("", trace, study)), 1.0),
        gap=GapStudy(
            best="",
            corrections=corrected.found,
            tried=corrected.tried,
            num_choices=corrected.num_choices,
            bound_by_slot=(0.0,) * (program.num_slots + 1),
        ),
    )


def write(recording: Recording, folder: Path) -> None:
    path_of(PROGRAM, folder).write_bytes(recording.to_bytes())


def test_a_file_read_again_shows_the_same(recording: Recording) -> None:
    again = recording_of(recording.to_bytes(), "x")
    first, second = Searches(), Searches()
    recording.add_to(first)
    again.add_to(second)
    one, other = first.thought, second.thought
    assert one is not None and other is not None
    assert (one.name, one.plan, one.facts, one.data) == (
        other.name,
        other.plan,
        other.facts,
        other.data,
    )
    assert first.study == second.study and first.gaps == second.gaps
    assert first.study is not None and first.study.regrets and first.gaps
    assert [s.name for s in first.of_game()] == [s.name for s in second.of_game()]
    assert len(first.of_game()) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"program": "0" * 64}, "another program"),
        ({"digest": "0" * 64}, "other weights"),
        ({"rules": RULES_VERSION - 1}, "other rules"),
        ({"findings_version": -1}, "other findings"),
    ],
)
def test_a_recording_of_something_else_is_ignored(
    recording: Recording, change: dict[str, object], reason: str, tmp_path: Path
) -> None:
    changed = replace(recording, **change)  # type: ignore[arg-type]
    write(changed, tmp_path)
    opened = opened_as_in_the_explorer(PROGRAM)
    assert (found(opened, tmp_path) is not None) == (not reason)
    assert reason in changed.refusal(opened.identity, digest(shipped()[0]))


def test_the_programs_with_a_recorded_game_are_listed(recording: Recording, tmp_path: Path) -> None:
    write(recording, tmp_path)
    path_of("teach-keep-or-drop", tmp_path).write_bytes(b"damaged")
    assert recordings.names(9, tmp_path) == [PROGRAM]
    assert recordings.names(0, tmp_path) == []
    write(replace(recording, digest="0" * 64), tmp_path)
    assert recordings.names(9, tmp_path) == [], "other weights"


@pytest.mark.parametrize("damage", [b"", b"PK\3\4 nonsense", b"\x93NUMPY"])
def test_a_damaged_file_is_ignored(damage: bytes, tmp_path: Path) -> None:
    path_of(PROGRAM, tmp_path).write_bytes(damage)
    assert found(opened_as_in_the_explorer(PROGRAM), tmp_path) is None
    with pytest.raises(CheckpointError, match="record it again"):
        recording_of(damage, "x")


HEADS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no findings": lambda head: head.update(findings={}),
    "odd rows": lambda head: head["findings"]["findings"][0].update(slot="first"),
    "rows of other slots": lambda head: head["findings"]["findings"][0].update(slot=10**6),
    "rows of other moves": lambda head: head["findings"]["findings"].pop(),
    "a class that there is not": lambda head: head["findings"]["findings"][0].update(verdict="!"),
    "no gap": lambda head: head.update(gap={}),
    "a gap without a plan's identity": lambda head: head.update(best=None),
    "a short bound": lambda head: head["gap"].update(bound_by_slot=[0.0]),
    "a correction of no move": lambda head: head["gap"].update(corrections=[CORRECTION]),
    "the plan of another program": lambda head: head["plan"].update(program_hash="0" * 64),
    "the plan of another game": lambda head: head["plan"]["notes"].update(moves="0"),
    "nothing at all": lambda head: head.clear(),
}
CORRECTION = asdict(Correction(10**6, 0, 0, 0, 1, 1.0, "0"))


@pytest.mark.parametrize("what", HEADS)
def test_a_file_with_wrong_content_is_ignored(
    what: str, recording: Recording, tmp_path: Path
) -> None:
    parts = unpack(recording.to_bytes())
    head = json.loads(parts["head"].tobytes())
    HEADS[what](head)
    parts["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    path_of(PROGRAM, tmp_path).write_bytes(pack(parts))
    assert found(opened_as_in_the_explorer(PROGRAM), tmp_path) is None


@pytest.mark.parametrize("part", ["game", "second"])
@pytest.mark.parametrize("program", [PROGRAM, "teach-keep-or-drop"])
def test_a_file_with_searches_of_another_game_is_ignored(
    part: str, program: str, recording: Recording, tmp_path: Path
) -> None:
    other = made_up_trace(library.load_sample(program))
    other = replace(other, action=1 - other.action % 2)
    save_trace(other, tmp_path / "other")
    odd = replace(recording, **{part: (tmp_path / "other").read_bytes()})
    write(odd, tmp_path)
    assert found(opened_as_in_the_explorer(PROGRAM), tmp_path) is None
    searches = Searches()
    with pytest.raises(CheckpointError, match="record it again"):
        odd.add_to(searches)
    assert searches == Searches(), "nothing of it is listed"


def test_a_head_that_is_nested_without_end_is_refused() -> None:
    parts = {"head": np.frombuffer(b"[" * 200_000, np.uint8)}
    with pytest.raises(CheckpointError, match="record it again"):
        recording_of(pack(parts), "x")


def test_only_samples_have_one(recording: Recording, tmp_path: Path) -> None:
    write(recording, tmp_path)
    opened = opened_as_in_the_explorer(PROGRAM)
    odd = replace(opened.program, name=f"../{tmp_path.name}/{PROGRAM}")
    assert found(replace(opened, program=odd), tmp_path) is None


def test_it_is_the_first_game_and_no_further_one(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "found", lambda opened: recording)
    opened = opened_as_in_the_explorer(PROGRAM)
    take_up(opened)
    assert list(opened.searches.thoughts) == [NAME]
    take_up(opened)
    assert len(opened.searches.seconds) == 1, "once"
    other = opened_as_in_the_explorer(PROGRAM)
    other.searches.is_watched = True
    take_up(other)
    assert not other.searches.thoughts, "the visitor has asked for another game already"


def _search() -> None:
    from ui.search import page

    page.render()


def _debug() -> None:
    from ui.debug import page

    page.render()


@pytest.mark.parametrize("page", [_search, _debug])
def test_pages_are_full_at_first_sight_and_practising_is_a_choice(
    page: object, recording: Recording, idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "found", lambda opened: recording)
    at = open_view(page, program=PROGRAM)
    opened = session_of(at).open
    assert opened.searches.thought is not None
    said = next(c.value for c in at.caption if "recorded game" in c.value)
    assert digest(shipped()[0])[:8] in said and f"version {RULES_VERSION}" in said
    assert any(button.label == "Practise" for button in at.button)
    assert not opened.all_jobs(), "all is measured"


@pytest.mark.parametrize("page", [_search, _debug])
def test_it_comes_before_what_earlier_visitors_left(
    page: object, recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, program = ResultStore(tmp_path), library.load_sample(PROGRAM)
    game = made_up_trace(program, seed=2)
    save_trace(game, tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    plan = brought(program, data, "a").plan
    played = Result(plan, {"weights": "other"}, {TRACE: data})
    order = Order(PLAY, "an earlier game", 1.0, details=(("begun", ""),))
    store.save(recording.program, order, played)
    practice = Order(SOLVE, "muzero", 1.0)
    facts = {"weights": "other", "seconds": 1.0, "seed": 0}
    store.save(recording.program, practice, replace(played, facts=facts))
    workshop = Workshop(at_once=0, store=store)
    monkeypatch.setattr(caching, "workshop", lambda: workshop)
    monkeypatch.setattr(recordings, "found", lambda opened: recording)
    at = open_view(page, program=PROGRAM)
    searches = session_of(at).open.searches
    assert searches.current == NAME
    assert len(searches.thoughts) == 3
    searches.show("practised 1 s")
    at.run()
    assert searches.current == "practised 1 s", "it is shown once"


def test_it_comes_before_what_play_has_taken_in(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "found", lambda opened: recording)
    opened = opened_as_in_the_explorer(PROGRAM)
    thought = recording.listed[0]
    opened.searches.add(replace(thought, name="kept", identity="kept"), is_kept=True)
    assert opened.searches.current == "kept", "better than none"
    take_up(opened)
    assert opened.searches.current == NAME
    opened.searches.add(replace(thought, name="late", identity="late"), is_kept=True)
    assert opened.searches.current == NAME


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_search_of_an_earlier_visit_does_not_lead_to_its_move(
    is_kept: bool, recording: Recording
) -> None:
    searches = Searches()
    recording.add_to(searches)
    details = (("move", 1),)
    order = Order(RESEARCH, "again", 1.0, basis=recording.listed[0].identity, details=details)
    job = Job(Run(order, "", state=DONE, files={TRACE: recording.second}), is_kept=is_kept)
    searches.jobs.append(job)
    searches.collect()
    assert len(searches.again) == 1
    assert searches.move == (-1 if is_kept else 1)


def test_a_recording_is_of_now_while_the_best_plan_is_the_same(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_as_in_the_explorer(PROGRAM)
    monkeypatch.setattr(record_games, "found", lambda opened: recording)
    assert is_up_to_date(opened), "measured by no plan, and there is none"
    opened.add_plan("other", all_slow_plan(opened.program))
    assert not is_up_to_date(opened)
    best = identity_of(best_beside(opened, recording.plan))
    fitting = replace(recording, gap=replace(recording.gap, best=best))
    monkeypatch.setattr(record_games, "found", lambda opened: fitting)
    assert is_up_to_date(opened)
    monkeypatch.setattr(record_games, "found", lambda opened: None)
    assert not is_up_to_date(opened)


@pytest.mark.parametrize("arguments", [[PROGRAM], [PROGRAM, "--again"]])
def test_what_is_asked_for_again_is_not_taken_from_the_store(
    arguments: list[str], recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = Order(PLAY, "a step", 1.0)
    monkeypatch.setattr(record_games, "RECORDINGS", tmp_path)
    monkeypatch.setattr(record_games, "path_of", lambda name: path_of(name, tmp_path))
    monkeypatch.setattr(record_games, "cache_folder", lambda name: tmp_path / "store")
    store = ResultStore(tmp_path / "store", stamp=stamp())
    store.save(recording.program, order, Result(facts={"step": 1}))
    kept: list[int] = []

    def record(opened: OpenProgram, workshop: Workshop, seconds: float) -> Recording:
        kept.append(len(workshop.kept(opened.program)))
        raise SolverError("is made elsewhere")

    monkeypatch.setattr(record_games, "record", record)
    assert record_games.main(arguments) == 2
    assert kept == [0 if "--again" in arguments else 1]
