r"""Attention of a measure: $\Gamma_\mu(x)=V\,\mathbb E[e^{\langle b,y\rangle}y]/\mathbb E[e^{\langle b,y\rangle}]$
for $y\sim\mu$, with $b=Mx$, $M=K^\top Q$.

A Gaussian $\mathcal N(m,\Sigma)$ has $\Gamma(x)=V(m+\Sigma Mx)$, affine, so that it stays Gaussian under
$\partial_t\mu+\mathrm{div}(\mu\Gamma_\mu)=0$: $\dot m=V(I+\Sigma M)m$ and
$\dot\Sigma=V\Sigma M\Sigma+\Sigma M^\top\Sigma V^\top$.
With $V=M=1$ and $m=0$, $\dot s=2s^2$ and $s(t)=\frac{s_0}{1-2s_0t}$: it blows up at $\frac1{2s_0}$.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from ftheta.transport.gaussian import gaussian_distance, matrix_root

ORDERS = {1: 48, 2: 16, 3: 10}  # nodes along each direction of a quadrature, by dimension
RTOL = 1e-10
BEYOND = 1e6  # a covariance that has grown by this factor has blown up


@dataclass(frozen=True, eq=False)
class Gaussian:
    mean: np.ndarray
    covariance: np.ndarray

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def largest(self) -> float:
        """The largest variance along any direction."""
        return float(np.linalg.eigvalsh(self.covariance)[-1])

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """`n` independent tokens, one per row."""
        return self.mean + rng.normal(size=(n, self.dimension)) @ matrix_root(self.covariance)

    def quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the Gauss–Hermite rule, a grid in the principal directions."""
        return hermite(self.mean, matrix_root(self.covariance))


def hermite(mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss–Hermite rule for the Gaussian `mean + z @ scale`, $z$ standard normal."""
    d = len(mean)
    t, w = np.polynomial.hermite_e.hermegauss(ORDERS[d])
    grid = np.stack(np.meshgrid(*[t] * d, indexing="ij"), -1).reshape(-1, d)
    weights = np.prod(
        np.stack(np.meshgrid(*[w / w.sum()] * d, indexing="ij"), -1).reshape(-1, d), 1
    )
    return mean + grid @ scale, weights


@dataclass(frozen=True, eq=False)
class Attention:
    r"""The matrices $V$ and $M=K^\top Q$."""

    V: np.ndarray
    M: np.ndarray

    @classmethod
    def build(cls, dimension: int, stretch: float, degrees: float) -> "Attention":
        """V stretches the directions by factors from 1 to `stretch`; M turns the first two by an angle."""
        M = np.eye(dimension)
        angle = np.deg2rad(degrees)
        if dimension > 1:
            M[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        return cls(np.diag(np.linspace(1.0, stretch, dimension)), M)

    def of_points(self, y: np.ndarray, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Γ of the discrete measure with atoms `y`, at the rows of `x`."""
        with np.errstate(divide="ignore"):
            scores = (x @ self.M.T) @ y.T + np.log(weights)
        scores = np.exp(scores - scores.max(1, keepdims=True))
        return (scores / scores.sum(1, keepdims=True)) @ y @ self.V.T

    def of_gaussian(self, law: Gaussian, x: np.ndarray) -> np.ndarray:
        r"""$\Gamma(x)=V(m+\Sigma Mx)$ of the Gaussian `law`, at the rows of `x`."""
        return (law.mean + x @ self.M.T @ law.covariance) @ self.V.T

    def residuals(self, law: Gaussian, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        r"""$e^{\langle b,y\rangle-c}(Vy-\Gamma(x))$ for draws $y$: of mean zero; $c$ keeps them finite."""
        b = self.M @ x
        c = b @ law.mean + b @ law.covariance @ b / 2
        return np.exp(y @ b - c)[:, None] * (y @ self.V.T - self.of_gaussian(law, x[None]))

    def residual_variance(self, law: Gaussian, x: np.ndarray, along: np.ndarray) -> float:
        r"""The second moment of $\langle a,\cdot\rangle$ of these residuals, $a$ = `along`.

        $e^{2\langle b,y\rangle}$ moves the mean of $y$ by $2\Sigma b$ and leaves the factor $e^{b^\top\Sigma b}$.
        """
        b = self.M @ x
        moved = law.mean + 2 * law.covariance @ b
        centre = along @ (self.V @ moved - self.of_gaussian(law, x[None])[0])
        turned = self.V.T @ along
        return float(
            np.exp(b @ law.covariance @ b) * (centre**2 + turned @ law.covariance @ turned)
        )

    # -- flows ---------------------------------------------------------------------------------------

    def gaussians(self, law: Gaussian, times: np.ndarray) -> list[Gaussian]:
        """The Gaussian at increasing times from 0; fewer where it blows up before."""
        d = law.dimension
        run = self._integrate(law, times[-1], times)
        return [Gaussian(row[:d], row[d:].reshape(d, d)) for row in run.y.T]

    def blow_up(self, law: Gaussian, until: float) -> float:
        """When the covariance has grown by a factor of a million; infinite if not before `until`."""
        met = self._integrate(law, until, None).t_events[0]
        return float(met[0]) if len(met) else np.inf

    def _integrate(self, law: Gaussian, until: float, times: np.ndarray | None):
        d = law.dimension
        V = self.V
        M = self.M
        first = np.trace(law.covariance)

        def right(_: float, y: np.ndarray) -> np.ndarray:
            m = y[:d]
            S = y[d:].reshape(d, d)
            grown = V @ S @ M @ S
            return np.concatenate([V @ (m + S @ M @ m), (grown + grown.T).ravel()])

        def left(_: float, y: np.ndarray) -> float:
            return BEYOND * first - np.trace(y[d:].reshape(d, d))

        left.terminal = True  # type: ignore[attr-defined]
        start = np.concatenate([law.mean, law.covariance.ravel()])
        return solve_ivp(
            right, (0.0, until), start, "DOP853", times, events=left, rtol=RTOL, atol=1e-12
        )

    def particles(
        self, y: np.ndarray, weights: np.ndarray, until: float, rtol: float = 1e-8
    ) -> np.ndarray:
        """The atoms of a discrete measure at that time, each moved by Γ of all."""
        right = lambda _, z: self.of_points(z.reshape(y.shape), weights, z.reshape(y.shape)).ravel()
        return (
            solve_ivp(right, (0.0, until), y.ravel(), "RK45", rtol=rtol, atol=1e-10)
            .y[:, -1]
            .reshape(y.shape)
        )


def moments(y: np.ndarray, weights: np.ndarray) -> Gaussian:
    """The Gaussian with the mean and the covariance of these atoms."""
    mean = weights @ y
    return Gaussian(mean, (y - mean).T * weights @ (y - mean))


def scalar(first: float, time: float) -> float:
    r"""$\frac{s_0}{1-2s_0t}$; infinite from the blow-up on."""
    return first / (1 - 2 * first * time) if 2 * first * time < 1 else np.inf


# -- optimal transport -------------------------------------------------------------------------------


def wasserstein(a: Gaussian, b: Gaussian) -> float:
    r"""$W_2^2=|m-m'|^2+\operatorname{tr}(\Sigma+\Sigma'-2(\Sigma^{1/2}\Sigma'\Sigma^{1/2})^{1/2})$ of two Gaussians."""
    return float(np.sqrt(gaussian_distance(a.mean, a.covariance, b.mean, b.covariance)))


def stability_rates(
    attention: Attention, ones: list[Gaussian], others: list[Gaussian]
) -> Iterator[float]:
    r"""$L$ with $\frac d{dt}W_2\le LW_2$ along two flows: with $\lambda,\lambda'$ the largest variances,
    $L=\|V\|\big(1+\|M\|(\lambda+(\sqrt\lambda+\sqrt{\lambda'})\sqrt{|m'|^2+\operatorname{tr}\Sigma'})\big)$, or
    with both exchanged.

    An optimal coupling of $X\sim\mu$, $Y\sim\nu$ moves with the flows, and $\Gamma_\mu(X)-\Gamma_\nu(Y)=V(m-m'+\Sigma
    M(X-Y)+(\Sigma-\Sigma')MY)$, where $\Sigma-\Sigma'=\mathbb E[(X-Y)^c(X^c)^\top+Y^c((X-Y)^c)^\top]$.
    """
    v = np.linalg.norm(attention.V, 2)
    k = np.linalg.norm(attention.M, 2)
    for a, b in zip(ones, others):
        roots = np.sqrt(a.largest) + np.sqrt(b.largest)
        size = lambda law: np.sqrt((law.mean**2).sum() + np.trace(law.covariance))
        yield float(v * (1 + k * min(a.largest + roots * size(b), b.largest + roots * size(a))))
