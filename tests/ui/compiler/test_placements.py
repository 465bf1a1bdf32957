"""What became of a plan's tensors: in order, in words, on the map."""

from __future__ import annotations

from dataclasses import replace

from engine.program.model import Program
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from ui.compiler.instructions_view import instruction_table
from ui.model.compiler.placements import PART, REFUSED, WHOLE, fates, placements_map


def told(program: Program, groups: list[int], shares: list[float]) -> list[dict[str, object]]:
    return [
        {
            "values": [program.values[program.groups[group].values[0]].name],
            "instructions": [],
            "saving_s": 1e-6 * (number + 1),
            "realised": share,
            "reason": "" if share == 1 else "out of <memory>",
        }
        for number, (group, share) in enumerate(zip(groups, shares, strict=True))
    ]


def test_what_was_not_realised_comes_first_by_saving() -> None:
    program = residual_network()
    rows = fates(program, told(program, [0, 1, 2, 3], [1.0, 0.0, 0.5, 1.0]))
    assert [row.kind for row in rows] == [PART, REFUSED, WHOLE, WHOLE]
    assert [row.group for row in rows] == [2, 1, 3, 0]
    assert rows[0].slot == program.touches[program.touches_of_group[2][0]].time


def test_an_unknown_value_is_passed_over() -> None:
    program = residual_network()
    body = told(program, [0], [1.0])
    assert fates(program, [{**body[0], "values": ["no such value"]}]) == []


def test_the_map_says_what_became_of_each_stay_and_escapes_names() -> None:
    program = residual_network()
    plan = first_fit_plan(program)
    group = plan.stays[0].group
    first = program.groups[group].values[0]
    values = list(program.values)
    values[first] = replace(values[first], name="<script>&")
    hostile = replace(program, values=tuple(values))
    rows = fates(hostile, told(hostile, [group], [0.0]))
    drawn = placements_map(hostile, plan, rows)
    assert drawn.count("title=") == len(plan.stays)
    refused = sum(stay.group == group for stay in plan.stays)
    assert drawn.count('class="refused" style') == refused
    assert drawn.count('class="other" style') == len(plan.stays) - refused
    assert "<script>" not in drawn
    assert "&lt;script&gt;&amp;" in drawn
    assert "refused: out of &lt;memory&gt;" in drawn


def test_instructions_come_by_the_greater_of_change_and_error() -> None:
    keys = ("name", "slot", "default", "compiled", "predicted")
    rows = [
        dict(zip(keys, row, strict=True))
        for row in (
            ("same", 0, 100.0, 100.0, 100.2),
            ("slower", 1, 100.0, 130.0, 130.0),
            ("misjudged", 2, 100.0, 100.0, 40.0),
            ("faster", 3, 100.0, 10.0, 10.0),
        )
    ]
    table = instruction_table(rows)
    assert list(table["name"]) == ["faster", "misjudged", "slower"]
    assert list(table["change"]) == [-90.0, 0.0, 30.0]
    assert list(table["error"]) == [0.0, -60.0, 0.0]
