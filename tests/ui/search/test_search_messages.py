"""What the Search view draws: absolute values, trees, and what the rules say of imagined lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.agent.trace_io import SearchTrace
from engine.debugging.game_curves import curves
from engine.debugging.surprise import surprises
from engine.debugging.tree_replay import ILLEGAL, LEGAL, MOST_NODES, UNKNOWN, replay_tree, standing
from engine.game.move_list import moves
from engine.game.moves import NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from engine.program import library
from engine.program.model import Program
from tests.ui.builders import HUGE, enlarged
from tests.ui.network import residual_network
from tests.ui.search_traces import made_up_trace
from ui.components.packing import unpack
from ui.model.search.messages import Root, game_message, position_message
from ui.model.search.state import game_of

PROGRAM = residual_network()
TRACE = made_up_trace(PROGRAM)


def position(move: int, program: Program = PROGRAM, trace: SearchTrace = TRACE) -> ReferenceGame:
    game = ReferenceGame(program)
    for action in trace.action[:move]:
        game.step(int(action))
    return game


def test_imagined_and_standing_blocks_may_have_addresses_of_more_than_32_bits() -> None:
    half = TRACE.num_moves // 2
    small, large = (
        unpack(position_message(position(half, p), [Root("", TRACE, half)], TRACE.par, "g", 1))[1]
        for p in (PROGRAM, enlarged(PROGRAM))
    )
    offsets = small["standing"].reshape(-1, 5)[:, 1] * float(HUGE)
    assert offsets.max() > 2**32
    assert large["standing"].reshape(-1, 5)[:, 1].tolist() == offsets.tolist()
    place, huge = (m["t0_place"].reshape(-1, 5) for m in (small, large))
    made = place[:, 0] >= 0
    assert (huge[made, :2] == place[made, :2] * float(HUGE)).all()


def test_curves_end_at_what_the_game_saved() -> None:
    found, game = curves(TRACE), position(TRACE.num_moves)
    saved_s = game.total_reward * PROGRAM.all_slow_s
    assert saved_s > 0
    assert found.final == pytest.approx(saved_s, rel=1e-5)
    for column in (found.search, found.raw, found.par):
        assert column[-1] == pytest.approx(found.final)
    half = TRACE.num_moves // 2
    so_far = position(half).total_reward * PROGRAM.all_slow_s
    assert found.so_far[half] == pytest.approx(so_far, rel=1e-4)
    expected = so_far + (TRACE.par[half] + TRACE.value[half]) * TRACE.point_s
    assert found.search[half] == pytest.approx(expected, rel=1e-4)


def test_the_game_message_holds_every_move() -> None:
    index = surprises(TRACE).index
    message = game_message(PROGRAM, moves(PROGRAM), TRACE, index, None, "game")
    header, columns = unpack(message)
    assert header["best_possible"] is None
    assert columns["move_action"].tolist() == TRACE.action.tolist()
    assert columns["move_choice"].tolist() == TRACE.legal.sum(axis=1).tolist()
    assert len(columns["search"]) == TRACE.num_moves + 1
    assert columns["surprise"] == pytest.approx(index, rel=1e-6)
    names = {header["group_names"][g] for g in columns["move_group"]}
    assert "stem" in names


def test_real_rewards_of_the_played_line_are_those_of_the_trace() -> None:
    length = TRACE.num_moves
    chain = 12
    parent = np.arange(-1, chain).astype(np.int32)[None].repeat(length, 0)
    action = np.zeros((length, chain + 1), np.int32)
    ones = np.arange(chain + 1, 0, -1).astype(np.int32)[None].repeat(length, 0)
    start = length // 3
    action[start, 1:] = TRACE.action[start : start + chain]
    line = replace(
        TRACE,
        tree_parent=parent,
        tree_action=action,
        tree_visits=ones,
        **{
            f"tree_{name}": np.zeros((length, chain + 1), np.float32)
            for name in ("value", "raw_value", "reward", "prior")
        },
    )
    par_s = TRACE.par.astype(float) * TRACE.point_s
    message = position_message(position(start), [Root("line", line, start)], par_s, "game", 7)
    header, columns = unpack(message)
    assert (header["move"], header["nonce"], header["game"]) == (start, 7, "game")
    assert columns["t0_state"].tolist() == [LEGAL] * (chain + 1)
    told = TRACE.reward[start : start + chain] * TRACE.point_s
    assert columns["t0_real"][1:] == pytest.approx(told, abs=1e-10)


def test_truth_tells_illegal_nodes_and_leaves_the_game_alone() -> None:
    move = next(m for m in range(TRACE.num_moves) if not TRACE.legal[m].all())
    game = position(move)
    refused = TRACE.legal[move].tolist().index(False)
    allowed = TRACE.legal[move].tolist().index(True)
    found = replay_tree(game, [-1, 0, 0, 1, 2], [0, refused, allowed, 0, 2], [5, 2, 2, 1, 1])
    assert found.state.tolist()[:3] == [LEGAL, ILLEGAL, LEGAL]
    assert found.state[3] == ILLEGAL
    assert found.reward_s[1] == 0
    assert game.move_index == move


def test_truth_knows_the_places_of_the_rules() -> None:
    game = position(0)
    while game.move_index < game.num_moves:
        effects = [game.effect(a) for a in range(NUM_ACTIONS)]
        parent, visits = [-1] + [0] * NUM_ACTIONS, [NUM_ACTIONS + 1] + [1] * NUM_ACTIONS
        found = replay_tree(game, parent, [0, *range(NUM_ACTIONS)], visits)
        for action, effect in enumerate(effects):
            assert (found.state[action + 1] == LEGAL) == effect.is_legal
            if effect.is_legal and effect.block is not None and not game.move.is_sink:
                place = found.place[action + 1].tolist()
                block = effect.block
                assert place[:4] == [block.offset, block.size, block.start, block.busy + 1]
                assert place[4] >= place[3]
            ended = {b.group for b in effect.displaced} if effect.is_legal else set()
            assert ended <= set(found.gone.get(action + 1, []))
        game.step(int(TRACE.action[game.move_index]))


def test_only_the_most_visited_nodes_are_played() -> None:
    count = MOST_NODES + 40
    game = position(0)
    legal = game.legal().index(True)
    parent = [-1] + [0] * (count - 1)
    visits = [count, *range(count, 1, -1)]
    found = replay_tree(game, parent, [legal] * count, visits)
    assert np.count_nonzero(found.state[1:]) == MOST_NODES
    assert found.state[-1] == UNKNOWN


def test_nodes_after_the_end_of_the_game_are_not_played() -> None:
    game = position(TRACE.num_moves - 1)
    last = int(TRACE.action[-1])
    found = replay_tree(game, [-1, 0, 1], [0, last, last], [3, 2, 1])
    assert found.state.tolist() == [LEGAL, LEGAL, UNKNOWN]


def test_standing_blocks_stand_at_the_position() -> None:
    seen = 0
    for move in range(0, TRACE.num_moves, 5):
        game = position(move)
        time = game.move.time
        for group, _, start, end, is_live in standing(game, time + 10):
            assert start <= time + 10
            assert end > time
            assert bool(is_live) == (group in game.state.live)
            seen += 1
    assert seen > 10


@pytest.mark.parametrize("place", ["long_high", "first_fit", "two_ended"])
def test_the_place_rule_is_found_by_playing(place: str) -> None:
    program = library.load_sample("teach-fragmentation")
    trace = made_up_trace(program, place)
    plan = game_of(program, trace)
    assert plan is not None
    game = ReferenceGame(program, Rules(place=str(plan.notes["place"])))
    for action in trace.action:
        game.step(int(action))
    again = ReferenceGame(program, Rules(place=place))
    for action in trace.action:
        again.step(int(action))
    assert game.total_reward == pytest.approx(again.total_reward, abs=1e-6)


def test_other_rewards_are_no_game() -> None:
    trace = replace(TRACE, reward=TRACE.reward + np.float32(0.5))
    assert game_of(PROGRAM, trace) is None
