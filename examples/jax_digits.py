"""A small Flax model trained with `o2nc.optax.hedge`, beside AdamW with the same learning rate.

The data are scikit-learn's digits. Everything is jitted, the learning rate follows a schedule, and `report` shows which
expert the rule trusts and the factor of the learning rate that it has learned. Run: python examples/jax_digits.py
"""

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import sklearn.datasets

from o2nc.optax import hedge, report

EXPERTS = ("muon", "soap")


class Classifier(nn.Module):
    """One hidden layer."""

    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(10)(nn.relu(nn.Dense(self.width)(x)))


def data():
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images, labels = jnp.asarray(images / 16, jnp.float32), jnp.asarray(labels)
    return (images[:1400], labels[:1400]), (images[1400:], labels[1400:])


def train(tx, model, steps, batch, seed=0):
    """The loss on all training data and the accuracy on the others after ``steps`` steps, and the last state."""
    (images, labels), (others, answers) = data()
    params = model.init(jax.random.key(seed), images[:1])

    def loss(params, x, y):
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), y))

    def step(carry, key):
        params, state = carry
        chosen = jax.random.randint(key, (batch,), 0, len(images))
        gradients = jax.grad(loss)(params, images[chosen], labels[chosen])
        updates, state = tx.update(gradients, state, params)
        return (optax.apply_updates(params, updates), state), None

    keys = jax.random.split(jax.random.key(seed + 1), steps)
    (params, state), _ = jax.jit(lambda carry: jax.lax.scan(step, carry, keys))((params, tx.init(params)))
    right = jnp.argmax(model.apply(params, others), axis=-1) == answers
    return float(loss(params, images, labels)), float(jnp.mean(right)), state


def main(steps, width, batch):
    model, schedule = Classifier(width), optax.cosine_decay_schedule(1e-2, steps)
    rivals = {"hedge": hedge(schedule, EXPERTS, weight_decay=1e-4), "adamw": optax.adamw(schedule)}
    for name, tx in rivals.items():
        loss, accuracy, state = train(tx, model, steps, batch)
        print(f"{name:<6} training loss {loss:.4f}, test accuracy {accuracy:.3f}")
        if name == "hedge":
            found = report(state)
            weights = ", ".join(f"{w:.2f} {expert}" for expert, w in zip(EXPERTS, found.weights, strict=True))
            print(f"       {weights}; learning rate times {found.scale:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    main(**vars(parser.parse_args()))
