"""Compiler options that `tune` tries: pass options, exports of plans, and random rules."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from engine.compiler.steering.export import (
    PASS_OPTIONS,
    SORT_ORDER,
    Steering,
    both_rules,
    exports,
    in_words,
    matchers,
    own_steering,
)
from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.plan.model import Plan
from engine.program.model import Program

PASS_OPTION = "knob"
RANDOM = "random"
CAPTURED = "captured"
"""Compiled in full by `capture`, so trying it costs no compile."""


def captured_candidates(program: Program) -> tuple[Steering, ...]:
    """The placements that `capture` compiled in full, except all-slow and the default."""
    placements = program.provenance.get("placements")
    if not isinstance(placements, Mapping):
        return ()
    return tuple(
        Steering(f"captured: {name}", dict(options), CAPTURED)
        for name, options in placements.items()
        if isinstance(options, Mapping) and options and dict(options) != dict(SLOW_OPTIONS)
    )


def pass_option_candidates() -> tuple[Steering, ...]:
    """All `PASS_OPTIONS` but the default's."""
    return tuple(
        Steering(f"pass options{in_words(options)}", options, PASS_OPTION)
        for options in PASS_OPTIONS
        if options
    )


def exported_candidates(
    program: Program, plan: Plan, numbers: Sequence[int]
) -> tuple[Steering, ...]:
    """The exports of a plan: its own, if it has one, and all orders with some `PASS_OPTIONS`."""
    wanted = [PASS_OPTIONS[number] for number in numbers]
    own = own_steering(plan)
    return tuple(
        steering
        for steering in exports(program, plan)
        if steering == own or pass_options_of(steering.options) in wanted
    )


def pass_options_of(options: Mapping[str, str]) -> Mapping[str, str]:
    """The options of an export without its order."""
    return {key: value for key, value in options.items() if key != SORT_ORDER}


def vary(candidate: Steering, seed: int, number: int) -> Steering:
    """An export with some rules moved to the front and some left out, by chance; if it has any."""
    chance = random.Random(f"{seed}/varied/{number}")
    order, last = matchers(candidate.options.get(SORT_ORDER, ""))
    for _ in range(chance.randint(0, 2) if order else 0):
        order.insert(0, order.pop(chance.randrange(len(order))))
    kept = [m for m in order if chance.random() > 1 / len(order)] or order
    text = both_rules(kept, last)
    options = {**candidate.options, SORT_ORDER: text} if text else candidate.options
    return Steering(f"varied {number}: {candidate.title}", options)


def random_rules(seed: int, number: int) -> Steering:
    """The random rule of that number: it moves a random part of all values to one end.

    The `PASS_OPTIONS` take turns.
    """
    chance = random.Random(f"{seed}/{number}")
    begin, end = sorted(chance.sample(range(0, 21), 2))
    option = chance.choice(["assign_first", "assign_first", "assign_last"])
    options = PASS_OPTIONS[number % len(PASS_OPTIONS)]
    rule = sort_override(chance.randrange(1, 10_000), begin / 20, end / 20, option)
    title = f"random rule {number}{in_words(options)}"
    return Steering(title, {SORT_ORDER: rule, **options}, RANDOM)


def sort_override(seed: int, begin: float, end: float, option: str = "assign_first") -> str:
    """The text proto that handles a random part of the buffers first (or last)."""
    chosen = (
        f"hlo_random_filter {{ seed: {seed} selection_range_begin: {begin}"
        f" selection_range_end: {end} }}"
    )
    return (
        f"overrides {{ hlo_position_matcher {{ {chosen} }} override_options {{ {option}: true }} }}"
    )
