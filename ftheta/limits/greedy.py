r"""Frank–Wolfe over steps: Barron's bound without sampling the spectrum's thresholds.

The hull of $\{\pm s\,\mathbf 1[\langle a,\cdot\rangle>t]\}$ contains $f-f(x_0)$ when $s\ge2rC_f$. One iteration moves
towards the step that correlates most with the residual, with an exact line search: $\|f-f_k\|^2\le4D^2/(k+2)$, $D\le2s$
the diameter of the hull, provided that the best step is found. On points of the line it is: every threshold is tried.
In higher dimension the search is over given directions, which is the non-convex sub-problem cut short.
"""

import numpy as np


def greedy_errors(offsets: np.ndarray, wanted: np.ndarray, directions: np.ndarray, size: float, p: int) -> np.ndarray:
    r"""$\|f-f_k\|^2$ for $k=1,\dots,p$; `wanted` is $f-f(x_0)$ at the points $x_0+$`offsets`, `size` is $s$."""
    projections = directions @ offsets.T
    order = np.argsort(-projections, axis=1)  # a step is active on the first few of this order
    ties = np.diff(np.take_along_axis(projections, order, 1), axis=1) == 0  # no threshold falls between equal ones
    current, errors = np.zeros(len(wanted)), np.empty(p)
    for k in range(p):
        residual = wanted - current
        gains = np.abs(np.cumsum(residual[order], axis=1))
        gains[:, :-1][ties] = -1.0
        row, last = np.unravel_index(int(np.argmax(gains)), gains.shape)
        active = order[row, : last + 1]
        step = np.zeros(len(wanted))
        step[active] = size * np.sign(residual[active].sum())
        move = step - current
        length = float(move @ move)
        share = min(1.0, max(0.0, float(residual @ move) / length)) if length > 0 else 0.0
        current = current + share * move
        errors[k] = ((wanted - current) ** 2).mean()
    return errors


def unit_directions(frequencies: np.ndarray) -> np.ndarray:
    """The directions of the frequencies and their opposites; on the line, just these two."""
    if frequencies.shape[1] == 1:
        return np.array([[1.0], [-1.0]])
    length = np.maximum(np.linalg.norm(frequencies, axis=1, keepdims=True), 1e-300)
    return np.concatenate([frequencies / length, -frequencies / length])
