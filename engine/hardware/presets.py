"""Hardware by name: memories, clock and peak rates, with the source of each figure.

A *device* is what the compiler sees: a whole chip on v4 and v5p (two cores work as one), one core
elsewhere. Figures come from Google's pages of each generation (docs.cloud.google.com/tpu/docs/v4,
/v5e, /v5p, /v6e, /tpu7x: bandwidth and bfloat16 peak), from the table of JAX's own
`pallas/mosaic/tpu_info.py` (fast-memory sizes), and from compilations with libtpu 0.0.42 (scoped
regions, and the clocks of v4 and v5e by which its cycles match the peaks).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import UnknownNameError
from engine.program.model import Hardware

KIB = 2**10
MIB = 2**20


@dataclass(frozen=True)
class Device:
    """A compilation target.

    `scoped_bytes`: the region at offset 0 of the fast memory that XLA keeps apart from its heap for
    the scratch of single instructions. `peak_flops`: bfloat16 operations per second.
    `fast_bandwidth`: bytes per second between the fast memory and the compute units.
    """

    hardware: Hardware
    scoped_bytes: int
    peak_flops: float
    fast_bandwidth: float


def _tpu(
    name: str,
    fast_mib: int,
    bandwidth: float,
    *,
    clock_hz: float,
    scoped_mib: int,
    peak_flops: float,
    fast_name: str = "VMEM",
) -> Device:
    return Device(
        hardware=Hardware(
            name=name,
            fast_bytes=fast_mib * MIB,
            # XLA places at multiples of 512 bytes on all of them.
            alignment=512,
            bandwidth=bandwidth,
            clock_hz=clock_hz,
            fast_name=fast_name,
        ),
        scoped_bytes=scoped_mib * MIB,
        peak_flops=peak_flops,
        # Not published. VMEM bandwidth is given as "around 22 times" that of HBM on v5e in
        # jax-ml.github.io/scaling-book/tpus; the same ratio is assumed for the others.
        fast_bandwidth=22 * bandwidth,
    )


DEVICES: Mapping[str, Device] = {
    device.hardware.name: device
    for device in (
        # v4: CMEM has 128 MiB, but XLA gives a program half: over nine compiles of AlexNet no 72 MB
        # weight is ever placed, and the highest end is 63.8 MiB.
        # 275 TFLOP/s = 8 units × 128² × 2 × 1.05 GHz.
        _tpu(
            "tpu-v4",
            64,
            1.2e12,
            clock_hz=1.05e9,
            scoped_mib=0,
            peak_flops=275e12,
            fast_name="CMEM",
        ),
        # v5e: 197 TFLOP/s = 4 units × 128² × 2 × 1.5 GHz.
        _tpu("tpu-v5e", 128, 819e9, clock_hz=1.5e9, scoped_mib=16, peak_flops=197e12),
        # v5p: 459 TFLOP/s = 8 units × 128² × 2 × 1.75 GHz; 64 MiB per core.
        _tpu("tpu-v5p", 64, 2765e9, clock_hz=1.75e9, scoped_mib=16, peak_flops=459e12),
        # v6e: the clock is not published; v5p's is assumed.
        _tpu("tpu-v6e", 128, 1640e9, clock_hz=1.75e9, scoped_mib=32, peak_flops=918e12),
        # tpu7x: one of two cores, each with half the chip's 7.38 TB/s and 2307 TFLOP/s. Clock and
        # scoped region are not known; v6e's clock and v5p's region are assumed.
        _tpu("tpu7x", 64, 3690e9, clock_hz=1.75e9, scoped_mib=16, peak_flops=1153.5e12),
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


def find_device(name: str) -> Device:
    """The device of that name. Raises UnknownNameError with near matches."""
    if name not in DEVICES:
        near = difflib.get_close_matches(name, DEVICES, n=3, cutoff=0.5)
        raise UnknownNameError(
            f"no hardware is called {name!r}; there are {', '.join(near or DEVICES)}"
        )
    return DEVICES[name]
