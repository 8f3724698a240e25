r"""Reduced dynamics in a linear code: the heat equation in the codes of its own snapshots (POD and Galerkin).

$\dot u=Lu$ on a rod whose ends are kept at 0, $L$ the second difference divided by $h^2$, in steps of backward Euler,
$u_k=u_{k-1}+\tau Lu_k$. The code $Q$ with orthonormal columns gives the reduced equation
$z_k=z_{k-1}+\tau Q^\top LQz_k$, $z_0=Q^\top u_0$. With $\rho_k=u_k-QQ^\top u_k$, which the code loses, the rest
$\theta_k=Q^\top u_k-z_k$ obeys $\theta_k-\theta_{k-1}=\tau Q^\top LQ\theta_k+\tau Q^\top L\rho_k$. As $L$ is symmetric
and negative, $(1-\tau Q^\top LQ)^{-1}$ does not expand, so that $\theta_0=0$ leaves
$$\|u_k-Qz_k\|\le\|\rho_k\|+\tau\sum_{j\le k}\|Q^\top L\rho_j\|.$$
"""

from dataclasses import dataclass

import numpy as np

from ftheta.certify.low_rank import decompose
from ftheta.estimates import worst_ratio
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Examples, Identity, Series

from .training import train

POINTS = 60  # inside of the rod
STEPS = 80
END = 0.1  # the time of the last snapshot
MOST = 8  # numbers in a code: beyond, what it loses is rounding
SWEEPS = 500


def heat_equation(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """A bump and noise cool down: the snapshots $u_0,u_1,\\dots$ as rows, the matrix $L$, and the step."""
    x = np.arange(1, POINTS + 1) / (POINTS + 1)
    L = (np.eye(POINTS, k=1) + np.eye(POINTS, k=-1) - 2 * np.eye(POINTS)) * (POINTS + 1) ** 2
    tau = END / STEPS
    start = np.exp(-(((x - 0.35) / 0.1) ** 2)) + 0.1 * rng.normal(size=POINTS)
    return step_backward(start, L, tau), L, tau


def step_backward(start: np.ndarray, L: np.ndarray, tau: float) -> np.ndarray:
    """Backward Euler for $\\dot u=Lu$: all states, one per row."""
    system = np.eye(len(L)) - tau * L
    states = [start]
    for _ in range(STEPS):
        states.append(np.linalg.solve(system, states[-1]))
    return np.array(states)


@dataclass(frozen=True, eq=False)
class Reduced:
    """At every step: the `error` of the reduced dynamics, what the code `lost`, and the `bound` of the error."""

    states: np.ndarray
    error: np.ndarray
    lost: np.ndarray
    bound: np.ndarray


def reduce_dynamics(u: np.ndarray, L: np.ndarray, tau: float, basis: np.ndarray) -> Reduced:
    """The equation of the code, solved without looking at later snapshots, and its error against them."""
    z = step_backward(basis.T @ u[0], basis.T @ L @ basis, tau)
    states = z @ basis.T
    rho = u - (u @ basis) @ basis.T
    lost = np.linalg.norm(rho, axis=1)
    pushed = tau * np.linalg.norm(rho @ L @ basis, axis=1)
    pushed[0] = 0.0
    return Reduced(states, np.linalg.norm(u - states, axis=1), lost, lost + np.cumsum(pushed))


def show_reduced_dynamics(rank: int, rng: np.random.Generator) -> Examples:
    """The code of the singular value decomposition beside that of a trained autoencoder, both as reduced models."""
    r = min(rank, MOST)
    u, L, tau = heat_equation(rng)
    pod = reduce_dynamics(u, L, tau, decompose(u).V[:, :r])
    learnt = reduce_dynamics(u, L, tau, train(u, r, rng, SWEEPS).basis)
    size = float(np.linalg.norm(u[0]))
    apart = float(np.abs(pod.states - learnt.states).max()) / size
    rounding = 1e-12 * size
    ratios = {
        "singular value decomposition": worst_ratio(pod.error[1:], pod.bound[1:], rounding),
        "trained autoencoder": worst_ratio(learnt.error[1:], learnt.bound[1:], rounding),
    }
    one = Enclosure.exact(1)
    claims = [
        AtMost(f"heat equation in {r} numbers, {code}: error / bound", Enclosure.equal(q), one)
        for code, q in ratios.items()
    ]
    what = f"the two reduced dynamics in {r} numbers, largest difference, relative"
    numbers = {
        "heat equation: largest error of the reduced dynamics, relative": pod.error.max() / size,
        "heat equation: largest part that the code loses, relative": pod.lost.max() / size,
    }
    return Examples(
        claims=(*claims, Identity(what, Enclosure.equal(apart), Enclosure.exact(0), atol=1e-7)),
        charts=(_draw_errors(pod, learnt, r),),
        numbers={name: float(value) for name, value in numbers.items()},
    )


def _draw_errors(pod: Reduced, learnt: Reduced, r: int) -> Curves:
    t = np.linspace(0, END, STEPS + 1)
    series = (
        Series("bound, POD", t, pod.bound, "bound"),
        Series("POD–Galerkin", t, pod.error),
        Series("autoencoder–Galerkin", t, learnt.error, "measured", "points"),
        Series("lost by the code", t, pod.lost, "other"),
    )
    title = f"reduced dynamics of the heat equation in {r} numbers"
    return Curves(title, Axis("time"), Axis("‖u − Qz‖", "log"), series)
