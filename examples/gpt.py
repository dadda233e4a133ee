"""A small GPT trained on the source of Python's standard library, on one process, under DDP or under FSDP2.

python examples/gpt.py
torchrun --nproc-per-node 2 examples/gpt.py --parallel ddp
torchrun --nproc-per-node 2 examples/gpt.py --parallel fsdp --checkpoint run --log run

The batches do not depend on the number of processes. With --checkpoint a run that was stopped goes on, on any number
of them. Losses are in nats a byte.
"""

import argparse
import os
import sys
from dataclasses import fields

from language.options import Options
from language.train import train

TYPES = {"checkpoint": str, "log": str, "until": int}  # of options that may be None


def arguments() -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(Options):
        kind = TYPES.get(each.name, type(each.default))
        text = each.metadata["help"] + ("" if each.default is None else f" ({each.default})")
        name = "--" + each.name.replace("_", "-")
        parser.add_argument(name, type=kind, default=each.default, help=text, choices=each.metadata.get("choices"))
    return Options(**vars(parser.parse_args()))


def main() -> None:
    options = arguments()
    for record in train(options):
        if os.environ.get("RANK", "0") == "0":
            left = (options.steps - record["step"]) * options.tokens / record["tokens_per_second"]
            weights = " ".join(f"{expert} {w:.2f}" for expert, w in record.get("weights", {}).items())
            print(
                f"step {record['step']:>6}/{options.steps}  train {record['train']:.4f}  "
                f"held out {record['held_out']:.4f}  {record['tokens_per_second']:,.0f} tokens/s  {left:.0f} s left  "
                f"{weights}".rstrip(),
                flush=True,
            )


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
