"""Operators on genomes, and the first genomes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evolution.genome import Layout, first_genomes, layout, relaxed_genomes
from engine.evolution.operators import (
    LONGEST_WAIT,
    MOST_DISPLACED,
    MUTATIONS,
    Site,
    change_ends,
    change_group,
    change_stretch,
    cross,
    displace,
    make_room,
    mutate,
    outbid,
    site_at,
)
from engine.game import move_list
from engine.game.moves import COPY, COPY_OTHER, DROP, NO_COPY, NO_COPY_OTHER
from engine.game.scripts import EARN, EARN_OTHER, NUM_WORDS
from tests.strategies import random_program

FIRST, SPACING = 20, 8
BLANK = 9
TRIES = 200


@pytest.fixture(scope="module")
def moves() -> Layout:
    return layout(random_program(5, 60))


@pytest.fixture(scope="module")
def site(moves: Layout) -> Site:
    found = site_at(moves, FIRST, SPACING)
    assert found is not None
    return found


def blank(moves: Layout) -> np.ndarray:
    return np.full(moves.num_moves, BLANK, np.int8)


def changed(moves: Layout, site: Site, operator, seed: int) -> np.ndarray:
    """The moves that an operator changes; all words it writes are words."""
    genes = blank(moves)
    operator(genes, site, np.random.default_rng(seed))
    found = np.flatnonzero(genes != BLANK)
    assert set(genes[found].tolist()) <= set(range(NUM_WORDS))
    return found


@pytest.mark.parametrize("operator", [m for m in MUTATIONS if m is not change_ends])
def test_mutations_leave_what_was_played_before(operator, moves: Layout, site: Site) -> None:
    touched = np.concatenate([changed(moves, site, operator, seed) for seed in range(TRIES)])
    assert len(touched)
    assert touched.min() >= FIRST


@pytest.mark.parametrize("operator", [change_group, change_stretch])
def test_group_mutations_change_one_tensor(operator, moves: Layout, site: Site) -> None:
    sizes = set()
    for seed in range(TRIES):
        found = changed(moves, site, operator, seed)
        assert len(set(moves.group[found].tolist())) == 1
        sizes.add(len(found))
        own = moves.of_group[moves.group[found[0]]]
        own = own[own >= found[0]]
        assert found.tolist() == own[: len(found)].tolist()
    assert len(sizes) > 1


def test_room_is_made_by_dropping_others_during_a_life(moves: Layout, site: Site) -> None:
    num_dropped, num_before = [], 0
    for seed in range(TRIES):
        genes = blank(moves)
        make_room(genes, site, np.random.default_rng(seed))
        wanted = np.flatnonzero(genes == EARN)
        dropped = np.flatnonzero(genes == DROP)
        assert len(set(moves.group[wanted].tolist())) == 1
        if len(dropped):
            assert moves.slot_begin[wanted[0]] <= dropped.min()
            assert dropped.max() <= wanted[-1]
        num_dropped.append(len(dropped))
        num_before += int((dropped < wanted[0]).sum())
    assert min(num_dropped) == 0 < max(num_dropped)
    assert num_before, "what the instruction that writes it reads is dropped, too"


def test_a_slot_begins_with_its_first_move() -> None:
    program = random_program(5, 60)
    rows, begin = move_list.moves(program), layout(program).slot_begin
    for number, row in enumerate(rows):
        first = rows[begin[number]]
        assert first.time == row.time
        assert begin[number] == 0 or rows[begin[number] - 1].time < row.time


def test_few_are_displaced_the_large_ones_and_all_else_goes_on_as_it_was_played(
    moves: Layout, site: Site
) -> None:
    played = np.full(moves.num_moves, NO_COPY, np.int8)
    sizes, nums = [], set()
    for seed in range(TRIES):
        genes = blank(moves)
        displace(genes, site.of(played), np.random.default_rng(seed))
        wanted, dropped = np.flatnonzero(genes == EARN), np.flatnonzero(genes == DROP)
        (own,) = set(moves.group[wanted].tolist())
        begin = max(FIRST, int(moves.slot_begin[wanted[0]]))
        assert (genes[:begin] == BLANK).all()
        assert (np.delete(genes[begin:], np.r_[wanted, dropped] - begin) == NO_COPY).all()
        others = set(moves.group[dropped].tolist())
        assert own not in others
        assert len(others) <= MOST_DISPLACED
        assert dropped.max(initial=0) <= wanted[-1]
        nums.add(len(others))
        inside = moves.touches[(moves.touches >= begin) & (moves.touches <= wanted[-1])]
        for group in others:
            during = inside[moves.group[inside] == group]
            assert (genes[during] == DROP).all()
            sizes.append((moves.size[during[0]], moves.size[inside].mean()))
    assert nums == set(range(1, MOST_DISPLACED + 1))
    assert np.mean([own for own, _ in sizes]) > 1.2 * np.mean([mean for _, mean in sizes])


def test_what_is_worth_less_is_outbid(moves: Layout, site: Site) -> None:
    waited, spared = [], 0
    for seed in range(TRIES):
        genes = blank(moves)
        outbid(genes, site, np.random.default_rng(seed))
        wanted, dropped = np.flatnonzero(genes == EARN), np.flatnonzero(genes == DROP)
        assert len(set(moves.group[wanted].tolist())) == 1
        kept = moves.touches[(moves.touches >= wanted[0]) & (moves.touches <= wanted[-1])]
        kept = kept[genes[kept] == BLANK]
        if len(dropped):
            assert dropped.max() <= wanted[-1]
            assert moves.worth[dropped].max() < moves.worth[kept].min(initial=np.inf)
            waited.append(int(wanted[0] - dropped.min()))
        spared += len(kept)
    assert spared
    assert min(waited) < 0 < max(waited) < LONGEST_WAIT


def test_other_ends_are_of_one_tensor_and_the_same_actions(moves: Layout, site: Site) -> None:
    pairs = {COPY: COPY_OTHER, NO_COPY: NO_COPY_OTHER, EARN: EARN_OTHER, DROP: DROP}
    pairs |= {other: word for word, other in pairs.items()}
    sizes = set()
    for seed in range(TRIES):
        before = np.random.default_rng(seed).integers(0, NUM_WORDS, moves.num_moves).astype(np.int8)
        genes = before.copy()
        change_ends(genes, site, np.random.default_rng(seed))
        found = np.flatnonzero(genes != before)
        assert found.min(initial=FIRST) >= FIRST
        assert len(set(moves.group[found].tolist())) <= 1
        assert all(genes[k] == pairs[before[k]] for k in found)
        sizes.add(len(found))
    assert max(sizes) > 1


def test_more_mutations_change_more(moves: Layout, site: Site) -> None:
    def num_changed(num: int, seed: int) -> int:
        genes = np.full(moves.num_moves, EARN, np.int8)
        mutate(genes, site, num, np.random.default_rng(seed))
        return np.count_nonzero(genes != EARN)

    def mean(num: int) -> float:
        return float(np.mean([num_changed(num, seed) for seed in range(TRIES)]))

    assert mean(1) < mean(4)


def test_crossover_takes_a_stretch_of_time_or_whole_tensors(moves: Layout, site: Site) -> None:
    other = np.full(moves.num_moves, COPY, np.int8)
    kinds = set()
    for seed in range(TRIES):
        found = changed(moves, site, lambda g, s, r: cross(g, other, s, r), seed)
        if not len(found):
            continue
        assert found.min() >= FIRST
        ahead = np.arange(FIRST, moves.num_moves)
        groups = np.isin(moves.group[ahead], moves.group[found])
        is_time = len(found) == found[-1] - found[0] + 1
        is_group = found.tolist() == ahead[groups].tolist()
        assert is_time or is_group
        kinds.add(is_group and not is_time)
    assert kinds == {True, False}


def test_some_of_the_random_first_genomes_round_the_relaxed_optimum(moves: Layout) -> None:
    shares, rng = np.ones(moves.num_moves), np.random.default_rng(0)
    found = np.stack(first_genomes(moves, 24, rng, shares))
    assert len(found) == 24
    # What serves everything fast is the greedy game however it is rounded.
    assert (found == EARN).all(axis=1).tolist() == [True, False, False, False] + [True] * 8 + [
        False
    ] * 12


def test_relaxed_genomes_round_by_one_draw_or_one_per_tensor(moves: Layout) -> None:
    rng = np.random.default_rng(1)
    shares = rng.choice([0.0, 0.3, 0.6, 1.0], moves.num_moves)
    genomes = np.stack(relaxed_genomes(moves, shares, 64, rng))
    assert (genomes[:, shares == 1.0] == EARN).all()
    assert (genomes[:, shares == 0.0] == DROP).all()
    is_fast = genomes == EARN
    numbers = [is_fast[:, shares == share] for share in (0.3, 0.6)]
    by_one = [bool((some == some[:, :1]).all(axis=1)[::2].all()) for some in numbers]
    assert by_one == [True, True]
    assert any((some != some[:, :1])[1::2].any() for some in numbers)
    assert 0.2 < is_fast[:, shares == 0.3].mean() < is_fast[:, shares == 0.6].mean() < 0.75


def test_nothing_to_change_behind_the_last_touch(moves: Layout) -> None:
    assert site_at(moves, moves.num_moves, SPACING) is None


def test_the_first_genomes_are_the_simple_games_and_random_ones(moves: Layout) -> None:
    genomes = first_genomes(moves, 40, np.random.default_rng(0))
    assert len(genomes) == 40
    for genes, word in zip(genomes, (EARN, DROP, NO_COPY, COPY), strict=False):
        assert (genes == word).all()
    assert len({genes.tobytes() for genes in genomes}) > 30
    assert [len(g) for g in first_genomes(moves, 2, np.random.default_rng(0))] == [
        moves.num_moves
    ] * 2
