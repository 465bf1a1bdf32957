"""MuZero's losses: held to values by hand, to masks, to finite differences, and to a fit.

Nothing here plays the game: the features of a program and its positions are drawn at random.
"""

from __future__ import annotations

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.agent import losses
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import LearnerConfig, NetworkConfig
from engine.agent.losses import (
    Losses,
    Unrolled,
    cross_entropy,
    halve_gradient,
    learn,
    losses_of,
    optimiser,
    unroll,
)
from engine.agent.network import (
    LIMIT,
    NUM_ATOMS,
    Params,
    dynamics_bias,
    from_logits,
    init_params,
    inverse,
    predict,
    react,
)
from engine.agent.types import Batch
from engine.game.moves import DROP, NUM_ACTIONS
from engine.game.observation.dynamic import imagined_wish
from engine.game.observation.layout import NUM_AHEAD, NUM_OUTLOOK, NUM_STATIC, NUM_VIEW, SIZE
from engine.game.observation.static import NO_WISH, Features, static_row

keep_compiled()

NUM_MOVES, POSITIONS, STEPS, LATENT = 12, 6, 3, 8
NETWORK = NetworkConfig(width=48, latent=LATENT, num_blocks=1)
CONFIG = LearnerConfig(unroll=STEPS, value_weight=0.5, reward_weight=3.0, consistency_weight=7.0)
NAMES = ("policy", "value", "reward", "consistency")
OUTPUTS = ("policy_logits", "value_logits", "reward_logits", "latent")
SAID = jax.jit(unroll)
LOSSES = jax.jit(losses_of, static_argnames="config")
PREDICT, REACT = jax.jit(predict), jax.jit(react)
MIDDLE = NUM_ATOMS // 2
"""The atom of the scalar 0."""
FITS = 1200


def atom_scalar(atom: int) -> float:
    """The scalar whose two-hot distribution is all on one atom."""
    return float(inverse(jnp.linspace(-LIMIT, LIMIT, NUM_ATOMS)[atom]))


@pytest.fixture(scope="module")
def known() -> Features:
    rng, rows_of_table = np.random.default_rng(0), NUM_MOVES + NUM_AHEAD
    rows = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return Features(
        table=rows(NUM_MOVES + NUM_AHEAD, NUM_STATIC),
        outlook=rows(NUM_MOVES + 1, NUM_OUTLOOK),
        density=jnp.zeros(4),
        point_ticks=jnp.float32(1.0),
        shown=jnp.ones(SIZE),
        tells_dynamics=jnp.float32(1.0),
        # A few only: networks so small take long to learn to do otherwise.
        wish=jnp.asarray([DROP if move % 5 == 2 else NO_WISH for move in range(rows_of_table)]),
        may_keep=jnp.zeros(rows_of_table, jnp.int32),
    )


@pytest.fixture
def batch() -> Batch:
    """Fresh arrays, as `random_batch`."""
    return random_batch()


def random_batch() -> Batch:
    """Positions whose targets all differ; the last two games end two and one moves later."""
    rng = np.random.default_rng(1)
    best = rng.integers(NUM_ACTIONS, size=(POSITIONS, STEPS + 1))
    atoms = MIDDLE + rng.integers(-6, 7, size=(2, POSITIONS, STEPS + 1))
    scalars = np.vectorize(atom_scalar)(atoms).astype(np.float32)
    weight = np.ones((POSITIONS, STEPS + 1), np.float32)
    weight[-2, 2:] = weight[-1, 1:] = 0.0
    return Batch(
        view=rng.normal(size=(POSITIONS, STEPS + 1, NUM_VIEW)).astype(np.float16),
        move=np.array([0, 1, 2, 5, NUM_MOVES - 2, NUM_MOVES - 1]),
        action=rng.integers(NUM_ACTIONS, size=(POSITIONS, STEPS)),
        reward=scalars[0, :, 1:],
        policy=np.eye(NUM_ACTIONS, dtype=np.float32)[best],
        legal=np.ones((POSITIONS, STEPS + 1, NUM_ACTIONS), bool),
        value=scalars[1],
        weight=weight,
        policy_weight=weight.copy(),
    )


def fresh(seed: int = 2) -> Params:
    """Weights whose output layers say something."""
    params: Params = init_params(jax.random.key(seed), NETWORK)
    return {
        name: {"w": layer["w"] * (30.0 if name.endswith("out") else 1.0), "b": layer["b"]}
        for name, layer in params.items()
    }


def values_of(losses: Losses) -> dict[str, float]:
    return {field.name: float(getattr(losses, field.name)) for field in fields(losses)}


@jax.jit
def _gradient(params: Params, known: Features, batch: Batch) -> tuple[Params, Losses]:
    def total(params: Params) -> tuple[jax.Array, Losses]:
        losses = losses_of(unroll(params, known, NUM_MOVES, batch), batch, CONFIG)
        return losses.total, losses

    found: tuple[Params, Losses] = jax.grad(total, has_aux=True)(params)
    return found


def loss_and_gradient(
    params: Params, known: Features, batch: Batch
) -> tuple[dict[str, float], Params]:
    gradient, losses = _gradient(params, known, batch)
    return values_of(losses), gradient


def by_hand() -> tuple[Unrolled, Batch]:
    """Two positions and one step, in numbers that a reader can check."""
    value = np.zeros((2, 2, NUM_ATOMS), np.float32)
    value[0, 0, MIDDLE] = np.log(60.0)  # 60 of 100 at the target 0.
    reward = np.zeros((2, 1, NUM_ATOMS), np.float32)
    reward[0, 0, MIDDLE + 4] = np.log(10.0)  # 10 of 50 at the target of atom +4.
    policy = np.log(np.array([[[4, 2, 2], [1, 1, 2]], [[1, 1, 1], [5, 3, 2]]], np.float32))
    said = Unrolled(
        policy_logits=jnp.asarray(policy),
        value_logits=jnp.asarray(value),
        reward_logits=jnp.asarray(reward),
        latent=jnp.array([[[1.0, 2.0]], [[0.0, 0.0]]]),
        observed=jnp.array([[[3.0, 3.0]], [[9.0, 9.0]]]),
    )
    batch = Batch(
        view=np.zeros((2, 2, NUM_VIEW), np.float16),
        move=np.zeros(2, np.int32),
        action=np.zeros((2, 1), np.int32),
        reward=np.array([[atom_scalar(MIDDLE + 4)], [0.0]], np.float32),
        policy=np.array([[[0, 1, 0], [0.5, 0, 0.5]], [[0, 0, 1], [1, 0, 0]]], np.float32),
        # At the first root action 2 is forbidden: 4 + 2 are left.
        legal=np.array([[[1, 1, 0], [1, 0, 0]], [[1, 1, 1], [1, 1, 1]]], bool),
        value=np.zeros((2, 2), np.float32),
        # The second game ends after its root.
        weight=np.array([[1, 1], [1, 0]], np.float32),
        policy_weight=np.array([[1, 0], [1, 0]], np.float32),
    )
    return said, batch


def test_each_loss_is_what_one_computes_by_hand() -> None:
    said, batch = by_hand()
    found = values_of(LOSSES(said, batch, CONFIG))
    ln = np.log
    # Means over two positions, sums over root and step.
    policy = (-ln(2 / 6) - 0.5 * ln(1 / 4) - 0.5 * ln(2 / 4)) / 2 - ln(1 / 3) / 2
    value = (-ln(60 / 100) + ln(NUM_ATOMS)) / 2 + ln(NUM_ATOMS) / 2
    reward = (-ln(10 / 50) + ln(NUM_ATOMS)) / 2
    consistency = ((1 - 3) ** 2 + (2 - 3) ** 2) / 2 / 2
    assert found["policy"] == pytest.approx(policy, rel=1e-4)
    assert found["value"] == pytest.approx(value, rel=1e-4)
    assert found["reward"] == pytest.approx(reward, rel=1e-4)
    assert found["consistency"] == pytest.approx(consistency, rel=1e-4)
    total = policy + 0.5 * value + 3.0 * reward + 7.0 * consistency
    assert found["total"] == pytest.approx(total / 2, rel=1e-4)


def test_a_root_with_one_legal_action_teaches_no_policy_but_a_value() -> None:
    said, batch = by_hand()
    forced = replace(batch, policy_weight=np.zeros((2, 2), np.float32))
    before, after = (values_of(LOSSES(said, b, CONFIG)) for b in (batch, forced))
    steps_alone = (-0.5 * np.log(1 / 4) - 0.5 * np.log(2 / 4)) / 2
    assert after["policy"] == pytest.approx(steps_alone, rel=1e-4)
    assert {name: after[name] for name in NAMES[1:]} == {name: before[name] for name in NAMES[1:]}


def test_a_target_on_what_was_forbidden_is_no_infinite_loss() -> None:
    said, batch = by_hand()
    odd = replace(batch, legal=np.array([[[0, 0, 1], [1, 0, 0]], [[1, 1, 1], [1, 1, 1]]], bool))
    assert values_of(LOSSES(said, odd, CONFIG))["policy"] < 30.0


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_each_loss_is_its_finite_difference(name: str, batch: Batch) -> None:
    """By the outputs, where nothing is halved; so a loss of zero or of other targets is seen."""
    output = {"policy": "policy_logits", "value": "value_logits", "reward": "reward_logits"}
    rng = np.random.default_rng(3)
    said = Unrolled(
        policy_logits=jnp.asarray(rng.normal(size=(POSITIONS, STEPS + 1, NUM_ACTIONS))),
        value_logits=jnp.asarray(rng.normal(size=(POSITIONS, STEPS + 1, NUM_ATOMS))),
        reward_logits=jnp.asarray(rng.normal(size=(POSITIONS, STEPS, NUM_ATOMS))),
        latent=jnp.asarray(rng.normal(size=(POSITIONS, STEPS, LATENT))),
        observed=jnp.asarray(rng.normal(size=(POSITIONS, STEPS, LATENT))),
    )
    field = output.get(name, "latent")

    def loss(cells: jax.Array) -> jax.Array:
        found: jax.Array = getattr(LOSSES(replace(said, **{field: cells}), batch, CONFIG), name)
        return found

    cells = getattr(said, field)
    gradient = jax.grad(loss)(cells)
    direction = jnp.asarray(rng.normal(size=cells.shape), cells.dtype)
    slope = (loss(cells + 1e-2 * direction) - loss(cells - 1e-2 * direction)) / 2e-2
    assert abs(float(slope)) > 1e-2
    assert float(jnp.vdot(gradient, direction)) == pytest.approx(float(slope), rel=2e-2)


def test_what_lies_past_the_end_of_a_game_changes_nothing(known: Features, batch: Batch) -> None:
    """Neither the losses nor what is learned, whatever stands in the padding of the targets."""
    rng = np.random.default_rng(4)
    past = batch.weight == 0
    assert past.any()
    noise = rng.normal(size=past.shape).astype(np.float32) * past
    policy = np.where(past[..., None], np.float32(1 / 3), batch.policy)
    view = batch.view + (5 * rng.normal(size=batch.view.shape) * past[..., None]).astype(np.float16)
    # A reward is of the move before: at the last move there is one, past it there is none.
    reward = batch.reward + rng.normal(size=batch.reward.shape).astype(np.float32) * past[:, :-1]
    other = replace(batch, value=batch.value + noise, policy=policy, view=view, reward=reward)
    first, second = (loss_and_gradient(fresh(), known, b) for b in (batch, other))
    for name in ("total", *NAMES):
        assert first[0][name] == pytest.approx(second[0][name], rel=1e-6)
    for one, two in zip(jax.tree.leaves(first[1]), jax.tree.leaves(second[1]), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.parametrize("field", ["value", "policy", "reward", "view"])
def test_what_lies_before_the_end_of_a_game_matters(
    field: str, known: Features, batch: Batch
) -> None:
    cells = getattr(batch, field).copy()
    cells[:, 0] = np.roll(cells[:, 0], 1, axis=0)
    other = replace(batch, **{field: cells})
    first, second = (loss_and_gradient(fresh(), known, b)[0] for b in (batch, other))
    changed = {name for name in NAMES if abs(first[name] - second[name]) > 1e-3}
    wanted = {"view": set(NAMES)}.get(field, {field})
    assert changed == wanted


def test_each_step_is_what_the_networks_say_one_by_one(known: Features, batch: Batch) -> None:
    """The learned model is run along the actions, told of the moves that really follow."""
    params = fresh()
    said = SAID(params, known, NUM_MOVES, batch)
    for row, (move, actions) in enumerate(zip(batch.move, batch.action, strict=True)):
        latent = said.latent[row : row + 1, 0]
        for step in range(1, STEPS):
            after = min(int(move) + step + 1, NUM_MOVES)
            wish = imagined_wish(known, jnp.asarray([min(int(move) + step, NUM_MOVES)]))
            guess = PREDICT(params, latent, wish)
            for name, found in (("value", guess.value_logits), ("policy", guess.policy)):
                expected = getattr(said, f"{name}_logits")[row, step]
                np.testing.assert_allclose(expected, found[0], 1e-3, 1e-3)
            following = static_row(known, jnp.int32(after))[None]
            action = jnp.asarray(actions[step : step + 1])
            latent, reward = REACT(params, latent, action, dynamics_bias(params, following))
            np.testing.assert_allclose(said.latent[row, step], latent[0], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(said.reward_logits[row, step], reward[0], 1e-2, 1e-3)


@pytest.mark.nightly
def test_each_unrolled_step_halves_the_gradient(
    known: Features, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the true slope by the root's state, once per step of the dynamics behind it.

    Policy and value of step k come after k halvings, the reward of step k and the latent state
    that is compared with the observed one after k - 1.
    """
    params, key = fresh(), "represent_latent"
    direction = jnp.asarray(np.random.default_rng(5).normal(size=LATENT), jnp.float32)

    def outputs(shift: jax.Array | float) -> dict[str, jax.Array]:
        layer = {**params[key], "b": params[key]["b"] + shift * direction}
        said = losses.unroll({**params, key: layer}, known, NUM_MOVES, batch)
        cells = {name: getattr(said, name) for name in OUTPUTS}
        return {
            name: jnp.einsum("bsn,n->s", found, jnp.cos(jnp.arange(found[0, 0].size)))
            for name, found in cells.items()
        }

    halved = jax.jacfwd(outputs)(0.0)
    monkeypatch.setattr(losses, "halve_gradient", lambda latent: latent)
    slopes = jax.jacfwd(outputs)(0.0)
    for name in OUTPUTS:
        share = 0.5 ** np.arange(len(slopes[name]))
        np.testing.assert_allclose(halved[name], slopes[name] * share, 1e-4, err_msg=name)
        assert np.abs(slopes[name]).min() > 1e-3, name


def test_half_of_the_gradient_passes() -> None:
    assert float(halve_gradient(jnp.float32(3.0))) == 3.0
    assert float(jax.grad(lambda x: halve_gradient(x) ** 2)(3.0)) == pytest.approx(3.0)


def test_what_was_observed_is_a_target_and_learns_nothing(known: Features, batch: Batch) -> None:
    """While what is imagined for the same steps does."""

    def is_learned(name: str) -> bool:
        def size(params: Params) -> jax.Array:
            return jnp.sum(getattr(SAID(params, known, NUM_MOVES, batch), name) ** 3)

        return any(np.asarray(leaf).any() for leaf in jax.tree.leaves(jax.grad(size)(fresh())))

    observed = SAID(fresh(), known, NUM_MOVES, batch).observed
    assert float(jnp.abs(observed).max()) > 0.0
    assert is_learned("latent")
    assert not is_learned("observed")


def test_without_steps_only_the_root_is_learned(known: Features, batch: Batch) -> None:
    root = replace(
        batch,
        **{
            name: getattr(batch, name)[:, :1]
            for name in ("view", "policy", "legal", "value", "weight", "policy_weight")
        },
        action=batch.action[:, :0],
        reward=batch.reward[:, :0],
    )
    found, _ = loss_and_gradient(fresh(), known, root)
    assert found["reward"] == found["consistency"] == 0.0
    assert found["total"] == pytest.approx(found["policy"] + 0.5 * found["value"], rel=1e-5)


def test_cross_entropy_is_least_at_its_target() -> None:
    target = jnp.float32(atom_scalar(MIDDLE + 3))
    losses = [
        float(cross_entropy(20.0 * jax.nn.one_hot(MIDDLE + atom, NUM_ATOMS), target))
        for atom in range(-5, 6)
    ]
    assert int(np.argmin(losses)) == 8
    assert min(losses) < 1e-2


@pytest.fixture(scope="module")
def fitted(known: Features) -> tuple[Params, Batch, dict[str, float]]:
    """Networks that have seen one batch over and over."""
    config = replace(CONFIG, learning_rate=2.5e-3, consistency_weight=1.0)
    params: Params = init_params(jax.random.key(6), NETWORK)
    state, one = optimiser(config).init(params), random_batch()
    for _ in range(FITS):
        params, state, losses = learn(params, state, known, NUM_MOVES, one, config)
    return params, one, values_of(losses)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "most"), [("policy", 0.02), ("value", 0.1), ("reward", 0.1), ("consistency", 0.15)]
)
def test_one_batch_is_fitted_to_almost_nothing(
    name: str, most: float, fitted: tuple[Params, Batch, dict[str, float]]
) -> None:
    assert fitted[2][name] < most


def test_what_was_fitted_are_the_targets(
    known: Features, fitted: tuple[Params, Batch, dict[str, float]]
) -> None:
    """In points and actions, so that a loss that is always zero, or another target, is seen."""
    params, one, _ = fitted
    said, inside = SAID(params, known, NUM_MOVES, one), one.weight > 0
    value, reward = from_logits(said.value_logits), from_logits(said.reward_logits)
    np.testing.assert_allclose(value[inside], one.value[inside], atol=1.0)
    is_move = inside[:, :-1]
    np.testing.assert_allclose(reward[is_move], one.reward[is_move], atol=1.0)
    assert np.ptp(one.value[inside]) > 5 < np.ptp(one.reward[is_move])
    best = np.argmax(said.policy_logits, axis=-1)
    assert (best == np.argmax(one.policy, axis=-1))[inside].all()
    apart = np.abs(said.latent - said.observed)[inside[:, 1:]]
    assert apart.mean() < 0.25
