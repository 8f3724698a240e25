"""Residual blocks: the identity at the start, gradients that neither vanish nor explode, and ResNet-34."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.flows.block_constants import block_constants
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Vertex,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import resnet34
from ftheta.subjects import Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows
from ftheta.theorems.charts_architectures import count_claims, draw_parameters

from .identity import identity_gaps
from .stretching import Stretch, stretches

ROWS = 8
SLACK = 1e-9  # relative, of bounds that are rounded up; what is claimed allows for as much
STAGES = (3, 4, 6, 3)


def apply(params, x):
    for U, V in zip(*params):
        x = x + V @ jnp.tanh(U @ x)
    return x


def even_blocks(
    rng: np.random.Generator,
    *,
    depth: Annotated[int, Knob(2, 48, "blocks", "T", most=64)] = 10,
    width: Annotated[int, Knob(2, 32, "width", "d")] = 8,
    c: float = 1.0,
    weights: Annotated[
        str, Knob(says="of the blocks", choices=("expanding", "contracting", "random"))
    ] = "expanding",
) -> Network:
    Q = np.linalg.qr(rng.normal(size=(2, depth, width, width)))[0] * np.sqrt(c / depth)
    U = Q[0]
    V = Q[1] if weights == "random" else Q[0].swapaxes(1, 2) * (1 if weights == "expanding" else -1)
    return Network(f"{depth} blocks of width {width}, {weights}", apply, (U, V), (width,))


@hypothesis(
    r"$\mathrm{Lip}(v_k)\le c/T$ for every block, and $c<T$",
    remedy="scale the blocks by 1/T, or raise `c`",
)
def small_residual_branches(net: Network, *, c: float) -> Finding:
    chain = read(net)
    if isinstance(chain, str):
        return Finding.failed(chain)
    found = block_constants(
        chain, chain.weights(net.params), start_rows(net, ROWS, np.random.default_rng(0))
    )
    worst = max((s.bound for s in found), key=lambda bound: bound.hi)
    note = f"T·Lip(v_k) is at most {chain.blocks * worst.hi:.6g}, T = {chain.blocks}; required: at most c = {c:g} < T"
    holds = worst.hi * chain.blocks <= c * (1 + SLACK) and c < chain.blocks
    return Finding.decide(
        holds, note, "bounds rounded up", Enclosure.at_most(chain.blocks * worst.hi)
    )


@theorem(
    title="Residual blocks and ResNet-34",
    sources=("peyre-slides", "peyre-notes", "he2016", "he2016identity"),
    assumes=(residual_blocks, small_residual_branches),
    on=even_blocks,
    breaks_on=lambda rng: even_blocks(rng, c=3.0),
    presets={
        "textbook": {},
        "contracting": {"weights": "contracting"},
        "deep and random": {"depth": 48, "weights": "random", "c": 2.0},
        "at the edge": {"depth": 2, "c": 1.9, "weights": "contracting"},
        "broken on purpose": {"depth": 2, "c": 3.0},
    },
    errata=r"""Peyré's handwritten notes exchange the roles of $U$ and $V$ between two lines; here, as in the first,
    $v(x)=V\sigma(Ux)$.""",
    gist="A skip connection keeps gradients from vanishing or exploding with depth, because each block changes its "
    "input only a little; that is what made networks of a hundred layers trainable.",
    see_also=(
        "neural-ode-limit",
        "gradient-product-bound",
        "signal-propagation-init",
        "flow-diffeomorphism",
    ),
)
def resnet_block_34(
    net: Network,
    rng: np.random.Generator,
    *,
    c: Annotated[
        float, Knob(0.1, 4, "T times the Lipschitz constant of a block", "c", least=1e-3, most=100)
    ] = 1.0,
) -> Evidence:
    r"""A residual block is $x_{k+1}=x_k+v_{\theta_k}(x_k)$, $v(x)=V\sigma(Ux)$. If $V=0$ it is the identity, with
    Jacobian $I$. If $v_k$ is $\frac cT$-Lipschitz, $c<T$, the singular values of the Jacobian of $T$ blocks lie in
    $$\Big[\big(1-\tfrac cT\big)^T,\ \big(1+\tfrac cT\big)^T\Big],$$ those of $T$ layers $v_k$ alone below $(c/T)^T$.
    ResNet-34 has stages of 3, 4, 6, 3 blocks of two convolutions, $1+32+1$ weighted layers, 21 797 672 parameters."""
    chain = chain_of(net)
    rows = np.concatenate([np.zeros((1, *net.input_shape)), start_rows(net, ROWS, rng)])
    found = stretches(chain, net.params, rows, c * (1 + SLACK) / chain.blocks)
    T = chain.blocks
    lo = (1 - c / T) ** T
    hi = (1 + c / T) ** T
    largest = max(s.factors[0].max() for s in found)
    smallest = min(s.factors[1].min() for s in found)
    names = (
        [f"of stage {k}" for k in range(1, len(found) + 1)] if len(found) > 1 else ["of the blocks"]
    )
    return Evidence(
        tuple(
            claim for name, stretch in zip(names, found) for claim in stretch_claims(stretch, name)
        ),
        (_draw_block(), _draw_perturbation(found)),
        {
            "(1 − c/T)^T": lo,
            "(1 + c/T)^T": hi,
            "largest stretching": largest,
            "smallest stretching": smallest,
        },
        summary=f"{T} blocks stretch by {smallest:.6g} to {largest:.6g}, the bounds are {lo:.6g} and {hi:.6g}; "
        f"without the identity they stretch by at most {found[0].plain:.2g}",
        examples=partial(_examples, rng.spawn(1)[0]),
    )


def stretch_claims(stretch: Stretch, name: str) -> tuple[Claim, ...]:
    """The singular values of one stage between their bounds; those of its layers without the identity."""
    lo, hi = (Enclosure.equal(v) for v in stretch.bounds)
    largest, smallest = stretch.factors
    n = len(stretch.x)
    top = int(largest.argmax())
    low = int(smallest.argmin())
    claims: list[Claim] = [
        AtMost(
            f"largest stretching {name}, at most (1 + c/T)^T",
            Enclosure.at_least(float(largest.max()), samples=n),
            hi,
            witness=_secant(stretch, top, above=True, bound=hi.lo),
        ),
        AtMost(
            f"(1 − c/T)^T, at most the smallest stretching {name}",
            lo,
            Enclosure(-np.inf, float(smallest.min()), lo.basis.SAMPLED, n),
            witness=_secant(stretch, low, above=False, bound=lo.lo),
        ),
    ]
    if stretch.forms_jacobians:
        below = Enclosure.equal(stretch.b ** len(stretch.stage))
        what = f"largest stretching of the plain layers {name}, at most (c/T)^T"
        claims.append(AtMost(what, Enclosure.at_least(stretch.plain, samples=n), below))
    return tuple(claims)


def _secant(stretch: Stretch, i: int, *, above: bool, bound: float) -> Witness | None:
    """Along the direction of the extreme singular value at a state, if that is beyond the bound."""
    found = stretch.extreme_direction(i, above, bound)
    if found is None:
        return None
    x = stretch.x[i].ravel()
    slope = stretch.secant(x, found)
    exact = stretch.exact_bound(above)
    sides = (slope, exact) if above else (exact, slope)
    return Witness(
        {"x": tuple(map(float, x))},
        *sides,
        "a secant through the blocks, in intervals rounded outward",
    )


def _examples(rng: np.random.Generator) -> Examples:
    """A block of ResNet-34 at its initialisation, and the architecture counted."""
    exact = Enclosure.exact  # x + 0·v(x) is x itself in floating point
    famous = resnet34()
    layers = 1 + 2 * sum(STAGES) + 1
    value, slope = identity_gaps(rng)
    claims = (
        Identity("a block with last scale 0, minus x", exact(value), exact(0)),
        Identity("its Jacobian times u, minus u", exact(slope), exact(0)),
        *count_claims(famous),
        Identity(
            "weighted layers: 1 + 2·(3 + 4 + 6 + 3) + 1, in the table",
            exact(layers),
            exact(famous.depth),
        ),
    )
    numbers = {
        "parameters of ResNet-34": exact(famous.parameters),
        "weighted layers": exact(famous.depth),
    }
    return Examples(claims, (draw_parameters(famous),), (famous.table(),), numbers)


def _draw_perturbation(found: Sequence[Stretch]) -> Curves:
    """One perturbation after each block of the longest stage, with the identity beside the layers and without."""
    longest = max(found, key=lambda s: len(s.stage))
    k = np.arange(len(longest.stage) + 1)
    residual = longest.perturbation(residual=True)
    plain = longest.perturbation(residual=False)
    visible = plain > 1e-300
    series = [
        Series("residual", k, residual),
        Series("plain", k[visible], plain[visible], "other"),
        Series("(1 + c/T)^k", k, (1 + longest.b) ** k, "bound"),
    ]
    if longest.b < 1:
        series.append(Series("(1 − c/T)^k", k, (1 - longest.b) ** k, "bound"))
    return Curves(
        "one perturbation, block by block", Axis("blocks"), Axis("its size", "log"), tuple(series)
    )


def _draw_block() -> Dag:
    names = ("x", "3×3 conv U", "BN", "ReLU", "3×3 conv V", "BN", "+", "ReLU")
    vertices = tuple(Vertex(f"n{k}", name) for k, name in enumerate(names))
    chain = [(f"n{k}", f"n{k + 1}") for k in range(len(names) - 1)]
    return Dag("residual block: x + v(x)", vertices, (*chain, ("n0", "n6")))
