"""Compiled functions are kept between runs: compiling a search takes longer than a short solve."""

from __future__ import annotations

import jax

from engine.folders import cache_folder


def keep_compiled() -> None:
    """Let JAX keep compiled functions in the user's cache folder."""
    folder = cache_folder("jax")
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
