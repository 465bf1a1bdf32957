"""A long campaign of damaged files against every reader; `python tests/program/hlo/fuzz.py --help`.

Each file must give a valid program, or an error of ours in one line, in time. HLO text goes the
whole way through the child process; decoded modules are damaged further and built in this one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from engine.compiler.costs.calibrate import calibrate
from engine.compiler.reading.observation import observe
from engine.compiler.reading.repair import repaired
from engine.compiler.reading.xla_plan import read_plan
from engine.errors import EngineError
from engine.files import read_json
from engine.hardware.presets import DEVICES, PRESETS
from engine.plan.check import check
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from engine.program.hlo.build import build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo_file
from engine.program.io import content_hash, from_json, to_json
from engine.program.minimalloc import import_minimalloc
from engine.program.model import Program
from engine.program.validate import ROUNDING
from tests.program.hlo.modules import FIXTURES, HARDWARE, costs, decoded
from tests.program.hlo.mutations import damaged, damaged_message
from tests.strategies import random_program
from tests.ui.builders import first_fit_plan

SECONDS = 100.0
"""No file may take longer: the child's own limit and some."""

TABLE = b"id,lower,upper,size,offset\n" + b"".join(
    b"b%d,%d,%d,%d,0\n" % (n, n, n + 3 + n % 5, 64 * (n + 1)) for n in range(40)
)


class Campaign:
    """Counts what became of each file; everything but a program or an EngineError is a finding."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.outcomes: Counter[str] = Counter()
        self.findings: list[str] = []
        self.slowest_s = 0.0

    def attempt(self, kind: str, label: str, read: Callable[[], Program | Plan]) -> None:
        """Read one damaged file and judge what happens."""
        begun = time.perf_counter()
        try:
            outcome = judge(read())
        except EngineError as error:
            outcome = "refused"
            if len(str(error).splitlines()) != 1:
                self.findings.append(f"{kind} {label}: message {str(error)[:300]!r}")
        except Exception as error:
            outcome = "crashed"
            self.findings.append(f"{kind} {label}: {type(error).__name__}: {str(error)[:200]}")
        seconds = time.perf_counter() - begun
        self.slowest_s = max(self.slowest_s, seconds)
        if seconds > SECONDS:
            self.findings.append(f"{kind} {label}: took {seconds:.0f} s")
        self.outcomes[f"{kind}: {outcome}"] += 1

    def file(self, data: bytes, suffix: str) -> Path:
        """A file of these bytes."""
        path = self.folder / f"damaged{suffix}"
        path.write_bytes(data)
        return path

    def text(self, number: int) -> None:
        """Damaged HLO text, through the child process."""
        source = self.chance.choice(sorted(FIXTURES.glob("*.hlo")))
        path = self.file(damaged(self.chance, source.read_bytes()), ".hlo")
        self.attempt("HLO text", f"{source.stem} #{number}", lambda: built(parse_hlo_file(path)))

    def message(self, number: int) -> None:
        """A damaged module message, in this process."""
        source = self.chance.choice(sorted(FIXTURES.glob("*.hlo")))
        module = damaged_message(self.chance, message_of(source))
        self.attempt("HLO module", f"{source.stem} #{number}", lambda: built(module))

    def pair(self, number: int) -> None:
        """A good slow compile with a damaged default compile and buffer assignment."""
        name = self.chance.choice(["mlp", "big", "scan"])
        slow = message_of(FIXTURES / f"{name}_off.hlo")
        module = damaged_message(self.chance, message_of(FIXTURES / f"{name}_on.hlo"))
        buffers = damaged(self.chance, (FIXTURES / f"{name}_on.buffers.txt").read_bytes())
        self.attempt("pair", f"{name} #{number}", lambda: plan_of(slow, module, buffers))

    def program(self, number: int) -> None:
        """A damaged program file."""
        source = sources()[number % 20]
        data = json.dumps(to_json(source)).encode()
        path = self.file(damaged(self.chance, data), ".json")
        self.attempt("program", f"#{number}", lambda: from_json(read_json(path), "damaged"))

    def plan(self, number: int) -> None:
        """A damaged plan file."""
        source = first_fit_plan(sources()[number % 20])
        data = json.dumps(plan_to_json(source)).encode()
        path = self.file(damaged(self.chance, data), ".json")
        self.attempt("plan", f"#{number}", lambda: plan_from_json(read_json(path), "damaged"))

    def table(self, number: int) -> None:
        """A damaged table of buffers."""
        path = self.file(damaged(self.chance, TABLE), ".csv")
        self.attempt("table", f"#{number}", lambda: import_minimalloc(path, 1 << 20))


@cache
def message_of(path: Path) -> object:
    """The decoded module of a good file."""
    return decoded(path.read_text())


@cache
def sources() -> list[Program]:
    """Good programs to damage."""
    return [random_program(seed, 12) for seed in range(20)]


def built(module: object) -> Program:
    """The program of a module, with the roofline where it states no cycles."""
    return build_program(module, "x", HARDWARE, "damaged", roofline=costs).program


def plan_of(slow: object, module: object, buffers: bytes) -> Plan:
    """XLA's plan out of damaged sources: whatever remains of it must be valid."""
    hardware = PRESETS["tpu-v5e"]
    imported = build_program(
        slow, "x", hardware, "good", reserved_bytes=DEVICES[hardware.name].scoped_bytes
    )
    flow = Flow(module, "damaged")
    seen = observe(imported, flow)
    program, _ = calibrate(imported, observe(imported, imported.flow), [seen], [seen])
    plan = read_plan(
        imported, flow, buffers.decode(errors="replace"), DEVICES[hardware.name].scoped_bytes
    )
    plan = replace(plan, program_hash=content_hash(program))
    plan = repaired(program, plan, seen.is_fast.tolist())
    assert check(program, plan) is None, "an invalid plan"
    return plan


def judge(made: Program | Plan) -> str:
    """Use everything that a reader promises of what it returns."""
    if isinstance(made, Program):
        savings = [0.0 if a.is_write else a.saving_s for a in made.accesses]
        numbers = [*savings, *(i.fast_s for i in made.instructions)]
        assert all(0 <= n < float("inf") for n in numbers), "a cost is not a number >= 0"
        pairs = zip(made.fastest_s, made.instructions, strict=True)
        assert all(s >= -ROUNDING * i.fast_s for s, i in pairs), "writes cost more than there is"
        assert len(made.touches) <= len(made.accesses)
        assert all(0 < s.time <= made.num_slots for s in made.sinks)
        assert from_json(to_json(made), "again") == made
        content_hash(made)
    return "read"


def main() -> int:
    """Run the campaign; exit 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--text", type=int, default=400, help="files through XLA's parser (0.5 s each)"
    )
    parser.add_argument("--modules", type=int, default=2000, help="decoded modules")
    parser.add_argument(
        "--others", type=int, default=2000, help="program, plan and table files each"
    )
    parser.add_argument("--pairs", type=int, default=500, help="damaged default compiles")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(options.seed, Path(folder))
        for number in range(options.modules):
            campaign.message(number)
        for number in range(options.pairs):
            campaign.pair(number)
        for number in range(options.others):
            campaign.program(number)
            campaign.plan(number)
            campaign.table(number)
        for number in range(options.text):
            campaign.text(number)
    for outcome, count in sorted(campaign.outcomes.items()):
        print(f"{outcome}: {count}")
    print(f"slowest file: {campaign.slowest_s:.1f} s")
    for finding in campaign.findings:
        print(f"FINDING {finding}")
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
