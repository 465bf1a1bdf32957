"""Groups that break a rule are moved to slow memory, and what that costs is noted."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.compiler.reading.repair import PACKED_ANEW, best_reading, repaired
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Access, Hardware, Instruction, Program, Value
from tests.strategies import programs
from tests.ui.builders import first_fit_plan

HARDWARE = Hardware("x", fast_bytes=4096, alignment=512, bandwidth=1e9, clock_hz=1e9)


def two_inputs() -> Program:
    """One instruction reads two inputs of 1 KiB; the second saves three times as much."""
    return Program(
        name="x",
        hardware=HARDWARE,
        instructions=(Instruction("a", "add", 1e-6), Instruction("b", "add", 1e-6)),
        values=(Value("p", "u8[1024]", 1024, -1, 0), Value("q", "u8[1024]", 1024, -1, 1)),
        accesses=(Access(0, 0, False, 1e-6, 1024), Access(1, 1, False, 3e-6, 1024)),
    )


def plan(program: Program, *stays: Stay, copies: tuple[Copy, ...] = ()) -> Plan:
    held = {s.group for s in stays}
    flags = tuple(program.values[a.value].group in held for a in program.accesses)
    return Plan(content_hash(program), "test", flags, stays, copies, {"kept": 1})


def test_a_valid_plan_is_left_alone() -> None:
    program = two_inputs()
    good = plan(program, Stay(0, 0, -1, 2))
    mended = repaired(program, good, good.is_fast)
    assert mended == good
    assert mended.notes == {"kept": 1, "left_out_groups": [], "left_out_saving_share": 0.0}


def test_a_group_that_breaks_a_rule_is_left_out_whole() -> None:
    program = two_inputs()
    late = plan(program, Stay(0, 0, -1, 2), Stay(1, 1024, 0, 2))
    mended = repaired(program, late, late.is_fast)
    assert check(program, mended) is None
    assert mended.is_fast == (True, False)
    assert {s.group for s in mended.stays} == {0}
    assert mended.notes["left_out_groups"] == ["q"]
    assert mended.notes["left_out_saving_share"] == 0.75


def test_what_the_compile_has_fast_and_the_plan_has_not_is_left_out_too() -> None:
    program = two_inputs()
    mended = repaired(program, plan(program, Stay(0, 0, -1, 2)), (True, True))
    assert mended.notes["left_out_groups"] == []
    assert mended.notes["left_out_saving_share"] == 0.75


def test_its_copies_go_with_it() -> None:
    program = two_inputs()
    off = plan(program, Stay(1, 100, 0, 2), copies=(Copy(1, True, 0, 1),))
    mended = repaired(program, off, off.is_fast)
    assert (mended.stays, mended.copies) == ((), ())
    assert mended.notes["left_out_saving_share"] == 1.0


def test_of_too_many_cross_program_prefetches_the_best_stays() -> None:
    program = two_inputs()
    both = plan(program, Stay(0, 0, -1, 2), Stay(1, 1024, -1, 2))
    mended = repaired(program, both, both.is_fast)
    assert check(program, mended) is None
    assert mended.is_fast == (False, True)
    assert mended.notes["left_out_saving_share"] == 0.25


def test_a_plan_that_no_group_can_mend_ends_the_search() -> None:
    program = two_inputs()
    foreign = replace(plan(program), program_hash="other")
    assert repaired(program, foreign, foreign.is_fast).stays == ()


@given(programs(), st.randoms(use_true_random=False))
def test_whatever_is_broken_ends_valid(program: Program, chance: object) -> None:
    good = first_fit_plan(program)
    broken = tuple(
        replace(s, offset=s.offset + chance.choice([0, 0, 7, 512, 10**9]))  # type: ignore[attr-defined]
        for s in good.stays
    )
    bad = replace(good, stays=broken, copies=good.copies[::2])
    mended = repaired(program, bad, bad.is_fast)
    assert check(program, mended) is None
    assert 0.0 <= mended.notes["left_out_saving_share"] <= 1.0


def test_of_two_readings_the_fuller_one_counts_and_xlas_own_offsets_if_equal() -> None:
    program = two_inputs()
    whole, elsewhere = plan(program, Stay(0, 0, -1, 2)), plan(program, Stay(0, 2048, -1, 2))
    broken = plan(program, Stay(0, 100, -1, 2))
    for own, best in ((elsewhere, elsewhere), (broken, whole)):

        def read(buffers: str | None, own: Plan = own) -> Plan:
            return whole if buffers is None else own

        chosen = best_reading(program, read, "buffers", whole.is_fast)
        assert chosen.as_read.stays == chosen.valid.stays == best.stays
        assert chosen.lost == 0.0
        assert chosen.valid.notes.get("offsets") == (PACKED_ANEW if best is whole else None)
        assert best_reading(program, read, None, whole.is_fast).valid.stays == whole.stays


def test_where_both_readings_lose_xlas_own_offsets_count() -> None:
    program = two_inputs()
    broken = plan(program, Stay(0, 100, -1, 2))
    chosen = best_reading(program, lambda _: broken, "buffers", broken.is_fast)
    assert chosen.as_read.stays == broken.stays
    assert chosen.valid.stays == ()
    assert chosen.lost == 1.0
    assert "offsets" not in chosen.valid.notes
