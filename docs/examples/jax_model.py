"""The network of numpy_model.py in JAX: only the loss is written down, JAX derives the gradient.

    model = { kind = "python", file = "jax_model.py", options = { hidden = 64 } }

For bits that do not depend on the machine's cores, start acid with
XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1".
"""

import jax
import jax.numpy as jnp


def parameters(seed, features=784, hidden=64, classes=10):
    first, second = jax.random.split(jax.random.PRNGKey(seed % 2**32))
    return {
        "hidden.weight": jax.random.normal(first, (features, hidden)) * (2 / features) ** 0.5,
        "hidden.bias": jnp.zeros(hidden),
        "out.weight": jax.random.normal(second, (hidden, classes)) * (1 / hidden) ** 0.5,
        "out.bias": jnp.zeros(classes),
    }


def forward(x, inputs):
    hidden = jax.nn.relu(inputs.reshape(inputs.shape[0], -1) @ x["hidden.weight"]
                         + x["hidden.bias"])
    return jax.nn.log_softmax(hidden @ x["out.weight"] + x["out.bias"])


def loss(x, inputs, labels):
    return -jnp.take_along_axis(forward(x, inputs), labels[:, None], axis=1).mean()


loss_and_gradient = jax.jit(jax.value_and_grad(loss))


def gradient(x, batch, seed):
    return loss_and_gradient(x, *batch)


@jax.jit
def loss_and_right(x, inputs, labels):
    return loss(x, inputs, labels), (forward(x, inputs).argmax(axis=1) == labels).sum()


def evaluate(x, batch):
    return loss_and_right(x, *batch)
