"""The exit codes: each means one thing."""

import contextlib
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum


class Code(IntEnum):
    """What the end of a command means.

    >>> int(Code.DISAGREES), Code.DISAGREES.words
    (1, 'a published cell disagrees, or a certificate or lemma does not hold')
    """

    DONE = 0
    DISAGREES = 1
    USAGE = 2
    FAILED = 3
    NOT_REACHED = 4
    BUG = 70
    INTERRUPTED = 130
    CLOSED_PIPE = 141

    @property
    def words(self) -> str:
        """What it means."""
        return WORDS[self]


WORDS = {
    Code.DONE: "done, and nothing disagrees",
    Code.DISAGREES: "a published cell disagrees, or a certificate or lemma does not hold",
    Code.USAGE: "wrong usage: an option, or an --out that holds something else; nothing was changed",
    Code.FAILED: "the run could not be done: a disk, a damaged file, a worker or a missing package",
    Code.NOT_REACHED: "nothing disagrees, but the run was too short to reach every published cell",
    Code.BUG: "a bug, with a traceback: please report it",
    Code.INTERRUPTED: "interrupted; finished cells are kept",
    Code.CLOSED_PIPE: "whoever read the output closed the pipe",
}
EPILOG = "Exit codes: " + "; ".join(f"{code:d} {code.words}" for code in Code) + "."


def ended(run: Callable[[], object]) -> int:
    """The exit code of ``run``, the command line, whatever ends it.

    Click and Rich end with 1 if a pipe was closed, and Python with 1 after a traceback: neither is a disagreement.

    >>> ended(lambda: sys.exit(2))
    2
    """
    try:
        run()
    except SystemExit as end:
        closed = isinstance(end.__context__, BrokenPipeError)
        return Code.CLOSED_PIPE if closed else end.code if isinstance(end.code, int) else Code.DONE
    except KeyboardInterrupt:
        return Code.INTERRUPTED
    except OSError as error:
        with contextlib.suppress(OSError):  # the disk below the errors may be full too
            print(f"o2nc: {sentence(error)}", file=sys.stderr)
        return Code.FAILED
    except Exception:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return Code.BUG
    return Code.DONE


def sentence(error: OSError) -> str:
    """What the system refused, without its number.

    >>> sentence(FileNotFoundError(2, "No such file or directory", "data.csv"))
    'Cannot use data.csv: No such file or directory.'
    """
    what = "Cannot write the output" if error.filename is None else f"Cannot use {error.filename}"
    return f"{what}: {error.strerror or error}."
