"""The portfolio: at least as good as what is there at once, whatever happens to its workers."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConfigError, EndedEarlyError, SolverError
from engine.plan.check import check
from engine.plan.io import plan_to_json, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import SOLVERS, Budget, registry, solve
from engine.solvers import portfolio as solver
from engine.solvers.apart import process, worker
from engine.solvers.portfolio import USUAL, Member, Turns, members_named
from engine.solvers.registry import FIRST, Solver
from tests.strategies import random_program


@pytest.fixture(scope="module")
def program() -> Program:
    return random_program(2, 40)


def run(program: Program, seconds: float = 120.0, **options: Any) -> Plan:
    plan = solve("portfolio", program, Budget(seconds, options=options))
    assert check(program, plan) is None
    return plan


def latency_s(program: Program, plan: Plan) -> float:
    return simulate(program, plan).latency_s


def test_it_is_no_worse_than_what_is_there_at_once(program: Program) -> None:
    quick = min(latency_s(program, solve(name, program)) for name in FIRST)
    for members in (None, ["random"]):
        plan = run(program, seconds=2.5, members=members)
        assert latency_s(program, plan) <= quick * (1 + 1e-9)


def test_named_members_follow_each_other_where_no_process_would_be_in_time(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Budget]] = []

    def member(name: str) -> Solver:
        def run(program: Program, budget: Budget) -> Plan:
            asked.append((name, budget))
            if name == "random":
                raise EndedEarlyError("too late")
            return solve("density", program)

        return replace(SOLVERS[name], run=run)

    monkeypatch.setattr(registry, "FIRST", ())
    changed = {name: member(name) for name in ("random", "steered", "local")}
    monkeypatch.setattr(solver, "SOLVERS", {**SOLVERS, **changed})
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", "no worker is started"))
    plan = run(program, seconds=2.0, members=["random", "steered", "local"])
    assert [name for name, _ in asked] == ["random", "steered", "local"]
    assert plan.notes["found_by"] == "steered" and plan.notes["time_slices"] == 3
    assert sum(budget.seconds for _, budget in asked) < 2 * 2.0
    assert asked[2][1].options["start"].solver == "steered"
    asked.clear()
    run(program, seconds=0.0, members=["random"])
    assert not asked


def test_on_one_core_it_is_local_for_the_whole_time(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Budget] = []

    def local(program: Program, budget: Budget) -> Plan:
        asked.append(budget)
        return solve("density", program)

    monkeypatch.setattr(
        solver, "SOLVERS", {**SOLVERS, "local": replace(SOLVERS["local"], run=local)}
    )
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", "no worker is started"))
    plan = solve("portfolio", program, Budget(60.0, 7, options={"processes": 1}))
    assert plan.notes["found_by"] == "local" and plan.notes["lost"] == 0
    (budget,) = asked
    assert budget.seed == 7 and 55.0 < budget.seconds <= 60.0
    # Who judges much has the time for it.
    monkeypatch.setattr(solver, "JUDGED_TOUCHES_PER_S", 1e-9)
    solve("portfolio", program, Budget(60.0, 7, options={"processes": 1}))
    assert 49.0 < asked[1].seconds <= 54.0


def test_the_others_answer_before_the_leader_ends(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver, "JUDGED_TOUCHES_PER_S", 1e-9)
    for seconds in (3.0, 10.0, 600.0):
        race = solver._Race(program, Budget(seconds))
        assert race._last < race._lead_end == pytest.approx(race._end - 0.1 * seconds)


@pytest.mark.nightly
def test_on_two_cores_a_search_with_another_seed_stands_beside_it(program: Program) -> None:
    """The other search is told to end once it has answered; only it can be better than density."""
    asked: list[Budget] = []

    def local(program: Program, budget: Budget) -> Plan:
        asked.append(budget)
        while budget.progress(0.0, "waits") and not found:
            time.sleep(0.01)
        return solve("all_slow", program)

    found: list[str] = []

    def progress(share: float, word: str) -> bool:
        found.extend([word] if word.endswith("by local") else [])
        return True

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            solver, "SOLVERS", {**SOLVERS, "local": replace(SOLVERS["local"], run=local)}
        )
        budget = Budget(40.0, 7, progress, options={"processes": 2})
        plan = solve("portfolio", program, budget)
    assert plan.notes["found_by"] == "local" and plan.notes["time_slices"] >= 1
    assert latency_s(program, plan) < latency_s(program, solve("all_slow", program))


def test_a_compiled_plan_is_where_it_begins() -> None:
    entry = min((e for e in library.index() if e.xla_latency_s), key=lambda e: e.touches)
    program = library.load_entry(entry)
    assert latency_s(program, run(program, seconds=0.0)) <= (entry.xla_latency_s or 0) * (1 + 1e-9)


@pytest.mark.parametrize("stored", [{}, None, {"format": "mallocmuzero-plan", "version": 2}])
def test_a_compiled_plan_that_cannot_be_read_costs_no_plan_that_was_found(stored: object) -> None:
    sample = library.load_sample("teach-prefetch")
    odd = replace(sample, provenance={**sample.provenance, "xla_plan": stored})
    assert latency_s(odd, run(odd, seconds=0.1)) <= latency_s(odd, solve("greedy", odd))


def test_members_play_in_processes_and_end_when_they_find_nothing(program: Program) -> None:
    plan = run(program, seconds=3600.0, members=["xla_like", "greedy"], processes=2)
    assert plan.notes["time_slices"] >= 2
    assert plan.notes["lost"] == 0
    assert latency_s(program, plan) <= latency_s(program, solve("greedy", program))


def test_a_member_finds_what_is_not_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games beat the heuristics on this program; so the plan came from a process."""
    monkeypatch.setattr(registry, "FIRST", GAMES)
    program, best_s = found_by_chance()
    options = {"members": ["random"], "processes": 1}
    until_found = Budget(20.0, 0, lambda share, word: not word.endswith("random"), options)
    plan = solve("portfolio", program, until_found)
    assert check(program, plan) is None
    assert latency_s(program, plan) < best_s
    assert plan.notes["found_by"] == "random"


GAMES = ("xla_like", "greedy")
"""What random games may beat."""


def found_by_chance() -> tuple[Program, float]:
    """A program on which a hundred random games beat the heuristics, and their latency."""
    for seed in range(50):
        program = random_program(seed, 8)
        best_s = min(latency_s(program, solve(name, program)) for name in GAMES)
        if latency_s(program, solve("random", program, Budget(0.3))) < best_s * (1 - 1e-6):
            return program, best_s
    raise AssertionError("random games are no use anywhere")


def test_it_begins_from_a_plan_and_refuses_a_broken_one(program: Program) -> None:
    start = solve("greedy", program)
    plan = run(program, seconds=0.0, start=start)
    assert latency_s(program, plan) <= latency_s(program, start)
    with pytest.raises(SolverError, match="begin from"):
        run(program, seconds=0.0, start=replace(start, program_hash="other"))


DEATHS = {
    "at once": "raise SystemExit(1)",
    "at work": "input(); raise SystemExit(1)",
    "raving": "input(); print('no JSON', flush=True); input()",
}


@pytest.mark.parametrize("death", DEATHS)
def test_dead_workers_do_not_kill_it(
    program: Program, monkeypatch: pytest.MonkeyPatch, death: str
) -> None:
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", DEATHS[death]))
    plan = run(program, members=["random"], processes=2)
    assert plan.notes["lost"] >= 3
    assert plan.notes["found_by"] in (*FIRST, "all_slow")


@pytest.mark.parametrize("want", [OSError, RuntimeError])
@pytest.mark.parametrize("is_led", [False, True])
def test_want_of_processes_or_disk_loses_no_plan(
    program: Program, monkeypatch: pytest.MonkeyPatch, want: type[Exception], is_led: bool
) -> None:
    def wanting(*given: object) -> None:
        raise want("no more")

    monkeypatch.setattr(solver, "Worker" if want is RuntimeError else "save", wanting)
    monkeypatch.setattr(solver, "LEAST_S", 0.0)
    own = {} if is_led else {"members": ["random"]}
    plan = run(program, seconds=1.0, processes=2, **own)
    assert plan.notes["lost"] >= 1
    assert latency_s(program, plan) <= latency_s(program, solve("greedy", program))


@pytest.mark.parametrize("own", [{}, {"members": ["random"], "processes": 2}])
def test_want_of_a_temporary_folder_loses_no_plan(
    program: Program, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]
) -> None:
    """The leader searches on, and members that were named follow each other in this process."""
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    monkeypatch.setattr(solver, "LEAST_S", 0.0)
    plan = run(program, seconds=1.0, **{"processes": 2, **own})
    assert plan.notes["lost"] == 1
    assert plan.notes["time_slices"] == len(own.get("members", ()))
    assert latency_s(program, plan) <= latency_s(program, solve("greedy", program))


@pytest.mark.parametrize(("seconds", "processes"), [(1.0, 2), (3.1, 1)])
def test_without_other_processes_no_temporary_folder_is_made(
    program: Program, monkeypatch: pytest.MonkeyPatch, seconds: float, processes: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    local = replace(SOLVERS["local"], run=lambda program, budget: solve("density", program))
    monkeypatch.setattr(solver, "SOLVERS", {**SOLVERS, "local": local})
    assert run(program, seconds=seconds, processes=processes).notes["lost"] == 0


def test_a_worker_that_does_not_read_is_not_waited_for(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe holds 64 KiB; the plan to begin from is larger."""
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", "import time; time.sleep(3600)"))
    quick = min((solve(name, program) for name in FIRST), key=lambda p: latency_s(program, p))
    start = replace(quick, notes={"moves": "0" * 2**18})
    calls = iter(range(8))
    options = {"members": ["local"], "processes": 1, "start": start}
    until_told = Budget(3600.0, 0, lambda share, word: next(calls, None) is not None, options)
    assert check(program, solve("portfolio", program, until_told)) is None


def test_a_worker_begins_from_the_plan_of_a_file(program: Program, tmp_path: Path) -> None:
    class Silent(worker._Reporter):
        def send(self, body: dict[str, Any]) -> None:
            assert "share" in body

    start = solve("density", program)
    save_plan(start, tmp_path / "plan.json")
    order = {"solver": "local", "seed": 0, "until": 0.0, "start": str(tmp_path / "plan.json")}
    plan = worker._time_slice(program, order, Silent(sys.stdout, sys.stdin))
    assert latency_s(program, plan) <= latency_s(program, start)


LIAR = """
import json, sys
input()
print(json.dumps({"plan": json.loads(sys.argv[1])}), flush=True)
input()
print(json.dumps({"error": "no more"}), flush=True)
input()
"""


def test_a_plan_that_is_not_valid_is_not_taken(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = (True,) * len(program.accesses)
    broken = Plan(content_hash(program), "liar", everything, (), ())
    fast_s = sum(max(i.fast_s, i.floor_s) for i in program.instructions)
    assert latency_s(program, broken) == pytest.approx(fast_s)
    for body in (plan_to_json(broken), {"format": "mallocmuzero-plan", "version": 1}):
        command = (sys.executable, "-c", LIAR, json.dumps(body))
        monkeypatch.setattr(process, "COMMAND", command)
        plan = run(program, members=["random", "greedy"], processes=1)
        assert plan.notes["found_by"] in (*FIRST, "all_slow")


LATE = """
import json, sys, time
input()
time.sleep(1.2)
error = {"error": "no game was played", "kind": "EndedEarlyError"}
print(json.dumps(error), flush=True)
input()
print(json.dumps({"plan": json.loads(sys.argv[1])}), flush=True)
input()
print(json.dumps(error), flush=True)
input()
"""


def test_a_member_that_was_not_ready_in_time_has_another_turn(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has compiled is kept; one that ends early at once is no use for ever."""
    monkeypatch.setattr(registry, "FIRST", ())
    better = plan_to_json(solve("density", program))
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", LATE, json.dumps(better)))
    plan = run(program, seconds=20.0, members=["muzero"], processes=1)
    assert (plan.notes["found_by"], plan.notes["time_slices"]) == ("muzero", 3)


def test_the_portfolio_does_not_heed_that_the_time_of_day_is_set_anew(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    days, shares = count(0, 86_400), list[float]()
    monkeypatch.setattr(time, "time", lambda: float(next(days)))

    def progress(share: float, word: str) -> bool:
        del word
        shares.append(share)
        return len(shares) < 20

    options = {"members": ["random"], "processes": 1}
    solve("portfolio", program, Budget(3600.0, progress=progress, options=options))
    assert len(shares) == 20 and max(shares) < 0.5


def test_it_ends_when_it_is_told_to(program: Program) -> None:
    told: list[float] = []

    def progress(share: float, message: str) -> bool:
        told.append(share)
        assert "best" in message or message == "a first plan"
        return len(told) < 12

    budget = Budget(3600.0, progress=progress, options={"members": ["random"], "processes": 1})
    assert check(program, solve("portfolio", program, budget)) is None
    assert len(told) == 12
    assert told == sorted(told)


def test_settings_that_make_no_sense_are_refused(program: Program) -> None:
    for options in (
        {"members": ["portfolio"]},
        {"members": ["nobody"]},
        {"members": []},
        {"members": ["greedy"], "processes": -1},
    ):
        with pytest.raises(ConfigError, match="portfolio"):
            run(program, seconds=0.0, **options)


def test_members_take_turns_until_they_are_left_out() -> None:
    first, second = Member("a"), Member("b")
    turns = Turns([first, second, first])
    assert [turns.take(1.0) for _ in range(4)] == [first, second, first, first]
    turns.leave_out(first)
    assert turns.take(1.0) == turns.take(1.0) == second
    turns.leave_out(second)
    assert turns.is_over


def test_who_needs_longer_turns_is_passed_over() -> None:
    quick, slow = Member("quick"), Member("slow", least_s=10.0)
    turns = Turns([quick, slow])
    assert [turns.take(5.0) for _ in range(2)] == [quick, quick]
    assert {turns.take(15.0), turns.take(15.0)} == {quick, slow}
    turns.leave_out(quick)
    assert turns.take(5.0) is None


def test_the_usual_members_are_registered() -> None:
    assert members_named(None) == USUAL
    assert {member.solver for member in USUAL} <= set(SOLVERS)


def test_it_ends_when_the_last_time_slices_have_answered(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is sent out in the reserve, so nobody is waited for until its end."""
    monkeypatch.setattr(solver, "RESERVE", 1.0)
    monkeypatch.setattr(solver, "MOST_RESERVE_S", 295.0)
    shares: list[float] = []

    def progress(share: float, message: str) -> bool:
        del message
        shares.append(share)
        return True

    options = {"members": ["random"], "processes": 1}
    plan = solve("portfolio", program, Budget(300.0, 0, progress, options))
    assert plan.notes["time_slices"] > 0
    assert shares[-1] < 0.9
