"""Compiler options that make another program: other windows, fusions, schedules or layouts.

Unlike the options of the memory pass (`engine.compiler.steering.export.PASS_OPTIONS`), which place
the same instructions elsewhere, these change the instructions and what they cost, so a program is
captured anew under them. The candidates are those of public launch scripts and of the page *XLA
flags guidance* that this compiler knows; `python -m benchmarks program_options` measures which
change anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.compiler.toolchain.libtpu import strip_paths
from engine.compiler.toolchain.results import Answers
from engine.compiler.toolchain.target import SCOPED_LIMIT
from engine.errors import CompilerError
from engine.program.model import in_turn


@dataclass(frozen=True)
class ProgramOption:
    """Flags of the compiler that change the program. `kind`: what they are about, in a word."""

    kind: str
    flags: Mapping[str, str]

    @property
    def title(self) -> str:
        """The flags in words."""
        return ", ".join(f"{name}={value}" for name, value in self.flags.items())


SCHEDULE = "schedule"

_SCOPED_KIB: Mapping[str, tuple[int, ...]] = {
    "tpu-v4": (),
    "tpu-v4-megacore": (),
    "tpu-v5e": (24_576, 50_000, 32_768),
    "tpu-v5p": (24_576, 32_768, 40_960),
    "tpu-v6e": (49_152, 65_536, 98_304),
    "tpu7x": (49_152, 40_960),
}
"""Limits above the default (16 MiB on v5e and v5p, 32 MiB on v6e and tpu7x), those that launch
scripts set among them. Measured on v5e and v5p alone, where 8 MiB was slower; on v4 none is tried,
as none was measured."""

_FLAGS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("fusion", {"xla_tpu_enable_experimental_fusion_cost_model": "true"}),
    ("fusion", {"xla_tpu_scavenge_vmem_for_fusions": "true"}),
    (SCHEDULE, {"xla_tpu_enable_latency_hiding_scheduler": "false"}),
    ("layout", {"xla_tpu_order_dot_after_layout": "false"}),
)


def program_options(hardware: str, devices: int = 1) -> tuple[ProgramOption, ...]:
    """The options to try on a chip, for a program of so many devices.

    Kinds take turns, so that the first of them cover all kinds. A program of a mesh gets none that
    move collectives: the compiler's cycles do not count these, so to expose them would look like a
    gain.
    """
    limits = ({SCOPED_LIMIT: str(kib)} for kib in _SCOPED_KIB.get(hardware, ()))
    made = [ProgramOption("scratch", flags) for flags in limits]
    made += [ProgramOption(kind, flags) for kind, flags in _FLAGS]
    made = [option for option in made if devices == 1 or option.kind != SCHEDULE]
    turns = zip(in_turn(option.kind for option in made), made, strict=True)
    return tuple(option for _, option in sorted(turns, key=lambda pair: pair[0][1]))


def combined(one: ProgramOption, other: ProgramOption) -> ProgramOption:
    """Both options at once."""
    return ProgramOption(f"{one.kind} and {other.kind}", {**one.flags, **other.flags})


def effective(
    answers: Answers,
    tried: Sequence[ProgramOption],
    note: Callable[[str], None],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[ProgramOption]:
    """The options under which early stops show another program than any before, in their order.

    What this compiler does not know or cannot compile is noted and passed over. `goes_on` is asked
    before every early stop.
    """
    seen = {fingerprint(answers.stopped({}).hlo)}
    others, looked_at = [], 0
    for option in tried:
        if not goes_on():
            break
        looked_at += 1
        try:
            mark = fingerprint(answers.stopped(option.flags).hlo)
        except CompilerError as error:
            note(f"{option.title}: {error}")
            continue
        if mark not in seen:
            seen.add(mark)
            others.append(option)
    unseen = f"; no time to look at the other {n}" if (n := len(tried) - looked_at) else ""
    note(f"program options: {len(others)} of {looked_at} make another program{unseen}")
    return others


def fingerprint(hlo: str) -> str:
    """A hash that is equal for equal modules, wherever their operations come from."""
    bare = re.sub(r", metadata=\{[^}]*\}", "", strip_paths(hlo))
    body = bare.partition("\n")[2]
    return hashlib.sha256(body.encode()).hexdigest()
