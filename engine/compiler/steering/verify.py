"""Compiles of a plan or of flags by the real compiler, beside its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.compiler.steering.export import Aim, Steering, aims, exports
from engine.compiler.steering.flags_file import Flags, named_instructions
from engine.compiler.steering.outcome import (
    CompileSession,
    Outcome,
    instruction_names,
    refuse_no_time,
    timed_default,
    unknown_names,
)
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.errors import FAILURES, CompilerError, PlanError
from engine.plan.model import Plan
from engine.plan.simulate import Simulation
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.io import content_hash
from engine.program.model import Program

NOT_SAID = "the memory pass gives no reason"
"""The reason for a value that the pass never tried, or tried without logging why it failed."""


@dataclass(frozen=True)
class AimResult:
    """One aim: what share of its saving the compiler realised, and if less than all, why.

    `reason` is empty where all was realised.
    """

    values: tuple[str, ...]
    instructions: tuple[str, ...]
    saving_s: float
    realised: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class EarlyResult:
    """The placements under some options, beside the default's, as an early stop shows them.

    `predicted_cycles`, `predicted_default_cycles`: what our simulator and costs say, stalls
    included, of the placements that the compiler chose. `realised`: share of the saving aimed at
    that the compiler placed as planned (None: nothing was aimed at). `unknown_instructions`: named
    in the flags, but not in the compile: such a rule does nothing.
    """

    title: str
    predicted_default_cycles: float
    predicted_cycles: float
    realised: float | None
    placements: tuple[AimResult, ...]
    unknown_instructions: tuple[str, ...]
    compiler_options: Mapping[str, str]

    @property
    def predicted_improvement(self) -> float:
        """Fraction of the default's predicted cycles that is saved; 0 where there are none."""
        if self.predicted_default_cycles <= 0:
            return 0.0
        return 1.0 - self.predicted_cycles / self.predicted_default_cycles

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        own = {**asdict(self), "compiler_options": dict(self.compiler_options)}
        return {**own, "predicted_improvement": self.predicted_improvement}


@dataclass(frozen=True, kw_only=True)
class Verdict(EarlyResult):
    """Placements, and what whole compiles say: the compiler's cycles, with loops multiplied out.

    `default_priced_cycles`, `ours_priced_cycles`: what has no estimate of the compiler's, by the
    prices of the program (`engine.program.prices`). The *total* is cycles, stalls and prices
    together. `improvement`: of the total, relative, positive where ours is faster.
    """

    default_cycles: float
    default_stall_cycles: float
    ours_cycles: float
    ours_stall_cycles: float
    default_priced_cycles: float = 0.0
    ours_priced_cycles: float = 0.0

    @property
    def default_total_cycles(self) -> float:
        """The total of the default: what a run takes."""
        return self.default_cycles + self.default_stall_cycles + self.default_priced_cycles

    @property
    def ours_total_cycles(self) -> float:
        """The same of the requested options."""
        return self.ours_cycles + self.ours_stall_cycles + self.ours_priced_cycles

    @property
    def improvement(self) -> float:
        """Fraction of the default's total that is saved."""
        return 1.0 - self.ours_total_cycles / self.default_total_cycles

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        totals = {
            "default_total_cycles": self.default_total_cycles,
            "ours_total_cycles": self.ours_total_cycles,
        }
        return {**super().to_json(), **totals, "improvement": self.improvement}


@dataclass(frozen=True)
class Request:
    """Options to compile with, what they aim at, and what they name."""

    steering: Steering
    aims: tuple[Aim, ...] = ()
    names: tuple[str, ...] = ()


DEFAULT = Request(Steering("default", {}))
"""The default compile alone: how well the program's costs predict it."""


def request_by_plan(session: CompileSession, plan: Plan, note: Callable[[str], None]) -> Request:
    """The export of `plan` that an early stop finds best.

    Raises PlanError for an invalid plan, CompilerError where no export can be compiled.
    """
    steering = best_export(session, exports(session.program, plan), note)
    return Request(steering, aims(session.program, plan))


def request_by_flags(program: Program, flags: Flags) -> Request:
    """A flags file's options. Raises PlanError if they were made for another chip."""
    if flags.hardware != program.hardware.name:
        raise PlanError(
            f"the flags were made for {flags.hardware}, and {program.name} is compiled for"
            f" {program.hardware.name}; export or tune for that"
        )
    steering = Steering("flags", flags.compiler_options)
    return Request(steering, flags.aims, named_instructions(flags))


def other_program_remark(program: Program, flags: Flags) -> str | None:
    """One line on flags that were made for another program, or before its costs were refined."""
    if flags.program_hash == content_hash(program):
        return None
    return (
        f"the flags were made for {flags.program} ({flags.program_hash}), and {program.name}"
        f" ({content_hash(program)}) is another program, or has other costs"
    )


def unknown_in(answers: Answers, flags: Flags) -> tuple[str, ...]:
    """What flags call instructions though a freshly exported program has none of that name.

    By two early stops under all of the flags, before the memory pass and after it: seconds.
    `answers`: of that program. Raises CompilerError.
    """
    options = flags.compiler_options
    compiles = (answers.early({**options, **SLOW_OPTIONS}), answers.early(options))
    flows = [Flow(parse_hlo(c.hlo.encode(), flags.program), flags.program) for c in compiles]
    names = frozenset().union(*map(instruction_names, flows))
    return unknown_names(named_instructions(flags), names)


def early_result(
    session: CompileSession, request: Request, default_session: CompileSession | None = None
) -> EarlyResult:
    """Compile the default and the requested options up to the memory pass.

    `default_session`: of the default, where the request makes another program. Raises CompilerError
    also where nothing in the program takes time.
    """
    beside = default_session or session
    default = beside.early({})
    refuse_no_time(beside, default.predicted.latency_s)
    return _early_result(session, request, default, session.early(request.steering.options))


def verify(
    session: CompileSession, request: Request, default_session: CompileSession | None = None
) -> Verdict:
    """Compile the default and the requested options in full; all else as in `early_result`."""
    default = timed_default(default_session or session)
    steered = session.full(request.steering.options)
    assert default.cycles is not None
    assert default.stall_cycles is not None
    assert steered.cycles is not None
    assert steered.stall_cycles is not None
    return Verdict(
        **vars(_early_result(session, request, default, steered)),
        default_cycles=default.cycles,
        default_stall_cycles=default.stall_cycles,
        ours_cycles=steered.cycles,
        ours_stall_cycles=steered.stall_cycles,
        default_priced_cycles=default.priced_cycles,
        ours_priced_cycles=steered.priced_cycles,
    )


def best_export(
    session: CompileSession, steerings: Sequence[Steering], note: Callable[[str], None]
) -> Steering:
    """The export whose placements, by early stops, are predicted to run fastest.

    Raises CompilerError where the compiler takes none.
    """
    best: tuple[float, Steering] | None = None
    failure = ""
    for steering in steerings:
        try:
            latency_s = session.early(steering.options).predicted.latency_s
        except FAILURES as error:
            failure = str(error)
            note(f"{steering.title}: {error}")
            continue
        cycles = latency_s * session.program.hardware.clock_hz
        note(f"{steering.title}: predicted total {cycles:,.0f} cycles")
        if best is None or latency_s < best[0]:
            best = latency_s, steering
    if best is None:
        raise CompilerError(f"no export of the plan can be compiled; the last one: {failure}")
    return best[1]


def realised_share(results: tuple[AimResult, ...]) -> float | None:
    """Share of the saving aimed at that the compiler placed as planned."""
    total = sum(p.saving_s for p in results)
    return sum(p.saving_s * p.realised for p in results) / total if total > 0 else None


def aim_results(
    program: Program, aimed: tuple[Aim, ...], outcome: Outcome
) -> tuple[AimResult, ...]:
    """The result of each of the `aimed`, in their order."""
    accesses = {
        (program.values[access.value].name, program.instructions[access.time].name): index
        for index, access in enumerate(program.accesses)
    }
    group_of = {value.name: value.group for value in program.values}
    results = []
    for aim in aimed:
        pairs = [(v, i) for v in aim.values for i in aim.instructions if (v, i) in accesses]
        indices = [accesses[pair] for pair in pairs]
        wanted = sum(program.accesses[a].saving_s for a in indices)
        fast = [a for a in indices if outcome.as_read.is_fast[a]]
        got = sum(program.accesses[a].saving_s for a in fast)
        share = got / wanted if wanted > 0 else 0.0
        groups = dict.fromkeys(group_of[v] for v in aim.values if v in group_of)
        reasons = [outcome.refused[g] for g in groups if g in outcome.refused]
        reason = "" if share > 0.999 else (reasons or [NOT_SAID])[0]
        results.append(AimResult(aim.values, aim.instructions, aim.saving_s, share, reason))
    return tuple(results)


def _early_result(
    session: CompileSession, request: Request, default: Outcome, steered: Outcome
) -> EarlyResult:
    program, options = session.program, request.steering.options
    results = aim_results(program, request.aims, steered)
    return EarlyResult(
        title=request.steering.title,
        predicted_default_cycles=_cycles(program, default.predicted),
        predicted_cycles=_cycles(program, steered.predicted),
        realised=realised_share(results),
        placements=results,
        unknown_instructions=unknown_names(request.names, steered.names),
        compiler_options=dict(options),
    )


def _cycles(program: Program, predicted: Simulation) -> float:
    return predicted.latency_s * program.hardware.clock_hz
