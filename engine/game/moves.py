"""The moves of the mallocGame, shared by the JAX rules and the plain reference.

Words and rules stand in `docs/model.md`. What that page leaves open is read as follows, on both
sides:

1. *Scratch ahead.* A block must be able to stand until its group no longer needs it, so a newcomer
   avoids the scratch of all slots from its start to `Move.life_end`: its lowest offset is the
   larger of `Move.reserved_ahead` and the scratch in `[s, t)`. So NoCopy of a resident is always
   possible.
2. *Levels of write-backs.* A write-back has the level of its block's start. Its latest deadline
   for a time `t` is `t` where `t` has that level (or ends that level's region), else the begin of
   the outermost region inside the level that holds `t`: content made before a loop is written
   back before the loop. Of ghosts that were written at one slot the one at the lowest address is
   written back first.
3. *Zero-length write-backs.* A write-back whose level has no slot between the last write and its
   deadline starts at its deadline, all of it a stall. At a sink its work is that of the region
   which ends: the simulator runs such a copy once per iteration, too.
4. *End of a block.* After every move of its group, a live block ends at `busy + 1` if the group's
   next touch (`Move.next_time`, sinks apart) is not before `level_end`, and the block is clean or
   the move was the group's last (`Move.is_last`). Hence no live block outlasts its `level_end`.
   Cross-program prefetches stay live until they are dropped or taken.
5. *Busy* never shrinks: it becomes the larger of the old and the new value.
6. *Too long a copy.* No block of a group starts at a level where one copy of the group takes
   `TICKS` or more; for a cross-program prefetch that level is the program. Compute does not wait
   for ghosts whose write-backs take `TICKS` or more together.
7. *A full table* of live blocks admits no newcomer; ghosts that the newcomer takes end first, and
   so does its group's own block. The row of a cross-program prefetch is never given up.
8. *A try that fails*, for want of a gap, a row or time to write back, is followed by the next try.
9. *Start of a Copy.* `s = t` is a candidate like any other; if none is at or after the horizon,
   forgotten waits, the look-back `t - W` and the validity of the slow copy, Copy is illegal. The
   look-back `t - W` of the move holds for write-backs too.
10. *One stay at a time.* When a block ends, its group's slow copy counts as valid from that end at
    the earliest, so that a later Copy does not reach back into the earlier stay.
11. *Next touch* of a ghost means touch, not sink; a group without one ranks `-1`.
12. *Half of the work*, that of a copy which finds no place, is rounded down.
13. *A Copy of a resident* takes no dirty ghosts: its own block's write-back is enough for one move.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from engine.program.model import TOP_LEVEL

COPY, NO_COPY, DROP, COPY_OTHER, NO_COPY_OTHER = range(5)
"""The actions of a move. The last two place the group elsewhere: where the place rule says, if a
place is planned, else at the other end, high where `goes_high` says low."""
NUM_ACTIONS = 5
KINDS = (COPY, NO_COPY, DROP, COPY, NO_COPY)
"""The kind of each action: the one that does the same in the first place."""
OTHER_END = {COPY: COPY_OTHER, NO_COPY: NO_COPY_OTHER}
"""The same action at the other end, for the actions that place something."""
RULES_VERSION = 5
"""Version of the rules: in another one, recorded moves may end otherwise, or be forbidden."""
ACTION_NAMES = ("Copy", "NoCopy", "Drop", "Copy other end", "NoCopy other end")
BEST_FIT = "best_fit"
PLACE_RULES = ("long_high", "two_ended", "first_fit", BEST_FIT)
BIG_SHARE = 8
"""`two_ended` puts groups of at least 1/8 of the fast memory at the high end."""
LONG_LIFE = 4
"""`long_high` puts groups that are touched again after more than 4 slots at the high end."""

FEW_BLOCKS, MANY_BLOCKS = 96, 192
"""Rows of the block table, by how many groups are in use at once: see `table_rows`."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Options of the game.

    `max_blocks`: `K`, rows of the block table; None: see `table_rows`. `look_back`: `W`, slots.
    `strict`: a sink that would stall is a dead end. `place`: one of `PLACE_RULES`. `planned`:
    places that come before those of the place rule, as `(group, first slot, offset in granules)`,
    by group, then slot.
    """

    max_blocks: int | None = None
    look_back: int = 192
    strict: bool = False
    place: str = "long_high"
    planned: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuse impossible options (a programmer's mistake, hence ValueError)."""
        if self.place not in PLACE_RULES:
            raise ValueError(f"place rule {self.place!r} is none of {', '.join(PLACE_RULES)}")
        if (self.max_blocks is not None and self.max_blocks < 1) or self.look_back < 0:
            raise ValueError("max_blocks must be positive and look_back not negative")


@dataclass(frozen=True, slots=True)
class Hoist:
    """Where a Copy may be taken out of a loop: in front of region `[start, end)`, at `level`.

    `work_ticks`: of one copy of the group at that level. `reserved_ahead`: most granules of scratch
    in the slots which a block beginning at that level may have to hold from `start` on;
    `is_lasting` as in `Move`.
    """

    start: int
    end: int
    level: int
    work_ticks: int
    reserved_ahead: int
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class Move:
    """One decision: a touch of a group that may be fast, or a sink."""

    time: int
    """Its slot; of a sink, the end of the region or of the program."""
    group: int
    is_sink: bool
    level: int
    """Of slot `time`; of a sink, the region that ends there (`TOP_LEVEL`: the program)."""
    work_ticks: int
    """Of one copy of the group at `level`."""
    size_granules: int
    next_time: int
    """Slot of the group's next touch; `T + 1` if there is none."""
    next_rank: int
    """`rank` of the group's next touch; -1 if there is none."""
    is_last: bool
    """Last move of the group, sinks included."""
    life_end: int
    """End of the interval that a block begun here, at `level`, must be able to hold."""
    end: int
    """First slot before which the touch is over; of a sink, its time."""
    last_time: int
    """Slot of the group's last touch."""
    reads: bool
    writes: bool
    is_first: bool
    """First touch of the group."""
    may_stay_before: bool
    """NoCopy may be a cross-program prefetch: a first touch of an input that is never written."""
    hoist: Hoist | None
    must_be_slow: bool
    """A touch that can only be dropped."""
    is_lasting: bool
    """`life_end` is past the slot in which a kept input comes back (`Quantised.return_slot`)."""
    touch: int = -1
    """Index into `Program.touches`; -1 for a sink."""
    saving_s: float = 0.0
    """Seconds saved when served fast."""
    saving_ticks: int = 0
    """The same in ticks, rounded down."""
    draw_ticks: int = 0
    """Ticks that slow memory needs when it serves the touch."""
    rank: int = -1
    """Rank of its saving per granule among all touches; equal ones share a rank."""
    reserved_ahead: int = 0
    """Most granules of scratch in `[time, life_end)`."""

    @property
    def region(self) -> int:
        """The region that ends at a sink (`TOP_LEVEL`: the program); of other moves `TOP_LEVEL`."""
        return self.level if self.is_sink else TOP_LEVEL


def table_rows(rules: Rules, moves: Sequence[Move]) -> int:
    """`K`: as the rules say, else 96, or 192 where more than 96 groups are in use at one slot."""
    if rules.max_blocks is not None:
        return rules.max_blocks
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for move in moves:
        first.setdefault(move.group, move.time)
        last[move.group] = move.time
    begins, ends = sorted(first.values()), sorted(last.values())
    most = max((n - bisect_left(ends, at) for n, at in enumerate(begins, 1)), default=0)
    return MANY_BLOCKS if most > FEW_BLOCKS else FEW_BLOCKS


def goes_high(rules: Rules, move: Move, fast_granules: int) -> bool:
    """Whether the place rule puts a newcomer at the high end of the highest gap."""
    if rules.place == "two_ended":
        return move.size_granules * BIG_SHARE >= fast_granules
    return rules.place == "long_high" and lives_long(move)


def lives_long(move: Move) -> bool:
    """Whether the group is touched again after more than `LONG_LIFE` slots."""
    return move.last_time - move.time > LONG_LIFE


class PlannedPlaces:
    """The planned places of a game, by group and time."""

    def __init__(self, rules: Rules, fast_granules: int) -> None:
        self._fast_granules = fast_granules
        self._stays: dict[int, list[tuple[int, int]]] = {}
        for group, start, offset in rules.planned:
            self._stays.setdefault(group, []).append((start, offset))

    def offset(self, move: Move) -> int | None:
        """The place of the last planned stay of the move's group that has begun.

        None if none has, or if it is outside of the memory.
        """
        stay = self._last(move)
        return stay[1] if stay and 0 <= stay[1] < self._fast_granules else None

    def since(self, move: Move) -> int:
        """The first slot of that stay; of a cross-program prefetch, and if there is none, -1."""
        stay = self._last(move)
        return max(-1, stay[0]) if stay else -1

    def _last(self, move: Move) -> tuple[int, int] | None:
        stays = self._stays.get(move.group, [])
        number = bisect_right(stays, move.time, key=lambda stay: stay[0])
        return stays[number - 1] if number else None
