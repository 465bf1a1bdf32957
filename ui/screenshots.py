"""Pictures of every screen for the documentation: `python -m ui.screenshots` (make screenshots)."""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
]
ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
QUERY = "program=resnet50-v5e-b64"
"""What the pictures show; a program whose tensors contest the fast memory."""
SIZE: ViewportSize = {"width": 1280, "height": 800}
Theme = Literal["light", "dark"]
START_SECONDS = 60


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=IMAGES)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with serve() as address, chromium() as browser:
        for name, picture in PICTURES.items():
            page = open_page(browser, address, name, options.theme, QUERY)
            picture(page)
            path = options.folder / f"{name}.png"
            page.screenshot(path=path)
            print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
            page.close()
    return 0


@contextmanager
def serve(log: Path | None = None) -> Iterator[str]:
    """An explorer on a free port; its address. Raises TimeoutError if it does not start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "ui" / "app.py")]
    command += ["--server.headless", "true", "--server.port", str(port)]
    command += ["--server.fileWatcherType", "none", "--server.address", "127.0.0.1"]
    out = log.open("wb") if log else subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
    try:
        _await(f"http://127.0.0.1:{port}/_stcore/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _await(url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise TimeoutError(f"the explorer did not start within {START_SECONDS} s")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Headless Chromium of the system. Raises FileNotFoundError if there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise FileNotFoundError("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


def open_page(browser: Browser, address: str, view: str, theme: Theme, query: str = "") -> Page:
    """A view in a fresh session, once it has stopped running."""
    page = browser.new_page(viewport=SIZE, color_scheme=theme)
    page.goto(f"{address}/{PATHS.get(view, view)}?{query}")
    page.wait_for_selector(READY[view], timeout=60_000)
    settle(page)
    return page


def settle(page: Page) -> None:
    """Wait until the script has ended and nothing moves any more."""
    page.wait_for_selector('[data-testid="stStatusWidget"]', state="detached", timeout=60_000)
    page.wait_for_timeout(600)


def _compare(page: Page) -> None:
    page.get_by_role("button", name="Run").click()
    running = '[class*="st-key-stop_"]'
    page.wait_for_selector(running, timeout=60_000)
    page.wait_for_selector(running, state="detached", timeout=300_000)
    settle(page)


def _as_it_opens(page: Page) -> None:
    page.mouse.move(0, 0)


PATHS = {"play": ""}
"""Streamlit serves the default view at the root only."""
READY = {
    "programs": '[data-testid="stDataFrame"]',
    "play": ".map canvas",
    "compare": '[data-testid="stPlotlyChart"]',
}
PICTURES = {"programs": _as_it_opens, "play": _as_it_opens, "compare": _compare}

if __name__ == "__main__":
    sys.exit(main())
