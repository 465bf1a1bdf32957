"""What a plan notes of the game it came from, so that it can be shown move by move.

`plan.notes` hold `rules`, the version of the rules, `moves`, the actions from the first move on, a
digit each, `place`, the place rule, and, where they are not the default ones, `max_blocks`,
`look_back` and the places `planned` (`engine.game.moves.Rules`). That its sinks were `strict` is
not noted: a game that came to its end is the same without. A game of another version is none that
can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.game.moves import NUM_ACTIONS, RULES_VERSION, Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.program.model import Program

ACTION_DIGITS = frozenset("0123456789"[:NUM_ACTIONS])
"""What a text of moves is made of: an action a digit."""
_NUMBERS = ("max_blocks", "look_back")
"""The options of the rules that are whole numbers."""


def notes_of(game: ReferenceGame) -> dict[str, Any]:
    """Notes for the plan of a game, finished or not."""
    moves = "".join(map(str, game.actions))
    return {"rules": RULES_VERSION, **options_of(game.rules), "moves": moves}


def options_of(rules: Rules) -> dict[str, Any]:
    """The rules as plain values, as notes have them."""
    options: dict[str, Any] = {"place": rules.place}
    for name in _NUMBERS:
        if getattr(rules, name) != getattr(Rules(), name):
            options[name] = getattr(rules, name)
    if rules.planned:
        options["planned"] = [list(stay) for stay in rules.planned]
    return options


def rules_of(options: Mapping[str, Any]) -> Rules | None:
    """The rules of such values; None if they are none."""
    place, planned = options.get("place"), planned_of(options.get("planned"))
    numbers = {name: options[name] for name in _NUMBERS if name in options}
    if not isinstance(place, str) or ("planned" in options and not planned):
        return None
    if not all(type(number) is int for number in numbers.values()):
        return None
    try:
        return Rules(place=place, planned=planned, **numbers)
    except ValueError:
        return None


def plan_from_actions(
    program: Program, actions: Sequence[int], solver: str, rules: Rules | None = None
) -> Plan:
    """The plan of a game that was played by these actions, one per move, which its notes hold.

    Replays them in the plain-Python game, hence raises ValueError if one is illegal.
    """
    game = ReferenceGame(program, rules or Rules())
    for action in actions:
        game.step(int(action))
    return game.plan(solver, notes_of(game))


def noted_actions(plan: Plan, num_moves: int) -> tuple[int, ...] | None:
    """The moves that the plan notes, at most `num_moves`; None if it notes none that fit."""
    text = plan.notes.get("moves")
    if plan.notes.get("rules") != RULES_VERSION:
        return None
    if not isinstance(text, str) or len(text) > num_moves or not ACTION_DIGITS.issuperset(text):
        return None
    return tuple(map(int, text))


def noted_rules(plan: Plan) -> Rules | None:
    """The rules of the plan's own game; None if it does not say."""
    return rules_of(plan.notes) if plan.notes.get("rules") == RULES_VERSION else None


def notes_its_game(plan: Plan) -> bool:
    """Whether the plan says by which moves of which game it was made."""
    return noted_rules(plan) is not None and "moves" in plan.notes


def noted_game(
    program: Program, plan: Plan, watch: Callable[[ReferenceGame], None] | None = None
) -> ReferenceGame | None:
    """The game whose moves a plan notes; None if it notes no whole game.

    `watch` is called with the position before each move, which it must not change.
    """
    rules = noted_rules(plan)
    if rules is None:
        return None
    game = ReferenceGame(program, rules)
    actions = noted_actions(plan, game.num_moves)
    if actions is None or len(actions) != game.num_moves:
        return None
    for action in actions:
        if watch is not None:
            watch(game)
        game.step(game.nearest(action))
    return game


def planned_of(noted: object) -> tuple[tuple[int, int, int], ...]:
    """Planned places as notes have them; empty if they are none."""
    if not isinstance(noted, list):
        return ()
    stays = [tuple(stay) for stay in noted if isinstance(stay, list) and len(stay) == 3]
    if len(stays) < len(noted) or not all(type(n) is int for stay in stays for n in stay):
        return ()
    return tuple(sorted(stays))
