"""Names that come from a visitor's file or link are shown by every page, never obeyed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Dataframe

from engine.agent.trace_io import save_trace
from engine.compiler.steering.verify import AimResult, Verdict
from engine.program.io import content_hash
from engine.solvers import solve
from tests.ui.apps import open_view, session_of
from tests.ui.builders import MARKUP, first_fit_plan, hostile_program
from tests.ui.search_traces import made_up_trace
from ui.jobs.protocol import SOLVE, VERIFY, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.model.compare.comparison import MODES
from ui.model.compiler.state import CompiledPlan
from ui.model.search.state import brought
from ui.session import opening
from ui.session.state import OpenProgram

PROGRAM = hostile_program()
ONE, OTHER = f"{MARKUP} one", f"{MARKUP} other"
LINKED = re.compile(r"!?\[\]\(|\[here\]|<img|:red\[|\$x\$|https?://|www\.|\w@\w")
"""What of `MARKUP` would be obeyed where it stands in Markdown as it is."""
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_AS_THEY_ARE = {"html", "text", "code", "arrow_data_frame", "bidi_component", "text_input"}
"""Elements that show texts and obey no Markdown."""
_NOT_OBEYED = re.compile(r"(^|_)(id|ids|url|urls|file_name|options|value|values|default)$")
"""Fields that are not shown, or shown as they are: what a list offers, what was typed."""


def _page(name: str) -> None:
    from importlib import import_module

    import_module(f"ui.{name}.page").render()


def texts_of(message: Message, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a message that may be Markdown, each with the name of its field."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE and _NOT_OBEYED.search(field.name):
            continue
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                yield from texts_of(one, f"{path}.{field.name}")
            elif isinstance(one, str):
                yield f"{path}.{field.name}", one


def nodes(at: AppTest) -> Iterator[Any]:
    """All elements and containers of a page."""
    waiting: list[Any] = list(at._tree.children.values())
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Block):
            waiting += node.children.values()


def obeyed(at: AppTest) -> list[str]:
    """What of the names on a page would be obeyed."""
    found = []
    for node in nodes(at):
        if node.type == "plotly_chart":
            found += [t for t in _strings(json.loads(node.proto.spec)) if "<img" in t]
        elif node.type not in _AS_THEY_ARE and isinstance(node.proto, Message):
            for name, text in texts_of(node.proto):
                bare = CODE.sub("", re.sub(r"\\.", "", text))
                if "evil" in text and LINKED.search(bare):
                    found.append(f"{node.type}{name}: {text}")
    return found


def _strings(thing: Any) -> Iterator[str]:
    """The texts in a chart but for its keys, which nobody sees."""
    if isinstance(thing, str):
        yield thing
    for key, one in thing.items() if isinstance(thing, dict) else ():
        if key not in ("ids", "parents"):
            yield from _strings(one)
    for one in thing if isinstance(thing, list) else ():
        yield from _strings(one)


def equip(opened: OpenProgram, data: bytes) -> None:
    """Plans, runs, a compile and a game, all of names that would like to be obeyed."""
    for name, plan in ((ONE, first_fit_plan(PROGRAM)), (OTHER, solve("greedy", PROGRAM))):
        opened.add_plan(name, plan)
    opened.comparison.plans = [ONE, OTHER]
    opened.searches.add(brought(PROGRAM, data, MARKUP))
    for kind in (SOLVE, VERIFY):
        run = Run(Order(kind, f"compiled {ONE}", 1.0), "")
        run.fail(f"{MARKUP}: cannot be")
        opened.jobs.append(Job(run))
    verdict = Verdict(
        title="by saving",
        default_cycles=2.0,
        default_stall_cycles=0.0,
        ours_cycles=1.0,
        ours_stall_cycles=0.0,
        default_priced_cycles=0.0,
        ours_priced_cycles=0.0,
        predicted_default_cycles=2.0,
        predicted_cycles=1.0,
        realised=0.5,
        placements=(AimResult((PROGRAM.values[0].name,), (), 1e-6, 0.5, MARKUP),),
        unknown_instructions=(),
        compiler_options={},
    ).to_json()
    row = {"name": MARKUP, "slot": 1, "default": 9.0, "compiled": 5.0, "predicted": 5.0}
    for name in (ONE, OTHER):
        asked = opened.plans[ONE].identity
        opened.compiler.compiled[name] = CompiledPlan(name, asked, verdict, [row])
    opened.compiler.shown = ONE
    opened.bound_s = PROGRAM.all_fast_s


def choose_rows(at: AppTest) -> None:
    """Choose the first row of every table of which one can be chosen."""
    for node in nodes(at):
        if isinstance(node, Dataframe) and node.proto.selection_mode:
            key = node.proto.id.split("-", 2)[2]
            chosen = {"rows": [0], "columns": [], "cells": [(0, "solver")]}
            at.session_state[key] = {"selection": chosen}


@pytest.mark.parametrize(
    ("page", "mode"),
    [
        *(("compare", mode) for mode in MODES),
        *((page, "") for page in ("programs", "play", "search", "debug", "compiler")),
    ],
)
def test_no_page_obeys_the_name_of_a_program_plan_or_tensor(
    page: str, mode: str, tmp_path: Path, idle_workshop: Workshop
) -> None:
    save_trace(made_up_trace(PROGRAM), tmp_path / "a.npz")
    at = open_view(_page, page, program="teach-prefetch")
    session = session_of(at)
    opening.add_program(session, MARKUP, PROGRAM)
    assert session.open.identity == content_hash(PROGRAM)
    equip(session.open, (tmp_path / "a.npz").read_bytes())
    session.open.comparison.mode = mode or "runtimes"
    session.has_charts = True
    at.run()
    assert not at.exception
    found = obeyed(at)
    choose_rows(at)
    at.run()
    assert not at.exception
    assert [*found, *obeyed(at)] == []
