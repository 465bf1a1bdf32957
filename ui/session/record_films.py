"""Records of how the game follows the plans that ship, and the pictures of all samples.

`python -m ui.session.record_films` is to be run again when samples, the rules of the game or the
plans of a larger program change; where only some have, with the names of these. Records and
pictures that do not fit are ignored, and the explorer then makes them itself, which takes most of a
minute for a record (`ui.session.films`, `ui.session.pictures`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.files import write_bytes
from engine.game.moves import RULES_VERSION
from engine.game.notes import notes_its_game, notes_of
from engine.game.replay import game_of
from engine.plan.io import load_plan, plan_from_json
from engine.plan.model import Plan
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from ui.session import pictures
from ui.session.films import KIND, QUICK_TOUCHES, RECORDS, VERSION
from ui.session.state import OpenProgram


def main(arguments: list[str] | None = None) -> int:
    """Write the records; returns the exit status."""
    entries = [e for e in (*library.index(), *library.large()) if e.touches > QUICK_TOUCHES]
    names = [entry.name for entry in entries]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*names, []], metavar="PROGRAM")
    chosen = parser.parse_args(arguments).programs
    for name in chosen or names:
        RECORDS.mkdir(exist_ok=True)
        path = RECORDS / f"{name}.json.gz"
        write_bytes(path, json.dumps(body_of(name), separators=(",", ":")).encode())
        _tell(path)
    entries = [*library.index(), *library.large(), *library.real()]
    pictures.write(entries, anew=chosen or None)
    _tell(pictures.FILE)
    return 0


def _tell(path: Path) -> None:
    print(f"{path} ({path.stat().st_size / 1000:.0f} kB)", flush=True)


def body_of(name: str) -> dict[str, object]:
    """The content of the file of one program."""
    program = library.load_sample(name)
    opened = OpenProgram(name, program, content_hash(program))
    films = {
        opened.identity_of(plan): notes_of(game_of(program, plan))
        for plan in shipped_plans(name, program)
        if not notes_its_game(plan)
    }
    header = {"format": KIND, "version": VERSION}
    return {**header, "program": opened.identity, "rules": RULES_VERSION, "films": films}


def shipped_plans(name: str, program: Program) -> list[Plan]:
    """The compiler's own plan, and the best known one."""
    compiled, path = program.provenance.get("xla_plan"), library.find_sample(name).best_plan_path
    plans = [plan_from_json(compiled, f"{name}: provenance.xla_plan")] if compiled else []
    return [*plans, load_plan(path)] if path else plans


if __name__ == "__main__":
    sys.exit(main())
