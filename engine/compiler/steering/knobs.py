"""Compiler options that make another program: other windows, fusions, schedules or layouts.

Unlike the knobs of the memory pass (`engine.compiler.steering.export.KNOBS`), which place the same
instructions elsewhere, these change the instructions and what they cost, so a program is captured
anew under them. The candidates are those of public launch scripts and of the page *XLA flags
guidance* that this compiler knows; `python -m benchmarks knobs` measures which change anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.compiler.toolchain.libtpu import strip_paths
from engine.compiler.toolchain.results import Answers
from engine.compiler.toolchain.target import SCOPED_LIMIT
from engine.errors import CompilerError

KINDS = ("scratch", "fusion", "schedule", "layout", "memory", "mesh")


@dataclass(frozen=True)
class Setting:
    """Options that change the program. `kind`: one of KINDS."""

    kind: str
    options: Mapping[str, str]

    @property
    def title(self) -> str:
        """The options in words."""
        return ", ".join(f"{name}={value}" for name, value in self.options.items())


_SCOPED_KIB: Mapping[str, tuple[int, ...]] = {
    "tpu-v4": (),
    "tpu-v5e": (24_576, 32_768, 50_000, 8_192),
    "tpu-v5p": (24_576, 32_768, 40_960, 8_192),
    "tpu-v6e": (49_152, 65_536, 98_304, 16_384),
    "tpu7x": (49_152, 65_536, 16_384),
}
"""Limits around the default (16 MiB on v5e and v5p, 32 MiB on v6e and tpu7x), those that launch
scripts set among them."""

_FLAGS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("fusion", {"xla_tpu_rwb_fusion": "false"}),
    ("fusion", {"xla_tpu_dot_dot_fusion": "false"}),
    ("fusion", {"xla_jf_conv_input_fusion": "false"}),
    ("fusion", {"xla_jf_conv_output_fusion": "false"}),
    ("fusion", {"xla_tpu_enable_experimental_fusion_cost_model": "true"}),
    ("fusion", {"xla_tpu_enable_multi_level_nested_loop_fusion": "true"}),
    ("fusion", {"xla_tpu_nested_dot_fusion": "true"}),
    ("fusion", {"xla_tpu_enable_copy_fusion": "false"}),
    ("fusion", {"xla_tpu_scavenge_vmem_for_fusions": "true"}),
    ("fusion", {"xla_tpu_reduce_loop_fusion_dup_with_unfusable_user": "false"}),
    ("fusion", {"xla_tpu_vector_load_fusion_window": "1024"}),
    ("fusion", {"xla_tpu_vector_store_fusion_window": "256"}),
    ("schedule", {"xla_tpu_enable_latency_hiding_scheduler": "false"}),
    ("schedule", {"xla_tpu_enable_all_experimental_scheduler_features": "true"}),
    ("schedule", {"xla_tpu_enable_scheduler_memory_pressure_tracking": "true"}),
    ("schedule", {"xla_tpu_memory_bound_loop_optimizer_options": "enabled:true"}),
    ("layout", {"xla_tpu_order_dot_after_layout": "false"}),
    ("layout", {"xla_tpu_aggressive_opt_barrier_removal": "ENABLED"}),
    ("layout", {"xla_tpu_enable_aggressive_loop_fusion_layout_opt": "true"}),
    ("layout", {"xla_tpu_bf16_emission_mode": "NATIVE_EMISSION"}),
    ("memory", {"xla_tpu_licm_size_inflation_ratio": "1"}),
    ("memory", {"xla_tpu_rematerialize_broadcasts": "false"}),
    ("memory", {"xla_tpu_prefuse_self_attention": "false"}),
)

_OF_A_MESH: tuple[Mapping[str, str], ...] = (
    {"xla_tpu_enable_async_collective_fusion": "false"},
    {"xla_tpu_enable_async_collective_fusion_fuse_all_gather": "false"},
    {"xla_tpu_enable_async_collective_fusion_multiple_steps": "false"},
    {"xla_tpu_overlap_compute_collective_tc": "false"},
    {"xla_jf_spmd_threshold_for_windowed_einsum_mib": "1000000"},
    {"xla_tpu_decompose_all_gather_einsum": "true"},
    {"xla_tpu_decompose_einsum_reduce_scatter": "true"},
    {"xla_tpu_enable_data_parallel_all_reduce_opt": "true"},
    {"xla_enable_async_all_gather": "false"},
)


def settings(hardware: str, devices: int = 1) -> tuple[Setting, ...]:
    """The settings to try on a chip, for a program of so many devices.

    Kinds take turns, so that the first of them cover all kinds.
    """
    limits = ({SCOPED_LIMIT: str(kib)} for kib in _SCOPED_KIB.get(hardware, ()))
    made = [Setting("scratch", options) for options in limits]
    made += [Setting(kind, options) for kind, options in _FLAGS]
    if devices > 1:
        made += [Setting("mesh", options) for options in _OF_A_MESH]
    ranks: dict[str, int] = {}
    ranked = []
    for setting in made:
        rank = ranks[setting.kind] = ranks.get(setting.kind, -1) + 1
        ranked.append((rank, setting))
    ranked.sort(key=lambda pair: pair[0])
    return tuple(setting for _, setting in ranked)


def together(one: Setting, other: Setting) -> Setting:
    """Both settings at once."""
    return Setting(f"{one.kind} and {other.kind}", {**one.options, **other.options})


def distinct(
    answers: Answers,
    tried: Sequence[Setting],
    note: Callable[[str], None],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[Setting]:
    """The settings under which early stops show another program than any before, in their order.

    What this compiler does not know or cannot compile is noted and passed over. `goes_on` is asked
    before every early stop.
    """
    seen = {fingerprint(answers.stopped({}).hlo)}
    others = []
    for setting in tried:
        if not goes_on():
            break
        try:
            mark = fingerprint(answers.stopped(setting.options).hlo)
        except CompilerError as error:
            note(f"{setting.title}: {error}")
            continue
        if mark not in seen:
            seen.add(mark)
            others.append(setting)
    note(f"knobs: {len(others)} of {len(tried)} make another program")
    return others


def fingerprint(hlo: str) -> str:
    """A hash that is equal for equal modules, wherever their operations come from."""
    bare = re.sub(r", metadata=\{[^}]*\}", "", strip_paths(hlo))
    body = bare.partition("\n")[2]
    return hashlib.sha256(body.encode()).hexdigest()
