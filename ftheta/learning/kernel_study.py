"""The kernel lift shown: primal against dual, rows left out, the ring before and after, a network's own features."""

from fractions import Fraction

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Heatmap, Identity, Points, Series, Table
from ftheta.spectra.curvature import eigenvalue_range

from .features import Features, linear_probe, principal, ridge_objective, score, targets_of
from .kernels import (
    ExactRidge,
    Kernel,
    KernelRidge,
    exact_ridge,
    kernel,
    kernel_ridge,
    left_out_by_fitting,
    ridge_primal,
    rival_gap,
)
from .outputs import Outputs

ZERO = Enclosure.exact(0)
RIVALS = 64


def ring(rng: np.random.Generator, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """A disc (label 1) inside a ring (label −1)."""
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    radius = np.where(labels > 0, 0.8 * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(1.3, 1.9, n))
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), labels


def gram_claims(fit: KernelRidge, y: np.ndarray, ridge: float, exact: ExactRidge | None) -> list[Claim]:
    """Positive Gram matrix, primal = dual, and the shortcut for rows left out."""
    K = fit.kernel.of(fit.X, fit.X)
    size = max(float(np.abs(K).max()), 1e-300)
    least = eigenvalue_range(K)[0]
    claims: list[Claim] = [AtMost("0 ≤ λ_min(K)", ZERO, least, atol=1e-10 * size * len(K))]
    if exact is not None:
        apart = [abs(a - b) for a, b in zip(exact.primal, exact.dual)]
        left = [abs(a - b) for a, b in zip(exact.shortcut, exact.again)]
        return [
            *claims,
            Identity("largest ⟨φ(x), θ⟩ − Σ αᵢk(xᵢ, x) on the rows", Enclosure.exact(max(apart)), ZERO),
            Identity("αᵢ/((K + λI)⁻¹)ᵢᵢ − the residual of a fit without row i", Enclosure.exact(max(left)), ZERO),
        ]
    phi = _square_root(K) if fit.kernel.features is None else fit.kernel.features(fit.X)
    primal = phi @ ridge_primal(phi, y, ridge)
    scale = max(float(np.abs(y).max()), 1e-300)
    off = float(np.abs(primal - fit.fitted).max()) / scale
    slow = left_out_by_fitting(fit.X, y, fit.kernel, ridge)
    left_off = float(np.abs(slow - fit.residuals_left_out[: len(slow)]).max()) / scale
    return [
        *claims,
        Identity("⟨φ(x), θ⟩ − Σ αᵢk(xᵢ, x) on the rows, relative", Enclosure.equal(off), ZERO, atol=1e-7),
        Identity(
            "αᵢ/((K + λI)⁻¹)ᵢᵢ − the residual without row i, relative", Enclosure.equal(left_off), ZERO, atol=1e-7
        ),
    ]


def _square_root(K: np.ndarray) -> np.ndarray:
    """Features on the rows alone: ΦΦᵀ = K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def representer_claim(fit: KernelRidge, y: np.ndarray, ridge: float, rng: np.random.Generator) -> AtMost:
    gap = rival_gap(fit, y, ridge, rng, RIVALS)
    rounding = 1e-12 * float(np.mean(y**2))
    what = "objective of Σ αᵢk(xᵢ, ·) − that of functions with four more centres"
    return AtMost(what, Enclosure.at_least(-gap - rounding, samples=RIVALS), ZERO)


# ---- figures --------------------------------------------------------------------------------------------------------


def before(X: np.ndarray, labels: np.ndarray) -> Curves:
    series = [
        Series("+1" if s > 0 else "−1", X[labels == s, 0], X[labels == s, 1], "measured", "points") for s in (1, -1)
    ]
    return Curves("before the lift: no line separates", Axis("x₁"), Axis("x₂"), tuple(series))


def after(X: np.ndarray, labels: np.ndarray, fit: KernelRidge) -> Curves:
    """Two directions of the lifted space: the fitted function, and the first principal one."""
    K = fit.kernel.of(X, X)
    n = len(X)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centre @ K @ centre)
    up = vectors[:, -1] * np.sqrt(max(values[-1], 0))
    series = [
        Series("+1" if s > 0 else "−1", fit.fitted[labels == s], up[labels == s], "measured", "points") for s in (1, -1)
    ]
    series.append(Series("a hyperplane", [0.0, 0.0], [up.max(), up.min()], "bound"))
    title = f"after the lift by the {fit.kernel.name} kernel"
    return Curves(title, Axis("⟨f, φ(x)⟩ = Σ αᵢk(xᵢ, x)"), Axis("first principal coordinate of φ(x)"), tuple(series))


def landscape(X: np.ndarray, fit: KernelRidge) -> Heatmap:
    """The fitted function in the plane."""
    lo, hi = X.min(0) - 0.2 * np.ptp(X, axis=0), X.max(0) + 0.2 * np.ptp(X, axis=0)
    a, b = (np.linspace(lo[k], hi[k], 90) for k in (0, 1))
    grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    values = fit.predict(grid).reshape(90, 90)
    extent = (lo[0], hi[0], lo[1], hi[1])
    return Heatmap(f"f = Σ αᵢk(xᵢ, ·), {fit.kernel.name}", Axis("x₁"), Axis("x₂"), values, extent, "f")


def spectrum_chart(values: np.ndarray, title: str) -> Curves:
    shown = values[values > values.max(initial=0.0) * 1e-16]
    series = (Series("eigenvalues", np.arange(1, len(shown) + 1), shown, "measured", "points"),)
    return Curves(title, Axis("index", "log"), Axis("eigenvalue", "log"), series)


def ring_charts(rng: np.random.Generator, lift: Kernel) -> tuple[Curves, ...]:
    """The disc in the ring; a linear kernel lifts nothing, so that squares take its place."""
    X, labels = ring(rng)
    used = kernel("polynomial", degree=2) if lift.name == "linear" else lift
    return before(X, labels), after(X, labels, kernel_ridge(X, labels, used, 0.1))


# ---- evidence -------------------------------------------------------------------------------------------------------


def data_evidence(
    X: np.ndarray, y: np.ndarray, lift: Kernel, ridge: float, degree: int, rng: np.random.Generator
) -> Evidence:
    """Kernel ridge on rows with one target each."""
    fit, exact = kernel_ridge(X, y, lift, ridge), exact_ridge(X, y, lift, ridge, degree)
    claims = (*gram_claims(fit, y, ridge, exact), representer_claim(fit, y, ridge, rng))
    known = lambda values: [
        Enclosure.exact(v) if isinstance(v, Fraction) else Enclosure.equal(float(v)) for v in values
    ]
    alpha, fitted = (fit.alpha, fit.fitted) if exact is None else (exact.alpha, exact.dual)
    numbers = {f"α {i + 1}": v for i, v in enumerate(known(alpha[:6]))}
    numbers |= {f"f(x {i + 1})": v for i, v in enumerate(known(fitted[:6]))}
    numbers |= {} if exact is None else {f"θ {i + 1}": v for i, v in enumerate(known(exact.theta[:6]))}
    left = float(np.mean(fit.residuals_left_out**2))
    numbers |= {
        "training risk": Enclosure.equal(float(np.mean((fit.fitted - y) ** 2))),
        "leave-one-out risk": Enclosure.equal(left),
    }
    flat = X.shape[1] == 2 and set(np.unique(y).tolist()) == {-1.0, 1.0}
    own = (before(X, y), after(X, y, fit), landscape(X, fit)) if flat else ring_charts(rng, lift)
    values = np.maximum(np.linalg.eigvalsh(lift.of(X, X))[::-1], 0)
    charts = (*own, spectrum_chart(values, f"spectrum of the Gram matrix, {lift.name}"))
    told = f"{lift.name} kernel, λ = {ridge:g}: training risk {float(np.mean((fit.fitted - y) ** 2)):.6g}"
    return Evidence(claims, charts, numbers, summary=f"{told}, with each row left out {left:.6g}")


def network_evidence(found: Features, data: Outputs, ridge: float) -> Evidence:
    """A network against ridge regression on its own features."""
    classes = data.classes
    y = targets_of(data.y, classes, found.outputs.shape[1])
    probe = linear_probe(found.phi, y, ridge)
    own = ridge_objective(found.phi, y, found.weight, found.bias, ridge)
    refit = probe.objective(found.phi, y)
    claims = (
        found.claim(),
        AtMost(
            "ridge objective of the last layer refitted ≤ that of its own", Enclosure.equal(refit), Enclosure.equal(own)
        ),
    )
    word = "accuracy" if classes is not None else "R²"
    scores = {
        f"{word} of the network": score(found.outputs, y, classes),
        f"{word} of the probe": score(probe.fitted, y, classes),
        f"{word} of the probe, rows left out": score(probe.left_out, y, classes),
    }
    values = found.spectrum()
    rank = float(values.sum() ** 2 / max(float((values**2).sum()), 1e-300))
    numbers = scores | {
        "features": float(found.phi.shape[1]),
        "effective rank": rank,
        "largest eigenvalue": float(values[0]),
    }
    order = np.arange(len(y)) if classes is None else np.argsort(classes, kind="stable")
    groups = () if classes is None else tuple(f"class {k}" for k in classes[order])
    at = principal(found.phi)[order]
    scatter = Points(
        "learned features, two principal coordinates", Axis("first"), Axis("second"), at[:, 0], at[:, 1], groups
    )
    table = Table("linear probe", ("what", word), tuple(scores.items()))
    told = "; ".join(f"{name} {value:.4g}" for name, value in scores.items())
    charts = (scatter, spectrum_chart(values, "spectrum of the learned kernel ΦΦᵀ/n"))
    return Evidence(claims, charts, numbers, (table,), summary=f"{found.phi.shape[1]} features; {told}")
