"""`tune`: the compiler options with the fewest compiled cycles, beside random ones."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.compiler.capture.capture import capture
from engine.compiler.costs.observations import observations_of
from engine.compiler.reading.observation import Observation
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.compiled_plan import Bench
from engine.compiler.steering.export import aims
from engine.compiler.steering.flags import Flags
from engine.compiler.steering.tune import PlanFn, Trial, TuneLog, Tuning, total
from engine.compiler.steering.verify import Verdict, asked_by_flags, verify
from engine.compiler.toolchain.libtpu import prepare_environment, versions
from engine.compiler.toolchain.target import Target, init_args
from engine.errors import UsageError
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import Budget, find, solve
from engine.workflows.capturing import SOLVERS, answers_folder, capturing

OWN_SHARE = 0.5
"""The search's share of the seconds. The baseline gets the rest, or as long as the search took if
that is more."""


@dataclass(frozen=True)
class Tuned:
    """The result of a search: its best options, as compiled.

    `flags`: ready to save; they aim at what the compiler placed. Where nothing beat the default
    they hold no option. `compiles`: whole compiles of the search, the default's among them.
    `captured`: those that the program's capture had made already, among which it chose too.
    `ran_out`: the seconds were used up before the compiles.
    `random_improvement`, `random_options`: the best of `random_compiles` whole compiles, the
    default's among them, of knobs and random rules alone: as many, unless there was no time for
    more. `random_improvement` is None where there were none, as without a baseline.
    """

    flags: Flags
    verdict: Verdict
    compiles: int
    random_compiles: int
    random_improvement: float | None
    random_options: Mapping[str, str] | None
    captured: int = 0
    ran_out: bool = False

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        random = None if self.random_options is None else dict(self.random_options)
        return {
            **self.verdict.to_json(),
            "compiles": self.compiles,
            "captured": self.captured,
            "ran_out": self.ran_out,
            "random_compiles": self.random_compiles,
            "random_improvement": self.random_improvement,
            "random_options": random,
        }


def tune_program(
    program: Program,
    solver: str | PlanFn = SOLVERS,
    *,
    compiles: int = 12,
    seconds: float = 3600.0,
    seed: int = 0,
    folder: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
    plans: Sequence[Plan] = (),
    has_baseline: bool = True,
    keep: Callable[[Flags], None] = lambda _: None,
    compiler_options: Mapping[str, str] = MappingProxyType({}),
) -> Tuned:
    """Search for options that make the compiler's own total smaller; minutes to hours.

    `solver` plans anew whenever the costs are corrected: names of solvers, with commas between
    them, that take turns, or a function; `plans` of the program are exported first. `folder` keeps
    compile results, by default in the user's cache: a run that was killed goes on there. `keep`
    gets every options that are better than all before, as soon as they are compiled.
    `compiler_options`: flags of the user's on top of those that the program was captured with; like
    `LIBTPU_INIT_ARGS` in the environment they hold for every compile, and gains count against the
    default under them. Raises
    UnknownNameError for an unknown solver, before anything is compiled, ProgramFormatError where
    the program cannot be compiled again, CompilerError, UsageError.
    """
    if compiles < 2:
        raise UsageError("tune: --compiles must be 2 or more; the default's is one of them")
    folder = answers_folder() if folder is None else folder
    plan_fn = planner(solver) if isinstance(solver, str) else solver
    # A solver's jax is not to look for a TPU in this process.
    prepare_environment()
    answers = stored_answers(program, folder, dict(compiler_options), init_args(), note)
    bench = Bench(program, answers)
    identity = f"{content_hash(program)}{answers.target}"
    digest = hashlib.sha256(answers.stablehlo + identity.encode()).hexdigest()[:16]
    begun = time.monotonic()
    own = Tuning(
        bench,
        compiles,
        begun + seconds * (OWN_SHARE if has_baseline else 1.0),
        seed,
        plan_fn,
        note,
        TuneLog(folder / f"tuning-{digest}.json"),
        plans=plans,
        earlier=_earlier(program),
        keep=lambda trial: keep(_flags(program, trial)),
    )
    own.run()
    now = time.monotonic()
    deadline = max(begun + seconds, now + (now - begun))
    baseline = _baseline(own, bench, deadline) if has_baseline else None
    flags = _flags(program, own.best)
    verdict = verify(bench, asked_by_flags(bench, flags))
    best = None if baseline is None else baseline.best
    improvement = None
    if baseline is not None and baseline.num_compiles > 1:
        improvement = 0.0 if best is None else 1.0 - total(best.full) / total(own.default)
    return Tuned(
        flags=flags,
        verdict=verdict,
        compiles=own.num_compiles,
        random_compiles=0 if baseline is None else baseline.num_compiles,
        random_improvement=improvement,
        random_options=None if best is None else best.candidate.steering.options,
        captured=own.num_captured,
        ran_out=own.ran_out,
    )


def _baseline(own: Tuning, bench: Bench, deadline: float) -> Tuning:
    """As many whole compiles, and at least as many early stops, of knobs and random rules alone."""
    own.note("baseline: knobs and random rules alone")
    baseline = Tuning(
        bench,
        own.num_compiles + own.num_captured,
        deadline,
        own.seed,
        own.plan_fn,
        own.note,
        TuneLog(None),
        earlier=own.earlier,
        is_planning=False,
        first_random=max(1, len(own.trials)),
    )
    baseline.run()
    return baseline


def _earlier(program: Program) -> list[Observation]:
    """The placements that a sample's costs were fitted to; none for another program."""
    observations = observations_of(program)
    return [] if observations is None else [one.seen for one in observations.compiles]


def _flags(program: Program, best: Trial | None) -> Flags:
    """The best options for `program`; a trial's plan is of the program with other costs."""
    if best is None:
        return Flags.of(program, {}, notes={"title": "default", "versions": versions()})
    steering = best.candidate.steering
    plan = replace(best.early.plan, program_hash=content_hash(program))
    notes = {"title": steering.title, "versions": versions()}
    return Flags.of(program, steering.options, aims(program, plan), notes)


def planner(solvers: str) -> PlanFn:
    """A function that plans by each of the solvers in turn, named with commas.

    Raises UnknownNameError for an unknown one.
    """
    turns = cycle([find(name.strip()).name for name in solvers.split(",")])

    def plan_fn(program: Program, seconds: float, seed: int) -> Plan:
        return solve(next(turns), program, Budget(seconds, seed))

    return plan_fn


def tune(
    jitted: Any,
    *args: Any,
    hardware: str,
    solver: str = SOLVERS,
    name: str | None = None,
    topology: str = "",
    compiler_options: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> Tuned:
    """Capture a jitted function for arguments of these shapes, and tune it; hours.

    `args`: arrays, or `jax.ShapeDtypeStruct` in their place. `topology`, `compiler_options`: as in
    `engine.compiler.toolchain.target.Target`. `options` are those of
    `tune_program`. Then, on a TPU, `jitted.lower(*args).compile(compiler_options=OPTIONS)` with
    `OPTIONS = dict(tuned.flags.compiler_options)`; they are empty where the default is best.
    Raises UnknownNameError for an unknown solver, before anything is compiled.
    """
    planner(solver)  # refuses unknown names
    heard = {"note": options["note"]} if "note" in options else {}
    how = capturing(**heard)
    target = Target(hardware, topology, dict(compiler_options), init_args())
    program = capture(jitted, *args, target=target, how=how, name=name)
    return tune_program(program, solver, **options)
