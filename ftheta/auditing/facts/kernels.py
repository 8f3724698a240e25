"""The spectrum of the tangent kernel."""

import numpy as np

from ftheta.logic import Axis, Curves, Enclosure, Fact, Series, SubjectError
from ftheta.spectra import extremes
from ftheta.spectra.objective import Objective
from ftheta.subjects import Network

from ..part import Part
from .inputs import multiplications, some_rows

ROWS = 64
ENTRIES = 2e7  # of the Jacobian of all outputs at all rows
WORK = 5e7  # multiplications of all evaluations
EPS = float(np.finfo(np.float64).eps)


def tangent_spectrum(net: Network, rng: np.random.Generator) -> Part:
    r"""Eigenvalues of $JJ^\top$, $J$ the derivative of all outputs at some rows by all parameters."""
    if not net.parameters:
        raise SubjectError(
            "This network has no parameters.",
            remedy="give an equinox module, or a file with weights",
        )
    outputs = int(np.prod(net.output_shape))
    affordable = min(ENTRIES / net.parameters, WORK / multiplications(net)) / outputs
    rows = int(np.clip(affordable, 1, ROWS))
    x, source = some_rows(net, rows, rng)
    objective = Objective.of(
        (net.params, net.apply), (x, np.zeros((len(x), *net.output_shape))), "squared"
    )
    told = f"{source}, {outputs} output{'s' * (outputs > 1)}"
    matrix = objective.kernel_matrix()
    if matrix is None:
        top = extremes(objective.tangent_kernel(), 1, "largest", rng=rng, products=12).top()
        return Part((Fact("largest eigenvalue", top, told),))
    return _spectrum(matrix, told)


def _spectrum(matrix: np.ndarray, told: str) -> Part:
    values = np.maximum(np.linalg.eigvalsh((matrix + matrix.T) / 2)[::-1], 0.0)
    error = 16 * len(values) * EPS * float(values[0])  # of the eigenvalues that float64 finds
    trace = float(values.sum())
    squares = float((values**2).sum())
    facts = [
        Fact("eigenvalues", Enclosure.exact(len(values)), told),
        Fact("largest eigenvalue", Enclosure.equal(float(values[0])), told),
        Fact("smallest eigenvalue", _enclose_smallest(float(values[-1]), error), told),
        Fact("trace", Enclosure.equal(trace), told),
        Fact("numerical rank", Enclosure.equal(float((values > error).sum())), told),
    ]
    if squares > 0:
        facts.append(Fact("effective rank, (Σλ)² / Σλ²", Enclosure.equal(trace**2 / squares), told))
    if values[-1] > error:
        facts.append(Fact("condition number", Enclosure.equal(float(values[0] / values[-1])), told))
    shown = values[values > error]
    series = Series(
        "eigenvalue",
        np.arange(1, len(shown) + 1),
        shown,
        mark="line" if len(shown) > 1 else "points",
    )
    return Part(
        tuple(facts),
        charts=(
            Curves(
                "spectrum of the tangent kernel",
                Axis("number"),
                Axis("eigenvalue", "log"),
                (series,),
            ),
        )
        if len(shown)
        else (),
    )


def _enclose_smallest(value: float, error: float) -> Enclosure:
    return Enclosure.equal(value) if value > error else Enclosure(0.0, error)
