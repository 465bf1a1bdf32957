"""The bench of `tune`: what its rows come to, samples and held-out programs apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import program_options, tuning
from benchmarks.rows import Row, read
from benchmarks.settings import Settings
from engine.program import library


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


def test_program_options_to_try_are_chosen_on_no_held_out_program() -> None:
    assert set(program_options.PROGRAMS) <= set(library.sample_names())
