r"""Expected risks of ordinary least squares with $p$ features on $n$ rows, noise of variance $\sigma^2$, a true
linear model.

With the hat matrix $H=X(X^\top X)^{-1}X^\top$ of a fixed design the training risk is
$\sigma^2\frac{n-\operatorname{tr}H}n$ on average and the risk on new targets at the same rows
$\sigma^2(1+\frac{\operatorname{tr}H}n)$; $\operatorname{tr}H=p$. New standard normal rows give
$\sigma^2(1+\operatorname{tr}(X^\top X)^{-1})$, and $\mathbb E(X^\top X)^{-1}=\frac1{n-p-1}I$. All numbers here are in
units of $\sigma^2$.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.relu.matrices import fraction, rational_matrix

DRAWS = 4000
TAILS = 12  # rows beyond p from which the trace has moments enough for an interval


def train_risk(n: int, p: int) -> Fraction:
    r"""$1-\frac pn$."""
    return 1 - Fraction(p, n)


def fixed_design_risk(n: int, p: int) -> Fraction:
    r"""$1+\frac pn$: new targets at the same rows."""
    return 1 + Fraction(p, n)


def random_design_risk(n: int, p: int) -> Fraction | None:
    r"""$\frac{n-1}{n-p-1}$: new normal rows; None where it is infinite."""
    return Fraction(n - 1, n - p - 1) if n > p + 1 else None


def hat_trace(x: np.ndarray) -> Fraction | None:
    """The trace of the hat matrix in rationals; None where it is not defined."""
    X = rational_matrix(x)
    try:
        solved = (X.transpose() * X).solve(X.transpose())
    except ZeroDivisionError:
        return None
    diagonal = (X[i, k] * solved[k, i] for i in range(len(x)) for k in range(x.shape[1]))
    return fraction(sum(diagonal, fmpq(0)))


def draw_traces(n: int, p: int, rng: np.random.Generator, draws: int = DRAWS) -> np.ndarray:
    r"""$1+\operatorname{tr}(X^\top X)^{-1}$ of standard normal designs."""
    block = max(1, 4_000_000 // (n * p))
    found = []
    for done in range(0, draws, block):
        x = rng.standard_normal((min(block, draws - done), n, p))
        found.append(1 + np.trace(np.linalg.inv(x.transpose(0, 2, 1) @ x), axis1=1, axis2=2))
    return np.concatenate(found)


def trace_variance(n: int, p: int) -> float:
    r"""The variance of $\operatorname{tr}(X^\top X)^{-1}$ for standard normal designs, $n>p+3$.

    The inverse Wishart law has $\operatorname{Var}(S_{ii})=(n-p)\,c$ and $\operatorname{Cov}(S_{ii},S_{jj})=c$ with
    $c=2/\big((n-p)(n-p-1)^2(n-p-3)\big)$.
    """
    free = n - p
    c = 2 / (free * (free - 1) ** 2 * (free - 3))
    return p * free * c + p * (p - 1) * c


@dataclass(frozen=True, eq=False)
class DrawnDesigns:
    """The trace of the hat matrix of one integer design with `n` rows and `p` columns, exactly (None where it is not
    defined), and risks at new rows for drawn normal designs (None where their mean has no trustworthy interval)."""

    n: int
    p: int
    trace: Fraction | None
    risks: np.ndarray | None


def draw_designs(n: int, p: int, rng: np.random.Generator) -> DrawnDesigns:
    """One design of small integers, and standard normal ones."""
    trace = hat_trace(rng.integers(-4, 5, (n, p)).astype(float))
    risks = draw_traces(n, p, rng) if n >= p + TAILS else None
    return DrawnDesigns(n, p, trace, risks)
