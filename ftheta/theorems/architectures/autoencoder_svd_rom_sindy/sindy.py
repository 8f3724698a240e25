r"""Sparse identification of dynamics: which few monomials of the state make its derivative.

$\dot x=\Theta(x)\,\Xi$ with the monomials $\Theta$ up to a degree. From derivatives without error the coefficients are
the solution of a linear system, in rationals if it is small; thresholded least squares drops those that are not needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod

import numpy as np
from scipy.integrate import solve_ivp

from ftheta.relu.matrices import rational_matrix
from ftheta.risks.linear import exact_least_squares

Terms = tuple[tuple[int, ...], ...]


def monomials(dimension: int, degree: int) -> Terms:
    """As tuples of the variables that are multiplied, from the constant () on."""
    return tuple(
        t for k in range(degree + 1) for t in combinations_with_replacement(range(dimension), k)
    )


def term_name(term: tuple[int, ...], names: Sequence[str]) -> str:
    """The monomial in the names of the variables."""
    return " ".join(names[i] for i in term) or "1"


def library(x: np.ndarray, terms: Terms) -> np.ndarray:
    """The value of every monomial (columns) at every state (rows); fractions stay fractions."""
    one = np.ones_like(x[:, 0]) if x.dtype != object else np.array([Fraction(1)] * len(x), object)
    return np.column_stack([prod((x[:, i] for i in t), start=one) for t in terms])


@dataclass(frozen=True)
class Law:
    """A polynomial vector field: for every coordinate, the coefficients of its terms."""

    name: str
    coordinates: tuple[str, ...]
    parts: tuple[dict[tuple[int, ...], Fraction], ...]

    @property
    def degree(self) -> int:
        """The largest degree of a term."""
        return max(len(term) for part in self.parts for term in part)

    def __call__(self, x: Sequence[Fraction] | np.ndarray) -> list:
        return [sum(c * prod(x[i] for i in t) for t, c in part.items()) for part in self.parts]

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """The derivative at every row, in float64."""
        return np.array([[float(v) for v in self(row)] for row in x])

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Of every derivative, the sum of the sizes of its terms: what rounding and cancellation are relative to."""
        parts = [{t: abs(c) for t, c in part.items()} for part in self.parts]
        return Law(self.name, self.coordinates, tuple(parts)).slopes(np.abs(x))

    def coefficients(self, terms: Terms) -> list[list[Fraction]]:
        """One list per coordinate."""
        return [[part.get(t, Fraction(0)) for t in terms] for part in self.parts]

    def trajectory(self, start: Sequence[float], times: np.ndarray) -> np.ndarray:
        """The solution from `start` at the times, one row each."""
        return solve_ivp(
            lambda t, x: self.slopes(x[None])[0],
            (times[0], times[-1]),
            start,
            t_eval=times,
            rtol=1e-10,
            atol=1e-12,
        ).y.T


LORENZ = Law(
    "Lorenz",
    ("x", "y", "z"),
    (
        {(0,): Fraction(-10), (1,): Fraction(10)},
        {(0,): Fraction(28), (1,): Fraction(-1), (0, 2): Fraction(-1)},
        {(2,): Fraction(-8, 3), (0, 1): Fraction(1)},
    ),
)


def rational_states(x: np.ndarray) -> np.ndarray:
    """The states as fractions."""
    return np.array([[Fraction(v) for v in row] for row in x.tolist()], object)


def library_rank(x: np.ndarray, terms: Terms) -> int:
    """The rank of the monomials at these states, in rationals."""
    return int(rational_matrix(library(rational_states(x), terms)).rank())


def exact_coefficients(x: np.ndarray, law: Law, terms: Terms) -> list[tuple[Fraction, ...]] | None:
    """The coefficients in rationals from states and their exact derivatives; None where they are not unique."""
    states = rational_states(x)
    slopes = np.array([law(row) for row in states], object)
    found = [
        exact_least_squares(library(states, terms), slopes[:, k]) for k in range(slopes.shape[1])
    ]
    return None if any(c is None for c in found) else [c for c in found if c is not None]


def fit_coefficients(theta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Least squares with columns brought to length 1 first: monomials differ much in size."""
    size = np.maximum(np.linalg.norm(theta, axis=0), 1e-300)
    return np.linalg.lstsq(theta / size, slopes, rcond=None)[0] / size.reshape(
        -1, *[1] * (slopes.ndim - 1)
    )


def fit_sparse_coefficients(
    theta: np.ndarray, slopes: np.ndarray, level: float, rounds: int = 10
) -> np.ndarray:
    """Least squares, again without the coefficients below `level`, until they stay; one column per coordinate."""
    found = fit_coefficients(theta, slopes)
    for _ in range(rounds):
        keep = np.abs(found) >= level
        new = np.zeros_like(found)
        for k, b in enumerate(slopes.T):
            new[keep[:, k], k] = (
                fit_coefficients(theta[:, keep[:, k]], b) if keep[:, k].any() else 0.0
            )
        if np.array_equal(new != 0, found != 0):
            return new
        found = new
    return found


def differences(x: np.ndarray, step: float) -> np.ndarray:
    """Derivatives of the inner rows by central differences of order 4; two rows are lost at either end."""
    return (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * step)
