"""Handles: facts and state as compiled code takes them, one pointer each.

Passed as the tuples that they are, their eighty arrays make every call in compiled code a call
with hundreds of arguments, and compiling takes ten times as long. A handle has the same fields and
shares the arrays, so compiled and interpreted code read alike. Whole numbers in it are fixed.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.experimental import structref

from engine.solvers.local.compiled import IS_INTERPRETED, compiled
from engine.solvers.local.facts import Facts
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


def hold_facts(facts: Facts) -> Facts:
    """What compiled functions take for `facts`; `facts` itself where they are interpreted."""
    return facts if IS_INTERPRETED else _hold_facts(*facts)


def hold_state(state: State) -> State:
    """What compiled functions take for `state`; `state` itself where they are interpreted."""
    return state if IS_INTERPRETED else _hold_state(*state)


@compiled
def _hold_facts(*fields: Any) -> Any:
    return FactsHandle(*fields)


@compiled
def _hold_state(*fields: Any) -> Any:
    return StateHandle(*fields)
