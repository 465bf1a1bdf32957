"""Prices of instructions for which the compiler states no cycles, by operations, bytes and links.

An instruction that does `F` operations of matrix products and `O` others, moves `V` bytes of slow
memory, sends a collective over the links, and `H` bytes over the link to the host, takes

    max(F / peak, O / vector peak, V / bandwidth, links, H / host bandwidth)

as in `engine.hardware.roofline` with everything slow: at least that, if all of it is done at once
and at full speed. A kernel that states its own operations and bytes is priced by these. What
happens in turn (the columns of a factorisation), latencies other than of links, padding and waiting
for other chips are not in it.
"""

from __future__ import annotations

from engine.hardware.interconnect import LINKS_OF, Slice
from engine.hardware.presets import Device
from engine.program.hlo.build import Pricing
from engine.program.hlo.demand import Demand
from engine.program.prices import CHIP, HOST, KERNEL, LINKS, MODEL, Price

_LANES = 8 * 128
_VECTOR_UNITS = {
    "tpu-v4": 2,
    "tpu-v4-megacore": 2 * 2,
    "tpu-v5e": 4,
    "tpu-v5p": 2 * 4,
    "tpu-v6e": 4,
    "tpu7x": 4,
}
"""Operations of the vector units per lane and cycle: 2 on v4, 4 since v5
(jax-ml.github.io/scaling-book/tpus, appendix C), of two cores where the device is a whole chip. For
v6e and tpu7x v5's are assumed."""


def vector_peak(device: Device) -> float:
    """Operations per second of a device's vector units; its matrix peak where it has none."""
    units = _VECTOR_UNITS.get(device.hardware.name)
    return device.peak_flops if units is None else _LANES * units * device.hardware.clock_hz


def pricing(device: Device, chips: Slice | None) -> Pricing:
    """Prices on `device`. `chips`: those that the program is spread over; None: one alone."""
    links = LINKS_OF.get(device.hardware.name)

    def price(demand: Demand) -> Price:
        on_chip_s = max(
            demand.matrix_flops / device.peak_flops,
            demand.vector_ops / vector_peak(device),
            demand.moved_bytes / device.hardware.bandwidth,
        )
        links_s = host_s = 0.0
        if links is not None:
            links_s = demand.remote_bytes / (links.ports * links.link_bandwidth)
            host_s = demand.host_bytes / links.host_bandwidth
        if demand.collective is not None and chips is not None:
            links_s = max(links_s, chips.seconds(demand.collective))
        over = HOST if demand.host_bytes else LINKS if demand.collective else CHIP
        source = KERNEL if demand.is_stated else MODEL
        return Price(max(on_chip_s, links_s, host_s), source, over)

    return price
