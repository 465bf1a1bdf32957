"""`python -m benchmarks SECTION …`: measure sections, print their tables, keep their rows.

Rows go to `docs/results/`; those of the agent's sections are kept as soon as they are measured, and
rows that are there already are not measured again. `report` makes tables and pictures of them,
`figures` prints what they come to.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from benchmarks import failures
from benchmarks.rows import RESULTS
from benchmarks.settings import Settings
from engine.errors import EngineError

ENGINE = (
    "calibration",
    "reading",
    "plans",
    "baselines",
    "identity",
    "agreement",
    "speed",
)
SECTIONS = {
    **dict.fromkeys(ENGINE, "engine_sections"),
    "steps": "explorer_steps",
    "visits": "first_visits",
    "crowd": "crowd",
    **dict.fromkeys(("solvers", "ablations", "curve"), "agent"),
    "table": "solver_table",
    "portfolio": "portfolio",
    "search-speed": "search_speed",
    "games": "agent_games",
    "weights": "agent_weights",
    "best-plans": "best_plans",
    "bounds": "bounds",
    "observed": "observed",
    "steering": "steering",
    "replays": "replays",
    "drafts": "drafts",
    "difficulty": "difficulty",
    "fidelity": "fidelity",
    "exported": "exported",
    "soundness": "soundness",
    "tuning": "tuning",
    "program_options": "program_options",
    "sizes": "sizes",
    "cold": "cold",
    "report": "report",
    "figures": "figures",
    "mutants": "mutants",
    "kills": "kills",
}
"""Every section, and the module whose `run(section, settings)` measures it."""
USUAL = (*ENGINE, "steps")
"""What `make bench` measures: minutes. The others take hours."""


def parser() -> argparse.ArgumentParser:
    """The flags; their names are those of `Settings`."""
    own = Settings()
    root = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    root.add_argument("section", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    root.add_argument("--programs", type=_names, default=(), help="comma-separated")
    root.add_argument(
        "--solvers",
        type=_names,
        default=(),
        help="of table, best-plans, exported and cold, comma-separated",
    )
    root.add_argument(
        "--arms", type=_names, default=(), help="of ablations and cold, comma-separated"
    )
    root.add_argument("--weights", type=_names, default=(), help="NAME=FOLDER, comma-separated")
    root.add_argument(
        "--seconds",
        type=float,
        help="of each run of solvers, ablations, curve, table, portfolio, best-plans, bounds,"
        " exported, tuning and cold",
    )
    root.add_argument(
        "--seed",
        type=int,
        default=own.seed,
        help="of solvers, table, best-plans, exported, soundness, tuning, cold and kills",
    )
    root.add_argument(
        "--games",
        type=int,
        help="of identity and agreement, plans of soundness (10,000); kills (40)",
    )
    root.add_argument("--steps", type=int, default=own.steps, help="of one browser")
    root.add_argument("--loads", type=int, default=own.loads, help="of a page; half in visits")
    root.add_argument("--rectangles", type=int, default=own.rectangles)
    root.add_argument("--visitors", type=int, default=own.visitors)
    root.add_argument(
        "--steps-among", type=int, default=own.steps_among, help="of a visitor; half in crowd"
    )
    return root


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the named sections, or the usual ones; what fails ends none of the others.

    Exits with 1 if anything failed.
    """
    root = parser()
    given = vars(root.parse_args(arguments))
    names = given.pop("section") or USUAL
    if unknown := [name for name in names if name not in SECTIONS]:
        root.error(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(f"\n== {name}", flush=True)
        try:
            run: Callable[[str, Settings], None] = import_module(f"benchmarks.{SECTIONS[name]}").run
            run(name, Settings(**given))
        except Exception as error:
            if not isinstance(error, EngineError):
                traceback.print_exc()
            failures.tell(name, error)
    if failed := failures.take():
        sys.exit(f"{len(failed)} failed; the same command tries them again")


if __name__ == "__main__":
    main()
