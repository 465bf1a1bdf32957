"""Training the generalist: one agent that practises on many programs in turn.

Model families named in `HELD_OUT` never enter the training, so that what the checkpoint does on
them shows what carries over to programs it has not seen.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from engine.agent.checkpoint import Checkpoint, save_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import AgentConfig, changes
from engine.agent.run import CURVE, alone, resume, save_round
from engine.agent.trainer import Trainer
from engine.agent.workload import Workload, make_workload
from engine.errors import ConfigError, UsageError
from engine.files import write_bytes
from engine.game.jaxgame.encoding import Shape, common_shape, encode
from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.hardware.what_if import WhatIf, derive, name_of
from engine.plan.bounds import lower_bound
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers.demonstrations import Demonstrations, drafted
from engine.solvers.draft import drafts_of
from engine.solvers.registry import MAX_SECONDS, Budget, refuse_bad_budget, solve

HELD_OUT = ("alphatensor", "bert", "dlrm", "llamadecode", "unet")
"""Model families that are only ever tested."""
MEMORY_RANGE = (0.5, 1.5)
BANDWIDTH_RANGE = (0.7, 1.4)
TEACHER = "teacher"
"""Folder of a run with the games that a strong solver showed, a digit per action."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Course:
    """What to train on, and for how long.

    `variants`: per program, further copies with another memory size and bandwidth.
    `teacher_seconds`: that `local` gets per program, whose plan is shown as a game (0: none).
    Training ends after `rounds` or `seconds` (of this call), whichever comes first.
    """

    programs: tuple[str, ...] = ()
    variants: int = 1
    teacher_seconds: float = 0.0
    rounds: int = 10_000
    seconds: float = 3600.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that train nothing, and bad times and seeds; raises ConfigError."""
        refuse_bad_budget(self.seconds, self.seed)
        if self.rounds < 1:
            raise ConfigError(f"train: {self.rounds} rounds; 1 is the least")
        if not 0 <= self.teacher_seconds <= MAX_SECONDS:
            raise ConfigError(
                f"train: {self.teacher_seconds} s for the teacher; name 0 to {MAX_SECONDS:.0f}"
            )
        if self.variants < 0:
            raise ConfigError(f"train: {self.variants} variants per program; 0 is the least")


def training_names() -> tuple[str, ...]:
    """The captured sample programs whose families are not held out."""
    return tuple(
        e.name for e in library.index() if e.xla_latency_s is not None and not is_held_out(e.name)
    )


def is_held_out(name: str) -> bool:
    """Whether a sample program is held out of the training."""
    return name.split("-", maxsplit=1)[0] in HELD_OUT


def train(course: Course, config: AgentConfig, folder: Path, output: Path, tell: Tell) -> Trainer:
    """Train, or go on training, in `folder`; write the checkpoint to `output` at the end.

    Raises UsageError if no program is named or `folder` is held by another training,
    CheckpointError if it is of another run, or the weights are not finite at the end.
    """
    keep_compiled()
    deadline = time.perf_counter() + course.seconds
    names = course.programs or training_names()
    if not names:
        raise UsageError("train: no program to train on; name some with --programs")
    with alone(folder):
        workloads = _workloads(names, course, config, folder, tell)
        trainer = Trainer(workloads, config, course.seed)
        trainer.show_demonstrations()
        if resume(trainer, folder):
            tell(f"goes on after round {trainer.rounds}")
        else:
            trainer.warm_up()
            save_round(trainer, None, folder)
            tell("warmed up on the demonstrations")
        while trainer.rounds < course.rounds and time.perf_counter() < deadline:
            report = trainer.play_round()
            assert report is not None
            save_round(trainer, report, folder)
            workload = workloads[report.workload]
            tell(
                f"round {report.number} {workload.program.name}: mean {report.mean:+.2f},"
                f" top {report.top:+.2f}, best {report.best:+.2f} points above the baseline"
            )
        _ship(trainer, course, folder, output)
        return trainer


def _workloads(
    names: Sequence[str], course: Course, config: AgentConfig, folder: Path, tell: Tell
) -> list[Workload]:
    programs = []
    for index, name in enumerate(names):
        program = library.resolve(name)
        rng = np.random.default_rng([course.seed, index])
        programs += [program, *(vary(program, rng) for _ in range(course.variants))]
    shape = common_shape([encode(program) for program in programs])
    workloads = []
    for number, program in enumerate(programs):
        tell(f"prepares {program.name} ({number + 1} of {len(programs)})")
        teach = partial(_taught, program, course, folder) if course.teacher_seconds else None
        workloads.append(training_workload(program, config, shape, teach))
    return workloads


def _taught(
    program: Program, course: Course, folder: Path, shown: Demonstrations
) -> tuple[int, ...]:
    """The teacher's game, kept in the run's folder: what `local` finds depends on the pace.

    Its plan as moves, or the best game shown where that is better. Games of other seconds or seeds
    have other names.
    """
    asked = f"{course.teacher_seconds}s-{course.seed}"
    path = folder / TEACHER / f"{content_hash(program)}-{asked}.txt"
    actions = _kept_game(path, program, shown.rules)
    if actions is None:
        plan = solve("local", program, Budget(course.teacher_seconds, course.seed))
        game = replay(program, plan, shown.rules)
        is_better = game.total_reward > shown.rewards[0]
        actions = tuple(game.actions) if is_better else shown.actions[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, "".join(map(str, actions)).encode())
    return actions


def _kept_game(path: Path, program: Program, rules: Rules) -> tuple[int, ...] | None:
    """The actions in a file; None if there are none, or not of a whole game by these rules."""
    game = ReferenceGame(program, rules)
    try:
        for digit in path.read_text(encoding="ascii"):
            game.step(int(digit))
    except (OSError, ValueError, IndexError):
        return None
    return tuple(game.actions) if game.is_over else None


def training_workload(
    program: Program,
    config: AgentConfig,
    shape: Shape,
    teach: Callable[[Demonstrations], tuple[int, ...]] | None = None,
) -> Workload:
    """A program as it is trained on, padded to `shape`: in the planned places of its draft.

    `teach` gives a stronger game than those that are shown, as actions.
    """
    shown = drafted(program, next(drafts_of(program)))
    bound = lower_bound(program)
    return make_workload(
        program,
        shown.actions,
        config,
        rules=shown.rules,
        bound=bound,
        shape=shape,
        taught=[] if teach is None else [teach(shown)],
        wishes=shown.wishes,
    )


def vary(program: Program, rng: np.random.Generator) -> Program:
    """The program on hardware with another memory size and bandwidth."""
    hardware = program.hardware
    granules = int(hardware.fast_bytes // hardware.alignment * rng.uniform(*MEMORY_RANGE))
    scratch = max((i.reserved_bytes for i in program.instructions), default=0)
    wish = WhatIf(
        fast_bytes=max(granules * hardware.alignment, scratch, hardware.alignment),
        bandwidth=hardware.bandwidth * float(rng.uniform(*BANDWIDTH_RANGE)),
    )
    return derive(program, wish, name_of(program.name, wish))


def _command(course: Course, trainer: Trainer) -> str:
    """What trains the same again on the same kind of machine."""
    parts = {
        "run": ".training/again",
        "output": "checkpoints/again",
        "programs": ",".join(course.programs),
        "variants": course.variants,
        "teacher-seconds": course.teacher_seconds,
        "seed": course.seed,
        "rounds": trainer.rounds,
        "seconds": "1e9",
    }
    words = [f"--{name}={value}" for name, value in parts.items() if value != ""]
    settings = changes(trainer.config).items()
    words += [f"--set={name}={json.dumps(value)}" for name, value in settings]
    return shlex.join(["python", "-m", "engine", "train", *words])


def _ship(trainer: Trainer, course: Course, folder: Path, output: Path) -> None:
    families = {w.program.name.split("-", maxsplit=1)[0] for w in trainer.workloads}
    training = {
        "command": _command(course, trainer),
        "seed": course.seed,
        "rounds": trainer.rounds,
        "variants": course.variants,
        "held_out_families": [f for f in HELD_OUT if f not in families],
        "programs": {w.program.name: content_hash(w.program) for w in trainer.workloads},
    }
    save_checkpoint(Checkpoint(trainer.params, trainer.config, training), output)
    curve = folder / CURVE
    if curve.exists() and curve.parent != output:
        write_bytes(output / CURVE, curve.read_bytes())
