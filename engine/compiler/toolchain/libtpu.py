"""The real XLA TPU compiler, run ahead of time on a CPU machine.

Only this module touches `libtpu`. Everything it returns is text that any machine can read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.compiler.toolchain.target import Target, find_generation, topology_name
from engine.errors import CompilerError, MissingDependencyError, install_line

# Read by libtpu while it loads, so a process that compiles is started with them. Without them it
# asks a metadata server for the host's TPU, and a second process on the machine aborts on a lock.
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


MAX_NAME_BYTES = 128
"""XLA has a module's name in those of its dumps, leaves it out where such a name gets longer than
255 bytes, and loses the file where it gets so long by what is added later."""


@dataclass(frozen=True)
class Module:
    """A program as `jax.export` serialised it.

    `name`: under which it is compiled, cut to `MAX_NAME_BYTES`. `artifact`: its StableHLO as
    portable bytecode. `devices`: for how many it was exported. `mesh_devices`: how many its largest
    mesh has; 1 without one.
    """

    name: str
    artifact: bytes
    platforms: tuple[str, ...]
    devices: int
    mesh_devices: int
    is_polymorphic: bool


_GPU = Path("/dev/nvidiactl")
"""Where there is a driver for NVIDIA's GPUs."""
_PLATFORMS = "jax_platforms"
"""JAX's setting, which mypy does not know."""
_NOT_INSTALLED = f"the XLA TPU compiler is not installed: {install_line('compiler')}"


def use_cpu_here() -> None:
    """Keep jax from looking for a TPU in this process; for processes of ours, before jax runs.

    A platform that the user asks for (`JAX_PLATFORMS`) stays.
    """
    _use("cpu")


def use_no_tpu_here() -> None:
    """The same where a GPU may do the work, if there is one that this jax can use."""
    has_plugin = any(find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    _use("cuda,cpu" if has_plugin and _GPU.exists() else "cpu")


def _use(platforms: str) -> None:
    import jax

    if not getattr(jax.config, _PLATFORMS):
        jax.config.update(_PLATFORMS, platforms)


def versions() -> dict[str, str]:
    """Version of each package that decides what the compiler answers.

    Raises MissingDependencyError without the compiler.
    """
    from importlib import metadata

    try:
        return {name: metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}
    except metadata.PackageNotFoundError as error:
        raise MissingDependencyError(_NOT_INSTALLED) from error


def require_compiler(hardware: str) -> None:
    """Raise unless the compiler is installed and knows the hardware.

    MissingDependencyError or UnknownNameError.
    """
    find_generation(hardware)
    if find_spec("libtpu") is None:
        raise MissingDependencyError(_NOT_INSTALLED)


@cache
def _devices(name: str, chip: str) -> tuple[Any, ...]:
    """The devices of a topology, by its name and the configuration of its chips (`Generation`).

    Raises CompilerError if the compiler knows none.
    """
    from jax.experimental import topologies

    options = {"chip_config_name": chip} if chip else {}
    try:
        found = topologies.get_topology_desc(platform="tpu", topology_name=name, **options)
        return tuple(found.devices)
    except Exception as error:  # jax raises its own kind for a status of the compiler
        raise CompilerError(f"the compiler has no topology {name}: {error!s:.160}") from error


def exported_module(data: bytes) -> Module:
    """The module in bytes that `jax.export` serialised; jax raises where they are not such."""
    from jax import export
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    exported = export.deserialize(bytearray(data))
    with mlir.make_ir_context():
        module = _jax.mlir.deserialize_portable_artifact(exported.mlir_module_serialized)
        name = ir.StringAttr(module.operation.attributes["sym_name"]).value
        mesh_devices = max((_size_of(op) for op in module.body.operations), default=1)
    return Module(
        name=name.encode()[:MAX_NAME_BYTES].decode(errors="ignore"),
        artifact=exported.mlir_module_serialized,
        platforms=tuple(exported.platforms),
        devices=exported.nr_devices,
        mesh_devices=mesh_devices,
        is_polymorphic=exported.uses_global_constants,
    )


def _size_of(operation: Any) -> int:
    """Devices of the mesh that an operation declares, like `<["x"=2, "y"=4]>`; 1 for others."""
    if operation.operation.name != "sdy.mesh":
        return 1
    axes = re.findall(r'"=(\d+)', str(operation.operation.attributes["mesh"]))
    return math.prod(int(size) for size in axes)


def module_problem(module: Module) -> str:
    """Why a module cannot be compiled for a TPU; empty if it can."""
    if module.platforms != ("tpu",):
        known = ", ".join(module.platforms)
        return f'it was exported for {known}; export it with platforms=["tpu"]'
    if module.is_polymorphic:
        return "some of its shapes are unknown; export it with every dimension a number"
    if module.mesh_devices > module.devices:
        return (
            f"its mesh has {module.mesh_devices} devices, but it was exported for {module.devices}:"
            " with jax.sharding.AbstractMesh, give jax.jit in_shardings on that mesh, or use a"
            " jax.sharding.Mesh of devices"
        )
    return ""


def compile_module(module: Module, target: Target, options: Mapping[str, str]) -> str:
    """Compile for `target` with the given compiler options; the final, scheduled HLO.

    The exported module itself is compiled. Called from another jitted function instead, it would
    lose its donated arguments, and its instructions would bear other names than those of
    `jitted.lower(*args).compile()`, the call that the options are meant for. A module of several
    devices is partitioned over the first ones of the topology, as that call does it for a mesh.
    """
    require_compiler(target.hardware)
    name = topology_name(target, module.devices)
    devices = _devices(name, find_generation(target.hardware).chip)[: module.devices]
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import _jax, xla_client
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        parsed = _jax.mlir.deserialize_portable_artifact(module.artifact)
        parsed.operation.attributes["sym_name"] = ir.StringAttr.get(module.name)
    asked = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=module.devices,
        device_assignment=np.array([[device.id for device in devices]]),
        env_options_overrides=dict(options),
    )
    asked.executable_build_options.use_spmd_partitioning = True
    asked.executable_build_options.use_shardy_partitioner = True
    mesh = xla_client.DeviceList(devices)
    executable = compiler.backend_compile_and_load(devices[0].client, parsed, mesh, asked, [])
    return "\n\n".join(m.to_string() for m in executable.hlo_modules())


def strip_paths(hlo: str) -> str:
    """The HLO without its tables of source files, which name paths of the machine."""
    return re.sub(
        r"\n(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ .*\n)*", "\n", hlo
    )
