"""A descent method written as a network, and the network trained to outrun it."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.training.ista_study import ista_evidence

KINDS = ("random", "identity", "orthonormal", "correlated")
MOST = 400  # rows and columns of a dictionary
SIGNALS = 600


def dictionary_and_signals(
    rng: np.random.Generator,
    *,
    dictionary: Annotated[str, Knob(says="the dictionary", symbol="A", choices=KINDS)] = "random",
    entries: Annotated[int, Knob(4, 100, "entries of a signal", "n", log=True, least=2, most=MOST)] = 20,
    atoms: Annotated[int, Knob(4, 200, "atoms of the dictionary", "d", log=True, least=2, most=MOST)] = 40,
    signals: Annotated[int, Knob(3, 600, "number of signals", "m", log=True, most=SIGNALS)] = 450,
    used: Annotated[int, Knob(1, 20, "atoms in a signal", "s", most=MOST)] = 3,
) -> Dataset:
    A = np.eye(entries) if dictionary == "identity" else rng.normal(size=(entries, atoms))
    if dictionary == "orthonormal":
        A = np.linalg.qr(A)[0]
    if dictionary == "correlated":
        A = A + 1.5 * rng.normal(size=(entries, 1))
    A = A / np.linalg.norm(A, axis=0)
    codes = np.zeros((signals, A.shape[1]))
    for code in codes:
        places = rng.choice(len(code), min(used, len(code)), replace=False)
        code[places] = rng.choice([-1.0, 1.0], len(places)) * rng.uniform(0.5, 1.5, len(places))
    return Dataset(
        f"sparse signals in a dictionary: {dictionary}", A, A @ codes.T + 0.02 * rng.normal(size=(entries, signals))
    )


def parts(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The dictionary (n, d) and the signals (m, n); none without y."""
    A = data.x.reshape(len(data), -1).astype(float)
    return A, np.zeros((0, len(A))) if data.y is None else data.y.reshape(len(data), -1)[:, :SIGNALS].T.astype(float)


@hypothesis(
    "x is a dictionary with one atom a column, y has one signal a column; neither is zero",
    remedy=f"give x of shape (n, d) and y of shape (n, m), with n and d at most {MOST}",
)
def a_dictionary_and_signals(data: Dataset) -> Finding:
    A, signals = parts(data)
    fits = len(signals) > 0 and max(A.shape) <= MOST and bool(A.any()) and bool((signals @ A).any())
    note = f"{A.shape[1]} atoms of {len(A)} entries, {len(signals)} signals"
    return Finding.decide(fits, note, "counted", basis=Basis.EXACT)


@hypothesis(r"$\tau=h/L$ with $0<h\le1$ and $L=\|A\|^2$", remedy="take a smaller step")
def step_at_most_one(data: Dataset, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1, f"h = {step:g}, and L is rounded up", "a comparison of knobs", basis=Basis.EXACT
    )


@theorem(
    title="ISTA as a network and LISTA",
    sources=("seed 1", "daubechies2004", "beck2009", "gregor2010"),
    assumes=(a_dictionary_and_signals, step_at_most_one),
    on=dictionary_and_signals,
    unbreakable="the rate holds for every dictionary and every signal; a step beyond 2/L diverges (broken on purpose)",
    presets={
        "textbook": {},
        "identity": {"dictionary": "identity", "signals": 60, "training": 100},
        "orthonormal": {"dictionary": "orthonormal", "entries": 20, "atoms": 10, "signals": 60, "training": 100},
        "correlated atoms": {"dictionary": "correlated", "steps": 200},
        "at the edge": {"penalty": 0.01, "steps": 300},
        "broken on purpose": {"step": 2.5},
    },
)
def ista_lista(
    data: Dataset,
    rng: np.random.Generator,
    *,
    penalty: Annotated[
        float, Knob(0.01, 0.9, "penalty λ in units of the mean ‖Aᵀx‖∞", "λ", log=True, least=1e-4)
    ] = 0.1,
    step: Annotated[float, Knob(0.05, 1.0, "step times L", "h", least=1e-6, most=4)] = 1.0,
    layers: Annotated[int, Knob(1, 32, "layers that are learnt", "K", log=True, most=64)] = 8,
    steps: Annotated[int, Knob(10, 500, "steps of ISTA and FISTA", "k", log=True, least=1, most=2000)] = 100,
    training: Annotated[int, Knob(50, 5000, "training steps of LISTA", "T", log=True, least=1, most=20_000)] = 400,
) -> Evidence:
    r"""Let $F(\alpha)=\frac12\|x-A\alpha\|^2+\lambda\|\alpha\|_1$ and $L=\|A\|^2$. ISTA, with the soft threshold $S$,
    $$\alpha_{k+1}=S_{\lambda/L}\big(\tfrac1LA^\top x+(I-\tfrac1LA^\top A)\alpha_k\big),\qquad
    F(\alpha_k)-F^*\le\frac{L\|\alpha_0-\alpha^*\|^2}{2k},$$
    is after $K$ steps a network of $K$ layers with the same weights and two ReLUs a coordinate. FISTA has
    $F_k-F^*\le2LR^2/(k+1)^2$; a residual scaled into $\|A^\top\nu\|_\infty\le\lambda$ certifies $F-F^*$ by duality.
    LISTA learns $(W_e,S,\theta)$ in $\alpha\leftarrow S_\theta(W_ex+S\alpha)$ to err less after $K$ layers."""
    A, signals = parts(data)
    return ista_evidence(A, signals, penalty, step, layers, steps, training, int(rng.integers(2**31)))
