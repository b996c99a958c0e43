"""acid beside what people run without it: `peers.py ACID`, with a Python that has torch.

Trains an MLP 784-512-512-10 on MNIST with batches of 128 in several ways, each in turns with the
others: PyTorch loops that never talk (the limit, at the beginning and the end of a round), PyTorch's
DistributedDataParallel over gloo, and A²CiD² in acid on threads and under mpi, with the recipe's
defaults and with samples at the end only. Every process has one thread. All use the LibTorch of this
machine, with the same kernels of OpenBLAS: those that acid chooses (docs/SEMANTICS.md, Bits), unless
--kernels installed leaves PyTorch with those that OpenBLAS chooses by itself. Prints gradients per
second as a table in Markdown, a row for each round, and the medians of the rounds' ratios.
"""

import argparse
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECIPE = """
seeds = [1]
[task]
dataset = {{ kind = "mnist", root = "{root}" }}
model = {{ kind = "mlp", hidden = [512, 512] }}
batch_size = 128
[optimizer]
learning_rate = 0.05
momentum = 0.9
[workers]
count = {workers}
[budget]
gradients = {gradients}
[[algorithms]]
kind = "a2cid2"
[execution]
driver = "{driver}"
"""


def train(rank, workers, gradients, root, port):
    """One process of a peer. With a port the processes are DistributedDataParallel's."""
    import numpy
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    raw = numpy.fromfile(Path(root) / "train-images-idx3-ubyte", numpy.uint8, offset=16)
    labels = numpy.fromfile(Path(root) / "train-labels-idx1-ubyte", numpy.uint8, offset=8)
    x = torch.from_numpy(raw.reshape(-1, 784)).float().div_(255).sub_(0.1307).div_(0.3081)
    y = torch.from_numpy(labels).long()
    layers = [torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
              torch.nn.ReLU(), torch.nn.Linear(512, 10)]
    model = torch.nn.Sequential(*layers)
    if port:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=workers)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    draw = torch.Generator().manual_seed(rank)

    def step():
        rows = torch.randint(0, len(y), (128,), generator=draw)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()

    for _ in range(5):
        step()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    for _ in range(gradients // workers):
        step()
    print(began, time.monotonic(), flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def peer(options, workers, ddp):
    """Gradients per second of so many processes together."""
    port = free_port() if ddp else 0
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if options.core:
        environment["OPENBLAS_CORETYPE"] = options.core
    crew = [subprocess.Popen([sys.executable, __file__, "--rank", str(rank), options.acid,
                              "--workers", str(workers), "--gradients", str(options.gradients),
                              "--mnist", options.mnist, "--port", str(port)], text=True,
                             env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for rank in range(workers)]
    for one in crew:
        if one.stdout.readline() != "ready\n":
            sys.exit("a PyTorch process failed")
    for one in crew:
        one.stdin.write("go\n")
        one.stdin.flush()
    times = [[float(word) for word in one.communicate()[0].split()] for one in crew]
    return options.gradients / (max(end for _, end in times) - min(begin for begin, _ in times))


def acid(options, workers, driver, *settings):
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "peers.toml"
        recipe.write_text(RECIPE.format(root=options.mnist, workers=workers, driver=driver,
                                        gradients=options.gradients))
        words = [options.acid, "run", recipe, "--store", Path(folder) / "store"]
        for setting in settings:
            words += ["--set", setting]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with sqlite3.connect(Path(folder) / "store" / "store.db") as store:
            seconds = store.execute("SELECT seconds FROM run_list").fetchone()[0]
        return options.gradients / seconds


def kernels_of(program):
    """The core whose kernels acid's gradients use; empty if its BLAS is not OpenBLAS."""
    worker = Path(program).resolve().parent / "acid-worker"
    told = subprocess.run([worker, "--environment"], check=True, capture_output=True, text=True)
    return json.loads(told.stdout).get("model_runtime", {}).get("blas_core", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("acid")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gradients", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mnist", default="mnist", help="folder of scripts/fetch-mnist")
    parser.add_argument("--kernels", choices=["acid", "installed"], default="acid")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.mnist = str(Path(options.mnist).resolve())
    if options.rank is not None:
        return train(options.rank, options.workers, options.gradients, options.mnist, options.port)
    options.acid = str(Path(options.acid).resolve())
    options.core = kernels_of(options.acid) if options.kernels == "acid" else ""

    n, ends = options.workers, "evaluation.every_time=1e9"
    sides = {"limit": lambda: peer(options, n, False),
             "threads, defaults": lambda: acid(options, n, "threads"),
             "threads, end only": lambda: acid(options, n, "threads", ends),
             "mpi, defaults": lambda: acid(options, n, "mpi"),
             "mpi, end only": lambda: acid(options, n, "mpi", ends),
             "DDP gloo": lambda: peer(options, n, True),
             "limit again": lambda: peer(options, n, False)}
    print(f"{n} workers, kernels of OpenBLAS for {options.core or 'what it finds'}\n")
    print("| " + " | ".join(sides) + " |\n|" + "---|" * len(sides), flush=True)
    rounds = []
    for number in range(options.rounds):
        names = list(sides) if number % 2 == 0 else list(sides)[::-1]
        found = {name: sides[name]() for name in names}
        rounds.append(found)
        print("| " + " | ".join(f"{found[name]:.0f}" for name in sides) + " |", flush=True)

    def ratio(of, to):
        return statistics.median(one[of] / to(one) for one in rounds)

    def limit(one):
        return (one["limit"] + one["limit again"]) / 2

    print()
    for name in list(sides)[1:5]:
        print(f"* {name}: {ratio(name, limit):.2f} of the limit, "
              f"{ratio(name, lambda one: one['DDP gloo']):.2f} × DDP")


if __name__ == "__main__":
    main()
