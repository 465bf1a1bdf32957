"""One explorer server and one headless Chromium for all browser tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from ui.jobs.store import VARIABLE
from ui.screenshots import chromium, serve


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an explorer that runs for the whole session."""
    folder = tmp_path_factory.mktemp("server")
    with serve(folder / "log", environment={VARIABLE: str(folder / "results")}) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium of the system."""
    with chromium() as found:
        yield found
