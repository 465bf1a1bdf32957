"""The server gives away no file of the machine, whatever path it is asked for."""

from __future__ import annotations

import http.client
import random
from contextlib import closing
from urllib.parse import quote, urlsplit

import pytest

pytestmark = pytest.mark.browser

PREFIXES = (
    "",
    "static/",
    "media/",
    "component/",
    "_stcore/",
    "app/static/",
    "_stcore/upload_file/",
)
CLIMBS = (
    "../",
    "..%2f",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%5c",
    "..\\",
    "....//",
    "%252e%252e%252f",
    "/",
    "",
)
TARGETS = (
    "etc/passwd",
    "proc/self/environ",
    "pyproject.toml",
    "ui/app.py",
    ".streamlit/config.toml",
)
SECRETS = (b"root:", b"PATH=", b"[project]", b"st.navigation", b"gatherUsageStats")
"""What stands in these files."""


def paths(seed: int, count: int) -> list[str]:
    """Paths that climb out of what the server offers."""
    chance = random.Random(seed)
    return [
        "/"
        + chance.choice(PREFIXES)
        + chance.choice(CLIMBS) * chance.randint(0, 9)
        + quote(chance.choice(TARGETS), safe=chance.choice(["", "/"]))
        for _ in range(count)
    ]


def test_no_path_leads_out_of_what_is_served(server: str) -> None:
    found = urlsplit(server)
    statuses = set()
    for path in paths(0, 500):
        # A connection for each: on one that is kept, every answer waits 40 ms to be acknowledged.
        with closing(
            http.client.HTTPConnection(found.hostname or "", found.port, timeout=60)
        ) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        statuses.add(answer.status)
        assert answer.status < 500, path
        assert not any(secret in body for secret in SECRETS), path
    assert len(statuses) > 1, "some are refused"
