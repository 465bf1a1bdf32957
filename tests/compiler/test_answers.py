"""The compiler's answers are kept, refusals too, and told apart by all that decides them."""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.compiler.toolchain import results as module
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.memory_log import Refusal
from engine.compiler.toolchain.results import Answers
from engine.compiler.toolchain.target import Target
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    NotCompilableError,
    OutOfMemoryError,
)

V5E = Target("tpu-v5e")
KNOB = {"xla_knob": "1"}


class FakeCompiler:
    """Counts what it is asked, and refuses options called `bad`."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, str, dict[str, str], bool]] = []

    def answer(
        self, source: bytes, target: Target, options: Mapping[str, str], is_full: bool
    ) -> Compiled:
        self.asked.append((source, str(target), dict(options), is_full))
        if "long" in options:
            raise CompileInterruptedError("the compiler took over 900 s")
        if "bad" in options:
            raise CompilerError("the compiler aborted with bad")
        if "large" in options:
            raise OutOfMemoryError("out of VMEM", ("used 2", "limit 1"))
        if "garbage" in options:
            raise NotCompilableError("it is not a program")
        told = (Refusal("a", "b", "out of memory"),)
        return Compiled(f"hlo {len(self.asked)}", "", told, {"x": "1"}, 0.5, is_full)

    def early(self, source: bytes, target: Target, options: Mapping[str, str]) -> Compiled:
        return self.answer(source, target, options, False)

    def full(self, source: bytes, target: Target, options: Mapping[str, str]) -> Compiled:
        return self.answer(source, target, options, True)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    fake = FakeCompiler()
    monkeypatch.setattr(module, "compile_early", fake.early)
    monkeypatch.setattr(module, "compile_full", fake.full)
    return fake


@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_is_compiled_twice(tmp_path: Path, compiler: FakeCompiler, is_kept: bool) -> None:
    answers = Answers(b"program", V5E, tmp_path / "made" if is_kept else None)
    first = answers.early(KNOB)
    assert answers.early(dict(KNOB)) == first
    assert not answers.has_full(KNOB)
    whole = answers.full(KNOB)
    assert answers.has_full(KNOB)
    # A whole compile tells all that an early stop does.
    assert answers.early(KNOB) == whole == answers.full(KNOB)
    assert len(compiler.asked) == 2
    again = Answers(b"program", V5E, tmp_path / "made" if is_kept else None)
    assert again.full(KNOB).refusals == whole.refusals
    assert len(compiler.asked) == (2 if is_kept else 3)


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_a_folder_keeps_is_not_all_in_memory(
    tmp_path: Path, compiler: FakeCompiler, is_kept: bool
) -> None:
    """A search asks for a hundred answers of megabytes."""
    answers = Answers(b"program", V5E, tmp_path if is_kept else None)
    asked = [{"xla_knob": str(number)} for number in range(3 * module.IN_MEMORY)]
    given = [weakref.ref(answers.early(options)) for options in asked]
    gc.collect()
    held = [one for one in given if one() is not None]
    assert len(held) == (module.IN_MEMORY if is_kept else len(asked))
    assert [answers.early(o).hlo for o in asked] == [f"hlo {n + 1}" for n in range(len(asked))]
    assert len(compiler.asked) == len(asked)
    assert answers.expected_s(is_full=False) == 0.5


def test_an_answer_holds_for_its_question_only(tmp_path: Path, compiler: FakeCompiler) -> None:
    for source in (b"program", b"other"):
        for hardware in ("tpu-v5e", "tpu-v6e"):
            for options in ({}, KNOB, {"xla_knob": "2"}):
                Answers(source, Target(hardware), tmp_path).early(options)
    assert len(compiler.asked) == 12
    for target in (
        Target("tpu-v5e", "v5e:4x4"),
        Target("tpu-v5e", "v5e:2x4"),
        Target("tpu-v5e", init_args="--xla_knob=1"),
        Target("tpu-v5e", options={"xla_knob": "3"}),
    ):
        Answers(b"program", target, tmp_path).early({})
    assert len(compiler.asked) == 16


def test_options_of_the_user_and_ours_are_one_question(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    Answers(b"program", Target("tpu-v5e", options=KNOB), tmp_path).full({"xla_other": "1"})
    both = {**KNOB, "xla_other": "1"}
    Answers(b"program", V5E, tmp_path).full(both)
    assert len(compiler.asked) == 1


@pytest.mark.parametrize("damage", [b"", b"{", gzip.compress(b"{}", mtime=0), b"\x1f\x8b\x08"])
def test_a_damaged_answer_is_compiled_again(
    tmp_path: Path, compiler: FakeCompiler, damage: bytes
) -> None:
    Answers(b"program", V5E, tmp_path).full(KNOB)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert Answers(b"program", V5E, tmp_path).full(KNOB).hlo == "hlo 2"
    assert Answers(b"program", V5E, tmp_path).full(KNOB).hlo == "hlo 2"
    assert len(compiler.asked) == 2


def test_an_answer_of_an_earlier_version_is_still_read(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    Answers(b"program", V5E, tmp_path).full(KNOB)
    (path,) = tmp_path.iterdir()
    body = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**body, "live_ranges": "a:0-1"}).encode(), mtime=0))
    assert Answers(b"program", V5E, tmp_path).full(KNOB).hlo == "hlo 1"


def test_an_answer_without_a_module_is_none(tmp_path: Path, compiler: FakeCompiler) -> None:
    Answers(b"program", V5E, tmp_path).early(KNOB)
    (path,) = tmp_path.iterdir()
    body = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**body, "hlo": ""}).encode(), mtime=0))
    assert Answers(b"program", V5E, tmp_path).early(KNOB).hlo == "hlo 2"


def test_a_refusal_is_an_answer_too(tmp_path: Path, compiler: FakeCompiler) -> None:
    for _ in range(2):
        with pytest.raises(CompilerError, match="aborted with bad"):
            Answers(b"program", V5E, tmp_path).full({"bad": "1"})
    assert len(compiler.asked) == 1


def test_a_memory_that_is_too_small_keeps_its_table(tmp_path: Path, compiler: FakeCompiler) -> None:
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="out of VMEM") as error:
            Answers(b"program", V5E, tmp_path).full({"large": "1"})
        assert error.value.table == ("used 2", "limit 1")
    assert len(compiler.asked) == 1


def test_what_is_no_program_is_no_answer_of_the_compiler(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    for _ in range(2):
        with pytest.raises(NotCompilableError):
            Answers(b"program", V5E, tmp_path).full({"garbage": "1"})
    assert len(compiler.asked) == 2
    assert list(tmp_path.iterdir()) == []


def test_every_compile_is_announced_with_what_it_may_take(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    told: list[str] = []
    answers = Answers(b"program", V5E, tmp_path, note=told.append)
    assert answers.expected_s(is_full=True) is None
    answers.full({})
    assert answers.expected_s(is_full=True) == 0.5
    early = answers.expected_s(is_full=False)
    assert early is not None and 0 < early < 0.5
    answers.early(KNOB)
    answers.early(KNOB)
    under = answers.under({"xla_a": "1"})
    under.full({})
    answers.full({"xla_b": "1"})
    assert [line.partition(",")[0] for line in told] == [f"compile {n}" for n in range(1, 5)]
    assert all("by the compiles so far" in line for line in told[1:])


def test_an_interrupted_compile_is_no_answer(tmp_path: Path, compiler: FakeCompiler) -> None:
    for _ in range(2):
        with pytest.raises(CompileInterruptedError, match="took over"):
            Answers(b"program", V5E, tmp_path).full({"long": "1"})
    assert len(compiler.asked) == 2


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    tmp_path: Path, compiler: FakeCompiler
) -> None:
    (tmp_path / "file").touch()
    told: list[str] = []
    answers = Answers(b"a", V5E, tmp_path / "file" / "folder", note=told.append)
    assert answers.full(KNOB).hlo == "hlo 1"
    assert "not kept" in told[-1]


def test_an_answer_that_could_not_be_read_again_is_not_kept(
    tmp_path: Path, compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.files.MAX_JSON", 50)
    told: list[str] = []
    assert Answers(b"a", V5E, tmp_path, note=told.append).full(KNOB).hlo == "hlo 1"
    assert "not kept" in told[-1] and "more than 0 MiB" in told[-1]
    assert list(tmp_path.iterdir()) == []
