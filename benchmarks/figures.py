"""The section `figures`: what the committed rows come to, as the README and `docs/results/` say.

Measures nothing: it reads the rows and the indexes of `sample_programs/`, and prints each figure,
to be quoted with the section that made the rows. The tables of `docs/results/README.md` are the
same figures; the section `report` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from typing import Any

from benchmarks import cold, kills, portfolio, program_options, sizes
from benchmarks.difficulty import correlations
from benchmarks.explorer_steps import OPENED
from benchmarks.rows import (
    MARK,
    NOISE,
    RESULTS,
    SETS,
    Row,
    beats_xla,
    is_current,
    is_of_program,
    program_of,
    rows_of,
    set_of,
)
from benchmarks.runs import with_best_bound
from benchmarks.settings import Settings
from benchmarks.soundness import bounded
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import gap

PAGE = RESULTS / "README.md"
CLOSE = 0.02
"""An error that is no larger counts as small."""
CLOSED = (
    ("local", 10.0),
    ("local", 60.0),
    ("portfolio", 60.0),
    ("evolution", 10.0),
    ("evolution", 60.0),
    ("muzero", 10.0),
    ("muzero", 60.0),
)
"""Solvers and seconds of which the README tells what they close."""
ALL, REAL = "", "all real"
"""The column of figures that are told of no set, and that of both real sets together."""
COLUMNS = (ALL, *SETS, REAL)
UNTOLD = 0.01
"""A share of the time without an estimate that need not be told."""
FEW = 4
"""So many programs without a row are named, more are counted."""

Sets = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Figure:
    """What the rows of a section come to, in words, by set."""

    section: str
    what: str
    found: Mapping[str, str]

    def __str__(self) -> str:
        told = [f"{name} {words}".strip() for name, words in self.found.items()]
        return f"{self.section}: {self.what}: {'; '.join(told)}"


def figure(
    section: str, what: str, sets: Sets, say: Callable[[Sequence[Row]], str], file: str = ""
) -> Figure:
    """The figure of the rows, set by set, marked where some are stale.

    `file`: of the rows, if it is not called like the section.
    """
    found = {}
    for name, rows in sets.items():
        if rows:
            is_stale = not all(is_current(file or section, row) for row in rows)
            found[name] = say(rows) + f" {MARK}" * is_stale
    return Figure(section, what, found)


def sets_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by their program's set; those of both real sets together besides."""
    found: dict[str, list[Row]] = {name: [] for name in (*SETS, REAL)}
    for row in rows:
        if library.is_sample(program_of(row)):
            title = set_of(program_of(row))
            found[title].append(row)
            if title.startswith("real"):
                found[REAL].append(row)
    return found


def per_cent(value: float, digits: int = 2) -> str:
    return f"{100 * value:z.{digits}f}".replace("-", "−")


def errors(values: Sequence[float]) -> str:
    """How many there are, and their sizes: the median, the worst, and how many are small."""
    sizes_ = [abs(value) for value in values]
    within = sum(size <= CLOSE for size in sizes_)
    return (
        f"{len(sizes_)}: {per_cent(median(sizes_))} %, {per_cent(max(sizes_))} %; {within} within"
        f" {per_cent(CLOSE, 0)} %"
    )


def errors_of(name: str) -> Callable[[Sequence[Row]], str]:
    return lambda rows: errors(column(name)(rows))


def said(words: str) -> Callable[[Sequence[Row]], str]:
    """What is said of rows, if it is known before."""
    return lambda _: words


def mean_and_least(values: Sequence[float], digits: int = 0) -> str:
    return f"{per_cent(mean(values), digits)} %, {per_cent(min(values), digits)} %"


def of_those(number: int, every: Sequence[Any]) -> str:
    return f"{number} of {len(every)}"


def column(name: str) -> Callable[[Sequence[Row]], list[float]]:
    return lambda rows: [row[name] for row in rows]


# Reading and costs


def readings() -> Iterator[Figure]:
    """XLA's own plan, simulated against the compiler's cycles, and what is read of it."""
    sets = sets_of(rows_of("reading"))
    yield figure(
        "reading",
        "XLA's own plan, of a compile that the costs were fitted to, simulated against its cycles:"
        " programs, median, worst error",
        sets,
        lambda rows: errors([row["simulated_over_compiled"] - 1.0 for row in rows]),
    )
    yield figure(
        "reading",
        "share of XLA's saving that is read, least",
        sets,
        lambda rows: f"{per_cent(min(row['read'] for row in rows))} %",
    )
    yield figure(
        "reading",
        "`xla_like` within 3 % of XLA's plan",
        sets,
        lambda rows: of_those(sum(abs(row["xla_like_ratio"] - 1) <= 0.03 for row in rows), rows),
    )


def plans() -> Iterator[Figure]:
    """XLA's plans that are valid, and what they leave to win."""
    sets = sets_of(rows_of("plans"))
    yield figure("plans", "XLA's plans that pass the checker", sets, lambda rows: str(len(rows)))
    contested = {
        name: of_those(sum(entry.is_contested for entry in entries), entries)
        for name, entries in captured_by_set().items()
    }
    yield Figure("bounds", "contested", contested)
    without = {
        name: _without_estimate([entry.unestimated_share or 0.0 for entry in entries])
        for name, entries in captured_by_set().items()
    }
    yield Figure(
        "figures", "time without an estimate of the compiler's: above 1 % on, most", without
    )


def _without_estimate(shares: Sequence[float]) -> str:
    number = sum(share > UNTOLD for share in shares)
    return f"{of_those(number, shares)}, {per_cent(max(shares), 0)} %"


def costs() -> Iterator[Figure]:
    """How far fits were off on what they had not seen."""
    yield figure(
        "calibration",
        "each placement, by a fit to the others: number, median, worst error",
        sets_of(rows_of("calibration")),
        errors_of("error"),
    )
    for key, words in (("others", "all other"), ("before", "the earlier")):
        yield figure(
            "fidelity",
            f"each compiled plan of ours, by a fit to {words} compiles: number, median, worst"
            " error",
            sets_of(rows_of("fidelity")),
            errors_of(key),
        )


# The real compiler


def exported() -> Iterator[Figure]:
    """Whole compiles of exported plans: the predictions' errors, and the gains by solver."""
    every = rows_of("exported")
    for was_fitted, words in ((False, "no fit had"), (True, "the fits had")):
        some = [row for row in every if row["was_fitted"] is was_fitted]
        yield figure(
            "exported",
            f"exported plans that {words} observed: compiles, median, worst error",
            sets_of(some),
            errors_of("error"),
        )
    for solver in dict.fromkeys(row["key"][1] for row in every):
        own = [row for row in every if row["key"][1] == solver]
        yield figure(
            "exported",
            f"`{solver}`'s exported plans: faster than the default; programs on which all are;"
            " median of the programs' mean gains",
            sets_of(own),
            _gains_in_words,
        )
        yield figure(
            "exported",
            f"`{solver}`: mean gain as planned, as placed (simulated), as compiled",
            sets_of([row for row in own if "planned_gain" in row]),
            lambda rows: (
                ", ".join(
                    per_cent(mean(column(name)(rows)), 1)
                    for name in ("planned_gain", "predicted_gain", "gain")
                )
                + f" % of {len(rows)}"
            ),
        )


def _gains_in_words(rows: Sequence[Row]) -> str:
    """Of how many plans and programs; a program counts once, however often it was measured."""
    gains: dict[str, list[float]] = {}
    for row in rows:
        gains.setdefault(program_of(row), []).append(row["gain"])
    won = sum(min(own) > NOISE for own in gains.values())
    return (
        f"{of_those(sum(row['gain'] > NOISE for row in rows), rows)};"
        f" {of_those(won, list(gains))}; {per_cent(median(map(mean, gains.values())), 1)} %"
    )


def tried() -> Iterator[Figure]:
    """On how many of the contested programs there is a row of the real compiler's sections."""
    for section in ("exported", "tuning"):
        rows = rows_of(section)
        known = {program_of(row) for row in rows}
        found = {}
        for title, entries in captured_by_set().items():
            names = [entry.name for entry in entries if entry.is_contested]
            found[title] = of_those(sum(name in known for name in names), names)
        yield Figure(section, "contested programs that were tried", found)


def tuned() -> Iterator[Figure]:
    """By set: gains over the default, and how far ahead of random options in the mean."""
    every = rows_of("tuning")
    contested = {
        entry.name
        for entries in captured_by_set().values()
        for entry in entries
        if entry.is_contested
    }
    for words, rows in (
        ("", every),
        (", contested programs alone", [row for row in every if program_of(row) in contested]),
    ):
        yield figure(
            "tuning",
            f"`tune`{words}: cycles, stalls and prices below the default's; median, mean, best",
            sets_of(rows),
            _below_in_words,
        )
    for way, words in (("plain", "as they come"), ("chosen", "chosen by our simulator")):
        yield figure(
            "tuning",
            f"… ahead of random rules and options {words}, points: mean, median; behind on, at"
            " most",
            sets_of([row for row in every if way in row]),
            partial(_lead, way=way),
        )
    real = sorted(sets_of(every)[REAL], key=lambda row: -row["ours"])
    yield figure(
        "tuning",
        "real programs: gain (of random options), by program options alone, predicted; %",
        {name: [row for row in real if set_of(program_of(row)) == name] for name in SETS},
        lambda rows: "; ".join(map(_tuned_in_words, rows)),
    )


def _below_in_words(rows: Sequence[Row]) -> str:
    gains = column("ours")(rows)
    most = ", ".join(f"{per_cent(function(gains), 1)} %" for function in (median, mean, max))
    return f"{of_those(sum(gain > NOISE for gain in gains), rows)}; {most}"


def _lead(rows: Sequence[Row], *, way: str) -> str:
    leads = [row["ours"] - row[way] for row in rows]
    behind = [-lead for lead in leads if lead < -NOISE]
    most = per_cent(max(behind, default=0.0), 1)
    middle = f"{per_cent(mean(leads), 1)}, {per_cent(median(leads), 1)}"
    return f"{middle}; {of_those(len(behind), rows)}, {most}"


def _tuned_in_words(row: Row) -> str:
    chance = f" ({per_cent(row['chosen'], 1)})" if "chosen" in row else ""
    told = [f"{per_cent(row['ours'], 1)}{chance}"]
    told += [per_cent(row[key], 1) for key in ("knobs", "predicted") if key in row]
    return f"{program_of(row)} {', '.join(told)}"


def options() -> Iterator[Figure]:
    """What program options do to the programs that they were tried on."""
    every = rows_of("program_options")
    names = ",".join(dict.fromkeys(map(program_of, every)))
    yield figure(
        f"program_options --programs {names}",
        "options tried, that make another program, the best and the worst gain",
        sets_of(every),
        lambda rows: (
            f"{len(rows)}, {sum(row['effect'] == program_options.OTHER for row in rows)},"
            + " to".join(
                f" {per_cent(function(row['gain'] for row in rows if 'gain' in row), 1)} %"
                for function in (max, min)
            )
        ),
        "program_options",
    )


# Solvers and bounds


def captured_by_set() -> dict[str, list[SampleEntry]]:
    """The captured programs of each set, and of both real ones."""
    every = (*library.index(), *library.held_out(), *library.large(), *library.real())
    entries = {entry.name: entry for entry in every if entry.xla_latency_s}
    sets = sets_of([{"program": name} for name in entries])
    return {name: [entries[program_of(row)] for row in rows] for name, rows in sets.items()}


def best_plans() -> Iterator[Figure]:
    """How far the best plans known are above the best bounds."""
    sizes_, optimal = {}, {}
    for name, entries in captured_by_set().items():
        gaps = [gap(entry.best_s, entry.bound_s) for entry in entries]
        known = [one for one in gaps if one is not None]
        sizes_[name] = f"{per_cent(median(known))} %, {per_cent(max(known), 1)} %"
        optimal[name] = of_those(sum(entry.is_best_optimal for entry in entries), entries)
    what = "best plan known above the best bound: median, most"
    yield Figure("best-plans, bounds", what, sizes_)
    yield Figure("best-plans, bounds", "proven optimal (within 0.1 %)", optimal)


def contested_rows(solver: str, seconds: float) -> dict[str, list[Row]]:
    """A solver's rows on the contested samples, held-out and large programs.

    Raises ValueError where one of them has no row.
    """
    every = [row for row in rows_of("solver_table") if is_of_program(row)]
    found = {}
    for title in ("samples", "held out", "large"):
        names = {entry.name for entry in captured_by_set()[title] if entry.is_contested}
        keys = {(name, solver, seconds, 0) for name in names}
        rows = [row for row in every if tuple(row["key"][:4]) in keys]
        if len(rows) != len(names):
            raise ValueError(f"{solver}, {seconds:g} s: some contested programs have no row")
        found[title] = [with_best_bound(row) for row in rows]
    return found


def solved() -> Iterator[Figure]:
    """The share of the gap that is closed, and wins over XLA's plan."""
    for solver, seconds in CLOSED:
        yield figure(
            "table",
            f"`{solver}`, {seconds:g} s: of the gap, mean and least of the contested; ahead of"
            " XLA's plan on; seconds in all, median, most",
            contested_rows(solver, seconds),
            lambda rows: (
                f"{mean_and_least(column('gap_closed')(rows))};"
                f" {of_those(sum(map(beats_xla, rows)), rows)};"
                f" {median(column('took_s')(rows)):.0f}, {max(column('took_s')(rows)):.0f}"
            ),
            "solver_table",
        )


def duels() -> Iterator[Figure]:
    """`portfolio` against `local` with as much time."""
    every = rows_of("portfolio")
    for duel in portfolio.duels(every):
        local, other = duel.means
        mark = "" if duel.is_fair else ", some pairs of two commits"
        yield figure(
            "portfolio",
            f"`portfolio` on {portfolio.label(duel.cores)} against `local` on one,"
            f" {duel.seconds:g} s: ahead, the same, behind, by at most; of the gap, means",
            {ALL: [row for pair in duel.pairs for row in pair]},
            said(
                f"{duel.counts}, {per_cent(duel.most_behind, 1)} points; {per_cent(other, 1)} %,"
                f" {per_cent(local, 1)} %{mark}"
            ),
        )


def replayed() -> Iterator[Figure]:
    """What is left of a plan's saving when it is played."""
    for plan, words in (("XLA", "XLA's plans"), ("best", "best plans known")):
        yield figure(
            "replays",
            f"{words} replayed as moves in their places: number, share of their saving, least",
            sets_of([row for row in rows_of("replays") if row["plan"] == plan]),
            lambda rows: f"{len(rows)}: {per_cent(min(column('share')(rows)), 1)} %",
        )


def drafted() -> Iterator[Figure]:
    """What the game keeps of planned places."""
    sets = sets_of(rows_of("drafts"))
    yield figure(
        "drafts",
        "one game that follows the best plan in its planned places: share of its gap kept, mean,"
        " least",
        sets,
        lambda rows: mean_and_least([row["best_kept"] / row["best"] for row in rows], 1),
    )
    yield figure(
        "drafts",
        "the draft's game: of the gap, mean, least",
        sets,
        lambda rows: mean_and_least(column("draft_kept")(rows)),
    )
    yield figure(
        "drafts",
        "seconds of CPU of a draft and its game, median, most",
        sets,
        lambda rows: ", ".join(f"{f(column('seconds')(rows)):.1f}" for f in (median, max)),
    )


def ablated() -> Iterator[Figure]:
    """What the arms of the agent's ablations close."""
    every = [with_best_bound(row) for row in rows_of("agent_ablations") if is_of_program(row)]
    for seconds in sorted({row["key"][2] for row in every}):
        yield figure(
            "ablations",
            f"{seconds:g} s: of the gap, mean of each [arm](agent.md#ablations), %",
            sets_of([row for row in every if row["key"][2] == seconds]),
            _arms_in_words,
            "agent_ablations",
        )


def _arms_in_words(rows: Sequence[Row]) -> str:
    arms: dict[str, list[float]] = {}
    for row in rows:
        arms.setdefault(row["key"][4], []).append(row["gap_closed"])
    return "; ".join(f"{arm} {per_cent(mean(closed), 1)}" for arm, closed in arms.items())


# Soundness and speed


def counted(
    section: str, what: str, names: Sequence[str], say: Callable[[Sequence[Row]], str]
) -> Figure:
    """A figure that counts: of the current rows alone; programs without one are told."""
    rows = [row for row in rows_of(section) if is_current(section, row)]
    missing = [name for name in names if name not in set(map(program_of, rows))]
    told = [say(rows)] if rows else []
    if missing:
        some = ", ".join(missing) if len(missing) <= FEW else f"{len(missing)} programs"
        told.append(f"no row of today: {some}")
    return Figure(section, what, {ALL: "; ".join(told)})


def sound() -> Iterator[Figure]:
    """Plans on the way of `local`, random games by two rules: how many, and what was wrong."""

    def total(rows: Sequence[Row], name: str) -> int:
        return sum(row[name] for row in rows)

    yield counted(
        "soundness",
        "plans on the way of `local`, programs, invalid, below a bound",
        [entry.name for entry in bounded()],
        lambda rows: (
            f"{total(rows, 'plans'):,}, {len(rows)}, {total(rows, 'invalid')},"
            f" {total(rows, 'below')}"
        ),
    )
    yield counted(
        "identity",
        "random games, invalid plans, return apart from the simulator's, at most",
        library.sample_names(),
        lambda rows: (
            f"{total(rows, 'games'):,}, {total(rows, 'invalid')}, {max(column('worst')(rows)):.1e}"
        ),
    )
    yield counted(
        "agreement",
        "random games, moves, programs on which plain and JAX game differ",
        library.sample_names(),
        lambda rows: (
            f"{total(rows, 'games'):,}, {total(rows, 'moves'):,},"
            f" {sum(bool(row['difference']) for row in rows)}"
        ),
    )


def grown() -> Iterator[Figure]:
    """How times grow with the programs."""
    every = rows_of("sizes")
    for what, words in sizes.growth(every):
        yield figure("sizes", what, {ALL: every}, said(words))


def fast() -> Iterator[Figure]:
    """Moves and simulations per second."""
    games = [row for row in rows_of("speed") if "ratio" in row]
    yield figure(
        "speed",
        "moves per second of 128 JAX games in step on one core, by those of the plain game",
        {ALL: games},
        lambda rows: _range([row["ratio"] for row in rows], "{:.0f}"),
    )
    search = rows_of("agent_speed")
    told = (
        ("ratio", "simulations per second of the agent's search, of bare mctx's"),
        ("selfplay_ratio", "… in self-play, observing and playing included"),
    )
    for key, what in told:
        shares = [100 * row[key] for row in search]
        yield Figure("search-speed", what, {ALL: f"{_range(shares, '{:.0f}')} %"})


def _range(values: Sequence[float], form: str) -> str:
    """The least and the greatest; one of them where both read the same."""
    return " to ".join(dict.fromkeys(form.format(f(values)) for f in (min, max)))


def short_time(ms: float) -> str:
    return f"{ms / 1000:.2g} s" if ms < 10_000 else f"{ms / 1000:.0f} s"


def explored() -> Iterator[Figure]:
    """What visitors of the explorer wait for."""
    rows = rows_of("steps")
    for row in rows:
        if OPENED in row["name"]:
            for what in ("seen", "map", "moves"):
                told = ", ".join(short_time(row[f"{what}_{of}_ms"]) for of in ("median", "p95"))
                words = f"{row['name']} by {row['loads']} new browsers, {what}: median, p95"
                yield Figure("steps", words, {ALL: told})
        else:
            told = "; ".join(
                f"{what} {row[f'{what}_p95_ms']:.0f} ms, {row[f'{what}_over_empty']:.2f}"
                for what in ("redraw", "answer")
            )
            if "worst_over_lone" in row:
                told += (
                    f"; the worst visitor's by a lone one's: {row['worst_redraw_over_lone']:.1f},"
                    f" {row['worst_over_lone']:.1f}"
                )
            words = f"{row['name']}, {row['steps']} key presses, {row['errors']} unanswered: p95"
            yield Figure(
                "steps", f"{words}, by that of an empty fragment's round trip", {ALL: told}
            )
    visits = rows_of("visits")
    for what, words in (
        ("painted_median_ms", "something is drawn after, medians"),
        ("blank_worst_ms", "a page is blank for, at most"),
        ("content_median_ms", "what one opens it for stands there after, medians"),
        ("content_first_ms", "… on a server that has just started"),
    ):
        told = _range([row[what] / 1000 for row in visits], "{:.2f}")
        yield Figure("visits", f"{len(visits)} views, {words}", {ALL: f"{told} s"})
    for row in rows_of("crowd"):
        yield Figure(
            "crowd",
            f"{row['visitors']} visitors, {row['searches']} searches: p95 of the server's answers,"
            " of the worst visitor's; as felt by a lone one's; unanswered; memory",
            {
                ALL: f"{row['server_p95_ms']}, {row['server_worst_p95_ms']} ms;"
                f" {row['p95_over_lone']}, {row['worst_p95_over_lone']};"
                f" {row['unanswered']} of {row['steps']}; {row['memory_mib']} MiB"
            },
        )


def started() -> Iterator[Figure]:
    """Solvers in new processes."""
    every = [with_best_bound(row) for row in rows_of("cold") if is_of_program(row)]
    where = {cold.CACHED: "", cold.FIRST_USE: ", empty caches", cold.BUSY: ", busy cores"}
    for arm, words in where.items():
        rows = [row for row in every if row["key"][4] == arm]
        for time in sorted({row["key"][2] for row in rows}):
            yield figure(
                "cold",
                f"`solve` in new processes{words}, {time:g} s: plans; behind XLA's; late, by at"
                " most; seconds announced as not counted, at most",
                {ALL: [row for row in rows if row["key"][2] == time]},
                _started_in_words,
            )


def _started_in_words(rows: Sequence[Row]) -> str:
    behind = [f"{row['key'][1]} on {row['key'][0]}" for row in rows if cold.is_behind(row)]
    late_s = [cold.late_s(row) for row in rows if cold.is_late(row)]
    by = ", ".join(behind) or "none"
    not_counted = max(column("not_counted_s")(rows))
    return (
        f"{len(rows)}; {by}; {len(late_s)}, {max(late_s, default=0.0):.1f} s; {not_counted:.0f} s"
    )


def killed() -> Iterator[Figure]:
    """What `kill -9` leaves."""
    if rows := rows_of("kills"):
        what = "`kill -9` of what still worked; something went on, was half written or kept the"
        yield Figure("kills", f"{what} next start from its end", {ALL: kills.summary(rows)})


def difficult() -> Iterator[Figure]:
    """Whether the difficulty of positions says what a search needs."""
    for what, number, share in correlations(rows_of("difficulty")):
        yield Figure(
            "difficulty", f"positions, rank correlation, {what}", {ALL: f"{number}, {share:.2f}"}
        )


GROUPS: Mapping[str, Sequence[Callable[[], Iterator[Figure]]]] = {
    "reading and costs": (readings, plans, costs),
    "the real compiler": (tried, exported, tuned, options),
    "solvers and bounds": (best_plans, solved, duels, replayed, drafted, ablated),
    "soundness and speed": (sound, grown, fast, explored, started, killed, difficult),
}
"""By the name of a table of the page, what is in it."""


def run(section: str, settings: Settings) -> None:
    """Print every figure."""
    del section, settings
    for name in GROUPS:
        for one in figures_of(name):
            print(one)


def figures_of(group: str) -> list[Figure]:
    """The figures of one table; without those that there are no rows of."""
    return [one for maker in GROUPS[group] for one in maker() if one.found]


def written(page: str) -> str:
    """The page with its tables as the rows have them now."""
    for name in GROUPS:
        before, begin, rest = page.partition(f"<!-- figures: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        if not end:
            raise ValueError(f"{PAGE.name}: has no place for the figures of {name!r}")
        page = f"{before}{begin}{table_of(figures_of(name))}\n{end}{after}"
    return page


def table_of(figures: Sequence[Figure]) -> str:
    """Figures as a table in Markdown: a row each, a column for each set that one is told of."""
    columns = [name for name in COLUMNS if any(name in one.found for one in figures)]
    head = ["section: what", *(name or "figure" for name in columns)]
    rows = [head, ["---"] * len(head)]
    for one in figures:
        cells = [one.found.get(name, "") for name in columns]
        rows.append([f"`{one.section}`: {one.what}", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
