"""`compiled` marks the functions of the inner loop (`engine.solvers.local.machine` compiles them).

A marked function stays what it is: called as it stands, it is interpreted. That is slower by a
factor of a hundred, but it is there at once, and it is the readable reference of the compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
Code = Callable[[Any], Any]
"""From a marked function to the one to call in its place."""

MARKED: list[FunctionType] = []
"""Every marked function of the modules that are imported."""


def compiled(function: Function) -> Function:
    """Mark a function as one of the inner loop, which may call others that are marked."""
    MARKED.append(cast(FunctionType, function))
    return function


def interpreted(function: Any) -> Any:
    """The code that is interpreted: each function itself."""
    return function
