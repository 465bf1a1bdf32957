"""The real compiler's work in a worker process: a plan as it compiles it, and a search for options.

Whole compiles take minutes; their results are cached where every command finds them, so that
nothing is compiled twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.export import exports
from engine.compiler.steering.instruction_cycles import instruction_cycles
from engine.compiler.steering.outcome import CompileSession, compile_session
from engine.compiler.steering.verify import Verdict, request_by_plan
from engine.compiler.steering.verify import verify as compiled
from engine.compiler.toolchain.libtpu import require_compiler, use_cpu_here
from engine.compiler.toolchain.results import DEFAULT_OPTIONS
from engine.compiler.toolchain.target import init_args
from engine.folders import cache_folder
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.program.io import load
from engine.program.model import Program
from engine.workflows.capturing import COMPILES_CACHE, answers_folder
from engine.workflows.tuning import tune_program
from ui.jobs.protocol import BASIS, PLAN, PROGRAM, Progress

COMPILED = "compiled"
"""The solver of a plan that the compiler realised under given options."""
_WHOLE_COMPILES = 2


def verify(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Compile the basis plan's best export; writes the plan that came of it.

    Returns `verdict`, the fields of `engine.compiler.steering.verify.Verdict`, `instructions`,
    those of `InstructionCycles` of each, and `asked`, the identity of the plan. Raises
    CompilerError, MissingDependencyError, PlanError, ProgramFormatError.
    """
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    session = _session(program, folder, progress)
    note = _counted(progress, len(exports(program, plan)) + _WHOLE_COMPILES)
    verdict = compiled(session, request_by_plan(session, plan, note))
    return _facts(folder, session, verdict, order)


def tune(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Search for the options of fewest compiled cycles; writes the plan that the best ones give.

    `order["details"]`: `compiles`. Returns what `verify` does, with `compiles`, those made, and
    `random_improvement`, of as many random options. Raises as `verify` does.
    """
    program = load(folder / PROGRAM)
    session = _session(program, folder, progress)
    tuned = tune_program(
        program,
        compiles=int(dict(order["details"])["compiles"]),
        seconds=order["seconds"],
        seed=order["seed"],
        folder=_answers_folder(folder),
        has_program_options=False,
        note=_noted(progress),
    )
    return {
        **_facts(folder, session, tuned.verdict, order),
        "compiles": tuned.compiles,
        "random_compiles": tuned.random_compiles,
        "random_improvement": tuned.random_improvement,
    }


def _session(program: Program, folder: Path, progress: Progress) -> CompileSession:
    """The program before the compiler, which announces every compile."""
    note = _noted(progress)
    answers = stored_answers(program, _answers_folder(folder), init_args=init_args(), note=note)
    require_compiler(program.hardware.name)
    use_cpu_here()
    return compile_session(program, answers)


def _answers_folder(folder: Path) -> Path:
    """Where all commands cache compile results; where nothing is cached, the job's own folder."""
    return folder if cache_folder(COMPILES_CACHE) is None else answers_folder()


def _facts(
    folder: Path, session: CompileSession, verdict: Verdict, order: dict[str, Any]
) -> dict[str, Any]:
    """Write the plan that the verdict's options gave; returns the facts that `verify` lists.

    The session has both compiles already.
    """
    default, ours = session.full(DEFAULT_OPTIONS), session.full(verdict.compiler_options)
    realised = session.valid_plan(verdict.compiler_options)
    save_plan(_realised(realised, verdict), folder / PLAN)
    rows = instruction_cycles(session.program, default.observation, ours.observation)
    return {
        "verdict": verdict.to_json(),
        "instructions": [asdict(row) for row in rows],
        "asked": order["basis"],
    }


def _realised(plan: Plan, verdict: Verdict) -> Plan:
    notes = {
        **plan.notes,
        "title": verdict.title,
        "compiled_cycles": verdict.ours_total_cycles,
    }
    return replace(plan, solver=COMPILED, notes=notes)


def _noted(progress: Progress) -> Callable[[str], None]:
    """A function for notes, which are reported without a share."""

    def note(text: str) -> None:
        progress(None, text)

    return note


def _counted(progress: Progress, steps: int) -> Callable[[str], None]:
    """A function for notes that also reports the share of the compiles that are done."""
    done = 0

    def note(text: str) -> None:
        nonlocal done
        done += 1
        progress(min(1.0, done / steps), text)

    return note
