"""A linear model with a convex loss, shown on rows: fit, curvature, conditioning, and whether there is a minimiser."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.estimates import largest
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Points, Series, Table, Witness
from ftheta.spectra.curvature import eigenvalue_range
from ftheta.training.losses import loss_named

from .linear import (
    LogisticFit,
    condition,
    exact_least_squares,
    least_squares,
    logistic_hessian,
    logistic_regression,
    logistic_value,
    squared_hessian,
)
from .separation import Separation, combination, products, separation
from .softmax import half_gap
from .surrogates import PROFILES, range_of

ZERO = Enclosure.exact(0)
REACH = 1000.0
POINTS = 16  # parameters at which Hessians are compared
Numbers = dict[str, Enclosure | float]


def signs_of(y: np.ndarray) -> np.ndarray | None:
    """Labels ±1 where there are two of them, 0 and 1 or −1 and 1; else None."""
    found = set(np.unique(y).tolist())
    return np.where(y > 0, 1.0, -1.0) if found in ({0.0, 1.0}, {-1.0, 1.0}) else None


def curvature_claims(x: np.ndarray, y: np.ndarray, loss: str, rng: np.random.Generator) -> tuple[Claim, ...]:
    """ℓ″ ≥ 0 by intervals makes E convex; its Hessian by JAX against the formula, and the least eigenvalue met."""
    bend = PROFILES[loss].bend or (lambda r: r)
    proved = range_of(bend, -REACH, REACH, lambda lo, hi: lo >= 0)
    thetas = rng.normal(size=(POINTS, x.shape[1])) * 10 ** rng.uniform(-1, 1, (POINTS, 1))
    one = loss_named(loss).of
    objective = lambda theta: jnp.mean(jax.vmap(one)(jnp.asarray(x) @ theta, jnp.asarray(y)))
    hessians = np.asarray(call_compiled(jax.vmap(jax.hessian(objective)), thetas))
    formula = [squared_hessian(x) if loss == "squared" else logistic_hessian(x, theta) for theta in thetas]
    size = float(np.abs(x.T @ x).max()) / len(x)
    gap = float(np.abs(hessians - formula).max()) / size
    least = min(float(np.linalg.eigvalsh(H)[0]) for H in formula) + 16 * len(x[0]) * np.finfo(float).eps * size
    return (
        AtMost(f"0 ≤ least ℓ″ on [−{REACH:g}, {REACH:g}], {loss}", ZERO, proved),
        Identity("∇²E by JAX − Σ ℓ″ x xᵀ/n, relative", Enclosure.measured(gap, samples=POINTS), ZERO, atol=1e-9),
        AtMost("0 ≤ λ_min(∇²E) and rounding", ZERO, Enclosure.measured(least, samples=POINTS)),
    )


def logistic_bound(x: np.ndarray) -> tuple[Claim, ...]:
    r"""$\nabla^2E\preceq\frac1{4n}X^\top X$ by a polynomial identity, with equality at 0."""
    at_zero = np.abs(logistic_hessian(x, np.zeros(x.shape[1])) - (x / 4).T @ x / len(x)).max()
    size = max(float(np.abs(x.T @ x).max()) / len(x), 1e-300)
    return (
        Identity("coefficients by which ¼ − σ(1 − σ) is not (½ − σ)²", Enclosure.exact(half_gap()), ZERO),
        Identity("∇²E(0) − XᵀX/4n, relative", Enclosure.equal(float(at_zero) / size), ZERO, atol=1e-12),
    )


def separation_claims(z: np.ndarray, found: Separation, fit: LogisticFit) -> tuple[Claim, ...]:
    """The certificate, checked again in rationals; and what it says of the minimiser."""
    if found.direction is not None:
        margins = products(z, found.direction)
        ahead = fit.theta + np.array(found.direction, float) / max(
            1e-300, float(np.linalg.norm(np.array(found.direction, float)))
        )
        lower, here = (Enclosure.equal(logistic_value(z, t)) for t in (ahead, fit.theta))
        return (
            AtMost("0 ≤ least margin ⟨z, w⟩", ZERO, Enclosure.exact(min(margins))),
            AtMost("largest −⟨z, w⟩, of a row that is not on the plane", Enclosure.exact(-max(margins)), ZERO),
            AtMost("E(θ + w/‖w‖) ≤ E(θ): no minimiser", lower, here, atol=1e-300),
        )
    if found.multipliers is None:
        return ()
    left = max((abs(v) for v in combination(z, found.multipliers)), default=Fraction(0))
    return (
        Identity("largest entry of Σ uᵢzᵢ", Enclosure.exact(left), ZERO),
        AtMost("−least uᵢ", Enclosure.exact(-min(found.multipliers)), ZERO),
        Identity("gradient at the minimiser, relative", Enclosure.equal(fit.gradient), ZERO, atol=1e-8),
    )


def normal_equations(x: np.ndarray, y: np.ndarray, theta: tuple[Fraction, ...]) -> Identity:
    residuals = [a - Fraction(b) for a, b in zip(products(x, theta), y.tolist())]
    worst = max(abs(v) for v in combination(x, residuals))
    return Identity("Xᵀ(Xθ − y) at least squares", Enclosure.exact(worst), ZERO)


# ---- figures --------------------------------------------------------------------------------------------------------


def feature_columns(x: np.ndarray) -> list[int]:
    """The columns that are not constant."""
    return [j for j in range(x.shape[1]) if np.ptp(x[:, j]) > 0]


def regression_chart(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> Curves:
    """The line where there is one feature; else predictions against targets."""
    told, varying = x @ theta, feature_columns(x)
    if len(varying) == 1:
        t = x[:, varying[0]]
        ends = np.array([t.min(), t.max()])
        at = np.repeat(x[:1], 2, axis=0)
        at[:, varying[0]] = ends
        series = (Series("rows", t, y, "measured", "points"), Series("least squares", ends, at @ theta, "bound"))
        return Curves("regression line", Axis("x"), Axis("y"), series)
    span = [float(min(y.min(), told.min())), float(max(y.max(), told.max()))]
    series = (Series("y = ŷ", span, span, "reference"), Series("rows", told, y, "measured", "points"))
    return Curves("targets against predictions of least squares", Axis("prediction"), Axis("target"), series)


def boundary_chart(x: np.ndarray, labels: np.ndarray, theta: np.ndarray, name: str) -> Curves | Points:
    """The classes in the plane with the boundary ⟨x, θ⟩ = 0; of more features, the scores."""
    varying = feature_columns(x)
    if len(varying) != 2:
        groups = tuple("+1" if s > 0 else "−1" for s in labels)
        return Points("scores of the rows", Axis("score ⟨x, θ⟩"), Axis("row"), x @ theta, np.arange(len(x)), groups)
    a, b = x[:, varying[0]], x[:, varying[1]]
    rest = float(sum(theta[j] * x[0, j] for j in range(x.shape[1]) if j not in varying))
    (p, q), series = (
        theta[varying],
        [Series("+1" if s > 0 else "−1", a[labels == s], b[labels == s], "measured", "points") for s in (1, -1)],
    )
    low, high = float(b.min()), float(b.max())
    room = 0.1 * (high - low)
    if abs(q) > 1e-12 * abs(p):
        t = np.linspace(a.min(), a.max(), 400)
        line = -(rest + p * t) / q
        kept = (line >= low - room) & (line <= high + room)
        series.append(Series(name, t[kept], line[kept], "bound"))
    elif p:
        series.append(Series(name, [-rest / p] * 2, [high, low], "bound"))
    return Curves("classification boundary", Axis("x₁"), Axis("x₂"), tuple(series))


# ---- evidence -------------------------------------------------------------------------------------------------------


def regression_evidence(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Evidence:
    exact = exact_least_squares(x, y)
    theta = least_squares(x, y) if exact is None else np.array(exact, float)
    claims = curvature_claims(x, y, "squared", rng)
    claims += () if exact is None else (normal_equations(x, y, exact),)
    least, largest = eigenvalue_range(squared_hessian(x))
    known = [Enclosure.equal(v) for v in theta.tolist()] if exact is None else [Enclosure.exact(v) for v in exact]
    numbers: Numbers = {f"θ {i + 1}": v for i, v in enumerate(known[:8])}
    numbers |= {"κ(XᵀX)": condition(x), "λ_min": least, "λ_max": largest}
    numbers["risk"] = float(np.mean((x @ theta - y) ** 2))
    told = f"least squares θ = ({', '.join(f'{v:.6g}' for v in theta[:6])}), risk {numbers['risk']:.6g}"
    summary = f"{told}, κ(XᵀX) = {condition(x):.6g}"
    return Evidence(claims, (regression_chart(x, y, theta),), numbers, summary=summary)


def classification_evidence(x: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> Evidence:
    z = labels[:, None] * x
    found, fit = separation(z), logistic_regression(z)
    claims = (*curvature_claims(x, labels, "logistic", rng), *logistic_bound(x), *separation_claims(z, found, fit))
    numbers: Numbers = {"κ(XᵀX)": condition(x), "loss": fit.loss, "errors": float(np.sum(z @ fit.theta <= 0))}
    numbers["minimiser"] = Enclosure() if found.has_minimiser is None else Enclosure.exact(int(found.has_minimiser))
    if found.has_minimiser:
        numbers |= {f"θ {i + 1}": float(v) for i, v in enumerate(fit.theta[:8])}
    words = {
        True: f"the minimiser has loss {fit.loss:.6g}",
        False: "the logistic loss has no minimiser",
        None: "not decided",
    }
    proof = "direction w" if found.direction else "multipliers u" if found.multipliers else "exact simplex"
    rows = (
        ("rows", found.kind),
        ("certificate", proof if found.kind != "undecided" else "none"),
        ("κ(XᵀX)", condition(x)),
    )
    table = Table("separability", ("question", "answer"), rows)
    direction = np.array(found.direction, float) if found.direction else fit.theta
    chart = boundary_chart(x, labels, direction, "separates" if found.direction else "logistic regression")
    told = "too many to decide" if found.has_minimiser is None else words[found.has_minimiser]
    summary = f"{found.kind} rows: {told}; κ(XᵀX) = {condition(x):.6g}"
    return Evidence(claims, (chart, ray_chart(z, fit, direction)), numbers, (table,), summary=summary)


def ray_chart(z: np.ndarray, fit: LogisticFit, direction: np.ndarray) -> Curves:
    """The loss along a ray: down for ever on separable rows, up again on others."""
    unit = direction / max(float(np.linalg.norm(direction)), 1e-300)
    size = max(1.0, float(np.linalg.norm(fit.theta)))
    t = np.geomspace(size / 100, size * 10, 160)
    loss = np.array([logistic_value(z, a * unit) for a in t])
    shown = loss > 1e-300
    return Curves(
        "loss along a ray", Axis("t", "log"), Axis("E(t w/‖w‖)", "log"), (Series("logistic", t[shown], loss[shown]),)
    )


# ---- models with parameters of their own ----------------------------------------------------------------------------


def nonlinearity(apply: Callable[[Any, Any], Any], params: Any, x: np.ndarray, rng: np.random.Generator) -> float:
    r"""The largest $|f_{\theta+\theta'}-f_\theta-f_{\theta'}+f_0|$ at random parameters, relative: 0 for a model linear
    (or affine) in its parameters."""
    flat, rebuild = ravel_pytree(params)
    at = lambda theta: np.asarray(jax.vmap(lambda row: apply(rebuild(jnp.asarray(theta)), row))(x))
    worst = size = 0.0
    for _ in range(4):
        a, b = rng.normal(size=(2, flat.size))
        parts = at(a + b), at(a), at(b), at(np.zeros(flat.size))
        worst = largest(worst, np.abs(parts[0] - parts[1] - parts[2] + parts[3]))
        size = max(size, *(float(np.abs(p).max()) for p in parts))
    return worst / max(size, 1e-300)


def least_curvature(
    apply: Callable[[Any, Any], Any], params: Any, x: np.ndarray, y: np.ndarray
) -> tuple[Enclosure, Witness | None]:
    """The least eigenvalue of the Hessian of the mean squared loss at the parameters as they are; where it is negative,
    the second derivative along its vector, in intervals."""
    flat, rebuild = ravel_pytree(params)
    predict = lambda theta: jax.vmap(lambda row: jnp.ravel(apply(rebuild(theta), row)))(x)
    objective = lambda theta: jnp.mean(jnp.sum((predict(theta) - y.reshape(len(x), -1)) ** 2, axis=1))
    hessian = np.asarray(jax.hessian(objective)(jnp.asarray(flat)))
    least = eigenvalue_range(hessian)[0]
    if least.hi >= 0:
        return least, None

    def bend(theta: Any, v: Any) -> Any:
        return v @ jax.jvp(jax.grad(objective), (theta,), (v,))[1]

    along = enclose_number(bend, np.asarray(flat, np.float64), np.linalg.eigh(hessian)[1][:, 0])
    return least, Witness({"t": 0.0}, ZERO, along, "the second derivative along one direction, in intervals")


def model_evidence(net: Any, rng: np.random.Generator) -> Evidence:
    """A network that is linear in its parameters: E is convex in them."""
    x, y = net.data.x, net.data.y.astype(float)
    least, witness = least_curvature(net.apply, net.params, x, y)
    claim = AtMost("0 ≤ λ_min(∇²E) at the network's own parameters", ZERO, least, witness=witness, atol=1e-9)
    flat, rebuild = ravel_pytree(net.params)
    t, direction = np.linspace(-1, 1, 121), rng.normal(size=flat.size)
    loss = []
    for a in t:
        told = jax.vmap(lambda row, a=a: jnp.ravel(net.apply(rebuild(flat + a * direction), row)))(x)
        loss.append(float(jnp.mean(jnp.sum((told - y.reshape(len(x), -1)) ** 2, axis=1))))
    chart = Curves("loss along a line through θ", Axis("t"), Axis("E(θ + t v)"), (Series("squared loss", t, loss),))
    return Evidence((claim,), (chart,), {"λ_min": least}, summary=f"λ_min(∇²E) = {least.middle:.6g} at the parameters")
