"""Too small a step crawls, too large a one leaves: each mode of a quadratic has its own factor."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.spectra import natural_objective
from ftheta.spectra.steps import Quadratic, evidence_of_sweep
from ftheta.subjects import Network, Training
from ftheta.subjects.stated import as_stated, why_quadratic
from ftheta.training import gradient_descent
from ftheta.training.rounding import enclosed_distance


def quadratic(
    rng: np.random.Generator,
    *,
    kappa: Annotated[float, Knob(1, 1000, "condition number L/μ of the quadratic", "κ", log=True, most=1e6)] = 10.0,
    dimension: Annotated[int, Knob(2, 100, "number of coordinates", "d", log=True, most=500)] = 2,
) -> Training:
    return Training.quadratic(
        f"quadratic with κ = {kappa:g}", np.diag(np.geomspace(1, kappa, dimension)), np.ones(dimension)
    )


def steeper_than_told(rng: np.random.Generator) -> Training:
    told, true = np.diag([1.0, 10.0]), np.diag([1.0, 40.0])
    return Training(
        "quadratic told four times too flat", lambda t: t @ true @ t / 2, np.ones(2), np.zeros(2), hessian=told
    )


@hypothesis(
    r"$F(\theta)=\frac12(\theta-\theta^*)^\top H(\theta-\theta^*)$ with $H\succ0$",
    remedy="give a Training with its constant Hessian, or a network with labelled data",
)
def quadratic_objective(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        good = natural_objective(subject) is not None
        note = "the quadratic model of the loss at these parameters" if good else "there are no labels that fit"
        return Finding.assumed(note) if good else Finding.failed(note)
    if subject.hessian is None or subject.optimum is None:
        return Finding.failed("no constant Hessian and optimum are known")
    least, why = float(np.linalg.eigvalsh(subject.hessian)[0]), why_quadratic(subject)
    note = f"the least eigenvalue of H is {least:.4g}"
    if least <= 0:
        return Finding.failed(note)
    return Finding.proved(note, why, basis=Basis.FLOAT) if why else Finding.assumed(f"{note}; that F is so is stated")


@theorem(
    title="Step sizes of gradient descent: small, best, too large",
    sources=("seed 0", "nesterov2018", "cohen2021"),
    assumes=(quadratic_objective, as_stated),
    on=quadratic,
    breaks_on=steeper_than_told,
    presets={
        "textbook": {},
        "small": {"step": 0.25},
        "best": {"step": 20 / 11, "steps": 10},
        "diverging": {"step": 2.1},
        "ill-conditioned": {"kappa": 1000.0, "dimension": 20},
    },
    unbreakable="the statement covers every step; the negative control is told a wrong Hessian",
)
def gd_step_regimes(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[float, Knob(0.01, 2.4, "step times the largest curvature", "τL", least=1e-4, most=10)] = 1.9,
    steps: Annotated[int, Knob(1, 500, "number of gradient steps", "K", log=True, most=5000)] = 40,
) -> Evidence:
    r"""On a quadratic with spectrum in $[\mu,L]$ the error in the mode of $\lambda$ after $k$ steps is
    $(1-\tau\lambda)^k$ times that at the start. Descent converges iff $0<\tau<\frac2L$; the top mode changes sign at
    each step for $\tau>\frac1L$; the best worst case is $\tau^*=\frac2{\mu+L}$, with factor
    $\frac{\kappa-1}{\kappa+1}$. The exact line search $\tau_k=\|g\|^2/g^\top Hg$ has
    $F_{k+1}\le\big(\frac{\kappa-1}{\kappa+1}\big)^2F_k$. Of a network, $\tau\lambda_{\max}=2$ is the edge of
    stability."""
    if isinstance(subject, Training):
        H = np.eye(1) if subject.hessian is None else subject.hessian
        centre = np.zeros_like(subject.start) if subject.optimum is None else subject.optimum
        q = Quadratic(H, subject.start - centre)
        tau = step / q.L
        path = gradient_descent(subject.objective, subject.start, tau, steps) - centre
        best = q.path(q.best, steps)[-1]
        numbers = {"factor": q.factor(tau), "best factor": q.factor(q.best), "τ": tau, "best τ": q.best}
        numbers |= {"squared error at K, best step": float(best @ best)}
        told = (
            f"each step multiplies the error by {q.factor(tau):.6g} at worst, {q.factor(q.best):.6g} at the best step"
        )
        first = enclosed_distance(subject.objective, subject.start, centre, tau)
        return Evidence(q.claims(tau, steps, path, first), (*q.panels(tau), q.sweep(tau)), numbers, summary=told)
    objective = natural_objective(subject)
    return Evidence((), summary="no labels") if objective is None else evidence_of_sweep(objective, step, steps, rng)
