"""What the gradient process costs: `gradient_process.py ACID`, with a Python that has torch.

The same module and minibatches in a plain PyTorch loop, and asked of acid_model.py over its socket;
then the same network under `acid run` with one worker, in the process and built in. In turns; of a
round the fastest tenth, so that other programs on the machine count little, of the rounds the
median.
"""

import csv
import importlib.util
import json
import mmap
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
MEMORY_BYTES = 1 << 30
NETWORKS = {"784-32-10, batch 16": ([32], 16, 600),
            "784-512-512-10, batch 128": ([512, 512], 128, 150),
            "784-768-768-10, batch 192": ([768, 768], 192, 80)}
MODEL = """
import torch
from torch import nn

def model(hidden):
    sizes = [784] + hidden
    layers = [nn.Flatten()]
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))

def dataset():
    draw = torch.Generator().manual_seed(1)
    both = torch.randn(4000, 784, generator=draw), torch.arange(4000) % 10
    return both, both
"""
RECIPE = """
[task]
dataset = {{ kind = "glyphs", train = 4000, test = 100 }}
model = {model}
batch_size = {batch}
partition = "shared"
[workers]
count = 1
[budget]
gradients = {count}
[evaluation]
every_gradients = {count}
[execution]
driver = "threads"
[[algorithms]]
kind = "ar-sgd"
"""


def fastest_tenth(one, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        one()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.quantiles(times[3:], n=10)[0]


def plain(folder, hidden, batch, count):
    """A gradient in a loop: choose, zero, forward, backward. The optimiser is not in it."""
    import torch
    torch.set_num_threads(1)
    specification = importlib.util.spec_from_file_location("user", folder / "user.py")
    user = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(user)
    module, (inputs, labels) = user.model(hidden), user.dataset()[0]

    def one():
        rows = torch.randint(4000, (batch,))
        module.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(module(inputs[rows]), labels[rows])
        loss.backward()
        return loss.item()
    return fastest_tenth(one, count)


class Process:
    """acid_model.py as acid starts it."""

    def __init__(self, program):
        self.socket, far = socket.socketpair()
        memory = os.memfd_create("memory")
        os.ftruncate(memory, MEMORY_BYTES)
        self.memory = mmap.mmap(memory, MEMORY_BYTES)
        lifeline, self.lifeline = os.pipe()
        open_there = [far.fileno(), memory, lifeline, os.memfd_create("words")]
        words = [sys.executable, program, *map(str, open_there)]
        self.process = subprocess.Popen(words, pass_fds=open_there)
        far.close()

    def exactly(self, count):
        data = b""
        while len(data) < count:
            data += self.socket.recv(count - len(data))
        return data

    def ask(self, **request):
        text = json.dumps(request).encode()
        self.socket.sendall(struct.pack("<I", len(text)) + text)
        return json.loads(self.exactly(struct.unpack("<I", self.exactly(4))[0]))


def asked(program, folder, hidden, batch, count):
    """The same, asked of the process."""
    import torch
    process = Process(program.parent / "acid_model.py")
    file = str(folder / "user.py")
    process.ask(do="start", protocol=1, memory_bytes=MEMORY_BYTES, threads=1, seed=1, file=file,
                options={"hidden": hidden}, data={"file": file, "options": {}})
    x, g, examples = 1 << 20, 1 << 28, 0
    process.ask(do="begin", x=x, buffers=0)
    rows = torch.frombuffer(process.memory, dtype=torch.int64, count=batch)

    def one():
        rows[:] = torch.randint(4000, (batch,))
        return process.ask(do="gradient", worker=0, step=0, seed=1, set="train", rows=batch,
                           examples=examples, x=x, g=g, buffers=0, check=False)["loss"]
    took = fastest_tenth(one, count)
    os.close(process.lifeline)
    process.process.wait()
    return took


def run(program, folder, model, batch, count):
    """Of a run: its seconds by its gradients, evaluations at its end and all."""
    (folder / "run.toml").write_text(RECIPE.format(model=model, batch=batch, count=count))
    subprocess.run([program, "run", "run.toml", "--force"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    out = subprocess.run([program, "export", "@latest"], cwd=folder, check=True,
                         capture_output=True, text=True).stdout
    return 1000 * max(float(row["seconds"]) for row in csv.DictReader(out.splitlines())) / count


def run_process(program, folder, hidden, batch, count):
    model = (f'{{ kind = "python", file = "user.py", interpreter = "{sys.executable}", '
             f'options = {{ hidden = {hidden} }} }}')
    return run(program, folder, model, batch, count)


def run_built_in(program, folder, hidden, batch, count):
    return run(program, folder, f'{{ kind = "mlp", hidden = {hidden} }}', batch, count)


def main():
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    program = Path(sys.argv[1]).resolve()
    ways = [lambda _, *rest: plain(*rest), asked, run_process, run_built_in]
    print("| network | plain loop | asked of the process | difference "
          "| `acid run`, process | `acid run`, built in |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "user.py").write_text(MODEL)
        for network, settings in NETWORKS.items():
            rounds = [[way(program, Path(name), *settings) for way in ways] for _ in range(ROUNDS)]
            loop, asked_ms, process, inside = (statistics.median(way) for way in zip(*rounds))
            cost = statistics.median(times[1] - times[0] for times in rounds)
            print(f"| {network} | {loop:.2f} ms | {asked_ms:.2f} ms | {cost:+.2f} ms, "
                  f"{100 * cost / loop:+.1f} % | {process:.2f} ms | {inside:.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
