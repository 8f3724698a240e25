"""Multipliers of a matrix inequality certify a Lipschitz constant of a network."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from flint import arb, ctx

from ftheta.certify.lipschitz import inputs_near, product_bound, steepest_secant
from ftheta.certify.semidefinite import bound_slope, scale_chain, verify_multipliers
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Claim,
    Enclosure,
    Evidence,
    Finding,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description, activation, random_mlp
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function
from ftheta.theorems.knobs import HiddenActivation

MOST_PIVOTS = 120
"""Rows of a matrix that is eliminated in balls; larger ones rest on the Cholesky factorisation with error terms."""
PRECISION = 400  # bits

# ---- subjects --------------------------------------------------------------------------------------------------------

ABSOLUTE_VALUE = Description(
    (Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1)))
)
r"""$|t|=(t)_++(-t)_+$: Lipschitz constant 1, which the program finds; the product of norms is 2."""


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which network", symbol="f", choices=("random", "absolute value"))
    ] = "random",
    inputs: Annotated[int, Knob(1, 784, "number of inputs", "d₀", log=True, most=2048)] = 4,
    width: Annotated[
        int, Knob(1, 256, "neurons in each hidden layer", "w", log=True, most=512)
    ] = 24,
    depth: Annotated[int, Knob(2, 8, "number of affine maps", "L", least=2, most=12)] = 3,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "d_L", most=100)] = 2,
    hidden: HiddenActivation = "relu",
) -> Network:
    if kind == "absolute value":
        return Network.described(ABSOLUTE_VALUE, kind)
    description = random_mlp(rng, (inputs, *[width] * (depth - 1), outputs), hidden, bias=0.5)
    return Network.described(
        description, f"random {hidden} network {'-'.join(map(str, description.widths))}"
    )


def steeper_than_described(rng: np.random.Generator) -> Network:
    """The negative control: its list of layers says |t|, the function that runs is 9|t|."""
    listed = Network.described(ABSOLUTE_VALUE, "described as |t|, applies 9|t|")
    return replace(listed, apply=lambda params, x: ABSOLUTE_VALUE.apply(params, 9 * x))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    r"hidden layers are $x\mapsto\sigma(Wx+b)$ with $\sigma$ increasing, of slope at most $c$",
    remedy="hand in a list of layers with ReLU, leaky ReLU, tanh, sigmoid, arctan or softplus between them; "
    "`ft.lipschitz` takes others",
)
def increasing_activations(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("the network is a function without a list of layers")
    *hidden, last = (activation(layer.activation) for layer in net.description.layers)
    if not hidden:
        return Finding.failed("one affine map, which has no multipliers")
    falling = [a.name for a in hidden if not a.monotone]
    if falling or not np.isfinite(last.lipschitz.hi):
        return Finding.failed(
            f"activations without such slopes: {', '.join(falling or [last.name])}"
        )
    return Finding.proved(f"{len(hidden)} hidden layers", "closed forms by name")


@theorem(
    title="LipSDP: multipliers certify a Lipschitz constant",
    gist="One positive semidefinite matrix, made of the weights and a multiplier for every neuron, proves a Lipschitz "
    "constant that is far smaller than the product of norms; anybody can check it by one factorisation.",
    see_also=("lipschitz-bounds", "linear-relaxation-bounds", "verification-np-hard"),
    sources=("fazlyab2019", "rump2006", "higham2002"),
    assumes=(increasing_activations, describes_this_function),
    on=network,
    breaks_on=steeper_than_described,
    presets={
        "textbook": {},
        "half the product": {"kind": "absolute value"},
        "deep": {"depth": 6, "width": 12},
        "at the edge": {"inputs": 1, "width": 1, "depth": 2, "outputs": 1},
        "broken on purpose": {"hidden": "gelu"},
    },
)
def lipsdp_certificate(
    net: Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[
        int, Knob(1, 300, "steps of the minimisation", "k", log=True, most=2000)
    ] = 100,
    points: Annotated[
        int, Knob(16, 4096, "inputs tried for the slope", "n", log=True, least=1, most=16384)
    ] = 256,
) -> Evidence:
    r"""Let $f=W_{L+1}\sigma W_L\cdots\sigma W_1$ up to biases, with slopes of $\sigma$ in $[0,c]$. If for diagonal
    $T_1,\dots,T_L\ge0$ the block-tridiagonal matrix
    $$M(\rho,T)=\begin{pmatrix}\rho I&-W_1^\top T_1\\-T_1W_1&2T_1&-W_2^\top T_2\\&-T_2W_2&\ddots\\
    &&&2T_L-W_{L+1}^\top W_{L+1}\end{pmatrix}$$
    is positive semidefinite, then $\mathrm{Lip}(f)\le c^L\sqrt\rho$."""
    description = net.description
    if description is None:
        return Evidence((), summary="there is no list of layers")
    starts = inputs_near(
        None if net.data is None else net.data.x, net.input_shape, points, 1.0, rng
    )
    secant = steepest_secant(net, starts, rng)
    weights = [layer.weight for layer in description.layers]
    certificate = bound_slope(weights, steps=steps)
    bound = Enclosure.exact(certificate.bound)
    for layer in description.layers:
        bound = bound * activation(layer.activation).lipschitz
    bound = Enclosure.exact(bound.hi)
    product = product_bound(description)
    claims: list[Claim] = [AtMost("Lip(f)", secant.known, bound, witness=secant.against(bound))]
    numbers: dict[str, Any] = {
        "steepest secant": secant.known,
        "certified bound": bound,
        "product of norms": product,
    }
    if (
        certificate.multipliers
        and sum(map(len, certificate.multipliers)) + weights[0].shape[1] <= MOST_PIVOTS
    ):
        pivot = find_least_pivot(weights, certificate.multipliers)
        claims.append(AtMost("0, and the least pivot of M(ρ, T)", Enclosure.exact(0), pivot))
        numbers["least pivot"] = pivot
    values = {
        name: numbers[name].middle
        for name in ("steepest secant", "certified bound", "product of norms")
    }
    scale = "log" if max(values.values()) > 100 * min(values.values()) > 0 else "linear"
    return Evidence(
        claims=tuple(claims),
        charts=(
            Bars(
                "bounds of Lip(f)",
                Axis("Lip(f)", scale),
                tuple(values),
                ("bound",),
                (tuple(values.values()),),
            ),
            _chart_multipliers(certificate.multipliers),
        ),
        numbers=numbers,
        summary=f"{sum(map(len, certificate.multipliers))} multipliers certify {bound.hi:.6g}; the product of norms is "
        f"{product.hi:.6g}, the steepest secant found has slope {secant.slope:.6g}",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def find_least_pivot(weights: Sequence[np.ndarray], multipliers: Sequence[np.ndarray]) -> Enclosure:
    r"""The least pivot of Gauss's elimination of $M(\rho,T)$ in balls, for matrices scaled to norm about 1 and the
    $\rho$ that is certified for these: $M$ is positive definite if and only if all pivots are positive."""
    scaled, _ = scale_chain(weights)
    rho = verify_multipliers(scaled, multipliers) ** 2
    if not np.isfinite(rho):
        return Enclosure.unknown()
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        return Enclosure.ball(_eliminate(_assemble(scaled, multipliers, rho)))
    finally:
        ctx.prec = before


def _assemble(
    weights: Sequence[np.ndarray], multipliers: Sequence[np.ndarray], rho: float
) -> list[list[Any]]:
    sizes = [weights[0].shape[1], *(len(t) for t in multipliers)]
    ends = np.cumsum([0, *sizes])
    n = int(ends[-1])
    M = [[arb(0)] * n for _ in range(n)]
    for k in range(sizes[0]):
        M[k][k] = arb(rho)
    for i, (W, t) in enumerate(zip(weights, multipliers)):
        for a, ta in enumerate(t.tolist()):
            row = int(ends[i + 1]) + a
            M[row][row] = 2 * arb(ta)
            for b, w in enumerate(W[a].tolist()):
                column = int(ends[i]) + b
                M[row][column] = M[column][row] = -arb(ta) * arb(w)
    last = int(ends[-2])
    for output in weights[-1].tolist():
        for a, wa in enumerate(output):
            for b, wb in enumerate(output):
                M[last + a][last + b] -= arb(wa) * arb(wb)
    return M


def _eliminate(M: list[list[Any]]) -> Any:
    least = M[0][0]
    for k in range(len(M)):
        pivot = M[k][k]
        least = least.min(pivot)
        if not pivot > 0:
            break
        for i in range(k + 1, len(M)):
            if M[i][k] == 0:
                continue
            factor = M[i][k] / pivot
            for j in range(k, len(M)):
                M[i][j] = M[i][j] - factor * M[k][j]
    return least


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_multipliers(multipliers: Sequence[np.ndarray]) -> Bars:
    """Per layer, the least, the median and the largest multiplier."""
    names = tuple(f"layer {k + 1}" for k in range(len(multipliers))) or ("none",)
    parts = [(float(t.min()), float(np.median(t)), float(t.max())) for t in multipliers] or [
        (0.0, 0.0, 0.0)
    ]
    rows = tuple(tuple(part[k] for part in parts) for k in range(3))
    return Bars(
        "multipliers of the neurons", Axis("t"), names, ("least", "median", "largest"), rows
    )
