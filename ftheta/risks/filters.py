r"""Ridge, early stopping and truncation as filters of one spectrum, and what a fit says of rows it has not seen.

With $X=U\,\mathrm{diag}(\sqrt{s_i})\,V^\top$ each of these estimators fits $\hat y=U\varphi(s)U^\top y$; they differ in
the filter alone: $\frac s{s+\lambda}$ for ridge, $1-(1-\tau s)^k$ for $k$ steps of gradient descent from 0 on
$\frac12\|Xw-y\|^2$, $1-e^{-ts}$ for its flow, $1\{s\ge c\}$ for the principal components. One decomposition serves
every $\lambda$ and every $k$.

The ridge estimate without the rows of a fold $F$ leaves the residuals $(I-H_{FF})^{-1}(y-\hat y)_F$ on them, $H$ being
the map $y\mapsto\hat y$: a fold of one row gives $\frac{y_i-\hat y_i}{1-H_{ii}}$, and no second fit is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ftheta.kernels.reproducing import Kernel
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Float, Int, Real

Filter: TypeAlias = Callable[[np.ndarray], np.ndarray]
Folds: TypeAlias = Sequence[np.ndarray]


def ridge_filter(ridge: float) -> Filter:
    r"""$\frac s{s+\lambda}$."""
    return lambda s: s / (s + ridge)


def descent_filter(tau: float, steps: int) -> Filter:
    r"""$1-(1-\tau s)^k$: `steps` $k$ of gradient descent from 0, with step `tau`."""
    return lambda s: 1 - (1 - tau * s) ** steps


def flow_filter(time: float) -> Filter:
    r"""$1-e^{-ts}$: the gradient flow from 0 at time $t$."""
    return lambda s: -np.expm1(-time * s)


def component_filter(least: float) -> Filter:
    r"""$1\{s\ge c\}$: the principal components of variance at least $c$."""
    return lambda s: (s >= least).astype(float)


@dataclass(frozen=True, eq=False)
class Spectrum:
    r"""$U$ (`left`, n × r), $s$ (`values`, positive) and, of rows, $V$ (`right`, d × r).

    With an intercept the columns are centred, and the mean of the targets is fitted without penalty.
    """

    left: Float[np.ndarray, "n r"]
    values: Float[np.ndarray, "r"]
    right: Float[np.ndarray, "d r"] | None = None
    centre: Float[np.ndarray, "d"] | None = None

    @classmethod
    def of_rows(cls, X: Real[np.ndarray, "n d"], *, intercept: bool = False) -> "Spectrum":
        X = _table(X)
        centre = X.mean(0) if intercept else None
        U, root, Vt = np.linalg.svd(X if centre is None else X - centre, full_matrices=False)
        kept = root > root.max(initial=0.0) * max(X.shape) * np.finfo(float).eps
        return cls(U[:, kept], root[kept] ** 2, Vt[kept].T, centre)

    @classmethod
    def of_kernel(cls, K: Float[np.ndarray, "n n"]) -> "Spectrum":
        """Of the symmetric, positive semi-definite matrix of a kernel on the rows."""
        values, vectors = np.linalg.eigh(_table(K))
        size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        if len(values) and values[0] < -1e-9 * size:
            got = f"an eigenvalue {values[0]:.3g}, the largest is {size:.3g}"
            raise SubjectError(
                "This matrix is not positive semi-definite.", got=got, remedy="give a kernel"
            )
        kept = values > size * len(K) * np.finfo(float).eps
        return cls(vectors[:, kept][:, ::-1], values[kept][::-1])

    @property
    def rows(self) -> int:
        return len(self.left)

    def _filter(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        targets = y - y.mean(0) if self.centre is not None else y
        return weights.reshape(-1, *[1] * (y.ndim - 1)) * (self.left.T @ targets)

    def fit(self, y: Real[np.ndarray, "n *k"], phi: Filter) -> Float[np.ndarray, "n *k"]:
        r"""$\hat y=U\varphi(s)U^\top y$."""
        smooth = self.left @ self._filter(y, phi(self.values))
        return smooth + y.mean(0) if self.centre is not None else smooth

    def weights(self, y: Real[np.ndarray, "n *k"], phi: Filter) -> Float[np.ndarray, "d *k"]:
        r"""$w=V\,\mathrm{diag}(\varphi(s)/\sqrt s)\,U^\top y$, of rows."""
        if self.right is None:
            raise UsageError(
                "A kernel has no list of weights.", remedy="take `dual`, one coefficient per row"
            )
        return self.right @ self._filter(y, phi(self.values) / np.sqrt(self.values))

    def dual(self, y: Real[np.ndarray, "n *k"], phi: Filter) -> Float[np.ndarray, "n *k"]:
        r"""$\alpha$ with $\hat y=K\alpha$: $U\,\mathrm{diag}(\varphi(s)/s)\,U^\top y$."""
        return self.left @ self._filter(y, phi(self.values) / self.values)

    def freedom(self, phi: Filter) -> float:
        r"""Degrees of freedom $\mathrm{tr}\,H=\sum_i\varphi(s_i)$, and one for the intercept."""
        return float(phi(self.values).sum()) + (self.centre is not None)

    def map_on(self, rows: Int[np.ndarray, "f"], phi: Filter) -> Float[np.ndarray, "f f"]:
        r"""The block $H_{FF}$ of the map $y\mapsto\hat y$."""
        U = self.left[rows]
        return (U * phi(self.values)) @ U.T + (1 / self.rows if self.centre is not None else 0.0)

    def leverages(self, phi: Filter) -> Float[np.ndarray, "n"]:
        r"""$H_{ii}$, one per row."""
        return (self.left**2) @ phi(self.values) + (
            1 / self.rows if self.centre is not None else 0.0
        )


@dataclass(frozen=True, eq=False)
class RidgePath:
    r"""Ridge fits for every `ridges` $\lambda$: `fitted` has one row of predictions a λ, `freedom` the degrees of
    freedom; `weights` (of rows) or `dual` (of a kernel) are the parameters."""

    ridges: Float[np.ndarray, "l"]
    spectrum: Spectrum
    y: Real[np.ndarray, "n *k"]
    fitted: Float[np.ndarray, "l n *k"]
    weights: Float[np.ndarray, "l d *k"] | None
    dual: Float[np.ndarray, "l n *k"]
    freedom: Float[np.ndarray, "l"]

    def left_out(self, folds: Folds | None = None) -> Float[np.ndarray, "l n *k"]:
        """Residuals of every row under the fit to the rows of all other folds, for every λ; of single rows if no folds
        are given. No second fit is made."""
        if folds is None:
            kept = np.array([1 - self.spectrum.leverages(ridge_filter(r)) for r in self.ridges])
            return (self.y - self.fitted) / kept.reshape(kept.shape + (1,) * (self.y.ndim - 1))
        found = np.full(self.fitted.shape, np.nan)
        for i, ridge in enumerate(self.ridges):
            for rows in folds:
                block = np.eye(len(rows)) - self.spectrum.map_on(rows, ridge_filter(ridge))
                found[i, rows] = np.linalg.solve(block, (self.y - self.fitted[i])[rows])
        return found

    def training_risk(self) -> Float[np.ndarray, "l"]:
        return _means((self.y - self.fitted) ** 2)

    def validation_risk(self, folds: Folds | None = None) -> Float[np.ndarray, "l"]:
        """The mean square of the residuals left out, for every λ."""
        return _means(self.left_out(folds) ** 2)

    def generalised_risk(self) -> Float[np.ndarray, "l"]:
        r"""GCV: $\frac{\frac1n\|y-\hat y\|^2}{(1-\mathrm{tr}H/n)^2}$, every leverage replaced by their mean."""
        return self.training_risk() / (1 - self.freedom / self.spectrum.rows) ** 2


def ridge_path(
    X: Real[np.ndarray, "n d"], y: Real[np.ndarray, "n *k"], ridges: Any, *, intercept: bool = False
) -> RidgePath:
    r"""$\min_w\|Xw-y\|^2+\lambda\|w\|^2$ for all `ridges` $\lambda=n\gamma>0$, from one SVD."""
    return _path(Spectrum.of_rows(X, intercept=intercept), y, ridges)


def kernel_ridge_path(
    X: Real[np.ndarray, "n d"], y: Real[np.ndarray, "n *k"], kernel: Kernel, ridges: Any
) -> RidgePath:
    r"""$\alpha=(K+\lambda I)^{-1}y$ for all `ridges` $\lambda>0$, from one eigendecomposition."""
    path = _path(Spectrum.of_kernel(kernel.of(X, X)), y, ridges)
    # the rows have no part in K beyond its rank: there α is y/λ
    rest = path.y - path.spectrum.left @ (path.spectrum.left.T @ path.y)
    alone = np.array([rest / r for r in path.ridges])
    return RidgePath(
        path.ridges, path.spectrum, path.y, path.fitted, None, path.dual + alone, path.freedom
    )


def _path(spectrum: Spectrum, y: np.ndarray, ridges: Any) -> RidgePath:
    y = np.asarray(y, np.float64)
    found = np.atleast_1d(np.asarray(ridges, np.float64))
    if len(y) != spectrum.rows:
        raise SubjectError(
            "There must be one target per row.", got=f"{spectrum.rows} rows, {len(y)} targets"
        )
    if not (np.isfinite(found) & (found > 0)).all():
        raise UsageError(
            "Every ridge λ must be a positive number.",
            got=found.tolist(),
            remedy="np.geomspace(1e-3, 1e3)",
        )
    filters = [ridge_filter(r) for r in found]
    fitted = np.array([spectrum.fit(y, f) for f in filters])
    weights = (
        None if spectrum.right is None else np.array([spectrum.weights(y, f) for f in filters])
    )
    dual = np.array([spectrum.dual(y, f) for f in filters])
    return RidgePath(
        found, spectrum, y, fitted, weights, dual, np.array([spectrum.freedom(f) for f in filters])
    )


# ---- choosing λ -----------------------------------------------------------------------------------------------------


def folds_of(
    rows: int, count: int, rng: np.random.Generator | None = None
) -> list[Int[np.ndarray, "fold"]]:
    """The numbers of all rows in `count` folds of nearly equal size, shuffled where a generator is given."""
    if not 2 <= count <= rows:
        raise UsageError(
            "There are between 2 and as many folds as rows.", got=f"{count} folds of {rows} rows"
        )
    order = np.arange(rows) if rng is None else rng.permutation(rows)
    return [np.sort(part) for part in np.array_split(order, count)]


def halves(
    rows: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "fit"], Int[np.ndarray, "test"]]:
    """The numbers of all rows in two halves, at random: to fit and to test."""
    order = rng.permutation(rows)
    return order[: (rows + 1) // 2], order[(rows + 1) // 2 :]


@dataclass(frozen=True, eq=False)
class Selection:
    r"""`risks[i, j]`: the mean square of fold $j$ left out at $\lambda_i$."""

    ridges: Float[np.ndarray, "l"]
    risks: Float[np.ndarray, "l folds"]

    @property
    def mean(self) -> Float[np.ndarray, "l"]:
        return self.risks.mean(1)

    @property
    def error(self) -> Float[np.ndarray, "l"]:
        """The standard error of the mean over folds."""
        return self.risks.std(1, ddof=1) / np.sqrt(self.risks.shape[1])

    @property
    def best(self) -> float:
        return float(self.ridges[self.mean.argmin()])

    @property
    def careful(self) -> float:
        """The largest λ whose risk is within one standard error of the least."""
        i = int(self.mean.argmin())
        return float(self.ridges[self.mean <= self.mean[i] + self.error[i]].max())


def cross_validate(path: RidgePath, folds: Folds) -> Selection:
    """Every fold left out in turn, for every λ of a ridge path: k-fold cross-validation of ridge or kernel ridge."""
    squares = path.left_out(folds) ** 2
    return Selection(path.ridges, np.stack([_means(squares[:, rows]) for rows in folds], axis=1))


def refit_left_out(
    X: Real[np.ndarray, "n d"],
    y: Real[np.ndarray, "n *k"],
    ridge: float,
    folds: Folds,
    *,
    intercept: bool = False,
) -> Float[np.ndarray, "n *k"]:
    """The same residuals the slow way: one fit per fold."""
    found = np.full(np.shape(y), np.nan)
    for rows in folds:
        rest = np.setdiff1d(np.arange(len(X)), rows)
        path = ridge_path(X[rest], y[rest], ridge, intercept=intercept)
        assert path.weights is not None
        shift, mean = (X[rest].mean(0), y[rest].mean(0)) if intercept else (0.0, 0.0)
        found[rows] = y[rows] - (X[rows] - shift) @ path.weights[0] - mean
    return found


def _means(squares: np.ndarray) -> np.ndarray:
    """Sums over outputs, means over rows: one number per λ."""
    return squares.reshape(*squares.shape[:2], -1).sum(-1).mean(1)


def _table(X: Any) -> np.ndarray:
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or not X.size or not np.isfinite(X).all():
        got = f"shape {X.shape}" + (", not finite" if X.size and not np.isfinite(X).all() else "")
        raise SubjectError(
            "Rows must be a finite table of numbers.", got=got, remedy="x.reshape(len(x), -1)"
        )
    return X
