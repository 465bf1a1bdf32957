"""Many scripted games of one program in step, each resumed from a checkpoint of an earlier game.

A search that changes a game from some move on need not replay what comes before: a `Trail` keeps
the states at the checkpoints of one game, as NumPy arrays. Letters: `B` games, `M` moves (padded),
`C` checkpoints, `S` numbers of a state (`engine.game.jaxgame.state.packed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.game.jaxgame.encoding import EncodedProgram, encode
from engine.game.jaxgame.options import earning
from engine.game.jaxgame.state import State, initial_state, packed, unpacked
from engine.game.jaxgame.step import StepOutcome, analyse, apply
from engine.game.moves import COPY_OTHER, DROP, Rules
from engine.game.quantise import TICKS
from engine.game.scripts import EARN, EARN_OTHER
from engine.processes import num_cores
from engine.program.model import Program

NUM_CHECKPOINTS = 16
MOST_THREADS = 2
"""Batches are cut in as many parts, played at once, where there may be as many threads."""


@dataclass(frozen=True)
class Trail:
    """One game's states before its checkpoints, and its return in ticks up to each."""

    states: NDArray[np.int32]  # [C, S]
    ticks: NDArray[np.int32]  # [C]

    def spliced(self, parent: Trail, first: int) -> Trail:
        """This trail from checkpoint `first` on, and the parent's up to it."""
        states = np.concatenate([parent.states[: first + 1], self.states[first + 1 :]])
        return Trail(states, np.concatenate([parent.ticks[: first + 1], self.ticks[first + 1 :]]))


@dataclass(frozen=True)
class Played:
    """Returns of a batch in ticks, never counted below `-2^30`, and what is needed to resume.

    `actions`: those that the words stood for; -1 before the checkpoint where the games begin.
    """

    ticks: NDArray[np.int32]  # [B]
    states: NDArray[np.int32]  # [C, B, S]
    ticks_before: NDArray[np.int32]  # [C, B]
    actions: NDArray[np.int8]  # [M, B]

    def trail(self, game: int) -> Trail:
        """The checkpoints of one game of the batch, copied."""
        return Trail(self.states[:, game].copy(), self.ticks_before[:, game].copy())


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Words:
    """The result of `play_words`: actions, -1 where none was played; ticks, earlier ones included.

    `states`, `ticks_before`: before each checkpoint with moves behind it; of the others zeros.
    """

    actions: Array  # [M, B]
    ticks: Array  # [B]
    states: Array  # [C, B, S]
    ticks_before: Array  # [C, B]


_Book = tuple[Array, Array]
_Carry = tuple[tuple[State, Array, Array], _Book]


class BatchGame:
    """The game of one program for scripts of words (`engine.game.scripts`)."""

    def __init__(self, program: Program, rules: Rules | None = None) -> None:
        """Encode `program`. Raises SolverError if the JAX game cannot play it."""
        self._encoded = encode(program, rules)
        self._num_rows = self._encoded.moves.shape[0]
        self.num_moves = int(self._encoded.num_moves)
        self.spacing = self._num_rows // NUM_CHECKPOINTS
        self.beginning = Trail(
            np.repeat(first_row(self._encoded), NUM_CHECKPOINTS, axis=0),
            np.zeros(NUM_CHECKPOINTS, np.int32),
        )
        self._threads = min(MOST_THREADS, num_cores())
        self._pool = ThreadPoolExecutor(self._threads)
        self._has_played = False

    @property
    def num_checkpoints(self) -> int:
        """Checkpoints that have moves behind them: number `c` is before move `c · spacing`."""
        return max(1, -(-self.num_moves // self.spacing))

    def compile(self, batch: int) -> None:
        """Compile the game for batches of that size, where no other game of its shape has."""
        last = self.num_checkpoints - 1
        words = np.full((batch, self.num_moves), EARN, np.int8)
        self.play(words, [self.beginning] * batch, last)

    def play(self, scripts: NDArray[np.int8], trails: Sequence[Trail], first: int) -> Played:
        """Play scripts `[B, M]` from checkpoint `first` of each game's trail on.

        Trails start at `beginning`. Batches of one size share one compiled game.
        """
        parts = [slice(part, None, self._threads) for part in range(self._threads)]
        play = partial(self._play, first)
        # The first batch compiles, which two threads would do twice.
        in_turn = self._pool.map if self._has_played else map
        played = list(in_turn(play, [scripts[p] for p in parts], [trails[p] for p in parts]))
        self._has_played = True
        order = np.argsort(np.concatenate([np.arange(len(scripts))[p] for p in parts]))

        return Played(
            ticks=np.concatenate([part.ticks for part in played])[order],
            states=np.concatenate([part.states for part in played], 1)[:, order],
            ticks_before=np.concatenate([part.ticks_before for part in played], 1)[:, order],
            actions=np.concatenate([part.actions for part in played], 1)[:, order],
        )

    def _play(self, first: int, scripts: NDArray[np.int8], trails: Sequence[Trail]) -> Played:
        rows = np.full((self._num_rows, len(scripts)), EARN, np.int8)
        rows[: scripts.shape[1]] = scripts.T
        played = play_words(
            self._encoded,
            np.stack([trail.states[first] for trail in trails]),
            np.stack([trail.ticks[first] for trail in trails]),
            rows,
            np.int32(first),
            self.spacing,
        )
        parts = (played.ticks, played.states, played.ticks_before, played.actions)
        return Played(*map(np.asarray, parts))


def first_row(encoded: EncodedProgram) -> NDArray[np.int32]:
    """The state before the first move, `[1, S]`."""
    start = jax.tree.map(lambda leaf: leaf[None], initial_state(encoded))
    return np.asarray(packed(start))


@partial(jax.jit, static_argnames="spacing")
def play_words(
    encoded: EncodedProgram,
    states: Array,
    ticks: Array,
    words: Array,
    first: Array,
    spacing: int,
) -> Words:
    """Play the words `[M, B]` from checkpoint `first` on; there is one every `spacing` moves.

    Games are in the states `[B, S]` and have earned `ticks` `[B]` before. Arrays of NumPy are
    handed over faster than ones made into JAX's before.
    """
    play = jax.vmap(partial(_play_word, encoded), in_axes=(None, 0, 0))

    def play_move(move: Array, carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        state, ticks, actions = carry
        following, outcome = play(move, state, words[move])
        actions = actions.at[move].set(outcome.action.astype(jnp.int8))
        return following, jnp.maximum(ticks + outcome.reward_ticks, -TICKS), actions

    def play_segment(number: Array, carry: _Carry) -> _Carry:
        game, book = carry
        state, ticks, _ = game
        book = book[0].at[number].set(packed(state)), book[1].at[number].set(ticks)
        end = jnp.minimum((number + 1) * spacing, encoded.num_moves)
        return jax.lax.fori_loop(number * spacing, end, play_move, game), book

    pages = -(-encoded.moves.shape[0] // spacing)
    book = jnp.zeros((pages, *states.shape), jnp.int32), jnp.zeros((pages, *ticks.shape), jnp.int32)
    begun = (unpacked(encoded, states), ticks, jnp.full_like(words, -1)), book
    end = (encoded.num_moves + spacing - 1) // spacing
    (_, ticks, actions), book = jax.lax.fori_loop(first, end, play_segment, begun)
    return Words(actions, ticks, *book)


def _play_word(
    encoded: EncodedProgram, move: Array, state: State, word: Array
) -> tuple[State, StepOutcome]:
    # The loop's counter instead of the state's: games in step read one row of the moves, not `B`.
    state = replace(state, move=move)
    options = analyse(encoded, state)
    earned = earning(options, encoded.row(move), state.spare)
    at_other_end = jnp.where(earned == DROP, DROP, earned + COPY_OTHER)
    action = jnp.where(word == EARN_OTHER, at_other_end, jnp.where(word == EARN, earned, word))
    action = action.astype(jnp.int32)
    played: tuple[State, StepOutcome] = apply(encoded, state, options, action)
    return played
