"""Writes that take longer into fast memory: what they cost is counted everywhere alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.attribution import breakdown, slow_costs
from engine.errors import ProgramFormatError
from engine.game.move_list import moves
from engine.game.moves import DROP, NO_COPY
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds.bound import formulate, lower_bound
from engine.plan.bounds.shared_rows import idle_time
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.floors import has_floor, loss_s, worth_s
from engine.program.model import Program
from engine.program.validate import validate
from tests.program.costly import COST_S, FAST_S, FLOOR_S, SLOW_S, costly, kept
from ui.components.memory_map.board import board, saved_before
from ui.components.memory_map.plan_actions import actions_of
from ui.components.packing import unpack
from ui.components.units import time_text
from ui.model.play.decision import story

READ_S = 256.0
FREE = costly(0.0)
FLOORED = costly()
CHOICES = [(), (0,), (1,), (0, 1)]


@pytest.mark.parametrize(
    ("program", "latencies_s"),
    [
        (FREE, [SLOW_S + READ_S, SLOW_S + COST_S, FAST_S - COST_S + READ_S, FAST_S]),
        (FLOORED, [SLOW_S + READ_S, SLOW_S + COST_S, FLOOR_S + READ_S, FLOOR_S]),
    ],
)
def test_simulator_and_game_agree(program: Program, latencies_s: list[float]) -> None:
    for groups, latency_s in zip(CHOICES, latencies_s, strict=True):
        plan = kept(program, *groups)
        assert check(program, plan) is None
        assert simulate(program, plan).latency_s == latency_s + FAST_S
        game = ReferenceGame(program)
        while not game.is_over:
            is_fast = game.move.group in groups and not game.move.is_sink
            game.step(NO_COPY if is_fast else DROP)
        saved_s = program.all_slow_s - (latency_s + FAST_S)
        assert game.total_reward * program.all_slow_s == pytest.approx(saved_s)


@pytest.mark.parametrize("program", [FREE, FLOORED])
def test_the_bound_knows_that_the_read_is_not_had_without_the_write(program: Program) -> None:
    best_s = min(simulate(program, kept(program, *groups)).latency_s for groups in CHOICES)
    assert lower_bound(program).bound_s == pytest.approx(best_s)
    assert program.all_fast_s <= best_s


@pytest.mark.parametrize("program", [FREE, FLOORED])
def test_no_slot_of_the_bound_has_less_idle_time_than_a_plan(program: Program) -> None:
    """The first one is longest with the write fast and the read slow; nothing is drawn here."""
    accesses = tuple(replace(access, slow_bytes=0) for access in program.accesses)
    program = replace(program, accesses=accesses)
    found = formulate(program)
    assert found is not None
    most_s = [i.most * found.scale.second_s for i in idle_time(found.parts, found.shared.floors)]
    lasted = [simulate(program, kept(program, *groups)).timeline.duration_s for groups in CHOICES]
    longest_s = np.max(lasted, axis=0)
    assert longest_s[0] == SLOW_S + COST_S
    assert (most_s >= longest_s - 1e-9).all()


def test_a_touch_is_worth_what_it_changes() -> None:
    write, read = (next(t for t in FREE.touches if (t.time, t.group) == (0, g)) for g in (0, 1))
    assert (has_floor(FREE, 0), has_floor(FLOORED, 0), has_floor(costly(13.0), 0)) == (0, 1, 1)
    assert worth_s(FREE, write) == worth_s(FLOORED, write) == -COST_S
    assert worth_s(FLOORED, read) == SLOW_S - FLOOR_S
    both = kept(FLOORED, 0, 1).is_fast
    assert loss_s(FLOORED, both, write) == 0.0
    assert loss_s(FREE, both, write) == -COST_S


@pytest.mark.parametrize("program", [FREE, FLOORED])
@pytest.mark.parametrize("groups", CHOICES)
def test_views_add_up(program: Program, groups: tuple[int, ...]) -> None:
    plan = kept(program, *groups)
    run, every = simulate(program, plan), moves(program)
    parts = breakdown(program, run)
    assert parts.total_s.sum() == pytest.approx(run.latency_s)
    assert sum(slow_costs(program, plan).values()) == pytest.approx(parts.slow_s.sum())
    _, columns = unpack(board(program, plan, every, run, "one"))
    drawn = columns["slot_fast"] + columns["slot_slow"] + columns["slot_stall"]
    assert drawn.sum() == pytest.approx(run.latency_s)
    saved = saved_before(program, every, actions_of(program, plan, every), run)
    assert saved[-1] == pytest.approx(program.all_slow_s - run.latency_s)


def test_words_say_that_it_takes_longer() -> None:
    game = ReferenceGame(FREE)
    write = next(m for m in game.moves if m.writes)
    assert f"{time_text(COST_S)} longer" in story(FREE, write).stake
    while game.move is not write:
        game.step(DROP)
    assert "takes 8.00 s longer" in explain(game, NO_COPY).reason
    assert "takes 8.00 s less" in explain(game, DROP).reason


def test_on_another_chip_it_scales_with_compute() -> None:
    slower = derive(FREE, WhatIf(bandwidth=FREE.hardware.bandwidth / 2), "x")
    costs = [a.saving_s for a in slower.accesses if a.is_write]
    assert costs == [-COST_S]
    # Of 384 bytes in the first instruction 128 s are exposed, 256 hidden.
    assert [a.saving_s for a in slower.accesses if not a.is_write] == [2 * 384 - 256, 2 * READ_S]


def _with(program: Program, saving_s: float, is_write: bool) -> Program:
    accesses = (
        replace(a, saving_s=saving_s) if a.is_write == is_write and a.time == 0 else a
        for a in program.accesses
    )
    return replace(program, accesses=tuple(accesses))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (_with(FREE, -1.0, is_write=False), "a read with a negative saving"),
        (_with(FREE, -FAST_S - 1.0, is_write=True), "less than no time"),
        (
            replace(
                _with(FREE, -500.0, is_write=True),
                instructions=(replace(FREE.instructions[0], fast_s=500.0), FREE.instructions[1]),
            ),
            "more than half",
        ),
    ],
)
def test_what_no_compiler_says_is_refused(program: Program, words: str) -> None:
    with pytest.raises(ProgramFormatError, match=words):
        validate(program, "x")
