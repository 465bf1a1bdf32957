"""`export`, `verify`, `tune`: steer the real compiler, and see what it makes of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import (
    RESUMES,
    add_command,
    add_compiler_options,
    add_output,
    add_program,
    refuse_bad_cache,
    refuse_given,
)
from engine.cli.output import EXIT_VIOLATION, note, show, warn_of_unestimated
from engine.errors import EngineError, PlanError, UsageError
from engine.files import (
    EXPORTED,
    foreign,
    is_file,
    read_bytes,
    read_json,
)
from engine.hardware.unestimated_share import unestimated_share
from engine.plan.io import load_plan, plan_from_json
from engine.plan.model import Plan
from engine.program import library
from engine.workflows.capturing import SOLVERS, answers_folder

if TYPE_CHECKING:
    from engine.compiler.steering.flags_file import Flags
    from engine.compiler.steering.outcome import CompileSession
    from engine.compiler.steering.verify import AimResult, EarlyResult, Request, Verdict
    from engine.program.model import Program

SHOWN = 20
"""Placements that are listed for a person; `--json` has all."""

ANSWERS_HELP = "where compile results are kept, so that nothing is compiled twice; default: a cache"


def add_parser(commands: Any) -> None:
    """Add the commands."""
    about = "a plan as options for the compiler; or the options in a flags file, to be pasted"
    parser = add_command(commands, "export", run_export, about)
    add_program(parser)
    parser.add_argument("plan", type=Path, metavar="plan.json|flags.json")
    parser.add_argument(
        "--variant", type=int, help="which export of a plan, listed on stderr; default: 0"
    )
    add_output(parser, "-o", "--output", metavar="flags.json")
    about = "compile by default and with a plan's or a file's options, and compare"
    parser = add_command(commands, "verify", run_verify, about)
    parser.add_argument(
        "program",
        metavar="P|step.stablehlo",
        help="a program file or a sample's name; of what export_program wrote, only whether it has"
        " the instructions that flags.json names",
    )
    parser.add_argument("plan", type=Path, nargs="?", metavar="plan.json|flags.json")
    parser.add_argument(
        "--early",
        action="store_true",
        help="placements and refusals alone, by early stops, and no cycles: seconds, but for"
        " program options, which are first compiled whole",
    )
    _add_answers(parser)
    about = "search for the compiler options of the lowest compiled total; resumable"
    parser = add_command(commands, "tune", run_tune, about)
    add_program(parser)
    parser.add_argument(
        "--compiles", type=int, default=12, help="in full, the default's among them"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600.0,
        help="half to search, half for the baseline; default: %(default).0f",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--solver", default=SOLVERS, metavar="A,B", help="plan with corrected costs, in turn"
    )
    parser.add_argument(
        "--plan", type=Path, action="append", default=[], metavar="plan.json", help="exported first"
    )
    parser.add_argument(
        "--no-program-options",
        "--no-knobs",
        action="store_true",
        help="placement alone, without options that make another program",
    )
    parser.add_argument(
        "--no-baseline",
        action="store_true",
        help="without as many random options and rules beside it: all seconds to search",
    )
    add_output(parser, "-o", "--output", metavar="flags.json")
    _add_answers(parser)


def _add_answers(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(**{RESUMES: True})
    add_output(parser, "--answers", is_cache=True, metavar="FOLDER", help=ANSWERS_HELP)
    add_compiler_options(parser)


def _answers_folder(options: argparse.Namespace) -> Path:
    """The folder for compile results. Raises UsageError where nothing can be written."""
    if options.answers is not None:
        return Path(options.answers)
    folder = answers_folder()
    refuse_bad_cache(folder)
    return folder


def run_export(options: argparse.Namespace) -> int:
    """Write the options that aim at a plan, or show those of a flags file; needs no compiler."""
    from engine.compiler.steering.flags_file import save_flags

    program = library.resolve(options.program)
    body = read_json(options.plan)
    flags = _flags_in(body, options.plan)
    if flags is None:
        flags = _exported(options, program, plan_from_json(body, str(options.plan)))
        if options.output is not None:
            save_flags(flags, options.output)
    else:
        given = {"variant": options.variant, "output": options.output}
        refuse_given("export", f"is for a plan; {options.plan} holds the options already", **given)
        _warn_of_other_program(program, flags)
    show(options, export_body(flags), export_lines(flags))
    return 0


def _exported(options: argparse.Namespace, program: Program, plan: Plan) -> Flags:
    """The export of a plan that `--variant` names; lists all."""
    from engine.compiler.steering.export import aims, exports
    from engine.compiler.steering.flags_file import Flags

    made, number = exports(program, plan), options.variant or 0
    if not 0 <= number < len(made):
        raise UsageError(f"export: --variant is 0 to {len(made) - 1}, not {number}")
    for turn, steering in enumerate(made):
        note(f"{turn:2} {steering.title}")
    notes = {"title": made[number].title, "versions": program.provenance.get("versions", {})}
    return Flags.of(program, made[number].options, aims(program, plan), notes)


def _flags_in(body: Any, path: Path | None) -> Flags | None:
    """The flags in a JSON file; None where it is of another kind, such as a plan."""
    from engine.compiler.steering import flags_file

    if isinstance(body, dict) and body.get("format") == flags_file.FORMAT:
        return flags_file.flags_from_json(body, str(path))
    return None


def _exportable(program: Program, plan: Plan, path: Path) -> Plan:
    """The plan of a file. Raises PlanError where it cannot be exported for the program."""
    from engine.compiler.steering.export import exports

    try:
        exports(program, plan)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    return plan


def _warn_of_other_program(program: Program, flags: Flags) -> None:
    from engine.compiler.steering.verify import other_program_remark

    remark = other_program_remark(program, flags)
    if remark is not None:
        note(f"warning: {remark}")


def export_body(flags: Flags) -> dict[str, Any]:
    """The options in the three forms in which they can be handed over."""
    return {
        "title": flags.notes.get("title", ""),
        "compiler_options": dict(flags.compiler_options),
        "environment": flags.environment,
        "jax": flags.jax_lines,
        "aims": len(flags.aims),
    }


def export_lines(flags: Flags) -> list[str]:
    """The lines that a person reads of an export."""
    return [
        f"# {flags.notes.get('title', '')}: {len(flags.aims)} aims",
        "# In Python:",
        *flags.jax_lines.splitlines(),
        "# Or in the environment, for every program that the process compiles:",
        flags.shell_line,
    ]


def run_tune(options: argparse.Namespace) -> int:
    """Tune, and keep the best options."""
    from engine.compiler.steering.flags_file import save_flags
    from engine.compiler.toolchain.libtpu import use_cpu_here
    from engine.compiler.toolchain.target import read_flags
    from engine.workflows.tuning import tune_program

    use_cpu_here()

    def keep(flags: Flags) -> None:
        path = options.output
        if path is None:
            return
        best = f"the best so far: {flags.notes['title']}"
        if _is_better(path, flags):
            note(f"{path}: left as it is, better than {best}")
        else:
            save_flags(flags, path)
            note(f"{path}: written, {best}")

    program = library.resolve(options.program)
    tuned = tune_program(
        program,
        options.solver,
        compiles=options.compiles,
        seconds=options.seconds,
        seed=options.seed,
        folder=_answers_folder(options),
        note=note,
        plans=[_exportable(program, load_plan(path), path) for path in options.plan],
        has_baseline=not options.no_baseline,
        keep=keep,
        compiler_options=read_flags(options.compiler_options),
        has_program_options=not options.no_program_options,
    )
    if options.output is not None:
        save_flags(tuned.flags, options.output)
    lines = verdict_lines(tuned.verdict)
    lines.append(
        f"search: {tuned.compiles} whole compiles in {tuned.search_s:.0f} s"
        + (f", and {tuned.captured} that the capture had made" if tuned.captured else "")
    )
    if tuned.program_improvement > 0:
        lines.append(
            f"program options alone {tuned.program_improvement:.2%}, placement in their program"
            f" {tuned.placement_improvement:.2%} more"
        )
    if tuned.random_improvement is not None:
        lines.append(
            f"baseline: {tuned.random_compiles} whole compiles of random options and rules in"
            f" {tuned.baseline_s:.0f} s: improvement {tuned.random_improvement:.2%}"
        )
    if tuned.cut_short:
        lines.append(f"time ran out, whole compiles: {', '.join(tuned.cut_short)}")
    show(options, {**tuned.to_json(), "unestimated_share": unestimated_share(program)}, lines)
    warn_of_unestimated(program)
    return 0


def _is_better(path: Path, flags: Flags) -> bool:
    """Whether an earlier run of the same kind left better options in the file."""
    from engine.compiler.steering.flags_file import load_flags

    try:
        return load_flags(path).gains_no_less(flags)
    except EngineError:  # there is none, or it is no file of flags
        return False


def run_verify(options: argparse.Namespace) -> int:
    """Compile for real; exit 1 where the flags name instructions that the compile does not have.

    The placements of early stops are noted first, since a whole compile takes minutes. The default
    beside flags is the user's own when they were made, as for `tune`; options that are given hold
    for both.
    """
    from engine.compiler.reading.own_compile import stored_answers
    from engine.compiler.steering import verify
    from engine.compiler.steering.outcome import compile_session
    from engine.compiler.toolchain.target import init_args, read_flags, target_of

    path = Path(options.program)
    data = read_bytes(path) if is_file(path) else b""
    if foreign(data) == EXPORTED:
        return _verify_names(options, data)
    program = library.resolve(options.program)
    body = None if options.plan is None else read_json(options.plan)
    flags = _flags_in(body, options.plan)
    plan = None
    if body is not None and flags is None:
        plan = plan_from_json(body, str(options.plan))
        plan = _exportable(program, plan, options.plan)
    own, args = read_flags(options.compiler_options), init_args()
    if flags is not None:
        flags, args = flags.under(own), args or flags.target.init_args
        own = {**flags.own_options, **own}
        held = flags.held_in(args or target_of(program).init_args)
        if held:
            raise UsageError(
                f"{options.plan}: the default would have options of it too: {', '.join(held)};"
                f" unset LIBTPU_INIT_ARGS, or capture {program.name} without them"
            )
    answers = stored_answers(program, _answers_folder(options), own, args, note)
    default = compile_session(program, answers)
    if flags is not None:
        request, session, default = _request_by_flags(default, flags)
    elif plan is not None:
        request, session = verify.request_by_plan(default, plan, note), default
    else:
        request, session = verify.DEFAULT, default
    early = verify.early_result(session, request, default)
    share = {"unestimated_share": unestimated_share(program)}
    if options.early:
        show(options, {**early.to_json(), **share}, early_lines(early))
    else:
        for line in early_lines(early):
            note(line)
        verdict = verify.verify(session, request, default)
        show(options, {**verdict.to_json(), **share}, verdict_lines(verdict))
    warn_of_unestimated(program)
    return EXIT_VIOLATION if early.unknown_instructions else 0


def _verify_names(options: argparse.Namespace, exported: bytes) -> int:
    """Say whether a program that `export_program` wrote has the instructions that flags name."""
    from engine.compiler.steering.flags_file import named_instructions
    from engine.compiler.steering.verify import unknown_in
    from engine.compiler.toolchain.results import Answers
    from engine.compiler.toolchain.target import init_args, read_flags

    path = options.program
    refuse_given("verify", f"is for a program; {path} is only asked for names", early=options.early)
    flags = None if options.plan is None else _flags_in(read_json(options.plan), options.plan)
    if flags is None:
        raise UsageError(
            f"verify: {path} is checked against a flags file alone; capture it for anything else"
        )
    given = read_flags(options.compiler_options)
    flags, target = flags.under(given), flags.target.with_flags(given, init_args())
    answers = Answers(exported, target, _answers_folder(options), note=note)
    unknown, count = unknown_in(answers, flags), len(named_instructions(flags))
    lines = [f"{path} has {count - len(unknown)} of the {count} instructions in {options.plan}"]
    body = {"instructions": count, "unknown_instructions": list(unknown)}
    show(options, body, lines + _unknown_lines(unknown))
    return EXIT_VIOLATION if unknown else 0


def _request_by_flags(
    default: CompileSession, flags: Flags
) -> tuple[Request, CompileSession, CompileSession]:
    """What to compile for flags, the session of which program, and that of the default beside it.

    They may hold options that make another program than `default` has. It is captured then, and
    both have prices of one kind.
    """
    from engine.compiler.steering import verify
    from engine.workflows.program_search import priced_like, program_under, session_under

    request, options = verify.request_by_flags(default.program, flags), flags.program_options
    _warn_of_other_program(default.program, flags)
    if not options:
        return request, default, default
    answers = default.answers
    session = program_under(default.program, answers, options, note)[0]
    session = priced_like(session, session_under(answers, options))
    return request, session, priced_like(default, session_under(answers, {}))


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict for a person: figures, then what became of the greatest aims."""
    rows = (
        (
            "default",
            verdict.default_cycles,
            verdict.default_stall_cycles,
            verdict.default_priced_cycles,
            verdict.default_total_cycles,
            verdict.predicted_default_cycles,
        ),
        (
            verdict.title,
            verdict.ours_cycles,
            verdict.ours_stall_cycles,
            verdict.ours_priced_cycles,
            verdict.ours_total_cycles,
            verdict.predicted_cycles,
        ),
    )
    names = f"{'cycles':>14} {'stalls':>12} {'prices':>12} {'total':>14} {'predicted total':>16}"
    lines = [f"{'compiled':30} {names}"]
    for title, cycles, stalls, priced, total, predicted in rows:
        parts = f"{cycles:14,.0f} {stalls:12,.0f} {priced:12,.0f}"
        lines.append(f"{title:30} {parts} {total:14,.0f} {predicted:16,.0f}")
    lines.append(
        f"improvement of the total: {verdict.improvement:.2%} as compiled,"
        f" {verdict.predicted_improvement:.2%} as predicted for the same placements"
    )
    return lines + _aim_lines(verdict)


def early_lines(early: EarlyResult) -> list[str]:
    """Early placements for a person: a prediction, then what became of the greatest aims."""
    line = (
        f"{early.title}: predicted total {early.predicted_cycles:,.0f} cycles, default"
        f" {early.predicted_default_cycles:,.0f}: predicted improvement"
        f" {early.predicted_improvement:.2%}"
    )
    return [line, *_aim_lines(early)]


def _aim_lines(early: EarlyResult) -> list[str]:
    lines = []
    if early.realised is not None:
        lines.append(f"{early.realised:.1%} of the saving aimed at was placed as planned")
    lines += aim_result_lines(early.placements)
    return lines + _unknown_lines(early.unknown_instructions)


def _unknown_lines(names: Sequence[str]) -> list[str]:
    return [f"no instruction is called {name!r}: it does nothing" for name in names]


def aim_result_lines(results: Sequence[AimResult]) -> list[str]:
    """What was refused, the greatest saving first."""
    refused = sorted((r for r in results if r.reason), key=lambda r: -r.saving_s)
    lines = [
        f"  refused {1 - r.realised:4.0%} of {r.saving_s * 1e6:9.3f} us:"
        f" {', '.join(r.values)[:60]}: {r.reason}"
        for r in refused[:SHOWN]
    ]
    return [*lines, f"  … and {len(refused) - SHOWN} more"] if len(refused) > SHOWN else lines
