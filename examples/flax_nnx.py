"""Flax (nnx) trains a classifier of digits with `o2nc.optax.hedge`: it is a transformation of Optax like others.

Run: python examples/flax_nnx.py
"""

import argparse

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax_digits import data

from o2nc.optax import hedge, report


class Classifier(nnx.Module):
    def __init__(self, width, rngs):
        self.hidden, self.out = nnx.Linear(64, width, rngs=rngs), nnx.Linear(width, 10, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))


def loss(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


@nnx.jit
def step(model, opt, x, y):
    opt.update(model, nnx.grad(loss)(model, x, y))


def main(steps, width, batch):
    (images, labels), (others, answers) = data()
    model = Classifier(width, nnx.Rngs(0))
    opt = nnx.Optimizer(model, hedge(optax.cosine_decay_schedule(1e-2, steps)), wrt=nnx.Param)
    for key in jax.random.split(jax.random.key(1), steps):
        chosen = jax.random.randint(key, (batch,), 0, len(images))
        step(model, opt, images[chosen], labels[chosen])
    found = report(nnx.as_pure(opt.opt_state))
    print(f"weights {found.weights}, learning rate times {found.scale:.2f}")
    print(f"accuracy {jnp.mean(model(others).argmax(-1) == answers):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=64)
    main(**vars(parser.parse_args()))
