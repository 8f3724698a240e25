"""A critic whose Lipschitz constant is certified bounds the transport distance from below."""

from functools import lru_cache
from math import inf
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar

from ftheta.certify.ladder import lipschitz
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Identity,
    Knob,
    Series,
    Status,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Network
from ftheta.subjects.pairs import split_samples
from ftheta.theorems.samples import make_pair
from ftheta.transport import transport

KINDS = ("linear", "random", "jump")
JUMP = 1.5  # where the critic of that kind jumps
ACTIVATIONS = ("relu", "leaky-relu", "tanh", "square")
BUDGET = 0.05  # seconds for the constant, as counted work: the bound from above alone is used
MOST = 1000  # rows of each sample
PENALTY = 10.0
DISTANCE = 3.0

# ---- subjects --------------------------------------------------------------------------------------------------------


def critic(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which critic", symbol="f", choices=KINDS)] = "linear",
    hidden: Annotated[
        str, Knob(says="activation of hidden layers", symbol="σ", choices=ACTIVATIONS)
    ] = "relu",
    rows: Annotated[
        int, Knob(10, 500, "rows of each sample", "n", log=True, least=2, most=2000)
    ] = 100,
    shift: Annotated[
        float, Knob(0.1, 10, "distance of the two clouds", "θ", log=True, most=1e3)
    ] = 3.0,
) -> Network:
    x = rng.normal(size=(rows, 2))
    data = make_pair("a cloud and its translate", x, x + np.array([shift, 0.0]))
    if kind == "linear":
        layer = Dense(np.array([[-2.0, 0.0]]), np.zeros(1), "identity")
        return Network.described(Description((layer,)), "linear critic −2x₁").with_data(data)
    if kind == "jump":
        return Network(
            "−x₁, and a jump", lambda _, z: -z[:1] - 10 * jnp.sign(z[:1] - JUMP), {}, (2,)
        ).with_data(data)
    description = random_mlp(rng, (2, 16, 16, 1), hidden, bias=0.5)
    return Network.described(description, f"random {hidden} critic").with_data(data)


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "one output, and data with two classes", remedy="--on critic.onnx --data a.csv --against b.csv"
)
def compares_two_samples(net: Network) -> Finding:
    outputs = int(np.prod(net.output_shape))
    if outputs != 1:
        return Finding.failed(f"{outputs} outputs")
    samples = None if net.data is None else split_samples(net.data)
    if samples is None:
        return Finding.failed(
            "no data" if net.data is None else "the data have not exactly two classes"
        )
    note = f"{len(samples[0]):,} and {len(samples[1]):,} rows"
    return Finding.proved(note, "outputs and classes are counted")


@hypothesis(
    "the critic is Lipschitz, with a certified bound",
    remedy="`square` and `exp` are not, over all of space",
)
def certified(net: Network) -> Finding:
    if compares_two_samples.check(net).status is Status.FAILED:
        return Finding.undecided(compares_two_samples.name)
    try:
        constant = _certify(net)
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"Lip(f) ≤ {constant:.6g}"
    return Finding.decide(
        constant < inf, note, "rounded outward", Enclosure.at_most(constant, Basis.EXACT)
    )


@lru_cache(maxsize=4)  # the hypothesis and the evidence are about the same critic
def _certify(net: Network) -> float:
    return lipschitz(net, norm=2, budget=BUDGET).hi


@theorem(
    title="A certified critic bounds the Wasserstein distance",
    gist="A network divided by a proved bound of its Lipschitz constant gives a lower bound of the transport distance "
    "between two samples, and a plan gives an upper one; a gradient penalty alone proves nothing and overestimates.",
    see_also=("gan-and-transport", "kantorovich-duality", "lipschitz-bounds"),
    sources=("arjovsky2017", "gulrajani2017", "santambrogio2015"),
    assumes=(compares_two_samples, certified),
    on=critic,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "random": {"kind": "random"},
        "smooth": {"kind": "random", "hidden": "tanh"},
        "near": {"shift": 0.1},
        "broken on purpose": {"kind": "jump"},
    },
)
def wgan_critic(net: Network, rng: np.random.Generator) -> Evidence:
    r"""For every $f$ with $\mathrm{Lip}(f)\le L$ and every plan $P$ between samples $x$ and $y$,
    $$\frac1L\Big(\frac1n\sum_if(x_i)-\frac1m\sum_jf(y_j)\Big)\le W_1\le\sum_{ij}|x_i-y_j|P_{ij},$$
    with equality for the best of both (Kantorovich and Rubinstein). A critic of two points at distance $\theta$ that
    is trained with the penalty $\lambda(|\nabla f|-1)^2$ reports $\theta+\frac{\theta^2}{2\lambda}$ instead of
    $\theta$."""
    assert net.data is not None
    samples = split_samples(net.data)
    assert samples is not None
    x, y = (rows[:MOST] for rows in samples)
    values = _values(net, np.concatenate([x, y]))
    gap = float(values[: len(x)].mean() - values[len(x) :].mean())
    constant, certificate = _constant_of(net, np.concatenate([x, y]))
    below = abs(gap) / constant if constant else 0.0 if certificate or gap == 0 else inf
    distance = transport(x, y, cost="euclidean").value
    share = below / distance.middle if distance.middle else 1.0
    return Evidence(
        claims=(
            AtMost(
                "|mean f(x) − mean f(y)| / Lip(f) ≤ W₁",
                Enclosure.equal(below),
                distance,
                witness=None if certificate else _check_again(net, x, y, constant, distance),
            ),
            AtMost(
                "W₁ ≤ √(|m − m′|² + tr Σ + tr Σ′), by the independent plan",
                distance,
                _independent_bound(x, y),
            ),
        ),
        charts=(_draw_secants(values, x, y, constant),),
        numbers={
            "lower bound": below,
            "W₁": distance,
            "Lip(f) at most": constant,
            "share of W₁ that is seen": share,
        },
        summary=f"W₁ ≥ {below:.6g} by this critic ({'certified Lip ≤' if certificate else 'largest gradient met'} "
        f"{constant:.6g}), exactly "
        f"{distance.middle:.6g}: it sees {100 * share:.3g} % of it",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _values(net: Network, rows: np.ndarray) -> np.ndarray:
    run = jax.jit(
        jax.vmap(lambda row: jnp.ravel(net.apply(net.params, row.reshape(net.input_shape)))[0])
    )
    return np.asarray(run(rows), np.float64)


def _constant_of(net: Network, rows: np.ndarray) -> tuple[float, bool]:
    """The certified constant; forced without one, the largest gradient at the rows, which a penalty would look at."""
    if certified.check(net).status is not Status.FAILED:
        return _certify(net), True
    gradient = jax.jit(jax.vmap(jax.jacrev(lambda row: jnp.ravel(net.apply(net.params, row))[0])))
    return float(np.linalg.norm(np.asarray(gradient(rows)), axis=1).max()), False


def _check_again(
    net: Network, x: np.ndarray, y: np.ndarray, constant: float, distance: Enclosure
) -> Witness:
    """The difference of the means in intervals, over the constant that was taken."""

    def difference(first: Any, second: Any) -> Any:
        values = [
            jax.vmap(lambda row: jnp.ravel(net.apply(net.params, row))[0])(rows)
            for rows in (first, second)
        ]
        return jnp.mean(values[0]) - jnp.mean(values[1])

    found = abs(enclose_number(difference, x, y)) / Enclosure.exact(constant)
    return Witness(
        {"first row": tuple(x[0].tolist())}, found, distance, "means of the critic in intervals"
    )


def _independent_bound(x: np.ndarray, y: np.ndarray) -> Enclosure:
    """The mean distance of independent rows: the cost of the plan a⊗b, at most by Jensen's inequality."""
    apart = ((x.mean(0) - y.mean(0)) ** 2).sum() + x.var(0).sum() + y.var(0).sum()
    return Enclosure.equal(float(np.sqrt(apart)))


def reported_distance(theta: float, penalty: float) -> float:
    r"""$\theta+\frac{\theta^2}{2\lambda}$: the slope $s$ maximises $s\theta-\lambda(s-1)^2$."""
    return theta + theta**2 / (2 * penalty)


def _examples() -> Examples:
    found: Any = minimize_scalar(lambda s: PENALTY * (s - 1) ** 2 - s * DISTANCE)
    reported = reported_distance(DISTANCE, PENALTY)
    claim = Identity(
        "distance reported with a gradient penalty: θ = 3, λ = 10",
        Enclosure.equal(float(found.x) * DISTANCE),
        Enclosure.equal(reported),
        rtol=1e-6,
    )
    return Examples(claims=(claim,), numbers={"reported with a gradient penalty": reported})


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_secants(values: np.ndarray, x: np.ndarray, y: np.ndarray, constant: float) -> Curves:
    """Differences of the critic over distances of pairs of the plan: none exceeds the certified constant."""
    plan = transport(x, y, cost="euclidean").plan
    there = plan.masses > 0
    rows, columns = plan.rows[there][:500], plan.columns[there][:500]
    apart = np.linalg.norm(x[rows] - y[columns], axis=1)
    slopes = np.abs(values[rows] - values[len(x) + columns])
    ends = np.array([0.0, float(apart.max()) or 1.0])
    series = (
        Series("pairs of the optimal plan", apart, slopes, mark="points"),
        Series("certified constant × distance", ends, constant * ends, "bound"),
    )
    return Curves(
        "what the critic sees of each pair", Axis("|x − y|"), Axis("|f(x) − f(y)|"), series
    )
