"""Classifiers of real inputs: what several theorems about their labels ask for and look at."""

import numpy as np

from ftheta.logic import Basis, Enclosure, Finding, hypothesis
from ftheta.networks import Dense, Description
from ftheta.subjects import Network


@hypothesis(
    "at least two outputs, of real inputs", remedy="a label is the number of the largest output"
)
def is_classifier(net: Network) -> Finding:
    outputs = int(np.prod(net.output_shape))
    note = f"{outputs} outputs, inputs of type {net.example.dtype}"
    is_one = outputs > 1 and net.example.dtype.kind == "f"
    return Finding.decide(is_one, note, "counted", Enclosure.exact(outputs), basis=Basis.EXACT)


def linear_classifier(w: np.ndarray, b: float, name: str) -> Network:
    r"""Two outputs, $\langle w,x\rangle+b$ and 0."""
    return Network.described(
        Description((Dense(np.stack([w, np.zeros(len(w))]), np.array([b, 0.0])),)), name
    )


def choose_inputs(net: Network, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Rows of the data; without data normal inputs."""
    if net.data is None:
        return rng.standard_normal((rows, *net.input_shape))
    chosen = np.sort(rng.choice(len(net.data), min(rows, len(net.data)), replace=False))
    return net.data.x[chosen].astype(np.float64)
