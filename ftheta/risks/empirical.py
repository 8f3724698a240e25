r"""Risk, empirical risk and its minimisers on laws of finite support: in rationals, so that identities are identities.

A law puts mass $p_i$ on the example $(x_i,y_i)$, $i=1,\dots,k$. All that matters of a sample of size $n$ are its counts
$c_1+\dots+c_k=n$: the $k^n$ samples fall into $\binom{n+k-1}{n}$ classes of multinomial probability. A learner maps
weights on the examples (a law, or an empirical one) to the losses of its minimiser at every example.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial, prod
from typing import Any, Protocol

import jax
import numpy as np
from flint import fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.relu.matrices import fraction, rational
from ftheta.shapes import Float, Real, Shaped
from ftheta.training.examples import examples_of
from ftheta.training.losses import Loss, PerExample, loss_named
from ftheta.training.models import model_of

MOST_SAMPLES = 4000  # classes of samples that are enumerated
BOOTSTRAP_NUMBERS = 20_000_000  # drawn in one bootstrap, at most
Rationals = tuple[Fraction, ...]


class Learner(Protocol):
    """Empirical risk minimisation in a class of predictors, seen through the losses at the k examples of a law."""

    def exact(self, weights: Sequence[Fraction]) -> Rationals:
        """The losses, at every example, of the minimiser for these weights on the examples."""
        ...

    def losses_of_fit(self, weights: np.ndarray) -> np.ndarray:
        """The same in float64, for rows of weights at once."""
        ...


@dataclass(frozen=True)
class FiniteClass:
    """Finitely many predictors: `losses[c][i]` of predictor c at example i. The first minimiser is taken."""

    losses: tuple[Rationals, ...]

    def exact(self, weights: Sequence[Fraction]) -> Rationals:
        return min(
            self.losses, key=lambda row: sum((w * v for w, v in zip(weights, row)), Fraction(0))
        )

    def losses_of_fit(self, weights: np.ndarray) -> np.ndarray:
        table = np.array([[float(v) for v in row] for row in self.losses])
        risks = weights @ table.T
        # ties but for rounding
        tied = risks <= risks.min(-1, keepdims=True) + 1e-12 * np.abs(table).max()
        return table[np.argmax(tied, axis=-1)]


@dataclass(frozen=True)
class LinearClass:
    r"""$g_\theta(x)=\langle\varphi(x),\theta\rangle$ and the squared loss: `features[i]` is $\varphi(x_i)$.

    Where a sample leaves several minimisers, the minimum-norm one is taken.
    """

    features: tuple[Rationals, ...]
    y: Rationals

    @cached_property
    def _matrix(self) -> Any:
        return _matrix(self.features)

    def exact(self, weights: Sequence[Fraction]) -> Rationals:
        met = [i for i, w in enumerate(weights) if w]
        rows = _matrix([self.features[i] for i in met])
        basis, rank = rows.rref()
        B = fmpq_mat([[basis[r, j] for j in range(rows.ncols())] for r in range(rank)])
        left = _matrix([[weights[i] * v for v in self.features[i]] for i in met]).transpose()
        target = left * _matrix([[self.y[i]] for i in met])
        theta = (
            B.transpose() * (B * left * rows * B.transpose()).solve(B * target)
            if rank
            else target * 0
        )
        predictions = self._matrix * theta
        return tuple((fraction(predictions[i, 0]) - y) ** 2 for i, y in enumerate(self.y))

    def losses_of_fit(self, weights: np.ndarray) -> np.ndarray:
        X = np.array(self.features, float)
        y = np.array(self.y, float)
        gram = np.einsum("tk,ki,kj->tij", weights, X, X)
        theta = (
            np.linalg.pinv(gram, hermitian=True, rcond=1e-12)
            @ (weights @ (X * y[:, None]))[..., None]
        )
        return (theta[..., 0] @ X.T - y) ** 2


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    return fmpq_mat([[rational(v) for v in row] for row in rows])


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Distinct examples `x` (one row each) and `y`, with their probabilities."""

    x: Shaped[np.ndarray, "n *shape"]
    y: Shaped[np.ndarray, "n"]
    probabilities: Rationals

    @classmethod
    def of(cls, x: Shaped[np.ndarray, "n *shape"], y: Shaped[np.ndarray, "n *one"]) -> "FiniteLaw":
        """The empirical law of rows and their (single) targets."""
        rows = np.column_stack(
            [np.asarray(x, float).reshape(len(x), -1), np.asarray(y, float).reshape(len(y), -1)]
        )
        found, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(found[:, :-1], found[:, -1], tuple(Fraction(int(c), len(rows)) for c in counts))

    def __len__(self) -> int:
        return len(self.y)

    def losses(self, prediction: float, loss: str) -> Rationals:
        """Those of a constant predictor, exactly."""
        return tuple(_exact_loss(loss, Fraction(prediction), Fraction(y)) for y in self.y.tolist())

    def constants(self, loss: str) -> Learner:
        """The class of constants. Of the losses other than the squared one, one of the targets is a minimiser."""
        if loss == "squared":
            return LinearClass(tuple((Fraction(1),) for _ in self.y), self._targets)
        return FiniteClass(tuple(self.losses(y, loss) for y in sorted(set(self.y.tolist()))))

    def linear(self) -> Learner:
        """The class of linear functions of x, with the squared loss."""
        return LinearClass(
            tuple(tuple(map(Fraction, row)) for row in self.x.tolist()), self._targets
        )

    @property
    def _targets(self) -> Rationals:
        return tuple(map(Fraction, self.y.tolist()))


def _exact_loss(loss: str, a: Fraction, b: Fraction) -> Fraction:
    match loss:
        case "squared":
            return (a - b) ** 2
        case "absolute":
            return abs(a - b)
        case "zero-one":
            return Fraction(a != b)
    raise UsageError(
        "This loss is not a rational number.", got=loss, remedy="take squared, absolute or zero-one"
    )


# ---- all samples ----------------------------------------------------------------------------------------------------


def classes_of_samples(k: int, n: int) -> int:
    """How many samples of size n from k examples differ by more than their order."""
    return comb(n + k - 1, n)


def samples(p: Sequence[Fraction], n: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """The counts of every sample of size n and their probability."""
    for counts in _compositions(n, len(p)):
        ways = factorial(n) // prod(map(factorial, counts))
        yield counts, ways * prod((q**c for q, c in zip(p, counts)), start=Fraction(1))


def _compositions(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in _compositions(n - first, parts - 1))


def mean_of(p: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    r"""$\sum_ip_iv_i$, exactly."""
    return sum((q * v for q, v in zip(p, values)), Fraction(0))


def moments_of_risk(
    p: Sequence[Fraction], losses: Sequence[Fraction], n: int
) -> tuple[Fraction, Fraction]:
    r"""$\mathbb ER_n$ and $\mathrm{Var}R_n$ of a predictor with these losses, fixed in advance: over all samples."""
    first = second = Fraction(0)
    for counts, chance in samples(p, n):
        risk = sum((c * v for c, v in zip(counts, losses)), Fraction(0)) / n
        first = first + chance * risk
        second = second + chance * risk**2
    return first, second - first**2


@dataclass(frozen=True, slots=True)
class Expected:
    r"""$\mathbb ER_n(\hat\theta_n)$, $\min R$ and $\mathbb ER(\hat\theta_n)$ over all samples of size n; how often the
    training risk exceeds the true one, and by how much at most."""

    train: Fraction
    least: Fraction
    test: Fraction
    inverted: Fraction
    worst: Fraction


def expected_risks(p: Sequence[Fraction], learner: Learner, n: int) -> Expected:
    """Over all samples, exactly."""
    train = test = inverted = Fraction(0)
    worst = None
    for counts, chance in samples(p, n):
        losses = learner.exact([Fraction(c, n) for c in counts])
        on_sample = mean_of([Fraction(c, n) for c in counts], losses)
        true = mean_of(p, losses)
        train = train + chance * on_sample
        test = test + chance * true
        inverted += chance * (on_sample > true)
        worst = on_sample - true if worst is None else max(worst, on_sample - true)
    return Expected(train, mean_of(p, learner.exact(p)), test, inverted, worst or Fraction(0))


def simulated_risks(
    p: Sequence[Fraction], learner: Learner, n: int, rng: np.random.Generator, trials: int
) -> tuple[Float[np.ndarray, "trials"], Float[np.ndarray, "trials"]]:
    r"""$R_n(\hat\theta_n)$ and $R(\hat\theta_n)$ of that many samples of size n."""
    law = np.array([float(q) for q in p])
    weights = rng.multinomial(n, law / law.sum(), size=trials) / n
    losses = learner.losses_of_fit(weights)
    return (weights * losses).sum(1), losses @ law


# ---- the risk of a network ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Risk:
    """The mean of the `losses`, one per row, and its bootstrap interval."""

    loss: str
    losses: Real[np.ndarray, "n"]
    interval: Enclosure

    @property
    def value(self) -> float:
        return float(self.losses.mean())

    def __str__(self) -> str:
        lo = self.interval.lo
        hi = self.interval.hi
        n = len(self.losses)
        sure = f"bootstrap {self.interval.nominal:.0%} in [{lo:.6g}, {hi:.6g}]"
        return f"{self.loss} risk {self.value:.6g} on {n:,} rows, {sure}"

    __repr__ = __str__


def risk(
    net: Any,
    data: Any = None,
    loss: str | Loss | PerExample = "squared",
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Risk:
    """The risk of a network on data it did not see in training, with a bootstrap error bar.

    `net` is anything that can be trained, `data` a Dataset or a pair `(x, y)`; without it, those the network carries.
    """
    data = getattr(net, "data", None) if data is None else data
    if data is None:
        raise UsageError("There are no data.", remedy="give a Dataset or a pair (x, y)")
    with jax.enable_x64(True):
        chosen = loss_named(loss, to_train=False)
        model = model_of(net, np.float64)
        rows = examples_of(data, model, chosen)
        each = lambda pair: chosen.of(model.apply(model.params, pair[0]), pair[1])
        losses = np.asarray(jax.lax.map(each, (rows.x, rows.y), batch_size=256))
    if not np.isfinite(losses).all():
        bad = np.flatnonzero(~np.isfinite(losses))
        raise SubjectError(
            "A loss is not finite.",
            where=f"row {bad[0]}",
            got=f"{losses[bad[0]]} ({len(bad)} such rows)",
        )
    return Risk(
        chosen.name, losses, bootstrap(losses, np.random.default_rng(seed), confidence=confidence)
    )


def resampled_means(
    values: Real[np.ndarray, "n"], rng: np.random.Generator, resamples: int = 2000
) -> Float[np.ndarray, "resamples"]:
    """Means of samples of the same size, drawn from the values with replacement."""
    n = len(values)
    resamples = max(200, min(resamples, BOOTSTRAP_NUMBERS // n))
    # many equal losses (0 and 1) are cheap
    different, counts = np.unique(values, return_counts=True)
    return rng.multinomial(n, counts / n, size=resamples) @ different / n


def bootstrap(
    values: Real[np.ndarray, "n"], rng: np.random.Generator, *, confidence: float = 0.95
) -> Enclosure:
    """The percentile interval of the mean: its level is nominal, approached as the draws grow."""
    means = resampled_means(values, rng)
    tail = (1 - confidence) / 2
    lo, hi = np.quantile(means, [tail, 1 - tail])
    middle = float(values.mean())
    lo = min(lo, middle)
    hi = max(hi, middle)
    return Enclosure(
        lo, hi, Basis.SAMPLED, len(values), nominal=confidence, assuming="percentile bootstrap"
    )
