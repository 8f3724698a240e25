"""Gradient descent fits all data whose inputs are not parallel, if the network is wide enough."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

from .deep import show_deep_networks
from .overparametrised import Descents, at_angle, descend, find_degenerate, smallest_eigenvalue

ROWS = 32


def unit_circle(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(2, 8, "number of inputs", "n", most=ROWS)] = 4,
    repeated: Annotated[
        bool, Knob(says="the first input twice, with two labels", symbol="x₁ = x₂")
    ] = False,
) -> Dataset:
    angles = (3 - 5**0.5) * np.pi * np.arange(
        inputs
    ) + rng.random()  # the golden angle: never opposite
    X = np.stack([np.cos(angles), np.sin(angles)], 1)
    y = np.where(np.arange(inputs) % 2, -1.0, 1.0)
    X[1] = X[0] if repeated else X[1]
    return Dataset(f"{inputs} points on the circle", X, y)


def rows_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The first rows, each divided by its norm, and one number per row, at most 1 in size."""
    X = data.x[:ROWS].reshape(min(len(data), ROWS), -1).astype(float)
    y = (
        np.zeros(len(X))
        if data.y is None
        else data.y[:ROWS].reshape(len(X), -1)[:, 0].astype(float)
    )
    largest = np.abs(X).max(1, initial=0.0, keepdims=True)
    X = np.ldexp(X, -np.frexp(largest)[1])  # rounds nothing, and no norm overflows or vanishes
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    size = np.abs(y).max()
    return X / np.where(norms > 0, norms, 1.0), y / (size if size > 0 else 1.0)


@hypothesis(
    "no two inputs are parallel, none is 0", remedy="remove repeated, opposite and zero rows"
)
def separate_inputs(data: Dataset) -> Finding:
    X = rows_of(data)[0]
    cosine = float(np.abs(X @ X.T * (1 - np.eye(len(X)))).max())
    holds = cosine < 1 - 1e-12 and bool(np.linalg.norm(X, axis=1).min() > 0)
    note = f"the largest |cosine| is {cosine:.6g} among {len(X)} rows"
    return Finding.decide(holds, note, "all pairs in float64", Enclosure.equal(cosine))


@hypothesis(
    r"$m=\Omega(n^6/(\lambda_0^4\delta^3))$",
    remedy="take a wider network; the constant in Ω is not known",
)
def wide_enough(data: Dataset, *, width: int, delta: float) -> Finding:
    X = rows_of(data)[0]
    asked = len(X) ** 6 / (max(smallest_eigenvalue(X), 1e-12) ** 4 * delta**3)
    return Finding.assumed(
        f"Ω hides a constant; with 1 the theorem requires {asked:.2g} neurons; this network has {width}"
    )


@theorem(
    title="Gradient descent on wide networks",
    gist="If no two inputs are parallel and the network is wide enough, gradient descent fits every training set at a "
    "linear rate while the weights hardly move: over-parametrised networks reach zero training loss.",
    see_also=("ntk-kernel", "chizat-bach", "gd-strongly-convex", "pl-inequality"),
    same_for_all={
        "largest ‖u_k − y‖²": "a maximum over steps that is attained at the start, where the quotient is 1"
    },
    sources=("murari-slides", "du2019", "du2019deep", "allenzhu2019"),
    assumes=(separate_inputs, wide_enough),
    on=unit_circle,
    breaks_on=lambda rng: unit_circle(rng, repeated=True),
    presets={
        "textbook": {},
        "more inputs": {"inputs": 6, "width": 2048},
        "at the edge": {"inputs": 2, "width": 64},
        "broken on purpose": {"repeated": True},
    },
)
def overparam_gd(
    data: Dataset,
    rng: np.random.Generator,
    *,
    width: Annotated[
        int, Knob(64, 4096, "number of neurons", "m", log=True, least=1, most=65536)
    ] = 1024,
    steps: Annotated[
        int, Knob(10, 1000, "steps of gradient descent", "K", log=True, most=5000)
    ] = 300,
    draws: Annotated[int, Knob(2, 16, "random networks", "S", most=64)] = 8,
    delta: Annotated[float, Knob(0.01, 0.5, "probability that may fail", "δ", log=True)] = 0.1,
) -> Evidence:
    r"""Let $\|x_i\|=1$, no two parallel; $f(x)=\frac1{\sqrt m}\sum_ra_r\,\mathrm{ReLU}(\langle w_r,x\rangle)$ with
    $a_r=\pm1$ fixed and $w_r(0)\sim\mathcal N(0,I)$. Then
    $H^\infty_{ij}=\langle x_i,x_j\rangle\frac{\pi-\varphi_{ij}}{2\pi}$ has $\lambda_0=\lambda_{\min}(H^\infty)>0$,
    and if $m=\Omega(n^6/(\lambda_0^4\delta^3))$, descent on
    $\frac12\|u-y\|^2$ with $\eta=O(\lambda_0/n^2)$ has, with probability $1-\delta$, for all $k$
    $$\|u_k-y\|^2\le\Big(1-\frac{\eta\lambda_0}2\Big)^k\|u_0-y\|^2,\qquad
    \|w_r(k)-w_r(0)\|\le\frac{4\sqrt n\|u_0-y\|}{\sqrt m\,\lambda_0}.$$
    The same holds of deep networks of which all layers are trained, if the width is a large enough polynomial (Du, Lee,
    Li, Wang, Zhai; Allen-Zhu, Li, Song)."""
    X, y = rows_of(data)
    least = smallest_eigenvalue(X)
    n = len(X)
    found = descend(X, y, width, max(least, 1e-3) / n**2, steps, draws, rng)
    asked = n**6 / (max(least, 1e-12) ** 4 * delta**3)
    kept = int((found.excess <= 1 + 1e-9).sum())
    witness = find_degenerate(X, n * 1e-12) if least < n * 1e-12 else None
    return Evidence(
        claims=(
            AtMost(
                "n · 10⁻¹² below λ₀",
                Enclosure.equal(n * 1e-12),
                Enclosure.equal(least),
                witness=witness,
            ),
            *_claims_about_best(found),
        ),
        examples=partial(_examples, X, y, rng.spawn(1)[0]),
        charts=(_draw_residuals(found), _draw_movement(found)),
        numbers={
            "λ₀": least,
            "width asked for": asked,
            "guaranteed rate": found.step * least / 2,
            "observed rate": found.observed_rate(),
            "networks that keep the bound": kept,
            "largest movement": float(found.moved.max()),
        },
        summary=f"λ₀ = {least:.6g}; {kept} of {draws} networks of width {width} keep the bound "
        f"(the theorem requires {asked:.1e} neurons); rate {found.observed_rate():.3g} per step",
    )


def _claims_about_best(found: Descents) -> tuple[AtMost, ...]:
    """Of the network that keeps its bound best: the residual, and how far its neurons move."""
    best = int(found.excess.argmin())
    ratio = Enclosure.equal(float(found.excess[best]))
    moved = Enclosure.equal(float(found.moved[best].max()))
    allowed = Enclosure.equal(float(found.radius()[best]))
    which = f"the best of {len(found.residuals)} networks"
    return (
        AtMost(
            f"largest ‖u_k − y‖² / ((1 − ηλ₀/2)^k ‖u₀ − y‖²), {which}", ratio, Enclosure.exact(1)
        ),
        AtMost(f"largest ‖w_r(k) − w_r(0)‖, {which}", moved, allowed),
    )


def _examples(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Examples:
    """Two inputs, where the eigenvalue has a closed form; and deep networks on the rows of the subject."""
    least = Enclosure.equal(at_angle(60.0))
    claim = Identity("λ₀ of two inputs at 60°", least, Enclosure.equal(1 / 3))
    deep = show_deep_networks(X, y, rng)
    return Examples(
        (claim, *deep.claims),
        deep.charts,
        numbers={"λ₀ at 60°": least, "λ₀ at 90°": at_angle(90.0), **deep.numbers},
    )


def _shown(found: Descents) -> np.ndarray:
    """At most 200 of the steps."""
    return np.unique(np.linspace(0, len(found.steps) - 1, 200).astype(int))


def _draw_residuals(found: Descents) -> Curves:
    shown = _shown(found)
    k = found.steps[shown]
    lo, middle, hi = np.quantile(found.residuals / found.residuals[:, :1], (0.0, 0.5, 1.0), axis=0)
    series = (
        Series("guaranteed", k, found.decay[shown], "bound"),
        Series(
            f"{len(found.residuals)} networks",
            k,
            middle[shown],
            "measured",
            "line",
            lo[shown],
            hi[shown],
        ),
    )
    return Curves(
        "decay of the residual", Axis("step k"), Axis("‖u_k − y‖² / ‖u₀ − y‖²", "log"), series
    )


def _draw_movement(found: Descents) -> Curves:
    shown = _shown(found)
    k = found.steps[shown]
    series = [Series("farthest neuron", k, np.median(found.moved, 0)[shown], "measured")]
    far = float(np.median(found.radius()))
    if np.isfinite(far):
        series.insert(0, Series("allowed", k[[0, -1]], [far, far], "bound"))
    return Curves(
        "movement of the neurons", Axis("step k"), Axis("‖w_r(k) − w_r(0)‖"), tuple(series)
    )
