"""The likelihood of a continuous flow needs a trace at every step; random probes estimate it, with a known variance."""

from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Annotated, Any

import numpy as np
from scipy.linalg import expm

from ftheta.estimates import mean
from ftheta.flows.continuous import carry, carry_with_density, normal_log_density
from ftheta.flows.traces import PROBES, draw_probes, probe_variance
from ftheta.lazy import jax, jnp
from ftheta.logic import (
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Network
from ftheta.subjects.roles import ask_role, values_at

MATRIX = ((1.0, 2.0, 0.0), (-1.0, 3.0, 1.0), (4.0, 0.0, -2.0))
POINT = (1.0, -1.0, 0.5)
MOST_SIGNS = 10  # coordinates whose sign vectors are enumerated
MOST_PAIRS = 4  # coordinates for which all pairs of them are
MOST_NODES = 8  # coordinates whose product rule is summed
REPEATS = 200  # estimates of one log-density
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def linear_velocity(
    rng: np.random.Generator,
    *,
    scale: Annotated[float, Knob(0.1, 2, "factor of the matrix", "c", least=0, most=10)] = 1.0,
    hidden: Annotated[int, Knob(0, 32, "tanh neurons; 0 is a linear velocity", "m", most=128)] = 0,
) -> Network:
    d = len(MATRIX)
    if hidden:
        W = rng.normal(size=(hidden, d + 1)) / np.sqrt(d)
        layers = (
            Dense(W, rng.normal(size=hidden), "tanh"),
            Dense(scale * rng.normal(size=(d, hidden)) / np.sqrt(hidden), np.zeros(d)),
        )
        return Network.described(
            Description(layers), f"tanh velocity with {hidden} neurons"
        ).with_role("velocity")
    A = scale * np.array(MATRIX)
    layer = Dense(np.concatenate([A, np.zeros((d, 1))], 1), np.zeros(d))
    return Network.described(Description((layer,)), "linear velocity x ↦ Ax").with_role("velocity")


def _linear(net: Network) -> np.ndarray | None:
    """The matrix of a velocity that is linear and the same at all times."""
    layers = () if net.description is None else net.description.layers
    if len(layers) != 1 or layers[0].activation != "identity":
        return None
    W = layers[0].weight
    return W[:, :-1] if not layers[0].bias.any() and not W[:, -1].any() else None


@hypothesis("the probes are drawn anew for every estimate", remedy="set --reuse false")
def independent_probes(net: Network, *, reuse: bool) -> Finding:
    note = "one probe for all" if reuse else "fresh probes"
    return Finding.decide(not reuse, note, "the knob itself", basis=Basis.EXACT)


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Traces by random probes, and the likelihood of a continuous flow",
    gist="A continuous flow changes log-densities by the trace of its Jacobian, which random probes estimate without "
    "bias; of probes with independent entries random signs have the least variance, that of the symmetric part off the "
    "diagonal.",
    see_also=("flow-matching", "normalising-flows", "flow-diffeomorphism"),
    sources=("hutchinson1990", "avron2011", "grathwohl2019", "chen2018"),
    assumes=(ask_role("velocity", needs_data=False), independent_probes),
    on=linear_velocity,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "normal probes": {"probes": "normal"},
        "tanh velocity": {"hidden": 8},
        "slow flow": {"scale": 0.2},
        "broken on purpose": {"reuse": True},
    },
    errata=r"The variance of $z^\top Az$ for normal probes is often printed as $2\|A\|_F^2$, which holds for "
    r"symmetric $A$ only.",
)
def trace_estimators(
    net: Network,
    rng: np.random.Generator,
    *,
    probes: Annotated[str, Knob(says="law of the probes", choices=PROBES)] = "signs",
    count: Annotated[
        int, Knob(10, 10_000, "probes for one trace", "n", log=True, least=2, most=10**6)
    ] = 1000,
    time: Annotated[float, Knob(0, 1, "time at which the Jacobian is looked at", "t")] = 0.0,
    steps: Annotated[
        int, Knob(10, 200, "steps of the flow", "K", log=True, least=2, most=2000)
    ] = 60,
    reuse: Annotated[bool, Knob(says="use one probe for all estimates")] = False,
) -> Evidence:
    r"""If $\dot x=v(t,x)$ then $\frac d{dt}\log p_t(x_t)=-\mathrm{tr}\,Dv(t,x_t)$. For a matrix $A$ and
    $S=\frac{A+A^\top}2$, independent probes with $\mathbb E\,zz^\top=I$ give $\mathbb E\,z^\top Az=\mathrm{tr}\,A$ and
    $$\mathrm{Var}(z^\top Az)=2\Big(\|S\|_F^2-\sum_iS_{ii}^2\Big),\qquad2\|S\|_F^2,\qquad
    \frac2{d+2}\big(d\|S\|_F^2-(\mathrm{tr}\,A)^2\big)$$
    for random signs, normal probes and probes on the sphere of radius $\sqrt d$."""
    d = net.output_shape[0]
    x = np.resize(POINT, d)[None] if net.law is None else net.law.x[:1]
    A = _jacobians(net, time, x)[0]
    exact = [[Fraction(v) for v in row] for row in A.tolist()]
    known = _linear(net) is not None
    variances = {kind: probe_variance(exact, kind) for kind in PROBES}
    claims = _claim_variances(exact, A, variances, known)
    if d <= MOST_PAIRS:
        claims.append(_claim_averaging(exact, variances["signs"], known, reuse))
    z = draw_probes(probes, rng, 1 if reuse else count, d)
    z = np.broadcast_to(z, (count, d))
    draws = np.einsum("ni,ij,nj->n", z, A, z)
    trace = Enclosure.equal(float(np.trace(A)))
    spread = float(variances[probes])
    estimate = (
        mean(draws, variance=spread)
        if spread > 0
        else Enclosure.measured(float(draws.mean()), samples=count)
    )
    claims.append(
        Identity(f"mean of {count:,} probes ({probes}) = tr A", estimate, trace, atol=1e-9)
    )
    exact_log, more = _follow(net, x, steps, probes, rng, reuse)
    claims += more
    numbers: Numbers = {f"variance, {kind}": _known(v, known) for kind, v in variances.items()}
    printed = Identity(
        "Var(zᵀAz) = 2‖A‖² for normal probes",
        _known(variances["normal"], known),
        _known(2 * sum((v * v for row in exact for v in row), Fraction(0)), known),
    )
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_errors(A, spread, probes, rng),),
        numbers=numbers | {"trace": trace, "log p at time 1": exact_log},
        as_printed=(printed,),
        summary=f"tr Dv = {trace.middle:.6g}; one probe has the standard deviation {spread**0.5:.4g} ({probes})",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _compiled_jacobian(net: Network) -> Any:
    return jax.jit(jax.vmap(jax.jacfwd(partial(net.apply, net.params))))


def _jacobians(net: Network, t: float, x: np.ndarray) -> np.ndarray:
    """The Jacobian of the velocity in x, at every row."""
    constant = _linear(net)
    if constant is not None:
        return np.broadcast_to(constant, (len(x), *constant.shape))
    with jax.enable_x64(True):
        rows = jnp.concatenate([jnp.asarray(x), jnp.full((len(x), 1), t)], 1)
        return np.asarray(_compiled_jacobian(net)(rows))[:, :, :-1]


def _known(value: Fraction, is_exact: bool) -> Enclosure:
    """A rational, as exact as the Jacobian that it was computed from."""
    return Enclosure.exact(value) if is_exact else Enclosure.equal(float(value))


def _claim_variances(
    exact: list[list[Fraction]], A: np.ndarray, variances: dict[str, Fraction], known: bool
) -> list[Claim]:
    """Random signs by all sign vectors, in rationals; the others by a product rule that is exact to degree five."""
    d = len(exact)
    claims: list[Claim] = []
    if d <= MOST_SIGNS:
        values = [_form(exact, signs) for signs in product((-1, 1), repeat=d)]
        centre = sum(values, Fraction(0)) / len(values)
        found = sum(((v - centre) ** 2 for v in values), Fraction(0)) / len(values)
        what = f"variance over all {len(values):,} sign vectors = 2(‖S‖² − ΣSᵢᵢ²)"
        claims.append(Identity(what, _known(found, known), _known(variances["signs"], known)))
    if d <= MOST_NODES:
        nodes = np.array(list(product((-np.sqrt(3), 0.0, np.sqrt(3)), repeat=d)))
        shares = np.array(list(product((1 / 6, 2 / 3, 1 / 6), repeat=d))).prod(1)
        second = float(shares @ np.einsum("ni,ij,nj->n", nodes, A, nodes) ** 2)
        trace = float(np.trace(A))
        for kind, moment in (("normal", second), ("sphere", second * d / (d + 2))):
            sides = Enclosure.equal(moment - trace**2), _known(variances[kind], known)
            size = moment + trace**2
            claims.append(
                Identity(
                    f"variance of {kind} probes by a product rule = formula",
                    *sides,
                    atol=1e-12 * size,
                )
            )
    return claims


def _claim_averaging(
    exact: list[list[Fraction]], variance: Fraction, known: bool, reuse: bool
) -> Claim:
    """The mean of two probes over all pairs of sign vectors: half the variance of one. A probe that is used twice is a
    pair of equal ones."""
    values = [_form(exact, signs) for signs in product((-1, 1), repeat=len(exact))]
    pairs = list(zip(values, values)) if reuse else list(product(values, repeat=2))
    means = [(a + b) / 2 for a, b in pairs]
    centre = sum(means, Fraction(0)) / len(means)
    found = sum(((v - centre) ** 2 for v in means), Fraction(0)) / len(means)
    what = f"variance of the mean of two probes, over {len(pairs):,} pairs of sign vectors = half that of one"
    return Identity(what, _known(found, known), _known(variance / 2, known))


def _form(A: list[list[Fraction]], z: tuple[int, ...]) -> Fraction:
    return sum((A[i][j] * z[i] * z[j] for i in range(len(z)) for j in range(len(z))), Fraction(0))


def _follow(
    net: Network, x: np.ndarray, steps: int, probes: str, rng: np.random.Generator, reuse: bool
) -> tuple[Enclosure, list[Claim]]:
    """The log-density of x at time 1 of the flow from a normal law at time 0, with exact and with estimated traces."""
    field = partial(_velocity, net)

    def trace(t: float, rows: np.ndarray) -> np.ndarray:
        return np.trace(_jacobians(net, t, rows), axis1=1, axis2=2)

    logs = []
    for k in (steps, 2 * steps):
        times = np.linspace(1.0, 0.0, k + 1)
        start, change = carry_with_density(field, trace, x, times)
        logs.append(float((normal_log_density(start) - change)[0]))
    error = abs(logs[1] - logs[0]) + 1e-12 * abs(logs[1])
    value = Enclosure.between(logs[1] - error, logs[1] + error, Basis.FLOAT)
    claims: list[Claim] = []
    A = _linear(net)
    if A is not None:
        back = x @ expm(-A).T
        closed = float(normal_log_density(back)[0] - np.trace(A))
        claims.append(
            Identity(
                "log p₁(x): integrated = closed form", value, Enclosure.equal(closed), rtol=1e-4
            )
        )
        value = Enclosure.equal(closed)
    many = np.repeat(x, REPEATS, 0)

    def guess(t: float, rows: np.ndarray) -> np.ndarray:
        z = draw_probes(probes, rng, 1 if reuse else len(rows), rows.shape[1])
        z = np.broadcast_to(z, rows.shape)
        return np.einsum("ni,nij,nj->n", z, _jacobians(net, t, rows), z)

    path = carry(field, x, np.linspace(1.0, 0.0, steps + 1))
    changes = carry_with_density(field, guess, many, np.linspace(1.0, 0.0, steps + 1))[1]
    estimates = normal_log_density(path)[0] - changes
    # of sums that may be all alike
    off = mean(estimates - logs[0]).widened(absolute=1e-12 * (1 + abs(logs[0])))
    claims.append(
        Identity(
            f"log p₁(x) by probes, {REPEATS} times, − with exact traces", off, Enclosure.exact(0)
        )
    )
    return value, claims


def _velocity(net: Network, t: float, x: np.ndarray) -> np.ndarray:
    A = _linear(net)
    return x @ A.T if A is not None else values_at(net, x, t)


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_errors(A: np.ndarray, spread: float, probes: str, rng: np.random.Generator) -> Curves:
    """The root mean square error of a trace against the number of probes."""
    sizes = np.array([1, 3, 10, 30, 100, 300])
    z = draw_probes(probes, rng, 40 * int(sizes[-1]), len(A))
    draws = np.einsum("ni,ij,nj->n", z, A, z) - np.trace(A)
    errors = [float(np.sqrt((draws[: 40 * n].reshape(40, n).mean(1) ** 2).mean())) for n in sizes]
    lines = (
        Series("measured", sizes, np.maximum(errors, 1e-16)),
        Series("√(Var/n)", sizes, np.maximum(np.sqrt(spread / sizes), 1e-16), "bound"),
    )
    return Curves(
        "error of a trace from n probes",
        Axis("probes n", "log"),
        Axis("root mean square", "log"),
        lines,
    )
