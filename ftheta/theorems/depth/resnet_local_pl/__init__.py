"""Training a deep residual network has no spurious critical points near its start: a local Polyak–Łojasiewicz band."""

from fractions import Fraction
from functools import partial
from math import inf, log, sqrt
from typing import Annotated

import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

from .local_pl import Fourier, Problem, Trained, train

ROWS = 24  # of the data, at most
WIDEST = 16  # columns of the data, at most
TINY = 1e-12
DEPTHS = (1, 2, 4, 8, 16, 32)


def scatter_rows(
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(1, 12, "number of rows", "N", most=ROWS)] = 6,
    dimension: Annotated[int, Knob(1, 6, "dimension of the state", "d", most=WIDEST)] = 2,
    far: Annotated[
        float, Knob(0.05, 2, "how far the targets are from the inputs", "ε", log=True, most=10)
    ] = 0.5,
    repeated: Annotated[
        bool, Knob(says="the first input twice, with two targets", symbol="x₁ = x₂")
    ] = False,
) -> Dataset:
    x = 2 * rng.normal(size=(rows, dimension))
    y = x + far * rng.normal(size=x.shape)
    x[-1] = x[0] if repeated else x[-1]
    return Dataset(f"{rows} rows in dimension {dimension}", x, y)


def rows_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The first rows and columns in units of their spread, and targets of no more numbers than inputs."""
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1)[:, :WIDEST].astype(float)
    y = (
        x[:, :1]
        if data.y is None
        else data.y[:ROWS].reshape(len(x), -1)[:, : x.shape[1]].astype(float)
    )
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    x = np.ldexp(x, -exponent)  # rounds nothing, and the squares are floats
    y = np.ldexp(y, -exponent)
    spread = float(np.sqrt(np.mean((x - x.mean(0)) ** 2))) or 1.0
    return x / spread, y / spread


def problem_of(data: Dataset, features: int, scale: float, lift: int) -> Problem:
    """Without a lift the states are the inputs and the outputs their first coordinates. With one, the states have
    `lift` dimensions more than the inputs, and $A$ and $B$ are normal matrices, drawn once."""
    x, y = rows_of(data)
    rng = np.random.default_rng(0)
    D = x.shape[1] + lift
    phi = Fourier.draw(D, features, scale, rng)
    if not lift:
        return Problem(phi, x, y)
    A = rng.normal(size=(D, x.shape[1])) / sqrt(D)
    B = rng.normal(size=(y.shape[1], D)) / sqrt(D)
    return Problem(phi, x @ A.T, y, B)


@hypothesis("the inputs are apart", remedy="remove repeated rows")
def inputs_apart(data: Dataset, *, lift: int) -> Finding:
    found = problem_of(data, 1, 1.0, lift)
    delta = found.separation
    note = f"the smallest distance between two of {len(found.x)} rows is δ = {delta:.4g} of their spread"
    return Finding.decide(
        delta > 1e-9,
        note,
        "all pairs in float64",
        Enclosure.equal(delta) if np.isfinite(delta) else None,
    )


@hypothesis(
    r"the kernel matrix of the inputs is well conditioned, $\lambda_{\min}(K)>10^{-9}N$",
    remedy="more random frequencies than rows, or frequencies of a larger deviation",
)
def well_conditioned(data: Dataset, *, features: int, scale: float, lift: int) -> Finding:
    found = problem_of(data, features, scale, lift)
    least = found.least_eigenvalue
    note = f"λ_min(K) = {least:.3g} for {len(found.x)} rows and {features} frequencies"
    why = "the least eigenvalue of a symmetric matrix in float64, whose error is far below the threshold"
    return Finding.decide(least > 1e-9 * len(found.x), note, why, Enclosure.equal(least))


@hypothesis(
    r"the decoder is onto, $\lambda_{\min}(BB^\top)>10^{-9}$",
    remedy="a lift of more dimensions: B then has more columns than rows",
    name="a decoder that is onto",
)
def decoder_onto(data: Dataset, *, lift: int) -> Finding:
    least = problem_of(data, 1, 1.0, lift).decoder_range[0]
    why = "the least eigenvalue of a symmetric matrix in float64, whose error is far below the threshold"
    return Finding.decide(least > 1e-9, f"λ_min(BBᵀ) = {least:.4g}", why, Enclosure.equal(least))


@theorem(
    title="Residual networks train without spurious critical points, locally",
    sources=("peyre-slides", "peyre-notes", "barboni2022"),
    assumes=(inputs_apart, well_conditioned, decoder_onto),
    on=scatter_rows,
    breaks_on=lambda rng: scatter_rows(rng, repeated=True),
    presets={
        "textbook": {},
        "deep": {"depth": 64},
        "far targets": {"far": 2.0},
        "one datum": {"rows": 1},
        "lifted": {"lift": 30},
        "broken on purpose": {"repeated": True},
    },
    gist="Near its start, training a deep residual network has no bad stationary points: the gradient is never small "
    "unless the loss is, so that gradient descent converges at a linear rate.",
    see_also=("pl-inequality", "neural-ode-limit", "ntk-kernel"),
    errata=r"""Peyré's notes minimise $\frac1N\sum_i\ell(\psi_\theta(x_i),y_i)^2$, the square of a loss. With the
    squared distance that is a fourth power, whose $\|\nabla E\|^2/E$ tends to 0 at the minimum: no inequality of this
    kind.""",
)
def resnet_local_pl(
    data: Dataset,
    rng: np.random.Generator,
    *,
    depth: Annotated[int, Knob(1, 64, "number of layers", "T", log=True, most=512)] = 16,
    features: Annotated[
        int, Knob(8, 256, "random frequencies", "q", log=True, least=1, most=1024)
    ] = 64,
    scale: Annotated[
        float, Knob(0.2, 4, "deviation of the frequencies, times the data's spread", "s", log=True)
    ] = 1.5,
    lift: Annotated[
        int,
        Knob(0, 62, "dimensions that A adds to the state; 0: A and B select", "D − d", most=128),
    ] = 0,
    steps: Annotated[
        int, Knob(20, 500, "steps of gradient descent", "K", log=True, least=2, most=5000)
    ] = 120,
) -> Evidence:
    r"""Let $\dot x_i=V_t\varphi(x_i)$ in $\mathbb R^D$ with $\varphi$ $\kappa$-Lipschitz start at $x_i(0)=Aa_i$,
    $\mathcal L(V)=\frac1{2N}\sum_i|Bx_i(1)-y_i|^2$ and $\|V\|_{L^2}\le R$. Then
    $$m(R)\,\mathcal L\le\|\nabla\mathcal L\|^2\le M(R)\,\mathcal L,\qquad
    m=\tfrac2N\lambda_{\min}(BB^\top)\lambda(\delta e^{-\kappa R})e^{-2\kappa R},\quad
    M=\tfrac2N\|B\|^2\Lambda e^{2\kappa R},$$
    with $\delta$ the least distance of the $Aa_i$, $\lambda(\delta)$ the least eigenvalue of kernel matrices of
    $\delta$-separated points, $\Lambda$ the largest. So there are no spurious critical points, and training
    converges linearly if $\mathcal L(V_0)$ is small against $m$ on the ball. Between them:
    $\|\nabla\mathcal L\|^2\ge\frac1{N^2}\int\lambda_{\min}(K_t)\sum_i|p_i(t)|^2dt$."""
    problem = problem_of(data, features, scale, lift)
    found = train(problem, depth, steps)
    size = max(float(found.seen["norm"].max()), 0.1)
    loss = found.seen["loss"]
    return Evidence(
        claims=training_claims(found),
        charts=(_draw_band(found), _draw_losses(found), _draw_conditioning(problem, size, rng)),
        numbers=_numbers(found),
        as_printed=(_claim_squared_loss(),),
        summary=f"‖∇L‖² stays between {found.least:.3g} and {found.seen['M'].max():.3g} times the loss, which falls "
        f"from {loss[0]:.3g} to {loss[-1]:.3g} in {steps} steps; δ = {problem.separation:.3g}",
        examples=partial(_examples, rng.spawn(1)[0]),
    )


# -- claims ------------------------------------------------------------------------------------------------


def training_claims(found: Trained) -> tuple[Claim, ...]:
    """At every step of the training: the band of the gradient, what the step gains, and the ball it stays in."""
    n = len(found.ratio)
    seen = found.seen
    loss = seen["loss"]
    gained = loss - seen["step"] / 2 * seen["square"]
    quotients = {
        "m L / ‖∇L‖²": _worst(seen["m"] * loss, seen["square"]),
        "‖∇L‖² / (M L)": _worst(seen["square"], seen["M"] * loss),
        "N⁻² ∫ λ_min(K) Σ|p|² / ‖∇L‖²": _worst(seen["low"], seen["square"]),
        "‖∇L‖² / (N⁻² ∫ λ_max(K) Σ|p|²)": _worst(seen["square"], seen["high"]),
        "next loss / (loss − ½ τ ‖∇L‖²)": _worst(loss[1:], gained[:-1]),
    }
    one = Enclosure.exact(1)
    positive = Enclosure.exact(Fraction(1, 2**1000))
    spurious = "0 < λ_min(K): no spurious critical points"
    # where m is 0 the path may have any length
    length = (
        Enclosure.equal(4 * sqrt(float(loss[0]) / found.least))
        if found.least > 0
        else Enclosure.between(inf, inf)
    )
    travelled = Enclosure.measured(found.path_length, samples=n)
    return (
        *(AtMost(what, Enclosure.measured(q, samples=n), one) for what, q in quotients.items()),
        AtMost(spurious, positive, _least_eigenvalue(found)),
        AtMost("ball test: length of the path ≤ 4√(L₀/m)", travelled, length),
    )


def _claim_squared_loss() -> AtMost:
    r"""With the loss squared, as the notes print it, $E=r^4$ has $|E'|^2/E=16r^2$ at the residual r: no floor."""
    ratio = lambda r: Enclosure.exact(16 * r**2)
    return AtMost(
        "‖∇E‖²/E for E = ℓ² does not fall from the residual 1 to 1/1000",
        ratio(1),
        ratio(Fraction(1, 1000)),
    )


def _worst(small: np.ndarray, large: np.ndarray) -> float:
    """The largest quotient; 10⁻²⁰ of the first value are granted to rounding: a smaller loss is nothing else."""
    return worst_ratio(small, large, 1e-20 * float(np.abs(large[0])))


def _least_eigenvalue(found: Trained) -> Enclosure:
    """Of K along the training: 0 exactly where an earlier row is the same; else as it was seen, which float64 does not
    tell from 0 where states have come close."""
    if found.repeated_row() is not None:
        return Enclosure.exact(0)
    seen = found.seen["least"]
    rounding = TINY * len(found.problem.x)
    return Enclosure.measured(float(seen.min()), samples=len(seen)).widened(absolute=rounding)


def _numbers(found: Trained) -> dict[str, Enclosure | float]:
    seen = found.seen
    loss = seen["loss"]
    N = len(found.problem.x)
    delta = min(found.problem.separation, 1e300)  # one row is infinitely far from all others
    from_delta = 2 / N * found.problem.phi.least_eigenvalue(min(delta, 1e9), N)
    return {
        "separation δ": delta,
        "κ": found.problem.phi.lipschitz,
        "λ_min(BBᵀ)": found.problem.decoder_range[0],
        "largest ‖V‖": float(seen["norm"].max()),
        "least m": found.least,
        "m(0) for infinitely many frequencies": 2 / N * found.problem.limit_of_least_eigenvalue,
        "m(0) for infinitely many frequencies, from δ alone (Gershgorin)": Enclosure.at_least(
            from_delta
        ),
        "‖∇L‖²/L at V = 0": float(found.ratio[0]),
        "first loss": float(loss[0]),
        "last loss": float(loss[-1]),
        "promised rate per step": float((seen["step"] * seen["m"]).min()) / 2,
        "observed rate per step": log(max(loss[0], 1e-300) / max(loss[-1], 1e-300)) / len(loss),
    }


# -- examples ----------------------------------------------------------------------------------------------


def _examples(rng: np.random.Generator) -> Examples:
    return Examples((one_datum(rng), random_instances(rng)))


def one_datum(rng: np.random.Generator) -> Identity:
    r"""One row, one layer: $\frac12\|\nabla\mathcal L\|^2=\|\varphi\|^2\mathcal L$."""
    phi = Fourier.draw(2, 5, 1.0, rng)
    problem = Problem(phi, rng.normal(size=(1, 2)), rng.normal(size=(1, 2)))
    found = problem.measure(np.zeros((1, 2, 10)))[1]
    size = float(np.sum(phi(problem.x) ** 2))
    left = Enclosure.equal(found["square"] / 2)
    right = Enclosure.equal(size * found["loss"])
    return Identity("½‖∇L‖² = ‖φ‖² L for one datum and one layer", left, right)


def random_instances(rng: np.random.Generator, count: int = 10) -> AtMost:
    r"""$N^{-2}\int\lambda_{\min}(K_t)\sum|p_i|^2dt\le\|\nabla\mathcal L\|^2$ at random weights and data."""
    quotients = []
    for _ in range(count):
        phi = Fourier.draw(3, 16, 1.0, rng)
        decoder = rng.normal(size=(2, 3))
        problem = Problem(phi, rng.normal(size=(5, 3)), rng.normal(size=(5, 2)), decoder)
        found = problem.measure(rng.normal(size=(8, 3, 32)))[1]
        quotients.append(worst_ratio(found["low"], found["square"]))
    what = f"N⁻² ∫ λ_min(K) Σ|p|² / ‖∇L‖² on {count} random instances"
    return AtMost(what, Enclosure.measured(largest(quotients), samples=count), Enclosure.exact(1))


# -- charts ------------------------------------------------------------------------------------------------


def _visible(found: Trained) -> np.ndarray:
    """The steps before the loss is rounding."""
    return np.flatnonzero(np.cumprod(found.alive) > 0)


def _draw_band(found: Trained) -> Curves:
    k = _visible(found)
    seen = {name: values[k] for name, values in found.seen.items()}
    low = seen["low"] / seen["loss"]
    high = seen["high"] / seen["loss"]
    series = (
        Series("measured", k, found.ratio[k]),
        Series(
            "kernel bounds", k, np.sqrt(low * high), "other", "line", np.maximum(low, 1e-12), high
        ),
        Series("m", k, np.maximum(seen["m"], 1e-12), "bound"),
        Series("M", k, seen["M"], "bound"),
    )
    return Curves(
        "the band of the squared gradient", Axis("step"), Axis("‖∇L‖² / L", "log"), series
    )


def _draw_losses(found: Trained) -> Curves:
    k = _visible(found)
    return draw_curves(
        "the loss falls at the promised rate or faster",
        k,
        x="step",
        y="L",
        log="y",
        measured={"measured": np.maximum(found.seen["loss"][k], 1e-18)},
        bound={"promised by m": np.maximum(found.promised_losses()[k], 1e-18)},
    )


def _draw_conditioning(problem: Problem, size: float, rng: np.random.Generator) -> Curves:
    """M/m against depth, at weights of one norm that do not change from layer to layer."""
    shape = (problem.x.shape[1], 2 * len(problem.phi.omega))
    direction = rng.normal(size=shape)
    direction *= size / np.linalg.norm(direction)
    depths = []
    wide = []
    narrow = []
    for T in DEPTHS:
        found = problem.measure(np.broadcast_to(direction, (T, *shape)))[1]
        if found["m"] > 0 and found["low"] > 0:
            depths.append(T)
            wide.append(found["M"] / found["m"])
            narrow.append(found["high"] / found["low"])
    return draw_curves(
        f"conditioning against depth, ‖V‖ = {size:.3g}",
        depths,
        x="layers T",
        y="upper over lower bound",
        log="xy",
        measured={"kernel bounds": narrow},
        bound={"M/m": wide},
    )
