"""The share of the gap from XLA's plan to the bound that the agent closes, beside evolution's.

Each row is kept in `docs/results/agent_SECTION.json` as soon as it is measured, and rows that are
there already are not measured again. Every run has a process and a core of its own, and the agent
and its rival run side by side.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.rows import RESULTS, Row, beats_xla
from benchmarks.runs import Run, fill
from benchmarks.settings import Settings
from engine.errors import UsageError
from engine.solvers.generalist import is_held_out

ABLATED = (
    "alphatensor-v5e-b16",
    "alphatensor-v5e-b4-train",
    "gpt-v5e-b8-train",
    "lstm-v5e-b64-train",
)
CURVE_PROGRAM = "bert-v5e-b32"
SCRATCH = "from scratch"
SHIPPED = {"checkpoint": "checkpoints/generalist"}
EVERY_ROUND = {"self_play.search_share": 1.0}
OF_TRAINING = {
    "self_play.top_temperature": 0.5,
    "self_play.restart_share": 0.5,
    "self_play.sweeps": False,
    **EVERY_ROUND,
    "replay.best_share": 0.25,
    "learner.steps_per_round": 6,
}
"""What `engine.solvers.practice.practising` changes, as the shipped weights were trained with."""


def solvers_section(settings: Settings) -> Iterator[Run]:
    """The agent and its rival side by side at 600 seconds, then the agent at 60.

    At 60 from the shipped checkpoint, and beside it from scratch.
    """
    seed, seconds = settings.seed, settings.seconds or 600.0
    for name in settings.contested():
        yield Run(name, "muzero", seconds, seed)
        yield Run(name, "evolution", seconds, seed)
    for name in settings.contested():
        yield Run(name, "muzero", 60.0, seed)
        yield Run(name, "muzero", 60.0, seed, SCRATCH, {"checkpoint": "scratch"})


def ablations_section(settings: Settings) -> Iterator[Run]:
    """Each part of the agent taken away in turn, two seeds, equal time without compiling."""
    arms: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "default": ({}, {}),
        "search in every round": ({}, EVERY_ROUND),
        "real rules as model": ({"model": "simulator"}, EVERY_ROUND),
        "4 simulations": ({"simulations": 4}, EVERY_ROUND),
        "16 simulations": ({"simulations": 16}, EVERY_ROUND),
        "32 simulations": ({"simulations": 32}, EVERY_ROUND),
        "search in no round": ({}, {"self_play.search_share": 0.0}),
        "no LP prices": ({}, {"hidden": ["prices"]}),
        "no demonstrations": (
            {},
            {"replay.demonstration_share": 0.0},
        ),
        "dynamics not told the program": ({}, {"hidden": ["dynamics"]}),
        "no restarts": ({}, {"self_play.restart_share": 0.0}),
        "no learning": ({}, {"learner.steps_per_round": 0}),
        "no consistency": ({}, {"learner.consistency_weight": 0.0}),
        "no best games": ({}, {"replay.best_share": 0.0}),
        "shipped weights": (SHIPPED, {}),
        "shipped weights with a search in every round": (SHIPPED, EVERY_ROUND),
        "shipped weights with no search": (SHIPPED, {"self_play.search_share": 0.0}),
        "shipped weights with no learning": (
            SHIPPED,
            {"learner.steps_per_round": 0},
        ),
        "shipped weights with no sweeps": (SHIPPED, {"self_play.sweeps": False}),
        "shipped weights with no sweeps and a search in every round": (
            SHIPPED,
            {"self_play.sweeps": False, **EVERY_ROUND},
        ),
        "shipped weights with no sweeps and a search by the real rules in every round": (
            {**SHIPPED, "model": "simulator"},
            {"self_play.sweeps": False, **EVERY_ROUND},
        ),
        "shipped weights with no sweeps and no search": (
            SHIPPED,
            {"self_play.sweeps": False, "self_play.search_share": 0.0},
        ),
        "shipped weights as in training": (SHIPPED, OF_TRAINING),
        "shipped weights with lighter values and the best games alone": (
            SHIPPED,
            {"search.value_scale": 0.008, "replay.best_share": 1.0},
        ),
    }
    wanted = settings.arms or tuple(arms)
    if unknown := set(wanted) - set(arms):
        raise UsageError(f"--arms: there is no arm {min(unknown)!r}; there are {', '.join(arms)}")
    names = settings.programs or ABLATED
    # The arms in the inner loop: they are compared with one another, so a machine that gets slower
    # on the way shall meet all of them alike.
    for seed, name in itertools.product((0, 1), names):
        for label, (options, changes) in arms.items():
            if label not in wanted:
                continue
            yield Run(
                name,
                "muzero",
                settings.seconds or 120.0,
                seed,
                label,
                {"checkpoint": "scratch", **options},
                changes,
                is_primed=True,
            )


def curve_section(settings: Settings) -> Iterator[Run]:
    """The agent from scratch on one program, every round; and random play."""
    options = {"checkpoint": "scratch"}
    seconds = settings.seconds or 600.0
    yield Run(CURVE_PROGRAM, "random", seconds)
    yield Run(CURVE_PROGRAM, "muzero", seconds, 0, SCRATCH, options, tells_all=True)


SECTIONS: dict[str, Callable[[Settings], Iterator[Run]]] = {
    "solvers": solvers_section,
    "ablations": ablations_section,
    "curve": curve_section,
}


def tell(row: Row) -> None:
    """Print one line about a run."""
    program, solver, seconds, seed, label = row["key"]
    print(
        f"{program:24} {solver:10} {seconds:5.0f} s seed {seed} {label:30} {row['games']:7,} games"
        f" close {row['gap_closed']:7.1%} of the gap",
        flush=True,
    )


def summary(name: str, rows: list[Row]) -> None:
    """Print the figures of a section."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        _, solver, seconds, seed, label = row["key"]
        title = f"{solver} {seconds:.0f} s {label}"
        if name == "solvers":  # A table for each; the other sections have means over seeds.
            title = f"seed {seed} {title}"
        groups.setdefault(title, []).append(row)
    print(f"\n{name}: share of the gap between XLA's plan and the bound that is closed")
    for title, some in groups.items():
        closed = [row["gap_closed"] for row in some]
        unseen = [row["gap_closed"] for row in some if is_held_out(row["program"])]
        wins = sum(map(beats_xla, some))
        print(
            f"  {title:45} beats XLA on {wins} of {len(some)},"
            f" mean {statistics.mean(closed):7.1%}, median {statistics.median(closed):7.1%}"
            + (f", held out {statistics.mean(unseen):7.1%} ({len(unseen)})" if unseen else "")
        )


def run(section: str, settings: Settings) -> None:
    """Measure what is missing of a section and print its figures."""
    path = RESULTS / f"agent_{section}.json"
    summary(section, fill(path, SECTIONS[section](settings), tell))
