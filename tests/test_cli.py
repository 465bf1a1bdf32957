"""The command line as a user meets it: keys, exit codes, errors of one line, whole files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from engine.agent.checkpoint import Checkpoint, save_checkpoint
from engine.agent.network import init_params
from engine.agent.trace_io import load_trace
from engine.cli import app, main, parser
from engine.program import library
from engine.program.io import save
from engine.program.provenance import observed
from tests.agent.small import CONFIG

TEACHING = "teach-keep-or-drop"
ROOT = Path(__file__).resolve().parents[1]
NAME = next(e.name for e in library.index() if e.xla_latency_s is not None)


DUMP = str(ROOT / "tests" / "data" / "hlo" / "mlp_off.hlo")
TABLE = "table.csv"
OUT = ("-o", "out.json")
POLICY = ("--solver", "muzero", "--model", "policy")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    assert len(out.splitlines()) == 1
    body: dict[str, Any] = json.loads(out)
    return body


def test_solve_check_simulate_round(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    solved = run_json(capsys, "solve", NAME, "--solver", "greedy", "-o", str(plan))
    keys = {"latency_s", "compute_s", "stall_s", "all_slow_s", "all_fast_s"}
    assert set(solved) == keys | {"solver", "seconds", "plan"}
    assert run_json(capsys, "check", NAME, str(plan)) == {"valid": True, "violation": None}
    simulated = run_json(capsys, "simulate", NAME, str(plan))
    assert simulated == {key: solved[key] for key in keys}
    trace = tmp_path / "trace.json"
    written = run_json(capsys, "timeline", NAME, str(plan), "-o", str(trace))
    shown = json.loads(trace.read_text())
    assert len(shown["traceEvents"]) == written["events"]
    assert shown["otherData"]["latency_us"] == pytest.approx(solved["latency_s"] * 1e6)


def test_bound_and_compare(capsys: pytest.CaptureFixture[str]) -> None:
    bound = run_json(capsys, "bound", NAME, "--method", "lp")
    assert set(bound) == {"bound_s", "method", "seconds"}
    body = run_json(capsys, "compare", NAME, "--solvers", "all_slow,greedy,xla_compiled")
    # Beside its own linear program, what is proven of a sample counts.
    assert body["bound_s"] == library.find_sample(NAME).bound_s >= bound["bound_s"]
    rows = body["results"]
    assert {"solver", "latency_s", "seconds", "valid", "violation", "found_by"} == set(rows[0])
    assert [r["latency_s"] for r in rows] == sorted(r["latency_s"] for r in rows)
    assert rows[-1]["solver"] == "all_slow"
    assert all(r["latency_s"] >= body["bound_s"] * (1 - 1e-9) for r in rows)


def test_bound_by_branching(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    run_json(capsys, "solve", "teach-keep-or-drop", "--solver", "all_slow", "-o", str(plan))
    relaxed = run_json(capsys, "bound", "teach-keep-or-drop", "--method", "lp")
    body = run_json(capsys, "bound", "teach-keep-or-drop", "--seconds", "20")
    assert set(body) == {"bound_s", "method", "seconds", "known_s", "is_optimal"}
    assert relaxed["bound_s"] < body["bound_s"] <= body["known_s"]
    arguments = ("bound", "teach-keep-or-drop", "--method", "mip", "--plan", str(plan))
    known = run_json(capsys, *arguments)
    assert known["known_s"] == run_json(capsys, "simulate", arguments[1], str(plan))["latency_s"]
    assert not known["is_optimal"]


def test_bench_is_a_list_of_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    body = run_json(capsys, "bench", "--programs", NAME, "--solvers", "all_slow")
    assert [p["program"] for p in body["programs"]] == [NAME]


def test_a_broken_plan_exits_with_1_and_its_rule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    run(capsys, "solve", NAME, "--solver", "xla_compiled", "-o", str(path))
    body = json.loads(path.read_text())
    body["is_fast"] = [True] * len(body["is_fast"])
    path.write_text(json.dumps(body))
    code, out, _ = run(capsys, "check", NAME, str(path), "--json")
    assert code == 1
    assert json.loads(out)["violation"] in {"alias", "liveness", "capacity"}


def test_a_plan_of_another_program_is_named_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    run(capsys, "solve", NAME, "--solver", "all_slow", "-o", str(path))
    other = next(n for n in library.sample_names() if n != NAME)
    code, out, _ = run(capsys, "check", other, str(path), "--json")
    assert (code, json.loads(out)["violation"]) == (1, "wrong-program")


def test_local_begins_from_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    greedy = run_json(capsys, "solve", NAME, "--solver", "greedy", "-o", str(plan))
    words = ("--solver", "local", "--seconds", "0.1", "--from", str(plan))
    assert run_json(capsys, "solve", NAME, *words)["latency_s"] <= greedy["latency_s"] * (1 + 1e-9)


def test_steerable_asks_for_plans_that_the_pass_itself_makes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = run_json(capsys, "solve", NAME, "--steerable", "--seconds", "1")
    assert said["solver"] == "steered"


@pytest.mark.nightly
def test_the_agent_solves_and_leaves_its_trace(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan, trace = tmp_path / "plan.json", tmp_path / "trace.npz"
    params = init_params(jax.random.key(0), CONFIG.network)
    config = replace(CONFIG, search=replace(CONFIG.search, num_simulations=8))
    save_checkpoint(Checkpoint(params, config), tmp_path / "weights")
    # The search that the tests of the agent have compiled.
    given = {
        "--solver": "muzero",
        "--checkpoint": str(tmp_path / "weights"),
        "--algorithm": "muzero",
        "--simulations": str(CONFIG.search.num_simulations),
        "--seconds": "1",
        "--trace": str(trace),
        "-o": str(plan),
    }
    words = [word for pair in given.items() for word in pair]
    solved = run_json(capsys, "solve", TEACHING, *words)
    assert run_json(capsys, "check", TEACHING, str(plan))["valid"]
    assert run_json(capsys, "simulate", TEACHING, str(plan))["latency_s"] == solved["latency_s"]
    told = run_json(capsys, "analyse", TEACHING, str(trace), "--seconds", "30")
    assert told["regret"]["completeness"] == 1
    assert told["calibration"]["search"]["error"]["count"] == told["num_moves"]
    code, out, _ = run(capsys, "analyse", TEACHING, str(trace))
    assert code == 0
    assert f"regrets    {told['regret']['num_known']} of" in out
    assert told["findings"]
    for name, sign in (("report.html", "<table>"), ("report.md", "| --- |")):
        report = tmp_path / name
        assert run(capsys, "analyse", TEACHING, str(trace), "--report", str(report))[0] == 0
        assert sign in report.read_text()
    priced = library.load_sample(TEACHING)
    instructions = tuple(replace(i, priced_s=i.fast_s) for i in priced.instructions)
    save(replace(priced, instructions=instructions), tmp_path / "priced.json")
    arguments = (str(tmp_path / "priced.json"), str(trace), "--report", str(report))
    assert "without an estimate" in run(capsys, "analyse", *arguments)[2]
    assert "without an estimate" in report.read_text()
    code, _, error = run(capsys, "analyse", NAME, str(trace))
    assert code == 2
    assert f"not a game of {NAME}" in error
    found = load_trace(trace)
    assert (found.model, found.settings["algorithm"]) == ("learned", "muzero")
    assert found.tree_visits.shape[1] == CONFIG.search.num_simulations + 1


@pytest.mark.nightly
def test_two_settings_play_the_same_program(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "ab.md"
    given = ("--first-model", "policy", "--second-model", "policy")
    told = run_json(capsys, "ab", "--programs", TEACHING, *given, "--report", str(report))
    (bout,) = told["bouts"]
    assert (bout["program"], bout["num_different"], bout["kinds"]) == (TEACHING, 0, [])
    assert bout["first_s"] == bout["second_s"] > 0
    assert "A/B: generalist, model policy" in report.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["bound", "no-such-sample"],
        ["bound", "teach-prefetch", "--method", "guess"],
        ["bound", "teach-prefetch", "--seconds", "-1"],
        ["bound", "teach-prefetch", "--method", "lp", "--plan", "plan.json"],
        ["bound", "missing/file.json"],
        ["solve", NAME, "--solver", "no-such-solver"],
        ["solve", NAME, "--seed", "-1"],
        ["solve", NAME, "--seconds", "nan"],
        ["solve", NAME, "-o", "no-such-folder/plan.json"],
        ["solve", NAME, "--trace", "trace.npz"],
        ["solve", NAME, "--solver", "greedy", "--from", "plan.json"],
        ["solve", NAME, "--solver", "local", "--from", "no-such-plan.json"],
        ["solve", TEACHING, "--solver", "muzero", "--model", "oracle"],
        ["solve", TEACHING, "--solver", "muzero", "--algorithm", "magic"],
        ["solve", TEACHING, "--solver", "muzero", "--simulations", "0"],
        ["solve", TEACHING, "--solver", "muzero", "--checkpoint", "no-such-folder"],
        ["train", "--run", "run", "-o", "out", "--seconds", "-3"],
        ["train", "--run", "run", "-o", "out", "--rounds", "0"],
        ["train", "--run", "run", "-o", "out", "--set", "replay.luck=1"],
        ["train", "--run", "run", "-o", "out", "--set", "self_play.games=many"],
        ["analyse", NAME, "missing.npz"],
        ["analyse", NAME, "missing.npz", "--report", "report.pdf"],
        ["ab", "--programs", "no-such-sample"],
        ["ab", "--programs", TEACHING, "--first", "no-such-folder"],
        ["ab", "--programs", TEACHING, "--second-model", "oracle"],
        ["ab", "--programs", TEACHING, "--report", "report.txt"],
        ["compare", NAME, "--solvers", "greedy,nonsense"],
        ["check", NAME, "missing.json"],
        ["capture"],
        ["import", "-o", "out.json"],
        ["solve", "--no-such-option"],
        ["solve", TEACHING, "--solver", "muzero", "--trace", "no-such-folder/t.npz"],
        ["solve", NAME, "-o", "."],
        ["timeline", NAME, "missing.json", "-o", "no-such-folder/t.json"],
        ["export", NAME, "missing.json", "-o", "no-such-folder/f.json"],
        ["tune", NAME, "-o", "no-such-folder/f.json"],
        ["tune", NAME, "--answers", "README.md/answers"],
        ["verify", NAME, "--answers", "README.md/answers"],
        ["train", "-o", "README.md/weights"],
        ["train", "-o", "weights", "--run", "README.md/run"],
        ["mine", "-o", "no-such-folder/p.json"],
        ["refit", NAME, "-o", "README.md/programs"],
        ["observe", NAME, "--raw", "README.md/raw"],
        ["capture", "vit", "--raw", "README.md/raw", "-o", "p.json"],
        ["analyse", NAME, "missing.npz", "--report", "no-such-folder/r.md"],
        ["ab", "--programs", TEACHING, "--report", "no-such-folder/r.md"],
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\x1f\x8b\x08garbage", b"[1,2,3]", b'{"format": "mallocmuzero-program"}'],
)
def test_bad_files_leave_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    bad, out = tmp_path / "bad.json", tmp_path / "plan.json"
    bad.write_bytes(content)
    code, _, err = run(capsys, "solve", str(bad), "-o", str(out))
    assert code == 2
    assert str(bad) in err
    assert not out.exists()


def test_bad_hlo_leaves_nothing_behind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.hlo", tmp_path / "program.json"
    bad.write_text("HloModule m\n" + "(" * 200_000)
    code, _, err = run(
        capsys, "import", "--slow", str(bad), "--hardware", "tpu-v5e", "-o", str(out)
    )
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == [bad]


DUMPS = Path(__file__).parent / "data" / "hlo"


def test_a_dump_does_not_say_which_chip_it_is_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump, out = DUMPS / "mlp_off.hlo", tmp_path / "program.json"
    code, _, err = run(capsys, "import", "--slow", str(dump), "-o", str(out))
    assert code == 2
    assert "--hardware" in err
    assert "tpu-v5e" in err


def test_info_says_how_much_of_the_savings_is_observed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = observed(library.load_sample(NAME))
    assert found is not None and 0 < found.share < 1
    body = run_json(capsys, "info", NAME)
    assert (body["program"], body["saving_observed"]) == (NAME, found.share)
    facts = dict(line.split(maxsplit=1) for line in run(capsys, "info", NAME)[1].splitlines())
    assert facts["saving_observed"] == f"{found.share:.1%}"
    assert facts["all_slow"] == f"{body['all_slow_s'] * 1e6:.3f} us"
    assert facts["accesses"] == str(body["accesses"])
    assert "saving_observed" not in run_json(capsys, "info", TEACHING)


def test_programs_are_listed_by_set_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, err = run(capsys, "programs", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(text)["programs"]
    assert {row["set"] for row in rows} == {"samples", "held out", "large", "real"}
    assert len({row["name"] for row in rows}) == len(rows)
    known = {row["name"]: row for row in rows}[NAME]
    entry = library.find_sample(NAME)
    assert (known["xla_latency_s"], known["bound_s"]) == (entry.xla_latency_s, entry.bound_s)
    assert (known["best_s"], known["best_solver"]) == (entry.best_s, entry.best_solver)
    code, text, _ = run(capsys, "programs", "many", "chips", "held")
    assert code == 0
    assert text.splitlines()[0] == "real:"
    assert "ringattention-v5p-b4" in text
    assert "fsdp" not in text
    code, text, _ = run(capsys, "programs", "no such words")
    assert (code, text) == (0, "no program has these words; try fewer\n")


def test_the_share_of_the_compilers_plan_that_was_read_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "program.json"
    dumps = ["--slow", str(DUMPS / "mlp_off.hlo"), "--fast", str(DUMPS / "mlp_on.hlo")]
    code, text, err = run(
        capsys, "import", *dumps, "--hardware", "tpu-v5e", "-o", str(out), "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(text)["xla_plan_read"] == 1.0
    assert json.loads(text)["xla_plan_offsets"].startswith("packed anew")
    body = json.loads(out.read_text())
    body["provenance"]["xla_plan"]["notes"]["left_out_saving_share"] = 0.02
    out.write_text(json.dumps(body))
    code, text, _ = run(capsys, "compare", str(out), "--solvers", "xla_compiled,greedy")
    assert code == 0
    assert "warning: only 98.0% of the saving of XLA's plan could be read" in text


def test_the_region_for_scratch_is_given_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, limit = tmp_path / "p.json", "xla_tpu_scoped_vmem_limit_kib"
    dump = ["import", "--slow", str(DUMPS / "mlp_off.hlo"), "--hardware", "tpu-v5e", "-o", str(out)]
    assert run(capsys, *dump, "--scoped-kib", "32768")[0] == 0
    given = json.loads(out.read_text())["instructions"]["reserved_bytes"]
    assert run(capsys, *dump, "--compiler-options", f"{limit}=32768")[0] == 0
    assert json.loads(out.read_text())["instructions"]["reserved_bytes"] == given
    assert set(given) == {32768 * 1024}
    both = ["--scoped-kib", "32768", "--compiler-options", f"{limit}=24576"]
    code, _, err = run(capsys, *dump, *both)
    assert code == 2
    assert limit in err


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "engine", "bound", "teach-prefetch"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_full_disk_under_stdout_is_one_line(as_json: bool) -> None:
    command = [sys.executable, "-m", "engine", "info", "teach-prefetch", *["--json"] * as_json]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left" in done.stderr


def test_work_goes_on_though_nobody_reads_what_is_noted(tmp_path: Path) -> None:
    """The result is there, on stdout and in its file, and the exit code is that of the command."""
    reader, writer = os.pipe()
    os.close(reader)
    plan, flags = tmp_path / "plan.json", tmp_path / "flags.json"
    assert main(["solve", NAME, "--solver", "greedy", "-o", str(plan)]) == 0
    command = [sys.executable, "-m", "engine", "export", NAME, str(plan), "-o", str(flags)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, check=False)
    assert (done.returncode, flags.exists()) == (0, True)
    assert done.stdout
    command = [sys.executable, "-m", "engine", "info", "no-such-sample"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, check=False)
    os.close(writer)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize(
    ("arguments", "idle"),
    [
        (["import", "--slow", DUMP, "--buffers", "b.txt", "--hardware", "tpu-v5e", *OUT], "--fast"),
        (["import", "--slow", DUMP, "--capacity", "5", "--hardware", "tpu-v5e", *OUT], "--capac"),
        (["import", "--minimalloc", TABLE, "--hardware", "tpu-v5e", *OUT], "--hardware"),
        (["import", "--minimalloc", TABLE, "--fast", DUMP, *OUT], "--fast"),
        (["import", "--minimalloc", TABLE, "--buffers", "b.txt", *OUT], "--buffers"),
        (["import", "--minimalloc", TABLE, "--scoped-kib", "8", *OUT], "--scoped-kib"),
        (["capture", "--all", "--large"], "--large"),
        (["capture", "--all", "vit"], "MODEL"),
        (["capture", "--held-out", "--batch", "4"], "--batch"),
        (["capture", "--stablehlo", "f", "--batch", "4", *OUT], "--batch"),
        (["capture", "--stablehlo", "f", "--train", *OUT], "--train"),
        (["learn", "loop", "--check", "lesson.toml"], "--check"),
        (["solve", TEACHING, *POLICY, "--simulations", "5"], "simulations"),
        (["solve", TEACHING, *POLICY, "--algorithm", "muzero"], "algorithm"),
        (["ab", "--first-model", "policy", "--first-simulations", "5"], "--first-simulations"),
        (["bench", "--cores", "2"], "--cores"),
    ],
)
def test_options_that_cannot_count_are_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    idle: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / TABLE).write_text("id,lower,upper,size\na,0,1,1\n")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert idle in err
    assert list(tmp_path.iterdir()) == [tmp_path / TABLE]
    with pytest.raises(SystemExit):
        main([arguments[0], "--help"])
    options = set(re.findall("--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall("--[a-z-]+", err)) <= options


def test_what_is_above_a_bound_of_zero_is_no_share_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, program = tmp_path / "table.csv", str(tmp_path / "p.json")
    table.write_text("id,lower,upper,size\na,0,9,4\nb,0,9,4\n")
    assert run(capsys, "import", "--minimalloc", str(table), "-o", program)[0] == 0
    shares = {}
    for line in run(capsys, "compare", program, "--solvers", "greedy,all_slow")[1].splitlines()[1:]:
        words = line.split()
        shares[words[0]] = words[3]
    assert shares == {"greedy": "-", "all_slow": "-"}
    plan = str(tmp_path / "plan.json")
    run(capsys, "solve", program, "--solver", "greedy", "-o", plan)
    assert run_json(capsys, "bound", program, "--method", "mip", "--plan", plan)["is_optimal"]


def test_names_in_files_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = "\x1b[2J\u202egnihton\x07"
    program = replace(library.load_sample(TEACHING), name=bad)
    path = tmp_path / "p.json"
    save(program, path)
    plan = tmp_path / f"{bad}.json"
    outputs = [
        run(capsys, "info", str(path)),
        run(capsys, "compare", str(path), "--solvers", "greedy"),
        run(capsys, "solve", str(path), "--solver", "greedy", "-o", str(plan)),
        run(capsys, "check", bad, str(plan)),
        run(capsys, "solve", str(path), f"--{bad}"),
    ]
    for _, out, err in outputs:
        assert all(character.isprintable() or character == "\n" for character in out + err)
    assert [code for code, _, _ in outputs] == [0, 0, 0, 2, 2]
    assert "\\x1b[2J\\u202egnihton\\x07" in outputs[0][1]


def test_a_command_interrupted_while_it_loads_says_so_in_one_line() -> None:
    code = """
import os, signal, sys
# A shell that runs this beside itself has it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupting:
    def find_spec(self, name, *_):
        if name == "engine.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from engine.__main__ import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("called", "name"),
    [("/usr/bin/mallocmuzero", "mallocmuzero"), ("engine/__main__.py", "python -m engine")],
)
def test_help_names_the_command_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, called: str, name: str
) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    assert parser().format_usage().startswith(f"usage: {name} ")


def test_an_interrupted_command_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.cli.plans.lower_bound", interrupted)
    code, out, err = run(capsys, "bound", NAME)
    assert (code, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("ending", "word", "expected"),
    [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)],
)
def test_a_command_that_compiles_says_what_is_left_of_it_and_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    ending: signal.Signals,
    word: str,
    expected: int,
) -> None:
    output, writes = tmp_path / "p.json", False
    # What runs in the background of a shell begins with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def ended(*arguments: object) -> None:
        if writes:
            output.write_text("known")
        os.kill(os.getpid(), ending)
        pytest.fail("the signal does not end it")

    monkeypatch.setattr("engine.cli.capture._captured", ended)
    usual = signal.getsignal(signal.SIGTERM)
    command = ("capture", "mlp", "-o", str(output), "--raw", str(tmp_path))
    kept = "compile results are cached; the same command goes on from there\n"
    assert run(capsys, *command) == (expected, "", f"{word}: {kept}")
    output.write_text("of an earlier command")
    assert run(capsys, *command) == (expected, "", f"{word}: {kept}")
    writes = True
    known = f"{output} has what is known so far, and "
    assert run(capsys, *command) == (expected, "", f"{word}: {known}{kept}")
    assert signal.getsignal(signal.SIGTERM) is usual
    parsed = [parser().parse_args([c, NAME]) for c in ("tune", "verify", "observe")]
    assert all(options.resumes for options in parsed)


def test_the_explorer_says_what_it_needs_where_the_engine_stands_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "NEEDED", ("pandas", "no_such_package"))
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("the server was started"))
    assert main(["app"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: the explorer is not installed: pip install '.[app]' in the project's folder"
    ]


HLO_OF_V5E = ["import", "--slow", DUMP, "--hardware", "tpu-v5e", *OUT]
SCOPED = "xla_tpu_scoped_vmem_limit_kib"
OFFLINE = ["--offline", "--raw", "raw", *OUT]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["capture", "alexnet", "--batch", "0", *OFFLINE], "a batch of 0"),
        (["capture", "alexnet", "--batch", "-4", *OFFLINE], "a batch of -4"),
        (
            ["capture", "fsdp", "--train", "--batch", "3", *OFFLINE],
            "[3, 1024] is not cut evenly",
        ),
        (["capture", "alexnet", "--compiles", "0", *OFFLINE], "--compiles 0"),
        (["capture", "alexnet", "--seconds", "nan", *OFFLINE], "nan seconds"),
        (["capture", "alexnet", "--hardware", "", *OFFLINE], "--hardware"),
        (["capture", "alexnet", "--topology", "", *OFFLINE], "--topology"),
        (["observe", NAME, "--raw", "raw", "--compiles", "-3"], "--compiles -3"),
        (["observe", NAME, "--raw", "raw", "--seconds", "-1"], "-1.0 seconds"),
        (["corpus", "--folder", "c", "--raw", "raw", "--count", "-5"], "--count -5"),
        (["corpus", "--folder", "c", "--raw", "raw", "--first", "-1"], "--first -1"),
        (["app", "--port", "70000"], "--port 70000"),
        (["app", "--port", "-5"], "--port -5"),
        (["solve", TEACHING, "--seed", str(2**63)], f"seed {2**63}"),
        (["solve", TEACHING, "--seconds", "1e300"], "1e+300 seconds"),
        (["train", "--run", "run", "-o", "out", "--seed", str(2**63)], f"seed {2**63}"),
        (["check-solver", "greedy", "--seconds", "-1"], "-1.0 seconds"),
        (["check-solver", "greedy", "--seconds", "nan"], "nan seconds"),
        (["tune", NAME, "--answers", "a", "--seconds", "nan"], "nan seconds"),
        (["tune", NAME, "--answers", "a", "--seed", "-100"], "seed -100"),
        (["gap", TEACHING, "--seconds", "nan"], "nan seconds"),
        (["analyse", TEACHING, "missing.npz", "--seconds", "-3"], "-3.0 seconds"),
        (["bound", TEACHING, "--method", "lpp", "--plan", "p.json"], "not for 'lpp'"),
        (["compare", TEACHING, "--solvers", ""], "--solvers"),
        (["bench", "--programs", f"{TEACHING},,{NAME}"], "--programs"),
        (["ab", "--programs", ""], "--programs"),
        (["ab", "--programs", TEACHING, "--first", ""], "manifest.json"),
        (["train", "--run", "run", "-o", "out", "--programs", " "], "--programs"),
        (["mine", "-o", "p.json", "--programs", ""], "--programs"),
        (["mine", "-o", "p.json", "--describe", "--tries", "5"], "--tries"),
        (["mine", "-o", "p.json", "--describe", "--again"], "--again"),
        (["mine", "--describe", "--programs", "no-such"], "has no positions of no-such"),
        (["mine", "--describe", "-o", "p.json"], "p.json has no positions"),
        (["mine", "-o", "p.json", "--programs", f"{TEACHING},no-such"], "'no-such'"),
        (["mine", "-o", "p.json", "--tries", "-3"], "--tries -3"),
        (["mine", "-o", "p.json", "--tries", "24"], "--tries 24"),
        (["mine", "-o", "p.json", "--seed", "-1"], "seed -1"),
        (["mine", "--describe", "--seed", "-1"], "seed -1"),
        (["observe", NAME, "no-such", "--raw", "raw"], "'no-such'"),
        (["refit", NAME, "no-such", "-o", "out"], "'no-such'"),
        (["refit", NAME, TEACHING, "-o", "out"], f"{TEACHING}: nothing was observed"),
        (["solve", TEACHING, *POLICY, "--trace", "t"], "ends in .npz"),
        (
            ["solve", TEACHING, *POLICY, "--trace", "t.npz", "-o", "t.npz"],
            "--output and by --trace",
        ),
        ([*HLO_OF_V5E, "--scoped-kib", "0"], f"{SCOPED}: '0' is no positive"),
        ([*HLO_OF_V5E, "--scoped-kib", "-5"], f"{SCOPED}: '-5' is no positive"),
        ([*HLO_OF_V5E, "--compiler-options", f"{SCOPED}=much"], f"{SCOPED}: 'much' is no positive"),
        ([*HLO_OF_V5E, "--compiler-options", f"{SCOPED}={'9' * 5000}"], "is no positive"),
        ([*HLO_OF_V5E, "--trip-count", "w=1", "--trip-count", "%w=2"], "w is given twice"),
        ([*HLO_OF_V5E, "--branch", "c=1,0", "--branch", "c=0,1"], "c is given twice"),
        (
            [*HLO_OF_V5E, "--compiler-options", "xla_a=1", "--compiler-options", "xla_a=2"],
            "xla_a is given as 1 and as 2",
        ),
    ],
)
def test_what_cannot_be_is_said_before_any_work(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("the server was started"))
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["timeline", TEACHING, "plan.json", "-o", "plan.json"],
        ["timeline", TEACHING, "plan.json", "-o", "link.json"],
        ["export", TEACHING, "plan.json", "-o", "./plan.json"],
        ["tune", TEACHING, "--plan", "other.json", "--plan", "plan.json", "-o", "plan.json"],
        ["tune", TEACHING, "--compiler-options", "flags", "-o", "flags"],
        ["solve", "p.json", "--solver", "greedy", "-o", "p.json"],
        ["solve", TEACHING, "--solver", "local", "--from", "plan.json", "--trace", "plan.json"],
        ["bench", "--programs", f"{TEACHING},p.json", "-o", "p.json"],
        ["reprice", "p.json", "--profile", "times.csv", "-o", "times.csv"],
        ["capture", "--stablehlo", "plan.json", "--raw", "raw", "-o", "plan.json"],
        ["import", "--minimalloc", "times.csv", "-o", "times.csv"],
    ],
)
def test_no_output_takes_the_place_of_what_is_read(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save(library.load_sample(TEACHING), Path("p.json"))
    assert main(["solve", TEACHING, "--solver", "greedy", "-o", "plan.json"]) == 0
    Path("link.json").symlink_to("plan.json")
    Path("times.csv").write_text("instruction,time_us\na,1\n")
    Path("flags").write_text("xla_a=1\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    code, out, err = run(capsys, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    path = arguments[-1].removeprefix("./")
    assert err.startswith(f"error: {path}: it is read")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_with_json_no_output_goes_to_stdout(tmp_path: Path) -> None:
    """There the result would follow it, and both would be no JSON; lines for a person may."""
    command = [sys.executable, "-m", "engine", "solve", TEACHING, "--solver", "greedy", "-o"]
    to_stdout = [*command, "/dev/stdout"]
    done = subprocess.run([*to_stdout, "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: /dev/stdout: ")
    done = subprocess.run(to_stdout, capture_output=True, text=True, check=True)
    plan, end = json.JSONDecoder().raw_decode(done.stdout)
    assert plan["solver"] == "greedy" and "latency" in done.stdout[end:]
    path = tmp_path / "out.json"
    with path.open("w") as stdout:
        taken = subprocess.run([*command, str(path), "--json"], stdout=stdout, check=False)
    assert (taken.returncode, path.read_text()) == (2, "")
    nowhere = [*command, os.devnull, "--json"]
    subprocess.run(nowhere, stdout=subprocess.DEVNULL, check=True)


def test_a_plan_may_take_the_place_of_the_one_it_begins_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program that is priced may that of before; and a sample's name is no file."""
    monkeypatch.chdir(tmp_path)
    run_json(capsys, "solve", TEACHING, "--solver", "greedy", "-o", "plan.json")
    begun = ("solve", TEACHING, "--solver", "local", "--seconds", "0", "--from", "plan.json")
    assert run_json(capsys, *begun, "-o", "plan.json")["plan"] == "plan.json"
    run_json(capsys, "solve", TEACHING, "--solver", "greedy", "-o", TEACHING)


def test_a_path_that_is_no_text_is_spelt_out_in_the_result(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What no JSON can hold; a line break it can."""
    path = f"{tmp_path}/\udcff\né.json"
    assert run_json(capsys, "solve", TEACHING, "--solver", "greedy", "-o", path)["plan"] == (
        f"{tmp_path}/\\udcff\né.json"
    )
    assert Path(path).exists()


def test_a_line_break_in_a_name_begins_no_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = replace(library.load_sample(TEACHING), name="mine\nvalid")
    path = tmp_path / "p.json"
    save(program, path)
    _, out, _ = run(capsys, "compare", str(path), "--solvers", "greedy")
    assert out.startswith("mine\\nvalid: bound ")
    _, out, _ = run(capsys, "info", str(path))
    assert "valid" not in out.split()


def test_what_the_terminals_encoding_lacks_is_spelt_out(tmp_path: Path) -> None:
    program = replace(library.load_sample(TEACHING), name="größe-日本")
    save(program, tmp_path / "p.json")
    command = [sys.executable, "-m", "engine", "info", str(tmp_path / "p.json")]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "größe-\\u65e5\\u672c" in done.stdout.decode("latin-1")


def test_without_stderr_nothing_goes_to_stdout_instead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["bound", "no-such-sample"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
def test_what_is_no_json_is_neither_read_nor_printed(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: str,
) -> None:
    path = tmp_path / "p.json"
    save(library.load_sample(TEACHING), path)
    path.write_text(path.read_text().replace('"provenance":{', f'"provenance":{{"odd":{number},'))
    code, _, err = run(capsys, "info", str(path))
    assert (code, f"{number} is no number of JSON" in err) == (2, True)
    monkeypatch.setattr("engine.cli.plans.timing", lambda *_: {"latency_s": float(number)})
    plan = tmp_path / "plan.json"
    run(capsys, "solve", TEACHING, "--solver", "greedy", "-o", str(plan))
    code, out, err = run(capsys, "simulate", TEACHING, str(plan), "--json")
    assert (code, out) == (2, "")
    assert "the result: cannot be written as JSON" in err


@pytest.mark.parametrize("command", [["ab"], ["train", "-o", "out", "--run", "run"]])
def test_agents_play_and_train_without_looking_for_a_tpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    class Enough(Exception):
        pass

    def use_no_tpu_here() -> None:
        raise Enough

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.compiler.toolchain.libtpu.use_no_tpu_here", use_no_tpu_here)
    monkeypatch.setattr(library, "resolve", lambda _: pytest.fail("it comes too late"))
    with pytest.raises(Enough):
        main(command)
