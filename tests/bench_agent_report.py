"""The rows of `tests.bench_agent` as tables and a picture: `python -m tests.bench_agent_report`.

Reads `docs/results/agent_*.json`; writes `docs/results/agent.md` and `docs/images/curve.png`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from engine.program.io import write_bytes
from engine.solvers.generalist import is_held_out
from ui.screenshots import chromium

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
TABLES, PICTURE = RESULTS / "agent.md", ROOT / "docs" / "images" / "curve.png"
COLUMNS = (("muzero", 600.0), ("evolution", 600.0), ("muzero", 60.0))
"""Of the table of programs."""
DEFAULT = "default"
"""The arm of the ablations that the others are compared with."""
Row = dict[str, Any]


def rows_of(section: str) -> list[Row]:
    """The rows of a section; none if it was not run."""
    path = RESULTS / f"agent_{section}.json"
    return json.loads(path.read_text()) if path.exists() else []


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, body)])


def programs_table(rows: Sequence[Row]) -> str:
    """Per program what each solver closes of the gap; at the end the figures over all.

    Only programs that the first of the `COLUMNS` was run on, so that the means are of the same.
    """
    closed: dict[tuple[str, float], dict[str, float]] = {column: {} for column in COLUMNS}
    excess: dict[str, float] = {}
    for row in rows:
        name, solver, seconds, _, _ = row["key"]
        if (solver, seconds) in closed:
            closed[solver, seconds][name] = row["gap_closed"]
        if (solver, seconds) == COLUMNS[0]:
            excess[name] = row["xla_s"] / row["bound_s"] - 1
    head = ["program", "XLA above the bound", *(f"{s} {t:.0f} s" for s, t in COLUMNS)]
    body = [
        [
            f"{name} *" if is_held_out(name) else name,
            _share(excess[name]),
            *(_share(closed[column].get(name)) for column in COLUMNS),
        ]
        for name in sorted(excess)
    ]
    groups = {
        "mean": list(excess),
        "mean of those held out *": [name for name in excess if is_held_out(name)],
        "mean of the others": [name for name in excess if not is_held_out(name)],
    }
    for label, names in groups.items():
        means = [_mean(closed[column], names) for column in COLUMNS]
        body.append([f"**{label}**", "", *map(_share, means)])
    wins = [_wins(closed[column][n] for n in excess if n in closed[column]) for column in COLUMNS]
    body.append(["**beats XLA**", "", *wins])
    return _table(head, body)


def _mean(closed: dict[str, float], names: Sequence[str]) -> float | None:
    found = [closed[name] for name in names if name in closed]
    return statistics.mean(found) if found else None


def _wins(closed: Iterable[float]) -> str:
    found = list(closed)
    return f"{sum(value > 0 for value in found)} of {len(found)}"


def ablations_table(rows: Sequence[Row]) -> str:
    """Per arm the mean share of the gap closed, beside the default on the same runs."""
    arms: dict[str, dict[tuple[str, int], float]] = {}
    for row in rows:
        name, _, _, seed, label = row["key"]
        arms.setdefault(label, {})[name, seed] = row["gap_closed"]
    usual = arms.get(DEFAULT, {})
    body = []
    for label, runs in arms.items():
        both = [run for run in runs if run in usual]
        apart = [runs[run] - usual[run] for run in both]
        body.append(
            [
                label,
                _share(statistics.mean(runs.values())),
                f"{100 * statistics.mean(apart):+.1f}" if apart else "",
                f"{sum(d > 0.005 for d in apart)} / {sum(d < -0.005 for d in apart)}",
                str(len(runs)),
            ]
        )
    head = ["arm", "gap closed", "points from the default", "better / worse by 0.5", "runs"]
    return _table(head, body)


def curve_figure(rows: Sequence[Row]) -> go.Figure:
    """The agent's rounds on one program, with random play, XLA's plan and the bound as lines."""
    agent = next(row for row in rows if row["key"][1] == "muzero")
    random = next(row for row in rows if row["key"][1] == "random")
    rounds = agent["rounds"]
    seconds = [entry["seconds"] for entry in rounds]
    figure = go.Figure()
    for field, name in (("best_s", "best game so far"), ("mean_s", "mean of a round")):
        figure.add_scatter(x=seconds, y=[entry[field] * 1e3 for entry in rounds], name=name)
    for value_s, name in (
        (random["latency_s"], f"best of {random['games']:,} random games"),
        (agent["xla_s"], "XLA's plan"),
        (agent["bound_s"], "lower bound"),
    ):
        figure.add_hline(value_s * 1e3, annotation_text=name, line_dash="dot")
    all_slow_s = max(random["latency_s"], agent["xla_s"])
    figure.update_layout(
        template="plotly_white",
        title=f"{agent['program']}: the agent from scratch",
        xaxis_title="seconds on one core",
        yaxis_title="simulated latency, ms",
        yaxis_range=[agent["bound_s"] * 0.98e3, all_slow_s * 1.05e3],
        legend={"orientation": "h", "y": -0.2},
    )
    return figure


def draw(figure: go.Figure, path: Path) -> None:
    """The figure as a picture, drawn by the browser."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 900, "height": 520})
        page.set_content(figure.to_html(include_plotlyjs=True))
        page.wait_for_selector(".plotly .main-svg")
        page.screenshot(path=path)


def main() -> None:
    """Write what there are rows for."""
    solvers, ablations, curve = map(rows_of, ("solvers", "ablations", "curve"))
    parts = ["# What the agent reaches\n\nWritten by `python -m tests.bench_agent_report`."]
    if solvers:
        parts.append(
            "## Programs\n\nShare of the gap between XLA's plan and the lower bound that is closed;"
            " one core each, side by side, one seed. Families with * never entered the training."
        )
        parts.append(programs_table(solvers))
    if ablations:
        parts.append("## Ablations\n\nFrom scratch, one core, 120 seconds, two seeds each.")
        parts.append(ablations_table(ablations))
    write_bytes(TABLES, ("\n\n".join(parts) + "\n").encode())
    if curve:
        draw(curve_figure(curve), PICTURE)


if __name__ == "__main__":
    main()
