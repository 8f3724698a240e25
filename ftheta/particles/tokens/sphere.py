r"""Tokens as interacting particles on the sphere.

Self-attention with $Q=K=V=I$ and layer normalisation, in continuous depth:
$\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle x_i,x_j\rangle}x_j$, softmax (SA, the weights sum to 1) or
unnormalised (USA, $Z_i=n$). From an equiangular start the common cosine $\gamma$ solves a scalar equation.
"""

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from ftheta.shapes import Float

SOFTMAX = "softmax"
UNNORMALISED = "unnormalised"
# local error allowed in one step of the integrators
RTOL = 1e-12
ATOL = 1e-14
MERGED = 1e-12  # tokens whose cosines all exceed 1 minus this have met: they stay together


def weights(cosines: Float[np.ndarray, "n n"], beta: float, kind: str) -> Float[np.ndarray, "n n"]:
    """Attention weights of the tokens with this matrix of inner products."""
    if kind == UNNORMALISED:
        return np.exp(beta * cosines) / len(cosines)
    scores = np.exp(beta * (cosines - cosines.max(1, keepdims=True)))
    return scores / scores.sum(1, keepdims=True)


def velocity(x: Float[np.ndarray, "n d"], beta: float, kind: str) -> Float[np.ndarray, "n d"]:
    """The velocities of the tokens (rows of `x`): attention, projected on the tangent planes of the sphere."""
    pull = _pulls(x @ x.T, beta, kind) @ x
    return pull - (pull * x).sum(1, keepdims=True) * x / (x * x).sum(1, keepdims=True)


def _pulls(cosines: np.ndarray, beta: float, kind: str) -> np.ndarray:
    """Attention weights off the diagonal: a token's own pull is projected away; its rounding would drown the rest."""
    A = weights(cosines, beta, kind)
    np.fill_diagonal(A, 0.0)
    return A


# -- from any start ------------------------------------------------------------------------------


def token_cosines(
    x: Float[np.ndarray, "n d"], beta: float, kind: str, times: Float[np.ndarray, "t"]
) -> Float[np.ndarray, "t n n"]:
    """The matrices of cosines at the times, the tokens followed on the sphere (Dormand–Prince, order 8)."""
    states = _follow(lambda y: velocity(y, beta, kind), x, times, _meet, "DOP853", RTOL)
    states = states / np.linalg.norm(states, axis=2, keepdims=True)
    return states @ states.transpose(0, 2, 1)


def _meet(x: np.ndarray) -> float:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return 1 - float((unit @ unit.T).min()) - MERGED


def _follow(
    field: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    times: np.ndarray,
    apart: Callable[[np.ndarray], float],
    method: str,
    rtol: float,
) -> np.ndarray:
    """States at increasing times from 0; once all tokens have met (`apart` falls to 0) the last state stands.

    Not a number from where the integrator gives up or its budget of evaluations is spent.
    """
    shape = start.shape
    budget = iter(range(100_000 // (1 + (len(start) // 16) ** 2)))
    if apart(start) <= 0:
        return np.broadcast_to(start, (len(times), *shape))
    event = lambda t, y: apart(y.reshape(shape))
    event.terminal = True  # type: ignore[attr-defined]
    right = lambda t, y: (
        field(y.reshape(shape)).ravel()
        if next(budget, None) is not None
        else np.full(y.shape, np.nan)
    )
    run = solve_ivp(
        right, (0.0, times[-1]), start.ravel(), method, times, events=event, rtol=rtol, atol=ATOL
    )
    reached = np.reshape(run.y, (start.size, -1)).T
    met = run.y_events[0] if run.y_events else []
    last = met[0] if len(met) else np.full(start.size, np.nan)
    states = np.concatenate([reached, np.tile(last, (len(times) - len(reached), 1))])
    return states.reshape(len(times), *shape)


# -- from an equiangular start -------------------------------------------------------------------


def equiangular(tokens: int, cosine: float) -> Float[np.ndarray, "tokens d"]:
    r"""Unit vectors $x_i=\sqrt{1-\gamma}\,e_i+b\mathbf 1$ with the common cosine $\gamma\ge-\frac1{n-1}$."""
    a = np.sqrt(1 - cosine)
    b = (np.sqrt(max(0.0, 1 + (tokens - 1) * cosine)) - a) / tokens
    return a * np.eye(tokens) + b


def common_cosine(
    start: float,
    tokens: int,
    beta: float | np.ndarray,
    kind: str,
    times: np.ndarray,
    rtol: float = 1e-13,
) -> np.ndarray:
    r"""The solution of the scalar equation at the times (rows), for each $\beta$ (columns where there are several).

    SA: $\dot\gamma=\frac{2e^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)}{e^\beta+(n-1)e^{\beta\gamma}}$, USA:
    $\dot\gamma=\frac2ne^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)$. Solved is that of
    $u=\ln\frac{1+(n-1)\gamma}{1-\gamma}$, which neither equilibrium slows down:
    $\dot u=\frac{2n}{e^{\beta(1-\gamma)}+n-1}$ and $\dot u=2e^{\beta\gamma}$.
    """
    n = tokens
    b = np.atleast_1d(np.asarray(beta, float))
    if not -1 < (n - 1) * start < n - 1:
        return np.full((len(times), *np.shape(beta)), start)
    gamma = lambda u: 1 - n / (np.exp(np.minimum(u, 700.0)) + n - 1)
    if kind == UNNORMALISED:
        right = lambda t, u: 2 * np.exp(b * gamma(u))
    else:
        right = lambda t, u: 2 * n / (np.exp(b * (1 - gamma(u))) + n - 1)
    first = np.full(len(b), np.log1p((n - 1) * start) - np.log1p(-start))
    run = solve_ivp(right, (0.0, times[-1]), first, "DOP853", times, rtol=rtol, atol=rtol)
    return gamma(run.y.T).reshape(len(times), *np.shape(beta))


def without_temperature(
    start: float, tokens: int, times: Float[np.ndarray, "t"]
) -> Float[np.ndarray, "t"]:
    r"""$\beta=0$: $\gamma(t)=\frac{E-1}{E+n-1}$ with $E=e^{2t}\frac{1+(n-1)\gamma_0}{1-\gamma_0}$; both kinds agree."""
    if start >= 1:
        return np.ones(len(times))
    E = np.exp(np.minimum(2 * times, 700.0)) * (1 + (tokens - 1) * start) / (1 - start)
    return (E - 1) / (E + tokens - 1)


def off_diagonal(cosines: Float[np.ndarray, "*t n n"]) -> Float[np.ndarray, "*t pairs"]:
    """The cosines of the pairs i < j, along the last axis."""
    i, j = np.triu_indices(cosines.shape[-1], 1)
    return cosines[..., i, j]
