"""Too small a step crawls, too large a one leaves: each mode of a quadratic has its own factor."""

from typing import Annotated

import numpy as np

from ftheta.estimates import largest
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.spectra import Objective, Trajectory, along_training, natural_objective
from ftheta.subjects import Network, Training
from ftheta.subjects.stated import as_stated, why_quadratic
from ftheta.training import gradient_descent
from ftheta.training.rounding import enclosed_distance

from .steps import Quadratic, Sweep, sweep_steps


def quadratic(
    rng: np.random.Generator,
    *,
    kappa: Annotated[
        float, Knob(1, 1000, "condition number L/μ of the quadratic", "κ", log=True, most=1e6)
    ] = 10.0,
    dimension: Annotated[int, Knob(2, 100, "number of coordinates", "d", log=True, most=500)] = 2,
) -> Training:
    return Training.quadratic(
        f"quadratic with κ = {kappa:g}",
        np.diag(np.geomspace(1, kappa, dimension)),
        np.ones(dimension),
    )


def steeper_than_stated(rng: np.random.Generator) -> Training:
    stated = np.diag([1.0, 10.0])
    true = np.diag([1.0, 40.0])
    return Training(
        "quadratic stated four times too flat",
        lambda t: t @ true @ t / 2,
        np.ones(2),
        np.zeros(2),
        hessian=stated,
    )


@hypothesis(
    r"$F(\theta)=\frac12(\theta-\theta^*)^\top H(\theta-\theta^*)$ with $H\succ0$",
    remedy="give a Training with its constant Hessian, or a network with labelled data",
    name="a quadratic objective",
)
def quadratic_objective(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        good = natural_objective(subject) is not None
        note = (
            "the quadratic model of the loss at these parameters"
            if good
            else "there are no labels that fit"
        )
        return Finding.assumed(note) if good else Finding.failed(note)
    if subject.hessian is None or subject.optimum is None:
        return Finding.failed("no constant Hessian and optimum are known")
    least = float(np.linalg.eigvalsh(subject.hessian)[0])
    why = why_quadratic(subject)
    note = f"the least eigenvalue of H is {least:.4g}"
    if least <= 0:
        return Finding.failed(note)
    return (
        Finding.proved(note, why, basis=Basis.FLOAT)
        if why
        else Finding.assumed(f"{note}; that F is so is stated")
    )


@theorem(
    title="Step sizes of gradient descent: small, best, too large",
    sources=("peyre-slides", "nesterov2018", "cohen2021"),
    gist="The largest curvature of the loss decides the learning rate: gradient descent is slow with small steps and "
    "diverges once the step exceeds two over that curvature, the edge of stability.",
    see_also=("gd-strongly-convex", "first-order-family", "function-classes"),
    assumes=(quadratic_objective, as_stated),
    on=quadratic,
    breaks_on=steeper_than_stated,
    presets={
        "textbook": {},
        "small": {"step": 0.25},
        "best": {"step": 20 / 11, "steps": 10},
        "diverging": {"step": 2.1},
        "ill-conditioned": {"kappa": 1000.0, "dimension": 20},
    },
    unbreakable="the statement covers every step; the negative control states a wrong Hessian",
)
def gd_step_regimes(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float, Knob(0.01, 2.4, "step times the largest curvature", "τL", least=1e-4, most=10)
    ] = 1.9,
    steps: Annotated[int, Knob(1, 500, "number of gradient steps", "K", log=True, most=5000)] = 40,
) -> Evidence:
    r"""On a quadratic with spectrum in $[\mu,L]$ the error in the mode of $\lambda$ after $k$ steps is
    $(1-\tau\lambda)^k$ times that at the start. Gradient descent converges iff $0<\tau<\frac2L$; the top mode changes
    sign at each step for $\tau>\frac1L$; the best worst case is $\tau^*=\frac2{\mu+L}$, with factor
    $\frac{\kappa-1}{\kappa+1}$. The exact line search $\tau_k=\|g\|^2/g^\top Hg$ has
    $F_{k+1}\le\big(\frac{\kappa-1}{\kappa+1}\big)^2F_k$. Of a network, $\tau\lambda_{\max}=2$ is the edge of
    stability."""
    if isinstance(subject, Training):
        return _descend_quadratic(subject, step, steps)
    objective = natural_objective(subject)
    if objective is None:
        return Evidence((), summary="no labels")
    return _descend_network(objective, step, steps, rng)


def _enclose_float(value: float) -> Enclosure:
    return Enclosure.equal(float(value)) if np.isfinite(value) else Enclosure()


# -- on a quadratic -----------------------------------------------------------------------------------------


def _descend_quadratic(subject: Training, step: float, steps: int) -> Evidence:
    H = np.eye(1) if subject.hessian is None else subject.hessian
    centre = np.zeros_like(subject.start) if subject.optimum is None else subject.optimum
    q = Quadratic(H, subject.start - centre)
    tau = step / q.L
    path = gradient_descent(subject.objective, subject.start, tau, steps) - centre
    best = q.path(q.best, steps)[-1]
    first = enclosed_distance(subject.objective, subject.start, centre, tau)
    return Evidence(
        claims=(*_claim_factors(q, tau, path, first), *_claim_line_search(q, steps)),
        charts=(*_draw_regimes(q, tau), _draw_factor(q, tau)),
        numbers={
            "factor": q.factor(tau),
            "best factor": q.factor(q.best),
            "τ": tau,
            "best τ": q.best,
            "squared error at K, best step": float(best @ best),
        },
        summary=f"each step multiplies the error by {q.factor(tau):.6g} at worst, "
        f"{q.factor(q.best):.6g} at the best step",
    )


def _claim_factors(q: Quadratic, tau: float, path: np.ndarray, first: Enclosure) -> list[Claim]:
    """`path` are the errors of the run, `first` the length of the second of them, rounded outward."""
    factor = q.factor(tau)
    norms = np.linalg.norm(path, axis=1)
    last = len(path) - 1
    how = "the first step, in intervals rounded outward"
    claims: list[Claim] = [
        AtMost(
            "‖θ_K − θ*‖ against factor^K ‖θ₀ − θ*‖",
            _enclose_float(norms[-1]),
            _enclose_float(factor**last * norms[0]),
            witness=Witness({"K": 1.0}, first, q.step_bound(tau), how),
            atol=1e-12 * float(norms[0]),
        ),
        AtMost(
            "factor at 2/(μ+L), the best", _enclose_float(q.factor(q.best)), _enclose_float(factor)
        ),
    ]
    seen = q.fit_factor(tau, path)
    if seen is not None:
        what = "fitted factor a step and max|1 − τλ|"
        claims.insert(0, Identity(what, _enclose_float(seen), _enclose_float(factor), rtol=1e-6))
    return claims


def _claim_line_search(q: Quadratic, steps: int) -> tuple[Claim, Claim]:
    """From its worst start the exact line search attains Kantorovich's factor, from this start it is below."""
    kantorovich = _enclose_float(((q.L - q.mu) / (q.L + q.mu)) ** 2)
    worst = Quadratic(q.H, q.worst_start()).energy_ratios(min(steps, 30))[0]
    most = largest(q.energy_ratios(min(steps, 60)))
    return (
        Identity(
            "exact line search from its worst start: factor of F",
            _enclose_float(worst),
            kantorovich,
        ),
        AtMost(
            "exact line search: largest factor of F",
            _enclose_float(most),
            kantorovich,
            rtol=1e-7,
            atol=1e-12,
        ),
    )


def _draw_regimes(q: Quadratic, tau: float) -> tuple[Curves, ...]:
    """A small, the best, a large step and the one asked for, on level sets in the plane of the extreme modes."""
    regimes = [("small step", 0.25 / q.L), ("best step", q.best), ("large step", 1.95 / q.L)]
    if not any(abs(tau / t - 1) < 0.02 for _, t in regimes):
        regimes.append(("this step", tau))
    return tuple(_draw_regime(q, f"{name}: τL = {t * q.L:.3g}", t) for name, t in regimes)


def _draw_regime(q: Quadratic, title: str, tau: float) -> Curves:
    k = np.arange(26)
    turn = np.linspace(0, 2 * np.pi, 121)
    # on the outer level
    a = np.cos(0.6) / np.sqrt(q.mu)
    b = np.sin(0.6) / np.sqrt(q.L)
    x = a * (1 - tau * q.mu) ** k
    y = b * (1 - tau * q.L) ** k
    x = x[np.abs(y) < 3 * b]
    y = y[np.abs(y) < 3 * b]
    # the curves of one series are set apart by points that cannot be drawn
    rings = np.sqrt([1, 0.5, 0.2, 0.05, 0.005])
    ring_x = np.concatenate([[*(r / np.sqrt(q.mu) * np.cos(turn)), np.inf] for r in rings])
    ring_y = np.concatenate([[*(r / np.sqrt(q.L) * np.sin(turn)), np.inf] for r in rings])
    series = (
        Series("levels of F", ring_x, ring_y, "reference"),
        Series("gradient descent", x, y),
        Series("θ_k", x, y, "measured", "points"),
    )
    return Curves(title, Axis("along the flattest direction"), Axis("along the steepest"), series)


def _draw_factor(q: Quadratic, tau: float) -> Curves:
    t = np.linspace(0, 2.4, 121)
    curve = [q.factor(v / q.L) for v in t]
    series = (
        Series("max|1 − τλ|", t, curve),
        Series("diverges above 1", [0, 2.4], [1, 1], "bound"),
        Series("this step", [tau * q.L], [q.factor(tau)], "other", "points"),
    )
    return Curves("factor per step against the step", Axis("τL"), Axis("factor"), series)


# -- on the loss of a network -------------------------------------------------------------------------------


def _descend_network(
    objective: Objective, step: float, steps: int, rng: np.random.Generator
) -> Evidence:
    r"""A sweep of learning rates, and a run at $\tau\lambda_{\max}=$ `step` followed for so many steps."""
    found = sweep_steps(objective, steps, rng)
    tau = step / found.top
    run = along_training(objective, "gd", step=tau, steps=steps, looks=9)
    return Evidence(
        claims=_claim_top_mode(found),
        charts=(_draw_sweep(found), _draw_curvature(run)),
        numbers={
            "λ_max": found.top,
            "largest stable step": 2 / found.top,
            "τλ_max at the start": run.edge[0],
            "τλ_max at the end": run.edge[-1],
            "largest τλ_max that lowered the loss": found.largest_good,
        },
        summary=f"λ_max = {found.top:.5g}: steps up to {2 / found.top:.4g} are stable here; at τ = {tau:.4g} "
        f"τλ_max goes from {run.edge[0]:.3g} to {run.edge[-1]:.3g} in {run.at[-1]} steps (edge of stability: 2)",
    )


def _claim_top_mode(found: Sweep) -> tuple[Identity, ...]:
    r"""The top mode of the quadratic model: $\|v-\tau Hv\|=|1-\tau\lambda_{\max}|$ up to the residual."""
    slack = float(found.ends.largest.residuals[0])
    claims = []
    for scale, seen in zip(found.scales[::4], found.modes[::4]):
        tau = scale / found.top
        what = f"quadratic model, τ = {tau:.4g} (τλ = {scale:.3g}): factor of the top mode"
        expected = _enclose_float(abs(1 - scale))
        claims.append(Identity(what, _enclose_float(seen), expected, atol=tau * slack + 1e-9))
    return tuple(claims)


def _draw_sweep(found: Sweep) -> Curves:
    shown = np.isfinite(found.losses) & (found.losses < 1e6 * found.first)
    seen = np.append(found.losses[shown], found.first)
    series = (
        Series("loss after the run", found.scales[shown], found.losses[shown]),
        Series(
            "loss at the start", [found.scales[0], found.scales[-1]], [found.first] * 2, "reference"
        ),
        Series("edge of stability", [2, 2], [float(seen.min()), float(seen.max())], "bound"),
    )
    title = "learning rates below and above the edge of stability"
    return Curves(title, Axis("τλ_max at the start", "log"), Axis("loss", "log"), series)


def _draw_curvature(run: Trajectory) -> Curves:
    series = [Series("λ_max", run.at, np.maximum(run.top, 1e-300))]
    if run.step is not None:
        series.append(Series("2/τ", [run.at[0], run.at[-1]], [2 / run.step] * 2, "bound"))
    return Curves(
        "curvature along the training", Axis("step k"), Axis("eigenvalue", "log"), tuple(series)
    )
