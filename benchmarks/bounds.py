"""The section `bounds`: better lower bounds for the indexes of all captured programs, by branching.

Each bound is kept as soon as it is proven. Those that are finished, or had as much time already,
are not tried again, so the section can be broken off and gone on with; after `best-plans`, a better
plan is the new target of those that are not finished.
"""

from __future__ import annotations

from benchmarks.settings import Settings
from engine.plan.bounds import lower_bound
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import gap
from engine.workflows.catalogue import keep_bound

SECONDS = 60.0
FINISHED = ("mip", "all-fast", "all-slow", "observed")


def is_wanted(entry: SampleEntry, seconds: float) -> bool:
    """Whether more time could prove more."""
    if entry.is_best_optimal and entry.bound_method is not None:
        return False
    spent = entry.bound_seconds if (entry.bound_method or "").startswith("mip") else None
    return entry.bound_method not in FINISHED and (spent is None or spent < 0.9 * seconds)


def run(section: str, settings: Settings) -> None:
    """Prove what can be proven of each captured program, or of those asked for."""
    del section
    seconds = SECONDS if settings.seconds is None else settings.seconds
    for name in settings.programs or captured():
        entry = library.find_sample(name)
        if settings.programs or is_wanted(entry, seconds):
            best_s = entry.best_s if entry.best_s is not None else float("inf")
            bound = lower_bound(library.load_entry(entry), seconds, "mip", best_s)
            keep_bound(entry.folder, name, bound)
            entry = library.find_sample(name)
        print(line(entry), flush=True)


def captured() -> tuple[str, ...]:
    """The programs that the compiler made, of all sets."""
    entries = (*library.index(), *library.held_out(), *library.large(), *library.real())
    return tuple(entry.name for entry in entries if entry.xla_latency_s is not None)


def line(entry: SampleEntry) -> str:
    """The line about one program: its bound, and how far the best plan known is above it."""
    above = gap(entry.best_s, entry.bound_s)
    best = "optimal" if entry.is_best_optimal else f"{above:.2%} above" if above is not None else ""
    bound = f"{1e6 * (entry.bound_s or 0.0):12.2f} us by {entry.bound_method}"
    return f"{entry.name:26} {bound} in {entry.bound_seconds} s; best {best}"
