"""A draft of a program's game: places that are planned, and what is wanted at each move.

It comes from the lower bound's linear program: what its optimum serves, rounded to whole stays
and packed (`engine.solvers.rounded`). A draft is no plan of the agent's: it says where things go
if they come, and its wishes are the prior that the networks start from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.game.moves import COPY, DROP, NO_COPY, Rules
from engine.game.observation.static import Wishes
from engine.game.reference.game import ReferenceGame
from engine.game.replay import Desired, Key
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.rounded import best_first


@dataclass(frozen=True)
class Draft:
    """The rules with planned places, and the plan whose wishes they are."""

    rules: Rules
    plan: Plan

    def wishes(self, program: Program) -> Wishes:
        """What the plan wants at each move of the game.

        A Copy is wanted at the first touch that a stay serves after it, NoCopy at the later ones.
        """
        desired, served = Desired(program, self.plan), set[Key]()
        actions, may_keep = [], []
        for move in ReferenceGame(program).moves:
            action, key = desired.action(move, None), desired.key(move.group, move.time)
            actions.append(NO_COPY if action == COPY and key in served else action)
            may_keep.append(desired.is_kept(move.group))
            if action != DROP:
                served.add(key)
        return Wishes(tuple(actions), tuple(may_keep))


def drafts_of(program: Program, goes_on: Callable[[], bool] = lambda: True) -> Iterator[Draft]:
    """The drafts of all roundings, best first.

    `goes_on` may cut short the search for the first; each later one is packed when it is asked for.
    """
    for plan in best_first(program, lambda share, text: goes_on()):
        yield draft_from(program, plan)


def draft_from(program: Program, plan: Plan) -> Draft:
    """The draft of a plan: its places, and what it serves."""
    return Draft(planned_by(program, plan), plan)


def planned_by(program: Program, plan: Plan) -> Rules:
    """The usual rules with the places of a plan."""
    return Rules(planned=Desired(program, plan).places(program.hardware.alignment))
