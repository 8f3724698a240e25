"""What audits say of parameters, and budgets that do not depend on the machine."""

from itertools import pairwise
from typing import Any
from unittest import mock

import jax
import numpy as np

from ftheta.networks import Dense, Description
from ftheta.networks.scaling import Operation, ScaledLayers, Scaling
from ftheta.pieces import Box, count_pieces, enumeration
from ftheta.relu.exact import from_description
from ftheta.spectra import Objective
from ftheta.subjects import Dataset, Network

from . import Trial

ROWS = 12
EPS = float(np.finfo(np.float64).eps)
SHAPES = ((2, 3, 1), (3, 4, 2))  # few, so that few programs are compiled


def _scaling(rng: np.random.Generator, width: int) -> Scaling:
    """One to four steps whose constants have scales from a millionth to a million."""
    steps: list[tuple[Operation, np.ndarray]] = []
    for _ in range(rng.integers(1, 5)):
        operation: Operation = rng.choice(["add", "sub", "mul", "div"])
        sizes = 10.0 ** rng.uniform(-6, 6, width)
        steps.append((operation, sizes * rng.choice([-1.0, 1.0], width)))
    return Scaling(tuple(steps))


def _layers(rng: np.random.Generator, widths: tuple[int, ...]) -> Description:
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(widths)]
    words = ["relu"] * (len(weights) - 1) + ["identity"]
    return Description(
        tuple(Dense(W, rng.normal(size=len(W)), word) for W, word in zip(weights, words))
    )


def parameters_behind_a_scaling(rng: np.random.Generator) -> str | None:
    """The gradient of the loss by hand, of the layers on inputs that were scaled before, beside the one of the network.

    The rows are such that the scaled inputs are of size one: those that someone trains on.
    """
    layers = _layers(rng, SHAPES[rng.integers(len(SHAPES))])
    scaling = _scaling(rng, layers.widths[0])
    scaled = rng.normal(size=(ROWS, layers.widths[0]))
    x = scaled
    for operation, constant in reversed(scaling.steps):
        undo: dict[str, Any] = {
            "add": np.subtract,
            "sub": np.add,
            "mul": np.divide,
            "div": np.multiply,
        }
        x = undo[operation](x, constant)
    y = rng.normal(size=(ROWS, layers.widths[-1]))
    net = Network.described(ScaledLayers(scaling, layers), "scaled").with_data(
        Dataset("rows", x, y)
    )
    with jax.enable_x64(True):
        found = Objective.of(net).gradient()
    wanted = _gradient_by_hand(layers, scaling(x), y)
    if net.parameters != wanted.size:
        return f"{net.parameters} parameters, {wanted.size} were trained"
    gap = float(np.abs(found - wanted).max())
    size = float(np.abs(wanted).max())
    allowed = (1e-9 + 100 * _rounding(scaling, x)) * size  # weights are of size one, and few
    return (
        None
        if gap <= allowed
        else f"steps {scaling.steps}: the gradient is off by {gap:.3g} of {size:.3g}"
    )


def _rounding(scaling: Scaling, x: np.ndarray) -> float:
    """A bound of the rounding errors of the scaled inputs: a shift may cancel, and a division magnify what is left."""
    error = np.zeros_like(x)
    for operation, constant in scaling.steps:
        before = np.maximum(np.abs(x), np.abs(constant)) if operation in ("add", "sub") else 0.0
        x = Scaling(((operation, constant),))(x)
        factor = {"mul": np.abs(constant), "div": 1 / np.abs(constant)}.get(operation, 1.0)
        error = error * factor + 2 * EPS * np.maximum(np.abs(x), before)
    return float(error.max())


def _gradient_by_hand(layers: Description, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the mean over rows of the squared error, by the chain rule in NumPy."""
    (W, b), (V, c) = layers.params
    before = x @ W.T + b
    hidden = np.maximum(before, 0)
    slope = 2 * (hidden @ V.T + c - y) / len(x)
    back = (slope @ V) * (before > 0)
    parts = (back.T @ x, back.sum(0), slope.T @ hidden, slope.sum(0))
    return np.concatenate([part.ravel() for part in parts])


def work_on_a_busy_machine(rng: np.random.Generator) -> str | None:
    """A count within a budget of work, and the same where the clock runs away."""
    net = from_description(_layers(rng, (2, int(rng.integers(4, 40)), int(rng.integers(4, 40)), 1)))
    domain = Box.cube(2)
    work = int(10 ** rng.uniform(3, 6))
    free = count_pieces(net, domain, max_work=work)
    seconds = iter(range(0, 10**12, 10**6))
    with mock.patch.object(enumeration, "clock", lambda: float(next(seconds))):
        busy = count_pieces(net, domain, max_work=work)
    whole = count_pieces(net, domain)
    if busy != free:
        return f"widths {net.widths}, work {work}: {free} and {busy}"
    if not free.lo <= whole.lo <= free.hi:
        return f"widths {net.widths}, work {work}: {free}, but there are {whole}"
    return None


TRIALS = (
    Trial(
        "audits: parameters behind a scaling of the inputs",
        "a gradient by parameters that nobody trained",
        parameters_behind_a_scaling,
        few=4,
    ),
    Trial(
        "audits: budgets of work",
        "a count that depends on how busy the machine is",
        work_on_a_busy_machine,
        few=10,
    ),
)
