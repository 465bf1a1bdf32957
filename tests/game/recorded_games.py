"""Games as they are played under this version of the rules; `python -m tests.game.recorded_games`.

Plans, lessons and positions hold games as moves. Rules that play one of them otherwise, be it by a
place or a stall, need another `RULES_VERSION`; then this command writes `recorded_games.json` anew.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from engine.files import write_bytes
from engine.game.moves import NUM_ACTIONS, PLACE_RULES, RULES_VERSION, Rules
from engine.game.quantise import quantise
from engine.game.reference.game import ReferenceGame
from engine.program.model import Program
from tests.strategies import random_program

PATH = Path(__file__).resolve().parents[1] / "data" / "recorded_games.json"
SEEDS = range(24)
TABLES = ((96, 192), (5, 6))
"""Rows of the block table and slots of look-back: plenty, and so few that both run out."""
SLOW = 1e-4
"""Of the bandwidth, for some programs: their copies take too long."""


def played() -> Iterator[tuple[str, str]]:
    """The name of each game, and a digest of what every action would have done at every move."""
    for seed, place, (max_blocks, look_back) in product(SEEDS, PLACE_RULES, TABLES):
        rules = Rules(max_blocks, look_back, strict=seed % 4 == 0, place=place)
        game = ReferenceGame(_program(seed), rules)
        yield f"{seed} {place} {max_blocks}", _digest(game, random.Random(seed))
    for seed in SEEDS:
        program, chance = _program(seed), random.Random(seed)
        groups, granules = range(len(program.groups)), quantise(program).fast_granules
        stays = (
            (group, chance.randrange(-1, program.num_slots), chance.randrange(granules))
            for group in groups
        )
        game = ReferenceGame(program, Rules(planned=tuple(sorted(stays))))
        yield f"{seed} planned", _digest(game, chance)


def _program(seed: int) -> Program:
    program = random_program(seed, 12 + seed, flights=seed % 3 == 1)
    bandwidth = program.hardware.bandwidth * (SLOW if seed % 6 == 5 else 1.0)
    return replace(program, hardware=replace(program.hardware, bandwidth=bandwidth))


def _digest(game: ReferenceGame, chance: random.Random) -> str:
    digest = hashlib.sha256()
    while not game.is_over and not game.is_dead_end:
        effects = [game.effect(action) for action in range(NUM_ACTIONS)]
        digest.update(
            repr((game.move, effects, game.state.ledger.left, game.state.horizon)).encode()
        )
        game.step(chance.choice([e.action for e in effects if e.is_legal]))
    digest.update(repr((game.records, game.total_reward)).encode())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    body = {"rules_version": RULES_VERSION, "games": dict(played())}
    write_bytes(PATH, (json.dumps(body, indent=0) + "\n").encode())
