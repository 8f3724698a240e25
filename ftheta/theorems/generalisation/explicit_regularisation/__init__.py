"""Weight decay, early stopping and cross-validation: one spectrum, several filters."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.kernels.features import targets_of
from ftheta.kernels.reproducing import exact_ridge, kernel, ridge_primal
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
    hypothesis,
    theorem,
)
from ftheta.risks.filters import descent_filter, folds_of, refit_left_out, ridge_filter, ridge_path
from ftheta.risks.outputs import asked_loss
from ftheta.subjects import Dataset, Network
from ftheta.subjects.problems import loss_of, rows_of
from ftheta.subjects.readouts import ends_in_tanh, linear_model, readout_of
from ftheta.theorems.readouts import claim_affine_readout
from ftheta.training.study import affordable, first_rows

from .charts import draw_errors, draw_filters, draw_norms, draw_tradeoff, tabulate_choices
from .descent import run_decays, run_decays_in_rationals, run_descent
from .selection import choose_ridge, span_ridges
from .tradeoff import Tradeoff, compare_filters_in_rationals, simulate_risks

KINDS = ("noisy wave", "three points", "correlated columns")
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)
DRAWS = 1000  # simulated samples of noise
REFITS = 60  # rows that are left out the slow way
STEP = 0.01  # of the runs with weight decay
THREE_ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
THREE_TARGETS = np.array([1.0, 2.0, 3.0])


def draw_rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "noisy wave",
    n: Annotated[int, Knob(16, 200, "number of rows", "n", log=True, least=8, most=500)] = 44,
) -> Dataset:
    """Three rows of a worked example, Legendre polynomials against a noisy wave, or nearly equal columns."""
    if kind == "three points":
        return Dataset(kind, THREE_ROWS, THREE_TARGETS)
    if kind == "noisy wave":
        t = np.sort(rng.uniform(-1, 1, n))
        X = np.polynomial.legendre.legvander(t, 14)
        return Dataset(kind, X, np.sin(4 * t) + 0.3 * rng.normal(size=n))
    X = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 10))
    return Dataset(kind, X, X @ rng.normal(size=10) + rng.normal(size=n))


@hypothesis(
    "three rows at least, not all zero, with targets that fit",
    remedy="give data with targets",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        got = 0 if subject.y is None else subject.y[0].size
        good = got == 1 and len(subject) > 2 and bool(subject.x.any())
        return Finding.decide(
            good, f"{len(subject)} rows, targets per row: {got}", "counted", basis=Basis.EXACT
        )
    fits = asked_loss(subject)
    n = len(subject.data or ())
    return Finding.decide(
        fits is not None and n > 2, f"{fits or 'no'} loss on {n} rows", "counted", basis=Basis.EXACT
    )


@hypothesis(r"$0<\tau s_{\max}\le1$", remedy="take a step of at most 1, in units of 1/s_max")
def short_steps(subject: Dataset | Network, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1, f"τ s_max = {step:g}", "a comparison of knobs", basis=Basis.EXACT
    )


@theorem(
    title="Weight decay, early stopping, cross-validation",
    gist="Ridge regression and early stopping shrink the same directions of the data by almost the same factors, and "
    "one fit tells what leaving a row out would cost: a little regularisation pays, and is chosen cheaply.",
    see_also=("noise-dropout-augmentation", "implicit-bias", "kernel-lift", "double-descent"),
    same_for_all={
        "1 ≤ least of gradient descent's filter": "attained at the largest eigenvalue, where both filters depend on "
        "the step and the number of steps alone"
    },
    sources=(
        "peyre-slides",
        "murari-slides",
        "scaman-slides",
        "hoerl1970",
        "ali2019",
        "loshchilov2019",
    ),
    assumes=(targets_known, linear_model, short_steps),
    on=draw_rows,
    breaks_on=ends_in_tanh,
    presets={
        "textbook": {},
        "three points": {"kind": "three points"},
        "correlated columns": {"kind": "correlated columns", "steps": 300},
        "at the edge": {"n": 16, "steps": 1},
        "broken on purpose": {"step": 2.5},
    },
)
def explicit_regularisation(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float,
        Knob(0.05, 1.0, "step of gradient descent, in units of 1/s_max", "τ", least=1e-3, most=10),
    ] = 1.0,
    steps: Annotated[
        int, Knob(1, 1000, "steps of gradient descent", "k", log=True, most=20_000)
    ] = 50,
    folds: Annotated[int, Knob(2, 20, "folds of the cross-validation", "F")] = 5,
    gamma: Annotated[
        float, Knob(1e-4, 0.1, "weight decay of a network", "γ", log=True, least=0, most=10)
    ] = 0.01,
) -> Evidence:
    r"""$\hat w_\lambda=(X^\top X+\lambda I)^{-1}X^\top y$ filters the eigenvalues $s_i$ of $X^\top X$ by
    $\varphi_i=\frac{s_i}{s_i+\lambda}$; $k$ steps of gradient descent from 0 on $\frac12\|Xw-y\|^2$ by
    $1-(1-\tau s_i)^k$, between ridge with $\lambda=\frac1{\tau k}$ and twice it. For $y=X\theta+\epsilon$
    $$\mathbb E\|\hat w-\theta\|^2=\sum_i(1-\varphi_i)^2\theta_i^2+\sigma^2\sum_i\varphi_i^2/s_i;$$ the ridge
    $\sigma^2/\max\theta_i^2$ beats least squares and is best if all $\theta_i^2$ are equal. Without row $i$ its
    residual is $\frac{y_i-\hat y_i}{1-H_{ii}}$. Under Adam decoupled decay is not the penalty $\gamma\|\theta\|^2$."""
    if isinstance(subject, Dataset):
        X, targets = first_rows(subject, flat=True)
        return _gather_on_rows(X, targets[:, 0], rng, step, steps, folds)
    y = rows_of(subject)[1]
    loss = loss_of(subject)
    found = readout_of(subject)
    if found is None:
        return Evidence(())
    classes = y[:, 0].astype(int) if loss.loss == "cross-entropy" else None
    targets = targets_of(y, classes, found.outputs.shape[1])
    few = affordable(subject.parameters, loss.rows, min(steps, 50))
    runs = run_decays(loss.risk, loss.start, gamma, STEP, few)
    size = max(float(np.abs(loss.start).max()), 1e-300)
    apart = {
        method: float(np.abs(runs[f"{method}, penalty"][-1] - runs[f"{method}, decay"][-1]).max())
        / size
        for method in ("descent", "Adam")
    }
    parts = folds_of(len(targets), min(folds, len(targets)), rng)
    ridges = span_ridges(ridge_path(found.phi, targets, 1.0).spectrum.values)
    what = f"{few} steps of gradient descent: θ with the penalty, less θ with decay"
    claims = [
        claim_affine_readout(found),
        *_claim_path(found.phi, targets, ridges[::6], parts),
        Identity(what, Enclosure.equal(apart["descent"]), ZERO, atol=1e-9),
    ]
    chosen = choose_ridge(found.phi, targets, ridges, folds, rng)
    told = f"{found.phi.shape[1]} features: λ = {chosen.by_folds.best:.3g} by {len(parts)} folds; "
    told += f"after {few} steps the penalty and decay differ by {apart['descent']:.2g} "
    told += f"under gradient descent, by {apart['Adam']:.3g} under Adam"
    return Evidence(
        claims=tuple(claims),
        charts=(draw_norms(runs), draw_errors(chosen)),
        numbers={"Adam: penalty against decay": Enclosure.equal(apart["Adam"])},
        tables=(tabulate_choices(chosen),),
        summary=told,
        examples=_examples,
    )


def _gather_on_rows(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator, step: float, steps: int, folds: int
) -> Evidence:
    """Rows with one target each: the whole path, early stopping, bias and variance."""
    s = ridge_path(X, y, 1.0).spectrum.values
    tau = step / s[0]
    ridges = span_ridges(s)
    parts = folds_of(len(y), min(folds, len(y)), rng)
    tradeoff, model = _claim_tradeoff(X, y, rng)
    chosen = choose_ridge(X, y, ridges, folds, rng)
    claims = [
        *_claim_path(X, y, ridges[::6], parts),
        *_claim_stopping(X, y, step, steps),
        *tradeoff,
    ]
    picks = {name: float(chosen.path.ridges[i]) for name, i in chosen.picks.items()}
    told = f"{len(y)} rows, {X.shape[1]} columns: λ = {chosen.by_folds.best:.3g} by {len(parts)} folds, "
    told += f"{picks['rows left out']:.3g} by rows left out, {picks['test']:.3g} best for the unseen half"
    return Evidence(
        claims=tuple(claims),
        charts=(
            draw_errors(chosen),
            *draw_tradeoff(model, ridges, tau),
            draw_filters(s, tau, steps),
        ),
        tables=(tabulate_choices(chosen),),
        summary=told,
        examples=_examples,
    )


# ---- claims about the subject ---------------------------------------------------------------------------------------


def _claim_path(
    X: np.ndarray, y: np.ndarray, ridges: np.ndarray, folds: list[np.ndarray]
) -> list[Claim]:
    """One decomposition against a solver at each λ, and residuals left out against fits without the rows."""
    path = ridge_path(X, y, ridges)
    assert path.weights is not None
    middle = ridge_path(X, y, ridges[len(ridges) // 2])
    ridge = middle.ridges[0]
    solved = np.array([X @ ridge_primal(X, y, r) for r in ridges])
    alone = [np.array([i]) for i in range(min(len(y), REFITS))]
    without_row = refit_left_out(X, y, ridge, alone)[: len(alone)]
    without_fold = refit_left_out(X, y, ridge, folds)
    norms = np.linalg.norm(path.weights.reshape(len(ridges), -1), axis=1)
    scale = max(float(np.abs(y).max()), 1e-300)

    def claim_equal(what: str, one: np.ndarray, other: np.ndarray) -> Claim:
        return Identity(
            what, Enclosure.equal(float(np.abs(one - other).max()) / scale), ZERO, atol=1e-8
        )

    def claim_falling(what: str, values: np.ndarray) -> Claim:
        rise = float(np.max(np.diff(values), initial=-np.inf) / max(np.abs(values).max(), 1e-300))
        return AtMost(what, Enclosure.equal(rise), ZERO, atol=1e-9)

    return [
        claim_equal(
            "fits of the whole path, less those of a solver at each λ", path.fitted, solved
        ),
        claim_equal(
            f"(y_i − ŷ_i)/(1 − H_ii), less the residual of a fit without row i, {len(alone)} rows",
            middle.left_out()[0][: len(alone)],
            without_row,
        ),
        claim_equal(
            f"(I − H_FF)⁻¹(y − ŷ)_F, less the residuals of {len(folds)} fits without a fold F",
            middle.left_out(folds)[0],
            without_fold,
        ),
        claim_falling("largest rise of ‖w_λ‖ with λ, relative", norms),
        claim_falling("largest rise of the degrees of freedom with λ, relative", path.freedom),
    ]


def _claim_stopping(X: np.ndarray, y: np.ndarray, step: float, steps: int) -> list[Claim]:
    r"""Descent against its filter, which lies between that of ridge, $\lambda=\frac1{\tau k}$, and twice it."""
    spectrum = ridge_path(X, y, 1.0).spectrum
    s = spectrum.values
    tau = step / s[0]
    walked = X @ run_descent(X, y, tau, steps)
    filtered = spectrum.fit(y, descent_filter(tau, steps))
    off = Enclosure.equal(float(np.abs(walked - filtered).max() / max(np.abs(y).max(), 1e-300)))
    ratio = descent_filter(tau, steps)(s) / ridge_filter(1 / (tau * steps))(s)
    least = Enclosure.equal(float(ratio.min()))
    most = Enclosure.equal(float(ratio.max()))
    return [
        Identity(
            f"fit after {steps} steps of gradient descent, less Uφ(s)Uᵀy", off, ZERO, atol=1e-8
        ),
        AtMost(
            "1 ≤ least of gradient descent's filter over that of ridge with λ = 1/τk", ONE, least
        ),
        AtMost(
            "largest of gradient descent's filter over that of ridge ≤ 2", most, Enclosure.exact(2)
        ),
    ]


def _claim_tradeoff(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[list[Claim], Tradeoff]:
    """A truth and a noise like those of the data: the risk by formula and by simulation, ridge below least squares."""
    spectrum = ridge_path(X, y, 1.0).spectrum
    assert spectrum.right is not None
    truth = spectrum.weights(y, ridge_filter(1e-3 * spectrum.values[0]))
    noise = float(np.mean((y - X @ truth) ** 2)) or 1.0
    model = Tradeoff.on(spectrum, truth, noise)
    ridge = float(model.safe_ridge) if model.safe_ridge is not None else 1.0
    phi = ridge_filter(ridge)
    shrunk = phi(spectrum.values)
    outside = truth - spectrum.right @ (spectrum.right.T @ truth)
    seen = mean(simulate_risks(X, truth, noise, phi, rng, DRAWS), variance=model.spread(shrunk))
    risk = float(model.risk(shrunk))
    formula = Enclosure.equal(risk + float(outside @ outside))
    what = "risk of ridge with λ = σ²/max θ_i², at most that of least squares"
    claims: list[Claim] = [
        Identity("bias² + variance of ridge, and ‖ŵ − θ‖² in a simulation", formula, seen),
        AtMost(what, Enclosure.equal(risk), Enclosure.equal(float(model.least_squares))),
    ]
    return claims, model


# ---- worked examples, in fractions ----------------------------------------------------------------------------------

SINGLE = Tradeoff([Fraction(1)], [Fraction(4)], Fraction(1))
CURVATURES = (Fraction(1), Fraction(1, 10))


def _example_numbers() -> dict[str, Enclosure]:
    """Ridge on three rows, ten steps on two curvatures, the best ridge for one weight, decay beside Adam."""
    exact = exact_ridge(THREE_ROWS, THREE_TARGETS, kernel("linear"), 1.0)
    assert exact is not None
    at_one, at_tenth = compare_filters_in_rationals(CURVATURES, Fraction(1), 10)[0]
    _, adam = run_decays_in_rationals()
    numbers = {
        "θ 1": exact.theta[0],
        "θ 2": exact.theta[1],
        "filter at 1": at_one,
        "filter at 0.1": at_tenth,
        "best ridge": SINGLE.safe_ridge,
        "risk of the best ridge": SINGLE.risk(SINGLE.ridge(SINGLE.safe_ridge)),
        "Adam with the penalty": adam.penalty,
        "Adam with decoupled decay": adam.beside,
    }
    return {name: Enclosure.exact(value) for name, value in numbers.items()}


def _examples() -> Examples:
    """The same against what they should be."""
    exact = exact_ridge(THREE_ROWS, THREE_TARGETS, kernel("linear"), 1.0)
    assert exact is not None
    walked, filtered = compare_filters_in_rationals(CURVATURES, Fraction(1), 10)
    risk = SINGLE.risk(SINGLE.ridge(SINGLE.safe_ridge))
    grid = [SINGLE.risk(SINGLE.ridge(Fraction(k, 64))) for k in range(129)]
    descent, adam = run_decays_in_rationals()
    off_rows = max(abs(a - b) for a, b in zip(exact.shortcut, exact.again))
    off_filters = max(abs(a - b) for a, b in zip(walked, filtered))
    behind = adam.beside - adam.penalty + Fraction(1, 10)
    return Examples(
        claims=(
            Identity(
                "three rows: y_i − ŷ_i over 1 − H_ii, less a fit without row i",
                Enclosure.exact(off_rows),
                ZERO,
            ),
            Identity(
                "10 steps of gradient descent on curvatures 1, 0.1, less 1 − (1 − τλ)^10",
                Enclosure.exact(off_filters),
                ZERO,
            ),
            AtMost(
                "risk at λ = σ²/θ², less the least at λ = 0, 1/64, …, 2",
                Enclosure.exact(risk - min(grid)),
                ZERO,
            ),
            Identity(
                "gradient descent: θ_3 with the penalty, less that with decay",
                Enclosure.exact(descent.penalty - descent.beside),
                ZERO,
            ),
            AtMost(
                "Adam: θ_3 with decay − that with the penalty + 1/10 ≤ 0",
                Enclosure.exact(behind),
                ZERO,
            ),
        ),
        numbers=_example_numbers(),
    )
