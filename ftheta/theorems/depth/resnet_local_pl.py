"""Training a deep residual network has no spurious critical points near its start: a local Polyak–Łojasiewicz band."""

from typing import Annotated

import numpy as np

from ftheta.limits.depth.local_pl import Fourier, Problem, conditioning, one_datum, random_instances, train
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset

ROWS, WIDEST = 24, 16  # rows and columns of the data, at most


def scattered(
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(1, 12, "number of rows", "N", most=ROWS)] = 6,
    dimension: Annotated[int, Knob(1, 6, "dimension of the state", "d", most=WIDEST)] = 2,
    far: Annotated[float, Knob(0.05, 2, "how far the targets are from the inputs", "ε", log=True, most=10)] = 0.5,
    repeated: Annotated[bool, Knob(says="the first input twice, with two targets", symbol="x₁ = x₂")] = False,
) -> Dataset:
    x = 2 * rng.normal(size=(rows, dimension))
    y = x + far * rng.normal(size=x.shape)
    x[-1] = x[0] if repeated else x[-1]
    return Dataset(f"{rows} rows in dimension {dimension}", x, y)


def rows_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The first rows and columns in units of their spread, and targets of no more numbers than inputs."""
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1)[:, :WIDEST].astype(float)
    y = x[:, :1] if data.y is None else data.y[:ROWS].reshape(len(x), -1)[:, : x.shape[1]].astype(float)
    spread = float(np.sqrt(np.mean((x - x.mean(0)) ** 2))) or 1.0
    return x / spread, y / spread


def problem_of(data: Dataset, features: int, scale: float) -> Problem:
    x, y = rows_of(data)
    return Problem(Fourier.drawn(x.shape[1], features, scale, np.random.default_rng(0)), x, y)


@hypothesis("the inputs are apart", remedy="remove repeated rows")
def separated(data: Dataset) -> Finding:
    found = problem_of(data, 1, 1.0)
    delta = found.separation
    note = f"the smallest distance between two of {len(found.x)} rows is δ = {delta:.4g} of their spread"
    return Finding.decide(
        delta > 1e-9, note, "all pairs in float64", Enclosure.equal(delta) if np.isfinite(delta) else None
    )


@hypothesis(
    r"the kernel matrix of the inputs is well conditioned, $\lambda_{\min}(K)>10^{-9}N$",
    remedy="more random frequencies than rows, or frequencies of a larger deviation",
)
def well_conditioned(data: Dataset, *, features: int, scale: float) -> Finding:
    found = problem_of(data, features, scale)
    least = found.least_eigenvalue
    note = f"λ_min(K) = {least:.3g} for {len(found.x)} rows and {features} frequencies"
    why = "the least eigenvalue of a symmetric matrix in float64, whose error is far below the threshold"
    return Finding.decide(least > 1e-9 * len(found.x), note, why, Enclosure.equal(least))


@theorem(
    title="Residual networks train without spurious critical points, locally",
    sources=("seed 0", "seed 4", "barboni2022"),
    assumes=(separated, well_conditioned),
    on=scattered,
    breaks_on=lambda rng: scattered(rng, repeated=True),
    presets={
        "textbook": {},
        "deep": {"depth": 64},
        "far targets": {"far": 2.0},
        "one datum": {"rows": 1},
        "broken on purpose": {"repeated": True},
    },
)
def resnet_local_pl(
    data: Dataset,
    rng: np.random.Generator,
    *,
    depth: Annotated[int, Knob(1, 64, "number of layers", "T", log=True, most=512)] = 16,
    features: Annotated[int, Knob(8, 256, "random frequencies", "q", log=True, least=1, most=1024)] = 64,
    scale: Annotated[float, Knob(0.2, 4, "deviation of the frequencies, times the data's spread", "s", log=True)] = 1.5,
    steps: Annotated[int, Knob(20, 500, "steps of gradient descent", "K", log=True, least=2, most=5000)] = 120,
) -> Evidence:
    r"""Let $\dot x_i=V_t\varphi(x_i)$ with $\varphi$ $\kappa$-Lipschitz,
    $\mathcal L(V)=\frac1{2N}\sum_i|x_i(1)-y_i|^2$ and $\|V\|_{L^2}\le R$. Then
    $$m(R)\,\mathcal L\le\|\nabla\mathcal L\|^2\le M(R)\,\mathcal L,\qquad
    m=\tfrac2N\lambda(\delta e^{-\kappa R})e^{-2\kappa R},\quad M=\tfrac2N\Lambda e^{2\kappa R},$$
    with $\lambda(\delta)$ the least eigenvalue of kernel matrices of $\delta$-separated points, $\Lambda$ the largest.
    So there are no spurious critical points, and training converges linearly if $\mathcal L(V_0)$ is small against $m$
    on the ball. Between them: $\|\nabla\mathcal L\|^2\ge\frac1{N^2}\int\lambda_{\min}(K_t)\sum_i|p_i(t)|^2dt$."""
    problem = problem_of(data, features, scale)
    found = train(problem, depth, steps)
    size, loss = max(float(found.seen["norm"].max()), 0.1), found.seen["loss"]
    return Evidence(
        claims=(*found.claims(), one_datum(rng), random_instances(rng)),
        charts=(*found.charts(), conditioning(problem, (1, 2, 4, 8, 16, 32), size, rng)),
        numbers=found.numbers(),
        summary=f"‖∇L‖² stays between {found.least:.3g} and {found.seen['M'].max():.3g} times the loss, which falls "
        f"from {loss[0]:.3g} to {loss[-1]:.3g} in {steps} steps; δ = {problem.separation:.3g}",
    )
