"""Two subjects of each kind that differ in every number a theorem may count or measure."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.description import Dense, Description
from ftheta.subjects import Dataset, Measure, Network, Target, Training
from ftheta.subjects.kinds import Spectrum

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def mlp(widths: tuple[int, ...], seed: int) -> Network:
    """A random ReLU network with labelled data."""
    rng = np.random.default_rng(seed)
    layers = []
    for i, (rows, columns) in enumerate(zip(widths[1:], widths)):
        weights = rng.normal(size=(rows, columns)) * np.sqrt(2 / columns)
        activation = "relu" if i < len(widths) - 2 else "identity"
        layers.append(Dense(weights, 0.1 * rng.normal(size=rows), activation))
    net = Network.described(Description(tuple(layers)), "-".join(map(str, widths)))
    return net.with_data(table(20 + 5 * seed, widths[0], widths[-1], seed))


def table(rows: int, columns: int, classes: int, seed: int) -> Dataset:
    """Random rows, labelled by the nearest of random centres."""
    rng = np.random.default_rng([seed, 7])
    x = rng.normal(size=(rows, columns))
    centres = rng.normal(size=(classes, columns))
    y = ((x[:, None] - centres) ** 2).sum(-1).argmin(1)
    return Dataset(f"{rows} rows", x, y)


def wave(frequency: float) -> Target:
    spectrum = Spectrum.cosines(np.array([[frequency]]), np.array([1.0]), np.array([0.3]))
    return Target(
        f"cos({frequency:g}x + 0.3)",
        lambda x: jnp.cos(frequency * x + 0.3),
        (0.0,),
        (1.0,),
        spectrum=spectrum,
    )


def bowl(curvatures: tuple[float, ...], seed: int) -> Training:
    start = np.random.default_rng(seed).normal(size=len(curvatures))
    return Training.quadratic(f"{len(curvatures)} curvatures", np.diag(curvatures), start)


def cloud(points: int, seed: int) -> Measure:
    return Measure.empirical(
        f"{points} points", np.random.default_rng(seed).normal(size=(points, 2))
    )


SUBJECTS: Mapping[type, Pair] = {
    Network: (lambda: mlp((2, 5, 4, 3), 1), lambda: mlp((3, 6, 5, 4), 2)),
    Dataset: (lambda: table(30, 2, 2, 1), lambda: table(41, 3, 2, 2)),
    Target: (lambda: wave(2.0), lambda: wave(3.1)),
    Training: (lambda: bowl((1.0, 3.0), 1), lambda: bowl((0.5, 2.0, 4.5), 2)),
    Measure: (lambda: cloud(6, 1), lambda: cloud(9, 2)),
}
