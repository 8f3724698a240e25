"""With a polynomial activation a network of fixed depth is a polynomial of fixed degree, however wide."""

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np

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
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description, activation
from ftheta.networks.description import require_layers
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers
from ftheta.theorems.charts_networks import draw_layers

from . import plateau, polynomial

WORDS = ("square", "identity", "relu", "tanh")


def random_network(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=WORDS)] = "square",
    maps: Annotated[int, Knob(1, 6, "affine maps", "L", most=8)] = 4,
    width: Annotated[int, Knob(1, 16, "neurons of a hidden layer", "d", log=True, most=64)] = 3,
    inputs: Annotated[int, Knob(1, 8, "number of inputs", "d₀", most=64)] = 2,
) -> Network:
    sizes = (inputs, *[width] * (maps - 1), 1)
    odd = [(2 * rng.integers(-4, 4, (n, m + 1)) + 1) / 8 for m, n in pairwise(sizes)]
    layers = [
        Dense(W[:, :-1], W[:, -1], activation if i < maps else "identity")
        for i, W in enumerate(odd, 1)
    ]
    return Network.described(
        Description(tuple(layers)), f"{activation} network with {maps} affine maps"
    )


def rectified_network(rng: np.random.Generator) -> Network:
    return random_network(rng, activation="relu", maps=3, width=6)


@hypothesis(
    r"$\varrho$ is a polynomial of degree $r$",
    remedy="not applicable to other activations; nothing needs to change",
)
def polynomial_activations(net: Network) -> Finding:
    if net.description is None:
        return Finding.undecided("layers")
    theta = net.description
    others = sorted({y.activation for y in theta.layers if activation(y.activation).degree is None})
    bound = polynomial.degree_bound(theta)
    saved = polynomial.mergeable(theta)
    if others:
        merged = (
            f"; {saved} of {len(theta.layers)} affine maps can be multiplied out" if saved else ""
        )
        return Finding.failed(
            f"{', '.join(others)} is no polynomial: no collapse for this reason{merged}"
        )
    return Finding.proved(
        f"degree {bound.r}; L = {bound.maps}", "by name, in the list", Enclosure.exact(bound.r)
    )


@theorem(
    title="Polynomial activations are not universal at bounded depth",
    sources=("peyre-slides", "gribonval-slides", "murari-slides", "leshno1993", "kidger2020"),
    gist="With a polynomial activation a network is itself a polynomial of bounded degree, however wide it is, and "
    "cannot approximate most functions; with an affine one it is a single affine map.",
    see_also=("activation-zoo", "uat-nonpolynomial-iff", "depth-separation"),
    assumes=(has_layers, describes_this_function, polynomial_activations),
    on=random_network,
    breaks_on=rectified_network,
    presets={
        "textbook": {},
        "degree thirty-two": {"maps": 6, "width": 4},
        "at the edge: one affine map": {
            "activation": "identity",
            "maps": 8,
            "width": 16,
            "inputs": 8,
        },
        "broken on purpose": {"activation": "relu"},
    },
    errata=r"""Peyré's slides: “$\sigma$ must be non-polynomial to increase expressivity”. A polynomial of degree 2 does
    increase it, from affine to degree $2^{L-1}$; it is only not universal at bounded depth. With unbounded depth and
    width $d+c+2$ non-affine polynomial activations are universal (Kidger and Lyons).""",
)
def degenerate_activations(
    net: Network,
    rng: np.random.Generator,
    *,
    lines: Annotated[int, Knob(1, 16, "lines along which differences are taken", "m", most=64)] = 4,
) -> Evidence:
    r"""If $\varrho$ is affine, every $f_\theta$ is affine. If $\varrho$ is a polynomial of degree $r$ and there are $L$
    affine maps, $f_\theta$ is a polynomial with $$\deg f_\theta\le n=r^{L-1},\qquad\Delta_v^{n+1}f_\theta(x)=0$$ for
    all $x,v$, whatever the widths. They lie in a space of dimension $\binom{n+d}d$, not dense in $C(K)$ for infinite
    $K$: on $[-1,1]$ none comes closer to $|x|$ than the best polynomial of degree $n$."""
    theta = require_layers(net.description)
    bound = polynomial.within_reach(theta, lines)
    along = polynomial.lines(rng, theta.widths[0], lines)
    n = bound.degree
    whole, least = polynomial.degree_of(theta, along)
    best = plateau.best_squared(n)
    claims: list[Claim] = [
        AtMost(f"degree of f_θ ≤ {bound.r}^(L−1)", whole, Enclosure.exact(n)),
        _claim_no_difference(theta, along, n + 1),
    ]
    if None not in polynomial.degrees(theta):
        excess = plateau.nearest_squared(polynomial.coefficients_on(theta, along[0])) - best
        what = "0 ≤ squared distance of a + b f_θ on a line to |x|, less the best"
        claims.append(AtMost(what, Enclosure.exact(0), Enclosure.exact(excess)))
    numbers = {
        "degree": whole,
        "bound": Enclosure.exact(n),
        "best squared distance to |x|": Enclosure.exact(best),
        "dimension of the polynomials": Enclosure.exact(
            polynomial.dimension_of(n, theta.widths[0])
        ),
    }
    if n == 1:
        gap = Enclosure.exact(polynomial.gap_to_product(theta, along[0]))
        claims.append(
            Identity("|f_θ(x) − (Ax + c)| for the product of all maps", gap, Enclosure.exact(0))
        )
        numbers["rank of the one affine map"] = Enclosure.exact(polynomial.collapse(theta).rank)
    met = f"{whole.lo:g}" if whole.lo >= 0 else "unknown"
    return Evidence(
        claims=tuple(claims),
        as_printed=(
            AtMost("degree of f_θ ≤ 1: no more than an affine map", least, Enclosure.exact(1)),
        ),
        charts=(draw_layers(theta, net.name),),
        numbers=numbers,
        summary=f"degree {met}, at most {n}; |x| is never closer than {float(best) ** 0.5:.4g} in L²",
        examples=partial(_examples, theta, deepcopy(rng), n, float(best)),
    )


def _claim_no_difference(
    theta: Description, along: Sequence[polynomial.Line], order: int
) -> Identity:
    """That the differences of that order vanish on the lines; where one does not, it is computed again."""
    gaps = [polynomial.difference_on(theta, line, order) for line in along]
    line, gap = max(zip(along, gaps), key=lambda pair: pair[1].lo)
    witness = None
    if gap.lo > 0:
        again = polynomial.difference_on(theta, line, order, 2 * polynomial.BITS)
        witness = Witness(
            line.place, again, Enclosure.exact(0), "the difference at twice the precision"
        )
    what = f"largest difference of order {order} along {len(along)} lines"
    return Identity(what, gap, Enclosure.exact(0), witness)


def _examples(theta: Description, rng: np.random.Generator, degree: int, best: float) -> Examples:
    """Random networks of this activation and depth, and ReLU ones, fitted to |x|."""
    words = ["square" if d == 2 else "identity" for d in polynomial.degrees(theta)]
    fits = plateau.fit_squared(rng, words)
    relu = plateau.fit_squared(rng, ["relu"])
    return Examples(claims=(), charts=(_draw_fits(fits, relu, best, degree),))


def _draw_fits(fits: Sequence[float], relu: Sequence[float], best: float, degree: int) -> Curves:
    widths = plateau.WIDTHS
    series = (
        Series("this activation and depth", widths, np.sqrt(fits)),
        Series(f"best polynomial of degree {degree}", widths, [best**0.5] * len(widths), "bound"),
        Series(
            "ReLU, best so far",
            widths,
            np.sqrt(np.maximum(np.minimum.accumulate(relu), 1e-30)),
            "reference",
        ),
    )
    return Curves(
        "fits of |x|: width does not help", Axis("width", "log"), Axis("L² error", "log"), series
    )
