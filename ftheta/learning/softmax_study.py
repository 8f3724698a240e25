"""The calculus of the softmax at a network's own logits, and whether its probabilities mean what they say."""

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Enclosure, Evidence, Heatmap, Identity, Points

from .calibration import calibration
from .softmax import (
    MOST_CLASSES,
    derivative_errors,
    half_gap,
    jacobian_norm,
    log_sum_exp,
    shift_error,
    simplex_grid,
    simplex_points,
    softmax,
    stability,
    variance_gap,
)

ZERO, HALF = Enclosure.exact(0), Enclosure.exact(0.5)
ROUNDING = Enclosure.exact(2.0**-46)
ROWS = 64  # logits that are looked at one by one
GRID = 160


def identities() -> tuple[Claim, ...]:
    """What holds for all z, as identities of polynomials."""
    apart = sum(variance_gap(k) for k in range(1, MOST_CLASSES + 1))
    return (
        Identity("coefficients by which vᵀJv is not Σ pᵢpⱼ(vᵢ − vⱼ)², up to 6 classes", Enclosure.exact(apart), ZERO),
        Identity("coefficients by which ½ − 2p(1 − p) is not (1 − 2p)²/2", Enclosure.exact(half_gap()), ZERO),
    )


def numerical_claims(logits: np.ndarray, large: float) -> tuple[Claim, ...]:
    """Formulas against derivatives at the rows; no overflow at the rows and at logits as large as ±`large`."""
    K, n = logits.shape[1], len(logits)
    errors = derivative_errors(logits)
    extreme = np.vstack([logits, large * np.eye(K), -large * np.eye(K), np.full((1, K), large)])
    lse, p, _ = stability(extreme)
    rows = f"{len(extreme)} rows of logits, up to ±{large:g}"
    steep = Enclosure.at_least(float(jacobian_norm(np.asarray(softmax(logits))).max()), samples=n)
    seen = lambda value: Enclosure.measured(value, samples=n)
    return (
        AtMost(f"error of lse, relative to max(1, ·), at {rows}", lse, ROUNDING),
        AtMost("error of p there", p, ROUNDING),
        Identity("p(z + c) − p(z) for c = 1000", seen(shift_error(logits, 1000.0)), ZERO, atol=1e-12),
        Identity("Jacobian by differences − (diag p − ppᵀ)", seen(errors["Jacobian"]), ZERO, atol=1e-8),
        Identity("∇lse − p", seen(errors["gradient of lse"]), ZERO, atol=1e-12),
        Identity("∇CE(z, k) − (p − e_k)", seen(errors["gradient of CE"]), ZERO, atol=1e-12),
        AtMost("‖J‖₂ at the rows", steep, HALF),
    )


def norm_map() -> Heatmap:
    """The norm of the Jacobian over the simplex of three classes: ½ in the middle of every edge."""
    p, inside = simplex_grid(GRID)
    values = np.full(inside.shape, np.inf)  # nothing is drawn there
    values[inside] = jacobian_norm(p[inside])
    extent = (0.0, 1.0, 0.0, float(np.sqrt(3) / 2))
    title = "‖diag p − ppᵀ‖₂ over the simplex of three probabilities"
    return Heatmap(title, Axis("e₁ left, e₂ right, e₃ on top"), Axis(), values, extent, "norm")


def simplex_chart(p: np.ndarray, labels: np.ndarray) -> Points:
    order = np.argsort(labels, kind="stable")  # the legend in the order of the classes
    at, groups = simplex_points(p)[order], tuple(f"class {k}" for k in labels[order])
    return Points(
        "predicted probabilities by true class",
        Axis("e₁ left, e₂ right, e₃ on top"),
        Axis(),
        at[:, 0],
        at[:, 1],
        groups,
    )


def softmax_evidence(logits: np.ndarray, labels: np.ndarray, bins: int, large: float) -> Evidence:
    few = logits[:: max(1, len(logits) // ROWS)][:ROWS]
    p = np.asarray(softmax(logits))
    found = calibration(p, labels, bins)
    K = logits.shape[1]
    numbers = {
        "cross-entropy of equal logits": float(log_sum_exp(np.zeros(K))),
        "‖J‖ at (½, ½)": float(jacobian_norm(np.array([0.5, 0.5]))),
        "lse at large": float(log_sum_exp(np.array([large, 0.0]))),
        "expected calibration error": found.expected_error,
        "accuracy": float(np.mean(p.argmax(1) == labels)),
        "mean confidence": float(p.max(1).mean()),
    }
    drawn = (simplex_chart(p[:600], labels[:600]),) if K == 3 else ()
    told = f"accuracy {numbers['accuracy']:.4g}, mean confidence {numbers['mean confidence']:.4g}"
    told += f", expected calibration error {found.expected_error:.4g}; {found.outside} of {len(found.bins)} bins off"
    claims = (*identities(), *numerical_claims(few, large))
    return Evidence(claims, (found.chart(), norm_map(), *drawn), numbers, (found.table(),), summary=told)
