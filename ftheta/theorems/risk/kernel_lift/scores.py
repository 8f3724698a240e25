"""How well predictions fit the targets, and what features look like in the plane."""

import numpy as np


def score(predictions: np.ndarray, y: np.ndarray, classes: np.ndarray | None) -> float:
    r"""The accuracy, or $R^2=1-\mathrm{SSE}/\mathrm{SST}$ of real targets."""
    if classes is not None:
        return float(np.mean(predictions.argmax(1) == classes))
    total = float(np.sum((y - y.mean(0)) ** 2))
    return 1 - float(np.sum((predictions - y) ** 2)) / total if total else float("nan")


def principal_coordinates(phi: np.ndarray) -> np.ndarray:
    """The first two principal coordinates of the features."""
    centred = phi - phi.mean(0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    found = U[:, :2] * s[:2]
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))
