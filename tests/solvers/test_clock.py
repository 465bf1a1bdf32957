"""The clock of a solver runs while it works, and stands while it gets ready."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.solvers import clock as module
from engine.solvers.clock import Clock
from engine.solvers.registry import NOT_COUNTED, Budget


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only passes where a test says so."""
    time = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: time[0]))
    return time


def test_what_is_announced_is_not_counted(now: list[float]) -> None:
    told: list[tuple[float, str]] = []
    clock = Clock(Budget(10.0, progress=lambda share, word: told.append((share, word)) or True))
    now[0] += 2
    with clock.stopped("compiling"):
        now[0] += 500
    assert clock.goes_on("at work")
    now[0] += 8
    assert not clock.goes_on("at the end")
    assert told == [(0.2, f"compiling … {NOT_COUNTED}"), (0.2, "at work"), (1.0, "at the end")]


def test_who_is_not_wanted_is_not_asked_again(now: list[float]) -> None:
    asked: list[str] = []
    clock = Clock(Budget(10.0, progress=lambda share, word: asked.append(word) is not None))
    with clock.stopped("compiling"):
        now[0] += 1
    assert not clock.is_wanted and not clock.goes_on("at work") and not clock.tells("at work")
    assert len(asked) == 1


def test_what_would_end_too_late_is_not_begun(now: list[float]) -> None:
    clock = Clock(Budget(100.0))
    now[0] += 99
    assert clock.has_time_for(6.4, "a step")
    assert not clock.has_time_for(6.6, "a step")
    now[0] += 1
    assert not clock.has_time_for(0.0, "a step")


def test_without_time_nothing_goes_on() -> None:
    assert Clock(Budget(0.0)).share == 1.0
    assert not Clock(Budget(0.0)).goes_on("at work")
