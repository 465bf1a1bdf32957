"""Files that a visitor brings, good and bad."""

from __future__ import annotations

import gzip
import json

import pytest

from engine.errors import EngineError
from engine.program.io import content_hash, to_json
from tests.ui.network import residual_network
from ui import uploads

TABLE = b"id,lower,upper,size\na,0,4,4096\nb,2,6,8192\n"
BODY = json.dumps(to_json(residual_network())).encode()


@pytest.mark.parametrize(("name", "data"), [("p.json", BODY), ("p.json.gz", gzip.compress(BODY))])
def test_a_program_file(name: str, data: bytes) -> None:
    program = uploads.read([(name, data)], "tpu-v5e")
    assert content_hash(program) == content_hash(residual_network())


def test_a_minimalloc_table_takes_its_capacity_from_its_name() -> None:
    assert uploads.read([("A.16384.csv", TABLE)], "tpu-v5e").hardware.fast_bytes == 16384
    whole = uploads.read([("A.csv", TABLE)], "tpu-v4").hardware.fast_bytes
    assert whole == 64 * 2**20


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([("p.json", b"{")], "p.json: not JSON"),
        ([("p.json", b"{}")], "p.json: not a mallocmuzero-program file"),
        ([("t.csv", b"id,lower\n")], "t.csv"),
        ([("t.csv", b"id,lower,upper,size\na,4,4,1\n")], "t.csv"),
        ([("x.json.gz", gzip.compress(BODY)[:40])], "x.json.gz: cannot be read"),
        ([("a.hlo", b"not HLO at all")], "a.hlo"),
        ([], "0 files"),
        ([("a", b""), ("b", b""), ("c", b"")], "3 files"),
    ],
)
def test_bad_files_are_named_without_a_path(files: list[tuple[str, bytes]], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        uploads.read(files, "tpu-v5e")
    message = str(caught.value)
    assert message.startswith(words)
    assert "upload-" not in message
    assert "\n" not in message


def test_a_name_cannot_leave_the_folder() -> None:
    program = uploads.read([("../../p.json", BODY)], "tpu-v5e")
    assert content_hash(program) == content_hash(residual_network())
