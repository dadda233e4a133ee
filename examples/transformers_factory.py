"""The Trainer of transformers makes `Hedged` itself, by `for_trainer`: on one process or several, and for LoRA.

A batch has 16 samples, however many processes share it. Run one of

    python examples/transformers_factory.py FOLDER
    python examples/transformers_factory.py FOLDER --lora
    torchrun --nproc-per-node 2 examples/transformers_factory.py FOLDER
    accelerate launch --multi_gpu --num_processes 2 examples/transformers_factory.py FOLDER --accumulate 2
    torchrun --nproc-per-node 2 examples/transformers_factory.py FOLDER --fsdp

The third and the fourth run DDP, on CPUs too. The last one runs FSDP2, and needs a GPU for each process: on CPUs
accelerate would not shard. A run goes on from a checkpoint with --resume FOLDER/checkpoint-100.
"""

import argparse
import os
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments, set_seed
from transformers_tiny import data, tiny

from o2nc.torch import for_trainer

BATCH, EXPERTS = 16, ("muon", "soap")


def adapted(model):
    """The model with LoRA: its own weights are frozen, and small factors beside its matrices are trained."""
    from peft import LoraConfig, get_peft_model

    layers = ["c_attn", "c_proj", "c_fc"]  # their rows are inputs, which peft is told by fan_in_fan_out
    return get_peft_model(model, LoraConfig(r=4, target_modules=layers, fan_in_fan_out=True, task_type="CAUSAL_LM"))


def fit(folder, steps, resume=None, accumulate=1, lora=False, fsdp=False, experts=EXPERTS, seed=0, dropout=0.0):
    """The trainer after ``steps`` steps, with two checkpoints in ``folder``."""
    if fsdp and not torch.cuda.is_available():
        raise SystemExit("--fsdp needs a GPU for each process: on CPUs accelerate does not shard.")
    set_seed(seed)
    model = tiny(attn_pdrop=dropout, embd_pdrop=dropout, resid_pdrop=dropout)
    arguments = TrainingArguments(
        folder,
        max_steps=steps,
        save_steps=steps // 2,
        per_device_train_batch_size=BATCH // (int(os.environ.get("WORLD_SIZE", "1")) * accumulate),
        gradient_accumulation_steps=accumulate,
        lr_scheduler_type="cosine",
        use_cpu=not torch.cuda.is_available(),
        ddp_find_unused_parameters=False,
        fsdp=fsdp or None,
        fsdp_config={"transformer_layer_cls_to_wrap": ["GPT2Block"]} if fsdp else None,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = Trainer(
        adapted(model) if lora else model,
        arguments,
        train_dataset=data(256, 0),
        eval_dataset=data(64, 1),
        optimizer_cls_and_kwargs=for_trainer(lr=1e-2, experts=experts, weight_decay=0.01),
    )
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def main(folder, steps, **options):
    trainer = fit(folder, steps, **options)
    loss = trainer.evaluate()["eval_loss"]  # by all processes
    if trainer.is_world_process_zero():
        opt = trainer.optimizer.optimizer  # the Trainer has wrapped it
        kinds = {type(p).__name__ for group in opt.param_groups for p in group["params"]}
        print(opt.report())
        print(f"processes {trainer.args.world_size}, parameters {', '.join(kinds)}, loss {loss:.3f}")
    trainer.accelerator.wait_for_everyone()  # a process that ends early may take the others with it


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for checkpoints")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--accumulate", type=int, default=1, help="steps of which gradients are added up")
    parser.add_argument("--lora", action="store_true")
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--experts", nargs="+", default=EXPERTS)
    parser.add_argument("--resume", type=Path, help="a checkpoint")
    main(**vars(parser.parse_args()))
