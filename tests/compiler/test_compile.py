"""Compiles in a child: what comes back, and what becomes of a child that fails."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from engine.compiler.toolchain import child as child_module
from engine.compiler.toolchain import compile as compiling
from engine.compiler.toolchain.child import REFUSAL, REFUSED
from engine.compiler.toolchain.compile import compile_early, compile_full
from engine.compiler.toolchain.stablehlo import exported
from engine.compiler.toolchain.target import Target
from engine.errors import CompileInterruptedError, CompilerError, UnknownNameError, UsageError
from tests.compiler.exported import layers, serialised, small

V5E = Target("tpu-v5e")


def child_that(tmp_path: Path, *lines: str) -> tuple[str, ...]:
    """A stand-in for the child process."""
    script = tmp_path / "child.py"
    script.write_text("\n".join(["import os, sys, time, pathlib", *lines]))
    return (sys.executable, str(script))


@pytest.mark.parametrize(
    ("last_words", "end", "told"),
    [
        (
            "F1124 x.cc:1] Check failed: size > 0",
            6,
            "(code -6: F1124 x.cc:1] Check failed: size > 0)",
        ),
        ("F0203 x.cc:1] out of range", 6, "(code -6: F0203 x.cc:1] out of range)"),
        ("I1124 Linux version", 11, "(code -11: it died of SIGSEGV without a word)"),
        ("I1124 operand in BF16", 11, "(code -11: it died of SIGSEGV without a word)"),
    ],
)
def test_an_abort_is_an_error_that_names_the_options(
    last_words: str, end: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = child_that(
        tmp_path,
        "print('I1124 all is well', file=sys.stderr)",
        f"print({last_words!r}, file=sys.stderr)",
        "sys.stderr.flush()",
        f"os.kill(os.getpid(), {end})",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompilerError) as error:
        compile_full(b"any", V5E, {"xla_some_knob": "7"})
    assert str(error.value) == f"the compiler aborted {told} with the options xla_some_knob=7"
    assert not isinstance(error.value, CompileInterruptedError), "it is an answer that is kept"


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("os.kill(os.getpid(), 24)", "code -24: it died of SIGXCPU without a word"),
        ("os.kill(os.getpid(), 7)", "code -7: it died of SIGBUS without a word"),
        ("os.kill(os.getpid(), 15)", "code -15"),
        ("import no_such_module", "code 1: ModuleNotFoundError: No module named"),
        ("raise OSError(5, 'Input/output error')", "Input/output error"),
        ("sys.exit('Disk quota exceeded')", "Disk quota exceeded"),
        ("sys.exit(7)", "code 7: without a word"),
    ],
)
def test_what_is_no_answer_of_the_compiler_may_be_asked_for_again(
    end: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but a refusal and the compiler's own aborts: such an error would be kept for good."""
    monkeypatch.setattr(compiling, "CHILD", child_that(tmp_path, end))
    with pytest.raises(CompileInterruptedError, match=rf"{re.escape(told)}.*try again"):
        compile_full(b"any", V5E)


def test_what_decides_a_compile_is_in_its_question_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are kept by it: no setting of jax, flag or library of the environment's holds."""
    for name in ("JAX_OPTIMIZATION_LEVEL", "JAX_ENABLE_REMAT_OPT_PASS", "TPU_LIBRARY_PATH"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("XLA_FLAGS", "--xla_x=1")
    words = ("JAX_", "XLA_", "TPU_LIB")
    child = child_that(
        tmp_path,
        f"found = sorted(n for n in os.environ if n.startswith({words!r}))",
        "sys.exit('Fatal ' + ' '.join(found))",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompilerError, match=r"Fatal JAX_PLATFORMS\)"):
        compile_full(b"any", V5E)


@pytest.mark.parametrize(
    "want", ["std::bad_alloc", "No space left on device", "MemoryError", "Disk quota exceeded"]
)
def test_want_of_memory_or_disk_is_no_answer_of_the_compiler(
    want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = child_that(
        tmp_path,
        f'print("terminate called: what():  {want}", file=sys.stderr, flush=True)',
        "os.abort()",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompileInterruptedError, match=rf"too little .* \({want}\); free some"):
        compile_full(b"any", V5E)


def test_a_refusal_for_want_of_disk_is_no_answer_of_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "RESOURCE_EXHAUSTED: Failed to open file: No space left on device [Errno 28]"
    child = child_that(
        tmp_path,
        f"(pathlib.Path(sys.argv[1]) / {REFUSAL!r}).write_text({message!r})",
        f"sys.exit({REFUSED})",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompileInterruptedError, match=r"\(No space left on device\); free some"):
        compile_full(b"any", V5E)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (V5E, {"xla_dump_to": "/tmp/mine"}),
        (Target("tpu-v5e", options={"xla_dump_to": "/tmp/mine"}), {}),
        (Target("tpu-v5e", init_args="--xla_a=1 --xla_dump_to=/tmp/mine"), {"xla_b": "1"}),
    ],
)
def test_options_of_what_is_dumped_are_refused(
    target: Target, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toolchain sets them itself, so that nothing would come of the user's."""
    monkeypatch.setattr(compiling, "CHILD", child_that(tmp_path, "sys.exit(0)"))
    with pytest.raises(UsageError, match="option xla_dump_to cannot be given"):
        compile_early(b"any", target, options)


def main_of_a_child(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    compile_module: Callable[..., str] = lambda *given: "HloModule m",
    exported_module: Callable[..., Any] = lambda data: SimpleNamespace(name="m"),
) -> int:
    """Run the child in this process, on this module and with this compiler."""
    monkeypatch.setattr(child_module, "end_with_parent", lambda: None)
    monkeypatch.setattr(child_module.resource, "setrlimit", lambda *given: None)
    monkeypatch.setattr(child_module.libtpu, "exported_module", exported_module)
    monkeypatch.setattr(child_module.libtpu, "module_problem", lambda module: "")
    monkeypatch.setattr(child_module.libtpu, "compile_module", compile_module)
    (folder / "request.json").write_text('{"hardware": "tpu-v5e", "topology": "", "options": {}}')
    (folder / "stablehlo").write_bytes(b"")
    return child_module.main(folder)


@pytest.mark.parametrize("kind", [MemoryError, OSError, ImportError])
@pytest.mark.parametrize("while_it", ["reads", "compiles"])
def test_want_in_the_child_itself_is_no_refusal(
    kind: type[Exception], while_it: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wanting(*given: object) -> Any:
        raise kind

    given = {"exported_module" if while_it == "reads" else "compile_module": wanting}
    with pytest.raises(kind):
        main_of_a_child(tmp_path, monkeypatch, **given)
    assert not (tmp_path / REFUSAL).exists()


def test_all_lines_of_a_refusal_are_kept_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = child_that(
        tmp_path,
        "folder = pathlib.Path(sys.argv[1])",
        f"(folder / {REFUSAL!r}).write_text('INTERNAL: Mosaic failed:\\n\\n  at k.py:7\\n  ^\\n')",
        f"sys.exit({REFUSED})",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompilerError) as error:
        compile_full(b"any", V5E)
    assert "refused it: INTERNAL: Mosaic failed: at k.py:7" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_compile_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    child = child_that(
        tmp_path, f"pathlib.Path({str(note)!r}).write_text(str(os.getpid()))", "time.sleep(600)"
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompilerError, match=r"took over 3 s .* options; try again"):
        compile_early(b"any", V5E, timeout_s=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_killed_compile_is_told_from_one_that_aborts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "CHILD", child_that(tmp_path, "os.kill(os.getpid(), 9)"))
    with pytest.raises(CompileInterruptedError, match="was killed"):
        compile_full(b"any", V5E)


def test_an_early_stop_ends_the_child_once_the_placement_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = {
        "after_optimizations.txt": "placed",
        "after_optimizations-buffer-assignment.txt": "buffers",
        "after_optimizations-memory-usage-report.txt": "",
    }
    lines = ["folder = pathlib.Path(sys.argv[1])", "(folder / 'module').write_text('jit_f')"]
    for ending, text in dumps.items():
        for module, content in (("jit_f", text), ("helper", "a helper's, " + text)):
            name = f"module_0000.{module}.cl_1.{ending}"
            lines.append(f"(folder / 'dump' / {name!r}).write_text({content!r})")
    child = child_that(tmp_path, *lines, "time.sleep(600)")
    monkeypatch.setattr(compiling, "CHILD", child)
    found = compile_early(b"any", V5E, timeout_s=60)
    assert (found.hlo, found.buffers) == ("placed", "buffers")
    assert not found.is_full


@pytest.mark.parametrize(
    ("name", "dumped"),
    [
        ("jit_größe", "jit_gr____e"),
        ("jit_f.1-a", "jit_f.1-a"),
        ("jit_a b/c", "jit_a_b_c"),
        ("jit_層", "jit____"),
    ],
)
def test_dumps_are_found_by_the_name_that_the_compiler_writes(
    name: str, dumped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = SimpleNamespace(name=name)
    assert main_of_a_child(tmp_path, monkeypatch, exported_module=lambda data: named) == 0
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / f"module_0000.{dumped}.cl_1.after_optimizations.txt").write_text("placed")
    (tmp_path / "log").write_bytes(b"")
    assert compiling._read(tmp_path, None, 1.0).hlo == "placed"


def test_an_early_stop_that_shows_no_placement_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no answer of the compiler's to keep."""
    monkeypatch.setattr(compiling, "CHILD", child_that(tmp_path, "sys.exit(0)"))
    with pytest.raises(CompileInterruptedError, match=r"no dump of its placement .*xla_knob=1"):
        compile_early(b"any", V5E, {"xla_knob": "1"}, timeout_s=60)


def test_what_cannot_be_compiled_is_said_before_a_child_starts() -> None:
    with pytest.raises(UnknownNameError, match="tpu-v9"):
        compile_full(b"any", Target("tpu-v9"))
    with pytest.raises(CompilerError, match="larger than 64 MiB"):
        compile_full(b"0" * (64 * 2**20 + 1), V5E)


@pytest.mark.nightly
@pytest.mark.compiler
def test_a_whole_compile_and_an_early_stop_place_alike() -> None:
    early, full = compile_early(small(), V5E), compile_full(small(), V5E)
    assert early.buffers == full.buffers
    assert "@1>" in full.buffers
    assert "estimated_cycles" in full.hlo
    assert "estimated_cycles" not in early.hlo
    assert full.limits["alignment_in_bytes"] == "4096"
    assert full.limits["max_size_in_bytes"] == "117440512"


@pytest.mark.compiler
def test_both_cores_of_a_chip_are_one_device_where_they_are_asked_for() -> None:
    serialised = exported(
        jax.jit(lambda x: jnp.tanh(x @ x)), jax.ShapeDtypeStruct((2048, 2048), "f4")
    )
    found = {
        name: compile_full(serialised, Target(name), {}).hlo
        for name in ("tpu-v4", "tpu-v4-megacore")
    }
    assert {name for name, hlo in found.items() if "megacore_config" in hlo} == {"tpu-v4-megacore"}


@pytest.mark.compiler
@pytest.mark.parametrize("letter", ["f", "層"])
def test_a_function_of_a_long_name_can_be_stopped_early(letter: str) -> None:
    """XLA leaves a long name out of those of some dumps, and loses others."""

    def named(x: jax.Array) -> jax.Array:
        return x + 1

    named.__name__ = named.__qualname__ = letter * (205 // len(letter.encode()))
    assert compile_early(serialised(named, (8, 128)), V5E).buffers


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("stablehlo", "options", "told"),
    [
        (b"not a program", {}, "it is not a program that jax.export serialised"),
        pytest.param(
            small()[:-9],
            {},
            "it is not a program that jax.export serialised",
            marks=pytest.mark.nightly,
        ),
        (serialised(layers, (8, 8), (8, 8), (8, 8), platform="cpu"), {}, "exported for cpu"),
        (small(), {"xla_made_up": "1"}, "No such compile option: 'xla_made_up'"),
    ],
)
def test_what_the_child_refuses_is_one_line(
    stablehlo: bytes, options: dict[str, str], told: str
) -> None:
    with pytest.raises(CompilerError) as error:
        compile_early(stablehlo, V5E, options)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
