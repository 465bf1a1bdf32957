"""Files that a visitor brings may hold anything and have any name: read, or refused in one line."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agent.arrays import unpack
from engine.agent.trace_io import save_trace, trace_from_bytes
from engine.analysis import bundle
from engine.debugging.move_notes import notes_from_json
from engine.errors import EngineError
from engine.program.io import to_json
from engine.program.validate import validate
from tests.fuzz.hostile import MARKUP, PATHS, damaged
from tests.fuzz.watched import strays
from tests.ui.network import residual_network
from tests.ui.search_traces import made_up_trace
from ui.model.learn.progress import Card, Progress, progress_of
from ui.model.programs import uploads
from ui.model.search import curves

BODY = json.dumps(to_json(residual_network())).encode()
TABLE = b"id,lower,upper,size\n" + b"".join(b"b%d,%d,%d,64\n" % (n, n, n + 3) for n in range(20))
ROUND = {"number": 1, "mean": 0.5, "top": 1.0, "best": 1.0, "program": "p", "losses": {"value": 2}}
CURVE = b"\n".join(json.dumps({**ROUND, "number": n}).encode() for n in range(5))
PROGRESS = Progress({"stall": 2}, {"lstm": 5}, {"p-1": Card(1, 2, 3, 4)}).text().encode()
NOTES = json.dumps([["abcdef", 3, "text", True], ["abcdef", 4, "", False]]).encode()
NAMES = st.one_of(
    st.sampled_from([*MARKUP, *PATHS, "\ud800", ""]), st.text(st.characters(), max_size=300)
)


def refused_in_a_line(read: Callable[[], object]) -> bool:
    """Whether it was refused; any other error than ours fails the test."""
    try:
        read()
    except EngineError as error:
        assert len(str(error).splitlines()) == 1, "one line"
        return True
    return False


FIGURES = 20 if settings().max_examples < 1000 else settings().max_examples
"""Examples of which figures are made, which takes a while; `make fuzz` makes all of them."""


@given(NAMES, st.sampled_from([".json", ".json.gz", ".csv", ".1024.csv", ".9999999999999999.csv"]))
def test_no_name_of_a_file_leaves_the_folder(name: str, suffix: str) -> None:
    whole = {".json": BODY, ".json.gz": gzip.compress(BODY)}.get(suffix, TABLE)

    with strays() as touched:
        refused_in_a_line(lambda: uploads.read([(name + suffix, whole)], "tpu-v5e"))
    assert not touched


@pytest.mark.parametrize("name", [*MARKUP, *PATHS, "\ud800", "é" * 300 + ".csv"])
def test_names_become_harmless(name: str) -> None:
    safe = uploads.safe_name(name)
    assert 0 < len(safe.encode()) <= 100
    assert safe.strip(".") and not set(safe) & set("/\\\0<>\"'&\n")


@given(damaged(BODY))
def test_a_damaged_program(data: bytes) -> None:
    def read() -> None:
        validate(uploads.read([("p.json", data)], None), "p")

    with strays() as touched:
        refused_in_a_line(read)
    assert not touched


@given(damaged(TABLE))
def test_a_damaged_table(data: bytes) -> None:
    with strays() as touched:
        refused_in_a_line(lambda: uploads.read([("t.csv", data)], "tpu-v5e"))
    assert not touched


@given(damaged(gzip.compress(BODY, mtime=0)))
def test_a_damaged_archive(data: bytes) -> None:
    refused_in_a_line(lambda: uploads.read([("p.json.gz", data)], None))


@given(damaged(PROGRESS))
def test_damaged_progress(data: bytes) -> None:
    refused_in_a_line(lambda: progress_of(data.decode(errors="replace"), "p.json"))


@settings(max_examples=FIGURES)
@given(damaged(CURVE))
def test_a_damaged_curve(data: bytes) -> None:
    run = curves.read_curve(data.decode(errors="replace"))
    assert curves.progress_figure(run, None).to_json()
    assert curves.loss_figure(run).to_json()


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, json.dumps({**ROUND, "mean": 10**400}), json.dumps({**ROUND, "top": []})],
)
def test_a_curve_without_a_round(line: str) -> None:
    assert curves.read_curve(line).rounds == ()


@given(damaged(NOTES))
def test_damaged_notes(data: bytes) -> None:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return
    refused_in_a_line(lambda: notes_from_json(body))


def bundled() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(bundle.NOTES_FILE, NOTES * 20)
    return target.getvalue()


@given(damaged(bundled()))
def test_a_damaged_bundle(data: bytes) -> None:
    refused_in_a_line(lambda: bundle.member(data, bundle.NOTES_FILE))


def traced() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.npz"
        save_trace(made_up_trace(residual_network(), simulations=4), path)
        return path.read_bytes()


TRACE = traced()


@given(damaged(TRACE))
def test_a_damaged_trace(data: bytes) -> None:
    refused_in_a_line(lambda: trace_from_bytes(data, "t.npz"))


def entries(**parts: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, part in parts.items():
            archive.writestr(f"{name}.npy", part)
    return target.getvalue()


def npy(header: str, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content


@pytest.mark.parametrize(
    "header",
    [
        f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**40},), }}\n",
        f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**33},), }}\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-4,), }\n",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1099511627776,), }\n",
        "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n",
        "-" * 9000 + "1\n",
        "(" * 9000 + "\n",
        "{[]: 1}\n",
        "{'descr': [()], 'fortran_order': False, 'shape': (), }\n",
    ],
)
def test_a_trace_whose_arrays_are_not_what_their_headers_say(header: str) -> None:
    data = entries(head=npy(header, b"abcd"))
    with pytest.raises(ValueError, match=r"\w"):
        unpack(data)
    assert refused_in_a_line(lambda: trace_from_bytes(data, "t.npz"))


def test_a_trace_with_a_head_that_is_nested_without_end() -> None:
    target = io.BytesIO()
    np.savez_compressed(target, head=np.array("[" * 200_000))
    assert refused_in_a_line(lambda: trace_from_bytes(target.getvalue(), "t.npz"))


def test_a_trace_never_unpickles() -> None:
    target = io.BytesIO()
    np.savez(target, head=np.array([object()], dtype=object), prior=np.zeros((1, 1)))
    assert refused_in_a_line(lambda: trace_from_bytes(target.getvalue(), "t.npz"))
