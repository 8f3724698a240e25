r"""Coupling flows: invertible by their structure, whatever is learnt.

A layer keeps the coordinates $x_A$ and maps $x_B\mapsto x_Be^{s(x_A)}+t(x_A)$; its inverse is explicit and its log
determinant is $\sum s$. Here $s$ and $t$ are linear in fixed features $\varphi(x_A)=(1,x_A,\tanh(Bx_A+c))$, and layers
are fitted one after another: each is the map that makes its own half of the data most nearly normal given the other
half."""

from dataclasses import dataclass

import numpy as np

from ftheta.shapes import Bool, Float, Inexact

from .continuous import normal_log_density

RIDGE = 1e-3
STEEPEST = 1.0  # |s| is at most this: a single layer stretches by at most e


@dataclass(frozen=True, eq=False)
class Coupling:
    """One layer. `moved` marks $x_B$; `scale` and `shift` are the weights of $s$ and $t$, one column per moved
    entry."""

    moved: Bool[np.ndarray, "d"]
    basis: Float[np.ndarray, "m a"]
    offset: Float[np.ndarray, "m"]
    scale: Float[np.ndarray, "f b"]
    shift: Float[np.ndarray, "f b"]

    def _parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """$s$ and $t$ at the kept entries of the rows."""
        phi = features(x[:, ~self.moved], self.basis, self.offset)
        return STEEPEST * np.tanh(phi @ self.scale / STEEPEST), phi @ self.shift

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$x_Be^s+t$ and $\sum s$, at every row."""
        s, t = self._parts(x)
        y = x.copy()
        y[:, self.moved] = x[:, self.moved] * np.exp(s) + t
        return y, s.sum(1)

    def inverse(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$(y_B-t)e^{-s}$ and $-\sum s$, at every row."""
        s, t = self._parts(y)
        x = y.copy()
        x[:, self.moved] = (y[:, self.moved] - t) * np.exp(-s)
        return x, -s.sum(1)


@dataclass(frozen=True, eq=False)
class CouplingFlow:
    r"""Normal noise through the `layers`, then $y=\mu+Lx$ with `centre` $\mu$ and `factor` $L$ lower triangular."""

    layers: tuple[Coupling, ...]
    centre: Float[np.ndarray, "d"]
    factor: Float[np.ndarray, "d d"]

    def forward(
        self, x: Inexact[np.ndarray, "n d"]
    ) -> tuple[Inexact[np.ndarray, "n d"], Inexact[np.ndarray, "n"]]:
        r"""$T(x)$ and $\log|\det DT(x)|$ at every row."""
        total = np.full(len(x), np.log(np.abs(np.diag(self.factor))).sum(), x.dtype)
        for layer in self.layers:
            x, change = layer.forward(x)
            total = total + change
        return self.centre + x @ self.factor.T, total

    def inverse(
        self, y: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n"]]:
        r"""$T^{-1}(y)$ and $\log|\det DT^{-1}(y)|$ at every row."""
        total = np.full(len(y), -np.log(np.abs(np.diag(self.factor))).sum())
        x = np.linalg.solve(self.factor, (y - self.centre).T).T
        for layer in reversed(self.layers):
            x, change = layer.inverse(x)
            total = total + change
        return x, total

    def log_density(self, y: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        r"""$\log p(y)=\log\gamma(T^{-1}y)+\log|\det DT^{-1}(y)|$."""
        x, change = self.inverse(y)
        return normal_log_density(x) + change

    def sample(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n d"]:
        """`n` new rows."""
        return self.forward(rng.normal(size=(n, len(self.centre))))[0]


def features(
    x: Inexact[np.ndarray, "n a"], basis: Float[np.ndarray, "m a"], offset: Float[np.ndarray, "m"]
) -> Inexact[np.ndarray, "n f"]:
    r"""$\varphi(x)=(1,x,\tanh(Bx+c))$ at every row."""
    return np.concatenate([np.ones((len(x), 1)), x, np.tanh(x @ basis.T + offset)], 1)


def fit_coupling(
    rows: Float[np.ndarray, "n d"],
    rng: np.random.Generator,
    *,
    layers: int = 8,
    neurons: int = 24,
    steps: int = 60,
) -> CouplingFlow:
    """A flow fitted to the rows: whitened, then layer after layer; the likelihood of the rows never falls."""
    d = rows.shape[1]
    centre = rows.mean(0)
    factor = np.linalg.cholesky(
        np.cov(rows.T, bias=True).reshape(d, d) + 1e-9 * np.diag(rows.var(0))
    )
    x = np.linalg.solve(factor, (rows - centre).T).T
    fitted: list[Coupling] = []
    for k in range(layers if d > 1 else 0):
        layer = _fit_layer(x, _choose_moved(d, k, rng), rng, neurons, steps)
        x = layer.inverse(x)[0]
        fitted.append(layer)
    return CouplingFlow(tuple(reversed(fitted)), centre, factor)


def _choose_moved(d: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Which half a layer moves: of two coordinates in turn, else half of them at random."""
    if d == 2:
        return np.arange(2) == k % 2
    return np.isin(np.arange(d), rng.permutation(d)[: d // 2])


def _fit_layer(
    x: np.ndarray, moved: np.ndarray, rng: np.random.Generator, neurons: int, steps: int
) -> Coupling:
    """The layer whose inverse makes the moved half most likely under a normal law, by a quasi-Newton method."""
    from scipy.optimize import minimize  # here, because it is slow to import

    kept = x[:, ~moved]
    target = x[:, moved]
    basis = 1.5 * rng.normal(size=(neurons, kept.shape[1])) / np.sqrt(kept.shape[1])
    offset = 2 * rng.normal(size=neurons)
    phi = features(kept, basis, offset)
    shape = (2, phi.shape[1], target.shape[1])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scale, shift = flat.reshape(shape)
        bent = np.tanh(phi @ scale / STEEPEST)
        s = STEEPEST * bent
        z = (target - phi @ shift) * np.exp(-s)
        value = float((z**2 / 2 + s).sum(1).mean()) + RIDGE * float(flat @ flat) / 2
        of_scale = phi.T @ ((1 - z**2) * (1 - bent**2)) / len(x)
        of_shift = phi.T @ (-z * np.exp(-s)) / len(x)
        return value, np.stack([of_scale, of_shift]).ravel() + RIDGE * flat

    found = minimize(
        loss, np.zeros(int(np.prod(shape))), jac=True, method="L-BFGS-B", options={"maxiter": steps}
    )
    scale, shift = found.x.reshape(shape)
    return Coupling(moved, basis, offset, scale, shift)
