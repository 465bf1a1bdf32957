"""The section `report`: the rows of the agent's sections as tables and a picture.

Reads `docs/results/agent_*.json`, and `baselines.json` of the section `baselines`; writes
`docs/results/agent.md` and `docs/images/curve.png`. Rows `hybrid_*.json` were measured with the
agent as it was when scouts, which followed mutated games, played in its name; they go to
`hybrid.md` beside it, and nothing measures them again.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from benchmarks.agent import SCRATCH
from benchmarks.agent_games import PRIOR, SHIPPED
from benchmarks.agent_weights import FRESH
from benchmarks.rows import RESULTS, ROOT, Row, read
from benchmarks.settings import Settings
from engine.program.io import write_bytes
from engine.solvers.generalist import is_held_out
from ui.screenshots import chromium

PAGES = {
    "agent": "# What the agent reaches\n\nWritten by `python -m benchmarks report`.",
    "hybrid": "# What the former hybrid reached\n\n"
    "Measured with the agent as it was up to commit 76df0b8, under version 1 of the game's rules:"
    " in fifteen of sixteen rounds *scouts* played in its name, which followed mutated games to the"
    " word, without a search, and families of good games were bred. Nothing here tells of the agent"
    " of today, which is networks and tree search alone. Written by `python -m benchmarks report`.",
}
"""By the prefix of their rows: how the pages begin."""
PICTURES = {"agent": "curve.png", "hybrid": "curve_hybrid.png"}
IMAGES = ROOT / "docs" / "images"
AGENT = ("muzero", 600.0, "")
COLUMNS = {
    AGENT: "muzero 600 s",
    ("evolution", 600.0, ""): "evolution 600 s",
    ("muzero", 60.0, ""): "muzero 60 s",
    ("muzero", 60.0, SCRATCH): "muzero 60 s, from scratch",
}
"""Of the table of programs: solver, seconds and label; what a seed was not run on is left out."""
BESIDE = {
    ("evolution", 600.0, ""): AGENT,
    ("muzero", 60.0, SCRATCH): ("muzero", 60.0, ""),
}
"""Of the columns that ran side by side with another one, that one."""
GREEDY = ("greedy", 0.0, "")
"""The column of a single game that takes a moment."""
NEARLY = 0.99
"""Of what a curve saves in the end."""
DEFAULT = "default"
"""The arm of the ablations that the others are compared with."""


def rows_of(section: str, prefix: str = "") -> list[Row]:
    """The rows of a section; none if it was not run."""
    return read(RESULTS / f"{prefix}{section}.json")


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, body)])


def programs_table(rows: Sequence[Row]) -> str:
    """Per program what each solver closes of the gap, by one seed; at the end the figures over all.

    Only programs that the agent was run on for its full time, so that the means are of the same.
    """
    found: dict[tuple[str, float, str], dict[str, float]] = {GREEDY: {}}
    for row in rows:
        name, solver, seconds, _, label = row["key"]
        found.setdefault((solver, seconds, label), {})[name] = row["gap_closed"]
    columns = [column for column in COLUMNS if column in found]
    excess: dict[str, float] = {}
    for row in rows:
        name, solver, seconds, _, label = row["key"]
        if (solver, seconds, label) == AGENT:
            excess[name] = row["xla_s"] / row["bound_s"] - 1
            gap_s = row["xla_s"] - row["bound_s"]
            found[GREEDY][name] = (row["xla_s"] - greedy_s(name)) / gap_s
    head = ["program", "XLA above the bound", *(COLUMNS[c] for c in columns), GREEDY[0]]
    columns.append(GREEDY)
    body = [
        [
            f"{name} *" if is_held_out(name) else name,
            _share(excess[name]),
            *(_share(found[column].get(name)) for column in columns),
        ]
        for name in sorted(excess)
    ]
    groups = {
        "mean": list(excess),
        "mean of those held out *": [name for name in excess if is_held_out(name)],
        "mean of the others": [name for name in excess if not is_held_out(name)],
    }
    for label, names in groups.items():
        means = [_mean(found[column], names) for column in columns]
        body.append([f"**{label}**", "", *map(_share, means)])
    apart = []
    for column in columns:
        other = found[BESIDE[column]] if BESIDE.get(column) in found else {}
        both = [name for name in excess if name in found[column] and name in other]
        apart.append(_apart([100 * (found[column][name] - other[name]) for name in both]))
    body.append(["**from the column before it**", "", *apart])
    wins = [_wins(found[column][n] for n in excess if n in found[column]) for column in columns]
    body.append(["**beats XLA**", "", *wins])
    return _table(head, body)


def greedy_s(name: str) -> float:
    """Latency of the greedy plan of a program."""
    (row,) = [row for row in rows_of("baselines", "") if row["program"] == name]
    return float(row["greedy"])


def _mean(closed: dict[str, float], names: Sequence[str]) -> float | None:
    found = [closed[name] for name in names if name in closed]
    return statistics.mean(found) if found else None


def _wins(closed: Iterable[float]) -> str:
    found = list(closed)
    return f"{sum(value > 0 for value in found)} of {len(found)}"


def meanwhile(row: Row) -> float:
    """Share of the gap that the best game so far closed, averaged from its first round on.

    Runs may find the same plan in the end; this tells which found it sooner.
    """
    times = [entry["seconds"] for entry in row["rounds"]]
    spans = np.diff([*times, max(row["key"][2], times[-1])])
    gap_s = row["xla_s"] - row["bound_s"]
    closed = [(row["xla_s"] - entry["best_s"]) / gap_s for entry in row["rounds"]]
    return float(np.average(closed, weights=spans))


def ablations_table(rows: Sequence[Row]) -> str:
    """Per arm what it closes of the gap, beside the default on the same programs and seeds."""
    programs = sorted({row["program"] for row in rows})
    arms: dict[str, dict[tuple[str, int], tuple[float, float, int]]] = {}
    for row in rows:
        name, _, _, seed, label = row["key"]
        found = (row["gap_closed"], meanwhile(row), row["games"])
        arms.setdefault(label, {})[name, seed] = found
    usual = arms.get(DEFAULT, {})
    body = []
    for label, runs in arms.items():
        both = [run for run in runs if run in usual]
        rates = [runs[run][2] / usual[run][2] for run in both]
        cells = [label, f"{statistics.median(rates):.2f}" if rates else ""]
        for i in range(2):
            apart = [100 * (runs[run][i] - usual[run][i]) for run in both]
            cells.append(_share(statistics.mean(run[i] for run in runs.values())))
            cells.append(_apart(apart))
        for program in programs:
            ends = [f"{100 * end[0]:.1f}" for (name, _), end in runs.items() if name == program]
            cells.append(", ".join(ends))
        body.append(cells)
    figures = ("at the end", "from the default", "meanwhile", "from the default")
    return _table(["arm", "games", *figures, *programs], body)


def games_table(rows: Sequence[Row]) -> str:
    """Per weights and player what games close of the gap, beside the prior on the same programs.

    The prior itself is beside that of the shipped weights.
    """
    players: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        name, weights, player = row["key"]
        players.setdefault((weights, player), {})[name] = row
    body = []
    for (weights, player), some in players.items():
        cells = [weights, player]
        other = players[SHIPPED if player == PRIOR else weights, PRIOR]
        for field in ("first", "mean", "best"):
            apart = [100 * (row[field] - other[n][field]) for n, row in some.items()]
            cells.append(_share(statistics.mean(row[field] for row in some.values())))
            cells.append(_apart(apart) if some is not other else "")
        body.append(cells)
    kinds = ("game without noise", "mean game", "best game")
    head = ["networks", "player", *(cell for kind in kinds for cell in (kind, "from the prior"))]
    return _table(head, body)


def weights_table(rows: Sequence[Row]) -> str:
    """Per program the mean games of the weights, in points above the baseline; the kinds last."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        name, label = row["key"]
        found.setdefault((row["kind"], name), {})[label] = row["mean"]
    labels = list(dict.fromkeys(row["key"][1] for row in rows))
    body = [
        [name, kind, *(f"{some[label]:+.1f}" for label in labels)]
        for (kind, name), some in found.items()
    ]
    for kind in dict.fromkeys(kind for kind, _ in found):
        alike = [some for (other, _), some in found.items() if other == kind]
        means = (statistics.mean(some[label] for some in alike) for label in labels)
        body.append(["**mean**", kind, *(f"{mean:+.1f}" for mean in means)])
        apart = ([some[label] - some[SHIPPED] for some in alike] for label in labels)
        cells = (
            "" if label == SHIPPED else _apart(a) for label, a in zip(labels, apart, strict=True)
        )
        body.append(["**from the shipped ones**", kind, *cells])
    return _table(["program", "never seen", *labels], body)


def _apart(values: Sequence[float]) -> str:
    """Mean of points, with its standard error; empty without anything to compare with."""
    if not values:
        return ""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):+.1f} ± {error:.1f}"


def curve_text(rows: Sequence[Row]) -> str:
    """When the agent's best game was better than XLA's plan, and when it was nearly the last."""
    agent = next(row for row in rows if row["key"][1] == "muzero")
    random = next(row for row in rows if row["key"][1] == "random")
    xla_s = agent["xla_s"]
    nearly_s = xla_s - NEARLY * (xla_s - agent["latency_s"])

    def reached(latency_s: float) -> str:
        """The round after which the best game took less."""
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
    "From scratch, one core, without compiling. *Games*: played in the"
    " time, by those of the default (median). *At the end*: share of the gap that is closed;"
    " *meanwhile*: by the best game so far, averaged from its first round on; both beside the"
    " default on the same programs and seeds, in points, with the standard error over the runs."
    " Under the programs' names a figure for each seed."
)
OF_GAMES = (
    "## What a search adds to a game\n\nShare of the gap that single games close, of 32 by the same"
    " networks; the number after a player: simulations per move."
    " *Practised*: after 100 rounds on the program, from the shipped weights. Differences in"
    " points, with the standard error over the programs; the practised prior beside the shipped."
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
"""What is told of the sections that have a bench of their own, and their tables."""


def _measured(command: str, rows: Sequence[Row]) -> str:
    """How rows came about, and of which commits they are as far as they tell."""
    commits = sorted({row["commit"] for row in rows if "commit" in row})
    told = f", commit {', '.join(commits)}" if commits else ""
    return f"Measured with `{command}`{told}."


def run(section: str, settings: Settings) -> None:
    """Write the pages that there are rows for."""
    del section, settings
    for kind in PAGES:
        if any(rows_of(section, f"{kind}_") for section in ("solvers", *BY_PROGRAM)):
            _write_page(kind)


def _write_page(kind: str) -> None:
    def rows_here(section: str) -> list[Row]:
        return rows_of(section, f"{kind}_")

    solvers, ablations, curve = map(rows_here, ("solvers", "ablations", "curve"))
    ablations.sort(key=lambda row: bool(row["key"][4] != DEFAULT))
    parts = [PAGES[kind]]
    if solvers:
        parts.append(
            "## Programs\n\nShare of the gap between XLA's plan and the lower bound that is closed;"
            " one core each, side by side. Families with * never entered the training. Differences"
            " in points, with the standard error over the programs."
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
        command = f"python -m benchmarks ablations --seconds {seconds:.0f} --arms '{arms}'"
        parts.append(f"### {seconds:.0f} seconds\n\n{_measured(command, some)}")
        parts.append(ablations_table(some))
    for section, (text, table) in BY_PROGRAM.items():
        if rows := rows_here(section):
            names = ",".join(dict.fromkeys(row["program"] for row in rows))
            command = f"python -m benchmarks {section} --programs {names}"
            parts.append(f"{text} {_measured(command, rows)}")
            parts.append(table(rows))
    if rows := rows_here("weights"):
        labels = [name for name in dict.fromkeys(row["key"][1] for row in rows) if name != FRESH]
        words = ",".join(f"{label}=FOLDER" for label in labels)
        measured = _measured(f"python -m benchmarks weights --weights '{words}'", rows)
        parts.append(f"{OF_WEIGHTS} {measured}")
        parts.append(weights_table(rows))
    if curve:
        measured = _measured("python -m benchmarks curve", curve)
        picture = f"![The agent from scratch](../{IMAGES.name}/{PICTURES[kind]})"
        parts.append(f"## Learning curve\n\n{curve_text(curve)} {measured}\n\n{picture}")
    write_bytes(RESULTS / f"{kind}.md", ("\n\n".join(parts) + "\n").encode())
    if curve:
        draw(curve_figure(curve), IMAGES / PICTURES[kind])
