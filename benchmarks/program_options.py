"""The section `program_options`: which of the compiler's make another program, and a faster one.

For each program (`--programs`, names or files): an early stop under every candidate of
`engine.compiler.steering.program_options` and of `ALSO` says whether this compiler knows it and
whether the program changes; where it does, a whole compile says what cycles and stalls become,
against its default. Rows go to `docs/results/program_options.json` as they are measured; compile
results are cached.

What `tune` tries was chosen on `lstm-v5e-b128` and on what `NOT_HELD_OUT` names; the committed rows
are of these.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks import failures
from benchmarks.rows import PROGRAM, RESULTS, VERSIONS, Row, commit, put, read
from benchmarks.settings import Settings
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.program_options import ProgramOption, fingerprint, program_options
from engine.compiler.steering.tune import total
from engine.compiler.toolchain.libtpu import versions
from engine.compiler.toolchain.results import Answers
from engine.compiler.toolchain.target import SCOPED_LIMIT
from engine.errors import CompileInterruptedError, EngineError
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.workflows.capturing import answers_folder
from engine.workflows.program_search import session_under

ROWS = RESULTS / "program_options.json"
PROGRAMS = ("lstm-v5e-b128", "t5-v5p-b24", "gpt-v6e-b4", "alexnet-v4-b24")
"""Where none are named: samples, one for each chip. What is chosen here is tuned, so no held-out
program takes part."""
NOT_HELD_OUT = ("mlpae-v5p-b4096",)
"""Held-out programs that took part in the choice nevertheless, so that they are not held out for a
`tune` that tries what was chosen; `docs/results/README.md` says so."""
ALSO: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("fusion", {"xla_tpu_rwb_fusion": "false"}),
    ("fusion", {"xla_tpu_enable_copy_fusion": "false"}),
    ("fusion", {"xla_tpu_dot_dot_fusion": "false"}),
    ("fusion", {"xla_jf_conv_input_fusion": "false"}),
    ("fusion", {"xla_jf_conv_output_fusion": "false"}),
    ("fusion", {"xla_tpu_enable_multi_level_nested_loop_fusion": "true"}),
    ("fusion", {"xla_tpu_nested_dot_fusion": "true"}),
    ("fusion", {"xla_tpu_reduce_loop_fusion_dup_with_unfusable_user": "false"}),
    ("fusion", {"xla_tpu_vector_load_fusion_window": "1024"}),
    ("fusion", {"xla_tpu_vector_store_fusion_window": "256"}),
    ("schedule", {"xla_tpu_enable_all_experimental_scheduler_features": "true"}),
    ("schedule", {"xla_tpu_enable_scheduler_memory_pressure_tracking": "true"}),
    ("schedule", {"xla_tpu_memory_bound_loop_optimizer_options": "enabled:true"}),
    ("layout", {"xla_tpu_aggressive_opt_barrier_removal": "ENABLED"}),
    ("layout", {"xla_tpu_enable_aggressive_loop_fusion_layout_opt": "true"}),
    ("layout", {"xla_tpu_bf16_emission_mode": "NATIVE_EMISSION"}),
    ("memory", {"xla_tpu_licm_size_inflation_ratio": "1"}),
    ("memory", {"xla_tpu_rematerialize_broadcasts": "false"}),
    ("memory", {"xla_tpu_prefuse_self_attention": "false"}),
    ("scratch", {SCOPED_LIMIT: "8192"}),
)
"""What public scripts set besides. `tune` tries none: they changed nothing or made it worse."""

UNKNOWN, SAME, OTHER, REFUSED = "unknown", "same program", "another program", "refused"


def run(section: str, given: Settings) -> None:
    """Try the settings that have no row yet; print what they come to."""
    del section
    names = []
    for name in given.programs or PROGRAMS:
        try:
            program = library.resolve(name)
            names.append(program.name)
            _try(program)
        except EngineError as error:
            failures.tell(name, error)
    print("\n".join(summary([row for row in read(ROWS) if row["key"][0] in names])))


def _try(program: Program) -> None:
    """Keep a row of each option. Raises CompilerError if the program itself does not compile."""
    answers = stored_answers(program, answers_folder())
    base = answers.stopped({})
    default = total(session_under(answers, {}).full({}))
    options = program_options(program.hardware.name, base.devices)
    of = {PROGRAM: content_hash(program), VERSIONS: versions()}
    for option in (*options, *(ProgramOption(*one) for one in ALSO)):
        wanted = {"key": [program.name, option.title], **of}
        if any(all(row.get(k) == v for k, v in wanted.items()) for row in read(ROWS)):
            continue
        try:
            row = {**wanted, **_row(answers, option, base.hlo, default)}
        except CompileInterruptedError as error:
            failures.tell(f"{program.name} {option.title}", error)
            continue
        put(ROWS, row)
        print(_line(row), flush=True)


def _row(answers: Answers, option: ProgramOption, base: str, default: float) -> Row:
    """What an option does. Raises CompileInterruptedError where the compiler gave no answer."""
    facts = {"kind": option.kind, "commit": commit()}
    try:
        early = answers.stopped(option.flags).hlo
    except CompileInterruptedError:
        raise
    except EngineError as error:
        is_unknown = "No such compile option" in str(error)
        return {**facts, "effect": UNKNOWN if is_unknown else REFUSED}
    if fingerprint(early) == fingerprint(base):
        return {**facts, "effect": SAME}
    try:
        gain = 1.0 - total(session_under(answers, option.flags).full({})) / default
    except CompileInterruptedError:
        raise
    except EngineError:
        return {**facts, "effect": REFUSED}
    return {**facts, "effect": OTHER, "gain": gain}


def summary(rows: Sequence[Row]) -> list[str]:
    """For each option what it did to how many programs, the best median gain first."""
    titles = list(dict.fromkeys(row["key"][1] for row in rows))
    lines = []
    for title in titles:
        own = [row for row in rows if row["key"][1] == title]
        gains = [row["gain"] for row in own if "gain" in row]
        effects = ", ".join(
            f"{sum(row['effect'] == effect for row in own)} {effect}"
            for effect in (OTHER, SAME, UNKNOWN, REFUSED)
            if any(row["effect"] == effect for row in own)
        )
        median = statistics.median(gains) if gains else 0.0
        best = f"gain median {median:+.2%}, best {max(gains):+.2%}; " if gains else ""
        lines.append((-median, f"{title}: {best}{effects}"))
    return [line for _, line in sorted(lines)]


def _line(row: Row) -> str:
    program, title = row["key"]
    gain = f" {row['gain']:+.2%}" if "gain" in row else ""
    return f"{program:28} {title}: {row['effect']}{gain}"
