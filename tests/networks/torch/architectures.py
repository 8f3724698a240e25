"""Networks as they are written in PyTorch."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn


def mlp(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers = [part for m, n in pairwise(widths) for part in (nn.Linear(m, n), activation())]
    return nn.Sequential(*layers[:-1])


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(1, 4, 5, padding=2)
        self.two = nn.Conv2d(4, 6, 5)
        self.dense = nn.Linear(54, 12)
        self.drop = nn.Dropout()
        self.out = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.one(x)), 2)
        x = F.avg_pool2d(F.relu(self.two(x)), 1, 1)
        x = F.max_pool2d(x, 2)
        return self.out(self.drop(F.relu(self.dense(x.flatten(1)))))


class Block(nn.Module):
    """Two convolutions beside a short cut, with the in-place operators that such networks are written with."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        short = nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )
        self.short = nn.Identity() if before == after and stride == 1 else short
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.path(x)
        y += self.short(x)
        return self.relu(y)


def resnet(
    blocks: tuple[int, ...] = (2, 2, 2, 2), width: int = 4, classes: int = 10
) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    before = width
    for i, count in enumerate(blocks):
        for k in range(count):
            layers.append(Block(before, width << i, 2 if i and not k else 1))
            before = width << i
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.mix(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Decoder(nn.Module):
    """A pre-norm transformer of tokens, with tied embeddings."""

    def __init__(self, words: int = 11, size: int = 8, heads: int = 2, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.places = nn.Parameter(torch.randn(1, 16, size))
        self.attend = nn.ModuleList(Attention(size, heads) for _ in range(layers))
        self.mlps = nn.ModuleList(
            mlp(size, 4 * size, size, activation=nn.GELU) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2 * layers + 1))
        self.head = nn.Linear(size, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places[:, : tokens.shape[1]]
        for i, (attend, dense) in enumerate(zip(self.attend, self.mlps)):
            x = x + attend(self.norms[2 * i](x))
            x = x + dense(self.norms[2 * i + 1](x))
        return self.head(self.norms[-1](x))


class Bag(nn.Module):
    """The mean of the embeddings of some words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 4, padding_idx=0)
        self.out = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.words(x).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module], **how: object) -> None:
        super().__init__()
        self.layer = kind(3, 4, **how)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class Shape(nn.Module):
    """A function as a module."""

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)  # type: ignore[operator]
