"""What compiles said, kept in a file: exact, small, and refused where it is of another program."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.costs.calibrate import pools, total_cycles
from engine.compiler.costs.observations import (
    Compile,
    Observations,
    keep_observations,
    load_observations,
    observations_of,
    observations_path,
    save_observations,
    structure_hash,
)
from engine.compiler.costs.refit import refitted
from engine.compiler.costs.trust import LeftOut, fit_record, left_out
from engine.compiler.reading.observation import Observation, observe
from engine.errors import ProgramFormatError
from engine.plan.io import plan_to_json
from engine.program import library
from engine.program.counts import Counts, recounted
from engine.program.hlo.build import Imported
from engine.program.io import content_hash
from engine.program.provenance import FASTEST_COMPILE, fastest_compile_s
from engine.solvers import solve
from tests.compiler.test_calibrate import observation, three_calls

PLACEMENTS = [[0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 1, 6, 7], [0, 1, 6, 7]]


def found(imported: Imported) -> Observations:
    slow = observe(imported, imported.flow)
    seen = [observation(imported, fast) for fast in PLACEMENTS]
    partly = replace(seen[0], cycles=np.where([True, False, True], np.nan, seen[0].cycles))
    waits = [0.0, 1200.5, None, None, None, None]
    compiles = [
        Compile(f"p{n}", {"flag": str(n)}, one, wait)
        for n, (one, wait) in enumerate(zip([*seen, partly], waits, strict=True))
    ]
    return Observations(
        imported.program.name,
        structure_hash(imported.program),
        {"jax": "1"},
        pools(imported, slow),
        Compile("slow", {}, slow),
        tuple(compiles),
    )


def test_a_file_says_what_was_seen(tmp_path: Path) -> None:
    imported = three_calls()
    before, path = found(imported), tmp_path / "o.json.gz"
    save_observations(before, path)
    after = load_observations(path, imported.program)
    assert replace(after, slow=before.slow, compiles=before.compiles) == before
    assert len(after.compiles) == len(before.compiles)
    for a, b in zip((before.slow, *before.compiles), (after.slow, *after.compiles), strict=True):
        assert (a.name, a.options, a.stall_cycles) == (b.name, b.options, b.stall_cycles)
        np.testing.assert_array_equal(a.seen.cycles, b.seen.cycles)
        np.testing.assert_array_equal(a.seen.is_fast, b.seen.is_fast)


def test_captures_of_one_program_at_a_time_keep_each_others_compiles(tmp_path: Path) -> None:
    imported = three_calls()
    program, path = imported.program, tmp_path / "observations" / "o.json.gz"
    whole = found(imported)
    mine, theirs = whole.compiles[:2], whole.compiles[1:4]
    keep_observations(replace(whole, compiles=mine), path, program)
    keep_observations(replace(whole, compiles=theirs), path, program)
    keep_observations(replace(whole, compiles=mine), path, program)
    kept = load_observations(path, program)
    assert [one.options["flag"] for one in kept.compiles] == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(kept.compiles[3].seen.cycles, whole.compiles[3].seen.cycles)
    other = replace(whole, compiles=mine[:1], versions={"jax": "2"})
    keep_observations(other, path, program)
    assert len(load_observations(path, program).compiles) == 1, "another compiler's are let go"
    path.write_bytes(b"")
    keep_observations(whole, path, program)
    assert len(load_observations(path, program).compiles) == len(whole.compiles)


def test_the_structure_is_the_same_whatever_it_costs() -> None:
    program = three_calls().program
    dearer = tuple(replace(a, saving_s=1.0) for a in program.accesses)
    assert structure_hash(replace(program, accesses=dearer)) == structure_hash(program)
    other = tuple(replace(a, operand=a.operand + 1) for a in program.accesses)
    assert structure_hash(replace(program, accesses=other)) != structure_hash(program)


@pytest.mark.parametrize(
    ("key", "value"),
    [("structure", "0" * 16), ("pools", [0]), ("compiles", []), ("compiles", [{"name": "x"}])],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, key: str, value: object) -> None:
    imported = three_calls()
    path = tmp_path / "o.json"
    save_observations(found(imported), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(ProgramFormatError, match=r"o\.json: "):
        load_observations(path, imported.program)


def test_indices_past_the_end_are_refused(tmp_path: Path) -> None:
    imported = three_calls()
    path = tmp_path / "o.json"
    save_observations(found(imported), path)
    for key, bad in (("fast", [9]), ("fast", [-1]), ("slots", [3])):
        body = json.loads(path.read_text())
        body["compiles"][1].update({key: bad, "cycles": body["compiles"][1]["cycles"][: len(bad)]})
        (tmp_path / "bad.json").write_text(json.dumps(body))
        with pytest.raises(ProgramFormatError, match=r"bad\.json: "):
            load_observations(tmp_path / "bad.json", imported.program)


@pytest.mark.parametrize("stall", [-1.0, float("inf"), float("nan"), "long", [1.0]])
def test_impossible_waits_are_refused(tmp_path: Path, stall: object) -> None:
    imported = three_calls()
    path = tmp_path / "o.json"
    save_observations(found(imported), path)
    body = json.loads(path.read_text())
    body["compiles"][1]["stall_cycles"] = stall
    path.write_text(json.dumps(body))
    with pytest.raises(ProgramFormatError, match=r"o\.json: not (valid|JSON)"):
        load_observations(path, imported.program)


def test_each_placement_is_predicted_by_the_others() -> None:
    """Savings are additive and settled by the others; the same placement counts once."""
    imported = three_calls()
    errors = list(left_out(imported.program, found(imported)))
    assert [e.compile.name for e in errors] == ["p0", "p1", "p2", "p3"]
    assert errors[3].error == pytest.approx(0.0, abs=1e-4)
    # Only p2 shows that the result of `w` saves nothing, and that of `y` and `z` 20,000 each.
    assert errors[2].error == pytest.approx(40_000 / 360_000, abs=1e-4)


def test_a_refit_keeps_the_compilers_plan() -> None:
    imported = three_calls()
    plan = solve("all_slow", imported.program)
    program = replace(imported.program, provenance={"xla_plan": plan_to_json(plan), "model": "m"})
    fresh = refitted(program, found(imported))
    assert fresh.provenance["model"] == "m"
    assert fresh.provenance["xla_plan"]["program_hash"] == content_hash(fresh)
    assert fresh.provenance["placements"]["p1"] == {"flag": "1"}
    assert fresh.provenance["fit"]["held_out"] == ["p0", "p1", "p2", "p3"]
    assert fresh.all_slow_s == pytest.approx(400_000e-9)


def test_a_refit_keeps_the_fastest_compile_of_those_whose_waits_are_known() -> None:
    imported = three_calls()
    observations = found(imported)
    totals = [total_cycles(imported.program, None, c.seen) for c in observations.compiles]
    assert min(totals) < totals[1], "faster ones, of which nobody knows how long they wait"
    known = min((totals[0], "p0"), (totals[1] + 1200.5, "p1"))
    fresh = refitted(imported.program, observations)
    kept = fresh.provenance[FASTEST_COMPILE]
    clock = imported.program.hardware.clock_hz
    assert (kept["seconds"] * clock, kept["name"]) == (pytest.approx(known[0]), known[1])
    assert fastest_compile_s(fresh) == kept["seconds"]
    strangers = replace(observations, compiles=observations.compiles[2:])
    assert FASTEST_COMPILE not in refitted(imported.program, strangers).provenance


LOOPED = "equilibrium-v5p-b64"


def test_waits_hold_only_for_the_counts_by_which_they_were_worked_out(tmp_path: Path) -> None:
    """All else does not depend on how often a loop runs; with all slow nothing waits."""
    program = library.load_sample(LOOPED)
    often, seldom = (recounted(program, Counts({"while.2": count})) for count in (9, 2))
    shipped = observations_path(LOOPED, library.find_sample(LOOPED).folder)
    before = load_observations(shipped, program)
    assert all(one.stall_cycles is not None for one in before.compiles)
    path = tmp_path / "o.json.gz"
    save_observations(before, path)
    assert load_observations(path, program).compiles[0].stall_cycles is not None
    by_counts = {"often": load_observations(path, often), "seldom": load_observations(path, seldom)}
    for found in by_counts.values():
        assert {one.stall_cycles for one in found.compiles} == {None}
        assert found.slow.stall_cycles == before.slow.stall_cycles
        assert [one.name for one in found.compiles] == [one.name for one in before.compiles]
    waits = replace(by_counts["often"].compiles[0], stall_cycles=7.0)
    save_observations(replace(by_counts["often"], compiles=(waits,)), path)
    assert load_observations(path, often).compiles[0].stall_cycles == 7.0
    for other in (program, seldom):
        assert load_observations(path, other).compiles[0].stall_cycles is None


@pytest.mark.parametrize("name", ["plan-3", "default"])
def test_two_compiles_of_one_name_in_a_file_are_two(tmp_path: Path, name: str) -> None:
    imported = three_calls()
    before, path = found(imported), tmp_path / "o.json.gz"
    waits = [0.0, None, 0.0, None, None, None]
    alike = [
        replace(one, name=name, stall_cycles=wait)
        for one, wait in zip(before.compiles, waits, strict=True)
    ]
    save_observations(replace(before, compiles=tuple(alike)), path)
    after = load_observations(path, imported.program)
    assert [one.options for one in after.compiles] == [one.options for one in before.compiles]
    assert after.compiles[0].name == name
    fresh = refitted(imported.program, after)
    assert len(fresh.provenance["placements"]) == 1 + len(alike)
    totals = [total_cycles(imported.program, None, alike[n].seen) for n in (0, 2)]
    clock = imported.program.hardware.clock_hz
    assert fresh.provenance[FASTEST_COMPILE]["seconds"] * clock == pytest.approx(min(totals))


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), "1", None])
def test_a_fastest_compile_that_cannot_be_is_none(seconds: object) -> None:
    made = replace(three_calls().program, provenance={FASTEST_COMPILE: {"seconds": seconds}})
    assert fastest_compile_s(made) is None


def test_only_a_good_placement_that_takes_longer_is_held_against_the_costs() -> None:
    program = three_calls().program

    def kept_out(total: int, error: float, *, own: bool = False) -> LeftOut:
        cycles = np.array([total, 0.0, 0.0])
        options = {} if own else {"flag": "1"}
        return LeftOut(Compile("x", options, Observation(cycles, np.zeros(9, dtype=bool))), error)

    own, better = kept_out(1000, 0.01, own=True), kept_out(900, -0.02)
    worse = kept_out(1500, -0.2)
    assert fit_record(program, [own, better, worse])["worst_held_out_error"] == 0.02
    assert fit_record(program, [own, worse])["worst_held_out_error"] == 0.0
    assert fit_record(program, [])["worst_held_out_error"] is None
    slow_side = replace(worse, error=0.3, too_slow=0.1)
    assert fit_record(program, [own, better, slow_side])["worst_held_out_error"] == 0.1


def test_too_slow_is_what_is_not_even_uncertain() -> None:
    """What only p2 shows saved, the others leave open; what they have shown, they do not."""
    imported = three_calls()
    before = found(imported)
    (open_,) = [e for e in left_out(imported.program, before, in_full=True) if e.error > 0.01]
    assert (open_.compile.name, open_.too_slow) == ("p2", 0.0)
    # The same placement as p0, for which the others have told all, with a tenth of the cycles.
    p0 = before.compiles[0]
    lower = replace(p0, seen=replace(p0.seen, cycles=0.1 * p0.seen.cycles))
    alone = replace(before, compiles=(lower, *before.compiles[1:5]))
    errors = {e.compile.name: e for e in left_out(imported.program, alone, in_full=True)}
    assert 0 < errors["p0"].too_slow <= errors["p0"].error


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("lstm-v5e-b128", {"versions": {"jax": "0.1", "jaxlib": "0.1", "libtpu": "0.1"}}),
        ("lstm-v5e-b128", {"compiler_options": {"xla_tpu_scoped_vmem_limit_kib": "50000"}}),
        ("lstm-v5e-b128", {"libtpu_init_args": "--xla_a=1"}),
        ("fsdp-v5e-b16384-train", {"topology": "v5e:2x4"}),
    ],
)
def test_a_program_that_was_compiled_otherwise_has_no_observations_of_its_namesake(
    name: str, other: dict[str, object]
) -> None:
    program = library.load_sample(name)
    assert observations_of(program) is not None
    origin = {**program.provenance, **other}
    assert observations_of(replace(program, provenance=origin)) is None


def test_the_same_program_under_flags_has_no_observations_of_the_one_without() -> None:
    flagged = library.load_sample("lstm-v5e-b128-flags")
    assert observations_of(flagged) is not None
    assert observations_of(replace(flagged, name="lstm-v5e-b128")) is None
