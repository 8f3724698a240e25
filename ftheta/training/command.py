"""What `ftheta fit` does: a perceptron of the right sizes for the data, trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import Description, random_mlp
from ftheta.shapes import Real

from .fitting import fit
from .robust import METHODS, RobustLoss
from .robust.losses import Method
from .run import Fit

Number = TypeVar("Number", int, float)


def train(data: Any, widths: str, activation: str, **how: Any) -> Fit:
    """`data` is a Dataset, `widths` the hidden layers in words, `how` the arguments of `fit`."""
    if data.y is None:
        raise SubjectError(
            "There are no targets to fit.",
            where=data.name,
            remedy="add y to the file, or say which they are: --labels",
        )
    return fit(
        perceptron(data.x, data.y, hidden(widths), activation, how["loss"], how["seed"]),
        data,
        **how,
    )


def perceptron(
    x: Real[np.ndarray, "n *shape"],
    y: Real[np.ndarray, "n *k"],
    widths: tuple[int, ...],
    activation: str,
    loss: str,
    seed: int,
) -> Description:
    """Random weights; one output per target, or one per class for cross-entropy."""
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
        raise UsageError(
            "The widths are whole numbers with commas.", got=words, remedy="write --widths 64,64"
        )
    return tuple(int(part) for part in parts)


def read_robust(
    method: str | None, epsilon: float | None, norm: str, clip: str | None, ramp: str | None
) -> RobustLoss | None:
    """The options of `--robust` as a loss; None without a method."""
    if method is None:
        given = {"--epsilon": epsilon, "--clip": clip, "--ramp": ramp}
        alone = [name for name, value in given.items() if value is not None]
        if alone:
            remedy = f"name one: --robust {' or '.join(METHODS)}"
            raise UsageError(
                "These options belong to a robust loss.", got=", ".join(alone), remedy=remedy
            )
        return None
    if epsilon is None:
        remedy = f"--robust {method} --epsilon 0.1"
        raise UsageError(
            "A robust loss needs the radius of the ball around each row.",
            got="no --epsilon",
            remedy=remedy,
        )
    if norm not in ("2", "inf"):
        raise UsageError("The norm is 2 or inf.", got=norm, remedy="--norm inf")
    least_and_largest = None if clip is None else _pair(clip, "--clip", float)
    steps = (0, 0) if ramp is None else _pair(ramp, "--ramp", int)
    return RobustLoss(
        cast(Method, method), epsilon, float(norm), clip=least_and_largest, ramp=steps
    )


def _pair(words: str, option: str, kind: Callable[[str], Number]) -> tuple[Number, Number]:
    try:
        first, second = map(kind, words.split(","))
    except ValueError:
        remedy = f"write {option} 0,1"
        raise UsageError(
            "The option takes two numbers with a comma.", where=option, got=words, remedy=remedy
        ) from None
    return first, second


def savable(path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path is not None and path.suffix not in (".npz", ".onnx"):
        raise UsageError(
            "Weights are written to an .npz or .onnx file.", got=str(path), remedy="name it net.npz"
        )
    if path is not None and not path.parent.is_dir():
        raise UsageError("The folder does not exist.", got=str(path.parent))
