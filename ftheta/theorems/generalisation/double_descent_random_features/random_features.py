r"""Double descent of random ReLU features, with the population risk of every fit in closed form.

Rows $x\sim\mathcal N(0,I_d)$ have targets $y=\langle\beta,x\rangle+\sigma\epsilon$, $|\beta|=r$. The model is
$f_a(x)=\sum_{j\le N}a_j\max(0,\langle w_j,x\rangle)$ with $w_j$ drawn once, uniformly on the sphere, and $a$ fitted
on $n$ rows: by minimum-norm least squares, or with a ridge. Its risk is

$$a^\top Ka-2\langle a,c\rangle+r^2+\sigma^2,\qquad c_j=\tfrac12\langle\beta,w_j\rangle,\qquad
K_{jk}=\tfrac1{2\pi}\big(\sin\theta_{jk}+(\pi-\theta_{jk})\cos\theta_{jk}\big),$$

where $\theta_{jk}$ is the angle of $w_j,w_k$ (the arc-cosine kernel): no test set is drawn. As $d\to\infty$ with
$N=\psi_1d$ and $n=\psi_2d$ the minimum-norm risk tends to the closed form of Mei & Montanari (2022), here `limit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from ftheta.kernels.angles import arc_cosine_of_gap, gap_of_inputs, geometric_mean
from ftheta.logic import UsageError

RIDGES = np.concatenate([[0.0], np.geomspace(1e-6, 1e2, 33)])  # times the number of rows
WORK = 4e10  # floating-point operations of one experiment
BLOCK = 64  # rows of a kernel at a time
NEAR = 0.9  # a cosine beyond which differences cancel
TINY = 1e-12  # singular values below this share of the largest are zero


@dataclass(frozen=True)
class Teacher:
    r"""A linear target in $\mathbb R^d$ (`inputs`) seen through noise: `rows` n, `signal` $r^2$, `noise` $\sigma^2$."""

    inputs: int
    rows: int
    signal: float = 1.0
    noise: float = 0.1

    def __post_init__(self) -> None:
        if (
            self.inputs < 1
            or self.rows < 1
            or not (0 <= self.signal < 1e12 and 0 <= self.noise < 1e12)
        ):
            raise UsageError(
                "A teacher has inputs, rows, and finite signal and noise.", got=repr(self)
            )

    @property
    def null_risk(self) -> float:
        return self.signal + self.noise


@dataclass(frozen=True, eq=False)
class FeatureSweep:
    """Risks of independent draws (rows) at numbers of features (columns): of the minimum norm, and for every ridge."""

    rows: int
    at: tuple[int, ...]
    ridge: np.ndarray  # (draws, features, ridges), the first of which is 0
    train: np.ndarray

    @property
    def least_norm(self) -> np.ndarray:
        return self.ridge[:, :, 0]

    @property
    def best(self) -> np.ndarray:
        """Mean risk with the ridge that is best on average, one per number of features."""
        return self.ridge.mean(0).min(-1)

    @property
    def middle(self) -> np.ndarray:
        """Median minimum-norm risk: at the threshold a mean is carried by its largest draw."""
        return np.median(self.least_norm, 0)

    @property
    def draws(self) -> int:
        return len(self.train)

    def best_risks(self, i: int) -> np.ndarray:
        """The risks of all draws at the i-th number of features, with the ridge that is best on average there."""
        return self.ridge[:, i, int(self.ridge[:, i].mean(0).argmin())]

    @property
    def peak(self) -> int:
        return self.at[int(self.middle.argmax())]


def arc_cosine(W: np.ndarray) -> np.ndarray:
    r"""$\mathbb E\max(0,\langle w_j,x\rangle)\max(0,\langle w_k,x\rangle)$ for $x\sim\mathcal N(0,I)$, rows $w_j$.

    One side of the diagonal, in blocks of rows that stay in the cache.
    """
    found = np.empty((len(W), len(W)))
    for start in range(0, len(W), BLOCK):
        rows = slice(start, start + BLOCK)
        found[rows, start:] = _arc_cosine_onwards(W[start:])
        found[start:, rows] = found[rows, start:].T
    return found


def _arc_cosine_onwards(W: np.ndarray) -> np.ndarray:
    """The first rows with all: as it is written; where two rows are nearly parallel or opposite, without loss."""
    first = W[:BLOCK]
    lengths = np.linalg.norm(W, axis=1)
    size = lengths[: len(first), None] * lengths
    cosine = np.clip(np.divide(first @ W.T, size, out=np.zeros_like(size), where=size > 0), -1, 1)
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    found = size * (sine + np.arccos(-cosine) * cosine) / (2 * pi)
    near = np.union1d(np.arange(len(first)), np.nonzero(np.abs(cosine) > NEAR)[1])
    found[:, near] = _arc_cosine_by_gaps(first, W[near])
    return found


def _arc_cosine_by_gaps(first: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Of rows with all, which begin with them."""
    product = first @ W.T
    squares = np.einsum("ij,ij->i", W, W)
    np.fill_diagonal(product, squares)
    own = squares[: len(first)]
    size = geometric_mean(own[:, None], squares[None, :])
    gap = gap_of_inputs(first, W, own, squares, product)
    np.fill_diagonal(gap, 0.0)
    share = np.divide(gap, size, out=np.ones_like(gap), where=size > 0)
    return size * arc_cosine_of_gap(share, product >= 0).k1 / 2


def draw_on_sphere(rng: np.random.Generator, count: int, d: int) -> np.ndarray:
    r"""`count` vectors, uniform on the unit sphere of $\mathbb R^d$."""
    W = rng.normal(size=(count, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def ridge_path(F: np.ndarray, y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    r"""$(F^\top F+n\lambda)^{-1}F^\top y$ for the targets y (n, K), stacked over ridges λ; λ = 0: minimum norm."""
    n, N = F.shape
    if (
        abs(N - n) <= max(n, N) / 8
    ):  # nearly square, badly conditioned: the Gram matrix would square that
        return _path_by_svd(F, y, ridges)
    wide = n < N
    squares, U = np.linalg.eigh(F @ F.T if wide else F.T @ F)
    if not squares[0] > 1e-10 * squares[-1]:
        return _path_by_svd(F, y, ridges)
    turned = (1 / (squares + n * ridges[:, None]))[:, :, None] * (U.T @ (y if wide else F.T @ y))
    return (F.T @ U if wide else U) @ turned


def _path_by_svd(F: np.ndarray, y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    U, s, Vt = np.linalg.svd(F, full_matrices=False)
    kept = s > TINY * s.max(initial=1e-300)
    U = U[:, kept]
    s = s[kept]
    Vt = Vt[kept]
    shrunk = s / (s**2 + len(F) * ridges[:, None])
    return Vt.T @ (shrunk[:, :, None] * (U.T @ y))


def risks(
    teacher: Teacher, beta: np.ndarray, W: np.ndarray, K: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """The population risk of each row of coefficients, exactly but for rounding; K is `arc_cosine(W)`."""
    return ((a @ K) * a).sum(1) - a @ (W @ beta) + teacher.null_risk


def feature_sweep(
    rng: np.random.Generator,
    teacher: Teacher,
    at: Sequence[int],
    draws: int,
    ridges: np.ndarray = RIDGES,
) -> FeatureSweep:
    """Draw `draws` training sets and as many sets of features; the features of one draw are nested in N."""
    at = check_counts(at)
    n = teacher.rows
    d = teacher.inputs
    draws = limit_draws(draws, n, at, len(ridges))
    test = np.empty((draws, len(at), len(ridges)))
    train = np.empty((draws, len(at)))
    beta = np.full(d, sqrt(teacher.signal / d))
    for k in range(draws):
        X = rng.normal(size=(n, d))
        W = draw_on_sphere(rng, at[-1], d)
        y = X @ beta + sqrt(teacher.noise) * rng.normal(size=n)
        F = np.maximum(X @ W.T, 0)
        K = arc_cosine(W)
        for i, N in enumerate(at):
            a = ridge_path(F[:, :N], y[:, None], ridges)[:, :, 0]
            test[k, i] = risks(teacher, beta, W[:N], K[:N, :N], a)
            train[k, i] = float(((F[:, :N] @ a[0] - y) ** 2).mean())
    return FeatureSweep(teacher.rows, at, test, train)


def data_feature_sweep(
    rng: np.random.Generator,
    x: np.ndarray,
    y: np.ndarray,
    n: int,
    at: Sequence[int],
    draws: int,
    noise: float = 0.0,
) -> FeatureSweep:
    """The same on rows: n of them, drawn anew, train; up to 2000 others test. Targets (rows, K) are fitted by least
    squares; with several of them the risk is the share of rows whose largest output is not at the largest target.

    `noise` is the share of training rows whose targets are those of another row.
    """
    if not 0 <= noise <= 1 or len(x) < n + 2:
        raise UsageError(
            "Rows are needed beyond those that train.", got=f"{len(x)} rows, n = {n}, noise {noise}"
        )
    at = check_counts(at)
    ridges = RIDGES[[0, 5, 9, 13, 17, 21, 25]]
    draws = limit_draws(draws, n, at, len(ridges))
    test = np.empty((draws, len(at), len(ridges)))
    train = np.empty((draws, len(at)))
    for k in range(draws):
        order = rng.permutation(len(x))
        inside = order[:n]
        outside = order[n : n + 2000]
        centre = x[inside].mean(0)
        scale = x[inside].std() or 1.0
        W = draw_on_sphere(rng, at[-1], x.shape[1])
        F, T = (np.maximum((x[rows] - centre) / scale @ W.T, 0) for rows in (inside, outside))
        target = np.where((rng.random(n) < noise)[:, None], y[rng.permutation(inside)], y[inside])
        for i, N in enumerate(at):
            a = ridge_path(F[:, :N], target, ridges)
            test[k, i] = [_test_error(predicted, y[outside]) for predicted in T[:, :N] @ a]
            train[k, i] = float(((F[:, :N] @ a[0] - target) ** 2).sum(1).mean())
    return FeatureSweep(n, at, test, train)


def _test_error(predictions: np.ndarray, targets: np.ndarray) -> float:
    if targets.shape[1] == 1:
        return float(((predictions - targets) ** 2).mean())
    return float((predictions.argmax(1) != targets.argmax(1)).mean())


def check_counts(at: Sequence[int]) -> tuple[int, ...]:
    """Numbers of features in increasing order, each once; refused where one is below 1."""
    found = tuple(sorted({int(k) for k in at}))
    if not found or found[0] < 1:
        raise UsageError("Numbers of features are at least 1.", got=str(found)[:80])
    return found


def limit_draws(draws: int, n: int, at: Sequence[int], ridges: int) -> int:
    """As many draws as the budget allows, two at least."""
    cost = sum(12 * N * n * min(N, n) + 2 * N * N * ridges for N in at) + 40 * at[-1] ** 2
    return max(2, min(draws, int(WORK / cost)))


def around(n: int, most: int) -> tuple[int, ...]:
    """Numbers of features on both sides of the threshold N = n, up to `most`."""
    below = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    above = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
    return check_counts([max(1, min(round(share * n), most)) for share in (*below, *above)])


def feature_cell(
    seed: int,
    features: int,
    inputs: int = 100,
    rows: int = 300,
    signal: float = 1.0,
    noise: float = 0.25,
) -> dict[str, float]:
    """One cell of a sweep: minimum-norm and best-ridge risk of one draw, and the limit for large d."""
    teacher = Teacher(inputs, rows, signal, noise)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, inputs))
    W = draw_on_sphere(rng, features, inputs)
    beta = np.full(inputs, sqrt(signal / inputs))
    y = X @ beta + sqrt(noise) * rng.normal(size=rows)
    F = np.maximum(X @ W.T, 0)
    found = risks(teacher, beta, W, arc_cosine(W), ridge_path(F, y[:, None], RIDGES)[:, :, 0])
    best = int(found.argmin())
    told = {
        "risk": found[0],
        "ridge_risk": found[best],
        "ridge": RIDGES[best],
        "limit": limit(teacher, features),
    }
    return {name: float(value) for name, value in told.items()}


def limit(teacher: Teacher, features: float) -> float:
    r"""The minimum-norm risk for $d\to\infty$ at the ratios $\psi_1=N/d$, $\psi_2=n/d$ (Mei & Montanari 2022, Thm 3).

    For ReLU $\mu_1=\frac12$ and $\mu_*^2=\frac14-\frac1{2\pi}$; only $\zeta=\mu_1/\mu_*$ enters. With
    $\psi=\min(\psi_1,\psi_2)$ and $\chi$ the root below, bias and variance are quotients of polynomials in $\chi$, ζ.
    """
    psi1 = features / teacher.inputs
    psi2 = teacher.rows / teacher.inputs
    if psi1 == psi2:
        return np.inf
    z2 = 0.25 / (0.25 - 1 / (2 * pi))
    psi = min(psi1, psi2)
    half = psi * z2 - z2 - 1
    x = -(sqrt(half**2 + 4 * z2 * psi) + half) / (2 * z2)
    e0 = (
        -(x**5) * z2**3 + 3 * x**4 * z2**2 + (psi1 * psi2 - psi2 - psi1 + 1) * x**3 * z2**3
        - 2 * x**3 * z2**2 - 3 * x**3 * z2 + (psi1 + psi2 - 3 * psi1 * psi2 + 1) * x**2 * z2**2
        + 2 * x**2 * z2 + x**2 + 3 * psi1 * psi2 * x * z2 - psi1 * psi2
    )  # fmt: skip
    e1 = psi2 * x**3 * z2**2 - psi2 * x**2 * z2 + psi1 * psi2 * x * z2 - psi1 * psi2
    e2 = (
        x**5 * z2**3 - 3 * x**4 * z2**2 + (psi1 - 1) * x**3 * z2**3 + 2 * x**3 * z2**2
        + 3 * x**3 * z2 - (psi1 + 1) * x**2 * z2**2 - 2 * x**2 * z2 - x**2
    )  # fmt: skip
    return teacher.signal * e1 / e0 + teacher.noise * (e2 / e0 + 1)
