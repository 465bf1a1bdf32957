"""What the real compiler has said of a program in this session, and what of it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ui.jobs.run import Job


@dataclass(frozen=True)
class CompiledPlan:
    """A whole compile that a visitor ordered, beside the compiler's default.

    `name`: of the plan that came of it, among those of the program. `asked`: identity of the plan
    that was asked for; empty for a search. `verdict`, `instructions`:
    `engine.compiler.steering.verify` and `engine.compiler.steering.instruction_cycles` as JSON.
    `random_improvement`: what random options gain, the best of `random_compiles` whole compiles,
    where that was measured.
    """

    name: str
    asked: str
    verdict: Mapping[str, Any]
    instructions: Sequence[Mapping[str, Any]]
    random_improvement: float | None = None
    random_compiles: int = 0

    @property
    def improvement(self) -> float:
        """Share of the default's total that it does without: stalls and prices included."""
        return float(self.verdict["improvement"])

    @property
    def gain(self) -> float:
        """Share of the default's cycles that it does without; without stalls, as `KeptCompile`."""
        return 1.0 - float(self.verdict["ours_cycles"]) / float(self.verdict["default_cycles"])


@dataclass
class CompilerState:
    """The compiles of this session by name; `shown`: the one whose details are open.

    `edition`: grows with each that comes.
    """

    compiled: dict[str, CompiledPlan] = field(default_factory=dict)
    shown: str = ""
    edition: int = 0

    def is_worse(self, job: Job) -> bool:
        """Whether a finished job gains less than the compile that has its name."""
        known = self.compiled.get(job.solver)
        return known is not None and known.improvement > job.result["verdict"]["improvement"]

    def take(self, job: Job, name: str) -> None:
        """Add the compile of a finished job under a name, and show it."""
        result = job.result
        self.compiled[name] = CompiledPlan(
            name=name,
            asked=result["asked"],
            verdict=result["verdict"],
            instructions=result["instructions"],
            random_improvement=result.get("random_improvement"),
            random_compiles=result.get("random_compiles", 0),
        )
        self.shown = name
        self.edition += 1
