"""A plan as a film of the game: the position before any move, without replaying all of it."""

from __future__ import annotations

from engine.game.notes import noted_actions, noted_rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.plan.model import Plan
from engine.program.model import Program
from ui.model.play.positions import Positions


class Film:
    """The game that follows a plan as closely as the rules allow; shared by all sessions.

    `plan`: what comes out of that game. `is_exact`: whether it is the plan that was followed, place
    by place; plans of other solvers choose addresses that the game does not. `actions`: one per
    move. `saved_s`: seconds saved before each move, and at the end.
    """

    def __init__(self, program: Program, plan: Plan) -> None:
        """Replay the plan; raises nothing for a plan whose groups and times exist."""
        game = _followed(program, plan)
        self.program = program
        self.actions = tuple(game.actions)
        self.plan = game.plan(f"{plan.solver} as moves")
        self.is_exact = set(self.plan.stays) == set(plan.stays)
        self._positions = Positions(len(self.actions))
        saved = [0.0]
        position = ReferenceGame(program, game.rules)
        for action in self.actions:
            self._positions.note(position)
            position.step(action)
            saved.append(saved_s(position))
        self._end = position
        self.saved_s = tuple(saved)

    @property
    def num_moves(self) -> int:
        """Moves of the whole game."""
        return len(self.actions)

    def game_at(self, move: int) -> ReferenceGame:
        """A copy of the position in which `move` (0 … number of moves) is to be decided."""
        move = max(0, min(move, self.num_moves))
        if move == self.num_moves:
            return self._end.clone()
        return self._positions.reach(move, self._beginning, self._go_on)

    def play_to(self, game: ReferenceGame, move: int) -> None:
        """Play on as the film does until `move` is to be decided.

        From another position an action of the film may be illegal; then the nearest one is played.
        """
        while game.move_index < move:
            self._go_on(game)

    def _beginning(self) -> ReferenceGame:
        return ReferenceGame(self.program, self._end.rules)

    def _go_on(self, game: ReferenceGame) -> None:
        game.step(game.nearest(self.actions[game.move_index]))


def _followed(program: Program, plan: Plan) -> ReferenceGame:
    """The game of a plan that notes its own moves (`engine.game.notes`), else its replay."""
    rules = noted_rules(plan)
    if rules is not None:
        game = ReferenceGame(program, rules)
        actions = noted_actions(plan, game.num_moves)
        if actions is not None and len(actions) == game.num_moves:
            for action in actions:
                game.step(game.nearest(action))
            return game
    return replay(program, plan)


def saved_s(game: ReferenceGame) -> float:
    """Seconds that the moves played so far save against slow memory for everything."""
    return game.total_reward * game.program.all_slow_s
