"""What a position is about, and how hard it is, measured by a search that plays by the rules.

*Themes* are read from the two lines of its refutation: what the right action does, and what
forbids it, or makes it wait, in the line that is refuted. The *difficulty* is the number of
simulations after which a plain tree search (UCT: Kocsis and Szepesvari, 2006) with greedy rollouts
names the right kind of action and does not change its mind again.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.debugging.games import finish
from engine.game.moves import COPY, KINDS, OTHER_END
from engine.game.reference.explain import Explanation
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.rating import Rating
from engine.lessons.refutation import Refutation
from engine.program.model import TOP_LEVEL

GREEDY_TRAP = "greedy trap"
FRAGMENTATION = "fragmentation"
STALL_PAYS = "a stall that pays"
LATE = "prefetch too late"
EVICTION = "eviction"
LOOP = "loop"
ALIAS = "alias"
BOTH_ENDS = "both ends"
SCRATCH = "scratch"
ROOM = "worth its room"
"""Of a position that has no other theme."""
THEMES = (
    GREEDY_TRAP, EVICTION, FRAGMENTATION, LATE, STALL_PAYS, BOTH_ENDS, LOOP, ALIAS, SCRATCH, ROOM,
)  # fmt: skip
MOST_SIMULATIONS = 128
NEVER = 2 * MOST_SIMULATIONS
"""In place of the number of simulations, where so many do not suffice."""
_EASIEST, _PER_DOUBLING = 1000.0, 160.0
_DEVIATION = 60.0
_EXPLORATION = 0.7


@dataclass(frozen=True)
class About:
    """What is known of a position. `alike`: near-twins have the same mark.

    `simulations`: that a search needs, `NEVER` if too many.
    """

    themes: tuple[str, ...]
    simulations: int
    alike: str

    @property
    def rating(self) -> Rating:
        """The position as an opponent: harder by so many points for twice the simulations."""
        points = _EASIEST + _PER_DOUBLING * math.log2(max(1, self.simulations))
        return Rating(points, _DEVIATION)


def about(game: ReferenceGame, refutation: Refutation, seed: int = 0) -> About:
    """What a position, which is left as it is, is about; `refutation`: of its tempting action."""
    found = themes(game, refutation)
    right = refutation.right[0]
    return About(
        themes=found,
        simulations=simulations_needed(game, KINDS[right], seed),
        alike=_mark(game, refutation, found),
    )


def themes(game: ReferenceGame, refutation: Refutation) -> tuple[str, ...]:
    """The themes of a position, in the order of `THEMES`."""
    right, wrong = refutation.right[0], refutation.wrong[0]
    good, bad = game.effect(right), game.effect(wrong)
    refusals = [m.refusal for m in refutation.moments if m.refusal is not None and m.lost_s > 0]
    level = game.program.level_at(min(game.move.time, game.program.num_slots - 1))
    seen = {
        GREEDY_TRAP: KINDS[best_action(game)] != KINDS[right],
        EVICTION: bool(good.displaced or bad.displaced),
        FRAGMENTATION: any(_is_fragmented(game, r) for r in refusals),
        LATE: any(
            m.lost_s > 0 and KINDS[m.wrong] == COPY and m.stall_s > 0
            for m in refutation.moments[1:]
        ),
        STALL_PAYS: good.stall_ticks > 0,
        BOTH_ENDS: right in OTHER_END.values() or wrong in OTHER_END.values(),
        LOOP: level != TOP_LEVEL or game.move.hoist is not None,
        ALIAS: len(game.program.groups[game.move.group].values) > 1,
        SCRATCH: any(
            r.largest_hole < r.needed_bytes <= r.largest_hole + r.scratch_bytes for r in refusals
        ),
    }
    return tuple(theme for theme in THEMES if seen.get(theme)) or (ROOM,)


def _is_fragmented(game: ReferenceGame, refusal: Explanation) -> bool:
    """Whether there would be room, if it were in one piece."""
    if not refusal.needed_bytes or not refusal.blockers:
        return False
    taken = sum(blocker.high - blocker.low for blocker in refusal.blockers)
    free = game.program.hardware.fast_bytes - refusal.scratch_bytes - taken
    return refusal.largest_hole < refusal.needed_bytes <= free


def _mark(game: ReferenceGame, refutation: Refutation, found: Sequence[str]) -> str:
    """The same for positions with the same kind of move, right and wrong answer, and themes."""
    program, move = game.program, game.move
    value = program.values[program.groups[move.group].values[0]]
    is_end = move.time >= program.num_slots
    opcode = "" if is_end else program.instructions[move.time].opcode
    parts = (opcode, value.shape, KINDS[refutation.right[0]], KINDS[refutation.wrong[0]], *found)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


@dataclass
class _Node:
    game: ReferenceGame
    visits: int = 0
    total: float = 0.0
    children: dict[int, _Node] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return self.total / self.visits


def simulations_needed(game: ReferenceGame, kind: int, seed: int = 0) -> int:
    """After how many simulations a search says this kind of action, and stays with it.

    It says nothing before it has tried every action once: which one it tries first is chance.
    """
    dice, root = random.Random(seed), _Node(game.clone())
    low, high = math.inf, -math.inf
    needed = num_actions = len(game.legal_actions())
    for number in range(1, MOST_SIMULATIONS + 1):
        path = _descend(root, dice, low, high)
        end = path[-1].game.clone()
        finish(end, best_action)
        low, high = min(low, end.total_reward), max(high, end.total_reward)
        for node in path:
            node.visits += 1
            node.total += end.total_reward
        best = max(root.children, key=lambda a: (root.children[a].visits, root.children[a].mean))
        if number >= num_actions and KINDS[best] != kind:
            needed = number + 1
    return needed if needed <= MOST_SIMULATIONS else NEVER


def _descend(root: _Node, dice: random.Random, low: float, high: float) -> list[_Node]:
    """The way to a node that is new, or the end of the game."""
    path = [root]
    while not path[-1].game.is_over:
        node = path[-1]
        untried = [a for a in node.game.legal_actions() if a not in node.children]
        if untried:
            action = dice.choice(untried)
            after = node.game.clone()
            after.step(action)
            after.play_forced()
            node.children[action] = _Node(after)
            return [*path, node.children[action]]
        span = high - low or 1.0
        log = math.log(node.visits)
        path.append(
            max(
                node.children.values(),
                key=lambda n: (n.mean - low) / span + _EXPLORATION * math.sqrt(log / n.visits),
            )
        )
    return path
