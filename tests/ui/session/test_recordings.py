"""Recorded games: shown at first sight, with the program, weights and rules they are of."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from engine.agent.trace_io import save_trace
from engine.debugging.findings import findings
from engine.debugging.gap_account import correct
from engine.debugging.regret import study_of
from engine.errors import CheckpointError
from engine.game.moves import RULES_VERSION, Rules
from engine.program import library
from engine.program.io import content_hash
from tests.ui.apps import open_view, session_of
from tests.ui.search_traces import made_up_trace
from ui.jobs.queue import Workshop
from ui.jobs.weights import digest, shipped
from ui.model.search.recording import NAME, Recording, recording_of
from ui.model.search.state import Searches, brought
from ui.session import recordings
from ui.session.record_games import opened_as_in_the_explorer
from ui.session.recordings import found, path_of, take_up

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
    rows = [asdict(finding) for finding in findings("", trace, study)]
    corrected = correct(program, plan, None)
    return Recording(
        program=content_hash(program),
        weights=shipped()[0],
        digest=digest(shipped()[0]),
        plan=plan,
        game=(folder / "game").read_bytes(),
        second=(folder / "second").read_bytes(),
        findings={"findings": rows, "completeness": 1.0},
        gap={**asdict(corrected), "corrections": [asdict(c) for c in corrected.found]}
        | {"bound_by_slot": [0.0] * (program.num_slots + 1)},
        best="",
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
    assert first.study is not None and first.study.regrets
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


@pytest.mark.parametrize("damage", [b"", b"PK\3\4 nonsense", b"\x93NUMPY"])
def test_a_damaged_file_is_ignored(damage: bytes, tmp_path: Path) -> None:
    path_of(PROGRAM, tmp_path).write_bytes(damage)
    assert found(opened_as_in_the_explorer(PROGRAM), tmp_path) is None
    with pytest.raises(CheckpointError, match="record it again"):
        recording_of(damage, "x")


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
    assert take_up(opened)
    assert list(opened.searches.thoughts) == [NAME]
    assert not take_up(opened), "once"
    other = opened_as_in_the_explorer(PROGRAM)
    other.searches.is_watched = True
    assert not take_up(other), "the visitor has asked for another game already"


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
    kinds = [job.order.kind for job in opened.all_jobs()]
    assert not kinds or page is _debug
