"""The workloads whose tensors we place: real networks, compiled for a TPU from shapes alone.

`build("resnet50", batch=64, train=False)` returns a `Workload`: a function to jit and the shapes
to lower it for. One module per family; `base.py` holds the contract.
"""

from engine.compiler.models import (
    alphatensor,
    autoencoder,
    control,
    decode,
    diffusion,
    graph,
    image,
    kernels,
    llama,
    mixer,
    offload,
    recommender,
    recurrent,
    sharded,
    speech,
    state_space,
    transformer,
)
from engine.compiler.models.base import (
    UnsupportedModeError,
    Workload,
    build,
    known_models,
)

__all__ = [
    "UnsupportedModeError",
    "Workload",
    "alphatensor",
    "autoencoder",
    "build",
    "control",
    "decode",
    "diffusion",
    "graph",
    "image",
    "kernels",
    "known_models",
    "llama",
    "mixer",
    "offload",
    "recommender",
    "recurrent",
    "sharded",
    "speech",
    "state_space",
    "transformer",
]
