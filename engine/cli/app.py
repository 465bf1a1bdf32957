"""`app`: the explorer, served by Streamlit."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import engine
from engine.errors import MissingDependencyError, UsageError, install_line

NEEDED = ("htpy", "markupsafe", "pandas", "plotly", "starlette", "streamlit")
"""The packages of the extra `app`."""
MAX_PORT = 2**16 - 1


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "open the explorer in the browser, until it is interrupted"
    parser: argparse.ArgumentParser = commands.add_parser("app", help=about, description=about)
    parser.set_defaults(run=run)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument(
        "--no-browser", action="store_true", help="only serve it; so it is where CI is set"
    )


def run(options: argparse.Namespace) -> int:
    """Become the explorer's server.

    Raises MissingDependencyError where it cannot be one, UsageError for a port that there is not.
    """
    if not 0 <= options.port <= MAX_PORT:
        raise UsageError(f"app: --port {options.port}: name a number from 0 to {MAX_PORT}")
    if not all(map(importlib.util.find_spec, NEEDED)):
        raise MissingDependencyError(f"the explorer is not installed: {install_line('app')}")
    sys.stdout.flush()
    os.execv(sys.executable, server_command(options.port, options.no_browser or "CI" in os.environ))


SCRIPT = Path(engine.__file__).resolve().parents[1] / "ui" / "server.py"
"""What serves the explorer; it lies beside the engine, installed or not."""


def server_command(port: int, is_headless: bool, script: Path = SCRIPT) -> list[str]:
    """The command that serves the explorer, or another script."""
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    return [*command, "--server.headless", "true"] if is_headless else command
