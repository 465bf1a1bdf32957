"""The toy on the start page: eight moves, every action, the best game that there is."""

from itertools import product

import pytest

from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.simulate import simulate
from ui.components.memory_map.plan_actions import actions_of
from ui.components.packing import unpack
from ui.model.start.toy import _SCRIPT, toy


def test_eight_moves_with_a_caption_each() -> None:
    found = toy()
    game = ReferenceGame(found.program)
    assert len(found.captions) == game.num_moves == 8
    assert actions_of(found.program, found.plan, game.moves) == [a for a, _ in _SCRIPT]
    assert {a for a, _ in _SCRIPT} == {COPY, NO_COPY, DROP}
    assert check(found.program, found.plan) is None


def test_captions_name_the_tensor_of_their_move() -> None:
    found = toy()
    for move, caption in zip(ReferenceGame(found.program).moves, found.captions, strict=True):
        value = found.program.values[found.program.groups[move.group].values[0]].name
        words = caption.replace(".", " ").replace(",", " ").replace(":", " ").split()
        assert value in words, caption


@pytest.mark.nightly
def test_no_game_is_better() -> None:
    found = toy()
    best = 0.0
    for actions in product((COPY, NO_COPY, DROP), repeat=8):
        game = ReferenceGame(found.program)
        for action in actions:
            if not game.legal()[action]:
                break
            game.step(action)
        else:
            best = max(best, game.total_reward)
    played = ReferenceGame(found.program)
    for action, _ in _SCRIPT:
        played.step(action)
    assert played.total_reward == pytest.approx(best)
    saved = 1 - simulate(found.program, found.plan).latency_s / found.program.all_slow_s
    assert saved == pytest.approx(best, rel=1e-6)


def test_the_map_can_draw_it() -> None:
    header, columns = unpack(toy().packed("toy"))
    assert header["id"] == "toy" and len(columns["move_time"]) == 8
