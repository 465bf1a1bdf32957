"""A process that runs solvers on one program: `python -m engine.solvers.portfolio.worker FILE`.

It reads a stint per line from stdin and answers with lines of progress and one of the plan, all
JSON. It ends with its input, and with its parent. What libraries print goes nowhere.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from engine.errors import EngineError
from engine.plan.io import load_plan, plan_to_json
from engine.processes import end_with_parent
from engine.program.io import load
from engine.program.model import Program
from engine.solvers import Budget, solve

TELL_EVERY_S = 0.2


class _Reporter:
    """Sends progress, not too often: the heartbeat, since a write to a dead parent fails."""

    def __init__(self, answers: TextIO) -> None:
        self._answers = answers
        self._sent_s = 0.0

    def progress(self, share: float, message: str) -> bool:
        del message
        now_s = time.monotonic()
        if now_s - self._sent_s >= TELL_EVERY_S:
            self._sent_s = now_s
            self.send({"share": share})
        return True

    def send(self, body: dict[str, Any]) -> None:
        self._answers.write(json.dumps(body) + "\n")
        self._answers.flush()


def main(arguments: list[str]) -> int:
    """Run stints until the input ends."""
    end_with_parent()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    program, reporter = load(Path(arguments[0])), _Reporter(answers)
    for line in sys.stdin:
        reporter.send(_run(program, json.loads(line), reporter))
    return 0


def _run(program: Program, stint: dict[str, Any], reporter: _Reporter) -> dict[str, Any]:
    """One stint: its plan, or in one line why there is none."""
    options = {}
    if stint["start"] is not None:
        options["start"] = load_plan(stint["start"])
    seconds = max(0.0, stint["until"] - time.time())
    budget = Budget(seconds, stint["seed"], reporter.progress, options)
    try:
        return {"plan": plan_to_json(solve(stint["solver"], program, budget))}
    except EngineError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
