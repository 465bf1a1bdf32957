"""Hardware by name: memories, clock and peak rates, with the source of each figure.

A *device* is what the compiler sees: a whole chip where two cores work as one (v5p, and v4 as
*megacore*, JAX's default there), one core elsewhere. Figures come from Google's pages of each
generation (docs.cloud.google.com/tpu/docs/v4, /v5e, /v5p, /v6e, /tpu7x: bandwidth and bfloat16
peak), from the log of the compiler's memory pass (heap, scoped region and alignment:
`docs/results/fast_memory.json`, made with libtpu 0.0.42 by `python -m
engine.compiler.toolchain.fast_memory`), and from compilations (the clocks of v4 and v5e by which
its cycles match the peaks).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.errors import UnknownNameError
from engine.program.model import Hardware, Program

COMPILED_KINDS = ("captured", "imported")
"""The `kind` in the provenance of programs that a compiler's dumps are behind."""
KIB = 2**10
MIB = 2**20


@dataclass(frozen=True)
class Device:
    """A compilation target.

    `scoped_bytes`: the region at offset 0 of the fast memory that XLA keeps apart from its heap for
    the scratch of single instructions. `is_scratch_in_heap`: there is none, and each instruction's
    scratch takes a place in the heap while it runs. `peak_flops`: bfloat16 operations per second.
    `fast_bandwidth`: bytes per second between the fast memory and the compute units.
    """

    hardware: Hardware
    scoped_bytes: int
    peak_flops: float
    fast_bandwidth: float
    is_scratch_in_heap: bool = False

    def with_scoped(self, scoped_bytes: int | None) -> Device:
        """This device where a flag changed the region for scratch; None: no flag did.

        What the region gains the heap loses. Without such a region nothing changes.
        """
        if scoped_bytes is None or self.scoped_bytes == 0:
            return self
        return replace(self, scoped_bytes=min(scoped_bytes, self.hardware.fast_bytes))

    def reserved_bytes(self, scratch_bytes: int) -> int:
        """Bytes at offset 0 that are kept free for an instruction with so much scratch.

        The region, or more for a kernel of the user's own that says so.
        """
        return max(self.scoped_bytes, scratch_bytes) if self.hardware.holds_scratch else 0


def _tpu(
    name: str,
    heap_bytes: int,
    bandwidth: float,
    *,
    clock_hz: float,
    scoped_mib: int,
    peak_flops: float,
    fast_name: str = "VMEM",
    is_scratch_in_heap: bool = False,
) -> Device:
    return Device(
        hardware=Hardware(
            name=name,
            fast_bytes=scoped_mib * MIB + heap_bytes,
            # The compiler's log says so on all of them.
            alignment=4 * KIB,
            bandwidth=bandwidth,
            clock_hz=clock_hz,
            fast_name=fast_name,
        ),
        scoped_bytes=scoped_mib * MIB,
        peak_flops=peak_flops,
        # Not published. VMEM bandwidth is given as "around 22 times" that of HBM on v5e in
        # jax-ml.github.io/scaling-book/tpus; the same ratio is assumed for the others.
        fast_bandwidth=22 * bandwidth,
        is_scratch_in_heap=is_scratch_in_heap,
    )


DEVICES: Mapping[str, Device] = {
    device.hardware.name: device
    for device in (
        # v4: 275 TFLOP/s = 8 units × 128² × 2 × 1.05 GHz, CMEM of 128 MiB, and 1.2 TB/s. A program
        # of one core gets half of each: that peak its fastest instructions come close to.
        _tpu(
            "tpu-v4",
            64 * MIB,
            600e9,
            clock_hz=1.05e9,
            scoped_mib=0,
            peak_flops=137.5e12,
            fast_name="CMEM",
        ),
        _tpu(
            "tpu-v4-megacore",
            128 * MIB,
            1.2e12,
            clock_hz=1.05e9,
            scoped_mib=0,
            peak_flops=275e12,
            fast_name="CMEM",
        ),
        # v5e: 197 TFLOP/s = 4 units × 128² × 2 × 1.5 GHz.
        _tpu("tpu-v5e", 112 * MIB, 819e9, clock_hz=1.5e9, scoped_mib=16, peak_flops=197e12),
        # v5p: 459 TFLOP/s = 8 units × 128² × 2 × 1.75 GHz; 64 MiB per core, of which XLA leaves the
        # last 64 KiB alone, as on v6e.
        _tpu(
            "tpu-v5p",
            48 * MIB - 64 * KIB,
            2765e9,
            clock_hz=1.75e9,
            scoped_mib=16,
            peak_flops=459e12,
        ),
        # v6e: the clock is not published; v5p's is assumed.
        _tpu(
            "tpu-v6e",
            96 * MIB - 64 * KIB,
            1640e9,
            clock_hz=1.75e9,
            scoped_mib=32,
            peak_flops=918e12,
        ),
        # tpu7x: one of two cores, each with half the chip's 7.38 TB/s and 2307 TFLOP/s. The clock
        # is not known; v6e's is assumed. Scratch of up to 32 MiB is placed within the heap.
        _tpu(
            "tpu7x",
            64 * MIB,
            3690e9,
            clock_hz=1.75e9,
            scoped_mib=0,
            peak_flops=1153.5e12,
            is_scratch_in_heap=True,
        ),
        # For teaching: one KiB moves in one microsecond.
        Device(
            hardware=Hardware(
                name="generic",
                fast_bytes=MIB,
                alignment=KIB,
                bandwidth=KIB * 1e6,
                clock_hz=1e9,
                fast_name="fast memory",
                max_cross_program_prefetches=0,
            ),
            scoped_bytes=0,
            peak_flops=1e12,
            fast_bandwidth=16 * KIB * 1e6,
        ),
    )
}
"""All devices by name."""

PRESETS: Mapping[str, Hardware] = {name: device.hardware for name, device in DEVICES.items()}
"""The memories of all devices by name."""


def preset_remark(program: Program) -> str | None:
    """One line on a compiled program whose copies are timed by what its chip was taken for earlier.

    None where they are by today's preset, and for hardware that somebody wished for.
    """
    own, today = program.hardware, PRESETS.get(program.hardware.name)
    is_compiled = program.provenance.get("kind") in COMPILED_KINDS
    if not is_compiled or today is None or own.bandwidth == today.bandwidth:
        return None
    return (
        f"its copies are timed by {own.bandwidth / 1e9:,.0f} GB/s, for which {own.name} was taken"
        f" earlier; it has {today.bandwidth / 1e9:,.0f}: capture or import it again"
    )


def find_device(name: str) -> Device:
    """The device of that name. Raises UnknownNameError with near matches."""
    if name not in DEVICES:
        near = difflib.get_close_matches(name, DEVICES, n=3, cutoff=0.5)
        raise UnknownNameError(
            f"no hardware is called {name!r}; there are {', '.join(near or DEVICES)}"
        )
    return DEVICES[name]
