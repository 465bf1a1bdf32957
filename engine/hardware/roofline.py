"""Roofline costs, for dumps that state no cycles: what an instruction takes, and what it can save.

An instruction that does `F` operations and moves `V` bytes takes

    slow_s = max(F / peak, V / bandwidth)         all bytes in slow memory
    fast_s = max(F / peak, V / fast_bandwidth)    all bytes in fast memory

and the difference is shared among its accesses in proportion to their bytes. (Williams, Waterman
and Patterson 2009, with one memory level exchanged.) This is additive and never negative, but only
a first guess: a real instruction that is half compute bound saves nothing with the first operand
moved. Costs fitted to compilations at several placements are better wherever they are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.hardware.presets import Device


@dataclass(frozen=True)
class Cost:
    """Seconds of one execution: `fast_s` with all in fast memory, and the saving per access."""

    fast_s: float
    savings_s: tuple[float, ...]

    @property
    def slow_s(self) -> float:
        """Seconds with everything in slow memory."""
        return self.fast_s + sum(self.savings_s)


def slow_time_s(device: Device, flops: float, slow_bytes: float) -> float:
    """Seconds of one execution with all `slow_bytes` in slow memory."""
    return max(flops / device.peak_flops, slow_bytes / device.hardware.bandwidth)


def fast_time_s(device: Device, flops: float, moved_bytes: float) -> float:
    """Seconds of one execution with all `moved_bytes` in fast memory."""
    return max(flops / device.peak_flops, moved_bytes / device.fast_bandwidth)


def roofline_cost(device: Device, flops: float, access_bytes: Sequence[int]) -> Cost:
    """Cost of an instruction that does `flops` and moves `access_bytes` `[A]`, one per access."""
    moved = sum(access_bytes)
    fast_s = fast_time_s(device, flops, moved)
    excess_s = max(0.0, slow_time_s(device, flops, moved) - fast_s)
    return Cost(fast_s, tuple(excess_s * b / moved if moved else 0.0 for b in access_bytes))


def roofline(device: Device) -> Callable[[float, int], float]:
    """All-slow seconds as a function of operations and bytes, for the HLO reader."""

    def time_s(flops: float, slow_bytes: int) -> float:
        return slow_time_s(device, flops, slow_bytes)

    return time_s
