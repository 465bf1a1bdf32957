"""Look-ups in a decoded HLO module: instructions by id, roots, operands, users."""

from __future__ import annotations

from functools import cache
from typing import Any


class Scope:
    """The instructions of the module by computation and id.

    `in_place`: what is known of each fused computation (`engine.program.hlo_inplace`).
    """

    def __init__(self, module: Any) -> None:
        self.computations = {c.id: c for c in module.computations}
        self.by_id = {c.id: {i.id: i for i in c.instructions} for c in module.computations}
        self.in_place: dict[int, Any] = {}
        self.users = cache(self._users)
        self.parameters = cache(self._parameters)

    def root(self, computation: int) -> Any:
        """Root instruction of a computation."""
        return self.by_id[computation][self.computations[computation].root_id]

    def operand(self, computation: int, instruction: Any, number: int) -> Any:
        """One operand of an instruction."""
        return self.by_id[computation][instruction.operand_ids[number]]

    def _parameters(self, computation: int) -> dict[int, Any]:
        """The parameter instructions by their number."""
        return {
            i.parameter_number: i
            for i in self.by_id[computation].values()
            if i.opcode == "parameter"
        }

    def _users(self, computation: int) -> dict[int, list[tuple[Any, int]]]:
        """Per instruction id, the instructions that read it and at which operand."""
        users: dict[int, list[tuple[Any, int]]] = {}
        for instruction in self.by_id[computation].values():
            for number, operand in enumerate(instruction.operand_ids):
                users.setdefault(operand, []).append((instruction, number))
        return users
