"""The outcome of one compile of a program: what it placed, its cycles and stalls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.compiler.reading.observation import Observation, cycles_of, observe, stall_cycles
from engine.compiler.reading.own_compile import device_of, own_compile, refuse_other_region
from engine.compiler.reading.repair import TOLERATED_LOSS, best_reading
from engine.compiler.reading.xla_plan import read_own_plan
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.memory_log import Refusal
from engine.compiler.toolchain.results import Answers
from engine.errors import CompilerError
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program.counts import given_counts, multiplicities
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.prices import priced_s


@dataclass(frozen=True, eq=False)
class Outcome:
    """One compile, read as a plan of the program.

    `as_read`: what was fast and when it was copied, whether or not that keeps our rules
    (`CompileSession.valid_plan` does). `predicted`: that, simulated with the program's costs.
    `cycles`, `stall_cycles`: the compiler's own total, loops multiplied out and copies between the
    memories added, and the stalls of its copies in flight under its own cycles; both None after an
    early stop. `priced_cycles`: what the program's prices come to, for which the compiler states
    none. `observation`: its cycles per instruction and what was fast. `refused`: alias group -> why
    the memory pass did not place it, for one use at least. `names`: of all instructions, before the
    pass (which replaces some copies) and after it.
    """

    as_read: Plan
    predicted: Simulation
    observation: Observation
    refused: Mapping[int, str]
    names: frozenset[str]
    cycles: float | None
    stall_cycles: float | None
    seconds: float
    priced_cycles: float = 0.0

    @property
    def total_cycles(self) -> float | None:
        """Cycles, stalls and prices together: what a run takes."""
        if self.cycles is None or self.stall_cycles is None:
            return None
        return self.cycles + self.stall_cycles + self.priced_cycles


@dataclass(frozen=True, eq=False)
class CompileSession:
    """One program and the compiler, which gives its `Outcome` under any options.

    `imported`: the program, and how its instructions map to those of the all-slow compile.
    """

    imported: Imported
    answers: Answers

    @property
    def program(self) -> Program:
        """The program, with the costs by which outcomes are predicted."""
        return self.imported.program

    def early(self, options: Mapping[str, str]) -> Outcome:
        """Stop after the memory pass (seconds); cycles only if the full compile is cached.

        Raises CompilerError.
        """
        return self._outcome(self.answers.early(options))

    def full(self, options: Mapping[str, str]) -> Outcome:
        """Compile in full (minutes unless cached). Raises CompilerError."""
        return self._outcome(self.answers.full(options))

    def valid_plan(self, options: Mapping[str, str]) -> Plan:
        """The placements under `options` as a plan that keeps the rules of `docs/model.md`.

        Packed anew where that keeps more of it; its notes say what share of the saving was lost.
        Raises CompilerError.
        """
        compiled = self.answers.early(options)
        _, observation, read = self._read(compiled)
        fast = observation.is_fast.tolist()
        return best_reading(self.program, read, compiled.buffers, fast, TOLERATED_LOSS).valid

    def with_costs(self, program: Program) -> CompileSession:
        """This session for the program with other costs."""
        return replace(self, imported=replace(self.imported, program=program))

    def _outcome(self, compiled: Compiled) -> Outcome:
        program = self.program
        flow, observation, read = self._read(compiled)
        total = _total_cycles(flow, program) if compiled.is_full else None
        plan = read(compiled.buffers)
        is_fast = np.array(plan.is_fast) | observation.is_fast
        as_read = replace(plan, program_hash=content_hash(program), is_fast=tuple(is_fast.tolist()))
        stalls = stall_cycles(self.imported, as_read, observation) if compiled.is_full else None
        return Outcome(
            as_read=as_read,
            predicted=simulate(program, as_read),
            observation=observation,
            refused=_refused(self.imported, compiled.refusals),
            names=instruction_names(flow) | instruction_names(self.imported.flow),
            cycles=total,
            stall_cycles=stalls,
            seconds=compiled.seconds,
            priced_cycles=priced_s(program) * program.hardware.clock_hz,
        )

    def _read(self, compiled: Compiled) -> tuple[Flow, Observation, Callable[[str | None], Plan]]:
        """The compile's flow, what it tells, and a function that reads its plan by offsets."""
        program, where = self.program, f"{self.program.name}, compiled"
        flow = Flow(parse_hlo(compiled.hlo.encode(), where), where)
        refuse_other_region(program, compiled)
        scoped = device_of(compiled, program.hardware.name).scoped_bytes

        def read(buffers: str | None) -> Plan:
            return read_own_plan(self.imported, flow, buffers, scoped)

        return flow, observe(self.imported, flow), read


def compile_session(program: Program, answers: Answers) -> CompileSession:
    """The session of a stored program, after an early stop that maps its instructions anew.

    Raises CompilerError where the compiler makes another program of it.
    """
    return CompileSession(own_compile(program, answers), answers)


def timed_default(session: CompileSession) -> Outcome:
    """The whole default compile, beside which others gain or lose. Raises as `refuse_no_time`."""
    default = session.full({})
    refuse_no_time(session, default.total_cycles or 0.0)
    return default


def refuse_no_time(session: CompileSession, time: float) -> None:
    """Raise CompilerError where the default takes no time: no share of nothing can be gained."""
    if time <= 0:
        raise CompilerError(
            f"{session.program.name}: nothing to gain: the compiler states no time for anything in"
            " it; give measured times (reprice --profile)"
        )


def unknown_names(patterns: tuple[str, ...], names: frozenset[str]) -> tuple[str, ...]:
    """The patterns that match none of the instructions' names, so that they do nothing."""
    return tuple(p for p in patterns if not any(_matches(p, name) for name in names))


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False


def instruction_names(flow: Flow) -> frozenset[str]:
    """The names of all instructions of a compile, those within fusions too."""
    computations = flow.scope.by_id.values()
    return frozenset(i.name for instructions in computations for i in instructions.values())


def _refused(imported: Imported, refusals: tuple[Refusal, ...]) -> dict[int, str]:
    """Alias group -> the reasons for which it was refused, each once.

    A loop-carried value has several names in the log; a refusal of any counts for its group.
    """
    flow, values = imported.flow, imported.program.values
    groups = {
        known.label.removesuffix("{}"): values[imported.value_of[flow.origin(number)]].group
        for number, known in enumerate(flow.values)
        if flow.origin(number) in imported.value_of
    }
    reasons: dict[int, list[str]] = {}
    for refusal in refusals:
        if refusal.position in groups:
            reasons.setdefault(groups[refusal.position], []).append(refusal.reason)
    return {group: ", ".join(dict.fromkeys(texts)) for group, texts in reasons.items()}


def _total_cycles(flow: Flow, program: Program) -> float:
    """Cycles of one run of a compile of the program, each instruction's as `observe` has them."""
    times = [*multiplicities(flow.regions, given_counts(program)), 1.0]
    hardware = program.hardware
    return sum(times[event.region] * cycles_of(flow, event, hardware) for event in flow.events)
