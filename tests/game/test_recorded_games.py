"""What the rules do is what they did: every effect of every action in some hundred random games."""

from __future__ import annotations

import json

from engine.game.moves import RULES_VERSION
from tests.game.recorded_games import PATH, SEEDS, played


def test_the_rules_of_this_version_play_as_they_did() -> None:
    recorded = json.loads(PATH.read_text())
    assert recorded["rules_version"] == RULES_VERSION, "run python -m tests.game.recorded_games"
    games = recorded["games"]
    assert len(games) > 8 * len(SEEDS)
    for name, digest in played():
        assert games.pop(name) == digest, f"{name}: other rules need another RULES_VERSION"
    assert not games
