"""How steep the network is, and how far its decisions hold."""

from fractions import Fraction
from math import inf

import numpy as np

from ftheta.certify.lipschitz import inputs_near, product_bound, steepest_secant
from ftheta.certify.perturbations import read_problem
from ftheta.logic import Axis, Curves, Enclosure, Fact, FthetaError, Series, Status, SubjectError
from ftheta.networks import activation
from ftheta.pieces.plan import spectral_norm
from ftheta.stability.certifying import Certifier
from ftheta.stability.radii import certified_radius
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from ..part import Part, no_better
from .inputs import (
    affordable,
    choose_rows,
    classes_of,
    ensure_real_inputs,
    multiplications,
    outputs_at,
    piecewise_affine,
    some_rows,
)

POINTS = 128
CLIMBS = 16
CLIMBING = 3e6  # multiplications of one evaluation, times the steps of an ascent
ROWS = 24  # put to intervals
RADII = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of the largest entry of the data
WORK = 2e9  # multiplications of all interval evaluations
LINEAR = 3e6  # multiplications of one evaluation, up to which linear bounds and attacks are affordable
COARSE = 0.02  # relative tolerance of a certified radius


def steepness(net: Network, rng: np.random.Generator) -> Part:
    """The Lipschitz constant from below by a search, from above by the product of norms where layers are known."""
    ensure_real_inputs(net)
    starts = inputs_near(
        None if net.data is None else net.data.x, net.input_shape, affordable(net, 1e7, 4, POINTS), 1.0, rng
    )
    steps = affordable(net, CLIMBING, 10, 100)
    climbs = affordable(net, 10 * CLIMBING, 2, CLIMBS)
    secant = steepest_secant(net, starts, rng, climbs=climbs, steps=steps)
    x, source = some_rows(net, affordable(net, WORK, 16, 1024), rng)
    sought = f"2-norm, sought from {len(starts):,} {'normal inputs' if net.data is None else 'rows and normal inputs'}"
    facts = [Fact("Lipschitz lower bound (steepest secant found)", secant.known, sought)]
    bound = _product(net) or _product_of_steps(net)
    if bound is not None:
        everywhere = Enclosure.at_most(bound.hi, bound.basis)
        whose = "layers" if net.description is not None else "steps of its ReLU normal form"
        facts.append(
            Fact(
                "Lipschitz upper bound (product of spectral norms)", everywhere, f"2-norm of its {whose}, on all inputs"
            )
        )
    y = outputs_at(net, x)
    told = f"2-norm, {source}"
    if y.shape[1] > 1:
        top = np.sort(y, axis=1)
        gap = float(np.median(top[:, -1] - top[:, -2]))
        facts.append(Fact("median logit margin", Enclosure.measured(gap, samples=len(x)), told))
        if bound is not None and 0 < bound.hi < np.inf:
            radius = Enclosure.at_least(gap / (np.sqrt(2) * bound.hi), samples=len(x))
            facts.append(Fact("certified ℓ₂ radius, median (margin / √2 Lip)", radius, told))
    return Part(tuple(facts))


def _product(net: Network) -> Enclosure | None:
    """The bound, where the layers are known to be what is computed."""
    if net.description is None:
        return None
    described = describes_this_function(net, {})
    steepest = max(activation(layer.activation).lipschitz.hi for layer in net.description.layers)
    if described.status is not Status.PROVED or not np.isfinite(steepest):
        return None
    return no_better(product_bound(net.description), described.basis)


def _product_of_steps(net: Network) -> Enclosure | None:
    """The same for the normal form of a network whose layers are not listed, such as a convolutional one."""
    if net.description is not None:
        return None
    try:
        form, _ = piecewise_affine(net)
    except FthetaError:
        return None
    bound = float(np.prod([spectral_norm(step.matrix) for step in form.steps]))
    return Enclosure.at_most(bound) if np.isfinite(bound) else None


def certified_rows(net: Network, rng: np.random.Generator) -> Part:
    """For how many rows no change of the inputs by at most ε alters the largest output, by linear bounds, and for how
    many such a change was met; where labels are classes, both of the rows whose largest output is the right one."""
    ensure_real_inputs(net)
    if int(np.prod(net.output_shape)) < 2:
        raise SubjectError("There is one output, hence no class.", remedy="this is about networks with several outputs")
    is_small = multiplications(net) <= LINEAR
    most = affordable(net, WORK / len(RADII), 1, ROWS)
    x, right = _rows_to_certify(net, most, rng)
    scale = float(np.abs(x).max()) or 1.0
    kept = np.ones(len(x), bool) if right is None else right
    shown, met = _robust_radii(net, x[kept], is_small)
    name = "share of rows" if right is None else "accuracy"
    relative = f"every input within ε of its value, ε relative to the largest entry {scale:.3g}"
    tried = f"of {len(x):,} {_describe_tried(net)}, {relative}"
    certified = [int((shown >= radius * scale).sum()) for radius in RADII]
    attacked = [int((met > radius * scale).sum()) for radius in RADII]
    told = {radius: pair for radius, *pair in zip(RADII, certified, attacked) if radius in (1e-4, 1e-3, 1e-2, 1e-1)}
    facts = [
        Fact(f"{how} {name} at ε = {radius:g}", Enclosure.exact(Fraction(count, len(x))), f"{count:,} {tried}")
        for k, how in enumerate(("certified", "attacked") if is_small else ("certified",))
        for radius, count in ((radius, pair[k]) for radius, pair in told.items())
    ]
    lower = [count / len(x) for count in certified]
    upper = [count / len(x) for count in attacked]
    series = [Series("certified", RADII, lower, "bound", lo=lower, hi=upper)]
    if is_small:
        facts.append(_median_distance(met, kept))
        series.append(Series("attacked", RADII, upper))
    title = "rows whose class cannot change" if right is None else "rows that are right and stay so"
    chart = Curves(title, Axis("ε", "log"), Axis(f"share of the {len(x):,} rows tried"), tuple(series))
    return Part(tuple(facts), charts=(chart,))


def _robust_radii(net: Network, x: np.ndarray, is_small: bool) -> tuple[np.ndarray, np.ndarray]:
    """In ℓ∞, of each row: a radius within which its label is certain, and the distance of an input with another one."""
    if not len(x):
        return np.zeros(0), np.zeros(0)
    if is_small:
        found = certified_radius(net, x, methods=("crown",), tolerance=COARSE)
        return found.radius, found.distance
    problem, _ = read_problem(net, x, None, None, inf)
    certifier = Certifier(net, problem)
    shown = np.zeros(len(x))
    scale = float(np.abs(x).max()) or 1.0
    rows = np.arange(len(x))
    for radius in RADII:  # what fails at one radius is not tried at a larger one
        rows = rows[certifier.holds(rows, np.full(len(rows), radius * scale), "interval")]
        shown[rows] = radius * scale
    return shown, np.full(len(x), inf)


def _median_distance(met: np.ndarray, kept: np.ndarray) -> Fact:
    """Half of the rows change their class within it."""
    distances = np.sort(np.concatenate([met, np.zeros(int((~kept).sum()))]))
    median = float(distances[len(distances) // 2])
    return Fact(
        "median distance to an input with another class",
        Enclosure.between(0.0, median),
        f"in ℓ∞, by a search; {len(kept):,} rows, wrong ones count as 0",
    )


def _rows_to_certify(net: Network, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """Some rows and, where the labels are classes, which of them the network classifies rightly."""
    if net.data is None or net.data.y is None:
        return some_rows(net, most, rng)[0], None
    chosen = choose_rows(net.data, most, rng)
    x = net.data.x[chosen].astype(np.float64)
    classes = classes_of(net, net.data.y.reshape(len(net.data), -1))
    return x, None if classes is None else outputs_at(net, x).argmax(1) == classes[chosen]


def _describe_tried(net: Network) -> str:
    return "standard normal inputs tried" if net.data is None else f"rows tried ({len(net.data):,} in the data)"
