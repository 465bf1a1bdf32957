"""Profiles: tables and traces of measured times, and the prices that they give."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ProgramFormatError, UsageError
from engine.program.io import content_hash, load, save
from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.prices import (
    LINKS,
    MODEL,
    PROFILE,
    Price,
    price_sources,
    priced_s,
    profile_name,
    with_prices,
)
from engine.program.profile import Profile, profile_remark, profiled, read_profile

US = 1e-6


def silent(name: str) -> Program:
    """A sample whose first instruction has no estimate."""
    known = load_sample(name)
    first, *others = known.instructions
    accesses = tuple(replace(a, saving_s=0.0) if a.time == 0 else a for a in known.accesses)
    made = replace(
        known, instructions=(replace(first, fast_s=0.0, floor_s=0.0), *others), accesses=accesses
    )
    return replace(made, provenance={"xla_plan": {"program_hash": content_hash(made)}})


@pytest.fixture
def program() -> Program:
    """One with a loop, in which is the second instruction."""
    return silent("teach-loop-carry")


def written(folder: Path, text: str, name: str = "times.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_table_is_averaged_in_its_unit(tmp_path: Path) -> None:
    text = "\ufeffinstruction,time_us,note\n%a,3,x\na,5,\n\nb.1,0.5,y\n"
    found = read_profile(written(tmp_path, text))
    assert found == Profile("times.csv", {"": {"a": pytest.approx(4 * US), "b.1": 0.5 * US}})
    for unit, seconds in (("time_s", 2.0), ("time_ms", 2e-3), ("time_ns", 2e-9)):
        found = read_profile(written(tmp_path, f"{unit},instruction\n2,a\n"))
        assert found.programs == {"": {"a": pytest.approx(seconds)}}


def test_the_table_of_xprof_is_read_by_program(tmp_path: Path) -> None:
    """What its page "HLO Op Stats" exports."""
    text = """Program id,HLO op category,HLO op name,#Occurrences,Total time (us),Avg. time (us)
11,sort,sort.3,2,8,4
12,sort,%sort.3,1,90,90
11,"custom, fused",fusion.1,2,6,3
"""
    found = read_profile(written(tmp_path, text))
    assert found.programs == {
        "11": {"sort.3": pytest.approx(4 * US), "fusion.1": pytest.approx(3 * US)},
        "12": {"sort.3": pytest.approx(90 * US)},
    }


def test_a_field_may_be_as_long_as_its_file(tmp_path: Path) -> None:
    """XProf states the whole text of an instruction."""
    found = read_profile(written(tmp_path, f"instruction,HLO,time_us\na,{'x' * 200_000},3\n"))
    assert found.programs == {"": {"a": pytest.approx(3 * US)}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its first line must name the columns"),
        ("instruction,time\na,1\n", "its first line must name the columns"),
        ("instruction,time_s\na\n", "line 2 has no name or no time"),
        ("instruction,time_s\na,fast\n", "line 2 has no name or no time"),
        ("instruction,time_s\na,1\nb,-1\n", "line 3 has an impossible name or time"),
        ("instruction,time_s\na,nan\n", "line 2 has an impossible name or time"),
        ("instruction,time_s\n,1\n", "line 2 has an impossible name or time"),
        ("instruction,time_s\n", "no instruction was measured"),
        ("{", "not a trace of XProf"),
        ('{"events":[]}', "not a trace of XProf"),
        ('{"traceEvents":[{"name":"process_name","pid":1}]}', "not a trace of XProf"),
        ('{"traceEvents":[]}', "no trace of a TPU"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ProgramFormatError, match=f"times.csv: .*{why}|times.csv: {why}"):
        read_profile(written(tmp_path, text))


def event(pid: int, tid: int, name: str, start: float, duration: float, **args: Any) -> Any:
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "name": name,
        "ts": start,
        "dur": duration,
        **({"args": args} if args else {}),
    }


def named(kind: str, pid: int, name: str, tid: int = 0) -> Any:
    return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": name}}


def test_a_trace_is_read_by_program_over_all_devices(tmp_path: Path) -> None:
    events = [
        named("process_name", 1, "/device:TPU:0"),
        named("process_name", 2, "/device:TPU:1"),
        named("process_name", 9, "/host:CPU"),
        *(named("thread_name", pid, "XLA Modules", 1) for pid in (1, 2)),
        *(named("thread_name", pid, "XLA Ops", 2) for pid in (1, 2, 9)),
        named("thread_name", 1, "Async XLA Ops", 3),
        event(1, 1, "jit_step(11)", 100.0, 50.0),
        event(1, 1, "jit_eval(12)", 200.0, 50.0),
        event(1, 1, "jit_step(13)", 300.0, 50.0),
        event(2, 1, "jit_step(11)", 100.0, 50.0),
        event(1, 2, "sort.3", 110.0, 4.0, device_duration_ps="4500000"),
        event(2, 2, "%sort.3 = f32[8] sort(%a)", 110.0, 5.5),
        event(1, 2, "sort.3", 210.0, 90.0),
        event(1, 2, "sort.3", 310.0, 8.0),
        event(9, 2, "sort.3", 110.0, 1000.0),
        event(1, 3, "sort.3", 110.0, 1000.0),
        {"ph": "C", "pid": 1, "name": "counter"},
        "no event",
    ]
    path = tmp_path / "host.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    found = read_profile(path)
    assert found.programs == {
        "jit_step(11)": {"sort.3": pytest.approx(5 * US)},
        "jit_eval(12)": {"sort.3": pytest.approx(90 * US)},
        "jit_step(13)": {"sort.3": pytest.approx(8 * US)},
    }
    bare = [e for e in events if not (isinstance(e, dict) and e.get("tid") == 1)]
    path.write_bytes(json.dumps(bare).encode())
    mean = (4.5 + 5.5 + 90 + 8) / 4 * US
    assert read_profile(path).programs == {"": {"sort.3": pytest.approx(mean)}}


def test_a_trace_may_be_larger_than_other_json_but_not_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an hour it has a million events."""
    events = [
        named("process_name", 1, "/device:TPU:0"),
        named("thread_name", 1, "XLA Ops", 2),
        *(event(1, 2, "sort.3", float(n), 4.0, long_name="sort") for n in range(50)),
    ]
    path = written(tmp_path, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}), "t.json")
    size = path.stat().st_size
    monkeypatch.setattr("engine.files.MAX_JSON", size // 2)
    assert read_profile(path).programs == {"": {"sort.3": pytest.approx(4 * US)}}
    monkeypatch.setattr("engine.program.profile.MAX_BYTES", size - 1)
    advice = r"t\.json: larger than \d+ KiB; trace fewer steps, or export HLO Op Stats"
    with pytest.raises(ProgramFormatError, match=advice):
        read_profile(path)


@pytest.mark.parametrize(
    "odd",
    [
        {"ph": "X", "pid": [1], "tid": 2, "name": "sort.3", "ts": 1, "dur": 1},
        {"ph": "X", "pid": 1, "tid": 2, "name": "sort.3", "ts": "soon", "dur": 1},
        {"ph": "X", "pid": 1, "tid": 2, "name": "sort.3", "ts": 1},
        {"ph": "X", "pid": 1, "tid": 2, "name": "sort.3", "ts": 10**400, "dur": 1},
        {"ph": "X", "pid": 1, "tid": 2, "name": "sort.3", "ts": 1, "dur": 10**400},
        {"ph": "X", "pid": 1, "tid": 2, "name": "sort.3", "ts": 1, "dur": 1, "args": "none"},
        {"ph": "M", "pid": 1, "tid": 2, "name": "process_name", "args": {"name": 7}},
    ],
)
def test_a_trace_with_impossible_events_is_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    events = [named("process_name", 1, "/device:TPU:0"), named("thread_name", 1, "XLA Ops", 2), odd]
    with pytest.raises(ProgramFormatError, match=r"t\.json: not a trace of XProf"):
        read_profile(written(tmp_path, json.dumps(events), "t.json"))


def of(times: Mapping[str, float]) -> Profile:
    return Profile("times.csv", {"": times})


def test_measured_times_take_the_place_of_the_models(program: Program) -> None:
    name, other = (program.instructions[n].name for n in (0, 1))
    modelled = with_prices(program, {0: Price(3 * US)})
    made = profiled(modelled, of({name: 7 * US, other: 1.0}))
    assert priced_s(made) == pytest.approx(7 * US)
    assert made.all_slow_s == pytest.approx(program.all_slow_s + 7 * US)
    assert price_sources(modelled) == {name: MODEL}
    assert price_sources(made) == {name: PROFILE}
    assert profile_name(made) == "times.csv"
    assert made.provenance["xla_plan"] == {"program_hash": content_hash(made)}
    again = profiled(made, Profile("b.csv", {"": {name: 9 * US}}))
    assert priced_s(again) == pytest.approx(9 * US)
    assert profile_name(again) == "b.csv"


def test_measured_times_of_two_files_name_both() -> None:
    made = silent("teach-prefetch")
    silenced = [replace(i, fast_s=0.0, floor_s=0.0) for i in made.instructions[:2]]
    accesses = tuple(replace(a, saving_s=0.0) if a.time < 2 else a for a in made.accesses)
    instructions = (*silenced, *made.instructions[2:])
    made = replace(made, instructions=instructions, accesses=accesses, provenance={})
    first, second = (i.name for i in silenced)
    both = profiled(made, Profile("a.csv", {"": {first: US, second: 2 * US}}))
    part = Profile("b.csv", {"": {first: 3 * US}})
    again = profiled(both, part)
    assert profile_name(again) == profile_name(profiled(again, part)) == "a.csv and b.csv"
    assert profile_name(profiled(again, Profile("c.csv", {"": {first: US, second: US}}))) == "c.csv"


def test_a_program_can_be_read_whatever_its_profile_is_called(
    program: Program, tmp_path: Path
) -> None:
    text = f"instruction,time_us\n{program.instructions[0].name},7\n"
    found = read_profile(written(tmp_path, text, os.fsdecode(b"t\xff.csv")))
    save(profiled(program, found), tmp_path / "p.json")
    assert profile_name(load(tmp_path / "p.json")) == r"t\udcff.csv"


def test_a_program_without_prices_gets_them_too(program: Program) -> None:
    made = profiled(program, of({program.instructions[0].name: 7 * US}))
    assert priced_s(made) == pytest.approx(7 * US)


def test_the_program_with_most_names_in_common_is_meant(program: Program) -> None:
    first, second = (program.instructions[n].name for n in (0, 1))
    both = {first: 2 * US, second: 1 * US}
    profile = Profile("t", {"f": {first: 1 * US}, "g": both, "h": {"x": 3 * US}})
    assert priced_s(profiled(program, profile)) == pytest.approx(2 * US)


def test_which_of_several_programs_is_meant_is_asked_for_where_as_much_fits(
    program: Program,
) -> None:
    """One function that was compiled for two shapes."""
    name = program.instructions[0].name
    programs = {"jit_f(1)": {name: US}, "jit_f(2)": {name: 9 * US}, "jit_g(3)": {"x": 1.0}}
    profile = Profile("t.json", programs)
    with pytest.raises(UsageError) as error:
        profiled(program, profile)
    assert str(error.value) == (
        f"t.json: 2 programs there have 1 instructions of {program.name}: 'jit_f(1)', 'jit_f(2)';"
        " say which with --profile-program"
    )
    assert priced_s(profiled(program, profile.only("jit_f(2)"))) == pytest.approx(9 * US)
    assert profile.only("jit_g").programs == {"jit_g(3)": {"x": 1.0}}
    with pytest.raises(UsageError, match=r"2 programs .* one of 'jit_f\(1\)', 'jit_f\(2\)'$"):
        profile.only("jit_f")
    with pytest.raises(UsageError, match=r"no programs .* one of 'jit_f\(1\)', .*'jit_g\(3\)'$"):
        profile.only("jit_h")


def test_a_profile_of_nothing_that_has_a_price_is_refused(program: Program) -> None:
    with pytest.raises(UsageError, match=r"times.csv: measures 1 of the .* instructions"):
        profiled(program, of({program.instructions[1].name: US, "x": US}))


def test_a_profile_of_another_program_is_refused_unless_it_is_named(program: Program) -> None:
    """Names such as `fusion.1` are in all programs."""
    name = program.instructions[0].name
    others = {f"x.{number}": US for number in range(3)}
    transfers = {f"{kind}.{n}": US for kind in ("copy-start", "copy-done") for n in range(4)}
    own = {name: 7 * US, "x": US, **transfers}
    assert priced_s(profiled(program, of(own))) == pytest.approx(7 * US)
    foreign = Profile("t", {"jit_f(1)": {name: 7 * US, **others}})
    with pytest.raises(UsageError, match="t: of 4 instructions there 1 are in teach-loop-carry"):
        profiled(program, foreign)
    assert priced_s(profiled(program, foreign.only("jit_f"))) == pytest.approx(7 * US)
    with pytest.raises(UsageError, match=r"of 4 .* another program; measure this one"):
        profiled(program, of({name: 7 * US, **others}))


def test_what_is_started_takes_its_done_too_and_hides_no_more() -> None:
    program = silent("teach-prefetch")
    first, *others = program.instructions
    started = replace(
        program,
        instructions=(replace(first, name="all-gather-start.2"), *others),
        accesses=tuple(
            replace(a, in_flight=1) if a.time == 0 and not a.is_write else a
            for a in program.accesses
        ),
    )
    assert priced_s(with_prices(started, {0: Price(US, over=LINKS)})) < US
    times = {"all-gather-start.2": US, "all-gather-done.2": 4 * US}
    assert priced_s(profiled(started, of(times))) == pytest.approx(5 * US)
    assert priced_s(profiled(started, of({"all-gather-done.2": 4 * US}))) == pytest.approx(4 * US)


def test_the_other_times_are_held_against_the_compilers(program: Program) -> None:
    name, other = (program.instructions[n].name for n in (0, 1))
    remark = profile_remark(program, of({name: 7 * US, other: 100 * US}))
    times = program.multiplicity(program.instructions[1].level)
    assert remark.startswith("times.csv measures 1 of 1 instructions without cycles; 1 others took")
    assert f"took {100 * times:,.1f} us" in remark
    assert "others" not in profile_remark(program, of({name: 7 * US}))
