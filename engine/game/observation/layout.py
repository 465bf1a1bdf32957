"""The layout of what the player sees: named slices of the observation and of the static features.

Sizes are shares of the fast memory. Savings, stalls and prices are in *points*: one point is 1 % of
the most that any plan can save. Letters: `F` static features per move, `H` moves ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.moves import NUM_ACTIONS

VERSION = 6
"""Changes when an input of the same place means something else."""
NUM_AHEAD = 12
"""`H`, moves ahead that the player sees one by one."""
NUM_BINS = 4
"""Equal parts of the address space in which occupancy is counted."""
SPANS = (1, 2, 4, 8, 16, 32, 64)
"""Slots ahead (pressure, prices) and back (ledger), as ever longer spans."""

MOVE_FEATURES = (
    "is a sink",
    "reads",
    "writes",
    "is the group's first touch",
    "is the group's last move",
    "may stay from before the start",
    "is in a loop",
    "a Copy may be hoisted",
    "size",
    "size, root",
    "saving",
    "saving per byte, rank",
    "work of a copy",
    "slots to the next touch",
    "saving of the next touch",
    "savings still to come",
    "touches still to come",
    "share of the moves played",
)
PRICE_FEATURES = (
    "place until the next touch",
    "next saving less that",
    "best stay from here on",
    "a copy of the group",
    "place in this slot",
    "share served fast in the relaxed optimum",
)


@dataclass(frozen=True)
class Part:
    """A named slice of the observation."""

    name: str
    start: int
    end: int


def _parts(**sizes: int) -> dict[str, Part]:
    """Slices of these sizes, one behind the other, by name."""
    parts, start = {}, 0
    for name, size in sizes.items():
        parts[name] = Part(name, start, start + size)
        start += size
    return parts


STATIC_PARTS = _parts(
    move=len(MOVE_FEATURES), pressure=2 * len(SPANS), prices=len(PRICE_FEATURES) + len(SPANS)
)
"""Slices of a row of `Features.table`."""
NUM_STATIC = STATIC_PARTS["prices"].end
NUM_OPTION = 28
PARTS = _parts(
    move=len(MOVE_FEATURES),
    pressure=2 * len(SPANS),
    prices=len(PRICE_FEATURES) + len(SPANS),
    ahead=NUM_AHEAD * len(MOVE_FEATURES),
    prices_ahead=NUM_AHEAD * len(PRICE_FEATURES),
    residents=2 * NUM_AHEAD,
    options=NUM_OPTION,
    memory=3 * NUM_BINS,
    ledger=2 * len(SPANS) + 1,
    greedy=NUM_ACTIONS,
)
"""Slices of an observation."""
SIZE = PARTS["greedy"].end
"""Length of an observation."""
NUM_OUTLOOK = PARTS["prices_ahead"].end
"""Length of the beginning of an observation, which no action changes: it is known beforehand."""
NUM_VIEW = SIZE - NUM_OUTLOOK
"""Length of the rest of an observation: how the memory stands."""
SWITCHES = {
    "move": ("move",),
    "prices": ("prices", "prices_ahead"),
    "ahead": ("ahead", "prices_ahead", "residents"),
    "pressure": ("pressure",),
    "options": ("options",),
    "memory": ("memory",),
    "ledger": ("ledger",),
    "greedy": ("greedy",),
    "dynamics": (),
}
"""Groups of parts that an ablation can hide.

`dynamics` hides the features of the next move, which a learned dynamics gets otherwise.
"""
