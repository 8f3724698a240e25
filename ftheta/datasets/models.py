r"""Data with a known law: a linear model with Gaussian inputs, and a network that teaches."""

import numpy as np

from ftheta.logic.errors import UsageError

from .named_arrays import Data


def gaussian_design(
    rng: np.random.Generator,
    n: int = 100,
    d: int = 20,
    noise: float = 0.5,
    signal: float = 1.0,
    decay: float = 0.0,
) -> Data:
    r"""$x\sim\mathcal N(0,\Sigma)$ with $\Sigma=\mathrm{diag}(j^{-\text{decay}})$, $y=\langle\beta,x\rangle+$ `noise`
    $\cdot\varepsilon$, and $\beta$ uniform on the sphere of radius `signal`."""
    _ensure_size(n, d)
    beta = rng.normal(size=d)
    beta *= signal / np.linalg.norm(beta)
    variances = np.arange(1, d + 1) ** -float(decay)
    x = rng.normal(size=(n, d)) * np.sqrt(variances)
    clean = x @ beta
    return Data(
        "gaussian-design",
        x,
        clean + noise * rng.normal(size=n),
        truth={"beta": beta, "variances": variances, "clean": clean, "noise": noise},
    )


def teacher_student(
    rng: np.random.Generator,
    n: int = 400,
    d: int = 10,
    neurons: int = 3,
    noise: float = 0.0,
    activation: str = "relu",
) -> Data:
    r"""$y=\frac1{\sqrt m}\sum_{k\le m}a_k\sigma(\langle w_k,x\rangle)+$ `noise` $\cdot\varepsilon$ for Gaussian $x$,
    with $m$ = `neurons`, unit $w_k$ (the rows of `truth["W"]`) and $a_k=\pm1$ (`truth["a"]`)."""
    _ensure_size(n + neurons, d)
    if activation not in ACTIVATIONS:
        raise UsageError(
            "There is no such activation.",
            got=activation,
            remedy=f"one of {', '.join(ACTIVATIONS)}",
        )
    W = rng.normal(size=(neurons, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = rng.choice([-1.0, 1.0], neurons)
    x = rng.normal(size=(n, d))
    clean = ACTIVATIONS[activation](x @ W.T) @ a / np.sqrt(neurons)
    return Data(
        "teacher-student",
        x,
        clean + noise * rng.normal(size=n),
        truth={"W": W, "a": a, "activation": activation, "clean": clean, "noise": noise},
    )


MOST_ENTRIES = 100_000_000
ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "square": np.square,
    "identity": lambda z: z,
}


def _ensure_size(rows: int, columns: int) -> None:
    if rows * columns > MOST_ENTRIES:
        got = f"{rows:,} × {columns:,} numbers"
        remedy = f"at most {MOST_ENTRIES:,} numbers"
        raise UsageError("The data set would be too large.", got=got, remedy=remedy)
