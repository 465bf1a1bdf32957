"""Pictures of every screen for the documentation: `python -m ui.screenshots` (make screenshots)."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from engine.cli.app import SCRIPT, server_command

CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    # Else each window draws two pages for what its address bar may show: a quarter of the work.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"
    ",SpareRendererForSitePerProcess",
]
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""The names that a browser goes by, as in the Makefile; the shell, without windows, works least."""
ROOT = Path(__file__).resolve().parent.parent
APP = ROOT / "ui" / "server.py"
IMAGES = ROOT / "docs" / "images"
QUERY = "program=resnet50-v5e-b64"
"""The link to the program in the pictures, whose tensors contest the fast memory."""
SIZE: ViewportSize = {"width": 1280, "height": 800}
OPINION_MOVE = "7"
"""A move of that program at which more than one action is legal and large enough to be seen."""
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
"""What Streamlit's front end says once no script runs."""
Theme = Literal["light", "dark"]
START_SECONDS = 600
"""How long a server may take to start; one that has ended is not waited for."""


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=IMAGES)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--only", nargs="+", choices=list(PICTURES), default=list(PICTURES))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with serve() as address, chromium() as browser:
        for name in options.only:
            picture = PICTURES[name]
            query = picture.query if picture.view in OWN_QUERY else QUERY + picture.query
            page = open_page(browser, address, picture.view, options.theme, query)
            page.set_viewport_size({"width": SIZE["width"], "height": picture.height})
            picture.prepare(page)
            path = options.folder / f"{name}.png"
            page.screenshot(path=path, timeout=300_000)
            print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
            page.close()
    return 0


@contextmanager
def serve(
    log: Path | None = None, app: Path = SCRIPT, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run an explorer on a free port; yields its address. Raises TimeoutError if none starts.

    `environment`: variables that it has besides those of this process.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*server_command(port, True, app), "--server.fileWatcherType", "none"]
    command += ["--server.address", "127.0.0.1"]
    with (log or Path(os.devnull)).open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        try:
            _await(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise TimeoutError(f"the explorer did not start, or not within {START_SECONDS} s")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Headless Chromium or Chrome of the system. Raises FileNotFoundError if there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise FileNotFoundError("neither Chromium nor Chrome is installed; `make browser` says how")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


def open_page(browser: Browser, address: str, view: str, theme: Theme, query: str = "") -> Page:
    """Open a view in a fresh session; returns its page once it has stopped running."""
    page = browser.new_page(viewport=SIZE, color_scheme=theme)
    show(page, address, view, query)
    return page


def show(page: Page, address: str, view: str, query: str = "", ready: str = "") -> None:
    """Open a view, and wait until it stands there; `ready`: what to wait for instead."""
    page.goto(f"{address}/{PATHS.get(view, view)}?{query}")
    page.wait_for_selector(ready or READY[view], timeout=600_000)
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script has ended, and has not begun anew a moment later."""
    for _ in range(2):
        page.wait_for_selector(AT_REST, timeout=600_000)
        page.wait_for_timeout(150)


def once_all_is_run(page: Page) -> None:
    """Wait until the plans that the link names are made and the bound is known."""
    for _ in range(2):  # what ends may order the next
        settle(page)
        page.wait_for_selector('[class*="st-key-stop_"]', state="detached", timeout=300_000)
    settle(page)


def _with_advice(page: Page) -> None:
    once_all_is_run(page)
    page.get_by_role("button", name="Find").click()
    page.wait_for_selector("text=Played again with this change", timeout=300_000)
    settle(page)


def _compiled(page: Page) -> None:
    """Hand the best plan known to the real compiler; takes minutes if it is not kept."""
    if not page.get_by_text("What the compiler made of it").count():
        page.get_by_role("combobox").nth(1).click()
        page.get_by_role("option", name="best known").click()
        settle(page)
        page.locator(READY["compiler"]).first.click()
    page.wait_for_selector("text=What the compiler made of it", timeout=1_800_000)
    page.wait_for_timeout(3000)
    settle(page)


def _searched_again(page: Page) -> None:
    """Wait for the agent's game, and search one position of it again, more deeply."""
    page.wait_for_selector(".search[data-move]", timeout=1_800_000)
    page.get_by_text("Search this position again", exact=True).click()
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector('[class*="st-key-stop_"]', timeout=1_800_000)
    page.wait_for_selector('[class*="st-key-stop_"]', state="detached", timeout=1_800_000)
    settle(page)


def _with_findings(page: Page) -> None:
    """Wait for the agent's game, its findings, and the other search beside it."""
    page.wait_for_selector('.search[data-searches="2"]', timeout=1_800_000)
    page.wait_for_selector('[class*="st-key-stop_"]', state="detached", timeout=1_800_000)
    settle(page)


def _with_obstacles(page: Page) -> None:
    """Ask why a refused action is illegal."""
    page.locator(".choice.refused .ask").first.click()
    page.wait_for_selector(".turn .blockers")
    settle(page)


def _with_question(page: Page) -> None:
    page.get_by_role("button", name="guess its decisions").click()
    page.wait_for_selector("text=What would you do?")
    settle(page)


def _with_opinion(page: Page) -> None:
    """Let the agent play the whole game, and show its opinion of one position on the map."""
    page.locator("select.player").select_option("the agent")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector('[class*="st-key-stop_"]')
    page.wait_for_selector('[class*="st-key-stop_"]', state="detached", timeout=1_800_000)
    settle(page)
    page.get_by_label("Move number").fill(OPINION_MOVE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".legend >> text=filled by the agent's visits")
    page.mouse.wheel(0, -2000)
    settle(page)


def _as_it_opens(page: Page) -> None:
    page.mouse.move(0, 0)


def _in_the_middle(page: Page) -> None:
    """Wait until the toy has played its fifth move."""
    page.wait_for_selector('.map.tour[data-move="4"]', timeout=600_000)


def _with_a_lesson_won(page: Page) -> None:
    """Play the first lesson well."""
    page.locator(".lessons button").first.click()
    page.wait_for_selector(".turn.lesson .goal", timeout=600_000)
    settle(page)
    for key in "32223":
        page.keyboard.press(key)
        settle(page)


def _with_a_move_taken_back(page: Page) -> None:
    """Play a move that costs much, which teaching takes back."""
    page.keyboard.press("2")
    page.wait_for_selector(".turn .taken-back", timeout=600_000)
    settle(page)


@dataclass(frozen=True)
class Picture:
    """A view with more of a link than the program, and what is done before the picture is taken."""

    view: str
    query: str = ""
    prepare: Callable[[Page], None] = _as_it_opens
    height: int = SIZE["height"]


OWN_QUERY = ("start", "learn", "challenges", "compiler")
"""Views that show something else than the program of `QUERY`."""
PATHS = {"start": ""}
"""Paths of views that are not their names: the default view is served at the root only."""
READY = {
    "start": ".map.tour canvas",
    "learn": ".lessons button",
    "challenges": ".turn.lesson .goal",
    "programs": ".card img",
    "play": ".map canvas",
    "compare": '[data-testid="stMetric"]',
    "search": ':text("Watch the agent think"), .search[data-move]',
    "debug": ':text("Find the decisions that went wrong"), .search[data-move]',
    "compiler": ".st-key-compile button",
    "words": "text=What the explorer's words mean",
}
_PLANS = "&plans=xla_compiled,greedy,xla_like"
PICTURES = {
    "start": Picture("start", prepare=_in_the_middle, height=1000),
    "learn": Picture("learn", prepare=_with_a_lesson_won, height=900),
    "challenge": Picture("challenges", "program=llamadecode-v5e-b8", _with_a_move_taken_back, 900),
    "programs": Picture("programs"),
    "play": Picture("play"),
    "why": Picture("play", "&plan=greedy&move=100", _with_obstacles, 900),
    "quiz": Picture("play", "&plan=greedy", _with_question, 900),
    "ghosts": Picture("play", "&move=1", _with_opinion, 900),
    "search": Picture("search", "&move=60", _searched_again, 1080),
    "debug": Picture("debug", prepare=_with_findings, height=1400),
    "compiler": Picture("compiler", "program=gptdecode-v5e-b8", _compiled, 1500),
    "compare": Picture("compare", f"{_PLANS}&mode=runtimes", once_all_is_run),
    "layouts": Picture(
        "compare", "&plans=xla_compiled,greedy&mode=layouts&diff=1", once_all_is_run, 1150
    ),
    "times": Picture("compare", "&plans=xla_compiled,greedy&mode=time", once_all_is_run, 1080),
    "peak": Picture("compare", "&plans=greedy&mode=peak&peak=greedy", _with_advice, 1000),
}

if __name__ == "__main__":
    sys.exit(main())
