"""What has no estimate of the compiler's: said with its share, by operations and bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli import main
from engine.compiler.capture.importer import import_hlo
from engine.hardware.presets import find_device
from engine.hardware.pricing import pricing
from engine.hardware.unestimated_share import unestimated_remark, unestimated_s, unestimated_share
from engine.hardware.what_if import WhatIf, derive
from engine.program.hlo.build import build_program
from engine.program.io import load
from engine.program.model import Program
from engine.program.prices import PRICES, price_sources, priced_s, with_prices
from engine.program.provenance import ROOFLINE
from tests.program.hlo.modules import A_BYTES, decoded, module

BANDWIDTH = find_device("tpu-v5e").hardware.bandwidth


def imported(tmp_path: Path, cycles: int) -> Program:
    """A sort without cycles beside an instruction that states `cycles`."""
    config = f', backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}'
    text = module(
        f"""  a = A parameter(0)
  b = A tanh(a){config}
  ROOT s = A sort(b), dimensions={{1}}, to_apply=%less""",
        "%less\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
        "  ROOT c = pred[] compare(p, q), direction=LT",
    )
    path = tmp_path / "sorted.hlo"
    path.write_text(text)
    return import_hlo(path, None, "tpu-v5e")


def before_prices(program: Program) -> Program:
    """The program as it was read before there were prices."""
    provenance = {k: v for k, v in program.provenance.items() if k != PRICES}
    instructions = tuple(
        replace(i, fast_s=i.fast_s - i.priced_s, priced_s=0.0) for i in program.instructions
    )
    return replace(program, instructions=instructions, provenance=provenance)


def test_a_sort_is_priced_by_its_bytes(tmp_path: Path) -> None:
    program = imported(tmp_path, cycles=1500)
    sort = [i.name for i in program.instructions].index("s")
    price_s = 2 * A_BYTES / BANDWIDTH
    assert unestimated_s(program) == {sort: pytest.approx(price_s)}
    assert program.instructions[sort].fast_s == pytest.approx(price_s)
    assert program.all_slow_s == pytest.approx(1e-6 + price_s)
    share = price_s / program.all_fast_s
    assert unestimated_share(program) == pytest.approx(share)
    remark = str(unestimated_remark(program))
    assert f"up to {share:.1%} of the time is without an estimate of the compiler's" in remark
    assert f"{share:.1%} by our model (s)" in remark


def test_a_program_from_before_prices_says_what_it_leaves_out(tmp_path: Path) -> None:
    program = before_prices(imported(tmp_path, cycles=1500))
    sort = [i.name for i in program.instructions].index("s")
    left_out_s = 2 * A_BYTES / BANDWIDTH
    assert unestimated_s(program) == {sort: pytest.approx(left_out_s)}
    assert program.all_slow_s == pytest.approx(1e-6)
    share = left_out_s / (program.all_fast_s + left_out_s)
    assert unestimated_share(program) == pytest.approx(share)
    assert "of the time is without an estimate of the compiler's: s count" in str(
        unestimated_remark(program)
    )


def test_what_is_hidden_whole_is_priced_all_the_same(tmp_path: Path) -> None:
    host = "f32[64,128]{1,0:S(5)}"
    text = module(
        f"""  a = A parameter(0)
  s = ({host}, A, u32[]) copy-start(a)
  b = A tanh(a), backend_config={{"window_config":{{"estimated_cycles":"75000"}}}}
  d = {host} copy-done(s)
  ROOT r = ({host}, A) tuple(d, b)"""
    )
    path = tmp_path / "hidden.hlo"
    path.write_text(text)
    program = import_hlo(path, None, "tpu-v5e")
    assert priced_s(program) == 0
    assert unestimated_s(program) == {}
    assert unestimated_remark(program) is None


KERNEL_IN_PLACE = """  {root}k = A custom-call({operand}), custom_call_target="tpu_custom_call",
    output_to_operand_aliasing={{{{}}: (0, {{}})}}"""


def test_a_kernel_priced_at_nothing_is_named_with_what_it_may_move(tmp_path: Path) -> None:
    """It updates its operand in place, and nobody knows how much of it."""
    config = 'backend_config={"window_config":{"estimated_cycles":"1500"}}'
    kernel = KERNEL_IN_PLACE.format(root="", operand="b")
    text = module(
        f"""  a = A parameter(0)
  b = A tanh(a), {config}
{kernel}
  ROOT c = A tanh(k), {config}"""
    )
    path = tmp_path / "updated.hlo"
    path.write_text(text)
    program = import_hlo(path, None, "tpu-v5e")
    assert priced_s(program) == 0
    kernel_s = 2 * A_BYTES / BANDWIDTH
    assert unestimated_s(program) == {1: pytest.approx(kernel_s)}
    share = kernel_s / (program.all_fast_s + kernel_s)
    assert unestimated_share(program) == pytest.approx(share)
    remark = str(unestimated_remark(program))
    assert f"up to {share:.1%} of the time is without an estimate of the compiler's" in remark
    assert f"{share:.1%} at 0 s, since nobody knows how much they update in place (k)" in remark
    measured = replace(program, provenance={**program.provenance, PRICES: {"profile": ["k"]}})
    assert unestimated_s(measured) == {}


def test_a_program_of_such_a_kernel_alone_has_no_estimate_at_all(tmp_path: Path) -> None:
    kernel = KERNEL_IN_PLACE.format(root="ROOT ", operand="a")
    text = module(f"  a = A parameter(0)\n{kernel}", head=", input_output_alias={ {}: (0, {}) }")
    made = build_program(
        decoded(text),
        "test",
        find_device("tpu-v5e").hardware,
        "test",
        pricing=pricing(find_device("tpu-v5e"), None),
    )
    program = with_prices(made.program, made.prices)
    assert program.all_slow_s == 0
    assert unestimated_share(program) == 1
    assert "100.0% at 0 s, since" in str(unestimated_remark(program))


def test_what_must_be_slow_is_drawn_all_the_same(tmp_path: Path) -> None:
    """A sort whose operand alone must be slow; one of another thread, for which all must be."""
    program = before_prices(imported(tmp_path, cycles=1500))
    sort = [i.name for i in program.instructions].index("s")

    def bound_to_slow(*reads_and_writes: bool) -> Program:
        accesses = tuple(
            replace(a, must_be_slow=True, saving_s=0.0)
            if a.time == sort and a.is_write in reads_and_writes
            else a
            for a in program.accesses
        )
        return replace(program, accesses=accesses)

    assert unestimated_s(bound_to_slow(False)) == unestimated_s(program)
    assert unestimated_s(bound_to_slow(False, True)) == {}


def test_a_share_of_a_percent_is_not_said(tmp_path: Path) -> None:
    program = imported(tmp_path, cycles=15_000_000)
    assert 0 < sum(unestimated_s(program).values()) < 0.01 * program.all_slow_s
    assert unestimated_remark(program) is None


def test_costs_that_are_none_of_the_compiler_leave_nothing_out(tmp_path: Path) -> None:
    program = before_prices(imported(tmp_path, cycles=1500))
    program = replace(program, provenance={"costs": ROOFLINE})
    assert unestimated_share(program) == 0
    assert unestimated_remark(program) is None


def test_commands_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    share = unestimated_share(imported(tmp_path, cycles=1500))
    output = str(tmp_path / "p.json.gz")
    dump = ["--slow", str(tmp_path / "sorted.hlo"), "--hardware", "tpu-v5e"]
    assert main(["import", *dump, "-o", output]) == 0
    commands = (
        ["info", output],
        ["compare", output, "--solvers", "greedy"],
        ["bench", "--programs", output, "--solvers", "greedy"],
        ["gap", output, "--seconds", "1"],
    )
    for command in commands:
        capsys.readouterr()
        assert main(command) == 0
        assert "without an estimate of the compiler's" in capsys.readouterr().err
    for command in commands[:2]:
        assert main([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["unestimated_share"] == pytest.approx(share)


def test_a_profile_takes_the_place_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, cycles=1500)
    modelled, measured, later = (str(tmp_path / f"{name}.json") for name in "mpl")
    profile = tmp_path / "times.csv"
    profile.write_text("instruction,time_us\ns,9\nb,1.5\n")
    dump = ["import", "--slow", str(tmp_path / "sorted.hlo"), "--hardware", "tpu-v5e"]
    assert main([*dump, "-o", modelled]) == 0
    capsys.readouterr()
    assert main([*dump, "--profile", str(profile), "-o", measured]) == 0
    said = capsys.readouterr().err
    assert "times.csv measures 1 of 1 instructions without cycles; 1 others took 1.5 us" in said
    share = unestimated_share(load(Path(measured)))
    assert f"{share:.1%} by the profile times.csv (s)" in said
    assert main(["reprice", modelled, "--profile", str(profile), "-o", later]) == 0
    assert load(Path(later)) == load(Path(measured))
    assert priced_s(load(Path(later))) == pytest.approx(9e-6)
    assert main(["import", "--minimalloc", modelled, "--profile", str(profile), "-o", later]) == 2
    profile.write_text("instruction,time_us\nb,1.5\n")
    assert main(["reprice", modelled, "--profile", str(profile), "-o", later]) == 2
    assert "none for which the compiler states no cycles" in capsys.readouterr().err


def test_the_program_of_a_profile_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, cycles=1500)
    output, profile = str(tmp_path / "p.json"), tmp_path / "times.csv"
    profile.write_text("Program id,instruction,time_us\n11,s,9\n12,s,4\n")
    dump = ["import", "--slow", str(tmp_path / "sorted.hlo"), "--hardware", "tpu-v5e"]
    dump += ["-o", output]
    assert main([*dump, "--profile", str(profile)]) == 2
    assert "'11', '12'; say which with --profile-program" in capsys.readouterr().err
    assert main([*dump, "--profile", str(profile), "--profile-program", "12"]) == 0
    assert priced_s(load(Path(output))) == pytest.approx(4e-6)
    capsys.readouterr()
    assert main([*dump, "--profile-program", "12"]) == 2
    assert "one of a --profile FILE; give both" in capsys.readouterr().err


def test_what_if_keeps_who_priced_what(tmp_path: Path) -> None:
    program = imported(tmp_path, cycles=1500)
    other = derive(program, WhatIf(hardware="tpu-v5p"), "other")
    assert price_sources(other) == price_sources(program)
    scale = other.provenance["compute_scale"]
    assert priced_s(other) == pytest.approx(scale * priced_s(program))
    assert priced_s(derive(program, WhatIf(fast_bytes=2**26), "small")) == priced_s(program)
