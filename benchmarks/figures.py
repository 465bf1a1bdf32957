"""The section `figures`: what the committed rows come to, as the README and `docs/results/` say.

Measures nothing: it reads the rows and the indexes of `sample_programs/`, and prints each
figure, to be quoted with the command that made the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from statistics import mean, median

from benchmarks.rows import Row, rows_of
from benchmarks.runs import with_best_bound
from benchmarks.settings import Settings
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import gap

CLOSE = 0.02
"""An error that is no larger counts as small."""
CLOSED = (
    ("local", 10.0),
    ("evolution", 10.0),
    ("muzero", 10.0),
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


def sets(section: str) -> dict[str, list[Row]]:
    """The rows of a section by their set: samples, held out, large."""
    rows = rows_of(section)
    return {name: of_set(rows, name) for name in dict.fromkeys(row["set"] for row in rows)}


def errors(values: Sequence[float], digits: int = 2) -> str:
    """How many there are, and their sizes: the median, the worst, and how many are small."""
    sizes = [abs(value) for value in values]
    within = sum(size <= CLOSE for size in sizes)
    return (
        f"{len(sizes)}, median error {per_cent(median(sizes))} %, worst"
        f" {per_cent(max(sizes), digits)} %, {within} within {per_cent(CLOSE, 0)} %"
    )


def gaps(entries: Sequence[SampleEntry]) -> tuple[str, int, str]:
    """Of the best plans known: the median gap, how many are optimal, and the largest gap."""
    found = [gap(entry.best_s, entry.bound_s) for entry in entries if entry.xla_latency_s]
    sizes = [one for one in found if one is not None]
    optimal = sum(entry.is_best_optimal for entry in entries if entry.xla_latency_s)
    return per_cent(median(sizes)), optimal, per_cent(max(sizes), 1)


def best_plans() -> list[str]:
    lines = []
    for name, entries in (
        ("samples", library.index()),
        ("held out", library.held_out()),
        ("large", library.large()),
        ("real", library.real()),
    ):
        middle, optimal, most = gaps(entries)
        number = sum(1 for entry in entries if entry.xla_latency_s)
        lines.append(
            f"{name}: median {middle} %, {optimal} of {number} proven optimal, most {most} %"
        )
    return lines


def tuned() -> list[str]:
    """By set: gains over the default, and how far ahead of random options in the mean."""
    lines = []
    for name, rows in sets("tuning").items():
        gains = [row["ours"] for row in rows]
        text = f"{name}: {sum(gain > 0 for gain in gains)} of {len(gains)} below the default, "
        text += ", ".join(
            f"{word} {per_cent(function(gains), 1)} %"
            for word, function in (("median", median), ("mean", mean), ("best", max))
        )
        lines.append(text)
        for way, words in (("plain", "as they come"), ("chosen", "chosen by the simulator")):
            leads = [row["ours"] - row[way] for row in rows if way in row]
            if not leads:
                continue
            behind = [-lead for lead in leads if lead < 0]
            lines.append(
                f"{name}, ahead of random ones {words}: {per_cent(mean(leads), 1)} points in the"
                f" mean, behind on {len(behind)}, by at most {per_cent(max(behind, default=0), 1)}"
            )
    return lines


def exported() -> list[str]:
    lines = []
    for title, rows in sets("exported").items():
        new = [row["error"] for row in rows if not row["was_fitted"]]
        lines.append(f"{title}, that no fit had observed: {errors(new)}")
        for solver in ("local", "steered", "muzero"):
            own = [row for row in rows if row["key"][1] == solver]
            if not own:
                continue
            gains = [row["gain"] for row in own]
            programs = {row["key"][0] for row in own}
            lines.append(
                f"{title}, `{solver}`: {sum(gain > 0 for gain in gains)} of {len(gains)} plans of"
                f" {len(programs)} programs faster than the default, median"
                f" {per_cent(median(gains), 1)} %"
            )
            known = [row for row in own if "planned_gain" in row]
            names = ("planned_gain", "predicted_gain", "gain")
            means = ", ".join(per_cent(mean(row[name] for row in known), 1) for name in names)
            lines.append(
                f"{title}, `{solver}`: planned, predicted, compiled {means} % in the mean of"
                f" {len(known)}"
            )
    return lines


def replayed() -> list[str]:
    lines = []
    for plan in ("XLA", "best"):
        shares = [row["share"] for row in rows_of("replays") if row["plan"] == plan]
        counts = ", ".join(
            f"{per_cent(least, 0)} % on {sum(share >= least for share in shares)}"
            for least in (0.98, 0.95)
        )
        lines.append(f"{plan}: {counts} of {len(shares)}, least {per_cent(min(shares), 1)} %")
    return lines


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


def readings() -> list[str]:
    """XLA's own plan, simulated against the compiler's cycles, and what is read of it."""
    return [
        f"{name}: {errors([row['simulated_over_compiled'] - 1.0 for row in rows])}; least read"
        f" {per_cent(min(row['read'] for row in rows))} %"
        for name, rows in sets("reading").items()
    ]


def plans_of_ours() -> list[str]:
    """How far fits to all other compiles, or to earlier ones, were off on our compiled plans."""
    return [
        f"{name}, by the {words} compiles: {errors([row[key] for row in rows])}"
        for name, rows in sets("fidelity").items()
        for key, words in (("others", "other"), ("before", "earlier"))
    ]


FIGURES: dict[str, Callable[[], list[str]]] = {
    "reading": readings,
    "plans of ours": plans_of_ours,
    "placements left out": lambda: [errors([row["error"] for row in rows_of("calibration")], 1)],
    "tune": tuned,
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
