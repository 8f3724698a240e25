"""A margin and a Lipschitz constant give a radius within which a label holds."""

from collections.abc import Sequence
from math import inf
from typing import Annotated

import jax
import numpy as np

from ftheta.certify.ladder import lipschitz
from ftheta.certify.margins import Classifier
from ftheta.certify.perturbations import attack
from ftheta.graph.enclosing import enclose
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.subjects import Network
from ftheta.theorems.classifiers import choose_inputs, is_classifier, linear_classifier
from ftheta.theorems.knobs import (
    ClassifierInputs,
    ClassifierKind,
    ClassifierWidth,
    HiddenActivation,
)

NORMS = {"ℓ₁": 1, "ℓ₂": 2, "ℓ∞": inf}
FACTORS = {1: Enclosure.exact(1), 2: Enclosure.exact(2).sqrt(), inf: Enclosure.exact(2)}
r"""$\|e_c-e_j\|_{p^*}=2^{1-1/p}$."""
BUDGET = 0.1  # seconds for each constant, as counted work

# ---- subjects --------------------------------------------------------------------------------------------------------


def classifier(
    rng: np.random.Generator,
    *,
    kind: ClassifierKind = "random",
    inputs: ClassifierInputs = 4,
    width: ClassifierWidth = 16,
    classes: Annotated[int, Knob(2, 10, "number of classes", "k", most=20)] = 3,
    hidden: HiddenActivation = "relu",
) -> Network:
    if kind == "linear":
        return linear_classifier(np.array([3.0, 4.0]), 0.0, "linear classifier w = (3, 4)")
    description = random_mlp(rng, (inputs, width, width, classes), hidden, bias=0.5)
    return Network.described(
        description, f"random {hidden} classifier {'-'.join(map(str, description.widths))}"
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the network is Lipschitz, with a known bound",
    remedy="`square` and `exp` are not, over all of space",
)
def is_lipschitz(net: Network) -> Finding:
    try:
        found = lipschitz(net, norm=2, budget=BUDGET)
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"Lip(f) ≤ {found.hi:.6g} in ℓ₂"
    return Finding.decide(
        found.hi < inf, note, "rounded outward", Enclosure.at_most(found.hi, Basis.EXACT)
    )


@theorem(
    title="A margin over a Lipschitz constant certifies a label",
    gist="If the largest output is ahead by a margin, and the network changes no faster than its Lipschitz constant, "
    "then the label holds within the margin divided by that constant: the cheapest certificate of robustness.",
    see_also=("adversarial-and-certified-robustness", "lipschitz-bounds", "lipsdp-certificate"),
    sources=("scaman-slides", "tsuzuku2018", "szegedy2014"),
    assumes=(is_classifier, is_lipschitz),
    on=classifier,
    unbreakable="without a Lipschitz constant there is no radius that could be refuted",
    presets={
        "textbook": {},
        "linear": {"kind": "linear"},
        "smooth": {"hidden": "tanh"},
        "large": {"inputs": 64, "width": 64, "classes": 10, "rows": 4},
        "at the edge": {"inputs": 2, "width": 2, "classes": 2},
        "broken on purpose": {"hidden": "square"},
    },
)
def lipschitz_margin(
    net: Network,
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(1, 32, "inputs tried", "n", log=True, most=256)] = 8,
) -> Evidence:
    r"""If $\|f(x)-f(y)\|_p\le L\|x-y\|_p$ for all $x,y$, and $m(x)=f_c(x)-\max_{j\ne c}f_j(x)>0$ is the margin of the
    label $c$ at $x$, then $c$ is the label of every $x'$ with
    $$\|x'-x\|_p<\frac{m(x)}{2^{1-1/p}\,L},$$
    since $f_c-f_j$ changes by at most $\|e_c-e_j\|_{p^*}\|f(x')-f(x)\|_p$ with
    $\|e_c-e_j\|_{p^*}=2^{1-1/p}$: $1$, $\sqrt2$ and $2$ for $p=1,2,\infty$."""
    x = choose_inputs(net, rng, rows)
    constants = enclose_constants(net)
    label, margins = enclose_margins(net, x)
    claims = list[AtMost]()
    certified = dict[str, np.ndarray]()
    met = dict[str, np.ndarray]()
    for name, L in constants.items():
        norm = NORMS[name]
        radii = [margin / (FACTORS[norm] * Enclosure.exact(L.hi)) for margin in margins]
        certified[name] = np.array([max(0.0, radius.lo) for radius in radii])
        met[name] = attack(net, x, norm=norm, label=label, seed=int(rng.integers(2**31))).distance
        if np.isfinite(met[name]).any():
            claims.append(_compare(name, certified[name], met[name]))
    if not certified:
        return Evidence((), (_draw_margins(margins),), summary="no Lipschitz constant is known")
    first = next(iter(certified))
    nearest = float(np.median(met[first]))
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_radii(certified, met),),
        numbers={f"Lip(f) in {name}": L for name, L in constants.items()},
        tables=(_tabulate(certified, met),),
        summary=f"in {first} the label of the median input holds within {np.median(certified[first]):.4g}, "
        + (
            f"another one was met at {nearest:.4g}"
            if np.isfinite(nearest)
            else "no other one was met"
        ),
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def enclose_constants(net: Network) -> dict[str, Enclosure]:
    """The Lipschitz constant in each norm in which it has a bound."""
    found = dict[str, Enclosure]()
    for name, norm in NORMS.items():
        try:
            constant = lipschitz(net, norm=norm, budget=BUDGET)
        except FthetaError:
            continue
        if 0 < constant.hi < inf:
            found[name] = Enclosure.between(constant.lo, constant.hi)
    return found


def enclose_margins(net: Network, x: np.ndarray) -> tuple[np.ndarray, list[Enclosure]]:
    """The label of each row, and its margin with outward rounding."""
    flat = x.reshape(len(x), -1)
    network = Classifier.of(net)
    label = network.values(flat).argmax(1)
    with jax.enable_x64(True):
        y = enclose(network.outputs, flat)
    if y is None:
        return label, [Enclosure.between(0.0, inf)] * len(x)
    margins = list[Enclosure]()
    for lo, hi, c in zip(np.asarray(y.lo), np.asarray(y.hi), label):
        ahead = [
            Enclosure.between(lo[c], hi[c]) - Enclosure.between(lo[j], hi[j])
            for j in range(len(lo))
            if j != c
        ]
        margins.append(
            Enclosure.between(min(gap.lo for gap in ahead), min(gap.hi for gap in ahead))
        )
    return label, margins


def _compare(name: str, certified: np.ndarray, met: np.ndarray) -> AtMost:
    """Of the input where the radius comes nearest to the distance met."""
    k = int(np.argmax(np.where(np.isfinite(met), certified / np.maximum(met, 1e-300), -1.0)))
    what = f"{name} radius by the margin ≤ distance met, of {len(met)} inputs"
    return AtMost(what, Enclosure.exact(float(certified[k])), Enclosure.exact(float(met[k])))


def _examples() -> Examples:
    """w = (3, 4) at (1, 1) with outputs ±⟨w, x⟩/2: the bound of the margin is the distance itself, in ℓ₂."""
    margin = Enclosure.exact(7)
    # the map x ↦ (⟨w, x⟩/2, −⟨w, x⟩/2) has the constant ‖w‖/√2 in ℓ₂
    constant = Enclosure.exact(5) / Enclosure.exact(2).sqrt()
    radius = margin / (FACTORS[2] * constant)
    return Examples(
        claims=(
            AtMost(
                "radius of w = (3, 4) at (1, 1) ≤ 1.4",
                Enclosure.exact(radius.lo),
                Enclosure.equal(1.4),
            ),
            AtMost("1.4 ≤ the same radius", Enclosure.equal(1.4), radius),
        )
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_margins(margins: Sequence[Enclosure]) -> Curves:
    values = [margin.middle for margin in margins]
    series = Series("margin", range(1, len(values) + 1), values, "measured", "points")
    return Curves("margin of the label", Axis("input"), Axis("margin"), (series,))


def _draw_radii(certified: dict[str, np.ndarray], met: dict[str, np.ndarray]) -> Bars:
    """Medians over the inputs, of every norm."""
    shown = tuple(float(np.median(values)) for values in certified.values())
    near = tuple(
        float(np.median(np.where(np.isfinite(values), values, 0.0))) for values in met.values()
    )
    return Bars(
        "median radius", Axis("radius"), tuple(certified), ("by the margin", "met"), (shown, near)
    )


def _tabulate(certified: dict[str, np.ndarray], met: dict[str, np.ndarray]) -> Table:
    rows = [
        (name, k, float(certified[name][k]), float(met[name][k]))
        for name in certified
        for k in range(len(met[name]))
    ]
    return Table("radii", ("norm", "input", "by the margin", "met"), tuple(rows))
