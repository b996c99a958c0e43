"""A network with one hidden layer in plain NumPy, for a recipe with

    model = { kind = "python", file = "numpy_model.py", options = { hidden = 64 } }

and any of acid's data sets of images or vectors. acid keeps the parameters and trains them; this
file says where they start and what the gradient of a minibatch is.
"""

import numpy as np


def parameters(seed, features=784, hidden=64, classes=10):
    """The start point. `seed` is the run's; the other arguments are the recipe's options."""
    draw = np.random.default_rng(seed)
    return {
        "hidden.weight": draw.normal(0, np.sqrt(2 / features), (features, hidden)),
        "hidden.bias": np.zeros(hidden),
        "out.weight": draw.normal(0, np.sqrt(1 / hidden), (hidden, classes)),
        "out.bias": np.zeros(classes),
    }


def forward(x, inputs):
    hidden = np.maximum(inputs @ x["hidden.weight"] + x["hidden.bias"], 0)
    logits = hidden @ x["out.weight"] + x["out.bias"]
    logits -= logits.max(axis=1, keepdims=True)
    return hidden, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def gradient(x, batch, seed):
    """The mean loss of the minibatch at the parameters x, and its gradient by their names."""
    inputs, labels = batch
    rows = len(labels)
    inputs = inputs.reshape(rows, -1)
    hidden, log_probability = forward(x, inputs)
    loss = -log_probability[np.arange(rows), labels].mean()

    d_logits = np.exp(log_probability)
    d_logits[np.arange(rows), labels] -= 1
    d_logits /= rows
    d_hidden = (d_logits @ x["out.weight"].T) * (hidden > 0)
    return loss, {
        "hidden.weight": inputs.T @ d_hidden,
        "hidden.bias": d_hidden.sum(axis=0),
        "out.weight": hidden.T @ d_logits,
        "out.bias": d_logits.sum(axis=0),
    }


def evaluate(x, batch):
    """The mean loss, and how many examples it gets right."""
    inputs, labels = batch
    _, log_probability = forward(x, inputs.reshape(len(labels), -1))
    loss = -log_probability[np.arange(len(labels)), labels].mean()
    return loss, int((log_probability.argmax(axis=1) == labels).sum())
