"""The Programs view: search, cards, what-if, upload (AppTest, no browser)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.hlo.parse import MAX_TEXT_BYTES
from engine.program.io import to_json
from engine.program.library import SampleEntry
from engine.solvers import Budget, solve
from engine.workflows.compare import applicable
from tests.program.hlo.modules import FIXTURES
from tests.ui.apps import open_view, session_of
from tests.ui.network import residual_network
from ui.session import caching, opening

TEACHING = "teach-fragmentation"


def _programs() -> None:
    from ui.programs import page as programs

    programs.render()


def _compare() -> None:
    from ui.compare import page as compare

    compare.render()


def opened(script: object = _programs, **query: str) -> AppTest:
    return open_view(script, **query)


def cards(at: AppTest) -> list[str]:
    keys = [b.key or "" for b in at.button]
    return [k.removeprefix("card_play_") for k in keys if k.startswith("card_play_")]


def test_every_sample_has_a_card_with_its_map() -> None:
    at = opened()
    names = [entry.name for entry in caching.sample_index()]
    first = cards(at)
    apart = [entry.name for entry in library.real()]
    shown_apart = [name for name in first if name in apart]
    usual = len(first) - len(shown_apart)
    assert 0 < usual < len(names) - len(apart)
    assert first == names[:usual] + apart[: len(shown_apart)]
    assert bool(shown_apart) == bool(apart) == any("A set apart" in c.value for c in at.caption)
    at.button(key="gallery_more").click().run()
    assert cards(at) == names
    assert not [b for b in at.button if b.key == "gallery_more"]
    others = (*library.large(), *library.real())
    assert set(names) == {*library.sample_names(), *(e.name for e in others)}
    html = " ".join(e.proto.body for e in at.get("html"))
    assert html.count("data:image/svg+xml") == len(names)
    assert at.button(key="open_files").disabled


def test_the_uploader_says_what_the_readers_take() -> None:
    at = opened()
    assert at.get("file_uploader")[0].proto.max_upload_size_mb == MAX_TEXT_BYTES >> 20
    hint = next(c.value for c in at.caption if "HLO dump" in c.value)
    assert "name.off.hlo" in hint and "name.on.hlo" in hint


def test_search_and_filters_find_few_and_say_so() -> None:
    at = opened()
    at.text_input(key="words").set_value("llama").run()
    assert cards(at) == [e.name for e in caching.sample_index() if "llama" in e.name]
    at.multiselect(key="chips").set_value(["tpu-v6e"]).run()
    assert cards(at) == ["llamadecode-v6e-b8", "llama-v6e-b2"]
    at.text_input(key="words").set_value("nothing like it").run()
    assert cards(at) == []
    assert "No program matches" in at.info[0].value


def test_a_look_opens_the_program() -> None:
    at = opened()
    at.text_input(key="words").set_value(TEACHING).run()
    at.button(key=f"card_look_{TEACHING}").click().run()
    assert not at.exception
    assert at.session_state["explorer"].program_name == TEACHING


def test_a_link_opens_a_program_and_a_bad_one_the_first() -> None:
    assert opened(program=TEACHING).session_state["explorer"].program_name == TEACHING
    lost = opened(program="gone")
    assert lost.session_state["explorer"].program_name == library.sample_names()[0]
    assert "“gone”" in lost.warning[0].value and "instead" in lost.warning[0].value
    lost.run()
    assert lost.warning, "until another program is opened"
    lost.text_input(key="words").set_value(TEACHING).run()
    lost.button(key=f"card_look_{TEACHING}").click().run()
    assert not lost.warning


SETS = (library.index, library.held_out, library.large, library.real)


@pytest.mark.parametrize("entries", SETS, ids=lambda entries: entries.__name__)
def test_every_best_plan_can_be_opened(entries: Callable[[], Sequence[SampleEntry]]) -> None:
    """From its file, or by the quick solver that makes it."""
    assert entries()
    for entry in entries():
        name = opening.best_name(entry)
        if name == opening.BEST_KNOWN:
            assert entry.best_plan_path is not None and entry.best_plan_path.exists(), entry.name
        else:
            program = library.load_sample(entry.name)
            assert name in applicable(program), entry.name
            plan = solve(name, program, Budget(5.0))
            assert simulate(program, plan).latency_s == pytest.approx(entry.best_s), entry.name


def test_a_what_if_is_a_program_of_its_own() -> None:
    name = f"{TEACHING}~0.5MiB~2GBps"
    at = opened(_compare, program=name)
    session = at.session_state["explorer"]
    assert session.program_name == name
    program = session.open.program
    assert program.hardware.fast_bytes == 2**19
    assert program.hardware.bandwidth == 2e9
    assert program.provenance["derived_from"] == TEACHING
    plan = session.open.plans[opening.FIRST_SOLVER].plan
    assert check(program, plan) is None


def test_an_impossible_what_if_is_refused_in_the_form() -> None:
    at = opened(program="resnet50-v5e-b64")
    at.number_input[0].set_value(1.0)
    submit = next(b for b in at.button if b.label == "Derive and solve again")
    submit.click().run()
    assert not at.exception
    assert "scratch" in at.error[0].value
    assert at.session_state["explorer"].program_name == "resnet50-v5e-b64"


@pytest.mark.parametrize("wish", ["65537MiB", "2000000GBps", "0.0001GBps", "0.0001MiB"])
def test_what_the_game_takes_for_hardware_the_form_can_show(wish: str) -> None:
    at = opened(program=f"teach-prefetch~{wish}")
    given = [n.value for n in at.number_input]
    hardware = session_of(at).open.program.hardware
    if wish.endswith("MiB"):
        assert given == [hardware.fast_bytes / 2**20, None]
    else:
        assert given == [None, hardware.bandwidth / 1e9]


@pytest.mark.parametrize("origin", [{}, {"kind": "what-if"}])
def test_a_brought_program_may_be_called_as_a_what_if_on_a_chip_that_is_none(
    origin: dict[str, str],
) -> None:
    at = opened(program=TEACHING)
    brought = replace(residual_network(), name=f"{TEACHING}~gpu", provenance=origin)
    opening.add_program(session_of(at), brought.name, brought)
    at.run()
    assert not at.exception
    assert [box.value for box in at.selectbox if box.label == "Chip"] == ["as captured"]


def test_a_brought_program_whose_name_looks_like_a_what_if_is_changed_itself() -> None:
    brought = replace(residual_network(), name=f"{TEACHING}~0.5MiB")
    at = opened(program=TEACHING)
    opening.add_program(session_of(at), brought.name, brought)
    at.run()
    (speed,) = (n for n in at.number_input if n.label.startswith("Bandwidth"))
    assert speed.placeholder == f"{brought.hardware.bandwidth / 1e9:,.6g}"
    assert [n.value for n in at.number_input] == [None, None]


def test_an_empty_what_if_asks_for_a_change() -> None:
    at = opened(program=TEACHING)
    next(b for b in at.button if b.label == "Derive and solve again").click().run()
    assert "Choose a chip" in at.info[0].value


def test_a_bad_upload_is_one_line_and_the_page_lives() -> None:
    at = opened()
    at.get("file_uploader")[0].set_value(("p.json", b"{}", "application/json")).run()
    at.button(key="open_files").click().run()
    assert not at.exception
    assert "p.json: not a mallocmuzero-program file" in at.error[0].value
    at.text_input(key="words").set_value("bert").run()
    assert not at.exception


def test_an_upload_is_a_card_that_says_what_became_of_the_files() -> None:
    at = opened()
    slow, fast = (FIXTURES / name for name in ("mlp_off.hlo", "mlp_on.hlo"))
    given = [(path.name, path.read_bytes(), "text/plain") for path in (fast, slow)]
    at.get("file_uploader")[0].set_value(given).run()
    at.selectbox(key="hardware_").set_value("tpu-v5e").run()
    at.button(key="open_files").click().run()
    assert not at.exception
    assert "Yours" in [heading.value for heading in at.subheader]
    told = " ".join(e.proto.body for e in at.get("html"))
    for words in ("mlp_off.hlo (all slow)", "mlp_on.hlo (XLA&#39;s placements)", "fitted to both"):
        assert words in told
    assert "buffer-assignment dump" in told, "what would help"
    assert at.session_state["explorer"].program_name == "mlp_off"
    assert at.button(key="yours_debug_mlp_off") and at.button(key="yours_play_mlp_off")


def test_a_sample_brought_as_a_file_is_called_one_and_needs_no_hardware() -> None:
    at = opened()
    assert [box for box in at.selectbox if (box.key or "").startswith("hardware_")]
    data = json.dumps(to_json(library.load_sample(TEACHING))).encode()
    at.get("file_uploader")[0].set_value(("mine.json", data, "application/json")).run()
    assert not [box for box in at.selectbox if (box.key or "").startswith("hardware_")]
    at.button(key="open_files").click().run()
    session = at.session_state["explorer"]
    assert session.program_name == TEACHING
    assert ["one of the samples" in item.text for item in session.news.items()] == [True]
    assert "Yours" not in [heading.value for heading in at.subheader]


def test_two_programs_of_one_name_are_both_kept() -> None:
    at = opened()
    session = at.session_state["explorer"]
    body = to_json(residual_network())
    from engine.program.io import from_json

    first = from_json(body, "first")
    changed = json.loads(json.dumps(body))
    changed["hardware"]["fast_bytes"] //= 2
    second = from_json(changed, "second")
    for program in (first, second, first):
        opening.add_program(session, "residual", program)
    assert session.program_name == "residual"
    assert session.programs["residual 2"].program == second
