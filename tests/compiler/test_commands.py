"""`export`, `verify`, `tune` and `capture --stablehlo` on the command line, without compiling."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import pytest

import mallocmuzero
from engine.cli import main, parser
from engine.compiler.capture.capture import ANSWERS, Capturing
from engine.compiler.steering.export import SORT_ORDER, Aim, sort_rules
from engine.compiler.steering.flags_file import Flags, load_flags, save_flags
from engine.compiler.steering.verify import AimResult, Request, Verdict
from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.compiler.toolchain.target import Target
from engine.errors import CompilerError, EngineError, PlanError, ProgramFormatError
from engine.plan.io import load_plan, save_plan
from engine.program import library
from engine.program.counts import Counts
from engine.program.model import Program
from engine.program.prices import Price, priced_s, with_prices
from engine.solvers import Budget, solve
from engine.workflows.capturing import capturing
from engine.workflows.tuning import Tuned, tune_program
from tests.compiler.tiny_compiler import TinyCompiler

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    program = library.resolve("gptdecode-v5e-b8")
    save_plan(solve("greedy", program, Budget(1.0, 0)), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def refused(answer: tuple[int, str, str], *words: str) -> None:
    """One line on stderr, nothing on stdout, exit 2."""
    code, out, err = answer
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert all(word in err for word in words)


def test_export_writes_flags_and_prints_three_ways(
    run: Run, plan_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "flags.json"
    code, out, err = run("export", "gptdecode-v5e-b8", plan_path, "-o", path, "--variant", 3)
    flags = load_flags(path)
    assert code == 0
    assert flags.compiler_options["xla_msa_max_cross_program_prefetches"] == "0"
    assert flags.jax_lines in out
    assert f"export LIBTPU_INIT_ARGS='{flags.environment}'" in out
    assert len(err.splitlines()) == 12
    _, out, _ = run("export", "gptdecode-v5e-b8", plan_path, "--variant", 3, "--json")
    assert json.loads(out)["compiler_options"] == flags.compiler_options


def test_export_takes_a_plan_from_a_pipe(run: Run, plan_path: Path, tmp_path: Path) -> None:
    """It can be read once."""
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(plan_path.read_bytes()))
    os.close(writing)
    assert run("export", "gptdecode-v5e-b8", f"/dev/fd/{reading}", "--json")[0] == 0
    os.close(reading)


def test_export_refuses_what_it_cannot_do(run: Run, plan_path: Path, tmp_path: Path) -> None:
    refused(run("export", "gptdecode-v5e-b8", plan_path, "--variant", 12), "0 to 11")
    refused(run("export", "t5-v5e-b24", plan_path), "wrong-program")
    refused(run("export", "gptdecode-v5e-b8", plan_path, "-o", "no/f.json"), "does not exist")


def test_programs_without_a_source_are_refused(run: Run, tmp_path: Path) -> None:
    for command in ("verify", "tune"):
        refused(run(command, "teach-prefetch", "--answers", tmp_path), "holds no StableHLO")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"HloModule jit_f, is_scheduled=true\n", "HLO"),
        (b"module @jit_f {\n", "MLIR"),
        (b"ML\xefR\x0dStableHLO_v1.13.0\x00", "MLIR"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_name_before_anything_is_compiled(
    run: Run, tmp_path: Path, data: bytes, kind: str
) -> None:
    (tmp_path / "step").write_bytes(data)
    words = ("capture", "--stablehlo", tmp_path / "step", "-o", tmp_path / "p.json")
    refused(run(*words, "--raw", tmp_path / "raw"), "step: ", kind)
    assert not (tmp_path / "raw").exists()


@pytest.fixture
def early_stops(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The options that `verify` would stop early; it is told no more than that."""
    asked: list[dict[str, str]] = []

    class CompileSession:
        answers = "answers"

        def __init__(self, program: object, answers: object) -> None:
            self.program = program

    def early_result(session: object, wanted: Request, usual: object) -> object:
        asked.append(dict(wanted.steering.options))
        raise CompilerError("enough")

    monkeypatch.setattr("engine.compiler.steering.outcome.compile_session", CompileSession)
    monkeypatch.setattr("engine.compiler.steering.verify.early_result", early_result)
    return asked


def test_the_default_beside_flags_is_the_users_own_when_they_were_made(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[Target] = []

    def compile_session(program: object, answers: Answers) -> object:
        targets.append(answers.target)
        raise CompilerError("enough")

    monkeypatch.setattr("engine.compiler.steering.outcome.compile_session", compile_session)
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    path = tmp_path / "flags.json"
    program = library.resolve("gptdecode-v5e-b8")
    notes = {"own_options": {"xla_a": "1"}, "libtpu_init_args": "--xla_b=2"}
    save_flags(Flags.of(program, {"xla_a": "1", "xla_c": "3"}, notes=notes), path)
    command = ("verify", "gptdecode-v5e-b8", path, "--answers", tmp_path)
    refused(run(*command), "enough")
    assert (targets[-1].options, targets[-1].init_args) == ({"xla_a": "1"}, "--xla_b=2")
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_b=4")
    refused(run(*command, "--compiler-options", "xla_a=5"), "enough")
    assert (targets[-1].options, targets[-1].init_args) == ({"xla_a": "5"}, "--xla_b=4")


def test_options_that_the_user_gives_hold_for_the_flags_too(
    run: Run, tmp_path: Path, early_stops: list[dict[str, str]]
) -> None:
    path = tmp_path / "flags.json"
    save_flags(Flags.of(library.resolve("gptdecode-v5e-b8"), {"xla_a": "1", "xla_c": "3"}), path)
    command = ("verify", "gptdecode-v5e-b8", path, "--answers", tmp_path)
    refused(run(*command, "--compiler-options", "xla_a=2"), "enough")
    assert early_stops == [{"xla_a": "2", "xla_c": "3"}]


def test_flags_are_not_held_against_a_default_that_has_them(
    run: Run,
    tmp_path: Path,
    early_stops: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shell that `export` prepares for the TPU is none to verify in."""
    path = tmp_path / "flags.json"
    notes = {"libtpu_init_args": "--xla_a=1 --xla_b=2"}
    options = {"xla_a": "1", "xla_c": "x { y: 3 }"}
    flags = Flags.of(library.resolve("gptdecode-v5e-b8"), options, notes=notes)
    save_flags(flags, path)
    command = ("verify", "gptdecode-v5e-b8", path, "--answers", tmp_path)
    monkeypatch.setenv("LIBTPU_INIT_ARGS", flags.environment)
    refused(run(*command), "the default would have options of it too: xla_c;", "LIBTPU_INIT_ARGS")
    assert not early_stops
    monkeypatch.setenv("LIBTPU_INIT_ARGS", notes["libtpu_init_args"])
    refused(run(*command), "enough")


def test_flags_of_another_program_are_compiled_with_a_warning_and_of_another_chip_refused(
    run: Run, tmp_path: Path, early_stops: list[dict[str, str]]
) -> None:
    """After an update of a model the flags of the model before are to be verified."""
    command = ("verify", "gptdecode-v5e-b8", tmp_path / "flags.json", "--answers", tmp_path)
    save_flags(Flags("other", "0123", "tpu-v5e", {"xla_a": "1"}), tmp_path / "flags.json")
    code, _, err = run(*command)
    warning, error = err.splitlines()
    assert warning.startswith("warning: the flags were made for other (0123), and gptdecode-v5e-b8")
    assert (code, error, early_stops) == (2, "error: enough", [{"xla_a": "1"}])
    own = Flags.of(library.resolve("gptdecode-v5e-b8"), {"xla_a": "2"})
    save_flags(own, tmp_path / "flags.json")
    refused(run(*command), "enough")
    save_flags(Flags("other", "0123", "tpu-v4", {}), tmp_path / "flags.json")
    refused(run(*command), "made for tpu-v4", "compiled for tpu-v5e")
    assert len(early_stops) == 2


def test_bad_settings_of_tune_are_refused(run: Run) -> None:
    refused(run("tune", "gptdecode-v5e-b8", "--compiles", 1), "--compiles must be 2 or more")
    refused(run("tune", "gptdecode-v5e-b8", "--solver", "gredy"), "gredy")


def test_flags_are_shown_again_as_they_were_exported(
    run: Run, plan_path: Path, tmp_path: Path
) -> None:
    path, program = tmp_path / "flags.json", "gptdecode-v5e-b8"
    _, exported, _ = run("export", program, plan_path, "-o", path, "--variant", 3)
    assert run("export", program, path) == (0, exported, "")
    refused(run("export", program, path, "--variant", 0), "--variant is for a plan")
    refused(run("export", program, path, "-o", tmp_path / "x.json"), "--output is for a plan")
    code, out, err = run("export", "t5-v5e-b24", path)
    assert (code, out) == (0, exported)
    assert err.startswith("warning: the flags were made for gptdecode-v5e-b8 (")


EXPORT = b"\x08ML\xefR\x0dStableHLO_v1.13.0\x00"
"""What a program of `jax.export` is recognised by."""


def test_a_fresh_export_is_held_against_the_names_in_flags(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`y` and `z` are instructions of the tiny program, `gone` is none."""
    compiler, asked = TinyCompiler(), []

    def compile_early(stablehlo: bytes, target: Target, options: dict[str, str]) -> Compiled:
        asked.append((stablehlo, target, options))
        return compiler.early(options)

    monkeypatch.setattr("engine.compiler.toolchain.results.compile_early", compile_early)
    step, path = tmp_path / "step.stablehlo", tmp_path / "flags.json"
    step.write_bytes(EXPORT)
    command = ("verify", step, path, "--answers", tmp_path / "answers")
    options = {SORT_ORDER: sort_rules(["y", "gone"]), "xla_program": "1"}
    aim = Aim(("y",), ("z",), 1e-6)
    notes = {"topology": "v5e:2x2", "libtpu_init_args": "--xla_x=1", "knobs": {"xla_program": "1"}}
    save_flags(Flags("net", "0123", "tpu-v5e", options, (aim,), notes), path)
    code, out, _ = run(*command)
    assert code == 1
    assert out.splitlines() == [
        f"{step} has 2 of the 3 instructions in {path}",
        "no instruction is called 'gone': it does nothing",
    ]
    (all_slow, steered) = asked
    assert all_slow[2] == {**options, **SLOW_OPTIONS}
    assert steered == (EXPORT, Target("tpu-v5e", "v5e:2x2", init_args="--xla_x=1"), options)
    _, out, _ = run(*command, "--json")
    assert json.loads(out) == {"instructions": 3, "unknown_instructions": ["gone"]}
    save_flags(Flags("net", "0123", "tpu-v5e", {SORT_ORDER: sort_rules(["y"])}), path)
    assert run(*command)[:2] == (0, f"{step} has 1 of the 1 instructions in {path}\n")
    refused(run("verify", step), "against a flags file alone")
    step.write_bytes(b"HloModule x")
    refused(run(*command), "HLO, a compiled program")
    step.write_bytes(b"words")
    refused(run(*command), "not JSON")
    unusual = tmp_path / "step.json"
    unusual.write_bytes(EXPORT)
    assert run("verify", unusual, path, "--answers", tmp_path / "answers")[0] == 0
    program = tmp_path / "step.program"
    program.write_text("{}")
    refused(run("verify", program, path), "step.program", "mallocmuzero-program")


def test_names_are_looked_for_under_the_flags_that_the_program_was_captured_with(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here these make another program, whose copy the memory pass replaces."""
    program = library.load_sample("lstm-v5e-b128-flags")
    own = program.provenance["compiler_options"]
    start, end = (
        "HloModule m, is_scheduled=true\n\nENTRY main {\n  ROOT ",
        " = f32[8]{0} parameter(0)\n}\n",
    )

    def compile_early(stablehlo: bytes, target: Target, options: dict[str, str]) -> Compiled:
        is_slow = SLOW_OPTIONS.items() <= options.items()
        name = "copy.7" if is_slow and own.items() <= options.items() else "fusion.1"
        return Compiled(start + name + end, "", is_full=False)

    monkeypatch.setattr("engine.compiler.toolchain.results.compile_early", compile_early)
    step, path = tmp_path / "step.stablehlo", tmp_path / "flags.json"
    step.write_bytes(EXPORT)
    aim = Aim(("x",), ("copy.7",), 1e-6)
    save_flags(Flags.of(program, {"xla_steer": "0"}, (aim,)), path)
    command = ("verify", step, path, "--answers", tmp_path / "answers")
    assert run(*command)[:2] == (0, f"{step} has 1 of the 1 instructions in {path}\n")


def test_without_the_compiler_one_line_says_how_to_get_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libtpu, "find_spec", lambda name: None)
    (tmp_path / "step.stablehlo").write_bytes(b"any")
    verify = run("verify", "gptdecode-v5e-b8", "--answers", tmp_path / "answers")
    refused(verify, "pip install '.[compiler]'")
    arguments = ["--stablehlo", tmp_path / "step.stablehlo", "-o", tmp_path / "p.json"]
    captured = run("capture", *arguments, "--raw", tmp_path / "raw")
    refused(captured, "pip install '.[compiler]'")
    assert not (tmp_path / "p.json").exists()


def test_capture_takes_a_model_or_a_file_and_not_both(run: Run, tmp_path: Path) -> None:
    refused(run("capture", "--stablehlo", "x", "t5", "-o", tmp_path / "p.json"), "--stablehlo")
    refused(run("capture", "--stablehlo", tmp_path / "x", "-o", tmp_path / "p.json"), "x")
    none = run("capture", "--stablehlo", "x", "--batch", 0, "-o", tmp_path / "p.json")
    refused(none, "--batch is for a MODEL")
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(65 * 2**20)
    refused(run("capture", "--stablehlo", big, "-o", tmp_path / "p.json"), "larger than 64 MiB")


def test_tune_prints_the_contract_and_saves_the_flags(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"xla_msa_max_cross_program_prefetches": "0"}
    lost = AimResult(("fusion.3{1}",), ("fusion.9",), 2e-6, 0.25, "out of memory")
    verdict = Verdict(
        title="flags",
        default_cycles=1000.0,
        default_stall_cycles=20.0,
        ours_cycles=900.0,
        ours_stall_cycles=18.0,
        predicted_default_cycles=1010.0,
        predicted_cycles=800.0,
        realised=0.25,
        placements=(lost,),
        unknown_instructions=(),
        compiler_options=options,
    )
    flags = Flags("net", "0123", "tpu-v5e", options)
    early = Flags("net", "0123", "tpu-v5e", {}, notes={"title": "captured: knobs"})
    asked: dict[str, object] = {}
    held: list[Flags | None] = []
    path = tmp_path / "flags.json"

    def tune_program(program: object, solver: str, **given: object) -> Tuned:
        asked.update(given)
        keep = given["keep"]
        assert callable(keep)
        keep(early)
        held.append(load_flags(path) if path.exists() else None)
        cut = ("program options: 0 of 1", "baseline: 4 of 5")
        return Tuned(
            flags, verdict, 5, 4, 0.02, {}, captured=2, search_s=90, baseline_s=95, cut_short=cut
        )

    monkeypatch.setattr("engine.workflows.tuning.tune_program", tune_program)
    command = ["tune", "gptdecode-v5e-b8", "--compiles", 5, "--seed", 3, "--no-baseline"]
    code, out, err = run(*command, "-o", path, "--json")
    body = json.loads(out)
    assert code == 0
    assert err == f"{path}: written, the best so far: captured: knobs\n"
    assert (asked["compiles"], asked["seed"], asked["has_baseline"]) == (5, 3, False)
    assert body["improvement"] == pytest.approx(1 - 918 / 1020)
    assert body["predicted_improvement"] == pytest.approx(1 - 800 / 1010)
    assert body["compiler_options"] == options
    assert (body["compiles"], body["random_compiles"], body["random_improvement"]) == (5, 4, 0.02)
    assert (body["default_cycles"], body["ours_stall_cycles"]) == (1000.0, 18.0)
    assert (body["default_total_cycles"], body["ours_total_cycles"]) == (1020.0, 918.0)
    assert (body["search_s"], body["baseline_s"]) == (90, 95)
    assert body["cut_short"] == ["program options: 0 of 1", "baseline: 4 of 5"]
    assert held == [early]
    assert load_flags(path) == flags
    _, out, _ = run(*command)
    heading, default, ours, *_ = out.splitlines()
    columns = ["cycles", "stalls", "prices", "total", "predicted", "total"]
    assert heading.split() == ["compiled", *columns]
    assert default.split() == ["default", "1,000", "20", "0", "1,020", "1,010"]
    assert ours.split() == ["flags", "900", "18", "0", "918", "800"]
    assert "improvement of the total: 10.00% as compiled, 20.79% as predicted" in out
    assert "search: 5 whole compiles in 90 s, and 2 that the capture had made" in out
    assert (
        "baseline: 4 whole compiles of random options and rules in 95 s: improvement 2.00%" in out
    )
    assert "time ran out, whole compiles: program options: 0 of 1, baseline: 4 of 5" in out
    assert "refused  75% of     2.000 us: fusion.3{1}: out of memory" in out


@pytest.mark.parametrize(
    ("gains", "notes", "is_left"),
    [
        (0.12, {}, True),
        (0.04, {}, False),
        (None, {}, False),
        # Against another default, or by another compiler.
        (0.12, {"own_options": {"xla_a": "1"}}, False),
        (0.12, {"libtpu_init_args": "--xla_a=1"}, False),
        (0.12, {"versions": {"jax": "1"}}, False),
    ],
)
def test_a_run_that_goes_on_leaves_better_flags_of_an_earlier_one(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gains: float | None,
    notes: dict[str, object],
    is_left: bool,
) -> None:
    """Until it has found what it found before, it may be broken off again."""
    path, name = tmp_path / "flags.json", "gptdecode-v5e-b8"
    program = library.resolve(name)
    earlier = Flags.of(program, {"xla_b": "1"}, notes={**notes, "improvement": gains})
    save_flags(earlier, path)
    found = Flags.of(program, {"xla_c": "1"}, notes={"title": "captured", "improvement": 0.05})

    def tune_program(*given: object, keep: Callable[[Flags], None], **more: object) -> Tuned:
        keep(found)
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.workflows.tuning.tune_program", tune_program)
    code, _, err = run("tune", name, "-o", path, "--answers", tmp_path)
    assert code == 130
    assert load_flags(path).compiler_options == {"xla_b" if is_left else "xla_c": "1"}
    assert (f"{path}: left as it is, better than the best so far: captured" in err) == is_left
    save_flags(replace(earlier, program_hash="0123"), path)
    run("tune", name, "-o", path, "--answers", tmp_path)
    assert load_flags(path).compiler_options == {"xla_c": "1"}


@dataclass
class Session:
    """What `verify` asks of a session before it compiles anything."""

    program: Program
    answers: object = "answers"

    def with_costs(self, program: Program) -> Session:
        return Session(program)


def test_flags_that_make_another_program_are_verified_in_that_program(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both programs have prices of one kind, as `tune` holds them against each other."""
    program = library.resolve("gptdecode-v5e-b8")
    own = {"xla_tpu_scoped_vmem_limit_kib": "24576"}
    notes = {"knobs": {**own, "xla_gone": "1"}}
    flags = Flags.of(program, {**own, "xla_other": "1"}, notes=notes)
    save_flags(flags, tmp_path / "flags.json")
    made = replace(program, name="made")

    def program_under(program: object, answers: object, options: object, note: object) -> object:
        assert options == own
        return Session(with_prices(made, {0: Price(4e-6)})), []

    def session_under(answers: object, options: object) -> Session:
        return Session(with_prices(program, {0: Price(2e-6 if options == own else 3e-6)}))

    held: list[tuple[str, float]] = []

    def early_result(session: Session, wanted: object, usual: Session) -> object:
        held.extend((s.program.name, priced_s(s.program)) for s in (session, usual))
        raise CompilerError("enough")

    monkeypatch.setattr("engine.compiler.steering.outcome.compile_session", Session)
    monkeypatch.setattr("engine.compiler.steering.verify.early_result", early_result)
    monkeypatch.setattr("engine.workflows.program_search.program_under", program_under)
    monkeypatch.setattr("engine.workflows.program_search.session_under", session_under)
    answer = run("verify", "gptdecode-v5e-b8", tmp_path / "flags.json", "--answers", tmp_path)
    refused(answer, "enough")
    assert held == [("made", pytest.approx(2e-6)), (program.name, pytest.approx(3e-6))]


@pytest.mark.parametrize("option", ["--no-program-options", "--no-knobs"])
def test_program_options_can_be_left_out_by_either_name(option: str) -> None:
    given = parser().parse_args(["tune", "t5-v5e-b24", option])
    assert given.no_program_options
    assert not parser().parse_args(["tune", "t5-v5e-b24"]).no_program_options


def test_a_plan_that_cannot_be_exported_is_refused_before_anything_is_compiled(
    run: Run, plan_path: Path, tmp_path: Path, early_stops: list[dict[str, str]]
) -> None:
    program, answers = "t5-v5e-b24", tmp_path / "answers"
    slow, listed = tmp_path / "slow.json", tmp_path / "list.json"
    save_plan(solve("all_slow", library.resolve(program)), slow)
    listed.write_text("[]")
    for path, said in ((plan_path, "wrong-program"), (slow, "nothing from fast memory")):
        refused(run("tune", program, "--plan", path, "--answers", answers), str(path), said)
        refused(run("verify", program, path, "--answers", answers), str(path), said)
    refused(run("verify", program, listed, "--answers", answers), str(listed))
    plan = load_plan(plan_path)
    with pytest.raises(PlanError, match="wrong-program"):
        mallocmuzero.verify(library.resolve(program), plan, answers)
    with pytest.raises(PlanError, match="wrong-program"):
        tune_program(library.resolve(program), plans=[plan], folder=answers)
    assert not answers.exists()
    assert not early_stops


def test_early_stops_say_nothing_more_of_names(run: Run, tmp_path: Path) -> None:
    step, path = tmp_path / "step.stablehlo", tmp_path / "flags.json"
    step.write_bytes(EXPORT)
    save_flags(Flags("net", "0123", "tpu-v5e", {"xla_a": "1"}), path)
    refused(run("verify", step, path, "--early", "--answers", tmp_path / "a"), "--early")
    assert not (tmp_path / "a").exists()


def test_a_name_that_no_file_can_have_is_a_program_that_there_is_not(run: Run) -> None:
    refused(run("verify", "x" * 300), "no sample program is called")


def test_notes_that_are_no_json_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "flags.json"
    with pytest.raises(ProgramFormatError, match=r"flags\.json: cannot be written as JSON"):
        save_flags(Flags("net", "0123", "tpu-v5e", {}, notes={"gain": float("nan")}), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"compiles": 1}, "--compiles must be 2 or more"),
        ({"seconds": float("nan")}, "nan seconds"),
        ({"seed": -1}, "seed -1"),
        ({"second": 5}, "unexpected keyword argument 'second'"),
        ({"counts": Counts()}, "unexpected keyword argument 'counts'"),
    ],
)
def test_tune_refuses_its_options_before_it_captures(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, object], said: str
) -> None:
    monkeypatch.setattr("engine.workflows.tuning.capture", lambda *_, **__: pytest.fail("too late"))
    with pytest.raises(EngineError, match=said):
        mallocmuzero.tune(jax.jit(lambda x: x), 1.0, hardware="tpu-v5e", **options)


def test_a_folder_holds_for_the_capture_within_tune_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the capture's compiles are, so that none is made twice; without any cache, too."""
    folders: list[Path] = []

    def capture(*_: object, how: Capturing, **__: object) -> Program:
        folders.append(how.raw / ANSWERS)
        return library.load_sample("gptdecode-v5e-b8")

    def stored_answers(program: Program, folder: Path, *_: object) -> Answers:
        folders.append(folder)
        raise CompilerError("enough")

    monkeypatch.setenv("MALLOCMUZERO_CACHE", "")
    monkeypatch.setattr("engine.workflows.tuning.capture", capture)
    monkeypatch.setattr("engine.workflows.tuning.stored_answers", stored_answers)
    for folder in (tmp_path / "kept", str(tmp_path / "kept")):
        with pytest.raises(CompilerError, match="enough"):
            mallocmuzero.tune(jax.jit(lambda x: x), 1.0, hardware="tpu-v5e", folder=folder)
        with pytest.raises(CompilerError, match="enough"):
            tune_program(library.load_sample("gptdecode-v5e-b8"), folder=folder)
    answers = tmp_path / "kept" / ANSWERS
    assert folders == [answers, answers, tmp_path / "kept"] * 2
    assert capturing(raw=str(tmp_path)).raw == tmp_path


def test_a_cache_that_may_only_be_read_is_used_all_the_same(
    run: Run,
    tmp_path: Path,
    early_stops: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that others share may hold all that is asked for."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    shared = tmp_path / "compiles" / "answers"
    shared.mkdir(parents=True)
    may = os.access
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path))
    monkeypatch.setattr("engine.files._part_in", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    command = ("verify", "gptdecode-v5e-b8")
    for more in (), ("--answers", shared):
        code, _, err = run(*command, *more)
        told, error = err.splitlines()
        assert (code, error) == (2, "error: enough")
        assert told == f"{shared}: can only be read; what is compiled now is not kept"
    assert len(early_stops) == 2
    refused(run(*command, "--answers", tmp_path / "new"), "no file can be written", "another")
