"""The gallery: what a search finds, and what a card says."""

from __future__ import annotations

import base64
import re

import pytest

from engine.hardware.what_if import WhatIf, derive
from engine.plan.io import plan_from_json
from engine.program import library
from engine.program.library import SampleEntry, describe
from engine.program.model import Program
from engine.program.proof import CONTESTED, gap
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from ui.components.map_svg import COLOURS, picture, thumbnail
from ui.model.programs.catalogue import (
    SORTS,
    TEACHING,
    Filter,
    card_html,
    facts,
    family,
    matching,
    short_title,
    step_of,
)

ENTRIES = library.index()


@pytest.fixture(scope="module")
def program() -> Program:
    return residual_network()


def names(wish: Filter) -> set[str]:
    return {e.name for e in matching(ENTRIES, wish)}


def test_nothing_wished_finds_everything() -> None:
    assert matching(ENTRIES, Filter()) == list(ENTRIES)


def test_every_word_must_occur() -> None:
    assert names(Filter("resnet")) == {e.name for e in ENTRIES if "resnet" in e.name}
    assert names(Filter("LSTM training")) == {
        e.name for e in ENTRIES if e.model == "lstm" and e.train
    }
    assert names(Filter("no such model")) == set()


def test_filters_narrow() -> None:
    chips = {e.hardware for e in matching(ENTRIES, Filter(hardware=("tpu-v6e", "tpu-v4")))}
    assert chips == {"tpu-v6e", "tpu-v4"}
    assert names(Filter(steps="training")) == {e.name for e in ENTRIES if e.train}
    assert names(Filter(families=(TEACHING,))) == {n for n in names(Filter()) if n[:6] == "teach-"}
    contested = matching(ENTRIES, Filter(is_contested=True))
    assert 0 < len(contested) < len(ENTRIES)
    for entry in contested:
        over = gap(entry.xla_latency_s, entry.bound_s)
        assert over is not None and over >= CONTESTED


def test_the_gallery_can_be_ordered() -> None:
    far = matching(ENTRIES, Filter(sort="XLA furthest from the bound"))
    gaps = [gap(e.xla_latency_s, e.bound_s) for e in far if e.xla_latency_s]
    assert gaps == sorted(gaps, key=lambda gap: -(gap or 0))
    assert far[-1].xla_latency_s is None, "what has no gap comes last"
    longest = [e.instructions for e in matching(ENTRIES, Filter(sort="longest"))]
    assert longest == sorted(longest, reverse=True)
    assert all(len(matching(ENTRIES, Filter(sort=sort))) == len(ENTRIES) for sort in SORTS)


def test_every_model_has_a_family() -> None:
    assert "other" not in {family(e) for e in ENTRIES}
    assert {step_of(e) for e in ENTRIES} == {"inference", "training", ""}


def test_a_card_shows_the_gaps(program: Program) -> None:
    known = {"xla_latency_s": 1.25, "bound_s": 1.0, "best_s": 1.0001, "best_solver": "greedy"}
    entry = describe(program, "a", "A <net>, inference", model="vit", batch=4, **known)
    html = card_html(entry, thumbnail(program, None))
    assert "A &lt;net&gt;, batch 4" in html
    assert "+25.0" in html
    assert "width:50.0%" in html
    assert "best, greedy" in html
    assert "optimal" in html
    plain = card_html(describe(program, "b", "Unknown"), "")
    assert "gap" not in plain
    assert "<img" not in plain


def test_a_card_says_what_is_without_an_estimate(program: Program) -> None:
    card = {
        s: card_html(describe(program, "b", "x", unestimated_share=s), "") for s in (0.254, 0.0)
    }
    assert "25.4" in card[0.254]
    assert "without an estimate" in card[0.254]
    assert "without an estimate" not in card[0.0]


def test_short_titles_name_the_model_and_its_batch(program: Program) -> None:
    title = "BERT-like encoder: 6 layers, inference, batch 32, tpu-v5e"
    entry = describe(program, "a", title, model="bert", batch=32, train=True)
    assert short_title(entry) == "BERT-like encoder, batch 32, training"
    assert short_title(describe(program, "a", "Keep or drop")) == "Keep or drop"


def test_facts_say_what_is_derived(program: Program) -> None:
    assert dict(facts(program))["Length"] == f"{program.num_slots} instructions"
    assert "Derived" not in dict(facts(program))
    derived = derive(program, WhatIf(bandwidth=1e11), "slower")
    assert program.name in dict(facts(derived))["Derived"]


@pytest.mark.parametrize("entry", ENTRIES[:6], ids=lambda e: e.name)
def test_thumbnails_are_small_and_drawn(entry: SampleEntry) -> None:
    sample = library.load_sample(entry.name)
    plan = plan_from_json(sample.provenance["xla_plan"], entry.name)
    svg = thumbnail(sample, plan)
    assert len(svg) < 24_000
    assert COLOURS[1] in svg
    packed = re.search('base64,([^"]+)"', card_html(entry, svg))
    assert packed is not None
    assert base64.b64decode(packed[1]).decode() == svg


def test_the_picture_has_every_stay(program: Program) -> None:
    plan = first_fit_plan(program)
    svg = picture(program, plan, "a < b", 1.25e-3)
    assert svg.count("<title>") == len(plan.stays) + 1
    assert "a &lt; b: 1.25" in svg
    assert svg.startswith("<svg") and svg.endswith("</svg>\n")
