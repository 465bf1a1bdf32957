"""The compiler's answers are kept, refusals too, and told apart by all that decides them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.libtpu import results as module
from engine.compiler.toolchain.memory_log import Refusal
from engine.compiler.toolchain.results import Answers
from engine.errors import CompileInterruptedError, CompilerError

KNOB = {"xla_knob": "1"}


class FakeCompiler:
    """Counts what it is asked, and refuses options called `bad`."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, str, dict[str, str], bool]] = []

    def answer(
        self, source: bytes, hardware: str, options: Mapping[str, str], is_full: bool
    ) -> Compiled:
        self.asked.append((source, hardware, dict(options), is_full))
        if "long" in options:
            raise CompileInterruptedError("the compiler took over 900 s")
        if "bad" in options:
            raise CompilerError("the compiler aborted with bad")
        told = (Refusal("a", "b", "out of memory"),)
        return Compiled(f"hlo {len(self.asked)}", "", "", told, {"x": "1"}, 0.5, is_full)

    def early(self, source: bytes, hardware: str, options: Mapping[str, str]) -> Compiled:
        return self.answer(source, hardware, options, False)

    def full(self, source: bytes, hardware: str, options: Mapping[str, str]) -> Compiled:
        return self.answer(source, hardware, options, True)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    fake = FakeCompiler()
    monkeypatch.setattr(module, "compile_early", fake.early)
    monkeypatch.setattr(module, "compile_full", fake.full)
    return fake


@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_is_compiled_twice(tmp_path: Path, compiler: FakeCompiler, is_kept: bool) -> None:
    answers = Answers(b"program", "tpu-v5e", tmp_path / "made" if is_kept else None)
    first = answers.early(KNOB)
    assert answers.early(dict(KNOB)) == first
    assert not answers.has_full(KNOB)
    whole = answers.full(KNOB)
    assert answers.has_full(KNOB)
    # A whole compile tells all that an early stop does.
    assert answers.early(KNOB) == whole == answers.full(KNOB)
    assert len(compiler.asked) == 2
    again = Answers(b"program", "tpu-v5e", tmp_path / "made" if is_kept else None)
    assert again.full(KNOB).refusals == whole.refusals
    assert len(compiler.asked) == (2 if is_kept else 3)


def test_an_answer_holds_for_its_question_only(tmp_path: Path, compiler: FakeCompiler) -> None:
    for source in (b"program", b"other"):
        for hardware in ("tpu-v5e", "tpu-v6e"):
            for options in ({}, KNOB, {"xla_knob": "2"}):
                Answers(source, hardware, tmp_path).early(options)
    assert len(compiler.asked) == 12


def test_a_refusal_is_an_answer_too(tmp_path: Path, compiler: FakeCompiler) -> None:
    for _ in range(2):
        with pytest.raises(CompilerError, match="aborted with bad"):
            Answers(b"program", "tpu-v5e", tmp_path).full({"bad": "1"})
    assert len(compiler.asked) == 1


def test_an_interrupted_compile_is_no_answer(tmp_path: Path, compiler: FakeCompiler) -> None:
    for _ in range(2):
        with pytest.raises(CompileInterruptedError, match="took over"):
            Answers(b"program", "tpu-v5e", tmp_path).full({"long": "1"})
    assert len(compiler.asked) == 2
