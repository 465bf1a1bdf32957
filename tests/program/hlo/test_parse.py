"""HLO text in a child process: what is refused, and how."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib import _hlo  # type: ignore[attr-defined]

from engine.errors import ParseInterruptedError, ProgramFormatError
from engine.program.hlo import parse
from engine.program.hlo.child import REFUSED, TEXT
from engine.program.hlo.collective import devices_in
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
        b'{"format": 1}',
        b"a line of a log about an HloModule",
    ],
)
def test_what_is_no_hlo_is_refused_at_once(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    with pytest.raises(ProgramFormatError, match=r"dump\.hlo: not HLO"):
        parse_hlo(data, "dump.hlo")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (GOOD.decode().encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04\x14\x00", "zip"),
        (b"module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n  func.func public", "MLIR"),
        (b"#loc = loc(unknown)\nmodule @jit_f {\n", "MLIR"),
        (b"ML\xefR\x0dStableHLO_v1.13.0\x00", "MLIR"),
        (b"\x18\x00\x00ML\xefR\x0dStableHLO_v1.13.0\x00", "jax.export"),
    ],
)
def test_files_of_other_kinds_are_called_by_their_name(
    data: bytes, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    with pytest.raises(ProgramFormatError, match=f"dump: not HLO but .*{kind}"):
        parse_hlo(data, "dump")


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def forms_of(text: bytes) -> dict[str, bytes]:
    """A dump in the forms in which it is found."""
    message = bytes(_hlo.hlo_module_from_text(text.decode()).as_serialized_hlo_module_proto())
    return {
        "byte order mark": b"\xef\xbb\xbf" + text,
        "log": b"\xef\xbb\xbf// made by us\n\nI0001 dumping HloModule test\n" + text,
        "line ends of Windows": text.replace(b"\n", b"\r\n"),
        "module message": message,
        "HLO message": b"\x0a" + varint(len(message)) + message + b"\x1a\x02\x0a\x00",
    }


@pytest.mark.parametrize("form", forms_of(GOOD))
def test_a_dump_reads_the_same_in_every_form(form: str) -> None:
    text = (FIXTURES / "loop_off.hlo").read_bytes()
    flows = [Flow(parse_hlo(data, "dump"), "dump") for data in (text, forms_of(text)[form])]
    told = [[(e.name, e.kind, e.reads, e.writes) for e in flow.events] for flow in flows]
    assert told[0] == told[1]
    assert [str(v.shape) for v in flows[0].values] == [str(v.shape) for v in flows[1].values]


@pytest.mark.parametrize(
    ("head", "devices"),
    [
        ("", 1),
        (", num_partitions=8", 8),
        (", replica_count=2, num_partitions=4", 8),
        (", entry_computation_layout={(f32[64,128]{1,0})->f32[64,128]{1,0}}, replica_count=2", 2),
    ],
)
def test_how_many_devices_a_module_is_for_is_read_off_its_head(head: str, devices: int) -> None:
    text = module("  a = A parameter(0)\n  ROOT b = A tanh(a)", head=head).encode()
    for form, data in forms_of(text).items():
        if "message" not in form:
            assert devices_in(parse_hlo(data, "dump")) == devices


def test_what_metadata_say_of_devices_is_not_of_the_module() -> None:
    name = ', metadata={op_name="a, num_partitions=64"}\n'
    body = GOOD.replace(b"tanh(a)\n", b"tanh(a)" + name.encode()).replace(b"\n\n", b"\n", 1)
    head = (
        b'is_scheduled=true, frontend_attributes={mesh="a \\" b, replica_count=2"}, replica_count=4'
    )
    for text, devices in ((body, 1), (body.replace(b"is_scheduled=true", head, 1), 4)):
        assert devices_in(parse_hlo(text, "dump")) == devices


def test_how_many_devices_a_message_is_for_is_read_off_its_assignment() -> None:
    message = forms_of(GOOD)["module message"]
    assert devices_in(parse_hlo(message, "dump")) == 1
    two_by_four = b"\x08\x02\x10\x04" + b"\x1a\x04\x0a\x02\x00\x01" * 4
    message += b"\x7a" + varint(len(two_by_four)) + two_by_four
    assert devices_in(parse_hlo(message, "dump")) == 8


def test_the_parsers_reason_is_kept_and_names_the_line_of_the_file() -> None:
    text = GOOD.replace(b"tanh(a)", b"tanh(nothing)")
    line = next(n for n, row in enumerate(text.split(b"\n"), start=1) if b"nothing" in row)
    for above in (b"", b"a log\nof two lines\n"):
        expected = f"was parsing {line + above.count(10)}:.*does not exist: nothing"
        with pytest.raises(ProgramFormatError, match=expected):
            parse_hlo(above + text, "dump")


def test_of_several_modules_one_must_be_chosen() -> None:
    with pytest.raises(ProgramFormatError, match="holds 2 modules"):
        parse_hlo(GOOD + b"\n" + GOOD, "dump")


@pytest.mark.parametrize(
    "data", [b"\x0a\x03abc\x00", b"\x00\x01\x02", b"\x0a\xff\xff\xff\xff\xff\x00"]
)
def test_messages_of_other_kinds_are_refused_by_the_parser(data: bytes) -> None:
    with pytest.raises(ProgramFormatError, match="no HLO text, and as a message: "):
        parse_hlo(data, "dump.pb")


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
    monkeypatch.setattr(parse, "WAIT", 1e-4)
    with pytest.raises(ParseInterruptedError, match="took over"):
        parse_hlo(GOOD, "dump.hlo")


@pytest.mark.parametrize(
    ("code", "told"),
    [(-9, "was killed"), (-24, "took over 60 s of processor time"), (1, "code 1"), (-15, "killed")],
)
def test_a_parser_that_was_interrupted_says_nothing_of_the_text(
    code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike one that falls over it: another time it may be read."""
    asked: list[tuple[float, list[str]]] = []

    def run(command: list[str], timeout: float, **_: object) -> object:
        asked.append((timeout, command))
        return subprocess.CompletedProcess(command, code, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ParseInterruptedError, match=f"dump.hlo: XLA's parser .*{told}.*try again"):
        parse_hlo(GOOD, "dump.hlo")
    with pytest.raises(ParseInterruptedError, match="try again"):
        parse_hlo(GOOD + b" " * 2**25, "dump.hlo")
    (small_s, small), (large_s, large) = asked
    assert large_s > 2 * small_s and int(large[-1]) > 2 * int(small[-1]), "more for larger texts"
    code = -11
    with pytest.raises(ProgramFormatError, match="crashed on it") as crash:
        parse_hlo(GOOD, "dump.hlo")
    assert not isinstance(crash.value, ParseInterruptedError)


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
    command = [sys.executable, "-m", "engine.program.hlo.child", TEXT]
    child = subprocess.run(command, input=GOOD, capture_output=True, cwd=root, check=True)
    assert decode_module(child.stdout, "x").name == "test"
    child = subprocess.run(command, input=b"HloModule", capture_output=True, cwd=root, check=False)
    assert child.returncode == REFUSED
    assert child.stdout == b""
