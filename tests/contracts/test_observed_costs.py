"""What was observed of samples: of the programs that ship, and no solver is paid for ignorance."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli import main
from engine.compiler.costs.observations import (
    OBSERVATIONS_FOLDER,
    load_observations,
    observations_path,
    save_observations,
)
from engine.compiler.costs.refit import refitted
from engine.hardware.presets import PRESETS
from engine.plan.check import check
from engine.plan.io import load_plan, plan_from_json
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import load
from engine.program.library import load_entry, write_index
from engine.program.model import Program
from tests.chosen import chosen

NAMES = sorted(p.name.removesuffix(".json.gz") for p in OBSERVATIONS_FOLDER.glob("*.json.gz"))
MAX_PAID_FOR_NOTHING = 0.01
"""No placement may take this much longer, relatively, than the others predict."""

NOT_ADDITIVE = {
    "alexnet-v4-b24": 0.044,
    "alexnet-v4-b32-train": 0.037,
    "llamadecode-v6e-b8": 0.016,
    "t5-v5p-b24": 0.016,
}
"""Programs of which one placement alone shows what no other does: slower writes in AlexNet, what is
saved only together in T5 on v5p (`docs/costs.md`). How much longer one takes at most."""


def test_some_samples_were_observed() -> None:
    assert NAMES


@pytest.fixture(scope="module", params=chosen(NAMES))
def sample(request: pytest.FixtureRequest) -> tuple[Program, Program]:
    """A sample, and what a refit to its observations makes of it."""
    program = library.load_sample(request.param)
    found = load_observations(OBSERVATIONS_FOLDER / f"{program.name}.json.gz", program)
    return program, refitted(program, found)


def test_each_placement_takes_the_time_that_the_others_predict(
    sample: tuple[Program, Program],
) -> None:
    program, fresh = sample
    fit = fresh.provenance["fit"]
    limit = NOT_ADDITIVE.get(program.name, MAX_PAID_FOR_NOTHING)
    assert len(fit["held_out"]) == len(fit["held_out_errors"]) >= 2
    for placement, error in zip(fit["held_out"], fit["held_out_errors"], strict=True):
        assert error > -limit, placement
    assert fit["worst_held_out_error"] <= limit, "nor quicker than they leave open"


def test_the_compilers_plan_is_valid_on_refitted_costs(sample: tuple[Program, Program]) -> None:
    program, fresh = sample
    plan = plan_from_json(fresh.provenance["xla_plan"], program.name)
    assert check(fresh, plan) is None
    assert fresh.all_slow_s == pytest.approx(program.all_slow_s, rel=1e-9)


@pytest.mark.nightly
def test_the_command_says_how_well_costs_predict_and_writes_the_program(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["refit", *NAMES[:2], "--json", "-o", str(tmp_path)]) == 0
    shown, other = json.loads(capsys.readouterr().out)["programs"]
    fresh = load(tmp_path / f"{NAMES[0]}.json.gz")
    assert (shown["program"], other["program"]) == (fresh.name, NAMES[1]) == tuple(NAMES[:2])
    assert list(shown["errors"]) == fresh.provenance["fit"]["held_out"]
    assert fresh.hardware == PRESETS[fresh.hardware.name]
    assert any(a.uncertainty_s > 0 for a in fresh.accesses)


def test_refitted_programs_take_the_place_of_the_samples_and_best_plans_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = library.find_sample("lstm-v5e-b128")
    found = load_observations(observations_path(entry.name, entry.folder), load_entry(entry))
    fewer = replace(found, compiles=found.compiles[:-1])
    here = replace(entry, folder=tmp_path)
    (tmp_path / "plans").mkdir()
    assert entry.best_plan_path is not None
    for file in (entry.file, str(entry.best_plan)):
        shutil.copy(entry.folder / file, tmp_path / file)
    save_observations(fewer, observations_path(entry.name, tmp_path))
    write_index([here], tmp_path / "index.json")
    monkeypatch.setattr(library, "find_sample", lambda name: {entry.name: here}[name])
    assert main(["refit", entry.name, "--keep"]) == 0
    (fresh,) = library.index(tmp_path)
    program = load_entry(fresh)
    assert fresh.content_hash != entry.content_hash
    assert len(program.provenance["placements"]) == len(fewer.compiles) + 1
    assert fresh.best_plan_path is not None
    best = load_plan(fresh.best_plan_path)
    assert check(program, best) is None
    assert simulate(program, best).latency_s == fresh.best_s
    assert best.stays == load_plan(entry.best_plan_path).stays


def test_a_sample_that_nobody_observed_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    missing = next(n for n in library.sample_names() if n not in NAMES)
    assert main(["refit", missing]) == 2
    assert "nothing was observed" in capsys.readouterr().err
