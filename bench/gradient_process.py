"""What the gradient process costs: `gradient_process.py ACID`, with a Python that has torch.

The same module and minibatches in a plain PyTorch loop, and asked of acid_model.py over its socket;
then the same network under `acid run` with one worker, in the process and built in. Each two in
turns; of a round of gradients the fastest tenth, so that other programs on the machine count
little, of the rounds the median.
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

ROUNDS = 21
RUNS = 7
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


def plain(folder, hidden, batch):
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
    return one


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

    @staticmethod
    def frame(**request):
        text = json.dumps(request).encode()
        return struct.pack("<I", len(text)) + text

    def ask(self, frame):
        """The answer is left as it is: acid takes microseconds to read it, Python would take more."""
        self.socket.sendall(frame)
        data = self.socket.recv(1 << 16)
        while len(data) < 4 + struct.unpack_from("<I", data)[0]:
            data += self.socket.recv(1 << 16)
        return data

    def end(self):
        os.close(self.lifeline)
        self.process.wait()


def asked(process, folder, hidden, batch):
    """The same, asked of the process."""
    import torch
    file = str(folder / "user.py")
    process.ask(process.frame(do="start", protocol=1, memory_bytes=MEMORY_BYTES, threads=1, seed=1,
                              file=file, options={"hidden": hidden},
                              data={"file": file, "options": {}}))
    x, g, examples = 1 << 20, 1 << 28, 0
    process.ask(process.frame(do="begin", x=x, buffers=0))
    rows = torch.frombuffer(process.memory, dtype=torch.int64, count=batch)
    gradient = process.frame(do="gradient", worker=0, step=0, seed=1, set="train", rows=batch,
                             examples=examples, x=x, g=g, buffers=0, check=False)

    def one():
        rows[:] = torch.randint(4000, (batch,))
        return process.ask(gradient)
    return one


def run(program, folder, model, batch, count):
    """Seconds per gradient of a whole run, evaluations included."""
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
    print("| network | plain loop | asked of the process | difference "
          "| `acid run`, process | `acid run`, built in |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "user.py").write_text(MODEL)
        for network, (hidden, batch, count) in NETWORKS.items():
            folder, process = Path(name), Process(program.parent / "acid_model.py")
            ways = plain(folder, hidden, batch), asked(process, folder, hidden, batch)
            rounds = [[fastest_tenth(way, count) for way in ways] for _ in range(ROUNDS)]
            process.end()
            runs = [[way(program, folder, hidden, batch, count)
                     for way in (run_process, run_built_in)] for _ in range(RUNS)]
            loop, asked_ms = (statistics.median(way) for way in zip(*rounds))
            inside, built_in = (statistics.median(way) for way in zip(*runs))
            cost = statistics.median(times[1] - times[0] for times in rounds)
            print(f"| {network} | {loop:.2f} ms | {asked_ms:.2f} ms | {cost:+.2f} ms, "
                  f"{100 * cost / loop:+.1f} % | {inside:.2f} ms | {built_in:.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
