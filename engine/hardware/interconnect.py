"""Links between chips, and what a collective takes over them, by generation.

A slice of chips is a grid of two or three axes with a link between neighbours; an axis with a link
from its last chip to its first is a ring, which can be used both ways. With `w` bytes per second
over a link one way, a collective whose groups of `n` chips lie along `k` axes takes

    all-gather, reduce-scatter   V (n - 1) / n / (k w), half of it on rings
    all-reduce                   twice that
    all-to-all                   S m / (4 w) along its longest axis of m chips, half of it on a ring
    collective-permute           S d / w, if d messages go over the busiest link one way

where `V` are the bytes of the whole array and `S` those that one chip has; at least 1 us per hop.
Messages of a permutation go along one axis after another, on rings the shorter way.
This is the model of "How to Scale Your Model" (jax-ml.github.io/scaling-book/sharding: bandwidth
over several axes, latency per hop; /tpus: which axes are rings), for arrays large enough to keep
all links busy. There an all-gather of 34 MB over four chips of a v5e, which are no ring, is
measured at 680 us; this model says 503 us.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

from engine.program.hlo.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    PERMUTE,
    REDUCE_SCATTER,
    Collective,
)

HOP_S = 1e-6
"""Least seconds from a chip to its neighbour (scaling-book/sharding: "typically around 1us")."""


@dataclass(frozen=True)
class Links:
    """The links of one generation.

    `link_bandwidth`: bytes per second over one link, one way. `ports`: links of a chip.
    `ring_of`: an axis is a ring where its length is a multiple of this; on chips with six ports
    where the lengths of all are: cubes are wired together as a whole. `host_bandwidth`: bytes per
    second between a chip and its host, one way. `devices_per_chip`: as the compiler counts them.
    """

    link_bandwidth: float
    ports: int
    ring_of: int
    host_bandwidth: float
    devices_per_chip: int = 1


LINKS_OF: Mapping[str, Links] = {
    # Links: jax-ml.github.io/scaling-book/tpus, "ICI BW/link (one-way)"; docs.cloud.google.com/tpu/
    # docs/v5e, /v5p, /v6e and /tpu7x state the same per chip, over all ports and both directions
    # (400, 1200, 800 and 1200 GBps). Rings: the same page of the book (cubes of 4 on chips with six
    # ports, whole pods of 16 on others). Hosts: the same page, 16 GB/s on v4, "typically around
    # 1.5e10" on v5, 32 GB/s on v6e; for tpu7x none is published, and v6e's is assumed.
    "tpu-v4": Links(4.5e10, 6, 4, 1.6e10, devices_per_chip=2),
    "tpu-v4-megacore": Links(4.5e10, 6, 4, 1.6e10),
    "tpu-v5e": Links(5e10, 4, 16, 1.5e10),
    "tpu-v5p": Links(1e11, 6, 4, 1.5e10),
    "tpu-v6e": Links(1e11, 4, 16, 3.2e10),
    "tpu7x": Links(1e11, 6, 4, 3.2e10, devices_per_chip=2),
}


@dataclass(frozen=True)
class Slice:
    """Chips that a program is spread over. `sides`: chips along each axis."""

    links: Links
    sides: tuple[int, ...]

    @property
    def devices(self) -> int:
        """How many devices the slice has."""
        return math.prod(self.sides) * self.links.devices_per_chip

    def seconds(self, collective: Collective) -> float:
        """What one execution of a collective takes over the links; 0 where nothing leaves a chip.

        Devices are numbered along the axes in the order that suits the collective best, as a mesh
        is laid out well. What names devices that the slice has not counts as along one axis.
        """
        groups = collective.groups or (tuple(range(self.devices)),)
        if collective.kind == PERMUTE and not collective.groups:
            # A send does not say to whom: each device of a chip to its like on the next.
            per_chip = self.links.devices_per_chip
            groups = tuple((device, device + per_chip) for device in range(per_chip))
        orders = permutations(range(len(self.sides)))
        return min(self._laid_out(collective, groups, order) for order in orders)

    def _laid_out(
        self,
        collective: Collective,
        groups: Sequence[Sequence[int]],
        order: Sequence[int],
    ) -> float:
        """The same with devices numbered along axes in this order, the last one fastest."""
        places = [[self._place(device, order) for device in group] for group in groups]
        if collective.kind == PERMUTE:
            return self._permuted(collective.payload_bytes, places)
        return max(self._together(collective, group) for group in places)

    def _place(self, device: int, order: Sequence[int]) -> tuple[int, ...]:
        """The coordinates of a device's chip."""
        left = device // self.links.devices_per_chip
        place = [0] * len(self.sides)
        for axis in reversed(order):
            left, place[axis] = divmod(left, self.sides[axis])
        place[order[0]] += left * self.sides[order[0]]
        return tuple(place)

    def _is_ring(self, axis: int) -> bool:
        sides = self.sides if self.links.ports == 6 else (self.sides[axis],)
        return all(side % self.links.ring_of == 0 for side in sides)

    def _together(self, collective: Collective, group: Sequence[tuple[int, ...]]) -> float:
        """What a group of devices takes that all exchange data."""
        chips = sorted(set(group))
        if len(chips) < 2:
            return 0.0
        # The groups of the other devices on these chips use the same links at the same time.
        shared = self.links.devices_per_chip * len(chips) / len(group)
        ways, hops, widest = 0.0, 0.0, 0.0
        for axis in range(len(self.sides)):
            points = sorted({chip[axis] for chip in chips})
            if len(points) < 2:
                continue
            # Chips further apart share their links with those in between, which do the same.
            stride = max(after - before for before, after in pairwise(points))
            is_ring = self._is_ring(axis) and len(points) * stride == self.sides[axis]
            ways += (2 if is_ring else 1) / stride
            hops += stride * (len(points) / 2 if is_ring else len(points) - 1)
            widest = max(widest, len(points) * stride / (8 if is_ring else 4))
        kind, payload = collective.kind, collective.payload_bytes
        if kind == ALL_TO_ALL:
            on_chip = payload * self.links.devices_per_chip
            return max(HOP_S * hops, on_chip * widest / self.links.link_bandwidth)
        bandwidth = self.links.link_bandwidth / shared
        times = 2 if kind == ALL_REDUCE else 1
        share = (len(chips) - 1) / len(chips) if kind in _OF_SHARES else 1.0
        return times * max(HOP_S * hops, payload * share / (bandwidth * ways))

    def _permuted(self, payload: int, pairs: Sequence[Sequence[tuple[int, ...]]]) -> float:
        """What it takes until each source has sent its data to its target."""
        messages: Counter[tuple[tuple[int, ...], int, int]] = Counter()
        hops = 0
        for source, *targets in pairs:
            for target in targets:
                way = list(self._way(source, target))
                messages.update(way)
                hops = max(hops, len(way))
        busiest = max(messages.values(), default=0)
        return max(HOP_S * hops, payload * busiest / self.links.link_bandwidth)

    def _way(
        self, source: Sequence[int], target: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """The links that a message goes over: a chip, an axis, and the direction along it."""
        here = list(source)
        for axis, end in enumerate(target):
            apart, side = end - here[axis], self.sides[axis]
            is_around = self._is_ring(axis) and max(here[axis], end) < side < 2 * abs(apart)
            step = (1 if apart > 0 else -1) * (-1 if is_around else 1)
            while here[axis] != end:
                yield tuple(here), axis, step
                here[axis] = (here[axis] + step) % side if is_around else here[axis] + step


_OF_SHARES = (ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER)
"""Collectives in which each chip has its share of the array already."""


def slice_of(hardware: str, shape: str) -> Slice | None:
    """The slice of chips of that shape, like `2x2`; None for hardware without links."""
    links = LINKS_OF.get(hardware)
    return Slice(links, tuple(int(side) for side in shape.split("x"))) if links else None
