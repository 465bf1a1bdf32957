"""What programs are compiled for: topologies by name and size, and the user's own flags."""

from __future__ import annotations

import codecs
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import pytest

import mallocmuzero
from engine.cli import main
from engine.compiler.toolchain import compile as compiling
from engine.compiler.toolchain.compile import Compiled, compile_early, compile_full
from engine.compiler.toolchain.libtpu import exported_module, module_problem
from engine.compiler.toolchain.overflow import Allocation, parse_overflow
from engine.compiler.toolchain.results import Answers
from engine.compiler.toolchain.stablehlo import num_devices
from engine.compiler.toolchain.target import (
    GENERATIONS,
    Target,
    canonical_topology,
    flags_in,
    read_flags,
    target_facts,
    target_of,
    topology_name,
)
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    OutOfMemoryError,
    UnknownNameError,
    UsageError,
)
from engine.program import library
from engine.workflows.tuning import tune_program
from tests.compiler.exported import abstractly_meshed, meshed, small
from tests.compiler.test_compile import child_that
from tests.program.hlo.modules import module

V5E = Target("tpu-v5e")


@pytest.mark.parametrize(
    ("hardware", "topology", "devices", "name"),
    [
        ("tpu-v5e", "", 1, "v5e:2x2"),
        ("tpu-v5e", "", 5, "v5e:2x4"),
        ("tpu-v5e", "", 256, "v5e:16x16"),
        ("tpu-v5e", "16", 4, "v5e:4x4"),
        ("tpu-v6e", "4x2", 8, "v6e:4x2"),
        ("tpu-v6e", "v6e:8x8", 8, "v6e:8x8"),
        ("tpu-v6e", "2x4x1", 8, "v6e:2x4x1"),
        ("tpu-v5p", "2x2", 4, "v5p:2x2"),
        ("tpu-v5p", "", 8, "v5p:2x2x2"),
        ("tpu-v4", "", 8, "v4:2x2x1"),
        ("tpu-v4-megacore", "", 8, "v4:2x2x2"),
        ("tpu7x", "4", 8, "tpu7x:2x2x1"),
        ("tpu7x", "", 9, "tpu7x:2x2x2"),
    ],
)
def test_a_topology_is_found_by_name_or_size(
    hardware: str, topology: str, devices: int, name: str
) -> None:
    assert topology_name(Target(hardware, topology), devices) == name


@pytest.mark.parametrize(
    ("topology", "devices", "kind"),
    [
        ("v6e:2x2", 1, UnknownNameError),
        ("7", 1, UnknownNameError),
        ("2x", 1, UnknownNameError),
        ("2x2x2", 1, UnknownNameError),
        ("v5e:2x2x2", 1, UnknownNameError),
        ("2x2x1x1", 1, UnknownNameError),
        ("2x2", 8, CompilerError),
        ("", 257, CompilerError),
    ],
)
def test_a_topology_that_cannot_be_is_refused(
    topology: str, devices: int, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        topology_name(Target("tpu-v5e", topology), devices)


@pytest.mark.parametrize(
    ("hardware", "topology", "devices", "name"),
    [
        ("tpu-v5e", "", 4, ""),
        ("tpu-v5e", "v5e:2x2", 4, ""),
        ("tpu-v5e", "4", 4, ""),
        ("tpu-v5e", "2x4", 4, "v5e:2x4"),
        ("tpu-v5e", "8", 4, "v5e:2x4"),
        ("tpu-v5e", "v5e:2x4", 8, ""),
        ("tpu-v5e", "nowhere", 4, "nowhere"),
        ("unknown", "2x2", 1, "2x2"),
    ],
)
def test_all_names_of_a_topology_are_one(
    hardware: str, topology: str, devices: int, name: str
) -> None:
    assert canonical_topology(Target(hardware, topology), devices) == name


def test_a_captured_program_is_compiled_as_it_was_captured() -> None:
    """So what its capture compiled is found again."""
    program = library.load_sample("fsdp-v5e-b16384-train")
    assert program.provenance["topology"] == "v5e:2x2"
    stored, given = (Answers(b"", t, None) for t in (target_of(program), Target("tpu-v5e", "")))
    given.target = replace(given.target, options=stored.target.options)
    assert stored._key({}, True) == given._key({}, True)
    eight = {**program.provenance, "topology": "v5e:2x4", "devices": 8}
    assert target_of(replace(program, provenance=eight)).topology == ""
    given.target = replace(given.target, topology="2x4")
    other = given._key({}, True)
    assert other != stored._key({}, True)
    given.target = replace(given.target, topology="v5e:2x4")
    assert other == given._key({}, True)


@pytest.mark.parametrize(
    ("devices", "topology"),
    [(1, ""), (1, "2x4"), (4, ""), (4, "2x2"), (8, ""), (8, "2x4"), (8, "v5e:2x4"), (8, "8")],
)
def test_what_a_capture_compiled_on_a_named_topology_is_found_again(
    devices: int, topology: str
) -> None:
    source, captured = meshed(devices), Target("tpu-v5e", topology)
    known = library.load_sample("fsdp-v5e-b16384-train")
    facts = {**known.provenance, "topology": "", "devices": 1, **target_facts(captured, devices)}
    again = target_of(replace(known, provenance=facts))
    assert Answers(source, captured)._key({}, True) == Answers(source, again)._key({}, True)
    other = Target("tpu-v5e", "4x4")
    assert Answers(source, other)._key({}, True) != Answers(source, again)._key({}, True)


def test_how_many_devices_a_program_is_for_is_read_off_its_export() -> None:
    assert [num_devices(meshed(count)) for count in (1, 4, 8)] == [1, 4, 8]
    whole = meshed(8)
    for bad in (b"", b"source", b"\xff" * 200, whole[:50], whole[:9]):
        assert num_devices(bad) == 1


def test_a_mesh_of_more_devices_than_a_program_was_exported_for_is_told() -> None:
    """The compiler would speak of a `GlobalToLocalShape` for which it has no emitter."""
    assert (
        module_problem(exported_module(meshed(4))) == module_problem(exported_module(small())) == ""
    )
    problem = module_problem(exported_module(abstractly_meshed()))
    assert problem.startswith("its mesh has 4 devices, but it was exported for 1: ")


def test_shapes_grow() -> None:
    for generation in GENERATIONS.values():
        sizes = [generation.devices(shape) for shape in generation.shapes]
        assert sizes == sorted(set(sizes))


def test_a_program_says_on_how_many_devices_of_which_topology_it_is() -> None:
    assert target_facts(V5E, 1) == {}
    assert target_facts(V5E, 4) == {"topology": "v5e:2x2", "devices": 4}
    partitioned = module("  ROOT a = f32[8]{0} parameter(0)").replace(
        "is_scheduled=true", "is_scheduled=true, num_partitions=4", 1
    )
    assert "num_partitions" in partitioned
    assert Compiled(partitioned, "").devices == 4
    assert Compiled(module("  ROOT a = f32[8]{0} parameter(0)"), "").devices == 1


def test_flags_are_read_as_people_write_them(tmp_path: Path) -> None:
    lines = tmp_path / "flags.txt"
    lines.write_text("# ours\n--xla_a=1 --xla_b\n\nxla_c=overrides { x: 1 }\n")
    assert read_flags([str(lines)]) == {
        "xla_a": "1",
        "xla_b": "true",
        "xla_c": "overrides { x: 1 }",
    }
    body = tmp_path / "flags.json"
    body.write_text(json.dumps({"compiler_options": {"xla_a": True, "xla_b": 0.5}}))
    assert read_flags([str(body), "xla_b=2"]) == {"xla_a": "true", "xla_b": "2"}
    assert read_flags(["xla_b=2", str(body)]) == {"xla_a": "true", "xla_b": "2"}
    assert read_flags(["xla_a=" + "x" * 300]) == {"xla_a": "x" * 300}
    assert flags_in("--a=1=2  --b") == {"a": "1=2", "b": "true"}
    for bad in ("xla_a", "=1", "xla_a=", "no such file=1"):
        with pytest.raises(UsageError, match="neither a file nor an option"):
            read_flags([bad])
    for text in ("[1]", '{"xla_a": [1]}', "{"):
        body.write_text(text)
        with pytest.raises(UsageError):
            read_flags([str(body)])


ORDER = 'overrides { matcher { regex: "x" } options { rank: -1 } }'


@pytest.mark.parametrize("text", [f"--xla_a={ORDER} --xla_b", f"--xla_b --xla_a={ORDER}"])
def test_a_value_with_blanks_is_one_value_also_behind_dashes(text: str, tmp_path: Path) -> None:
    lines = tmp_path / "flags.txt"
    lines.write_text(text)
    for given in (text, str(lines)):
        assert read_flags([given]) == {"xla_a": ORDER, "xla_b": "true"}
    with pytest.raises(UsageError, match="neither a file nor an option"):
        read_flags(["--xla_a junk"])


@pytest.mark.parametrize("text", ['{"xla_a": "1"}', "--xla_a=1\n", "# ours\nxla_a=1\n"])
def test_a_file_of_options_may_be_gzipped_or_begin_with_a_mark(text: str, tmp_path: Path) -> None:
    packed, marked = tmp_path / "flags.gz", tmp_path / "flags"
    packed.write_bytes(gzip.compress(text.encode()))
    marked.write_bytes(codecs.BOM_UTF8 + text.encode())
    for path in (packed, marked):
        assert read_flags([str(path)]) == {"xla_a": "1"}


def test_what_is_no_file_of_options_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "flags"
    bomb = gzip.compress(bytes(2**20))
    for data in (b"\xff\xfex", gzip.compress(b"--xla_a=1")[:-4], bomb, b"-" * 2**20):
        path.write_bytes(data)
        with pytest.raises(UsageError, match=r"^\S+flags: [^\n]+$"):
            read_flags([str(path)])


def test_an_option_has_one_value(tmp_path: Path) -> None:
    assert read_flags(["xla_a=1", "xla_a=1"]) == {"xla_a": "1"}
    lines, other = tmp_path / "flags.txt", tmp_path / "other.txt"
    lines.write_text("xla_a=1\nxla_b=1\n--xla_a=2\n")
    other.write_text("xla_b=2")
    for bad in ([str(lines)], ["xla_a=1", "--xla_a=2"]):
        with pytest.raises(UsageError, match="xla_a is given as 1 and as 2"):
            read_flags(bad)
    lines.write_text("xla_b=1")
    with pytest.raises(UsageError, match="xla_b is given as 1 and as 2"):
        read_flags([str(lines), str(other)])


def test_an_option_has_one_value_also_in_one_line(tmp_path: Path) -> None:
    lines = tmp_path / "flags.txt"
    lines.write_text("--xla_a=1 --xla_a=2\n")
    for bad in ("--xla_a=1 --xla_a=2", str(lines)):
        with pytest.raises(UsageError, match="xla_a is given as 1 and as 2"):
            read_flags([bad])
    assert read_flags(["--xla_a=1 --xla_a=1"]) == {"xla_a": "1"}


def test_options_in_json_are_read_and_checked_as_those_in_lines(tmp_path: Path) -> None:
    body = tmp_path / "flags.json"
    body.write_text('{"--xla_d": 1, "xla_e": "x"}')
    assert read_flags([str(body)]) == {"xla_d": "1", "xla_e": "x"}
    body.write_text('{"--xla_d": 1, "xla_d": 2}')
    with pytest.raises(UsageError, match="xla_d is given as 1 and as 2"):
        read_flags([str(body)])
    for bad in ('{"b c": 3}', '{"xla_a": ""}', '{"": "1"}', '{"compiler_options": {"a=b": 1}}'):
        body.write_text(bad)
        with pytest.raises(UsageError, match=r"flags\.json: neither a file nor an option"):
            read_flags([str(body)])


def test_options_of_a_users_program_may_be_what_jax_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts, numbers and truth values; anything else is refused before it is compiled."""
    asked: list[dict[str, str]] = []

    def compile_full(stablehlo: bytes, target: Target, options: dict[str, str]) -> Compiled:
        asked.append(dict(target.options))
        raise CompileInterruptedError("enough")

    def compile_early(stablehlo: bytes, target: Target, options: dict[str, str]) -> Compiled:
        return compile_full(stablehlo, target, options)

    monkeypatch.setattr("engine.compiler.toolchain.results.compile_full", compile_full)
    monkeypatch.setattr("engine.compiler.toolchain.results.compile_early", compile_early)
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path))
    limit = "xla_tpu_scoped_vmem_limit_kib"
    program = library.load_sample("gptdecode-v5e-b8")
    doubled = jax.jit(lambda x: x * 2)
    calls: tuple[Callable[..., object], ...] = (
        partial(mallocmuzero.capture, doubled, 1.0, hardware="tpu-v5e"),
        partial(mallocmuzero.tune, doubled, 1.0, hardware="tpu-v5e"),
        partial(mallocmuzero.verify, program),
        partial(tune_program, program),
    )
    for call in calls:
        with pytest.raises(CompilerError, match="enough"):
            call(compiler_options={limit: 24576, "xla_a": False, "xla_b": 0.5, "xla_c": "x"})
        for bad in ({"xla_a": None}, {"xla_a": [1]}, {"xla_a": ""}, {"xla a": 1}, {1: "x"}):
            with pytest.raises(UsageError, match=r"compiler_options: .* is no option"):
                call(compiler_options=bad)
    own = {limit: "24576", "xla_a": "false", "xla_b": "0.5", "xla_c": "x"}
    assert asked == [own] * len(calls)


def test_the_scoped_limit_is_read_from_flags_and_environment() -> None:
    limit = "xla_tpu_scoped_vmem_limit_kib"
    assert V5E.scoped_bytes is None
    assert Target("tpu-v5e", init_args=f"--{limit}=100").scoped_bytes == 100 * 2**10
    both = Target("tpu-v5e", options={limit: "50"}, init_args=f"--{limit}=100")
    assert both.scoped_bytes == 50 * 2**10


SCOPED = """RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:
Ran out of memory in memory space vmem while allocating on stack for %whole_block.1 = \
f32[8192,2048]{1,0:T(8,128)} custom-call(%x.1), custom_call_target="tpu_custom_call". \
Scoped allocation with size 128.00M and limit 16.00M exceeded scoped vmem limit by 112.00M."""

WHOLE = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space \
vmem. Used 256.00M of 128.00M vmem. Exceeded vmem capacity by 128.00M.

Program vmem requirement 256.00M:
    scoped          256.00M

  Largest program allocations in vmem:

  1. Size: 128.00M
     Operator: op_name="jit(f)/limit_over/pallas_call"
     Shape: u8[134217728]{0}
     Unpadded size: 128.00M
     Tag: input window allocation for operator input 0. The window shape is f32[8192,4096].
     XLA label: limit_over.1 = custom-call(x.1), custom_call_target="tpu_custom_call"
     Allocation type: scoped
     ==========================

  2. Size: 96.00M
     Shape: u8[100663296]{0}
     XLA label: other.1 = custom-call(x.1)
"""


def test_a_kernel_that_needs_too_much_is_named_with_what_it_needs() -> None:
    found = parse_overflow(SCOPED.replace("\\\n", ""))
    assert found is not None
    assert (found.space, found.kernel, found.used, found.limit) == (
        "VMEM",
        "whole_block.1",
        "128.00M",
        "16.00M",
    )
    assert found.is_scoped
    assert "xla_tpu_scoped_vmem_limit_kib" in found.sentence


def test_the_largest_allocations_of_a_program_are_listed() -> None:
    found = parse_overflow(WHOLE)
    assert found is not None
    assert (found.used, found.limit, found.is_scoped) == ("256.00M", "128.00M", False)
    assert found.allocations == (
        Allocation(
            "128.00M",
            "u8[134217728]{0}",
            "limit_over.1",
            "input window allocation for operator input 0",
        ),
        Allocation("96.00M", "u8[100663296]{0}", "other.1", ""),
    )
    assert sum("128.00M" in line for line in found.table) == 2
    assert parse_overflow("INVALID_ARGUMENT: No such compile option: 'xla_x'") is None


def test_capture_prints_the_table_before_its_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    child = child_that(
        tmp_path,
        f"(pathlib.Path(sys.argv[1]) / 'refusal').write_text({WHOLE!r})",
        "sys.exit(4)",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    (tmp_path / "net.stablehlo").write_bytes(b"any")
    command = ["capture", "--stablehlo", str(tmp_path / "net.stablehlo"), "--raw", str(tmp_path)]
    assert main([*command, "-o", str(tmp_path / "p.json")]) == 2
    *table, last = capsys.readouterr().err.splitlines()
    assert last.startswith("error: ") and "256.00M" in last
    assert any("limit_over.1" in line for line in table)
    assert not (tmp_path / "p.json").exists()


def test_a_flag_of_the_environment_that_is_unknown_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = child_that(
        tmp_path,
        "flag = os.environ['LIBTPU_INIT_ARGS']",
        "print(f'ERROR: Unknown command line flag {flag!r}')",
        "sys.exit(1)",
    )
    monkeypatch.setattr(compiling, "CHILD", child)
    with pytest.raises(CompilerError) as error:
        compile_full(b"any", Target("tpu-v5e", init_args="--xla_y=1"))
    assert str(error.value) == "LIBTPU_INIT_ARGS: Unknown command line flag '--xla_y=1'"


PARTITIONED = """
from jax import export
import sys, jax, jax.numpy as jnp, numpy
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec
devices = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices
mesh = Mesh(numpy.array(devices), ("x",))
def shape(*sides, spec):
    return jax.ShapeDtypeStruct(sides, jnp.bfloat16, sharding=NamedSharding(mesh, spec))
P = PartitionSpec
args = shape(512, 1024, spec=P("x")), shape(1024, 2048, spec=P(None, "x"))
step = jax.jit(lambda x, w: jnp.tanh(x @ w).sum(), out_shardings=NamedSharding(mesh, P()))
open(sys.argv[1], "wb").write(export.export(step, platforms=["tpu"])(*args).serialize())
open(sys.argv[2], "w").write(step.lower(*args).compile().as_text())
"""


@pytest.mark.compiler
def test_a_program_of_a_mesh_compiles_to_the_instructions_of_the_users_own_compile(
    tmp_path: Path,
) -> None:
    from engine.program.hlo.flow import Flow
    from engine.program.hlo.parse import parse_hlo

    exported, own = tmp_path / "net.stablehlo", tmp_path / "own.hlo"
    command = [sys.executable, "-c", PARTITIONED, str(exported), str(own)]
    subprocess.run(command, env=compiling._child_environment(""), check=True)
    found = compile_full(exported.read_bytes(), V5E)
    assert found.devices == 4

    def names(hlo: str) -> list[str]:
        return [event.name for event in Flow(parse_hlo(hlo.encode(), "here"), "here").events]

    assert names(found.hlo) == names(own.read_text())
    with pytest.raises(CompilerError, match="for 4 devices"):
        compile_early(exported.read_bytes(), Target("tpu-v5e", "1x1"))


@pytest.mark.compiler
def test_flags_of_both_kinds_reach_the_compiler() -> None:
    limit = "xla_tpu_scoped_vmem_limit_kib"
    found = compile_early(small(), Target("tpu-v5e", init_args=f"--{limit}=65536"))
    assert found.limits["scoped_bytes"] == str(64 * 2**20)
    assert found.limits["max_size_in_bytes"] == str(64 * 2**20)
    target = Target("tpu-v5e", options={limit: "24576"}, init_args=f"--{limit}=65536")
    assert compile_early(small(), target).limits["scoped_bytes"] == str(24 * 2**20)
    with pytest.raises(CompilerError, match=limit) as error:
        compile_early(small(), Target("tpu-v5e", options={limit: "much"}))
    assert not isinstance(error.value, OutOfMemoryError)
