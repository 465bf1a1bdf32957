"""A plan's rules: which values, in which order, and how the options can be handed over."""

from __future__ import annotations

import itertools
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from engine.compiler.steering.candidates import random_rules, sort_override
from engine.compiler.steering.export import (
    CROSS_PROGRAM,
    INEFFICIENT_RATIO,
    MIN_SAVING_SHARE,
    ORDERS,
    PASS_OPTIONS,
    SORT_ORDER,
    aims,
    both_rules,
    exports,
    instruction_patterns,
    matcher_of,
    matchers,
    own_steering,
    sort_rules,
)
from engine.compiler.steering.flags_file import (
    Flags,
    flags_from_json,
    load_flags,
    named_instructions,
    save_flags,
)
from engine.errors import PlanError, ProgramFormatError
from engine.files import read_json
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.solvers.xla_msa.steered import Steering as PlanSteering
from engine.solvers.xla_msa.steered import in_names, place


@pytest.fixture(scope="module")
def program() -> Program:
    return library.resolve("gptdecode-v5e-b8")


@pytest.fixture(scope="module")
def plan(program: Program) -> Plan:
    return solve("greedy", program, Budget(1.0, 0))


def test_rules_are_as_the_compiler_reads_them() -> None:
    assert sort_rules(["fusion.3{1}", "copy-a_b"]) == (
        'overrides { hlo_position_matcher { instruction_name_regex: "fusion[.]3"'
        " tuple_index { index: [1] } } override_options { assign_value: -2 } } "
        'overrides { hlo_position_matcher { instruction_name_regex: "copy-a_b" }'
        " override_options { assign_value: -1 } }"
    )
    with pytest.raises(PlanError, match="no name of a value"):
        sort_rules(["{1}"])


def test_patterns_match_the_named_instruction_alone() -> None:
    options = {SORT_ORDER: sort_rules(["a.b{0}", "a.b{1}", "c"]), CROSS_PROGRAM: "0"}
    assert instruction_patterns(options) == ("a[.]b", "c")
    assert re.fullmatch("a[.]b", "a.b")
    assert not re.fullmatch("a[.]b", "axb")


def test_aims_are_what_the_plan_serves_fast(program: Program, plan: Plan) -> None:
    found = aims(program, plan)
    fast = {
        (program.values[a.value].name, program.instructions[a.time].name): a.saving_s
        for a, is_fast in zip(program.accesses, plan.is_fast, strict=True)
        if is_fast
    }
    whole = sum(fast.values())
    for aim in found:
        pairs = [p for p in itertools.product(aim.values, aim.instructions) if p in fast]
        assert aim.saving_s == pytest.approx(sum(fast[p] for p in pairs))
        assert aim.saving_s > MIN_SAVING_SHARE * whole
    assert [a.saving_s for a in found] == sorted((a.saving_s for a in found), reverse=True)
    all_slow = simulate(program, plan).all_slow_s - simulate(program, plan).compute_s
    assert sum(a.saving_s for a in found) == pytest.approx(all_slow, rel=0.02)


def test_every_order_is_made_with_all_pass_options(program: Program, plan: Plan) -> None:
    made = exports(program, plan)
    assert len(made) == len(ORDERS) * len(PASS_OPTIONS) == 12
    assert len({s.title for s in made}) == 12
    assert [s.options.get(CROSS_PROGRAM) for s in made].count("0") == 6
    assert [s.options.get(INEFFICIENT_RATIO) for s in made].count("0.2") == 6
    rules = {s.options[SORT_ORDER] for s in made}
    assert len(rules) == 3
    named = {tuple(sorted(re.findall(r'regex: "[^"]*"', text))) for text in rules}
    assert len(named) == 1
    # The last value of a list is placed last, so its rule has the greatest number.
    for text in rules:
        numbers = [int(n) for n in re.findall(r"assign_value: (-\d+)", text)]
        assert numbers == list(range(-len(numbers), 0))


def test_the_title_of_a_plans_own_options_has_their_values(program: Program) -> None:
    chosen = PlanSteering(max_cross_program_prefetches=3, inefficient_use_to_copy_ratio=0.35)
    notes = {"steering": in_names(program, chosen)}
    made = own_steering(replace(place(program, chosen), notes=notes))
    assert made is not None
    assert made.title == "its own order, cross-program prefetches 3, ratio 0.35"


def test_a_plan_of_the_steered_heuristic_is_exported_as_it_was_made(program: Program) -> None:
    """What was placed first and last, and the pass options, come back out of the options."""
    chosen = PlanSteering(
        (3, 5), frozenset({7}), max_cross_program_prefetches=0, inefficient_use_to_copy_ratio=0.2
    )
    told = in_names(program, chosen)
    made = own_steering(replace(place(program, chosen), notes={"steering": told}))
    assert made is not None
    assert made.options[CROSS_PROGRAM] == "0"
    assert made.options[INEFFICIENT_RATIO] == "0.2"
    first, last = matchers(made.options[SORT_ORDER])
    for found, groups in ((first, (3, 5)), (last, (7,))):
        names = [program.values[v].name for g in groups for v in program.groups[g].values]
        assert found == [matcher_of(name) for name in names]
    assert own_steering(replace(place(program, chosen), notes={})) is None


def test_the_order_by_saving_begins_with_the_greatest(program: Program, plan: Plan) -> None:
    first = aims(program, plan)[0].values[0]
    by_saving = exports(program, plan)[0].options[SORT_ORDER]
    assert by_saving.startswith(sort_rules([first]).split(" override_options")[0])


def test_what_has_no_name_in_hlo_gets_no_rule(program: Program, plan: Plan) -> None:
    """What goes round a loop, or leaves a conditional, in a place of its own."""
    first, second, *others = (aim.values for aim in aims(program, plan))
    ours = {first[0]: "while.3{carried 12}", second[0]: "cond{met 5}"}
    values = tuple(replace(v, name=ours.get(v.name, v.name)) for v in program.values)
    named = replace(program, values=values)
    plan = replace(plan, program_hash=content_hash(named))
    found = aims(named, plan)
    assert [aim.values for aim in found] == [n for n in (first[1:], second[1:], *others) if n]
    names = [name for aim in found for name in aim.values]
    assert exports(named, plan)[0].options[SORT_ORDER] == sort_rules(names)
    told = {"first": [*ours.values(), names[0]], "last": [], "knobs": {}}
    own = own_steering(replace(plan, notes={"steering": told}))
    assert own is not None and own.options == {SORT_ORDER: sort_rules(names[:1])}


def test_what_cannot_be_exported_is_said(program: Program, plan: Plan) -> None:
    slow = solve("all_slow", program, Budget(1.0, 0))
    with pytest.raises(PlanError, match="nothing from fast memory"):
        exports(program, slow)
    with pytest.raises(PlanError, match="wrong-program"):
        exports(program, replace(plan, program_hash="0"))


@pytest.fixture
def flags(program: Program, plan: Plan) -> Flags:
    return Flags(
        program.name,
        content_hash(program),
        program.hardware.name,
        exports(program, plan)[5].options,
        aims(program, plan),
        {"title": "by density"},
    )


def test_flags_come_back_as_they_were(flags: Flags, tmp_path: Path) -> None:
    save_flags(flags, tmp_path / "flags.json")
    assert load_flags(tmp_path / "flags.json") == flags
    assert set(named_instructions(flags)) > {flags.aims[0].instructions[0]}


def test_flags_can_be_handed_over_in_three_ways(flags: Flags) -> None:
    words = flags.environment.split(" ")
    assert len(words) == len(flags.compiler_options)
    assert all(word.startswith("--xla_") for word in words)
    assert 'instruction_name_regex:"' in flags.environment
    assert "'" not in flags.environment
    lines, _, last = flags.jax_lines.rpartition("\n")
    names: dict[str, object] = {}
    exec(lines, names)
    assert names["options"] == flags.compiler_options
    assert last == "compiled = jitted.lower(*args).compile(compiler_options=options)"


@pytest.mark.parametrize(
    "text",
    [
        sort_rules(["fusion.3{1,0}", "copy-a_b"]),
        both_rules([matcher_of("a")], [matcher_of("b{2}")]),
        random_rules(0, 0).options[SORT_ORDER],
        sort_override(7, 0.0, 1.0),
    ],
)
def test_every_kind_of_rule_says_the_same_in_the_environment(program: Program, text: str) -> None:
    word = Flags.of(program, {SORT_ORDER: text}).environment
    assert len(word.split()) == 1
    assert parsed_rules(word.removeprefix(f"--{SORT_ORDER}=")) == parsed_rules(text)


def parsed_rules(text: str) -> str:
    """Rules as protobuf itself reads them, with the fields that ours have."""
    kinds = {
        "Filter": {
            "seed": "uint64",
            "selection_range_begin": "double",
            "selection_range_end": "double",
        },
        "Index": {"index": "int64*"},
        "Matcher": {
            "instruction_name_regex": "string",
            "tuple_index": "Index",
            "hlo_random_filter": "Filter",
        },
        "Options": {"assign_first": "bool", "assign_last": "bool", "assign_value": "int64"},
        "Rule": {"hlo_position_matcher": "Matcher", "override_options": "Options"},
        "Rules": {"overrides": "Rule*"},
    }
    one = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="rules.proto", package="rules")
    for name, fields in kinds.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            added = message.field.add(name=field, number=number)
            added.label = one.LABEL_REPEATED if kind[-1] == "*" else one.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in kinds:
                added.type, added.type_name = one.TYPE_MESSAGE, f".rules.{kind}"
            else:
                added.type = one.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    rules = message_factory.GetMessageClass(pool.FindMessageTypeByName("rules.Rules"))
    return str(text_format.Parse(text, rules()))


def test_the_flags_of_the_user_go_along(program: Program) -> None:
    origin = {
        "compiler_options": {"xla_a": "1", "xla_b": "2"},
        "libtpu_init_args": "--xla_c=3 X --xla_b=9",
        "topology": "v5e:4x4",
    }
    mine = replace(program, provenance={**program.provenance, **origin})
    flags = Flags.of(mine, {"xla_b": "4"})
    assert flags.compiler_options == {"xla_a": "1", "xla_b": "4"}
    assert flags.environment == "--xla_c=3 X --xla_a=1 --xla_b=4"
    assert flags.target.topology == "v5e:4x4"
    assert Flags.of(program, {"xla_b": "4"}).environment == "--xla_b=4"
    hostile = Flags.of(program, {"xla_b": "'; echo broken #"})
    shown = subprocess.run(
        ["sh", "-c", f'{hostile.shell_line}; echo "$LIBTPU_INIT_ARGS"'],
        capture_output=True,
        text=True,
    )
    assert shown.stdout == "--xla_b=';echobroken#\n"


@pytest.mark.parametrize(
    "change",
    [
        {"compiler_options": {"a": 1}},
        {"compiler_options": []},
        {"compiler_options": {str(n): "" for n in range(301)}},
        {"aims": [{"values": ["a"]}]},
        {"aims": 3},
        {"program": None},
        {"more": 1},
    ],
)
def test_malformed_flags_are_refused(
    flags: Flags, tmp_path: Path, change: dict[str, object]
) -> None:
    save_flags(flags, tmp_path / "flags.json")
    body = read_json(tmp_path / "flags.json")
    with pytest.raises(PlanError, match="not a valid flags file"):
        flags_from_json({**body, **change}, "flags.json")
    with pytest.raises(ProgramFormatError, match="version"):
        flags_from_json({**body, "version": 2}, "flags.json")


@pytest.mark.parametrize(
    "note",
    [
        {},
        {"knobs": {"unknown": 1}, "first": [], "last": []},
        {"knobs": {}, "first": [7], "last": []},
        {"knobs": {"inefficient_use_to_copy_ratio": "much"}, "first": [], "last": []},
        {"knobs": [], "first": [], "last": []},
    ],
)
def test_a_damaged_note_of_a_steering_is_named(program: Program, note: object) -> None:
    plan = replace(place(program, PlanSteering()), notes={"steering": note})
    with pytest.raises(PlanError, match="note `steering` is damaged"):
        own_steering(plan)
