"""`tune` with solvers of this project in the loop."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.analysis.capturing import capturing
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers import Budget, find, solve

if TYPE_CHECKING:
    from engine.compiler.tuned import Tuned

SOLVERS = "steered,local"
"""Solvers whose plans are exported, in turn: one plans what we foretell that the compiler can be
steered to, the other what pays most, of which the compiler takes what it can."""
ANSWERS_FOLDER = Path(".capture/answers")


def tune_program(program: Program, solver: str = SOLVERS, **options: Any) -> Tuned:
    """`engine.compiler.tuned.tune_program`, with `solver` to plan anew; `options` are its own.

    Several solvers, named with commas, take turns. Raises UnknownNameError for an unknown one,
    before anything is compiled.
    """
    names = [find(name.strip()).name for name in solver.split(",")]
    from engine.compiler.toolchain import prepare_environment
    from engine.compiler.tuned import tune_program as run

    # A solver's jax is not to look for a TPU in this process.
    prepare_environment()

    turns = cycle(names)

    def plan_fn(asked: Program, seconds: float, seed: int) -> Plan:
        return solve(next(turns), asked, Budget(seconds, seed))

    return run(program, plan_fn, **options)


def tune(
    jitted: Any,
    *args: Any,
    hardware: str,
    solver: str = SOLVERS,
    name: str | None = None,
    **options: Any,
) -> Tuned:
    """Capture a jitted function for arguments of these shapes, and tune it; hours.

    `args`: arrays, or `jax.ShapeDtypeStruct` in their place. `options` are those of
    `tune_program`. Then, on a TPU, `jitted.lower(*args).compile(compiler_options=OPTIONS)` with
    `OPTIONS = dict(tuned.flags.compiler_options)`; they are empty where the default is best.
    Raises UnknownNameError for an unknown solver, before anything is compiled.
    """
    for one in solver.split(","):
        find(one.strip())
    from engine.compiler.capture import capture

    heard = {"note": options["note"]} if "note" in options else {}
    how = capturing(**heard)
    program = capture(jitted, *args, hardware=hardware, how=how, name=name)
    return tune_program(program, solver, **options)
