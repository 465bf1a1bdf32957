"""A small program, and the film of a plan that was made outside the game."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.program.model import Program
from tests.ui.apps import packages_scanned_once
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from ui.jobs.queue import Workshop
from ui.model.play.film import Film
from ui.session import caching


@pytest.fixture(scope="session", autouse=True)
def _packages_scanned_once() -> Iterator[None]:
    with packages_scanned_once():
        yield


@pytest.fixture(scope="session")
def program() -> Program:
    return residual_network()


@pytest.fixture(scope="session")
def film(program: Program) -> Film:
    return Film(program, first_fit_plan(program))


@pytest.fixture
def idle_workshop(monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Takes orders, and works on none of them."""
    made = Workshop(at_once=0)
    monkeypatch.setattr(caching, "workshop", lambda: made)
    return made
