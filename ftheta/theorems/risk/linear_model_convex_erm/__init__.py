"""A linear model with a convex loss has a convex risk; the logistic one need not have a minimiser.

On data: the fit, the curvature and conditioning of its risk, and whether there is a minimiser. On a network that is
linear in its parameters: the curvature of its risk there.
"""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.compiling import call_compiled
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
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.risks.linear import (
    LogisticFit,
    condition,
    exact_least_squares,
    least_squares,
    logistic_hessian,
    logistic_regression,
    logistic_value,
    signs_of,
    squared_hessian,
)
from ftheta.risks.separation import Separation, combination, products, separation
from ftheta.risks.softmax import half_gap
from ftheta.risks.surrogates import PROFILES, range_of
from ftheta.spectra.curvature import eigenvalue_range
from ftheta.subjects import Dataset, Network
from ftheta.theorems.charts_classes import draw_boundary
from ftheta.training.losses import loss_named
from ftheta.training.study import first_rows

from .charts import draw_ray, draw_regression
from .curvature import least_curvature, nonlinearity

ZERO = Enclosure.exact(0)
REACH = 1000.0
POINTS = 16  # parameters at which Hessians are compared
KINDS = (
    "three points",
    "noisy line",
    "overlapping clouds",
    "separable clouds",
    "touching squares",
    "a product",
)
LOSSES = ("what the labels ask for", "squared")


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three points",
    size: Annotated[int, Knob(4, 400, "rows", "n", log=True, most=2000)] = 60,
) -> Dataset | Network:
    if kind == "a product":
        data = Dataset("y = x", np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]))
        return Network(
            "f(x) = a b x at a = b = 0", lambda p, x: p[0] * p[1] * x, np.zeros(2), (1,), data=data
        )
    if kind == "three points":
        return Dataset(
            kind, np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
        )
    if kind == "noisy line":
        x = np.column_stack([np.linspace(-1, 1, size), np.ones(size)])
        return Dataset(kind, x, x @ np.array([1.5, 0.5]) + 0.3 * rng.normal(size=size))
    labels = np.where(np.arange(size) % 2, 1.0, -1.0)
    if kind == "touching squares":  # both classes have rows on the line x₁ = 0
        x = np.round(rng.uniform(0, 1, (size, 2)) * 4) / 4 * np.array([1.0, 2.0]) - np.array(
            [0.0, 1.0]
        )
        x[:, 0] *= labels
        x[:4] = [[0.0, 1.0], [0.0, 0.5], [0.0, -1.0], [0.0, 0.0]]
        return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)
    apart = 0.8 if kind == "overlapping clouds" else 3.5
    x = rng.uniform(-1, 1, (size, 2)) * 1.5 + labels[:, None] * apart * np.array([0.8, 0.6])
    return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)


def product_of_two(rng: np.random.Generator) -> Dataset | Network:
    return rows(rng, kind="a product")


@hypothesis(
    "there is one target per row", remedy="give data with one number or one of two classes per row"
)
def one_target(subject: Dataset | Network) -> Finding:
    data = subject if isinstance(subject, Dataset) else subject.data
    got = 0 if data is None or data.y is None else data.y[0].size
    return Finding.decide(got == 1, f"targets per row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(
    r"$f_\theta$ is linear in $\theta$",
    remedy="train the last layer alone, or features fixed in advance",
)
def linear_in_parameters(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved(f"⟨x, θ⟩ with {subject.x[0].size:,} parameters", "fitted so here")
    if not subject.parameters:
        return Finding.failed("the network has no parameters")
    x = (
        np.random.default_rng(0).normal(size=(4, *subject.input_shape))
        if subject.data is None
        else subject.data.x[:16]
    )
    off = nonlinearity(subject.apply, subject.params, x, np.random.default_rng(0))
    note = f"f(θ + θ′) − f(θ) − f(θ′) + f(0) up to {off:.3g}, relative"
    return Finding.sampled(note) if off < 1e-9 else Finding.failed(note, Enclosure.equal(off))


@theorem(
    title="Linear models with convex losses",
    gist="Training a model that is linear in its parameters with a convex loss is a convex problem, but with separable "
    "classes the logistic loss keeps falling and the weights grow without end.",
    see_also=("kernel-lift", "implicit-bias", "perceptron-xor", "loss-zoo"),
    same_for_all={
        "∇²E(0) − XᵀX/4n": "both are computed from the given rows; every weight at 0 is ¼, so that not even rounding "
        "differs"
    },
    sources=("peyre-slides", "albert1984"),
    assumes=(one_target, linear_in_parameters),
    on=rows,
    breaks_on=product_of_two,
    presets={
        "textbook": {},
        "classes that overlap": {"kind": "overlapping clouds"},
        "separable": {"kind": "separable clouds"},
        "at the edge": {"kind": "touching squares"},
        "line": {"kind": "noisy line", "size": 40},
        "broken on purpose": {"kind": "a product"},
    },
    errata=r"The displayed problem of Peyré's slides lost its name $\mathcal E(\theta)$ before $\triangleq$.",
    audited=False,
)
def linear_model_convex_erm(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    loss: Annotated[str, Knob(says="the loss", symbol="ℓ", choices=LOSSES)] = LOSSES[0],
) -> Evidence:
    r"""$f_\theta(x)=\langle x,\theta\rangle$. If $\ell(\cdot,y)$ is convex, $E(\theta)=\frac1n\sum_i\ell(\langle x_i,
    \theta\rangle,y_i)$ is convex with $\nabla^2E=\frac1n\sum_i\ell''x_ix_i^\top$: for the squared loss
    $\frac2nX^\top X$; for the logistic one $$\nabla^2E\preceq\tfrac1{4n}X^\top X,\quad\text{with equality at }0.$$
    The logistic loss has no minimiser if and only if some $w$ has $y_i\langle x_i,w\rangle\ge0$ for all $i$, not all
    zero."""
    if isinstance(subject, Network):
        return _look_at_network(subject, rng)
    x, y = first_rows(subject, flat=True)
    labels = signs_of(y[:, 0]) if loss == LOSSES[0] else None
    if labels is None:
        return _fit_line(x, y[:, 0], rng)
    return _fit_classes(x, labels, rng)


# ---- on data --------------------------------------------------------------------------------------------------------


def _fit_line(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Evidence:
    """Least squares: the minimiser in rationals where it is unique and the rows are few."""
    exact = exact_least_squares(x, y)
    theta = least_squares(x, y) if exact is None else np.array(exact, float)
    claims = _curvature_claims(x, y, "squared", rng)
    claims += () if exact is None else (_normal_equations(x, y, exact),)
    smallest_eigenvalue, largest_eigenvalue = eigenvalue_range(squared_hessian(x))
    known = (
        [Enclosure.equal(v) for v in theta.tolist()]
        if exact is None
        else [Enclosure.exact(v) for v in exact]
    )
    numbers: dict[str, Enclosure | float] = {f"θ {i + 1}": v for i, v in enumerate(known[:8])}
    numbers |= {"κ(XᵀX)": condition(x), "λ_min": smallest_eigenvalue, "λ_max": largest_eigenvalue}
    numbers["risk"] = float(np.mean((x @ theta - y) ** 2))
    fit = f"least squares θ = ({', '.join(f'{v:.6g}' for v in theta[:6])}), risk {numbers['risk']:.6g}"
    summary = f"{fit}, κ(XᵀX) = {condition(x):.6g}"
    return Evidence(
        claims,
        (draw_regression(x, y, theta),),
        numbers,
        summary=summary,
        examples=partial(_loss_examples, "squared"),
    )


def _fit_classes(x: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> Evidence:
    """Logistic regression, and a certificate that it has a minimiser or none."""
    z = labels[:, None] * x
    found = separation(z)
    fit = logistic_regression(z)
    claims = (
        *_curvature_claims(x, labels, "logistic", rng),
        _equality_at_zero(x),
        *_separation_claims(z, found, fit),
    )
    numbers: dict[str, Enclosure | float] = {
        "κ(XᵀX)": condition(x),
        "loss": fit.loss,
        "errors": float(np.sum(z @ fit.theta <= 0)),
    }
    numbers["minimiser"] = (
        Enclosure() if found.has_minimiser is None else Enclosure.exact(int(found.has_minimiser))
    )
    if found.has_minimiser:
        numbers |= {f"θ {i + 1}": float(v) for i, v in enumerate(fit.theta[:8])}
    words = {
        True: f"the minimiser has loss {fit.loss:.6g}",
        False: "the logistic loss has no minimiser",
        None: "not decided",
    }
    proof = (
        "direction w"
        if found.direction
        else "multipliers u"
        if found.multipliers
        else "exact simplex"
    )
    rows = (
        ("rows", found.kind),
        ("certificate", proof if found.kind != "undecided" else "none"),
        ("κ(XᵀX)", condition(x)),
    )
    table = Table("separability", ("question", "answer"), rows)
    direction = np.array(found.direction, float) if found.direction else fit.theta
    chart = draw_boundary(
        x, labels, direction, "separates" if found.direction else "logistic regression"
    )
    answer = "too many to decide" if found.has_minimiser is None else words[found.has_minimiser]
    summary = f"{found.kind} rows: {answer}; κ(XᵀX) = {condition(x):.6g}"
    return Evidence(
        claims,
        (chart, draw_ray(z, fit, direction)),
        numbers,
        (table,),
        summary=summary,
        examples=partial(_loss_examples, "logistic"),
    )


def _loss_examples(loss: str) -> Examples:
    """What makes E convex whatever the rows: the second derivative of the loss, by intervals and by an identity."""
    bend = PROFILES[loss].bend or (lambda r: r)
    proved = range_of(bend, -REACH, REACH, lambda lo, hi: lo >= 0)
    convex = AtMost(f"0 ≤ least ℓ″ on [−{REACH:g}, {REACH:g}], {loss}", ZERO, proved)
    if loss == "squared":
        return Examples((convex,))
    quarter = Identity(
        "coefficients by which ¼ − σ(1 − σ) is not (½ − σ)²", Enclosure.exact(half_gap()), ZERO
    )
    return Examples((convex, quarter))


def _curvature_claims(
    x: np.ndarray, y: np.ndarray, loss: str, rng: np.random.Generator
) -> tuple[Claim, ...]:
    """The Hessian of E by JAX against the formula, and its least eigenvalue at random parameters."""
    thetas = rng.normal(size=(POINTS, x.shape[1])) * 10 ** rng.uniform(-1, 1, (POINTS, 1))
    one = loss_named(loss).of
    objective = lambda theta: jnp.mean(jax.vmap(one)(jnp.asarray(x) @ theta, jnp.asarray(y)))
    hessians = np.asarray(call_compiled(jax.vmap(jax.hessian(objective)), thetas))
    formula = [
        squared_hessian(x) if loss == "squared" else logistic_hessian(x, theta) for theta in thetas
    ]
    size = max(float(np.abs(x.T @ x).max()) / len(x), 1e-300)
    gap = float(np.abs(hessians - formula).max()) / size
    least = (
        min(float(np.linalg.eigvalsh(H)[0]) for H in formula)
        + 16 * len(x[0]) * np.finfo(float).eps * size
    )
    return (
        Identity(
            "∇²E by JAX − Σ ℓ″ x xᵀ/n, relative",
            Enclosure.measured(gap, samples=POINTS),
            ZERO,
            atol=1e-9,
        ),
        AtMost("0 ≤ λ_min(∇²E) and rounding", ZERO, Enclosure.measured(least, samples=POINTS)),
    )


def _equality_at_zero(x: np.ndarray) -> Identity:
    r"""The bound $\nabla^2E\preceq\frac1{4n}X^\top X$ is attained at 0."""
    at_zero = np.abs(logistic_hessian(x, np.zeros(x.shape[1])) - (x / 4).T @ x / len(x)).max()
    size = max(float(np.abs(x.T @ x).max()) / len(x), 1e-300)
    return Identity(
        "∇²E(0) − XᵀX/4n, relative", Enclosure.equal(float(at_zero) / size), ZERO, atol=1e-12
    )


def _separation_claims(z: np.ndarray, found: Separation, fit: LogisticFit) -> tuple[Claim, ...]:
    """The certificate, checked again in rationals; and what it says of the minimiser."""
    if found.direction is not None:
        margins = products(z, found.direction)
        direction = np.array(found.direction, float)
        ahead = fit.theta + direction / max(1e-300, float(np.linalg.norm(direction)))
        lower, here = (Enclosure.equal(logistic_value(z, t)) for t in (ahead, fit.theta))
        return (
            AtMost("0 ≤ least margin ⟨z, w⟩", ZERO, Enclosure.exact(min(margins))),
            AtMost(
                "largest −⟨z, w⟩, of a row that is not on the plane",
                Enclosure.exact(-max(margins)),
                ZERO,
            ),
            AtMost("E(θ + w/‖w‖) ≤ E(θ): no minimiser", lower, here, atol=1e-300),
        )
    if found.multipliers is None:
        return ()
    left = max((abs(v) for v in combination(z, found.multipliers)), default=Fraction(0))
    return (
        Identity("largest entry of Σ uᵢzᵢ", Enclosure.exact(left), ZERO),
        AtMost("−least uᵢ", Enclosure.exact(-min(found.multipliers)), ZERO),
        Identity(
            "gradient at the minimiser, relative", Enclosure.equal(fit.gradient), ZERO, atol=1e-8
        ),
    )


def _normal_equations(x: np.ndarray, y: np.ndarray, theta: tuple[Fraction, ...]) -> Identity:
    """The gradient vanishes at the minimiser, in rationals."""
    residuals = [a - Fraction(b) for a, b in zip(products(x, theta), y.tolist())]
    worst = max(abs(v) for v in combination(x, residuals))
    return Identity("Xᵀ(Xθ − y) at least squares", Enclosure.exact(worst), ZERO)


# ---- on a network that is linear in its parameters -----------------------------------------------------------------


def _look_at_network(net: Network, rng: np.random.Generator) -> Evidence:
    """A network that is linear in its parameters: E is convex in them."""
    assert net.data is not None and net.data.y is not None
    x = net.data.x
    y = net.data.y.astype(float)
    least, witness = least_curvature(net.apply, net.params, x, y)
    claim = AtMost(
        "0 ≤ λ_min(∇²E) at the network's own parameters", ZERO, least, witness=witness, atol=1e-9
    )
    flat, rebuild = ravel_pytree(net.params)
    t = np.linspace(-1, 1, 121)
    direction = rng.normal(size=flat.size)
    loss = []
    for a in t:
        outputs = jax.vmap(
            lambda row, a=a: jnp.ravel(net.apply(rebuild(flat + a * direction), row))
        )(x)
        loss.append(float(jnp.mean(jnp.sum((outputs - y.reshape(len(x), -1)) ** 2, axis=1))))
    chart = Curves(
        "loss along a line through θ",
        Axis("t"),
        Axis("E(θ + t v)"),
        (Series("squared loss", t, loss),),
    )
    return Evidence(
        (claim,),
        (chart,),
        {"λ_min": least},
        summary=f"λ_min(∇²E) = {least.middle:.6g} at the parameters",
    )
