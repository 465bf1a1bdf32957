"""Which placements are compiled, and that the costs hold for our own plans in the end."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from engine.compiler.capture.identify import (
    MOST_FIRST,
    MOST_LAST,
    close_to,
    is_placed_alike,
    packed,
    proposal,
    stakes,
    worth,
)
from engine.compiler.capture.study import FEWER_COPIES, LONE_ERROR, Solver, Study
from engine.compiler.costs.calibrate import fit_costs, pools, total_error, with_costs
from engine.compiler.costs.observations import Compile, Observations, structure_hash
from engine.compiler.costs.refit import refitted
from engine.compiler.costs.trust import left_out
from engine.compiler.reading.observation import observe
from engine.compiler.steering.export import SORT_ORDER, both_rules, matcher_of, matchers, sort_rules
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    ParseInterruptedError,
    ProgramFormatError,
    SolverError,
)
from engine.plan.model import Plan
from engine.program import library
from engine.program.hlo.build import Imported, build_program
from engine.program.hlo.flow import Flow
from engine.program.model import Program
from engine.program.prices import MODEL, Price
from engine.solvers import Budget, solve
from tests.compiler.tiny_compiler import NAMES, TinyCompiler, hlo
from tests.program.hlo.modules import HARDWARE, decoded

pytestmark = pytest.mark.usefixtures("parsed_here")


def program() -> Imported:
    return build_program(decoded(hlo([])), "tiny", HARDWARE, "tiny")


def study(compiler: TinyCompiler, said: list[str]) -> Study:
    imported = program()
    slow = observe(imported, imported.flow)
    found = Observations(
        "tiny",
        structure_hash(imported.program),
        {},
        pools(imported, slow),
        Compile("slow", SLOW_OPTIONS, slow),
        (),
    )
    return Study(
        imported,
        compiler,  # type: ignore[arg-type]
        found,
        [lambda costed: solve("density", costed, Budget(seconds=5.0))],
        said.append,
    )


@pytest.mark.nightly
def test_in_the_end_our_own_plans_are_predicted() -> None:
    compiler, said = TinyCompiler(), []
    done = study(compiler, said)
    found = done.run(12)
    assert len(found.compiles) == len(compiler.whole) < 12
    assert [c.stall_cycles for c in found.compiles] == [0.0] * len(found.compiles), "no copies"
    fit = fit_costs(done.program, found.pools, found.slow.seen, [c.seen for c in found.compiles])
    for fast in (["b", "y"], ["a", "y"], ["b", "z"]):
        seen = observe(done.imported, done._flow(hlo(fast), "test"))
        assert total_error(done.program, fit, seen) == pytest.approx(0.0, abs=1e-3)
    assert "knobs" not in [c.name for c in found.compiles], "they change nothing here"
    placements = {c.seen.is_fast.tobytes() for c in found.compiles}
    assert len(placements) == len(found.compiles), "nothing is compiled twice"
    assert ["prediction off by" in line for line in said] == [n > 1 for n in range(len(said))]


def test_what_one_placement_alone_has_shown_is_shown_by_another() -> None:
    compiler = TinyCompiler()
    done = study(compiler, [])
    found = done.run(12)
    asked_again = [c.name for c in found.compiles if c.name.startswith("again-")]
    assert len(asked_again) > 0
    first = replace(found, compiles=found.compiles[:-1])
    assert max(abs(one.error) for one in left_out(done.program, first)) > LONE_ERROR
    assert max(abs(one.error) for one in left_out(done.program, found)) <= LONE_ERROR


def test_where_everything_fits_fewer_copies_give_another_placement() -> None:
    """Else no compile could be held out, and nothing would confirm the costs."""
    compiler = TinyCompiler(room=len(NAMES))
    found = study(compiler, []).run(12)
    assert [c.options for c in found.compiles] == [{}, FEWER_COPIES[0]]
    assert found.compiles[1].seen.is_fast.sum() < found.compiles[0].seen.is_fast.sum()


def test_a_placement_that_repeats_what_was_mispredicted_is_asked_for() -> None:
    compiler = TinyCompiler(room=3)
    done = study(compiler, [])
    options = {SORT_ORDER: sort_rules(["y", "a", "z"])}
    lone = Compile("plan-1", options, observe(done.imported, done._flow(hlo(["y", "a"]), "test")))
    asked = done._alike(0, lone, [])
    assert asked is not None and sorted(compiler.placed(asked)) == ["a", "y", "z"]
    elsewhere = observe(done.imported, done._flow(hlo(["b"]), "test"))
    assert done._alike(0, replace(lone, seen=elsewhere), []) is None


def test_a_slot_is_placed_alike_where_all_its_accesses_are() -> None:
    done = study(TinyCompiler(), [])
    ay, ayz, by = (
        observe(done.imported, done._flow(hlo(fast), "test"))
        for fast in (["a", "y"], ["a", "y", "z"], ["b", "y"])
    )
    assert is_placed_alike(done.program, ay, ayz).tolist() == [True, False]
    assert is_placed_alike(done.program, ay, by).tolist() == [False, False]


def test_a_placement_close_to_another_goes_without_some_of_its_rules_and_groups() -> None:
    done = study(TinyCompiler(), [])
    nothing = np.zeros(len(done.program.accesses), dtype=bool)
    first, last = ([matcher_of(f"{kind}{n}") for n in range(40)] for kind in "fl")
    options = {SORT_ORDER: both_rules(first, last), "other": "1"}
    asked = close_to(done.program, options, nothing, 1)
    assert asked["other"] == "1"
    for all_of_them, some in zip((first, last), matchers(asked[SORT_ORDER]), strict=True):
        assert 20 < len(some) < 40 and some == [m for m in all_of_them if m in some]
    assert asked == close_to(done.program, options, nothing, 1)
    assert asked != close_to(done.program, options, nothing, 2)
    assert close_to(done.program, {"other": "1"}, nothing, 1) == {"other": "1"}
    everything = [close_to(done.program, {}, ~nothing, seed) for seed in range(60)]
    away = [name for asked in everything for name in asked.get(SORT_ORDER, "").split('"')[1::2]]
    assert set(away) == set(NAMES) and len(away) < 60


def test_the_plans_of_every_solver_are_asked_for_before_a_study_ends() -> None:
    asked: list[str] = []

    def planner(name: str) -> Solver:
        def plan(costed: Program) -> Plan:
            asked.append(name)
            return solve("density", costed, Budget(seconds=5.0))

        return plan

    done = study(TinyCompiler(), [])
    done.solvers = [planner("first"), planner("second"), planner("third")]
    assert len(done.run(12).compiles) < 12
    assert asked[:3] == ["first", "second", "third"]


def test_a_solver_that_fails_is_told_and_passed_over() -> None:
    def failing(costed: Program) -> Plan:
        raise SolverError("it refuses this program")

    compiler, said = TinyCompiler(), list[str]()
    done = study(compiler, said)
    done.solvers = [failing, *done.solvers]
    found = done.run(12)
    assert any(one.name.startswith("plan-") for one in found.compiles)
    assert "tiny: no plan: it refuses this program" in said


def test_an_aborting_compile_is_told_and_passed_over() -> None:
    compiler, said = TinyCompiler(refuses="by"), []
    found = study(compiler, said).run(12)
    assert any("it aborted" in line for line in said)
    assert len(found.compiles) >= 2
    assert all(sorted(compiler.placed(c.options)) != ["b", "y"] for c in found.compiles)


class Killed(TinyCompiler):
    """A tiny compiler whose second whole compile is killed."""

    num_begun = 0

    def full(self, options: Mapping[str, str]) -> Compiled:
        self.num_begun += 1
        if self.num_begun == 2:
            raise CompileInterruptedError("the compiler was killed")
        return super().full(options)


@pytest.mark.parametrize("refused", ["by", "yz"])
def test_a_placement_that_the_compiler_refuses_is_compiled_once(refused: str) -> None:
    compiler = TinyCompiler(refuses=refused)
    done = study(compiler, [])
    done.run(12)
    whole = [tuple(sorted(compiler.placed(options))) for options in compiler.whole]
    assert done.refused == whole.count(tuple(refused)) == 1
    assert len(set(whole)) == len(whole)


def test_a_placement_whose_compile_was_killed_may_be_asked_for_again() -> None:
    options = {SORT_ORDER: sort_rules(["y", "z"])}
    for compiler, is_new in ((Killed(), True), (TinyCompiler(refuses="yz"), False)):
        done = study(compiler, [])
        done.compile("default", {})
        assert done.compile("plan-1", options) == math.inf
        other = {SORT_ORDER: sort_rules(["z", "y"])}
        assert (done._placement(other) is not None) == is_new


@pytest.mark.parametrize("kind", [ProgramFormatError, ParseInterruptedError])
def test_a_compile_that_cannot_be_read_is_told_and_passed_over(
    kind: type[ProgramFormatError], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, said = TinyCompiler(), list[str]()
    done = study(compiler, said)
    read, unreadable = done._flow, hlo(compiler.placed({}), has_cycles=False)

    def flow(text: str, name: str) -> Flow:
        if name.startswith(("plan", "stake")) or text == unreadable:
            raise kind(f"tiny/{name}: XLA's parser was killed")
        return read(text, name)

    monkeypatch.setattr(done, "_flow", flow)
    found = done.run(4)
    assert [one.name for one in found.compiles][:1] == ["default"]
    assert done.refused > 0 and any("parser was killed" in line for line in said)
    assert bool(done._refused_placements) == (kind is ProgramFormatError)


def test_compiles_of_a_study_that_goes_on_have_names_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though the study that goes on knows of no compile that came to nothing before."""
    ways = [sort_rules(names) for names in (("a", "y"), ("b", "y"), ("y", "z"), ("b", "z"))]

    def new(self: Study, *given: object) -> Mapping[str, str] | None:
        return next((o for w in ways if self._placement(o := {SORT_ORDER: w}) is not None), None)

    monkeypatch.setattr(Study, "_best_plan", new)
    monkeypatch.setattr(Study, "_best_proposal", new)
    begun = study(Killed(), [])
    begun.run(4)
    assert begun.refused == 1
    going_on = study(TinyCompiler(), [])
    going_on.observations = begun.observations
    found = going_on.run(12)
    names = [one.name for one in found.compiles]
    assert len(set(names)) == len(names) > len(begun.observations.compiles)
    placements = refitted(going_on.program, found).provenance["placements"]
    assert len(placements) == 1 + len(names)


def test_without_the_default_compile_nothing_more_is_compiled() -> None:
    """It has XLA's plan; of everything else there would be no program in the end."""
    compiler = TinyCompiler(refuses="ab")
    assert sorted(compiler.placed({})) == ["a", "b"]
    with pytest.raises(CompilerError, match="it aborted"):
        study(compiler, []).run(8)
    assert compiler.whole == [{}]


def test_a_study_ends_though_every_other_whole_compile_fails() -> None:
    compiler, said = TinyCompiler(refuses_all=True), []
    found = study(compiler, said).run(5)
    assert [one.name for one in found.compiles] == ["default"]
    assert sum("it aborted" in line for line in said) == 4


def test_how_long_a_study_may_take_and_what_compiles_take_is_told() -> None:
    """Once for each compile; a prediction from next to nothing tells nothing and is left out."""
    said: list[str] = []
    found = study(TinyCompiler(whole_s=60.0, early_s=15.0), said).run(8)
    ahead = [line for line in said if "to go" in line]
    assert ahead[:2] == [
        "tiny: at most 8 whole compiles to go, about 16 min",
        "tiny: at most 7 whole compiles to go, about 14 min",
    ]
    assert len(set(ahead)) == len(ahead) == len(found.compiles) + 1
    default, *others = (line for line in said if "to go" not in line)
    assert default == "tiny default: total 160,000 cycles, 0 of them stalls"
    assert ["prediction off by" in line for line in others] == [n > 0 for n in range(len(others))]


def test_stalls_and_prices_are_part_of_a_compiles_total() -> None:
    done = study(TinyCompiler(), [])
    seen = done.observations.slow.seen
    one = Compile("one", {}, seen, 5_000.0)
    said = done._in_words(one, done._priced(seen), 0.0)
    assert said == "total 225,000 cycles, 5,000 of them stalls"
    done.imported = replace(done.imported, prices={0: Price(1e-6, MODEL)})
    clock = done.program.hardware.clock_hz
    priced = done._priced(seen)
    said = done._in_words(one, priced, 0.0)
    assert said == f"total {225_000 + 1e-6 * clock:,.0f} cycles, 5,000 of them stalls, 1,000 prices"
    unknown = done._in_words(replace(one, stall_cycles=None), priced, 0.0)
    assert "without its stalls, which cannot be read" in unknown
    # A price may depend on the costs of others, so these are fitted as they are in the end.
    fast = observe(done.imported, done._flow(hlo(["a", "y"]), "test"))
    fit = fit_costs(done.program, done.observations.pools, seen, [fast])
    fitted = with_costs(done.program, fit).accesses
    assert done._priced(fast).accesses == fitted != done.program.accesses


@pytest.mark.nightly
def test_a_study_goes_on_where_it_stopped() -> None:
    first = TinyCompiler()
    begun = study(first, []).run(3)
    second = TinyCompiler(whole=list(first.whole))
    going_on = study(second, [])
    going_on.observations = begun
    whole = going_on.run(12)
    assert whole.compiles[:3] == begun.compiles
    assert len(second.whole) == len(whole.compiles)


def test_a_proposal_puts_first_what_is_at_stake_and_fits() -> None:
    imported = program()
    fit = fit_costs(imported.program, (0, 1), observe(imported, imported.flow), [])
    stake = stakes(imported.program, fit)
    assert (stake > 0).all()
    rules = proposal(imported.program, stake, [], seed=1)[SORT_ORDER]
    assert {n for n in NAMES if f'"{n}"' in rules} == set(NAMES)
    only = np.where(np.arange(len(stake)) == 0, stake, 0.0)
    assert re.findall(r'regex: "(\w+)"', proposal(imported.program, only, [], 1)[SORT_ORDER]) == [
        "a"
    ]


def test_what_has_no_name_in_hlo_is_not_asked_for() -> None:
    """What goes round a loop in a place of its own."""
    plain = program().program
    values = tuple(replace(v, name=f"while{{carried {n}}}") for n, v in enumerate(plain.values))
    unnamed = replace(plain, values=values)
    everything = np.ones(len(plain.accesses))
    assert proposal(unnamed, everything, [], 1) == {SORT_ORDER: ""}
    assert all(close_to(unnamed, {}, everything > 0, seed) == {} for seed in range(60))
    assert any(close_to(plain, {}, everything > 0, seed) for seed in range(60))


def test_what_was_always_fast_is_sometimes_put_last() -> None:
    imported = program()
    always = [np.ones(len(imported.program.accesses), dtype=bool)]
    stake = np.zeros(len(imported.program.accesses))
    rules = " ".join(
        proposal(imported.program, stake, always, seed)[SORT_ORDER] for seed in range(9)
    )
    assert "assign_last: true" in rules
    assert "assign_value" not in rules


def test_a_large_program_gets_no_more_rules_than_a_small_one() -> None:
    """Hundreds of rules slow a compile down to minutes."""
    large = library.load_sample("alphatensor-v5e-b4-train")
    stake = np.ones(len(large.accesses))
    always = [np.ones(len(large.accesses), dtype=bool)]
    rules = proposal(large, stake, always, seed=0)[SORT_ORDER]
    values = max(len(group.values) for group in large.groups)
    assert MOST_LAST < rules.count("regex") <= (MOST_FIRST + MOST_LAST) * values
    assert 0 < rules.count("assign_last") <= MOST_LAST * values


def test_what_does_not_fit_beside_the_others_is_left_out() -> None:
    imported = program()
    small = with_costs(
        imported.program, fit_costs(imported.program, (0, 1), observe(imported, imported.flow), [])
    )
    sizes = [small.groups[g].size_bytes for g in range(len(small.groups))]
    assert packed(small, range(len(sizes))) == list(range(len(sizes)))
    assert packed(small, []) == []


def test_a_compile_is_worth_what_it_resolves() -> None:
    imported = program()
    stake = np.array([8.0, 4.0, 2.0, 1.0, 0.0, 0.0])
    nothing = np.zeros(6, dtype=bool)
    first = nothing.copy()
    first[0] = True
    both = nothing.copy()
    both[:2] = True
    assert worth(imported.program, (0, 1), [], stake, nothing) == 0.0
    assert worth(imported.program, (0, 1), [], stake, first) == 8.0
    # Seen together, both are known only in part; afterwards, one alone resolves both.
    assert worth(imported.program, (0, 1), [], stake, both) == 6.0
    assert worth(imported.program, (0, 1), [both], stake, first) == 12.0
    assert worth(imported.program, (0, 1), [both], stake, both) == 0.0
