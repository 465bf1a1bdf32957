"""What the player sees, against the plain-Python game."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest

from engine.game.environment import Environment
from engine.game.jaxgame import env
from engine.game.jaxgame.encoding import EncodedProgram, Shape, common_shape, encode
from engine.game.move_list import moves
from engine.game.moves import NO_COPY
from engine.game.observation.dynamic import imagined_wish, observe
from engine.game.observation.layout import (
    MOVE_FEATURES,
    NUM_AHEAD,
    NUM_BINS,
    NUM_STATIC,
    PARTS,
    PRICE_FEATURES,
    SIZE,
    SPANS,
    SWITCHES,
)
from engine.game.observation.static import Features, Wishes, features, possible_s, static_row
from engine.game.reference.game import ReferenceGame
from engine.game.replay import Desired, _choose
from engine.game.scripts import EARN, play_word
from engine.plan.bounds import lower_bound
from engine.program import library
from engine.program.model import Program, Region
from engine.solvers.draft import drafts_of
from tests.game.tiny_programs import Buffer, program_of

STEP = jax.jit(env.step)
OBSERVE = jax.jit(observe)
NAMES = ("teach-loop-carry", "alexnet-v4-b24", "lstm-v5e-b128")


@cache
def shape() -> Shape:
    """One for all programs, so that the game is compiled once."""
    return common_shape([encode(library.load_sample(name)) for name in NAMES])


def encoded_of(program: Program) -> EncodedProgram:
    return encode(program, shape=shape())


@pytest.fixture(scope="module")
def program() -> Program:
    return library.load_sample(NAMES[0])


def part(seen: np.ndarray, name: str) -> np.ndarray:
    return seen[PARTS[name].start : PARTS[name].end]


def untame(value: float) -> float:
    """The inverse of `squash`."""
    return float(np.sign(value) * ((abs(value) + 0.1) ** 2 - 0.01))


def walk(program: Program, seed: int) -> list[tuple[ReferenceGame, np.ndarray]]:
    """A random game: the reference at each move, and the observation there."""
    encoded = encoded_of(program)
    known = features(program, encoded, lower_bound(program))
    position, game = env.reset(encoded), ReferenceGame(program)
    rng, seen = random.Random(seed), []
    assert not game.is_over, "there is something to see"
    while not game.is_over:
        seen.append((game.clone(), np.asarray(OBSERVE(encoded, known, position))))
        action = rng.choice(game.legal_actions())
        game.step(action)
        position, _ = STEP(encoded, position, action)
    return seen


@pytest.mark.nightly
def test_every_number_is_finite_and_tame(program: Program) -> None:
    for _, seen in walk(program, 0):
        assert seen.shape == (SIZE,)
        assert np.isfinite(seen).all()
        assert np.abs(seen).max() <= 20


@pytest.mark.parametrize("name", NAMES)
def test_residents_idle_time_and_memory_agree_with_the_reference(name: str) -> None:
    program = library.load_sample(name)
    point_s = possible_s(program, lower_bound(program)) / 100
    tick_s = program.all_slow_s / 2**30
    for game, seen in walk(program, 1):
        ahead = game.moves[game.move_index + 1 : game.move_index + 1 + NUM_AHEAD]
        is_here, is_dirty = np.split(part(seen, "residents"), 2)
        for index, move in enumerate(ahead):
            block = game.state.live.get(move.group)
            assert is_here[index] == (block is not None)
            assert is_dirty[index] == (block is not None and block.is_dirty)
        now = game.move.time
        for index, span in enumerate(SPANS):
            idle_s = sum(game.state.ledger.left[max(0, now - span) : now]) * tick_s
            told = untame(float(part(seen, "ledger")[index]))
            assert told == pytest.approx(idle_s / point_s, rel=0.02, abs=0.05)
        certain = part(seen, "memory")[:NUM_BINS]
        width = -(-game.facts.numbers.fast_granules // NUM_BINS)
        blocks = [*game.state.live.values(), *game.state.ended]
        for cell in range(NUM_BINS):
            low, high = cell * width, (cell + 1) * width
            taken = sum(
                max(0, min(b.offset + b.size, high) - max(b.offset, low))
                for b in blocks
                if b.stands_at(now) and not (b in game.state.live.values() and b.is_ghost(now))
            )
            assert certain[cell] == pytest.approx(min(1.0, taken / width), abs=1e-4)


def test_the_options_tell_who_is_resident(program: Program) -> None:
    for game, seen in walk(program, 2):
        block = game.state.live.get(game.move.group)
        assert bool(part(seen, "options")[0]) == (block is not None)


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_greedy_choice_is_that_of_the_script(name: str) -> None:
    program = library.load_sample(name)
    for game, seen in walk(program, 3):
        before = game.clone()
        play_word(before, EARN)
        assert part(seen, "greedy").argmax() == before.actions[-1]


def test_the_choice_with_a_draft_is_that_of_who_follows_its_plan() -> None:
    """At random positions, of one who mostly follows."""
    program = library.load_sample(NAMES[2])
    draft = next(drafts_of(program))
    # Of the shape of the others, so that nothing is compiled for it.
    encoded = encode(program, draft.rules, shape())
    known = features(program, encoded, lower_bound(program), wishes=draft.wishes(program))
    position, game = env.reset(encoded), ReferenceGame(program, draft.rules)
    desired, rng, chosen = Desired(program, draft.plan), random.Random(4), set[int]()
    while not game.is_over:
        seen = np.asarray(OBSERVE(encoded, known, position))
        wanted = _choose(game, desired)
        assert part(seen, "greedy").argmax() == wanted
        chosen.add(wanted)
        action = rng.choice(game.legal_actions()) if rng.random() < 0.2 else wanted
        game.step(action)
        position, _ = STEP(encoded, position, action)
    assert len(chosen) > 2


def known_of(program: Program, *hidden: str) -> tuple[Features, Features]:
    encoded, bound = encoded_of(program), lower_bound(program)
    return features(program, encoded, bound), features(program, encoded, bound, hidden)


@pytest.mark.parametrize("switch", sorted(SWITCHES))
def test_a_switch_hides_its_parts_and_nothing_else(program: Program, switch: str) -> None:
    encoded = encoded_of(program)
    position = env.reset(encoded)
    whole, some = known_of(program, switch)
    before = np.asarray(OBSERVE(encoded, whole, position))
    after = np.asarray(OBSERVE(encoded, some, position))
    for name in PARTS:
        wanted = 0.0 * part(before, name) if name in SWITCHES[switch] else part(before, name)
        assert np.array_equal(part(after, name), wanted)


def test_who_does_not_see_what_the_draft_wants_does_not_imagine_it(program: Program) -> None:
    encoded, every = encoded_of(program), np.arange(3)
    number = len(moves(program))
    wishes = Wishes((NO_COPY,) * number, (True,) * number)
    for hidden, told in (((), 3.0), (("greedy",), 0.0)):
        known = features(program, encoded, hidden=hidden, wishes=wishes)
        assert imagined_wish(known, every).sum() == told
        assert known.may_keep[:3].sum() == told


def test_the_dynamics_is_told_what_is_not_hidden(program: Program) -> None:
    whole, some = known_of(program, "prices")
    _, nothing = known_of(program, "dynamics")
    prices = slice(NUM_STATIC - len(PRICE_FEATURES) - len(SPANS), NUM_STATIC)
    assert np.abs(np.asarray(static_row(whole, 0))[: len(MOVE_FEATURES)]).sum() > 0
    assert (np.asarray(static_row(some, 0))[prices] == 0).all()
    assert (np.asarray(static_row(nothing, 0)) == 0).all()


def test_a_program_without_moves_has_an_observation_and_no_steps() -> None:
    useless = program_of([5], [Buffer(4, reads={0: 0}, is_input=True)])
    encoded = encoded_of(useless)
    seen = OBSERVE(encoded, features(useless, encoded), env.reset(encoded))
    assert np.isfinite(seen).all()
    assert Environment(useless).num_steps == 0


def test_where_nothing_can_be_gained_numbers_fit_half_precision() -> None:
    """A point is next to nothing there, so that a stall is billions of them."""
    away = Buffer(4, reads={0: 3, 2: 3}, is_input=True)
    full = program_of([5] * 3, [away], reserved={0: 16, 1: 16, 2: 16})
    for _, seen in walk(full, 0):
        assert np.isfinite(seen.astype(np.float16)).all()


def test_a_fast_memory_of_no_whole_granule_is_seen_as_one_of_one() -> None:
    tiny = program_of([5, 5], [Buffer(4, writes={0: 3}, reads={1: 3})])
    tiny = replace(tiny, hardware=replace(tiny.hardware, alignment=64))
    for _, seen in walk(tiny, 0):
        assert np.isfinite(seen).all()


def test_the_highest_ranks_share_the_last_entry() -> None:
    best_first = [Buffer(1, reads={0: saved}, is_input=True) for saved in (9, 1, 3)]
    some = program_of([5], best_first)
    whole, few = (features(some, encoded_of(some), num_ranks=n).density.tolist() for n in (3, 2))
    assert whole == sorted(whole)
    assert few == [whole[0], whole[2]]


def prices_of(known: Features) -> dict[str, np.ndarray]:
    """The price features of all moves, by name."""
    first = NUM_STATIC - len(PRICE_FEATURES) - len(SPANS)
    return dict(zip(PRICE_FEATURES, np.asarray(known.table)[:, first:].T, strict=False))


def test_a_sink_is_followed_by_the_touches_after_it() -> None:
    """At the end of the loop the carry is still read, and then no more."""
    carry = Buffer(2, reads={1: 3, 3: 5}, writes={0: 7, 2: 2}, is_live_out=True)
    some = program_of([5] * 4, [carry], regions=[Region("while", 1, 3, 1.0)])
    told = prices_of(features(some, encoded_of(some)))["next saving less that"]
    saved_s = [round(untame(points) * possible_s(some) / 100) for points in told]
    next_s = list(zip([move.time for move in moves(some)], saved_s, strict=False))
    assert next_s == [(0, 3), (1, 2), (2, 5), (3, 5), (3, 0), (4, 0)]


def test_without_a_bound_there_are_no_prices(program: Program) -> None:
    encoded = encoded_of(program)
    blind = features(program, encoded)
    named = prices_of(blind)
    for name in ("place until the next touch", "a copy of the group", "place in this slot"):
        assert (named[name] == 0).all()
    assert float(blind.point_ticks) > 0
