"""Collectives of a module: what they send, and between which devices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.program.hlo.module import Scope
from engine.program.hlo.shape import is_tuple, leaves, size_bytes

ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER = "all-gather", "all-reduce", "reduce-scatter"
ALL_TO_ALL, PERMUTE, BROADCAST = "all-to-all", "collective-permute", "collective-broadcast"

_KINDS = {
    ALL_GATHER: ALL_GATHER,
    ALL_REDUCE: ALL_REDUCE,
    REDUCE_SCATTER: REDUCE_SCATTER,
    ALL_TO_ALL: ALL_TO_ALL,
    "ragged-all-to-all": ALL_TO_ALL,
    PERMUTE: PERMUTE,
    BROADCAST: BROADCAST,
    "send": PERMUTE,
}
_SLICES = ("slice", "dynamic-slice")
_WRAPPERS = ("async-start", "call")

MAX_DEVICES = 1 << 16
"""Groups of more devices than any pod has are not read."""


@dataclass(frozen=True)
class Collective:
    """One collective operation.

    `payload_bytes`: on each device, of the array that is whole on one side: the result of an
    all-gather, else the operand. `groups`: the devices that exchange data, by their number in the
    program; of a permutation pairs of source and target. Empty: all devices together.
    """

    kind: str
    payload_bytes: int
    groups: tuple[tuple[int, ...], ...]


def collective_in(scope: Scope, computation: int, ins: Any) -> Collective | None:
    """The collective that an instruction is, starts, or has in its fusion; None without one.

    An all-reduce of which a fusion keeps one device's share is a reduce-scatter. What another
    thread is to do is the root of a computation of its own.
    """
    if ins.opcode == "fusion":
        return _fused(scope, ins.called_computation_ids[0])
    if ins.opcode in _WRAPPERS:
        inner = ins.called_computation_ids[0]
        return collective_in(scope, inner, scope.root(inner))
    kind = _KINDS.get(ins.opcode.removesuffix("-start"))
    if kind is None or ins.is_host_transfer:
        return None
    operands = [scope.operand(computation, ins, n).shape for n in range(len(ins.operand_ids))]
    if has_destination(scope, computation, ins):
        operands = operands[:1]
    shapes = operands if kind != ALL_GATHER else [_result(ins)]
    payload = sum(size_bytes(leaf) for shape in shapes for _, leaf in leaves(shape))
    return Collective(kind, payload, _groups(ins))


def has_destination(scope: Scope, computation: int, ins: Any) -> bool:
    """Whether all operands but the first say where it goes in another array: they are not sent.

    The second one is that array, whose place the result takes. Of a permutation several arrays may
    be such, each a tuple's; where several are sent together the result alone is a tuple.
    """
    if ins.opcode.removesuffix("-start") != PERMUTE:
        return bool(ins.opcode == "ragged-all-to-all")
    if len(ins.operand_ids) != 4:
        return False
    return is_tuple(_result(ins)) == is_tuple(scope.operand(computation, ins, 1).shape)


def devices_in(module: Any) -> int:
    """How many devices a module is for: as it states, and at least those that collectives name."""
    stated = module.device_assignment
    devices: int = max(1, stated.replica_count) * max(1, stated.computation_count)
    numbers = (
        max(group)
        for computation in module.computations
        for ins in computation.instructions
        if ins.opcode.removesuffix("-start") in _KINDS
        for group in _groups(ins)
    )
    return max(devices, 1 + max(numbers, default=0))


def _fused(scope: Scope, computation: int) -> Collective | None:
    for ins in scope.by_id[computation].values():
        found = None if ins.opcode == "fusion" else collective_in(scope, computation, ins)
        if found is not None:
            is_cut = found.kind == ALL_REDUCE and scope.root(computation).opcode in _SLICES
            return replace(found, kind=REDUCE_SCATTER) if is_cut else found
    return None


def _result(ins: Any) -> Any:
    """The shape of its result: a start gives its operands beside it."""
    return ins.shape.tuple_shapes[1] if ins.opcode.endswith("-start") else ins.shape


def _groups(ins: Any) -> tuple[tuple[int, ...], ...]:
    """The groups in whichever of its forms the module has them."""
    if ins.source_target_pairs:
        return tuple((int(p.source), int(p.target)) for p in ins.source_target_pairs[:MAX_DEVICES])
    listed = ins.collective_device_list
    for iota in (ins.iota_groups, listed.iota):
        if iota.num_replica_groups:
            reshape, order = list(iota.iota_reshape_dims), list(iota.iota_transpose_perm)
            return _by_axes(reshape, order, int(iota.num_devices_per_group))
    if ins.mesh_groups.axes:
        return _of_mesh(ins.mesh_groups)
    groups = ins.replica_groups or listed.replica_groups
    return tuple(tuple(map(int, g.replica_ids)) for g in groups if g.replica_ids)


def _of_mesh(groups: Any) -> tuple[tuple[int, ...], ...]:
    """Groups along some axes of a mesh, or along parts of them, in their order."""
    sizes: list[int] = []
    places: dict[tuple[int, int], int] = {}
    named = [(int(ref.mesh_axis_index), ref.sub_axis) for ref in groups.axes]
    for index, axis in enumerate(groups.mesh.axes):
        cuts = {1, int(axis.size)}
        for number, part in named:
            if number == index and part.size:
                cuts |= {int(part.pre_size), int(part.pre_size) * int(part.size)}
        for before, after in zip(sorted(cuts), sorted(cuts)[1:], strict=False):
            places[index, before] = len(sizes)
            sizes.append(after // before)
    wanted = [
        place
        for number, part in named
        for (index, before), place in places.items()
        if index == number
        and (not part.size or part.pre_size <= before < part.pre_size * part.size)
    ]
    others = [place for place in range(len(sizes)) if place not in wanted]
    per_group = math.prod(sizes[place] for place in wanted)
    return _named(groups.mesh, _by_axes(sizes, [*others, *wanted], per_group))


def _named(mesh: Any, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Groups of places in a mesh as groups of devices: 0, 1, … unless the mesh has its own order.

    None where that cannot be.
    """
    devices = [int(device) for device in mesh.device_ids]
    if mesh.device_order.reshape_dims:
        order = mesh.device_order
        devices = [d for (d,) in _by_axes(order.reshape_dims, order.transpose_perm, 1)]
    elif not devices:
        return groups
    if len(devices) != sum(map(len, groups)):
        return ()
    return tuple(tuple(devices[place] for place in group) for group in groups)


def _by_axes(
    sizes: Iterable[int], order: Iterable[int], per_group: int
) -> tuple[tuple[int, ...], ...]:
    """Devices 0, 1, … as an array of these sizes, its axes put in order, cut into groups.

    None where that cannot be: a file may say anything.
    """
    sizes, axes = [int(size) for size in sizes], [int(axis) for axis in order]
    count = math.prod(sizes)
    is_cut = 0 < count <= MAX_DEVICES and per_group > 0 and count % per_group == 0
    if not is_cut or sorted(axes) != list(range(len(sizes))):
        return ()
    devices = np.arange(count).reshape(sizes).transpose(axes)
    return tuple(map(tuple, devices.reshape(-1, per_group).tolist()))
