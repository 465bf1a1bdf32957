"""The gap of a game: its parts add up, each is a checked plan's, and a planted one is found."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.causes import NOBODY, Why, chain_of_causes
from engine.analysis.gap import bound_by_slot, openings
from engine.cli import main
from engine.debugging import gap_account
from engine.debugging.gap_account import Account, account, correct, moves_of_the_gap
from engine.game.moves import DROP, NO_COPY
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from tests.chosen import chosen

PROGRAMS = (
    "llamadecode-v5e-b8",
    "gptdecode-v5e-b8",
    "mixer-v6e-b96",
    "bert-v5e-b32",
    "llamadecode-v6e-b8",
    "dlrm-v5e-b12288",
)


def _played(program: Program, wrong: frozenset[int] = frozenset()) -> Plan:
    """Greedy's game, which drops at some moves instead."""
    game = ReferenceGame(program)
    while not game.is_over:
        is_wrong = game.move_index in wrong and game.legal()[DROP]
        game.step(DROP if is_wrong else best_action(game))
    return game.plan("greedy", notes_of(game))


def _account(program: Program, plan: Plan, best: Plan | None, tries: int = 6) -> Account:
    found = correct(program, plan, best, tries=tries).found
    return account(program, plan, best, None, found)


def _best(name: str) -> Plan:
    path = library.find_sample(name).best_plan_path
    assert path is not None
    return load_plan(path)


@pytest.mark.parametrize("name", chosen(PROGRAMS))
def test_the_parts_add_up_to_the_gap(name: str) -> None:
    program, entry = library.load_sample(name), library.find_sample(name)
    plan, best = _played(program), _best(name)
    found = account(program, plan, best, entry.bound_s, correct(program, plan, best, tries=6).found)
    parts_s = found.explained_s + found.open_s + found.bounds_s
    assert parts_s == pytest.approx(found.gap_s, rel=1e-3)
    assert found.gap_s > 0
    assert found.plan_s == simulate(program, found.plan).latency_s
    assert check(program, found.corrected) is None
    assert found.corrected_s == simulate(program, found.corrected).latency_s


def test_the_openings_add_up_to_the_difference_of_two_plans() -> None:
    program = library.load_sample(PROGRAMS[0])
    first, second = _best(PROGRAMS[0]), _played(program)
    runs = [simulate(program, plan) for plan in (first, second)]
    found = openings(program, (first, runs[0]), (second, runs[1]))
    difference_s = runs[1].latency_s - runs[0].latency_s
    assert sum(o.cost_s for o in found) == pytest.approx(difference_s, rel=1e-9)
    assert [o.cost_s for o in found] == sorted((o.cost_s for o in found), reverse=True)


def test_a_planted_mistake_is_the_decision_that_explains_most() -> None:
    program = library.load_sample("unet-v5e-b8")
    good = ReferenceGame(program)
    kept = []
    while not good.is_over:
        action = best_action(good)
        if action == NO_COPY and good.move.saving_s > 5e-5:
            kept.append(good.move_index)
        good.step(action)
    planted = kept[len(kept) // 2]
    best = good.plan("greedy", notes_of(good))
    found = _account(program, _played(program, frozenset([planted])), best)
    assert found.corrections[0].move == planted
    assert found.corrections[0].played == DROP
    assert found.explained_s == pytest.approx(found.gap_s, rel=1e-3)
    assert planted in moves_of_the_gap(program, found.plan, best)[:3]


def test_a_wait_between_two_uses_leads_to_the_move_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = library.load_sample("llamadecode-v6e-b8")
    moves = ReferenceGame(program).moves
    of_group: dict[int, list[int]] = {}
    for number, move in enumerate(moves):
        if not move.is_sink:
            of_group.setdefault(move.group, []).append(number)
    group, numbers = next(
        (g, n)
        for g, n in of_group.items()
        if len(n) > 2 and moves[n[2]].time > moves[n[1]].time + 1
    )
    slot = moves[numbers[2]].time - 1
    monkeypatch.setattr(gap_account._Search, "_parts", lambda search: [(slot, group)])
    assert moves_of_the_gap(program, _played(program), None) == (numbers[1],)


def test_a_plan_without_a_game_leaves_all_of_it_open() -> None:
    program = library.load_sample("teach-prefetch")
    slow = ReferenceGame(program)
    while not slow.is_over:
        slow.step(DROP if slow.legal()[DROP] else best_action(slow))
    found = _account(program, slow.plan("slow"), _played(program))
    assert not found.corrections
    assert found.open_s == pytest.approx(found.gap_s)
    assert found.gap_s > 0


def test_without_a_best_plan_the_dearest_accesses_are_looked_at() -> None:
    program = library.load_sample("teach-prefetch")
    slow = ReferenceGame(program)
    while not slow.is_over:
        slow.step(DROP if slow.legal()[DROP] else best_action(slow))
    found = _account(program, slow.plan("slow", notes_of(slow)), None, 60)
    assert found.corrections
    assert found.open == ()
    assert found.corrected_s < found.plan_s


def test_the_bounds_seconds_by_slot_are_those_of_the_linear_program() -> None:
    program = library.load_sample("mixer-v6e-b96")
    bound = lower_bound(program)
    seconds = bound_by_slot(program, bound.served)
    assert float(seconds.sum()) == pytest.approx(bound.bound_s, rel=1e-6)
    assert all(s >= program.fastest_s[k] * (1 - 1e-9) for k, s in enumerate(seconds[:-1]))


def test_the_chain_adds_up_and_leads_from_the_decision_to_each_tensor() -> None:
    program = library.load_sample(PROGRAMS[0])
    first, second = _best(PROGRAMS[0]), _played(program)
    pairs = [(plan, simulate(program, plan)) for plan in (first, second)]
    worst = openings(program, pairs[0], pairs[1])[0]
    chain = chain_of_causes(program, pairs[0], pairs[1], worst.group)
    difference_s = pairs[1][1].latency_s - pairs[0][1].latency_s
    assert chain.total_s == pytest.approx(difference_s, rel=1e-9)
    assert (chain.causes[0].group, chain.causes[0].by) == (worst.group, NOBODY)
    for number, cause in enumerate(chain.causes[1:], 1):
        assert cause.by < number
        assert cause.depth == chain.causes[cause.by].depth + 1
        if cause.why in (Why.KEPT_OUT, Why.CAME_IN):
            mine, theirs = cause.mine, cause.theirs
            assert mine is not None
            assert theirs is not None
            assert (mine.group, theirs.group) == (cause.group, chain.causes[cause.by].group)
            assert mine.start < theirs.end
            assert theirs.start < mine.end
            size = program.groups[theirs.group].size_bytes
            assert theirs.offset - program.groups[mine.group].size_bytes < mine.offset
            assert mine.offset < theirs.offset + size


def test_what_a_telling_chain_leaves_out_leads_nowhere() -> None:
    program = library.load_sample(PROGRAMS[0])
    first, second = _best(PROGRAMS[0]), _played(program)
    pairs = [(plan, simulate(program, plan)) for plan in (first, second)]
    chain = chain_of_causes(program, pairs[0], pairs[1], 58)
    kept = chain.telling(1e-6)
    assert all(chain.causes[n].by in (NOBODY, *kept) for n in kept)
    lost = [c for n, c in enumerate(chain.causes) if n not in kept]
    assert kept and lost
    assert all(abs(c.cost_s) < 1e-6 for c in lost)


def test_the_command_says_what_the_gap_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gap", "gptdecode-v5e-b8", "--seconds", "1", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    parts_s = body["explained_s"] + body["open_s"] + body["bounds_s"]
    assert parts_s == pytest.approx(body["gap_s"], rel=1e-3)
    assert body["open"][0]["cost_s"] > 0


def test_nothing_is_not_less_than_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smallest = library.load_sample("teach-prefetch").hardware.alignment
    program = derive(library.load_sample("teach-prefetch"), WhatIf(fast_bytes=smallest), "small")
    save(program, tmp_path / "small.json")
    assert main(["gap", str(tmp_path / "small.json")]) == 0
    assert capsys.readouterr().out.startswith("0.000 us to the bound")


@pytest.mark.parametrize("name", ["teach-keep-or-drop", "expertparallel-v4-b512"])
def test_the_best_plan_known_is_made_where_no_file_keeps_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = library.find_sample(name)
    assert entry.best_plan is None and entry.best_s is not None and entry.bound_s is not None
    assert main(["gap", name, "--seconds", "0", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["plan_s"] > body["best_s"] == pytest.approx(entry.best_s, rel=1e-9)
    assert body["bounds_s"] == pytest.approx(entry.best_s - entry.bound_s, rel=1e-6)
    assert body["open"]


def test_the_bound_and_the_best_plan_are_those_of_the_content_and_not_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(program: str) -> dict[str, Any]:
        assert main(["gap", program, "--seconds", "0", "--json"]) == 0
        body: dict[str, Any] = json.loads(capsys.readouterr().out)
        return body

    monkeypatch.chdir(tmp_path)
    name, other = "teach-keep-or-drop", library.load_sample("teach-prefetch")
    save(library.load_sample(name), tmp_path / "same.json")
    assert told("same.json") == told(name)
    save(replace(other, name=name), tmp_path / name)
    found = told(name)
    assert (found["bound_s"], found["best_s"]) == (lower_bound(other).bound_s, found["plan_s"])
