"""The section `visits`: what a browser that is new to the explorer waits for, page by page.

By the page's own clock: *painted*, when the browser first drew anything; *blank*, the longest time
with neither the first paint nor anything of the page on the screen; *content*, until that stands
for which one opens the page; *rest*, until no script runs. Each page is opened by a server that
has just started, then again by new browsers.

Writes `docs/results/visits.json` after each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.sync_api import Browser

from benchmarks.rows import RESULTS, keep
from benchmarks.settings import Settings
from ui.screenshots import AT_REST, SIZE, chromium, serve

PATIENCE_MS = 600_000
LARGE = "bertlarge-v5e-b4-train"


@dataclass(frozen=True)
class Visit:
    """A page, and the selector of what one opens it for."""

    path: str
    content: str


VISITS = (
    Visit("", ".st-key-door_learn button"),
    Visit("learn", ".st-key-next_lesson button"),
    Visit("challenges", "[class*='st-key-match_'] button"),
    Visit("programs", ".card"),
    Visit(f"play?program={LARGE}", ".turn .choice"),
    Visit("search", ".search[data-move]"),
    Visit("debug", ".search[data-move]"),
    Visit("debug?program=mamba-v6e-b32", ".search[data-move]"),
    Visit(f"compare?program={LARGE}", ".stPlotlyChart"),
    Visit("compiler?program=t5-v5e-b24", ".st-key-compile button"),
    Visit("words", "[class*='st-key-more_'] button"),
)

# Keeps in window.visit the longest time in which nothing stood on the page, from the beginning.
LOOK = """([content, rest]) => {
  const has = (root, selector) => root.querySelector(selector) !== null ||
    [...root.querySelectorAll("*")].some((e) => e.shadowRoot && has(e.shadowRoot, selector));
  window.visit = { blank: 0 };
  let since = 0;
  (function look() {
    const now = performance.now(), page = document.querySelector(".stMainBlockContainer");
    const stands = document.querySelector("#first-paint > *")
      || (page && (page.innerText.trim() || has(page, "img, canvas, svg")));
    if (since !== null) window.visit.blank = Math.max(window.visit.blank, now - since);
    since = stands ? null : since ?? now;
    if (page && !window.visit.content && has(page, content)) window.visit.content = now;
    if (window.visit.content && document.querySelector(rest)) window.visit.rest = now;
    else setTimeout(look, 20);
  })();
}"""


def run(section: str, settings: Settings) -> None:
    """Measure, print a line per row, and keep the rows."""
    del section
    rows: list[dict[str, Any]] = []
    with chromium() as browser:
        for visit in VISITS:
            with serve() as address:
                found = [_seen(browser, address, visit) for _ in range(max(2, settings.loads // 2))]
            rows.append(_row(visit, found))
            keep(RESULTS / "visits.json", rows)


def _seen(browser: Browser, address: str, visit: Visit) -> dict[str, float]:
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.add_init_script(f"({LOOK})({[visit.content, AT_REST]!r})")
    page.goto(f"{address}/{visit.path}", timeout=PATIENCE_MS, wait_until="commit")
    page.wait_for_function("window.visit?.rest", timeout=PATIENCE_MS)
    seen: dict[str, float] = page.evaluate("window.visit")
    seen["painted"] = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    context.close()
    # Before anything is drawn the page is blank, whatever stands in it.
    seen["blank"] = max(seen["blank"], seen["painted"])
    return seen


def _row(visit: Visit, found: list[dict[str, float]]) -> dict[str, Any]:
    """The first load apart, and of the others median and worst, in milliseconds."""
    row: dict[str, Any] = {"page": visit.path or "start", "loads": len(found)}
    for what in ("painted", "blank", "content", "rest"):
        row[f"{what}_first_ms"] = round(found[0][what])
        row[f"{what}_median_ms"] = round(median(seen[what] for seen in found[1:]))
        row[f"{what}_worst_ms"] = round(max(seen[what] for seen in found))
    print(
        f"{row['page']:40} of {row['loads']} loads: painted after {row['painted_median_ms']} ms"
        f" (worst {row['painted_worst_ms']}), blank for {row['blank_worst_ms']} at most, content"
        f" after {row['content_median_ms']} ({row['content_first_ms']} on a new server), at rest"
        f" after {row['rest_median_ms']}",
        flush=True,
    )
    return row
