"""Solvers of other installed packages: the entry points of the group `mallocmuzero.solvers`.

A package names, in its `pyproject.toml`, functions from a `Program` and a `Budget` to a `Plan`:

    [project.entry-points."mallocmuzero.solvers"]
    largest_first = "my_package:largest_first"

They are imported when they first run, so that a broken one is in nobody's way; whatever goes wrong
in them is a BrokenSolverError of one line. `docs/solvers.md` says what a solver must keep to.
"""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from engine.errors import BrokenSolverError, EngineError
from engine.files import json_text
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import SOLVERS, Budget, Solver, add

GROUP = "mallocmuzero.solvers"
MAX_REASON = 300
"""Characters of an error that are passed on."""


def register_plugins() -> None:
    """Make the solvers of other packages known.

    By the names of their entry points; where another solver has that name, as `PACKAGE:NAME`.
    """
    plugins = [_Plugin(point) for point in entry_points(group=GROUP)]
    for plugin in sorted(plugins, key=lambda plugin: (plugin.own_name, plugin.package)):
        name = plugin.own_name
        if name in SOLVERS:
            name = f"{plugin.package}:{name}"
        if name not in SOLVERS:  # one package may name one solver twice
            about = f"of the package {plugin.package}"
            package = plugin.package
            add(Solver(name, about, plugin, uses_time=True, package=package, options=None))


@dataclass(frozen=True)
class _Plugin:
    """A solver that is imported when it runs."""

    point: EntryPoint

    @property
    def own_name(self) -> str:
        """The entry point's name, without what cannot be typed after `--solvers`."""
        return re.sub(r"[^\w.-]", "_", self.point.name)

    @property
    def package(self) -> str:
        """The package that it is of."""
        return self.point.dist.name if self.point.dist else "unknown"

    def __call__(self, program: Program, budget: Budget) -> Plan:
        """Run it; what it prints goes to stderr, since stdout is for results alone.

        What listens to its progress still writes to stdout.

        Raises BrokenSolverError, or what error of ours it raises, named as its own.
        """
        stdout = sys.stdout

        def progress(share: float, message: str) -> bool:
            with redirect_stdout(stdout):
                return budget.progress(share, message)

        with redirect_stdout(sys.stderr):
            plan = self._run(program, replace(budget, progress=progress))
        if not isinstance(plan, Plan):
            kind = type(plan).__name__
            raise BrokenSolverError(
                f"{self.own_name} of {self.package} returned a {kind}, not a Plan"
            )
        try:
            # Plain whole numbers and flags, or whoever reads the plan would trip over them.
            plain = plan_from_json(plan_to_json(plan), f"the plan of {self.own_name}")
            json_text(dict(plain.notes), "its notes")
        except (EngineError, TypeError, ValueError, AttributeError) as error:
            raise BrokenSolverError(self._failed("returned a malformed plan", error)) from error
        return plain

    def _run(self, program: Program, budget: Budget) -> object:
        """What it returns. Interrupts pass; whatever else it raises is an error of ours."""
        try:
            solver: Any = self.point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise BrokenSolverError(self._failed("cannot be loaded", error)) from error
        try:
            return solver(program, budget)
        except KeyboardInterrupt:
            raise
        except EngineError as error:
            error.args = (f"{self.own_name} of {self.package}: {error}", *error.args[1:])
            raise
        except BaseException as error:
            raise BrokenSolverError(self._failed("failed", error)) from error

    def _failed(self, what: str, error: BaseException) -> str:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_REASON]
        return f"{self.own_name} of {self.package} {what} ({reason})"
