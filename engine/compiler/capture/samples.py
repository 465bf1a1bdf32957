"""The sample programs, the held-out, the large and the real ones: model, hardware, batch size.

Batch sizes are chosen so that the fast memory is contested: what is alive together exceeds it,
while single tensors fit. Too small a batch and everything fits; too large and nothing does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.compiler.models import Workload, build
from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.stablehlo import exported
from engine.compiler.toolchain.target import SCOPED_LIMIT, Target
from engine.errors import UsageError


@dataclass(frozen=True)
class Sample:
    """One model compiled for one hardware at one batch size, for inference or a training step.

    `feature`: which of the `FEATURES` of real programs it is there for. `is_held_out`: nothing is
    tuned on it. `options`: compiler options that hold for all its compiles.
    """

    model: str
    hardware: str
    batch: int
    train: bool = False
    feature: str = ""
    is_held_out: bool = False
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """A name for files, like `resnet50-v5e-b64` or `resnet50-v5e-b16-train`."""
        chip = self.hardware.removeprefix("tpu-")
        train, flags = "-train" if self.train else "", "-flags" if self.options else ""
        return f"{self.model}-{chip}-b{self.batch}{train}{flags}"

    @property
    def target(self) -> Target:
        """What it is compiled for; the smallest topology that it fits on."""
        return Target(self.hardware, options=self.options)


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

LOOPS, BRANCHES, CHIPS = "loop of unknown length", "branches", "many chips"
KERNELS, HOST, FLAGS = "own kernel", "host memory", "own flags"
FEATURES = (LOOPS, BRANCHES, CHIPS, KERNELS, HOST, FLAGS)
"""What programs of teams have, and dense programs for one chip have not."""

REAL: tuple[Sample, ...] = (
    Sample("fsdp", "tpu-v5e", 16384, train=True, feature=CHIPS),
    Sample("expertparallel", "tpu-v4", 512, feature=CHIPS),
    Sample("equilibrium", "tpu-v5p", 64, feature=LOOPS),
    Sample("conjugate", "tpu-v4", 512, feature=LOOPS),
    Sample("earlyexit", "tpu-v5e", 48, feature=BRANCHES),
    Sample("gatedkernel", "tpu-v6e", 32, feature=KERNELS),
    Sample("offloadtrain", "tpu-v5e", 8192, train=True, feature=HOST),
    Sample("lstm", "tpu-v5e", 128, feature=FLAGS, options={SCOPED_LIMIT: "50000"}),
    Sample("ringattention", "tpu-v5p", 4, feature=CHIPS, is_held_out=True),
    Sample("tensorparallel", "tpu-v6e", 32, feature=CHIPS, is_held_out=True),
    Sample("speculative", "tpu-v5e", 256, feature=LOOPS, is_held_out=True),
    Sample("modalities", "tpu-v6e", 64, feature=BRANCHES, is_held_out=True),
    Sample("lossscale", "tpu-v5p", 2048, train=True, feature=BRANCHES, is_held_out=True),
    Sample("flash", "tpu-v4", 32, feature=KERNELS, is_held_out=True),
    Sample("skiphost", "tpu-v6e", 16384, feature=HOST, is_held_out=True),
    Sample(
        "mlpae",
        "tpu-v5p",
        4096,
        train=True,
        feature=FLAGS,
        is_held_out=True,
        options={SCOPED_LIMIT: "24576"},
    ),
)
"""Programs as teams have them; half of each feature's are held out of all tuning."""


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
    if sample.feature:
        facts |= {"feature": sample.feature, "is_held_out": sample.is_held_out}
    return exported_workload(workload), facts


def exported_workload(workload: Workload) -> bytes:
    """The serialised StableHLO of a workload.

    Raises UsageError where an array cannot be cut evenly over the chips of its mesh.
    """
    import jax

    def shape(a: Any) -> Any:
        try:
            if a.sharding is not None:
                a.sharding.shard_shape(a.shape)
        except ValueError as error:
            raise UsageError(
                f"{workload.name}: an array of {list(a.shape)} is not cut evenly over its chips;"
                " give another batch"
            ) from error
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding)

    shapes = jax.tree.map(shape, workload.args)
    return exported(jax.jit(workload.fn, donate_argnums=workload.donate_argnums), *shapes)
