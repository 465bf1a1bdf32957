"""A training run on disk: after each round everything that is needed to go on from there.

`state.npz` has the weights, the optimiser and the best games; `rounds/` the games of the rounds
that are still in memory; `curve.jsonl` one line per round.
Observations are not stored: following the actions brings them back. A round is saved or it is not;
what was left by a kill is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine.agent.arrays import Arrays, pack, unpack
from engine.agent.config import to_json
from engine.agent.sweep import Sweep
from engine.agent.trainer import Round, Trainer
from engine.agent.types import Game
from engine.agent.workload import Workload, follow
from engine.errors import CheckpointError, UsageError
from engine.files import write_bytes
from engine.folders import held
from engine.game.moves import RULES_VERSION
from engine.game.notes import options_of
from engine.game.observation import layout
from engine.program.io import content_hash

STATE, ROUNDS, CURVE = "state.npz", "rounds", "curve.jsonl"
FORGET_EVERY = 32
"""Rounds."""
DIGITS = 4
"""Behind the point, in the curve: of points and losses."""
_COLUMNS = ("action", "policy", "value", "reward", "is_seen")
_SWEEP = ("next", "judged", "is_over", "is_changed", "before", "taken", "advantages", "stage")
_VERSION = 10
"""Of what a state holds."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder of a run, which is made if need be. Raises UsageError if another one does."""
    rounds = folder / ROUNDS
    rounds.mkdir(parents=True, exist_ok=True)
    with held(rounds) as is_ours:
        if not is_ours:
            raise UsageError(
                f"{folder}: another training goes on there; wait for its end, or name another"
                " folder with --run"
            )
        yield


def save_round(trainer: Trainer, report: Round | None, folder: Path) -> None:
    """Save the round that was just played; `report` None: the state before the first.

    The state is written last: `resume` ignores files of a round that the state does not count.
    """
    (folder / ROUNDS).mkdir(parents=True, exist_ok=True)
    if report is not None:
        whose: Arrays = {"workload": np.array(report.workload)}
        if seen := [game for game in trainer.last_games if game.is_seen]:
            _write(_path(folder, report.number), whose | _stacked(seen))
        _tell(folder, report, trainer.workloads[report.workload])
    state: Arrays = {"rounds": np.array(trainer.rounds), "games": np.array(trainer.games)}
    state |= {"visits": np.array(trainer.visits), "setup": np.array(_setup(trainer))}
    leaves = jax.tree.leaves((trainer.params, trainer.state))
    state |= {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    for index, workload in enumerate(trainer.workloads):
        state |= _named(f"best_{index}", workload.replay.best)
        sweep = trainer.sweeps[index]
        if sweep is not None:
            state |= _named(f"sweep_{index}", [sweep.game])
            for name in _SWEEP:
                state[f"sweep_{index}_{name}"] = np.array(getattr(sweep, name))
    _write(folder / STATE, state)
    _forget(trainer, folder)


def resume(trainer: Trainer, folder: Path) -> bool:
    """Bring a fresh trainer to where the run stopped; False if there is nothing to resume.

    Raises CheckpointError if the run was made with other settings or programs, by an earlier
    version, or if its points are of other bounds.
    """
    if not (folder / STATE).exists():
        return False
    state = _read(folder / STATE)
    if str(state.get("setup")) != _setup(trainer):
        raise CheckpointError(
            f"{folder}: was made with another seed, other settings, other programs or bounds, or"
            " by another version; name another folder to start anew"
        )
    try:
        _restore(trainer, folder, state)
    except (KeyError, IndexError) as error:
        raise CheckpointError(
            f"{folder}: lacks {error} of its state; name another folder to start anew"
        ) from error
    return True


def _restore(trainer: Trainer, folder: Path, state: Arrays) -> None:
    leaves, structure = jax.tree.flatten((trainer.params, trainer.state))
    stored = [state[f"leaf_{i}"] for i in range(len(leaves))]
    trainer.params, trainer.state = jax.tree.unflatten(structure, [jnp.asarray(s) for s in stored])
    trainer.rounds, trainer.games = int(state["rounds"]), int(state["games"])
    trainer.visits = state["visits"].tolist()
    for number in range(trainer.rounds):
        if (path := _path(folder, number)).exists():
            arrays = _read(path)
            workload = trainer.workloads[int(arrays.pop("workload"))]
            workload.replay.add_old(_games(workload, trainer, arrays))
    for index, workload in enumerate(trainer.workloads):
        workload.replay.set_best(_kept(state, f"best_{index}", workload, trainer))
        trainer.sweeps[index] = _sweep(state, index, workload, trainer)
    _trim_curve(folder, trainer.rounds)


def _setup(trainer: Trainer) -> str:
    """The hash of all that decides how a run goes on: equal for equal runs."""
    body = {
        "seed": trainer.seed,
        "programs": [content_hash(w.program) for w in trainer.workloads],
        "rules": [options_of(w.rules) for w in trainer.workloads],
        "yardsticks": [[w.point_s, w.baseline] for w in trainer.workloads],
        "shown": [w.taught or w.demonstrations for w in trainer.workloads],
        "config": to_json(trainer.config),
        "rules_version": RULES_VERSION,
        "observation_version": layout.VERSION,
        "state_version": _VERSION,
    }
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()


def _path(folder: Path, number: int) -> Path:
    return folder / ROUNDS / f"{number:06d}.npz"


def _stacked(games: Sequence[Game]) -> Arrays:
    return {name: np.stack([getattr(game, name) for game in games]) for name in _COLUMNS}


def _named(name: str, games: Sequence[Game]) -> Arrays:
    """The columns of games in a state; none without games."""
    columns = _stacked(games) if games else {}
    return {f"{name}_{column}": cells for column, cells in columns.items()}


def _games(workload: Workload, trainer: Trainer, arrays: Arrays) -> list[Game]:
    """The stored games with their observations, where there were any."""
    games = follow(workload, trainer.params, arrays["action"], trainer.config)
    for index, game in enumerate(games):
        game.policy, game.value = arrays["policy"][index], arrays["value"][index]
        game.reward = arrays["reward"][index]
        if not arrays["is_seen"][index]:
            game.view = game.view[:, :0]
    return games


def _kept(state: Arrays, name: str, workload: Workload, trainer: Trainer) -> list[Game]:
    """The games of that name in a state."""
    if f"{name}_action" not in state:
        return []
    return _games(workload, trainer, {column: state[f"{name}_{column}"] for column in _COLUMNS})


def _sweep(state: Arrays, index: int, workload: Workload, trainer: Trainer) -> Sweep | None:
    """The sweep of a workload."""
    games = _kept(state, f"sweep_{index}", workload, trainer)
    if not games:
        return None
    sweep = Sweep(games[0])
    for name in _SWEEP:
        value = state[f"sweep_{index}_{name}"]
        setattr(sweep, name, value if value.ndim else value.item())
    return sweep


def _forget(trainer: Trainer, folder: Path) -> None:
    """Now and then delete the rounds of which nothing is in a buffer any more."""
    if trainer.rounds % FORGET_EVERY:
        return
    seen = dict.fromkeys(range(len(trainer.workloads)), 0)
    for path in sorted((folder / ROUNDS).glob("*.npz"), reverse=True):
        arrays = _read(path)
        workload = int(arrays["workload"])
        if seen[workload] >= trainer.config.replay.capacity:
            path.unlink()
        seen[workload] += len(arrays["action"])


def _write(path: Path, arrays: Arrays) -> None:
    write_bytes(path, pack(arrays, is_small=False))


def _read(path: Path) -> Arrays:
    try:
        return unpack(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: cannot be read; name another folder to start anew"
        ) from error


def _tell(folder: Path, report: Round, workload: Workload) -> None:
    """Append the line of a round to the curve."""
    line = _rounded(
        {**asdict(report), "program": workload.program.name, "baseline": workload.baseline}
    )
    with (folder / CURVE).open("a") as curve:
        curve.write(json.dumps(line) + "\n")
        curve.flush()
        os.fsync(curve.fileno())


def _rounded(cells: dict[str, Any]) -> dict[str, Any]:
    """The cells with fewer digits: for a plot, all of them would be most of the file."""
    return {
        name: _rounded(cell)
        if isinstance(cell, dict)
        else round(cell, DIGITS)
        if isinstance(cell, float)
        else cell
        for name, cell in cells.items()
    }


def _trim_curve(folder: Path, rounds: int) -> None:
    """Drop the lines of rounds that the curve has but the saved state has not."""
    path = folder / CURVE
    if path.exists():
        lines = path.read_text().splitlines()[:rounds]
        write_bytes(path, ("\n".join(lines) + "\n").encode() if lines else b"")
