"""All settings of the agent in one place; they travel with every checkpoint."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from engine.errors import ConfigError
from engine.game.inputs import SWITCHES

LEARNED, SIMULATOR, POLICY_ONLY = "learned", "simulator", "policy"
MODELS = (LEARNED, SIMULATOR, POLICY_ONLY)
GUMBEL, CLASSIC = "gumbel", "muzero"
ALGORITHMS = (GUMBEL, CLASSIC)
MOST_SIMULATIONS = 10_000
"""Each keeps a node of the tree for every game."""


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the layers, and residual blocks of the representation."""

    width: int = 96
    latent: int = 64
    num_blocks: int = 1

    def __post_init__(self) -> None:
        """Refuse layers without units; raises ConfigError."""
        if min(self.width, self.latent) < 1 or self.num_blocks < 0:
            raise ConfigError(f"{self}: layers need at least 1 unit, and 0 blocks are the least")


@dataclass(frozen=True)
class SearchConfig:
    """How to search.

    `model`: what the tree is grown with, one of `MODELS`. `algorithm`: one of `ALGORITHMS`.
    `value_scale`, `maxvisit_init`: Gumbel MuZero's weight of the values against the prior
    (its c_scale and c_visit, Danihelka et al. 2022); values are not rescaled per node, for one
    point means the same everywhere.
    """

    model: str = LEARNED
    algorithm: str = GUMBEL
    num_simulations: int = 8
    value_scale: float = 0.05
    maxvisit_init: float = 50.0

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with; raises ConfigError."""
        for name, known in (("model", MODELS), ("algorithm", ALGORITHMS)):
            if getattr(self, name) not in known:
                told = f"{name} {getattr(self, name)!r}"
                raise ConfigError(f"{told} is none of {', '.join(known)}; name one of them")
        if not 1 <= self.num_simulations <= MOST_SIMULATIONS:
            raise ConfigError(
                f"{self.num_simulations} simulations: choose 1 to {MOST_SIMULATIONS:,} of them"
            )


@dataclass(frozen=True)
class LearnerConfig:
    """`unroll`: steps of the dynamics per position; 0 trains it by gains alone, if these weigh."""

    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 5.0
    unroll: int = 3
    value_weight: float = 0.5
    reward_weight: float = 1.0
    consistency_weight: float = 1.0
    pair_weight: float = 1.0
    gain_weight: float = 0.1


@dataclass(frozen=True)
class PracticeConfig:
    """How the agent plays and what it learns from.

    `games`: played in step in every `search_every`-th round of a program, in which the agent
    decides and searches; in the others so many `scouts` follow their genomes, for so many
    `generations`. `positions`: of one learning batch; `learn_steps`: batches per round.
    `warm_up_steps`: batches from demonstrations alone, first of all. `top_temperature`: of the
    wildest game of a round. `restart_share`: rounds whose games begin somewhere in the best
    games so far and lean to what these did from there on, by so many logits as `lean` bounds;
    `cross_share` of them to two, and `reunion_share` in families of champions. `mutations`:
    mean number in the wildest game beyond the first, and `sure_lean` the logits by which it
    leans to them (`engine.agent.leaning`); each is chosen among up to so many `variations`
    (`engine.agent.breeding`). `relaxed_share`: of the random genomes with which a program is
    begun, those that round what the linear program behind the bound would do. `stale_rounds`:
    without progress (`engine.agent.replay_buffer.PROGRESS`), after which a new family begins, where
    all practice is on one program. The first `num_fresh` and every `fresh_every`-th begin with
    random genomes; of those between, every third one with all champions, if these are
    `is_reuniting`, and the others with games that differ from a champion in a share of the
    moves between those of `shaken`. `kept_games`, `kept_best`: size of the memory per program.
    `best_share`, `demonstration_share`: of a batch; the latter is multiplied by
    `demonstration_decay` after each visit of a program. `td_steps`: see
    `engine.agent.replay_buffer`.
    `reanalyse_every`: rounds after which the best games are searched again; 0: never.
    `is_competing`: the agent learns only whether a game beats the average of those that it
    remembered before (self-competition, MuZero-RC, arXiv 2202.06626).
    """

    games: int = 64
    scouts: int = 64
    generations: int = 8
    search_every: int = 16
    positions: int = 256
    learn_steps: int = 6
    warm_up_steps: int = 200
    top_temperature: float = 0.5
    restart_share: float = 0.98
    lean: tuple[float, ...] = (2.0, 8.0)
    cross_share: float = 0.2
    reunion_share: float = 0.5
    mutations: float = 3.0
    variations: int = 16
    relaxed_share: float = 0.75
    sure_lean: float = 30.0
    stale_rounds: int = 9
    num_fresh: int = 3
    fresh_every: int = 4
    is_reuniting: bool = True
    shaken: tuple[float, ...] = (0.02, 0.12)
    kept_games: int = 512
    kept_best: int = 16
    best_share: float = 0.25
    demonstration_share: float = 0.05
    demonstration_decay: float = 0.8
    td_steps: int = 20
    reanalyse_every: int = 0
    is_competing: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing; raises ConfigError."""
        if min(self.games, self.scouts, self.generations) < 1:
            told = f"{self.games} games, {self.scouts} scouts and {self.generations} generations"
            raise ConfigError(f"{told} in a round: the agent needs at least 1")
        if self.search_every < 1:
            raise ConfigError(f"search_every is {self.search_every}; 1 searches in every round")
        if min(self.num_fresh, self.fresh_every) < 1:
            told = f"num_fresh is {self.num_fresh} and fresh_every {self.fresh_every}"
            raise ConfigError(f"{told}; the least is 1")
        if len(self.shaken) != 2 or not 0 < self.shaken[0] <= self.shaken[1] <= 1:
            raise ConfigError(f"shaken is {self.shaken}; it needs two shares, the least first")
        if self.variations < 1:
            raise ConfigError(f"{self.variations} variations: the agent needs at least 1")


@dataclass(frozen=True)
class AgentConfig:
    """`hidden`: groups of inputs that the agent may not see (`engine.game.inputs.SWITCHES`)."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    practice: PracticeConfig = field(default_factory=PracticeConfig)
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse inputs that there are not; raises ConfigError."""
        if unknown := set(self.hidden) - set(SWITCHES):
            known = ", ".join(SWITCHES)
            raise ConfigError(f"no group of inputs is called {min(unknown)!r}; there are {known}")


def to_json(config: AgentConfig) -> dict[str, Any]:
    """Nested plain values."""
    return asdict(config)


def changes(config: AgentConfig) -> dict[str, Any]:
    """By dotted name the values that are not the default ones (see `changed`)."""
    return _differences(to_json(config), to_json(AgentConfig()))


def _differences(body: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in body.items():
        if isinstance(value, dict):
            inner = _differences(value, usual[name])
            found |= {f"{name}.{last}": cell for last, cell in inner.items()}
        elif value != usual[name]:
            found[name] = value
    return found


def named_value(text: str) -> tuple[str, Any]:
    """Of NAME=VALUE, the value as JSON; raises ConfigError."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        told = "write NAME=VALUE, the value as JSON: practice.is_competing=true"
        raise ConfigError(f"setting {text}: {told}") from None


def changed(config: AgentConfig, name: str, value: Any) -> AgentConfig:
    """With another value, as of JSON, for the setting of that dotted name; raises ConfigError."""
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
    found = _read(AgentConfig, body)
    assert isinstance(found, AgentConfig)
    return found


def _read(kind: type, body: Any) -> Any:
    if not isinstance(body, dict) or set(body) != {f.name for f in fields(kind)}:
        raise ValueError(f"{kind.__name__} must have exactly the fields of this version")
    hints = get_type_hints(kind)
    cells = {}
    for name, value in body.items():
        wanted = hints[name]
        if is_dataclass(wanted):
            cells[name] = _read(wanted, value)  # type: ignore[arg-type]
        elif isinstance(value, list) and get_origin(wanted) is tuple:
            cells[name] = tuple(_items(value, get_args(wanted)[0], f"{kind.__name__}.{name}"))
        elif wanted is float and isinstance(value, int) and not isinstance(value, bool):
            cells[name] = float(value)
        elif type(value) is not wanted:
            raise ValueError(f"{kind.__name__}.{name} must be of type {wanted}")
        else:
            cells[name] = value
    return kind(**cells)


def _items(values: list[Any], kind: type, name: str) -> list[Any]:
    if not all(type(value) is kind for value in values):
        raise ValueError(f"{name} must hold values of type {kind}")
    return values
