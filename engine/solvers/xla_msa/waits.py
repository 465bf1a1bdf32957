"""Waits: how long a stay must last to serve the next uses of a group without another copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.program.model import TOP_LEVEL
from engine.solvers.xla_msa.bookings import Bookings
from engine.solvers.xla_msa.visits import Visit

Wait = tuple[int, bool]
"""Until when a stay must last to serve a use, and whether the wait for it is short enough."""


def waits(bookings: Bookings, visit: Visit) -> Iterator[Wait]:
    """The waits of a stay through the visit, one per use in time order.

    A loop is a use at its start, and what follows it waits since its end.
    """
    program, region = bookings.program, visit.region
    last = bookings.levels.start(region) - 1
    for item in visit.items:
        if isinstance(item, Visit):
            time = program.regions[item.region].start
            yield time + 1, bookings.picker.may_stay(last, time, region)
            yield from waits(bookings, item)
            last = program.regions[item.region].end - 1
        else:
            time = program.touches[item].time
            yield time + 1, bookings.picker.may_stay(last, time, region)
            last = time
    if region != TOP_LEVEL or visit.is_sink:
        end = program.level_end(region)
        yield end, bookings.picker.may_stay(last, end, region)


def may_cover(bookings: Bookings, visit: Visit) -> bool:
    """Whether the visited region reads the group, and every wait inside is short enough."""
    return any(bookings.program.touches[k].reads for k in visit.touches) and all(
        is_short for _, is_short in waits(bookings, visit)
    )


def later_holds(all_waits: Iterable[Wait], hold_until: int) -> list[int]:
    """Ends of a stay: `hold_until`, and those of each further use that needs no copy."""
    holds = [hold_until]
    for end, is_short in all_waits:
        if end > hold_until:
            if not is_short:
                break
            holds.append(end)
    return holds
