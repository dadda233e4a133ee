"""Commands that tests start in processes of their own."""

import subprocess
import sys

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")  # then how many, and a script
ACCELERATE = ("-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes")
ABORT = (
    "terminate called without an active exception"  # of torch's threads, rarely, at the end of a process: all is done
)


def launched(*arguments):
    """What a command of this Python prints; raises if it fails."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 or ABORT in done.stderr, done.stderr
    return done.stdout
