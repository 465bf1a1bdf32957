"""What an instruction asks of the chip, where the compiler states no cycles for it.

The facts by which `engine.hardware.pricing` prices it: operations, bytes, links and the host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.program.hlo.collective import Collective, collective_in
from engine.program.hlo.costs import Work
from engine.program.hlo.module import backend_config
from engine.program.hlo.record import Event
from engine.program.hlo.shape import HOST_SPACE

MAX_STATED = 1e18
"""More operations or bytes than a kernel can do in one execution are no estimate."""

_OF_HOST = ("infeed", "outfeed")


@dataclass(frozen=True)
class Demand:
    """One execution of an instruction.

    `matrix_flops`: floating-point operations of products; `vector_ops`: all other operations.
    `moved_bytes`: read from and written to slow memory. `host_bytes`: over the link to the host.
    `remote_bytes`: that a kernel itself sends to other chips. `is_stated`: a kernel's own
    estimate.
    """

    matrix_flops: float
    vector_ops: float
    moved_bytes: float
    host_bytes: float = 0.0
    remote_bytes: float = 0.0
    collective: Collective | None = None
    is_stated: bool = False


def demand_of(work: Work, event: Event, moved: Mapping[int, int]) -> Demand:
    """The demand of an event that reads and writes `moved` bytes, by memory space."""
    ins, moved_bytes = event.instruction, sum(moved.values())
    if HOST_SPACE in moved:
        # What crosses is read in one memory and written, or used, on the other side of the link.
        on_chip = moved_bytes - moved[HOST_SPACE]
        return Demand(0.0, 0.0, on_chip, host_bytes=min(on_chip, moved[HOST_SPACE]))
    if ins.is_host_transfer or ins.opcode in _OF_HOST:
        return Demand(0.0, 0.0, moved_bytes, host_bytes=moved_bytes)
    stated = _stated(ins)
    if stated is not None:
        return replace(stated, moved_bytes=stated.moved_bytes or moved_bytes)
    matrix_flops, vector_ops = work.operations(event.computation, ins)
    collective = collective_in(work.scope, event.computation, ins)
    return Demand(matrix_flops, vector_ops, moved_bytes, collective=collective)


def _stated(ins: Any) -> Demand | None:
    """What a kernel says of itself (`cost_estimate` of `pallas_call`), if it says anything."""
    if b"cost_estimate" not in ins.backend_config:
        return None
    config = backend_config(ins)
    inner = config.get("custom_call_config")
    estimate = (inner if isinstance(inner, dict) else config).get("cost_estimate")
    if not isinstance(estimate, dict):
        return None
    flops, transcendentals, moved, remote = (
        _number(estimate.get(key))
        for key in ("flops", "transcendentals", "bytes_accessed", "remote_bytes_transferred")
    )
    if not (flops or transcendentals or moved or remote):
        return None
    return Demand(flops, transcendentals, moved, remote_bytes=remote, is_stated=True)


def _number(stated: Any) -> float:
    """A count as the compiler writes it, as text or number; 0 for what is none."""
    try:
        number = float(stated)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) and 0 <= number <= MAX_STATED else 0.0
