"""The section `drafts`: what the game keeps of a plan whose places are planned, without repairs.

Of every contested program the best plan known, and the draft that the agent begins with: the share
of the gap that the plan closes, and that the one game closes which follows it.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.replays import best_plan
from benchmarks.rows import RESULTS, Row, dependencies, keep_of, read
from benchmarks.settings import Settings
from engine.game.replay import follow_plan
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.proof import is_contested
from engine.solvers import solve
from engine.solvers.draft import Draft, draft_from, drafts_of


def run(section: str, settings: Settings) -> None:
    """Follow the plans of all contested programs, or of those asked for."""
    path = RESULTS / f"{section}.json"
    sets = {"samples": library.index(), "held out": library.held_out(), "large": library.large()}
    for name, entries in sets.items():
        for entry in entries:
            if is_contested(entry.xla_latency_s, entry.bound_s) and (
                not settings.programs or entry.name in settings.programs
            ):
                row = {"set": name, **_row(entry), **dependencies(section, entry.name)}
                keep_of(path, (entry.name,), [row])
                print(
                    "{program:28} {best:7.1%} {best_kept:7.1%} {draft:7.1%} {draft_kept:7.1%}"
                    " {seconds:5.1f} s".format(**row),
                    flush=True,
                )
    rows = read(path)
    for kind in ("best", "best_kept", "draft", "draft_kept"):
        gaps = [row[kind] for row in rows]
        print(
            f"{kind:10} mean {statistics.mean(gaps):.1%}, median {statistics.median(gaps):.1%},"
            f" least {min(gaps):.1%}"
        )
    kept = [row["best_kept"] / row["best"] for row in rows if row["best"] > 0]
    print(
        f"the game keeps {statistics.mean(kept):.1%} of the best plan's gap, least {min(kept):.1%}"
    )


def _row(entry: SampleEntry) -> Row:
    program = library.load_entry(entry)
    xla_s = simulate(program, solve("xla_compiled", program)).latency_s
    bound_s = entry.bound_s
    assert bound_s is not None

    def gap(plan: Plan) -> float:
        assert check(program, plan) is None
        return (xla_s - simulate(program, plan).latency_s) / (xla_s - bound_s)

    best = best_plan(entry, program)
    assert best is not None
    begun = time.process_time()
    draft = next(drafts_of(program))
    followed = _followed(program, draft)
    seconds = time.process_time() - begun
    return {
        "program": program.name,
        "best": gap(best),
        "best_kept": gap(_followed(program, draft_from(program, best))),
        "draft": gap(draft.plan),
        "draft_kept": gap(followed),
        "seconds": seconds,
    }


def _followed(program: Program, draft: Draft) -> Plan:
    return follow_plan(program, draft.rules, draft.plan).plan("replay")
