"""Views run without a browser (AppTest)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Dataframe

from tests.ui.waiting import SECONDS
from ui.session import caching, state
from ui.session.state import Session
from ui.session.visitor_folders import VisitorFolders

Store = TypeVar("Store", bound=VisitorFolders)


@contextmanager
def packages_scanned_once() -> Iterator[None]:
    """Each new AppTest looks for components in all installed packages; they stay as they are."""
    scan = cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: list(scan()))
        yield


def open_view(script: object, *arguments: str, **query: str) -> AppTest:
    """The view that a function renders with these arguments, from a link with this query."""
    at = AppTest.from_function(script, default_timeout=SECONDS, args=arguments)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def browser_keeps(at: AppTest) -> str:
    """The progress that the browser has been given last."""
    stores = [e for e in at.get("bidi_component") if e.proto.component_name == "browser_store"]
    return str(max((json.loads(e.proto.json) for e in stores), key=lambda s: s["token"])["text"])


def session_of(at: AppTest) -> Session:
    """What the visitor of that view has open."""
    found: Session = at.session_state["explorer"]
    return found


def key_of(table: Dataframe) -> str:
    """The key of a table, under which the session keeps what is chosen in it."""
    found: str = table.proto.id.split("-", 2)[2]
    return found


def kept_by_a_server(monkeypatch: pytest.MonkeyPatch, name: str, store: Store) -> Store:
    """The store, as that of a server whose visitor is always the same; `name`: in `caching`."""
    monkeypatch.setattr(caching, name, lambda: store)
    monkeypatch.setattr(state, "visitor_of", lambda cookie: "v")
    return store
