"""AdamW or Muon, to fine-tune a model? `Hedged` of both says it in one run; then both are run, with several rates.

A small GPT is trained with AdamW on prose, the topics of Python's `help()`, byte by byte. From there each optimizer
goes on with code, the source of the standard library. `Hedged` is run once, from its default rate, and its report is
printed before the others begin. Of each of these the best rate counts, by the loss on files that were held out.
Run: python examples/fine_tuning.py
"""

import argparse
import pydoc_data.topics

import torch
from language.corpus import VOCABULARY, batch, corpus, evenly
from language.model import GPT
from language.optimizers import adamw, muon
from language.parallel import Place
from language.train import factor, loss, update

from o2nc.torch import Hedged, groups

CONTEXT, BATCH, RATES, ALONE = 64, 16, (1e-3, 3e-3, 1e-2, 3e-2), Place(0, 1)
START = 1e-2  # the default of `Hedged`


def prose():
    text = "\n".join(pydoc_data.topics.topics.values()).encode()
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def trained(model, text, optimizers, lr, steps):
    """The model after ``steps`` steps with a rate that warms up and falls to 0."""
    for step in range(steps):
        update(model, optimizers, lr * factor(step, steps), batch(text, 0, step, BATCH, CONTEXT), ALONE)
    return model


def pretrained(width, steps):
    torch.manual_seed(0)
    model = GPT(VOCABULARY, width, 2, 2, CONTEXT)
    return trained(model, prose(), adamw(model, 3e-3, 0.0), 3e-3, steps)


def said(opt):
    """The weights of the experts of the matrices, and which of them would have been best, if the regrets tell."""
    found = opt.report()["groups"][0]
    weights = ", ".join(f"{expert} {w:.2f}" for expert, w in found["weights"].items())
    return f"step {opt.t}: {weights}; best by regret: {found['winner'] or 'not clear'}; rate {found['rate']:.1e}"


def main(width, before, steps):
    start, (code, held_out) = pretrained(width, before).state_dict(), corpus()
    others = evenly(held_out, 64, CONTEXT)

    def fine_tuned(make, lr):
        model = GPT(VOCABULARY, width, 2, 2, CONTEXT)
        model.load_state_dict(start)
        trained(model, code, make(model), lr, steps)
        with torch.no_grad():
            return loss(model, others, ALONE).item()

    reports = []

    def hedged(model):
        opt = Hedged(groups(model), experts=("adam", "muon"))
        every = max(1, steps // 4)
        opt.register_step_post_hook(lambda opt, *_: opt.t % every or reports.append(said(opt)))
        return [opt]

    losses = {"Hedged": fine_tuned(hedged, START)}
    print("What the hedge says", *reports, sep="\n")
    for name, make in {"AdamW": adamw, "Muon": muon}.items():
        tried = {lr: fine_tuned(lambda model, make=make: make(model, 1.0, 0.0), lr) for lr in RATES}
        best = min(tried, key=tried.get)
        losses[f"{name} at {best:g}, the best of {len(RATES)} rates"] = tried[best]
    print("\nLoss on files that were held out, in nats a byte")
    for name, value in sorted(losses.items(), key=lambda pair: pair[1]):
        print(f"{value:.3f}  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--before", type=int, default=300, help="steps on prose")
    parser.add_argument("--steps", type=int, default=120, help="steps on code")
    main(**vars(parser.parse_args()))
