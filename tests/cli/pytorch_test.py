"""What PyTorch makes of exported models: `pytorch_test.py ACID`, the program to test.

Each model is trained for a moment, exported with its test set, loaded by an independent program,
Python's torch, and evaluated there: the examples it gets right must be those that acid counted.
The evaluation takes as many examples at a time and as many threads as acid does, so that the two
call the same kernels on the same shapes and no near tie can fall differently; the losses are
compared with a tolerance, for a torch of another version than acid's LibTorch.
"""

import csv
import json
import os
import struct
import sys
import tempfile

# OpenBLAS reads it when it is loaded; torch.set_num_threads() does not change it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import torch
except ImportError as error:
    print(f"PyTorch is not there, so nothing is tested: {error}; apt install python3-torch")
    sys.exit(77)
from model_process_test import ROOT, Lab, expect

ROWS_AT_A_TIME = 250
LOSS_TOLERANCE = 1e-5  # relative

# Measured at the start and the end only, since only the end is compared.
RECIPE = """
name = "models"
seeds = [1]
task.dataset = { kind = "glyphs", train = 260, test = 260 }
task.model = "mlp"
task.batch_size = 16
optimizer = { kind = "sgd", learning_rate = 0.05, momentum = 0.9 }
workers.count = 2
budget.gradients = 200
evaluation = { workers = "never", every_gradients = 1000, consensus_every_time = 1000 }
"""
ALGORITHM = """
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
label = "{label}"
set = {{ "task.model" = {model}, "budget.gradients" = {gradients} }}
"""
# Each with its number of gradients. Together they have every kind of step.
MODELS = {
    "mlp": ('{ kind = "mlp", hidden = [32] }', 200),
    "mlp-tanh": ('{ kind = "mlp", hidden = [16, 16], activation = "tanh" }', 200),
    "cnn-gelu": ('{ kind = "cnn", channels = [4, 8], hidden = [16], activation = "gelu" }', 200),
    "resnet20": ('{ kind = "resnet20" }', 8),
    "resnet20-group": ('{ kind = "resnet20", norm = "group" }', 8),
    "resnet20-evonorm": ('{ kind = "resnet20", norm = "evonorm", groups = 8 }', 8),
    "resnet18": ('{ kind = "resnet18", stem = "imagenet" }', 2),
}
BATCH_NORM = ("resnet20", "resnet18")
# A text that exists on every machine, in sequences of 16.
LANGUAGE = """
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
label = "transformer-lm"
[algorithms.set]
"task.dataset" = {{ kind = "text", file = "{text}", sequence = 16 }}
"task.model" = {{ kind = "transformer-lm", width = 24, heads = 3, layers = 3 }}
"budget.gradients" = 40
"""


def run_models(lab):
    """The runs of all models, by label."""
    recipe = RECIPE + "".join(ALGORITHM.format(label=label, model=model, gradients=gradients)
                              for label, (model, gradients) in MODELS.items())
    lab.write("models.toml", recipe + LANGUAGE.format(text=ROOT / "LICENSE"))
    lab.acid("run", "models.toml")
    return {run["label"]: run["id"] for run in json.loads(lab.acid("list", "--json"))["runs"]}


def exported(lab, run, form):
    path = lab.folder / f"{run}.{form}"
    lab.acid("export", run, "--format", form, "-o", str(path))
    return path


def require_reader(lab, run):
    """A torch reads what LibTorch writes up to its own version."""
    wrote = lab.shown(run)["environment"]["model_runtime"]["libtorch"]
    if minor_version(wrote) > minor_version(torch.__version__):
        print(f"PyTorch {torch.__version__} need not know the files of LibTorch {wrote}, so "
              "nothing is tested: name a Python that has a newer one with -DACID_PYTHON=PATH")
        sys.exit(77)


def recorded_in(lab, run):
    """The last value of each metric of the whole run."""
    rows = csv.DictReader(lab.acid("export", run).splitlines())
    rows = sorted((row for row in rows if row["worker"] == ""),
                  key=lambda row: int(row["gradients"]))
    return {row["metric"]: float(row["value"]) for row in rows}


def minor_version(text):
    return tuple(int(part) for part in text.split(".")[:2])


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    types = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        expect(begin % 8 == 0 or entry["dtype"] == "F32", f"{name} is not aligned in {path}")
        values = torch.frombuffer(bytearray(content[begin:end]), dtype=types[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def evaluate(module, test_set):
    """How many examples it gets right, and the mean loss."""
    correct, loss = 0, 0.0
    with torch.inference_mode():
        for inputs, targets in zip(test_set["inputs"].split(ROWS_AT_A_TIME),
                                   test_set["targets"].split(ROWS_AT_A_TIME)):
            logits = module(inputs).flatten(0, -2)
            targets = targets.flatten()
            correct += int((logits.argmax(1) == targets).sum())
            losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
            loss += float(losses.double().sum())
    return correct, loss / test_set["targets"].numel()


def check_same(what, module, test_set, recorded):
    correct, loss = evaluate(module, test_set)
    examples = test_set["targets"].numel()
    print(f"{what}: {correct} of {examples} right, recorded {recorded['eval_accuracy']:.6f}; "
          f"loss {loss!r}, recorded {recorded['eval_loss']!r}")
    expect(correct / examples == recorded["eval_accuracy"], f"{what}: another accuracy")
    expect(abs(loss - recorded["eval_loss"]) <= LOSS_TOLERANCE * recorded["eval_loss"],
           f"{what}: another loss")


class HandWritten(torch.nn.Module):
    """The first of MODELS, as one would write it down in PyTorch."""

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(28 * 28, 32)
        self.fc2 = torch.nn.Linear(32, 10)

    def forward(self, images):
        return self.fc2(torch.relu(self.fc1(images.flatten(1))))


class Gpt(torch.nn.Module):
    """LANGUAGE's, as one would write it down in PyTorch, with its own attention and GELU."""

    def __init__(self, tensors, heads):
        super().__init__()
        self.tensors, self.heads = tensors, heads

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].t() + self.tensors[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdim=True)
        x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attention(self, name, x):
        queries, keys, values = self.linear(name + ".c_attn", x).chunk(3, dim=-1)
        size = x.shape[-1] // self.heads
        heads = []
        for head in range(self.heads):
            q, k, v = (part[..., head * size:(head + 1) * size] for part in (queries, keys, values))
            scores = torch.exp(torch.einsum("nid,njd->nij", q, k) / size ** 0.5).tril()
            heads.append(scores / scores.sum(-1, keepdim=True) @ v)
        return self.linear(name + ".c_proj", torch.cat(heads, dim=-1))

    def mlp(self, name, x):
        x = self.linear(name + ".c_fc", x)
        return self.linear(name + ".c_proj", x * 0.5 * (1 + torch.erf(x / 2 ** 0.5)))

    def forward(self, tokens):
        tokens = tokens.long()
        x = self.tensors["wte.weight"][tokens] + self.tensors["wpe.weight"][:tokens.shape[1]]
        layer = 0
        while f"h.{layer}.ln_1.weight" in self.tensors:
            name = f"h.{layer}"
            x = x + self.attention(name + ".attn", self.norm(name + ".ln_1", x))
            x = x + self.mlp(name + ".mlp", self.norm(name + ".ln_2", x))
            layer += 1
        return self.norm("ln_f", x) @ self.tensors["wte.weight"].t()


def check_language_model(lab, run):
    """The module gives the logits of one by hand, also of shorter texts, and what was recorded."""
    test_set = read_safetensors(exported(lab, run, "test-set"))
    tensors = read_safetensors(exported(lab, run, "safetensors"))
    extra = {"acid.json": ""}
    module = torch.jit.load(str(exported(lab, run, "torchscript")), _extra_files=extra)
    about = json.loads(extra["acid.json"])
    expect(about["input"] == [16] and about["classes"] == 256, f"described as {about}")
    expect(module.state_dict().keys() == tensors.keys(), f"it has {list(module.state_dict())}")
    recorded = recorded_in(lab, run)
    check_same("transformer-lm as TorchScript", module, test_set, recorded)
    check_same("transformer-lm by hand", Gpt(tensors, heads=3), test_set, recorded)
    for length in (1, 7, 16):
        texts = test_set["inputs"][:, :length]
        logits, by_hand = module(texts), Gpt(tensors, heads=3)(texts)
        difference = float((logits - by_hand).abs().max())
        print(f"transformer-lm: logits differ by {difference:.1e} after {length} bytes")
        expect(logits.shape == (len(texts), length, 256), f"logits of shape {logits.shape}")
        expect(difference <= LOSS_TOLERANCE, "other logits")
    expect(torch.equal(module(texts.long()), logits), "other logits for whole numbers")


def check_file(label, path, run, tensors):
    """The module's names, values and description are the recorded ones."""
    extra = {"acid.json": ""}
    module = torch.jit.load(str(path), _extra_files=extra)
    about = json.loads(extra["acid.json"])
    expect(about["run"] == run and about["input"] == [1, 28, 28] and about["classes"] == 10,
           f"{label}: described as {about}")
    expect(len(about["normalisation"]["mean"]) == 1, f"{label}: normalised as {about}")
    expect(not module.training, f"{label}: starts in training mode")
    state = module.state_dict()
    expect(state.keys() == tensors.keys(), f"{label}: has {list(state)} instead of {list(tensors)}")
    expect(all(torch.equal(state[name], tensors[name]) for name in tensors),
           f"{label}: has other values than the safetensors file")
    parameters = {name for name, _ in module.named_parameters()}
    expect(parameters == {name for name in tensors if ".running_" not in name},
           f"{label}: takes {parameters} for parameters")
    return module


ARRAYS = """
seeds = [1]
task.dataset = {{ kind = "npy", root = "arrays"{more} }}
task.model = "linear"
task.batch_size = 2
workers.count = 2
budget.gradients = 4
evaluation.every_gradients = 4
algorithms = ["ad-psgd"]
"""


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def check_normalisation(lab):
    """A module says how the inputs of a user's own arrays are normalised, by their type."""
    (lab.folder / "arrays").mkdir()
    stored = {"byte / 255": npy("|u1", (4, 3), bytes(range(12))),
              "number": npy("<f4", (4, 3), struct.pack("<12f", *range(12)))}
    for number, inputs in stored.items():
        for part in ("train", "test"):
            (lab.folder / "arrays" / f"{part}_inputs.npy").write_bytes(inputs)
            (lab.folder / "arrays" / f"{part}_labels.npy").write_bytes(
                npy("|u1", (4,), bytes([0, 1, 0, 1])))
        for more, formula in (("", number if number != "number" else None),
                              (", mean = [2.0]", f"({number} - mean) / deviation, by channel")):
            lab.write("arrays.toml", ARRAYS.format(more=more))
            lab.acid("run", "arrays.toml")
            extra = {"acid.json": ""}
            run = lab.shown()["id"]
            torch.jit.load(str(exported(lab, run, "torchscript")), _extra_files=extra)
            told = json.loads(extra["acid.json"])["normalisation"]
            expect((told and told["formula"]) == formula, f"{number}{more}: normalised as {told}")


def check_training_mode(label, module, test_set):
    """Batch norm follows train() and eval(), and only its buffers change."""
    before = evaluate(module, test_set)
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    module.train()
    expect(evaluate(module, test_set) != before, f"{label}: train() changes nothing")
    module.eval()
    changed = {name for name, value in module.state_dict().items()
               if not torch.equal(value, kept[name])}
    expect(changed == {name for name in kept if ".running_" in name},
           f"{label}: training mode changed {changed}")


def check_refusals(lab, run):
    """Without LibTorch, or with a model that is not the recorded one, there is no file."""
    path = lab.folder / "refused.pt"
    command = ("export", run, "--format", "torchscript", "-o", str(path))
    os.environ["ACID_TORCH_MODULE"] = "/nowhere/acid-torch.so"
    said = lab.acid(*command, code=1)
    del os.environ["ACID_TORCH_MODULE"]
    expect("/nowhere/acid-torch.so" in said and "acid_programs" in said, said)
    (model,) = (lab.folder / "acid-store" / "checkpoints" / run).glob("*-final-mean.safetensors")
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    said = lab.acid(*command, code=3)
    expect("is damaged" in said and "SHA-256" in said, said)
    model.unlink()
    said = lab.acid(*command, code=3)
    expect(model.name in said, said)
    expect(not path.exists(), "a file is left of a failed export")


def check_local_buffers(lab):
    """Where each worker keeps its own statistics the mean has none, and nothing pretends it has."""
    model, gradients = MODELS["resnet20"]
    algorithm = ALGORITHM.format(label="local", model=model, gradients=gradients)
    lab.write("local.toml", RECIPE + 'task.buffers = "local"\n' + algorithm)
    lab.acid("run", "local.toml")
    (run,) = (run["id"] for run in json.loads(lab.acid("list", "--json"))["runs"]
              if run["label"] == "local")
    tensors = read_safetensors(exported(lab, run, "safetensors"))
    expect(tensors and not any(".running_" in name for name in tensors), f"it has {list(tensors)}")
    said = lab.acid("export", run, "--format", "torchscript", code=2)
    expect('task.buffers = "local"' in said and 'buffers = "average"' in said, said)
    lab.acid("verify", run)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(sys.argv[1], folder)
        runs = run_models(lab)
        expect(set(runs) == {*MODELS, "transformer-lm"}, f"the runs are {runs}")
        require_reader(lab, runs["mlp"])
        # One data set, so that one export serves all.
        test_set = read_safetensors(exported(lab, runs["mlp"], "test-set"))
        check_language_model(lab, runs.pop("transformer-lm"))
        for label, run in runs.items():
            recorded = recorded_in(lab, run)
            tensors = read_safetensors(exported(lab, run, "safetensors"))
            module = check_file(label, exported(lab, run, "torchscript"), run, tensors)
            check_same(f"{label} as TorchScript", module, test_set, recorded)
            if label == "mlp":
                by_hand = HandWritten()
                by_hand.load_state_dict(tensors)
                check_same(f"{label} by hand", by_hand, test_set, recorded)
            if label in BATCH_NORM:
                check_training_mode(label, module, test_set)
        check_refusals(lab, runs["mlp"])
        check_local_buffers(lab)
        check_normalisation(lab)


if __name__ == "__main__":
    main()
