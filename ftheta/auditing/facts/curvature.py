"""The constants of the loss at the parameters as they are."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ftheta.logic import Basis, Enclosure, Fact, SubjectError
from ftheta.spectra import extremes
from ftheta.spectra.objective import Objective, natural_objective
from ftheta.subjects import Network

from ..part import Part
from .inputs import describe_misfit, describe_rows, labelled_data, multiplications
from .large import is_large, large_hessian, loss_gradients

ROWS = (4, 256)  # at least, at most
PRODUCTS = (10, 120)
A_PRODUCT = 2e8  # multiplications, about
WORK = 1e10  # of all products
KEYS = {
    "largest stable step of gradient descent": "stable_step",
    "largest eigenvalue of the Hessian": "sharpness",
}
FEW_PRODUCTS = 8  # of a large network
LOOSE = 0.05  # relative residual of its largest eigenvalue
MEMORY = 1 << 30  # bytes of the vectors that Lanczos keeps


def curvature_of_the_loss(net: Network, rng: np.random.Generator) -> Part:
    """The ends of the spectrum of the Hessian, and the largest step at which gradient descent is stable."""
    data, y = labelled_data(net)
    if is_large(net):
        return _curvature_of_large(net, rng)
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
        facts.append(
            Fact("eigenvalues", f"{ends.products} products with the Hessian were not enough", told)
        )
    return Part(tuple(facts))


def _curvature_of_large(net: Network, rng: np.random.Generator) -> Part:
    """The largest eigenvalue from below, by a few products in float32."""
    known = loss_gradients(net)
    operator, rows = large_hessian(net)
    ends = extremes(
        operator, k=1, ends="largest", tol=LOOSE, products=FEW_PRODUCTS, basis=FEW_PRODUCTS, rng=rng
    )
    top = float(ends.largest.values[0])
    told = f"{ends.products} products with the Hessian of the loss on {rows} rows, float32"
    norm = float(
        np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(known.by_parameters)))
    )
    facts = [
        Fact("loss", Enclosure.measured(known.loss, samples=len(known.x)), known.told),
        Fact("norm of the gradient", Enclosure.measured(norm, samples=len(known.x)), known.told),
        Fact(
            "largest eigenvalue of the Hessian",
            Enclosure.at_least(top, samples=ends.products),
            told,
            "sharpness",
        ),
    ]
    if top > 0:
        step = Enclosure(0.0, 2 / top, Basis.SAMPLED, ends.products)
        facts.append(Fact("largest stable step of gradient descent", step, told, "stable_step"))
    return Part(tuple(facts))


def _effort(objective: Objective, each: int) -> dict[str, Any]:
    """Eigenvalues at both ends, within the work and the memory that a network of this size leaves."""
    size = objective.size
    rows = len(objective.examples)
    products = int(np.clip(WORK / (each * rows), *PRODUCTS))
    vectors = int(np.clip(MEMORY / (8 * size), 6, 48))
    return {
        "k": 1,
        "ends": "both",
        "tol": 1e-3,
        "products": products,
        "basis": min(vectors, max(size - 1, 1)),
    }
