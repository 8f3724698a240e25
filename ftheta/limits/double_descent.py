r"""The risk of least squares with p of D features: exactly, measured, and with the best ridge.

Features $x\in\mathbb R^D$ are isotropic Gaussian, $y=\langle\beta,x\rangle+\sigma\epsilon$ with $\beta_j=r/\sqrt D$.
The estimator is the least-squares fit of least norm on the first $p$ features and $n$ rows. The others act as noise:
write $\tau^2=\sigma^2+r^2(1-p/D)$ and $b^2=r^2p/D$. Since $\mathbb E\,\mathrm{tr}(X^\top X)^{-1}=p/(n-p-1)$ (inverse
Wishart), the risk is

$$\tau^2\Big(1+\frac p{n-p-1}\Big)\quad(p\le n-2),$$
$$b^2\Big(1-\frac np\Big)+\tau^2\Big(1+\frac n{p-n-1}\Big)\quad(p\ge n+2),$$

and infinite between (Belkin, Hsu, Xu 2020). Averaged over the direction of β, ridge regression with penalty
$\lambda=p\tau^2/b^2$ is the best linear estimator for every design, of risk
$\tau^2(1+\mathrm{tr}(X^\top X+\lambda)^{-1})$. It never exceeds the risk $r^2+\sigma^2$ without features, so its curve
has no peak; and it falls with $p$, since the best linear estimator from more features is no worse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Converges, Curves, Enclosure, Evidence, Series, SubjectError

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
        (carried, rest), n = self.split(p), self.n
        if rest == 0:  # nothing blows up: the fit is the projection of β
            return carried * max(Fraction(0), 1 - Fraction(n, p)) if p else carried
        if p <= n - 2:
            return rest * (1 + Fraction(p, n - p - 1))
        if p >= n + 2:
            return carried * (1 - Fraction(n, p)) + rest * (1 + Fraction(n, p - n - 1))
        return None

    def known_risk(self, p: int) -> Enclosure:
        risk = self.risk(p)
        return Enclosure.between(inf, inf) if risk is None else Enclosure.exact(risk)

    def limit(self, p: float) -> float:
        """The risk for n, p, D to infinity at these ratios (Hastie et al. 2022)."""
        carried = float(self.signal) * p / self.features
        rest, ratio = float(self.noise + self.signal) - carried, p / self.n
        if ratio == 1:
            return inf
        return rest / (1 - ratio) if ratio < 1 else carried * (1 - 1 / ratio) + rest * ratio / (ratio - 1)

    def steepest_drop(self) -> Fraction:
        """The largest fall of the risk from p to p + 1 below the threshold; not positive when D ≥ n − 1."""
        risks = [self.risk(p) or Fraction(0) for p in range(max(self.n - 1, 1))]
        return max((a - b for a, b in pairwise(risks)), default=Fraction(0))

    def second_descent(self) -> Enclosure:
        """The risk with all features less that at p = n + 2, which is never positive; unknown if D < n + 2."""
        end, after = self.risk(self.features), self.risk(self.n + 2)
        if self.features < self.n + 2 or end is None or after is None:
            return Enclosure()
        return Enclosure.exact(end - after)

    def landmarks(self) -> list[int]:
        """Where the curve is quoted: no feature, half of n, either side of the threshold, twice n, all features."""
        n, D = self.n, self.features
        return sorted({p for p in (0, n // 2, n - 2, n + 2, 2 * n, D) if 0 <= p <= D})

    def measured_at(self) -> list[int]:
        """Where a mean over draws is to be trusted."""
        n, D = self.n, self.features
        wanted = {n // 4, n // 2, n - 12, n - QUIET, n + QUIET, n + 12, 3 * n // 2, 2 * n, (2 * n + D) // 2, D}
        return sorted(p for p in wanted if 1 <= p <= D and abs(p - n) >= QUIET)


def least_norm(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares fits of least norm for a stack of designs (…, n, p)."""
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
    """Risks of independent draws, one row a draw and one column a p: of least squares, and of the best ridge."""

    at: tuple[int, ...]
    risks: np.ndarray
    ridge: np.ndarray

    def means(self) -> list[Enclosure]:
        return [mean(column) for column in self.risks.T]


def convergence(model: Model) -> Converges:
    """The exact risk at p = D = 2n tends to its limit as n grows."""
    scales = [model.n * 2**k for k in range(8)]
    values = tuple(Model(n, 2 * n, model.signal, model.noise).known_risk(2 * n) for n in scales)
    limit = Enclosure.exact(model.signal / 2 + 2 * model.noise)
    within = 2 * float(model.noise) / scales[-1] + 1e-9
    return Converges("risk at p = D = 2n", limit, values, tuple(float(n) for n in scales), within)


@dataclass(frozen=True)
class Features:
    r"""The law $\sum_iw_i\,\mathcal N(a_i,s^2I)$ of the features: rows `atoms`, `weights` and `spread` $s$."""

    atoms: np.ndarray
    weights: np.ndarray
    spread: float

    def draw(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        which = rng.choice(len(self.atoms), size=rows, p=self.weights / self.weights.sum())
        return self.atoms[which] + self.spread * rng.normal(size=(rows, self.atoms.shape[1]))

    @property
    def second_moment(self) -> np.ndarray:
        return (self.atoms.T * self.weights) @ self.atoms + self.spread**2 * np.eye(self.atoms.shape[1])

    def null_risk(self, model: Model) -> Fraction:
        r"""The risk $\beta^\top\mathbb E xx^\top\beta+\sigma^2$ without features, exactly."""
        D = self.atoms.shape[1]
        sums = [sum((Fraction(v) for v in row), Fraction(0)) for row in self.atoms.tolist()]
        total = sum((Fraction(w) * t**2 for w, t in zip(self.weights.tolist(), sums)), D * Fraction(self.spread) ** 2)
        return model.signal * total / D + model.noise


def sweep(model: Model, rng: np.random.Generator, features: Features, draws: int) -> Sweep:
    r"""Fit labels of the model on features drawn from their law.

    The risk of a fit is $(\beta-\hat\beta)^\top\mathbb E xx^\top(\beta-\hat\beta)+\sigma^2$: only training sets
    are drawn.
    """
    n, D, at = model.n, model.features, model.measured_at()
    draws = max(16, min(draws, WORK // (4 * n * n * D * max(len(at), 1))))
    block = max(1, BLOCK // (n * D))
    beta, moment = np.full(D, np.sqrt(float(model.signal) / D)), features.second_moment
    risks, ridge = [], []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        X = features.draw(rng, size * n).reshape(size, n, D)
        y = X @ beta + np.sqrt(float(model.noise)) * rng.normal(size=(size, n))
        off = [np.pad(least_norm(X[:, :, :p], y), ((0, 0), (0, D - p))) - beta for p in at]
        risks.append([((e @ moment) * e).sum(1) + float(model.noise) for e in off])
        ridge.append([ridge_risk(model, X[:, :, :p]) for p in at])
    joined = [np.concatenate([np.asarray(r).reshape(len(at), -1) for r in part], axis=1).T for part in (risks, ridge)]
    return Sweep(tuple(at), joined[0], joined[1])


def ridge_risk(model: Model, X: np.ndarray) -> np.ndarray:
    r"""$\tau^2(1+\mathrm{tr}(X^\top X+\lambda)^{-1})$ with the best λ, for a stack of designs (…, n, p)."""
    p = X.shape[-1]
    carried, rest = (float(v) for v in model.split(p))
    if rest == 0 or carried == 0:  # nothing to shrink against: λ = 0, or nothing to find: λ = ∞
        return np.full(X.shape[:-2], rest + carried * max(0.0, 1 - model.n / p))
    penalty, gram = p * rest / carried, _gram(X)
    m = gram.shape[-1]
    trace = np.trace(np.linalg.inv(gram + penalty * np.eye(m)), axis1=-2, axis2=-1)
    return rest * (1 + trace + (p - m) / penalty)


def data_sweep(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, n: int, draws: int) -> Sweep:
    """Squared test errors on rows left out, for random training rows and features; and squared training errors.

    Columns are numbers of features around the threshold p = n. The training errors take the place of the ridge.
    """
    (rows, D), y = x.shape, y - y.mean()
    wanted = {1, n // 4, n // 2, 3 * n // 4, n - 2, n - 1, n, n + 1, n + 2, 5 * n // 4, 3 * n // 2, 2 * n, 4 * n, D}
    at = tuple(sorted(p for p in wanted if 1 <= p <= D))
    draws = max(8, min(draws, WORK // (4 * n * n * D * len(at))))
    test, train = np.empty((draws, len(at))), np.empty((draws, len(at)))
    for k in range(draws):
        order, features = rng.permutation(rows), rng.permutation(D)
        inside, outside = order[:n], order[n : n + 2000]
        for i, p in enumerate(at):
            some = features[:p]
            fit = least_norm(x[np.ix_(inside, some)], y[inside])
            test[k, i] = ((x[np.ix_(outside, some)] @ fit - y[outside]) ** 2).mean()
            train[k, i] = ((x[np.ix_(inside, some)] @ fit - y[inside]) ** 2).mean()
    return Sweep(at, test, train)


def anisotropy(x: np.ndarray) -> float:
    """The largest z-score of second and fourth moments (of at most 300 features) against independent normals."""
    some = x[:, :300]
    rows, D = some.shape
    second = (some.T @ some / rows - np.eye(D)) * np.sqrt(rows) / np.sqrt(1 + np.eye(D))
    fourth = ((some**4).mean(0) - 3) * np.sqrt(rows / 96)
    return float(max(np.abs(second).max(), np.abs(fourth).max()))


def curve_chart(model: Model, found: Sweep) -> Curves:
    """The exact curve on both sides of the threshold, what was measured, the limit, and the ridge without a peak."""
    n, D = model.n, model.features
    every = max(1, D // 400)
    below, above = list(range(n - 1)), [p for p in range(n + 2, D + 1) if p < 3 * n or p % every == 0 or p == D]
    both = [*below[1:], *above]
    few = both[:: max(1, len(both) // 40)]
    exact = lambda ps: [float(model.risk(p) or 0) for p in ps]
    ridge = [float(model.signal + model.noise), *found.ridge.mean(0).tolist()]
    series = (
        _positive("exact, p < n", below, exact(below), "bound", "line"),
        _positive("exact, p > n", above, exact(above), "bound", "line"),
        _positive("limit n → ∞", few, [model.limit(p) for p in few], "reference", "points"),
        _positive("measured", found.at, found.risks.mean(0).tolist(), "measured", "points"),
        _positive("best ridge", (0, *found.at), ridge, "other", "line"),
    )
    title = f"risk of least squares, n = {n} rows, D = {D} features"
    return Curves(title, Axis("features used p"), Axis("risk", "log"), tuple(s for s in series if s.x))


def _positive(name: str, x: Sequence[int], y: Sequence[float], role: Any, mark: Any) -> Series:
    """The points that a logarithmic axis can show."""
    kept = [(float(a), b) for a, b in zip(x, y) if 0 < b < inf]
    return Series(name, tuple(a for a, _ in kept), tuple(b for _, b in kept), role, mark)


def data_chart(found: Sweep, n: int) -> Curves:
    positive = lambda row: tuple(max(v, 1e-12) for v in row.tolist())
    series = (
        Series("test error (median)", found.at, positive(np.median(found.risks, 0)), "measured"),
        Series("test error (mean)", found.at, positive(found.risks.mean(0)), "other"),
        Series("training error (mean)", found.at, positive(found.ridge.mean(0)), "reference"),
    )
    return Curves(f"sweep over features, n = {n} rows", Axis("features used p"), Axis("squared error", "log"), series)


def evidence_of_data(rng: np.random.Generator, x: np.ndarray, y: np.ndarray | None, n: int, draws: int) -> Evidence:
    """What can be said of rows without a law: the sweep itself, and that more features never fit the sample worse."""
    if y is None or len(x) < n + 2:
        raise SubjectError("The sweep needs labels on more than n + 1 rows.", got=f"{len(x)} rows", remedy="lower --n")
    labels = y.reshape(len(x), -1)[:, 0].astype(np.float64)
    found = data_sweep(rng, x.reshape(len(x), -1), labels, n, draws)
    rise = Enclosure.measured(float(np.diff(found.ridge, axis=1).max(initial=0.0)), samples=len(found.ridge))
    errors = found.risks.mean(0)
    worst, best = found.at[int(errors.argmax())], found.at[int(errors.argmin())]
    what = "largest rise of the training error from fewer to more features"
    return Evidence(
        claims=(AtMost(what, rise, Enclosure.exact(0), atol=1e-7 * float(labels.var()) + 1e-300),),
        charts=(data_chart(found, n),),
        numbers={"p of the largest test error": float(worst), "p of the least test error": float(best)},
        summary=f"n = {n}: mean test error {errors.max():.4g} at p = {worst}, {errors.min():.4g} at p = {best}",
    )
