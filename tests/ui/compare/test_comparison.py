"""What is compared: states and links, tables of differences and of times, the peak in words."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import pytest

from engine.analysis.attribution import attribute, breakdown
from engine.analysis.peak import residents, used_bytes
from engine.analysis.plan_diff import first_divergence, touch_differences
from engine.game.move_list import moves
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import solve
from tests.ui.builders import HUGE, enlarged, first_fit_plan
from tests.ui.network import residual_network
from ui.components.map_svg import picture
from ui.components.names import slots_text, tensor_name
from ui.components.packing import unpack
from ui.components.units import time_text
from ui.model.compare.comparison import MOST_PLANS, Comparison
from ui.model.compare.differences import cost_table, counts_text, divergence_text, move_at, summary
from ui.model.compare.pressure import moment_text, occupancy, relief_text, resident_table
from ui.model.compare.sheet import Panel, identity_of, sheet
from ui.model.compare.timing import kinds_table, time_chart, time_table
from ui.model.play.placed import served_text, stay_of

Pair = tuple[Plan, Simulation]


@pytest.fixture(scope="module")
def program() -> Program:
    return residual_network()


@pytest.fixture(scope="module")
def pair(program: Program) -> tuple[Pair, Pair]:
    fitted, greedy = first_fit_plan(program), solve("greedy", program)
    return (fitted, simulate(program, fitted)), (greedy, simulate(program, greedy))


def test_the_best_plans_are_compared_first() -> None:
    state = Comparison()
    state.settle(["a", "b", "c"])
    assert state.plans == ["a", "b"]
    assert state.peak_plan == "a"
    state.plans = ["c", "a"]
    state.settle(["a", "b", "c"])
    assert state.plans == ["c", "a"]
    state.settle(["a"])
    assert state.plans == ["a"]


def test_a_link_waits_for_its_plans() -> None:
    state = Comparison()
    state.take_query({"mode": "layouts", "plans": "late,first,also", "diff": "1", "slot": "7"})
    assert (state.mode, state.is_diff, state.slot) == ("layouts", True, 7)
    state.settle(["first", "other"])
    assert state.plans == ["first", "other"]
    assert state.to_query()["plans"] == "late,first,also"
    state.settle(["first", "other", "also", "late"])
    assert state.plans[:3] == ["late", "first", "also"]
    assert len(state.plans) <= MOST_PLANS
    assert state.expected == []


@pytest.mark.parametrize(
    "state",
    [
        Comparison(mode="runtimes", plans=["a", "b"]),
        Comparison(mode="layouts", plans=["a", "b", "c"], is_diff=True, group=4, slot=9),
        Comparison(mode="peak", plans=["a"], peak_plan="a", peak_slot=12, wanted_mib=0.5),
        Comparison(mode="time", plans=["b", "a"]),
    ],
)
def test_links_restore_what_was_shown(state: Comparison) -> None:
    again = Comparison()
    again.take_query(state.to_query())
    again.settle(["a", "b", "c"])
    if len(state.plans) > 1:
        assert again.plans == state.plans
    assert {**again.to_query(), "plans": ""} == {**state.to_query(), "plans": ""}


def test_a_plan_is_found_by_its_link_whatever_its_name_holds() -> None:
    names = ["a, b", "50 %2C", "c"]
    again = Comparison()
    again.take_query(Comparison(plans=names).to_query())
    again.settle([*names, "a", "b"])
    assert again.plans == names


def test_nonsense_in_a_link_is_left_out() -> None:
    state = Comparison()
    state.take_query({"mode": "peak", "slot": "-3", "free": "much", "group": "9" * 40})
    assert (state.mode, state.peak_slot, state.wanted_mib, state.group) == ("peak", -1, 8.0, -1)
    state.take_query({"mode": "nothing", "window": "slots,1,2,3,4" + "9" * 200})
    assert state.window.startswith("slots,1") and len(state.window) < 100
    assert state.mode == "peak"


def test_costs_add_up_in_the_table(program: Program, pair: tuple[Pair, Pair]) -> None:
    first, second = pair
    found = touch_differences(program, first[0], second[0])
    costs = attribute(program, first, second)
    rows = cost_table(program, costs, found)
    difference_s = second[1].latency_s - first[1].latency_s
    assert rows["total"].sum() == pytest.approx(1e6 * difference_s)
    assert list(rows["total"].abs()) == sorted(rows["total"].abs(), reverse=True)
    for row in rows.itertuples():
        assert tensor_name(program, row.group) == row.tensor
        assert row.what
    assert f"{len(found):,} of {len(program.touches):,}" in counts_text(found, len(program.touches))
    assert counts_text([], 5) == "Both plans serve every access alike."


def test_where_the_plans_part_in_words(program: Program, pair: tuple[Pair, Pair]) -> None:
    first, second = pair
    found = touch_differences(program, first[0], second[0])
    parting = first_divergence(program, found)
    assert parting is not None
    text = divergence_text(program, parting, ("A", "B"))
    assert program.instructions[parting.time].name in text
    assert "A " in text and "B " in text
    game = moves(program)
    move = move_at(game, parting.time, parting.group)
    assert (game[move].time, game[move].group) == (parting.time, parting.group)
    assert move_at(game, program.num_slots + 5, 0) == len(game) - 1
    assert move_at((), 3, 0) == 0


def test_what_is_longer_if_fast_is_not_at_stake(program: Program, pair: tuple[Pair, Pair]) -> None:
    found = touch_differences(program, pair[0][0], pair[1][0])
    parting = first_divergence(program, found)
    assert parting is not None
    served = set(program.touches[parting.touch].accesses)
    worse = replace(
        program,
        accesses=tuple(
            replace(access, saving_s=-2e-6 / len(served)) if number in served else access
            for number, access in enumerate(program.accesses)
        ),
    )
    text = divergence_text(worse, parting, ("A", "B"))
    assert f"({time_text(2e-6)} longer if fast)" in text


def test_the_summary_says_who_is_faster() -> None:
    assert "**B** is **1.00" in summary(("A", "B"), (4e-6, 3e-6))
    assert "faster" in summary(("A", "B"), (4e-6, 3e-6))
    assert "slower" in summary(("A", "B"), (3e-6, 4e-6))
    assert "same time" in summary(("A", "B"), (3e-6, 3e-6))
    assert "(25.0" in summary(("A", "B"), (4e-6, 3e-6))
    assert "(0.06" in summary(("A", "B"), (1.0, 1.0006))


def test_times_add_up_in_the_table(program: Program, pair: tuple[Pair, Pair]) -> None:
    first, second = (breakdown(program, run) for _, run in pair)
    alone = time_table(program, first, None)
    assert alone["total"].sum() == pytest.approx(1e6 * pair[0][1].latency_s)
    assert list(alone["total"]) == sorted(alone["total"], reverse=True)
    both = time_table(program, first, second)
    change = 1e6 * (pair[1][1].latency_s - pair[0][1].latency_s)
    assert both["total"].sum() == pytest.approx(change)
    assert np.allclose(both["compute"], 0)
    assert time_table(program, first, first).empty
    bars = {trace.name for trace in time_chart(both, is_difference=True).data}
    assert bars == {"slow accesses", "stalls before it"} & bars
    assert "compute" in {trace.name for trace in time_chart(alone, is_difference=False).data}
    kinds = kinds_table(["A", "B"], [first, second])
    assert list(kinds["total"]) == pytest.approx([1e6 * run.latency_s for _, run in pair])


def test_panels_are_packed_with_their_marks(program: Program, pair: tuple[Pair, Pair]) -> None:
    panels = [
        Panel(name, "caption", name, plan, run)
        for name, (plan, run) in zip("ABA", [*pair, pair[0]], strict=True)
    ]
    header, columns = unpack(sheet(program, panels, "title"))
    assert header["id"] == identity_of(panels)
    assert identity_of(panels) != identity_of(panels[::-1][:2])
    assert [p["name"] for p in header["plans"]] == ["A", "B", "A"]
    for number, panel in enumerate(panels):
        assert len(columns[f"p{number}_stay_mark"]) == len(panel.plan.stays)
        assert columns[f"p{number}_slot_begin"][-1] == pytest.approx(panel.simulation.latency_s)
    assert set(columns["p2_stay_mark"]) == {0}
    assert set(columns["p0_stay_mark"]) != {0}
    assert header["peak"] > 0


def test_a_stay_ends_in_the_same_slot_wherever_it_is_told() -> None:
    program = library.load_sample("alexnet-v4-b24")
    plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    move = next(m for m in moves(program) if not m.is_sink and stay_of(plan, m.group, m.time))
    stay = stay_of(plan, move.group, move.time)
    assert stay is not None and stay.end - stay.start > 1
    last = f"{stay.end - 1:,}"
    assert f"until slot {last}." in served_text(program, plan, move)
    rows = resident_table(program, residents(program, plan, move.time))
    (shown,) = rows["slots"][rows["group"] == move.group]
    assert shown == slots_text(stay.start, stay.end)
    whole = picture(program, plan, "XLA's", 1e-3)
    assert all(escape(slots_text(s.start, s.end)) in whole for s in plan.stays)


def test_panels_hold_sizes_and_addresses_of_more_than_32_bits(program: Program) -> None:
    found = []
    for shown in (program, enlarged(program)):
        plan = first_fit_plan(shown)
        panel = Panel("a", "", "a", plan, simulate(shown, plan))
        found.append(unpack(sheet(shown, [panel], "title"))[1])
    small, large = found
    for name in ("group_granules", "p0_stay_offset", "slot_reserved"):
        assert large[name].tolist() == (small[name] * float(HUGE)).tolist(), name


def test_the_peak_in_words(program: Program, pair: tuple[Pair, Pair]) -> None:
    plan = pair[1][0]
    used = used_bytes(program, plan.stays)
    slot = int(used.argmax())
    text = moment_text(program, plan, slot, 2**20)
    assert program.instructions[slot].name in text
    rows = resident_table(program, residents(program, plan, slot))
    reserved = program.instructions[slot].reserved_bytes
    assert rows["size"].sum() * 2**20 + reserved == pytest.approx(used[slot])
    addresses = [int(a, 16) for a in rows["address"]]
    assert addresses == sorted(addresses, reverse=True)
    assert max(occupancy(program, plan, slot).data[0].y) == pytest.approx(used.max() / 2**20)


def test_advice_in_words(program: Program) -> None:
    result = {
        "dropped": [{"group": 0, "next_use": 3}],
        "slot": 2,
        "wanted_bytes": 2**20,
        "freed_bytes": 2**21,
        "before_s": 1e-3,
        "after_s": 1.1e-3,
        "game_s": 1e-3,
        "hole_before": 0,
        "hole_after": 2**21,
        "is_enough": True,
    }
    text = relief_text(program, result)
    assert "costs **100" in text
    assert tensor_name(program, 0) in text
    assert "less than" not in text
    assert "otherwise" not in text
    assert "otherwise, in 900" in relief_text(program, {**result, "game_s": 0.9e-3})
    assert "Drop" not in relief_text(program, {**result, "dropped": [], "game_s": 0.9e-3})
    assert "even saves" in relief_text(program, {**result, "after_s": 0.9e-3})
    assert "less than" in relief_text(program, {**result, "is_enough": False})


def test_an_empty_plan_can_be_compared(program: Program) -> None:
    flags = (False,) * len(program.accesses)
    slow = Plan(content_hash(program), "slow", flags, (), ())
    panels = [Panel("slow", "", "slow", slow, simulate(program, slow))]
    _, columns = unpack(sheet(program, panels, "title"))
    assert len(columns["p0_stay_mark"]) == 0
    assert resident_table(program, residents(program, slow, 0)).empty
