"""A link to a program that somebody brought: its receiver brings the file, and sees that view."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.program.io import content_hash, to_json
from engine.program.model import Program
from tests.ui.apps import kept_by_a_server, open_view, session_of
from tests.ui.network import residual_network
from ui.session import caching, links, opening
from ui.session.link_query import content_of, content_part, ignored
from ui.session.own_programs import OwnProgram, OwnPrograms
from ui.session.state import Session


def _play() -> None:
    from ui.play import page

    page.render()


def _compare() -> None:
    from ui.compare import page

    page.render()


@pytest.fixture
def mine() -> Program:
    return replace(residual_network(), name="mine")


def link(program: Program, **more: str) -> dict[str, str]:
    return {"program": "mine", "content": content_part(content_hash(program)), **more}


def bring(at: AppTest, program: Program) -> None:
    body = json.dumps(to_json(program)).encode()
    at.get("file_uploader")[0].set_value((f"{program.name}.json", body, "application/json")).run()
    at.button(key="open_files").click().run()
    assert not at.exception


def test_the_file_opens_the_very_view(mine: Program) -> None:
    at = open_view(_play, **link(mine, plan="greedy", move="6", select="3"))
    assert at.subheader[0].value == "Bring the file of “mine”"
    assert not session_of(at).program_name, "nothing else is shown in its place"
    bring(at, mine)
    here = session_of(at)
    assert (here.open.identity, here.cursor.move) == (content_hash(mine), 5)
    assert here.plan is not None and here.plan.name == "greedy"
    assert here.cursor.selected == 3
    assert not here.notices and not at.warning


def test_another_program_is_refused_and_may_be_followed_by_the_right_one(mine: Program) -> None:
    at = open_view(_play, **link(mine))
    other = replace(mine, hardware=replace(mine.hardware, bandwidth=2 * mine.hardware.bandwidth))
    bring(at, other)
    assert "another program" in at.error[0].value
    assert not session_of(at).program_name
    bring(at, mine)
    assert session_of(at).open.identity == content_hash(mine)


@pytest.mark.parametrize("page", [_play, _compare])
def test_who_does_not_have_it_sees_a_sample(page: Callable[[], None], mine: Program) -> None:
    at = open_view(page, **link(mine))
    at.button(key="no_file").click().run()
    assert not at.exception
    assert session_of(at).program_name == caching.sample_index()[0].name


def test_who_has_it_under_another_name_needs_no_file(mine: Program, tmp_path: Path) -> None:
    store, session = OwnPrograms(tmp_path), Session()
    store.save(session.identity, OwnProgram("other", replace(mine, name="other"), ()))
    assert store.named(session.identity, content_part(content_hash(mine))) == "other"
    assert store.named(session.identity, "0" * 12) is None
    assert OwnPrograms(None).named(session.identity, "0") is None
    opening.add_program(session, "again", mine)
    opening.open_link(session, link(mine))
    assert session.program_name == "again" and not session.awaited_file


def test_who_has_it_under_another_name_sees_the_very_view(
    mine: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = kept_by_a_server(monkeypatch, "own_programs", OwnPrograms(tmp_path))
    store.save("v", OwnProgram("other", replace(mine, name="other"), ()))
    at = open_view(_play, **link(mine, plan="greedy", move="6", select="3", window="0_4_0_100"))
    here = session_of(at)
    assert (here.program_name, here.cursor.move, here.cursor.selected) == ("other", 5, 3)
    assert here.look == {"window": "0_4_0_100"}
    opening.open_named(here, "teach-prefetch")
    assert not here.linked, "the link is about no other program"


def test_links_to_samples_and_what_ifs_need_no_file(mine: Program) -> None:
    session = Session()
    opening.open_named(session, "teach-prefetch")
    assert links.address(session) == {"program": "teach-prefetch"}
    opening.open_named(session, "teach-prefetch~0.5MiB")
    assert "content" not in links.address(session)
    opening.add_program(session, "mine", mine)
    assert links.address(session) == link(mine)


def test_a_what_if_of_a_brought_program_asks_for_its_original(mine: Program) -> None:
    sender = Session()
    opening.add_program(sender, "mine", mine)
    half = mine.hardware.fast_bytes / 2**21
    opening.open_named(sender, f"mine~{half:g}MiB")
    sent = links.address(sender)
    assert sent == link(mine) | {"program": f"mine~{half:g}MiB"}
    at = open_view(_play, **sent, move="4")
    assert at.subheader[0].value == "Bring the file of “mine”"
    bring(at, mine)
    here = session_of(at)
    assert here.program_name == sent["program"] and here.open.identity == sender.open.identity
    assert here.cursor.move == 3 and not here.notices
    assert links.address(here) == sent


def test_a_what_if_of_a_kept_program_is_there_after_a_reload(
    mine: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OwnPrograms(tmp_path)
    monkeypatch.setattr(caching, "own_programs", lambda: store)
    store.save("visitor", OwnProgram("mine", mine, (("from", "a file"),)))
    reloaded = Session(identity="visitor")
    opening.open_link(
        reloaded, {"program": "mine~tpu-v6e", "content": content_part(content_hash(mine))}
    )
    assert reloaded.program_name == "mine~tpu-v6e"
    assert links.address(reloaded)["content"] == content_part(content_hash(mine))
    # A program that was brought as the what-if that it is needs no other file.
    derived = reloaded.open.program
    other = Session(identity="other")
    opening.bring(other, derived, (("from", "a file"),))
    assert links.address(other)["content"] == content_part(content_hash(derived))


def test_nonsense_for_a_content_is_said_to_be_ignored() -> None:
    assert content_of({"content": "../../etc"}) == ""
    assert "content=../../etc" in ignored({"content": "../../etc"}, 1)
    assert not ignored({"content": "0123456789ab"}, 1)
