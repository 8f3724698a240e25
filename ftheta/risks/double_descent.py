r"""The risk of least squares with p of D features: exactly, measured, and with the best ridge.

Features $x\in\mathbb R^D$ are isotropic Gaussian, $y=\langle\beta,x\rangle+\sigma\epsilon$ with $\beta_j=r/\sqrt D$.
The estimator is the minimum-norm least-squares fit on the first $p$ features and $n$ rows. The others act as noise:
write $\tau^2=\sigma^2+r^2(1-p/D)$ and $b^2=r^2p/D$. Since $\mathbb E\,\mathrm{tr}(X^\top X)^{-1}=p/(n-p-1)$ (inverse
Wishart), the risk is

$$\tau^2\Big(1+\frac p{n-p-1}\Big)\quad(p\le n-2),$$
$$b^2\Big(1-\frac np\Big)+\tau^2\Big(1+\frac n{p-n-1}\Big)\quad(p\ge n+2),$$

and infinite between (Belkin, Hsu, Xu 2020). Averaged over the direction of β, ridge regression with penalty
$\lambda=p\tau^2/b^2$ is the best linear estimator for every design, of risk
$\tau^2(1+\mathrm{tr}(X^\top X+\lambda)^{-1})$. It never exceeds the risk $r^2+\sigma^2$ without features, so its curve
has no peak; and it falls with $p$, since the best linear estimator from more features is no worse.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np

from ftheta.estimates import mean
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Real

BLOCK = 4_000_000  # numbers held at once
WORK = 10_000_000_000  # floating-point operations of one experiment
QUIET = 8  # at this distance from p = n the fourth moment of the risk is finite, so that means can be trusted


@dataclass(frozen=True, slots=True)
class Model:
    r"""n rows, D = `features`, `signal` $r^2$ and `noise` $\sigma^2$."""

    n: int
    features: int
    signal: Fraction
    noise: Fraction

    def split(self, p: int) -> tuple[Fraction, Fraction]:
        r"""$b^2$ and $\tau^2$: what p features carry, and what is left as noise."""
        carried = self.signal * p / self.features
        return carried, self.noise + self.signal - carried

    def risk(self, p: int) -> Fraction | None:
        """The exact risk; None where it is infinite."""
        carried, rest = self.split(p)
        n = self.n
        if rest == 0:  # nothing blows up: the fit is the projection of β
            return carried * max(Fraction(0), 1 - Fraction(n, p)) if p else carried
        if p <= n - 2:
            return rest * (1 + Fraction(p, n - p - 1))
        if p >= n + 2:
            return carried * (1 - Fraction(n, p)) + rest * (1 + Fraction(n, p - n - 1))
        return None

    def enclose_risk(self, p: int) -> Enclosure:
        """The risk as an enclosure, infinite where it is."""
        risk = self.risk(p)
        return Enclosure.between(inf, inf) if risk is None else Enclosure.exact(risk)

    def limit(self, p: float) -> float:
        """The risk for n, p, D to infinity at these ratios (Hastie et al. 2022)."""
        carried = float(self.signal) * p / self.features
        rest = float(self.noise + self.signal) - carried
        ratio = p / self.n
        if ratio == 1:
            return inf
        return (
            rest / (1 - ratio)
            if ratio < 1
            else carried * (1 - 1 / ratio) + rest * ratio / (ratio - 1)
        )

    def steepest_drop(self) -> Fraction:
        """The largest fall of the risk from p to p + 1 below the threshold; not positive when D ≥ n − 1."""
        risks = [self.risk(p) or Fraction(0) for p in range(max(self.n - 1, 1))]
        return max((a - b for a, b in pairwise(risks)), default=Fraction(0))

    def second_descent(self) -> Enclosure:
        """The risk with all features less that at p = n + 2, which is never positive; unknown if D < n + 2."""
        end = self.risk(self.features)
        after = self.risk(self.n + 2)
        if self.features < self.n + 2 or end is None or after is None:
            return Enclosure()
        return Enclosure.exact(end - after)

    def landmarks(self) -> list[int]:
        """Where the curve is quoted: no feature, half of n, either side of the threshold, twice n, all features."""
        n = self.n
        D = self.features
        return sorted({p for p in (0, n // 2, n - 2, n + 2, 2 * n, D) if 0 <= p <= D})

    def measured_at(self) -> list[int]:
        """Where a mean over draws is to be trusted."""
        n = self.n
        D = self.features
        wanted = {
            n // 4,
            n // 2,
            n - 12,
            n - QUIET,
            n + QUIET,
            n + 12,
            3 * n // 2,
            2 * n,
            (2 * n + D) // 2,
            D,
        }
        return sorted(p for p in wanted if 1 <= p <= D and abs(p - n) >= QUIET)


def fit_minimum_norm(
    X: Float[np.ndarray, "*b n p"], y: Float[np.ndarray, "*b n"]
) -> Float[np.ndarray, "*b p"]:
    """Minimum-norm least-squares fits for a stack of designs (…, n, p)."""
    wide = X.shape[-1] >= X.shape[-2]
    gram = _gram(X)
    right = y[..., None] if wide else X.mT @ y[..., None]
    solved = _inverse(gram) @ right
    return ((X.mT @ solved) if wide else solved)[..., 0]


def _gram(X: np.ndarray) -> np.ndarray:
    """The smaller of the two Gram matrices."""
    return X @ X.mT if X.shape[-1] >= X.shape[-2] else X.mT @ X


def _inverse(gram: np.ndarray) -> np.ndarray:
    """The inverse, or for designs without full rank the pseudo-inverse, which is several times slower."""
    try:
        inverse = np.linalg.inv(gram)
        if np.abs(gram @ inverse - np.eye(gram.shape[-1])).max() < 1e-6:
            return inverse
    except np.linalg.LinAlgError:
        pass
    return np.linalg.pinv(gram, rcond=1e-10, hermitian=True)


@dataclass(frozen=True)
class Sweep:
    """Risks of independent draws, one row per draw and one column per p: of least squares, and of the best ridge."""

    at: tuple[int, ...]
    risks: Float[np.ndarray, "draws p"]
    ridge: Float[np.ndarray, "draws p"]

    def means(self) -> list[Enclosure]:
        """The mean risk of least squares at each number of features, with its interval."""
        return [mean(column) for column in self.risks.T]


@dataclass(frozen=True)
class Features:
    r"""The law $\sum_iw_i\,\mathcal N(a_i,s^2I)$ of the features: rows `atoms`, `weights` and `spread` $s$."""

    atoms: Float[np.ndarray, "a d"]
    weights: Float[np.ndarray, "a"]
    spread: float

    def draw(self, rng: np.random.Generator, rows: int) -> Float[np.ndarray, "rows d"]:
        """`rows` independent rows of the law."""
        which = rng.choice(len(self.atoms), size=rows, p=self.weights / self.weights.sum())
        return self.atoms[which] + self.spread * rng.normal(size=(rows, self.atoms.shape[1]))

    @property
    def second_moment(self) -> Float[np.ndarray, "d d"]:
        return (self.atoms.T * self.weights) @ self.atoms + self.spread**2 * np.eye(
            self.atoms.shape[1]
        )

    def null_risk(self, model: Model) -> Fraction:
        r"""The risk $\beta^\top\mathbb E xx^\top\beta+\sigma^2$ without features, exactly."""
        D = self.atoms.shape[1]
        sums = [sum((Fraction(v) for v in row), Fraction(0)) for row in self.atoms.tolist()]
        total = sum(
            (Fraction(w) * t**2 for w, t in zip(self.weights.tolist(), sums)),
            D * Fraction(self.spread) ** 2,
        )
        return model.signal * total / D + model.noise


def sweep_features(model: Model, rng: np.random.Generator, features: Features, draws: int) -> Sweep:
    r"""Fit labels of the model on features drawn from their law.

    The risk of a fit is $(\beta-\hat\beta)^\top\mathbb E xx^\top(\beta-\hat\beta)+\sigma^2$: only training sets
    are drawn.
    """
    n = model.n
    D = model.features
    at = model.measured_at()
    draws = max(16, min(draws, WORK // (4 * n * n * D * max(len(at), 1))))
    block = max(1, BLOCK // (n * D))
    beta = np.full(D, np.sqrt(float(model.signal) / D))
    moment = features.second_moment
    risks = []
    ridge = []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        X = features.draw(rng, size * n).reshape(size, n, D)
        y = X @ beta + np.sqrt(float(model.noise)) * rng.normal(size=(size, n))
        off = [np.pad(fit_minimum_norm(X[:, :, :p], y), ((0, 0), (0, D - p))) - beta for p in at]
        risks.append([((e @ moment) * e).sum(1) + float(model.noise) for e in off])
        ridge.append([ridge_risk(model, X[:, :, :p]) for p in at])
    joined = [
        np.concatenate([np.asarray(r).reshape(len(at), -1) for r in part], axis=1).T
        for part in (risks, ridge)
    ]
    return Sweep(tuple(at), joined[0], joined[1])


def ridge_risk(model: Model, X: Float[np.ndarray, "*b n p"]) -> Float[np.ndarray, "*b"]:
    r"""$\tau^2(1+\mathrm{tr}(X^\top X+\lambda)^{-1})$ with the best λ, for a stack of designs (…, n, p)."""
    p = X.shape[-1]
    carried, rest = (float(v) for v in model.split(p))
    if rest == 0 or carried == 0:  # nothing to shrink against: λ = 0, or nothing to find: λ = ∞
        return np.full(X.shape[:-2], rest + carried * max(0.0, 1 - model.n / p))
    penalty = p * rest / carried
    gram = _gram(X)
    m = gram.shape[-1]
    trace = np.trace(np.linalg.inv(gram + penalty * np.eye(m)), axis1=-2, axis2=-1)
    return rest * (1 + trace + (p - m) / penalty)


def sweep_data(
    rng: np.random.Generator,
    x: Real[np.ndarray, "n d"],
    y: Real[np.ndarray, "n"],
    n: int,
    draws: int,
) -> Sweep:
    """Squared test errors on rows left out, for random training rows and features; and squared training errors.

    Columns are numbers of features around the threshold p = n. The training errors take the place of the ridge.
    """
    rows, D = x.shape
    y = y - y.mean()
    wanted = {
        1,
        n // 4,
        n // 2,
        3 * n // 4,
        n - 2,
        n - 1,
        n,
        n + 1,
        n + 2,
        5 * n // 4,
        3 * n // 2,
        2 * n,
        4 * n,
        D,
    }
    at = tuple(sorted(p for p in wanted if 1 <= p <= D))
    draws = max(8, min(draws, WORK // (4 * n * n * D * len(at))))
    test = np.empty((draws, len(at)))
    train = np.empty((draws, len(at)))
    for k in range(draws):
        order = rng.permutation(rows)
        features = rng.permutation(D)
        inside = order[:n]
        outside = order[n : n + 2000]
        for i, p in enumerate(at):
            some = features[:p]
            fit = fit_minimum_norm(x[np.ix_(inside, some)], y[inside])
            test[k, i] = ((x[np.ix_(outside, some)] @ fit - y[outside]) ** 2).mean()
            train[k, i] = ((x[np.ix_(inside, some)] @ fit - y[inside]) ** 2).mean()
    return Sweep(at, test, train)


def anisotropy(x: Real[np.ndarray, "n d"]) -> float:
    """The largest z-score of second and fourth moments (of at most 300 features) against independent normals."""
    some = x[:, :300]
    rows, D = some.shape
    second = (some.T @ some / rows - np.eye(D)) * np.sqrt(rows) / np.sqrt(1 + np.eye(D))
    fourth = ((some**4).mean(0) - 3) * np.sqrt(rows / 96)
    return float(max(np.abs(second).max(), np.abs(fourth).max()))
