"""The sample programs, the held-out and the large ones: which model, hardware and batch size.

Batch sizes are chosen so that the fast memory is contested: what is alive together exceeds it,
while single tensors fit. Too small a batch and everything fits; too large and nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.compiler.models import Workload, build
from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.stablehlo import exported


@dataclass(frozen=True)
class Sample:
    """One model compiled for one hardware at one batch size, for inference or a training step."""

    model: str
    hardware: str
    batch: int
    train: bool = False

    @property
    def name(self) -> str:
        """A name for files, like `resnet50-v5e-b64` or `resnet50-v5e-b16-train`."""
        chip = self.hardware.removeprefix("tpu-")
        return f"{self.model}-{chip}-b{self.batch}" + ("-train" if self.train else "")


SAMPLES: tuple[Sample, ...] = (
    Sample("resnet50", "tpu-v5e", 64),
    Sample("alexnet", "tpu-v4", 24),
    Sample("bert", "tpu-v5e", 32),
    Sample("t5", "tpu-v5e", 24),
    Sample("mobilenetv2", "tpu-v5e", 64),
    Sample("vit", "tpu-v6e", 48),
    Sample("unet", "tpu-v5e", 8),
    Sample("lstm", "tpu-v5e", 128),
    Sample("llamadecode", "tpu-v5e", 8),
    Sample("gptdecode", "tpu-v5e", 8),
    Sample("gpt", "tpu-v6e", 4),
    Sample("bert", "tpu-v4", 32),
    Sample("alphatensor", "tpu-v5e", 16),
    Sample("dlrm", "tpu-v5e", 12288),
    Sample("vgg16", "tpu-v5e", 16),
    Sample("mixer", "tpu-v5e", 96),
    Sample("llamadecode", "tpu-v6e", 8),
    Sample("lstm", "tpu-v5e", 64, train=True),
    Sample("alexnet", "tpu-v4", 32, train=True),
    Sample("efficientnetb0", "tpu-v5e", 32),
    Sample("gpt", "tpu-v5e", 8, train=True),
    Sample("alphatensor", "tpu-v5e", 4, train=True),
    Sample("alphatensor", "tpu-v4", 16),
    Sample("mixer", "tpu-v6e", 96),
    Sample("t5", "tpu-v5p", 24),
    Sample("bert", "tpu-v5e", 32, train=True),
    Sample("resnet50", "tpu-v4", 48),
    Sample("densenet121", "tpu-v5e", 32),
    Sample("t5", "tpu-v5e", 16, train=True),
    Sample("resnet50", "tpu-v5e", 16, train=True),
    Sample("inceptionv3", "tpu-v5e", 32),
)

HELD_OUT: tuple[Sample, ...] = (
    Sample("gnn", "tpu-v5e", 8),
    Sample("mlpae", "tpu-v5p", 4096),
    Sample("mamba", "tpu-v6e", 32),
    Sample("convae", "tpu-v4", 32),
    Sample("wav2vec", "tpu-v5e", 8),
    Sample("wav2vec", "tpu-v4", 8),
    Sample("resnet50v2", "tpu-v5p", 32),
    Sample("inceptionv3", "tpu-v4", 32),
    Sample("gptdeep", "tpu-v5p", 8, train=True),
    Sample("gptdeep", "tpu-v5e", 8, train=True),
    Sample("xception", "tpu-v5e", 32),
    Sample("convnexttiny", "tpu-v6e", 64),
    Sample("mamba", "tpu-v5e", 16, train=True),
    Sample("densenet121", "tpu-v6e", 64),
    Sample("mlpae", "tpu-v6e", 4096, train=True),
)
"""Programs on which nothing is tuned; those that compile soonest come first."""

LARGE: tuple[Sample, ...] = (
    Sample("bertbase", "tpu-v5e", 16, train=True),
    Sample("gpt2", "tpu-v5e", 4, train=True),
    Sample("vitlarge", "tpu-v6e", 32, train=True),
    Sample("alphatensorfull", "tpu-v5e", 4, train=True),
    Sample("efficientnetb7", "tpu-v4", 4),
    Sample("unetfull", "tpu-v5e", 2),
    Sample("llama", "tpu-v6e", 2),
    Sample("t5base", "tpu-v4", 8, train=True),
    Sample("bertlarge", "tpu-v5e", 4, train=True),
    Sample("gpt2medium", "tpu-v6e", 2, train=True),
    Sample("resnet152", "tpu-v5e", 16, train=True),
)
"""Models at their published depth."""


def sample_source(sample: Sample) -> tuple[bytes, dict[str, Any]]:
    """The serialised StableHLO of a sample, and what there is to know of it."""
    workload = build(sample.model, sample.batch, sample.train)
    facts = {
        "model": sample.model,
        "description": workload.description,
        "hardware": sample.hardware,
        "batch": sample.batch,
        "train": sample.train,
        "versions": libtpu.versions(),
    }
    return exported_workload(workload), facts


def exported_workload(workload: Workload) -> bytes:
    """The serialised StableHLO of a workload."""
    import jax

    def shape(a: Any) -> Any:
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding)

    shapes = jax.tree.map(shape, workload.args)
    return exported(jax.jit(workload.fn, donate_argnums=workload.donate_argnums), *shapes)
