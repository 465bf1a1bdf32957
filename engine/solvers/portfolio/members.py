"""Who takes part in a portfolio, and whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import ConfigError
from engine.solvers.local.run import compile_all
from engine.solvers.registry import SOLVERS, Progress


@dataclass(frozen=True)
class Member:
    """A registered solver; `takes_start`: it can begin from the best plan so far."""

    solver: str
    takes_start: bool = False


USUAL = (Member("local", takes_start=True), Member("evolution"), Member("local", takes_start=True))
"""In turn; a search that stands beside the others is played more rarely than the strongest."""


def members_named(names: Sequence[str] | None) -> tuple[Member, ...]:
    """The usual members, or the named solvers.

    Raises ConfigError if a solver does not exist or is the portfolio itself, or none is named.
    """
    if names is None:
        return USUAL
    starting = {member.solver for member in USUAL if member.takes_start}
    for name in names:
        if name not in SOLVERS or name == "portfolio":
            raise ConfigError(f"portfolio: {name!r} cannot be a member; name {', '.join(SOLVERS)}")
    if not names:
        raise ConfigError("portfolio: name at least one member")
    return tuple(Member(name, name in starting) for name in names)


def prepare(members: Sequence[Member], progress: Progress) -> None:
    """Compile what `local` compiles at its first use ever, before any clock starts.

    What `evolution` compiles depends on the program, and is part of its first stint on it.
    """
    if any(member.solver == "local" for member in members):
        compile_all(progress)


class Turns:
    """Members in a circle; those that have nothing more to find are left out."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = list(members)
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether nobody is left."""
        return not self._members

    def take(self) -> Member:
        """The member whose turn it is."""
        member = self._members[self._next % len(self._members)]
        self._next += 1
        return member

    def leave_out(self, member: Member) -> None:
        """All turns of the solver end."""
        self._members = [some for some in self._members if some != member]
