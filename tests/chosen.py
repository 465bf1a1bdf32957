"""The programs that each push looks at; `make nightly` looks at all others too.

Among them: two made by hand, one of each chip that differs most, loops and training, a plan that
the board cannot express whole, one each of the held-out and of the large programs, and of the real
ones a loop of unknown length and two with collectives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

CHOSEN = (
    "teach-fragmentation",
    "teach-loop-carry",
    "alexnet-v4-b24",
    "t5-v5p-b24",
    "llamadecode-v5e-b8",
    "lstm-v5e-b64-train",
    "mlpae-v6e-b4096-train",
    "gpt2-v5e-b4-train",
    "fsdp-v5e-b16384-train",
    "conjugate-v4-b512",
    "ringattention-v5p-b4",
)


def chosen(names: Iterable[str]) -> Sequence[object]:
    """Parameters of a test: all of these programs, those that are not chosen nightly."""
    return [
        pytest.param(name, marks=() if name in CHOSEN else pytest.mark.nightly) for name in names
    ]


def seeds(count: int, pushed: int) -> Sequence[object]:
    """Seeds of a test: the first at each push, all nightly."""
    return [
        pytest.param(seed, marks=() if seed < pushed else pytest.mark.nightly)
        for seed in range(count)
    ]
