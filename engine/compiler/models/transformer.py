"""Transformers, layer after layer without a scan: encoder, decoder, both, and one for images.

Each also at its published depth (`bertbase`, `bertlarge`, `gpt2`, `gpt2medium`, `t5base`,
`vitlarge`); Llama is in `llama.py`.

Letters: B batch, T tokens, D model width. Layers are unrolled so that every tensor of every layer
is its own candidate for the fast memory; `decode.py` has the scanned kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import (
    Array,
    attention,
    attention_shapes,
    causal_mask,
    dense,
    dense_shapes,
    indices,
    layer_norm,
    mlp,
    mlp_shapes,
    norm_shapes,
    rms_norm,
    vector,
    weight,
)
from engine.compiler.models.training import LossFn, adam_program, cross_entropy


@dataclass(frozen=True)
class Config:
    """Sizes of a transformer."""

    layers: int
    width: int
    heads: int
    hidden: int
    length: int
    vocabulary: int


BERT = Config(layers=6, width=768, heads=12, hidden=3072, length=256, vocabulary=30522)
GPT = Config(layers=4, width=1024, heads=16, hidden=4096, length=512, vocabulary=32000)
GPT_DEEP = Config(layers=6, width=768, heads=12, hidden=3072, length=512, vocabulary=32000)
BERT_BASE = replace(BERT, layers=12, length=512)
BERT_LARGE = replace(BERT_BASE, layers=24, width=1024, heads=16, hidden=4096)
GPT2 = Config(layers=12, width=768, heads=12, hidden=3072, length=1024, vocabulary=50257)
GPT2_MEDIUM = replace(GPT2, layers=24, width=1024, heads=16, hidden=4096)
T5 = Config(layers=3, width=768, heads=12, hidden=2048, length=256, vocabulary=32128)
T5_BASE = replace(T5, layers=12, length=512)
VIT = Config(layers=6, width=768, heads=12, hidden=3072, length=196, vocabulary=1000)
VIT_LARGE = replace(VIT, layers=24, width=1024, heads=16, hidden=4096)
VIT_PATCH = 16


def _block_shapes(config: Config) -> PyTree:
    """Parameters of one pre-norm block."""
    return {
        "attention_norm": norm_shapes(config.width),
        "attention": attention_shapes(config.width),
        "mlp_norm": norm_shapes(config.width),
        "mlp": mlp_shapes(config.width, config.hidden),
    }


def _block(params: PyTree, x: Array, heads: int, mask: Array | None = None) -> Array:
    """Self-attention and MLP over `x` `[B, T, D]`, norms before each."""
    normed = layer_norm(params["attention_norm"], x)
    x = x + attention(params["attention"], normed, normed, heads, mask)
    return x + mlp(params["mlp"], layer_norm(params["mlp_norm"], x))


def _language_shapes(config: Config) -> PyTree:
    """Parameters of a stack over tokens; the output layer shares the embedding's table."""
    return {
        "tokens": weight(config.vocabulary, config.width),
        "positions": weight(config.length, config.width),
        "blocks": [_block_shapes(config) for _ in range(config.layers)],
        "norm": norm_shapes(config.width),
    }


def _language_features(params: PyTree, tokens: Array, heads: int, is_causal: bool) -> Array:
    """Features `[B, T, D]` of `tokens` `[B, T]`."""
    x = params["tokens"][tokens] + params["positions"]
    mask = causal_mask(tokens.shape[1]) if is_causal else None
    for block in params["blocks"]:
        x = _block(block, x, heads, mask)
    return layer_norm(params["norm"], x)


def _program(infer: LossFn, params: PyTree, batch_shapes: tuple[Any, Any], train: bool) -> Program:
    """Inference of `infer(params, inputs)`, or one Adam step of its cross-entropy."""
    inputs, labels = batch_shapes
    if not train:
        return Program(infer, (params, inputs))

    def loss_fn(params: PyTree, inputs: PyTree, labels: Array) -> Array:
        return cross_entropy(infer(params, inputs), labels)

    return adam_program(loss_fn, params, (inputs, labels))


def _bert_program(config: Config, batch: int, train: bool) -> Program:
    """Encoder with a pooled classifier of two classes."""
    params = _language_shapes(config)
    params["pooler"] = dense_shapes(config.width, config.width)
    params["classifier"] = dense_shapes(config.width, 2)

    def infer(params: PyTree, tokens: Array) -> Array:
        features = _language_features(params, tokens, config.heads, is_causal=False)
        return dense(params["classifier"], jnp.tanh(dense(params["pooler"], features[:, 0])))

    return _program(infer, params, (indices(batch, config.length), indices(batch)), train)


@workload("bert", "BERT-like encoder: 6 layers of width 768, classifies the first token")
def bert(batch: int, train: bool) -> Program:
    """Half of BERT-base, over 256 tokens."""
    return _bert_program(BERT, batch, train)


@workload("bertbase", "BERT-base: 12 layers of width 768 over 512 tokens")
def bert_base(batch: int, train: bool) -> Program:
    """All layers, and the longest input it was published for."""
    return _bert_program(BERT_BASE, batch, train)


@workload("bertlarge", "BERT-large: 24 layers of width 1,024 over 512 tokens")
def bert_large(batch: int, train: bool) -> Program:
    """The larger of the two that were published."""
    return _bert_program(BERT_LARGE, batch, train)


def _gpt_program(config: Config, batch: int, train: bool) -> Program:
    """Causal language model; inference is the prefill, with its last logits."""
    params = _language_shapes(config)
    tokens = indices(batch, config.length)

    def logits(params: PyTree, tokens: Array) -> Array:
        features = _language_features(params, tokens, config.heads, is_causal=True)
        features = features if train else features[:, -1]
        scores: Array = features @ params["tokens"].T
        return scores

    return _program(logits, params, (tokens, tokens), train)


@workload("gpt", "GPT-like decoder over a prompt: 4 layers of width 1024, 32,000 tokens")
def gpt(batch: int, train: bool) -> Program:
    """A GPT of few wide layers."""
    return _gpt_program(GPT, batch, train)


@workload("gptdeep", "GPT-like decoder over a prompt: 6 layers of width 768, 32,000 tokens")
def gptdeep(batch: int, train: bool) -> Program:
    """More and narrower layers."""
    return _gpt_program(GPT_DEEP, batch, train)


@workload("gpt2", "GPT-2 small: 12 layers of width 768 over 1,024 tokens")
def gpt2(batch: int, train: bool) -> Program:
    """All layers, the whole vocabulary, and the full context."""
    return _gpt_program(GPT2, batch, train)


@workload("gpt2medium", "GPT-2 medium: 24 layers of width 1,024 over 1,024 tokens")
def gpt2_medium(batch: int, train: bool) -> Program:
    """Twice the layers of the small one, and wider."""
    return _gpt_program(GPT2_MEDIUM, batch, train)


def _t5_attention_shapes(config: Config) -> PyTree:
    return {"norm": vector(config.width), **attention_shapes(config.width)}


def _t5_mlp_shapes(config: Config) -> PyTree:
    return {
        "norm": vector(config.width),
        "gate": weight(config.width, config.hidden),
        "up": weight(config.width, config.hidden),
        "down": weight(config.hidden, config.width),
    }


def _t5_mlp(params: PyTree, x: Array) -> Array:
    """Gated GELU feed-forward, as in T5 1.1."""
    normed = rms_norm(params["norm"], x)
    gated = jax.nn.gelu(normed @ params["gate"]) * (normed @ params["up"])
    out: Array = x + gated @ params["down"]
    return out


def _t5_attend(params: PyTree, x: Array, memory: Array | None, mask: Array | None) -> Array:
    """Attention over `memory`, or over `x` itself where there is none."""
    normed = rms_norm(params["norm"], x)
    memory = normed if memory is None else memory
    # The base model has as many heads.
    return x + attention(params, normed, memory, T5.heads, mask)


def _t5(params: PyTree, inputs: tuple[Array, Array]) -> Array:
    """Logits `[B, T, vocabulary]` of the targets, given the source; `inputs` holds both."""
    source, target = inputs
    memory = params["tokens"][source]
    for layer in params["encoder"]:
        memory = _t5_attend(layer["self"], memory, None, None)
        memory = _t5_mlp(layer["mlp"], memory)
    memory = rms_norm(params["encoder_norm"], memory)
    x = params["tokens"][target]
    mask = causal_mask(target.shape[1])
    for layer in params["decoder"]:
        x = _t5_attend(layer["self"], x, None, mask)
        x = _t5_attend(layer["cross"], x, memory, None)
        x = _t5_mlp(layer["mlp"], x)
    logits: Array = rms_norm(params["decoder_norm"], x) @ params["tokens"].T
    return logits


def _t5_program(config: Config, batch: int, train: bool) -> Program:
    """The target is half as long as the source; relative position biases are left out."""
    attends, feeds = _t5_attention_shapes(config), _t5_mlp_shapes(config)
    params = {
        "tokens": weight(config.vocabulary, config.width),
        "encoder": [{"self": attends, "mlp": feeds} for _ in range(config.layers)],
        "encoder_norm": vector(config.width),
        "decoder": [
            {"self": attends, "cross": attends, "mlp": feeds} for _ in range(config.layers)
        ],
        "decoder_norm": vector(config.width),
    }
    source, target = indices(batch, config.length), indices(batch, config.length // 2)
    return _program(_t5, params, ((source, target), target), train)


@workload("t5", "T5-like encoder-decoder: 3 + 3 layers of width 768, gated feed-forward")
def t5(batch: int, train: bool) -> Program:
    """A quarter of T5 1.1 base, over 256 tokens."""
    return _t5_program(T5, batch, train)


@workload("t5base", "T5 1.1 base: 12 + 12 layers of width 768 over 512 tokens, gated feed-forward")
def t5_base(batch: int, train: bool) -> Program:
    """All layers, and the length that it was trained for."""
    return _t5_program(T5_BASE, batch, train)


def _vit_program(config: Config, batch: int, train: bool) -> Program:
    """Encoder over image patches, with average pooling instead of a class token."""
    params = {
        "patches": dense_shapes(VIT_PATCH * VIT_PATCH * 3, config.width),
        "positions": weight(config.length, config.width),
        "blocks": [_block_shapes(config) for _ in range(config.layers)],
        "norm": norm_shapes(config.width),
        "classifier": dense_shapes(config.width, config.vocabulary),
    }

    def infer(params: PyTree, images: Array) -> Array:
        """Logits `[B, 1000]` of images `[B, 224, 224, 3]`, mean-pooled over 14 x 14 patches."""
        side = images.shape[1] // VIT_PATCH
        grid = images.reshape(batch, side, VIT_PATCH, side, VIT_PATCH, 3)
        patches = grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, side * side, -1)
        x = dense(params["patches"], patches) + params["positions"]
        for block in params["blocks"]:
            x = _block(block, x, config.heads)
        pooled = jnp.mean(layer_norm(params["norm"], x), axis=1)
        return dense(params["classifier"], pooled)

    return _program(infer, params, (weight(batch, 224, 224, 3), indices(batch)), train)


@workload("vit", "Vision transformer, ViT-B/16 cut to 6 layers")
def vit(batch: int, train: bool) -> Program:
    """A vision transformer of half of ViT-B's layers."""
    return _vit_program(VIT, batch, train)


@workload("vitlarge", "Vision transformer ViT-L/16: 24 layers of width 1,024")
def vit_large(batch: int, train: bool) -> Program:
    """ViT-L with all its layers."""
    return _vit_program(VIT_LARGE, batch, train)
