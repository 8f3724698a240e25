"""A generator that separates two modes must be steep: what is between them has a mass that its Lipschitz constant
sets."""

from functools import lru_cache, partial
from math import inf, nextafter
from typing import Annotated

import numpy as np
from flint import arb, ctx
from scipy.special import ndtri

from ftheta.certify.ladder import lipschitz
from ftheta.certify.lipschitz import product_bound
from ftheta.estimates import binomial_interval
from ftheta.graph.domains.interval import Interval
from ftheta.graph.enclosing import enclose
from ftheta.lazy import jax, jnp
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Histogram,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Network
from ftheta.subjects.roles import ask_role, values_at

LATENTS = 64  # at which gradients are looked at
SHARES = (0.02, 0.1, 0.25, 0.4, 0.45, 0.48)
CONFIDENCE = 0.999
BUDGET = 1.0
HALF_GAP = 1.5
JUMP = 2.0**-10  # half the gap between two sets of latents
FARTHEST = 8.0
TAILS = ((-FARTHEST, -JUMP), (JUMP, FARTHEST))
KINDS = ("two modes", "random", "discrete latent")

# ---- subjects --------------------------------------------------------------------------------------------------------


def generator(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which generator", choices=KINDS)] = "two modes",
    steepness: Annotated[
        float, Knob(1, 50, "slope between the modes", "L", log=True, least=0.1, most=1e4)
    ] = 5.0,
) -> Network:
    if kind == "discrete latent":
        return Network(
            "sign of the latent",
            lambda params, z: HALF_GAP * jnp.sign(z),
            {},
            (1,),
            role="generator",
        )
    if kind == "random":
        return Network.described(random_mlp(rng, (2, 16, 2), "tanh", bias=0.5), kind).with_role(
            "generator"
        )
    slope = steepness / HALF_GAP
    layers = (
        Dense(np.array([[slope]]), np.zeros(1), "tanh"),
        Dense(np.array([[HALF_GAP]]), np.zeros(1)),
    )
    return Network.described(Description(layers), f"z ↦ {HALF_GAP:g} tanh({slope:.4g}z)").with_role(
        "generator"
    )


@lru_cache(maxsize=4)
def _steepest(net: Network) -> float:
    """A certified Lipschitz constant: the product of the norms of dense layers, else what `ft.lipschitz` finds."""
    if net.description is not None:
        return product_bound(net.description).hi
    return lipschitz(net, budget=BUDGET).hi


@hypothesis(
    r"$G$ is $L$-Lipschitz with a certified $L$",
    remedy="a latent with a jump in it (a discrete one) has none; use Lipschitz layers",
    name="a Lipschitz generator",
)
def is_lipschitz(net: Network) -> Finding:
    if net.role != "generator":
        return Finding.undecided("a generator")
    L = _steepest(net)
    if inf == L:
        return Finding.failed("no Lipschitz constant is known")
    return Finding.proved(
        f"L ≤ {L:.6g}",
        "norms of layers or of Jacobians, rounded outward",
        Enclosure.at_most(L, Basis.EXACT),
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Separating modes takes a steep generator",
    gist="A continuous map of Gaussian noise cannot split it into two modes without leaving mass between them: the "
    "flatter the map, the more; so the Lipschitz constant of a generator says how well it can separate modes.",
    see_also=("normalising-flows", "lipschitz-bounds", "smoothing-certificate"),
    sources=("salmona2022", "sudakov1978"),
    assumes=(ask_role("generator", needs_data=False), is_lipschitz),
    on=generator,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "steep": {"steepness": 50.0},
        "random": {"kind": "random"},
        "broken on purpose": {"kind": "discrete latent"},
    },
)
def modes_need_steepness(
    net: Network,
    rng: np.random.Generator,
    *,
    samples: Annotated[
        int, Knob(1000, 100_000, "points that are generated", "n", log=True, least=200, most=10**6)
    ] = 20_000,
) -> Evidence:
    r"""Let $G$ be $L$-Lipschitz, $\mu=G_\#\gamma$ with $\gamma=\mathcal N(0,I)$, and let $A$, $B$ be at a distance of
    at least $D$. Then $a=\mu(A)$ and $b=\mu(B)$ satisfy
    $$D\le-L\big(\Phi^{-1}(a)+\Phi^{-1}(b)\big),$$
    so two modes of mass $\frac{1-\varepsilon}2$ each need $L\ge D/(-2\Phi^{-1}(\frac{1-\varepsilon}2))$. On the line
    $L\ge\varphi(0)/p(\text{median})$."""
    L = _steepest(net)
    known = Enclosure.at_most(L, Basis.EXACT)
    if inf == L:  # forced: what gradients alone would say
        L = _steepest_gradient(net, rng)
        known = Enclosure.at_least(L, samples=LATENTS)
    y = values_at(net, rng.normal(size=(2 * samples, net.input_shape[0])))
    centred = y - y.mean(0)
    direction = np.linalg.svd(centred[: min(len(y), 4000)], full_matrices=False)[2][0]
    along = y @ direction
    chosen, fresh = along[:samples], along[samples:]
    claims, gaps, bounds = _compare(chosen, fresh, L)
    claims += _claim_jump(net, L)
    widest = int(
        np.argmax([g / max(b, 1e-300) if np.isfinite(b) else 0.0 for g, b in zip(gaps, bounds)])
    )
    said = "L ≤" if known.basis is Basis.EXACT else "largest gradient found"
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_gaps(gaps, bounds), _draw_outputs(fresh)),
        numbers={"L": known},
        summary=f"{said} {L:.5g}: modes that hold {SHARES[widest]:g} each are {gaps[widest]:.4g} apart, and can be no "
        f"farther than {bounds[widest]:.4g}",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _compare(
    chosen: np.ndarray, fresh: np.ndarray, L: float
) -> tuple[list[Claim], list[float], list[float]]:
    """Half-spaces that hold a share of one half of the outputs each, with their masses from the other half."""
    confidence = 1 - (1 - CONFIDENCE) / (2 * len(SHARES))
    claims: list[Claim] = []
    gaps = []
    bounds = []
    for share in SHARES:
        low, high = np.quantile(chosen, [share, 1 - share])
        a = binomial_interval(int((fresh <= low).sum()), len(fresh), confidence)
        b = binomial_interval(int((fresh >= high).sum()), len(fresh), confidence)
        gap = max(float(high - low), 0.0)
        most = _allowed_distance(a.lo, b.lo, L)
        right = Enclosure(
            _allowed_distance(a.hi, b.hi, L), most, Basis.SAMPLED, len(fresh), 2 * confidence - 1
        )
        claims.append(
            AtMost(
                f"distance of two modes with {share:g} each ≤ −L(Φ⁻¹(a) + Φ⁻¹(b))",
                Enclosure.exact(gap),
                right,
            )
        )
        gaps.append(gap)
        bounds.append(most)
    return claims, gaps, bounds


def _steepest_gradient(net: Network, rng: np.random.Generator) -> float:
    """The largest norm of a Jacobian at random latents: no bound, and 0 for a step."""
    z = rng.normal(size=(LATENTS, net.input_shape[0]))
    jacobians = np.asarray(jax.vmap(jax.jacfwd(partial(net.apply, net.params)))(jnp.asarray(z)))
    return float(np.linalg.norm(jacobians, 2, axis=(1, 2)).max())


def _claim_jump(net: Network, L: float) -> list[Claim]:
    """One latent and one output: latents beyond ±JUMP, enclosed, against what the bound allows for their masses."""
    if net.input_shape != (1,) or net.output_shape != (1,):
        return []
    sides = [
        enclose(partial(net.apply, net.params), Interval(np.array([lo]), np.array([hi])))
        for lo, hi in TAILS
    ]
    left, right = sides
    if left is None or right is None:
        return []
    gap = max(float(right.lo[0] - left.hi[0]), float(left.lo[0] - right.hi[0]), 0.0)
    with ctx.workprec(96):
        share = ((arb(FARTHEST) / arb(2).sqrt()).erf() - (arb(JUMP) / arb(2).sqrt()).erf()) / 2
        reach = -2 * arb(L) * _inverse_normal(share)
    what = f"distance of the outputs of z ≤ −{JUMP:g} and of z ≥ {JUMP:g} ≤ −L(Φ⁻¹(a) + Φ⁻¹(b))"
    return [AtMost(what, Enclosure.exact(nextafter(gap, 0)), Enclosure.ball(reach))]


def _allowed_distance(a: float, b: float, L: float) -> float:
    with np.errstate(all="ignore"):
        reach = -float(ndtri(a) + ndtri(b))
    return inf if inf == L or not np.isfinite(reach) else max(L * reach, 0.0)


def _inverse_normal(p: arb) -> arb:
    return arb(2).sqrt() * (2 * p - 1).erfinv()


def _examples() -> Examples:
    """Two modes at the distance 3; the mixture of two bumps on the line."""
    with ctx.workprec(96):
        needed = arb(3) / (-2 * _inverse_normal(arb("0.495")))
        between = (arb("0.3") / arb(2).sqrt()).erf()
        mixture = arb(8).exp() / 2  # φ(0)/p(0) of ½N(−2, ¼) + ½N(2, ¼)
        reach = -10 * _inverse_normal((1 - between) / 2)
    claims = (
        Identity(
            "L = 5: the mass between is such that modes are 3 apart",
            Enclosure.ball(reach),
            Enclosure.exact(3),
        ),
    )
    numbers = {
        "L for two modes of 0.495, 3 apart": Enclosure.ball(needed),
        "mass between them with L = 5": Enclosure.ball(between),
        "L for ½N(±2, ¼)": Enclosure.ball(mixture),
    }
    return Examples(claims=claims, numbers=numbers)


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_gaps(gaps: list[float], bounds: list[float]) -> Curves:
    shown = [b if np.isfinite(b) else np.nan for b in bounds]
    kept = [k for k, b in enumerate(shown) if np.isfinite(b)]
    at = [SHARES[k] for k in kept]
    lines = (
        Series("distance", SHARES, gaps),
        Series("bound", at, [shown[k] for k in kept], "bound"),
    )
    return Curves("distance of two modes", Axis("mass of each"), Axis("distance"), lines)


def _draw_outputs(along: np.ndarray) -> Histogram:
    heights, edges = np.histogram(along, 80, density=True)
    return Histogram(
        "outputs along their widest direction", Axis("projection"), Axis("density"), edges, heights
    )
