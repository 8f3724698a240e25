"""How steep the network is."""

import numpy as np

from ftheta.certify.lipschitz import inputs_near, product_bound, steepest_secant
from ftheta.logic import Enclosure, Fact, FthetaError, Status, SubjectError
from ftheta.networks import activation
from ftheta.pieces.plan import spectral_norm
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from ..part import Part, no_better
from .inputs import affordable, ensure_real_inputs, outputs_at, piecewise_affine, some_rows
from .large import is_large, loss_gradients

POINTS = 128
CLIMBS = 16
CLIMBING = 3e6  # multiplications of one evaluation, times the steps of an ascent
WORK = 2e9  # multiplications of all evaluations
SECANT = 1e-3  # of the norm of the row: its length, where the network is large


def steepness(net: Network, rng: np.random.Generator) -> Part:
    """The Lipschitz constant from below by a search, from above by the product of norms where layers are known."""
    ensure_real_inputs(net)
    if is_large(net):
        return _steepness_along_gradients(net)
    starts = inputs_near(
        None if net.data is None else net.data.x,
        net.input_shape,
        affordable(net, 1e7, 4, POINTS),
        1.0,
        rng,
    )
    steps = affordable(net, CLIMBING, 10, 100)
    climbs = affordable(net, 10 * CLIMBING, 2, CLIMBS)
    secant = steepest_secant(net, starts, rng, climbs=climbs, steps=steps)
    x, source = some_rows(net, affordable(net, WORK, 16, 1024), rng)
    sought = f"2-norm, sought from {len(starts):,} {'normal inputs' if net.data is None else 'rows and normal inputs'}"
    facts = [
        Fact(
            "Lipschitz lower bound (steepest secant found)", secant.known, sought, "lipschitz_lower"
        )
    ]
    bound = _product(net) or _product_of_steps(net)
    if bound is not None:
        everywhere = Enclosure.at_most(bound.hi, bound.basis)
        whose = "layers" if net.description is not None else "steps of its ReLU normal form"
        facts.append(
            Fact(
                "Lipschitz upper bound (product of spectral norms)",
                everywhere,
                f"2-norm of its {whose}, on all inputs",
                "lipschitz_upper",
            )
        )
    y = outputs_at(net, x)
    told = f"2-norm, {source}"
    if y.shape[1] > 1:
        top = np.sort(y, axis=1)
        gap = float(np.median(top[:, -1] - top[:, -2]))
        facts.append(Fact("median logit margin", Enclosure.measured(gap, samples=len(x)), told))
        if bound is not None and 0 < bound.hi < np.inf:
            radius = Enclosure.at_least(gap / (np.sqrt(2) * bound.hi), samples=len(x))
            facts.append(Fact("certified ℓ₂ radius, median (margin / √2 Lip)", radius, told))
    return Part(tuple(facts))


def _steepness_along_gradients(net: Network) -> Part:
    """From below alone: secants from a few rows along the gradient of the loss there, in which outputs move most."""
    known = loss_gradients(net)
    if known.by_inputs is None:
        raise SubjectError("Requires real-valued inputs.", got="token ids")
    x = known.x.reshape(len(known.x), -1).astype(np.float64)
    ways = known.by_inputs.reshape(x.shape)
    sizes = np.linalg.norm(ways, axis=1, keepdims=True)
    lengths = SECANT * np.linalg.norm(x, axis=1, keepdims=True)
    there = x + lengths * ways / np.where(sizes > 0, sizes, 1.0)
    ends = outputs_at(net, np.concatenate([x, there]).reshape(-1, *net.input_shape))
    rise = np.linalg.norm(ends[len(x) :] - ends[: len(x)], axis=1)
    length = np.linalg.norm(there - x, axis=1)
    steepest = float((rise / np.where(length > 0, length, np.inf)).max())
    told = f"2-norm, secants along the gradients of the loss at {len(x)} rows; no upper bound of a network of this size"
    lower = Enclosure.at_least(steepest, samples=len(x))
    return Part(
        (Fact("Lipschitz lower bound (steepest secant found)", lower, told, "lipschitz_lower"),)
    )


def _product(net: Network) -> Enclosure | None:
    """The bound, where the layers are known to be what is computed."""
    if net.description is None:
        return None
    described = describes_this_function(net, {})
    steepest = max(activation(layer.activation).lipschitz.hi for layer in net.description.layers)
    if described.status is not Status.PROVED or not np.isfinite(steepest):
        return None
    return no_better(product_bound(net.description), described.basis)


def _product_of_steps(net: Network) -> Enclosure | None:
    """The same for the normal form of a network whose layers are not listed, such as a convolutional one."""
    if net.description is not None:
        return None
    try:
        form, _ = piecewise_affine(net)
    except FthetaError:
        return None
    bound = float(np.prod([spectral_norm(step.matrix) for step in form.steps]))
    return Enclosure.at_most(bound) if np.isfinite(bound) else None
