"""The bundle reproduces its figures headlessly, by the commands that it names."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.analysis.bundle import MOST_BYTES, NOTES_FILE, bundle, file_name, member, versions
from engine.errors import UsageError
from engine.program import library
from engine.solvers import solve

ROOT = Path(__file__).resolve().parents[2]


def test_the_commands_of_the_readme_give_the_expected_figures(tmp_path: Path) -> None:
    program = library.load_sample("alexnet-v4-b24")
    plans = {"greedy": solve("greedy", program), "XLA's own": solve("xla_compiled", program)}
    packed = bundle(program, plans, "http://somewhere/compare")
    assert packed == bundle(program, plans, "http://somewhere/compare")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "B")
    expected = json.loads((tmp_path / "B" / "expected.json").read_text())
    assert [e["name"] for e in expected.values()] == list(plans)
    readme = (tmp_path / "B" / "README.md").read_text()
    lines = [line for line in readme.splitlines() if line.startswith("python -m engine")]
    assert len(lines) == 4
    for line in lines:
        words = [w.replace("B/", f"{tmp_path}/B/", 1) for w in shlex.split(line)[1:]]
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
        )
        if "check" in words:
            assert done.stdout.strip() == "valid"
        else:
            path = str(Path(words[4]).relative_to(tmp_path / "B"))
            found = json.loads(done.stdout)["latency_s"]
            assert found == pytest.approx(expected[path]["latency_s"], rel=1e-12)


def test_plans_whose_names_become_one_file_name_are_all_there() -> None:
    program = library.load_sample("alexnet-v4-b24")
    plans = {"計 A": solve("greedy", program), "画 A": solve("all_slow", program)}
    assert len({file_name(name) for name in plans}) == 1
    with zipfile.ZipFile(io.BytesIO(bundle(program, plans))) as archive:
        expected = json.loads(archive.read("expected.json"))
        assert [e["solver"] for e in expected.values()] == ["greedy", "all_slow"]
        assert set(expected) <= set(archive.namelist())


def test_a_numbered_name_that_is_taken_is_passed_over() -> None:
    program = library.load_sample("alexnet-v4-b24")
    solvers = {"A-4": "greedy", "A-2": "all_slow", "A": "xla_compiled", "A?": "xla_like"}
    plans = {name: solve(solver, program) for name, solver in solvers.items()}
    with zipfile.ZipFile(io.BytesIO(bundle(program, plans))) as archive:
        expected = json.loads(archive.read("expected.json"))
        assert [e["name"] for e in expected.values()] == list(plans)
        for path, facts in expected.items():
            assert json.loads(archive.read(path))["solver"] == facts["solver"]


def test_names_become_file_names() -> None:
    assert file_name("you 2") == "you-2"
    assert file_name("../..") == "plan"
    assert "python" in versions()


def zipped(content: bytes, way: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", way) as archive:
        archive.writestr(NOTES_FILE, content)
    return target.getvalue()


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_that_cannot_be_unpacked_bit_by_bit_is_refused(way: int) -> None:
    """However little of it is asked for, a few hundred bytes of these unpack to gigabytes."""
    with pytest.raises(UsageError, match=r"notes\.json: .*export it again"):
        member(zipped(b"{}", way), NOTES_FILE)


def test_a_file_may_be_as_large_as_the_limit() -> None:
    assert len(member(zipped(bytes(MOST_BYTES)), NOTES_FILE) or b"") == MOST_BYTES
    too_large = zipped(bytes(MOST_BYTES + 1))
    with pytest.raises(UsageError, match=r"notes\.json: is larger than"):
        member(too_large, NOTES_FILE)
