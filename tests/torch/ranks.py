"""Processes that work together: each test hands them a function, which all ranks call."""

import datetime
import multiprocessing
import os
import tempfile
import traceback
import warnings

import torch
import torch.distributed as dist

TIMEOUT = 240  # seconds after which somebody hangs; the collectives give up after half of them


class Ranks:
    """``n`` processes with a gloo group among them; they live until `close`, since starting one takes seconds."""

    def __init__(self, n, folder):
        self.n, self.folder = n, folder
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        store = tempfile.mkdtemp(dir=self.folder)
        for rank in range(self.n):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(rank, self.n, store, there), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def run(self, function, *args):
        """What the function returned on each rank; raises if one of them did, or hangs, or died."""
        for pipe in self.pipes:
            pipe.send((function, args))
        results = [self.result(rank) for rank in range(len(self.pipes))]
        for rank, result in enumerate(results):
            if isinstance(result, Failure):
                self.close()  # what they still send, or wait for, is of no use to others
                self.start()
                raise RuntimeError(f"Rank {rank} failed:\n{result.text}")
        return results

    def result(self, rank):
        if not self.pipes[rank].poll(TIMEOUT):
            return Failure("It hangs.")
        try:
            return self.pipes[rank].recv()
        except EOFError:
            return Failure("It died.")

    def close(self):
        for process in self.processes:
            process.kill()
            process.join()


class Failure:
    def __init__(self, text):
        self.text = text


def serve(rank, n, folder, pipe):
    """Call what comes through the pipe, until it is closed."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(n), LOCAL_RANK=str(rank))
    store = dist.FileStore(f"{folder}/store", n)
    dist.init_process_group(
        "gloo", store=store, rank=rank, world_size=n, timeout=datetime.timedelta(seconds=TIMEOUT / 2)
    )
    while True:
        try:
            function, args = pipe.recv()
        except EOFError:
            return
        try:
            found = function(*args)
        except BaseException:
            found = Failure(traceback.format_exc())
        pipe.send(found)
