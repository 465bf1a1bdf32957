"""What a visitor brought is there again after a reload, until it is removed or too old."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.debugging.move_notes import Note
from engine.plan.io import plan_from_json, plan_to_json
from engine.program import library
from engine.program.io import content_hash, to_json
from engine.program.model import Program
from engine.solvers import solve
from tests.program.hlo.modules import FIXTURES
from tests.ui.apps import kept_by_a_server, open_view, session_of
from tests.ui.network import residual_network
from ui.jobs.protocol import STOPPED
from ui.jobs.queue import Workshop
from ui.model.programs import uploads
from ui.session import opening
from ui.session.kept_notes import KeptNotes
from ui.session.own_games import OwnGames
from ui.session.own_programs import OwnProgram, OwnPrograms
from ui.session.state import Session

SAMPLE = "teach-fragmentation"
SUMMARY = (("Files", "one"), ("Costs", "fitted"))


def own(name: str, program: Program) -> OwnProgram:
    return OwnProgram(name, replace(program, name=name), SUMMARY)


def others(program: Program, count: int) -> list[Program]:
    """Programs that differ in their first size."""
    head, *rest = program.values
    sizes = range(head.size_bytes, head.size_bytes + count)
    return [replace(program, values=(replace(head, size_bytes=s), *rest)) for s in sizes]


def aged(store: OwnPrograms, folder: Path, visitor: str, programs: list[Program]) -> None:
    """Keep programs a second apart, the first the oldest."""
    for i, program in enumerate(programs):
        store.save(visitor, own(f"p{i}", program))
        place = folder / visitor / content_hash(program)
        if place.exists():
            os.utime(place, (i, i))


def test_it_comes_back_as_it_was(tmp_path: Path, program: Program) -> None:
    OwnPrograms(tmp_path).save("v", own("mine", program))
    assert OwnPrograms(tmp_path).names("v") == ["mine"]
    assert OwnPrograms(tmp_path).find("v", "mine") == own("mine", program)


def test_nobody_sees_those_of_others(tmp_path: Path, program: Program) -> None:
    store = OwnPrograms(tmp_path)
    store.save("v", own("mine", program))
    for visitor in ("w", "", "*"):
        assert store.names(visitor) == []
        assert store.find(visitor, "mine") is None


def test_the_oldest_of_a_visitor_go(tmp_path: Path, program: Program) -> None:
    store = OwnPrograms(tmp_path, most_of_one=2)
    aged(store, tmp_path, "v", others(program, 4))
    assert store.names("v") == ["p2", "p3"]


def test_the_oldest_of_all_go(tmp_path: Path, program: Program) -> None:
    store = OwnPrograms(tmp_path, most_of_all=3)
    aged(store, tmp_path, "v", others(program, 2))
    aged(store, tmp_path, "w", others(program, 2))
    assert len(store.names("v")) + len(store.names("w")) == 3
    assert "p0" not in store.names("v")


def test_of_one_whose_removal_was_killed_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: Program
) -> None:
    store = OwnPrograms(tmp_path)
    store.save("v", own("mine", program))
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    store.remove("v", "mine")
    assert store.names("v") == []
    monkeypatch.undo()
    for place in tmp_path.glob("*"):
        os.utime(place, (1, 1))
    store.save("w", own("other", program))
    assert {path.name for path in tmp_path.glob("*")} == {"v", "w"}


@pytest.mark.parametrize("name", ["program.json.gz", "listing.json"])
def test_a_damaged_one_counts_as_none(tmp_path: Path, program: Program, name: str) -> None:
    store = OwnPrograms(tmp_path)
    store.save("v", own("mine", program))
    (tmp_path / "v" / content_hash(program) / name).write_bytes(b"[1")
    assert store.find("v", "mine") is None


def test_where_nothing_can_be_kept_all_else_goes_on(tmp_path: Path, program: Program) -> None:
    (tmp_path / "file").write_text("")
    for store in (OwnPrograms(None), OwnPrograms(tmp_path / "file")):
        store.save("v", own("mine", program))
        store.remove("v", "mine")
        assert store.names("v") == []


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnPrograms:
    """The store of a server whose visitor is always the same."""
    return kept_by_a_server(monkeypatch, "own_programs", OwnPrograms(tmp_path))


def with_origin(**origin: object) -> Program:
    return replace(residual_network(), name="odd", provenance=origin)


def plan_of_nothing() -> dict[str, object]:
    """XLA's plan as a file may have it: of a group that does not exist."""
    plan = plan_to_json(solve("greedy", residual_network()))
    stays = {"group": [9999], "offset": [0], "start": [0], "end": [1]}
    return {**plan, "stays": stays}


@pytest.mark.parametrize(
    "origin",
    [
        {"xla_plan": plan_of_nothing},
        {"kind": "what-if"},
        {"costs": "fitted", "fit_error": "x", "slow": [1], "fast": "x"},
        {"counts": {"while": "x"}},
    ],
)
def test_no_file_leaves_its_visitor_with_a_broken_page(
    kept: OwnPrograms, origin: dict[str, object]
) -> None:
    origin = {key: value() if callable(value) else value for key, value in origin.items()}
    at = open_view(_programs, program=SAMPLE)
    data = json.dumps(to_json(with_origin(**origin))).encode()
    at.get("file_uploader")[0].set_value(("p.json", data, "application/json")).run()
    at.button(key="open_files").click().run()
    assert not at.exception
    assert kept.names("v") == ([] if at.error else ["odd"])
    open_view(_programs, program=SAMPLE)


@pytest.mark.parametrize("origin", [{"xla_plan": plan_of_nothing}, {"counts": 5}])
def test_what_was_kept_before_it_was_looked_at_can_be_removed(
    kept: OwnPrograms, origin: dict[str, object]
) -> None:
    origin = {key: value() if callable(value) else value for key, value in origin.items()}
    kept.save("v", OwnProgram("odd", with_origin(**origin), SUMMARY))
    at = open_view(_programs, program=SAMPLE)
    at.button(key="yours_remove_odd").click().run()
    assert not at.exception
    assert kept.names("v") == [] and buttons(at) == []


def test_a_name_that_no_page_can_show_is_not_listed(kept: OwnPrograms, tmp_path: Path) -> None:
    brought(Session(identity="v"), residual_network())
    (place,) = (tmp_path / "v").iterdir()
    (place / "listing.json").write_text(r'["a\ud800", []]')
    open_view(_programs, program=SAMPLE)
    assert kept.names("v") == []


def brought(session: Session, program: Program) -> None:
    opening.bring(session, replace(program, name="mine"), SUMMARY)


def test_another_program_of_the_same_name_gets_a_number(kept: OwnPrograms) -> None:
    first, second = others(residual_network(), 2)
    brought(Session(identity="v"), first)
    reloaded = Session(identity="v")
    brought(reloaded, second)
    assert kept.names("v") == ["mine", "mine 2"]
    assert reloaded.programs["mine"].summary == SUMMARY
    assert reloaded.open.program.name == "mine 2", "so are what-ifs of it"


def test_a_changed_sample_does_not_take_the_samples_name(kept: OwnPrograms) -> None:
    sample = library.load_sample(SAMPLE)
    hardware = replace(sample.hardware, bandwidth=2 * sample.hardware.bandwidth)
    session = Session(identity="v")
    opening.bring(session, replace(sample, hardware=hardware), SUMMARY)
    assert kept.names("v") == [f"{SAMPLE} 2"]
    reloaded = Session(identity="v")
    opening.open_named(reloaded, SAMPLE)
    assert reloaded.open.identity == content_hash(sample)


def test_a_sample_that_is_brought_is_the_sample(kept: OwnPrograms) -> None:
    session = Session(identity="v")
    opening.bring(session, library.load_sample(SAMPLE), SUMMARY)
    assert session.program_name == SAMPLE and kept.names("v") == []


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_the_same_content_under_another_name_is_the_same_program(
    kept: OwnPrograms, is_reloaded: bool
) -> None:
    session = Session(identity="v")
    brought(session, residual_network())
    here = Session(identity="v") if is_reloaded else session
    assert not opening.bring(here, replace(residual_network(), name="again"), SUMMARY)
    assert list(here.programs) == kept.names("v") == ["mine"]
    assert here.program_name == "mine"


@pytest.mark.usefixtures("kept")
def test_a_sample_that_is_brought_has_the_plans_that_ship_with_it() -> None:
    session = Session(identity="v")
    entry = next(entry for entry in library.index() if entry.best_plan)
    opening.bring(session, replace(library.load_sample(entry.name), provenance={}), SUMMARY)
    assert session.program_name == entry.name
    assert {opening.BEST_KNOWN, opening.COMPILED} <= set(session.open.plans)


def read_from(*names: str) -> Program:
    files = [(name, (FIXTURES / name).read_bytes()) for name in names]
    return replace(uploads.read(files, "tpu-v5e"), name="mine")


WITHOUT, WITH = ("mlp_on.hlo",), ("mlp_on.hlo", "mlp_on.buffers.txt")


@pytest.mark.parametrize("is_reloaded", [False, True])
@pytest.mark.parametrize("off", [(), ("mlp_off.hlo",)])
def test_better_files_of_a_program_are_taken_over(
    kept: OwnPrograms, off: tuple[str, ...], is_reloaded: bool
) -> None:
    session, less, more = Session(identity="v"), read_from(*off, *WITHOUT), read_from(*off, *WITH)
    opening.bring(session, less, SUMMARY)
    own = opening.keep_plan(session, "you", solve("greedy", less))
    here = Session(identity="v") if is_reloaded else session
    for program, summary in ((more, (("Files", "better"),)), (less, SUMMARY)):
        assert not opening.bring(here, program, summary)
        xla = here.open.plans[opening.COMPILED].plan
        assert xla == plan_from_json(more.provenance["xla_plan"], "file")
        assert here.open.program == more and here.open.summary == (("Files", "better"),)
        assert kept.find("v", "mine") == OwnProgram("mine", more, here.open.summary)
        assert (own in here.open.plans) is not is_reloaded, "what was made of it stays"


def test_it_is_said_what_is_kept_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = kept_by_a_server(monkeypatch, "own_programs", OwnPrograms(tmp_path, most_of_one=2))
    programs = others(residual_network(), 3)
    aged(store, tmp_path, "v", programs[:2])
    session = Session(identity="v")
    opening.bring(session, replace(programs[2], name="p2"), SUMMARY)
    assert store.names("v") == ["p1", "p2"]
    assert [item.subject for item in session.news.items()] == ["p0"]
    assert set(session.programs) == {"p0", "p2"}, "it is open as long as the visitor stays"
    opening.bring(session, replace(programs[2], name="p2"), SUMMARY)
    assert len(session.news.items()) == 1


def test_what_is_removed_leaves_what_others_of_its_content_need(
    kept: OwnPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program that was brought before it became a sample."""
    games = kept_by_a_server(monkeypatch, "own_games", OwnGames(tmp_path / "games"))
    kept.save("v", own("mine", library.load_sample(SAMPLE)))
    session = Session(identity="v")
    opening.open_named(session, SAMPLE)
    name = opening.keep_plan(session, "you", solve("greedy", session.open.program))
    opening.open_named(session, "mine")
    opening.remove(session, "mine")
    assert list(games.find("v", session.programs[SAMPLE].identity).plans) == [name]


def test_what_is_removed_works_no_more_and_leaves_nothing(
    kept: OwnPrograms,
    idle_workshop: Workshop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = kept_by_a_server(monkeypatch, "kept_notes", KeptNotes(tmp_path / "notes"))
    session = Session(identity="v")
    brought(session, residual_network())
    job = opening.order(session, "greedy", 1.0)
    identity = session.open.identity
    assert notes.save("v", identity, [Note("game", 1, "a thought")])
    opening.remove(session, "mine")
    assert not list(notes.find("v", identity))
    assert job.state == STOPPED and "mine" not in session.programs


def _programs() -> None:
    from ui.programs import page as programs

    programs.render()


def buttons(at: AppTest) -> list[str]:
    return [b.key or "" for b in at.button if (b.key or "").startswith("yours_")]


def test_a_reload_shows_it_under_yours_and_opens_links_to_it(kept: OwnPrograms) -> None:
    brought(Session(identity="v"), residual_network())
    at = open_view(_programs, program="mine")
    assert session_of(at).program_name == "mine"
    assert session_of(at).open.summary == SUMMARY
    assert "yours_play_mine" in buttons(open_view(_programs))


def test_what_goes_with_a_program_is_said_before_it_is_removed(kept: OwnPrograms) -> None:
    brought(Session(identity="v"), residual_network())
    at = open_view(_programs, program="mine")
    (window,) = [w for w in at.get("popover") if w.proto.popover.label == "Remove"]
    assert [b.key for b in window.get("button")] == ["yours_remove_mine"]
    (said,) = window.get("caption")
    assert "plans" in said.value
    assert not [b for b in at.button if b.label == "Remove"]


def test_what_stands_under_yours_takes_no_open_programs_place(kept: OwnPrograms) -> None:
    for number, program in enumerate(others(residual_network(), 3)):
        kept.save("v", own(f"mine {number}", program))
    at = open_view(_programs, program=SAMPLE)
    assert len([name for name in buttons(at) if "play" in name]) == 3
    assert list(session_of(at).programs) == [SAMPLE]
    at.button(key="yours_remove_mine 1").click().run()
    assert not at.exception
    assert kept.names("v") == ["mine 0", "mine 2"]
    opening.open_named(session_of(at), "mine 0")
    assert list(session_of(at).programs) == [SAMPLE, "mine 0"]
    assert session_of(at).open.summary == SUMMARY


def test_what_is_removed_does_not_come_back(kept: OwnPrograms) -> None:
    brought(Session(identity="v"), residual_network())
    at = open_view(_programs, program="mine")
    at.button(key="yours_remove_mine").click().run()
    assert not at.exception
    assert buttons(at) == [] and kept.names("v") == []
    assert session_of(at).program_name == opening.program_names(session_of(at))[0]
