"""What compiled code takes for the facts and the state: one reference each, not forty arrays."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.experimental import structref

from engine.solvers.local.arrays import Facts
from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import State


class FactsHandle(structref.StructRefProxy):
    """A handle of `Facts`."""


class StateHandle(structref.StructRefProxy):
    """A handle of `State`."""


@structref.register
class _FactsType(types.StructRef):  # type: ignore[name-defined]
    """The type of `FactsHandle` in compiled code."""


@structref.register
class _StateType(types.StructRef):  # type: ignore[name-defined]
    """The type of `StateHandle` in compiled code."""


structref.define_proxy(FactsHandle, _FactsType, Facts._fields)
structref.define_proxy(StateHandle, _StateType, State._fields)


@compiled
def hold_facts(*fields: Any) -> Any:
    """The handle of facts with these fields."""
    return FactsHandle(*fields)


@compiled
def hold_state(*fields: Any) -> Any:
    """The handle of a state with these fields."""
    return StateHandle(*fields)
