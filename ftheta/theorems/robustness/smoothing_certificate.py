"""Noise makes a classifier robust: a label that noise rarely changes holds in a ball around the input."""

from math import inf
from typing import Annotated

import numpy as np
from scipy.special import ndtr

from ftheta.estimates.means import binomial_interval
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Series,
    Table,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.stability.smoothing import Smoothed, SmoothedLabels, smooth
from ftheta.subjects import Network
from ftheta.theorems.classifiers import choose_inputs, is_classifier, linear_classifier
from ftheta.theorems.knobs import ClassifierInputs, ClassifierKind, ClassifierWidth

CONFIDENCE = 0.999
NEARLY = 0.99  # of the certified radius, at which other inputs are looked at
STEPS = 9  # inputs on the way there

# ---- subjects --------------------------------------------------------------------------------------------------------


def classifier(
    rng: np.random.Generator,
    *,
    kind: ClassifierKind = "random",
    inputs: ClassifierInputs = 2,
    width: ClassifierWidth = 16,
) -> Network:
    if kind == "linear":
        return linear_classifier(np.array([3.0, 4.0]), 0.0, "linear classifier w = (3, 4)")
    description = random_mlp(rng, (inputs, width, width, 3), "relu", bias=0.5)
    return Network.described(
        description, f"random ReLU classifier {'-'.join(map(str, description.widths))}"
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Randomised smoothing certifies a radius",
    gist="Adding noise to the input and taking the most frequent label gives a classifier whose label provably holds "
    "in a ball around the input, whatever the network is; the size of the ball has a stated confidence.",
    see_also=("adversarial-and-certified-robustness", "lipschitz-bounds"),
    sources=("scaman-slides", "cohen2019", "lee2019smoothing"),
    assumes=(is_classifier,),
    on=classifier,
    unbreakable="it holds for every classifier, measurable or not; with one output there is no label",
    presets={
        "textbook": {},
        "tight": {"kind": "linear"},
        "at the edge": {"kind": "linear", "sigma": 0.05},
        "large": {"inputs": 64, "width": 64},
        "much noise": {"sigma": 2.0},
    },
)
def smoothing_certificate(
    net: Network,
    rng: np.random.Generator,
    *,
    sigma: Annotated[
        float,
        Knob(0.05, 2.0, "standard deviation of the noise", "σ", log=True, least=1e-6, most=1e6),
    ] = 0.5,
    draws: Annotated[
        int, Knob(100, 20_000, "draws of noise for each input", "n", log=True, most=1_000_000)
    ] = 4000,
    rows: Annotated[int, Knob(1, 16, "inputs tried", "m", most=128)] = 4,
) -> Evidence:
    r"""For any classifier $f$ and $\eta\sim\mathcal N(0,\sigma^2I)$ let $g(x)$ be the label with the largest
    $P(f(x+\eta)=c)$. If $P(f(x+\eta)=c_A)\ge p_A\ge p_B\ge\max_{c\ne c_A}P(f(x+\eta)=c)$, then $g(x')=c_A$ for all
    $$\|x'-x\|_2<R=\tfrac\sigma2\big(\Phi^{-1}(p_A)-\Phi^{-1}(p_B)\big),$$
    and with $p_B=1-p_A$ this is $\sigma\Phi^{-1}(p_A)$. No larger radius holds for all $f$: it is reached by linear
    classifiers. For noise uniform on $[-\lambda,\lambda]^d$ the label holds for $\|x'-x\|_1<2\lambda(p_A-\frac12)$."""
    x = choose_inputs(net, rng, rows)
    seed = int(rng.integers(2**31))
    smoothed = smooth(net, sigma)
    found = smoothed.certify(x, draws=draws, confidence=CONFIDENCE, seed=seed)
    certain = np.flatnonzero(~found.abstains)
    votes = [_votes_nearby(smoothed, x[k], found, int(k), seed, rng) for k in certain]
    worst = [min(along, key=lambda p: p.hi) for along in votes]
    claims = [
        AtMost(
            f"½ ≤ P(f(x′ + η) = c) at inputs x′ within {NEARLY:g} R of input {k}",
            Enclosure.exact(0.5),
            lowest,
        )
        for k, lowest in zip(certain, worst)
    ]
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_votes(votes, certain),),
        numbers={"inputs certified": Enclosure.exact(len(certain)), **_radii(found)},
        tables=(_tabulate(found),),
        summary=f"{len(certain)} of {len(x)} inputs certified at confidence {CONFIDENCE:g} each, the others abstain",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _votes_nearby(
    smoothed: Smoothed,
    x: np.ndarray,
    found: SmoothedLabels,
    k: int,
    seed: int,
    rng: np.random.Generator,
) -> list[Enclosure]:
    """How likely the label is on the way from an input towards an input of another label, as far as it is certified;
    all of them hold together with the stated confidence."""
    direction = _away(smoothed, x, int(found.label[k]), rng)
    confidence = 1 - (1 - CONFIDENCE) / STEPS
    along = list[Enclosure]()
    for step, share in enumerate(np.linspace(0.0, NEARLY, STEPS)):
        counts = smoothed.count(
            x + share * found.radius[k] * direction, found.draws, seed + 1 + step + STEPS * k
        )
        along.append(binomial_interval(int(counts[found.label[k]]), found.draws, confidence))
    return along


def _away(
    smoothed: Smoothed, x: np.ndarray, label: int, rng: np.random.Generator, tries: int = 16
) -> np.ndarray:
    """Of some random directions, the one in which noise leaves the label least often."""
    directions = rng.standard_normal((tries, *x.shape))
    directions /= np.linalg.norm(directions.reshape(tries, -1), axis=1).reshape(-1, *[1] * x.ndim)
    left = [smoothed.count(x + smoothed.sigma * v, 200, k)[label] for k, v in enumerate(directions)]
    return directions[int(np.argmin(left))]


def _radii(found: SmoothedLabels) -> dict[str, Enclosure]:
    """Each is at least what is certified, with the confidence of its draws."""
    return {
        f"radius of input {k}": Enclosure(float(r), inf, Basis.SAMPLED, found.draws, CONFIDENCE)
        for k, r in enumerate(found.radius)
    }


def _examples() -> Examples:
    """Linear classifiers: the radius is the distance to the boundary, whatever the noise."""
    net = linear_classifier(np.array([3.0, 4.0]), 0.0, "w = (3, 4)")
    claims = [
        Identity(
            f"σ Φ⁻¹(p) for w = (3, 4) at (1, 1), σ = {sigma:g}",
            Enclosure.equal(smooth(net, sigma).radius(float(ndtr(1.4 / sigma)))),
            Enclosure.equal(1.4),
        )
        for sigma in (0.5, 1.0, 2.0)
    ]
    value = Enclosure.equal(smooth(net, 0.5).radius(0.9))
    claims.append(Identity("σ = 0.5, p = 0.9", value, Enclosure.equal(0.6407757827723002)))
    return Examples(claims=tuple(claims))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_votes(votes: list[list[Enclosure]], certain: np.ndarray) -> Curves:
    """How likely the label is on the way from each input to the edge of its ball."""
    shares = np.linspace(0.0, NEARLY, STEPS)
    series = [
        Series(
            f"input {k}",
            shares,
            [p.middle for p in along],
            lo=[p.lo for p in along],
            hi=[p.hi for p in along],
        )
        for k, along in zip(certain, votes)
    ]
    half = Series("½", [0.0, 1.0], [0.5, 0.5], "bound")
    return Curves(
        "the label of the smoothed classifier inside its ball",
        Axis("distance, in certified radii"),
        Axis("P(f(x′ + η) = c)"),
        (*series, half),
    )


def _tabulate(found: SmoothedLabels) -> Table:
    rows = [
        (k, "abstains" if label < 0 else str(label), float(p), float(r))
        for k, (label, p, r) in enumerate(zip(found.label, found.probability, found.radius))
    ]
    return Table("inputs", ("input", "label", "p at least", "radius"), tuple(rows))
