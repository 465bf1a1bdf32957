"""The tables of the agent's sections, as Markdown made of their rows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.agent import SCRATCH
from benchmarks.agent_games import PRIOR, SHIPPED
from benchmarks.rows import NOISE, Row, rows_of
from engine.solvers.generalist import is_held_out

AGENT = ("muzero", 600.0, "")
COLUMNS = {
    AGENT: "muzero 600 s",
    ("evolution", 600.0, ""): "evolution 600 s",
    ("muzero", 60.0, ""): "muzero 60 s",
    ("muzero", 60.0, SCRATCH): "muzero 60 s, from scratch",
}
"""The table of programs' columns, by solver, seconds and label; those without runs are left out."""
BESIDE = {
    ("evolution", 600.0, ""): AGENT,
    ("muzero", 60.0, SCRATCH): ("muzero", 60.0, ""),
}
"""By column whose runs were made side by side with those of another one, that other column."""
GREEDY = ("greedy", 0.0, "")
"""The column of a single game that takes a moment."""
DEFAULTS = ("default", "shipped weights")
"""The arms of the ablations that others are compared with: the first one that there are runs of."""


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, body)])


def programs_table(rows: Sequence[Row]) -> str:
    """Per program the share of the gap that each solver closes, of one seed; then figures over all.

    Only programs that the agent was run on for its full time, so that the means are of the same.
    """
    closed: dict[tuple[str, float, str], dict[str, float]] = {GREEDY: {}}
    for row in rows:
        name, solver, seconds, _, label = row["key"]
        closed.setdefault((solver, seconds, label), {})[name] = row["gap_closed"]
    columns = [column for column in COLUMNS if column in closed]
    excess: dict[str, float] = {}
    for row in rows:
        name, solver, seconds, _, label = row["key"]
        if (solver, seconds, label) == AGENT:
            excess[name] = row["xla_s"] / row["bound_s"] - 1
            gap_s = row["xla_s"] - row["bound_s"]
            closed[GREEDY][name] = (row["xla_s"] - greedy_s(name)) / gap_s
    head = ["program", "XLA above the bound", *(COLUMNS[c] for c in columns), GREEDY[0]]
    columns.append(GREEDY)
    body = [
        [
            f"{name} *" if is_held_out(name) else name,
            _share(excess[name]),
            *(_share(closed[column].get(name)) for column in columns),
        ]
        for name in sorted(excess)
    ]
    groups = {
        "mean": list(excess),
        "mean of those held out *": [name for name in excess if is_held_out(name)],
        "mean of the others": [name for name in excess if not is_held_out(name)],
    }
    for label, names in groups.items():
        means = [_mean(closed[column], names) for column in columns]
        body.append([f"**{label}**", "", *map(_share, means)])
    apart = []
    for column in columns:
        other = closed[BESIDE[column]] if BESIDE.get(column) in closed else {}
        both = [name for name in excess if name in closed[column] and name in other]
        apart.append(lead_text([100 * (closed[column][name] - other[name]) for name in both]))
    body.append(["**from the column before it**", "", *apart])
    wins = [_wins(closed[column], excess) for column in columns]
    body.append(["**beats XLA**", "", *wins])
    return _table(head, body)


def greedy_s(name: str) -> float:
    """Latency of the greedy plan of a program."""
    (row,) = [row for row in rows_of("baselines") if row["program"] == name]
    return float(row["greedy"])


def _mean(closed: dict[str, float], names: Sequence[str]) -> float | None:
    shares = [closed[name] for name in names if name in closed]
    return statistics.mean(shares) if shares else None


def _wins(closed: dict[str, float], excess: dict[str, float]) -> str:
    """On how many programs more is closed than noise; `excess`: XLA's plan above the bound."""
    leads = [closed[n] * e / (1 + e) for n, e in excess.items() if n in closed]
    return f"{sum(lead > NOISE for lead in leads)} of {len(leads)}"


def meanwhile(row: Row) -> float:
    """Share of the gap that the best game so far closed, averaged from its first round on.

    Of runs that have the same plan in the end, the one that had it sooner has the greater share.
    """
    times = [entry["seconds"] for entry in row["rounds"]]
    spans = np.diff([*times, max(row["key"][2], times[-1])])
    gap_s = row["xla_s"] - row["bound_s"]
    closed = [(row["xla_s"] - entry["best_s"]) / gap_s for entry in row["rounds"]]
    return float(np.average(closed, weights=spans))


def ablations_table(rows: Sequence[Row]) -> str:
    """Per program the share of the gap that each arm closes, a figure for each seed; then means.

    *Apart*: from the default, on the programs and seeds that both arms have.
    """
    programs = list(dict.fromkeys(row["program"] for row in rows))
    arms: dict[str, dict[tuple[str, int], Row]] = {}
    for row in rows:
        arms.setdefault(row["key"][4], {})[row["program"], row["key"][3]] = row
    usual = next((arms[label] for label in DEFAULTS if label in arms), {})
    body = [
        [
            program,
            *(
                ", ".join(
                    f"{100 * r['gap_closed']:.1f}" for (p, _), r in some.items() if p == program
                )
                for some in arms.values()
            ),
        ]
        for program in programs
    ]
    figures: dict[str, Callable[[dict[tuple[str, int], Row]], str]] = {
        "**runs**": lambda some: str(len(some)),
        "**mean**": lambda some: _share(statistics.mean(map(_at_the_end, some.values()))),
        "**apart**": lambda some: _apart(some, usual, _at_the_end),
        "**mean meanwhile**": lambda some: _share(statistics.mean(map(meanwhile, some.values()))),
        "**apart meanwhile**": lambda some: _apart(some, usual, meanwhile),
        "**games**": lambda some: _rate(some, usual),
    }
    body += [[name, *map(figure, arms.values())] for name, figure in figures.items()]
    return _table(["program", *arms], body)


def _at_the_end(row: Row) -> float:
    return float(row["gap_closed"])


def _apart(
    some: dict[tuple[str, int], Row],
    usual: dict[tuple[str, int], Row],
    figure: Callable[[Row], float],
) -> str:
    """By how many points programs differ from the usual runs; empty for these themselves.

    The seeds of a program are no trials of their own: they mostly end alike.
    """
    if some is usual:
        return ""
    apart: dict[str, list[float]] = {}
    for (name, seed), row in some.items():
        if (name, seed) in usual:
            apart.setdefault(name, []).append(100 * (figure(row) - figure(usual[name, seed])))
    return lead_text([statistics.mean(own) for own in apart.values()])


def _rate(some: dict[tuple[str, int], Row], usual: dict[tuple[str, int], Row]) -> str:
    rates = [row["games"] / usual[run]["games"] for run, row in some.items() if run in usual]
    return f"{statistics.median(rates):.2f}" if rates else ""


def games_table(rows: Sequence[Row]) -> str:
    """Per weights and player, what share of the gap games close; beside it the lead over the prior.

    The prior plays the same programs with the same weights; its own lead is over the shipped prior.
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
            cells.append(lead_text(apart) if some is not other else "")
        body.append(cells)
    kinds = ("game without noise", "mean game", "best game")
    head = ["networks", "player", *(cell for kind in kinds for cell in (kind, "from the prior"))]
    return _table(head, body)


def weights_table(rows: Sequence[Row]) -> str:
    """Per program the mean games of the weights, in points above the baseline; the kinds last."""
    points: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        name, label = row["key"]
        points.setdefault((row["kind"], name), {})[label] = row["mean"]
    labels = list(dict.fromkeys(row["key"][1] for row in rows))
    body = [
        [name, kind, *(f"{some[label]:+.1f}" for label in labels)]
        for (kind, name), some in points.items()
    ]
    for kind in dict.fromkeys(kind for kind, _ in points):
        alike = [some for (other, _), some in points.items() if other == kind]
        means = (statistics.mean(some[label] for some in alike) for label in labels)
        body.append(["**mean**", kind, *(f"{mean:+.1f}" for mean in means)])
        apart = ([some[label] - some[SHIPPED] for some in alike] for label in labels)
        cells = (
            "" if label == SHIPPED else lead_text(a) for label, a in zip(labels, apart, strict=True)
        )
        body.append(["**from the shipped ones**", kind, *cells])
    return _table(["program", "never seen", *labels], body)


def lead_text(values: Sequence[float]) -> str:
    """Mean of points, with its standard error; empty without anything to compare with."""
    if not values:
        return ""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):+.1f} ± {error:.1f}"
