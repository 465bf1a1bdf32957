"""Heap and alignment of each hardware's fast memory, as the compiler's own memory pass states them.

    python -m engine.compiler.toolchain.fast_memory [HARDWARE ...] [-o FILE]

compiles a small program per hardware in a child process with the pass's log switched on, and reads
the lines in which it states its options. `engine.hardware.presets` holds the results.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.stablehlo import exported
from engine.compiler.toolchain.target import GENERATIONS, Target
from engine.errors import CompilerError
from engine.files import write_bytes

MODULE = "engine.compiler.toolchain.fast_memory"

LOG_ENVIRONMENT = {
    "TPU_VMODULE": "memory_space_assignment=3,memory_space_assignment_util=3,algorithm=3",
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
}
"""Makes the memory pass write what it does to standard error."""

_HEAP = re.compile(r"\] max_size_in_bytes: (\d+)")
_ALIGNMENT = re.compile(r"\] alignment_in_bytes: (\d+)")
_SCOPED = re.compile(r"default scoped vmem \(from flag\): (\d+)")
_WITHIN = re.compile(r"does_msa_directly_allocate_scoped_vmem: T")


@dataclass(frozen=True)
class FastMemory:
    """The fast memory in which the memory pass may place values, in bytes.

    `scoped_bytes`: scratch that single instructions may use. It lies before the heap, or, where
    `is_scratch_in_heap`, the pass gives each instruction what it needs out of the heap.
    """

    hardware: str
    heap_bytes: int
    alignment: int
    scoped_bytes: int
    is_scratch_in_heap: bool


def read_log(log: str, hardware: str) -> FastMemory:
    """The figures in a log of the memory pass. Raises CompilerError if it does not state them."""
    heap, alignment = _HEAP.search(log), _ALIGNMENT.search(log)
    if heap is None or alignment is None:
        last = (log.strip().splitlines() or ["it wrote nothing"])[-1]
        raise CompilerError(f"{hardware}: the compiler's log states no heap ({last:.200})")
    scoped = _SCOPED.search(log)
    return FastMemory(
        hardware=hardware,
        heap_bytes=int(heap[1]),
        alignment=int(alignment[1]),
        scoped_bytes=int(scoped[1]) if scoped else 0,
        is_scratch_in_heap=_WITHIN.search(log) is not None,
    )


def measure(hardware: str) -> FastMemory:
    """The fast memory by the compiler's log; seconds. Raises CompilerError if it states none."""
    command = [sys.executable, "-m", MODULE, "--compile", hardware]
    environment = {**os.environ, **libtpu.ENVIRONMENT, **LOG_ENVIRONMENT}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return read_log(done.stderr.decode(errors="replace"), hardware)


def compile_small(hardware: str) -> None:
    """Compile two matrix products, so that the memory pass has something to place."""
    import jax
    import jax.numpy as jnp

    def products(x: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        return jnp.tanh(x @ first) @ second

    matrix = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)
    stablehlo = exported(jax.jit(products), matrix, matrix, matrix)
    libtpu.compile_module(libtpu.exported_module(stablehlo), Target(hardware), {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line of JSON per hardware, and write all to a file if asked."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("hardware", nargs="*", default=list(GENERATIONS))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.compile:
        compile_small(options.hardware[0])
        return 0
    rows = {name: asdict(measure(name)) for name in options.hardware}
    for row in rows.values():
        sys.stdout.write(json.dumps(row) + "\n")
    if options.output is not None:
        body = {"versions": libtpu.versions(), "rows": list(rows.values())}
        write_bytes(options.output, (json.dumps(body, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
