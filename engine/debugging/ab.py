"""Two agents on several programs: where the second is better, where worse, on which kinds of moves.

Each plays one game per program, without noise, under the same place rule. Latencies are the
simulator's. Their difference is given to the tensors (`engine.analysis.attribution`), which adds up
exactly; a tensor belongs to the kind of the first move at which the two treat it differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.analysis.attribution import Cost, attribute
from engine.debugging.agent_games import Side, play_on, workload_of
from engine.debugging.findings import kind_of
from engine.debugging.trace_units import MICRO
from engine.errors import PlanError, UsageError
from engine.game.move_list import moves
from engine.game.moves import ACTION_NAMES, Move
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program.model import Program

SAME = "the same actions"
SIZES = ((2**20, "below 1 MiB"), (2**24, "1 to 16 MiB"))
LARGEST = "16 MiB and more"

Progress = Callable[[float, str], bool]
"""Called with the share of the duel that is done and a line of text; False ends the duel."""


@dataclass(frozen=True)
class Kind:
    """A kind of move: how the two treat the tensor, its kind and size.

    `change_us`: what such tensors cost more with the second agent; negative: it is better here.
    """

    change: str
    kind: str
    size: str
    tensors: int
    change_us: float


@dataclass(frozen=True)
class Bout:
    """One program: both games as plans, their latencies, the first move at which they part.

    `fork` is None where both played the same. `kinds` add up to the difference of the latencies.
    """

    program: str
    num_moves: int
    first: Plan
    second: Plan
    first_s: float
    second_s: float
    fork: int | None
    num_different: int
    kinds: tuple[Kind, ...]

    @property
    def change_us(self) -> float:
        """Microseconds by which the second is slower; negative where it is faster."""
        return (self.second_s - self.first_s) * MICRO

    @property
    def change_share(self) -> float:
        """The same change as a share of the first's latency."""
        return self.second_s / self.first_s - 1 if self.first_s > 0 else 0.0


@dataclass(frozen=True)
class Duel:
    """All programs; `first`, `second`: the names of the two."""

    first: str
    second: str
    bouts: tuple[Bout, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of moves summed over all programs, the greatest change first."""
        return _summed([kind for bout in self.bouts for kind in bout.kinds])

    def to_json(self) -> dict[str, Any]:
        """The duel as plain JSON values, without the plans."""
        shown = ("program", "num_moves", "first_s", "second_s", "fork", "num_different")
        bouts = [
            {
                **{name: getattr(bout, name) for name in shown},
                "kinds": list(map(asdict, bout.kinds)),
            }
            for bout in self.bouts
        ]
        return {"first": self.first, "second": self.second, "bouts": bouts}


def duel(
    programs: Sequence[Program],
    first: Side,
    second: Side,
    progress: Progress = lambda share, word: True,
) -> Duel | None:
    """The duel, played to its end; None if `progress` ended it.

    Raises UsageError without programs, SolverError for one that the JAX game cannot hold.
    """
    if not programs:
        raise UsageError("an A/B needs at least one program; name some")
    bouts = []
    for number, program in enumerate(programs):
        bout = _bout(program, first, second, _part(progress, number, len(programs)))
        if bout is None:
            return None
        bouts.append(bout)
    return Duel(first.name, second.name, tuple(bouts))


def _part(progress: Progress, number: int, of: int) -> Progress:
    """The progress of program `number`, which reports its share of all `of` programs."""
    return lambda share, word: progress((number + share) / of, word)


def _bout(program: Program, first: Side, second: Side, progress: Progress) -> Bout | None:
    games, rules = [], None
    for place, side in enumerate((first, second)):
        workload = workload_of(program, side.config, rules)
        rules, length = workload.rules, workload.num_moves

        def go_on(move: int, place: int = place, side: Side = side, length: int = length) -> bool:
            word = f"{program.name}: {side.name}, move {move:,} of {length:,}"
            return progress((place + move / max(1, length)) / 2, word)

        played = play_on(side, workload, [()], go_on=go_on)
        if played is None:
            return None
        game = ReferenceGame(program, rules)
        for action in played[0]:
            game.step(action)
        games.append(game)
    return judged(program, games[0], games[1])


def judged(program: Program, first: ReferenceGame, second: ReferenceGame) -> Bout:
    """The bout of two finished games of a program. Raises PlanError if one breaks a rule."""
    plans = [game.plan("muzero", notes_of(game)) for game in (first, second)]
    timed = [_timed(program, plan) for plan in plans]
    different = [
        move
        for move, (a, b) in enumerate(zip(first.actions, second.actions, strict=True))
        if a != b
    ]
    return Bout(
        program=program.name,
        num_moves=first.num_moves,
        first=plans[0],
        second=plans[1],
        first_s=timed[0].latency_s,
        second_s=timed[1].latency_s,
        fork=different[0] if different else None,
        num_different=len(different),
        kinds=_kinds(program, first, second, (plans[0], timed[0]), (plans[1], timed[1])),
    )


def _timed(program: Program, plan: Plan) -> Simulation:
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{program.name}: breaks {violation.rule}: {violation.message}")
    return simulate(program, plan)


def _kinds(
    program: Program,
    first: ReferenceGame,
    second: ReferenceGame,
    one: tuple[Plan, Simulation],
    other: tuple[Plan, Simulation],
) -> tuple[Kind, ...]:
    changes = _changes(moves(program), first.actions, second.actions)
    return _summed([_kind(program, cost, changes) for cost in attribute(program, one, other)])


def _changes(
    all_moves: Sequence[Move], first: Sequence[int], second: Sequence[int]
) -> dict[int, str]:
    """By group, the two actions at the first move on it at which the games differ, in words."""
    changes: dict[int, str] = {}
    for move, a, b in zip(all_moves, first, second, strict=True):
        if a != b:
            changes.setdefault(move.group, f"{ACTION_NAMES[a]} → {ACTION_NAMES[b]}")
    return changes


def _kind(program: Program, cost: Cost, changes: dict[int, str]) -> Kind:
    group = program.groups[cost.group]
    size = next((name for most, name in SIZES if group.size_bytes < most), LARGEST)
    change = changes.get(cost.group, SAME)
    return Kind(change, kind_of(group), size, 1, cost.total_s * MICRO)


def _summed(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    by_name: dict[tuple[str, str, str], list[Kind]] = defaultdict(list)
    for kind in kinds:
        by_name[kind.change, kind.kind, kind.size].append(kind)
    totals = [
        Kind(*name, sum(k.tensors for k in some), sum(k.change_us for k in some))
        for name, some in by_name.items()
    ]
    return tuple(sorted(totals, key=lambda k: -abs(k.change_us)))
