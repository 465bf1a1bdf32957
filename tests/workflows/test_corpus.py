"""The training corpus: networks by number, captured once, refusals remembered."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from engine.cli import main
from engine.compiler.models.random_model import random_workload
from engine.compiler.toolchain import libtpu
from engine.errors import CompileInterruptedError, CompilerError, ProgramFormatError, UsageError
from engine.program.library import load_sample
from engine.workflows import corpus
from tests.chosen import seeds


@pytest.mark.parametrize("number", seeds(12, 4))
def test_a_network_is_the_same_for_its_number_and_has_no_weight_of_its_own(number: int) -> None:
    first, again = random_workload(number), random_workload(number)
    assert first.description == again.description
    jaxpr = jax.make_jaxpr(first.fn)(*first.args)
    assert str(jaxpr) == str(jax.make_jaxpr(again.fn)(*again.args))
    assert all(constant.size < 2**20 for constant in jaxpr.consts)


def test_what_was_made_or_refused_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def captured(number: int, raw: Path, note: corpus.Note) -> object:
        del raw, note
        asked.append(number)
        if number == 1:
            raise CompilerError("too large:\nby far")
        return load_sample("teach-keep-or-drop")

    monkeypatch.setattr(corpus, "_captured", captured)
    assert corpus.make_corpus(3, 0, tmp_path, tmp_path, lambda _: None) == 2
    assert corpus.corpus_names(tmp_path) == ("random-0000-v5e", "random-0002-v5p")
    assert [program.name for program in corpus.load_corpus(tmp_path)] == ["teach-keep-or-drop"] * 2
    assert corpus.make_corpus(4, 0, tmp_path, tmp_path, lambda _: None) == 3
    assert asked == [0, 1, 2, 3]


def test_numbers_that_no_network_has_are_refused(tmp_path: Path) -> None:
    for count, first in ((-5, 0), (1, -1)):
        with pytest.raises(UsageError, match="name a whole number from 0 on"):
            corpus.make_corpus(count, first, tmp_path / "c", tmp_path, lambda _: None)
    assert not (tmp_path / "c").exists()


def test_what_says_nothing_of_the_network_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A compile that took too long or was killed; a folder in which nothing can be written."""
    outcomes: list[Exception] = [CompileInterruptedError("killed")]

    def captured(number: int, raw: Path, note: corpus.Note) -> object:
        if outcomes:
            raise outcomes.pop()
        return load_sample("teach-keep-or-drop")

    def unwritable(program: object, path: Path) -> None:
        raise ProgramFormatError(f"{path}: cannot be written (No space left on device)")

    monkeypatch.setattr(corpus, "_captured", captured)
    told: list[str] = []
    assert corpus.make_corpus(1, 0, tmp_path, tmp_path, told.append) == 0
    assert told == ["random-0000-v5e: killed"]
    with monkeypatch.context() as full:
        full.setattr(corpus, "save", unwritable)
        with pytest.raises(ProgramFormatError, match="No space"):
            corpus.make_corpus(1, 0, tmp_path, tmp_path, told.append)
    assert list(tmp_path.iterdir()) == []
    assert corpus.make_corpus(1, 0, tmp_path, tmp_path, told.append) == 1


def test_the_command_needs_a_folder_for_compiles_and_looks_for_no_tpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(libtpu, "use_cpu_here", lambda: asked.append("cpu"))
    monkeypatch.setattr(
        "engine.cli.corpus.make_corpus", lambda *given: asked.append(str(given[3])) or 0
    )
    monkeypatch.setenv("MALLOCMUZERO_CACHE", "")
    command = ["corpus", "--count", "0", "--folder", str(tmp_path)]
    assert main(command) == 2
    assert "set MALLOCMUZERO_CACHE to one" in capsys.readouterr().err
    assert main([*command, "--raw", str(tmp_path)]) == 0
    assert asked == ["cpu", "cpu", str(tmp_path)]
