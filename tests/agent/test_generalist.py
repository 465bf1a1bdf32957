"""Training on many programs, from the command to the checkpoint."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from engine.agent.checkpoint import load_checkpoint
from engine.agent.config import changes
from engine.agent.run import STATE
from engine.agent.workload import Workload
from engine.cli import main, parser
from engine.cli.train import agent_config
from engine.errors import ConfigError, UsageError
from engine.game.move_list import moves
from engine.game.moves import DROP, Rules
from engine.program.model import Program
from engine.solvers import generalist, solve
from engine.solvers.demonstrations import Demonstrations
from engine.solvers.draft import Draft
from engine.solvers.generalist import HELD_OUT, TEACHER, Course, train, training_names
from tests.agent.small import CONFIG

COURSE = Course(programs=("teach-keep-or-drop", "teach-prefetch"), rounds=3, seed=4)


@pytest.mark.nightly
def test_a_short_training_ships_a_checkpoint(tmp_path: Path) -> None:
    told: list[str] = []
    trainer = train(COURSE, CONFIG, tmp_path / "run", tmp_path / "out", told.append)
    assert trainer.rounds == 3
    assert len(trainer.workloads) == 4
    found = load_checkpoint(tmp_path / "out")
    assert found.training["rounds"] == 3
    assert len(found.training["programs"]) == 4
    assert len((tmp_path / "out" / "curve.jsonl").read_text().splitlines()) == 3
    more = train(replace(COURSE, rounds=5), CONFIG, tmp_path / "run", tmp_path / "out", told.append)
    assert more.rounds == 5
    assert any("goes on after round 3" in line for line in told)


@pytest.mark.nightly
def test_a_checkpoint_tells_the_command_that_makes_it(tmp_path: Path) -> None:
    train(COURSE, CONFIG, tmp_path / "run", tmp_path / "out", lambda line: None)
    words = shlex.split(load_checkpoint(tmp_path / "out").training["command"])
    assert words[:3] == ["python", "-m", "engine"]
    given = parser().parse_args(words[3:])
    assert given.programs == list(COURSE.programs)
    assert (given.rounds, given.seed, given.variants) == (3, COURSE.seed, COURSE.variants)
    assert agent_config(given) == CONFIG


TAUGHT = replace(COURSE, programs=("teach-fragmentation",), variants=0, teacher_seconds=0.5)


def only_workload(folder: Path, course: Course = TAUGHT) -> Workload:
    course = replace(course, rounds=1)
    return train(course, CONFIG, folder / "run", folder / "out", lambda line: None).workloads[0]


def test_the_teacher_is_heard_once(tmp_path: Path) -> None:
    workload = only_workload(tmp_path)
    (game,) = workload.replay.demonstrations
    assert (tuple(game.action),) == workload.taught
    (kept,) = (tmp_path / "run" / TEACHER).iterdir()
    kept.write_text(str(DROP) * workload.num_moves)
    (tmp_path / "run" / STATE).unlink()
    assert only_workload(tmp_path).taught == ((DROP,) * workload.num_moves,)
    command = shlex.split(load_checkpoint(tmp_path / "out").training["command"])
    assert parser().parse_args(command[3:]).teacher_seconds == 0.5


def kept_games(folder: Path) -> list[Path]:
    return sorted((folder / "run" / TEACHER).iterdir())


def test_a_teacher_with_other_seconds_or_another_seed_is_asked_anew(tmp_path: Path) -> None:
    workload = only_workload(tmp_path)
    (first,) = kept_games(tmp_path)
    first.write_text(str(DROP) * workload.num_moves)
    for course in (replace(TAUGHT, teacher_seconds=0.6), replace(TAUGHT, seed=9)):
        (tmp_path / "run" / STATE).unlink()
        assert set(only_workload(tmp_path, course).taught[0]) != {DROP}
    assert len(kept_games(tmp_path)) == 3


@pytest.mark.parametrize("kept", ["", "2", "2222\n", "9" * 40, "0" * 40, "2" * 4000, "zwei", "²"])
def test_a_kept_game_that_is_none_is_made_anew(tmp_path: Path, kept: str) -> None:
    taught = only_workload(tmp_path).taught
    (path,) = kept_games(tmp_path)
    path.write_text(kept)
    (tmp_path / "run" / STATE).unlink()
    assert only_workload(tmp_path).taught == taught
    assert path.read_text() == "".join(map(str, taught[0]))


def test_a_teacher_that_is_worse_than_the_heuristics_is_not_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        generalist, "solve", lambda name, program, budget: solve("all_slow", program, budget)
    )
    workload = only_workload(tmp_path)
    assert workload.taught == workload.demonstrations[:1]


def test_a_teacher_that_is_better_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dropped(program: Program, draft: Draft) -> Demonstrations:
        return Demonstrations(Rules(), ((DROP,) * len(moves(program)),), (0.0,))

    monkeypatch.setattr(generalist, "drafted", dropped)
    workload = only_workload(tmp_path)
    assert workload.taught and set(workload.taught[0]) != {DROP}


def test_the_command_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [f"--set={name}={json.dumps(value)}" for name, value in changes(CONFIG).items()]
    words = ["--programs", "teach-keep-or-drop", "--variants", "0", "--rounds", "1", *sets]
    folders = ["--run", str(tmp_path / "run"), "-o", str(tmp_path / "out")]
    assert main(["train", *words, *folders, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 1
    assert load_checkpoint(tmp_path / "out").config == CONFIG


def test_a_folder_in_which_another_training_runs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until that ends; a run that was not ended by its own goes on at once."""

    def run() -> None:
        train(COURSE, CONFIG, tmp_path / "run", tmp_path / "run", lambda line: None)

    def prepare(*_: object) -> NoReturn:
        with pytest.raises(UsageError, match=r"run: another training .* --run"):
            run()
        raise KeyboardInterrupt

    monkeypatch.setattr(generalist, "_workloads", prepare)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run()


def test_a_training_that_trains_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 rounds; 1 is the least"):
        Course(rounds=0)
    for seconds in (-1.0, math.nan, 1e10):
        with pytest.raises(ConfigError, match="s for the teacher; name 0 to 1000000000"):
            Course(teacher_seconds=seconds)


def test_a_family_that_was_trained_on_is_not_called_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.solvers.generalist.HELD_OUT", ("bert", "teach"))
    train(replace(COURSE, rounds=1), CONFIG, tmp_path / "run", tmp_path / "out", lambda line: None)
    assert load_checkpoint(tmp_path / "out").training["held_out_families"] == ["bert"]


def test_no_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.solvers.generalist.training_names", tuple)
    with pytest.raises(UsageError, match="no program to train on"):
        train(Course(), CONFIG, tmp_path / "run", tmp_path / "out", lambda line: None)


def test_held_out_families_are_not_in_the_shipped_training() -> None:
    folder = Path(__file__).resolve().parents[2] / "checkpoints" / "generalist"
    training = json.loads((folder / "manifest.json").read_text())["training"]
    names = [*training_names(), *training["programs"]]
    assert names
    assert not [name for name in names if name.startswith(HELD_OUT)]
