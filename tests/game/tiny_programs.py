"""Programs small enough to compute every number of a game by hand.

One byte per second, granules of one byte; numbers are chosen so that no copy fits exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.model import (
    INPUT_TIME,
    TOP_LEVEL,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Value,
)
from engine.program.validate import validate

TWO_ENDED = Rules(place="two_ended")
LETTERS = "CNDcn"


@dataclass(frozen=True)
class Buffer:
    """A group: `reads` and `writes` map slots to seconds saved; `slow_writes` must be slow."""

    size: int
    reads: Mapping[int, float] = field(default_factory=dict)
    writes: Mapping[int, float] = field(default_factory=dict)
    is_input: bool = False
    is_live_out: bool = False
    slow_bytes: int = 0
    slow_writes: frozenset[int] = frozenset()


def program_of(
    fast_s: Sequence[float],
    buffers: Sequence[Buffer],
    fast_bytes: int = 16,
    max_inputs: int = 0,
    regions: Sequence[Region] = (),
    reserved: Mapping[int, int] | None = None,
) -> Program:
    """The program of `buffers`, group numbers in their order; every write defines a value."""
    values: list[Value] = []
    accesses: list[Access] = []
    for group, buffer in enumerate(buffers):
        newest = len(values)
        if buffer.is_input:
            values.append(_value(buffer, group, INPUT_TIME, not buffer.writes))
        for time in sorted({*buffer.reads, *buffer.writes}):
            if time in buffer.reads:
                newest = len(values) - 1
                saving = buffer.reads[time]
                accesses.append(Access(time, newest, False, saving, buffer.slow_bytes))
            if time in buffer.writes:
                values.append(_value(buffer, group, time, time == max(buffer.writes)))
                saving = buffer.writes[time]
                is_slow = time in buffer.slow_writes
                accesses.append(
                    Access(
                        time, len(values) - 1, True, saving, buffer.slow_bytes, must_be_slow=is_slow
                    )
                )
    program = Program(
        name="tiny",
        hardware=Hardware("tiny", fast_bytes, 1, 1.0, 1.0, "fast", max_inputs),
        instructions=tuple(
            Instruction(
                name=f"op{slot}",
                opcode="fusion",
                fast_s=seconds,
                level=_level(regions, slot),
                reserved_bytes=(reserved or {}).get(slot, 0),
            )
            for slot, seconds in enumerate(fast_s)
        ),
        values=tuple(values),
        accesses=tuple(sorted(accesses, key=lambda a: (a.time, a.is_write))),
        regions=tuple(regions),
    )
    validate(program, "tiny")
    return program


def play(program: Program, actions: str, rules: Rules = TWO_ENDED) -> ReferenceGame:
    """The game after `actions`, one letter each: Copy, NoCopy, Drop; c, n at the other end."""
    game = ReferenceGame(program, rules)
    for letter in actions:
        game.step(LETTERS.index(letter))
    return game


def mask(game: ReferenceGame) -> str:
    """Legal actions in the places of the place rule, as letters."""
    legal = game.legal()
    return "".join(letter for action, letter in enumerate("CND") if legal[action])


def assert_is_judged_alike(game: ReferenceGame) -> None:
    """The checker accepts the finished game's plan, and the simulator times it as the game did."""
    program, plan = game.program, game.plan("test")
    violation = check(program, plan)
    assert violation is None, violation
    latency_s = simulate(program, plan).latency_s
    expected = (program.all_slow_s - latency_s) / program.all_slow_s
    assert abs(game.total_reward - expected) < 1e-6


def _value(buffer: Buffer, group: int, defined: int, is_last: bool) -> Value:
    return Value(
        name=f"{chr(ord('a') + group)}{'' if defined == INPUT_TIME else defined}",
        shape=f"u8[{buffer.size}]",
        size_bytes=buffer.size,
        defined=defined,
        group=group,
        is_live_out=buffer.is_live_out and is_last,
    )


def _level(regions: Sequence[Region], slot: int) -> int:
    holding = [i for i, r in enumerate(regions) if r.start <= slot < r.end]
    return holding[-1] if holding else TOP_LEVEL
