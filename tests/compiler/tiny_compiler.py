"""A compiler of one small program, in place of the real one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.compiler.steering.export import INEFFICIENT_RATIO, SORT_ORDER
from engine.compiler.toolchain.compile import Compiled
from engine.errors import CompilerError
from tests.program.hlo.modules import module

PARAMETERS = ("a", "b")
NAMES = (*PARAMETERS, "y", "z")
SHAPE = "f32[64,128]{1,0}"

SLOW = {"y": 100_000, "z": 120_000}
SAVINGS: Mapping[str, Sequence[int]] = {
    "y": (10_000, 0, 30_000),
    "z": (0, 50_000, 0),
}
"""Cycles of each instruction, and what its operands and its result save of them."""


def hlo(fast: Sequence[str], has_cycles: bool = True) -> str:
    """`y` reads a and b, `z` reads y and b; these values are fast."""

    def shape(name: str) -> str:
        return SHAPE.replace("}", ":S(1)}") if name in fast else SHAPE

    def call(name: str, operands: Sequence[str]) -> str:
        parts = zip((*operands, name), SAVINGS[name], strict=True)
        cycles = SLOW[name] - sum(saving for part, saving in parts if part in fast)
        config = f'{{"window_config":{{"estimated_cycles":"{cycles}"}}}}' if has_cycles else "{}"
        return (
            f"  {name} = {shape(name)} custom-call({', '.join(operands)}),"
            f' custom_call_target="x", backend_config={config}\n'
        )

    return module(
        f"  a = {shape('a')} parameter(0)\n  b = {shape('b')} parameter(1)\n"
        + call("y", ("a", "b"))
        + call("z", ("y", "b"))
        + f"  ROOT r = ({shape('y')}, {shape('z')}) tuple(y, z)"
    )


@dataclass
class TinyCompiler:
    """Places values in the order of the rules, then by name, until there is no room left.

    Where copies have to save much, it copies no parameter in. `whole_s`, `early_s`: how long
    compiles are known to take, if that is known.
    """

    whole: list[Mapping[str, str]] = field(default_factory=list)
    room: int = 2
    refuses: str = "nothing"
    refuses_all: bool = False
    whole_s: float | None = None
    early_s: float | None = None

    def placed(self, options: Mapping[str, str]) -> list[str]:
        if "xla_msa_enable" in options:
            return []
        rules = re.findall(r'name_regex: "(\w+)".*?(assign_\w+)', options.get(SORT_ORDER, ""))
        last = [name for name, how in rules if how == "assign_last"]
        first = [name for name, how in rules if how != "assign_last"]
        rest = [name for name in NAMES if name not in first + last]
        placed = (first + rest + last)[: self.room]
        is_choosy = options.get(INEFFICIENT_RATIO) == "2"
        return [name for name in placed if not (is_choosy and name in PARAMETERS)]

    def early(self, options: Mapping[str, str]) -> Compiled:
        return Compiled(hlo(self.placed(options), False), "", is_full=False)

    def full(self, options: Mapping[str, str]) -> Compiled:
        if options not in self.whole:
            self.whole.append(options)
        if (self.refuses_all and options) or sorted(self.placed(options)) == sorted(self.refuses):
            raise CompilerError("it aborted")
        return Compiled(hlo(self.placed(options)), "")

    def expected_s(self, is_full: bool) -> float | None:
        return self.whole_s if is_full else self.early_s

    def has_full(self, options: Mapping[str, str]) -> bool:
        return options in self.whole
