"""Models that PyTorch saved as TorchScript: `torchscript_test.py ACID`, the program to test.

A module is scripted here, trained by acid on every driver, verified, exported, and evaluated here
again; files that cannot be trained are refused by the plan.
"""

import importlib.util
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import torch
except ImportError as error:
    print(f"PyTorch is not there, so nothing is tested: {error}; apt install python3-torch")
    sys.exit(77)
from model_process_test import ONE_SCREEN, Lab, expect, expect_in
from pytorch_test import check_same, read_safetensors
from torch import nn

RECIPE = """
seeds = [1]
task.dataset = { kind = "glyphs", train = 300, test = 100 }
task.model = { kind = "torchscript", path = "net.pt" }
task.batch_size = 8
optimizer = { kind = "sgd", learning_rate = 0.05, momentum = 0.9 }
workers.count = 2
budget.gradients = 60
evaluation.every_gradients = 30
algorithms = ["ad-psgd"]
"""


class Net(nn.Module):
    """Batch norm, a frozen and a tied parameter, a buffer that is replaced, dropout without draws."""

    def __init__(self, p: float = 0.0, classes: int = 10):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.dropout = nn.Dropout(p)
        self.wide = nn.Linear(4 * 13 * 13, 16)
        self.out = nn.Linear(16, classes)
        self.again = self.out
        self.frozen = nn.Parameter(torch.ones(16), requires_grad=False)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.calls = self.calls + 1
        hidden = torch.relu(self.norm(self.conv(images))).flatten(1)
        return self.again(self.dropout(torch.tanh(self.wide(hidden)) * self.frozen))


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(x)


class Pair(Flat):
    def forward(self, x: torch.Tensor):
        logits = self.out(x.flatten(1)[:, :5])
        return logits, logits


class Constant(Flat):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.size(0), 10)


class Noisy(Flat):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(x.flatten(1)[:, :5] + torch.randn(5))


class Clamped(Flat):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.out.weight.clamp_(-1e-3, 1e-3)
        return self.out(x.flatten(1)[:, :5])


class Holding(Flat):
    def __init__(self, held: torch.Tensor):
        super().__init__()
        self.register_buffer("held", held)


class Counting(Flat):
    calls: int

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.out(x.flatten(1)[:, :5]) * (1.0 + float(self.calls))


class Remembering(Flat):
    """What it keeps from call to call is a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1.0
        return self.out(x.flatten(1)[:, :5]) * (1.0 + 1.0 / self.calls)


class Infinite(Flat):
    def __init__(self):
        super().__init__()
        self.out.weight.data[0, 0] = float("nan")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(x.flatten(1)[:, :5])


def save(module, path):
    torch.manual_seed(3)
    torch.jit.script(module).save(str(path))


def trace(module, path):
    torch.jit.trace(module, torch.ones(2, 1, 28, 28), check_trace=False).save(str(path))


def with_code(source, target, old, new):
    """The archive with another text in its code."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as out:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith(".py"):
                content = content.replace(old, new)
            out.writestr(name, content)


def check_refusals(lab):
    """Each is one screen, at the recipe's line, with exit code 2, and the store stays as it is."""
    good = (lab.folder / "net.pt").read_bytes()
    bad = lab.folder / "bad.pt"
    half, frozen = Net().half(), Net().requires_grad_(False)
    double = Net()
    double.wide = double.wide.double()
    cases = [
        ("truncated", lambda: bad.write_bytes(good[:len(good) // 2]), "is no TorchScript file"),
        ("torch.save", lambda: torch.save(Net().state_dict(), bad), "torch.save does not"),
        ("a zip", lambda: shutil.make_archive(str(bad)[:-3], "zip", lab.folder, "scripted.toml")
         and os.replace(str(bad)[:-3] + ".zip", bad), "is no TorchScript file"),
        ("operator", lambda: with_code(lab.folder / "net.pt", bad, b"torch.tanh", b"torch.tonh"),
         "needs the operator aten::tonh"),
        ("code", lambda: with_code(lab.folder / "net.pt", bad, b"def forward", b"deaf forward"),
         "LibTorch cannot load"),
        ("half", lambda: save(half, bad), "is of type Half"),
        ("one double", lambda: save(double, bad), "'wide.weight'"),
        ("frozen", lambda: save(frozen, bad), "no parameters to train"),
        ("frozen graph", lambda: torch.jit.freeze(torch.jit.script(Net().eval())).save(str(bad)),
         "no parameters to train"),
        ("classes", lambda: save(Net(classes=7), bad), "the data set has 10 classes"),
        ("input", lambda: save(Flat(), bad), "fails on rows of shape 1 x 28 x 28"),
        ("tuple", lambda: save(Pair(), bad), "gives a Tuple"),
        ("constant", lambda: save(Constant(), bad), "does not depend on its parameters"),
        ("dropout", lambda: save(Net(p=0.5), bad), "draws random numbers (aten::dropout"),
        ("noise", lambda: save(Noisy(), bad), "draws random numbers (aten::randn"),
        ("large", lambda: save(Holding(torch.tensor([2**24 + 1])), bad), "'held' of"),
        ("double", lambda: save(Holding(torch.tensor(0.1, dtype=torch.float64)), bad),
         "is of type Double and holds values that 32-bit floats do not"),
        ("complex", lambda: save(Holding(torch.tensor([1 + 2j])), bad), "of type ComplexFloat"),
        ("held", lambda: save(Holding(torch.tensor([float("nan"), 0.5], dtype=torch.float64)), bad),
         "fails on rows of shape"),
        ("clamped", lambda: save(Clamped(), bad), "changes its parameter 'out.weight'"),
        ("counting", lambda: save(Counting(), bad), "keeps something from call to call"),
        ("not finite", lambda: save(Infinite(), bad),
         "the parameter 'out.weight' of"),
        ("traced", lambda: trace(Net(), bad), "the layer batch_norm stays in training mode"),
        ("traced in eval()", lambda: trace(Net().eval(), bad),
         "the layer batch_norm stays in evaluation mode"),
        ("traced dropout", lambda: trace(nn.Sequential(nn.Flatten(), nn.Dropout(0.5),
                                                       nn.Linear(784, 10)).eval(), bad),
         "the layer dropout stays in evaluation mode"),
    ]
    before = lab.acid("list", "--json")
    for name, make, said in cases:
        make()
        messages = lab.acid("run", "scripted.toml", "--set", "task.model.path=bad.pt", code=2)
        expect_in(said, messages)
        expect_in("task.model", messages + "task.model")
        expect(messages.count("\n") <= ONE_SCREEN, f"{name}: more than a screen:\n{messages}")
        print(f"{name}: {messages.splitlines()[0][:150]}")
    expect_in("on the host's processor",
              lab.acid("plan", "scripted.toml", "--set", 'execution.device="cuda"', code=2))
    expect(lab.acid("list", "--json") == before, "the store has changed")


def check_trains(lab):
    planned = lab.planned("scripted.toml")
    parameters = sum(p.numel() for p in Net().parameters() if p.requires_grad)
    expect(planned["parameters"] == parameters, f"{planned['parameters']} of {parameters}")
    whole = lab.finals("scripted.toml", cores="0")
    expect(lab.finals("scripted.toml") == whole, "other bits on more cores")
    (lab.folder / "other").mkdir()
    for name in ("net.pt", "scripted.toml"):
        shutil.copy(lab.folder / name, lab.folder / "other")
    expect(lab.planned("other/scripted.toml")["digest"] == planned["digest"], "moved: another run")
    with torch.no_grad():
        changed = Net()
        changed.out.bias += 1
    save(changed, lab.folder / "other" / "net.pt")
    expect(lab.planned("other/scripted.toml")["digest"] != planned["digest"], "changed: the same")
    for driver in ("threads", "mpi", "virtual"):
        if driver == "mpi" and not (Path(lab.program).parent / "acid-mpi.so").exists():
            continue
        lab.acid("run", "scripted.toml", "--driver", driver)
        lab.acid("verify", "@latest")
    lab.expect_alone()


def check_returns(lab, model, accuracy_above):
    """PyTorch reads what was trained, and finds the recorded accuracy."""
    run = lab.shown()
    paths = {}
    for form in ("torchscript", "safetensors", "test-set"):
        paths[form] = lab.folder / f"{model}.{form}"
        lab.acid("export", run["id"], "--format", form, "-o", str(paths[form]))
    module = torch.jit.load(str(paths["torchscript"]))
    expect(not module.training, "it starts in training mode")
    check_same(model, module, read_safetensors(paths["test-set"]), run["metrics"])
    expect(run["metrics"]["eval_accuracy"] > accuracy_above, run["metrics"])
    state = module.state_dict()
    for name, tensor in read_safetensors(paths["safetensors"]).items():
        expect(torch.equal(state[name].float(), tensor), f"{name} differs")


def check_flat_images(lab):
    """Images of one row are images."""
    import numpy
    for name, size in (("train", 40), ("test", 20)):
        numpy.save(lab.folder / f"{name}_inputs.npy", torch.rand(size, 3, 1, 8).numpy())
        numpy.save(lab.folder / f"{name}_labels.npy", (torch.arange(size) % 4).numpy())
    save(nn.Sequential(nn.Conv2d(3, 4, (1, 3)), nn.Flatten(), nn.Linear(24, 4)), lab.folder / "row.pt")
    lab.write("row.toml", RECIPE.replace('{ kind = "glyphs", train = 300, test = 100 }',
                                         '{ kind = "npy", root = "." }').replace("net.pt", "row.pt"))
    lab.acid("run", "row.toml")
    lab.acid("verify", "@latest")
    save(Remembering(), lab.folder / "kept.pt")
    lab.acid("run", "scripted.toml", "--set", "task.model.path=kept.pt")
    lab.acid("verify", "@latest")


def check_modes(lab):
    """A part that was saved in evaluation mode stays so in every gradient, unless the module was."""
    chosen = ("--set", "task.model.path=modes.pt", "--set", "evaluation.every_gradients=10")
    for wholly in (False, True):
        net = Net()
        (net if wholly else net.norm).eval()
        save(net, lab.folder / "modes.pt")
        whole = lab.finals("scripted.toml", *chosen, cores="0")
        lab.acid("run", "scripted.toml", *chosen)
        expect(lab.shown()["digests"] == whole, "other bits on more cores")
        expect(any(lab.final()["norm.running_mean"]) == wholly, f"wholly in eval(): {wholly}")


def check_changed_file(lab):
    run = lab.shown()
    good = (lab.folder / "net.pt").read_bytes()
    save(Net(), lab.folder / "net.pt")
    with (lab.folder / "net.pt").open("ab") as file:
        file.write(b" ")
    expect_in("net.pt", lab.acid("export", run["id"], "--format", "torchscript", code=2))
    (lab.folder / "net.pt").write_bytes(good)


def check_resnet(lab):
    """ResNet-18 of torchvision as it is, on images of one channel."""
    if importlib.util.find_spec("torchvision") is None:
        print("torchvision is not there: its ResNet-18 is not tried; apt install python3-torchvision")
        return
    from torchvision.models import resnet18

    class Colours(nn.Module):
        def __init__(self):
            super().__init__()
            self.resnet = resnet18(num_classes=10)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.resnet(images.expand(-1, 3, -1, -1))

    save(Colours(), lab.folder / "resnet.pt")
    lab.acid("run", "scripted.toml", "--set", "task.model.path=resnet.pt", "--set",
             "budget.gradients=6", "--set", "evaluation.every_gradients=6")
    lab.acid("verify", "@latest")
    check_returns(lab, "resnet18", 0)


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(sys.argv[1], folder)
        lab.write("scripted.toml", RECIPE)
        save(Net(), lab.folder / "net.pt")
        check_trains(lab)
        check_returns(lab, "net", 0.2)
        check_changed_file(lab)
        check_refusals(lab)
        check_modes(lab)
        check_flat_images(lab)
        check_resnet(lab)


if __name__ == "__main__":
    main()
