"""Train a policy on one program from nothing: REINFORCE, with optax, in about a minute.

    python examples/train_policy.py [PROGRAM] [UPDATES]

Prints what the games of each batch save, as a share of the latency with everything in slow memory,
then the latency of the last batch's best plan beside that of the compiler's own plan.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import optax

import mallocmuzero

GAMES, HIDDEN, LEARNING_RATE, ENTROPY = 64, 64, 3e-3, 1e-3


def train(program: mallocmuzero.Program, updates: int) -> tuple[list[float], mallocmuzero.Plan]:
    """The mean saving of each batch, the first of random play; and the best plan of the last."""
    if updates < 1:
        raise SystemExit(f"train_policy: {updates} updates; 1 is the least")
    env = mallocmuzero.environment(program)
    optimiser = optax.adam(LEARNING_RATE)

    def play_and_score(params, key):
        """One batch of games side by side. Arrays below are `[steps, games]`."""

        def move(state, key):
            hidden = jax.nn.relu(state.observation @ params["in"])
            legal = jnp.where(state.legal_action_mask, hidden @ params["out"], -1e9)
            log_policy = jax.nn.log_softmax(legal)
            action = jax.random.categorical(key, legal)
            chosen = jnp.take_along_axis(log_policy, action[:, None], axis=1)[:, 0]
            entropy = -jnp.sum(jnp.exp(log_policy) * log_policy, axis=1)
            state = jax.vmap(env.step)(state, action)
            return state, (chosen, entropy, state.reward)

        start = jax.vmap(env.init)(jax.random.split(key, GAMES))
        keys = jax.random.split(key, env.num_steps)
        end, (chosen, entropy, reward) = jax.lax.scan(move, start, keys)
        to_go = jnp.cumsum(reward[::-1], axis=0)[::-1]
        advantage = to_go - to_go.mean(axis=1, keepdims=True)  # All games are at the same move.
        advantage = jax.lax.stop_gradient(advantage / (advantage.std() + 1e-8))
        loss = -jnp.mean(chosen * advantage + ENTROPY * entropy)
        return loss, (reward.sum(axis=0), end)

    @jax.jit
    def update(params, optimiser_state, key):
        gradient, (saved, end) = jax.grad(play_and_score, has_aux=True)(params, key)
        change, optimiser_state = optimiser.update(gradient, optimiser_state)
        return optax.apply_updates(params, change), optimiser_state, saved, end

    *keys, key = jax.random.split(jax.random.key(0), updates + 1)
    inputs = env.observation_shape[0]
    params = {
        "in": jax.random.normal(key, (inputs, HIDDEN)) * inputs**-0.5,
        "out": jnp.zeros((HIDDEN, env.num_actions)),
    }
    optimiser_state, curve = optimiser.init(params), []
    for key in keys:
        params, optimiser_state, saved, end = update(params, optimiser_state, key)
        curve.append(float(saved.mean()))
    best = jax.tree.map(lambda leaf: leaf[saved.argmax()], end)
    return curve, env.plan(best, solver="train_policy")


def main(name: str = "llamadecode-v5e-b8", updates: str = "100") -> None:
    """Train, and show what was learned."""
    program = mallocmuzero.load(name)
    curve, plan = train(program, int(updates))
    for number in range(0, len(curve), 10):
        print(f"batch {number:4}: saves {curve[number]:.1%}")
    plans = [plan]
    if "xla_compiled" in mallocmuzero.solver_names(program):
        plans.append(mallocmuzero.solve(program, "xla_compiled"))
    for its in plans:
        print(f"{its.solver}: {mallocmuzero.simulate(program, its).latency_s * 1e6:.1f} us")


if __name__ == "__main__":
    main(*sys.argv[1:])
