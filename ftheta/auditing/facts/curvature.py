"""The constants of the loss at the parameters as they are."""

from dataclasses import replace
from typing import Any

import numpy as np

from ftheta.logic import Enclosure, Fact, SubjectError
from ftheta.spectra import extremes
from ftheta.spectra.objective import Objective, natural_objective
from ftheta.subjects import Network

from ..part import Part
from .inputs import describe_misfit, describe_rows, labelled_data, multiplications

ROWS = (4, 256)  # at least, at most
PRODUCTS = (10, 120)
A_PRODUCT = 2e8  # multiplications, about
WORK = 1e10  # of all products
KEYS = {"largest stable step of gradient descent": "stable_step", "largest eigenvalue of the Hessian": "sharpness"}
MEMORY = 1 << 30  # bytes of the vectors that Lanczos keeps


def curvature_of_the_loss(net: Network, rng: np.random.Generator) -> Part:
    """The ends of the spectrum of the Hessian, and the largest step at which gradient descent is stable."""
    data, y = labelled_data(net)
    each = 8 * multiplications(net)  # of a row, in a product with the Hessian
    objective = natural_objective(net, int(np.clip(A_PRODUCT // each, *ROWS)))
    if objective is None:
        remedy = "give one class per row, or one number per output"
        raise SubjectError("No loss fits these labels.", got=describe_misfit(net, y), remedy=remedy)
    told = f"{objective.loss.name} loss on {describe_rows(len(objective.examples), data)}"
    value, slope = objective.value_and_gradient()
    ends = extremes(objective.hessian(), rng=rng, **_effort(objective, each))
    top = ends.top()
    norm = float(np.linalg.norm(slope))
    known = {
        "loss": Enclosure.equal(value),
        "norm of the gradient": Enclosure.equal(norm),
        "largest Ritz value": ends.largest.near(0),
        "smallest Ritz value": ends.smallest.near(0),
        "largest eigenvalue of the Hessian": top,
        "smallest eigenvalue of the Hessian": ends.bottom(),
        "local smoothness ‖∇²L‖": ends.norm(),
    }
    if top.lo > 0:
        step = Enclosure.exact(2) / top
        known["largest stable step of gradient descent"] = replace(step, lo=max(step.lo, 0.0))
    if value > 0:
        known["PL ratio, assuming L* = 0"] = Enclosure.equal(norm**2 / 2 / value)
    facts = [Fact(name, number, told, KEYS.get(name, "")) for name, number in known.items()]
    if not ends.converged:
        facts.append(Fact("eigenvalues", f"{ends.products} products with the Hessian were not enough", told))
    return Part(tuple(facts))


def _effort(objective: Objective, each: int) -> dict[str, Any]:
    """Eigenvalues at both ends, within the work and the memory that a network of this size leaves."""
    size = objective.size
    rows = len(objective.examples)
    products = int(np.clip(WORK / (each * rows), *PRODUCTS))
    vectors = int(np.clip(MEMORY / (8 * size), 6, 48))
    return {"k": 1, "ends": "both", "tol": 1e-3, "products": products, "basis": min(vectors, max(size - 1, 1))}
