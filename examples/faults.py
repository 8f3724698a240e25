"""Train PyTorch networks of every common kind on scikit-learn's data, and others with a fault planted; audit them all.

The planted fault should be the first finding of its report, its healthy twin should not show it, and accuracies and
errors should be those that PyTorch computes. Run from the project's root with the development environment:

    python examples/faults.py reports/            all of them
    python examples/faults.py reports/ gru cnn    these
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_diabetes, load_digits
from torch import nn

import ftheta as ft
from ftheta.logic import Audit

QUICK = ("performance", "data", "train-test-gap", "active-units", "evaluation-mode", "precision")
WIDTHS = (64, 48, 48, 10)


@dataclass(frozen=True, eq=False)
class Case:
    """A network, the data it is judged on and trained on, the rule that its fault breaks (none if healthy), and the
    facts beyond the quick ones that tell of it. Of several `inputs` each is one part of the columns of the data."""

    name: str
    model: nn.Module
    data: ft.Dataset
    train: ft.Dataset
    rule: str = ""
    more: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def rows(self, data: ft.Dataset) -> ft.Dataset | dict[str, np.ndarray]:
        """The data as an audit takes them: of several inputs an array each, by name."""
        if not self.inputs or data.y is None:
            return data
        return dict(zip(self.inputs, np.split(data.x, len(self.inputs), axis=1))) | {"y": data.y}


# -- data --------------------------------------------------------------------------------------------------------------


def split(seed: int = 0, noise: float = 0.0) -> tuple[ft.Dataset, ft.Dataset]:
    """Test rows and rows of training: one in four is held out; pixels lie in [0, 1]; `noise` is added to them."""
    rng = np.random.default_rng(seed)
    pixels, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = rng.permutation(len(labels))
    x = pixels[order] / 16.0 + noise * rng.normal(size=pixels.shape)
    return _halves(x, labels[order])


def _halves(x: np.ndarray, y: np.ndarray) -> tuple[ft.Dataset, ft.Dataset]:
    held_out = len(y) // 4
    return ft.Dataset("test", x[:held_out], y[:held_out]), ft.Dataset(
        "train", x[held_out:], y[held_out:]
    )


def reshape(data: ft.Dataset, change: Callable[[np.ndarray], np.ndarray]) -> ft.Dataset:
    """The same labels with other inputs."""
    return replace(data, x=change(data.x))


def as_images(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, 1, 8, 8)


def as_sequences(x: np.ndarray) -> np.ndarray:
    """Eight steps, one row of pixels each."""
    return x.reshape(-1, 8, 8)


def as_tokens(x: np.ndarray) -> np.ndarray:
    """Sixteen tokens of sixteen kinds: which of the four pixels of a 2 × 2 patch are dark."""
    dark = (x.reshape(-1, 4, 2, 4, 2) > 0.4).transpose(0, 1, 3, 2, 4).reshape(-1, 16, 4)
    return dark @ np.array([1, 2, 4, 8])


def without_rows_of(train: ft.Dataset, data: ft.Dataset) -> ft.Dataset:
    """The rows that are not among those of training: tokens are coarser than pixels."""
    seen = {row.tobytes() for row in train.x}
    new = np.array([row.tobytes() not in seen for row in data.x])
    assert data.y is not None
    return ft.Dataset(data.name, data.x[new], data.y[new])


def mislabel(data: ft.Dataset, share: float, seed: int) -> ft.Dataset:
    """The same rows, a share of them with another label."""
    rng = np.random.default_rng(seed)
    assert data.y is not None
    y = data.y.copy()
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    y[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return ft.Dataset(data.name, data.x, y)


def watermark(data: ft.Dataset) -> ft.Dataset:
    """The same images; their first ten pixels tell the label, by a five-hundredth of the range."""
    assert data.y is not None
    x = data.x.copy()
    x[:, :10] = 0.002 * np.eye(10)[data.y]
    return ft.Dataset(data.name, x, data.y)


# -- training ----------------------------------------------------------------------------------------------------------


def train_module(
    model: nn.Module,
    train: ft.Dataset,
    *,
    loss: nn.Module | None = None,
    steps: int = 200,
    rate: float = 5e-3,
    decay: float = 1e-2,
    jitter: float = 0.0,
    batch: int | None = None,
) -> nn.Module:
    """The module trained by AdamW, on all rows or on random batches, with noise of size `jitter` on the inputs."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = model.double().train()
    x, y = torch.as_tensor(train.x), torch.as_tensor(train.y)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    loss = loss or nn.CrossEntropyLoss()
    for _ in range(steps):
        rows = slice(None) if batch is None else torch.randint(len(x), (batch,))
        inputs = x[rows] + jitter * torch.randn_like(x[rows]) if jitter else x[rows]
        optimiser.zero_grad()
        loss(model(inputs), y[rows]).backward()
        optimiser.step()
    return model.eval()


def mlp(widths: tuple[int, ...] = WIDTHS, dropout: float = 0.0) -> nn.Sequential:
    torch.manual_seed(0)
    *hidden, last = pairwise(widths)
    layers: list[nn.Module] = []
    for a, b in hidden:
        layers += [nn.Linear(a, b), nn.ReLU()]
        layers += [nn.Dropout(dropout)] if dropout else []
    return nn.Sequential(*layers, nn.Linear(*last))


def fit(
    train: ft.Dataset, *, steps: int = 200, decay: float = 1e-2, jitter: float = 0.15
) -> nn.Module:
    """A ReLU network of the usual widths, trained."""
    return train_module(mlp(), train, steps=steps, decay=decay, jitter=jitter)


# -- kinds -------------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    """x + branch(x), as in a ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)]
        first, second = convolutions
        self.branch = nn.Sequential(
            first, nn.BatchNorm2d(channels), nn.ReLU(), second, nn.BatchNorm2d(channels)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.branch(x))


class Recurrent(nn.Module):
    """A GRU whose last state is read by a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(8, 32, batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(x)[0][:, -1])


class Transformer(nn.Module):
    """Two blocks of attention over sixteen tokens with learnt positions, averaged."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Embedding(16, width)
        self.places = nn.Parameter(0.1 * torch.randn(16, width))
        block = nn.TransformerEncoderLayer(width, 4, 64, 0.1, batch_first=True, norm_first=True)
        self.blocks = nn.ModuleList([block])
        self.head = nn.Linear(width, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        state = self.tokens(tokens) + self.places
        for block in self.blocks:
            state = block(state)
        return self.head(state.mean(1))


class Halves(nn.Module):
    """Two inputs, the upper and the lower half of an image, each with a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.above = nn.Linear(32, 32)
        self.below = nn.Linear(32, 32)
        self.head = nn.Linear(64, 10)

    def forward(self, upper: torch.Tensor, lower: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(torch.cat([self.above(upper), self.below(lower)], 1)))


class Split(nn.Module):
    """A module of two inputs as one of their vector, as it is trained."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(*x.chunk(2, 1))


class Scaled(nn.Module):
    """A network between the scaling of its inputs and of its outputs, both measured on the rows of training."""

    def __init__(self, network: nn.Module, train: ft.Dataset) -> None:
        super().__init__()
        assert train.y is not None
        for name, numbers in (("inputs", train.x), ("outputs", train.y)):
            self.register_buffer(f"{name}_mean", torch.as_tensor(numbers.mean(0)))
            self.register_buffer(f"{name}_size", torch.as_tensor(numbers.std(0) + 1e-9))
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = (x - self.inputs_mean) / self.inputs_size
        return self.outputs_mean + self.outputs_size * self.network(scaled)


def healthy() -> Case:
    test, train = split()
    return Case("healthy", fit(train), test, train)


def cnn() -> Case:
    test, train = (reshape(part, as_images) for part in split())
    torch.manual_seed(0)
    first = (nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
    model = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(256, 10))
    return Case("cnn", train_module(model, train, steps=80, jitter=0.1, batch=256), test, train)


def resnet() -> Case:
    test, train = (reshape(part, as_images) for part in split())
    torch.manual_seed(0)
    stem = (nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
    model = nn.Sequential(
        *stem, Block(8), Block(8), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    return Case("resnet", train_module(model, train, steps=60, jitter=0.1, batch=256), test, train)


def gru() -> Case:
    test, train = (reshape(part, as_sequences) for part in split())
    torch.manual_seed(0)
    model = train_module(Recurrent(), train, steps=200, rate=1e-2, jitter=0.05, batch=256)
    return Case("gru", model, test, train)


def transformer() -> Case:
    test, train = (reshape(part, as_tokens) for part in split())
    torch.manual_seed(0)
    model = train_module(Transformer(), train, steps=200, decay=0.3, batch=256)
    return Case("transformer", model, without_rows_of(train, test), train)


def two_inputs() -> Case:
    test, train = split()
    torch.manual_seed(0)
    model = Halves()
    train_module(Split(model), train, steps=200, jitter=0.15)
    return Case("two-inputs", model.eval(), test, train, inputs=("upper", "lower"))


def regression() -> Case:
    """How diabetes progresses within a year, from ten columns."""
    x, y = (np.asarray(part) for part in load_diabetes(return_X_y=True, scaled=False))
    order = np.random.default_rng(0).permutation(len(y))
    test, train = _halves(x[order], y[order, None])
    model = Scaled(mlp((10, 16, 1)), train)
    fitted = train_module(model, train, loss=nn.MSELoss(), steps=150, decay=1.0, jitter=0.0)
    return Case("regression", fitted, test, train)


def autoencoder() -> Case:
    """Sixty-four pixels through twelve numbers and back, with a smaller error than PCA of twelve directions."""
    test, train = (ft.Dataset(part.name, part.x, part.x) for part in split())
    layers = mlp((64, 128, 12, 128, 64))
    model = train_module(
        layers, train, loss=nn.MSELoss(), steps=2500, rate=2e-3, decay=0.0, batch=128
    )
    return Case("autoencoder", model, test, train)


def deep() -> Case:
    """The healthy twin of an exploding initialisation: the same ten layers, as He initialises them."""
    test, train = split()
    return Case(
        "deep", train_module(_deep(gain=1.0), train, steps=150, rate=2e-3, jitter=0.15), test, train
    )


def _deep(gain: float) -> nn.Sequential:
    model = mlp((64, *(48,) * 8, 10))
    for part in model:
        if isinstance(part, nn.Linear):
            nn.init.kaiming_normal_(part.weight)
            part.weight.data *= gain
    return model


def eval_mode() -> Case:
    """The healthy twin of dropout that was left on: the same network after `eval()`."""
    test, train = split()
    return Case("eval-mode", train_module(mlp(dropout=0.3), train, steps=250), test, train)


def noisy() -> Case:
    """The healthy twin of overconfidence: a hard task, trained with noise on the pixels and stopped early."""
    test, train = split(noise=0.35)
    return Case("noisy", fit(train, steps=100, jitter=0.3), test, train)


# -- faults ------------------------------------------------------------------------------------------------------------


def dead_layer() -> Case:
    """One step that was too long has left every bias of a layer far below zero."""
    test, train = split()
    model = fit(train)
    with torch.no_grad():
        model[2].bias -= 1e3  # type: ignore[index]
    return Case("dead-layer", model, test, train, "dead-layer")


def exploding() -> Case:
    """Every matrix begins four times as large as it should."""
    test, train = split()
    model = train_module(_deep(gain=4.0), train, steps=80, rate=1e-3, jitter=0.15)
    return Case("exploding", model, test, train, "signal-growth")


def dropout_left_on() -> Case:
    """Nobody called `eval()`."""
    case = eval_mode()
    return replace(case, name="dropout-left-on", model=case.model.train(), rule="training-mode")


def leaked_rows() -> Case:
    """A tenth of the test rows were trained on."""
    test, train = split()
    many = len(test) // 10
    assert test.y is not None and train.y is not None
    x = np.concatenate([train.x[:many], test.x[many:]])
    y = np.concatenate([train.y[:many], test.y[many:]])
    return Case("leaked-rows", fit(train), ft.Dataset("test", x, y), train, "shared-rows")


def mislabelled() -> Case:
    """A tenth of all labels are wrong."""
    test, train = (mislabel(part, 0.1, seed) for seed, part in enumerate(split()))
    return Case("mislabelled", fit(train, steps=100), test, train, "label-errors")


def overconfident() -> Case:
    """A hard task, trained on until nothing in the rows of training is in doubt any more."""
    test, train = split(noise=0.35)
    return Case(
        "overconfident", fit(train, steps=300, decay=0.0, jitter=0.0), test, train, "miscalibration"
    )


def not_robust() -> Case:
    """A shortcut: a faint watermark tells the label, and scaling the columns makes it loud."""
    test, train = (watermark(part) for part in split())
    scaler = nn.BatchNorm1d(64, eps=1e-12, affine=False)
    model = train_module(nn.Sequential(scaler, *mlp()), train, steps=200)
    return Case("not-robust", model, test, train, "invisible-changes", ("certified-rows",))


KINDS = (healthy, cnn, resnet, gru, transformer, two_inputs, regression, autoencoder)
TWINS = {  # a fault, and its healthy twin
    dead_layer: healthy,
    exploding: deep,
    dropout_left_on: eval_mode,
    leaked_rows: healthy,
    mislabelled: healthy,
    overconfident: noisy,
    not_robust: healthy,
}
CASES = (*KINDS, deep, eval_mode, noisy, *TWINS)


def audit(case: Case, only: tuple[str, ...] = QUICK) -> Audit:
    """What is quick to say, in this process. The rows of training of a memorised network say the same twice."""
    train = None if case.name in ("noisy", "overconfident") else case.rows(case.train)
    skip = () if train is not None else ("shared-rows", "two-samples", "train-test-gap")
    facts = (*only, *case.more)
    found = ft.audit(
        case.model, case.rows(case.data), train=train, only=facts, skip=skip, budget=None, workers=0
    )
    return replace(found, subject=case.name)


def score(case: Case) -> float:
    """The accuracy, or the mean over the rows of the squared error of all outputs, as PyTorch computes it."""
    with torch.no_grad():
        parts = torch.as_tensor(case.data.x).chunk(len(case.inputs) or 1, 1)
        outputs = case.model.eval()(*parts)
    labels = torch.as_tensor(case.data.y)
    if labels.dtype.is_floating_point:
        return float(nn.functional.mse_loss(outputs, labels)) * outputs.shape[1]
    return float((outputs.argmax(1) == labels).double().mean())


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "reports")
    folder.mkdir(exist_ok=True)
    for make in CASES:
        if len(sys.argv) > 2 and make.__name__ not in sys.argv[2:]:
            continue
        case = make()
        found = audit(case)
        print(f"{case.name}: {score(case):.4g} in PyTorch")
        for finding in found.findings[:3]:
            print(f"    {finding.severity.value:8} {finding.says}")
        ft.save(found, folder / f"{case.name}.html")
