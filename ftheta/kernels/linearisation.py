r"""Training in the tangent plane, in closed form: kernel regression, all of training, and what the kernel says.

The linearised network trained by gradient flow on $\frac12\|f-y\|^2$ has, with $K$ the tangent kernel on the rows
and $k(x)$ that of a new row with them, $f_t=f_0+(I-e^{-tK})(y-f_0)$ and $f_t(x)=f_0(x)+k(x)K^{-1}(I-e^{-tK})(y-f_0)$;
as $t\to\infty$ this is kernel regression. Of an architecture $f_0$ is a Gaussian process: the mean starts at 0 and
has a spread.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.kernels.empirical.kernel import empirical
from ftheta.kernels.wide.closed_forms import closed_form
from ftheta.kernels.wide.layers import Kernels
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .dispatch import is_architecture, network_like


@dataclass(frozen=True, eq=False)
class Linearised:
    r"""The kernel $K$ with its eigenvalues $\lambda_1\ge\lambda_2\ge\dots$ and eigenvectors, and what is to be learned.

    Outputs are flattened: a network with several outputs has one row of $K$ for each row and output, an architecture
    one column of `gap` $=y-f_0$ for each output. `cross` is the kernel of the test rows with the others; `test_start`
    is $f_0$ there.
    """

    kernel: Float[np.ndarray, "m m"]
    values: Float[np.ndarray, "m"]
    vectors: Float[np.ndarray, "m m"]
    start: Float[np.ndarray, "m k"]
    gap: Float[np.ndarray, "m k"]
    shape: tuple[int, ...]
    cross: Float[np.ndarray, "t m"] | None = None
    test_start: Float[np.ndarray, "t k"] | None = None
    priors: tuple[Kernels, Kernels] | None = None

    # -- training --------------------------------------------------------------------------------

    def at(self, t: float = inf) -> Float[np.ndarray, "n *k"]:
        r"""The outputs at time $t$, $f_0+(I-e^{-tK})(y-f_0)$, in the shape of `y`."""
        return self._shape(self.start + self._filter(self._learn(t)), len(self.start))

    def after(self, steps: int, rate: float | None = None) -> Float[np.ndarray, "n *k"]:
        r"""The outputs after steps of gradient descent of this size, by default $1/\lambda_1$."""
        eta = 1 / self.values[0] if rate is None else rate
        return self._shape(
            self.start + self._filter(1 - (1 - eta * self.values) ** steps), len(self.start)
        )

    def loss(self, t: float = inf) -> float:
        r"""$\frac12\|f_t-y\|^2$."""
        return float(((self.gap - self._filter(self._learn(t))) ** 2).sum() / 2)

    def predict(self, t: float = inf, *, ridge: float = 0.0) -> Float[np.ndarray, "n *k"]:
        r"""The outputs at test rows at time $t$; with `ridge` λ at the end $f_0(x)+k(x)(K+\lambda I)^{-1}(y-f_0)$."""
        if self.cross is None or self.test_start is None:
            raise UsageError(
                "There are no test rows.", got="test=None", remedy="give linearised(…, test=rows)"
            )
        return self._shape(
            self.test_start + self.cross @ self._filter(self._shares(t, ridge)), len(self.cross)
        )

    def spread(self, t: float = inf) -> Float[np.ndarray, "n"]:
        r"""The standard deviation, over random networks of infinite width, of the outputs at the test rows.

        With $A=k(x)K^{-1}(I-e^{-tK})$ and $\mathcal K$ the NNGP kernel the covariance is
        $\mathcal K(x,x)+A\mathcal KA^\top-2A\mathcal K(\cdot,x)$ (Lee et al. 2019).
        """
        if self.priors is None or self.cross is None:
            raise UsageError(
                "The spread is that of an infinitely wide network at test rows.",
                got="a network" if self.priors is None else "no test rows",
                remedy="give an architecture, and test=rows",
            )
        own, cross = self.priors
        A = self.cross @ (self.vectors * self._shares(t, 0.0)) @ self.vectors.T
        variance = cross.own1 + ((A @ own.nngp) * A).sum(1) - 2 * (A * cross.nngp).sum(1)
        return np.sqrt(np.maximum(variance, 0.0))

    # -- what the kernel says --------------------------------------------------------------------

    @property
    def spectrum(self) -> Float[np.ndarray, "m"]:
        """The eigenvalues, largest first."""
        return self.values

    @property
    def largest_step(self) -> float:
        r"""$2/\lambda_1$: descent with longer steps diverges."""
        return float(2 / self.values[0]) if self.values[0] > 0 else inf

    @property
    def alignment(self) -> float:
        r"""$\langle K,gg^\top\rangle_F/(\|K\|_F\|gg^\top\|_F)$ with $g=y-f_0$: 1 where one mode learns it all."""
        outer = self.gap @ self.gap.T
        size = float(np.linalg.norm(self.kernel) * np.linalg.norm(outer))
        return float((self.kernel * outer).sum() / size) if size > 0 else 0.0

    @property
    def modes(self) -> Float[np.ndarray, "m"]:
        r"""The share of $\|y-f_0\|^2$ along each eigenvector: learned at the rate $\lambda_i$."""
        parts = ((self.vectors.T @ self.gap) ** 2).sum(1)
        return parts / max(parts.sum(), 1e-300)

    def effective_dimension(self, ridge: float) -> float:
        r"""$\mathrm{tr}\,K(K+\lambda I)^{-1}$: how many directions are learned at this ridge."""
        if not ridge > 0:
            raise UsageError(
                "An effective dimension needs a ridge.",
                got=str(ridge),
                remedy="give a positive number",
            )
        return float((self.values / (self.values + ridge)).sum())

    # -- inside ----------------------------------------------------------------------------------

    def _learn(self, t: float) -> np.ndarray:
        if not t >= 0:
            raise UsageError(
                "Time is not negative.", got=str(t), remedy="give t ≥ 0, or inf for the end"
            )
        return np.where(
            self.values > self._zero(),
            -np.expm1(-min(t, 1e300) * np.maximum(self.values, 0.0)),
            0.0,
        )

    def _shares(self, t: float, ridge: float) -> np.ndarray:
        r"""$(1-e^{-t\lambda})/(\lambda+\text{ridge})$; directions that the kernel does not see are not learned."""
        seen = self.values > self._zero()
        return np.where(seen, self._learn(t) / np.where(seen, self.values + ridge, 1.0), 0.0)

    def _zero(self) -> float:
        return len(self.values) * np.finfo(float).eps * max(float(self.values[0]), 0.0)

    def _filter(self, shares: np.ndarray) -> np.ndarray:
        return self.vectors @ (shares[:, None] * (self.vectors.T @ self.gap))

    def _shape(self, flat: np.ndarray, rows: int) -> np.ndarray:
        many = int(np.prod(self.shape[1:]))
        return flat.reshape(rows * flat.shape[1] // many, *self.shape[1:])


def linearised(net: Any, x: Any, y: Any, test: Any = None, **options: Any) -> Linearised:
    """The linearised training of a network, or of an architecture of infinite width, on rows `x` with targets `y`.

    `y` is `(n,)` or `(n, outputs)`. `options` are those of the kernel (`memory=`, `method=`).
    """
    y = np.asarray(y, np.float64)
    if y.ndim == 0 or len(y) != len(np.asarray(x)) or not np.isfinite(y).all():
        got = f"{len(np.asarray(x))} rows, y {y.shape}" + (
            "" if np.isfinite(y).all() else ", not all finite"
        )
        raise UsageError(
            "There is one finite target per row.",
            got=got,
            remedy="give y of shape (n,) or (n, outputs)",
        )
    if is_architecture(net):
        own = closed_form(net, x, **options)
        cross = None if test is None else closed_form(net, test, x, **options)
        gap = y.reshape(len(y), -1)
        priors = None if cross is None else (own, cross)
        start = None if cross is None else np.zeros((len(cross.ntk), gap.shape[1]))
        return _made(
            own.ntk,
            np.zeros_like(gap),
            gap,
            y.shape,
            None if cross is None else cross.ntk,
            start,
            priors,
        )
    network_like(net)
    begin = _outputs(net, x)
    if begin.size != y.size:
        remedy = "give one number for each output of each row"
        raise UsageError(
            "The targets do not fit the outputs.",
            got=f"outputs {begin.shape}, y {y.shape}",
            remedy=remedy,
        )
    flat = lambda K: K.transpose(0, 2, 1, 3).reshape(K.shape[0] * K.shape[2], -1)
    K = flat(empirical(net, x, outputs="full", **options))
    cross = None if test is None else flat(empirical(net, test, x, outputs="full", **options))
    start = None if test is None else _outputs(net, test).reshape(-1, 1)
    begin = begin.reshape(-1, 1)
    return _made(K, begin, y.reshape(-1, 1) - begin, y.shape, cross, start, None)


def _made(
    K: np.ndarray, start: np.ndarray, gap: np.ndarray, shape: tuple[int, ...], *test: Any
) -> Linearised:
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    return Linearised(K, values[::-1], vectors[:, ::-1], start, gap, shape, *test)


def _outputs(net: Any, x: Any) -> np.ndarray:
    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, net.params)
        rows = jnp.asarray(np.asarray(x))
        rows = rows.astype(np.float64) if rows.dtype.kind == "f" else rows
        return np.asarray(jax.vmap(lambda row: jnp.ravel(net.apply(params, row)))(rows))
