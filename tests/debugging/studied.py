"""One game with its study and its findings, made once for the tests that only look at them."""

from __future__ import annotations

from functools import cache

from engine.agent.trace_io import SearchTrace
from engine.debugging.findings import Finding, findings
from engine.debugging.regret import RegretStudy, study_of
from engine.game.moves import Rules
from engine.program.library import load_sample
from engine.program.model import Program
from tests.ui.search_traces import made_up_trace

GAME = "a game"


@cache
def program() -> Program:
    """What is played."""
    return load_sample("alexnet-v4-b24")


@cache
def trace() -> SearchTrace:
    """Its game."""
    return made_up_trace(program())


@cache
def study() -> RegretStudy:
    """What each move of it cost."""
    return studied(program(), trace())


@cache
def found() -> list[Finding]:
    """What it tells, a finding for each move."""
    return findings(GAME, trace(), study())


def studied(program: Program, trace: SearchTrace) -> RegretStudy:
    """A study that has measured every move."""
    made = study_of(trace, program, Rules())
    list(made.run())
    return made
