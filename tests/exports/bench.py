"""A folder with a small experiment in a store, and acid to call in it."""
import contextlib
import os
import shutil
import subprocess
import tempfile

RECIPE = """
name = "{name}"
seeds = [1, 2]
task.dataset = {{ kind = "quadratic", dimension = 16, noise = 0.1, heterogeneity = 1.0 }}
optimizer.learning_rate = 0.05
workers.count = 4
topology.kind = "ring"
budget.gradients = 200
algorithms = ["ar-sgd", {{ kind = "ad-psgd", label = {label} }}]
execution.driver = "{driver}"
evaluation.every_gradients = 50
"""


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("ACID_")}

    def call(self, *arguments, code=0, cwd=None):
        """The program's standard output; what it said is in `said`."""
        done = subprocess.run([self.program, *arguments], cwd=cwd or self.folder,
                              env=self.environment, capture_output=True, timeout=300)
        self.said = done.stderr.decode("utf-8")
        assert done.returncode == code, (arguments, done.returncode, self.said)
        return done.stdout.decode("utf-8")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, name="small", label='"pairs"', driver="virtual", overrides=()):
        with open(self.path(name + ".toml"), "w", encoding="utf-8") as recipe:
            recipe.write(RECIPE.format(name=name, label=label, driver=driver))
        self.call("run", name + ".toml", *overrides)

    def listed(self):
        return sorted(os.listdir(self.folder))


@contextlib.contextmanager
def bench(program):
    folder = tempfile.mkdtemp(prefix="acid-test-")
    try:
        yield Bench(program, folder)
    finally:
        shutil.rmtree(folder)
