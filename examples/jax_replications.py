"""Paired replications by one `vmap` over seeds: Algorithm 1 with a learner against Algorithm 1 with the identity.

Both see the same noise in each replication, so that their difference has a small error. Eight of the ten coordinates
are noise; the learner may switch these off. Run: python examples/jax_replications.py
"""

import argparse

import jax
import jax.numpy as jnp
import optax

import o2nc
from o2nc.operators import Blockwise, Identity, Projector
from o2nc.optax import certificate, convert, report

NOISY = jnp.arange(10) >= 2


def gradient(x, key):
    """Of the sum of 1 - cos x_i, with random signs on the noisy coordinates."""
    return jnp.sin(x) + 0.5 * NOISY * jax.random.rademacher(key, x.shape)


def run(conversion, T, seed):
    """The average squared gradient over the trajectory, and the state after it."""
    tx, x = convert(conversion, seed), 2.0 * ~NOISY

    def one(carry, key):
        x, state = carry
        updates, state = tx.update(gradient(x, key), state, x)
        return (optax.apply_updates(x, updates), state), jnp.sum(jnp.sin(x) ** 2)

    (_, state), squares = jax.lax.scan(one, (x, tx.init(x)), jax.random.split(jax.random.key(seed), T))
    return jnp.mean(squares), state


def main(rounds, replications):
    constants = o2nc.Smooth.paper(M=20.0, beta=1.0, sigma=0.5 * 8**0.5, T=rounds)
    learner = o2nc.oracles.AdaHedge([Identity(), Blockwise([Projector.from_mask(~NOISY)])])
    rivals = {
        "learned": o2nc.SmoothConversion(learner, constants, kappa=1.0),
        "identity": o2nc.SmoothConversion(o2nc.oracles.Constant(), constants),
    }
    measured = {}
    for name, conversion in rivals.items():
        over_seeds = jax.jit(jax.vmap(lambda seed, conversion=conversion: run(conversion, rounds, seed)))
        measured[name], states = over_seeds(jnp.arange(replications))
        print(f"{name}: average squared gradient {jnp.mean(measured[name]):.4f}")
        print(certificate(conversion, states))
        if name == "learned":
            print(f"weight of the projector: {jnp.mean(report(states).weights[:, 1]):.2f}")
    difference = measured["learned"] - measured["identity"]
    error = jnp.std(difference, ddof=1) / replications**0.5
    print(f"learned - identity, paired: {jnp.mean(difference):.5f} +- {error:.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--replications", type=int, default=32)
    main(**vars(parser.parse_args()))
