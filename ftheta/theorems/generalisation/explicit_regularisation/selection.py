"""The ridge λ by cross-validation, by rows left out and by generalised cross-validation, against an unseen half."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ftheta.risks.filters import RidgePath, Selection, cross_validate, folds_of, halves, ridge_path


@dataclass(frozen=True, eq=False)
class Choices:
    """Half of the rows is fitted for every λ of a `path`, the other half has the squared errors `test`."""

    path: RidgePath
    by_folds: Selection
    test: np.ndarray

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """Mean squared errors against λ."""
        return {
            "training": self.path.training_risk(),
            "rows left out": self.path.validation_risk(),
            f"{self.by_folds.risks.shape[1]} folds": self.by_folds.mean,
            "test": self.test,
        }

    @property
    def picks(self) -> Mapping[str, int]:
        """The number of the λ that each rule chooses."""
        careful = int(np.searchsorted(self.path.ridges, self.by_folds.careful))
        return {
            "rows left out": int(self.path.validation_risk().argmin()),
            "folds": int(self.by_folds.mean.argmin()),
            "folds, one standard error": careful,
            "test": int(self.test.argmin()),
            "generalised": int(self.path.generalised_risk().argmin()),
        }


def choose_ridge(
    X: np.ndarray, y: np.ndarray, ridges: np.ndarray, count: int, rng: np.random.Generator
) -> Choices:
    """Split the rows at random, fit one half for all `ridges`, and validate by `count` folds."""
    seen, unseen = halves(len(y), rng)
    path = ridge_path(X[seen], y[seen], ridges)
    chosen = cross_validate(path, folds_of(len(seen), min(count, len(seen)), rng))
    assert path.weights is not None
    test = np.array([((y[unseen] - X[unseen] @ w) ** 2).sum() / len(unseen) for w in path.weights])
    return Choices(path, chosen, test)


def span_ridges(s: np.ndarray, count: int = 60) -> np.ndarray:
    """λ from far below the smallest eigenvalue `s` that matters to above the largest."""
    return np.geomspace(max(float(s.min()), 1e-6 * float(s[0])) / 100, 10 * float(s[0]), count)
