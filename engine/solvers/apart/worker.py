"""A process that runs solvers on one program: `python -m engine.solvers.apart.worker FILE`.

It reads an order per line from stdin and answers with lines of progress and one of the plan, all
JSON. It ends with its input, and with its parent. What libraries print goes nowhere.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from engine.errors import EngineError, SolverError
from engine.plan.io import load_plan, plan_to_json
from engine.plan.model import Plan
from engine.processes import end_with_parent
from engine.program.io import load
from engine.program.model import Program
from engine.solvers.registry import Budget, find

TELL_EVERY_S = 0.2
MAX_REASON = 300
"""Characters of an error that are passed on."""


class _Reporter:
    """Writes answers, and reads what is said to them."""

    def __init__(self, answers: TextIO, orders: TextIO) -> None:
        self._answers, self._orders = answers, orders
        self._sent_s = 0.0

    def tell(self, share: float, message: str) -> bool:
        """Progress, not too often: the heartbeat, since a write to a dead parent fails."""
        del message
        now_s = time.monotonic()
        if now_s - self._sent_s >= TELL_EVERY_S:
            self._sent_s = now_s
            self.send({"share": share})
        return True

    def ask(self, share: float, message: str) -> bool:
        """Progress, each time: waits to be told whether to go on."""
        self.send({"share": share, "message": message})
        line = self._orders.readline()
        if not line:
            raise SystemExit("nobody is there any more")
        return bool(json.loads(line)["goes_on"])

    def offer(self, plan: Plan) -> None:
        """A plan that counts where this process has to be ended."""
        self.send({"offer": plan_to_json(plan)})

    def send(self, body: dict[str, Any]) -> None:
        self._answers.write(json.dumps(body) + "\n")
        self._answers.flush()


def main(arguments: list[str]) -> int:
    """Follow orders until the input ends."""
    end_with_parent()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    program, reporter = load(Path(arguments[0])), _Reporter(answers, sys.stdin)
    while line := sys.stdin.readline():
        order = json.loads(line)
        follow = _time_slice if "until" in order else _run
        try:
            answer: dict[str, Any] = {"plan": plan_to_json(follow(program, order, reporter))}
        except EngineError as error:
            answer = {"error": str(error), "kind": type(error).__name__}
        reporter.send(answer)
    return 0


def _time_slice(program: Program, order: dict[str, Any], reporter: _Reporter) -> Plan:
    """A registered solver's turn of a portfolio; it ends when the clock that both read says so."""
    start, until = order["start"], order["until"]
    options = {} if start is None else {"start": load_plan(start)}

    def progress(share: float, message: str) -> bool:
        return reporter.tell(share, message) and time.monotonic() < until

    seconds = max(0.0, until - time.monotonic())
    # Without a first plan, which the portfolio has; it checks every plan.
    solver = find(order["solver"])
    return solver.run(program, Budget(seconds, order["seed"], progress, options))


def _run(program: Program, order: dict[str, Any], reporter: _Reporter) -> Plan:
    """The solver at a place, alone; see `engine.solvers.apart.run`."""
    module, _, name = order["place"].partition(":")
    solver: Callable[[Program, Budget], Plan] = getattr(import_module(module), name)
    options = {
        name: load_plan(value) if name in order["plans"] else value
        for name, value in order["options"].items()
    }
    try:
        seconds, seed = order["seconds"], order["seed"]
        return solver(program, Budget(seconds, seed, reporter.ask, options, reporter.offer))
    except EngineError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SolverError(f"{name} failed ({reason[:MAX_REASON]})") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
