"""A small GPT in plain PyTorch, byte by byte, on a text that every Debian system has. See gpt.toml.

model() and dataset() get the recipe's options. There is no line about workers, gossip or seeds:
acid calls loss() with a minibatch, and what backward() computes is the gradient.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def attention(self, x):
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=2))
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=3)
        return self.proj((weights @ v).transpose(1, 2).reshape(rows, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, width, layers, heads, length, dropout):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.dropout = nn.Dropout(dropout)  # its numbers come from acid's seed of each gradient
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, text):
        x = self.dropout(self.tokens(text) + self.places[:text.shape[1]])
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)  # tied to the embedding


def model(width=64, layers=2, heads=4, length=64, dropout=0.1):
    return GPT(width, layers, heads, length, dropout)


def dataset(path="/usr/share/common-licenses/GPL-3", length=64):
    """Windows of length + 1 bytes; the last tenth of the text is the test set."""
    with open(path, "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.long)
    windows = text.unfold(0, length + 1, length // 4).contiguous()
    train = len(windows) * 9 // 10
    return windows[:train], windows[train + 4:]  # four of them overlap with training text


def loss(module, batch):
    """The mean cross-entropy of the next byte."""
    return F.cross_entropy(module(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
