"""Laws as subjects of theorems on generative models: a measure as a Gaussian mixture, rows of data as a measure."""

from math import pi

import numpy as np

from ftheta.flows.mixture_integrals import MOST_ATOMS
from ftheta.flows.mixtures import Mixture
from ftheta.logic import Adapter
from ftheta.subjects import Dataset, Measure
from ftheta.subjects.roles import measure_of_rows

ROWS_ARE_A_LAW = Adapter(Dataset, measure_of_rows)


def mixture_of(measure: Measure) -> Mixture:
    """The measure with its variance in place of its spread."""
    return Mixture(measure.atoms, measure.weights, measure.spread**2)


def is_enclosed(law: Mixture) -> bool:
    """Whether integrals against a noised copy of the law are enclosed in balls: few atoms on the line."""
    return law.atoms.shape == (len(law.atoms), 1) and len(law.atoms) <= MOST_ATOMS


def place_bumps(components: int, separation: float, dimension: int) -> np.ndarray:
    """Atoms evenly from −a to a on the first axis, a = `separation`; one atom is at 0."""
    atoms = np.zeros((components, dimension))
    if components > 1:
        atoms[:, 0] = np.linspace(-separation, separation, components)
    return atoms


def place_on_ring(components: int, radius: float, dimension: int) -> np.ndarray:
    """Atoms evenly on a segment of the line or on a circle in the first two coordinates; one atom is at 0."""
    atoms = np.zeros((components, dimension))
    turn = 2 * pi * np.arange(components) / components
    if components > 1:
        atoms[:, 0] = radius * (np.cos(turn) if dimension > 1 else np.linspace(-1, 1, components))
        atoms[:, 1:2] = radius * np.sin(turn)[:, None]
    return atoms
