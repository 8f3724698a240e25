"""How far a label holds: what is certified is never beyond what was met."""

from fractions import Fraction
from math import inf
from typing import Annotated

import numpy as np

from ftheta.certify.lipschitz import product_bound
from ftheta.certify.perturbations import read_problem
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Series,
    Status,
    Table,
    theorem,
)
from ftheta.networks import activation, random_mlp
from ftheta.stability.certifying import Certifier
from ftheta.stability.radii import CertifiedRadius, certified_radius
from ftheta.stability.smoothing import smooth
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function
from ftheta.subjects.resolve import load_as
from ftheta.theorems.classifiers import choose_inputs, is_classifier, linear_classifier
from ftheta.theorems.knobs import ClassifierInputs, ClassifierKind, ClassifierWidth

from .charts import Point, Radii, draw_methods, draw_plane, draw_shares

NORMS = {"ℓ₁": 1, "ℓ₂": 2, "ℓ∞": inf}
DUAL = {1: inf, 2: 2, inf: 1}
TOLERANCE = 1e-3

TRAINED = {"digits-mlp": "trained plainly", "digits-certified": "trained by interval bounds"}
TRAINED_RADII = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)
TRAINED_ROWS = 64


# ---- subjects --------------------------------------------------------------------------------------------------------


def classifier(
    rng: np.random.Generator,
    *,
    kind: ClassifierKind = "random",
    inputs: ClassifierInputs = 2,
    width: ClassifierWidth = 16,
    classes: Annotated[int, Knob(2, 10, "number of classes", "k", most=20)] = 3,
) -> Network:
    if kind == "linear":
        w = np.zeros(inputs)
        w[:2] = (3.0, 4.0)
        return linear_classifier(w, 0.0, "linear classifier w = (3, 4)")
    description = random_mlp(rng, (inputs, width, width, classes), "relu", bias=0.5)
    return Network.described(
        description, f"random ReLU classifier {'-'.join(map(str, description.widths))}"
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Adversarial and certified robustness",
    gist="Around every input there is a radius within which the label provably cannot change, and a distance at which "
    "an input with another label was found; the closer the two, the better one knows how robust a decision is.",
    see_also=("linear-relaxation-bounds", "lipschitz-bounds", "verification-np-hard"),
    sources=("scaman-slides", "szegedy2014", "goodfellow2015", "zhang2018", "cohen2019"),
    assumes=(is_classifier,),
    on=classifier,
    unbreakable="the theorem is about all classifiers; with one output there is no label to change",
    presets={
        "textbook": {},
        "linear": {"kind": "linear"},
        "large": {"inputs": 64, "width": 64, "classes": 10, "rows": 4},
        "at the edge": {"kind": "linear", "across": 0.0, "up": 0.0},
    },
)
def adversarial_and_certified_robustness(
    net: Network,
    rng: np.random.Generator,
    *,
    across: Annotated[
        float, Knob(-2.0, 2.0, "first entry of the first input", "x₁", least=-1e3, most=1e3)
    ] = 1.0,
    up: Annotated[
        float, Knob(-2.0, 2.0, "second entry of the first input", "x₂", least=-1e3, most=1e3)
    ] = 1.0,
    rows: Annotated[int, Knob(1, 32, "inputs tried", "n", log=True, most=256)] = 8,
) -> Evidence:
    r"""Let $x$ have the label $c$, and let $\rho_p(x)$ be the $\ell_p$-distance from $x$ to the nearest input at which
    another output is at least as large as output $c$. If a lower bound of every margin $f_c-f_j$ over the ball
    $\|x'-x\|_p\le r$ is positive, then $r<\rho_p(x)$; any $x'$ that is labelled otherwise shows
    $\rho_p(x)\le\|x'-x\|_p$. Two certificates in closed form: for a linear classifier $\langle w,x\rangle+b$ with
    two classes
    $$\rho_p(x)=\frac{|\langle w,x\rangle+b|}{\|w\|_{p^*}},\qquad\tfrac1p+\tfrac1{p^*}=1,$$
    reached in $\ell_\infty$ by one step along the sign of the gradient; and
    $\rho_2(x)\ge\frac{\min_{j\ne c}(f_c(x)-f_j(x))}{\sqrt2\,\mathrm{Lip}(f)}$ for every network."""
    x = place_first(net, choose_inputs(net, rng, rows), (across, up))
    radii = {
        name: certified_radius(net, x, norm, methods=("interval", "crown"), tolerance=TOLERANCE)
        for name, norm in NORMS.items()
    }
    margins = by_margin(net, x, radii["ℓ₂"].label)
    claims = [
        _compare(name, found) for name, found in radii.items() if np.isfinite(found.distance).any()
    ]
    if margins is not None and np.isfinite(radii["ℓ₂"].distance).any():
        k = _nearest(margins, radii["ℓ₂"].distance)
        known = Enclosure.at_most(float(margins[k]))
        met = Enclosure.exact(float(radii["ℓ₂"].distance[k]))
        claims.append(AtMost("margin / √2 Lip(f) ≤ ℓ₂ distance met", known, met))
    claims += _claim_closed_forms(net, x, radii)
    picture = (draw_plane(net, x, radii),) if net.input_shape == (2,) else ()
    first = {name: found.enclosures[0] for name, found in radii.items()}
    return Evidence(
        claims=tuple(claims),
        charts=(*picture, draw_methods(radii, margins), draw_shares(radii["ℓ∞"])),
        numbers={
            f"{name} radius of the first input": enclosure for name, enclosure in first.items()
        },
        tables=(_tabulate(radii),),
        summary=f"the label of the first input holds within {first['ℓ₂'].lo:.4g} in ℓ₂, "
        f"at {first['ℓ₂'].hi:.4g} another was met",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def place_first(net: Network, x: np.ndarray, first: Point) -> np.ndarray:
    """The inputs, of which the first has the given first two entries; rows of data stay where they are."""
    if net.data is not None:
        return x
    flat = x.reshape(len(x), -1)
    flat[0, :2] = first[: flat.shape[1]]
    return flat.reshape(x.shape)


def by_margin(net: Network, x: np.ndarray, label: np.ndarray) -> np.ndarray | None:
    r"""$\min_j(f_c-f_j)/\sqrt2L$ with the product $L$ of norms, where the layers are known to be what is computed."""
    if net.description is None or describes_this_function(net, {}).status is not Status.PROVED:
        return None
    if not all(
        np.isfinite(activation(layer.activation).lipschitz.hi) for layer in net.description.layers
    ):
        return None
    y = np.asarray(net(x)).reshape(len(x), -1)
    others = y.copy()
    others[np.arange(len(y)), label] = -inf
    margin = y[np.arange(len(y)), label] - others.max(1)
    return np.maximum(margin, 0.0) / (np.sqrt(2) * product_bound(net.description).hi)


def _compare(name: str, found: CertifiedRadius) -> AtMost:
    """Of the row where they come nearest: the radius certified and the distance met."""
    k = _nearest(found.radius, found.distance)
    lower = Enclosure.exact(float(found.radius[k]))
    upper = Enclosure.exact(float(found.distance[k]))
    return AtMost(
        f"{name} radius certified ≤ distance met, of {len(found.radius)} inputs", lower, upper
    )


def _nearest(radius: np.ndarray, distance: np.ndarray) -> int:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(distance > 0, radius / distance, np.where(radius > 0, inf, 1.0))
    share[np.isinf(distance)] = -1.0  # nothing to compare with
    return int(share.argmax())


def _claim_closed_forms(net: Network, x: np.ndarray, radii: Radii) -> list[AtMost]:
    """For a linear classifier of two classes: the distance to the boundary lies between both, for the first input."""
    if (
        net.description is None
        or len(net.description.layers) != 1
        or describes_this_function(net, {}).status is not Status.PROVED
    ):
        return []
    layer = net.description.layers[0]
    if layer.activation != "identity" or len(layer.bias) != 2:
        return []
    w = [Fraction(a) - Fraction(b) for a, b in zip(*layer.weight.tolist())]
    score = sum((q * Fraction(v) for q, v in zip(w, x[0].ravel().tolist())), Fraction(0))
    score += Fraction(float(layer.bias[0])) - Fraction(float(layer.bias[1]))
    claims = list[AtMost]()
    for name, found in radii.items():
        exact = (
            Enclosure.exact(abs(score)) / dual_length(w, found.norm)
            if any(w)
            else Enclosure.unknown()
        )
        claims.append(
            AtMost(
                f"{name} radius certified ≤ |⟨w, x⟩ + b| / ‖w‖", found_end(found, "radius"), exact
            )
        )
        claims.append(
            AtMost(f"|⟨w, x⟩ + b| / ‖w‖ ≤ {name} distance met", exact, found_end(found, "distance"))
        )
    return claims


def found_end(found: CertifiedRadius, which: str) -> Enclosure:
    return (
        Enclosure.exact(float(getattr(found, which)[0]))
        if np.isfinite(getattr(found, which)[0])
        else Enclosure.unknown()
    )


def dual_length(w: list[Fraction], norm: float) -> Enclosure:
    """Of rationals, in the dual norm."""
    if norm == inf:
        return Enclosure.exact(sum(map(abs, w), Fraction(0)))
    if norm == 1:
        return Enclosure.exact(max(map(abs, w)))
    return Enclosure.exact(sum((v * v for v in w), Fraction(0))).sqrt()


def _examples() -> Examples:
    """The textbook's numbers: w = (3, 4) at (1, 1), and smoothing with σ = ½ and p = 0.9."""
    net = linear_classifier(np.array([3.0, 4.0]), 0.0, "w = (3, 4)")
    expected = {"ℓ₁": Fraction(7, 4), "ℓ₂": Fraction(7, 5), "ℓ∞": Fraction(1)}
    claims = list[AtMost | Identity]()
    for name, norm in NORMS.items():
        (found,) = certified_radius(
            net, [1.0, 1.0], norm, methods=("crown",), tolerance=1e-6
        ).enclosures
        claims.append(
            AtMost(
                f"{name} radius certified at (1, 1)",
                Enclosure.exact(found.lo),
                Enclosure.exact(expected[name]),
            )
        )
        claims.append(
            AtMost(
                f"{name} distance at (1, 1)",
                Enclosure.exact(expected[name]),
                Enclosure.exact(found.hi),
            )
        )
    radius = Enclosure.equal(smooth(net, 0.5).radius(0.9))
    claims.append(
        Identity(
            "radius by smoothing, σ = 0.5, p = 0.9", radius, Enclosure.equal(0.6407757827723002)
        )
    )
    comparison, chart = _compare_training()
    return Examples(claims=(*claims, comparison), charts=(chart,))


def _compare_training() -> tuple[AtMost, Curves]:
    """Two networks of the digits alike but for their training: the share of test rows that linear bounds certify."""
    data = load_as(Dataset, "digits-test")
    shares = {name: _certify_rows(load_as(Network, name), data) for name in TRAINED}
    plain, careful = shares.values()
    at = TRAINED_RADII.index(0.05)
    claim = AtMost(
        "certified accuracy at ε = 0.05: trained plainly ≤ by interval bounds",
        plain[at + 1],
        careful[at + 1],
    )
    series = [
        Series(words, (0.0, *TRAINED_RADII), [float(share.lo) for share in shares[name]], role)
        for (name, words), role in zip(TRAINED.items(), ("reference", "measured"))
    ]
    title = f"digits: certified accuracy of {TRAINED_ROWS} test rows, by training"
    return claim, Curves(title, Axis("ε in ℓ∞"), Axis("share of rows"), tuple(series))


def _certify_rows(net: Network, data: Dataset) -> list[Enclosure]:
    """The shares of rows that are right, and right at every input within each radius."""
    x = data.x[:TRAINED_ROWS].astype(np.float64)
    classes = np.asarray(data.y)[:TRAINED_ROWS].ravel().astype(int)
    problem, _ = read_problem(net, x, classes, (0, 1), inf)
    certifier = Certifier(net, problem)
    rows = np.flatnonzero(problem.margin(problem.x) > 0)
    counts = [len(rows)]
    for radius in TRAINED_RADII:  # what fails at one radius is not tried at a larger one
        rows = rows[certifier.holds(rows, np.full(len(rows), radius), "crown")]
        counts.append(len(rows))
    return [Enclosure.exact(Fraction(count, TRAINED_ROWS)) for count in counts]


# ---- charts ----------------------------------------------------------------------------------------------------------


def _tabulate(radii: Radii) -> Table:
    rows = [
        (
            name,
            k,
            int(found.label[k]),
            float(found.by_method["interval"][k]),
            float(found.radius[k]),
            float(found.distance[k]),
        )
        for name, found in radii.items()
        for k in range(len(found.radius))
    ]
    return Table("radii", ("norm", "input", "label", "intervals", "certified", "met"), tuple(rows))
