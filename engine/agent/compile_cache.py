"""Compiled functions are kept between runs: compiling a search takes longer than a short solve."""

from __future__ import annotations

import os
from pathlib import Path

import jax

VARIABLE = "MALLOCMUZERO_CACHE"
"""Environment variable that names the folder; empty: keep nothing."""


def keep_compiled() -> None:
    """Let JAX keep compiled functions in the user's cache folder."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = os.environ.get(VARIABLE, str(home / "mallocmuzero" / "jax"))
    if folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
