"""What a program rests on: where its costs are from, what compiles observed, how much was read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.program.counts import COUNTS, counts_remarks
from engine.program.floors import slow_s, worth_s
from engine.program.model import Program, Touch
from engine.program.prices import priced_s

CYCLES = "cycles"
"""The compiler's cycles in the one dump; savings as the bytes suggest."""
ROOFLINE = "roofline"
"""Operations and bytes: the dump states no cycles."""
FITTED = "fitted"
"""Both dumps; `fit_error` says by how much the total of the second one is missed, relative."""
SCRATCH_REGION = "scratch_region"
"""The entry of a provenance with the bytes that the compiler keeps for the scratch of every
instruction, where each reserves more, so that `Instruction.reserved_bytes` does not tell."""
TILED = "is_tiled"
"""The entry of a provenance for a dump without cycles that is of the TPU's compiler."""
CODEGEN = "*.after_codegen.txt"
"""The one of the dumps of the TPU's compiler that states its cycles."""

WHOLE_SHARE = 0.99
"""A plan of which a smaller share of its saving was read is no measure for other plans."""


def target_facts_of(program: Program) -> dict[str, Any]:
    """What a program was compiled for beyond its chip, and how far its capture has come.

    Devices of a mesh and their topology, the user's own flags and trip counts, and, where the
    capture was broken off or goes on, how many compiles have refined its costs.
    """
    origin = program.provenance
    facts = {key: origin[key] for key in ("topology", "devices") if key in origin}
    options = origin.get("compiler_options")
    if isinstance(options, Mapping):
        facts["compiler_options"] = " ".join(f"{name}={value}" for name, value in options.items())
    if "libtpu_init_args" in origin:
        facts["libtpu_init_args"] = origin["libtpu_init_args"]
    counts = origin.get(COUNTS)
    if isinstance(counts, Mapping):
        facts["counts"] = " ".join(f"{name}={value}" for name, value in counts.items())
    refining = origin.get("refining")
    if isinstance(refining, Mapping):
        facts["refined_by"] = f"{refining.get('compiles')} of up to {refining.get('of')} compiles"
    return facts


def refining_remark(program: Program) -> str | None:
    """One line on a capture that goes on, or was broken off; None for a whole one."""
    refining = program.provenance.get("refining")
    if not isinstance(refining, Mapping):
        return None
    return (
        f"its costs rest on {refining.get('compiles')} of up to {refining.get('of')} compiles: what"
        " is uncertain is marked, and the capture that wrote it refines them; if it was broken off,"
        " start it again"
    )


MAX_ERROR = 0.03
"""Largest relative error of a trusted fit: on held-out placements, and on what it is fitted to."""


def is_trusted(program: Program) -> bool:
    """Whether placements held out of the fit confirm the program's costs.

    Not where none could be held out, nor where the fit misses a compile that it is fitted to.
    """
    return _fit_error(program) <= MAX_ERROR


def fit_remark(program: Program) -> str | None:
    """One line on costs that no held-out placement confirms; None where one does, or none is due.

    Programs by hand and from dumps have no fit to hold anything against.
    """
    if not isinstance(program.provenance.get("fit"), Mapping) or is_trusted(program):
        return None
    error = _fit_error(program)
    why = (
        "no placement was held out of the fit"
        if math.isinf(error)
        else f"they miss a compile's total by {error:.1%}"
    )
    return (
        f"its costs are not confirmed, {why}: gains and bounds hold under these costs only;"
        " capture it with more --compiles"
    )


def _fit_error(program: Program) -> float:
    """The larger error of the entry `fit`, relative; infinite where it does not say so."""
    fit = program.provenance.get("fit")
    if not isinstance(fit, Mapping):
        return math.inf
    stated = (fit.get("worst_held_out_error"), fit.get("worst_error", 0.0))
    return max(float(e) if isinstance(e, int | float) else math.inf for e in stated)


FASTEST_COMPILE = "fastest_compile"
"""The entry of a provenance with the compile of the fewest `seconds`, by the compiler's cycles and
the waits for its copies, and its `name`."""


def fastest_compile_s(program: Program) -> float | None:
    """Seconds of the fastest compile that was observed whole, and what is priced besides.

    None where none is kept.
    """
    kept = program.provenance.get(FASTEST_COMPILE)
    seconds = kept.get("seconds") if isinstance(kept, Mapping) else None
    if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        return None
    return float(seconds) + priced_s(program)


def has_compiled_plan(program: Program) -> bool:
    """Whether the real compiler's plan came with the program."""
    return "xla_plan" in program.provenance


def share_read(program: Program) -> float | None:
    """The share of the saving of XLA's plan that was read; None without a plan."""
    if not has_compiled_plan(program):
        return None
    lost = _notes(program).get("left_out_saving_share", 0.0)
    return 1.0 - lost if isinstance(lost, int | float) and 0 <= lost <= 1 else 1.0


def reading_warning(program: Program) -> str | None:
    """One line on a plan that was read in part, which is no measure for others; else None."""
    share = share_read(program)
    if share is None or share >= WHOLE_SHARE:
        return None
    return (
        f"only {share:.1%} of the saving of XLA's plan could be read, so xla_compiled is slower"
        " here than XLA is: to be faster than it is no win"
    )


def import_remarks(program: Program) -> list[str]:
    """What was passed over or estimated when a program was imported, a sentence each."""
    remarks = program.provenance.get("remarks", [])
    found = [str(remark) for remark in remarks] if isinstance(remarks, list) else []
    if program.provenance.get("costs") == ROOFLINE:
        is_tiled = program.provenance.get(TILED) is True
        found.append(
            f"its dump states no cycles: import {CODEGEN}, which does of those of the TPU's"
            " compiler; costs are estimated from operations and bytes"
            if is_tiled
            else "its dump states no cycles, as none of the CPU's or GPU's compiler does: costs are"
            " estimated from operations and bytes, and sizes lack the padding of a TPU"
        )
    savings = observed(program)
    if savings is not None and 0.0 < savings.possible_s == savings.uncounted_s:
        found.append(
            "no compile has shown that fast memory saves anything here, so nothing counts, and"
            f" all_fast is all_slow; it may save up to {1e6 * savings.uncounted_s:.1f} us"
        )
    return found + counts_remarks(program)


def offsets_of_compiled_plan(program: Program) -> str:
    """Whose offsets the compiled plan has: XLA's own, or others, as its notes say."""
    return str(_notes(program).get("offsets", "XLA's own"))


def is_repacked(program: Program) -> bool:
    """Whether the program's compiled plan has other offsets than XLA's own."""
    return "offsets" in _notes(program)


def _notes(program: Program) -> Mapping[str, Any]:
    """What was noted when the plan was read; files may say anything here."""
    plan = program.provenance.get("xla_plan")
    notes = plan.get("notes") if isinstance(plan, Mapping) else None
    return notes if isinstance(notes, Mapping) else {}


LITTLE = 0.005
"""Share of what is counted; a smaller saving beyond it counts as none: three digits hide it."""


@dataclass(frozen=True)
class Observed:
    """All that fast memory may save in one run, in seconds, by what it rests on.

    `observed_s`: the compiles tell it use by use. `estimated_s`: it counts too, but was observed
    only together with what other uses save, or not at all. `uncounted_s`: what may be saved
    besides, at most.
    """

    observed_s: float
    estimated_s: float
    uncounted_s: float

    @property
    def possible_s(self) -> float:
        """The most that may be saved."""
        return self.observed_s + self.estimated_s + self.uncounted_s

    @property
    def share(self) -> float:
        """The part of it that compiles observed; 1 where nothing may be saved."""
        return self.observed_s / self.possible_s if self.possible_s > 0 else 1.0


def observed(program: Program) -> Observed | None:
    """What the savings of a program rest on; None where its costs are no compiler's of this chip.

    No instruction saves more than its time with all slow, less its floor.
    """
    is_guess = is_estimated(program)
    if not is_guess and not _is_fitted(program):
        return None
    told, counted, possible = ([0.0] * program.num_slots for _ in range(3))
    for access in program.accesses:
        saving_s = max(0.0, access.saving_s)
        counted[access.time] += saving_s
        possible[access.time] += saving_s + access.uncertainty_s
        told[access.time] += 0.0 if is_guess or access.uncertainty_s > 0 else saving_s
    rooms = [_room_s(program, time) for time in range(program.num_slots)]
    observed_s, counted_s, possible_s = (
        sum(map(min, seconds, rooms)) for seconds in (told, counted, possible)
    )
    return Observed(observed_s, counted_s - observed_s, possible_s - counted_s)


def more_s(program: Program, touch: Touch) -> float:
    """Seconds that a touch may save beyond what counts, if all others of its instruction are slow.

    0 where the compiles tell what it saves.
    """
    uncertain_s = sum(program.accesses[index].uncertainty_s for index in touch.accesses)
    if uncertain_s <= 0:
        return 0.0
    counted_s = worth_s(program, touch)
    most_s = min(touch.saving_s + uncertain_s, _room_s(program, touch.time))
    return most_s - counted_s if most_s - counted_s > LITTLE * abs(counted_s) else 0.0


def uncounted_by_slot(
    program: Program, is_fast: Sequence[bool], other: Sequence[bool] | None = None
) -> list[float]:
    """`[T]` seconds that instructions may take less than counted, where two placements differ.

    `is_fast`, `other`: flags of the accesses. No `other` means everything slow, whose times were
    observed in full. No instruction takes less than its floor; where both placements have uses of
    their own in one, the larger of the two counts.
    """
    if other is None:
        other = (False,) * len(is_fast)
    sides = _uncounted_s(program, is_fast, other), _uncounted_s(program, other, is_fast)
    return [max(both) for both in zip(*sides, strict=True)]


def _uncounted_s(program: Program, is_fast: Sequence[bool], other: Sequence[bool]) -> list[float]:
    """`[T]` seconds that a placement may take less, by the uses that are slow in the other one."""
    spare_s = [i.fast_s - i.floor_s for i in program.instructions]
    for access, fast in zip(program.accesses, is_fast, strict=True):
        spare_s[access.time] += 0.0 if fast else access.saving_s
    seconds = [0.0] * program.num_slots
    for touch in program.touches:
        if is_fast[touch.accesses[0]] and not other[touch.accesses[0]]:
            seconds[touch.time] += more_s(program, touch)
    return [min(more, max(0.0, spare)) for more, spare in zip(seconds, spare_s, strict=True)]


def is_estimated(program: Program) -> bool:
    """Whether the savings are estimates from bytes, since there was one dump only."""
    return program.provenance.get("costs") in (CYCLES, ROOFLINE)


def _is_fitted(program: Program) -> bool:
    """Whether savings are fitted to compiles for this chip: what a what-if derives is not."""
    origin = program.provenance
    if "derived_from" in origin:
        return False
    is_uncertain = any(access.uncertainty_s > 0 for access in program.accesses)
    return is_uncertain or "fit" in origin or origin.get("costs") == FITTED


def _room_s(program: Program, time: int) -> float:
    """Seconds between an instruction with all slow and the least that it can take."""
    return slow_s(program, time) - program.instructions[time].floor_s
