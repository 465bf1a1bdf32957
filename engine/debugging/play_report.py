"""Everything that the analysis says of one traced game, as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from engine.agent.trace_io import SearchTrace
from engine.debugging.model_error import ValueCalibration, drift, value_calibration
from engine.debugging.regret import Line, Regret, RegretStudy
from engine.debugging.surprise import Surprises, surprises
from engine.debugging.trace_units import MICRO, achieved_us
from engine.game.moves import ACTION_NAMES

INBOX = 20
"""Most entries of the inbox and of the list of regrets."""

SHOWN = 5
"""Most entries of either that the report in words shows."""

Progress = Callable[[float, str], bool]
"""Called with the share of the moves that are done and a line of text; False ends the work."""


def report(
    trace: SearchTrace,
    study: RegretStudy | None = None,
    *,
    seconds: float = math.inf,
    progress: Progress | None = None,
    limit: int = INBOX,
) -> dict[str, Any]:
    """A traced game's surprises, drift and calibration; its regrets, if a `study` of it is given.

    Regrets are looked for, most surprising moves first, for that many `seconds`, or until
    `progress` says no; `regret.completeness` says how far it came.
    """
    signs = surprises(trace)
    if study is not None:
        explore(study, signs, seconds, progress)
    return {
        "program": trace.program,
        "program_hash": trace.program_hash,
        "model": trace.model,
        "num_moves": trace.num_moves,
        "point_us": trace.point_s * MICRO,
        "above_par_us": float(achieved_us(trace)[0]) if trace.num_moves else 0.0,
        "surprise": _surprise(trace, signs, study, limit),
        "regret": None if study is None else _regret(study, limit),
        "drift": [asdict(step) for step in drift(trace)],
        "calibration": _calibration(value_calibration(trace)) if trace.num_moves else None,
    }


def in_words(body: dict[str, Any]) -> list[str]:
    """The report in a few lines; the first move is move 1."""
    lines = [
        f"{body['program']}: {body['num_moves']} moves, {body['above_par_us']:.3f} us above the"
        f" baseline, model {body['model']}"
    ]
    for name, side in (body["calibration"] or {}).items():
        r = side["correlation"]
        correlation = "" if r is None else f", correlation {r:.2f}"
        error = side["error"]["mean_abs_us"]
        lines.append(f"values, {name:6}  off by {error:.3f} us on the average{correlation}")
    for step in body["drift"]:
        lines.append(
            f"imagined, {step['step']} ahead  reward off by {step['reward']['mean_abs_us']:.3f} us,"
            f" value by {step['value']['mean_abs_us']:.3f} us"
        )
    for one in body["surprise"]["inbox"][:SHOWN]:
        move = f"move {one['move'] + 1}: {one['action']}, {one['index']:.1f} times the average"
        lines.append(f"surprise   {move} ({one['why']})")
    if regret := body["regret"]:
        lines.append(
            f"regrets    {regret['num_known']} of {regret['num_choices']} choices looked at"
        )
        for row in regret["worst"][:SHOWN]:
            cost = f"{row['played']['action']} cost {row['regret_us']:.3f} us"
            lines.append(
                f"regret     move {row['move'] + 1}: {cost}, {row['other']['action']} is better"
            )
    return lines


def explore(
    study: RegretStudy, signs: Surprises, seconds: float, progress: Progress | None = None
) -> None:
    """Look for regrets, most surprising moves first, until the time is over or `progress` ends it.

    Regrets that the study knows already cost no time.
    """
    for regret in study.run(signs.order(), seconds):
        word = f"move {regret.move + 1}: {regret.regret_us:.2f} µs"
        if progress is not None and not progress(study.completeness, word):
            return


def _surprise(
    trace: SearchTrace, signs: Surprises, study: RegretStudy | None, limit: int
) -> dict[str, Any]:
    known = study.known if study is not None else {}
    return {
        "index": signs.index.tolist(),
        "visit_shift": signs.visit_shift.tolist(),
        "policy_shift": signs.policy_shift.tolist(),
        "value_jump_us": signs.value_jump_us.tolist(),
        "correction_us": signs.correction_us.tolist(),
        "inbox": [
            {
                **asdict(surprise),
                "action": ACTION_NAMES[trace.action[surprise.move]],
                "regret_us": known[surprise.move].regret_us if surprise.move in known else None,
            }
            for surprise in signs.inbox(limit)
        ],
    }


def _calibration(calibration: ValueCalibration) -> dict[str, Any]:
    return {
        name: {**asdict(side), "bins": [asdict(b) for b in side.bins]}
        for name, side in (("raw", calibration.raw), ("search", calibration.search))
    }


def _regret(study: RegretStudy, limit: int) -> dict[str, Any]:
    costly = sorted(study.known.values(), key=lambda r: (-r.regret_us, r.move))
    actions, gain_us = study.best
    return {
        "completeness": study.completeness,
        "num_choices": len(study.choices),
        "num_known": len(study.known),
        "saved_us": study.saved_us,
        "mean_us": sum(r.regret_us for r in costly) / len(costly) if costly else None,
        "by_move_us": {str(move): study.known[move].regret_us for move in sorted(study.known)},
        "worst": [_row(r) for r in costly[:limit] if r.regret_us > 0],
        "best_game": {"gain_us": gain_us, "actions": _digits(actions)},
    }


def _row(regret: Regret) -> dict[str, Any]:
    return {
        "move": regret.move,
        "time": regret.time,
        "group": regret.group,
        "regret_us": regret.regret_us,
        "missed_us": regret.missed_us,
        "at_once_us": regret.at_once_us,
        "punished": regret.punished,
        "played": _line(regret.played),
        "other": _line(regret.other),
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "action": ACTION_NAMES[line.action],
        "continuation": line.continuation,
        "at_once_us": line.at_once_us,
        "total_us": line.total_us,
        "actions": _digits(line.actions),
    }


def _digits(actions: bytes) -> str:
    """Actions as in the notes of the agent's plans: one digit each."""
    return "".join(map(str, actions))
