"""All settings of the agent in one place; they travel with every checkpoint."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from engine.errors import ConfigError
from engine.files import typed
from engine.game.observation.layout import SWITCHES

LEARNED, SIMULATOR, POLICY_ONLY = "learned", "simulator", "policy"
MODELS = (LEARNED, SIMULATOR, POLICY_ONLY)
GUMBEL, CLASSIC = "gumbel", "muzero"
ALGORITHMS = (GUMBEL, CLASSIC)
SCRATCH = "scratch"
"""Instead of a checkpoint's folder: fresh weights."""
MOST_SIMULATIONS = 10_000
"""Each keeps a node of the tree for every game."""
MOST_GAMES = 10_000
"""Games in step or remembered, and positions of a batch: all are in memory at once."""
MOST_UNITS = 4_096
"""Of a layer; one matrix of so many is as large as a checkpoint may be."""
MOST_LAYERS = 64
"""Residual blocks, and steps of the dynamics: each is compiled for itself."""
_MOST = sys.float_info.max


def _refuse_outside(config: object, least: float, most: float, *names: str) -> None:
    """Raises ConfigError where a setting of these names is not from `least` to `most`, or NaN."""
    for name in names:
        if not least <= getattr(config, name) <= most:
            upwards = f"{least:g} or more" if most == _MOST else f"{least:g} to {most:g}"
            raise ConfigError(f"{name} is {getattr(config, name)}: choose {upwards}")


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the networks."""

    width: int = 96
    """Units of a hidden layer."""
    latent: int = 64
    """Numbers in a latent state."""
    num_blocks: int = 1
    """Residual blocks of the representation."""

    def __post_init__(self) -> None:
        """Refuse layers without units, and networks too large; raises ConfigError."""
        _refuse_outside(self, 1, MOST_UNITS, "width", "latent")
        _refuse_outside(self, 0, MOST_LAYERS, "num_blocks")


@dataclass(frozen=True)
class SearchConfig:
    """How to search."""

    model: str = LEARNED
    """What the tree is grown with, one of `MODELS`."""
    algorithm: str = GUMBEL
    """One of `ALGORITHMS`."""
    num_simulations: int = 8
    """Per move."""
    value_scale: float = 0.05
    """Gumbel MuZero's weight of the values against the prior (its c_scale, Danihelka et al. 2022);
    values are not rescaled per node, for one point means the same everywhere."""
    maxvisit_init: float = 50.0
    """Its c_visit: what is added to the most visits of an action in that weight."""

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with; raises ConfigError."""
        for name, known in (("model", MODELS), ("algorithm", ALGORITHMS)):
            if getattr(self, name) not in known:
                chosen = f"{name} {getattr(self, name)!r}"
                raise ConfigError(f"{chosen} is none of {', '.join(known)}; name one of them")
        if not 1 <= self.num_simulations <= MOST_SIMULATIONS:
            raise ConfigError(
                f"{self.num_simulations} simulations: choose 1 to {MOST_SIMULATIONS:,} of them"
            )
        _refuse_outside(self, 0, _MOST, "value_scale", "maxvisit_init")


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played to learn from."""

    games: int = 64
    """Played in step, per round."""
    top_temperature: float = 0.5
    """Noise in the choices of the noisiest game of a round; the first game has none."""
    restart_share: float = 0.5
    """Rounds whose games go on from a position of one of the agent's own best games."""
    search_share: float = 1.0
    """Rounds in which a tree is grown at every move; in the others the networks play alone."""
    sweeps: bool = False
    """First of all every other action along the best game is tried (`engine.agent.sweep`)."""

    def __post_init__(self) -> None:
        """Refuse rounds without games or of too many, and what is no share; raises ConfigError."""
        _refuse_outside(self, 1, MOST_GAMES, "games")
        if self.sweeps and self.games < 2:
            raise ConfigError("1 game in a round: a sweep needs at least 2, the game and another")
        _refuse_outside(self, 0, _MOST, "top_temperature")
        _refuse_outside(self, 0, 1, "restart_share", "search_share")


@dataclass(frozen=True)
class ReplayConfig:
    """What is remembered of each program, and what a batch is drawn from."""

    capacity: int = 512
    """Own games; the oldest makes room."""
    num_best: int = 16
    """Best games, remembered besides."""
    td_steps: int = 20
    """Rewards in a value target, MuZero's n; the value of the position after them is added."""
    best_share: float = 0.25
    """Of a batch, from the best games; own games that went on from one begin as it did."""
    demonstration_share: float = 0.05
    """Of a batch, from the demonstrations at first."""
    demonstration_decay: float = 0.8
    """By which that share is multiplied after each visit of a program."""

    def __post_init__(self) -> None:
        """Refuse a memory of nothing or too much, and what is no share; raises ConfigError."""
        _refuse_outside(self, 1, MOST_GAMES, "capacity", "num_best", "td_steps")
        shares = ("best_share", "demonstration_share", "demonstration_decay")
        _refuse_outside(self, 0, 1, *shares)


@dataclass(frozen=True)
class LearnerConfig:
    """How the networks learn."""

    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 5.0
    """Of the gradient's global norm."""
    batch_size: int = 256
    """Positions."""
    steps_per_round: int = 6
    """Batches after each round of games."""
    warm_up_steps: int = 200
    """Batches from demonstrations alone, first of all."""
    unroll: int = 3
    """Steps of the dynamics per position."""
    value_weight: float = 0.5
    reward_weight: float = 1.0
    consistency_weight: float = 1.0

    def __post_init__(self) -> None:
        """Refuse empty and too large batches, and numbers below zero or without end; raises
        ConfigError.
        """
        _refuse_outside(self, 1, MOST_GAMES, "batch_size")
        _refuse_outside(self, 0, MOST_LAYERS, "unroll")
        _refuse_outside(self, 0, _MOST, *(f.name for f in fields(self)))


@dataclass(frozen=True)
class AgentConfig:
    """All settings of the agent."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    self_play: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    hidden: tuple[str, ...] = ()
    """Groups of inputs that the agent may not see (`engine.game.observation.layout.SWITCHES`)."""

    def __post_init__(self) -> None:
        """Refuse inputs that there are not; raises ConfigError."""
        if unknown := set(self.hidden) - set(SWITCHES):
            known = ", ".join(SWITCHES)
            raise ConfigError(f"no group of inputs is called {min(unknown)!r}; there are {known}")


def to_json(config: AgentConfig) -> dict[str, Any]:
    """The settings as nested plain values."""
    return asdict(config)


def changes(config: AgentConfig) -> dict[str, Any]:
    """The values that are not the default ones, by dotted name (see `changed`)."""
    return _differences(to_json(config), to_json(AgentConfig()))


def _differences(body: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    differences: dict[str, Any] = {}
    for name, value in body.items():
        if isinstance(value, dict):
            inner = _differences(value, usual[name])
            differences |= {f"{name}.{last}": cell for last, cell in inner.items()}
        elif value != usual[name]:
            differences[name] = value
    return differences


def named_value(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE, and read the value as JSON. Raises ConfigError."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        advice = "write NAME=VALUE, the value as JSON: self_play.sweeps=true"
        raise ConfigError(f"setting {text}: {advice}") from None


def changed(config: AgentConfig, name: str, value: Any) -> AgentConfig:
    """The settings with a new JSON `value` for the setting of that dotted name.

    Raises ConfigError if there is no such setting, or it cannot have this value.
    """
    body = json.loads(json.dumps(to_json(config)))
    *path, last = name.split(".")
    cells: Any = body
    for step in path:
        cells = cells.get(step) if isinstance(cells, dict) else None
    if not isinstance(cells, dict) or last not in cells:
        raise ConfigError(f"the agent has no setting {name!r}; engine/agent/config.py names all")
    cells[last] = value
    try:
        return from_json(body)
    except ValueError as error:
        raise ConfigError(f"setting {name}: {error}") from None


def from_json(body: Any) -> AgentConfig:
    """The settings of a manifest. Raises ValueError if a field is missing, unknown or mistyped."""
    config = typed(body, AgentConfig)
    if _names(body) != _names(to_json(config)):
        raise ValueError("the settings must have exactly the fields of this version")
    return config


def _names(body: Any) -> Any:
    """The names in nested settings, without the values."""
    return {k: _names(v) for k, v in body.items()} if isinstance(body, dict) else None
