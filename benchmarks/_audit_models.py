"""A ResNet-18, a ViT-tiny and a 12-layer BERT-like classifier with random weights, as files with 32 labelled rows."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROWS = 32


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions beside a shortcut (he2016)."""

    def __init__(self, wide_in: int, wide_out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(wide_in, wide_out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(wide_out),
            nn.ReLU(),
        )
        self.second = nn.Sequential(
            nn.Conv2d(wide_out, wide_out, 3, 1, 1, bias=False), nn.BatchNorm2d(wide_out)
        )
        same = stride == 1 and wide_in == wide_out
        shortcut = nn.Sequential(
            nn.Conv2d(wide_in, wide_out, 1, stride, bias=False), nn.BatchNorm2d(wide_out)
        )
        self.shortcut = nn.Identity() if same else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(self.first(x)) + self.shortcut(x))


def resnet18(classes: int = 10) -> nn.Module:
    """For images of 224 × 224."""
    stem = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    sizes = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
    blocks = [
        block for a, b, s in sizes for block in (ResidualBlock(a, b, s), ResidualBlock(b, b, 1))
    ]
    return nn.Sequential(
        *stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes)
    )


class TransformerBlock(nn.Module):
    """Attention and a perceptron, each behind a layer norm and beside a shortcut."""

    def __init__(self, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(wide), nn.LayerNorm(wide)])
        self.qkv = nn.Linear(wide, 3 * wide)
        self.out = nn.Linear(wide, wide)
        self.perceptron = nn.Sequential(
            nn.Linear(wide, 4 * wide), nn.GELU(), nn.Linear(4 * wide, wide)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, tokens, wide = x.shape
        parts = self.qkv(self.norms[0](x)).reshape(n, tokens, 3, self.heads, wide // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, tokens, wide)
        x = x + self.out(attended)
        return x + self.perceptron(self.norms[1](x))


class VisionTransformer(nn.Module):
    """ViT-tiny: patches of 16 × 16 of an image of 224 × 224 (dosovitskiy2021)."""

    def __init__(self, wide: int = 192, heads: int = 3, depth: int = 12, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, wide, 16, 16)
        self.token = nn.Parameter(torch.randn(1, 1, wide) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 197, wide) * 0.02)
        self.blocks = nn.Sequential(*[TransformerBlock(wide, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(wide), nn.Linear(wide, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(x), -1, -1), tokens], 1) + self.places
        return self.head(self.blocks(tokens)[:, 0])


class TokenClassifier(nn.Module):
    """A BERT-like classifier of 12 blocks on integer tokens."""

    def __init__(
        self, wide: int = 256, heads: int = 4, depth: int = 12, words: int = 8000, length: int = 64
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, wide)
        self.places = nn.Parameter(torch.randn(1, length, wide) * 0.02)
        self.blocks = nn.Sequential(
            nn.LayerNorm(wide), *[TransformerBlock(wide, heads) for _ in range(depth)]
        )
        self.head = nn.Sequential(nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, 4))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.words(ids) + self.places)[:, 0])


def write_models(folder: Path) -> list[tuple[Path, Path]]:
    """Every model as .pt2 and as .onnx, each with the file of its data."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    images = rng.normal(size=(ROWS, 3, 224, 224)).astype(np.float32)
    tokens = rng.integers(0, 8000, (ROWS, 64))
    models = {
        "resnet18": (resnet18(), images),
        "vit": (VisionTransformer(), images),
        "bert": (TokenClassifier(), tokens),
    }
    written = []
    for name, (model, x) in models.items():
        batch = torch.tensor(x)
        with torch.no_grad():
            guesses = model.eval()(batch).numpy().argmax(1)
        data = folder / f"{name}.npz"
        np.savez(data, x=x, y=np.where(np.arange(ROWS) % 8 == 0, (guesses + 1) % 4, guesses))
        torch.export.save(torch.export.export(model, (batch[:1],)), folder / f"{name}.pt2")
        axes = {"x": {0: "n"}}
        onnx = folder / f"{name}.onnx"
        torch.onnx.export(
            model, (batch[:1],), str(onnx), dynamo=False, input_names=["x"], dynamic_axes=axes
        )
        written += [(folder / f"{name}.pt2", data), (onnx, data)]
    return written
