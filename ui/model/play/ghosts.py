"""What the map shows of a position's actions: outcomes, blockers, and the agent's opinion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.game.moves import ACTION_NAMES, COPY, DROP, KINDS, NO_COPY, NUM_ACTIONS
from engine.game.notes import noted_rules
from engine.game.reference.blocks import Block, Effect
from engine.game.reference.explain import Blocker, explain
from engine.game.reference.game import ReferenceGame
from ui.model.search.state import Thought


@dataclass(frozen=True)
class Opinion:
    """One search's opinion of a position.

    `prior`: probability of each action before the search. `visits`: each action's share of the
    `num_visits` simulations. `name`: the game that was searched.
    """

    prior: tuple[float, ...]
    visits: tuple[float, ...]
    num_visits: int
    name: str


def opinion_of(
    thoughts: Iterable[Thought], game: ReferenceGame, actions: Sequence[int]
) -> Opinion | None:
    """The agent's opinion of the position `game`, which `actions` lead to.

    Of several games that pass through it the last one counts; None if none does.
    """
    move, latest = len(actions), None
    for thought in thoughts:
        trace = thought.trace
        is_game = move < trace.num_moves and noted_rules(thought.plan) == game.rules
        if is_game and np.array_equal(trace.action[:move], actions):
            latest = thought
    if latest is None:
        return None
    visits = latest.trace.root_visits()[move].astype(float)
    return Opinion(
        prior=tuple(float(p) for p in latest.trace.prior[move]),
        visits=tuple((visits / max(1.0, visits.sum())).tolist()),
        num_visits=int(visits.sum()),
        name=latest.name,
    )


_TONES = {COPY: "copy", NO_COPY: "nocopy", DROP: "drop"}
_MOST_BLOCKERS = 24
"""Blockers sent per refused action; a step's message stays below 5 kB."""
_LABEL = 24
"""Characters of a blocker's name on the map."""


def ghosts(game: ReferenceGame, opinion: Opinion | None = None) -> dict[str, Any]:
    """The overlay of the position: `move`, and the shapes of its legal actions, `ghosts`.

    Of each ghost, `at`: offset and size in granules, first slot and the one after the last;
    `other`: 1 for a place at the other end, `displaced`: 1 for what would go; `visits` and `prior`
    of its action, where the agent has an opinion.
    """
    if game.is_over:
        return {"move": game.move_index, "ghosts": []}
    shapes: list[dict[str, Any]] = []
    for action in range(NUM_ACTIONS):
        effect = game.effect(action)
        if effect.is_legal:
            weight = {} if opinion is None else _weight(opinion, action)
            made = _legal_shapes if action == KINDS[action] else _other_end_shapes
            shapes += [shape | weight for shape in made(game, effect)]
    return {"move": game.move_index, "ghosts": shapes}


def _weight(opinion: Opinion, action: int) -> dict[str, float]:
    return {
        "visits": round(opinion.visits[action], 3),
        "prior": round(opinion.prior[action], 3),
    }


def blockers(game: ReferenceGame, action: int) -> dict[str, Any]:
    """The overlay of a refused action: the tensors that are in its way, the largest first.

    Each is shown only during the slots in which the action needs the room.
    """
    granule = game.facts.numbers.granule
    why = explain(game, action)
    shapes = []
    for blocker in by_size(why.blockers)[:_MOST_BLOCKERS]:
        start, end = max(blocker.start, why.start), min(blocker.end, why.end)
        shape = {
            "tone": "drop",
            "label": blocker.name[:_LABEL],
            "at": [
                blocker.low // granule,
                (blocker.high - blocker.low) // granule,
                start,
                max(end, start + 1),
            ],
            "blocks": 1,
        }
        shapes.append(shape)
    return {"move": game.move_index, "ghosts": shapes}


def by_size(blockers: Sequence[Blocker]) -> list[Blocker]:
    """The blockers, those that take most of the memory first."""
    return sorted(blockers, key=lambda b: b.low - b.high)


def _legal_shapes(game: ReferenceGame, effect: Effect) -> list[dict[str, Any]]:
    name, tone = ACTION_NAMES[effect.action], _TONES[effect.action]
    shapes = []
    if effect.block is not None and not game.move.is_sink:
        block = effect.block
        shapes.append(_shape(block, tone, name, block.start, block.busy + 1))
        if _is_wanted_later(game, block):
            shapes.append(_shape(block, tone, "", block.busy + 1, game.move.next_time + 1))
    if effect.dropped is not None and not game.move.is_sink:
        # From here on the place is free.
        shapes.append(_shape(effect.dropped, tone, f"{name} frees", game.move.time, _until(game)))
    # Of all that would go, the largest says so.
    for number, gone in enumerate(sorted(effect.displaced, key=lambda b: -b.size)):
        end = max(gone.end + 1, game.move.time + 1)
        text = f"{name} takes its place" if not number else ""
        shapes.append(_shape(gone, "drop", text, gone.end, end) | {"displaced": 1})
    return shapes


def _other_end_shapes(game: ReferenceGame, effect: Effect) -> list[dict[str, Any]]:
    """The block until the next touch; all else is in the shapes of the place rule's end."""
    block, kind = effect.block, KINDS[effect.action]
    assert block is not None, "an action at the other end places something"
    label, end = f"{ACTION_NAMES[kind]} ⇅", block.busy + 1
    if _is_wanted_later(game, block):
        end = max(end, game.move.next_time + 1)
    return [_shape(block, _TONES[kind], label, block.start, end) | {"other": 1}]


def _is_wanted_later(game: ReferenceGame, block: Block) -> bool:
    """Whether the block could still be in place at the group's next touch."""
    return game.move.next_time <= min(block.level_end, game.program.num_slots)


def _shape(block: Block, tone: str, label: str, start: int, end: int) -> dict[str, Any]:
    return {
        "tone": tone,
        "label": label,
        "at": [block.offset, block.size, start, max(end, start + 1)],
    }


def _until(game: ReferenceGame) -> int:
    move = game.move
    return min(move.next_time, game.program.num_slots) if move.next_time > move.time else move.time
