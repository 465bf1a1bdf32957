"""Files that a visitor brings, good and bad."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.compiler.reading.xla_plan import REPACKED
from engine.errors import EngineError
from engine.plan.check import check
from engine.plan.io import plan_from_json, plan_to_json
from engine.program.counts import COUNTS
from engine.program.io import content_hash, to_json
from engine.program.model import Program
from engine.solvers import solve
from tests.program.hlo.modules import FIXTURES
from tests.ui.network import residual_network
from ui.model.programs import uploads

TABLE = b"id,lower,upper,size\na,0,4,4096\nb,2,6,8192\n"
SLOW, FAST = FIXTURES / "mlp_off.hlo", FIXTURES / "mlp_on.hlo"
BUFFERS = FIXTURES / "mlp_on.buffers.txt"
BODY = json.dumps(to_json(residual_network())).encode()


@pytest.mark.parametrize(
    ("name", "data"), [("p.json", BODY), ("p.json.gz", gzip.compress(BODY, mtime=0))]
)
def test_a_program_file(name: str, data: bytes) -> None:
    program = uploads.read([(name, data)], "tpu-v5e")
    assert content_hash(program) == content_hash(residual_network())


def greedy_plan() -> dict[str, Any]:
    return plan_to_json(solve("greedy", residual_network()))


def with_plan(**changes: Any) -> Program:
    return replace(residual_network(), provenance={"xla_plan": {**greedy_plan(), **changes}})


def test_a_plan_that_is_one_of_the_program_stays_with_it() -> None:
    whole = with_plan()
    assert uploads.sound(whole) == (whole, "")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"is_fast": [True]}, "unknown-access"),
        ({"stays": {"group": [9999], "offset": [0], "start": [0], "end": [1]}}, "unknown-access"),
        ({"program_hash": "0" * 16}, "wrong-program"),
        ({"notes": []}, "cannot be read"),
        ({"format": 1}, "cannot be read"),
    ],
)
def test_a_plan_that_is_none_of_the_program_is_left_out(changes: dict[str, Any], why: str) -> None:
    program, told = uploads.sound(with_plan(**changes))
    assert "xla_plan" not in program.provenance
    assert content_hash(program) == content_hash(residual_network())
    assert why in told and "\n" not in told
    assert dict(uploads.summary(program, ["p.json"], told))["XLA's plan"] == told


def test_a_program_whose_record_of_counts_is_damaged_is_refused() -> None:
    with pytest.raises(EngineError, match="trip counts"):
        uploads.sound(replace(residual_network(), provenance={COUNTS: {"while": "x"}}))


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
        ([("x.json.gz", gzip.compress(BODY, mtime=0)[:40])], "x.json.gz: cannot be read"),
        ([("a.hlo", b"not HLO at all")], "a.hlo"),
        ([], "0 files"),
        ([(name, b"") for name in "abcd"], "4 files"),
        ([("a", b""), ("b", b""), ("c", b"")], "a: these are 3 HLO dumps and 0 buffer"),
        ([("b.txt", b"BufferAssignment:")], "b.txt: these are 0 HLO dumps and 1 buffer"),
        ([("p.json", BODY), ("t.csv", TABLE)], "p.json: bring a program file or a table alone"),
        ([("t.csv", TABLE), ("t.csv", TABLE)], "t.csv: brought twice"),
    ],
)
def test_bad_files_are_named_without_a_path(files: list[tuple[str, bytes]], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        uploads.read(files, "tpu-v5e")
    message = str(caught.value)
    assert message.startswith(words)
    assert "upload-" not in message
    assert "\n" not in message


def named(name: str, path: Path) -> tuple[str, bytes]:
    return name, path.read_bytes()


def test_a_pair_of_dumps_in_any_order_with_its_plan() -> None:
    slow, fast = named("m_slow.hlo", SLOW), named("m_fast.hlo", FAST)
    pair = uploads.read([fast, slow], "tpu-v5e")
    assert content_hash(pair) == content_hash(uploads.read([slow, fast], "tpu-v5e"))
    packed = plan_from_json(pair.provenance["xla_plan"], "xla")
    assert check(pair, packed) is None
    assert packed.notes["offsets"] == REPACKED
    whole = uploads.read([named("buffers.txt", BUFFERS), slow, fast], "tpu-v5e")
    plan = plan_from_json(whole.provenance["xla_plan"], "xla")
    assert check(whole, plan) is None
    assert "offsets" not in plan.notes


@pytest.mark.parametrize(
    ("slow_name", "fast_name"),
    [
        ("x.off.hlo", "x.on.hlo"),
        ("off.hlo.gz", "on.hlo.gz"),
        ("x_off.txt", "x_on.txt"),
        ("x-off.hlo", "other.hlo"),
        ("other.hlo", "x-on.hlo"),
        ("conv_slow.hlo", "conv.hlo"),
    ],
)
def test_names_say_which_dump_is_which(slow_name: str, fast_name: str) -> None:
    files = [
        (name, gzip.compress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes())
        for name, path in ((fast_name, FAST), (slow_name, SLOW))
    ]
    origin = uploads.read(files, "tpu-v5e").provenance
    assert (origin["slow"], origin["fast"]) == (slow_name, fast_name)


def test_one_dump_with_its_buffer_assignment_keeps_its_costs() -> None:
    alone = uploads.read([named("m.hlo", FAST)], "tpu-v5e")
    both = uploads.read([named("m.hlo", FAST), named("m.buffers.txt", BUFFERS)], "tpu-v5e")
    assert content_hash(both) == content_hash(alone)
    plan = plan_from_json(both.provenance["xla_plan"], "xla")
    assert check(both, plan) is None
    assert plan.stays


def test_a_name_cannot_leave_the_folder() -> None:
    program = uploads.read([("../../p.json", BODY)], "tpu-v5e")
    assert content_hash(program) == content_hash(residual_network())


def test_a_dump_without_hardware_is_not_read_for_just_any() -> None:
    for name, data in (("a.csv", TABLE), ("a.hlo", SLOW.read_bytes())):
        with pytest.raises(EngineError, match=f"{name}: choose the hardware"):
            uploads.read([(name, data)], None)
    assert uploads.read([("p.json", BODY)], None).num_slots == residual_network().num_slots


@pytest.mark.parametrize(
    ("names", "chip"),
    [
        (["bert-v5e.on.hlo", "bert-v5e.off.hlo"], "tpu-v5e"),
        (["resnet_v4_b64.hlo.gz"], "tpu-v4"),
        (["dump_tpu_v6e.txt"], "tpu-v6e"),
        (["resnet50v2.hlo"], None),
        (["a-v5e.hlo", "b-v5p.hlo"], None),
        (["model4.hlo"], None),
        (["model_4.hlo"], None),
        (["gpt-4-v5e.hlo"], "tpu-v5e"),
        ([], None),
    ],
)
def test_the_chip_is_read_off_the_names(names: list[str], chip: str | None) -> None:
    assert uploads.chip_of(names) == chip


@pytest.mark.parametrize("name", ["p.plan.json", "p.json.gz", "../p.json"])
def test_a_plan_file(name: str) -> None:
    program, plan = residual_network(), solve("greedy", residual_network())
    data = json.dumps(plan_to_json(plan)).encode()
    packed = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
    assert uploads.read_plan(name, packed, program) == plan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"program_hash": "0" * 16}, "p.json: is a plan of another program"),
        ({"copies": {"group": [], "is_prefetch": [], "start": [], "deadline": []}}, "p.json: bre"),
        ({"is_fast": [True]}, "p.json: breaks unknown-access: "),
        ({"notes": []}, "p.json: not a valid plan file"),
        ({"format": "mallocmuzero-program"}, "p.json: not a mallocmuzero-plan file"),
    ],
)
def test_a_file_that_is_no_plan_of_the_program_is_refused_in_one_line(
    changes: dict[str, Any], words: str
) -> None:
    data = json.dumps({**greedy_plan(), **changes}).encode()
    with pytest.raises(EngineError) as caught:
        uploads.read_plan("p.json", data, residual_network())
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"{", "not JSON"), (gzip.compress(b" " * 300_000_000), "larger than 256 MiB")],
    ids=["no JSON", "much when unpacked"],
)
def test_a_plan_file_that_cannot_be_read_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(EngineError) as caught:
        uploads.read_plan("p.json", data, residual_network())
    assert str(caught.value).startswith("p.json: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("file", "stem"),
    [
        ("x-net-greedy.plan.json", "greedy"),
        ("other.json.gz", "other"),
        ("x-net-.plan.json", "plan"),
        ("a,b.json", "a_b"),
        ("x" * 200 + ".plan.json", "x" * 90),
    ],
)
def test_a_plan_from_a_file_is_called_after_it(file: str, stem: str) -> None:
    assert uploads.plan_name(file, "x net") == f"{stem} (file)"
