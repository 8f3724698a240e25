"""What `ftheta fit` does: a perceptron of the right sizes for the data, trained."""

from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import Description, random_mlp
from ftheta.shapes import Real

from .fitting import fit
from .run import Fit


def train(data: Any, widths: str, activation: str, **how: Any) -> Fit:
    """`data` is a Dataset, `widths` the hidden layers in words, `how` the arguments of `fit`."""
    if data.y is None:
        raise SubjectError(
            "There are no targets to fit.", where=data.name, remedy="add y to the file, or say which they are: --labels"
        )
    return fit(perceptron(data.x, data.y, hidden(widths), activation, how["loss"], how["seed"]), data, **how)


def perceptron(
    x: Real[np.ndarray, "n *shape"],
    y: Real[np.ndarray, "n *k"],
    widths: tuple[int, ...],
    activation: str,
    loss: str,
    seed: int,
) -> Description:
    """Random weights; one output a target, or one a class for cross-entropy."""
    outputs = y[0].size
    if loss.replace("_", "-") == "cross-entropy" and outputs == 1:
        most = float(np.max(y))
        if not most < max(len(y), 1000):  # an output for every number up to the largest label
            got = f"the label {most:g} among {len(y):,} rows"
            remedy = "number the classes 0, 1, 2, …"
            raise SubjectError("There are more classes than rows.", got=got, remedy=remedy)
        outputs = max(int(most) + 1, 2)
    return random_mlp(np.random.default_rng(seed), (x[0].size, *widths, outputs), activation)


def hidden(words: str) -> tuple[int, ...]:
    """`64,64` as (64, 64); nothing is a linear model."""
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError("The widths are whole numbers with commas.", got=words, remedy="write --widths 64,64")
    return tuple(int(part) for part in parts)


def savable(path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path is not None and path.suffix not in (".npz", ".onnx"):
        raise UsageError("Weights are written to an .npz or .onnx file.", got=str(path), remedy="name it net.npz")
    if path is not None and not path.parent.is_dir():
        raise UsageError("The folder does not exist.", got=str(path.parent))
