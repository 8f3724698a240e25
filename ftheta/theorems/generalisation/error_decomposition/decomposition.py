r"""The four terms of the risk of a trained predictor: generalisation, optimisation, statistics, approximation.

$$R(\hat\theta_{n,t})=[R-R_n](\hat\theta_{n,t})+[R_n(\hat\theta_{n,t})-R_n(\theta^*)]+[R_n-R](\theta^*)+R(\theta^*)$$
telescopes, whatever $\theta^*$ is. Where the law has finite support, both risks are sums and all terms are known: a
sample of size $n$ is its vector of counts $c$, $R=\sum_ip_i\ell_i$ and $R_n=\sum_i\frac{c_i}n\ell_i$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.networks.shared_program import program_of
from ftheta.risks.bayes import Groups
from ftheta.risks.empirical import LinearClass, mean_of
from ftheta.training.examples import examples_of
from ftheta.training.losses import loss_named
from ftheta.training.models import model_of
from ftheta.training.program import Problem, State

SNAPSHOTS = 36
CLASSES = 20  # whole labels of so many values, at most, are classes
Losses = Callable[[Any], np.ndarray]  # of parameters, at every row of a law
# of a law on which lines are fitted in rationals
EXACT_ROWS = 400
EXACT_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class Terms:
    r"""`train` and `true` are $R_n$ and $R$ of $\hat\theta_{n,t}$ at the `steps` $t$; `best_train`, `best_true` of
    $\theta^*$."""

    steps: np.ndarray
    train: np.ndarray
    true: np.ndarray
    best_train: float
    best_true: float

    @property
    def generalisation(self) -> np.ndarray:
        return self.true - self.train

    @property
    def optimisation(self) -> np.ndarray:
        return self.train - self.best_train

    @property
    def statistical(self) -> float:
        return self.best_train - self.best_true

    @property
    def approximation(self) -> float:
        return self.best_true

    @property
    def defect(self) -> float:
        """How far the sum of the four is from the risk, at worst, relative to the largest risk."""
        total = self.generalisation + self.optimisation + self.statistical + self.approximation
        return float(
            np.abs(total - self.true).max()
            / max(self.true.max(), self.train.max(), self.best_train, 1e-300)
        )

    @property
    def regular(self) -> int:
        """The snapshot of least risk."""
        return int(self.true.argmin())


@dataclass(frozen=True, eq=False)
class Law:
    """Rows that are a law: each has the probability 1/N. Inputs `x` are (N, d), targets `y` (N, k)."""

    x: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> "Law":
        """Rows of any shape: inputs are standardised, whole labels of more than two classes become one-hot targets."""
        x = x.reshape(len(x), -1).astype(float)
        spread = x.std(0)
        found = np.unique(y)
        if y.ndim == 1 and y.dtype.kind in "iub" and 2 < len(found) <= CLASSES:
            y = (y[:, None] == found).astype(float)
        return cls(
            (x - x.mean(0)) / np.where(spread > 0, spread, 1.0), y.reshape(len(x), -1).astype(float)
        )

    def __len__(self) -> int:
        return len(self.x)

    def draw(
        self, rng: np.random.Generator, n: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """The numbers of n rows drawn from the law, or with other `weights`."""
        return rng.choice(len(self), size=n, p=weights)

    def count(self, rows: np.ndarray) -> np.ndarray:
        """How often each row was drawn: all that matters of a sample."""
        return np.bincount(rows, minlength=len(self))

    def lower_third(self) -> np.ndarray:
        """Weights of another law, that of the rows with the smallest first inputs. (Half of them would not do: the mean
        loss of a line is the same on both halves of a symmetric law.)"""
        low = self.x[:, 0] <= np.quantile(self.x[:, 0], 1 / 3)
        return low / low.sum()

    def draw_statistical_terms(
        self,
        best: np.ndarray,
        n: int,
        weights: np.ndarray | None,
        rng: np.random.Generator,
        draws: int = 2000,
    ) -> np.ndarray:
        r"""$[R_n-R](\theta^*)$ of that many samples, from the losses of $\theta^*$ at every row."""
        p = np.full(len(self), 1 / len(self)) if weights is None else weights
        return rng.multinomial(n, p, size=draws) @ best / n - best.mean()

    def variance_of(self, losses: np.ndarray, weights: np.ndarray | None) -> float:
        """The variance of one loss of a row drawn with these weights."""
        p = np.full(len(self), 1 / len(self)) if weights is None else weights
        return float(p @ (losses - p @ losses) ** 2)

    def risk_of(self, losses: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """The mean of losses (…, N) under the law, or in the sample with these counts."""
        return losses.mean(-1) if counts is None else losses @ counts / counts.sum()


def choose_snapshots(steps: int) -> list[int]:
    """0, then steps in a geometric progression up to the last."""
    return sorted({0, *np.unique(np.geomspace(1, steps, SNAPSHOTS).astype(int)).tolist()})


def weighted_squared_error(prediction: Any, target: Any) -> Any:
    r"""$w\|\hat y-y\|^2$ where the target holds $y$ and, last, the weight $w$ of its row."""
    return target[-1] * jnp.sum((jnp.ravel(prediction) - target[:-1]) ** 2)


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A training run seen at some steps: the parameters there, and their losses at every row of the law (t, N)."""

    steps: list[int]
    params: list[Any]
    losses: np.ndarray


def train_on(
    net: Any, law: Law, counts: np.ndarray, steps: Sequence[int], step: float, losses: Losses
) -> TrainingRun:
    """Adam on the sample with these counts, all of it at every step, looked at after the given numbers of steps.

    The rows of the law stay where they are and carry their counts as weights: samples of all sizes share one program.
    """
    weights = counts * (len(law) / counts.sum())
    begin, advance = _training(program_of(net), step)
    seen = []
    done = 0
    with jax.enable_x64(True):
        rows = (law.x, np.column_stack([law.y, weights]))
        state = begin(net.params)
        for t in steps:
            state = advance(state, rows, np.int32(t - done))
            seen.append(jax.tree.map(np.asarray, state.params))
            done = t
    return TrainingRun(list(steps), seen, np.stack([losses(params) for params in seen]))


@lru_cache(8)
def _training(apply: Any, step: float) -> tuple[Callable[..., State], Callable[..., State]]:
    """The state before the first step, and after so many more."""
    adam = optax.with_extra_args_support(optax.flatten(optax.adam(step)))
    problem = Problem(apply, weighted_squared_error, adam)

    def advance(state: State, rows: Any, count: Any) -> State:
        return jax.lax.fori_loop(0, count, lambda _, s: problem.train_step(s, *rows)[0], state)

    return jax.jit(problem.start), jax.jit(advance)


def losses_of(apply: Callable[[Any, Any], Any], law: Law) -> Losses:
    """The squared losses of parameters at every row of the law."""

    def losses(params: Any) -> Any:
        predicted = jax.vmap(lambda row: jnp.ravel(apply(params, row)))(law.x)
        return jnp.sum((predicted - law.y) ** 2, axis=1)

    compiled = jax.jit(losses)
    return lambda params: np.asarray(compiled(params))


def losses_on(net: Any, data: tuple[np.ndarray, np.ndarray], loss: str) -> Losses:
    """The losses of parameters at every row of the data, with the targets that the loss takes."""
    model = model_of(net, np.float64)
    chosen = loss_named(loss)
    rows = examples_of(data, model, chosen)

    def losses(params: Any) -> Any:
        each = lambda pair: chosen.of(model.apply(params, pair[0]), pair[1])
        return jax.lax.map(each, (rows.x, rows.y), batch_size=256)

    compiled = jax.jit(losses)
    return lambda params: np.asarray(compiled(params))


def terms_of(run: TrainingRun, law: Law, counts: np.ndarray, best: np.ndarray) -> Terms:
    r"""The terms along a run on the sample with these counts; `best` are the losses of $\theta^*$ at every row."""
    return Terms(
        np.array(run.steps),
        law.risk_of(run.losses, counts),
        law.risk_of(run.losses),
        float(law.risk_of(best, counts)),
        float(law.risk_of(best)),
    )


@dataclass(frozen=True)
class ExactTerms:
    r"""The four risks of least squares on a sample, in rationals; `drifted` is $\mathbb ER_n(\theta^*)$ under the law
    that the sample was really drawn from."""

    train: Fraction
    true: Fraction
    best_train: Fraction
    best_true: Fraction
    drifted: Fraction

    @property
    def sum_of_terms(self) -> Fraction:
        generalisation = self.true - self.train
        optimisation = self.train - self.best_train
        return generalisation + optimisation + (self.best_train - self.best_true) + self.best_true


THROWS = ExactTerms(
    Fraction(3, 16), Fraction(5, 16), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)
)
"""Four throws of a fair coin, one head: the best constant is ¼ on the sample and ½ for the law."""


def exact_terms(law: Law, counts: np.ndarray, drawn_from: np.ndarray | None) -> ExactTerms:
    r"""Of lines $\langle w,x\rangle+b$ (of constants, where the law is too large) fitted to the first target: the
    minimisers of $R_n$ and of $R$, exactly."""
    few = len(law) <= EXACT_ROWS and law.x.shape[1] <= EXACT_COLUMNS
    ones = np.ones((len(law), 1))
    features = np.column_stack([law.x, ones]) if few else ones
    learner = LinearClass(_rationals(features), tuple(map(Fraction, law.y[:, 0].tolist())))
    n = int(counts.sum())
    N = len(law)
    p = [Fraction(1, N)] * N
    q = [Fraction(int(c), n) for c in counts]
    fitted = learner.exact(q)
    best = learner.exact(p)
    source = p if drawn_from is None else _normalise(drawn_from)
    return ExactTerms(
        mean_of(q, fitted),
        mean_of(p, fitted),
        mean_of(q, best),
        mean_of(p, best),
        mean_of(source, best),
    )


def noise_floor(law: Law) -> Fraction:
    """The least risk of any function of x, exactly: the variance of the targets among rows with equal inputs."""
    return sum((Groups.of(law.x, column).floor("squared") for column in law.y.T), Fraction(0))


def floor_of_sample(law: Law, counts: np.ndarray) -> float:
    r"""$\min R_n$ over all functions of x, for the sample with these counts."""
    _, where = np.unique(law.x, axis=0, return_inverse=True)
    where = where.ravel()
    sizes = np.maximum(np.bincount(where, counts), 1)
    means = np.stack([np.bincount(where, counts * column) / sizes for column in law.y.T], axis=1)
    return float(counts @ ((law.y - means[where]) ** 2).sum(1) / counts.sum())


def _rationals(rows: np.ndarray) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(Fraction, row)) for row in rows.tolist())


def _normalise(weights: np.ndarray) -> list[Fraction]:
    exact = [Fraction(w) for w in weights.tolist()]
    return [w / sum(exact, Fraction(0)) for w in exact]
