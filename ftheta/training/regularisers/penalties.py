r"""Penalties and normalisations of steepness: Jacobians and their traces, power iteration, spectral normalisation.

$\|J\|_F^2=\mathrm{tr}\,JJ^\top=\mathbb E\|J^\top v\|^2$ for every random $v$ with $\mathbb E\,vv^\top=I$: one reverse
pass per probe instead of one per output.

$k$ steps of power iteration from $v_0$, at the angle $\alpha$ to the first right singular vector, give
$\theta_k=\|Wv_k\|^2\le\sigma_1^2$ with
$$\frac{\sigma_1^2-\theta_k}{\sigma_1^2}\le\tan^2\alpha\cdot
\min\Big(\big(\tfrac{\sigma_2}{\sigma_1}\big)^{4k},\max_{0\le x\le1}(1-x)x^{2k}\Big),$$
the second without any gap between the singular values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.norms import spectral_norm
from ftheta.logic.errors import UsageError
from ftheta.networks.description import Dense, Description
from ftheta.shapes import Float

from .decay import Penalty, check_weight

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


def jacobian(
    apply: Callable[[Any, Any], Any], x: Any, gamma: float, *, rows: int = 32, probes: int = 1
) -> Penalty:
    r"""$\gamma\,\mathbb E\|J_xf\|_F^2$ as a penalty for `penalised`: an unbiased estimate from `rows` of the inputs
    `x`, drawn anew at every step, and `probes` signs each."""
    gamma = check_weight(gamma)
    inputs = np.asarray(x)
    size = len(inputs)

    def penalty(params: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        chosen = jnp.asarray(inputs)[jax.random.randint(first, (min(rows, size),), 0, size)]
        f = lambda row: apply(params, row)
        shape = jax.eval_shape(f, chosen[0]).shape
        signs = probe(second, "signs", (len(chosen), probes, *shape))
        squares = jax.vmap(lambda row, vs: jax.vmap(lambda v: squared_pullback(f, row, v))(vs))(
            chosen, signs
        )
        return gamma * jnp.mean(squares)

    return penalty


# ---- spectral norms -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PowerRun:
    r"""`values[k]` $=\|Wv_k\|$, a lower bound of $\sigma_1$ that rises with $k$; `start` is $v_0$."""

    values: Float[np.ndarray, "k"]
    start: Float[np.ndarray, "d"]
    vector: Float[np.ndarray, "d"]

    def errors(
        self, W: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]:
        r"""$(\sigma_1^2-\theta_k)/\sigma_1^2$, and the bound of the module, for every $k$."""
        _, s, Vt = np.linalg.svd(W, full_matrices=True)
        second = s[1] if len(s) > 1 else 0.0
        cosine = abs(float(Vt[0] @ self.start))
        tangent = (1 - cosine**2) / max(cosine**2, 1e-300)
        k = np.arange(len(self.values), dtype=float)
        free = np.where(k > 0, (2 * k / (2 * k + 1)) ** (2 * k) / (2 * k + 1), 1.0)
        return 1 - (self.values / s[0]) ** 2, tangent * np.minimum((second / s[0]) ** (4 * k), free)


def power_iteration(W: Float[np.ndarray, "m d"], steps: int, rng: np.random.Generator) -> PowerRun:
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
    return Description(
        tuple(Dense(d.weight * scale(d.weight), d.bias, d.activation) for d in net.layers)
    )
