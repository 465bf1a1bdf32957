"""The real compiler, steered: a named value moves, and what is said of a plan is what happens."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli import main
from engine.compiler.capture.importer import roofline
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.reading.repair import LOST
from engine.compiler.steering.candidates import sort_override
from engine.compiler.steering.export import SORT_ORDER, exports, instruction_patterns, sort_rules
from engine.compiler.steering.flags_file import Flags, save_flags
from engine.compiler.steering.outcome import CompileSession, compile_session, unknown_names
from engine.compiler.steering.verify import aim_results, request_by_flags, verify
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.compiler.toolchain.target import Target
from engine.hardware.presets import find_device
from engine.plan.check import check
from engine.plan.io import load_plan, plan_from_json, save_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.hlo.build import build_program
from engine.program.hlo.parse import parse_hlo
from engine.program.io import content_hash, save
from engine.program.model import Program
from engine.solvers import Budget, solve
from tests.compiler.exported import contested
from ui.jobs.protocol import BASIS, PLAN, PROGRAM

pytestmark = pytest.mark.compiler

TARGET = "convolution_tanh_fusion"
"""The value of 40 MiB for which the default has no room."""

STEERED = {SORT_ORDER: sort_rules([TARGET])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("answers")


@pytest.fixture(scope="module")
def session(folder: Path) -> CompileSession:
    """The contested program, with roofline costs, before the real compiler."""
    source = contested()
    answers = Answers(source, Target("tpu-v5e"), folder)
    device = find_device("tpu-v5e")
    program = build_program(
        parse_hlo(answers.early(SLOW_OPTIONS).hlo.encode(), "slow"),
        name="contested",
        hardware=device.hardware,
        where="slow",
        reserved_bytes=device.scoped_bytes,
        roofline=roofline(device),
    ).program
    packed = base64.b64encode(gzip.compress(source)).decode()
    stored = replace(program, provenance={"stablehlo_gzip_base64": packed})
    return compile_session(stored, answers)


def fast_values(program: Program, is_fast: tuple[bool, ...]) -> set[str]:
    """Names of the values of 16 MiB and more that some access finds in fast memory."""
    values = {program.values[a.value] for a, f in zip(program.accesses, is_fast, strict=True) if f}
    return {v.name for v in values if v.size_bytes >= 2**24}


def test_a_named_value_moves_and_another_gives_way(session: CompileSession) -> None:
    default, steered = session.early({}), session.early(STEERED)
    for options in ({}, STEERED):
        assert check(session.program, session.valid_plan(options)) is None
    before = fast_values(session.program, default.as_read.is_fast)
    after = fast_values(session.program, steered.as_read.is_fast)
    assert TARGET not in before
    assert TARGET in after
    assert len(before) == len(after) == 2
    group = {v.name: v.group for v in session.program.values}
    assert "out of memory" in default.refused[group[TARGET]]
    (displaced,) = before - after
    assert "out of memory" in steered.refused[group[displaced]]


def test_a_made_up_name_is_reported(session: CompileSession) -> None:
    options = {SORT_ORDER: sort_rules([TARGET, "fusion.99999{1}"])}
    outcome = session.early(options)
    assert unknown_names(instruction_patterns(options), outcome.names) == ("fusion[.]99999",)
    assert TARGET in fast_values(session.program, outcome.as_read.is_fast)
    # Every instruction of the program can be named, also one that the pass replaces.
    names = tuple(instruction.name for instruction in session.program.instructions)
    assert unknown_names(names, outcome.names) == ()


def test_a_plan_becomes_placements_with_reasons(session: CompileSession) -> None:
    from engine.compiler.steering.export import aims

    plan = solve("greedy", session.program, Budget(1.0, 0))
    outcome = session.early(exports(session.program, plan)[0].options)
    became = aim_results(session.program, aims(session.program, plan), outcome)
    assert became
    assert all(bool(p.reason) == (p.realised < 0.999) for p in became)
    assert max(p.realised for p in became) == 1.0


LOST_AT_OWN_OFFSETS = ("earlyexit-v5e-b48", "gatedkernel-v6e-b32", "modalities-v6e-b64")
"""Real programs of whose default plan XLA's own offsets lose more than a tenth of the saving."""


@pytest.mark.parametrize(
    "name",
    [
        LOST_AT_OWN_OFFSETS[0],
        *(pytest.param(name, marks=pytest.mark.nightly) for name in LOST_AT_OWN_OFFSETS[1:]),
    ],
)
def test_a_compile_is_read_as_wholly_as_when_it_was_captured(name: str) -> None:
    program = library.load_sample(name)
    session = compile_session(program, stored_answers(program, None))
    default, captured = session.early({}), plan_from_json(program.provenance["xla_plan"], name)
    plan = session.valid_plan({})
    assert check(program, plan) is None
    assert plan.notes[LOST] == captured.notes[LOST] == 0.0
    assert simulate(program, plan).latency_s == simulate(program, captured).latency_s
    # What is predicted is what was placed, valid or not.
    assert default.as_read.is_fast == plan.is_fast
    assert default.predicted.compute_s == pytest.approx(simulate(program, plan).compute_s)


@pytest.mark.nightly
def test_verify_prints_the_contract_and_names_what_is_unknown(
    session: CompileSession, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(session.program, tmp_path / "program.json")
    options = {SORT_ORDER: sort_rules([TARGET, "fusion.99999{1}"])}
    flags = Flags("contested", content_hash(session.program), "tpu-v5e", options)
    save_flags(flags, tmp_path / "flags.json")
    arguments = [str(tmp_path / "program.json"), str(tmp_path / "flags.json")]
    code = main(["verify", *arguments, "--answers", str(folder), "--json"])
    body = json.loads(capsys.readouterr().out)
    assert code == 1
    assert body["unknown_instructions"] == ["fusion[.]99999"]
    assert body["compiler_options"] == options
    ours = body["ours_cycles"] + body["ours_stall_cycles"]
    theirs = body["default_cycles"] + body["default_stall_cycles"]
    assert body["improvement"] == pytest.approx(1 - ours / theirs)
    assert body["ours_cycles"] != body["default_cycles"] > 0
    # What was compiled for the command is known now: the same figures, and no further compile.
    known = len(list(folder.iterdir()))
    assert (
        verify(session, request_by_flags(session.program, flags)).ours_cycles == body["ours_cycles"]
    )
    assert len(list(folder.iterdir())) == known


def test_options_that_abort_the_compiler_are_named_in_one_line(
    session: CompileSession, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The compiler checks this value by ending the process that it runs in."""
    rule = (
        'overrides { hlo_operand_filter { instruction_name_regex: ".*" operand_number: 0 }'
        " override_options { prefetch_eagerness: 99 } }"
    )
    options = {"xla_tpu_preferred_prefetch_overrides": rule}
    save(session.program, tmp_path / "program.json")
    flags = Flags("contested", content_hash(session.program), "tpu-v5e", options)
    save_flags(flags, tmp_path / "flags.json")
    arguments = [str(tmp_path / "program.json"), str(tmp_path / "flags.json")]
    code = main(["verify", *arguments, "--answers", str(folder)])
    said = capsys.readouterr()
    *announced, error = said.err.splitlines()
    assert (code, said.out) == (2, "")
    assert announced and all(line.startswith("compile ") for line in announced)
    assert "the compiler aborted (code -6: " in error
    assert "Check failed: prefetch_eagerness <= 1.0 (99 vs. 1)" in error
    assert "with the options xla_tpu_preferred_prefetch_overrides=" in error


@pytest.mark.nightly
def test_early_stops_tell_placements_and_reasons_without_cycles(
    session: CompileSession, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(session.program, tmp_path / "program.json")
    save_plan(solve("greedy", session.program, Budget(1.0, 0)), tmp_path / "plan.json")
    arguments = [str(tmp_path / "program.json"), str(tmp_path / "plan.json")]
    code = main(["verify", *arguments, "--answers", str(folder), "--early", "--json"])
    body = json.loads(capsys.readouterr().out)
    assert code == 0
    assert "ours_cycles" not in body and "improvement" not in body
    assert 0 < body["realised"] <= 1
    assert all(bool(p["reason"]) == (p["realised"] < 0.999) for p in body["placements"])
    assert body["predicted_improvement"] == pytest.approx(
        1 - body["predicted_cycles"] / body["predicted_default_cycles"]
    )


@pytest.mark.parametrize(
    "rules", [sort_rules(["fusion.99999{1}", TARGET]), sort_override(4, 0.0, 0.5)]
)
def test_the_environment_steers_like_the_options(session: CompileSession, rules: str) -> None:
    from engine.compiler.toolchain import compile as compiling

    options = {SORT_ORDER: rules}
    word = Flags("contested", "", "tpu-v5e", options).environment
    target = Target("tpu-v5e", init_args=word)
    found = compiling.compile_early(session.answers.stablehlo, target)
    assert found.buffers == session.answers.early(options).buffers
    assert found.buffers != session.answers.early({}).buffers


@pytest.mark.nightly
def test_the_explorers_job_verifies_a_plan_and_brings_the_compiled_one(
    session: CompileSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ui.jobs import compiling

    monkeypatch.setattr(compiling, "answers_folder", lambda: folder)
    plan = solve("greedy", session.program, Budget(1.0, 0))
    save(session.program, tmp_path / PROGRAM)
    save_plan(plan, tmp_path / BASIS)
    told: list[tuple[float | None, str]] = []

    def progress(share: float | None, text: str) -> bool:
        told.append((share, text))
        return True

    found = compiling.verify(tmp_path, {"basis": "asked", "seed": 0}, progress)
    realised = load_plan(tmp_path / PLAN)
    assert check(session.program, realised) is None
    assert found["asked"] == "asked"
    assert found["verdict"]["ours_cycles"] > 0
    rows = found["instructions"]
    assert sum(row["compiled"] for row in rows) == pytest.approx(found["verdict"]["ours_cycles"])
    shares = [share for share, _ in told if share is not None]
    assert len(shares) == len(exports(session.program, plan))
    assert shares == sorted(shares)


@pytest.mark.nightly
def test_the_explorers_job_tunes_and_brings_the_best_compiled_plan(
    session: CompileSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ui.jobs import compiling

    monkeypatch.setattr(compiling, "answers_folder", lambda: folder)
    save(session.program, tmp_path / PROGRAM)
    order = {"basis": "asked", "seed": 0, "seconds": 4.0, "details": {"compiles": 2}}
    found = compiling.tune(tmp_path, order, lambda share, text: True)
    verdict = found["verdict"]
    assert found["compiles"] <= 2 and verdict["improvement"] >= 0.0
    ours = verdict["ours_cycles"] + verdict["ours_stall_cycles"]
    assert ours <= verdict["default_cycles"] + verdict["default_stall_cycles"]
    realised = load_plan(tmp_path / PLAN)
    assert check(session.program, realised) is None
    assert realised.notes["compiled_cycles"] == pytest.approx(ours)
