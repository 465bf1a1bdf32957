"""The panel beside the map, as one piece of HTML: the line, the move in words, its actions.

Its buttons carry `data-do`; the map's script listens to them and sends the command, so that a step
sends one small element and the keys do the same as the buttons.
"""

from __future__ import annotations

from html import escape

from engine.game.reference import ReferenceGame
from engine.plan.model import Plan
from ui import caching
from ui.session import Session
from ui.viewmodel.choices import choices, room_text
from ui.viewmodel.eviction import Eviction
from ui.viewmodel.line import Line
from ui.viewmodel.turns import NO_ACTION, Story, actions_of, story
from ui.viewmodel.units import time_text
from ui.views.parts import choice_html, command_html, facts_html, gain_text, story_html


def turn_html(here: Session, plan: Plan, line: Line, game: ReferenceGame) -> str:
    """Of the position at the cursor: where it lies, what is at stake, what each action would do."""
    parts = [_plan_html(here, line) if line.is_on_plan else _variation_html(line, game)]
    if game.num_moves == 0:
        text = "This program has no move: no tensor of it can save time in fast memory."
        parts.append(f"<p>{text}</p>")
    elif game.is_over:
        parts.append('<p class="headline">The game is over</p><p>Every move is decided.</p>')
    else:
        parts += _move_parts(here, plan, line, game)
    return f'<div class="turn">{"".join(parts)}</div>'


def _move_parts(here: Session, plan: Plan, line: Line, game: ReferenceGame) -> list[str]:
    program, move = here.open.program, here.cursor.move
    told = story(program, game.move)
    chosen = _chosen(here, plan, line, move)
    cards = [
        choice_html(c, c.action == chosen, here.question == c.action, line.is_on_plan)
        for c in choices(game)
    ]
    facts = (*told.facts, ("Memory", room_text(game)))
    return [
        story_html(told),
        *cards,
        _eviction_html(here, game, told),
        facts_html(facts),
    ]


def _chosen(here: Session, plan: Plan, line: Line, move: int) -> int | None:
    """What is played at this move: by the plan as it is, or by the game on the map."""
    if not line.is_on_plan or here.is_as_moves or line.film.is_exact:
        return line.action_at(move)
    program = here.open.program
    action = actions_of(program, plan, caching.moves_of(here.open.identity, program))[move]
    return None if action == NO_ACTION else action


def _plan_html(here: Session, line: Line) -> str:
    """Three lines of fixed height, as long as no variation is shown."""
    play = "<b>Play any action</b> to leave it."
    if line.film.is_exact:
        text = f"You follow the plan. {play}"
    elif here.is_as_moves:
        text = f"You follow the plan as moves of the game. {play} "
        text += command_html("as_moves", "Show the plan itself")
    else:
        text = f"You follow a plan made outside the game. {play} The texts below speak of "
        text += command_html("as_moves", "the game nearest to it") + "."
    return f'<div class="line"><span>{text}</span></div>'


def _variation_html(line: Line, game: ReferenceGame) -> str:
    """How the variation does against the plan, and what to do with it."""
    left = game.num_moves - line.tip
    final = line.tree.lines[line.tree.current].rating.final
    if left:
        button = command_html("let", "Finish it", player="the plan", moves=0, tip=1)
        state = f"{left:,} moves to go. With the plan's rest it is"
    else:
        button = command_html("keep", "Keep as a plan")
        state = "complete:"
    back = command_html("go", "Back to the plan", number=-1)
    return (
        f'<div class="line"><span><b>Your variation</b>, {state}'
        f" <b>{_slower(-final)}</b>.</span><span>{button}{back}</span></div>"
    )


def _slower(seconds: float) -> str:
    """How a runtime compares with the one before, in words."""
    if gain_text(seconds) == gain_text(0.0):
        return "as fast as the plan"
    return f"{time_text(abs(seconds))} {'slower' if seconds > 0 else 'faster'} than the plan"


def _eviction_html(here: Session, game: ReferenceGame, told: Story) -> str:
    """The question, and the answer once it was asked."""
    program, selected = here.open.program, here.cursor.selected
    name = told.tensor
    if selected >= 0 and selected != game.move.group:
        name = program.values[program.groups[selected].values[0]].name
    here_button = command_html("evict", "dropped here", for_ever=0)
    ever_button = command_html("evict", "never fast", for_ever=1)
    answer = _answer(here.eviction) if here.eviction else "The rest is replayed as it is now."
    return (
        f'<div class="what-if"><b>What if</b> <code>{escape(name)}</code> were {here_button}'
        f" {ever_button}<br>{answer}</div>"
    )


def _answer(found: Eviction) -> str:
    if found.obstacle and not found.is_for_ever:
        return escape(found.obstacle)
    change = gain_text(found.change_s)
    new = f"Runtime {time_text(found.latency_s)}, <b>{change}</b>"
    if not found.num_lost:
        return f"{new}: slow memory serves it already."
    when = "" if found.is_for_ever else f" from move {found.move + 1:,}"
    lost = f"{found.num_lost} of its touches" if found.num_lost > 1 else "one touch"
    return f"{new}; {lost}{when} lost. {command_html('open_eviction', 'Open as variation')}"
