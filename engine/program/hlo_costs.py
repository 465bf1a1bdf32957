"""First costs of imported instructions: the compiler's cycles where stated, else a roofline.

One dump knows each instruction's cost at one placement only. How much of it each access would save
is then a prior, proportional to bytes; `engine.compiler.calibrate` replaces it where dumps at
several placements are at hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from engine.program.hlo_config import backend_config
from engine.program.hlo_inplace import in_place_results
from engine.program.hlo_scope import Scope
from engine.program.hlo_shape import is_array, leaves, num_elements, size_bytes

MAX_MEMORY_SHARE = 0.9
"""No instruction is believed to save more than this share of its all-slow time."""

_SLICERS = {"slice", "dynamic-slice", "gather"}
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "broadcast"}
_ALLOCATIONS = {"AllocateBuffer", "CreateBuffer"}


class Work:
    """Bytes and operations of instructions, fusions looked into; remembers every fusion."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._drawn = cache(self._drawn_of_parameter)
        self._flops = cache(self._flops_of_computation)

    def read_bytes(self, home: int, ins: Any, operand: int, full: int) -> int:
        """Bytes that `ins` (of computation `home`) draws of an operand of `full` bytes.

        What only slices its operand, or only updates a part of it, does not read it all.
        """
        drawn = self._drawn_of_operand(home, ins, operand)
        return full if drawn is None else min(full, drawn)

    def written_bytes(self, ins: Any, full: int, updated: int | None) -> int:
        """Bytes that `ins` writes of a result of `full` bytes; `updated` if it does so in place."""
        if ins.opcode == "custom-call" and ins.custom_call_target in _ALLOCATIONS:
            return 0
        return full if updated is None else min(full, updated)

    def flops(self, home: int, ins: Any) -> float:
        """Floating-point operations of one execution: products of dots, else one per element."""
        if ins.opcode == "fusion":
            return float(self._flops(ins.called_computation_ids[0]))
        results = [num_elements(leaf) for _, leaf in leaves(ins.shape)]
        if ins.opcode in ("dot", "convolution", "custom-call"):
            return 2.0 * results[0] * self._contracted(home, ins) if results else 0.0
        if ins.opcode == "reduce":
            return float(num_elements(self._scope.operand(home, ins, 0).shape))
        return 0.0 if ins.opcode in _FREE else float(sum(results))

    def _flops_of_computation(self, computation: int) -> float:
        instructions = self._scope.by_id[computation].values()
        return math.fsum(self.flops(computation, i) for i in instructions)

    def _contracted(self, home: int, ins: Any) -> float:
        """Products per element of the result of a dot, a convolution, or a library call of one."""
        if ins.HasField("convolution_dimension_numbers"):
            kernel = self._scope.operand(home, ins, 1).shape
            features = ins.convolution_dimension_numbers.kernel_output_feature_dimension
            return num_elements(kernel) / max(1, int(kernel.dimensions[features]))
        dimensions: Sequence[Any] = ins.dot_dimension_numbers.lhs_contracting_dimensions
        if ins.opcode == "custom-call":
            dimensions = _library_dot(ins)
            if not dimensions:
                return 0.5
        left = self._scope.operand(home, ins, 0).shape.dimensions
        return float(math.prod(left[int(d)] for d in dimensions))

    def _drawn_of_operand(self, home: int, ins: Any, operand: int) -> int | None:
        """Bytes drawn of one operand; None for all of it."""
        if ins.opcode in _SLICERS and operand == 0:
            return size_bytes(ins.shape) if is_array(ins.shape) else None
        is_updated = any(u.operand == operand for u in in_place_results(self._scope, home, ins))
        if ins.opcode != "fusion":
            return 0 if is_updated else None
        drawn: int | None = self._drawn(ins.called_computation_ids[0], operand, is_updated)
        return drawn

    def _drawn_of_parameter(self, computation: int, number: int, is_updated: bool) -> int | None:
        """Bytes that a fused computation draws of one parameter, through any bitcasts.

        `is_updated`: the fusion updates it in place. Otherwise an update inside copies it all.
        """
        users = self._scope.users(computation)
        root = self._scope.computations[computation].root_id
        pending = [self._scope.parameters(computation)[number].id]
        drawn = 0
        for instruction in pending:
            if instruction == root:
                return None
            for user, operand in users.get(instruction, []):
                if user.opcode == "bitcast":
                    pending.append(user.id)
                    continue
                part = self._drawn_of_operand(computation, user, operand)
                if part is None or (part == 0 and not is_updated):
                    return None
                drawn += part
        return drawn


def _library_dot(ins: Any) -> Sequence[Any]:
    """Contracted dimensions of a call into a library of matrix products, if it says so."""
    for part in backend_config(ins).values():
        numbers = part.get("dot_dimension_numbers") if isinstance(part, dict) else None
        if isinstance(numbers, dict):
            dimensions = numbers.get("lhs_contracting_dimensions")
            return dimensions if isinstance(dimensions, list) else ()
    return ()


def prior_savings(time_s: float, slow_bytes: Sequence[int], bandwidth: float) -> list[float]:
    """Saving of each access, in seconds: its bytes over the bandwidth, at most 90 % together."""
    savings = [b / bandwidth for b in slow_bytes]
    total = sum(savings)
    limit = MAX_MEMORY_SHARE * time_s
    scale = limit / total if total > limit > 0 else float(time_s > 0)
    return [s * scale for s in savings]
