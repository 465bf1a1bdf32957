"""Compiler options that `tune` tries: knobs, exports of plans, and random rules."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.compiler.steering.export import (
    KNOBS,
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

KNOB = "knob"
EXPORT = "export"
RANDOM = "random"
CAPTURED = "captured"
"""Compiled whole when the program was captured, and so known for nothing."""


@dataclass(frozen=True)
class Candidate:
    """Options to try; `origin` is KNOB, EXPORT, RANDOM or CAPTURED."""

    steering: Steering
    origin: str


def captured(program: Program) -> tuple[Candidate, ...]:
    """The placements for which a capture compiled the program whole, but the two ends."""
    placements = program.provenance.get("placements")
    if not isinstance(placements, Mapping):
        return ()
    return tuple(
        Candidate(Steering(f"captured: {name}", dict(options)), CAPTURED)
        for name, options in placements.items()
        if isinstance(options, Mapping) and options and dict(options) != dict(SLOW_OPTIONS)
    )


def knobs() -> tuple[Candidate, ...]:
    """Every setting of the knobs but the default's."""
    return tuple(
        Candidate(Steering(f"knobs{in_words(knob)}", knob), KNOB) for knob in KNOBS if knob
    )


def planned(program: Program, plan: Plan, settings: Sequence[int]) -> tuple[Candidate, ...]:
    """The exports of a plan: its own, if it has one, and all orders with some settings of knobs."""
    wanted = [KNOBS[setting] for setting in settings]
    own = own_steering(plan)
    return tuple(
        Candidate(steering, EXPORT)
        for steering in exports(program, plan)
        if steering == own or knobs_of(steering.options) in wanted
    )


def knobs_of(options: Mapping[str, str]) -> Mapping[str, str]:
    """The knobs among options."""
    return {key: value for key, value in options.items() if key != SORT_ORDER}


def varied(candidate: Candidate, seed: int, number: int) -> Candidate:
    """An export with some rules moved to the front and some left out, by chance."""
    chance = random.Random(f"{seed}/varied/{number}")
    order, last = matchers(candidate.steering.options.get(SORT_ORDER, ""))
    for _ in range(chance.randint(0, 2) if order else 0):
        order.insert(0, order.pop(chance.randrange(len(order))))
    kept = [m for m in order if chance.random() > 1 / len(order)] or order
    options = {**candidate.steering.options, SORT_ORDER: both_rules(kept, last)}
    return Candidate(Steering(f"varied {number}: {candidate.steering.title}", options), EXPORT)


def random_rules(seed: int, number: int) -> Candidate:
    """The random rule of that number: it moves a random part of all values to one end.

    Every setting of the knobs has its turn.
    """
    chance = random.Random(f"{seed}/{number}")
    begin, end = sorted(chance.sample(range(0, 21), 2))
    option = chance.choice(["assign_first", "assign_first", "assign_last"])
    knob = KNOBS[number % len(KNOBS)]
    rule = sort_override(chance.randrange(1, 10_000), begin / 20, end / 20, option)
    title = f"random rule {number}{in_words(knob)}"
    return Candidate(Steering(title, {SORT_ORDER: rule, **knob}), RANDOM)


def sort_override(seed: int, begin: float, end: float, option: str = "assign_first") -> str:
    """The text proto that handles a random part of the buffers first (or last)."""
    chosen = (
        f"hlo_random_filter {{ seed: {seed} selection_range_begin: {begin}"
        f" selection_range_end: {end} }}"
    )
    return (
        f"overrides {{ hlo_position_matcher {{ {chosen} }} override_options {{ {option}: true }} }}"
    )
