"""A small program with sizes that look real: a residual network.

Sizes and speeds are made up, but keep the proportions of a small convolutional network on a chip
with 16 MiB of fast memory, so that not everything fits and every action of the game occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value

MIB = 2**20
HARDWARE = Hardware(
    name="small-chip", fast_bytes=16 * MIB, alignment=4096, bandwidth=8e11, clock_hz=1e9
)
STAGES = ((4.0, 0.25, 3), (2.0, 1.0, 3), (1.0, 4.0, 3))
"""Per stage: MiB of an activation, MiB of a weight, residual blocks."""

_COMPUTE_SHARE = 0.6
"""All-fast time of an instruction relative to the transfer time of what it touches."""


def residual_network() -> Program:
    """The program; the same on every call."""
    draft = _Draft()
    stream = draft.value("image", 3 * MIB, INPUT_TIME)
    stream = draft.instruction("stem", "convolution", [stream, draft.weight("stem", 0.1)], 4 * MIB)
    for stage, (activation, weight, blocks) in enumerate(STAGES):
        for block in range(blocks):
            stream = draft.block(f"stage{stage}.block{block}", stream, activation, weight)
    pooled = draft.instruction("pool", "reduce", [stream], MIB // 8)
    draft.instruction("logits", "dot", [pooled, draft.weight("logits", 2.0)], MIB // 16, True)
    return draft.program()


@dataclass
class _Draft:
    instructions: list[Instruction] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)

    def value(self, name: str, size: int, defined: int, is_live_out: bool = False) -> int:
        shape = f"bf16[{size // 2:,}]"
        self.values.append(Value(name, shape, size, defined, len(self.values), is_live_out))
        return len(self.values) - 1

    def weight(self, name: str, mib: float) -> int:
        return self.value(f"{name}.weight", int(mib * MIB), INPUT_TIME)

    def block(self, name: str, stream: int, activation: float, weight: float) -> int:
        size = int(activation * MIB)
        inner = stream
        for half in ("a", "b"):
            kernel = self.weight(f"{name}.{half}", weight)
            inner = self.instruction(f"{name}.{half}", "convolution", [inner, kernel], size)
        return self.instruction(f"{name}.add", "add", [inner, stream], size)

    def instruction(
        self, name: str, opcode: str, read: list[int], size: int, is_live_out: bool = False
    ) -> int:
        time = len(self.instructions)
        result = self.value(name, size, time, is_live_out)
        touched = [*read, result]
        seconds = [self.values[v].size_bytes / HARDWARE.bandwidth for v in touched]
        for place, value in enumerate(touched):
            is_write = value == result
            operand = 0 if is_write else place
            access = Access(
                time, value, is_write, seconds[place], self.values[value].size_bytes, operand
            )
            self.accesses.append(access)
        scratch = MIB if opcode == "convolution" else 0
        self.instructions.append(
            Instruction(
                name=name,
                opcode=opcode,
                fast_s=_COMPUTE_SHARE * sum(seconds),
                reserved_bytes=scratch,
                scratch_bytes=scratch,
                op_name=f"network/{name.replace('.', '/')}",
            )
        )
        return result

    def program(self) -> Program:
        return Program(
            name="residual",
            hardware=HARDWARE,
            instructions=tuple(self.instructions),
            values=tuple(self.values),
            accesses=tuple(self.accesses),
            regions=(),
            provenance={"source": "made up for tests"},
        )
