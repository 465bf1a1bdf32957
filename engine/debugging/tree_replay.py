"""The nodes of a search tree, played in the real game: which are legal, and what they earn.

Below the root the learned model forbids nothing, so a node may be an action that is illegal there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.game.reference.blocks import Block, Effect
from engine.game.reference.game import ReferenceGame

MOST_NODES = 160
"""Nodes of a tree that are played, the most visited first."""
UNKNOWN, LEGAL, ILLEGAL = 0, 1, 2
"""States of a node: not played or behind the end of the game; legal to play; illegal."""


@dataclass
class TreeReplay:
    """What the real game says of each node of a tree, by node.

    `state`: `UNKNOWN`, `LEGAL` or `ILLEGAL`. `reward_s`: what the action really earns, in seconds.
    `place`: offset and size in granules, first slot, slot after the last certain one, and slot
    after the group's next touch, of the block that the action makes or keeps (-1: none).
    `gone`: groups whose block the action ends, by node.
    """

    state: NDArray[np.uint8]  # [N + 1]
    reward_s: NDArray[np.float32]  # [N + 1]
    place: NDArray[np.int64]  # [N + 1, 5]
    gone: dict[int, list[int]] = field(default_factory=dict)


def replay_tree(
    game: ReferenceGame, parent: Sequence[int], action: Sequence[int], visits: Sequence[int]
) -> TreeReplay:
    """Play the most visited nodes from the position of the root, which is left as it is."""
    count = len(parent)
    replayed = TreeReplay(
        state=np.zeros(count, np.uint8),
        reward_s=np.zeros(count, np.float32),
        place=np.full((count, 5), -1, np.int64),
    )
    # A parent has at least the visits of its child and comes before it.
    wanted = sorted(range(1, count), key=lambda i: (-visits[i], i))[:MOST_NODES]
    games: dict[int, ReferenceGame] = {0: game}
    replayed.state[0] = LEGAL
    for node in sorted(wanted):
        before = games.get(parent[node])
        if before is None or before.is_over:
            replayed.state[node] = replayed.state[parent[node]] if before is None else UNKNOWN
            continue
        effect = before.effect(action[node])
        if not effect.is_legal:
            replayed.state[node] = ILLEGAL
            continue
        replayed.state[node] = LEGAL
        _describe(replayed, node, before, effect)
        games[node] = before.clone()
        replayed.reward_s[node] = games[node].step(action[node]) * game.program.all_slow_s
    return replayed


def _describe(replayed: TreeReplay, node: int, game: ReferenceGame, effect: Effect) -> None:
    """Fill in a node's `place` and `gone`; `game` stands before its action."""
    move = game.move
    if effect.block is not None and not move.is_sink:
        block = effect.block
        until = max(block.busy + 1, min(move.next_time + 1, game.program.num_slots))
        replayed.place[node] = (block.offset, block.size, block.start, block.busy + 1, until)
    gone = [block.group for block in effect.displaced]
    if effect.dropped is not None:
        gone.append(effect.dropped.group)
    if gone:
        replayed.gone[node] = gone


def standing(game: ReferenceGame, until: int) -> list[tuple[int, int, int, int, int]]:
    """Blocks in fast memory now: group, offset in granules, start, end, 1 if it may stay longer.

    Those that ended before the position's slot, or begin after slot `until`, are left out.
    """
    time = game.program.num_slots if game.is_over else game.move.time
    blocks: list[Block] = [*game.state.live.values(), *game.records.stays]
    return [
        (b.group, b.offset, b.start, _end(b, time), int(b.is_live))
        for b in blocks
        if _end(b, time) > time and b.start <= until
    ]


def _end(block: Block, time: int) -> int:
    return max(block.busy, time) + 1 if block.is_live else block.end


def illegal_share(state: Sequence[int], parent: Sequence[int], visits: Sequence[int]) -> float:
    """The share of a search's simulations that went through an action which the rules forbid.

    The columns are those of one tree, its root first; 0 for a search without simulations.
    """
    through = sum(
        visits[node]
        for node in range(1, len(parent))
        if state[node] == ILLEGAL and state[parent[node]] != ILLEGAL
    )
    return through / max(1, visits[0] - 1)
