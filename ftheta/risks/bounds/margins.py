r"""Bounds by margins: the risk is at most the mean ramp loss on the training rows and a complexity of the norms.

The margin of a row is $f_y-\max_{j\ne y}f_j$ (for one output $yf$, $y=\pm1$); the ramp loss at scale $\gamma$ is
$\min\{1,\max\{0,1-\text{margin}/\gamma\}\}$, at least the 0-1 loss. For a class fixed in advance, with probability at
least $1-\delta$, $R\le\text{mean ramp}+2\hat{\mathfrak R}+3\sqrt{\ln(2/\delta)/2n}$ for all its members. Scale and
norms are not fixed in advance: each is rounded up to a power of $2^{1/4}$, and the $k$-th power is paid for with the
part $\frac23\frac1{(|k|+1)(|k|+2)}$ of $\delta$. These parts add up to 1. Every constant is explicit.

A bias is a weight of an input 1 that is carried along: $A_\ell=\begin{pmatrix}W&b\\0&1\end{pmatrix}$, $A_L=(W\ b)$.
With $\|X\|^2=\sum_i(\|x_i\|^2+1)$

- **products of Frobenius norms** (`golowich2018`; ReLU and other positively homogeneous activations):
  $n\hat{\mathfrak R}\le\frac c\gamma\prod_\ell\|A_\ell\|_F(\sqrt{2L\ln2}+1)\|X\|$ with $c=1$ for one output and
  $c=2K$ for $K$ (the contraction of vectors, `maurer2016`); one linear layer has 1 in place of the bracket. Layers
  can be rescaled, so that the product alone is paid for;
- **spectral norms** (`bartlett2017`; activations with $\sigma(0)=0$ and Lipschitz constant $\rho_\ell$): by
  covering numbers as in its Theorem 3.3 and Dudley's integral, cut at $1/\sqrt n$,
  $$\hat{\mathfrak R}\le\frac4n+\frac{24\|X\|\ln n}{n\gamma}\sqrt{8\ln(2D^2)}
  \prod_\ell\rho_\ell\|A_\ell\|_2\Big(\sum_\ell\frac{\|A_\ell^\top-M_\ell^\top\|_{2,1}^{2/3}}{\|A_\ell\|_2^{2/3}}\Big)^{3/2}$$
  with $D$ the largest width, $\|\cdot\|_{2,1}$ the sum of the norms of the rows of $A_\ell-M_\ell$, and $M_\ell$ a
  reference fixed in advance: the layer without its weights, or the initialisation.
  The paper's Theorem 1.1 hides these constants. Of the 8, a factor 2 is for the whole number of terms in Maurey's lemma
  ($\lceil t\rceil\le2t$ for $t>1$, and one matrix covers for $t\le1$), a factor 4 for covers by matrices that obey the
  bound of the spectral norm themselves (half the radius).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log, log2, sqrt

import jax.numpy as jnp
import numpy as np

from ftheta.certify.norms import frobenius_norm, spectral_norm
from ftheta.networks import Description, activation
from ftheta.shapes import Float, Real

UP = 1 + 1e-12  # above the rounding of the few float64 operations that follow enclosed norms
SCALES = 64  # of the margin, from four times the largest one down


@dataclass(frozen=True)
class MarginBound:
    """The bound at the best scale; `ramp` and `complexity` are its first two terms."""

    value: float
    gamma: float
    ramp: float
    complexity: float


def margins_of(
    outputs: Float[np.ndarray, "n k"], labels: Real[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    """One a row, from outputs `(n, K)` and classes `(n,)`; of one output, labels −1 or 1."""
    if outputs.shape[1] == 1:
        return outputs[:, 0] * labels
    rows = np.arange(len(outputs))
    classes = labels.astype(int)
    others = outputs.copy()
    others[rows, classes] = -inf
    return outputs[rows, classes] - others.max(1)


def rung(x: float) -> tuple[float, float]:
    r"""The least $2^{k/4}\ge x$ and what it costs: $\ln\frac{3(|k|+1)(|k|+2)}2$."""
    k = ceil(4 * log2(max(x, 1e-300) * UP))
    return 2 ** (k / 4) * UP, log(1.5 * (abs(k) + 1) * (abs(k) + 2))


def append_biases(
    description: Description, weights: Sequence[tuple[np.ndarray, np.ndarray]] | None = None
) -> list[np.ndarray]:
    r"""The matrices $A_\ell$ of the layers, biases included; with other `weights` in their place if given."""
    pairs = (
        description.params
        if weights is None
        else [(np.asarray(W), np.asarray(b)) for W, b in weights]
    )
    matrices = [np.column_stack([W, b]) for W, b in pairs]
    one = lambda A: np.vstack([A, np.eye(1, A.shape[1], A.shape[1] - 1)])
    return [*map(one, matrices[:-1]), matrices[-1]]


def norm_of_rows(x: Real[np.ndarray, "n *shape"]) -> float:
    r"""$\sqrt{\sum_i(\|x_i\|^2+1)}$, rounded up."""
    return sqrt(float((x**2).sum()) + len(x)) * (1 + x.size * 2e-16) * UP


def frobenius_margin_bound(
    description: Description,
    x: Real[np.ndarray, "n *shape"],
    margins: Float[np.ndarray, "n"],
    delta: float,
) -> MarginBound | None:
    """None where an activation is not positively homogeneous."""
    if not all(activation(layer.activation).homogeneous for layer in description.layers):
        return None
    product, cost = rung(
        float(np.prod([frobenius_norm(A).hi for A in append_biases(description)])) * UP
    )
    L = len(description.layers)
    K = len(description.layers[-1].bias)
    bracket = 1.0 if L == 1 else sqrt(2 * L * log(2)) + 1
    scale = (1 if K == 1 else 2 * K) * product * bracket * norm_of_rows(x) / len(x)
    return _best_scale(margins, delta, cost, lambda gamma: scale / gamma)


def spectral_margin_bound(
    description: Description,
    x: Real[np.ndarray, "n *shape"],
    margins: Float[np.ndarray, "n"],
    delta: float,
    reference: Sequence[tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, "_"]]] | None = None,
) -> MarginBound | None:
    """None where an activation has σ(0) ≠ 0 or no Lipschitz constant. `reference` are layers (W, b) fixed in
    advance."""
    activations = [activation(layer.activation) for layer in description.layers]
    if not all(
        float(a.function(jnp.zeros(()))) == 0 and np.isfinite(a.lipschitz.hi) for a in activations
    ):
        return None
    nothing = [(np.zeros_like(W), np.zeros_like(b)) for W, b in description.params]
    start = append_biases(description, nothing if reference is None else reference)
    cost = 0.0
    product = 1.0
    spread = 0.0
    for A, M, a in zip(append_biases(description), start, activations):
        (s, first) = rung(spectral_norm(A).hi)
        (b, second) = rung(float(np.linalg.norm(A - M, axis=1).sum()) * UP)
        cost += first + second
        product *= max(a.lipschitz.hi, 1.0) * s  # the input 1 is carried along unchanged
        spread += (b / s) ** (2 / 3)
    n = len(x)
    widest = max(description.widths) + 1
    scale = 2 * norm_of_rows(x) * sqrt(8 * log(2 * widest**2)) * product * spread**1.5 * UP
    return _best_scale(margins, delta, cost, lambda gamma: 4 / n + 12 * log(n) / n * scale / gamma)


def _best_scale(
    margins: np.ndarray, delta: float, cost: float, complexity: Callable[[float], float]
) -> MarginBound:
    """The least bound over scales γ, each paid for."""
    n = len(margins)
    largest = max(float(np.abs(margins).max(initial=0.0)), 1e-300)
    top = floor(4 * log2(largest)) + 8
    found = []
    for k in range(top, top - SCALES, -1):
        gamma = 2 ** (k / 4)
        ramp = float(np.clip(1 - margins / gamma, 0, 1).mean()) * UP
        paid = log(2 / delta) + cost + log(1.5 * (abs(k) + 1) * (abs(k) + 2))
        term = 2 * complexity(gamma)
        found.append(MarginBound((ramp + term + 3 * sqrt(paid / (2 * n))) * UP, gamma, ramp, term))
    return min(found, key=lambda bound: bound.value)
