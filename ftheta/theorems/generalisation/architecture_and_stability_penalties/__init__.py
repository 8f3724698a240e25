"""Penalties on Jacobians and spectral norms, noise on the input, and what they do to the test loss."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.lipschitz import product_bound
from ftheta.certify.norms import spectral_norm
from ftheta.estimates import fit_rate, mean
from ftheta.graph.compiling import call_compiled
from ftheta.kernels.features import targets_of
from ftheta.logic import (
    AtMost,
    Basis,
    Chart,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.risks.outputs import outputs_of
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import real_inputs
from ftheta.training.regularisers.penalties import (
    PROBES,
    jacobian_at,
    power_iteration,
    spectrally_normalised,
    squared_pullback,
)
from ftheta.training.study import ROWS as MOST_ROWS

from .ablations import compare_penalties
from .charts import (
    draw_ablation,
    draw_power_iteration,
    draw_probes,
    draw_remainders,
    draw_stacks,
    tabulate_ablation,
)
from .input_noise import (
    MOVES,
    ROWS,
    Function,
    enclose_gap,
    expand,
    find_smooth_rows,
    measure_remainders,
)
from .stacks import DEPTH, WIDTH, stack_layers
from .worked_example import errors_of_example, example_numbers

ZERO = Enclosure.exact(0)
LISTED = 10  # outputs up to which all signs are listed
WORK = 2_000_000_000  # inputs times parameters, of which second derivatives are taken
LARGEST = 512  # sides of matrices that are decomposed


def draw_network(
    rng: np.random.Generator,
    *,
    n: Annotated[
        int, Knob(16, 200, "rows, half of them to test", "n", log=True, least=8, most=400)
    ] = 80,
    noise: Annotated[float, Knob(0, 2, "noise of the targets", "σ", most=10)] = 0.5,
) -> Network:
    x = rng.normal(size=(n, 3))
    y = np.stack([np.sin(2 * x[:, 0]), x[:, 1] * x[:, 2] / 2, np.cos(x[:, 0] + x[:, 1])], axis=1)
    net = random_mlp(rng, (3, 24, 24, 3), "tanh")
    data = Dataset("few noisy rows", x, y + noise * rng.normal(size=y.shape))
    return Network.described(net, "tanh, 3-24-24-3").with_data(data)


def build_network_on_kinks(rng: np.random.Generator) -> Network:
    net = Description((Dense(np.eye(2), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1))))
    return Network.described(net, "ReLU at its kinks").with_data(
        Dataset("rows", np.zeros((4, 2)), np.zeros(4))
    )


def rows_of(net: Network) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and real targets: of the data, one column per class; without labels zeros, without data random inputs."""
    if net.data is None:
        x = np.random.default_rng(0).normal(size=(8, *net.input_shape))
    else:
        x = net.data.x[:MOST_ROWS].astype(float)
    out = outputs_of(net)
    y = (
        np.zeros((len(x), 1))
        if out is None
        else targets_of(out.y, out.classes, int(np.prod(net.output_shape)))
    )
    return x, np.broadcast_to(y[: len(x)], (len(x), int(np.prod(net.output_shape)))).reshape(
        -1, *net.output_shape
    )


@hypothesis(
    r"$f$ has two derivatives around some of the rows",
    remedy="move the rows off the kinks of the network",
    name="two derivatives near some rows",
)
def smooth_somewhere(net: Network) -> Finding:
    d = int(np.prod(net.input_shape))
    if d > MOVES:
        return Finding.failed(f"{d:,} inputs, second derivatives are taken of {MOVES:,} at most")
    if d * net.parameters > WORK:
        return Finding.failed(
            f"{d:,} inputs × {net.parameters:,} parameters, at most {WORK:,} for second derivatives"
        )
    good = len(find_smooth_rows(lambda v: net.apply(net.params, v), rows_of(net)[0]))
    note = f"around {good} rows"
    return Finding.sampled(note) if good else Finding.failed(note)


@hypothesis(
    r"$\mathbb E\,vv^\top=I$ for the probes",
    remedy="take signs or Gaussian vectors",
    name="isotropic probes",
)
def unit_probes(net: Network, *, probe: str) -> Finding:
    return Finding.decide(
        probe != "uniform",
        {"uniform": "variance 1/3"}.get(probe, "variance 1"),
        "closed form",
        basis=Basis.EXACT,
    )


@theorem(
    title="Penalties and architectures that control the Lipschitz constant",
    gist="The Jacobian of a network can be penalised with one random vector per row, its spectral norms with a few "
    "steps of power iteration, and noise on the inputs does much the same: three cheap ways to a smoother network.",
    see_also=(
        "lipschitz-bounds",
        "noise-dropout-augmentation",
        "gradient-product-bound",
        "normalisation-layers",
    ),
    sources=(
        "murari-slides",
        "drucker1992",
        "bishop1995",
        "hutchinson1990",
        "miyato2018",
        "yoshida2017",
    ),
    assumes=(real_inputs, smooth_somewhere, unit_probes),
    on=draw_network,
    breaks_on=build_network_on_kinks,
    presets={
        "textbook": {},
        "Gaussian probes, strong penalties": {"probe": "Gaussian", "strength": 0.3},
        "at the edge": {"noise": 0.0, "n": 16, "strength": 0.0},
        "broken on purpose": {"probe": "uniform"},
    },
)
def architecture_and_stability_penalties(
    net: Network,
    rng: np.random.Generator,
    *,
    probe: Annotated[
        str, Knob(says="random vectors of the trace", symbol="v", choices=PROBES)
    ] = "signs",
    draws: Annotated[
        int, Knob(100, 5000, "random vectors", "T", log=True, least=20, most=50_000)
    ] = 1000,
    powers: Annotated[int, Knob(1, 200, "steps of power iteration", "k", log=True, most=2000)] = 40,
    strength: Annotated[
        float, Knob(0, 1, "strength of the penalties that are trained with", "γ", most=10)
    ] = 0.1,
    steps: Annotated[
        int,
        Knob(50, 1000, "steps of training with each penalty", "K", log=True, least=5, most=5000),
    ] = 300,
) -> Evidence:
    r"""$\|J\|_F^2=\mathbb E\|J^\top v\|^2$ if $\mathbb E\,vv^\top=I$; for a linear map it is $\|W\|_F^2$. Power
    iteration tends to $\sigma_{\max}$ from below, $1-\theta_k/\sigma_1^2\le\tan^2\alpha\,(\sigma_2/\sigma_1)^{4k}$, and
    $W/\sigma_{\max}$ has norm 1. Input noise of variance $s^2$ adds
    $$s^2\big(\|J\|_F^2+\langle f-y,\Delta f\rangle\big)+O(s^4)$$ to $\|f-y\|^2$, the Jacobian penalty alone where
    $f=\mathbb E[y\,|\,x]$ or $f$ is affine. With skips $\sigma_{\min}(\prod(I+M_\ell))\ge\prod(1-\|M_\ell\|)$."""
    x, y = rows_of(net)
    out = outputs_of(net)
    trained = None
    if out is not None:
        labels = out.y[: len(x)]
        trained = compare_penalties(
            net.apply, net.params, out.loss, x, labels, rng, steps=steps, strength=strength
        )
    f = partial(net.apply, net.params)
    traces, exact, seen = _claim_traces(f, x, probe, rng, draws)
    matrices = [np.asarray(leaf) for leaf in jax.tree.leaves(net.params) if np.ndim(leaf) == 2]
    spectral, convergence = _claim_powers(matrices, rng, powers)
    claims = [*traces, _claim_expansion(f, x, y), *spectral]
    if net.description is not None:
        claims += _claim_normalised(net.description, x)
    layers = rng.normal(size=(DEPTH, WIDTH, WIDTH))
    charts: list[Chart] = [draw_probes(exact, seen), *convergence]
    tables = ()
    summary = f"mean ‖J‖² {exact.mean():.4g} at {len(exact)} rows"
    if trained is not None:
        test = trained.test.mean(1)
        gap = (trained.test - trained.train).mean(1)[0]
        best = trained.names[int(test.argmin())]
        summary += f"; test loss {trained.test[0].mean():.3g} without penalty (gap {gap:.3g}), least with “{best}”: "
        summary += f"{test.min():.3g}"
        charts = [draw_ablation(trained), *charts]
        tables = (tabulate_ablation(trained),)
    return Evidence(
        claims=tuple(claims),
        charts=tuple(charts),
        numbers={"mean ‖J‖²": Enclosure.equal(float(exact.mean()))},
        tables=tables,
        summary=summary,
        examples=partial(_examples, layers),
    )


# ---- claims about the subject ---------------------------------------------------------------------------------------


def _draw_vectors(kind: str, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if kind == "signs":
        return rng.choice([-1.0, 1.0], size)
    if kind == "Gaussian":
        return rng.normal(size=size)
    return rng.uniform(-1, 1, size)


def probe_variance(J: np.ndarray, kind: str) -> float:
    r"""The variance of $\|J^\top v\|^2$: $2(\|M\|_F^2-\sum_iM_{ii}^2)$ for signs, $2\|M\|_F^2$ for Gaussian $v$, where
    $M=JJ^\top$."""
    M = J @ J.T
    whole = float((M**2).sum())
    return 2 * (whole - float((np.diag(M) ** 2).sum())) if kind == "signs" else 2 * whole


def _claim_traces(
    f: Function, X: np.ndarray, kind: str, rng: np.random.Generator, draws: int
) -> tuple[list[Claim], np.ndarray, np.ndarray]:
    """‖J‖² by Jacobians, by all signs, and by random probes, at a few rows; and the numbers themselves."""
    x = jnp.asarray(X[:ROWS])
    J = np.asarray(call_compiled(jax.vmap(lambda row: jacobian_at(f, row)), x))
    exact = (J**2).sum((1, 2))
    outputs = J.shape[1]
    size = max(float(exact.mean()), 1e-300)

    def pull_back(vectors: np.ndarray) -> np.ndarray:
        each = jax.vmap(
            lambda row, some: jax.lax.map(lambda one: squared_pullback(f, row, one), some)
        )
        return np.asarray(call_compiled(each, x, vectors))

    claims: list[Claim] = []
    if outputs <= LISTED and kind == "signs":
        # v and −v give the same
        every = np.array(list(product((1.0, -1.0), repeat=outputs)))[: 2 ** (outputs - 1)]
        listed = pull_back(np.broadcast_to(every, (len(x), *every.shape))).mean(1)
        off = Enclosure.equal(float(np.abs(listed - exact).max()) / size)
        claims.append(
            Identity("mean of ‖Jᵀv‖² over all signs, less ‖J‖_F², relative", off, ZERO, atol=1e-9)
        )
    few = min(draws, max(40, 2_000_000 // max(J.size, 1)))
    seen = pull_back(_draw_vectors(kind, (len(x), few, outputs), rng))
    # the probes of different rows differ
    variance = sum(probe_variance(each, kind) for each in J) / len(x) ** 2
    by_draws = mean(seen.mean(0), variance=variance)
    what = f"‖J‖_F² at {len(x)} rows, and probes: {kind}"
    claims.append(Identity(what, Enclosure.equal(float(exact.mean())), by_draws))
    if outputs > 1:
        spread = mean((seen[0] - exact[0]) ** 2)
        expected = Enclosure.equal(probe_variance(J[0], kind))
        claims.append(Identity("variance of ‖Jᵀv‖² at the first row", expected, spread))
    return claims, exact, seen


def _claim_powers(
    matrices: Sequence[np.ndarray], rng: np.random.Generator, steps: int
) -> tuple[list[Claim], list[Chart]]:
    """Power iteration on the weights: from below against certified norms, and its error against the bound."""
    used = [W for W in matrices if W.any() and max(W.shape) <= LARGEST][:6]
    if not used:
        return [], []
    runs = [power_iteration(W, steps, rng) for W in used]
    pairs = [run.errors(W) for run, W in zip(runs, used)]
    above = max(float(run.values[-1] / spectral_norm(W).hi) for run, W in zip(runs, used))
    worst = max(float((error - bound).max()) for error, bound in pairs)
    falls = max(float(np.max(run.values[:-1] - run.values[1:]) / run.values[-1]) for run in runs)
    what = f"largest ‖Wv_k‖/σ_max, {len(used)} matrices, {steps} steps"
    claims: list[Claim] = [
        AtMost(what, Enclosure.equal(above), Enclosure.exact(1)),
        AtMost(
            "(σ² − θ_k)/σ² − bound, largest over k and matrices",
            Enclosure.equal(worst),
            ZERO,
            atol=1e-9,
        ),
        AtMost(
            "largest fall of ‖Wv_k‖ from one step to the next, relative",
            Enclosure.equal(falls),
            ZERO,
            atol=1e-9,
        ),
    ]
    return claims, [draw_power_iteration(*pairs[0])]


def _claim_normalised(net: Description, X: np.ndarray) -> list[Claim]:
    """The network after spectral normalisation is no steeper than its activations."""
    calm = spectrally_normalised(net)
    if not any(layer.weight.any() for layer in calm.layers):
        return []
    f = partial(calm.apply, calm.params)
    slopes = np.asarray(
        call_compiled(jax.vmap(lambda row: jacobian_at(f, row)), jnp.asarray(X[:ROWS]))
    )
    steepest = float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())
    found = Enclosure.at_least(steepest, samples=len(slopes))
    return [AtMost("steepest Jacobian of the normalised network", found, product_bound(calm))]


def _claim_expansion(f: Function, X: np.ndarray, Y: np.ndarray) -> Claim:
    """What a little noise adds to the squared loss, by cubature and by the expansion."""
    found = expand(f, X, Y)
    k = int(found.gaps.argmax())
    witness = None
    if found.gaps[k] > found.tolerance:
        row = int(found.rows[k])
        gap = enclose_gap(f, X, Y, row)
        where = {"x": tuple(np.ravel(X[row])[:8].tolist())}
        witness = Witness(where, gap, ZERO, "one row in intervals rounded outward")
    what = f"(E‖f(x + sε) − y‖² − ‖f − y‖²)/s² less ‖J‖² + ⟨f − y, Δf⟩, {len(found.rows)} rows"
    return Identity(
        what, Enclosure.equal(float(found.gaps[k])), ZERO, witness, atol=found.tolerance
    )


# ---- worked examples ------------------------------------------------------------------------------------------------


def _examples(layers: np.ndarray) -> Examples:
    """In fractions: a linear map and all its signs, a row with noise, x² where curvature counts. In float64: a stack of
    random layers with skip connections, and the order of the remainder for a small tanh network."""
    off_probes, off_noise, off_square = errors_of_example()
    stacks = stack_layers(layers)
    net = random_mlp(np.random.default_rng(0), (2, 6, 1), "tanh", bias=0.3)
    point = np.array([0.3, -0.2])
    left = measure_remainders(
        partial(net.apply, net.params), point, 3.0, np.geomspace(0.01, 0.1, 8)
    )
    finer = 1 / left.spreads
    rate = fit_rate(finer, left.after_both)
    floor = Enclosure.equal(float(stacks.floor[-1]))
    kept = Enclosure.equal(float(stacks.skipped[-1]))
    claims = (
        Identity("mean of ‖Wᵀv‖² over all 8 signs, less ‖W‖_F²", Enclosure.exact(off_probes), ZERO),
        Identity(
            "row (1, 2), noise 0.1: E(y − xw)² − 9 − s²‖w‖²", Enclosure.exact(off_noise), ZERO
        ),
        Identity(
            "x² at 1, y = 0: s² of E f(x + sε)² less f′² + (f − y)f″",
            Enclosure.exact(off_square),
            ZERO,
        ),
        Rate(
            "remainder of the expansion against 1/s",
            4.0,
            rate,
            tuple(finer),
            tuple(left.after_both),
            slack=0.3,
        ),
        AtMost("∏(1 − ‖M_ℓ‖) ≤ σ_min(∏(I + M_ℓ))", floor, kept),
    )
    return Examples(claims, (draw_remainders(left), draw_stacks(stacks)), numbers=example_numbers())
