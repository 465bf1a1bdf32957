"""The bench of `tune`: what its rows come to, samples and held-out programs apart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import failures, program_options, tuning
from benchmarks.rows import Row, program_of, read, set_of
from benchmarks.settings import Settings
from engine.compiler.steering.program_options import ProgramOption
from engine.errors import CompileInterruptedError, CompilerError


def row(name: str, ours: float, chosen: float, plain: float, of: str = "samples") -> Row:
    told = {"ours": ours, "chosen": chosen, "plain": plain, "predicted": ours, "set": of}
    return {**told, "key": [name, 0], "compiles": 12, "took_s": 1.0}


def test_the_summary_counts_wins_and_who_is_level() -> None:
    rows = [row("a", 0.10, 0.10, 0.02), row("b", 0.00, 0.04, 0.00), row("c", 0.05, 0.02, 0.01)]
    ours, chosen, plain, against_chosen, against_plain = tuning.summary(rows)
    assert "on 2 of 3, median gain 5.0%, mean 5.0%, greatest 10.0%" in ours
    assert "on 3 of 3, median gain 4.0%" in chosen
    assert "on 2 of 3, median gain 1.0%" in plain
    assert "-0.33% in the mean, not worse on 2 of 3" in against_chosen
    assert "+4.00% in the mean, not worse on 3 of 3" in against_plain


def test_what_was_not_searched_for_is_not_summarised() -> None:
    rows = [{k: v for k, v in row("a", 0.10, 0.08, 0.0).items() if k != "plain"}]
    ours, chosen, against_chosen = tuning.summary(rows)
    assert "median gain 10.0%" in ours and "median gain 8.0%" in chosen
    assert "+2.00% in the mean" in against_chosen


def test_what_has_a_row_is_not_tuned_again_and_the_sets_stand_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned: list[str] = []

    def measured(name: str, seconds: float, seed: int) -> Row:
        tuned.append(name)
        return row(name, 0.1, 0.1, 0.1, "held out" if name == "mamba-v6e-b32" else "samples")

    monkeypatch.setattr(tuning, "ROWS", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "_row", measured)
    for programs in (("t5-v5e-b24",), ("t5-v5e-b24", "mamba-v6e-b32")):
        tuning.run("tuning", Settings(programs=programs))
    assert tuned == ["t5-v5e-b24", "mamba-v6e-b32"]
    assert [r["key"][0] for r in read(tmp_path / "tuning.json")] == tuned
    told = capsys.readouterr().out
    assert "samples:" in told and "held out:" in told
    monkeypatch.setattr(tuning, "ROWS", tmp_path / "all.json")
    tuning.run("tuning", Settings())
    assert {"mlpae-v5p-b4096", "mamba-v6e-b32", "gptdecode-v5e-b8"} <= set(tuned)
    assert "wav2vec-v4-b8" not in tuned, "XLA's plan leaves nothing to win"


@pytest.mark.parametrize("compiles", [(13, 12), (12, 13)])
def test_what_earlier_runs_compiled_beyond_the_limit_makes_no_row(
    compiles: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, by_chance = compiles
    tuned = SimpleNamespace(compiles=own, random_compiles=by_chance)
    monkeypatch.setattr(tuning, "tune_program", lambda program, **more: tuned)
    monkeypatch.setattr(tuning, "ROWS", tmp_path / "tuning.json")
    failures.take()
    tuning.run("tuning", Settings(programs=("t5-v5e-b24",)))
    assert read(tmp_path / "tuning.json") == []
    (told,) = failures.take()
    assert f"with {max(compiles)} whole compiles; remove" in told


def test_program_options_are_tried_on_samples_where_no_programs_are_named() -> None:
    assert {set_of(name) for name in program_options.PROGRAMS} == {"samples"}


def test_held_out_programs_on_which_options_to_try_were_chosen_are_named() -> None:
    tried = {program_of(row) for row in read(program_options.ROWS)}
    held_out = {name for name in tried if set_of(name) in ("held out", "real, held out")}
    assert held_out == set(program_options.NOT_HELD_OUT) < tried


def test_a_program_that_does_not_compile_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(name: str, seconds: float, seed: int) -> Row:
        if name == "alexnet-v4-b24":
            raise CompilerError("no answer")
        return row(name, 0.1, 0.1, 0.1)

    monkeypatch.setattr(tuning, "ROWS", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "_row", measured)
    failures.take()
    tuning.run("tuning", Settings(programs=("alexnet-v4-b24", "t5-v5e-b24")))
    assert [r["key"][0] for r in read(tmp_path / "tuning.json")] == ["t5-v5e-b24"]
    assert failures.take() == ["alexnet-v4-b24: no answer"]
    assert "no answer" in capsys.readouterr().err


@pytest.mark.parametrize("by_chance", [None, 0.25])
def test_random_options_have_as_many_compiles_as_the_search_chose_among(
    by_chance: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = SimpleNamespace(
        verdict=SimpleNamespace(improvement=0.5, predicted_improvement=0.5),
        program_improvement=0.0,
        random_improvement=by_chance,
        compiles=10,
        captured=3,
        random_compiles=0,
    )
    made: list[int] = []

    def as_they_come(session: object, compiles: int, seed: int) -> float:
        made.append(compiles)
        return 0.25

    monkeypatch.setattr(tuning, "tune_program", lambda *_, **__: tuned)
    monkeypatch.setattr(tuning, "stored_answers", lambda *_: None)
    monkeypatch.setattr(tuning, "compile_session", lambda *_: None)
    monkeypatch.setattr(tuning, "_as_they_come", as_they_come)
    found = tuning._row("t5-v5e-b24", 1.0, 0)
    assert made == [13] and found["captured"] == 3
    assert found.get("chosen") == by_chance and ("chosen" in found) == (by_chance is not None)


def test_a_search_without_a_baseline_counts_for_no_lead() -> None:
    rows = [row("a", 0.10, 0.08, 0.0), row("b", 0.20, 0.0, 0.1)]
    del rows[1]["chosen"]
    ours, chosen, plain, against_chosen, against_plain = tuning.summary(rows)
    assert "on 2 of 2" in ours and "on 1 of 1, median gain 8.0%" in chosen
    assert "+2.00% in the mean, not worse on 1 of 1" in against_chosen
    assert "+10.00% in the mean, not worse on 2 of 2" in against_plain and "on 1 of 2" in plain


def test_a_compile_that_was_interrupted_says_nothing_of_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("gpt-v6e-b4", "t5-v5e-b24")
    asked: list[str] = []

    class Answers:
        def stopped(self, options: dict[str, str]) -> Any:
            if "slow" in options:
                raise CompileInterruptedError("it took too long")
            if "ill" in options:
                raise CompilerError("refused")
            return SimpleNamespace(hlo="", devices=1)

    def answers(program: Any, folder: object) -> Answers:
        asked.append(program.name)
        if program.name == names[0]:
            raise CompilerError("no answer at all")
        return Answers()

    session = SimpleNamespace(full=lambda options: None)
    options = tuple(ProgramOption("fusion", {name: "1"}) for name in ("slow", "ill"))
    monkeypatch.setattr(program_options, "ROWS", tmp_path / "program_options.json")
    monkeypatch.setattr(program_options, "ALSO", ())
    monkeypatch.setattr(program_options, "stored_answers", answers)
    monkeypatch.setattr(program_options, "session_under", lambda *_: session)
    monkeypatch.setattr(program_options, "total", lambda _: 1.0)
    monkeypatch.setattr(program_options, "program_options", lambda *_: options)
    failures.take()
    for _ in range(2):
        program_options.run("program_options", Settings(programs=names))
    (kept,) = read(program_options.ROWS)
    assert kept["key"] == [names[1], "ill=1"] and kept["effect"] == program_options.REFUSED
    told = [f"{names[0]}: no answer at all", f"{names[1]} slow=1: it took too long"]
    assert failures.take() == told * 2
    capsys.readouterr()
    program_options.run("program_options", Settings(programs=names[:1]))
    assert "ill" not in capsys.readouterr().out, "only of what was asked for"
    failures.take()
