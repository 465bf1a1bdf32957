"""mallocMuZero: which tensors of a compiled ML program live in fast memory, when, and where.

One module for whoever uses the project from Python; `engine` holds the work behind it. A *program*
is what a compiler made of a model, a *plan* says for every access whether fast or slow memory
serves it. `docs/model.md` has the words and the rules.

>>> import mallocmuzero
>>> program = mallocmuzero.load("teach-keep-or-drop")
>>> plan = mallocmuzero.solve(program, "xla_like")
>>> print(mallocmuzero.check(program, plan))
valid
>>> f"{mallocmuzero.simulate(program, plan).latency_s * 1e6:.0f} us"
'1400 us'
>>> f"no plan takes less than {mallocmuzero.bound(program).bound_s * 1e6:.0f} us"
'no plan takes less than 1333 us'

Errors that a user can cause are `EngineError`s whose text is one line. Plans are checked before
they are given out.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from engine.agent.trace_io import SearchTrace
from engine.compiler.steering.export import Steering, exports
from engine.compiler.steering.flags_file import Flags
from engine.compiler.steering.verify import Verdict
from engine.errors import EngineError, PlanError, UsageError, in_one_line
from engine.files import can_be_a_path
from engine.game.gym_env import MallocEnv
from engine.game.moves import Rules
from engine.plan.bounds import Bound, lower_bound
from engine.plan.check import CheckResult, Violation
from engine.plan.check import check as _check
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import Simulation
from engine.plan.simulate import simulate as _simulate
from engine.program.counts import Counts
from engine.program.counts import recounted as _recounted
from engine.program.library import sample_names
from engine.program.model import Program
from engine.program.profile import profiled as _profiled
from engine.program.profile import read_profile
from engine.solvers import Budget
from engine.solvers import solve as _solve
from engine.solvers.registry import always, refuse_bad_budget
from engine.workflows import files_by_kind
from engine.workflows.compare import applicable
from engine.workflows.compare import compare as _compare

if TYPE_CHECKING:
    from engine.compiler.toolchain.target import Given
    from engine.game.environment import Environment, EnvState
    from engine.workflows.tuning import Tuned

__all__ = [
    "Bound",
    "Budget",
    "CheckResult",
    "Copy",
    "Counts",
    "EngineError",
    "EnvState",
    "Environment",
    "Flags",
    "MallocEnv",
    "Plan",
    "Program",
    "Rules",
    "SearchTrace",
    "Simulation",
    "Stay",
    "Steering",
    "Tuned",
    "Verdict",
    "Violation",
    "bound",
    "capture",
    "check",
    "compare",
    "environment",
    "export",
    "export_program",
    "import_hlo",
    "load",
    "profiled",
    "recounted",
    "sample_names",
    "save",
    "simulate",
    "solve",
    "solver_names",
    "tune",
    "verify",
]

_LOADED_WHEN_ASKED_FOR = {
    "EnvState": "engine.game.environment",
    "Environment": "engine.game.environment",
    "Tuned": "engine.workflows.tuning",
}
"""Types whose modules load JAX, which not every user needs."""


def __getattr__(name: str) -> Any:
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LOADED_WHEN_ASKED_FOR[name]), name)


Progress = Callable[[float, str], bool]
"""Hears the share of the work that is done and a word about it; answers False to end it early."""

_PATHS = ("name_or_path", "path", "slow", "fast", "buffers", "profile", "answers")
_ARGUMENTS: Mapping[str, tuple[Any, str]] = {
    "program": (Program, "load it first, by mallocmuzero.load"),
    "plan": (Plan, "load it first, by mallocmuzero.load"),
    "solver": (str, "name one of mallocmuzero.solver_names"),
    "solvers": (Iterable, "name them in a list"),
    "progress": (Callable, "give a function"),
    "target_s": (Real, "name seconds"),
    "counts": (Counts, "give a mallocmuzero.Counts"),
    "hardware": (str, "name a chip, such as tpu-v5e"),
    "topology": (str, "name one, such as v5e:4x4"),
    "name": (str, "give a text"),
    "rules": (Rules, "give a mallocmuzero.Rules"),
    "prices": (Bound, "give what mallocmuzero.bound returns"),
    **dict.fromkeys(_PATHS, ((str, PathLike), "give a path")),
}
"""The type of each argument of this module by its name, and what to do if it is of none such."""

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _guarded(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """The function, which raises UsageError for arguments of a type that it cannot use."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def guarded(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            is_default = value is signature.parameters[name].default
            if name in _ARGUMENTS and not is_default and not _is_usable(name, value):
                what, advice = in_one_line(repr(value), 60), _ARGUMENTS[name][1]
                raise UsageError(f"{function.__name__}: {name} cannot be {what}: {advice}")
        return function(*args, **kwargs)

    return guarded


def _is_usable(name: str, value: Any) -> bool:
    """Whether an argument is of its type; of a path, whether a file can have it."""
    is_of_type = isinstance(value, _ARGUMENTS[name][0])
    return is_of_type and (name not in _PATHS or can_be_a_path(value))


_Kind = TypeVar("_Kind", Program, Plan, Flags, SearchTrace)


@overload
def load(name_or_path: str | PathLike[str]) -> Any: ...
@overload
def load(name_or_path: str | PathLike[str], kind: type[_Kind]) -> _Kind: ...
@_guarded
def load(name_or_path: str | PathLike[str], kind: type | None = None) -> Any:
    """What a file holds, or the sample program of a name.

    A program, a plan or compiler flags (`.json`, `.json.gz`), or a search trace (`.npz`). `kind`:
    the type that it is to be, such as `Plan`. Raises UnknownNameError, which names near matches,
    ProgramFormatError, PlanError and CheckpointError for a malformed file, and one of another kind.

    >>> load("teach-prefetch").num_slots
    3
    >>> load("resnet50-v5e-b65")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.UnknownNameError: no sample program is called 'resnet50-v5e-b65'; near it: ...
    >>> load("teach-prefetch", Plan)
    Traceback (most recent call last):
    engine.errors.ProgramFormatError: teach-prefetch: holds a program, not a plan
    """
    return files_by_kind.load(fspath(name_or_path), kind)


@_guarded
def save(content: Program | Plan | Flags | SearchTrace, path: str | PathLike[str]) -> None:
    """Write what `load` reads, whole or not at all; gzipped where the name ends in `.gz`.

    Raises ProgramFormatError for a path that cannot be written, UsageError for other content.

    >>> from tempfile import TemporaryDirectory
    >>> plan = solve(load("teach-prefetch"), "greedy")
    >>> with TemporaryDirectory() as folder:
    ...     save(plan, f"{folder}/plan.json.gz")
    ...     load(f"{folder}/plan.json.gz") == plan
    True
    """
    files_by_kind.save(content, Path(path))


@_guarded
def import_hlo(
    slow: str | PathLike[str],
    fast: str | PathLike[str] | None = None,
    buffers: str | PathLike[str] | None = None,
    *,
    hardware: str,
    counts: Counts | None = None,
) -> Program:
    """The program in a dump of XLA: scheduled HLO, as text or as a message, gzipped or not.

    `slow`: compiled with everything in slow memory. `fast`: the default compile of the same module,
    whose placements fit the savings. `buffers`: its buffer assignment, which holds the offsets of
    XLA's own plan. `hardware`: the chip that the dumps are of, which they do not name, such as
    `tpu-v5e`. `counts`: how often loops run and branches are taken that the dump does not tell
    of. Raises ProgramFormatError for a file that is none of these, UnknownNameError for an unknown
    `hardware`, UsageError for counts of what the program has not.

    >>> import_hlo("README.md", hardware="tpu-v5e")
    Traceback (most recent call last):
    engine.errors.ProgramFormatError: README.md: not HLO (no line begins with 'HloModule')
    """
    # Imported here: the costs are fitted with scipy, which nothing else needs.
    from engine.compiler.capture.importer import import_hlo as read

    paths = [None if path is None else Path(path) for path in (fast, buffers)]
    return read(Path(slow), paths[0], hardware, paths[1], counts=counts)


@_guarded
def capture(
    jitted: Any,
    *args: Any,
    hardware: str,
    name: str | None = None,
    topology: str = "",
    compiler_options: Given | None = None,
    counts: Counts | None = None,
    **options: Any,
) -> Program:
    """The program of a jitted JAX function, compiled by the real TPU compiler; minutes.

    `args`: what it is called with, arrays or `jax.ShapeDtypeStruct` in their place; no TPU is
    needed. Jitted for a mesh, it is partitioned over the first devices of `topology`: a name like
    `v5e:4x4` or a number of chips; without, the smallest one that is large enough.
    `compiler_options`: your own, which hold for every compile, as `LIBTPU_INIT_ARGS` in the
    environment does. `counts`: as in `import_hlo`. `options` are those of
    `engine.workflows.capturing.capturing`. Raises UnknownNameError for other hardware,
    MissingDependencyError without the compiler, CompilerError where it refuses.

    >>> import jax
    >>> capture(jax.jit(lambda x: x + 1), 2.0, hardware="tpu-v1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.UnknownNameError: the compiler is not asked for 'tpu-v1'; only for tpu-v4, ...
    """
    from engine.compiler.capture.capture import capture as run
    from engine.compiler.toolchain.target import Target, init_args, options_in
    from engine.workflows.capturing import capturing

    own = options_in(compiler_options or {})
    target = Target(hardware, topology, own, init_args(), counts or Counts())
    return run(jitted, *args, target=target, how=capturing(**options), name=name)


@_guarded
def recounted(program: Program, counts: Counts) -> Program:
    """The program as if its loops ran, and its branches were taken, so often.

    `counts`: of loops whose length the compiler does not know, and of conditionals. Schedule and
    XLA's plan stay. Raises UsageError for a name that is none of them.

    >>> recounted(load("teach-prefetch"), Counts({"loop": 12}))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.UsageError: teach-prefetch has no loop of unknown length called 'loop'; ...
    """
    return _recounted(program, counts)


@_guarded
def profiled(program: Program, profile: str | PathLike[str], name: str = "") -> Program:
    """The program with measured times for what the compiler does not estimate.

    `profile`: a trace of XProf (`*.trace.json.gz`), what its page HLO Op Stats exports, or a CSV
    with the columns `instruction` and `time_us` (or `time_s`, `time_ms`, `time_ns`), the time of
    one execution. `name`: which program of a file of several, like `jit_step(1618)`, where more
    than one fits. Schedule and XLA's plan stay. Raises ProgramFormatError for another file,
    UsageError where it measures nothing that the compiler leaves out, or does not tell which
    program is meant.

    >>> profiled(load("teach-prefetch"), "README.md")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.ProgramFormatError: README.md: no profile: its first line must name ...
    """
    found = read_profile(Path(profile))
    return _profiled(program, found.only(name) if name else found)


@_guarded
def export_program(jitted: Any, *args: Any, path: str | PathLike[str], **kwargs: Any) -> None:
    """Write a jitted JAX function to a file that `capture --stablehlo` compiles.

    `args`, `kwargs`: what it is called with, arrays or `jax.ShapeDtypeStruct` in their place, in
    trees of any kind (Optax, Flax, Equinox). Neither these nor source files are written, but arrays
    that the function encloses are; no compiler is needed. Raises UsageError for what `jax.jit` did
    not make or made with compiler options, ProgramFormatError for a path that cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> import jax
    >>> with TemporaryDirectory() as folder:
    ...     export_program(jax.jit(lambda x: x + 1), 2.0, path=f"{folder}/step.stablehlo")
    """
    from engine.compiler.toolchain.stablehlo import exported
    from engine.files import write_bytes

    write_bytes(Path(path), exported(jitted, *args, **kwargs))


@_guarded
def solver_names(program: Program) -> list[str]:
    """Names of the solvers that can run on this program; `solve` and `compare` take them.

    >>> "greedy" in solver_names(load("teach-prefetch"))
    True
    """
    return applicable(program)


@_guarded
def solve(
    program: Program,
    solver: str = "portfolio",
    seconds: float = 10.0,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Plan:
    """A plan that the checker has passed.

    `seconds`: wall-clock time, for solvers that use more of it. `options`: settings of one solver,
    such as `checkpoint="scratch"` of `muzero`. Raises UnknownNameError for an unknown solver,
    SolverError where it finds no plan or cannot run on this program, ConfigError for a bad setting.

    >>> plan = solve(load("teach-prefetch"), "random", seconds=1, seed=3)
    >>> plan.solver, plan.notes["seed"]
    ('random', 3)
    """
    return _solve(solver, program, Budget(seconds, seed, progress or always, options))


@_guarded
def check(program: Program, plan: Plan) -> CheckResult:
    """Whether a plan is valid for a program; as a condition, true if it is (`docs/model.md`).

    >>> program = load("teach-prefetch")
    >>> plan = solve(program, "greedy")
    >>> if check(program, plan):
    ...     print("valid")
    valid
    >>> result = check(load("teach-keep-or-drop"), plan)
    >>> result.is_valid, result.violation.rule
    (False, 'wrong-program')
    """
    return CheckResult(_check(program, plan))


@_guarded
def simulate(program: Program, plan: Plan) -> Simulation:
    """How long the program takes under a valid plan, and when everything happens.

    Raises PlanError for a plan that breaks a rule.

    >>> program = load("teach-prefetch")
    >>> slow = simulate(program, solve(program, "all_slow"))
    >>> f"{slow.latency_s * 1e6:.0f} us, {slow.stall_s * 1e6:.0f} of them stalls"
    '1724 us, 0 of them stalls'
    """
    result = check(program, plan)
    if not result:
        raise PlanError(f"the plan {result}")
    return _simulate(program, plan)


@_guarded
def bound(
    program: Program,
    seconds: float = 60.0,
    method: str = "lp",
    target_s: float = math.inf,
) -> Bound:
    """A number of seconds that no valid plan goes below, and what scarce things are worth.

    Stopped after `seconds` it is still a bound, but a lower one. `method`: `lp`, or `mip`, which
    branches, is never lower, and stops at `target_s`, the latency of a plan to be proven optimal.
    Raises UsageError for another method or target, ConfigError for seconds that there are not.

    >>> program = load("teach-keep-or-drop")
    >>> relaxed, whole = bound(program), bound(program, method="mip")
    >>> f"{relaxed.bound_s * 1e6:.0f} us, {whole.bound_s * 1e6:.0f} us"
    '1333 us, 1400 us'
    """
    refuse_bad_budget(seconds)
    if not target_s >= 0:
        raise UsageError(f"bound: target_s {target_s}: name seconds, or leave it out")
    return lower_bound(program, seconds, method, target_s)


@_guarded
def compare(
    program: Program,
    solvers: str | Sequence[str] | None = None,
    seconds: float = 10.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Several solvers side by side: `program`, `bound_s`, and `results`, the fastest plan first.

    `solvers`: all that apply, unless named. Raises UnknownNameError before any of them runs,
    UsageError for none.

    >>> table = compare(load("teach-prefetch"), ["all_slow", "greedy"])
    >>> [row["solver"] for row in table["results"]]
    ['greedy', 'all_slow']
    """
    names = [solvers] if isinstance(solvers, str) else solvers
    return _compare(program, names, Budget(seconds, seed))


@_guarded
def environment(
    program: Program, rules: Rules | None = None, prices: Bound | None = None
) -> Environment:
    """The game of a program in JAX, for `jit`, `vmap` and `scan` (`docs/environments.md`).

    `prices`: a bound whose prices of memory and copies the player is to see. Raises SolverError for
    a program too large for the JAX game, ConfigError for rules that the environment does not have,
    UsageError for the bound of another program.
    For Gymnasium: `gymnasium.make("mallocmuzero/MallocGame-v0", program=program)`.

    >>> env = environment(load("teach-prefetch"))
    >>> env.num_steps, env.num_actions
    (6, 5)
    """
    from engine.game.environment import Environment

    return Environment(program, rules, prices)


@_guarded
def export(program: Program, plan: Plan) -> tuple[Steering, ...]:
    """Options for the real compiler that aim at a plan, in several variants (`docs/tuning.md`).

    `options` of each go to `jitted.lower(*args).compile(compiler_options=...)`. Raises PlanError
    for a plan that breaks a rule or serves nothing from fast memory.

    >>> program = load("t5-v5e-b24")
    >>> variants = export(program, solve(program, "greedy"))
    >>> variants[0].title
    'by saving'
    """
    return exports(program, plan)


@_guarded
def verify(
    program: Program,
    plan: Plan | None = None,
    answers: str | PathLike[str] | None = None,
    compiler_options: Given | None = None,
) -> Verdict:
    """What the real compiler makes of a plan, beside its default; minutes.

    `plan`: None for the default alone. `answers`: a folder for compile results, by default in the
    user's cache. `compiler_options`: your own, on top of those that the program was captured with;
    the default is the compile under these.
    Raises ProgramFormatError for a program that holds nothing to compile again, PlanError for an
    invalid plan, CompilerError where it cannot be compiled.

    >>> verify(load("teach-prefetch"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.ProgramFormatError: teach-prefetch: holds no StableHLO to compile again; ...
    """
    from engine.compiler.reading.own_compile import stored_answers
    from engine.compiler.steering.outcome import compile_session
    from engine.compiler.steering.verify import DEFAULT, request_by_plan
    from engine.compiler.steering.verify import verify as compiled
    from engine.compiler.toolchain.target import init_args, options_in
    from engine.workflows.capturing import answers_folder

    if plan is not None:
        exports(program, plan)  # refused before anything is compiled
    folder = answers_folder() if answers is None else Path(answers)
    options = options_in(compiler_options or {})
    session = compile_session(program, stored_answers(program, folder, options, init_args()))
    request = DEFAULT if plan is None else request_by_plan(session, plan, lambda _: None)
    return compiled(session, request)


@_guarded
def tune(jitted: Any, *args: Any, hardware: str, **options: Any) -> Tuned:
    """The options of the lowest total by the real compiler: cycles, stalls and prices; hours.

    Resumable: compile results are cached.

    `args` as in `capture`; `options` are those of `engine.workflows.tuning.tune`. The options are
    `dict(tune(...).flags.compiler_options)`, empty where the default is best.

    >>> import jax
    >>> tune(jax.jit(lambda x: x + 1), 2.0, hardware="tpu-v5e", solver="gredy")
    Traceback (most recent call last):
    engine.errors.UnknownNameError: no solver is called 'gredy'; try greedy
    """
    from engine.workflows.tuning import tune as run

    return run(jitted, *args, hardware=hardware, **options)
