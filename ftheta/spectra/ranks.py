r"""How many directions a matrix really has.

The effective rank of Roy and Vetterli is $e^{H(p)}$ with $p_i=\sigma_i/\sum_j\sigma_j$ and the entropy $H$: between 1
and the rank, and equal to $k$ where $k$ singular values are equal and the others 0.
"""

import numpy as np

from ftheta.shapes import Float


def effective_rank(rows: Float[np.ndarray, "n d"], *, centred: bool = True) -> float:
    """The effective rank of a matrix, by default of its rows less their mean; 0 of a matrix that is zero."""
    matrix = rows - rows.mean(0) if centred else rows
    gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0))
    sigma = sigma[sigma > 1e-7 * sigma.max(initial=0.0)]  # what the square root makes of rounding
    if not len(sigma):
        return 0.0
    p = sigma / sigma.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
