"""What Python and the scripts of the pages both declare is the same."""

import json
import re
from pathlib import Path

from engine.debugging.regret import CLASSES
from engine.game.moves import ACTION_NAMES, DROP, KINDS, NUM_ACTIONS
from ui.components.glossary import find
from ui.components.memory_map.plan_actions import NO_ACTION
from ui.model.play.line import line_text

COMPONENTS = Path(__file__).resolve().parents[3] / "ui" / "components"


def constant(script: str, name: str) -> object:
    text = (COMPONENTS / script).read_text()
    found = re.search(rf"\b{name} = ([^;]*?)[,;]\n", text)
    assert found is not None, name
    return json.loads(found[1])


def test_names_kinds_and_the_numbers_that_mean_something_else() -> None:
    assert constant("words.js", "ACTIONS") == list(ACTION_NAMES)
    assert constant("words.js", "ACTION_KINDS") == list(KINDS)
    assert constant("words.js", "DROP") == DROP
    assert constant("memory_map/plan.js", "UNDECIDED") == NO_ACTION == NUM_ACTIONS


def test_links_have_the_same_letters_on_both_sides() -> None:
    letters = constant("memory_map/share.js", "LETTERS")
    assert isinstance(letters, str)
    told = line_text(0, range(NUM_ACTIONS)).removeprefix("0-")
    assert letters == told + told[DROP], "a sink is dropped"


def test_moves_are_classed_alike_on_both_sides() -> None:
    assert constant("../search/tree/messages.js", "MARKS") == ["", *CLASSES]


def test_every_action_and_its_sign_are_explained() -> None:
    for action, name in enumerate(ACTION_NAMES):
        assert find(name) is not None
        short = f"{ACTION_NAMES[KINDS[action]]} \N{UPWARDS ARROW LEFTWARDS OF DOWNWARDS ARROW}"
        assert action == KINDS[action] or find(short) is find(name)
