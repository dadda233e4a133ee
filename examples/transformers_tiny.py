"""The Trainer of transformers trains a tiny GPT-2 with `Hedged`; resumed from a checkpoint it ends in the same place.

The model is made on the spot and learns to count on, as in 3 5 7 9, modulo the size of its vocabulary.
Run: python examples/transformers_tiny.py FOLDER, then the same with --resume FOLDER/checkpoint-100
"""

import argparse
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, get_scheduler, set_seed

from o2nc.torch import Hedged, groups

VOCABULARY, LENGTH = 16, 12


def data(n, seed):
    generator = torch.Generator().manual_seed(seed)
    first, stride = (torch.randint(high, (n, 1), generator=generator) for high in (VOCABULARY, 4))
    tokens = (first + stride * torch.arange(LENGTH)) % VOCABULARY
    labels = torch.where(torch.arange(LENGTH) > 0, tokens, -100)  # the first is not to be predicted
    return [{"input_ids": row, "labels": label} for row, label in zip(tokens, labels, strict=True)]


def tiny(**options):
    sizes = {"n_layer": 2, "n_embd": 32, "n_head": 2, "n_positions": LENGTH, "vocab_size": VOCABULARY}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, **options))


def fit(folder, optimizer, steps, resume=None, seed=0, **options):
    """The optimizer, the scheduler and the trainer after ``steps`` steps, with checkpoints on the way in ``folder``."""
    set_seed(seed)
    model = tiny()
    opt = optimizer(model)
    scheduler = get_scheduler("cosine", opt, num_warmup_steps=4, num_training_steps=steps)
    every = {"eval_strategy": "steps", "eval_steps": steps // 4, "save_steps": steps // 4}
    quiet = {"report_to": "none", "disable_tqdm": True}
    options = {"per_device_train_batch_size": 16, "use_cpu": True, **every, **quiet, **options}
    arguments = TrainingArguments(folder, max_steps=steps, **options)
    trainer = Trainer(
        model, arguments, train_dataset=data(256, 0), eval_dataset=data(64, 1), optimizers=(opt, scheduler)
    )
    trainer.train(resume_from_checkpoint=resume)
    return opt, scheduler, trainer


def main(folder, steps, resume=None):
    opt, _, trainer = fit(folder, lambda model: Hedged(groups(model, weight_decay=0.01), lr=1e-2), steps, resume)
    print(opt.report())
    print(f"loss {trainer.evaluate()['eval_loss']:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for checkpoints")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--resume", type=Path, help="a checkpoint")
    main(**vars(parser.parse_args()))
