"""Films of plans: recorded for larger programs that ship, made in a job for others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.files import write_bytes
from engine.game.moves import RULES_VERSION
from engine.game.notes import notes_its_game
from engine.program import library
from engine.program.io import content_hash
from tests.ui.apps import session_of
from tests.ui.play_page import opened, panel_text, tell
from tests.ui.waiting import are_over
from ui.jobs.protocol import FOLLOW
from ui.model.play.film import Film
from ui.session import films
from ui.session.record_films import body_of, shipped_plans
from ui.session.state import OpenProgram

NAME = "lstm-v5e-b128"
LARGER = [
    entry.name
    for entry in (*library.index(), *library.large())
    if entry.touches > films.QUICK_TOUCHES
]


def test_a_film_played_from_its_record_is_the_same() -> None:
    program = library.load_sample(NAME)
    plan = shipped_plans(NAME, program)[0]
    body = body_of(NAME)
    found = Film(program, plan)
    again = Film(program, plan, next(iter(body["films"].values())))  # type: ignore[attr-defined]
    assert (again.actions, again.saved_s, again.plan) == (found.actions, found.saved_s, found.plan)


def test_who_waits_for_a_film_hears_how_far_it_is_also_while_its_game_is_looked_for() -> None:
    program = library.load_sample(NAME)
    heard: list[float] = []
    Film(program, shipped_plans(NAME, program)[0], tell=heard.append)
    assert heard == sorted(heard) and len(heard) > 2 and 0 <= heard[0] < heard[-1] < 1
    assert any(0 < share < heard[-1] for share in heard), "and not all at its end"


@pytest.mark.parametrize("change", [{"rules": RULES_VERSION + 1}, {"program": "other"}, {}])
def test_records_of_another_program_or_of_other_rules_are_ignored(
    tmp_path: Path, change: dict[str, object]
) -> None:
    body = body_of(NAME) | change
    write_bytes(tmp_path / f"{NAME}.json.gz", json.dumps(body).encode())
    identity = content_hash(library.load_sample(NAME))
    assert bool(films.shipped(NAME, identity, tmp_path)) == (not change)
    (tmp_path / f"{NAME}.json.gz").write_bytes(b"[]")
    assert not films.shipped(NAME, identity, tmp_path)
    assert not films.shipped("../sample_programs/films/" + LARGER[0], identity)


def test_the_map_comes_before_its_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(films, "QUICK_TOUCHES", 0)
    monkeypatch.setattr(films, "_films", lambda: films.Films(0))
    at = opened(NAME)
    here = session_of(at)
    assert here.stored and here.plan is not None
    assert "The map shows the whole plan" in panel_text(at)
    (job,) = [j for j in here.open.jobs if j.order.kind == FOLLOW]
    tell(at, 1, do="play", action=2)
    assert here.cursor.note and here.cursor.move == 1
    assert are_over([job])
    at.run()
    assert here.plan.identity in here.open.records
    assert here.plan.identity in here.open.lines
    assert "The map shows the whole plan" not in panel_text(at)


@pytest.mark.parametrize(
    "name", [LARGER[0], *(pytest.param(n, marks=pytest.mark.nightly) for n in LARGER[1:])]
)
def test_every_plan_of_a_larger_program_ships_with_its_film(name: str) -> None:
    """If this fails because plans or rules have changed: `make films` records them again."""
    program = library.load_sample(name)
    here = OpenProgram(name, program, content_hash(program))
    records = films.shipped(name, here.identity)
    for plan in shipped_plans(name, program):
        if notes_its_game(plan):
            continue
        film = Film(program, plan, records[here.identity_of(plan)])
        assert list(film.actions) == [int(a) for a in records[here.identity_of(plan)]["moves"]]
