"""The process in which acid lets a Python file compute gradients: `acid_model.py SOCKET MEMORY
LIFELINE WORDS`, four file descriptors that acid hands over, and a fifth argument, the path of a
socket, for a process that is to be a template of others. It is started by acid alone.

docs/GRADIENT_PROCESS.md says what the user's file may define and what is said over the socket; a
process in another language can take this one's place. Python 3.9 or newer, the standard library,
and whatever the user's file imports: torch, NumPy, JAX.
"""

import faulthandler
import functools
import hashlib
import json
import math
import mmap
import opcode
import os
import platform
import random
import re
import resource
import select
import signal
import socket
import struct
import sys
import sysconfig
import time
import traceback
import types

PROTOCOL = 1
OLDEST_PYTHON = (3, 9)
MOST_BYTES = 1 << 26  # of an answer
TRACEBACK_LINES = 12
MESSAGE_CHARACTERS = 800
SEARCHED_CHARACTERS = 10_000  # of a message, for what is known of it


class ModelError(Exception):
    """Something of the user's is not what acid needs. `about`: the function at fault."""

    def __init__(self, message, about=None):
        super().__init__(message)
        self.about = about


# ---- where an error happened --------------------------------------------------------------------


def library_folders():
    paths = sysconfig.get_paths()
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {os.path.realpath(paths[kind]) for kind in kinds}
    return tuple(folder + os.sep for folder in folders)


LIBRARIES = library_folders()


def is_local(path):
    """Whether it is the user's own code: neither Python's library nor an installed package."""
    if not path or path.startswith("<"):
        return False
    path = os.path.realpath(path)
    return not (path.startswith(LIBRARIES) or path == os.path.realpath(__file__)
                or os.sep + "site-packages" + os.sep in path
                or os.sep + "dist-packages" + os.sep in path)


called = None  # the function of the user's that was called last


def call(function, *arguments, **options):
    global called
    called = function
    return returns_once(function, *arguments, **options)


def returns_once(function, *arguments, **options):
    """What a function of the user's gives. If it forks and the child returns, too, the child ends
    here, before it writes into memory that is shared with acid."""
    process = os.getpid()
    result = function(*arguments, **options)
    if os.getpid() != process:
        os._exit(0)
    return result


def place_of(function):
    code = getattr(function, "__code__", None)
    if code is None:  # a class, or jax.jit of a function
        inner = getattr(function, "__wrapped__", None) or getattr(function, "__init__", None)
        code = getattr(inner, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def shortened(text):
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    half = MESSAGE_CHARACTERS // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters … {text[-half:]}"


# What an exception of a library says of values of a type that it cannot take, and what to do.
RETURN_THE_LOSS = "return the loss, and do not call backward(): acid does"
REMEDIES = [
    (r"scalar type Long but found|scalar types: Long", "classes and tokens are whole numbers: give "
     "labels.long() or inputs.long(), and where labels are no classes define loss(module, batch)"),
    (r"Found dtype \w+ but expected|can't be cast to the desired output type|bool tensors? is not",
     "a loss of numbers, such as mse_loss, takes labels of the outputs' type: give labels.float()"),
    (r"must have the same dtype|bias type .* should be the same",
     "a layer takes inputs of its weights' type: give inputs.float() and module.float()"),
    (r"Target -?\d+ is out of bounds", "labels are classes from 0, fewer than the module has outputs; "
     "to leave examples out define loss() and evaluate()"),
    (r"must be Tensor, not (tuple|list|str)|numpy\.(str_|bytes_|object_)",
     "labels and inputs are numbers, no texts: number the classes, as "
     "numpy.unique(labels, return_inverse=True)[1] does"),
    (r"default_collate: batch must contain", "an example is made of tensors, arrays and numbers, "
     "which transforms.ToTensor() makes of an image"),
]


def types_of(batch):
    """float32 (8, 3), int64 (8,)."""
    if isinstance(batch, dict):
        return ", ".join(f"{name} {types_of(part)}" for name, part in batch.items())
    if isinstance(batch, (tuple, list)) and batch and not isinstance(batch[0], (str, bytes)):
        return ", ".join(map(types_of, batch))
    if hasattr(batch, "dtype") and extents(batch) is not None:
        return f"{str(batch.dtype).replace('torch.', '')} {extents(batch)}"
    return f"{type(batch).__name__} of texts" if isinstance(batch, (tuple, list)) else describe(batch)


def remedy_for(error, batch):
    """acid's advice about an exception of a library; None: it has none."""
    if isinstance(error, ModuleNotFoundError):
        return (f"the Python that was used is {sys.executable}, version "
                f"{platform.python_version()}: install the module there, or name another Python "
                "with interpreter")
    if not isinstance(error, (RuntimeError, TypeError, ValueError, IndexError)):
        return None
    text = str(error)[:SEARCHED_CHARACTERS]
    if "backward through the graph a second time" in text:
        return f"{RETURN_THE_LOSS}; what is kept from one call for the next takes detach()"
    for said, remedy in REMEDIES:
        if re.search(said, text):
            return remedy if batch is None else f"the batch is {types_of(batch)}; {remedy}"
    return None


# Messages of libraries when the values of a batch leave nothing, or nothing they can compute with.
OF_VALUES = (r"size 0\b|numel\(\) ?== ?0|non-?empty|zero-size|\bempty\b|satisfy the constraint|"
             r"singular|positive.definite|convert float (NaN|infinity)")


def may_come_of_values(error):
    """Whether the error may depend on the values of the batch, so that zeros prove nothing."""
    if isinstance(error, ArithmeticError) or type(error).__name__.endswith("LinAlgError"):
        return True
    if isinstance(error, (ValueError, RuntimeError, IndexError)):
        if re.search(OF_VALUES, str(error)[:SEARCHED_CHARACTERS]):
            return True
    last = error.__traceback__
    if not isinstance(error, (ValueError, AssertionError)) or last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code  # libraries in C, which have no frame, raise at another operation
    raised = code.co_code[last.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    return raised and is_local(code.co_filename)


def describe_error(error, user_path, batch=None):
    """The error that acid shows: message, line in the user's own code, and the calls to it."""
    found = {"file": user_path, "line": 0, "function": "", "traceback": "",
             "of_values": may_come_of_values(error)}
    about = called
    if isinstance(error, ModelError):
        found["message"] = str(error)
        about = error.about
    else:
        found["message"] = "".join(traceback.format_exception_only(type(error), error)).strip()
        remedy = remedy_for(error, batch)
        if remedy is not None:
            found.update(message=f"{found['message']}; {remedy}", of_values=False)
    found["message"] = shortened(found["message"])
    if isinstance(error, SyntaxError) and error.filename and is_local(error.filename):
        found.update(file=error.filename, line=error.lineno or 0,
                     message=f"{type(error).__name__}: {error.msg}",
                     source=shortened((error.text or "").strip()))
        return found
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_local(frame.filename)]
    if own:
        last = own[-1]
        found.update(file=last.filename, line=last.lineno or 0, function=last.name,
                     source=shortened(last.line or ""))
        first = frames.index(own[0])
        lines = "".join(traceback.format_list(frames[first:])).rstrip().split("\n")
        if len(lines) > TRACEBACK_LINES:
            half = TRACEBACK_LINES // 2
            left_out = f"  … {len(lines) - TRACEBACK_LINES} lines …"
            lines = lines[:half] + [left_out] + lines[-half:]
        found["traceback"] = "\n".join(map(shortened, lines))
    elif about is not None and place_of(about) and is_local(place_of(about)[0]):
        found["file"], found["line"] = place_of(about)
        found["function"] = getattr(about, "__name__", "")
    return found


AT_START = frozenset(sys.modules)  # not the user's: Python itself imported them


# ---- the user's files ---------------------------------------------------------------------------


class UserFile:
    """A user's file, executed once, as a module with the name of the file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            source = file.read()
        folder, name = os.path.split(path)
        stem = name[:-3] if name.endswith(".py") else name
        if folder not in sys.path:
            sys.path.insert(0, folder)
        # Its random numbers and algorithms are set before its first line runs.
        if re.search(rb"^\s*(import|from)\s+torch\b", source, re.MULTILINE):
            prepare_torch()
        try:
            import numpy  # noqa: F401: its generator is seeded for later imports
        except Exception:  # then the file says so, if it needs it
            pass
        seed_everything(0)  # the same in every process and run, as before dataset()
        self.module = types.ModuleType(stem)
        self.module.__file__ = path
        sys.modules[stem] = self.module
        exec(compile(source, path, "exec"), self.module.__dict__)
        if "torch" in sys.modules:
            prepare_torch()

    def find(self, name):
        return getattr(self.module, name, None)


executed = None  # the file that a template executed
digests_at_import = {}  # of it and the local modules that it imported, by path


def user_file(path):
    return executed if executed is not None and executed.path == path else UserFile(path)


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def local_files(main):
    """Path and SHA-256 of the user's file and of the local modules that were imported, by path."""
    paths = {main}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name not in AT_START and isinstance(path, str) and is_local(path):
            paths.add(os.path.realpath(path))
    return [[path, digests_at_import.get(path) or digest_of(path)]
            for path in [main] + sorted(paths - {main, os.path.realpath(main)})]


# ---- determinism --------------------------------------------------------------------------------

THREADS = 1
torch_is_prepared = False


def prepare_torch():
    global torch_is_prepared
    if torch_is_prepared:
        return
    torch_is_prepared = True
    import torch
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    deterministic = getattr(torch.utils, "deterministic", None)
    if deterministic is not None:  # else every tensor would be filled before it is written
        deterministic.fill_uninitialized_memory = False


def seed_everything(seed):
    """Seeds every generator from which the user's code may draw without naming it."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        torch.manual_seed(seed)
    else:  # manual_seed() would write down where it was called, for later
        torch.default_generator.manual_seed(seed)


def versions():
    known = {"python": platform.python_version()}
    for name in ("numpy", "torch", "jax"):
        module = sys.modules.get(name)
        if module is not None:
            known[name] = str(getattr(module, "__version__", "unknown"))
    torch = sys.modules.get("torch")
    if torch is not None:
        known["torch_threads"] = torch.get_num_threads()
        found = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        if found:
            known["cpu_capability"] = found.group(1)
    return known


# ---- arrays of either library -------------------------------------------------------------------


class TorchArrays:
    def __init__(self, memory):
        import torch
        self.torch, self.memory = torch, memory

    def _view(self, offset, count, kind):
        if count == 0:
            return self.torch.empty(0, dtype=kind)
        return self.torch.frombuffer(self.memory, dtype=kind, count=count, offset=offset)

    def floats(self, offset, count):
        return self._view(offset, count, self.torch.float32)

    def integers(self, offset, count):
        return self._view(offset, count, self.torch.int64)

    @staticmethod
    def whole(array):
        return array.long()

    def array(self, value):
        """The value as an array of this library; None when it is no array."""
        if isinstance(value, self.torch.Tensor):
            return value
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            if isinstance(value, numpy.ma.MaskedArray) and numpy.ma.is_masked(value):
                raise ModelError("an array has masked values, and PyTorch has none: fill them "
                                 "(array.filled(0)), or leave these examples out")
            return self.torch.from_numpy(numpy.ascontiguousarray(value))
        return None

    @staticmethod
    def take(array, indices):
        return array.index_select(0, indices)

    @staticmethod
    def is_integer(array):
        return not (array.dtype.is_floating_point or array.dtype.is_complex)

    def collate(self, examples):
        return self.torch.utils.data.default_collate(examples)


class NumpyArrays:
    def __init__(self, memory):
        try:
            import numpy
        except ImportError as error:
            raise ModelError(f"{error}: {sys.executable} has no NumPy; install it, or name another "
                             "Python with interpreter") from None
        self.numpy, self.memory = numpy, memory

    def floats(self, offset, count):
        return self.numpy.frombuffer(self.memory, self.numpy.float32, count, offset)

    def integers(self, offset, count):
        return self.numpy.frombuffer(self.memory, self.numpy.int64, count, offset)

    def whole(self, array):
        return array.astype(self.numpy.int64)

    def array(self, value):
        return value if isinstance(value, self.numpy.ndarray) else None

    @staticmethod
    def take(array, indices):
        return array[indices]

    @staticmethod
    def is_integer(array):
        return array.dtype.kind in "biu"

    def collate(self, examples):
        first = examples[0]
        if isinstance(first, tuple) or (isinstance(first, list) and any(
                isinstance(part, self.numpy.ndarray) for part in first)):
            return tuple(self.numpy.stack(part) for part in zip(*examples))
        if isinstance(first, dict):
            return {name: self.numpy.stack([example[name] for example in examples])
                    for name in first}
        return self.numpy.stack(examples)


# ---- examples -----------------------------------------------------------------------------------


FEW_ARRAYS = 3


def is_array(value):
    """Of any library, with rows."""
    return hasattr(value, "__array__") and bool(extents(value))


def as_array(kit, value):
    """The value as an array of the kit's library, with the same numbers: one of another library's,
    or a list; None when it is neither."""
    numpy = sys.modules.get("numpy")
    array = kit.array(value)
    if array is None and numpy is not None and (is_array(value) or isinstance(value, list)):
        try:
            made = numpy.asarray(value)
        except Exception:  # of the other library, or rows of different lengths
            return None
        if made.dtype.kind in "biufc":
            array = kit.array(made if made.flags.writeable else made.copy())
    return array if array is not None and extents(array) else None


def is_tensor_dataset(value):
    """torch's own, which has no items but its tensors' rows; not a class made of it."""
    return type(value).__name__ == "TensorDataset" and type(value).__module__.startswith("torch.")


def label_of(example):
    """The last part of a tuple, or the label of a dict; None when there is none."""
    if isinstance(example, dict):
        for name in ("label", "labels", "target", "y"):
            if name in example:
                return example[name]
        return None
    return example[-1] if isinstance(example, (tuple, list)) else None


def whole_numbers(labels, floats=True):
    """The labels as a list of classes; empty when they are no classes."""
    try:
        labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        labels = [label.item() if hasattr(label, "item") else label for label in labels]
        found = [int(label) for label in labels]
        if not floats and any(isinstance(label, float) for label in labels):
            return []
        fits = found and min(found) >= 0 and max(found) <= 10_000_000
        return found if fits and all(a == b for a, b in zip(found, labels)) else []
    except Exception:  # any error of the user's objects
        return []


SAMPLED_ROWS, SAMPLED_PARTS = 64, 1000  # at least, of an array; at most, of a row that is a list


def row_bytes(row):
    """What tells a row from others in every process: its numbers and words, no addresses."""
    if isinstance(row, dict):
        row = list(row.values())
    if isinstance(row, (list, tuple)):
        return b"".join(map(row_bytes, row[:SAMPLED_PARTS]))
    if isinstance(row, (bool, int, float, complex, str, bytes)):
        return repr(row).encode()
    try:
        array = row.detach().double().numpy() if hasattr(row, "detach") else row
        return array.tobytes() if array.dtype.kind != "O" else b""
    except Exception:  # of another kind
        return b""


def rows_kept_by(value):
    """The lists and arrays in which a list or an object, such as a Subset of another, keeps its
    examples, their labels or their numbers."""
    if type(value) in (list, tuple):
        return [value]
    kept = vars(value) if hasattr(value, "__dict__") else {}
    found = [kept[name] for name in ("indices", "targets", "labels") if name in kept]
    found += kept["tensors"] if type(kept.get("tensors")) is tuple else []
    inner = kept.get("dataset")
    more = rows_kept_by(inner) if inner is not None and inner is not value else []
    return [rows for rows in found if type(rows) in (list, tuple) or
            is_array(rows) and type(rows).__module__.split(".")[0] in ("numpy", "torch")] + more


class Examples:
    """One of the two sets: arrays whose rows are examples, or an object with len() and [i]."""

    def __init__(self, kit, value, what, function=None):
        self.kit, self.what, self.function = kit, what, function
        if is_tensor_dataset(value):
            value = tuple(value.tensors)
        self.form, self.parts = self._parts_of(value)
        if self.parts is None:
            lists = hasattr(value, "__len__") and hasattr(value, "__getitem__")
            if isinstance(value, dict) or not lists:
                raise ModelError(f"{what} is {describe(value)}: it must be an array, a tuple or "
                                 "dict of arrays, or an object with len() and [i]", function)
            self.items = value
            self.size = len(value)
        else:
            self.items = None
            sizes = [len(part) for part in self.parts]
            if len(set(sizes)) != 1:
                raise ModelError(f"the arrays of {what} have {sizes} rows: one row per example in "
                                 "each", function)
            self.size = sizes[0]
        if self.size == 0:
            raise ModelError(f"{what} has no examples", function)

    def _parts_of(self, value):
        array = self.kit.array(value)
        if array is not None:
            return "one", [array]
        if not isinstance(value, (dict, tuple, list)) or not value:
            return None, None
        given = dict(value) if isinstance(value, dict) else dict(enumerate(value, 1))
        arrays = [part for part in given.values() if is_array(part)]
        if isinstance(value, tuple):
            if not arrays and not any(isinstance(part, list) for part in value):
                return None, None
        elif isinstance(value, list):
            if not arrays or (len(arrays) < len(value) and len(value) > FEW_ARRAYS):
                return None, None
            if len(arrays) == len(value) and len({extents(part) for part in arrays}) == 1:
                # Examples are arrays of one shape, and so may be the columns of a set.
                if len(arrays) <= FEW_ARRAYS:
                    raise ModelError(f"{self.what} is a list of {len(arrays)} arrays of one shape, "
                                     "which may be as many examples or columns of them: give a "
                                     "tuple of arrays whose rows are examples, or one array",
                                     self.function)
                return None, None
        return (list(value) if isinstance(value, dict) else "tuple",
                [self._column(name, part) for name, part in given.items()])

    def _column(self, name, part):
        array = as_array(self.kit, part)
        if array is None:
            kind = types_of(part) if hasattr(part, "dtype") else describe(part)
            raise ModelError(f"part {name!r} of {self.what} is {kind}: it must be an array of "
                             "numbers with a row per example, or a list of them; a set of single "
                             "examples is a list of tuples or an object with len() and [i]",
                             self.function)
        return array

    def batch(self, indices):
        if self.items is not None:
            return self.kit.collate([self.items[int(i)] for i in indices])
        rows = [self.kit.take(part, indices) for part in self.parts]
        if self.form == "one":
            return rows[0]
        return tuple(rows) if self.form == "tuple" else dict(zip(self.form, rows))

    def sample(self):
        """A digest that other examples, or another order, would change: of some rows of arrays and
        lists, or of those in which an object keeps its examples. No code of the user's runs."""
        digest = hashlib.sha256(str(self.size).encode())
        for rows in self.parts or rows_kept_by(self.items):
            for i in range(0, len(rows), max(len(rows) // SAMPLED_ROWS, 1)):
                digest.update(row_bytes(rows[i]))
        return digest.hexdigest()

    def listed_labels(self):
        """Labels stored beside the examples, a list or an array; None when there are none."""
        if self.items is not None:
            for name in ("targets", "labels"):
                found = getattr(self.items, name, None)
                if found is not None:
                    return found
        elif self.form != "one":
            named = {} if self.form == "tuple" else dict(zip(self.form, self.parts))
            last = label_of(named)
            if last is None:
                last = self.parts[-1]
            if len(last.shape) == 2 and last.shape[1] == 1:
                last = last.reshape(-1)
            if len(last.shape) == 1 and self.kit.is_integer(last):
                return last
        return None

    def labels(self):
        """A class for each example, as a list."""
        labels = whole_numbers(self.listed_labels())
        if len(labels) != self.size and self.items is not None:  # such as names of classes
            labels = whole_numbers([label_of(self.items[i]) for i in range(self.size)])
        if len(labels) != self.size:
            raise ModelError(f"{self.what} tells no class of its examples, which the partition "
                             "goes by: let its last array, the last part of an example, or what a "
                             "dict calls 'label' be whole numbers from 0, one per example, or use "
                             "partition = \"iid\"", self.function)
        return labels


SURVEYED_NUMBERS, SURVEYED_EXAMPLES = 1 << 20, (16, 2048)  # that plan looks at
SURVEYED_SECONDS = 2
MOST_CLASSES = 10_000  # more are numbers of something else


def numbers_of(array):
    """The numbers of an array as a flat list; None when it has none, or too many."""
    try:
        if math.prod(array.shape) > SURVEYED_NUMBERS:
            return None
        return [float(value) for value in array.reshape(-1).tolist()]
    except Exception:  # of a sparse tensor, or another kind
        return None


def extents(value):
    """The shape of a value as a tuple; None when it has none."""
    try:
        return tuple(map(int, value.shape))
    except Exception:
        return None


def spread(numbers):
    """The numbers, reordered so that any beginning samples all; the first stays the first."""
    count = len(numbers)
    stride = max(round(count * 0.618), 1)
    while math.gcd(stride, count) > 1:
        stride += 1
    return [numbers[k * stride % count] for k in range(count)]


def input_and_label(batch):
    """The probable input and the label of an example, or of a batch of one example."""
    if isinstance(batch, dict):
        label = label_of(batch)
        return next((part for part in batch.values() if part is not label), None), label
    if isinstance(batch, (tuple, list)) and batch:
        return batch[0], batch[-1] if len(batch) > 1 else None
    return batch, None


class Survey:
    """The facts that acid plan shows of the two sets, from some examples of each. Only an
    exception of the user's own [i] is an error."""

    def __init__(self, sets):
        widest = max(self._width(examples) for examples in sets.values())
        rows = min(max(SURVEYED_NUMBERS // widest, SURVEYED_EXAMPLES[0]), SURVEYED_EXAMPLES[1])
        self.step = -(-max(examples.size for examples in sets.values()) // rows)
        self.trained = set()
        self.told = {name: self._look(examples) for name, examples in sets.items()}

    @staticmethod
    def _example(examples, i):
        if examples.items is not None:
            return input_and_label(examples.items[i])
        rows = [part[i] for part in examples.parts]
        if examples.form == "one":
            return rows[0], None
        return input_and_label(tuple(rows) if examples.form == "tuple"
                               else dict(zip(examples.form, rows)))

    def _width(self, examples):
        return max(math.prod(extents(self._example(examples, 0)[0]) or ()), 1)

    def _look(self, examples):
        told = {"form": "", "first": "", "looked_at": 0, "features": 0, "constant": 0, "least": 0,
                "most": 0, "magnitude": 0, "whole": True, "not_finite": 0, "repeats": 0,
                "trained": 0, "classes": [], "labelled": 0}
        seen, labels, first, changes = set(), [], None, []
        until = time.monotonic() + SURVEYED_SECONDS
        for i in spread(range(0, examples.size, self.step)):
            if i > 0 and time.monotonic() > until:
                break
            value, label = self._example(examples, i)
            labels.append(label)
            if i == 0:
                told["form"] = self._form(value)
            numbers = numbers_of(value)
            if numbers is None or not numbers or (first and len(numbers) != len(first)):
                continue  # texts, or sequences of different lengths
            finite = [number for number in numbers if math.isfinite(number)]
            if first is None:
                first, changes = numbers, [False] * len(numbers)
                told.update(features=len(numbers), least=math.inf, most=-math.inf)
                if finite:
                    told["first"] = (f"from {min(finite):.3g} to {max(finite):.3g} with mean "
                                     f"{sum(finite) / len(finite):.3g}")
            told["looked_at"] += 1
            told["not_finite"] += len(finite) < len(numbers)
            if finite:
                told["least"] = min(told["least"], min(finite))
                told["most"] = max(told["most"], max(finite))
                told["magnitude"] += sum(map(abs, finite)) / len(finite)
            told["whole"] = (told["whole"] and "int" not in told["form"]  # they may be tokens
                             and all(number.is_integer() for number in finite))
            changes = [a or b != c for a, b, c in zip(changes, numbers, first)]
            key = hash(tuple(numbers))
            told["repeats"] += key in seen
            told["trained"] += key in self.trained
            seen.add(key)
        self.trained = seen
        told["constant"] = len(changes) - sum(changes)
        if told["looked_at"]:
            told["magnitude"] = min(told["magnitude"] / told["looked_at"], sys.float_info.max)
        if not math.isfinite(told["least"]):
            told.update(least=0, most=0)
        self._count_classes(told, examples, labels)
        return told

    @staticmethod
    def _count_classes(told, examples, labels):
        try:
            listed = examples.listed_labels()
        except Exception:  # of a property of the user's
            listed = None
        found = whole_numbers(labels if listed is None else listed, floats=False)
        if not found or max(found) >= MOST_CLASSES:
            return
        told["classes"] = [0] * max(max(found) + 1, 2)
        for label in found:
            told["classes"][label] += 1
        told["labelled"] = len(found)
        told["first"] = ", ".join(filter(None, [f"label {found[0]}", told["first"]]))

    @staticmethod
    def _form(value):
        shape = extents(value)
        if shape is None:
            return type(value).__name__
        kind = str(getattr(value, "dtype", type(value).__name__)).split(".")[-1]
        return f"{'shape ' + ' × '.join(map(str, shape)) if shape else 'one number'} ({kind})"


def describe(value):
    shape = extents(value)
    if shape is not None:
        return f"an array of shape {shape}"
    return type(value).__name__ if value is not None else "None"


def users_examples(kit, user, options):
    function = user.find("dataset")
    if function is None:
        raise ModelError(f"{os.path.basename(user.path)} defines no dataset(), which gives the "
                         "training and the test examples")
    seed_everything(0)  # for any seed of the run: all runs have the same data
    both = call(function, **options)
    if not (isinstance(both, (tuple, list)) and len(both) == 2):
        raise ModelError(f"dataset() gave {describe(both)}: it must give two sets, train and test",
                         function)
    return {name: Examples(kit, part, f"the {name} set", function)
            for name, part in zip(("train", "test"), both)}


def acids_examples(kit, given):
    """The examples of one of acid's own data sets, in the shared memory."""
    shape = given["shape"]
    if shape[:2] == [1, 1]:
        shape = shape[2:]
    width = math.prod(shape)
    sets = {}
    tokens = given.get("tokens", False)  # a sequence of them, and the one after each for a label
    for name in ("train", "test"):
        part = given[name]
        size = part["size"]
        inputs = kit.floats(part["inputs"], size * width).reshape([size] + shape)
        labels = kit.integers(part["labels"], size * width if tokens else size)
        if tokens:
            inputs, labels = kit.whole(inputs), labels.reshape([size, width])
        sets[name] = Examples(kit, (inputs, labels), name)
    return sets


# ---- models -------------------------------------------------------------------------------------


NO_LABEL = -(1 << 31)


def one_number(value, function):
    """A loss as a float."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        name = getattr(function, "__name__", "the loss")
        raise ModelError(f"{name}() gave {describe(value)} for a loss: it must be one number",
                         function) from None


def evaluation(result, rows, function):
    """The parts of a result of evaluate(): the mean loss, how many examples were right, and a dict
    of further means by name."""
    correct, named = None, {}
    if isinstance(result, (tuple, list)):
        if len(result) not in (2, 3):
            raise ModelError(f"evaluate() gave {len(result)} values: it must give the mean loss, "
                             "or the mean loss and how many examples it gets right, or these and "
                             "a dict of further means", function)
        result, correct, named = (*result, {})[:3]
        if correct is not None:
            count = one_number(correct, function)
            if not (count.is_integer() and 0 <= count <= rows):
                raise ModelError(f"evaluate() says that {count:g} of {rows} examples are right: it "
                                 "must give how many are, a whole number and no share", function)
            correct = int(count)
    answer = {"loss": number(one_number(result, function)), "correct": correct}
    if named:
        answer["named"] = named_means(named, function)
    return answer


def named_means(named, function):
    if not isinstance(named, dict):
        raise ModelError(f"evaluate() gave {describe(named)} for further means: it must be a dict "
                         "of numbers by name", function)
    for name in named:
        if not (isinstance(name, str) and re.fullmatch("[a-z][a-z0-9_]{0,39}", name)):
            raise ModelError(f"evaluate() names a mean {name!r}: a name has small letters, digits "
                             "and _, and begins with a letter", function)
        if name in ("loss", "accuracy") or "_at_equal_" in name:
            raise ModelError(f"evaluate() names a mean '{name}': acid has values of its own by that "
                             "name", function)
    return {name: number(one_number(value, function)) for name, value in sorted(named.items())}


def number(value):
    """A number for JSON, which has no NaN and no infinity: they become texts."""
    return value if math.isfinite(value) else str(value)


CLOSE_CALLS, CLOSE_EVERY = 8, 64  # calls before and after which parameters are compared whole


class TorchModel:
    """model(**options) gives an nn.Module; loss(module, batch) and evaluate(module, batch)."""

    interface = "torch"
    tokens = False  # the examples are sequences of acid's

    def __init__(self, user, options, seed, kit):
        self.torch, self.kit = kit.torch, kit
        self.make = user.find("model")
        self.loss = user.find("loss")
        self.own_evaluate = user.find("evaluate")
        seed_everything(seed)
        module = call(self.make, **options)
        if not isinstance(module, self.torch.nn.Module):
            raise ModelError(f"model() gave {describe(module)}: it must give a torch.nn.Module",
                             self.make)
        self.module = module
        self.parameters = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        lazy = getattr(self.torch.nn.parameter, "UninitializedTensorMixin", ())
        for name, parameter in self.parameters:
            if isinstance(parameter, lazy):
                raise ModelError(f"parameter '{name}' has no shape yet: give lazy layers their "
                                 "sizes", self.make)
            if parameter.dtype.is_complex:
                raise ModelError(f"parameter '{name}' is complex: acid's parameters are real",
                                 self.make)
        if not self.parameters:
            raise ModelError("model() gave a module without parameters that are trained", self.make)
        self.size = sum(p.numel() for _, p in self.parameters)
        self._find_modes()
        self._find_state()
        self.shapes = [p.shape for _, p in self.parameters]
        self.state_shapes = [shape for _, shape, _, _ in self.state]
        # On the processor and in 32 bits, a parameter is a view of acid's memory, else a copy.
        self.viewed = [p.dtype == self.torch.float32 and p.device.type == "cpu"
                       for _, p in self.parameters]
        self.device = self.parameters[0][1].device
        self.x = None  # where the parameters are
        self.calls = 0  # of the module, since it was made
        self.outside = []  # shapes of parameters that the first loss has and the module has not

    def _find_modes(self):
        """Finds the mode of each part in evaluations and in gradients. There a part that model()
        put into eval() stays so, unless the module itself is, as from_pretrained() gives it."""
        self.parts = list(self.module.modules())
        given = self._modes()
        self.modes = {}
        for training in (False, True):
            self.module.train(training)  # which a class of the user's may define
            self.modes[training] = [mode and (was or not given[0] or not training)
                                    for mode, was in zip(self._modes(), given)]

    def _modes(self):
        return [getattr(part, "training", False) for part in self.parts]

    def _set_mode(self, training):
        modes = self.modes[training]
        if self._modes() == modes:
            return
        self.module.train(training)
        for part, mode in zip(self.parts, modes):
            if getattr(part, "training", False) != mode:
                part.training = mode

    def _find_outside(self, loss):
        own = {id(p) for _, p in self.parameters}
        seen, left = set(), [loss.grad_fn]
        while left:
            node = left.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            left += [each for each, _ in node.next_functions]
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, self.torch.nn.Parameter) and id(leaf) not in own:
                self.outside.append(" × ".join(map(str, leaf.shape)) or "one number")
        self.outside.sort()

    def _find_state(self):
        """Finds the model's untrained tensors: they travel with acid's buffers."""
        self.state, seen = [], set()  # name, and the place of the tensor, which may be replaced
        for path, owner in self.module.named_modules():
            kept = [key for key in owner._buffers if key not in owner._non_persistent_buffers_set]
            kept += [key for key, p in owner._parameters.items()
                     if p is not None and not p.requires_grad]
            for key in kept:
                tensor = getattr(owner, key)
                if tensor is None or id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                name = f"{path}.{key}" if path else key
                self.state.append((name, tensor.shape, owner, key))
                exact = tensor.detach().to(self.torch.float32).to(tensor.dtype)
                if not (self.torch.equal(exact, tensor.detach()) or exact.isnan().any()):
                    raise ModelError(f"the buffer '{name}' holds values that 32-bit floats do not: "
                                     "register it with persistent=False if it never changes",
                                     self.make)

    def layout(self):
        return {"parameters": [[name, list(p.shape)] for name, p in self.parameters],
                "buffers": [[name, list(shape)] for name, shape, _, _ in self.state]}

    @functools.lru_cache(maxsize=1000)
    def _parts(self, offset, of_state=False):
        """Views of the flat vector at that offset, one for each tensor."""
        shapes = self.state_shapes if of_state else self.shapes
        sizes = [math.prod(shape) for shape in shapes]
        flats = self.kit.floats(offset, sum(sizes)).split(sizes)
        return [flat.view(shape) for flat, shape in zip(flats, shapes)]

    def write_start(self, x, buffers):
        with self.torch.no_grad():
            for view, (_, p) in zip(self._parts(x), self.parameters):
                view.copy_(p)
        self._move_state(buffers, read=False)

    def _move_state(self, offset, read):
        if not self.state:
            return
        with self.torch.no_grad():
            for view, (_, _, owner, key) in zip(self._parts(offset, True), self.state):
                if read:
                    getattr(owner, key).copy_(view)
                else:
                    view.copy_(getattr(owner, key))

    def _use(self, x):
        for view, (_, parameter), viewed in zip(self._parts(x), self.parameters, self.viewed):
            if not viewed:
                with self.torch.no_grad():
                    parameter.copy_(view)
            elif x != self.x:
                parameter.data = view
        self.x = x

    def _look(self, closely):
        """The parameters' memory, version and, now and then, values before a call."""
        self.calls += 1
        closely = closely or self.calls <= CLOSE_CALLS or self.calls % CLOSE_EVERY == 0
        held = [p.detach().clone() for _, p in self.parameters] if closely else None
        return [(p.data_ptr(), p._version) for _, p in self.parameters], held

    def _refuse_changes(self, before):
        """Refuses a forward that changes its own weights, a change that acid would not know of: a
        method that computes at x would keep the change, one that computes at a snapshot not."""
        looks, held = before
        for k, (name, parameter) in enumerate(self.parameters):
            replaced = parameter.data_ptr() != looks[k][0]
            changed = parameter._version != looks[k][1] or (
                held is not None and not replaced
                and not self.torch.equal(parameter.detach(), held[k])
                and not bool(held[k].isnan().any()))
            if not (replaced or changed):
                continue
            if held is not None:
                with self.torch.no_grad():
                    for view, value in zip(self._parts(self.x), held):
                        view.copy_(value)
            what = "replaced the memory of" if replaced else "changed"
            raise ModelError(
                f"the model {what} its parameter '{name}' while it computed (p.data = ..., an "
                "embedding's max_norm, clamp_(), copy_()): in acid only gradients change "
                "parameters, so that methods can be compared. Compute with what you make of it "
                "instead, as torch.nn.utils.parametrize does", self.loss or self.make)

    def _here(self, batch):
        if self.device.type == "cpu":
            return batch
        if isinstance(batch, dict):
            return {name: part.to(self.device) for name, part in batch.items()}
        if isinstance(batch, (tuple, list)):
            return tuple(part.to(self.device) for part in batch)
        return batch.to(self.device)

    def _outputs(self, batch):
        if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
            raise ModelError("the examples are no pairs (inputs, labels), so the file must define "
                             "loss(module, batch)", self.make)
        outputs, labels = call(self.module, batch[0]), batch[1]
        return (outputs.flatten(0, -2), labels.flatten()) if self.tokens else (outputs, labels)

    def _default_loss(self, batch):
        outputs, labels = self._outputs(batch)
        return self._cross_entropy(outputs, labels)

    def _cross_entropy(self, outputs, labels):
        if not isinstance(outputs, self.torch.Tensor):
            raise ModelError(f"forward() gave {describe(outputs)}, so the file must define "
                             "loss(module, batch)", self.make)
        if outputs.dim() < 2 or outputs.shape[1] < 2:  # whose cross entropy is 0, or over the batch
            raise ModelError(f"outputs of shape {tuple(outputs.shape)} are not scores of two "
                             "classes or more, so the file must define loss(module, batch)",
                             self.make)
        # No label is left out of the mean, so that a batch has the weight of its rows.
        if outputs.device.type != "cpu" and bool((labels < 0).any()):
            raise ModelError("labels are classes from 0; to leave examples out define loss() and "
                             "evaluate()", self.make)
        return self.torch.nn.functional.cross_entropy(outputs, labels, ignore_index=NO_LABEL)

    def gradient(self, batch, x, g, buffers, check):
        self._set_mode(training=True)
        self._move_state(buffers, read=True)
        self._use(x)
        for _, parameter in self.parameters:
            parameter.grad = None  # backward() then hands over what it made, and adds nothing
        batch = self._here(batch)
        before = self._look(check)
        loss = call(self.loss, self.module, batch) if self.loss else self._default_loss(batch)
        for name, parameter in self.parameters:
            if parameter.grad is not None:  # else it would be added twice
                raise ModelError(f"loss() itself computed the gradient of '{name}': "
                                 f"{RETURN_THE_LOSS}", self.loss or self.make)
        if not isinstance(loss, self.torch.Tensor) or loss.numel() != 1:
            raise ModelError(f"loss() gave {describe(loss)}: it must give a tensor with one number",
                             self.loss)
        if loss.grad_fn is None:
            raise ModelError("loss() gave a number that does not depend on the parameters",
                             self.loss or self.make)
        if self.calls == 1:
            self._find_outside(loss)
        returns_once(loss.backward)
        self._refuse_changes(before)
        for view, (name, parameter) in zip(self._parts(g), self.parameters):
            grad = parameter.grad
            if grad is None:  # the loss does not depend on it
                view.zero_()
            else:
                view.copy_(grad.to_dense() if grad.is_sparse else grad)
                parameter.grad = None
            if check and not bool(view.isfinite().all()):
                raise ModelError(f"the gradient of '{name}' is not finite at the start point",
                                 self.loss or self.make)
        self._move_state(buffers, read=False)
        value = loss.item()
        if check and not math.isfinite(value):
            raise ModelError(f"the loss is {value} at the start point", self.loss or self.make)
        return number(value)

    def evaluate(self, batch, rows, x, buffers):
        self._set_mode(training=False)
        self._move_state(buffers, read=True)
        self._use(x)
        batch = self._here(batch)
        before = self._look(False)
        whose = self.own_evaluate or self.loss
        with self.torch.no_grad():
            if whose is not None:
                told = self._without_gradients(whose, batch)
            else:
                outputs, labels = self._outputs(batch)
                loss = self._cross_entropy(outputs, labels)
                # Labels that are probabilities, or of several places of an example, are not counted.
                told = loss
                if outputs.dim() == 2 and labels.dim() == 1:
                    told = loss, (outputs.argmax(1) == labels).sum()
        self._refuse_changes(before)
        return evaluation(told, rows, whose)

    def _without_gradients(self, function, batch):
        try:
            return call(function, self.module, batch)
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            name = getattr(function, "__name__", "the loss")
            raise ModelError(f"{name}() computes gradients, and acid evaluates without "
                             "them: let 'with torch.enable_grad():' stand around what does, or "
                             "define evaluate(module, batch) without it", function) from error


class ArrayModel:
    """parameters(seed, **options) gives named arrays; gradient(x, batch, seed) the loss and theirs;
    evaluate(x, batch) as a module's. NumPy, JAX, or anything that NumPy can read."""

    interface = "arrays"

    def __init__(self, user, options, seed, kit):
        self.numpy, self.kit = kit.numpy, kit
        self.make, self.function = user.find("parameters"), user.find("gradient")
        self.own_evaluate = user.find("evaluate")
        if self.make is None:
            raise ModelError("gradient() needs parameters(seed, **options), which gives the start "
                             "point: a dict of arrays", self.function)
        seed_everything(seed)
        start = call(self.make, seed, **options)
        if not isinstance(start, dict) or not start:
            raise ModelError(f"parameters() gave {describe(start)}: it must give a dict of arrays, "
                             "by name", self.make)
        self.start = {}
        for name, value in start.items():
            try:
                self.start[str(name)] = self.numpy.asarray(value, dtype=self.numpy.float32)
            except (TypeError, ValueError):
                raise ModelError(f"parameter '{name}' is {describe(value)}: it must be an array of "
                                 "numbers", self.make) from None
        self.size = sum(value.size for value in self.start.values())
        if self.size == 0:
            raise ModelError("parameters() gave arrays without elements", self.make)
        self.outside = []

    def layout(self):
        return {"parameters": [[name, list(value.shape)] for name, value in self.start.items()],
                "buffers": []}

    @functools.lru_cache(maxsize=1000)
    def _parts(self, offset, writable):
        flat = self.kit.floats(offset, self.size)
        if not writable:
            flat = flat.view()
            flat.flags.writeable = False
        found, begin = {}, 0
        for name, value in self.start.items():
            found[name] = flat[begin:begin + value.size].reshape(value.shape)
            begin += value.size
        return found

    def write_start(self, x, buffers):
        for view, value in zip(self._parts(x, True).values(), self.start.values()):
            view[...] = value

    def _call(self, x, batch, seed):
        result = call(self.function, self._parts(x, False), batch, seed)
        if not (isinstance(result, (tuple, list)) and len(result) == 2):
            raise ModelError(f"gradient() gave {describe(result)}: it must give the loss and a "
                             "dict of gradients", self.function)
        return result

    def gradient(self, batch, x, g, buffers, check, seed):
        loss, gradients = self._call(x, batch, seed)
        if not isinstance(gradients, dict) or set(gradients) != set(self.start):
            names = sorted(gradients) if isinstance(gradients, dict) else describe(gradients)
            raise ModelError(f"gradient() gave gradients of {names}, the parameters are "
                             f"{sorted(self.start)}", self.function)
        for name, view in self._parts(g, True).items():
            value = self.numpy.asarray(gradients[name])
            if value.shape != view.shape:
                raise ModelError(f"the gradient of '{name}' has shape {value.shape}, the parameter "
                                 f"{view.shape}", self.function)
            if value.dtype.kind == "c":
                raise ModelError(f"the gradient of '{name}' is complex: parameters are real "
                                 "numbers", self.function)
            view[...] = value
            if check and not self.numpy.isfinite(view).all():
                raise ModelError(f"the gradient of '{name}' is not finite at the start point",
                                 self.function)
        value = one_number(loss, self.function)
        if check and not math.isfinite(value):
            raise ModelError(f"the loss is {value} at the start point", self.function)
        return number(value)

    def evaluate(self, batch, rows, x, buffers):
        if self.own_evaluate is None:
            return evaluation(self._call(x, batch, 0)[0], rows, self.function)
        told = call(self.own_evaluate, self._parts(x, False), batch)
        return evaluation(told, rows, self.own_evaluate)


# ---- the process --------------------------------------------------------------------------------


class Host:
    def __init__(self, connection, memory_descriptor, spare=None, address=None):
        self.connection = connection
        self.memory_descriptor = memory_descriptor
        self.spare = spare  # what is written to it ends the keepers' watch over acid
        self.address = address  # of a template
        self.encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False)
        self.process = os.getpid()
        self.user = self.batch = None
        self.model = self.sets = self.kit = self.template = None
        self.labels_each = 1  # of an example
        self.path = ""

    def serve(self):
        while True:
            request = self._receive()
            try:
                answer = getattr(self, "do_" + request["do"])(request)
            except BaseException as error:
                answer = {"error": describe_error(error, self.path, self.batch)}
            self.batch = None
            if os.getpid() != self.process:  # a fork of the user's that came back
                os._exit(0)
            sys.stdout.flush()
            self._send(answer)

    # Nothing comes after a request before it is answered.
    def _receive(self):
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from("<I", data)[0]:
            some = self.connection.recv(1 << 16)
            if not some:
                os._exit(0)  # acid is gone
            data += some
        return json.loads(data[4:])

    def _send(self, answer):
        text = self.encoder.encode(answer).encode("utf-8", "replace")  # names of files may be bytes
        if len(text) > MOST_BYTES:
            return self._send({"error": {"file": self.path, "message": f"an answer of {len(text)} "
                                         f"bytes is more than acid reads, {MOST_BYTES}"}})
        self.connection.sendall(struct.pack("<I", len(text)) + text)

    def do_start(self, request):
        global THREADS
        if request["protocol"] != PROTOCOL:
            raise ModelError(f"acid speaks version {request['protocol']} of the protocol, this "
                             f"process version {PROTOCOL}")
        if sys.version_info < OLDEST_PYTHON:
            raise ModelError(f"{sys.executable} is Python {platform.python_version()}, and acid "
                             f"needs {'.'.join(map(str, OLDEST_PYTHON))}: name a newer one with "
                             "interpreter")
        THREADS = request["threads"]
        memory = mmap.mmap(self.memory_descriptor, request["memory_bytes"])
        answer = {"protocol": PROTOCOL}
        data = request.get("data") or {}
        if request.get("file"):
            self.path = request["file"]
            answer.update(self._open_model(request, memory))
        main = self.user.path if self.user else None
        if data.get("file"):
            self.path = data["file"]
            same = self.user is not None and self.user.path == data["file"]
            user = self.user if same else user_file(data["file"])
            main = main or data["file"]
            if self.kit is None:
                self.kit = TorchArrays(memory) if "torch" in sys.modules else NumpyArrays(memory)
            self.sets = users_examples(self.kit, user, data["options"])
            answer["examples"] = "".join(part.sample() for part in self.sets.values())
            if data.get("survey"):
                answer["survey"] = Survey(self.sets).told
        elif data:
            self.sets = acids_examples(self.kit, data)
            self.model.tokens = data.get("tokens", False)
            if self.model.tokens:
                self.labels_each = data["shape"][-1]
        if self.sets:
            answer.update(train=self.sets["train"].size, test=self.sets["test"].size)
        self.path = main
        answer.update(files=local_files(main), versions=versions())
        return answer

    def _open_model(self, request, memory):
        user = self.user = user_file(request["file"])
        if user.find("model") is not None:
            prepare_torch()
            self.kit = TorchArrays(memory)
            self.model = TorchModel(user, request["options"], request["seed"], self.kit)
        elif user.find("gradient") is not None:
            self.kit = NumpyArrays(memory)
            self.model = ArrayModel(user, request["options"], request["seed"], self.kit)
        else:
            raise ModelError("it defines neither model(**options), which gives a torch.nn.Module, "
                             "nor gradient(x, batch, seed)")
        return {"interface": self.model.interface, **self.model.layout()}

    def do_listen(self, request):
        global THREADS
        THREADS = request["threads"]
        self.template = Template(self, request["file"])
        return {}

    def do_execute(self, request):
        """Is answered only if the process cannot be forked, and then ends."""
        self._send({"hindrance": self.template.execute()})
        os._exit(0)

    def do_begin(self, request):
        self.model.write_start(request["x"], request["buffers"])
        return {}

    def do_labels(self, request):
        labels = returns_once(self.sets["train"].labels)
        if isinstance(self.kit, TorchArrays):
            labels = self.kit.torch.tensor(labels)
        self.kit.integers(request["at"], len(labels))[:] = labels
        return {}

    def _batch(self, request):
        indices = self.kit.integers(request["examples"], request["rows"])
        self.batch = returns_once(self.sets[request["set"]].batch, indices)
        return self.batch

    def do_gradient(self, request):
        seed = request["seed"]
        seed_everything(seed)
        more = (seed,) if self.model.interface == "arrays" else ()
        loss = self.model.gradient(self._batch(request), request["x"], request["g"],
                                   request["buffers"], request["check"], *more)
        answer = {"loss": loss}
        if self.model.outside:
            answer["outside"] = self.model.outside
        return answer

    def do_evaluate(self, request):
        seed_everything(0)
        return self.model.evaluate(self._batch(request), request["rows"] * self.labels_each,
                                   request["x"], request["buffers"])

    def do_end(self, request):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


# ---- one import for many processes --------------------------------------------------------------

ASKED_BYTES = 1 << 17  # of a request for a process, at most
SECONDS_TO_ASK = 5
HARMLESS_FILES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def open_descriptors():
    """What each open descriptor from 3 on is, by number."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2:
                found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the one that listed them
            pass
    return found


def shared_maps():
    """The addresses of memory that a fork would share with this process, and not copy."""
    with open("/proc/self/maps", "rb") as file:
        return {line.split()[0] for line in file if line.split()[1][1::2] == b"ws"}


class Template:
    """A process that executes a user's file and then is forked for each process of a run that asks
    for one at its address, a socket in a folder that only this user can enter. The forks have
    keepers of their own. It ends when acid has ended, and its forks."""

    def __init__(self, host, file):
        self.host, self.file = host, file
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(host.address)
        self.listener.listen(1 << 12)
        words = open(host.address + ".words", "w")  # where acid looks for a slow import's line
        faulthandler.register(signal.SIGQUIT, file=words, all_threads=False)
        self.own = open_descriptors()

    def execute(self):
        """Executes the file, and serves until acid has ended. Returns what hinders a fork; "" when
        acid hears of it from the process that executes the file for it."""
        try:
            hindrance = self._hindrance()
        except BaseException:
            hindrance = ""
        if hindrance is None:
            self.handlers = {number: signal.getsignal(number)
                             for number in (*STOPS, signal.SIGCHLD)}
            os.write(self.host.spare, b"!")
            self._fork_on_demand()
        self.listener.close()
        if not hindrance:
            return ""
        advice = ("" if THREADS > 1 else "; done in model(), parameters() or dataset() instead, it "
                  "would be imported once")
        return (f"{self.file}: {hindrance}, so each process of a run imports it anew, which takes "
                f"time{advice}")

    def _hindrance(self):
        """Executes the file. Returns part of a sentence, or None: there is none."""
        global executed
        before, began = shared_maps(), time.time()
        executed = returns_once(UserFile, self.file)
        sys.stdout.flush()
        sys.stderr.flush()
        self.said = os.pread(1, os.fstat(1).st_size, 0)
        digests_at_import.update(local_files(self.file))
        if any(os.stat(path).st_ctime > began for path in digests_at_import):
            return ""  # changed meanwhile
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            return "it uses the GPU while it is imported"
        threads = len(os.listdir("/proc/self/task")) - 1
        if threads > 0:
            cause = f"with threads_per_worker = {THREADS} " if THREADS > 1 else ""
            return (f"{cause}its import starts {threads} thread{'s' if threads > 1 else ''}, which "
                    "a copy of the process would lack")
        if children() or children(os.getppid()) != [os.getpid()]:
            return "its import starts processes"
        opened = {what for number, what in open_descriptors().items()
                  if number not in self.own and what not in HARMLESS_FILES}
        if opened:
            return f"its import leaves {' and '.join(sorted(opened))} open"
        return "its import shares memory with other processes" if shared_maps() - before else None

    def _fork_on_demand(self):
        poll = select.poll()
        poll.register(self.host.connection, select.POLLIN)
        poll.register(self.listener, select.POLLIN)
        asked = True
        while asked:
            ready = dict(poll.poll(1000))
            asked = self.host.connection.fileno() not in ready
            if self.listener.fileno() in ready:
                self._hear()
            self._bury()
        self.listener.close()
        while self._bury():
            time.sleep(0.005)
        os._exit(0)

    @staticmethod
    def _bury():
        """Takes leave of forks that have ended. Returns whether there are others."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return False
        return True

    def _hear(self):
        asker, _ = self.listener.accept()
        given = []
        try:
            asker.settimeout(SECONDS_TO_ASK)
            request, given, _, _ = socket.recv_fds(asker, ASKED_BYTES, 5)
            if len(given) == 5 and all(digest_of(path) == digest
                                       for path, digest in digests_at_import.items()):
                self._fork(json.loads(request), asker, given)
        except (OSError, ValueError):
            pass  # the asker starts a process of its own
        for each in given:
            os.close(each)
        asker.close()

    def _fork(self, request, asker, given):
        drawn = random.getstate()
        if os.fork() != 0:
            return
        try:
            random.setstate(drawn)  # Python seeds it in a fork
            os.setsid()
            os.dup2(given[4], 1)
            os.dup2(given[4], 2)
            for each in (*self.own, given[4]):
                os.close(each)
            if request["cores"]:
                os.sched_setaffinity(0, request["cores"])
            for name in [*os.environ]:
                if name.startswith(tuple(request["own_variables"])):
                    del os.environ[name]
            os.environ.update(request["variables"])
            begin(*given[:4], template=self, asker=asker)
        finally:
            os._exit(1)

    def restore(self):
        """In a fork, once it has keepers: its signals are handled and its output is as if it had
        executed the file itself."""
        for number, handler in self.handlers.items():
            if handler is not None:
                signal.signal(number, handler)
        try:
            with open(2, "wb", closefd=False) as file:
                file.write(self.said)
        except OSError:
            pass  # nothing reads it


# ---- what keeps it ------------------------------------------------------------------------------

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)  # acid alone obeys these
SECONDS_TO_TIDY = 0.5  # for what the user's code started, between being asked to end and made to


def prctl(option, value):
    try:
        import ctypes
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, AttributeError, OSError):
        pass  # then a process that leaves its parent is lost sight of


def adopt_orphans():
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def die_with_parent(parent):
    prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)


def children(own=None):
    """Those of this process, or of another one of a single thread."""
    own = own or os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:  # of a kernel without it
        pass
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = file.read().rpartition(b")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == own:
            found.append(int(name))
    return found


def end_children(at_once):
    """Ends children until none is left. A child that ends leaves its own children to this process.
    One child is killed at once, the others may tidy up first: what they shared is in files. A
    child of another user, which may not be killed, is left."""
    asked, patience = set(), time.monotonic() + SECONDS_TO_TIDY
    while True:
        left = []
        for child in children():
            try:
                if child == at_once or time.monotonic() > patience:
                    os.kill(child, signal.SIGKILL)
                elif child not in asked:
                    asked.add(child)
                    os.kill(child, signal.SIGTERM)
            except OSError:
                left.append(child)
        if left and left == children():
            return
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def end_as(status):
    """Ends this process as the process with that status of wait() ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def forget(address):
    """Removes what a template had at its address."""
    try:
        os.unlink(address)
        os.unlink(address + ".words")
        os.rmdir(os.path.dirname(address))
    except OSError:
        pass  # it has not listened, or another template is there


def keep(lifeline, descriptors, spared, asker=None, address=None):
    """Forks a child, in which it returns the reading end of a pipe that hangs up when this process
    ends, however it does. This process keeps the child: when it ends, or `lifeline` hangs up, all
    of its descendants are ended, too, in any group or session. `descriptors` are the child's. Once
    there is something to read from `spared`, only the child's own end counts. `asker`: the socket
    on which acid waits for the child's status, for a process that is no child of acid's. `address`:
    the child's, for a template."""
    heard, bell = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    of_child, own = os.pipe()
    adopt_orphans()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (heard, bell, own, lifeline):
            os.close(each)
        if asker is not None:
            asker.close()
        os.setpgid(0, 0)  # what strikes one keeper's group leaves the other's
        return of_child
    for each in (*descriptors, of_child):
        os.close(each)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, lambda *_: os.kill(child, signal.SIGQUIT))
    poll = select.poll()
    poll.register(lifeline, 0)
    poll.register(heard, select.POLLIN)
    poll.register(spared, select.POLLIN)
    status = None
    while status is None:
        ready = dict(poll.poll())
        if lifeline in ready:
            break
        if spared in ready:
            poll.unregister(spared)
            if ready[spared] & select.POLLIN:
                poll.unregister(lifeline)
        if heard not in ready:
            continue
        os.read(heard, 4096)
        ended = True
        while ended:
            ended, how = os.waitpid(-1, os.WNOHANG)
            if ended == child:
                status = how
                break
    end_children(child)
    if asker is not None:
        tell(asker, status or 0)
    if address is not None:
        forget(address)
    end_as(status or 0)


def hear_no_stop():
    """acid lets a gradient be computed to its end. What the user's code starts is not concerned:
    a handler, other than a mask, is of this process alone."""
    for number in STOPS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def back():
        for number in STOPS:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)

    os.register_at_fork(after_in_child=back)


def tell(asker, number):
    try:
        asker.send(struct.pack("i", number))
    except OSError:
        pass  # it is gone


def begin(connection, memory, lifeline, words, address=None, template=None, asker=None):
    """Serves acid over `connection`, in a child of this process that is kept. `address`: for a
    template. `asker`: the socket on which acid asked `template` for it."""
    os.write(words, b"acid_model.py\n")  # so far so good
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, signal.SIGQUIT})
    if asker:
        tell(asker, os.getpid())
    spared, spare = os.pipe()
    # There are two keepers: when one is killed, the other ends everything.
    for outer in (True, False):
        parent = os.getpid()
        lifeline = keep(lifeline, (connection, memory, words, spare), spared,
                        asker if outer else None, address if outer else None)
    os.close(lifeline)
    os.close(spared)
    die_with_parent(parent)
    hear_no_stop()
    for each in (connection, memory, words):
        os.set_inheritable(each, False)
    faulthandler.enable(file=words, all_threads=False)
    faulthandler.register(signal.SIGQUIT, file=words, all_threads=False)  # acid asks where it is
    if template:
        template.restore()
    Host(socket.socket(fileno=connection), memory, spare, address).serve()


def main():
    descriptors, address = [int(argument) for argument in sys.argv[1:5]], sys.argv[5:6]
    sys.argv = sys.argv[:1]
    sys.path.pop(0)  # acid's own folder is nothing to import from
    begin(*descriptors, *address)


if __name__ == "__main__":
    main()
