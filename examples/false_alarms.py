"""Audit fifty healthy networks of several kinds and count the problems and warnings that are not true.

The networks are trained in PyTorch on independent splits of clean data, with weight decay and few steps. What a finding
states is looked at again by other means: recounted from the arrays, or judged on rows that were never used. Run from
the project's root with the development environment:  python examples/false_alarms.py [how many]
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_moons,
)
from torch import nn

import ftheta as ft
from ftheta.logic import AuditFinding

FACTS = (
    "performance",
    "data",
    "what",
    "active-units",
    "gradients-by-layer",
    "train-test-gap",
    "certified-rows",
)
SEVERE = ("problem", "warning")
FRESH = 20_000  # rows of a toy that are drawn to judge a statement about its law


@dataclass(frozen=True, eq=False)
class Healthy:
    """A network with the rows it is judged on and trained on; `law(rng, n)` draws more rows, where that can be done."""

    name: str
    model: nn.Module
    data: ft.Dataset
    train: ft.Dataset
    law: Callable[[int, int], tuple[np.ndarray, np.ndarray]] | None = None


class Standardised(nn.Module):
    """A network behind the scaling of its inputs (and before that of its one output)."""

    def __init__(self, network: nn.Module, x: np.ndarray, y: np.ndarray | None = None) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(x.mean(0)))
        self.register_buffer("size", torch.as_tensor(x.std(0) + 1e-9))
        self.register_buffer(
            "centre", torch.as_tensor(0.0 if y is None else float(y.mean()), dtype=torch.float64)
        )
        self.register_buffer(
            "spread", torch.as_tensor(1.0 if y is None else float(y.std()), dtype=torch.float64)
        )
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.centre + self.spread * self.network((x - self.mean) / self.size)


class Recurrent(nn.Module):
    """A GRU whose last state is read by a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(8, 24, batch_first=True)
        self.head = nn.Linear(24, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(x)[0][:, -1])


def mlp(widths: tuple[int, ...], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), activation())]
    return nn.Sequential(*layers[:-1])


def convolutional(normalised: bool) -> nn.Sequential:
    norm = [nn.BatchNorm2d(8)] if normalised else []
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        *norm,
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def fit(
    model: nn.Module,
    train: ft.Dataset,
    seed: int,
    *,
    steps: int,
    rate: float = 5e-3,
    jitter: float = 0.0,
) -> nn.Module:
    """AdamW with weight decay, and noise of size `jitter` on the inputs."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = model.double().train()
    x, y = torch.as_tensor(train.x), torch.as_tensor(train.y)
    loss = nn.MSELoss() if y.dtype.is_floating_point else nn.CrossEntropyLoss()
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=3e-2)
    for _ in range(steps):
        optimiser.zero_grad()
        noisy = x + jitter * torch.randn_like(x) if jitter else x
        loss(model(noisy), y).backward()
        optimiser.step()
    return model.eval()


def split(
    x: np.ndarray, y: np.ndarray, seed: int, share: float = 0.35
) -> tuple[ft.Dataset, ft.Dataset]:
    """Rows to judge on and rows of training, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(y))
    some = order[: round(share * len(y))]
    rest = order[len(some) :]
    return ft.Dataset("test", x[some], y[some]), ft.Dataset("train", x[rest], y[rest])


def tables(seed: int) -> Iterator[Healthy]:
    for name, load in (
        ("iris", load_iris),
        ("wine", load_wine),
        ("breast-cancer", load_breast_cancer),
    ):
        x, y = (np.asarray(part) for part in load(return_X_y=True))
        test, train = split(x, y, seed)
        torch.manual_seed(seed)
        model = Standardised(mlp((x.shape[1], 12, int(y.max()) + 1)), train.x)
        yield Healthy(name, fit(model, train, seed, steps=60), test, train)
    x, y = (np.asarray(part) for part in load_diabetes(return_X_y=True, scaled=False))
    test, train = split(x, y[:, None], seed)
    torch.manual_seed(seed)
    yield Healthy(
        "diabetes",
        fit(Standardised(mlp((10, 8, 1)), train.x, train.y), train, seed, steps=60),
        test,
        train,
    )


def toys(seed: int) -> Iterator[Healthy]:
    laws = {
        "moons": lambda n, seed: make_moons(n, noise=0.2, random_state=seed),
        "circles": lambda n, seed: make_circles(n, noise=0.1, factor=0.5, random_state=seed),
    }
    for name, law in laws.items():
        x, y = law(900, seed)
        test, train = split(x, y, seed)
        for kind, activation in (("", nn.ReLU), ("-tanh", nn.Tanh)):
            torch.manual_seed(seed)
            model = fit(mlp((2, 24, 24, 2), activation), train, seed, steps=250, rate=1e-2)
            yield Healthy(name + kind, model, test, train, law)


def digits(seed: int) -> Iterator[Healthy]:
    x, y = (np.asarray(part) for part in load_digits(return_X_y=True))
    test, train = split(x / 16, y, seed, 0.25)
    torch.manual_seed(seed)
    yield Healthy(
        "digits-mlp", fit(mlp((64, 40, 10)), train, seed, steps=150, jitter=0.15), test, train
    )
    shape = lambda data, *sides: ft.Dataset(data.name, data.x.reshape(-1, *sides), data.y)
    images = [shape(part, 1, 8, 8) for part in (test, train)]
    yield Healthy(
        "digits-cnn",
        fit(convolutional(False), images[1], seed, steps=60, rate=1e-2, jitter=0.1),
        *images,
    )
    yield Healthy(
        "digits-cnn-norm",
        fit(convolutional(True), images[1], seed, steps=40, rate=1e-2, jitter=0.1),
        *images,
    )
    rows = [shape(part, 8, 8) for part in (test, train)]
    yield Healthy(
        "digits-gru", fit(Recurrent(), rows[1], seed, steps=120, rate=1e-2, jitter=0.05), *rows
    )


def networks() -> Iterator[Healthy]:
    """Without end: tables, toys, images and sequences with seed 0, then with seed 1, …"""
    seed = 0
    while True:
        for family in (tables, toys, digits):
            yield from family(seed)
        seed += 1


# -- what is true ------------------------------------------------------------------------------------------------------


def is_true(case: Healthy, finding: AuditFinding) -> bool | None:
    """Whether what is said holds, by other means than the audit's; None where it cannot be said."""
    x = case.data.x.reshape(len(case.data), -1)
    match finding.rule:
        case "constant-columns":
            return bool((x == x[0]).all(0).any())
        case "duplicates":
            return len(np.unique(x, axis=0)) < len(x)
        case "imbalance":
            counts = np.bincount(np.ravel(case.data.y).astype(int))
            return bool(counts.max() > 5 * counts.min())
        case "invisible-changes" | "small-changes" | "dead-units" | "saturation" | "column-scales":
            return True  # an example was found, or a count: no inference that could fail
        case "shared-rows":
            seen = {row.tobytes() for row in case.train.x}
            return any(row.tobytes() in seen for row in case.data.x)
        case "shift" | "label-errors" | "label-coding" | "conflicting-labels":
            return False  # both sets are one random split, and nobody touched the labels
        case "miscalibration" if case.law is not None:
            return _calibration_error(case) > 0.02
        case "behind-baseline" | "worst-class" | "gap" if case.law is not None:
            return None
    return None


def _calibration_error(case: Healthy) -> float:
    """The ECE on many fresh rows, in fifteen bins."""
    assert case.law is not None
    x, y = case.law(FRESH, 10**6)
    with torch.no_grad():
        shares = torch.softmax(case.model(torch.as_tensor(x)), 1).numpy()
    sure = shares.max(1)
    right = shares.argmax(1) == y
    bins = np.minimum((15 * sure).astype(int), 14)
    return float(
        sum(
            abs(right[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean()
            for b in np.unique(bins)
        )
    )


def main(many: int) -> None:
    tally: Counter[tuple[str, str, str]] = Counter()
    for k, case in zip(range(many), networks()):
        found = ft.audit(
            case.model, case.data, train=case.train, only=FACTS, budget=None, workers=0
        )
        severe = [finding for finding in found.findings if finding.severity.value in SEVERE]
        for finding in severe:
            truth = {True: "true", False: "false", None: "open"}[is_true(case, finding)]
            tally[finding.rule, finding.severity.value, truth] += 1
            print(
                f"{k:3} {case.name:16} {truth:6} {finding.severity.value:8} {finding.rule}: {finding.says}",
                flush=True,
            )
        broken = [missing for missing in found.skipped if "internal" in missing.reason]
        for missing in broken:
            print(f"{k:3} {case.name:16} BROKEN {missing.id}: {missing.reason}", flush=True)
    print(f"\n{many} networks")
    for (rule, severity, truth), count in sorted(tally.items()):
        print(f"{count:4} {severity:8} {truth:6} {rule}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
