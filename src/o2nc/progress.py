"""A progress bar for terminals that needs no library."""

import sys
import time
from collections.abc import Iterator


def progress(rounds: range, show: bool | None = None) -> Iterator[int]:
    """The rounds, with a bar on standard error if that is a terminal (or as ``show`` says).

    Reference: none; long work shows progress.

    >>> list(progress(range(1, 4), show=False))
    [1, 2, 3]
    """
    stream = sys.stderr
    if not (stream.isatty() if show is None else show):
        yield from rounds
        return
    start = drawn = time.monotonic()
    for done, t in enumerate(rounds, start=1):
        yield t
        now = time.monotonic()
        if now - drawn > 0.1 or done == len(rounds):
            drawn, filled = now, 30 * done // len(rounds)
            left = (now - start) / done * (len(rounds) - done)
            bar = "#" * filled + "-" * (30 - filled)
            stream.write(f"\r[{bar}] {done}/{len(rounds)} rounds, {left:.0f} s left ")
            stream.flush()
    stream.write("\n")
