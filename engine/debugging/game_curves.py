"""What an agent expected of its game while it played, as seconds saved in the whole game.

Seconds count what is saved against slow memory for everything, at the end of the game: what was
saved so far plus what is still to come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.agent.trace_io import SearchTrace

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Seconds, `[L + 1]` each; the last entries are those of the finished game.

    `so_far`: saved before each move. `search`, `raw`: what the search and the bare networks then
    expect of the whole game. `par`: the same, if the rest went as the heuristics' average.
    """

    so_far: Floats
    search: Floats
    raw: Floats
    par: Floats

    @property
    def final(self) -> float:
        """What the game saved in the end."""
        return float(self.so_far[-1])


def curves(trace: SearchTrace) -> Curves:
    """The values of a trace as absolute saved time."""
    par, reward = trace.par.astype(np.float64), trace.reward.astype(np.float64)
    above = np.append(0.0, np.cumsum(reward))
    so_far = par[0] - par + above
    expected = so_far + par
    return Curves(
        so_far=so_far * trace.point_s,
        search=(expected + np.append(trace.value, 0.0)) * trace.point_s,
        raw=(expected + np.append(trace.raw_value, 0.0)) * trace.point_s,
        par=expected * trace.point_s,
    )
