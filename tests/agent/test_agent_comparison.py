"""What games say about the ones that they descend from, and what is tried because of it."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.agent.breeding import children_of
from engine.agent.categorical import from_logits
from engine.agent.comparison import COLUMNS, MOST_GAIN, Columns, Comparisons, pairs_of
from engine.agent.judge import Changes, Judge, Verdicts, prior_logits
from engine.agent.leaning import NONE
from engine.agent.learner import learn, optimiser, worth
from engine.agent.network import Params, init_params, predict, react, represent
from engine.agent.replay_buffer import Game
from engine.agent.scout import Scout
from engine.agent.self_play import CHUNK
from engine.agent.trainer import Trainer
from engine.agent.workload import follow
from engine.game.features import static_row
from engine.game.inputs import NUM_VIEW
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.scripts import EARN
from tests.agent.small import CONFIG, small_trainer, small_workload

LENGTH = 6


def played(actions: list[int], score: float = 0.0, illegal: dict[int, int] | None = None) -> Game:
    """A game whose greedy choice is always Copy, with its actions as genes."""
    view = np.zeros((LENGTH, NUM_VIEW), np.float16)
    view[:, 0] = np.arange(LENGTH)
    legal = np.ones((LENGTH, 3), bool)
    for move, action in (illegal or {}).items():
        legal[move, action] = False
    reward = np.zeros(LENGTH, np.float32)
    reward[-1] = score
    action = np.array(actions, np.int32)
    greedy = np.full(LENGTH, COPY, np.int8)
    genes = np.array(actions, np.int8)
    return Game(view, legal, action, np.eye(3)[action], reward, reward, greedy, genes)


def repeated(word: int, length: int) -> Game:
    """A game whose greedy choice is always Copy, but which does the same at each move."""
    view, legal = np.zeros((length, NUM_VIEW), np.float16), np.ones((length, 3), bool)
    action, genes = np.full(length, word, np.int32), np.full(length, word, np.int8)
    greedy, zeros = np.full(length, COPY, np.int8), np.zeros(length, np.float32)
    return Game(view, legal, action, np.eye(3)[action], zeros, zeros, greedy, genes)


def compared(parents: list[Game], games: list[Game]) -> Columns:
    return pairs_of(parents, [game.action for game in games], [game.score for game in games])


def verdicts(params: Params, parent: Game, genes: list[list[int]], start: int) -> Verdicts:
    judge = Judge(params, small_workload().arena.known)
    words = np.array(genes, np.int8)
    words[:, :start] = NONE
    return judge.verdicts(parent, Changes.of(words))


def test_a_variation_parts_where_it_would_first_act_otherwise(taught: Params) -> None:
    parent = played([DROP, NO_COPY, DROP, COPY, DROP, DROP], illegal={1: COPY})
    genes = [
        [DROP, NO_COPY, DROP, COPY, DROP, DROP],  # The same words.
        [DROP, COPY, DROP, EARN, DROP, DROP],  # Illegal, so NoCopy; and greedy is Copy.
        [COPY, COPY, DROP, DROP, COPY, DROP],  # The first word is before the start.
        [DROP, NO_COPY, DROP, COPY, DROP, EARN],
    ]
    found = verdicts(taught, parent, genes, start=1)
    assert found.fork.tolist() == [-1, -1, 3, 5]
    assert found.odds[:2].tolist() == [0, 0]


def test_a_variation_is_judged_by_the_mean_of_all_that_it_would_change(taught: Params) -> None:
    parent = played([DROP] * LENGTH)
    words = {1: NO_COPY, 3: COPY, 4: EARN}  # Greedy is Copy.
    genes = [words.get(move, DROP) for move in range(LENGTH)]
    alone = [
        [words.get(move, DROP) if move == at else DROP for move in range(LENGTH)] for at in words
    ]
    odds = verdicts(taught, parent, alone, start=0).odds
    assert odds[0] > 0 > max(odds[1:])
    assert verdicts(taught, parent, [genes], start=0).odds == pytest.approx(odds.mean())
    assert verdicts(taught, parent, [genes], start=2).odds == pytest.approx(odds[1:].mean())


def test_a_parent_that_nobody_saw_is_judged_by_what_its_ancestor_saw(taught: Params) -> None:
    ancestor, parent = played([DROP] * LENGTH), played([NO_COPY] * LENGTH)
    young = Scout(ancestor, 0, parent.genes, parent.action, None, np.zeros(2))
    genes = [_with([NO_COPY] * LENGTH, 2, COPY)]
    judge = Judge(taught, small_workload().arena.known)
    found = judge.verdicts(young, Changes.of(np.array(genes, np.int8)))
    logits = np.asarray(
        prior_logits(
            taught,
            small_workload().arena.known,
            np.arange(LENGTH),
            ancestor.view.astype(np.float32),
        )
    )
    assert found.fork.tolist() == [2]
    assert found.odds == pytest.approx(logits[2, COPY] - logits[2, NO_COPY], abs=1e-5)


def test_the_first_difference_is_what_won_or_lost() -> None:
    parent = played([DROP] * LENGTH, score=1.0)
    better = played([DROP, COPY, COPY, DROP, DROP, DROP], score=2.0)
    worse = played([DROP, DROP, DROP, NO_COPY, DROP, DROP], score=0.5)
    equal = played([COPY] * LENGTH, score=1.0)
    found = compared([parent] * 4, [better, worse, equal, parent])
    assert found["move"].tolist() == [1, 3]
    assert found["better"].tolist() == [COPY, DROP]
    assert found["worse"].tolist() == [DROP, NO_COPY]
    assert found["gain"].tolist() == [1.0, 0.5]
    assert found["view"][:, 0].tolist() == [1, 3]


def test_no_choice_alone_loses_a_whole_game() -> None:
    parent, ruined = played([DROP] * LENGTH), played([COPY] * LENGTH, score=-200.0)
    assert compared([parent], [ruined])["gain"].tolist() == [MOST_GAIN]


def test_nothing_to_compare_is_an_empty_batch() -> None:
    found = compared([], [])
    assert {name: len(column) for name, column in found.items()} == dict.fromkeys(COLUMNS, 0)
    memory = Comparisons()
    memory.add(found)
    assert len(memory) == 0
    assert not memory.sample(np.random.default_rng(0), 8)["weight"].any()


def test_the_oldest_pairs_make_room() -> None:
    memory = Comparisons(capacity=2)
    parent = played([DROP] * LENGTH)
    for move in range(3):
        actions = [DROP] * LENGTH
        actions[move] = COPY
        memory.add(compared([parent], [played(actions, score=1.0)]))
    assert len(memory) == 2
    drawn = memory.sample(np.random.default_rng(0), 64)
    assert set(drawn["move"].tolist()) == {1, 2}
    assert drawn["weight"].all()


@pytest.fixture(scope="module")
def taught() -> Params:
    """Networks that were taught: NoCopy gains a point on Drop, and Drop as much on Copy."""
    workload = small_workload()
    params = init_params(jax.random.key(0), CONFIG.network)
    config = replace(CONFIG.learner, pair_weight=10.0, gain_weight=10.0)
    state = optimiser(config).init(params)
    trainer = small_trainer()
    trainer.play_round()
    workload = trainer.workloads[0]
    parent = played([DROP] * LENGTH)
    pairs = Comparisons()
    for move in range(LENGTH):
        actions = [DROP] * LENGTH
        pairs.add(compared([parent], [played(_with(actions, move, NO_COPY), score=1.0)]))
        pairs.add(compared([parent], [played(_with(actions, move, COPY), score=-1.0)]))
    rng = np.random.default_rng(0)
    for _ in range(120):
        batch = workload.replay.sample(rng, 16, config.unroll)
        params, state, losses = learn(
            params,
            state,
            workload.arena.known,
            workload.arena.encoded.num_moves,
            vars(batch),
            pairs.sample(rng, 16),
            config,
        )
    assert losses.pairs < 0.2
    assert losses.gains < 0.05
    return params


def _with(actions: list[int], move: int, action: int) -> list[int]:
    return [*actions[:move], action, *actions[move + 1 :]]


def test_the_prior_learns_which_action_won(taught: Params) -> None:
    parent = played([DROP] * LENGTH)
    move = np.arange(LENGTH)
    known = small_workload().arena.known
    logits = np.asarray(prior_logits(taught, known, move, parent.view.astype(np.float32)))
    assert (logits[:, NO_COPY] > logits[:, DROP]).all()
    assert (logits[:, DROP] > logits[:, COPY]).all()


def test_the_model_learns_what_an_action_gains(taught: Params) -> None:
    known = small_workload().arena.known
    move, view = np.arange(LENGTH), played([DROP] * LENGTH).view.astype(np.float32)
    latent = represent(taught, known.outlook[move], view)
    last = small_workload().arena.encoded.num_moves
    said = {a: worth(taught, known, last, move, latent, np.full(LENGTH, a)) for a in range(3)}
    np.testing.assert_allclose(said[NO_COPY] - said[DROP], 1.0, atol=0.5)
    np.testing.assert_allclose(said[DROP] - said[COPY], 1.0, atol=0.5)


def test_nothing_is_worth_anything_after_the_last_move_but_its_reward(taught: Params) -> None:
    known = small_workload().arena.known
    move, view = np.arange(LENGTH), played([DROP] * LENGTH).view.astype(np.float32)
    latent = represent(taught, known.outlook[move], view)
    action = np.full(LENGTH, NO_COPY)
    whole = worth(taught, known, LENGTH, move, latent, action)
    following = np.stack([static_row(known, m + 1) for m in move])
    imagined, reward = react(taught, latent, action, following)
    value = np.array(predict(taught, imagined).value)
    assert abs(value[-1]) > 0.01
    value[-1] = 0
    np.testing.assert_allclose(whole, from_logits(reward) + value, atol=1e-4)


def test_children_mostly_get_what_the_prior_thinks_better(taught: Params) -> None:
    workload = small_workload()
    parent = repeated(DROP, workload.num_moves)
    judge, wild = Judge(taught, workload.arena.known), np.zeros(64, np.float32)

    def odds(variations: int, keeps_first: bool = False) -> NDArray[np.float64]:
        """Of the children that would do otherwise than their parent."""
        practice = replace(CONFIG.practice, variations=variations, cross_share=0.0)
        young = []
        for seed in range(5):
            rng, parents = np.random.default_rng(seed), [parent] * 64
            found = children_of(workload, judge, practice, rng, parents, 0, wild, keeps_first)
            assert not keeps_first or (found[0] == DROP).all()
            young.append(np.where(found == DROP, NONE, found))
        told = judge.verdicts(parent, Changes.of(np.concatenate(young)))
        return told.odds[told.fork >= 0]

    by_chance, little, much = (odds(number) for number in (1, 4, 64))
    assert by_chance.mean() + 0.5 < little.mean() < much.mean() - 0.5
    assert len(by_chance) < len(little)
    # However much there is to choose from, some children are hardly chosen.
    assert much.min() < little.mean()
    assert odds(64, keeps_first=True).mean() > little.mean()


def test_only_the_future_is_varied_and_nothing_after_the_last_touch(taught: Params) -> None:
    workload = small_workload(CONFIG, "alexnet-v4-b24")
    trainer = Trainer([workload], CONFIG, 0)
    parents = follow(workload, trainer.params, workload.demonstrations[:2])
    judge, wild = Judge(trainer.params, workload.arena.known), np.ones(2, np.float32)
    old = np.stack([parent.genes for parent in parents])
    last = int(workload.layout.touches[-1])
    for start in (CHUNK, last + 1):
        rng = np.random.default_rng(0)
        found = children_of(workload, judge, CONFIG.practice, rng, parents, start, wild)
        assert (found[:, :start] == old[:, :start]).all()
        assert (found != old).any() == (start <= last)


def test_champions_that_are_reunited_are_crossed_with_one_another(taught: Params) -> None:
    workload = small_workload()
    champions = [repeated(word, workload.num_moves) for word in (DROP, COPY)]
    parents = [champions[0]] * 64
    judge, wild = Judge(taught, workload.arena.known), np.zeros(64, np.float32)

    def taken(share: float) -> float:
        practice = replace(CONFIG.practice, reunion_share=share, mutations=0.0)
        rng = np.random.default_rng(0)
        found = children_of(workload, judge, practice, rng, parents, 0, wild)
        return float((found == COPY).mean())

    alone = taken(1.0)
    workload.replay.num_fresh, workload.replay.is_reuniting = 1, True
    workload.replay.champions = (*champions, champions[1])
    assert workload.replay.kind == "reunited"
    assert taken(0.0) == pytest.approx(alone, abs=0.1)
    assert taken(1.0) > alone + 0.1
