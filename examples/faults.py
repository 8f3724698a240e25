"""Train small PyTorch networks on scikit-learn's digits, each with a fault planted, beside a healthy twin; audit them.

The planted fault should be the first finding of its report, and its healthy twin should not show it. Run from the
project's root with the development environment:  python examples/faults.py reports/
"""

import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import ftheta as ft

QUICK = ("performance", "data", "train-test-gap", "active-units", "precision")
WIDTHS = (64, 48, 48, 10)


@dataclass(frozen=True, eq=False)
class Case:
    """A network, the data it is judged on and trained on, and the rule that its fault breaks (none if healthy)."""

    name: str
    model: nn.Module
    data: ft.Dataset
    train: ft.Dataset
    rule: str = ""


def split(seed: int = 0, noise: float = 0.0) -> tuple[ft.Dataset, ft.Dataset]:
    """Test rows and rows of training: one in four is held out; pixels lie in [0, 1]; `noise` is added to them."""
    rng = np.random.default_rng(seed)
    pixels, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = rng.permutation(len(labels))
    x = pixels[order] / 16.0 + noise * rng.normal(size=pixels.shape)
    y = labels[order]
    held_out = len(y) // 4
    return ft.Dataset("test", x[:held_out], y[:held_out]), ft.Dataset("train", x[held_out:], y[held_out:])


def fit(train: ft.Dataset, *, steps: int = 200, decay: float = 1e-2, jitter: float = 0.15) -> nn.Module:
    """A ReLU network trained by AdamW on all rows at once, with noise of size `jitter` on the pixels."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [part for a, b in pairwise(WIDTHS) for part in (nn.Linear(a, b), nn.ReLU())][:-1]
    model = nn.Sequential(*layers).double()
    x = torch.as_tensor(train.x)
    y = torch.as_tensor(train.y)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=decay)
    loss = nn.CrossEntropyLoss()
    for _ in range(steps):
        optimiser.zero_grad()
        loss(model(x + jitter * torch.randn_like(x)), y).backward()
        optimiser.step()
    return model.eval()


def mislabel(data: ft.Dataset, share: float, seed: int) -> ft.Dataset:
    """The same rows, a share of them with another label."""
    rng = np.random.default_rng(seed)
    assert data.y is not None
    y = data.y.copy()
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    y[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return ft.Dataset(data.name, data.x, y)


def healthy() -> Case:
    test, train = split()
    return Case("healthy", fit(train), test, train)


def dead_layer() -> Case:
    """One step that was too long has left every bias of a layer far below zero."""
    test, train = split()
    model = fit(train)
    with torch.no_grad():
        model[2].bias -= 1e3  # type: ignore[index]
    return Case("dead-layer", model, test, train, "dead-layer")


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


def noisy() -> Case:
    """The healthy twin of the next: a hard task, trained with noise on the pixels and stopped early."""
    test, train = split(noise=0.35)
    return Case("noisy", fit(train, steps=100, jitter=0.3), test, train)


def overconfident() -> Case:
    """The same hard task, trained on until nothing in the rows of training is in doubt any more."""
    test, train = split(noise=0.35)
    return Case("overconfident", fit(train, steps=300, decay=0.0, jitter=0.0), test, train, "miscalibration")


CASES = (healthy, dead_layer, leaked_rows, mislabelled, noisy, overconfident)


def audit(case: Case, only: tuple[str, ...] = QUICK):
    """What is quick to say, in this process. The rows of training of a memorised network say the same twice."""
    train = None if case.name in ("noisy", "overconfident") else case.train
    skip = () if train is not None else ("shared-rows", "two-samples", "train-test-gap")
    found = ft.audit(case.model, case.data, train=train, only=only, skip=skip, budget=None, workers=0)
    return replace(found, subject=case.name)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "reports")
    folder.mkdir(exist_ok=True)
    for make in CASES:
        case = make()
        found = audit(case)
        first = found.findings[0]
        print(f"{case.name:14} {first.severity.value:8} {first.says}")
        ft.save(found, folder / f"{case.name}.html")
