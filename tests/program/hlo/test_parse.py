"""HLO text in a child process: what is refused, and how."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ProgramFormatError
from engine.program.hlo import parse
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo, parse_hlo_file
from engine.program.hlo.proto import decode_module
from tests.program.hlo.modules import FIXTURES, module

GOOD = module("  a = A parameter(0)\n  ROOT b = A tanh(a)").encode()


def test_the_child_and_the_parent_agree() -> None:
    parsed = parse_hlo_file(FIXTURES / "loop_off.hlo")
    assert parsed.name == "jit_loop_f"
    entry = next(c for c in parsed.computations if c.id == parsed.entry_computation_id)
    assert [i.opcode for i in entry.instructions].count("while") == 1


def test_gzipped_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dump.hlo.gz"
    path.write_bytes(gzip.compress(GOOD))
    assert parse_hlo_file(path).name == "test"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01\x02",
        b'{"format": 1}',
        b"\xef\xbb\xbfHloModule x",
        GOOD.decode().encode("utf-16"),
    ],
)
def test_what_is_no_hlo_is_refused_at_once(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    with pytest.raises(ProgramFormatError, match=r"dump\.hlo: not HLO text"):
        parse_hlo(data, "dump.hlo")


def test_too_long_a_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_TEXT_BYTES", 1000)
    with pytest.raises(ProgramFormatError, match="larger than"):
        parse_hlo(GOOD + b" " * 1000, "dump.hlo")


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.hlo.gz"
    path.write_bytes(gzip.compress(b"HloModule " + b" " * (80 << 20)))
    with pytest.raises(ProgramFormatError, match="larger than 64 MiB"):
        parse_hlo_file(path)


def test_a_syntax_error_is_one_line() -> None:
    with pytest.raises(ProgramFormatError) as caught:
        parse_hlo(GOOD.replace(b"tanh(a)", b"tanh(nothing)"), "dump.hlo")
    message = str(caught.value)
    assert "dump.hlo: XLA's parser refused it" in message
    assert "\n" not in message


def test_control_characters_do_not_reach_the_terminal() -> None:
    with pytest.raises(ProgramFormatError) as caught:
        parse_hlo(b"HloModule \x1b[31m\x00\xff, x", "dump.hlo")
    assert str(caught.value).isprintable()


def test_a_crash_of_the_parser_is_an_error_of_the_file() -> None:
    nested = b"HloModule x\nENTRY e {\n ROOT a = " + b"(" * 200_000 + b"f32[] parameter(0)\n}\n"
    with pytest.raises(ProgramFormatError, match=r"XLA's parser (crashed|refused)") as caught:
        parse_hlo(nested, "dump.hlo")
    assert len(str(caught.value)) < 400


def test_a_parser_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "TIMEOUT_S", 0.01)
    with pytest.raises(ProgramFormatError, match="took over"):
        parse_hlo(GOOD, "dump.hlo")


def test_the_child_is_limited() -> None:
    """A constant of 16 GiB in 60 characters of text."""
    text = module("  c = f32[4294967296] constant({...})\n  ROOT b = f32[4294967296] negate(c)")
    with pytest.raises(ProgramFormatError, match="XLA's parser"):
        parse_hlo(text.encode(), "dump.hlo")


def test_a_module_that_is_not_scheduled_is_refused() -> None:
    text = GOOD.replace(b", is_scheduled=true", b"")
    with pytest.raises(ProgramFormatError, match="not scheduled; dump the compiled program"):
        Flow(parse_hlo(text, "dump.hlo"), "dump.hlo")


def test_damaged_messages_are_refused() -> None:
    with pytest.raises(ProgramFormatError, match="cannot be decoded"):
        decode_module(b"\xff\xff\xff\xff", "dump.hlo")


def test_the_child_alone() -> None:
    root = Path(parse.__file__).resolve().parents[3]
    command = [sys.executable, "-m", "engine.program.hlo.child"]
    child = subprocess.run(command, input=GOOD, capture_output=True, cwd=root, check=True)
    assert decode_module(child.stdout, "x").name == "test"
    child = subprocess.run(command, input=b"HloModule", capture_output=True, cwd=root, check=False)
    assert child.returncode == 3
    assert child.stdout == b""
