"""The command line: `python -m engine COMMAND …`.

`--json` prints one JSON object on stdout and nothing else; logs and progress go to stderr. Bad
input exits with 2 and one line, a plan that breaks a rule with 1, an interrupted command with 130.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import CheckpointError, EngineError, PlanError, SolverError
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from engine.solvers import SOLVERS, Budget, solve

if TYPE_CHECKING:
    from engine.agent.config import AgentConfig

EXIT_VIOLATION = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except EngineError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader has seen enough; what is buffered must not complain again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        _note("interrupted")
        return EXIT_INTERRUPTED


def _complain(message: str) -> int:
    print("error:", " ".join(message.split()), file=sys.stderr)
    return EXIT_BAD_INPUT


def _note(message: str) -> None:
    print(message, file=sys.stderr)


def _show(options: argparse.Namespace, body: dict[str, Any], lines: Sequence[str]) -> None:
    # At once: a reader that is gone shall be noticed here.
    print(json.dumps(body) if options.json else "\n".join(lines), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_capture(commands)
    _add_import(commands)
    _add_plan_commands(commands)
    _add_analyse(commands)
    _add_comparisons(commands)
    _add_train(commands)
    return parser


def _command(commands: Any, name: str, run: Any, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _add_capture(commands: Any) -> None:
    parser = _command(commands, "capture", _capture, "compile a model with the real compiler")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model of the zoo")
    parser.add_argument("--all", action="store_true", help="every sample program, resumable")
    parser.add_argument("--offline", action="store_true", help="with --all: compile nothing new")
    parser.add_argument("--hardware", default="tpu-v5e")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--train", action="store_true", help="a training step")
    parser.add_argument("--raw", type=Path, default=Path(".capture"), help="where answers are kept")
    parser.add_argument("-o", "--output", type=Path, metavar="P")


def _add_import(commands: Any) -> None:
    parser = _command(commands, "import", _import, "turn HLO dumps or a CSV into a program")
    parser.add_argument("--slow", type=Path, metavar="HLO", help="dump with all in slow memory")
    parser.add_argument("--fast", type=Path, metavar="HLO", help="the default compile's dump")
    parser.add_argument("--buffers", type=Path, metavar="TXT", help="its buffer assignment")
    parser.add_argument("--minimalloc", type=Path, metavar="CSV")
    parser.add_argument("--capacity", type=int, default=2**20, help="bytes, with --minimalloc")
    parser.add_argument("--hardware", default="tpu-v5e")
    parser.add_argument("-o", "--output", type=Path, metavar="P", required=True)


def _add_plan_commands(commands: Any) -> None:
    parser = _command(commands, "solve", _solve, "find a plan")
    _program_argument(parser)
    parser.add_argument("--solver", default="greedy", help=", ".join(SOLVERS))
    _budget_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="plan.json")
    agent = parser.add_argument_group("only for the solver muzero")
    agent.add_argument("--checkpoint", metavar="FOLDER", help="weights to begin from, or 'scratch'")
    agent.add_argument(
        "--model", help="what the search grows its tree with: learned, simulator, policy"
    )
    agent.add_argument("--algorithm", help="of the search: gumbel or muzero")
    agent.add_argument("--simulations", type=int, help="per move")
    agent.add_argument("--trace", type=Path, metavar="trace.npz", help="what the search saw")
    for name, run, about in (
        ("check", _check, "apply the referee to a plan"),
        ("simulate", _simulate, "time a plan"),
    ):
        parser = _command(commands, name, run, about)
        _program_argument(parser)
        parser.add_argument("plan", type=Path, metavar="plan.json")


def _add_analyse(commands: Any) -> None:
    about = "what a search trace says of the agent: calibration, drift, surprises, regrets"
    parser = _command(commands, "analyse", _analyse, about)
    _program_argument(parser)
    parser.add_argument("trace", type=Path, metavar="trace.npz", help="of solve --trace")
    parser.add_argument("--seconds", type=float, default=10.0, help="to look for regrets")


def _add_comparisons(commands: Any) -> None:
    parser = _command(commands, "bound", _bound, "a lower bound on every plan's latency")
    _program_argument(parser)
    parser = _command(commands, "compare", _compare, "several solvers on one program")
    _program_argument(parser)
    _solvers_argument(parser)
    _budget_arguments(parser)
    parser = _command(commands, "bench", _bench, "several solvers on several programs")
    parser.add_argument("--programs", help="comma-separated; default: all samples")
    _solvers_argument(parser)
    _budget_arguments(parser)


def _add_train(commands: Any) -> None:
    parser = _command(commands, "train", _train, "train the agent on many programs, resumable")
    parser.add_argument("--programs", help="comma-separated; default: all that are not held out")
    parser.add_argument("--variants", type=int, default=1, help="per program, other hardware")
    parser.add_argument("--rounds", type=int, default=10_000, help="of games, in all")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of this call")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="learned", help="learned, simulator or policy")
    parser.add_argument("--simulations", type=int, default=8, help="per move")
    parser.add_argument("--games", type=int, help="played in step; default: the agent's own")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting of engine/agent/config.py, such as practice.is_competing=true,"
        " practice.reanalyse_every=8 or 'hidden=[\"prices\"]'; may be repeated",
    )
    parser.add_argument("--run", dest="folder", type=Path, default=Path(".training/generalist"))
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="CHECKPOINT")


def _program_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="P", help="a program file or a sample's name")


def _solvers_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--solvers", help="comma-separated; default: all that apply")


def _budget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)


def _capture(options: argparse.Namespace) -> int:
    from engine.analysis.catalogue import write_catalogue
    from engine.compiler.capture import capture_all, capture_one
    from engine.compiler.samples import Sample

    if options.all:
        names = capture_all(options.raw, _note, options.offline)
        write_catalogue(library.SAMPLES_FOLDER, names, _note)
        _show(options, {"programs": names}, names)
        return 0
    if options.model is None or options.output is None:
        raise PlanError("capture: name a MODEL and an output with -o, or use --all")
    sample = Sample(options.model, options.hardware, options.batch, options.train)
    program = capture_one(sample, options.raw, _note)
    save(program, options.output)
    _show_program(options, program)
    return 0


def _import(options: argparse.Namespace) -> int:
    from engine.compiler.importer import import_hlo
    from engine.program.minimalloc import import_minimalloc

    if (options.slow is None) == (options.minimalloc is None):
        raise PlanError("import: name either --slow (an HLO dump) or --minimalloc (a CSV)")
    if options.minimalloc is not None:
        program = import_minimalloc(options.minimalloc, options.capacity)
    else:
        program = import_hlo(options.slow, options.fast, options.hardware, options.buffers)
    save(program, options.output)
    _show_program(options, program)
    return 0


def _show_program(options: argparse.Namespace, program: Program) -> None:
    facts = {
        "program": program.name,
        "hardware": program.hardware.name,
        "instructions": program.num_slots,
        "values": len(program.values),
        "accesses": len(program.accesses),
        "all_slow_s": program.all_slow_s,
        "all_fast_s": program.all_fast_s,
    }
    _show(options, facts, [f"{key:14} {value}" for key, value in facts.items()])


def _solve(options: argparse.Namespace) -> int:
    program = library.resolve(options.program)
    names = ("checkpoint", "model", "algorithm", "simulations", "trace")
    given = {n: getattr(options, n) for n in names if getattr(options, n) is not None}
    if given and options.solver != "muzero":
        raise SolverError(f"solve: --{min(given)} needs --solver muzero")
    for path in (options.output, options.trace):
        _refuse_nowhere(path)
    plan = solve(options.solver, program, Budget(options.seconds, options.seed, options=given))
    if options.output is not None:
        save_plan(plan, options.output)
    body = {
        **_timing(program, plan),
        "solver": options.solver,
        "seconds": plan.notes["seconds"],
        "plan": None if options.output is None else str(options.output),
    }
    _show(options, body, _timing_lines(body))
    return 0


def _refuse_nowhere(path: Path | None) -> None:
    """Before long work: a file in a folder that is not there could not be written after it."""
    if path is not None and not path.parent.is_dir():
        raise PlanError(f"{path}: its folder does not exist; make it first")


def _train(options: argparse.Namespace) -> int:
    from engine.solvers.generalist import Course, train

    config = _agent(options)
    course = Course(
        programs=tuple(options.programs.split(",")) if options.programs else (),
        variants=options.variants,
        rounds=options.rounds,
        seconds=options.seconds,
        seed=options.seed,
    )
    trainer = train(course, config, options.folder, options.output, _note)
    body = {"rounds": trainer.rounds, "checkpoint": str(options.output)}
    _show(options, body, [f"{trainer.rounds} rounds, checkpoint in {options.output}"])
    return 0


def _agent(options: argparse.Namespace) -> AgentConfig:
    from engine.agent.config import AgentConfig, PracticeConfig, changed, named_value
    from engine.agent.search import SearchConfig

    config = AgentConfig(
        search=SearchConfig(model=options.model, num_simulations=options.simulations),
        practice=PracticeConfig() if options.games is None else PracticeConfig(options.games),
    )
    for setting in options.set:
        config = changed(config, *named_value(setting))
    return config


def _timing(program: Program, plan: Plan) -> dict[str, Any]:
    result = simulate(program, plan)
    keys = ("latency_s", "compute_s", "stall_s", "all_slow_s", "all_fast_s")
    return {key: getattr(result, key) for key in keys}


def _timing_lines(body: dict[str, Any]) -> list[str]:
    return [
        f"{k:12} {v * 1e6:14.3f} us" if k.endswith("_s") else f"{k:12} {v}" for k, v in body.items()
    ]


def _load(options: argparse.Namespace) -> tuple[Program, Plan]:
    return library.resolve(options.program), load_plan(options.plan)


def _check(options: argparse.Namespace) -> int:
    program, plan = _load(options)
    violation = check(program, plan)
    if violation is None:
        _show(options, {"valid": True, "violation": None}, ["valid"])
        return 0
    body = {"valid": False, "violation": violation.rule, "message": violation.message}
    _show(options, body, [f"{violation.rule}: {violation.message}"])
    return EXIT_VIOLATION


def _simulate(options: argparse.Namespace) -> int:
    program, plan = _load(options)
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{options.plan}: breaks {violation.rule}: {violation.message}")
    body = _timing(program, plan)
    _show(options, body, _timing_lines(body))
    return 0


def _analyse(options: argparse.Namespace) -> int:
    from engine.agent.trace_io import load_trace
    from engine.analysis.play_report import in_words, report
    from engine.analysis.regret import study_of
    from engine.analysis.traced_game import traced_game

    program, trace = library.resolve(options.program), load_trace(options.trace)
    game = traced_game(program, trace)
    if game is None:
        told = (
            f"it is not a game of {program.name} as it is here; name {trace.program}, or trace anew"
        )
        raise CheckpointError(f"{options.trace}: {told}")
    body = report(trace, study_of(trace, program, game.rules), seconds=options.seconds)
    _show(options, body, in_words(body))
    return 0


def _bound(options: argparse.Namespace) -> int:
    bound = lower_bound(library.resolve(options.program))
    body = {"bound_s": bound.bound_s, "method": bound.method, "seconds": bound.seconds}
    _show(options, body, _timing_lines(body))
    return 0


def _compare(options: argparse.Namespace) -> int:
    body = _compared(options.program, options)
    _show(options, body, _comparison_lines(body))
    return 0


def _bench(options: argparse.Namespace) -> int:
    names = options.programs.split(",") if options.programs else library.sample_names()
    programs = []
    for name in names:
        _note(f"{name} …")
        programs.append(_compared(name, options))
    lines = [line for body in programs for line in [*_comparison_lines(body), ""]]
    _show(options, {"programs": programs}, lines)
    return 0


def _compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from engine.analysis.compare import compare

    program = library.resolve(name)
    solvers = options.solvers.split(",") if options.solvers else None
    budget = Budget(options.seconds, options.seed)
    return compare(program, solvers, budget)


def _comparison_lines(body: dict[str, Any]) -> list[str]:
    lines = [f"{body['program']}: bound {body['bound_s'] * 1e6:.3f} us"]
    for row in body["results"]:
        if row["latency_s"] is None:
            lines.append(f"  {row['solver']:14} {row['violation']}")
            continue
        above = row["latency_s"] / body["bound_s"] - 1 if body["bound_s"] > 0 else 0.0
        lines.append(
            f"  {row['solver']:14} {row['latency_s'] * 1e6:14.3f} us  {above:+8.2%} over the bound"
            f"  ({row['seconds']:.2f} s)"
        )
    return lines
