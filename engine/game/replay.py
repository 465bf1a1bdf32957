"""Any plan as moves of the game: what the player would do who wants this plan."""

from __future__ import annotations

from engine.game.moves import (
    COPY,
    COPY_OTHER,
    DROP,
    KINDS,
    NO_COPY,
    NO_COPY_OTHER,
    OTHER_END,
    PLACE_RULES,
    PLANNED,
    Rules,
)
from engine.game.quantise import TICKS, quantise
from engine.game.reference.game import ReferenceGame
from engine.game.repair import Choice, repaired
from engine.game.wishes import Amendment, Wishes
from engine.plan.model import BEFORE_START, Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

ENOUGH = 0.995
"""Share of the plan's saving at which no further place rule, and no repair, is tried."""


def replay(
    program: Program,
    plan: Plan,
    rules: Rules | None = None,
    repairs: int = 0,
    *,
    may_look_up: bool = True,
) -> ReferenceGame:
    """Play the game as `plan` would; its `actions` are the moves, its `plan` the result.

    Copy times are the game's own, so an action that the plan wants may be illegal or cost more than
    it saves; then the nearest other one is played. Under the given `rules`, which offer two places,
    the one nearer to the plan's is taken, or always that of the place rule, whichever ends better.
    Without `rules` every place rule is tried, and last, if it may look them up, the plan's own
    places. If no game reaches the plan's saving, the best ones are repaired with so many tries
    (`engine.game.repair`). The best game is returned.
    """
    judged = simulate(program, plan)
    enough = ENOUGH * (judged.all_slow_s - judged.latency_s) / max(program.all_slow_s, 1e-300)
    wishes, bests = Wishes(program, plan), []
    for choose, some in _ways(program, wishes, rules, may_look_up):
        games = []
        for each in some:
            games.append(_followed(program, each, wishes, choose))
            if games[-1].total_reward >= enough:
                return games[-1]
        bests.append((max(games, key=_earned), _amended(choose)))
    bests.sort(key=lambda best: -_earned(best[0]))
    candidates = [bests[0][0]]
    for game, choice in bests if repairs else ():
        candidates.append(repaired(game, wishes, choice, repairs // len(bests), enough))
        if _earned(candidates[-1]) >= enough:
            break
    return max(candidates, key=_earned)


def _ways(
    program: Program, wishes: Wishes, rules: Rules | None, may_look_up: bool
) -> list[tuple[Choice, tuple[Rules, ...]]]:
    """Ways to choose between the ends, each with the rules under which it is tried."""
    if rules is not None:
        return [(_nearer_end, (rules,)), (_choose, (rules,))]
    every = tuple(Rules(place=place) for place in PLACE_RULES)
    ways: list[tuple[Choice, tuple[Rules, ...]]] = [(_nearer_end, every), (_choose, every)]
    places = wishes.places(quantise(program).granule)
    if may_look_up and places:
        ways.append((_choose, (Rules(place=PLANNED, planned=places),)))
    return ways


def _followed(program: Program, rules: Rules, wishes: Wishes, choose: Choice) -> ReferenceGame:
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(choose(game, wishes))
    return game


def _earned(game: ReferenceGame) -> float:
    return game.total_reward


def _amended(choose: Choice) -> Choice:
    """The choice, at the other end where the wishes are amended so."""

    def choice(game: ReferenceGame, wishes: Wishes) -> int:
        action = choose(game, wishes)
        if wishes.amendment(game.move) is not Amendment.OTHER_END:
            return action
        other = OTHER_END.get(action, KINDS[action])
        return other if game.legal()[other] else action

    return choice


def _nearer_end(game: ReferenceGame, wishes: Wishes) -> int:
    """The action, or the same at the other end, if that stalls no longer and is nearer the plan."""
    action = _choose(game, wishes)
    other = OTHER_END.get(action)
    if other is None or not game.legal()[other]:
        return action
    here, there = game.placement(action), game.placement(other)
    stay = wishes.stay(game.move)
    if stay is None or here.block is None or there.block is None:
        return action
    wanted = stay.offset // game.facts.numbers.granule
    is_nearer = abs(there.block.offset - wanted) < abs(here.block.offset - wanted)
    return other if is_nearer and there.stall_ticks <= here.stall_ticks else action


def _choose(game: ReferenceGame, wishes: Wishes) -> int:
    """The wanted action, else what keeps the group where the plan has it, else Drop.

    A Copy that costs more than it saves is not played, and NoCopy never where it would mean a
    cross-program prefetch that the plan has not.
    """
    move, legal = game.move, game.legal()
    wanted = wishes.action(move, game.live.get(move.group))
    stay = game.placement(NO_COPY).block
    is_kept = stay is not None and stay.start == BEFORE_START and move.group not in game.live
    may_stay = legal[NO_COPY] and (not is_kept or wishes.is_kept(move.group))
    if wanted == DROP and legal[DROP]:
        return DROP
    if wanted == NO_COPY and may_stay:
        return NO_COPY
    if wanted != DROP and legal[COPY] and immediate_reward(game, COPY) >= 0:
        return COPY
    if move.group in game.live and may_stay:
        return NO_COPY
    return DROP if legal[DROP] else NO_COPY


def immediate_reward(game: ReferenceGame, action: int) -> float:
    """What a legal action would earn at once: its saving less its stall, over `all_slow_s`."""
    effect = game.placement(action)
    return effect.saving_s / game.program.all_slow_s - effect.stall_ticks / TICKS


def best_action(game: ReferenceGame) -> int:
    """The legal action that earns most at once; ties go to NoCopy, then Copy, Drop."""
    legal = game.legal()
    order = (NO_COPY, COPY, DROP, NO_COPY_OTHER, COPY_OTHER)
    actions = [a for a in order if legal[a]]
    return max(actions, key=lambda a: immediate_reward(game, a))
