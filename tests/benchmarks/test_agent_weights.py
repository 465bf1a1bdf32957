"""What `benchmarks.agent_weights` calls unseen was not trained on."""

from __future__ import annotations

from benchmarks.agent_weights import HELD_OUT, OTHER_HARDWARE, programs
from engine.agent.checkpoint import load_checkpoint
from engine.program.io import content_hash
from engine.solvers.generalist import is_held_out
from engine.solvers.practice import GENERALIST


def test_the_shipped_weights_saw_none_of_the_programs() -> None:
    trained = set(load_checkpoint(GENERALIST).training["programs"].values())
    found = list(programs())
    assert {kind for kind, _ in found} == {OTHER_HARDWARE, HELD_OUT}
    for kind, program in found:
        assert content_hash(program) not in trained
        assert is_held_out(program.name) == (kind == HELD_OUT)
