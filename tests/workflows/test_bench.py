"""A bench keeps what was done, whatever becomes of the rest."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.errors import ProgramFormatError, UnknownNameError, UsageError
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds import lower_bound
from engine.plan.model import Plan
from engine.program import library
from engine.program.model import Program
from engine.solvers import Budget
from engine.workflows import bench as benches
from engine.workflows.bench import Bench
from engine.workflows.compare import compare

ONE, TWO = "teach-prefetch", "teach-keep-or-drop"
SOLVERS = ["--solvers", "all_slow"]


def bench(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    code = main(["bench", *SOLVERS, "--json", *words])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are compared on from now on."""
    names: list[str] = []

    def watched(program: Program, *rest: Any) -> dict[str, Any]:
        names.append(program.name)
        return compare(program, *rest)

    monkeypatch.setattr(benches, "compare", watched)
    return names


def test_a_program_that_fails_is_a_row_and_the_others_are_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    code, body, err = bench(capsys, "--programs", f"{ONE},{broken},no-such,{TWO}")
    assert code == 2
    assert [row["error"] is None for row in body["programs"]] == [True, False, False, True]
    assert [len(row["results"]) for row in body["programs"]] == [1, 0, 0, 1]
    assert body["programs"][0]["program"] == ONE and body["programs"][3]["program"] == TWO
    last = err.splitlines()[-1]
    assert last.startswith("error: ") and str(broken) in last and "no-such" in last


def test_a_fault_of_the_code_is_a_row_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(program: Program, *rest: Any) -> dict[str, Any]:
        if program.name == ONE:
            raise ZeroDivisionError("odd")
        return compare(program, *rest)

    monkeypatch.setattr(benches, "compare", faulty)
    code, body, _ = bench(capsys, "--programs", f"{ONE},{TWO}")
    assert code == 2
    assert [row["error"] for row in body["programs"]] == ["ZeroDivisionError: odd", None]


def test_a_solver_that_fails_is_a_row_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.program.library import load_sample
    from engine.workflows import compare as comparing

    def solve(name: str, program: Program, budget: Budget) -> Plan:
        if name == "greedy":
            raise RuntimeError("a library\nfailed")
        return solved(name, program, budget)

    solved = comparing.solve
    monkeypatch.setattr(comparing, "solve", solve)
    rows = compare(load_sample(ONE), ["greedy", "all_slow"], Budget(0.1))["results"]
    assert [(row["solver"], row["valid"]) for row in rows] == [
        ("all_slow", True),
        ("greedy", False),
    ]
    assert rows[1]["violation"] == "RuntimeError: a library failed"


def test_an_interrupted_bench_goes_on_where_it_was(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: list[str],
) -> None:
    file = str(tmp_path / "results.json")

    def interrupted(program: Program, *rest: Any) -> dict[str, Any]:
        if program.name == TWO:
            raise KeyboardInterrupt
        return compare(program, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(benches, "compare", interrupted)
        code, body, _ = bench(capsys, "--programs", f"{ONE},{TWO}", "-o", file)
    assert code == 130
    assert [row["program"] for row in body["programs"]] == [ONE]
    code, body, _ = bench(capsys, "--programs", f"{ONE},{TWO}", "-o", file)
    assert code == 0
    assert [row["program"] for row in body["programs"]] == [ONE, TWO]
    assert asked == [TWO]


def test_what_failed_is_tried_again_and_what_changed_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, asked: list[str]
) -> None:
    from engine.program.io import save
    from engine.program.library import load_sample

    mine, file = tmp_path / "mine.json", str(tmp_path / "results.json")
    for name in (None, ONE, ONE, TWO):
        if name is not None:
            save(load_sample(name), mine)
        bench(capsys, "--programs", str(mine), "-o", file)
    assert asked == [ONE, TWO]


def test_a_name_that_is_no_text_is_found_again_among_the_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, asked: list[str]
) -> None:
    """Of a file that cannot be read, the row holds the name twice more."""
    from engine.program.io import save
    from engine.program.library import load_sample

    mine, file = tmp_path / os.fsdecode(b"caf\xe9.json"), tmp_path / "results.json"
    save(load_sample(ONE), mine)
    names = f"{mine},{tmp_path / os.fsdecode(b'no-caf')}\udce9.json"
    for _ in range(2):
        code, body, err = bench(capsys, "--programs", names, "-o", str(file))
        assert (code, "not JSON" in err) == (2, False)
        assert [row["error"] is None for row in body["programs"]] == [True, False]
    assert asked == [ONE]
    assert len(json.loads(file.read_bytes())["rows"]) == 2


def test_an_output_that_holds_nothing_is_not_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A device, a pipe, and the empty file that `mktemp` makes."""
    empty, pipe = tmp_path / "empty.json", tmp_path / "pipe"
    empty.touch()
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for output in (empty, pipe, Path(os.devnull)):
        code, body, _ = bench(capsys, "--programs", ONE, "-o", str(output))
        assert (code, body["programs"][0]["error"]) == (0, None)
    reader.join(10)
    (written,), kept = map(json.loads, read), json.loads(empty.read_bytes())
    for row in (*written["rows"], *kept["rows"]):
        assert row["asked"] == ONE
        for result in row["results"]:
            del result["seconds"]
    assert written == kept


def test_results_of_other_settings_are_not_mixed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    bench(capsys, "--programs", ONE, "-o", str(file))
    before = file.read_bytes()
    with pytest.raises(UsageError, match="name another file"):
        Bench(["greedy"], Budget(10.0), file)
    with pytest.raises(UnknownNameError, match="gredy"):
        Bench(["gredy"], Budget(10.0))
    assert main(["bench", "--solvers", "greedy", "--programs", ONE, "-o", str(file)]) == 2
    assert file.read_bytes() == before
    for text in ("{", "[]", '{"format": "mallocmuzero-bench", "version": 1}'):
        file.write_text(text)
        with pytest.raises(ProgramFormatError, match=r"results\.json"):
            Bench(["all_slow"], Budget(10.0), file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"program": 5}, "program: expected str"),
        ({"content_hash": None, "bound_s": "fast"}, "bound_s: expected"),
        ({"bound_s": None}, "neither a bound nor an error"),
        ({"results": [{"solver": "all_slow"}]}, "missing required field"),
        ({"results": 3}, "results: expected array"),
        ({"asked": ["x"]}, "asked: expected str"),
    ],
)
def test_damaged_results_are_refused_before_anything_is_compared(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    asked: list[str],
    change: dict[str, Any],
    said: str,
) -> None:
    file = tmp_path / "results.json"
    bench(capsys, "--programs", ONE, "-o", str(file))
    body = json.loads(file.read_text())
    body["rows"][0] |= change
    file.write_text(json.dumps(body))
    asked.clear()
    assert main(["bench", *SOLVERS, "--programs", f"{ONE},{TWO}", "-o", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, asked) == ("", [])
    assert "not a bench's results" in err and said in err
    body["rows"] = {"one": 1}
    file.write_text(json.dumps(body))
    assert main(["bench", *SOLVERS, "--programs", ONE, "-o", str(file)]) == 2


def test_a_samples_proven_bound_is_the_measure() -> None:
    """Its linear program alone is 6 % lower."""
    entry = library.find_sample("gatedkernel-v6e-b32")
    program = library.load_entry(entry)
    assert lower_bound(program).bound_s < 0.95 * (entry.bound_s or 0.0)
    assert compare(program, ["all_slow"])["bound_s"] == entry.bound_s
    roomy = derive(program, WhatIf(fast_bytes=2 * program.hardware.fast_bytes), program.name)
    assert compare(roomy, ["all_slow"])["bound_s"] == lower_bound(roomy).bound_s
