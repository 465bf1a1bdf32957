"""The section `report`: the committed rows as pages. Nothing is measured.

Writes `docs/results/agent.md` of the rows of the agent's sections and of `baselines`,
`docs/results/solvers.md` of those of `table`, the tables of `docs/results/README.md`
(`benchmarks.figures`), and `docs/images/curve.png`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import plotly.graph_objects as go

from benchmarks import figures, solver_table
from benchmarks.agent_tables import (
    DEFAULTS,
    ablations_table,
    games_table,
    programs_table,
    weights_table,
)
from benchmarks.agent_weights import FRESH
from benchmarks.rows import RESULTS, ROOT, Row, is_of_program, rows_of
from benchmarks.runs import with_best_bound
from benchmarks.settings import Settings
from engine.files import write_bytes
from engine.program import library
from ui.screenshots import chromium

HEAD = "# What the agent reaches\n\nWritten by `python -m benchmarks report`."
PAGE, PICTURE = RESULTS / "agent.md", "curve.png"
IMAGES = ROOT / "docs" / "images"
NEARLY = 0.99
"""The share of a curve's final saving that counts as nearly all of it."""


def curve_text(rows: Sequence[Row]) -> str:
    """When the agent's best game was better than XLA's plan, and when it was nearly the last."""
    agent = next(row for row in rows if row["key"][1] == "muzero")
    random = next(row for row in rows if row["key"][1] == "random")
    xla_s = agent["xla_s"]
    nearly_s = xla_s - NEARLY * (xla_s - agent["latency_s"])

    def reached(latency_s: float) -> str:
        """After which round the best game took less, in words."""
        for number, entry in enumerate(agent["rounds"], 1):
            if entry["best_s"] < latency_s:
                return f"after round {number:,}, at {entry['seconds']:.0f} s with compiling"
        return "at no time"

    return (
        f"From scratch on {agent['program']}, one core: the best game beats XLA's plan"
        f" {reached(xla_s)}, and has {NEARLY:.0%} of what all {agent['key'][2]:.0f} s save"
        f" beyond it {reached(nearly_s)}; in the end {agent['gap_closed']:.1%} of the gap are"
        f" closed. The best of {random['games']:,} random games closes {random['gap_closed']:.1%}."
    )


def curve_figure(rows: Sequence[Row]) -> go.Figure:
    """The agent's rounds on one program, with random play, XLA's plan and the bound as lines."""
    agent = next(row for row in rows if row["key"][1] == "muzero")
    random = next(row for row in rows if row["key"][1] == "random")
    rounds = agent["rounds"]
    seconds = [entry["seconds"] for entry in rounds]
    figure = go.Figure()
    drawn = (("mean_s", "mean of a round", 0.8), ("best_s", "best game so far", 3))
    for field, name, width in drawn:
        times_ms = [entry[field] * 1e3 for entry in rounds]
        figure.add_scatter(x=seconds, y=times_ms, name=name, line_width=width)
    for value_s, name in (
        (random["latency_s"], f"best of {random['games']:,} random games"),
        (agent["xla_s"], "XLA's plan"),
        (agent["bound_s"], "lower bound"),
    ):
        figure.add_hline(
            value_s * 1e3, annotation_text=name, line_dash="dot", annotation_position="top"
        )
    all_slow_s = max(random["latency_s"], agent["xla_s"])
    figure.update_layout(
        template="plotly_white",
        title=f"{agent['program']}: the agent from scratch",
        xaxis_title="seconds on one core",
        xaxis_type="log",  # Most is won in the first tenth.
        xaxis_tickvals=[10, 20, 50, 100, 200, 500],
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


OF_ABLATIONS = (
    "One core, without compiling, from scratch where an arm names no weights; share of the gap that"
    " is closed, a figure for each seed. *Mean*: at the end, *meanwhile*: by the best game so far,"
    " averaged from its first round on. *Apart*: from the first arm on the same programs and seeds,"
    " in percentage points, with the standard error over the programs. *Games*: played in the time,"
    " by those of the first arm (median)."
)
OF_GAMES = (
    "## What a search adds to a game\n\nShare of the gap that single games close, of 32 by the same"
    " networks; the number after a player: simulations per move."
    " *Practised*: after 100 rounds on the program, from the shipped weights. Differences in"
    " percentage points, with the standard error over the programs; the practised prior beside the"
    " shipped."
)
OF_WEIGHTS = (
    "## What the shipped weights know\n\nThe mean of 32 games by the prior alone on"
    " what the weights were not trained on: programs of the training with other memory sizes and"
    " bandwidths, and families that are held out. In points above the baseline, which plain"
    " heuristics save: 100 are the most that a plan can save; ± is the standard error over the"
    " programs. Beside the shipped weights those of"
    " [other trainings](../agent.md#training-and-checkpoints), and *fresh* ones, which learned"
    " nothing."
)
BY_PROGRAM: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "games": (OF_GAMES, games_table),
}
"""By section that has a bench of its own: its text, and the function that makes its table."""


def _measured(command: str, rows: Sequence[Row]) -> str:
    """The sentence with the command that measured the rows, and the commits that they name."""
    commits = sorted({row["commit"] for row in rows if "commit" in row})
    at_commits = f", commit {', '.join(commits)}" if commits else ""
    return f"Measured with `{command}`{at_commits}."


def _rows(section: str) -> list[Row]:
    return rows_of(f"agent_{section}")


def _runs(section: str) -> list[Row]:
    """The rows of runs on programs that are what they were, held to the bounds of now."""
    rows = _rows(section)
    return [with_best_bound(row) for row in rows if is_of_program(row)]


def _by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """By title, the rows of the samples and those of the held-out programs; no empty lists."""
    held_out = {entry.name for entry in library.held_out()}
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        title = "Held-out programs" if row["program"] in held_out else "Samples"
        kinds.setdefault(title, []).append(row)
    return kinds


def run(section: str, settings: Settings) -> None:
    """Write the pages and the picture."""
    del section, settings
    for path, text in pages().items():
        write_bytes(path, text.encode())
    if curve := _runs("curve"):
        draw(curve_figure(curve), IMAGES / PICTURE)


def pages() -> dict[Path, str]:
    """The text of each page that is made of rows."""
    return {
        PAGE: agent_page(),
        solver_table.TABLE: solver_table.page(rows_of(solver_table.ROWS.stem)),
        figures.PAGE: figures.written(figures.PAGE.read_text()),
    }


def agent_page() -> str:
    """The page about the agent, a part for each section that there are rows of."""
    solvers, ablations, curve = map(_runs, ("solvers", "ablations", "curve"))
    ablations.sort(key=lambda row: bool(row["key"][4] not in DEFAULTS))
    parts = [HEAD]
    if solvers:
        parts.append(
            "## Programs\n\nShare of the gap between XLA's plan and the lower bound that is closed;"
            " one core each, side by side. Families with * never entered the training. Differences"
            " in percentage points, with the standard error over the programs."
        )
    for seed in sorted({row["key"][3] for row in solvers}, reverse=True):
        some = [row for row in solvers if row["key"][3] == seed]
        names = ",".join(dict.fromkeys(row["program"] for row in some))
        command = f"python -m benchmarks solvers --seed {seed} --programs {names}"
        parts.append(f"### Seed {seed}\n\n{_measured(command, some)}")
        parts.append(programs_table(some))
    if ablations:
        parts.append(f"## Ablations\n\n{OF_ABLATIONS}")
    for seconds in sorted({row["key"][2] for row in ablations}):
        some = [row for row in ablations if row["key"][2] == seconds]
        arms = ",".join(dict.fromkeys(row["key"][4] for row in some))
        names = ",".join(dict.fromkeys(row["key"][0] for row in some))
        command = (
            f"python -m benchmarks ablations --seconds {seconds:.0f} --programs {names}"
            f" --arms '{arms}'"
        )
        parts.append(f"### {seconds:.0f} seconds\n\n{_measured(command, some)}")
        for title, those in _by_kind(some).items():
            parts += [f"{title}:", ablations_table(those)]
    for section, (text, table) in BY_PROGRAM.items():
        if rows := _rows(section):
            names = ",".join(dict.fromkeys(row["program"] for row in rows))
            command = f"python -m benchmarks {section} --programs {names}"
            parts.append(f"{text} {_measured(command, rows)}")
            parts.append(table(rows))
    if rows := _rows("weights"):
        labels = [name for name in dict.fromkeys(row["key"][1] for row in rows) if name != FRESH]
        words = ",".join(f"{label}=FOLDER" for label in labels)
        measured = _measured(f"python -m benchmarks weights --weights '{words}'", rows)
        parts.append(f"{OF_WEIGHTS} {measured}")
        parts.append(weights_table(rows))
    if curve:
        measured = _measured("python -m benchmarks curve", curve)
        picture = f"![The agent from scratch](../{IMAGES.name}/{PICTURE})"
        parts.append(f"## Learning curve\n\n{curve_text(curve)} {measured}\n\n{picture}")
    return "\n\n".join(parts) + "\n"
