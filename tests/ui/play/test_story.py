"""What is at stake at a move, and why it may be surprisingly much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.game.move_list import moves
from engine.program.model import Program, Region
from tests.plan.cases import Buffer, program_of
from ui.model.play.decision import MUCH, story


def saving(factor: float, loop: bool = False) -> Program:
    """A read of 256 bytes, which move in 256 s, that saves so many times as long; and a big one."""
    regions = [Region("loop", 1, 3, 10.0)] if loop else []
    buffers = [Buffer(256, "r2", is_input=True), Buffer(1024, "r4", is_input=True)]
    program = program_of(buffers, 6, regions)
    first, *rest = program.accesses
    return replace(program, accesses=(replace(first, saving_s=first.saving_s * factor), *rest))


def stake(program: Program) -> str:
    return story(program, moves(program)[0]).stake.replace("\xa0", " ")


@pytest.mark.parametrize("loop", [False, True])
def test_a_saving_beyond_its_bytes_says_why(loop: bool) -> None:
    told = stake(saving(MUCH * 1.01, loop))
    bytes_ = "2.50 KiB" if loop else "256 B"
    assert f"That is much for {bytes_}" in told and "reads them more than once" in told
    assert "That is much" not in stake(saving(MUCH * 0.99, loop))


def test_what_hardly_counts_explains_nothing() -> None:
    program = saving(MUCH * 1.01)
    *others, last = program.accesses
    huge = replace(program, accesses=(*others, replace(last, saving_s=1e7)))
    assert "That is much" not in stake(huge)
