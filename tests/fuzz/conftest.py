"""The fuzzed explorer keeps nothing and finds its components once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.apps import packages_scanned_once
from ui.jobs.store import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, packages_scanned_once():
        patch.setenv(VARIABLE, "")
        yield
