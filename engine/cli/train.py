"""`train`: train the agent on many programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import add_command, add_output, names
from engine.cli.output import note, show

if TYPE_CHECKING:
    from engine.agent.config import AgentConfig


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "train", run, "train the agent on many programs, resumable")
    parser.add_argument(
        "--programs", type=names, help="comma-separated; default: all that are not held out"
    )
    parser.add_argument("--variants", type=int, default=1, help="per program, other hardware")
    parser.add_argument(
        "--teacher-seconds",
        type=float,
        default=0.0,
        help="that local gets per program, whose plan is shown as a game; default: no teacher",
    )
    parser.add_argument("--rounds", type=int, default=10_000, help="of games, in all")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of this call")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="learned", help="learned, simulator or policy")
    parser.add_argument("--simulations", type=int, default=8, help="per move")
    parser.add_argument("--games", type=int, help="played in step; default: the agent's own")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting of engine/agent/config.py, such as learner.batch_size=128"
        " or 'hidden=[\"prices\"]'; may be repeated",
    )
    run_folder = Path(".training/generalist")
    add_output(parser, "--run", dest="folder", is_folder=True, default=run_folder)
    add_output(parser, "-o", "--output", is_folder=True, required=True, metavar="CHECKPOINT")


def run(options: argparse.Namespace) -> int:
    """Train, or go on with a run that was begun."""
    from engine.compiler.toolchain.libtpu import use_no_tpu_here
    from engine.solvers.generalist import Course, train

    use_no_tpu_here()
    config = agent_config(options)
    course = Course(
        programs=tuple(options.programs or ()),
        variants=options.variants,
        teacher_seconds=options.teacher_seconds,
        rounds=options.rounds,
        seconds=options.seconds,
        seed=options.seed,
    )
    trainer = train(course, config, options.folder, options.output, note)
    body = {"rounds": trainer.rounds, "checkpoint": str(options.output)}
    show(options, body, [f"{trainer.rounds} rounds, checkpoint in {options.output}"])
    return 0


def agent_config(options: argparse.Namespace) -> AgentConfig:
    """The agent's settings, as the command line changes them. Raises ConfigError."""
    from engine.agent.config import AgentConfig, SearchConfig, SelfPlayConfig, changed, named_value

    config = AgentConfig(
        search=SearchConfig(model=options.model, num_simulations=options.simulations),
        self_play=SelfPlayConfig() if options.games is None else SelfPlayConfig(options.games),
    )
    for setting in options.set:
        config = changed(config, *named_value(setting))
    return config
