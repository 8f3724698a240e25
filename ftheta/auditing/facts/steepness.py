"""How steep the network is, and how far its decisions hold."""

from fractions import Fraction

import numpy as np

from ftheta.certify.lipschitz import inputs_near, product_bound, steepest_secant
from ftheta.graph import Graph, Interval, intervals, trace
from ftheta.logic import Axis, Curves, Enclosure, Fact, FthetaError, Series, Status, SubjectError
from ftheta.networks import activation
from ftheta.pieces.plan import spectral_norm
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from ..part import Part, no_better
from .inputs import affordable, choose_rows, classes_of, ensure_real_inputs, outputs_at, piecewise_affine, some_rows

POINTS = 128
CLIMBS = 16
CLIMBING = 3e6  # multiplications of one evaluation, times the steps of an ascent
ROWS = 24  # put to intervals
RADII = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of the largest entry of the data
WORK = 2e9  # multiplications of all interval evaluations


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
    """For how many rows no change of the inputs by at most ε alters the largest output, by intervals; where labels are
    classes, for how many of them that output is the right one: the certified accuracy."""
    ensure_real_inputs(net)
    if int(np.prod(net.output_shape)) < 2:
        raise SubjectError("There is one output, hence no class.", remedy="this is about networks with several outputs")
    graph = trace(net.apply, net.params, net.example, fold_rounded=False)
    most = affordable(net, WORK / len(RADII), 1, ROWS)
    x, right = _rows_to_certify(net, most, rng)
    scale = float(np.abs(x).max()) or 1.0
    counts = []
    held = np.ones(len(x), bool) if right is None else right
    for radius in RADII:  # what fails at one radius is not tried at a larger one
        held = np.array([ok and _holds(graph, net, row, radius * scale) for ok, row in zip(held, x)])
        counts.append(int(held.sum()))
    name = "certified share of rows" if right is None else "certified accuracy"
    relative = f"every input within ε of its value, ε relative to the largest entry {scale:.3g}"
    tried = f"of {len(x):,} {_describe_tried(net)}, {relative}"
    facts = tuple(
        Fact(f"{name} at ε = {radius:g}", Enclosure.exact(Fraction(count, len(x))), f"{count:,} {tried}")
        for radius, count in zip(RADII, counts)
        if radius in (1e-4, 1e-3, 1e-2, 1e-1)
    )
    series = Series("certified by intervals", RADII, [count / len(x) for count in counts])
    title = "rows whose class cannot change" if right is None else "rows that are right and stay so"
    chart = Curves(title, Axis("ε", "log"), Axis(f"share of the {len(x):,} rows tried"), (series,))
    return Part(facts, charts=(chart,))


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


def _holds(graph: Graph, net: Network, row: np.ndarray, radius: float) -> bool:
    """Whether one output is the largest for every input of the box."""
    box = Interval(np.nextafter(row - radius, -np.inf), np.nextafter(row + radius, np.inf))
    found = intervals(graph, net.params, box).outputs
    lo = np.ravel(found.lo)
    hi = np.ravel(found.hi)
    k = int(lo.argmax())
    return bool(lo[k] > np.delete(hi, k).max())
