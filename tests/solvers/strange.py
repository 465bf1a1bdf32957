"""Solvers for tests that run in a process of their own: each does something that it should not."""

from __future__ import annotations

import os
import signal
import time

from engine.errors import CheckpointError
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.solvers.clock import Clock


def never_begins(program: Program, budget: Budget) -> Plan:
    """Compiles for ever."""
    with Clock(budget).stopped("compiling"):
        time.sleep(3600)
    raise AssertionError


def never_ends(program: Program, budget: Budget) -> Plan:
    """Works for ever, and hears nothing."""
    Clock(budget).tells("at work")
    time.sleep(3600)
    raise AssertionError


def falls_silent(program: Program, budget: Budget) -> Plan:
    """Works for a minute, and says nothing but its first word."""
    Clock(budget).tells("at work")
    time.sleep(60)
    return solve("all_slow", program)


def pauses(program: Program, budget: Budget) -> Plan:
    """Works, compiles a little, and has a plan."""
    clock = Clock(budget)
    clock.tells("at work")
    with clock.stopped("compiling"):
        time.sleep(0.5)
    return solve("all_slow", program)


def offers(program: Program, budget: Budget) -> Plan:
    """Offers what it has, and compiles for ever."""
    clock = Clock(budget)
    clock.tells("at work")
    budget.offer(solve("all_slow", program))
    with clock.stopped("compiling"):
        time.sleep(3600)
    raise AssertionError


def dies(program: Program, budget: Budget) -> Plan:
    """As if memory had run out."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def refuses(program: Program, budget: Budget) -> Plan:
    """An error of ours."""
    raise CheckpointError("there is none")


def fails(program: Program, budget: Budget) -> Plan:
    """An error of nobody's."""
    raise ZeroDivisionError("odd\nthing")


def works(program: Program, budget: Budget) -> Plan:
    """Reports until it is told to end, or its time is over; gives the plan that it was given."""
    clock = Clock(budget)
    with clock.stopped("compiling"):
        pass
    steps = 0
    while clock.goes_on(f"step {steps}"):
        steps += 1
    start = budget.options.get("start") or solve("all_slow", program)
    assert isinstance(start, Plan)
    notes = {"steps": steps, "seed": budget.seed, "path": budget.options.get("path")}
    return Plan(start.program_hash, "", start.is_fast, start.stays, start.copies, notes)
