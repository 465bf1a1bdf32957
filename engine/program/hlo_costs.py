"""First costs of imported instructions: the compiler's cycles where stated, else a roofline.

One dump knows each instruction's cost at one placement only. How much of it each access would save
is then a prior, proportional to bytes; `engine.compiler.calibrate` replaces it where dumps at
several placements are at hand.
"""

from __future__ import annotations

import math
from typing import Any

from engine.program.hlo_loops import Scope
from engine.program.hlo_shape import is_array, leaves, num_elements, size_bytes

MAX_MEMORY_SHARE = 0.9
"""No instruction is believed to save more than this share of its all-slow time."""

_SLICERS = {"slice", "dynamic-slice", "gather"}


def accessed_bytes(scope: Scope, ins: Any, operand: int, full: int) -> int:
    """Bytes that `ins` really draws of an operand of `full` bytes.

    A fusion that only slices its parameter, or only updates a slice of it, does not read it all.
    """
    if ins.opcode in _SLICERS and operand == 0:
        return min(full, size_bytes(ins.shape))
    if ins.opcode == "dynamic-update-slice" and operand == 0:
        return 0
    if ins.opcode != "fusion" or not ins.called_computation_ids:
        return full
    inner = scope.by_id[ins.called_computation_ids[0]].values()
    parameter = next(
        (i for i in inner if i.opcode == "parameter" and i.parameter_number == operand), None
    )
    if parameter is None:
        return full
    users = [i for i in inner if parameter.id in i.operand_ids]
    drawn = 0
    for user in users:
        is_first = list(user.operand_ids).index(parameter.id) == 0
        if is_first and user.opcode in _SLICERS and is_array(user.shape):
            drawn += size_bytes(user.shape)
        elif not (is_first and user.opcode == "dynamic-update-slice"):
            return full
    return min(full, drawn) if users else 0


def written_bytes(scope: Scope, ins: Any, is_in_place: bool, full: int) -> int:
    """Bytes that `ins` writes of a result of `full` bytes: an update in place writes its slice."""
    if not is_in_place:
        return full
    updates = [ins]
    if ins.opcode == "fusion" and ins.called_computation_ids:
        updates = list(scope.by_id[ins.called_computation_ids[0]].values())
        home = ins.called_computation_ids[0]
        slices = [scope.operand(home, u, 1) for u in updates if u.opcode == "dynamic-update-slice"]
        sizes = [size_bytes(s.shape) for s in slices if is_array(s.shape)]
        return min(full, max(sizes)) if sizes else full
    return full


def flops(scope: Scope, ins: Any) -> float:
    """Floating-point operations of one execution: products of dots, else one per element."""
    if ins.opcode == "fusion" and ins.called_computation_ids:
        home = ins.called_computation_ids[0]
        return sum(_own_flops(scope, home, i) for i in scope.by_id[home].values())
    home = next(c for c, by_id in scope.by_id.items() if by_id.get(ins.id) is ins)
    return _own_flops(scope, home, ins)


def _own_flops(scope: Scope, home: int, ins: Any) -> float:
    elements = float(sum(num_elements(leaf) for _, leaf in leaves(ins.shape)))
    if ins.opcode == "dot":
        left = scope.operand(home, ins, 0).shape
        contracted = ins.dot_dimension_numbers.lhs_contracting_dimensions
        return 2.0 * elements * math.prod(left.dimensions[d] for d in contracted)
    if ins.opcode == "convolution":
        kernel = scope.operand(home, ins, 1).shape
        features = kernel.dimensions[
            ins.convolution_dimension_numbers.kernel_output_feature_dimension
        ]
        return 2.0 * elements * num_elements(kernel) / max(1, features)
    return 0.0 if ins.opcode in ("parameter", "constant", "tuple") else elements


def prior_savings(time_s: float, slow_bytes: list[int], bandwidth: float) -> list[float]:
    """Saving of each access, in seconds: its bytes over the bandwidth, at most 90 % together."""
    savings = [b / bandwidth for b in slow_bytes]
    total = sum(savings)
    limit = MAX_MEMORY_SHARE * time_s
    scale = limit / total if total > limit > 0 else float(time_s > 0)
    return [s * scale for s in savings]
