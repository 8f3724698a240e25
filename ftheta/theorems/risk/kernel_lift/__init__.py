"""Linear in a lifted space: kernels, the representer theorem, and the features a network has learned.

On data: kernel ridge regression, the same fit in the features (the primal side) and with each row left out. On a
network: its last layer against ridge regression on its own features.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.kernels.features import Features, features, targets_of
from ftheta.kernels.reproducing import (
    NAMES,
    ExactRidge,
    Kernel,
    KernelRidge,
    exact_ridge,
    kernel,
    kernel_ridge,
    ridge_primal,
)
from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    SubjectError,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.risks.outputs import Outputs, outputs_of
from ftheta.spectra.curvature import eigenvalue_range
from ftheta.subjects import Dataset, Network
from ftheta.theorems.readouts import claim_affine_readout
from ftheta.training.study import first_rows

from .charts import draw_after, draw_before, draw_features, draw_function, draw_spectrum
from .probes import linear_probe, ridge_objective
from .rivals import left_out_by_fitting, rival_gap
from .scores import score

KINDS = ("three points", "disc in a ring")
RIVALS = 64
ZERO = Enclosure.exact(0)


# ---- subjects -------------------------------------------------------------------------------------------------------


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three points",
) -> Dataset:
    """Three points with real targets, or two classes that no line separates."""
    if kind == "disc in a ring":
        return Dataset(kind, *disc_in_ring(rng))
    return Dataset(kind, np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0]))


def disc_in_ring(rng: np.random.Generator, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """n points of the plane: a disc (label 1) inside a ring (label −1)."""
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    radius = np.where(labels > 0, 0.8 * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(1.3, 1.9, n))
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), labels


def network_ending_in_tanh(rng: np.random.Generator) -> Network:
    """The negative control: the last step is not affine."""
    *hidden, last = random_mlp(rng, (2, 16, 1), "relu", bias=0.5).layers
    net = Description((*hidden, Dense(last.weight, last.bias, "tanh")))
    return Network.described(net, "ends in tanh").with_data(
        Dataset("disc in a ring", *disc_in_ring(rng))
    )


def learned_features(net: Network) -> Features | None:
    """What enters the network's last dense layer, on its data or on random rows; None if there is no such layer."""
    x = (
        np.random.default_rng(0).normal(size=(16, *net.input_shape))
        if net.data is None
        else net.data.x
    )
    try:
        return features(net.apply, net.params, x)
    except SubjectError:
        return None


# ---- hypotheses -----------------------------------------------------------------------------------------------------


@hypothesis(
    "there are targets",
    remedy="give data with one number per row, or a network with labelled --data",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.decide(
            outputs_of(subject) is not None,
            "those of the network's data",
            "counted",
            basis=Basis.EXACT,
        )
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(got == 1, f"targets per row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(
    r"$f(x)=W\varphi(x)+b$: the last step is affine",
    remedy="cut the network before its last activation",
    name="an affine last layer",
)
def affine_readout(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved("the model is linear in the lifted space", "it is fitted so here")
    found = learned_features(subject)
    if found is None:
        return Finding.failed("no last dense layer was found")
    note = f"|f − Wφ − b| up to {found.gap:.3g} on {len(found.phi)} rows"
    number = Enclosure.equal(found.gap)
    return Finding.sampled(note, number) if found.affine else Finding.failed(note, number)


@hypothesis(
    r"$k$ is positive semi-definite",
    remedy="take a kernel: linear, polynomial, Gaussian, Laplace",
    name="a positive semi-definite kernel",
)
def positive_kernel(subject: Dataset | Network, *, lift: str) -> Finding:
    positive = isinstance(subject, Network) or bool(kernel(lift).positive)
    note = lift if isinstance(subject, Dataset) else "an inner product"
    return Finding.decide(positive, note, "known of the kernel by name", basis=Basis.EXACT)


# ---- the theorem ----------------------------------------------------------------------------------------------------


@theorem(
    title="Kernels, the representer theorem and learned features",
    gist="Fitting a linear model in a possibly infinite-dimensional feature space only needs inner products between "
    "the training rows, and the last layer of a network is such a model on features that were learned.",
    see_also=("linear-model-convex-erm", "explicit-regularisation", "ntk-kernel"),
    sources=("peyre-slides", "scholkopf2001"),
    assumes=(targets_known, affine_readout, positive_kernel),
    on=rows,
    breaks_on=network_ending_in_tanh,
    presets={
        "textbook": {},
        "disc in a ring": {"kind": "disc in a ring", "lift": "polynomial", "ridge": 0.1},
        "infinitely many features": {
            "kind": "disc in a ring",
            "lift": "Gaussian",
            "ridge": 0.01,
            "width": 0.7,
        },
        "at the edge": {"ridge": 1e-6},
        "broken on purpose": {"lift": "minus distance"},
    },
)
def kernel_lift(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    lift: Annotated[str, Knob(says="the kernel of data", symbol="k", choices=NAMES)] = "linear",
    ridge: Annotated[
        float, Knob(1e-3, 100, "ridge λ = nγ", "λ", log=True, least=1e-9, most=1e9)
    ] = 1.0,
    degree: Annotated[int, Knob(1, 6, "degree of the polynomial kernel", "p", most=12)] = 2,
    width: Annotated[
        float, Knob(0.1, 10, "width of Gaussian and Laplace", "s", log=True, least=1e-3, most=1e3)
    ] = 1.0,
) -> Evidence:
    r"""Replace $x$ by $\varphi(x)\in\mathbb R^D$, $D\le\infty$; $k(x,x')=\langle\varphi(x),\varphi(x')\rangle$. Then
    $\min_f\frac1n\sum_i\ell(f(x_i),y_i)+\gamma\|f\|_{\mathcal H}^2$ has a solution $\sum_i\alpha_ik(x_i,\cdot)$; for
    the squared loss $$\alpha=(K+n\gamma I)^{-1}y.$$ A deep network is a linear model on its penultimate features."""
    if isinstance(subject, Dataset):
        x, y = first_rows(subject, flat=True)
        return _fit_data(x, y[:, 0], kernel(lift, degree=degree, width=width), ridge, degree, rng)
    found = learned_features(subject)
    data = outputs_of(subject)
    if found is None or data is None:
        return Evidence(())
    return _probe_network(found, data, ridge)


def _fit_data(
    X: np.ndarray, y: np.ndarray, lift: Kernel, ridge: float, degree: int, rng: np.random.Generator
) -> Evidence:
    """Kernel ridge regression on rows with one target each."""
    fit = kernel_ridge(X, y, lift, ridge)
    exact = exact_ridge(X, y, lift, ridge, degree)
    identities = (
        _dual_claims_in_floats(fit, y, ridge) if exact is None else _dual_claims_in_rationals(exact)
    )
    claims = (_positive_gram_claim(fit), *identities, _representer_claim(fit, y, ridge, rng))
    spectrum = np.maximum(np.linalg.eigvalsh(lift.of(X, X))[::-1], 0)
    charts = (draw_spectrum(spectrum, f"spectrum of the Gram matrix, {lift.name}"),)
    two_classes_in_plane = X.shape[1] == 2 and set(np.unique(y).tolist()) == {-1.0, 1.0}
    if two_classes_in_plane:
        charts = (draw_before(X, y), draw_after(X, y, fit), draw_function(X, fit), *charts)
    training = float(np.mean((fit.fitted - y) ** 2))
    left_out = float(np.mean(fit.residuals_left_out**2))
    numbers = _coefficients(fit, exact) | {
        "training risk": Enclosure.equal(training),
        "leave-one-out risk": Enclosure.equal(left_out),
    }
    summary = f"{lift.name} kernel, λ = {ridge:g}: training risk {training:.6g}, with each row left out {left_out:.6g}"
    examples = None if two_classes_in_plane else partial(_ring_examples, rng.spawn(1)[0], lift)
    return Evidence(claims, charts, numbers, summary=summary, examples=examples)


def _probe_network(found: Features, data: Outputs, ridge: float) -> Evidence:
    """A network against ridge regression on its own features."""
    classes = data.classes
    y = targets_of(data.y, classes, found.outputs.shape[1])
    probe = linear_probe(found.phi, y, ridge)
    own = ridge_objective(found.phi, y, found.weight, found.bias, ridge)
    refit = probe.objective(found.phi, y)
    claims = (
        claim_affine_readout(found),
        AtMost(
            "ridge objective of the last layer refitted ≤ that of its own",
            Enclosure.equal(refit),
            Enclosure.equal(own),
        ),
    )
    word = "accuracy" if classes is not None else "R²"
    scores = {
        f"{word} of the network": score(found.outputs, y, classes),
        f"{word} of the probe": score(probe.fitted, y, classes),
        f"{word} of the probe, rows left out": score(probe.left_out, y, classes),
    }
    spectrum = found.spectrum()
    numbers = scores | {
        "features": float(found.phi.shape[1]),
        "effective rank": float(spectrum.sum() ** 2 / max(float((spectrum**2).sum()), 1e-300)),
        "largest eigenvalue": float(spectrum[0]),
    }
    charts = (
        draw_features(found.phi, classes),
        draw_spectrum(spectrum, "spectrum of the learned kernel ΦΦᵀ/n"),
    )
    table = Table("linear probe", ("what", word), tuple(scores.items()))
    summary = "; ".join(f"{name} {value:.4g}" for name, value in scores.items())
    return Evidence(
        claims, charts, numbers, (table,), summary=f"{found.phi.shape[1]} features; {summary}"
    )


# ---- claims ---------------------------------------------------------------------------------------------------------


def _positive_gram_claim(fit: KernelRidge) -> AtMost:
    """The Gram matrix of the rows is positive semi-definite."""
    K = fit.kernel.of(fit.X, fit.X)
    size = max(float(np.abs(K).max()), 1e-300)
    least = eigenvalue_range(K)[0]
    return AtMost("0 ≤ λ_min(K)", ZERO, least, atol=1e-10 * size * len(K))


def _dual_claims_in_rationals(exact: ExactRidge) -> tuple[Claim, ...]:
    """Primal = dual, and the shortcut for a row left out, without rounding."""
    primal_minus_dual = [abs(a - b) for a, b in zip(exact.primal, exact.dual)]
    shortcut_minus_fit = [abs(a - b) for a, b in zip(exact.shortcut, exact.again)]
    return (
        Identity(
            "largest ⟨φ(x), θ⟩ − Σ αᵢk(xᵢ, x) on the rows",
            Enclosure.exact(max(primal_minus_dual)),
            ZERO,
        ),
        Identity(
            "αᵢ/((K + λI)⁻¹)ᵢᵢ − the residual of a fit without row i",
            Enclosure.exact(max(shortcut_minus_fit)),
            ZERO,
        ),
    )


def _dual_claims_in_floats(fit: KernelRidge, y: np.ndarray, ridge: float) -> tuple[Claim, ...]:
    """The same in float64. Without finitely many features, a square root of K is a lift on the rows."""
    phi = (
        _square_root(fit.kernel.of(fit.X, fit.X))
        if fit.kernel.features is None
        else fit.kernel.features(fit.X)
    )
    primal = phi @ ridge_primal(phi, y, ridge)
    scale = max(float(np.abs(y).max()), 1e-300)
    primal_minus_dual = float(np.abs(primal - fit.fitted).max()) / scale
    fitted_again = left_out_by_fitting(fit.X, y, fit.kernel, ridge)
    shortcut = fit.residuals_left_out[: len(fitted_again)]
    shortcut_minus_fit = float(np.abs(fitted_again - shortcut).max()) / scale
    return (
        Identity(
            "⟨φ(x), θ⟩ − Σ αᵢk(xᵢ, x) on the rows, relative",
            Enclosure.equal(primal_minus_dual),
            ZERO,
            atol=1e-7,
        ),
        Identity(
            "αᵢ/((K + λI)⁻¹)ᵢᵢ − the residual without row i, relative",
            Enclosure.equal(shortcut_minus_fit),
            ZERO,
            atol=1e-7,
        ),
    )


def _square_root(K: np.ndarray) -> np.ndarray:
    r"""Features of the rows alone: $\Phi\Phi^\top=K$."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def _representer_claim(
    fit: KernelRidge, y: np.ndarray, ridge: float, rng: np.random.Generator
) -> AtMost:
    """More centres than the rows do not help."""
    gap = rival_gap(fit, y, ridge, rng, RIVALS)
    rounding = 1e-12 * float(np.mean(y**2))
    what = "objective of Σ αᵢk(xᵢ, ·) − that of functions with four more centres"
    return AtMost(what, Enclosure.at_least(-gap - rounding, samples=RIVALS), ZERO)


def _coefficients(fit: KernelRidge, exact: ExactRidge | None) -> dict[str, Enclosure]:
    """The first six dual coefficients, predictions and, in rationals, primal weights."""
    if exact is None:
        return _number_entries("α {}", fit.alpha.tolist()) | _number_entries(
            "f(x {})", fit.fitted.tolist()
        )
    dual = _number_entries("α {}", exact.alpha) | _number_entries("f(x {})", exact.dual)
    return dual | _number_entries("θ {}", exact.theta)


def _number_entries(name: str, values: Sequence[Fraction | float]) -> dict[str, Enclosure]:
    exact = lambda v: Enclosure.exact(v) if isinstance(v, Fraction) else Enclosure.equal(v)
    return {name.format(i): exact(v) for i, v in enumerate(values[:6], 1)}


# ---- the example and the charts -------------------------------------------------------------------------------------


def _ring_examples(rng: np.random.Generator, lift: Kernel) -> Examples:
    """The disc in the ring before and after the lift; a linear kernel lifts nothing, so squares take its place."""
    X, labels = disc_in_ring(rng)
    used = kernel("polynomial", degree=2) if lift.name == "linear" else lift
    fit = kernel_ridge(X, labels, used, 0.1)
    return Examples((), (draw_before(X, labels), draw_after(X, labels, fit)))
