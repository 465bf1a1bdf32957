"""Records games of the shipped weights: `python -m ui.session.record_games [PROGRAM …]`.

To be run again when the weights, the rules of the game, these programs or their best plans change;
a recording that does not fit is ignored, and the explorer then makes a game itself. What the
explorer would do for a visitor is done here beforehand: the agent's game, both searches along it,
what its moves cost, what its gap is made of. A program whose recording fits and was measured by the
best plan of now is passed over, and the steps that a killed run has finished are not made again;
with `--again` all are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

from engine.errors import EngineError, SolverError
from engine.files import write_bytes
from engine.folders import cache_folder
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program import library
from engine.program.io import content_hash
from ui.jobs.protocol import DONE, TRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job
from ui.jobs.store import ResultStore
from ui.jobs.weights import digest, shipped, stamp
from ui.model.search.orders import findings_order, gap_order, other_search
from ui.model.search.recording import Recording
from ui.model.search.state import GapStudy, Study
from ui.session.best_plan import best_beside, files_of, identity_of
from ui.session.opening import BEST_KNOWN, COMPILED
from ui.session.record_films import shipped_plans
from ui.session.recordings import RECORDINGS, first_order, found, path_of
from ui.session.state import OpenProgram

USUAL = (
    *("resnet50-v5e-b64", "bert-v5e-b32", "llamadecode-v5e-b8", "llamadecode-v6e-b8"),
    *("gptdecode-v5e-b8", "gpt-v6e-b4", "mixer-v6e-b96", "t5-v5e-b24", "vit-v6e-b48"),
    *("mamba-v6e-b32", "mlpae-v6e-b4096-train", "mlpae-v5p-b4096", "wav2vec-v4-b8"),
)
"""Samples and held-out programs whose game is recorded unless others are named."""
SECONDS = 20_000.0
"""For what the moves of one game cost, and again for what its gap is made of: more than it takes,
so that every move with a choice is measured.
"""
_POLL_S = 0.2


def main(arguments: list[str] | None = None) -> int:
    """Write the recordings; returns the exit status, 2 if one could not be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    usual = f"default: {', '.join(USUAL)}"
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=usual)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the costs of the moves")
    parser.add_argument("--again", action="store_true", help="make every step anew")
    options = parser.parse_args(arguments)
    # What an earlier run has finished would be given back as it is.
    kept = None if options.again else ResultStore(cache_folder("recorded"), stamp=stamp())
    workshop = Workshop(at_once=1, store=kept)
    status = 0
    RECORDINGS.mkdir(exist_ok=True)
    try:
        for name in options.programs or USUAL:
            try:
                print(recorded(name, workshop, options.seconds, options.again), flush=True)
            except EngineError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                status = 2
    finally:
        workshop.close()
    return status


def recorded(name: str, workshop: Workshop, seconds: float, is_forced: bool = False) -> str:
    """Write the recording of a program unless there is one that fits; returns what was done.

    Raises EngineError.
    """
    opened = opened_as_in_the_explorer(name)
    if is_up_to_date(opened) and not is_forced:
        return f"{name}: is recorded already"
    data = record(opened, workshop, seconds).to_bytes()
    write_bytes(path_of(name), data)
    return f"{path_of(name)} ({len(data):,} bytes)"


def is_up_to_date(opened: OpenProgram) -> bool:
    """Whether there is a recording of now, its gap measured by the best plan that ships now."""
    known = found(opened)
    return known is not None and known.gap.best == identity_of(best_beside(opened, known.plan))


def opened_as_in_the_explorer(name: str) -> OpenProgram:
    """A program with the plans that ship. Raises UnknownNameError."""
    program, entry = library.load_sample(name), library.find_sample(name)
    opened = OpenProgram(name, program, content_hash(program), bound_s=entry.bound_s)
    for plan in shipped_plans(name, program):
        opened.add_plan(BEST_KNOWN if COMPILED in opened.plans else COMPILED, plan)
    return opened


def record(opened: OpenProgram, workshop: Workshop, seconds: float) -> Recording:
    """Make the recording of a program. Raises SolverError where a step fails."""
    weights = next(iter(shipped()), "")
    if not weights:
        raise SolverError("there are no weights in checkpoints/; train them first")
    order, game = first_order(opened)
    job = _done(workshop, opened, order, game)
    opened.searches.jobs = [job]
    opened.searches.collect()
    thought = opened.searches.thought
    assert thought is not None, "the job was the agent's first game"
    violation = check(opened.program, thought.plan)
    if violation is not None:
        raise SolverError(f"its game breaks a rule: {violation}")
    best = best_beside(opened, thought.plan)
    second = _done(workshop, opened, other_search(thought, weights), thought.plan)
    files = {TRACE: thought.data, **files_of(best)}
    costs = _done(workshop, opened, findings_order(thought, seconds), thought.plan, files)
    measured = gap_order(thought, identity_of(best), seconds)
    gap = _done(workshop, opened, measured, thought.plan, files_of(best))
    return Recording(
        program=opened.identity,
        weights=weights,
        digest=digest(weights),
        plan=thought.plan,
        game=thought.data,
        second=second.files[TRACE],
        study=Study.of(costs.result),
        gap=GapStudy.of(gap.result, identity_of(best)),
    )


def _done(
    workshop: Workshop,
    opened: OpenProgram,
    order: Order,
    basis: Plan | None,
    given: Mapping[str, bytes] | None = None,
) -> Job:
    """The finished job of an order, made now or by an earlier run. Raises SolverError."""
    job, began = workshop.order(opened.program, order, "", basis, given or {}), time.monotonic()
    while not job.is_over:
        time.sleep(_POLL_S)
    if job.state != DONE:
        raise SolverError(f"{order.name}: {job.error or 'was stopped'}")
    print(f"{opened.name}: {order.name}, {time.monotonic() - began:.0f} s", flush=True)
    return job


if __name__ == "__main__":
    sys.exit(main())
