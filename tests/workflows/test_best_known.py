"""A faster plan becomes the best known of a sample; a slower or broken one does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from engine.errors import PlanError
from engine.plan.bounds import lower_bound
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash, save
from engine.program.model import Program
from engine.solvers import solve
from engine.workflows import catalogue
from engine.workflows.catalogue import (
    PLANS,
    keep_best,
    keep_bound,
    recost,
    write_catalogue,
    write_readme,
)

NAME = "teach-prefetch"


@pytest.fixture
def program() -> Program:
    return library.load_sample(NAME)


@pytest.fixture
def folder(tmp_path: Path, program: Program) -> Path:
    """Samples of which nobody has found better plans than the one with nothing in fast memory."""
    save(program, tmp_path / "p.json.gz")
    known = {"bound_s": 1e-6, "best_s": program.all_slow_s, "best_solver": "all_slow"}
    entry = library.describe(program, "p.json.gz", "Prefetch", **known)
    library.write_index([entry], tmp_path / "index.json")
    return tmp_path


def test_a_faster_plan_is_kept(folder: Path, program: Program) -> None:
    plan = solve("greedy", program)
    assert keep_best(folder, NAME, plan)
    (entry,) = library.index(folder)
    assert entry.best_solver == "greedy"
    assert entry.best_s == simulate(program, plan).latency_s < program.all_slow_s
    assert entry.best_plan_path is not None
    assert load_plan(entry.best_plan_path) == plan
    assert "greedy" in (folder / "README.md").read_text()


def test_the_table_says_what_is_without_an_estimate(folder: Path, program: Program) -> None:
    """Where it is notable: it stands beside the percentages."""
    (entry,) = library.index(folder)
    rows = []
    for share in (0.254, 0.004, None):
        write_readme([replace(entry, unestimated_share=share)], folder / "README.md")
        rows.append((folder / "README.md").read_text().splitlines()[-1])
    assert rows[0].endswith("| 25.4% |")
    assert rows[1] == rows[2]
    assert rows[1].endswith("|  |")


def test_a_plan_that_is_not_faster_changes_nothing(folder: Path, program: Program) -> None:
    before = (folder / "index.json").read_bytes()
    assert not keep_best(folder, NAME, solve("all_slow", program))
    assert (folder / "index.json").read_bytes() == before
    assert not (folder / PLANS).exists()


def test_a_broken_plan_is_refused(folder: Path, program: Program) -> None:
    broken = replace(solve("greedy", program), stays=())
    before = (folder / "index.json").read_bytes()
    with pytest.raises(PlanError, match=NAME):
        keep_best(folder, NAME, broken)
    assert (folder / "index.json").read_bytes() == before


def test_plans_that_the_index_does_not_name_go(folder: Path, program: Program) -> None:
    stray = folder / PLANS / "gone.json.gz"
    stray.parent.mkdir()
    stray.write_bytes(b"")
    keep_best(folder, NAME, solve("greedy", program))
    assert [path.name for path in stray.parent.iterdir()] == [f"{NAME}.json.gz"]


def test_a_higher_bound_is_kept_and_proves_a_plan_optimal(folder: Path, program: Program) -> None:
    assert keep_best(folder, NAME, solve("greedy", program))
    (before,) = library.index(folder)
    assert not before.is_best_optimal
    relaxed = lower_bound(program)
    relaxed = replace(relaxed, seconds=8.0)
    assert keep_bound(folder, NAME, relaxed)
    (entry,) = library.index(folder)
    assert (entry.bound_s, entry.bound_method) == (relaxed.bound_s, relaxed.method)
    optimal = replace(relaxed, bound_s=entry.best_s, method="mip")
    assert keep_bound(folder, NAME, replace(optimal, seconds=relaxed.seconds / 2))
    (entry,) = library.index(folder)
    assert entry.is_best_optimal
    assert "optimal, greedy | mip |" in (folder / "README.md").read_text()


def test_a_lower_bound_by_more_effort_leaves_the_higher_one(folder: Path, program: Program) -> None:
    relaxed = lower_bound(program)
    assert keep_bound(folder, NAME, replace(relaxed, seconds=1.0))
    worse = replace(relaxed, bound_s=relaxed.bound_s / 2, method="mip-unfinished")
    assert not keep_bound(folder, NAME, replace(worse, seconds=0.5))
    assert library.index(folder)[0].bound_method == relaxed.method
    assert not keep_bound(folder, NAME, replace(worse, seconds=9.0))
    (entry,) = library.index(folder)
    assert entry.bound_s == relaxed.bound_s
    assert (entry.bound_method, entry.bound_seconds) == ("mip-unfinished", 9.0)


def test_an_index_made_anew_keeps_plans_and_drops_what_it_does_not_name(tmp_path: Path) -> None:
    entry = min((e for e in library.held_out() if e.best_plan), key=lambda e: e.touches)
    (tmp_path / PLANS).mkdir()
    for name in (entry.file, "index.json", entry.best_plan or ""):
        copyfile(entry.folder / name, tmp_path / name)
    (tmp_path / PLANS / "of_nothing.json.gz").write_bytes(b"")
    write_catalogue(tmp_path, [entry.name], lambda text: None)
    (made,) = library.index(tmp_path)
    assert (made.best_s, made.best_solver) == (entry.best_s, entry.best_solver)
    assert [path.name for path in (tmp_path / PLANS).iterdir()] == [f"{entry.name}.json.gz"]


@pytest.fixture
def recosted(tmp_path: Path) -> tuple[library.SampleEntry, Program]:
    """A captured program whose best plan nobody finds at once, and that program anew."""
    known = min((e for e in library.held_out() if e.best_plan), key=lambda e: e.touches)
    (tmp_path / PLANS).mkdir()
    for name in (known.file, known.best_plan or ""):
        copyfile(known.folder / name, tmp_path / name)
    library.write_index([known], tmp_path / "index.json")
    (entry,) = library.index(tmp_path)
    return entry, library.load_entry(entry)


def anew(program: Program, **changes: Any) -> Program:
    """The program with other costs, its plan by XLA kept, as a refit makes it."""
    made = replace(program, **changes)
    plan = {**program.provenance["xla_plan"], "program_hash": content_hash(made)}
    return replace(made, provenance={**program.provenance, "xla_plan": plan})


def test_a_program_with_other_costs_keeps_the_best_plan_at_what_it_comes_to(
    recosted: tuple[library.SampleEntry, Program],
) -> None:
    entry, program = recosted
    dearer = tuple(replace(i, fast_s=2 * i.fast_s) for i in program.instructions)
    other = anew(program, instructions=dearer)
    recost(entry, other)
    (made,) = library.index(entry.folder)
    assert library.load_entry(made).instructions == dearer
    assert made.best_solver == entry.best_solver
    assert made.best_plan_path is not None
    plan = load_plan(made.best_plan_path)
    assert plan.program_hash == made.content_hash
    assert made.best_s == simulate(other, plan).latency_s > (entry.best_s or 0.0)


@pytest.mark.parametrize("moment", ["save_plan", "save", "write_index", "write_readme"])
def test_the_best_plan_is_not_lost_where_new_costs_are_broken_off(
    recosted: tuple[library.SampleEntry, Program], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, program = recosted
    assert entry.best_plan_path is not None
    stays = load_plan(entry.best_plan_path).stays

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(catalogue, moment, killed)
        recost(entry, program)
    (now,) = library.index(entry.folder)
    assert now.best_plan == entry.best_plan
    assert load_plan(entry.best_plan_path).stays == stays


def test_a_plan_that_new_costs_make_no_better_than_others_goes(
    recosted: tuple[library.SampleEntry, Program],
) -> None:
    entry, program = recosted
    saved = tuple(replace(access, saving_s=0.0) for access in program.accesses)
    recost(entry, anew(program, accesses=saved))
    (made,) = library.index(entry.folder)
    assert made.best_plan is None
    assert list((entry.folder / PLANS).iterdir()) == []
