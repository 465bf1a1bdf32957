"""The search over options that make another program, on a made-up compiler."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.program_options import OTHER, ROWS
from benchmarks.rows import read
from engine.compiler.steering.program_options import ProgramOption, fingerprint, program_options
from engine.compiler.steering.tune import total
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.target import GENERATIONS, SCOPED_LIMIT, Target
from engine.errors import CompilerError
from engine.program.prices import priced_s
from engine.workflows import program_search as module
from engine.workflows.program_search import (
    random_program_options,
    search_program_options,
    session_under,
)
from tests.compiler.tiny_compiler import hlo
from tests.program.hlo.modules import A_BYTES

TOTALS = {"a": 950.0, "b": 990.0, "c": 1010.0, "e": 940.0}
"""What a program of 1000 cycles takes under each option; `same` leaves it alone."""


def option(name: str, kind: str) -> ProgramOption:
    return ProgramOption(kind, {name: "1"})


GIVEN = (
    option("same", "layout"),
    option("a", "fusion"),
    option("unknown", "fusion"),
    option("c", "scratch"),
    option("b", "scratch"),
    option("e", "fusion"),
)


class FakeAnswers:
    """Options place more or less of the tiny program in fast memory; another name, another one."""

    fast: Mapping[str, list[str]] = {
        "a": ["a"],
        "b": ["a", "b"],
        "c": ["a", "b", "y"],
        "e": ["b"],
    }

    def __init__(self, target: Target | None = None) -> None:
        self.target = target or Target("tpu-v5e")
        self.early: list[str] = []

    def stopped(self, options: Mapping[str, str]) -> Compiled:
        name = next(iter(options), "")
        self.early.append(name)
        if name == "unknown":
            raise CompilerError("No such compile option: 'unknown'")
        text = hlo(self.fast.get(name, []), has_cycles=False)
        return Compiled(text.replace("HloModule test", f"HloModule m{len(self.early)}"), "")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the options that were compiled whole."""
    whole: list[str] = []

    def under(answers: Any, options: Mapping[str, str]) -> Any:
        whole.extend(["+".join(options)] if options else [])
        totals = [TOTALS.get(name, 1000.0) for name in options]
        least = min(totals, default=1000.0) - 20.0 * max(0, len(totals) - 1)
        outcome = SimpleNamespace(total_cycles=least)
        return SimpleNamespace(full=lambda _: outcome)

    monkeypatch.setattr(module, "session_under", under)
    monkeypatch.setattr(module, "program_options", lambda hardware, devices: GIVEN)
    return whole


def search(answers: Any, compiles: int, deadline: float = float("inf")) -> Any:
    told: list[str] = []
    found = search_program_options(
        answers, 1000.0, compiles=compiles, deadline=deadline, note=told.append
    )
    assert told
    return found


def test_only_what_makes_another_program_is_compiled_whole_and_the_best_two_together(
    compiled: list[str],
) -> None:
    found = search(FakeAnswers(), compiles=9)
    assert sorted(compiled[:4]) == ["a", "b", "c", "e"]
    # The best is of the same kind as the second, so it goes with the best of another kind.
    assert compiled[4:] == ["e+b"]
    assert [one.total for one in found.better] == [920.0, 940.0, 950.0, 990.0]


def test_the_last_compile_is_for_the_best_two_together(compiled: list[str]) -> None:
    """Also where there are more options than compiles; without such two, for one more option."""
    found = search(FakeAnswers(), compiles=4)
    assert compiled == ["a", "c", "b", "a+b"]
    assert found.better[0].total == 930.0
    compiled.clear()
    search(FakeAnswers(), compiles=2)
    assert compiled == ["a", "c"]


def test_of_a_limit_that_pays_the_nearest_is_tried_next(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = tuple(ProgramOption("scratch", {"limit": kib}) for kib in ("24", "50", "32", "25"))
    # Every kind has its turn first, wherever its first option stands.
    given = (*limits[:2], option("c", "fusion"), *limits[2:])
    total = {"24": 950.0, "50": 1100.0, "32": 930.0, "25": 960.0}
    tried: list[str] = []

    def under(answers: Any, options: Mapping[str, str]) -> Any:
        tried.extend(options.values())
        found = min((total.get(value, 1000.0) for value in options.values()), default=1000.0)
        return SimpleNamespace(full=lambda _: SimpleNamespace(total_cycles=found))

    monkeypatch.setattr(module, "program_options", lambda hardware, devices: given)
    monkeypatch.setattr(module, "session_under", under)
    monkeypatch.setattr(module, "effective", lambda answers, options, *more: list(options))
    search(FakeAnswers(), compiles=5)
    assert tried == ["24", "1", "25", "32", "50"]


def test_the_compiles_and_the_time_hold(compiled: list[str]) -> None:
    assert len(search(FakeAnswers(), compiles=2).tried) == len(compiled) == 2
    answers = FakeAnswers()
    found = search(answers, compiles=9, deadline=0.0)
    assert found.tried == found.better == ()
    assert set(answers.early) == {""}


def test_an_option_is_held_against_the_default_at_prices_of_the_same_kind(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the default takes by its fitted costs is another figure."""
    totals = {"": 900.0, "a": 900.0, "c": 810.0}

    def under(answers: Any, options: Mapping[str, str]) -> Any:
        outcome = SimpleNamespace(total_cycles=totals["+".join(options)])
        return SimpleNamespace(full=lambda _: outcome)

    monkeypatch.setattr(module, "session_under", under)
    found = search(FakeAnswers(), compiles=2)
    assert [(one.option.title, one.total) for one in found.tried] == [
        ("c=1", 900.0),
        ("a=1", 1000.0),
    ]
    assert [one.option.title for one in found.better] == ["c=1"]
    assert {one.beside.full({}).total_cycles for one in found.tried} == {900.0}
    drawn = random_program_options(FakeAnswers(), 1000.0, 1, 3, float("inf"), lambda _: None)
    assert [one.total for one in drawn.tried] == [1000.0]


def test_options_whose_whole_compile_fails_count(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(answers: Any, options: Mapping[str, str]) -> Any:
        compiled.append("+".join(options))
        raise CompilerError("the compiler aborted")

    monkeypatch.setattr(module, "session_under", refusing)
    found = search(FakeAnswers(), compiles=2)
    assert (len(compiled), found.num_compiles, found.tried) == (2, 2, ())
    drawn = random_program_options(FakeAnswers(), 1000.0, 3, 0, float("inf"), lambda _: None)
    assert (drawn.num_compiles, drawn.tried) == (3, ())


def test_what_the_user_has_set_is_left_alone(compiled: list[str]) -> None:
    target = Target("tpu-v5e", options={"a": "2"}, init_args="--b=3")
    answers = FakeAnswers(target)
    search(answers, compiles=9)
    assert set(answers.early) == {"", "c", "e", "same", "unknown"}
    assert sorted(compiled) == ["c", "e"]


def test_what_time_ran_out_for_is_told(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of looking at the options, of compiling them, and of those that chance draws."""
    now = iter(range(100))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(now)))
    told: list[str] = []
    found = search_program_options(FakeAnswers(), 1000.0, compiles=9, deadline=4, note=told.append)
    assert found.ran_out and found.tried == ()
    assert told[-1] == (
        "program options: 2 of 4 make another program; no time to look at the other 2"
    )
    now = iter(range(100))
    found = search_program_options(FakeAnswers(), 1000.0, compiles=9, deadline=8, note=told.append)
    assert found.ran_out and len(found.tried) == 2
    now = iter(range(100))
    drawn = random_program_options(FakeAnswers(), 1000.0, 4, 0, 2, told.append)
    assert drawn.ran_out and len(drawn.tried) == 2
    assert not random_program_options(FakeAnswers(), 1000.0, 4, 0, 1e9, told.append).ran_out
    assert not search_program_options(
        FakeAnswers(), 1000.0, compiles=2, deadline=1e9, note=told.append
    ).ran_out


def test_options_by_chance_are_the_seeds(compiled: list[str]) -> None:
    def drawn(seed: int, count: int = 4) -> list[str]:
        tried = random_program_options(
            FakeAnswers(), 1000.0, count, seed, float("inf"), lambda _: None
        ).tried
        return [one.option.title for one in tried]

    assert drawn(0) == drawn(0)
    assert len({tuple(drawn(seed)) for seed in range(6)}) > 1
    assert len(drawn(0)) == 4
    assert drawn(0, count=0) == []


def test_every_chip_has_options_and_a_mesh_none_that_move_its_collectives() -> None:
    for hardware in GENERATIONS:
        alone, meshed = program_options(hardware), program_options(hardware, devices=4)
        titles = [one.title for one in alone]
        assert len(set(titles)) == len(titles)
        assert {one.title for one in meshed} < set(titles)
        assert {one.kind for one in alone} - {one.kind for one in meshed} == {"schedule"}
        limits = {one.flags.get(SCOPED_LIMIT) for one in alone} - {None}
        assert hardware.startswith("tpu-v4") == (not limits)


def test_options_that_changed_no_program_that_was_measured_are_not_tried() -> None:
    """Limits for scratch are measured on two chips alone."""
    measured: dict[str, set[str]] = {}
    for row in read(ROWS):
        measured.setdefault(row["key"][1], set()).add(row["effect"])
    for hardware in GENERATIONS:
        for one in program_options(hardware):
            if SCOPED_LIMIT not in one.flags:
                assert OTHER in measured[one.title]


def test_a_module_is_known_by_what_it_does() -> None:
    plain = hlo([])
    tagged = plain.replace(
        'custom_call_target="x"', 'custom_call_target="x", metadata={op_name="q"}'
    )
    renamed = plain.replace("HloModule test", "HloModule other")
    assert tagged != plain
    assert fingerprint(plain) == fingerprint(tagged) == fingerprint(renamed)
    assert fingerprint(plain) != fingerprint(hlo(["y"]))


class HalfEstimated:
    """A compiler that states no cycles for `z`, and none at all in a compile that is stopped early.

    One with everything slow that is known whole would state some, and make costs of another kind.
    """

    target = Target("tpu-v5e")

    def under(self, options: Mapping[str, str]) -> HalfEstimated:
        return self

    def stopped(self, options: Mapping[str, str]) -> Compiled:
        return Compiled(hlo([], has_cycles=False), "", is_full=False)

    def full(self, options: Mapping[str, str]) -> Compiled:
        stated = '{"window_config":{"estimated_cycles":"120000"}}'
        return Compiled(hlo([]).replace(stated, "{}"), "")


def test_what_the_program_of_an_option_has_no_estimate_for_is_priced() -> None:
    """So that a option which makes the compiler silent is no gain."""
    answers = HalfEstimated()
    session = session_under(answers, {})  # type: ignore[arg-type]
    outcome = session.full({})
    moved_s = 3 * A_BYTES / session.program.hardware.bandwidth
    assert outcome.cycles == 100_000
    assert outcome.priced_cycles == pytest.approx(moved_s * session.program.hardware.clock_hz)
    assert total(outcome) == pytest.approx(100_000 + outcome.priced_cycles)
    assert priced_s(session.program) == pytest.approx(moved_s)
