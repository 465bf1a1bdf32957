"""The loop of `tune` on a made-up compiler: budget, best, failures, and going on after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.compiler.reading.observation import Observation
from engine.compiler.steering import tune as module
from engine.compiler.steering.candidates import (
    exported_candidates,
    pass_option_candidates,
    random_rules,
    vary,
)
from engine.compiler.steering.export import (
    CROSS_PROGRAM,
    EXPORT,
    SORT_ORDER,
    Steering,
    both_rules,
    matchers,
    sort_rules,
)
from engine.compiler.steering.flags_file import Flags
from engine.compiler.steering.outcome import Outcome
from engine.compiler.steering.program_options import ProgramOption
from engine.compiler.steering.tune import TuneLog, Tuning, captured_trials
from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.compiler.toolchain.target import Target, target_of
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    ParseInterruptedError,
    ProgramFormatError,
    SolverError,
    UsageError,
)
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.prices import PROFILE, Price, with_prices
from engine.solvers import Budget, solve
from engine.workflows import program_search as program_search_module
from engine.workflows import tuning as tuned_module
from engine.workflows.program_search import ProgramSearch, Tried
from engine.workflows.tuning import Tuned, tune_program

DEFAULT_CYCLES = 1000.0


class FakeAnswers:
    """Which options were compiled in full, in this process or an earlier one."""

    target = Target("tpu-v5e")
    stablehlo = b""

    def __init__(self) -> None:
        self.full: list[str] = []

    def has_full(self, options: Mapping[str, str]) -> bool:
        return key(options) in self.full

    def under(self, options: Mapping[str, str]) -> FakeAnswers:
        """As little is known under other options as under these."""
        return self


def key(options: Mapping[str, str]) -> str:
    return str(sorted(options.items()))


class FakeSession:
    """A compiler that places one value more per candidate and takes the cycles it is told to."""

    def __init__(
        self,
        program: Program,
        plan: Plan,
        answers: FakeAnswers,
        cycles: Callable[[Mapping[str, str]], float],
        default_cycles: float = DEFAULT_CYCLES,
    ) -> None:
        self.program, self.plan, self.answers, self.cycles = program, plan, answers, cycles
        self.default_cycles = default_cycles
        self.imported = None
        self.stall_cycles = 10.0
        self.asked: list[str] = []
        self.limit = 10_000

    def with_costs(self, program: Program) -> FakeSession:
        other = copy(self)
        other.program = program
        return other

    def early(self, options: Mapping[str, str]) -> Outcome:
        return self._outcome(options, None)

    def full(self, options: Mapping[str, str]) -> Outcome:
        if key(options) not in self.answers.full:
            if len(self.asked) == self.limit:
                raise KeyboardInterrupt
            self.asked.append(key(options))
            self.answers.full.append(key(options))
        return self._outcome(options, self.cycles(options) if options else self.default_cycles)

    def valid_plan(self, options: Mapping[str, str]) -> Plan:
        return replace(self.plan, program_hash=content_hash(self.program))

    def _outcome(self, options: Mapping[str, str], cycles: float | None) -> Outcome:
        pattern = np.frombuffer(key(options).encode(), dtype=np.uint8) % 2 == 0
        return Outcome(
            as_read=replace(self.plan, program_hash=content_hash(self.program)),
            predicted=simulate(self.program, self.plan),
            observation=Observation(np.zeros(1), pattern),
            refused={},
            names=frozenset(),
            cycles=cycles,
            stall_cycles=None if cycles is None else self.stall_cycles,
            seconds=0.0,
        )


@pytest.fixture(autouse=True)
def _other_costs(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a correction, which needs HLO: every saving is twice what it was."""
    accesses = tuple(replace(a, saving_s=2 * a.saving_s) for a in program.accesses)
    other = replace(program, accesses=accesses)
    monkeypatch.setattr(module, "corrected", lambda imported, seen: other)


@pytest.fixture(scope="module")
def program() -> Program:
    return library.resolve("gptdecode-v5e-b8")


@pytest.fixture(scope="module")
def plan(program: Program) -> Plan:
    return solve("greedy", program, Budget(1.0, 0))


def tuning(session: Any, plan: Plan, **changes: Any) -> Tuning:
    given: dict[str, Any] = {
        "session": session,
        "compiles": 8,
        "deadline": time.monotonic() + 600,
        "seed": 0,
        "plan_fn": lambda program, seconds, seed: made_for(program, plan),
        "note": lambda _: None,
        "log": TuneLog(None),
    }
    return Tuning(**{**given, **changes})


def made_for(program: Program, plan: Plan) -> Plan:
    """The same plan, of the program with other costs."""
    return replace(plan, program_hash=content_hash(program))


def no_cross_program(options: Mapping[str, str]) -> float:
    """Only this option helps."""
    return 900.0 if options == {CROSS_PROGRAM: "0"} else 1100.0


def test_the_budget_holds_and_the_best_is_the_best_compiled(program: Program, plan: Plan) -> None:
    costs = iter([1100.0, 950.0, 920.0, 930.0, 1200.0, 940.0, 990.0])
    chosen: dict[str, float] = {}
    session = FakeSession(
        program, plan, FakeAnswers(), lambda o: chosen.setdefault(key(o), next(costs))
    )
    run = tuning(session, plan)
    run.run()
    assert len(session.asked) == run.num_compiles == 8
    assert run.best is not None
    assert chosen[key(run.best.candidate.options)] == 920.0


def test_nothing_better_is_no_answer_but_the_default(program: Program, plan: Plan) -> None:
    run = tuning(FakeSession(program, plan, FakeAnswers(), lambda _: DEFAULT_CYCLES), plan)
    run.run()
    assert run.num_compiles == 8
    assert run.best is None


@pytest.mark.nightly
def test_an_abort_costs_a_candidate_and_no_more(program: Program, plan: Plan) -> None:
    told: list[str] = []

    def aborting(options: Mapping[str, str]) -> float:
        if CROSS_PROGRAM in options:
            raise CompilerError("the compiler aborted (code -6) with the options …")
        return 900.0

    run = tuning(FakeSession(program, plan, FakeAnswers(), aborting), plan, note=told.append)
    run.run()
    assert run.best is not None
    assert CROSS_PROGRAM not in run.best.candidate.options
    assert any("aborted (code -6)" in line for line in told)


def test_a_solver_that_fails_is_told_and_the_others_have_their_turns(
    program: Program, plan: Plan
) -> None:
    def taking_turns(program: Program, seconds: float, seed: int) -> Plan:
        if seed % 2 == 0:
            raise SolverError("it refuses this program")
        return made_for(program, plan)

    told: list[str] = []
    session = FakeSession(program, plan, FakeAnswers(), lambda _: 950.0)
    run = tuning(session, plan, plan_fn=taking_turns, note=told.append)
    run.run()
    assert "no plan: it refuses this program" in told
    assert any(trial.candidate.origin == EXPORT for trial in run.trials)
    assert run.num_compiles == run.compiles


def test_a_killed_run_goes_on(program: Program, plan: Plan, tmp_path: Path) -> None:
    answers = FakeAnswers()
    session = FakeSession(program, plan, answers, lambda _: 950.0)
    session.limit = 4
    path = tmp_path / "runs" / "log.json"
    with pytest.raises(KeyboardInterrupt):
        tuning(session, plan, log=TuneLog(path)).run()
    again = FakeSession(program, plan, answers, lambda _: 950.0)

    def another_plan(program: Program, seconds: float, seed: int) -> Plan:
        raise AssertionError("the first run's exports are known, and its compiles are spent")

    run = tuning(again, plan, log=TuneLog(path), compiles=4, plan_fn=another_plan)
    run.run()
    assert len(session.asked) == run.num_compiles == 4
    assert again.asked == []
    assert run.best is not None
    run = tuning(again, plan, log=TuneLog(path), compiles=5)
    run.run()
    assert len(again.asked) == 1


def test_a_plan_of_the_users_is_compiled_though_earlier_runs_used_up_the_compiles(
    program: Program, plan: Plan, tmp_path: Path
) -> None:
    answers, path, told = FakeAnswers(), tmp_path / "log.json", list[str]()
    first = FakeSession(program, plan, answers, lambda _: 950.0)
    tuning(first, plan, log=TuneLog(path), compiles=4).run()
    again = FakeSession(program, plan, answers, lambda _: 940.0)
    mine = solve("density", program, Budget(1.0, 0))
    again_given: dict[str, Any] = {"log": TuneLog(path), "compiles": 4, "note": told.append}
    run = tuning(again, plan, plans=[mine], **again_given)
    run.run()
    asked = [key(c.options) for c in exported_candidates(program, mine, range(4))]
    assert len(again.asked) == 1 and again.asked[0] in asked
    assert any("earlier runs made the 4 whole compiles; --compiles 7 goes on" in t for t in told)


def test_without_compiles_nothing_is_said_of_earlier_runs(program: Program, plan: Plan) -> None:
    told: list[str] = []
    session = FakeSession(program, plan, FakeAnswers(), lambda _: 950.0)
    tuning(session, plan, plans=[plan], compiles=1, note=told.append).run()
    assert session.asked == ["[]"]
    assert not any("earlier runs" in text for text in told)


def test_fewer_compiles_than_before_take_the_best_of_all_that_is_cached(
    program: Program, plan: Plan, tmp_path: Path
) -> None:
    costs = iter([1100.0, 990.0, 950.0, 970.0, 980.0])
    known: dict[str, float] = {}
    answers, path = FakeAnswers(), tmp_path / "log.json"
    session = FakeSession(
        program, plan, answers, lambda o: known.get(key(o)) or known.setdefault(key(o), next(costs))
    )
    first = tuning(session, plan, log=TuneLog(path), compiles=6)
    first.run()
    log = TuneLog(path)
    log.candidates.reverse()
    again = tuning(session, plan, log=log, compiles=2, deadline=time.monotonic() - 1)
    again.run()
    assert first.best is not None and again.best is not None
    assert again.best.candidate.options == first.best.candidate.options
    assert len(session.asked) == 6


class PlacesAlike(FakeSession):
    """Options without rules place as the default does."""

    def _outcome(self, options: Mapping[str, str], cycles: float | None) -> Outcome:
        made = super()._outcome(options if SORT_ORDER in options else {}, cycles)
        return replace(made, cycles=cycles)


def test_what_places_as_the_default_does_is_not_compiled_whole(
    program: Program, plan: Plan
) -> None:
    session = PlacesAlike(program, plan, FakeAnswers(), lambda _: 950.0)
    run = tuning(session, plan, compiles=6)
    run.run()
    asked = [trial.candidate.options for trial in run.trials if trial.full is not None]
    assert len(asked) == 5
    assert all(SORT_ORDER in options for options in asked)


def test_what_is_compiled_counts_as_compiled_and_not_as_predicted(
    program: Program, plan: Plan
) -> None:
    """All are predicted alike; variations come of the export that was compiled best."""
    exports = exported_candidates(program, plan, [0])
    best = key(exports[1].options)
    session = FakeSession(
        program, plan, FakeAnswers(), lambda o: 900.0 if key(o) == best else 1200.0
    )
    run = tuning(session, plan, compiles=9)
    run.default = session.full({})
    assert len(run._try(exports)) == len(exports) > 2
    for trial in list(run.trials):
        run._compile(trial)
    predicted = [1010 * run.predicted_s(trial) / run._default_s for trial in run.trials]
    assert predicted == pytest.approx([910 if t is run.best else 1210 for t in run.trials])
    run._try_varied()
    varied = run.trials[len(exports) :]
    assert varied and all(t.candidate.title.endswith(exports[1].title) for t in varied)


def test_what_could_not_be_compiled_is_not_asked_for_again_in_the_run(
    program: Program, plan: Plan
) -> None:
    """An interrupted compile is no answer that is kept."""
    asked: list[str] = []

    class Interrupted(FakeSession):
        def full(self, options: Mapping[str, str]) -> Outcome:
            if not options:
                return super().full(options)
            asked.append(key(options))
            raise CompileInterruptedError("the compiler was killed")

    run = tuning(Interrupted(program, plan, FakeAnswers(), lambda _: 900.0), plan, compiles=99)
    exports = exported_candidates(program, plan, range(4))
    for _ in range(2 * len(exports)):
        run.default = run.session.full({})
        run._begin_round()
        run._try(exports)
        run._compile_best()
    assert len(asked) == len(set(asked)) == len(exports)


class Refusing(FakeSession):
    """Compiles the default alone; all else ends in an error of this kind, which may be kept."""

    kind: type[CompilerError] = CompilerError

    def full(self, options: Mapping[str, str]) -> Outcome:
        if options:
            assert len(self.asked) < 20, "it goes on without an end"
            self.asked.append(key(options))
            if self.kind is not CompileInterruptedError:
                self.answers.full.append(key(options))
            raise self.kind("the compiler aborted")
        return super().full(options)


@pytest.mark.parametrize("kind", [CompilerError, CompileInterruptedError])
def test_whole_compiles_that_come_to_nothing_count(
    program: Program, plan: Plan, kind: type[CompilerError]
) -> None:
    told: list[str] = []
    session = Refusing(program, plan, FakeAnswers(), lambda _: 900.0)
    session.kind = kind
    run = tuning(session, plan, compiles=5, note=told.append)
    run.run()
    assert len(session.asked) == run.num_compiles == 5
    assert sum(text.startswith("whole compile 3 of 5: ") for text in told) == 1
    assert run.best is None and not run.ran_out


@pytest.mark.parametrize("kind", [ProgramFormatError, ParseInterruptedError])
def test_a_compile_that_cannot_be_read_costs_a_candidate_and_no_more(
    program: Program, plan: Plan, kind: type[ProgramFormatError]
) -> None:
    class Unreadable(FakeSession):
        def early(self, options: Mapping[str, str]) -> Outcome:
            if CROSS_PROGRAM in options:
                raise kind("compiled: XLA's parser was killed")
            return super().early(options)

        def full(self, options: Mapping[str, str]) -> Outcome:
            if len(self.asked) == 2:
                self.asked.append(key(options))
                raise kind("compiled: XLA's parser was killed")
            return super().full(options)

    told: list[str] = []
    session = Unreadable(program, plan, FakeAnswers(), lambda _: 900.0)
    run = tuning(session, plan, compiles=5, note=told.append)
    run.run()
    assert run.num_compiles == 5 and run.num_failed == 1 and run.best is not None
    assert sum("parser was killed" in text for text in told) > 1
    assert bool(run.refused_patterns) == (kind is ProgramFormatError)


class AllAlike(Refusing):
    """All candidates place alike."""

    def _outcome(self, options: Mapping[str, str], cycles: float | None) -> Outcome:
        made = super()._outcome({"a": "1"} if options else {}, cycles)
        return replace(made, cycles=cycles)


@pytest.mark.parametrize(("kind", "times"), [(CompilerError, 1), (CompileInterruptedError, 4)])
def test_a_placement_that_the_compiler_refused_is_not_asked_for_again(
    program: Program, plan: Plan, kind: type[CompilerError], times: int
) -> None:
    """But one whose compile was killed is, under other options."""
    session = AllAlike(program, plan, FakeAnswers(), lambda _: 900.0)
    session.kind = kind
    run = tuning(session, plan, compiles=5)
    run.default = run.session.full({})
    run._begin_round()
    run._try(exported_candidates(program, plan, range(4)))
    assert len(run.trials) > 4
    for _ in range(4):
        run._compile_best()
    assert len(session.asked) == 1 + times


def test_the_baseline_has_no_plans(program: Program, plan: Plan) -> None:
    session = FakeSession(program, plan, FakeAnswers(), no_cross_program)
    log = TuneLog(None)
    log.add(exported_candidates(program, plan, [0])[0])
    run = tuning(session, plan, is_planning=False, first_random=6, log=log)
    run.run()
    origins = {t.candidate.origin for t in run.trials}
    assert origins == {"knob", "random"}
    assert run.num_compiles == 8


@pytest.mark.parametrize("is_better", [True, False])
def test_the_answer_is_the_best_with_the_baseline_beside_it(
    program: Program, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_better: bool
) -> None:
    def cycles(options: Mapping[str, str]) -> float:
        if "assign_value" in str(options):
            return 900.0 if is_better else 1500.0
        return 950.0 if is_better else 1200.0

    session = FakeSession(program, plan, FakeAnswers(), cycles)
    monkeypatch.setattr(tuned_module, "compile_session", lambda program, answers: session)
    monkeypatch.setattr(tuned_module, "verify", lambda session, asked, usual: None)
    tuned = tune_program(
        program,
        lambda program, seconds, seed: made_for(program, plan),
        compiles=6,
        seconds=600,
        folder=tmp_path,
        has_program_options=False,
        plans=[plan],
    )
    assert tuned.compiles == 6
    assert tuned.flags.program_hash == content_hash(program)
    if is_better:
        assert "assign_value" in str(tuned.flags.compiler_options)
        assert tuned.flags.aims
        assert (tuned.random_compiles, tuned.compiles) == (6, 6)
        assert tuned.random_improvement == pytest.approx(50 / 1010)
        assert "assign_value" not in str(tuned.random_options)
    else:
        assert tuned.flags.compiler_options == {}
        assert (tuned.random_improvement, tuned.random_options) == (0.0, None)


def test_what_is_best_so_far_is_kept_though_the_search_is_broken_off(
    program: Program, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, float] = {}
    totals = iter([990.0, 995.0, 970.0, 980.0])

    def cycles(options: Mapping[str, str]) -> float:
        """The first and the third options are the best so far, the other two are not."""
        return known.get(key(options)) or known.setdefault(key(options), next(totals))

    session = FakeSession(program, plan, FakeAnswers(), cycles)
    session.limit = 5
    monkeypatch.setattr(tuned_module, "compile_session", lambda program, answers: session)
    kept: list[Flags] = []
    with pytest.raises(KeyboardInterrupt):
        tune_program(
            program,
            lambda program, seconds, seed: made_for(program, plan),
            compiles=9,
            seconds=600,
            folder=tmp_path,
            has_program_options=False,
            keep=kept.append,
        )
    assert len(known) == 4
    assert [cycles(flags.compiler_options) for flags in kept] == [990.0, 970.0]
    gains = [1 - (cycles(flags.compiler_options) + 10) / 1010 for flags in kept]
    assert [flags.notes["improvement"] for flags in kept] == pytest.approx(gains)
    assert all(flags.program_hash == content_hash(program) for flags in kept)


def test_the_baseline_has_as_long_as_the_search(
    program: Program, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one compile takes longer than all the seconds: none would be no baseline."""
    now = 0.0

    def cycles(options: Mapping[str, str]) -> float:
        nonlocal now
        now += 0.0 if key(options) in known else 100.0
        known.add(key(options))
        return 900.0

    known: set[str] = set()
    session = FakeSession(program, plan, FakeAnswers(), cycles)
    monkeypatch.setattr(tuned_module, "compile_session", lambda program, answers: session)
    monkeypatch.setattr(tuned_module, "verify", lambda session, asked, usual: None)
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(tuned_module, "time", clock)
    tuned = tune_program(
        program,
        lambda program, seconds, seed: made_for(program, plan),
        compiles=6,
        seconds=10,
        folder=tmp_path,
        has_program_options=False,
    )
    assert tuned.compiles == tuned.random_compiles == 2
    assert tuned.random_improvement == pytest.approx(100 / 1010)


def test_a_program_with_nothing_to_export_is_tuned_by_options_and_random_rules(
    program: Program, plan: Plan
) -> None:
    told: list[str] = []
    slow = solve("all_slow", program)
    session = FakeSession(program, plan, FakeAnswers(), no_cross_program)
    run = tuning(
        session,
        plan,
        plans=[slow],
        plan_fn=lambda program, seconds, seed: made_for(program, slow),
        note=told.append,
    )
    run.run()
    assert {t.candidate.origin for t in run.trials} == {"knob", "random"}
    assert run.best is not None
    assert any("serves nothing from fast memory" in line for line in told)


def test_a_run_that_goes_on_tries_random_rules_that_its_log_has_not(
    program: Program, plan: Plan
) -> None:
    log = TuneLog(None)
    for number in range(20):
        log.add(random_rules(0, number))
    run = tuning(FakeSession(program, plan, FakeAnswers(), lambda _: 950.0), plan, log=log)
    run.default = run.session.full({})
    run._try([c for c in log.candidates if c.origin == "random"])
    assert len(run.trials) == 20
    run._try_random()
    assert len(run.trials) == 24


def test_time_that_is_over_leaves_the_default(program: Program, plan: Plan) -> None:
    session = FakeSession(program, plan, FakeAnswers(), lambda _: 900.0)
    run = tuning(session, plan, deadline=time.monotonic() - 1)
    run.run()
    assert session.asked == ["[]"]
    assert run.best is None


def test_time_that_passes_after_a_run_does_not_say_that_it_ran_out(
    program: Program, plan: Plan, clock: SimpleNamespace
) -> None:
    """The run ends early for want of candidates: every early stop is refused."""

    class Refusing(FakeSession):
        def early(self, options: Mapping[str, str]) -> Outcome:
            raise CompilerError("the compiler refused it")

    session = Refusing(program, plan, FakeAnswers(), lambda _: 900.0)
    run = tuning(session, plan, deadline=100.0)
    run.run()
    assert run.num_compiles == 1
    assert not run.ran_out
    clock.seconds = 200.0
    assert not run.ran_out


def test_random_rules_differ_and_are_the_seeds(program: Program, plan: Plan) -> None:
    rules = [str(random_rules(0, n).options) for n in range(40)]
    assert rules == [str(random_rules(0, n).options) for n in range(40)]
    assert len(set(rules)) == 40
    assert rules[0] != str(random_rules(1, 0).options)
    some = exported_candidates(program, plan, [1])
    assert len(some) == 3
    assert all(
        {k: v for k, v in c.options.items() if k != SORT_ORDER} == {CROSS_PROGRAM: "0"}
        for c in some
    )
    assert len(pass_option_candidates()) == 3


def test_a_variation_has_rules_of_its_export_alone(program: Program, plan: Plan) -> None:
    export = exported_candidates(program, plan, [1])[0]
    order, last = matchers(export.options[SORT_ORDER])
    assert both_rules(order, []) == export.options[SORT_ORDER]
    assert last == []
    moved = both_rules(order[1:], order[:1])
    export = Steering("x", {**export.options, SORT_ORDER: moved})
    made = [vary(export, 0, number) for number in range(20)]
    assert made == [vary(export, 0, number) for number in range(20)]
    texts = {c.options[SORT_ORDER] for c in made}
    assert len(texts) > 10
    for text in texts:
        first, last = matchers(text)
        assert set(first) <= set(order[1:])
        assert last == order[:1]
        assert len(first) == len(set(first)) > len(order) / 2
        assert both_rules(first, last) == text
    assert all(c.options[CROSS_PROGRAM] == "0" for c in made)
    off = Steering("the memory pass off", SLOW_OPTIONS)
    assert {key(vary(off, 0, number).options) for number in range(4)} == {key(SLOW_OPTIONS)}


def test_the_own_steering_of_a_plan_is_tried_whatever_its_options(
    program: Program, plan: Plan
) -> None:
    names = [v.name for v in program.values[:2]]
    told = {"first": names, "last": [], "knobs": {"max_cross_program_prefetches": 0}}
    own = replace(plan, notes={"steering": told})
    found = exported_candidates(program, own, [0])
    assert found[0].options == {SORT_ORDER: sort_rules(names), CROSS_PROGRAM: "0"}
    others = exported_candidates(program, plan, [0])
    assert found[1:] == others


def test_a_log_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    """Else no later run of the program would begin."""
    path, told = tmp_path / "log.json", list[str]()
    log = TuneLog(path)
    log.add(random_rules(0, 0))
    assert TuneLog(path, told.append).candidates == [random_rules(0, 0)]
    assert not told
    for number, damaged in enumerate(('"random"', '"candidates"', '{"format"'), 1):
        path.write_text(path.read_text().replace(damaged, '"surprise"'))
        text = path.read_text()
        anew = TuneLog(path, told.append)
        assert anew.candidates == []
        assert len(told) == number and "set aside as log.json.unreadable" in told[-1]
        assert path.with_name("log.json.unreadable").read_text() == text
        anew.add(random_rules(0, 0))
        assert TuneLog(path, told.append).candidates == [random_rules(0, 0)]


def test_a_log_does_not_grow_past_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, told = tmp_path / "log.json", list[str]()
    log = TuneLog(path, told.append)
    monkeypatch.setattr("engine.files.MAX_JSON", 500)
    for number in range(9):
        log.add(Steering(f"candidate {number}", {SORT_ORDER: sort_rules([f"v{number}"])}))
    assert len(told) == 1 and told[0].startswith("not kept for the next time: ")
    kept = TuneLog(path, told.append).candidates
    assert 0 < len(kept) < 9
    assert kept == log.candidates[: len(kept)]
    assert len(told) == 1


def test_runs_of_one_program_at_a_time_keep_each_others_candidates(tmp_path: Path) -> None:
    """Else the whole compiles of one of them would not be taken up by the next run."""
    path = tmp_path / "runs" / "log.json"
    logs = [TuneLog(path) for _ in range(4)]
    mine = [[random_rules(seed, number) for number in range(5)] for seed in range(len(logs))]

    def add_all(log: TuneLog, candidates: list[Steering]) -> None:
        for candidate in candidates:
            log.add(candidate)

    with ThreadPoolExecutor(len(logs)) as at_once:
        list(at_once.map(add_all, logs, mine))
    kept = TuneLog(path).candidates
    for candidates in mine:
        assert [c for c in kept if c in candidates] == candidates
    assert len(kept) == 20


def test_a_log_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    """As where the folder of answers may only be read."""
    (tmp_path / "file").touch()
    told: list[str] = []
    log = TuneLog(tmp_path / "file" / "log.json", told.append)
    for number in range(3):
        log.add(random_rules(0, number))
    assert len(log.candidates) == 3
    assert len(told) == 1 and told[0].startswith("not kept for the next time: ")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that passes only as the fake compiler says."""
    now = SimpleNamespace(seconds=0.0)
    stopped = SimpleNamespace(monotonic=lambda: now.seconds)
    monkeypatch.setattr(module, "time", stopped)
    monkeypatch.setattr(tuned_module, "time", stopped)
    return now


class SlowBench(FakeSession):
    """Takes 25 s for an early stop and 130 s for a whole compile."""

    now: SimpleNamespace

    def early(self, options: Mapping[str, str]) -> Outcome:
        self.now.seconds += 25.0
        return super().early(options)

    def full(self, options: Mapping[str, str]) -> Outcome:
        is_known = key(options) in self.answers.full
        self.now.seconds += 0.0 if is_known else 130.0
        return replace(super().full(options), seconds=130.0)


@pytest.mark.parametrize("seconds", [20.0, 200.0, 900.0])
@pytest.mark.parametrize("is_better_captured", [False, True])
def test_with_little_time_the_best_candidate_is_compiled_whole(
    program: Program,
    plan: Plan,
    clock: SimpleNamespace,
    seconds: float,
    is_better_captured: bool,
) -> None:
    answers = FakeAnswers()
    answers.full.append("[]")
    known = {"xla_known": "1"}
    if is_better_captured:
        answers.full.append(key(known))
    mine = replace(program, provenance={**program.provenance, "placements": {"stake": known}})
    session = SlowBench(mine, plan, answers, lambda o: 999.0 if o == known else 936.0)
    session.now = clock
    planned_at: list[float] = []

    def plan_fn(program: Program, seconds: float, seed: int) -> Plan:
        planned_at.append(clock.seconds)
        return made_for(program, plan)

    captured = captured_trials(session, TuneLog(None))  # type: ignore[arg-type]
    run = tuning(session, plan, deadline=seconds, plan_fn=plan_fn, captured=captured)
    run.predicted_s = lambda trial: 1e-6 * (1 + len(str(trial.candidate)))  # type: ignore[method-assign]
    run.run()
    assert len(captured) == is_better_captured
    assert run.best is not None and run.best.candidate.origin != "captured"
    assert 2 <= run.num_compiles < run.compiles
    assert run.ran_out
    assert all(at < seconds for at in planned_at) and bool(planned_at) == (seconds > 200.0)
    # It stops exploring in time for a compile, where there is time for one at all.
    assert clock.seconds <= max(seconds, 130.0) + 130.0 + 25.0


def test_what_the_capture_compiled_is_known_for_nothing(program: Program, plan: Plan) -> None:
    answers = FakeAnswers()
    options = {CROSS_PROGRAM: "0"}
    kept = {
        "slow": {"xla_msa_enable": "DISABLED"},
        "default": {},
        "knob": options,
        "gone": {"a": "1"},
    }
    answers.full.append(key(options))
    mine = replace(program, provenance={**program.provenance, "placements": kept})
    session = FakeSession(mine, plan, answers, no_cross_program)
    captured = captured_trials(session, TuneLog(None))  # type: ignore[arg-type]
    run = tuning(session, plan, compiles=2, deadline=time.monotonic() - 1, captured=captured)
    run.run()
    assert [trial.candidate.title for trial in captured] == ["captured: knob"]
    assert run.best is captured[0]
    assert run.num_compiles == 1
    assert session.asked == ["[]"]
    log = TuneLog(None)
    log.add(Steering("tried by an earlier run", options))
    assert captured_trials(session, log) == []  # type: ignore[arg-type]


FIRST, SECOND = ProgramOption("fusion", {"xla_x": "1"}), ProgramOption("scratch", {"xla_y": "1"})


@dataclass
class FakeSearch:
    """A made-up search for program options, and the sessions of the programs that they make.

    The default takes 1010 cycles and stalls, `FIRST` alone 960, `SECOND` 980. `asked`: what was
    verified; `titles`: of the programs that were captured. `broken`: options whose program cannot
    be.
    """

    program: Program
    plan: Plan
    usual: FakeSession
    under: dict[str, FakeSession]
    rough: dict[str, FakeSession]
    beside: FakeSession
    broken: tuple[ProgramOption, ...] = ()
    asked: list[Any] = field(default_factory=list)
    quota: int = 0
    is_short: bool = False
    """Whether time runs out for program options."""

    @property
    def tried(self) -> tuple[Tried, ...]:
        pairs = ((FIRST, 960.0), (SECOND, 980.0))
        made = (
            Tried(s, total, self.rough[next(iter(s.flags))], self.beside)  # type: ignore[arg-type]
            for s, total in pairs
        )
        return tuple(made)[: self.quota]

    def search(self, *given: Any, compiles: int, **more: Any) -> ProgramSearch:
        self.quota = compiles
        return ProgramSearch(self.tried, 1010.0, self.is_short)

    def drawn(self, *given: Any) -> ProgramSearch:
        return ProgramSearch(self.tried[1:], 1010.0, self.is_short)

    def program_under(
        self, program: Program, answers: Any, options: Mapping[str, str], note: Any
    ) -> tuple[Any, list[Any]]:
        if any(options == one.flags for one in self.broken):
            raise CompilerError("the compiler refused it")
        (name,) = options
        return self.under[name], []

    def verified(self, session: Any, verdict_of: Any, beside: Any) -> Any:
        self.asked.append((session, dict(verdict_of.steering.options), beside))
        return SimpleNamespace(improvement=0.1)

    def tuned(self, folder: Path, **changes: Any) -> Tuned:
        given: dict[str, Any] = {"compiles": 12, "seconds": 600, "folder": folder}
        plan_fn = lambda program, seconds, seed: made_for(program, self.plan)  # noqa: E731
        return tune_program(self.program, plan_fn, **{**given, **changes})

    @property
    def num_whole(self) -> int:
        """Whole compiles: the default's, of options, of captures, and of placements."""
        sessions = [self.usual, *self.under.values()]
        placed = sum(len(session.asked) - 1 for session in sessions if session.asked)
        captured = sum(bool(session.asked) for session in self.under.values())
        return 1 + len(self.tried) + 2 * captured + placed


@pytest.fixture
def option_search(program: Program, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    def session(cycles: float, default: float = DEFAULT_CYCLES) -> FakeSession:
        return FakeSession(program, plan, FakeAnswers(), lambda _: cycles, default)

    made = FakeSearch(
        program,
        plan,
        session(1000.0),
        {"xla_x": session(900.0, 950.0), "xla_y": session(970.0, 970.0)},
        {"xla_x": session(1000.0), "xla_y": session(1000.0)},
        session(1000.0),
    )
    monkeypatch.setattr(tuned_module, "compile_session", lambda program, answers: made.usual)
    monkeypatch.setattr(tuned_module, "search_program_options", made.search)
    monkeypatch.setattr(tuned_module, "program_under", made.program_under)
    monkeypatch.setattr(tuned_module, "random_program_options", made.drawn)
    monkeypatch.setattr(tuned_module, "verify", made.verified)
    return made


def test_what_options_and_what_placement_gain_is_told_apart(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    """Rules in the program of the best option take 910."""
    kept: list[Flags] = []
    tuned = option_search.tuned(tmp_path, keep=kept.append)
    assert tuned.program_improvement == pytest.approx(50 / 1010)
    assert tuned.placement_improvement == pytest.approx(0.1 - 50 / 1010)
    assert tuned.random_improvement == pytest.approx(30 / 1010)
    assert tuned.tried_program_options == option_search.tried
    assert tuned.compiles <= 12
    # Of six compiles for program options there is one to draw; rules get the other five.
    assert tuned.random_compiles == tuned.compiles
    assert min(len(session.asked) for session in option_search.under.values()) > 1
    options = dict(tuned.flags.compiler_options)
    assert options["xla_x"] == "1"
    assert "xla_y" not in options
    assert len(options) > 1
    assert tuned.flags.program_options == {"xla_x": "1"}
    assert tuned.flags.program_hash == content_hash(option_search.program)
    assert kept[0].program_options == {"xla_x": "1"}
    assert kept[0].notes["title"] == "xla_x=1"
    ((verified, told, beside),) = option_search.asked
    assert told == options
    # What is predicted of both is by fitted costs.
    assert verified.asked is option_search.under["xla_x"].asked
    assert beside.asked is option_search.usual.asked


def test_what_an_option_gains_counts_though_its_program_cannot_be_captured(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    """Placement is then tuned in the user's own program, where it gains less."""
    option_search.broken = (FIRST, SECOND)
    tuned = option_search.tuned(tmp_path, has_baseline=False)
    assert tuned.flags.program_options == dict(tuned.flags.compiler_options) == {"xla_x": "1"}
    assert tuned.flags.notes["title"] == "xla_x=1"
    assert tuned.program_improvement == pytest.approx(50 / 1010)
    assert len(option_search.usual.asked) > 1
    session, _, beside = option_search.asked[0]
    assert (session, beside) == (option_search.rough["xla_x"], option_search.beside)
    assert option_search.num_whole <= tuned.compiles <= 12


def test_compiles_of_a_capture_that_fails_count(option_search: FakeSearch, tmp_path: Path) -> None:
    """Of two captures each fails after its first compile, with everything slow."""
    option_search.broken = (FIRST, SECOND)
    option_search.usual.answers.full.append(key(SLOW_OPTIONS))
    tuned = option_search.tuned(tmp_path, has_baseline=False)
    assert tuned.compiles == option_search.num_whole + 2 <= 12


def test_a_program_without_any_time_is_refused(option_search: FakeSearch, tmp_path: Path) -> None:
    session = option_search.usual
    session.default_cycles = session.stall_cycles = 0.0
    with pytest.raises(CompilerError, match="nothing to gain"):
        option_search.tuned(tmp_path)
    assert len(session.asked) == 1


def test_options_that_gain_nothing_and_cannot_be_captured_leave_the_default(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    option_search.broken = (FIRST, SECOND)
    option_search.usual.cycles = lambda _: 940.0
    tuned = option_search.tuned(tmp_path, has_baseline=False)
    assert not tuned.flags.program_options
    assert tuned.flags.compiler_options
    assert tuned.program_improvement == 0.0
    assert option_search.asked[0][0] is option_search.usual


@pytest.mark.parametrize("compiles", [2, 3, 4, 5, 6, 8, 12])
def test_captures_of_options_stay_within_the_compiles(
    option_search: FakeSearch, tmp_path: Path, compiles: int
) -> None:
    tuned = option_search.tuned(tmp_path, compiles=compiles, has_baseline=False)
    assert tuned.compiles == option_search.num_whole <= compiles
    if compiles >= 3:
        assert tuned.flags.program_options == {"xla_x": "1"}


def test_what_the_capture_knew_is_kept_before_anything_else_is_compiled(
    option_search: FakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes 930, less than any program option alone; the search is killed at its beginning."""
    options = {CROSS_PROGRAM: "0"}
    usual = option_search.usual
    placements = {"placements": {"knob": options, "gone": {"a": "1"}}}
    provenance = {**option_search.program.provenance, **placements}
    option_search.program = usual.program = replace(usual.program, provenance=provenance)
    usual.answers.full.append(key(options))
    usual.cycles = lambda _: 920.0
    kept: list[Flags] = []
    few: dict[str, Any] = {"compiles": 8, "has_baseline": False}

    def interrupted(*given: Any, **more: Any) -> ProgramSearch:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tuned_module, "search_program_options", interrupted)
        option_search.tuned(tmp_path, keep=kept.append, **few)
    assert [flags.compiler_options for flags in kept] == [options]
    assert usual.asked == ["[]"]
    tuned = option_search.tuned(tmp_path, keep=kept.append, **few)
    assert tuned.captured == 1
    option_search.under["xla_x"].cycles = option_search.under["xla_y"].cycles = lambda _: 970.0
    assert option_search.tuned(tmp_path / "new", **few).flags.compiler_options == options


def test_placements_under_an_option_count_on_the_scale_of_the_users_default(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    """The costs fitted to its program make its default take 1920: twice what the option takes."""
    own = option_search.under["xla_x"]
    own.default_cycles, own.cycles = 1910.0, lambda _: 1810.0
    tuned = option_search.tuned(tmp_path)
    assert tuned.flags.program_options == {"xla_x": "1"}
    assert tuned.program_improvement == pytest.approx(50 / 1010)
    assert len(tuned.flags.compiler_options) > 1


@pytest.fixture
def slow_search(option_search: FakeSearch, clock: SimpleNamespace) -> FakeSearch:
    """The same with whole compiles that take 130 s each."""

    def slow(one: FakeSession) -> SlowBench:
        made = SlowBench(one.program, one.plan, FakeAnswers(), one.cycles, one.default_cycles)
        made.now = clock
        return made

    option_search.usual = slow(option_search.usual)
    option_search.under = {name: slow(one) for name, one in option_search.under.items()}
    return option_search


def test_how_the_seconds_are_spent_and_what_they_do_not_suffice_for_is_told(
    slow_search: FakeSearch, tmp_path: Path, clock: SimpleNamespace
) -> None:
    told: list[str] = []
    tuned = slow_search.tuned(tmp_path, note=told.append)
    assert told[0] == (
        "300 of 600 s to search, the default's compile included;"
        " then as long for a baseline of random options and rules"
    )
    assert 300 < tuned.search_s < tuned.search_s + tuned.baseline_s == clock.seconds
    assert tuned.cut_short == ("program options: 0 of 4", "placement: 2 of 12")
    assert "time ran out for placement: 2 of 12 whole compiles" in told


def test_a_baseline_for_which_time_runs_out_is_told(
    slow_search: FakeSearch, tmp_path: Path
) -> None:
    """An earlier search has compiled what the search compiles, but not what the baseline does."""
    told: list[str] = []
    own: dict[str, Any] = {"has_program_options": False, "compiles": 6, "note": told.append}
    alone = slow_search.tuned(tmp_path, seconds=2000, has_baseline=False, **own)
    assert told[0] == "2000 of 2000 s to search, the default's compile included"
    assert (alone.cut_short, alone.baseline_s) == ((), 0.0)
    resumed = slow_search.tuned(tmp_path, seconds=900, **own)
    assert resumed.cut_short[-1] == "baseline: 5 of 6"


@pytest.mark.parametrize(("left_s", "left_out"), [(820.0, 0), (700.0, 1), (250.0, 2)])
def test_a_capture_that_leaves_no_time_for_placement_is_left_out(
    slow_search: FakeSearch,
    tmp_path: Path,
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    left_s: float,
    left_out: int,
) -> None:
    """Two captures, of two whole compiles each, and one placement in each take 780 s."""

    def search(*given: Any, **more: Any) -> ProgramSearch:
        clock.seconds = 1200.0 - left_s
        return slow_search.search(*given, **more)

    def captured(*given: Any) -> tuple[Any, list[Any]]:
        clock.seconds += 2 * 130.0
        session, seen = slow_search.program_under(*given)
        session.answers.full.append("[]")
        return session, seen

    monkeypatch.setattr(tuned_module, "search_program_options", search)
    monkeypatch.setattr(tuned_module, "program_under", captured)
    tuned = slow_search.tuned(tmp_path, seconds=1200, has_baseline=False)
    told = [text for text in tuned.cut_short if text.startswith("placement under")]
    titles = ["placement under xla_y=1: 0 of 1", "placement under xla_x=1: 0 of 1"]
    assert told == titles[:left_out]
    placed = [bool(session.asked) for session in slow_search.under.values()]
    assert placed == [number < 2 - left_out for number in range(2)]
    assert (len(slow_search.usual.asked) > 1) == (left_out == 2)
    assert clock.seconds < 1200 + 130 + 25


def test_program_options_for_which_time_runs_out_are_told(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    option_search.is_short = True
    tuned = option_search.tuned(tmp_path)
    assert tuned.cut_short == ("program options: 2 of 4", "baseline's program options: 1 of 6")


def test_plans_of_the_users_are_exported_in_the_own_program(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    """Though two options are better than the default."""
    seen: list[str] = []
    option_search.tuned(tmp_path, plans=[option_search.plan], has_baseline=False, note=seen.append)
    assert len(option_search.usual.asked) > 1
    assert not option_search.under["xla_y"].asked
    option_search.usual.answers.full.clear()
    option_search.usual.asked.clear()
    other = tmp_path / "other"
    option_search.tuned(other, plans=[option_search.plan], has_baseline=False, compiles=5)
    assert len(option_search.usual.asked) > 1


def test_compiles_of_an_options_capture_count_once(
    option_search: FakeSearch, tmp_path: Path
) -> None:
    options = {CROSS_PROGRAM: "0"}
    session = option_search.under["xla_x"]
    placements = {"placements": {"knob": options}}
    session.program = replace(
        session.program, provenance={**session.program.provenance, **placements}
    )
    session.answers.full.append(key(options))
    tuned = option_search.tuned(tmp_path)
    assert tuned.captured == 0
    assert tuned.random_compiles <= tuned.compiles + 1


def test_flags_of_the_user_stand_in_the_answer(
    program: Program, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = FakeAnswers()
    answers.target = Target("tpu-v5e", options={"xla_mine": "7"})
    session = FakeSession(program, plan, answers, lambda _: 1500.0)
    monkeypatch.setattr(tuned_module, "compile_session", lambda program, answers: session)
    monkeypatch.setattr(tuned_module, "verify", lambda session, asked, usual: None)
    tuned = tune_program(
        program,
        lambda program, seconds, seed: made_for(program, plan),
        compiles=2,
        seconds=600,
        folder=tmp_path,
        has_program_options=False,
        has_baseline=False,
    )
    assert tuned.flags.compiler_options == tuned.flags.own_options == {"xla_mine": "7"}


def test_measured_prices_hold_for_no_other_program(
    option_search: FakeSearch, program: Program, tmp_path: Path
) -> None:
    """So no option is tried that would make one."""
    option_search.program = with_prices(program, {0: Price(1e-6, PROFILE)}, "times.csv")
    option_search.tuned(tmp_path)
    assert option_search.tried == ()
    with pytest.raises(UsageError, match="has measured prices"):
        program_search_module.program_under(option_search.program, FakeAnswers(), {}, print)  # type: ignore[arg-type]


def test_costs_are_corrected_by_earlier_compiles_only_under_the_same_flags_and_compiler(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = target_of(program)
    known = program.provenance["versions"]
    monkeypatch.setattr(tuned_module, "versions", lambda: known)
    assert tuned_module._earlier(program, own)
    assert tuned_module._earlier(program, own.with_flags({"xla_a": "1"}, "")) == []
    assert tuned_module._earlier(program, own.with_flags({}, "--xla_a=1")) == []
    monkeypatch.setattr(tuned_module, "versions", lambda: {**known, "libtpu": "0.1"})
    assert tuned_module._earlier(program, own) == []
