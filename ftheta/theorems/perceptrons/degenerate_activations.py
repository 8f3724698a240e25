"""With a polynomial activation a network of fixed depth is a polynomial of fixed degree, however wide."""

from itertools import pairwise
from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Claim, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import Dense, Description, activation, plateau, polynomial
from ftheta.networks.realisation import diagram, layers_of
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function

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
    layers = [Dense(W[:, :-1], W[:, -1], activation if i < maps else "identity") for i, W in enumerate(odd, 1)]
    return Network.described(Description(tuple(layers)), f"{activation} network with {maps} affine maps")


def rectified(rng: np.random.Generator) -> Network:
    return random_network(rng, activation="relu", maps=3, width=6)


@hypothesis(r"$\varrho$ is a polynomial of degree $r$", remedy="nothing to mend: any other activation is better")
def polynomial_activations(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("unknown without layers")
    theta = net.description
    others = sorted({y.activation for y in theta.layers if activation(y.activation).degree is None})
    bound, saved = polynomial.degree_bound(theta), polynomial.mergeable(theta)
    if others:
        merged = f"; {saved} of {len(theta.layers)} affine maps can be multiplied out" if saved else ""
        return Finding.failed(f"{', '.join(others)} is no polynomial: no collapse for this reason{merged}")
    return Finding.proved(f"degree {bound.r}; L = {bound.maps}", "by name, in the list", Enclosure.exact(bound.r))


@theorem(
    title="Polynomial activations are not universal at bounded depth",
    sources=("seed 0", "seed 1", "seed 2", "leshno1993", "kidger2020"),
    assumes=(described, describes_this_function, polynomial_activations),
    on=random_network,
    breaks_on=rectified,
    presets={
        "textbook": {},
        "degree thirty-two": {"maps": 6, "width": 4},
        "at the edge: one affine map": {"activation": "identity", "maps": 8, "width": 16, "inputs": 8},
        "broken on purpose": {"activation": "relu"},
    },
    errata=r"""Seed 0: “$\sigma$ must be non-polynomial to increase expressivity”. A polynomial of degree 2 does
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
    theta, exact = layers_of(net.description), Enclosure.exact
    bound, drawn = polynomial.within_reach(theta, lines), polynomial.lines(rng, theta.widths[0], lines)
    n, (whole, least) = bound.degree, polynomial.degree_of(theta, drawn)
    words = ["square" if d == 2 else "identity" for d in polynomial.degrees(theta)]
    fits, best = plateau.fitted_squared(rng, words), plateau.best_squared(n)
    claims: list[Claim] = [
        AtMost(f"degree of f_θ ≤ {bound.r}^(L−1)", whole, exact(n)),
        polynomial.no_difference(theta, drawn, n + 1),
    ]
    if None not in polynomial.degrees(theta):
        excess = exact(plateau.nearest_squared(polynomial.coefficients_on(theta, drawn[0])) - best)
        claims.append(AtMost("0 ≤ squared distance of a + b f_θ on a line to |x|, less the best", exact(0), excess))
    numbers = {"degree": whole, "bound": exact(n), "best squared distance to |x|": exact(best)}
    numbers["dimension of the polynomials"] = exact(polynomial.dimension_of(n, theta.widths[0]))
    if n == 1:
        product, numbers["rank of the one affine map"] = polynomial.one_affine_map(theta, drawn[0])
        claims.append(product)
    more = AtMost("degree of f_θ ≤ 1: no more than an affine map", least, exact(1))
    relu, met = plateau.fitted_squared(rng, ["relu"]), f"{whole.lo:g}" if whole.lo >= 0 else "unknown"
    return Evidence(
        claims=tuple(claims),
        as_printed=(more,),
        charts=(plateau.chart(fits, relu, float(best), n), diagram(theta, net.name)),
        numbers=numbers,
        summary=f"degree {met}, at most {n}; |x| is never closer than {float(best) ** 0.5:.4g} in L²",
    )
