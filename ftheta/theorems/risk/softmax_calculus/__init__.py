"""Softmax: probabilities from scores, their derivatives, and whether they can be believed."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Points,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description
from ftheta.risks.outputs import asked_loss, outputs_of
from ftheta.risks.softmax import (
    MOST_CLASSES,
    half_gap,
    jacobian_norm,
    log_sum_exp,
    softmax,
    variance_gap,
)
from ftheta.subjects import Dataset, Network

from .at_logits import derivative_errors, shift_error, stability
from .calibration import Calibration, calibration
from .simplex import simplex_grid, simplex_points

ZERO = Enclosure.exact(0)
HALF = Enclosure.exact(0.5)
ROUNDING = Enclosure.exact(2.0**-46)
ROWS = 64  # logits that are looked at one by one
GRID = 160


def softmax_model(
    rng: np.random.Generator,
    *,
    classes: Annotated[int, Knob(2, 10, "classes", "K", most=100)] = 3,
    rows: Annotated[int, Knob(50, 5000, "rows", "n", log=True, least=10, most=100_000)] = 1500,
    temperature: Annotated[
        float,
        Knob(
            0.2,
            5,
            "labels are drawn from softmax(z/T): 1 is calibrated",
            "T",
            log=True,
            least=0.01,
            most=100,
        ),
    ] = 1.0,
) -> Network:
    angles = 2 * np.pi * np.arange(classes) / classes
    net = Description(
        (Dense(1.5 * np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(classes)),)
    )
    x = rng.normal(size=(rows, 2))
    z = x @ net.layers[0].weight.T / temperature
    # the largest of z + Gumbel noise has the law softmax(z)
    labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
    return Network.described(net, f"linear scores of {classes} classes").with_data(
        Dataset("drawn", x, labels)
    )


@hypothesis(
    r"the outputs are scores $z\in\mathbb R^K$ of classes",
    remedy="give labelled --data, one class per row",
    name="scores of classes as outputs",
)
def scores_of_classes(net: Network) -> Finding:
    wanted = asked_loss(net)
    K = int(np.prod(net.output_shape))
    if wanted != "cross-entropy":
        return Finding.failed(
            "no data with labels" if wanted is None else "the labels are real numbers, not classes"
        )
    return Finding.decide(K >= 2, f"{K} classes", "counted", basis=Basis.EXACT)


@theorem(
    title="Calculus of the softmax",
    gist="Softmax turns scores into probabilities; its derivatives have a simple closed form and are bounded, and a "
    "calibration curve tells whether the probabilities can be believed.",
    see_also=("loss-zoo", "mle-interpretations", "self-attention"),
    sources=("murari-slides", "scaman-slides", "guo2017"),
    assumes=(scores_of_classes,),
    on=softmax_model,
    unbreakable=r"Softmax is defined for all $z\in\mathbb R^K$: there is no hypothesis on $z$ that could fail.",
    presets={
        "textbook": {},
        "overconfident": {"temperature": 3.0},
        "ten classes": {"classes": 10, "rows": 4000},
        "at the edge": {"classes": 2, "large": 1e12},
    },
)
def softmax_calculus(
    net: Network,
    rng: np.random.Generator,
    *,
    bins: Annotated[int, Knob(1, 50, "bins of the calibration curve", "B", most=1000)] = 10,
    large: Annotated[
        float, Knob(10, 1e4, "size of large logits", "|z|", log=True, least=1, most=1e12)
    ] = 1e4,
) -> Evidence:
    r"""$p=\mathrm{softmax}(z)$ has $p>0$, $\sum_kp_k=1$ and $\mathrm{softmax}(z+c)=\mathrm{softmax}(z)$. With
    $\mathrm{lse}(z)=\log\sum_ke^{z_k}$, which is convex, $$\nabla\mathrm{lse}=p,\qquad\nabla_z\mathrm{CE}(z,k)=p-e_k,
    \qquad\mathrm{Jac}=\mathrm{diag}(p)-pp^\top\succeq0,$$ the kernel of $\mathrm{Jac}$ is spanned by $\mathbf1$, and
    $\|\mathrm{Jac}\|_2\le\frac12$."""
    found = outputs_of(net)
    labels = None if found is None else found.classes
    if found is None or labels is None:
        return Evidence(())
    logits = found.predictions
    p = np.asarray(softmax(logits))
    calibrated = calibration(p, labels, bins)
    accuracy = float(np.mean(p.argmax(1) == labels))
    confidence = float(p.max(1).mean())
    off = f"{calibrated.outside} of {len(calibrated.bins)} bins off"
    numbers = {
        "cross-entropy of equal logits": float(log_sum_exp(np.zeros(logits.shape[1]))),
        "expected calibration error": calibrated.expected_error,
        "accuracy": accuracy,
        "mean confidence": confidence,
    }
    in_simplex = (_draw_probabilities(p[:600], labels[:600]),) if logits.shape[1] == 3 else ()
    return Evidence(
        _claims(logits, labels),
        (_draw_calibration(calibrated), *in_simplex),
        numbers,
        (_calibration_table(calibrated),),
        summary=f"accuracy {accuracy:.4g}, mean confidence {confidence:.4g}, "
        f"expected calibration error {calibrated.expected_error:.4g}; {off}",
        examples=partial(_examples, _some_rows(logits), large),
    )


def _claims(logits: np.ndarray, labels: np.ndarray) -> tuple[Claim, ...]:
    """The formulas at the network's own logits: the norm of the Jacobian, and the gradient of its risk."""
    few = _some_rows(logits)
    p = np.asarray(softmax(few))
    steepest = Enclosure.at_least(float(jacobian_norm(p).max()), samples=len(few))
    error = derivative_errors(few)["Jacobian"]
    by_differentiation = _bias_gradient(logits, labels)
    formula = np.asarray(softmax(logits)).mean(0) - np.bincount(
        labels, minlength=logits.shape[1]
    ) / len(labels)
    return (
        AtMost("‖J‖₂ at the rows", steepest, HALF),
        Identity(
            "Jacobian by differences − (diag p − ppᵀ)", _measurement(error, few), ZERO, atol=1e-8
        ),
        Identity(
            "gradient of the mean cross-entropy in a bias of the logits, and mean p − class frequencies: norms",
            _measurement(float(np.linalg.norm(by_differentiation)), logits),
            Enclosure.equal(float(np.linalg.norm(formula))),
            atol=1e-12,
        ),
    )


def _bias_gradient(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    r"""$\nabla_b\frac1n\sum_i\mathrm{CE}(z_i+b,k_i)$ at $b=0$, by JAX."""
    with jax.enable_x64(True):
        z = jnp.asarray(logits, float)
        own = jnp.arange(len(labels)), jnp.asarray(labels)
        risk = lambda b: jnp.mean(log_sum_exp(z + b) - (z + b)[own])
        return np.asarray(jax.grad(risk)(jnp.zeros(z.shape[1])))


def _some_rows(logits: np.ndarray) -> np.ndarray:
    """At most `ROWS` rows of logits, evenly spread."""
    return logits[:: max(1, len(logits) // ROWS)][:ROWS]


def _measurement(value: float, rows: np.ndarray) -> Enclosure:
    return Enclosure.measured(value, samples=len(rows))


def _examples(logits: np.ndarray, large: float) -> Examples:
    """What holds for all z, as identities of polynomials; and that nothing overflows, also at logits of ±`large`."""
    K = logits.shape[1]
    apart = sum(variance_gap(k) for k in range(1, MOST_CLASSES + 1))
    errors = derivative_errors(logits)
    extreme = np.vstack([logits, large * np.eye(K), -large * np.eye(K), np.full((1, K), large)])
    lse, p, _ = stability(extreme)
    rows = f"{len(extreme)} rows of logits, up to ±{large:g}"
    claims = (
        Identity(
            "coefficients by which vᵀJv is not Σ pᵢpⱼ(vᵢ − vⱼ)², up to 6 classes",
            Enclosure.exact(apart),
            ZERO,
        ),
        Identity(
            "coefficients by which ½ − 2p(1 − p) is not (1 − 2p)²/2",
            Enclosure.exact(half_gap()),
            ZERO,
        ),
        AtMost(f"error of lse, relative to max(1, ·), at {rows}", lse, ROUNDING),
        AtMost("error of p there", p, ROUNDING),
        Identity(
            "p(z + c) − p(z) for c = 1000",
            _measurement(shift_error(logits, 1000.0), logits),
            ZERO,
            atol=1e-12,
        ),
        Identity("∇lse − p", _measurement(errors["gradient of lse"], logits), ZERO, atol=1e-12),
        Identity(
            "∇CE(z, k) − (p − e_k)",
            _measurement(errors["gradient of CE"], logits),
            ZERO,
            atol=1e-12,
        ),
    )
    numbers = {
        "‖J‖ at (½, ½)": float(jacobian_norm(np.array([0.5, 0.5]))),
        "lse at large": float(log_sum_exp(np.array([large, 0.0]))),
    }
    return Examples(claims, (_draw_norm_over_simplex(),), numbers=numbers)


def _draw_norm_over_simplex() -> Heatmap:
    """The norm of the Jacobian over the simplex of three classes: ½ in the middle of every edge."""
    p, inside = simplex_grid(GRID)
    values = np.full(inside.shape, np.inf)  # nothing is drawn there
    values[inside] = jacobian_norm(p[inside])
    extent = (0.0, 1.0, 0.0, float(np.sqrt(3) / 2))
    title = "‖diag p − ppᵀ‖₂ over the simplex of three probabilities"
    return Heatmap(title, Axis("e₁ left, e₂ right, e₃ on top"), Axis(), values, extent, "norm")


def _draw_probabilities(p: np.ndarray, labels: np.ndarray) -> Points:
    order = np.argsort(labels, kind="stable")  # the legend in the order of the classes
    at = simplex_points(p)[order]
    groups = tuple(f"class {k}" for k in labels[order])
    return Points(
        "predicted probabilities by true class",
        Axis("e₁ left, e₂ right, e₃ on top"),
        Axis(),
        at[:, 0],
        at[:, 1],
        groups,
    )


def _draw_calibration(found: Calibration) -> Curves:
    """Accuracy against confidence, with exact binomial intervals."""
    confidence = [b.confidence for b in found.bins]
    accuracy = [b.accuracy for b in found.bins]
    lo = [b.frequency.lo for b in found.bins]
    hi = [b.frequency.hi for b in found.bins]
    series = (
        Series("calibrated", [0.0, 1.0], [0.0, 1.0], "reference"),
        Series("accuracy, 95% interval", confidence, accuracy, "measured", "line", lo, hi),
    )
    return Curves("calibration curve", Axis("confidence"), Axis("accuracy"), series)


def _calibration_table(found: Calibration) -> Table:
    columns = ("from", "to", "rows", "confidence", "accuracy", "95% from", "to ")
    rows = [
        (b.lo, b.hi, b.rows, b.confidence, b.accuracy, b.frequency.lo, b.frequency.hi)
        for b in found.bins
    ]
    return Table("calibration", columns, tuple(rows))
