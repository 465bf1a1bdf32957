"""The section `steps`: what opening a program and a key press in Play cost.

Everything is timed inside the pages, by their own clock. *Redraw* is from the key press to the map
with the next move drawn; *answer* until the panel beside it has changed, which takes a round trip
to the server and the 140 ms for which the map waits whether the hand rests. Both stand beside the
round trip of a fragment that does nothing, measured in the same run on the same machine.

*Opened* is the largest program, first by a server that has just started, then by new browsers:
until its plan is *seen*, as a picture or on the map, until the *map* is drawn, and until its
*moves* are there.

Writes `docs/results/steps.json` after each row.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.rows import RESULTS
from benchmarks.settings import Settings
from engine.program import library
from engine.program.io import save
from tests.browser.pages import Traffic
from tests.synthetic import crowd
from ui.screenshots import AT_REST, SIZE, chromium, serve

SEARCHES = ("random", "evolution")
PATIENCE_MS = 600_000
OPENED = " opened"
"""How the name of a row ends that is of a program's opening."""

# Steps `count` times, with `pause` milliseconds after each answer, and keeps what each took in
# window.steps. An answer that does not come within 20 s is an error.
STEPPING = """([key, count, pause]) => {
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const frame = () => new Promise(requestAnimationFrame);
  const find = (root, selector) => {
    const element = root.querySelector(selector);
    if (element) return element;
    for (const host of root.querySelectorAll("*")) {
      const inside = host.shadowRoot && find(host.shadowRoot, selector);
      if (inside) return inside;
    }
    return null;
  };
  const map = find(document, ".map");
  const turn = () => document.querySelector(".turn")?.textContent;
  window.steps = { redraw: [], answer: [], errors: 0, isDone: false };
  (async () => {
    for (let n = 0; n < count; n++) {
      const before = turn(), move = map?.dataset.move, begin = performance.now();
      if (map) document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      else document.querySelector('[class*="st-key-step"] button').click();
      while (map && map.dataset.move === move && performance.now() - begin < 20_000) await frame();
      if (map) window.steps.redraw.push(performance.now() - begin);
      while (turn() === before && performance.now() - begin < 20_000) await frame();
      if (turn() === before) window.steps.errors++;
      window.steps.answer.push(performance.now() - begin);
      if (!map) window.steps.redraw.push(performance.now() - begin);
      await sleep(pause);
    }
    window.steps.isDone = true;
  })();
}"""

# Keeps in window.opening when the plan, its map and its moves were first on the page.
OPENING = """
  window.opening = {};
  const parts = {
    seen: ".opening img, .map[data-move]",
    map: ".map[data-move]",
    moves: ".turn .choice",
  };
  const has = (root, selector) => root.querySelector(selector) !== null ||
    [...root.querySelectorAll("*")].some((e) => e.shadowRoot && has(e.shadowRoot, selector));
  (function look() {
    for (const [name, selector] of Object.entries(parts))
      if (!(name in window.opening) && has(document, selector))
        window.opening[name] = performance.now();
    setTimeout(look, 50);
  })();
"""


def run(section: str, settings: Settings) -> None:
    """Measure, print a line per row, and keep the rows."""
    del section
    with (
        tempfile.TemporaryDirectory() as folder,
        serve() as address,
        serve(app=Path(__file__).with_name("empty_fragment.py")) as empty,
        chromium() as browser,
    ):
        rows: list[dict[str, Any]] = [_openings(browser, address, settings.loads)]
        floor = _alone("empty fragment", _opened(browser, empty, ".turn"), settings.steps)
        for row in chain([floor], _measured(browser, address, Path(folder), settings)):
            for what in ("redraw", "answer"):
                row[f"{what}_over_empty"] = row[f"{what}_p95_ms"] / floor["answer_p95_ms"]
            _tell(row)
            rows.append(row)
            (RESULTS / "steps.json").write_text(json.dumps(rows, indent=1) + "\n")


def _measured(
    browser: Browser, address: str, folder: Path, settings: Settings
) -> Iterator[dict[str, Any]]:
    names = _programs()
    for name in names:
        page = _opened(browser, f"{address}/?program={name}&move=1", ".map[data-move]")
        yield _alone(name, page, settings.steps)
    yield from _among(browser, address, names[0], settings)
    # Last, since a program of this size leaves the server with much to keep.
    page = _crowded(browser, address, folder, settings.rectangles)
    yield _alone(f"{settings.rectangles} rectangles", page, settings.steps)


def _openings(browser: Browser, address: str, loads: int) -> dict[str, Any]:
    """The largest program opened so often, each time by a browser that is new to the explorer."""
    name = _programs()[-1]
    found: list[dict[str, float]] = []
    for _ in range(loads):
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.add_init_script(OPENING)
        page.goto(f"{address}/play?program={name}", timeout=PATIENCE_MS)
        page.wait_for_function("Object.keys(window.opening).length === 3", timeout=PATIENCE_MS)
        found.append(page.evaluate("window.opening"))
        context.close()
    row: dict[str, Any] = {"name": f"{name}{OPENED}", "loads": loads}
    for what in ("seen", "map", "moves"):
        times = [opening[what] for opening in found]
        row[f"{what}_median_ms"], row[f"{what}_p95_ms"] = median(times), percentile(times, 0.95)
    print(
        f"{row['name']:32} {loads} loads, p95: seen {row['seen_p95_ms']:.0f} ms,"
        f" map {row['map_p95_ms']:.0f} ms, moves {row['moves_p95_ms']:.0f} ms",
        flush=True,
    )
    return row


def _programs() -> list[str]:
    """The captured program nearest to 1,000 accesses, and the one with the most."""
    entries = [e for e in (*library.index(), *library.large()) if e.xla_latency_s is not None]
    near = min(entries, key=lambda e: abs(e.touches - 1000))
    return [near.name, max(entries, key=lambda e: e.touches).name]


def _opened(browser: Browser, url: str, selector: str) -> Page:
    page = browser.new_page(viewport=SIZE)
    page.traffic = Traffic(page)  # type: ignore[attr-defined]
    page.goto(url, timeout=PATIENCE_MS)
    settle(page, selector)
    return page


def settle(page: Page, selector: str) -> None:
    """Wait for a page that has drawn this, and for two seconds more."""
    page.wait_for_selector(selector, timeout=PATIENCE_MS)
    page.wait_for_selector(".turn", timeout=PATIENCE_MS)
    page.wait_for_selector(AT_REST, timeout=PATIENCE_MS)
    page.wait_for_timeout(2000)


def _crowded(browser: Browser, address: str, folder: Path, rectangles: int) -> Page:
    """Play with the synthetic program, brought as a visitor would bring it."""
    path = folder / "crowd.json.gz"
    save(crowd(rectangles), path)
    page = browser.new_page(viewport=SIZE)
    page.traffic = Traffic(page)  # type: ignore[attr-defined]
    page.goto(f"{address}/programs", timeout=PATIENCE_MS)
    page.wait_for_selector(".card", timeout=PATIENCE_MS)
    page.wait_for_selector(AT_REST, timeout=PATIENCE_MS)
    page.get_by_text("Open a file of your own").click(timeout=PATIENCE_MS)
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(path)
    page.locator('[class*="st-key-open_files"] button:enabled').click(timeout=PATIENCE_MS)
    page.locator('[class*="st-key-yours_play_"] button').click(timeout=PATIENCE_MS)
    settle(page, ".map[data-move]")
    page.keyboard.press("Home")
    page.wait_for_timeout(2000)
    return page


def _alone(name: str, page: Page, steps: int) -> dict[str, Any]:
    traffic: Traffic = page.traffic  # type: ignore[attr-defined]
    traffic.reset()
    row = _figures(name, [_stepped(page, steps, pause_ms=100)])
    row["sent_per_step"] = traffic.sent / steps
    row["received_per_step"] = traffic.received / steps
    page.close()
    return row


def _stepped(page: Page, count: int, pause_ms: int) -> dict[str, Any]:
    page.evaluate(STEPPING, ["ArrowRight", count, pause_ms])
    page.wait_for_function("window.steps.isDone", timeout=PATIENCE_MS)
    steps: dict[str, Any] = page.evaluate("window.steps")
    return steps


def _among(browser: Browser, address: str, name: str, settings: Settings) -> list[dict[str, Any]]:
    """One visitor alone, then many at once while two searches run, on the same program."""
    url = f"{address}/?program={name}&move=1"
    lone = _figures("one visitor", [_steps_of_visitors(browser, url, 1, settings.steps_among)[0]])
    with searches(browser, f"{address}/compare?program={name}"):
        many = _steps_of_visitors(browser, url, settings.visitors, settings.steps_among)
    row = _figures(f"{settings.visitors} visitors, {len(SEARCHES)} searches", many)
    each = [percentile(v["answer"], 0.95) for v in many]
    row["worst_over_lone"] = max(each) / lone["answer_p95_ms"]
    row["worst_redraw_over_lone"] = (
        max(percentile(v["redraw"], 0.95) for v in many) / lone["redraw_p95_ms"]
    )
    return [lone, row]


def _steps_of_visitors(browser: Browser, url: str, count: int, steps: int) -> list[dict[str, Any]]:
    contexts: list[BrowserContext] = [browser.new_context(viewport=SIZE) for _ in range(count)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.goto(url, timeout=PATIENCE_MS)
    for page in pages:
        settle(page, ".map[data-move]")
    for page in pages:
        page.evaluate(STEPPING, ["ArrowRight", steps, 1000])
    runs = []
    for page in pages:
        page.wait_for_function("window.steps.isDone", timeout=PATIENCE_MS)
        runs.append(page.evaluate("window.steps"))
        assert page.locator('[data-testid="stException"]').count() == 0
    for context in contexts:
        context.close()
    return runs


@contextmanager
def searches(browser: Browser, url: str) -> Iterator[None]:
    """Two long runs under way, ordered in a page of their own and stopped at the end."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url, timeout=PATIENCE_MS)
    page.locator('[class*="st-key-solvers"] button').first.wait_for(timeout=PATIENCE_MS)
    page.wait_for_timeout(5000)
    for name in ("xla_like", "greedy", *SEARCHES):
        page.get_by_role("button", name=name, exact=True).click()
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("End")
    page.wait_for_timeout(3000)
    page.get_by_role("button", name="Run").click()
    page.wait_for_function(
        "count => document.querySelectorAll('[class*=\"st-key-stop_\"] button').length >= count",
        arg=len(SEARCHES),
        timeout=PATIENCE_MS,
    )
    yield
    assert page.locator('[class*="st-key-stop_"] button').count() > 0, "a search ended too early"
    while page.locator('[class*="st-key-stop_"] button').count():
        page.locator('[class*="st-key-stop_"] button').first.click()
        time.sleep(1)
    page.close()


def _figures(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    steps = sum(len(run["answer"]) for run in runs)
    row: dict[str, Any] = {"name": name, "steps": steps}
    row["errors"] = sum(run["errors"] for run in runs)
    for what in ("redraw", "answer"):
        times = [ms for run in runs for ms in run[what]]
        row[f"{what}_median_ms"] = median(times)
        row[f"{what}_p95_ms"] = percentile(times, 0.95)
    return row


def percentile(times: list[float], share: float) -> float:
    """The least of the times that this share of them does not exceed."""
    # The product of floats may be a little above the whole number that it stands for.
    return sorted(times)[math.ceil(round(share * len(times), 9)) - 1]


def _tell(row: dict[str, Any]) -> None:
    line = (
        f"{row['name']:32} redraw p95 {row['redraw_p95_ms']:6.0f} ms"
        f" ({row['redraw_over_empty']:.2f} of an empty round trip),"
        f" answer p95 {row['answer_p95_ms']:6.0f} ms ({row['answer_over_empty']:.2f}),"
        f" {row['errors']} of {row['steps']} steps unanswered"
    )
    if "sent_per_step" in row:
        down, up = row["received_per_step"] / 1000, row["sent_per_step"] / 1000
        line += f", {down:.2f} kB down and {up:.2f} kB up per step"
    if "worst_over_lone" in row:
        line += (
            f", worst visitor {row['worst_over_lone']:.1f} times the lone answer,"
            f" {row['worst_redraw_over_lone']:.1f} times the lone redraw"
        )
    print(line, flush=True)
