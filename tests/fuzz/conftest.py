"""The fuzzed explorer finds its components once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.apps import packages_scanned_once


@pytest.fixture(scope="session", autouse=True)
def _packages_scanned_once() -> Iterator[None]:
    with packages_scanned_once():
        yield
