"""Which findings are listed, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.debugging.findings import Finding, inbox
from engine.debugging.verdict import CLASSES

REGRET = "regret"
_BY_REGRET: Callable[[Finding], float] = lambda f: f.regret_us or 0.0  # noqa: E731
SORTS: Mapping[str, Callable[[Finding], float]] = MappingProxyType(
    {
        REGRET: _BY_REGRET,
        "surprise": lambda f: f.surprise,
        "wrong prior": lambda f: f.wrong_prior or 0.0,
        "value jump": lambda f: abs(f.value_jump_us),
        "model drift": lambda f: f.drift_us,
        "illegal imagination": lambda f: f.illegal,
        "size": lambda f: float(f.size_bytes),
        "memory pressure": lambda f: f.pressure,
        "move": lambda f: -float(f.move),
    }
)
"""What the inbox can be sorted by, the largest first; moves in their order."""
UNCLASSED = "no class"


@dataclass(frozen=True)
class Filter:
    """What the inbox lists; an empty choice lets all through.

    `least_bytes`, `least_pressure`: lower limits.
    """

    sort: str = REGRET
    classes: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    punished: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    least_bytes: int = 0
    least_pressure: float = 0.0

    def rows(self, findings: Iterable[Finding]) -> list[Finding]:
        """The rows of the inbox that pass, sorted; equals keep the order of the inbox."""
        return sorted(filter(self._passes, inbox(findings)), key=lambda f: -SORTS[self.sort](f))

    @property
    def is_narrow(self) -> bool:
        """Whether it may hold anything back."""
        return self != Filter(sort=self.sort)

    def _passes(self, finding: Finding) -> bool:
        choices = (
            (self.classes, finding.verdict or UNCLASSED),
            (self.actions, finding.action),
            (self.kinds, finding.kind),
            (self.phases, finding.phase),
            (self.punished, finding.punished),
        )
        return (
            all(not wanted or value in wanted for wanted, value in choices)
            and (not self.signs or not set(self.signs).isdisjoint(finding.signs))
            and finding.size_bytes >= self.least_bytes
            and finding.pressure >= self.least_pressure
        )


def counts_text(findings: Iterable[Finding]) -> str:
    """How many findings each class has, as `2 ?? · 5 ? · 9 ?!`."""
    names = [finding.verdict for finding in findings]
    return " · ".join(f"{names.count(name)} {name}" for name in CLASSES)
