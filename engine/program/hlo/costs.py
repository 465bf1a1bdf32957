"""First costs of imported instructions: the compiler's cycles where stated, else a roofline.

One dump knows each instruction's cost at one placement only. How much of it each access would save
is then a prior, proportional to bytes; `engine.compiler.costs.calibrate` replaces it where dumps at
several placements are at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from engine.program.hlo.alias import CALLERS, in_place_results
from engine.program.hlo.module import Scope, backend_config
from engine.program.hlo.shape import is_array, leaves, num_elements, size_bytes

MAX_MEMORY_SHARE = 0.9
"""No instruction is believed to save more than this share of its all-slow time."""

MAX_WINDOW = 1 << 16
"""Windows longer than this count whole; none is in a real program."""

_SLICERS = {"slice", "dynamic-slice", "gather"}
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "broadcast"}
_ALLOCATIONS = {"AllocateBuffer", "CreateBuffer"}

_FACTORISATIONS: Mapping[str, Callable[[int, int], float]] = {
    "Cholesky": lambda m, n: n**3 / 3,
    "LuDecompositionBlock": lambda m, n: min(m, n) ** 2 * (max(m, n) - min(m, n) / 3),
    "QrDecompositionBlock": lambda m, n: 2 * min(m, n) ** 2 * (max(m, n) - min(m, n) / 3),
    "CompactWyHelper": lambda m, n: n**3 / 3,
    "InvertDiagBlocksLowerTriangular": lambda m, n: n**3 / 3,
    # The first of four blocks.
    "EighTpu": lambda m, n: 9 * (2 * n) ** 3,
}
"""Operations of the TPU's own factorisations of one `[m, n]` matrix (Golub and Van Loan, Matrix
Computations, 4th ed.: 4.2, 3.2, 5.2, 8.3; of wide ones LAPACK Working Note 41, DGETRF and DGEQRF,
whose counts are the same with m and n exchanged); what they do beyond that, or in turn, is not
counted."""


class Work:
    """Bytes and operations of instructions, fusions looked into; remembers every fusion."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._drawn = cache(self._drawn_of_parameter)
        self._operations = cache(self._operations_of_computation)

    def read_bytes(self, computation: int, ins: Any, operand: int, full: int) -> int:
        """Bytes that `ins` (of `computation`) draws of an operand of `full` bytes.

        What only slices its operand, or only updates a part of it, does not read it all.
        """
        drawn = self._drawn_of_operand(computation, ins, operand)
        return full if drawn is None else min(full, drawn)

    def written_bytes(self, ins: Any, full: int, updated: int | None) -> int:
        """Bytes that `ins` writes of a result of `full` bytes; `updated` if it does so in place."""
        if ins.opcode == "custom-call" and ins.custom_call_target in _ALLOCATIONS:
            return 0
        return full if updated is None else min(full, updated)

    def flops(self, computation: int, ins: Any) -> float:
        """Floating-point operations of one execution: products of dots, else one per element."""
        return sum(self.operations(computation, ins))

    def operations(self, computation: int, ins: Any) -> tuple[float, float]:
        """Operations of one execution: of matrix products, and all others.

        A sort is a network of Batcher's (1968): a row of `n` elements passes `k (k + 1) / 2` stages
        of compare-exchanges, where `k = log2 n`.
        """
        if ins.opcode in CALLERS:
            operations: tuple[float, float] = self._operations(ins.called_computation_ids[0])
            return operations
        results = [num_elements(leaf) for _, leaf in leaves(ins.shape)]
        if ins.opcode == "custom-call" and ins.custom_call_target in _FACTORISATIONS:
            shape = self.scope.operand(computation, ins, 0).shape.dimensions
            return 0.0, _FACTORISATIONS[ins.custom_call_target](*map(int, shape[-2:])) * math.prod(
                shape[:-2]
            )
        if ins.opcode in ("dot", "ragged-dot", "convolution", "custom-call"):
            contracted = self._contracted(computation, ins)
            if contracted is None:
                # Of the first result; not of one that it updates, nobody knows how much of it.
                first = next((index for index, _ in leaves(ins.shape)), None)
                updated = (tuple(a.output_shape_index) for a in ins.output_operand_aliasing)
                return 0.0, 0.0 if first is None or first in updated else float(results[0])
            return (2.0 * results[0] * contracted, 0.0) if results else (0.0, 0.0)
        if ins.opcode == "sort":
            levels = math.ceil(math.log2(max(2, self._row_length(computation, ins))))
            return 0.0, sum(results) * levels * (levels + 1) / 2
        if ins.opcode == "reduce":
            return 0.0, float(num_elements(self.scope.operand(computation, ins, 0).shape))
        return 0.0, 0.0 if ins.opcode in _FREE else float(sum(results))

    def _operations_of_computation(self, computation: int) -> tuple[float, float]:
        instructions = self.scope.by_id[computation].values()
        pairs = [self.operations(computation, i) for i in instructions]
        return math.fsum(p for p, _ in pairs), math.fsum(o for _, o in pairs)

    def _row_length(self, computation: int, ins: Any) -> int:
        """How many elements a sort puts in order at a time."""
        shape = self.scope.operand(computation, ins, 0).shape.dimensions
        along = list(ins.dimensions)
        return int(shape[along[0]]) if along and along[0] < len(shape) else 1

    def _contracted(self, computation: int, ins: Any) -> float | None:
        """Products per element of the result of a dot, a convolution, or a library call of one.

        None for another call.
        """
        if ins.HasField("convolution_dimension_numbers"):
            image, kernel = (self.scope.operand(computation, ins, n).shape for n in (0, 1))
            return _products_of_convolution(ins, image, kernel)
        dimensions: Sequence[Any] = ins.dot_dimension_numbers.lhs_contracting_dimensions
        if ins.opcode == "ragged-dot":
            numbers = ins.ragged_dot_dimension_numbers.dot_dimension_numbers
            dimensions = numbers.lhs_contracting_dimensions
        if ins.opcode == "custom-call":
            dimensions = _library_dot(ins)
            if not dimensions:
                return None
        left = self.scope.operand(computation, ins, 0).shape.dimensions
        return float(math.prod(left[int(d)] for d in dimensions))

    def _drawn_of_operand(self, computation: int, ins: Any, operand: int) -> int | None:
        """Bytes drawn of one operand; None for all of it."""
        if ins.opcode in _SLICERS and operand == 0:
            return size_bytes(ins.shape) if is_array(ins.shape) else None
        is_updated = any(
            u.operand == operand for u in in_place_results(self.scope, computation, ins)
        )
        if ins.opcode not in CALLERS:
            return 0 if is_updated else None
        drawn: int | None = self._drawn(ins.called_computation_ids[0], operand, is_updated)
        return drawn

    def _drawn_of_parameter(self, computation: int, number: int, is_updated: bool) -> int | None:
        """Bytes that a fused computation draws of one parameter, through any bitcasts.

        `is_updated`: the fusion updates it in place. Otherwise an update inside copies it all.
        """
        users = self.scope.users(computation)
        root = self.scope.computations[computation].root_id
        pending = [self.scope.parameters(computation)[number].id]
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


def _products_of_convolution(ins: Any, image: Any, kernel: Any) -> float:
    """Products per element of the result, on average.

    The kernel's input features (those of one group), and per spatial dimension the positions of the
    window on elements of the image: not on padding, nor between the elements of a dilated image.
    XLA writes the batch dimensions of a product as spatial ones with a window as long as the batch,
    of which each element of the result meets one position. (XLA's `HandleConvolution`.)
    """
    numbers = ins.convolution_dimension_numbers
    products = float(kernel.dimensions[numbers.kernel_input_feature_dimension])
    for spatial, window in enumerate(ins.window.dimensions):
        image_size = int(image.dimensions[numbers.input_spatial_dimensions[spatial]])
        outputs = max(1, int(_first_array(ins.shape)[numbers.output_spatial_dimensions[spatial]]))
        products *= _met_positions(window, image_size, outputs) / outputs
    return products


def _first_array(shape: Any) -> Sequence[Any]:
    """Dimensions of the first array of a shape."""
    dimensions: Sequence[Any] = next(iter(leaves(shape)))[1].dimensions
    return dimensions


def _met_positions(window: Any, image_size: int, outputs: int) -> int:
    """How often a window position lies on an element of the image, over all outputs of a dimension.

    Output `o` and window position `k` meet element `(o * stride + k * dilation - padding) / base`,
    where that is whole and inside: one residue of `o` in every `base / gcd(stride, base)`.
    """
    stride, base = max(1, int(window.stride)), max(1, int(window.base_dilation))
    size, last = int(window.size), (image_size - 1) * base
    if size > MAX_WINDOW:
        return size * outputs
    shared = math.gcd(stride, base)
    period = base // shared
    inverse = pow(stride // shared, -1, period)
    met = 0
    for k in range(size):
        shift = int(window.padding_low) - k * max(1, int(window.window_dilation))
        low, high = max(0, -(-shift // stride)), min(outputs - 1, (shift + last) // stride)
        if shift % shared == 0 and low <= high:
            first = low + (shift // shared * inverse - low) % period
            met += max(0, (high - first) // period + 1)
    return met


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
