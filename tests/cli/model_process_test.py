"""Models that a Python process computes: `model_process_test.py ACID PART`, the program to test and
which part: `numpy`, `errors`, `torch` or, some minutes of a ResNet-18, `torchvision`. What a part
needs and is not there skips it (code 77).
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
MARK = "ACID_TEST_MARK"  # a variable that all processes of this test inherit
# Among the processes of acid_model.py: the template has two keepers, and so has each of its forks.
KEEPER_OF_TEMPLATE, TEMPLATE, FIRST_KEEPER = 1, 2, 3

RECIPE = """
seeds = [1]
task.dataset = {dataset}
task.model = {{ kind = "python", file = "{file}", interpreter = "{python}"{more} }}
task.batch_size = {batch}
task.partition = {partition}
optimizer = {{ kind = "sgd", learning_rate = 0.05, momentum = 0.9 }}
workers.count = {workers}
budget.gradients = {gradients}
evaluation.every_gradients = {gradients}
algorithms = ["{algorithm}"{also}]
"""
GLYPHS = '{ kind = "glyphs", train = 200, test = 60 }'
OWN = '{{ kind = "python", file = "{file}", interpreter = "{python}" }}'


def expect(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def expect_in(part, whole):
    expect(part in whole, f"{part!r} is not in:\n{whole}")


class Lab:
    """A folder with recipes, models and a store."""

    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), Path(folder)
        self.mark = uuid.uuid4().hex

    def start(self, *arguments, cores=None):
        only = [] if cores is None else ["taskset", "-c", cores]
        return subprocess.Popen([*only, self.program, *arguments], cwd=self.folder,
                                env={**os.environ, MARK: self.mark}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def acid(self, *arguments, code=0, cores=None):
        """Its standard output, or the messages where a failure is expected."""
        process = self.start(*arguments, cores=cores)
        out, messages = process.communicate(timeout=300)
        expect(process.returncode == code,
               f"acid {' '.join(arguments)}: exit code {process.returncode}\n{messages}")
        self.messages = messages
        return out if code == 0 else messages

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def recipe(self, name, file, dataset=GLYPHS, more="", batch=8, partition='"iid"', workers=4,
               gradients=80, algorithm="ad-psgd", python=sys.executable, also=""):
        if dataset == OWN:
            dataset = dataset.format(file=file, python=python)
        more = ", " + more if more else ""
        self.write(name, RECIPE.format(
            file=file, dataset=dataset, python=python, more=more, batch=batch,
            partition=partition, workers=workers, gradients=gradients, algorithm=algorithm,
            also=also))
        return name

    def planned(self, recipe, *more):
        return json.loads(self.acid("plan", recipe, "--json", *more))["runs"][0]

    def shown(self, run="@latest"):
        return json.loads(self.acid("show", run, "--json"))

    def final(self, run="@latest"):
        """The tensors of the final model by name, as bytes."""
        path = self.folder / f"final-{uuid.uuid4().hex[:8]}"
        self.acid("export", run, "--format", "safetensors", "-o", str(path))
        return read_safetensors(path)

    def refused(self, recipe, *said, more=()):
        """The messages of a plan that fails; they have all of `said`."""
        messages = self.acid("plan", recipe, *more, code=2)
        for words in said:
            expect_in(words, messages)
        return messages

    def finals(self, recipe, *more, cores=None):
        """The digests that a run of the recipe ends with, in a store of its own."""
        store = f"store-{uuid.uuid4().hex[:8]}"
        self.acid("run", recipe, "--store", store, *more, cores=cores)
        return json.loads(self.acid("show", "@latest", "--json", "--store", store))["digests"]

    def killed(self, recipe, name, which):
        """The digests of a run of which a process was killed at its first checkpoint. If the run
        had already ended (on a busy machine), tries again."""
        for _ in range(20):
            store = f"killed-{uuid.uuid4().hex[:8]}"
            process = self.start("run", recipe, "--store", store)
            checkpoints = self.folder / store / "checkpoints"
            for _ in range(4000):
                if list(checkpoints.glob("*/*")) or process.poll() is not None:
                    break
                time.sleep(0.005)
            found = self.processes(name)
            if which < len(found):
                os.kill(found[which], signal.SIGKILL)
            _, messages = process.communicate(timeout=300)
            expect(process.returncode == 0, messages)
            run = json.loads(self.acid("show", "@latest", "--json", "--store", store))
            # The forks of a template that dies end a little later; a run may end before.
            if len(run["attempts"]) == 2 or (name, which) == ("acid_model", TEMPLATE):
                return run["digests"]
        raise SystemExit(f"FAILED: {name} was killed and every run had one attempt")

    def processes(self, name):
        """Those of this test whose command line has that, in the order of their start."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if (folder.name.isdigit()
                        and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
                        and name.encode() in (folder / "cmdline").read_bytes()):
                    found.append(int(folder.name))
            except OSError:
                continue
        return sorted(found)

    def expect_alone(self, after="it"):
        """Nothing that was started is left; what is being killed gets a moment."""
        for _ in range(100):
            left = self.processes("")
            if not left:
                return
            time.sleep(0.05)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        raise SystemExit(f"FAILED: left running after {after}: {left}")


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    return {name: content[8 + length + entry["data_offsets"][0]:8 + length
                          + entry["data_offsets"][1]] for name, entry in header.items()}


def acid_model_of(lab):
    """acid_model.py, in this process."""
    program = Path(lab.program).parent / "acid_model.py"
    specification = importlib.util.spec_from_file_location("acid_model", program)
    acid_model = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(acid_model)
    return acid_model


def tried_out(lab, name, text, seen=None):
    """What acid_model.py answers to the first gradient and evaluation of a file with this text, in
    this process. `seen` is called with the two sets."""
    lab.write(name, text)
    path = str(lab.folder / name)
    acid_model = acid_model_of(lab)
    memory = os.memfd_create("vectors")
    os.truncate(memory, 1 << 16)
    os.pwrite(memory, struct.pack("<8q", *range(8)), 0)  # the examples
    host = acid_model.Host(None, memory)
    start = {"protocol": 1, "memory_bytes": 1 << 16, "threads": 1, "seed": 0, "file": path,
             "options": {}, "data": {"file": path, "options": {}}}
    request = {"set": "train", "rows": 8, "examples": 0, "x": 4096, "g": 8192, "buffers": 12288,
               "seed": 0, "check": True}
    try:
        host.do_start(start)
        if seen:
            seen(host.sets)
        host.do_begin(request)
        host.do_gradient(request)
        return host.do_evaluate(request)
    except BaseException as error:
        while error.__traceback__ and error.__traceback__.tb_frame.f_code.co_filename == __file__:
            error.__traceback__ = error.__traceback__.tb_next
        return {"error": acid_model.describe_error(error, path, host.batch)}
    finally:
        os.close(memory)


# ---- NumPy --------------------------------------------------------------------------------------

# A cheap model that draws random numbers of every seeded kind, and imports a file of its own.
SMALL = """
import random
import numpy as np
import small_helper

def parameters(seed, scale=0.1):
    return {"w": np.random.default_rng(seed).normal(0, scale, (784, 10)), "b": np.zeros(10)}

def gradient(x, batch, seed):
    inputs, labels = batch
    inputs = inputs.reshape(len(labels), -1)
    inputs = inputs * (np.random.random(inputs.shape) < 0.9) * (1 + 0.01 * random.random())
    loss, d = small_helper.cross_entropy(inputs @ x["w"] + x["b"], labels)
    return loss, {"w": inputs.T @ d, "b": d.sum(axis=0)}

def evaluate(x, batch):
    inputs, labels = batch
    logits = inputs.reshape(len(labels), -1) @ x["w"] + x["b"]
    right = (logits.argmax(1) == labels).sum()
    means = {"right": right / len(labels), "one": 1, "first_label": labels.mean()}
    return small_helper.cross_entropy(logits, labels)[0], right, means
"""
HELPER = """
import numpy as np

def cross_entropy(logits, labels):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(p[rows, labels]).mean()
    p[rows, labels] -= 1
    return loss, p / len(labels)
"""


def check_trains(lab):
    """The example learns, is verified, and its tensors come out under their names."""
    shutil.copy(EXAMPLES / "numpy_model.py", lab.folder)
    recipe = lab.recipe("example.toml", "numpy_model.py", more="options = { hidden = 16 }",
                        partition='{ kind = "dirichlet", alpha = 0.5 }', gradients=400)
    planned = lab.planned(recipe)
    expect("imports" not in planned["settings"]["task"]["model"], planned)
    lab.acid("run", recipe)
    run = lab.shown()
    expect(run["metrics"]["eval_accuracy"] > 0.4, run["metrics"])
    for key in ("python", "numpy", "start_sha256", "program_sha256"):
        expect(run["environment"]["model_runtime"].get(key), f"no {key} is recorded")
    expect(run["environment"]["model_runtime"]["repeatable"] is True, "it is not repeatable")
    lab.acid("verify", "@latest")
    tensors = lab.final()
    expect(sorted(tensors) == ["hidden.bias", "hidden.weight", "out.bias", "out.weight"], tensors)
    expect(len(tensors["hidden.weight"]) == 4 * 784 * 16, "another shape")
    said = lab.acid("export", "@latest", "--format", "torchscript", code=2)
    expect_in("safetensors", said)


def check_same_bits(lab):
    """Any number of lanes, a worker that dies and a process that dies give the same bits."""
    lab.write("small.py", SMALL)
    lab.write("small_helper.py", HELPER)
    recipe = lab.recipe("small.toml", "small.py", gradients=600)
    # Long enough that a process can be found and killed before the end.
    text = (lab.folder / recipe).read_text()
    text = text.replace("budget.gradients = 80", "budget.gradients = 2000")
    lab.write(recipe, text + "checkpoint.every_time = 5.0\n")
    whole = lab.finals(recipe, cores="0")
    expect(lab.finals(recipe) == whole, "other bits on more cores")
    for name, which in (("acid-worker", 0), ("acid_model", TEMPLATE), ("acid_model", FIRST_KEEPER)):
        expect(lab.killed(recipe, name, which) == whole,
               f"other bits after the death of {name} {which}")
        lab.expect_alone()
    lab.acid("run", recipe)
    metrics = lab.shown()["metrics"]  # with what evaluate() names
    expect(abs(metrics["eval_right"] - metrics["eval_accuracy"]) < 1e-9, metrics)
    expect(metrics["eval_one"] == 1, metrics)
    expect_in("eval_first_label",
              lab.acid("compare", "@latest", "--metric", "eval_first_label", "--csv"))


def check_digest(lab):
    """What is computed is part of the run, where and by which file name is not."""
    digest = lab.planned("small.toml")["digest"]
    other = lab.planned("small.toml", "--set", "task.model.timeout_seconds=5",
                        "--set", "task.model.interpreter=" + os.path.realpath(sys.executable))
    expect(other["digest"] == digest, "the interpreter's path is part of the digest")
    moved = Path(lab.folder / "moved")
    moved.mkdir()
    for name in ("small.py", "small_helper.py", "small.toml"):
        shutil.copy(lab.folder / name, moved)
    expect(lab.planned("moved/small.toml")["digest"] == digest, "a moved file is another run")
    expect(lab.planned("small.toml", "--set", "task.model.options.scale=0.2")["digest"] != digest,
           "options are no part of the digest")
    for name, text in (("small.py", SMALL), ("small_helper.py", HELPER)):
        lab.write(name, text + "# changed\n")
        expect(lab.planned("small.toml")["digest"] != digest, f"a changed {name} is the same run")
        lab.write(name, text)


def check_drivers(lab):
    """Threads and mpi, and what they recorded replayed."""
    for driver in ("threads", "mpi"):
        if driver == "mpi" and not (Path(lab.program).parent / "acid-mpi.so").exists():
            continue
        lab.acid("run", "small.toml", "--driver", driver, "--set", "workers.count=2", "--set",
                 "budget.gradients=40")
        lab.acid("verify", "@latest")
        lab.expect_alone()


OWN_DATA = """
import numpy as np

def dataset(rows=96):
    draw = np.random.default_rng(0)
    labels = np.arange(rows) % 3
    inputs = draw.normal(labels[:, None], 0.3, (rows, 2)).astype(np.float32)
    return {form}

def parameters(seed):
    return {{"w": np.zeros((2, 3)), "b": np.zeros(3)}}

def gradient(x, batch, seed):
    inputs, labels = batch
    p = np.exp(inputs @ x["w"] + x["b"])
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(p[rows, labels]).mean()
    p[rows, labels] -= 1
    return loss, {{"w": inputs.T @ p / len(rows), "b": p.mean(axis=0)}}
"""
FORMS = {
    "arrays": "(inputs, labels), (inputs[:32], labels[:32])",
    "items": "[[(x, int(y)) for x, y in zip(inputs[:n], labels[:n])] for n in (rows, 32)]",
}


def check_own_data(lab):
    """Its own examples, as arrays and one by one, dealt by class; the same bits either way."""
    digests = []
    for form, text in FORMS.items():
        lab.write(f"own_{form}.py", OWN_DATA.format(form=text))
        recipe = lab.recipe(f"own_{form}.toml", f"own_{form}.py", dataset=OWN, algorithm="ar-sgd",
                            partition='{ kind = "dirichlet", alpha = 0.3 }')
        digests.append(lab.finals(recipe))
    expect(digests[0] == digests[1], "arrays and single examples give other bits")
    lab.acid("run", "own_arrays.toml", "--set", "task.validation=0.25")
    run = lab.shown()
    expect(run["metrics"]["validation_loss"] < 1.0, run["metrics"])
    expect("eval_accuracy" not in run["metrics"], "an accuracy without evaluate()")
    expect(run["metrics"]["eval_loss"] < 1.0, run["metrics"])
    lab.acid("verify", "@latest")
    primary = 'comparison.primary="eval_accuracy"'
    expect_in("has no accuracy", lab.acid("plan", "own_arrays.toml", "--set", primary, code=2))
    target = 'budget.target={ metric = "eval_accuracy", value = 0.9 }'
    expect_in("never be reached", lab.acid("plan", "own_arrays.toml", "--set", target, code=2))


# What dataset() does before it returns, what it returns, and what a plan says about it: the line of
# the training set and warnings. Numbers by NumPy.
TOLD = [
    ("", "(inputs, labels), (-inputs[1:], labels[1:])",
     "train: 96 examples of shape 2 (float32), from -0.71 to 2.59; 3 classes of 32 each; the "
     "first: label 0, from -0.0396 to 0.0377 with mean -0.000956", []),
    ("", "[[(s * x, int(y)) for x, y in zip(inputs, labels)] for s in (1, -1)]",
     "train: 96 examples of shape 2 (float32), from -0.71 to 2.59; 3 classes of 32 each; the "
     "first: label 0, from", []),
    ("", "[{'label': labels, 'x': s * inputs} for s in (1, -1)]",
     "train: 96 examples of shape 2 (float32), from -0.71 to 2.59; 3 classes of 32 each", []),
    ("labels += 1", "(inputs, labels), (-inputs, labels)", "4 classes of 0, 32, 32, 32",
     ["labels begin with 1"]),
    ("inputs[3, 1] = np.nan", "(inputs, labels), (-inputs[4:], labels[4:])", "from -0.71 to 2.59",
     ["1 of 96 examples looked at have numbers that are not finite"]),
    ("", "(inputs, inputs[:, :1]), (-inputs, inputs[:, :1])",
     "from -0.71 to 2.59; the first: from -0.0396", []),  # a regression
    ("", "(inputs, labels), (inputs, labels)", "from -0.71", ["96 of 96 test examples"]),
    ("", "[[('a', 0), ('b', 1)] * 48] * 2", "train: 96 examples of str; 2 classes of 48 each", []),
]


def check_told(lab):
    """A plan says what the two sets hold, and what of it is most likely a mistake."""
    for before, form, line, warnings in TOLD:
        own = OWN_DATA.format(form=form).replace("    return", f"    {before}\n    return", 1)
        lab.write("told.py", own.replace("    inputs, labels = batch", "    return 0.0, dict(x)"))
        told = lab.planned(lab.recipe("told.toml", "told.py", dataset=OWN))
        expect_in(line, told["splits"][0])
        expect(len(told["warnings"]) == len(warnings), f"{form}: {told['warnings']}")
        for warning in warnings:
            expect_in(warning, lab.messages)
    lab.write("told.py", OWN_DATA.format(form="[type('', (list,), {'__getitem__': 3})([1])] * 2"))
    expect_in("TypeError: 'int' object is not callable", lab.acid("plan", "told.toml", code=2))
    # Data that the model cannot use are an error.
    lab.write("told.py", OWN_DATA.format(form="[[('a', 0), ('b', 1)] * 48] * 2"))
    expect_in("in gradient(): ", lab.acid("plan", "told.toml", code=2))


def check_drawn_at_the_top(lab):
    """What a file draws before its functions are called is the same in every process; a command
    executes it once for all of its runs and processes, unless it changes meanwhile."""
    lab.write("top.py", f"""import random
from numpy.random import permutation
with open({str(lab.folder / 'drawn')!r}, "a") as file:
    print(permutation(96).tolist(), random.random(), file=file)
""" + OWN_DATA.format(form=FORMS["arrays"]))
    recipe = lab.recipe("top.toml", "top.py", dataset=OWN, also=', "ar-sgd"', gradients=40)
    drivers = [["--driver", "threads", "--jobs", "2", "--set", "workers.count=2"]]
    if (Path(lab.program).parent / "acid-mpi.so").exists():
        drivers.append(["--driver", "mpi", "--set", "workers.count=2"])
    for command in (["plan", recipe], ["run", recipe], ["run", recipe, "--force"],
                    *(["run", recipe, *driver] for driver in drivers), ["verify", "@latest"]):
        drawn = lab.folder / "drawn"
        executions = len(drawn.read_text().splitlines()) if drawn.exists() else 0
        lab.acid(*command)
        lines = drawn.read_text().splitlines()
        expect(len(lines) == executions + 1, f"{command}: {len(lines) - executions} executions")
    expect(len(set(lines)) == 1, f"{len(set(lines))} draws in {len(lines)} executions")


def check_jax(lab):
    """The example, where JAX is there."""
    if importlib.util.find_spec("jax") is None:
        return print(f"{sys.executable} has no jax: its example is not tested")
    shutil.copy(EXAMPLES / "jax_model.py", lab.folder)
    lab.acid("run", lab.recipe("jax.toml", "jax_model.py", gradients=200))
    expect(lab.shown()["metrics"]["eval_accuracy"] > 0.3, lab.shown()["metrics"])
    lab.acid("verify", "@latest")


def check_unrepeatable(lab):
    lab.write("noise.py", OWN_DATA.format(form=FORMS["arrays"]).replace(
        "p.mean(axis=0)", "p.mean(axis=0) + noise.normal()").replace(
        "import numpy as np", "import numpy as np\nnoise = np.random.default_rng()"))
    lab.acid("run", lab.recipe("noise.toml", "noise.py", dataset=OWN))
    expect_in("not repeatable", lab.messages)
    expect_in("different in 'b'", lab.messages)
    expect(lab.shown()["environment"]["model_runtime"]["repeatable"] is False, "it is repeatable")
    expect_in("cannot be executed again bit for bit", lab.acid("verify", "@latest", code=2))
    for form, text in FORMS.items():  # examples that each process draws for itself
        lab.write("draws.py", OWN_DATA.format(form=text).replace("default_rng(0)", "default_rng()"))
        lab.acid("run", lab.recipe("draws.toml", "draws.py", dataset=OWN), "--driver", "threads",
                 "--set", "workers.count=2", "--force", code=1)
        expect_in("differ in parameters, data or imports", lab.messages)


def numpy_part(lab):
    check_trains(lab)
    check_same_bits(lab)
    check_digest(lab)
    check_drivers(lab)
    check_own_data(lab)
    check_told(lab)
    check_drawn_at_the_top(lab)
    check_jax(lab)
    check_unrepeatable(lab)


# ---- files that are broken ----------------------------------------------------------------------

GOOD = """import numpy as np
def dataset():
    return (np.ones((20, 2)), np.arange(20) % 2), (np.ones((8, 2)), np.arange(8) % 2)
def parameters(seed):
    return {"w": np.ones(2)}
def gradient(x, batch, seed):
    return 1.0, {"w": x["w"] * 0.5}
def evaluate(x, batch):
    return 0.5, 1
"""
RETURNS = "    return 1.0, {\"w\": x[\"w\"] * 0.5}"
START = "    return {\"w\": np.ones(2)}"
SETS = "    return (np.ones((20, 2)), np.arange(20) % 2), (np.ones((8, 2)), np.arange(8) % 2)"
RIGHT = "    return 0.5, 1\n"
# What is replaced, by what, the expected message and its place; code 2 if the plan finds it.
BROKEN = [
    ("import numpy", "import nunpy", "No module named 'nunpy'", 1, 2),
    ("def gradient(", "def gradient(:", "SyntaxError", 6, 2),
    ("def gradient(", "def grad(", "defines neither model(**options)", 0, 2),
    ("def parameters(", "def start(", "gradient() needs parameters(seed", 6, 2),
    ("def dataset(", "def data(", "defines no dataset()", 0, 2),
    (START, "    return np.ones(2)", "it must give a dict of arrays", 4, 2),
    (START, "    return {}", "it must give a dict of arrays", 4, 2),
    (START, "    return {'w': 'ones'}", "parameter 'w' is str", 4, 2),
    (START, "    return {'w': np.ones(0)}", "without elements", 4, 2),
    (START, "    raise KeyError('w')", "KeyError: 'w'", 5, 2),
    ("def parameters(seed)", "def parameters()", "takes 0 positional arguments", 4, 2),
    (SETS, "    return np.ones(3)", "it must give two sets", 2, 2),
    (SETS, "    return [], []", "has no examples", 2, 2),
    (SETS, "    return 3, 4", "the train set is int", 2, 2),
    (SETS, "    return (np.ones(20), np.ones(19)), np.ones(3)", "[20, 19] rows", 2, 2),
    (RETURNS, "    return 1.0", "it must give the loss and a dict", 6, 2),
    (RETURNS, "    return 1.0, x['w']", "gave gradients of an array", 6, 2),
    (RETURNS, "    return 1.0, {'v': x['w']}", "the parameters are ['w']", 6, 2),
    (RETURNS, "    return 1.0, {'w': np.ones(3)}", "has shape (3,), the parameter (2,)", 6, 2),
    (RETURNS, "    return 1.0, {'w': np.ones(2) * 1j}", "the gradient of 'w' is complex", 6, 2),
    (RETURNS, "    return x['w'], {'w': x['w']}", "it must be one number", 6, 2),
    (RETURNS, "    return 1.0, {'w': x['w'] / 0}", "the gradient of 'w' is not finite", 6, 2),
    (RETURNS, "    return float('nan'), {'w': x['w']}", "the loss is nan", 6, 2),
    (RETURNS, "    x['w'][0] = 3", "read-only", 7, 2),
    (RETURNS, "    raise SystemExit(0)", "SystemExit", 7, 2),
    (RETURNS, "    return undefined", "name 'undefined' is not defined", 7, 2),
    (RETURNS, "    return gradient(x, batch, seed)", "RecursionError", 7, 2),
    (RETURNS, "    while True: pass", "took longer than timeout_seconds", 7, 2),
    (RETURNS, "    import time; time.sleep(60)", "took longer than timeout_seconds", 7, 2),
    (RIGHT, "    return 0.5, 9000\n", "says that 9000 of 8 examples are right", 8, 2),
    (RIGHT, "    return 0.5, 0.25\n", "says that 0.25 of 8 examples are right", 8, 2),
    (RIGHT, "    return 0.5, 1, {}, 2\n", "gave 4 values", 8, 2),
    (RIGHT, "    return 0.5, 1, 2\n", "gave int for further means", 8, 2),
    (RIGHT, "    return 0.5, 1, {'Top 5': 2}\n", "names a mean 'Top 5'", 8, 2),
    (RIGHT, "    return 0.5, 1, {'loss': 2}\n", "of its own by that", 8, 2),
    (RIGHT, "    return 0.5, 1, {'top5': 'two'}\n", "it must be one number", 8, 2),
    (RIGHT, "    return 0.5, 1, {f'm{len(batch[0]) % 7}': 1}\n", "by the same names, for every", 0, 1),
    (RIGHT, "    return None\n", "gave None for a loss", 8, 2),
    (RIGHT, "    return 1 / 0, 1\n", "ZeroDivisionError", 9, 2),
    ("def evaluate(", "  def evaluate(", "IndentationError", 8, 2),
    ("import numpy as np", "import numpy as np\nfrom numpy import nothing",
     "cannot import name 'nothing'", 2, 2),
    ("import numpy as np", "import numpy as np\nopen('/nowhere/data')", "FileNotFoundError", 2, 2),
    ("import numpy as np", "import numpy as np\nassert np.pi > 4, 'a bad start'", "a bad start", 2, 2),
    ("import numpy as np", "import numpy as np\nimport helper.nothing", "No module named 'helper'",
     2, 2),
    ("import numpy as np", "import numpy as np\nexit(7)", "SystemExit: 7", 2, 2),
    ("import numpy as np", "", "name 'np' is not defined", 3, 2),
    ("import numpy as np", "import numpy as np; x = '\\ud800'.encode()", "UnicodeEncodeError", 1, 2),
    (START, "    return {'w': np.ones(2) + 1j, 'v': object()}", "parameter 'v' is object", 4, 2),
    (START, "    return {'w': [[1, 2], [3]]}", "parameter 'w' is list", 4, 2),
    (START, "    return [np.ones(2)]", "gave list: it must give a dict", 4, 2),
    (START, "    return None", "gave None: it must give a dict", 4, 2),
    (START, "    import time; time.sleep(60)", "took longer than timeout_seconds", 5, 2),
    (START, "    import os; os._exit(4)", "ended with exit code 4", 0, 2),
    (SETS, "    return None", "dataset() gave None", 2, 2),
    (SETS, "    return [np.ones(20)] * 2, np.ones(3)", "may be as many examples or columns", 2, 2),
    (SETS, "    return (np.ones(3),) * 3", "it must give two sets", 2, 2),
    (SETS, "    return {'x': np.ones(3), 'y': 3}, np.ones(3)", "part 'y' of the train set is int",
     2, 2),
    (SETS, "    return {}, np.ones(3)", "the train set is dict", 2, 2),
    (SETS, "    return (np.ones((3, 2)), 3), np.ones(3)", "part 2 of the train set is int", 2, 2),
    (SETS, "    return (np.ones(2), ['a', 'b']), np.ones(3)", "part 2 of the train set is list", 2, 2),
    (SETS, "    return ([[1], [2, 3]], [0, 1]), np.ones(3)", "part 1 of the train set is list", 2, 2),
    (SETS, "    return (np.ones((3, 2)), range(3)), np.ones(3)", "2 of the train set is range", 2, 2),
    (SETS, "    return np.ones(20), np.ones(0)", "the test set has no examples", 2, 2),
    (SETS, "    return range(20), np.ones(9) + missing", "name 'missing' is not defined", 3, 2),
    (SETS, "    return np.ones(20), [np.ones(3), np.ones(4)]", "[3, 4] rows", 2, 2),
    (RETURNS, "    return 1.0, {'w': x['w'], 'v': x['w']}", "gave gradients of ['v', 'w']", 6, 2),
    (RETURNS, "    return 1.0, {'w': 'text'}", "has shape (), the parameter (2,)", 6, 2),
    (RETURNS, "    return 1.0, {}", "gave gradients of []", 6, 2),
    (RETURNS, "    return 1.0, {'w': x['w']}, 3", "it must give the loss and a dict", 6, 2),
    (RETURNS, "    return None", "it must give the loss and a dict", 6, 2),
    (RETURNS, "    return 'one', {'w': x['w']}", "it must be one number", 6, 2),
    (RETURNS, "    return float('inf'), {'w': x['w']}", "the loss is inf", 6, 2),
    (RETURNS, "    return 1.0, {'w': x['v']}", "KeyError: 'v'", 7, 2),
    (RETURNS, "    return 1.0, {'w': batch[2]}", "IndexError", 7, 2),
    (RETURNS, "    raise MemoryError('no room')", "MemoryError: no room", 7, 2),
    (RETURNS, "    raise KeyboardInterrupt", "KeyboardInterrupt", 7, 2),
    (RIGHT, "    return 0.5, -1\n", "says that -1 of 8 examples are right", 8, 2),
    (RIGHT, "    return np.ones(3)\n", "for a loss: it must be one number", 8, 2),
    (RIGHT, "    return 0.5, 'all'\n", "it must be one number", 8, 2),
    (RIGHT, "    return 0.5,\n", "gave 1 values", 8, 2),
]
ONE_SCREEN = 24


def check_broken(lab):
    """The first of each kind by acid, whose words are the same for all; others in this process."""
    recipe = lab.recipe("broken.toml", "broken.py", dataset=OWN, more="timeout_seconds = 60.0",
                        workers=2)
    known = set()
    for old, new, said, line, code in BROKEN:
        expect_in(old, GOOD)
        text = GOOD.replace(old, new, 1)
        place = f"broken.py:{line}" if line else "broken.py"
        hangs = "took longer" in said
        if old in known and new and not hangs and "exit code" not in said and code == 2:
            error = tried_out(lab, "broken.py", text)["error"]
            expect_in(said, error["message"])
            expect_in(place, f"{error['file']}:{error['line']}")
            continue
        known.add(old)
        lab.write("broken.py", text)
        more = ["--set", "task.model.timeout_seconds=5"] if hangs else []
        messages = lab.acid("run", recipe, *more, code=code)
        for words in (said, place, "broken.toml:" if code == 2 else "broken.py"):
            expect_in(words, messages)
        expect(messages.count("\n") <= ONE_SCREEN, f"more than a screen:\n{messages}")
        lab.expect_alone()
    lab.acid("list")  # the store is whole


def check_told_once(lab):
    """A file that fails is executed once for all runs of a plan, and says itself what to do."""
    recipe = lab.recipe("once.toml", "once.py", dataset=OWN, also=', "ar-sgd"')
    for at in (SETS, RETURNS):
        lab.write("once.py", GOOD.replace(at, "    import os; raise KeyError(os.urandom(8))"))
        messages = lab.acid("plan", recipe, code=2)
        expect(messages.count("raise KeyError") == 1, messages)
    lab.write("once.py", GOOD.replace("import numpy", "import nunpy"))
    messages = lab.acid("plan", recipe, code=2)
    expect_in("name another Python with interpreter", messages)
    expect("correct the data set" not in messages, messages)


def check_death(lab):
    """A process that dies each time is restarted as often as the recipe says."""
    dies = "    import os\n    times.append(1)\n    if len(times) > 12: os._exit(3)\n"
    lab.write("broken.py", GOOD.replace(RETURNS, dies + RETURNS) + "times = []\n")
    messages = lab.acid("run", "broken.toml", "--set", "execution.max_restarts=1", code=1)
    expect_in("broken.py: its process ended with exit code 3 during gradient", messages)
    expect(len(lab.shown()["attempts"]) == 2, "it was not restarted once")
    lab.expect_alone()


def check_recipes(lab):
    """What the recipe says wrong is told at its place."""
    lab.write("broken.py", GOOD)
    for more, said in (("interpreter='python3.99'", "cannot start 'python3.99'"),
                       ("interpreter='/bin/true'", "set interpreter to a Python, version 3.9"),
                       ("interpreter='cat'", "'cat' ended with exit code 1 before it executed"),
                       ("interpreter='.'", "cannot start '.'"),
                       ("options={width=3}", "unexpected keyword argument 'width'"),
                       ("options=3", "task.model.options must be a table"),
                       ("timeout_seconds=0", "must be above 0"),
                       ("file='missing.py'", "does not exist")):
        lab.refused("broken.toml", said, more=("--set", "task.model." + more))
    for more, said in (('task.model="linear"', "use a model of kind 'python'"),
                       ('execution.device="cuda"', "chooses its device itself")):
        lab.refused("broken.toml", said, more=("--set", more))
    lab.write("broken.py", GOOD.replace(SETS, "    return np.ones((20, 2)), np.ones((8, 2))"))
    lab.refused("broken.toml", "tells no class of its examples",
                more=("--set", 'task.partition="sorted"'))
    for partition in ('"contiguous"', "{ kind = 'quantity', alpha = 1.0 }"):
        lab.acid("run", "broken.toml", "--set", f"task.partition={partition}")
    lab.write("broken.py", "import sys\nsys.modules['torch'] = None\nimport torch\n" + GOOD)
    lab.refused("broken.toml", f"the Python that was used is {sys.executable}, version 3",
                "name another Python with interpreter")



# Children of every kind: of pools, in groups and sessions of their own, one that holds the socket
# and one that ignores signals.
PARENT = GOOD.replace("def dataset():", """
import concurrent.futures, multiprocessing, os, signal, subprocess, sys, time
def dataset():
    global pool
    pool = concurrent.futures.ProcessPoolExecutor(1)
    pool.submit(abs, 1).result()
    with multiprocessing.Pool(1) as other:
        other.map(abs, [1])
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            DEAF
            time.sleep(1000)
        os._exit(0)
""".lstrip()).replace(RETURNS, """
    times.append(1)
    if len(times) > 2:  # in a run, after what it tries first
        LATER
""" + RETURNS) + "times = []\n"
SLOW = "open('begun', 'w').close(); time.sleep(0.05)"


def kill(name, which=0):
    """That one of the processes with that name, in the order in which they were started."""
    return lambda lab, _: os.kill(lab.processes(name)[which], signal.SIGKILL)


def send(number):
    return lambda _, process: process.send_signal(number)


# What a gradient does, the command's other options, its exit code, the message, and what is done to
# it.
ENDINGS = {
    "its end": ("pass", [], 0, "", None),
    "an error": ("raise KeyError(3)", [], 1, "KeyError: 3", None),
    "its death": ("os._exit(3)", [], 1, "exit code 3 during gradient 0", None),
    "a timeout": ("time.sleep(1000)", ["--set", "task.model.timeout_seconds=4"], 1, "took longer", None),
    "^C": (SLOW, [], 130, "", send(signal.SIGINT)),
    "SIGTERM": (SLOW, [], 130, "", send(signal.SIGTERM)),
    "SIGKILL of acid": (SLOW, [], -9, "", send(signal.SIGKILL)),
    "SIGKILL of acid-worker": (SLOW, [], 1, "SIGKILL", kill("acid-worker")),
    "SIGKILL of the first keeper": (SLOW, [], 1, "signal 9", kill("acid_model", FIRST_KEEPER)),
    "SIGKILL of the template": (SLOW, [], 1, "signal 9", kill("acid_model", TEMPLATE)),
    "SIGKILL of its keeper before": (SLOW, [], 1, "signal 9", kill("acid_model", KEEPER_OF_TEMPLATE)),
    "SIGKILL of its keeper": ("os.kill(os.getppid(), 9)", [], 1, "signal 9", None),
}


def check_endings(lab):
    """Nothing that a model started outlives acid, and acid waits for nothing of it."""
    recipe = lab.recipe("parent.toml", "parent.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    for name, (later, more, code, said, strike) in ENDINGS.items():
        deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if name == "its end" else "pass"
        lab.write("parent.py", PARENT.replace("LATER", later).replace("DEAF", deaf))
        begun = lab.folder / "begun"
        begun.unlink(missing_ok=True)
        process = lab.start("run", recipe, "--force", "--set", "execution.max_restarts=0", *more)
        while strike and not begun.exists() and process.poll() is None:
            time.sleep(0.01)
        if strike:
            strike(lab, process)
        try:
            _, messages = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            messages = "nothing in 30 s"
        if name != "SIGKILL of acid":  # which ends later than it
            expect(not lab.processes("sleep"), f"there are processes when acid has ended: {name}")
        lab.expect_alone(name)
        expect(process.returncode == code, f"{name}: exit code {process.returncode}\n{messages}")
        expect_in(said, messages)


# What a file does at its top, and why a process that has done it cannot be forked.
HINDRANCES = [
    ("import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
     "its import starts 1 thread"),
    ("import subprocess; subprocess.Popen(['sleep', '1000'])", "its import starts processes"),
    ("kept = open(__file__)", "hindered.py open"),
    ("import mmap; kept = mmap.mmap(-1, 4096)", "its import shares memory"),
]


def check_hindered(lab):
    """A file that cannot be forked once it is imported is imported by each process, with the same
    bits; acid says so once."""
    recipe = lab.recipe("hindered.toml", "hindered.py", dataset=OWN, workers=2,
                        also=', "ar-sgd"')
    top = "with open('imports', 'a') as file: file.write('x')\nprint('at the top')\n"
    lab.write("hindered.py", GOOD + top)
    lab.acid("run", recipe)
    printed = lab.messages.count("at the top")  # of each process
    whole = lab.shown()["digests"]
    imports = lab.folder / "imports"
    expect(imports.read_text() == "x", "more than one import")
    for line, said in HINDRANCES:
        lab.write("hindered.py", GOOD + top + line + "\n")
        imports.unlink()
        lab.acid("run", recipe)
        expect(lab.messages.count(said) == 1, lab.messages)
        imported = len(imports.read_text())
        expect(lab.messages.count("at the top") == printed == imported - 1,
               f"{imported} imports, {lab.messages}")
        expect(lab.shown()["digests"] == whole, f"other bits with {line}")
        lab.expect_alone(line)


def check_killed_at_start(lab):
    """Not the recipe's fault: a plan says so, a run starts again."""
    recipe = lab.recipe("killed.toml", "killed.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    strike = "    if os.path.exists('strike'): os.unlink('strike'); os.kill(os.getpid(), 9)\n"
    lab.write("killed.py", "import os\n" + GOOD.replace(START, strike + START))
    lab.write("strike", "")
    messages = lab.acid("plan", recipe, code=1)
    expect_in("signal 9 (Killed) during its start; this is no mistake in the recipe", messages)
    expect("correct" not in messages, messages)
    count = "    with open('starts', 'a') as file: file.write('x')\n"
    strike = "    if os.path.getsize('starts') == int(os.environ['AT']): os.kill(os.getpid(), 9)\n"
    lab.write("killed.py", "import os\n" + GOOD.replace(START, count + strike + START))
    starts = lab.folder / "starts"
    os.environ["AT"] = "99"
    starts.write_text("")
    lab.acid("plan", recipe)
    os.environ["AT"] = str(starts.stat().st_size + 1)  # after the plan
    starts.write_text("")
    lab.acid("run", recipe)
    expect_in("signal 9 (Killed) during its start; restarting", lab.messages)


# What is written in gradient(), the message within seconds, and the exit code: 2 for a plan.
ANSWERS = [
    ("write(struct.pack('<I', 2**32 - 1))", "it announced 4294967295 bytes", 2),
    ("write(struct.pack('<I', 5) + b'hello')", "it is no JSON object", 2),
    ("write(struct.pack('<I', 2) + b'{}')", "key 'loss' not found", 2),
    ("raise ValueError(b'caf\\xe9'.decode('utf-8', 'surrogateescape'))", "ValueError: caf", 2),
    ("raise ValueError(10**8 * 'x')", "characters …", 2),
    ("if os.fork() == 0: return 1.0, {'w': x['w']}", "", 0),  # a child that comes back
]
WRITES = """
import os, socket, struct
def write(data):
    for descriptor in range(3, 30):
        try:
            socket.socket(fileno=os.dup(descriptor)).send(data)
        except OSError:
            pass
"""


def check_answers(lab):
    """What a process says is not trusted."""
    recipe = lab.recipe("answers.toml", "answers.py", dataset=OWN, workers=1, algorithm="ar-sgd",
                        more="timeout_seconds = 20.0")
    plain = None  # seconds until an ordinary mistake is told
    for line, said, code in [("raise ValueError('plain')", "ValueError: plain", 2), *ANSWERS]:
        lab.write("answers.py", GOOD.replace(RETURNS, f"    {line}\n{RETURNS}") + WRITES)
        began = time.time()
        lab.acid("run", recipe, code=code)
        seconds = time.time() - began
        plain = plain or seconds
        expect(seconds < max(10, 4 * plain), f"{line}: {seconds} s, an ordinary mistake {plain} s")
        expect_in(said, lab.messages)
        expect(len(lab.messages) < 10_000, f"{line}: {len(lab.messages)} characters")
    # Forks that come back beside their parent change no bit of a run.
    recipe = lab.recipe("answers.toml", "answers.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    finals = []
    for fork in ("pass", "if os.fork() == 0: return 1.0, {'w': np.ones(2)}"):
        lab.write("answers.py", GOOD.replace(RETURNS, f"    import os\n    {fork}\n{RETURNS}"))
        finals.append(lab.finals(recipe))
    expect(finals[0] == finals[1], f"a fork changes a run: {finals}")
    # A plan tries fewer examples first.
    line, said, code = ANSWERS[2]
    lab.write("answers.py", GOOD.replace(RETURNS, f"    {line}\n{RETURNS}") + WRITES)
    lab.acid("plan", recipe, "--set", "task.batch_size=16", code=code)
    expect_in(said, lab.messages)


# Errors that only zeros may cause, and errors that every batch causes.
OF_VALUES = [
    "if batch[0].std() == 0: raise ValueError('constant')",
    "1 / float(batch[0].sum())",
    "batch[0][batch[0] > 0].max()",
    "np.linalg.inv(np.outer(batch[0].flat[:2], batch[0].flat[:2]))",
]
OF_NO_VALUES = [
    ("return 1.0", "it must give the loss and a dict"),
    ("undefined", "trial.py:7: in gradient(): NameError: name 'undefined' is not defined"),
    ("batch[0].cuda()", "has no attribute 'cuda'"),
    ("from numpy import nothing", "cannot import name 'nothing'"),
    ("x['v']", "KeyError: 'v'"),
    ("np.ones((2, 3)) @ np.ones((2, 3))", "ValueError: matmul"),
    ("np.ones(2) + np.ones(3)", "could not be broadcast"),
    ("np.stack([np.ones(2), np.ones(3)])", "ValueError: all input arrays"),
    ("np.ones(2)[5]", "IndexError"),
]


def check_trial(lab):
    """A plan tries few examples at first, and zeros for those that acid has: with these a model may
    do nothing, but what it gives may not be of another form."""
    recipe = lab.recipe("trial.toml", "trial.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    whole = "    assert len(batch[1]) == 16\n" + RETURNS
    lab.write("trial.py", GOOD.replace(RETURNS, whole))
    lab.acid("plan", recipe, "--set", "task.batch_size=16")
    expect_in("AssertionError", lab.acid("plan", recipe, "--set", "task.batch_size=15", code=2))
    other = GOOD.replace("np.ones((8, 2))", "np.ones((8, 3))")
    lab.write("trial.py", other.replace(RIGHT, "    return (batch[0] @ x['w']).mean(), 1\n"))
    expect_in("matmul", lab.acid("plan", recipe, code=2))
    recipe = lab.recipe("glyphs.toml", "trial.py", workers=1, algorithm="ar-sgd")
    spread = "    assert batch[0].std() > 0\n" + RETURNS
    lab.write("trial.py", GOOD.replace(RETURNS, spread))
    lab.acid("run", recipe)
    zeros = GOOD.replace("np.ones((20, 2))", "np.zeros((20, 2))")
    for line, said in [(line, None) for line in OF_VALUES] + OF_NO_VALUES:
        broken = f"    {line}\n{RETURNS}"
        error = tried_out(lab, "trial.py", zeros.replace(RETURNS, broken))["error"]
        expect(error["of_values"] is (said is None), f"{line}: {error}")
        expect_in(said or "", f"trial.py:{error['line']}: in gradient(): {error['message']}")
        if line in (OF_VALUES[0], OF_NO_VALUES[0][0]):
            lab.write("trial.py", GOOD.replace(RETURNS, broken))
            expect_in(said or "", lab.acid("plan", recipe, code=2 if said else 0))


SPARED = """
import os, subprocess, sys
sys.path.insert(0, {folder!r})
import acid_model
of_another = subprocess.Popen(["sleep", "60"]).pid
own = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
kill = os.kill
def kill_own(pid, number):
    if pid == of_another:
        raise PermissionError(1, "Operation not permitted")
    kill(pid, number)
os.kill = kill_own
acid_model.end_children(own[0].pid)
assert acid_model.children() == [of_another]
kill(of_another, 9)
"""


def check_spared(lab):
    """A child that may not be killed keeps nothing from being ended."""
    program = SPARED.format(folder=str(Path(lab.program).parent))
    done = subprocess.run([sys.executable, "-c", program], timeout=20, stderr=subprocess.PIPE)
    expect(done.returncode == 0, done.stderr.decode())


class Odd:
    """Examples in the order of their classes that take their time, and refuse to be looked at."""
    shape, dtype = (2,), "odd"

    def __len__(self):
        return 200

    def __getitem__(self, i):
        time.sleep(0.002)
        return self, int(i >= 100)

    @property
    def targets(self):
        raise RuntimeError("download first")

    def reshape(self, extent):
        raise RuntimeError("no strides")


class Foreign:
    """An array of another library."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


def check_foreign_arrays(lab):
    """Columns of another library's arrays and lists of numbers are columns, not two examples."""
    import numpy
    acid_model = acid_model_of(lab)
    kit = acid_model.NumpyArrays(None)
    inputs, labels = numpy.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2]
    x, y = Foreign(inputs), Foreign(numpy.array(labels))
    for value in ((x, y), [x, y], (x, labels), [inputs, labels], (inputs.tolist(), labels),
                  {"x": x, "label": labels}):
        examples = acid_model.Examples(kit, value, "train")
        expect(examples.size == 6 and examples.labels() == labels, value)
        batch = examples.batch([4, 0])
        rows, classes = batch.values() if isinstance(batch, dict) else batch
        expect(rows.tolist() == [[8, 9], [0, 1]] and classes.tolist() == [1, 0], batch)
    true_or_false = acid_model.Examples(kit, (x, numpy.array(labels) > 0), "train")
    expect(true_or_false.labels() == [0, 1, 1, 0, 1, 1], true_or_false.labels())
    for value in ([(row, 1) for row in inputs], tuple((row, 1) for row in inputs), list(inputs),
                  [Foreign(row) for row in inputs], [[1, 0], [2, 1]] * 3):
        examples = acid_model.Examples(kit, value, "train")
        expect(examples.items is value and examples.size == 6, value)


def check_survey(lab):
    """What a plan tells of the data refuses nothing, and a part that is looked at is of everywhere."""
    acid_model = acid_model_of(lab)
    acid_model.SURVEYED_SECONDS = 0.1
    sets = {name: acid_model.Examples(acid_model.NumpyArrays(None), Odd(), name)
            for name in ("train", "test")}
    told = acid_model.Survey(sets).told["train"]
    zero, one = told["classes"]
    expect(10 < told["labelled"] < 100 and abs(zero - one) < 5, told)
    expect(told["form"] == "shape 2 (odd)" and told["features"] == 0, told)
    shapeless = type("", (), {"dtype": "odd"})()
    expect("odd" not in acid_model.types_of((shapeless, 3)), acid_model.types_of(shapeless))


def errors_part(lab):
    check_spared(lab)
    check_foreign_arrays(lab)
    check_survey(lab)
    check_trial(lab)
    check_hindered(lab)
    check_endings(lab)
    check_killed_at_start(lab)
    check_answers(lab)
    check_broken(lab)
    check_told_once(lab)
    check_death(lab)
    check_recipes(lab)


# ---- PyTorch ------------------------------------------------------------------------------------

# Writes down the examples of each minibatch, so that the same loop can be written by hand.
TRACED = """
def loss(module, batch):
    inputs, numbers, labels = batch
    if module.training:
        with open("{trace}", "a") as file:
            print(*numbers.tolist(), file=file)
    return torch.nn.functional.cross_entropy(module(inputs), labels)
"""
NET = """
import torch
from torch import nn

def model(width=16):
    return nn.Sequential(nn.Linear(5, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 3))

def dataset():
    draw = torch.Generator().manual_seed(3)
    labels = torch.arange(120) % 3
    inputs = torch.randn(120, 5, generator=draw) + labels[:, None]
    both = (inputs, torch.arange(120), labels)
    return both, tuple(part[:30] for part in both)

""" + TRACED


class Muon:
    """As kellerjordan.github.io/posts/muon describes it, in single precision; SGD for vectors."""

    def __init__(self, torch, parameters, lr, momentum=0.95):
        self.torch, self.lr, self.momentum = torch, lr, momentum
        self.parameters = list(parameters)
        self.buffers = [torch.zeros_like(parameter) for parameter in self.parameters]

    def orthogonal(self, x):
        tall = x.size(0) > x.size(1)
        x = x.T if tall else x
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if tall else x
        return x * max(1, x.size(0) / x.size(1)) ** 0.5

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    def step(self):
        with self.torch.no_grad():
            for parameter, buffer in zip(self.parameters, self.buffers):
                buffer.mul_(self.momentum).add_(parameter.grad)
                update = parameter.grad + self.momentum * buffer
                parameter -= self.lr * (self.orthogonal(update) if update.ndim > 1 else update)


def decayed_apart(torch, module):
    """AdamW that spares biases and norms, as anybody would group them."""
    spared = [p for name, p in module.named_parameters() if "bias" in name or "1." in name]
    decayed = [p for name, p in module.named_parameters() if "bias" not in name and "1." not in name]
    return torch.optim.AdamW([{"params": decayed}, {"params": spared, "weight_decay": 0}],
                             lr=0.01, eps=1e-3, weight_decay=0.3)


# For each: its optimizer in the recipe, by hand, and the norm to which gradients are clipped.
OPTIMIZERS = [
    ('{ kind = "sgd", learning_rate = 0.05, momentum = 0.9 }',
     lambda torch, module: torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9), None),
    ('{ kind = "sgd", learning_rate = 0.05, momentum = 0.9, clip_norm = 0.3 }',
     lambda torch, module: torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9), 0.3),
    # The gradient of the bias before batch norm is rounding error only; a small epsilon turns it
    # into steps.
    ('{ kind = "adamw", learning_rate = 0.01, epsilon = 1e-3, weight_decay = 0.3, '
     'no_decay = ["bias", "1."], clip_norm = 0.5 }', decayed_apart, 0.5),
    ('{ kind = "muon", learning_rate = 0.02 }',
     lambda torch, module: Muon(torch, module.parameters(), lr=0.02), None),
]


def by_hand(torch, net, seed, batches, optimizer, clip_norm):
    """The loop of AR-SGD with one worker, as anybody would write it."""
    torch.manual_seed(seed)
    module = net.model()
    train, test = net.dataset()
    optimizer = optimizer(torch, module)
    for batch in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(train[0][batch]), train[2][batch])
        loss.backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
        optimizer.step()
    module.eval()
    with torch.no_grad():
        return module, float(torch.nn.functional.cross_entropy(module(test[0]), test[2]))


def floats(torch, tensors):
    return {name: torch.frombuffer(bytearray(data), dtype=torch.float32)
            for name, data in tensors.items()}


def check_same_as_by_hand(lab, torch):
    trace = lab.folder / "trace"
    lab.write("net.py", NET.replace("{trace}", str(trace)))
    recipe = lab.recipe("net.toml", "net.py", dataset=OWN, algorithm="ar-sgd", workers=1,
                        gradients=200, partition='"shared"')
    specification = importlib.util.spec_from_file_location("net", lab.folder / "net.py")
    net = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(net)
    for words, optimizer, clip_norm in OPTIMIZERS:
        trace.unlink(missing_ok=True)
        lab.acid("run", recipe, "--set", f"optimizer={words}")
        run = lab.shown()
        batches = [[int(word) for word in line.split()]
                   for line in trace.read_text().splitlines()][3:]
        expect(len(batches) == 200, f"{len(batches)} minibatches beside the three tried first")
        module, loss = by_hand(torch, net, run["seeds"]["init"], batches, optimizer, clip_norm)
        print(f"AR-SGD, {words}: loss {run['metrics']['eval_loss']}, by hand {loss}")
        expect(abs(run["metrics"]["eval_loss"] - loss) <= 1e-5, "another loss")
        tensors = floats(torch, lab.final())
        state = module.state_dict()
        expect(set(tensors) == set(state), f"{list(tensors)} instead of {list(state)}")
        for name, tensor in state.items():
            difference = float((tensors[name].reshape(tensor.shape) - tensor).abs().max())
            expect(difference <= 1e-4, f"{name} differs by {difference}")
    lab.acid("verify", "@latest")


def check_gpt(lab):
    """The example trains, with dropout and tied weights; lanes and verify."""
    shutil.copy(EXAMPLES / "gpt.py", lab.folder)
    text = Path("/usr/share/common-licenses/GPL-3")
    if not text.exists():
        lab.write("text", (ROOT / "CONTRIBUTING.md").read_text())
        text = lab.folder / "text"
    lab.write("gpt.toml", (EXAMPLES / "gpt.toml").read_text())
    python = f'interpreter = "{sys.executable}"'
    options = f'options = {{ path = "{text}", length = 16 }}'
    small = [("kind = \"python\"", f"kind = \"python\", {python}"),
             ("epochs = 10", "gradients = 40"),
             ('file = "gpt.py" }', f'file = "gpt.py", {options} }}'),
             ("width = 64, layers = 2", "width = 16, layers = 1, length = 16"),
             ("every_epochs = 1", "every_gradients = 40"), ("count = 4", "count = 2")]
    recipe = (lab.folder / "gpt.toml").read_text()
    for old, new in small:
        expect_in(old, recipe)
        recipe = recipe.replace(old, new)
    lab.write("gpt.toml", recipe)
    lab.acid("run", "gpt.toml")
    runs = json.loads(lab.acid("list", "--json"))["runs"]
    gossiped = next(run for run in runs if run["algorithm"] == "a2cid2")
    expect(gossiped["metrics"]["eval_loss"] < 5.2, gossiped["metrics"])  # log 256 = 5.55
    lab.acid("verify", gossiped["id"])


STATE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(5), nn.Linear(5, 3)
        self.out.bias.requires_grad_(False)
        self.signs = nn.Embedding(2, 5, sparse=True)
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("mask", torch.ones(3, dtype=torch.bool))
        self.register_buffer("steps", torch.zeros(2))
        self.register_buffer("constant", torch.ones(9), persistent=False)

    def forward(self, inputs):
        if self.training:
            self.steps = self.steps + 1
        inputs = self.norm(inputs + self.signs((inputs[:, 0] > 0).long()))
        return self.out(nn.functional.dropout(inputs, 0.2, self.training)) * self.mask

def model():
    return Net().to(torch.bfloat16)

def dataset():
    labels = torch.arange(120) % 3
    both = (torch.randn(120, 5) + labels[:, None]).to(torch.bfloat16), labels
    return both, both
"""


def check_state(lab, torch):
    """Buffers that are replaced, frozen and unused parameters, sparse gradients, other types than
    float32."""
    lab.write("state.py", STATE)
    recipe = lab.recipe("state.toml", "state.py", dataset=OWN, workers=2, gradients=60)
    whole = lab.finals(recipe, cores="0")
    lab.acid("run", recipe)
    expect(lab.shown()["digests"] == whole, "other bits on more cores")
    expect(lab.shown()["metrics"]["eval_accuracy"] > 0.5, lab.shown()["metrics"])
    lab.acid("verify", "@latest")
    tensors = floats(torch, lab.final())
    expect(set(tensors) == {"norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
                            "norm.num_batches_tracked", "out.weight", "out.bias", "unused", "mask",
                            "signs.weight", "steps"}, list(tensors))
    expect(tensors["steps"].tolist() == [30, 30], f"{tensors['steps']} steps of two workers")
    expect(tensors["unused"].tolist() == [1, 1], "a parameter without a part has changed")
    # Weight decay is of every parameter, whether a minibatch gives it a gradient or not.
    for optimizer in ('{ kind = "sgd", learning_rate = 0.01, momentum = 0.0, weight_decay = 0.5 }',
                      '{ kind = "adamw", learning_rate = 0.01, weight_decay = 0.5 }'):
        lab.acid("run", recipe, "--set", f"optimizer={optimizer}")
        unused = floats(torch, lab.final())["unused"]
        expect(float((unused - 0.995 ** 30).abs().max()) < 0.02, f"{optimizer}: {unused}")


MODES = """
import torch
from torch import nn

def model():
    net = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    MODE
    return net

def dataset():
    labels = torch.arange(120) % 3
    both = torch.randn(120, 5) + labels[:, None], labels
    return both, both
"""
# What model() does, and which of its norms are trained, before and after evaluations.
MODES_GIVEN = [
    ("net[0].eval()", ["2"]),
    ("net.eval(); net[2].train()", ["0", "2"]),  # a model of others' with a new head
    ("net.eval()", ["0", "2"]),
    ("old = net[0].train; net[0].train = lambda mode=True: old(False)", ["2"]),
]


def check_modes(lab, torch):
    """A part that model() put into eval() stays so in every gradient, whichever lane computes it."""
    recipe = lab.recipe("modes.toml", "modes.py", dataset=OWN, workers=2, gradients=40)
    often = ("--set", "evaluation.every_gradients=10")
    for given, trained in MODES_GIVEN:
        lab.write("modes.py", MODES.replace("MODE", given))
        whole = lab.finals(recipe, *often, cores="0")
        lab.acid("run", recipe, *often)
        expect(lab.shown()["digests"] == whole, f"{given}: other bits on more cores")
        moved = [name for name in ("0", "2")
                 if floats(torch, lab.final())[f"{name}.running_mean"].count_nonzero() > 0]
        expect(moved == trained, f"{given}: {moved} were trained")


TORCH_BROKEN = """
import torch
def model():
    return torch.nn.Linear(3, 2)
def loss(module, batch):
    inputs, labels = batch
    return torch.nn.functional.cross_entropy(module(inputs[:, :2]), labels)
def dataset():
    return ((torch.zeros(20, 3), torch.arange(20) % 2),) * 2
"""


DATA = """
import torch
from torch import nn
from torch.utils.data import TensorDataset

class Scaled(TensorDataset):
    def __getitem__(self, index):
        inputs, label = super().__getitem__(index)
        return inputs / 255, label

def model():
    return nn.Linear(3, 2)

def loss(module, batch):
    inputs = batch["inputs"] if isinstance(batch, dict) else batch[0]
    return inputs.mean() + 0 * module(inputs).sum()

def dataset():
    inputs, labels = torch.full((20, 3), 255.0), torch.arange(20) % 2
    FORM
"""
# Several forms of dataset(), all with the same examples, and a partition by their classes.
DATA_FORMS = [
    ("return Scaled(inputs, labels), Scaled(inputs, labels)", "sorted"),
    ("inputs /= 255; return TensorDataset(inputs, labels), (inputs, labels[:, None])", "sorted"),
    ("inputs /= 255; return list(zip(inputs, labels)), [inputs, labels]", "sorted"),
    ("inputs /= 255; one = [dict(inputs=x, label=y) for x, y in zip(inputs, labels)]; return one, one",
     "sorted"),
    ("inputs /= 255; one = [dict(inputs=x, other=y) for x, y in zip(inputs, labels)]; return one, one",
     "iid"),
]


def check_data_forms(lab):
    for form, partition in DATA_FORMS:
        classes = []
        answer = tried_out(lab, "data.py", DATA.replace("FORM", form), lambda sets: classes.extend(
            sets["train"].labels() if partition == "sorted" else [0, 1] * 10))
        expect(abs(answer["loss"] - 1) < 1e-6, f"{form}: {answer}")
        expect(classes == [0, 1] * 10, f"{form}: {classes}")
    recipe = lab.recipe("data.toml", "data.py", dataset=OWN, workers=2, gradients=20)
    lab.acid("run", recipe)
    expect(abs(lab.shown()["metrics"]["eval_loss"] - 1) < 1e-6, lab.shown()["metrics"])
    lab.refused(recipe, "tells no class of its examples", "what a dict calls 'label'",
                more=("--set", 'task.partition="sorted"'))


# The loss, the types of the examples, and what a plan says about them.
WORDS_MODEL = """
import numpy as np
import torch
from torch import nn

def model():
    return nn.Linear(3, 2)

def loss(module, batch):
    LOSS

def dataset():
    inputs, labels = torch.randn(20, 3), torch.arange(20) % 2
    FORM
    return (inputs, labels), (inputs, labels)
"""
CROSS = "return nn.functional.cross_entropy(module(batch[0]), batch[1])"
SQUARES = "return nn.functional.mse_loss(module(batch[0])[:, 0], batch[1])"
LOGITS = "return nn.functional.binary_cross_entropy_with_logits(module(batch[0])[:, 0], batch[1])"
PENALTY = ("inputs = batch[0].clone().requires_grad_(); outputs = module(inputs); "
           "slope, = torch.autograd.grad(outputs.sum(), inputs, create_graph=True); "
           "return nn.functional.cross_entropy(outputs, batch[1]) + slope.square().mean()")
TWICE = ("loss = nn.functional.cross_entropy(module(batch[0]), batch[1]); "
         "loss.backward(retain_graph=True); return loss")
TEXTS = "labels = ['cat' if label else 'dog' for label in labels]"
PAIRS = "pairs = list(zip(inputs, labels)); return pairs, pairs"
WORDS = [
    (PENALTY, "pass", ["loss() computes gradients, and acid evaluates without", "enable_grad"]),
    (f"with torch.enable_grad(): {TWICE}", "pass", ["gradient of 'weight': return the loss"]),
    (TWICE, "pass", ["gradient of 'weight': return the loss"]),
    (TWICE.replace("return", "loss.backward(); return").replace("retain_graph=True", ""), "pass",
     ["graph a second time", "; return the loss"]),
    (CROSS, "labels = labels.float()", ["float32 (8, 3), float32 (8,)", "labels.long()"]),
    (SQUARES, "pass", ["float32 (8, 3), int64 (8,)", "labels.float()"]),
    (SQUARES, "labels = labels.double().numpy()", ["float64 (8,)", "labels.float()"]),
    (LOGITS, "pass", ["int64 (8,)", "labels.float()"]),
    (LOGITS, "labels = labels > 0", ["bool (8,)", "labels.float()"]),
    (CROSS, "inputs = inputs.double().numpy()", ["float64 (8, 3)", "inputs.float()"]),
    (CROSS, "inputs = (inputs * 9).byte()", ["uint8 (8, 3)", "inputs.float()"]),
    (CROSS, "labels = torch.arange(20) % 3", ["Target 2 is out of bounds", "classes from 0"]),
    (CROSS, "labels = np.array(['cat', 'dog'] * 10)", ["no texts", "numpy.unique"]),
    (CROSS, f"{TEXTS}; {PAIRS}", ["float32 (8, 3), ", "of texts; ", "numpy.unique"]),
    (CROSS, f"labels = [object()] * 20; {PAIRS}", ["default_collate", "is made of tensors"]),
]


def check_words(lab):
    """What a plan says, in acid's words."""
    for loss, form, said in WORDS:
        text = WORDS_MODEL.replace("LOSS", loss).replace("FORM", form)
        answer = tried_out(lab, "words.py", text)
        expect(answer.get("error", {}).get("of_values") is False, f"{loss}, {form}: {answer}")
        for words in said:
            expect_in(words, answer["error"]["message"])
    recipe = lab.recipe("words.toml", "words.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    text = WORDS_MODEL.replace("FORM", "pass")
    lab.write("words.py", text.replace("LOSS", PENALTY))
    lab.refused(recipe, *WORDS[0][2], "words.py:", "words.toml:4")
    answer = tried_out(lab, "words.py",
                       text.replace("LOSS", "with torch.enable_grad(): " + PENALTY))
    expect("loss" in answer, answer)


# What is written before the loss, whether evaluation does it as well, and the message.
SELF_CHANGING = [
    ("module.weight.data = module.weight.data * 0.9", "replaced the memory of"),
    ("module.weight.data.clamp_(-1e-3, 1e-3)", "changed"),
    ("with torch.no_grad(): module.weight.clamp_(-1e-3, 1e-3)", "changed"),
    ("with torch.no_grad(): module.weight.copy_(module.weight * 2)", "changed"),
    ("if not module.training: module.weight.data.zero_()", "changed"),
    ("nn.functional.embedding(labels, module.weight, max_norm=0.1)", "changed"),
]


def check_self_changing(lab):
    """A model that changes its own parameters has no gradient that acid could know of."""
    start = TORCH_BROKEN.replace("inputs[:, :2]", "inputs").replace("import torch",
                                                                    "import torch\nfrom torch import nn")
    recipe = lab.recipe("changing.toml", "changing.py", dataset=OWN, workers=2, algorithm="a2cid2")
    lab.write("changing.py", start)
    lab.acid("run", recipe)
    for line, said in SELF_CHANGING:
        text = start.replace("    return torch.nn.functional",
                             f"    {line}\n    return torch.nn.functional")
        message = tried_out(lab, "changing.py", text)["error"]["message"]
        expect_in(f"{said} its parameter 'weight'", message)
        expect_in("parametrize", message)
    lab.refused(recipe, message)
    lab.expect_alone()


# A module without loss() and evaluate(), whose labels are not one class for each example.
UNSAID = """
import numpy, torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(40, 6)

class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 20)

    def forward(self, x):
        return self.out(x).view(-1, 4, 5)

class Names:
    labels = ["a", "b", "c", "d"]
    def __len__(self):
        return 40
    def __getitem__(self, i):
        return x[i], i % 4

def model(kind):
    return Places() if kind == "places" else nn.Linear(6, 1 if kind == "numbers" else 4)

def dataset(kind):
    y = {"places": torch.arange(200).view(40, 5) % 4, "shares": torch.full((40, 4), 0.25),
         "numbers": x[:, :1], "classes": torch.arange(40) % 4}.get(kind)
    if kind == "masked":
        given = numpy.ma.masked_greater(x.numpy(), 1), (torch.arange(40) % 4).numpy()
    else:
        given = Names() if kind == "named" else (x, y)
    return given, given
"""


def check_unsaid(lab):
    """Accuracy is counted where an example has one class; labels are looked for in the examples."""
    lab.write("unsaid.py", UNSAID)

    def recipe(kind, **more):
        options = f'options = {{ kind = "{kind}" }}'
        own = OWN.format(file="unsaid.py", python=sys.executable).removesuffix("}")
        return lab.recipe(f"unsaid_{kind}.toml", "unsaid.py", dataset=f"{own}, {options} }}",
                          more=options, batch=4, gradients=20, **more)

    for kind in ("places", "shares"):
        lab.acid("run", recipe(kind))
        metrics = lab.shown()["metrics"]
        expect("eval_accuracy" not in metrics, f"{kind}: {metrics}")
        expect(metrics["eval_loss"] > 0.5, f"{kind}: {metrics}")
    lab.acid("run", recipe("classes"))
    expect(lab.shown()["metrics"]["eval_accuracy"] <= 1, lab.shown()["metrics"])
    lab.refused(recipe("numbers"), "of shape (", "must define loss(module, batch)")
    lab.refused(recipe("masked"), "has masked values", "array.filled(0)")
    lab.acid("run", recipe("named", partition='"sorted"'))


def check_torch_errors(lab):
    lab.write("broken.py", TORCH_BROKEN)
    recipe = lab.recipe("broken.toml", "broken.py", dataset=OWN, workers=1, algorithm="ar-sgd")
    messages = lab.refused(recipe, "broken.py:7: in loss(): RuntimeError")
    expect(messages.count("\n") <= ONE_SCREEN, messages)
    lab.write("broken.py", TORCH_BROKEN.replace("torch.nn.Linear(3, 2)", "3"))
    lab.refused(recipe, "broken.py:3: in model(): model() gave int: it must give a torch.nn.Module")
    lab.write("broken.py", "import torch\ndef dataset():\n    labels = torch.arange(40) % 2\n"
              "    labels[::2] = -100\n    return [(torch.ones(40, 3), labels)] * 2\n"
              "def model():\n    return torch.nn.Linear(3, 2)\n")
    lab.refused(recipe, "Target -100 is out of bounds", "define loss() and evaluate()")
    # Zeros reveal that a module has another shape; the layer is the file's, wherever it is defined.
    lab.write("broken.py", "import torch\ndef model():\n    return torch.nn.Sequential("
              "torch.nn.Flatten(), torch.nn.Linear(783, 10))\n")
    lab.refused(lab.recipe("shapes.toml", "broken.py"),
                "broken.py: RuntimeError: mat1 and mat2 shapes cannot be multiplied")



BIGRAM = """
import torch
from torch import nn

def model():
    net = nn.Embedding(256, 256)
    nn.init.zeros_(net.weight)
    return net
"""


def check_tied(lab, torch):
    """An export has a tied parameter once, and fills a module that ties it."""
    tied = "net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)); net[1].weight = net[0].weight"
    text = WORDS_MODEL.replace("LOSS", CROSS).replace("FORM", "pass")
    lab.write("tied.py", text.replace("return nn.Linear(3, 2)", f"{tied}; return net"))
    lab.acid("run", lab.recipe("tied.toml", "tied.py", dataset=OWN, workers=1, algorithm="ar-sgd",
                               gradients=4))
    made = {}
    exec((lab.folder / "tied.py").read_text(), made)
    module = made["model"]()
    state = module.state_dict()
    tensors = {name: values.view_as(state[name])
               for name, values in floats(torch, lab.final()).items()}
    loaded = module.load_state_dict(tensors, strict=False)
    expect(loaded.missing_keys == ["1.weight"] and not loaded.unexpected_keys, loaded)
    expect(torch.equal(module[1].weight, tensors["0.weight"]), "the other name is not filled")


def check_outside(lab):
    """Parameters that are never trained are reported, with acid's data too; a penalty's inputs are not."""
    lab.write("outside.py", """
import torch
from torch import nn
criterion, scale = nn.Linear(10, 3), nn.Parameter(torch.ones(()))
def model():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
def loss(module, batch):
    with torch.enable_grad():
        outputs = module(batch[0].clone().requires_grad_())
        return (criterion(outputs) * scale).square().mean()
""")
    told = lab.planned(lab.recipe("outside.toml", "outside.py"))
    expect(len(told["warnings"]) == 1, told["warnings"])
    expect_in("never trained: 3 of shape 3, 3 × 10, one number", told["warnings"][0])
    expect_in("outside.toml:4", lab.messages)


def check_tokens(lab):
    """A text of acid's: whole numbers, a label for each, the loss and the accuracy per token."""
    lab.write("bigram.py", BIGRAM)
    text = f'{{ kind = "text", file = "{ROOT / "LICENSE"}", sequence = 16 }}'
    recipe = lab.recipe("bigram.toml", "bigram.py", dataset=text, partition='"contiguous"')
    lab.acid("run", recipe, "--set", "optimizer.learning_rate=30.0", "--set",
             "optimizer.momentum=0.0")
    metrics = lab.shown()["metrics"]
    print(f"bigrams: loss {metrics['eval_loss']}, accuracy {metrics['eval_accuracy']}")
    expect(2 < metrics["eval_loss"] < 5, "a loss of something else than a token")
    expect(0.1 < metrics["eval_accuracy"] < 0.6, "an accuracy of something else than a token")
    lab.acid("verify", "@latest")


def torch_part(lab):
    import torch
    torch.set_num_threads(1)
    check_same_as_by_hand(lab, torch)
    check_gpt(lab)
    check_state(lab, torch)
    check_modes(lab, torch)
    check_tokens(lab)
    check_outside(lab)
    check_tied(lab, torch)
    check_data_forms(lab)
    check_words(lab)
    check_self_changing(lab)
    check_unsaid(lab)
    check_torch_errors(lab)


# ---- an existing module, unchanged --------------------------------------------------------------

RESNET = """
import torch
from torchvision.models import resnet18

def model(classes=10):
    return resnet18(num_classes=classes)

def dataset():
    draw = torch.Generator().manual_seed(3)
    labels = torch.arange(160) % 10
    inputs = 0.5 * torch.randn(160, 3, 32, 32, generator=draw)
    for image, label in zip(inputs, labels):
        image[label % 3, :, 3 * label:3 * label + 3] += 2
    both = (inputs, torch.arange(160), labels)
    return both, tuple(part[:40] for part in both)

def evaluate(module, batch):
    outputs = module(batch[0])
    right = (outputs.argmax(1) == batch[2]).sum()
    return torch.nn.functional.cross_entropy(outputs, batch[2]), right
"""


def check_resnet_by_hand(lab, torch, trace):
    """AR-SGD with one worker: the curve of the same loop in plain PyTorch."""
    steps, every = 40, 10
    recipe = lab.recipe("one.toml", "resnet.py", dataset=OWN, algorithm="ar-sgd", workers=1,
                        gradients=steps, partition='"shared"')
    trace.unlink(missing_ok=True)
    lab.acid("run", recipe, "--set", "optimizer={kind='sgd', learning_rate=0.002, momentum=0.9}",
             "--set", f"evaluation={{every_gradients={every}}}")
    run = lab.shown()
    database = sqlite3.connect(f"file:{lab.folder / 'acid-store' / 'store.db'}?mode=ro", uri=True)
    curve = dict(database.execute(
        "SELECT gradients, value FROM points_view WHERE run = ? AND metric = 'eval_loss'",
        (run["id"],)).fetchall())
    batches = [[int(word) for word in line.split()]
               for line in trace.read_text().splitlines()][3:]
    expect(len(batches) == steps, f"{len(batches)} minibatches")
    specification = importlib.util.spec_from_file_location("resnet", lab.folder / "resnet.py")
    user = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(user)
    torch.manual_seed(run["seeds"]["init"])
    module = user.model()
    train, test = user.dataset()
    # torch.optim.SGD rounds once where this loop and acid round twice. A difference of 1e-7 in the
    # start point grows to 0.004 in the loss within ten steps of this network, so the steps are
    # written out.
    momentum = [torch.zeros_like(p) for p in module.parameters()]
    for step in range(steps + 1):
        if step % every == 0:
            module.eval()
            with torch.no_grad():
                by_hand = float(user.evaluate(module, test)[0])
            print(f"ResNet-18 after {step} gradients: loss {curve[step]}, by hand {by_hand}")
            expect(abs(curve[step] - by_hand) <= 1e-5 * max(1, by_hand), "another loss")
            module.train()
        if step == steps:
            break
        module.zero_grad()
        inputs, _, labels = (part[batches[step]] for part in train)
        torch.nn.functional.cross_entropy(module(inputs), labels).backward()
        with torch.no_grad():
            for p, m in zip(module.parameters(), momentum):
                m.mul_(0.9).add_(p.grad)
                p.sub_(0.002 * m)


def torchvision_part(lab):
    """ResNet-18 of torchvision on every driver; takes minutes."""
    import torch
    torch.set_num_threads(1)
    trace = lab.folder / "trace"
    lab.write("resnet.py", (RESNET + TRACED).replace("{trace}", str(trace)))
    check_resnet_by_hand(lab, torch, trace)
    for algorithm in ("ad-psgd", "a2cid2"):
        recipe = lab.recipe("resnet.toml", "resnet.py", dataset=OWN, algorithm=algorithm,
                            gradients=80)
        text = (lab.folder / recipe).read_text().replace("rate = 0.05", "rate = 0.002")
        lab.write(recipe, text + "checkpoint.every_time = 5.0\n")
        whole = lab.finals(recipe, cores="0")
        expect(lab.finals(recipe) == whole, "other bits with two lanes")
        expect(lab.killed(recipe, "acid-worker") == whole, "other bits after a SIGKILL")
        for driver in ("virtual", "threads", "mpi"):
            lab.acid("run", recipe, "--driver", driver)
            told = lab.acid("verify", "@latest")
            metrics = lab.shown()["metrics"]
            print(f"ResNet-18, {algorithm}, {driver}: loss {metrics['eval_loss']:.4f}, accuracy "
                  f"{metrics['eval_accuracy']:.3f}; {told.strip().splitlines()[-1]}")


def main():
    program, part = sys.argv[1:]
    library = {"torch": "torch", "torchvision": "torchvision"}.get(part, "numpy")
    if importlib.util.find_spec(library) is None:
        print(f"{sys.executable} has no {library}, so nothing is tested: apt install "
              f"python3-{library}, or name a Python that has it with -DACID_PYTHON=PATH")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(program, folder)
        {"numpy": numpy_part, "errors": errors_part, "torch": torch_part,
         "torchvision": torchvision_part}[part](lab)
        lab.expect_alone()


if __name__ == "__main__":
    main()
