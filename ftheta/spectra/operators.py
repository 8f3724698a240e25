"""Symmetric matrices that are known by their products alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float


@dataclass(frozen=True, eq=False)
class Operator:
    """A symmetric matrix of `size` rows; `product(v)` is its product with a vector, in float64. `matrix`
    are its entries, where they are at hand."""

    size: int
    product: Callable[[np.ndarray], np.ndarray]
    matrix: np.ndarray | None = None

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "n n"]) -> "Operator":
        """A matrix that is there, as an operator."""
        A = np.asarray(matrix, np.float64)
        if (
            A.ndim != 2
            or A.shape[0] != A.shape[1]
            or not np.isfinite(A).all()
            or not np.array_equal(A, A.T)
        ):
            raise UsageError(
                "An operator needs a symmetric matrix of finite numbers.", got=f"shape {A.shape}"
            )
        return cls(len(A), lambda v: A @ v, A)

    def dense(self) -> Float[np.ndarray, "n n"]:
        """All entries, symmetrised; where they are not at hand, by one product a column."""
        if self.matrix is not None:
            return (self.matrix + self.matrix.T) / 2
        columns = np.stack([self.product(e) for e in np.eye(self.size)], axis=1)
        return (columns + columns.T) / 2
