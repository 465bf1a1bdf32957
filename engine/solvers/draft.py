"""A draft of a program's game: places that are planned, and what is wanted at each move.

It comes from the lower bound's linear program: what its optimum serves, rounded to whole stays
and packed (`engine.solvers.rounded`). A draft is no plan of the agent's: it says where things go
if they come, and its wishes are the prior that the networks start from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from engine.game.moves import COPY, DROP, NO_COPY, Move, Rules
from engine.game.observation.static import Wishes
from engine.game.quantise import quantise
from engine.game.reference.game import ReferenceGame
from engine.game.replay import Desired, Key
from engine.plan.model import BEFORE_START, Plan, Stay
from engine.program.model import Program
from engine.solvers.local.packing import is_free, lowest_free
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
    """The draft of a plan: its places and what it serves, but for what the game would refuse.

    There nothing that could stand to the end of the program may take the place of an input that is
    kept for the next run. If it does in the plan, it gets the lowest place that is free all its
    life; where there is none, the input is not kept if that saves less. Else it would come where
    the place rule says, in the way of others.
    """
    numbers = quantise(program)
    sizes, capacity = numbers.size_granules, numbers.fast_granules
    stays = [replace(stay, offset=stay.offset // numbers.granule) for stay in plan.stays]
    kept = [stay for stay in stays if stay.start == BEFORE_START]
    barred_s = dict.fromkeys((stay.group for stay in kept), 0.0)
    moves = defaultdict[int, list[Move]](list)
    for move in ReferenceGame(program).moves if kept else ():
        moves[move.group].append(move)

    def taken(some: Iterable[Stay]) -> list[tuple[int, int]]:
        return sorted((stay.offset, stay.offset + sizes[stay.group]) for stay in some)

    for number, stay in enumerate(stays):
        first = next((move for move in moves[stay.group] if _serves(stay, move.time)), None)
        if stay in kept or first is None or not first.is_lasting:
            continue
        size, away = sizes[stay.group], [other for other in kept if other.group != stay.group]
        met = [other for other in away if not is_free(taken([other]), stay.offset, size)]
        if met:
            beside = (s for s in stays if s.start < stay.end and stay.start < s.end)
            others = taken([*away, *(s for s in beside if s.group != stay.group)])
            lowest = max(first.reserved_ahead, *numbers.reserved[stay.start : stay.end])
            offset = lowest_free(others, size, lowest, capacity)
            if offset is not None:
                stays[number] = replace(stay, offset=offset)
            else:
                for other in met:
                    barred_s[other.group] += _saved_s(program, plan, stay)
    dropped = {s.group for s in kept if _saved_s(program, plan, s) < barred_s[s.group]}
    if dropped:
        return draft_from(program, _not_keeping(program, plan, dropped))
    return Draft(Rules(planned=tuple(sorted((s.group, s.start, s.offset) for s in stays))), plan)


def _serves(stay: Stay, time: int) -> bool:
    return stay.start <= time < stay.end


def _saved_s(program: Program, plan: Plan, stay: Stay) -> float:
    """Seconds that the touches save which the stay serves."""
    touches = (program.touches[index] for index in program.touches_of_group[stay.group])
    fast = (t for t in touches if _serves(stay, t.time) and plan.is_fast[t.accesses[0]])
    return sum(touch.saving_s for touch in fast)


def _not_keeping(program: Program, plan: Plan, groups: set[int]) -> Plan:
    """The plan without the stays of inputs that it keeps for the next run, and their return."""
    first = {s.group: s for s in plan.stays if s.group in groups and s.start == BEFORE_START}
    end = program.num_slots
    is_fast = list(plan.is_fast)
    for stay in first.values():
        for index in program.touches_of_group[stay.group]:
            if _serves(stay, program.touches[index].time):
                for access in program.touches[index].accesses:
                    is_fast[access] = False

    def returns(group: int, until: int) -> bool:
        return group in groups and until == end

    return replace(
        plan,
        is_fast=tuple(is_fast),
        stays=tuple(
            s for s in plan.stays if s != first.get(s.group) and not returns(s.group, s.end)
        ),
        copies=tuple(c for c in plan.copies if not returns(c.group, c.deadline)),
    )
