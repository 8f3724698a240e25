"""Velocity networks: a chain of tanh layers trained by flow matching, evaluated with its divergence in NumPy."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.shapes import Float

from .matching import draw_pairs
from .mixtures import Mixture

PAIRS = 20_000  # draws of noise, data and time that a network is fitted to


@dataclass(frozen=True, eq=False)
class VelocityNetwork:
    """$u(t,x)$: tanh layers of the rows with the time as their last entry, then an affine one."""

    layers: tuple[Dense, ...]

    def __call__(self, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        h = np.concatenate([x, np.full((len(x), 1), t)], 1)
        for layer in self.layers[:-1]:
            h = np.tanh(h @ layer.weight.T + layer.bias)
        return h @ self.layers[-1].weight.T + self.layers[-1].bias

    def divergence(self, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """The trace of the Jacobian in x, at every row: the chain rule, forwards."""
        n, d = x.shape
        h = np.concatenate([x, np.full((n, 1), t)], 1)
        tangents = np.broadcast_to(np.eye(d + 1)[:, :d], (n, d + 1, d))
        for layer in self.layers[:-1]:
            h = np.tanh(h @ layer.weight.T + layer.bias)
            tangents = (1 - h**2)[:, :, None] * (layer.weight @ tangents)
        return np.einsum("ij,nji->n", self.layers[-1].weight, tangents)


def fit_velocity(
    law: Mixture, rng: np.random.Generator, *, width: int, steps: int
) -> VelocityNetwork:
    """A network with two hidden layers of this width, fitted to straight lines from noise to rows of the law."""
    from ftheta.training.fitting import fit  # here, because it imports JAX

    d = law.atoms.shape[1]
    noise, data = draw_pairs(law, rng, PAIRS)
    t = rng.random((PAIRS, 1))
    inputs = np.concatenate([(1 - t) * noise + t * data, t], 1)
    start = random_mlp(rng, (d + 1, width, width, d), "tanh", gain=1.0, bias=0.5)
    found = fit(
        start,
        (inputs, data - noise),
        steps=steps,
        step=3e-3,
        batch=250,
        every=steps,
        progress=False,
    ).network
    assert isinstance(found, Description)
    return VelocityNetwork(found.layers)


def measure_loss(
    field: VelocityNetwork,
    law: Mixture,
    rng: np.random.Generator,
    draws: int = 5000,
    times: int = 25,
) -> Float[np.ndarray, "n"]:
    """The flow-matching loss of a velocity, draw by draw, at even times that are shifted at random."""
    losses = []
    edges = np.linspace(0, 1, times + 1)
    for low, high in pairwise(edges.tolist()):
        t = low + (high - low) * float(rng.random())
        noise, data = draw_pairs(law, rng, draws // times)
        losses.append(((field(t, (1 - t) * noise + t * data) - (data - noise)) ** 2).sum(1))
    return np.concatenate(losses)
