"""The section `figures`: what the committed rows come to, as the README and `docs/results/` say.

Measures nothing: it reads the rows and the indexes of `sample_programs/`, and prints each
figure, to be quoted with the command that made the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from statistics import mean, median

from benchmarks.rows import Row, rows_of
from benchmarks.settings import Settings
from benchmarks.solver_table import with_best_bound
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import gap

CLOSED = (
    ("local", 10.0),
    ("evolution", 10.0),
    ("muzero", 60.0),
    ("evolution", 60.0),
    ("local", 60.0),
    ("portfolio", 60.0),
)
"""Solvers and seconds of which the README tells what they close."""


def per_cent(value: float, digits: int = 2) -> str:
    return f"{100 * value:.{digits}f}"


def of_set(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["set"] == name]


def reading(name: str, digits: int = 2) -> tuple[str, str]:
    """Median and worst error of XLA's own plan, simulated."""
    found = of_set(rows_of("reading"), name)
    errors = [abs(row["simulated_over_compiled"] - 1.0) for row in found]
    return per_cent(median(errors)), per_cent(max(errors), digits)


def errors_of_plans(name: str) -> str:
    """Of our own plans, compiled: how far the fit to all other compiles was off."""
    errors = [abs(row["others"]) for row in of_set(rows_of("fidelity"), name)]
    return f"{per_cent(median(errors))} %, worst {per_cent(max(errors))} %"


def gaps(entries: Sequence[SampleEntry]) -> tuple[str, int, str]:
    """Of the best plans known: the median gap, how many are optimal, and the largest gap."""
    found = [gap(entry.best_s, entry.bound_s) for entry in entries if entry.xla_latency_s]
    sizes = [one for one in found if one is not None]
    optimal = sum(entry.is_best_optimal for entry in entries if entry.xla_latency_s)
    return per_cent(median(sizes)), optimal, per_cent(max(sizes), 1)


def best_plans() -> list[str]:
    middle, optimal, most = gaps(library.index())
    held_out, large = gaps(library.held_out()), gaps(library.large())
    return [
        f"median {middle} %, {optimal} of 26 proven optimal, most {most} %",
        f"held out {held_out[1]} of {len(library.held_out())} optimal, most {held_out[2]} %",
        f"large {large[1]} of {len(library.large())} optimal, most {large[2]} %",
    ]


def tuned() -> list[str]:
    rows = rows_of("tuning")
    gains = [row["ours"] for row in rows]
    ahead = mean(row["ours"] - row["plain"] for row in rows)
    return [
        f"median {per_cent(median(gains), 1)} %, greatest {per_cent(max(gains), 1)} %",
        f"{per_cent(ahead, 1)} points better in the mean",
    ]


def tuned_apart() -> list[str]:
    parts = [of_set(rows_of("tuning"), name) for name in ("samples", "held out")]
    middles = [per_cent(median(row["ours"] for row in part), 1) for part in parts]
    return [f"median {middles[0]} % and {middles[1]} %"]


def exported() -> list[str]:
    lines = []
    for title in ("samples", "held out"):
        rows = of_set(rows_of("exported"), title)
        new = [abs(row["error"]) for row in rows if not row["was_fitted"]]
        within = sum(error <= 0.02 for error in new)
        lines.append(
            f"{title}: {len(new)}, median error {per_cent(median(new))} %, {within} within 2 %,"
            f" worst {per_cent(max(new))} %"
        )
        for solver in ("local", "steered", "muzero"):
            own = [row for row in rows if row["key"][1] == solver and "planned_gain" in row]
            names = ("planned_gain", "predicted_gain", "gain")
            figures = ", ".join(per_cent(mean(row[name] for row in own), 1) for name in names)
            lines.append(f"{title}, `{solver}`: planned, predicted, compiled {figures} %")
    return lines


def replayed() -> list[str]:
    shares = [row["share"] for row in rows_of("replays") if row["plan"] == "best"]
    counts = [sum(share >= least for share in shares) for least in (0.98, 0.95)]
    return [f"98 % on {counts[0]} of {len(shares)}, 95 % on {counts[1]}"]


def sound() -> list[str]:
    """Plans on the way of `local`: how many, and how many were invalid or below a bound."""
    rows = rows_of("soundness")
    plans, wrong = (sum(row[name] for row in rows) for name in ("plans", "invalid"))
    below = sum(row["below"] for row in rows)
    return [f"{plans:,} of {len(rows)} programs: {wrong} invalid, {below} below a bound"]


def contested_rows(solver: str, seconds: float) -> list[list[Row]]:
    """A solver's rows on the contested samples, held-out and large programs."""
    found = []
    for entries in (library.index(), library.held_out(), library.large()):
        names = {entry.name for entry in entries if entry.is_contested}
        keys = {(name, solver, seconds, 0) for name in names}
        rows = [row for row in rows_of("solver_table") if tuple(row["key"][:4]) in keys]
        if len(rows) != len(names):
            raise ValueError(f"{solver}, {seconds:g} s: some contested programs have no row")
        found.append([with_best_bound(row) for row in rows])
    return found


def closed(solver: str, seconds: float) -> list[tuple[int, int, str]]:
    """Of the contested samples, held-out and large programs: how many there are, how many a solver
    beats XLA's plan on, and what it closes of the gap in the mean, in per cent.
    """
    found = []
    for rows in contested_rows(solver, seconds):
        wins = sum(row["latency_s"] < row["xla_s"] for row in rows)
        share = mean(row["gap_closed"] for row in rows)
        found.append((len(rows), wins, per_cent(share, 0).replace("-", "−")))
    return found


def ahead() -> list[str]:
    """How many points of the gap `local` is ahead of `evolution` at ten seconds."""
    ours, theirs = contested_rows("local", 10.0), contested_rows("evolution", 10.0)
    sets = [*zip(ours, theirs, strict=True), ([*chain(*ours)], [*chain(*theirs)])]
    leads = [
        per_cent(mean(r["gap_closed"] for r in one) - mean(r["gap_closed"] for r in other), 0)
        for one, other in sets
    ]
    samples, held_out, large, every = (lead.replace("-0", "0") for lead in leads)
    return [f"by {samples}, {held_out} and {large} points", f"by {every} in the mean of all"]


def solved() -> list[str]:
    """Wins over XLA's plan and the share of the gap closed: samples, held out, large."""
    lines = []
    for solver, seconds in CLOSED:
        sets = closed(solver, seconds)
        wins = ", ".join(f"{wins} of {num}" for num, wins, _ in sets)
        shares = ", ".join(share for _, _, share in sets)
        lines.append(f"`{solver}` in {seconds:g} s beats {wins}; closes {shares} %")
    return lines


def left_out() -> list[str]:
    errors = [abs(row["error"]) for row in rows_of("calibration")]
    return [f"median error {per_cent(median(errors))} %, worst {per_cent(max(errors), 1)} %"]


def readings() -> list[str]:
    """XLA's own plan, simulated against the compiler's cycles: samples, held out, large."""
    found = [reading(name) for name in ("samples", "held out", "large")]
    return [f"median error {middle} %, worst {worst} %" for middle, worst in found]


FIGURES: dict[str, Callable[[], list[str]]] = {
    "reading": readings,
    "plans of ours": lambda: [f"median error {errors_of_plans('samples')}"],
    "plans of ours, held out": lambda: [f"median error {errors_of_plans('held out')}"],
    "placements left out": left_out,
    "tune": tuned,
    "tune, samples and held out": tuned_apart,
    "exported": exported,
    "replays": replayed,
    "local ahead of evolution": ahead,
    "soundness": sound,
    "best plans": best_plans,
    "solvers": solved,
}


def run(section: str, settings: Settings) -> None:
    """Print every figure."""
    del section, settings
    for name, figures in FIGURES.items():
        for line in figures():
            print(f"{name}: {line}")
