"""The text: the source of Python's standard library as bytes, with about a tenth of its files held out."""

import hashlib
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import torch

VOCABULARY = 256
SKIPPED = {
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idle_test",
    "lib2to3",
}  # not the library, or not everywhere
Text = torch.Tensor  # of bytes
Windows = tuple[torch.Tensor, torch.Tensor]  # tokens, and for each the one that follows


def is_held_out(name: str) -> bool:
    """Whether a file is for evaluation: its name decides, so that the same files are held out everywhere."""
    return hashlib.sha256(name.encode()).digest()[0] < 26


@cache
def corpus() -> tuple[Text, Text]:
    """What is trained on and what is held out, each in the order of the names of its files."""
    root = Path(sysconfig.get_path("stdlib"))
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for name in names:
        if not SKIPPED & set(Path(name).parts):
            parts[is_held_out(name)].append((root / name).read_bytes())
    found = [torch.frombuffer(bytearray(b"".join(part)), dtype=torch.uint8) for part in parts]
    return found[0], found[1]


def windows(text: Text, starts: np.ndarray, context: int) -> Windows:
    """The windows of a text that begin at ``starts``."""
    rows = text[torch.from_numpy(starts)[:, None] + torch.arange(context + 1)].long()
    return rows[:, :-1], rows[:, 1:]


def batch(text: Text, seed: int, step: int, size: int, context: int) -> Windows:
    """The whole batch of a step, whoever computes on which part of it."""
    rng = np.random.default_rng([seed, step])
    return windows(text, rng.integers(len(text) - context, size=size), context)


def evenly(text: Text, count: int, context: int) -> Windows:
    """Windows at equal distances over a whole text."""
    return windows(text, np.linspace(0, len(text) - context - 1, count).astype(np.int64), context)
