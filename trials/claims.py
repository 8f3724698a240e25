"""Trials of claims: what float64 makes of huge offsets must not refute a theorem, and no comparison may look away."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.estimates import worst_ratio
from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import AtMost, Basis, Enclosure, Identity, Verdict, Witness
from ftheta.networks import Dense, Description
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Training
from ftheta.theorems.gradients.backprop_mlp import backprop_mlp
from ftheta.theorems.gradients.gradient_product_bound import gradient_product_bound
from ftheta.theorems.optimisation.gd_strongly_convex import claim_contraction, gd_strongly_convex
from ftheta.theorems.perceptrons.network_description_realisation import (
    network_description_realisation,
)
from ftheta.theorems.robustness.lipschitz_bounds import lipschitz_bounds
from ftheta.training import gradient_descent

from . import Trial

THEOREMS = {
    t.id: t
    for t in (
        lipschitz_bounds,
        gradient_product_bound,
        network_description_realisation,
        backprop_mlp,
    )
}
"""About every described network: none of them can fail on one."""
KNOBS: dict[str, dict[str, Any]] = {"lipschitz-bounds": {"points": 16, "climbs": 2}}


def _network(
    rng: np.random.Generator, activations: tuple[str, ...] = ("relu", "tanh", "identity")
) -> Description:
    """Layers with offsets up to 10¹⁵, slopes down to 10⁻⁸, weights born in float32, and offsets that cancel later."""
    widths = [int(w) for w in rng.integers(1, 5, size=rng.integers(2, 5))]
    layers = []
    for inputs, outputs in pairwise(widths):
        weight = 10.0 ** rng.uniform(-8, 2) * rng.normal(size=(outputs, inputs))
        bias = rng.choice([0.0, 1.0, 10.0 ** rng.uniform(3, 15)]) * rng.normal(size=outputs)
        if rng.random() < 0.3:
            weight, bias = (a.astype(np.float32).astype(np.float64) for a in (weight, bias))
        if layers and rng.random() < 0.5:  # the offset of the layer before cancels
            bias = bias - weight @ layers[-1].bias
        layers.append(Dense(weight, bias, str(rng.choice(activations))))
    return Description((*layers[:-1], Dense(layers[-1].weight, layers[-1].bias)))


def _exact(net: Description, x: np.ndarray) -> list[Fraction]:
    """The value of a network of ReLU and identity layers in rationals."""
    state = [Fraction(v) for v in x.tolist()]
    for layer in net.layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist())
        state = [sum((Fraction(w) * s for w, s in zip(row, state)), Fraction(b)) for row, b in rows]
        state = [max(v, Fraction(0)) for v in state] if layer.activation == "relu" else state
    return state


def refuted_by_rounding(rng: np.random.Generator) -> str | None:
    """A theorem whose hypotheses hold, on a network in which float64 loses most digits."""
    net = _network(rng)
    id = str(rng.choice(list(THEOREMS)))
    subject = Network.described(net, "trial")
    if rng.random() < 0.5:
        x = rng.normal(size=(8, net.widths[0]))
        subject = subject.with_data(Dataset("rows", x, rng.normal(size=(8, net.widths[-1]))))
    result = run(THEOREMS[id], subject, seed=int(rng.integers(1000)), **KNOBS.get(id, {}))
    if result.verdict is not Verdict.REFUTED:
        return None
    reasons = "; ".join(
        j.claim.what for j in result.claims if j.judgement.verdict is Verdict.REFUTED
    )
    return f"{id} refuted on widths {net.widths}: {reasons}"


def enclosed_wrongly(rng: np.random.Generator) -> str | None:
    """The value at a point and the slope of a secant, in intervals and in rationals."""
    net = _network(rng, ("relu", "identity"))
    x, y = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=(2, net.widths[0]))
    truth = _exact(net, x)
    found = enclose_entry(net.apply, net.params, x, entry=0)
    if truth[0] not in found:
        return f"f(x) = {float(truth[0])!r} is not in [{found.lo!r}, {found.hi!r}]"
    rise = sum(((a - b) ** 2 for a, b in zip(truth, _exact(net, y))), Fraction(0))
    length = sum(
        ((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), y.tolist())), Fraction(0)
    )
    slope = enclosed_slopes(lambda v: net.apply(net.params, v), x[None], y[None])[0]
    below = Fraction(slope.lo) ** 2 <= rise / length
    above = not np.isfinite(slope.hi) or rise / length <= Fraction(slope.hi) ** 2
    return (
        None
        if below and above
        else f"slope² = {float(rise / length)!r} is not in the square of {slope}"
    )


def entry_overlooked(rng: np.random.Generator) -> str | None:
    """A sequence within its bound but for one place: where the bound is 0 or underflows, or with no number there."""
    n = int(rng.integers(1, 40))
    bounds = rng.choice([1.0, 1e-6, 0.0]) * 10.0 ** -np.cumsum(rng.uniform(0, 30, n))
    values = bounds * rng.uniform(0, 1, n)
    if worst_ratio(values, bounds) > 1:
        return "a sequence within its bound is said to be beyond it"
    place = int(rng.integers(n))
    values[place] = rng.choice([np.nan, np.inf, bounds[place] * 1.5 + 5e-324, 1.0 + bounds[place]])
    ratio = worst_ratio(values, bounds)
    claim = AtMost("ratio", Enclosure.equal(ratio), Enclosure.exact(1))
    if not claim.judge().verdict.holds:
        return None
    return f"value {values[place]!r} beside the bound {bounds[place]!r} at {place} of {n}: {claim.judge().verdict}"


def descent_overlooked(rng: np.random.Generator) -> str | None:
    """Gradient descent on a function that is not as curved as it is said to be, at all condition numbers."""
    mu = 10.0 ** rng.uniform(-2, 2)
    L = mu * (1.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(0, 3))
    excess = 10.0 ** rng.uniform(-2, 1)
    far = rng.uniform(0.5, 2)
    # the curvature at the start is L(1 + excess)
    objective = lambda theta: L * jnp.sum(theta**2 / 2 + excess * theta**4 / (12 * far**2))
    tau = 2 / (mu + L)
    gamma = 1 - 2 * tau * mu * L / (mu + L)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        path = gradient_descent(objective, np.array([far]), tau, int(rng.integers(1, 60)))
        claims = claim_contraction(objective, path, np.zeros(1), 0.0, gamma, (tau, mu, L))
    true_factor = abs(1 - tau * L * (1 + excess / 3))  # of the first step
    if true_factor <= max(abs(1 - tau * mu), abs(1 - tau * L)) * (1 + 1e-6):
        return None  # within the bound of a single step after all
    held = [claim.what for claim in claims if claim.judge().verdict.holds]
    if gamma**0.5 * (1 + 1e-6) < true_factor and held:
        return f"κ = {L / mu:.3g}, the first step has factor {true_factor:.6g}, yet holds: {held}"
    return (
        None
        if claims[1].judge().verdict is not Verdict.CERTIFIED
        else f"one-step factor {true_factor} certified"
    )


def descent_refuted(rng: np.random.Generator) -> str | None:
    """Gradient descent on a true quadratic, far from 0, ill-conditioned, with any step: never refuted."""
    d = int(rng.integers(1, 6))
    kappa = 1.0 if rng.random() < 0.3 else 10.0 ** rng.uniform(0, 8)
    curvatures = 10.0 ** rng.uniform(-3, 3) * np.sort(
        10.0 ** rng.uniform(0, np.log10(kappa) + 1e-12, d)
    )
    centre = 10.0 ** rng.uniform(-3, 8) * rng.normal(size=d)
    objective = lambda theta: jnp.sum(curvatures * (theta - centre) ** 2) / 2
    start = centre + rng.normal(size=d)
    subject = Training("trial", objective, start, optimum=centre, hessian=np.diag(curvatures))
    knobs: dict[str, Any] = {"step": float(rng.uniform(0.1, 1)), "steps": int(rng.integers(1, 200))}
    result = run(gd_strongly_convex, subject, **knobs)
    if result.verdict is not Verdict.REFUTED:
        return None
    return f"refuted at κ = {curvatures[-1] / curvatures[0]:.3g}, |θ*| = {np.abs(centre).max():.3g}: {result.summary}"


def _enclosure(rng: np.random.Generator, basis: Basis | None = None) -> Enclosure:
    ends = sorted(
        float(v)
        for v in rng.choice([-1.0, 0.0, 1.0, 1 + 1e-12, 3.0, 1e12], 2) + rng.choice([0.0, 1e-9])
    )
    lo, hi = ends if rng.random() < 0.5 else (ends[0], ends[0])
    chosen = basis or Basis(str(rng.choice([b.value for b in Basis])))
    return Enclosure(lo, hi, chosen, 7 if chosen is Basis.SAMPLED else None)


def judged_wrongly(rng: np.random.Generator) -> str | None:
    """A refutation without exact sides that are apart, or none with them; a proof of what is false of some pair."""
    kind: Any = AtMost if rng.random() < 0.5 else Identity
    left = _enclosure(rng)
    right = _enclosure(rng)
    one, other = (
        _enclosure(rng, Basis.EXACT if rng.random() < 0.5 else Basis.FLOAT) for _ in range(2)
    )
    claim = kind(
        "x", left, right, witness=Witness({}, one, other, "again") if rng.random() < 0.5 else None
    )
    apart = lambda a, b: a.lo > b.hi or (kind is Identity and b.lo > a.hi)
    exactly = lambda a, b: a.basis is b.basis is Basis.EXACT and apart(a, b)
    shown = exactly(left, right) or (claim.witness is not None and exactly(one, other))
    verdict = claim.judge().verdict
    if verdict is Verdict.REFUTED and not shown:
        return f"refuted without exact sides that are apart: {claim}"
    if exactly(left, right) and verdict is not Verdict.REFUTED:
        return f"exact sides are apart, yet {verdict}: {claim}"
    strict = left.hi <= right.lo if kind is AtMost else left.lo == left.hi == right.lo == right.hi
    return (
        f"proved, but not of every pair: {claim}"
        if verdict is Verdict.PROVED and not strict
        else None
    )


TRIALS = (
    Trial(
        "claims: refuted by rounding",
        "a true theorem refuted on a network with huge offsets",
        refuted_by_rounding,
        4,
    ),
    Trial(
        "claims: enclosed values",
        "a rational value or slope outside its enclosure",
        enclosed_wrongly,
        10,
    ),
    Trial(
        "claims: entry overlooked",
        "a bound broken at one place, and held to hold",
        entry_overlooked,
        300,
    ),
    Trial(
        "claims: descent overlooked",
        "a rate of descent that fails at a step, and holds",
        descent_overlooked,
        2,
    ),
    Trial("claims: descent refuted", "a true rate of descent refuted", descent_refuted, 2),
    Trial(
        "claims: judgements", "a judgement that says more than its enclosures", judged_wrongly, 500
    ),
)
