"""Claims about copies of a network: the same function, the same path norm, another balance."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Enclosure, Identity, Witness
from ftheta.networks.description import Dense, Description, random_mlp

from ..calculus import parts
from ..exact import ExactNetwork, exact
from ..line.cpa1d import known
from ..matrices import ExactMatrix
from .canonical import equal_by_symmetry, path_norm
from .symmetries import (
    balanced,
    exact_params,
    imbalance,
    linear_law,
    moved,
    norm_squared,
    scalar_step,
    sign_copies,
    turned,
)

LINEAR = (4, 5, 3, 4, 2)  # widths of the linear network
SCALAR = (Fraction(2), Fraction(1, 2), Fraction(3))  # a, w and y
TRIED = 64


def copy_claims(f: ExactNetwork, copies: int, rng: np.random.Generator) -> tuple[Identity, Identity]:
    """Random copies are the same function and have the same path norm, in rationals."""
    made = [moved(f, rng) for _ in range(copies)]
    other = sum(not equal_by_symmetry(f, copy) for copy in made)
    norm = Fraction(path_norm(f))
    change = max((abs(Fraction(path_norm(copy)) - norm) for copy in made), default=Fraction(0))
    return (
        Identity(f"copies among {copies} that are not the same function", known(other), known(0)),
        Identity("largest change of the path norm", known(change), known(0)),
    )


def doubled(f: ExactNetwork) -> ExactNetwork:
    """The network with its first output weight doubled: most often another function."""
    *before, (matrix, offset, mask) = parts(f)
    first, *rest = matrix.rows
    k = min(first, default=None)
    changed = first if k is None else {**first, k: 2 * first[k]}
    return f.rebuilt([*before, (ExactMatrix((changed, *rest), matrix.shape), offset, mask)])


@dataclass(frozen=True)
class Norms:
    """Squared norms of a network and of its balanced copy, and the largest imbalance before and after."""

    before: float
    after: float
    imbalance: float
    left: float
    path: float

    @property
    def claim(self) -> AtMost:
        what = "squared norm of the balanced copy ≤ that of the network"
        return AtMost(what, Enclosure.equal(self.after), Enclosure.equal(self.before))

    @property
    def numbers(self) -> dict[str, Enclosure | float]:
        return {
            "squared norm": self.before,
            "squared norm, balanced": self.after,
            "largest imbalance": self.imbalance,
            "largest imbalance, balanced": self.left,
            "path norm Σ|a|‖w‖": self.path,
        }


def norms(layers: Description) -> Norms:
    even = balanced(layers)
    worst = lambda told: max((float(np.abs(d).max(initial=0)) for d in imbalance(told.params)), default=0.0)
    sizes = norm_squared(layers.params), norm_squared(even.params)
    return Norms(*sizes, worst(layers), worst(even), float(path_norm(exact(layers), 2)))


def small_laws(tau: Fraction, rng: np.random.Generator) -> tuple[tuple[Identity, ...], dict[str, Enclosure | float]]:
    """The scalar network, a linear one and the copies of a tanh network, all in rationals."""
    factor, formula = scalar_step(*SCALAR, tau)
    copies = sign_copies(exact(random_mlp(rng, (2, 3, 1), bias=0.5)))
    functions = {turned(copy) for copy in copies}
    claims = (
        Identity("factor of a² − w² in one step, minus 1 − τ²r²", known(factor - formula), known(0)),
        Identity("largest rate of WᵀW − WWᵀ in a linear network", known(linear_law(LINEAR, rng)), known(0)),
        Identity("copies of a tanh network of width 3", known(len(copies)), known(48)),
        Identity("different functions among them", known(len(functions)), known(1)),
    )
    return claims, {"factor of a² − w²": known(factor), "copies at tanh width 3": known(len(copies))}


def outside_claim(layers: Description, rng: np.random.Generator) -> Identity:
    """A network of other activations and a rescaled copy, where they differ most, in float64."""
    hidden = tuple(Dense(layer.weight, layer.bias, "relu") for layer in layers.layers[:-1])
    last = layers.layers[-1]
    params = exact_params(moved(exact(Description((*hidden, Dense(last.weight, last.bias)))), rng))
    x = rng.normal(size=(TRIED, layers.widths[0]))
    gap = lambda rows: np.abs(np.asarray(layers.apply(params, rows) - layers.apply(layers.params, rows))).max(axis=-1)
    worst = int(np.argmax(gap(x)))

    def gap_at(rescaled: Any, params: Any, x: Any) -> Any:
        return jnp.max(jnp.abs(layers.apply(rescaled, x) - layers.apply(params, x)))

    again = enclose_number(gap_at, params, layers.params, x[worst])
    how = "both networks at this input alone, in intervals rounded outward"
    witness = Witness({"x": tuple(x[worst].tolist())}, again, known(0), how)
    seen = Enclosure.measured(float(gap(x[worst])), samples=TRIED)
    return Identity("largest |f − rescaled copy|", seen, known(0), witness, atol=1e-9)
