"""A plan as options that steer XLA's own memory pass towards it.

The pass commits values one after another and does not revisit a committed one, so the order
decides. A rule per planned value moves it to the front; no single order of the rules wins on all
programs, so several are made, with and without two pass options that decide whether a plan can be
had at all. What cannot be steered: offsets, one slow use of a value that is otherwise fast, an
early end of a stay, copies without an instruction to overlap, and inputs that loops read kept
between runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.errors import PlanError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Group, Program

EXPORT = "export"
"""The origin of options that aim at a plan."""

SORT_ORDER = "xla_tpu_msa_sort_order_overrides"
CROSS_PROGRAM = "xla_msa_max_cross_program_prefetches"
INEFFICIENT_RATIO = "xla_tpu_msa_inefficient_use_to_copy_ratio"

_FLAGS = {
    "max_cross_program_prefetches": CROSS_PROGRAM,
    "inefficient_use_to_copy_ratio": INEFFICIENT_RATIO,
}
"""The flag of each pass option that a plan's notes may name."""

PASS_OPTIONS: tuple[Mapping[str, str], ...] = (
    {},
    {CROSS_PROGRAM: "0"},
    {INEFFICIENT_RATIO: "0.2"},
    {CROSS_PROGRAM: "0", INEFFICIENT_RATIO: "0.2"},
)
"""The memory pass's own options that decide most; they place the same instructions elsewhere.
Named as in libtpu 0.0.42.

`CROSS_PROGRAM` 0: the prefetched input can displace a value that saves more. `INEFFICIENT_RATIO`
0.2 (default 0.5): the pass refuses a copy below this ratio of benefit to cost, and underrates
weights that are read in a loop."""

MIN_SAVING_SHARE = 0.001
"""Groups that save less than this share of the plan's saving get no rule: 200 rules slow a compile
several times."""

_SUFFIX = re.compile(r"^(?P<name>[^{]+)(?:\{(?P<index>[\d,]+)\})?$")

_OUR_NAME = re.compile(r"\{(?:carried|met) \d+\}$")
"""How values are called that go round a loop, or leave a conditional, in a place of their own."""


@dataclass(frozen=True)
class Aim:
    """One alias group that a plan serves fast.

    `values`: XLA's names of the values that are to be in fast memory, like `fusion.3{1}`.
    `instructions`: those that are to read (or write) them there. `saving_s`: seconds it saves.
    """

    values: tuple[str, ...]
    instructions: tuple[str, ...]
    saving_s: float


@dataclass(frozen=True)
class Steering:
    """Compiler options that steer the memory pass, and how they were made, in words.

    `origin`: EXPORT of a plan, or another of `engine.compiler.steering.candidates`.
    """

    title: str
    options: Mapping[str, str]
    origin: str = EXPORT


@dataclass(frozen=True)
class _Planned:
    """A group with fast accesses: what they save, and the slots of its stays."""

    group: Group
    accesses: tuple[int, ...]
    saving_s: float
    slots: int
    is_whole_life: bool

    @property
    def density(self) -> float:
        """Seconds per byte and slot of fast memory."""
        return self.saving_s / max(1, self.group.size_bytes * self.slots)


_Order = Callable[[_Planned], tuple[float, ...]]
ORDERS: Mapping[str, _Order] = {
    "by saving": lambda p: (-p.saving_s,),
    "by density": lambda p: (-p.density,),
    "whole lives first, by size": lambda p: (
        (0, -p.group.size_bytes) if p.is_whole_life else (1, -p.saving_s)
    ),
}
"""In which order the planned groups are handed to the pass: the sort key of each order."""


def aims(program: Program, plan: Plan) -> tuple[Aim, ...]:
    """What `plan` serves fast, the greatest saving first. Raises PlanError for an invalid plan."""
    planned = sorted(_planned(program, plan), key=ORDERS["by saving"])
    return tuple(
        Aim(_value_names(program, item), _instruction_names(program, item), item.saving_s)
        for item in planned
    )


def exports(program: Program, plan: Plan) -> tuple[Steering, ...]:
    """Options that aim at `plan`: every order with all `PASS_OPTIONS`.

    The first are those that the plan's own notes ask for, where they do (`own_steering`). Raises
    PlanError for an invalid plan, or one that serves nothing fast, unless its notes ask for that.
    """
    planned, own = _planned(program, plan), own_steering(plan)
    if not planned and own is not None and own.options == SLOW_OPTIONS:
        return (own,)
    if not planned:
        raise PlanError("the plan serves nothing from fast memory; there is nothing to steer to")
    made = [] if own is None else [own]
    for options, (title, order) in product(PASS_OPTIONS, ORDERS.items()):
        names = [
            name for item in sorted(planned, key=order) for name in _value_names(program, item)
        ]
        complete = {SORT_ORDER: sort_rules(names), **options}
        made.append(Steering(f"{title}{in_words(options)}", complete))
    return tuple(made)


def own_steering(plan: Plan) -> Steering | None:
    """The options that a plan's notes ask for (`engine.solvers.xla_msa.steered`); None if none.

    Raises PlanError where the note `steering` is damaged.
    """
    steering = plan.notes.get("steering")
    if not isinstance(steering, Mapping):
        return None
    if steering.get("is_off") is True:
        return Steering("the memory pass off", SLOW_OPTIONS)
    try:
        options = {_FLAGS[name]: f"{value:g}" for name, value in steering["knobs"].items()}
        ends = [xla_names(steering[end]) for end in ("first", "last")]
        text = both_rules(*([matcher_of(name) for name in names] for names in ends))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(f"the plan's note `steering` is damaged ({error!r:.100})") from error
    if text:
        options[SORT_ORDER] = text
    return Steering(f"its own order{in_words(options)}", options)


def in_words(options: Mapping[str, str]) -> str:
    """The pass options among options in words, as the end of a title."""
    words = {CROSS_PROGRAM: "cross-program prefetches {}", INEFFICIENT_RATIO: "ratio {}"}
    return "".join(f", {words[k].format(value)}" for k, value in options.items() if k in words)


def sort_rules(names: Sequence[str]) -> str:
    """The text proto that has the values of these names placed first, in this order."""
    return rules([matcher_of(name) for name in names])


def rules(matchers: Sequence[str]) -> str:
    """The text proto (`MsaSortOrderOverrides`) that has these placed first, in this order.

    The pass sorts values by `assign_value`, 0 if no override matches, so negative ones come first;
    of several overrides that match a value the first one counts.
    """
    return " ".join(
        f"overrides {{ {matcher} override_options {{ assign_value: {turn - len(matchers)} }} }}"
        for turn, matcher in enumerate(matchers)
    )


def both_rules(first: Sequence[str], last: Sequence[str]) -> str:
    """The text proto that has some matchers' values placed first, in order, and some last."""
    behind = [f"overrides {{ {m} override_options {{ assign_last: true }} }}" for m in last]
    return " ".join(part for part in (rules(first), *behind) if part)


def matchers(text: str) -> tuple[list[str], list[str]]:
    """The matchers of a text proto that this module made: what is placed first, and what last."""
    rows = re.findall(r"(hlo_position_matcher \{.*?\}) override_options \{ (assign_\w+)", text)
    first = [matcher for matcher, how in rows if how != "assign_last"]
    return first, [matcher for matcher, how in rows if how == "assign_last"]


def instruction_patterns(options: Mapping[str, str]) -> tuple[str, ...]:
    """The regular expressions by which options name instructions, each once."""
    patterns: Iterable[str] = (
        pattern
        for text in options.values()
        for pattern in re.findall(r'instruction_name_regex\s*:\s*"([^"]*)"', text)
    )
    return tuple(dict.fromkeys(patterns))


def xla_names(names: Iterable[str]) -> list[str]:
    """Those names of values by which XLA knows them too, so that a rule can say them."""
    return [name for name in names if not _OUR_NAME.search(name)]


def matcher_of(name: str) -> str:
    parts = _SUFFIX.match(name)
    if parts is None:
        raise PlanError(f"{name!r} is no name of a value in HLO")
    pattern = re.sub(r"[^\w-]", lambda match: f"[{match[0]}]", parts["name"])
    index = f" tuple_index {{ index: [{parts['index']}] }}" if parts["index"] else ""
    return f'hlo_position_matcher {{ instruction_name_regex: "{pattern}"{index} }}'


def _planned(program: Program, plan: Plan) -> list[_Planned]:
    """The groups that `plan` serves fast, that save enough to be worth a rule and can be named."""
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"the plan breaks {violation.rule}: {violation.message}")
    fast: dict[int, list[int]] = {}
    for index, access in enumerate(program.accesses):
        if plan.is_fast[index]:
            fast.setdefault(program.values[access.value].group, []).append(index)
    slots: dict[int, int] = {}
    for stay in plan.stays:
        slots[stay.group] = slots.get(stay.group, 0) + stay.end - max(stay.start, 0)
    planned = []
    for number, accesses in fast.items():
        touched = sum(len(program.touches[t].accesses) for t in program.touches_of_group[number])
        planned.append(
            _Planned(
                group=program.groups[number],
                accesses=tuple(accesses),
                saving_s=sum(program.accesses[a].saving_s for a in accesses),
                slots=slots[number],
                is_whole_life=len(accesses) == touched,
            )
        )
    least = MIN_SAVING_SHARE * sum(p.saving_s for p in planned)
    return [p for p in planned if p.saving_s > least and _value_names(program, p)]


def _value_names(program: Program, item: _Planned) -> tuple[str, ...]:
    numbers = dict.fromkeys(program.accesses[a].value for a in item.accesses)
    return tuple(xla_names(program.values[number].name for number in numbers))


def _instruction_names(program: Program, item: _Planned) -> tuple[str, ...]:
    times = dict.fromkeys(program.accesses[a].time for a in item.accesses)
    return tuple(program.instructions[time].name for time in times)
