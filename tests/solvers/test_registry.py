"""The table of all solvers is read without their libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_read_without_the_solvers_libraries() -> None:
    """They take seconds to load; a page that lists the solvers must not wait for them."""
    code = "import engine.solvers, sys; print({'jax', 'numba', 'mctx'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
