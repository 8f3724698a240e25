r"""Penalties and normalisations of steepness: Jacobians and their traces, power iteration, noise on the input.

$\|J\|_F^2=\mathrm{tr}\,JJ^\top=\mathbb E\|J^\top v\|^2$ for every random $v$ with $\mathbb E\,vv^\top=I$: one reverse
pass a probe instead of one an output. For signs its variance is $2(\|M\|_F^2-\sum_iM_{ii}^2)$, $M=JJ^\top$; for
Gaussian $v$ it is $2\|M\|_F^2$.

$k$ steps of power iteration from $v_0$, at the angle $\alpha$ to the first right singular vector, give
$\theta_k=\|Wv_k\|^2\le\sigma_1^2$ with
$$\frac{\sigma_1^2-\theta_k}{\sigma_1^2}\le\tan^2\alpha\cdot
\min\Big(\big(\tfrac{\sigma_2}{\sigma_1}\big)^{4k},\max_{0\le x\le1}(1-x)x^{2k}\Big),$$
the second without any gap between the singular values.

Noise of variance $s^2$ on the input adds $s^2\big(\|J\|_F^2+\langle f-y,\Delta f\rangle\big)+O(s^4)$ to the squared
loss: the Jacobian penalty, and a term that vanishes on average where $f(x)=\mathbb E[y\,|\,x]$, or where $f$ is
affine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify import spectral_norm
from ftheta.logic import UsageError
from ftheta.networks.description import Dense, Description

from .decay import Penalty, weighed

Function = Callable[[Any], Any]  # of one input
PROBES = ("signs", "Gaussian", "uniform")


def jacobian_at(f: Function, x: Any) -> Any:
    """The Jacobian of `f` at one input, outputs by inputs."""
    return jax.jacrev(lambda v: jnp.ravel(f(v.reshape(jnp.shape(x)))))(jnp.ravel(x))


def probe(key: Any, kind: str, shape: tuple[int, ...]) -> Any:
    r"""Random vectors: `signs` and `Gaussian` have $\mathbb E\,vv^\top=I$, `uniform` on $[-1,1]$ has $\frac13I$."""
    if kind == "Gaussian":
        return jax.random.normal(key, shape)
    if kind == "signs":
        return jax.random.rademacher(key, shape, float)
    if kind == "uniform":
        return jax.random.uniform(key, shape, minval=-1.0)
    raise UsageError("Unknown probe.", got=kind, remedy=f"choose one of {', '.join(PROBES)}")


def squared_pullback(f: Function, x: Any, v: Any) -> Any:
    r"""$\|J^\top v\|^2$ at one input, by one reverse pass."""
    value, back = jax.vjp(f, x)
    return jnp.sum(jnp.square(back(jnp.reshape(v, jnp.shape(value)))[0]))


def jacobian(apply: Callable[[Any, Any], Any], x: Any, gamma: float, *, rows: int = 32, probes: int = 1) -> Penalty:
    r"""$\gamma\,\mathbb E\|J_xf\|_F^2$ as a penalty for `penalised`: an unbiased estimate from `rows` of the inputs
    `x`, drawn anew at every step, and `probes` signs each."""
    gamma, inputs = weighed(gamma), np.asarray(x)
    size = len(inputs)

    def penalty(params: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        chosen = jnp.asarray(inputs)[jax.random.randint(first, (min(rows, size),), 0, size)]
        f = lambda row: apply(params, row)
        shape = jax.eval_shape(f, chosen[0]).shape
        signs = probe(second, "signs", (len(chosen), probes, *shape))
        squares = jax.vmap(lambda row, vs: jax.vmap(lambda v: squared_pullback(f, row, v))(vs))(chosen, signs)
        return gamma * jnp.mean(squares)

    return penalty


def probe_variance(J: np.ndarray, kind: str) -> float:
    r"""The variance of $\|J^\top v\|^2$."""
    M = J @ J.T
    whole = float((M**2).sum())
    return 2 * (whole - float((np.diag(M) ** 2).sum())) if kind == "signs" else 2 * whole


# ---- spectral norms -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PowerRun:
    r"""`values[k]` $=\|Wv_k\|$, a lower bound of $\sigma_1$ that rises with $k$; `start` is $v_0$."""

    values: np.ndarray
    start: np.ndarray
    vector: np.ndarray

    def errors(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$(\sigma_1^2-\theta_k)/\sigma_1^2$, and the bound of the module, for every $k$."""
        _, s, Vt = np.linalg.svd(W, full_matrices=True)
        second = s[1] if len(s) > 1 else 0.0
        cosine = abs(float(Vt[0] @ self.start))
        tangent = (1 - cosine**2) / max(cosine**2, 1e-300)
        k = np.arange(len(self.values), dtype=float)
        free = np.where(k > 0, (2 * k / (2 * k + 1)) ** (2 * k) / (2 * k + 1), 1.0)
        return 1 - (self.values / s[0]) ** 2, tangent * np.minimum((second / s[0]) ** (4 * k), free)


def power_iteration(W: np.ndarray, steps: int, rng: np.random.Generator) -> PowerRun:
    r"""$v_{k+1}\propto W^\top Wv_k$ from a random direction."""
    v = rng.normal(size=W.shape[1])
    start = v = v / np.linalg.norm(v)
    values = [float(np.linalg.norm(W @ v))]
    for _ in range(steps):
        moved = W.T @ (W @ v)
        length = float(np.linalg.norm(moved))
        v = moved / length if length > 0 else v
        values.append(float(np.linalg.norm(W @ v)))
    return PowerRun(np.array(values), start, v)


def spectrally_normalised(net: Description, radius: float = 1.0) -> Description:
    r"""Every weight matrix scaled to $\sigma_{\max}=r$; biases and activations stay."""
    scale = lambda W: radius / spectral_norm(W).hi if W.any() else 1.0
    return Description(tuple(Dense(d.weight * scale(d.weight), d.bias, d.activation) for d in net.layers))


# ---- noise on the input ---------------------------------------------------------------------------------------------


def cubature(d: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Points and weights that integrate $\mathcal N(0,I_d)$: Gauss–Hermite for $d\le2$ (degree 9), else
    $\pm\sqrt d\,e_i$ (degree 3)."""
    if d <= 2:
        nodes, weights = np.polynomial.hermite_e.hermegauss(5)
        grids = np.meshgrid(*[np.arange(5)] * d, indexing="ij")
        which = np.stack([g.ravel() for g in grids], -1)
        return nodes[which], (weights / weights.sum())[which].prod(1)
    axes = sqrt(d) * np.eye(d)
    return np.concatenate([axes, -axes]), np.full(2 * d, 1 / (2 * d))


def noise_adds(f: Function, x: Any, y: Any, spread: float) -> Any:
    r"""$\big(\mathbb E\|f(x+s\varepsilon)-y\|^2-\|f(x)-y\|^2\big)/s^2$ by cubature."""
    points, weights = cubature(int(np.prod(np.shape(x))))
    square = lambda v: jnp.sum(jnp.square(f(v) - y))
    moved = jax.vmap(lambda e: square(x + spread * e.reshape(jnp.shape(x))) - square(x))(jnp.asarray(points))
    return jnp.sum(weights * moved) / spread**2


def noise_predicted(f: Function, x: Any, y: Any) -> tuple[Any, Any]:
    r"""$\|J\|_F^2$ and $\langle f-y,\Delta f\rangle$ at one input."""
    flat = lambda v: jnp.ravel(f(v.reshape(jnp.shape(x))))
    d = int(np.prod(np.shape(x)))
    along = lambda e: jax.jvp(lambda v: jax.jvp(flat, (v,), (e,))[1], (jnp.ravel(x),), (e,))[1]
    laplacian = jnp.sum(jax.lax.map(along, jnp.eye(d)), 0)
    J = jax.jacrev(flat)(jnp.ravel(x))
    return jnp.sum(J**2), jnp.sum((flat(jnp.ravel(x)) - jnp.ravel(y)) * laplacian)
